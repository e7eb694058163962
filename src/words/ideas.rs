//! The ideas of the rungs: each row tells its own, in English and in Chinese.

use super::{Language, reasons};
use crate::rung::Rung;

/// The idea of a rung in a language; in English where nobody has translated it.
pub fn idea(rung: &Rung, language: Language) -> String {
    match language {
        Language::Chinese if !rung.chinese.is_empty() => rung.chinese.to_string(),
        _ => rung.idea.to_string(),
    }
}

/// Why the idea of a rung pays, in a language; in English where nobody has translated it.
pub fn because(op: &str, rung: &Rung, language: Language) -> String {
    let translated = match language {
        Language::English => None,
        Language::Chinese => reasons::of(op, rung),
    };
    translated.map_or_else(|| rung.because.to_string(), String::from)
}

#[cfg(test)]
mod tests {
    use crate::op;

    #[test]
    fn every_idea_is_told_in_chinese() {
        for rung in op::OPS.iter().flat_map(|op| op.ladder()) {
            assert!(rung.chinese.ends_with('。'), "{}: {} {}", rung.id(), rung.idea, rung.chinese);
        }
    }

    /// A row that was made from another must not keep its words.
    #[test]
    fn the_same_idea_is_told_in_the_same_words() {
        for op in op::OPS {
            for (one, other) in op.ladder().iter().flat_map(|a| op.ladder().iter().map(move |b| (a, b))) {
                assert_eq!(
                    one.idea == other.idea,
                    one.chinese == other.chinese,
                    "{}: {} {}",
                    op.name(),
                    one.id(),
                    other.id()
                );
            }
        }
    }
}
