//! The ideas of the rungs and why they pay: each row tells its own, in English and in Chinese.

use super::Language;
use crate::rung::Rung;

/// The idea of a rung in a language; in English where nobody has translated it.
pub fn idea(rung: &Rung, language: Language) -> String {
    in_language(&rung.idea, &rung.chinese, language)
}

/// Why the idea of a rung pays, in a language; in English where nobody has translated it.
pub fn because(rung: &Rung, language: Language) -> String {
    in_language(&rung.because, &rung.chinese_because, language)
}

fn in_language(english: &str, chinese: &str, language: Language) -> String {
    match language {
        Language::Chinese if !chinese.is_empty() => chinese.to_string(),
        _ => english.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use crate::op;

    #[test]
    fn every_idea_and_every_reason_is_told_in_chinese() {
        for rung in op::OPS.iter().flat_map(|op| op.ladder()) {
            assert!(rung.chinese.ends_with('。'), "{}: {} {}", rung.id(), rung.idea, rung.chinese);
            assert!(rung.chinese_because.ends_with('。'), "{}: {} {}", rung.id(), rung.because, rung.chinese_because);
        }
    }

    /// A row that was made from another must not keep its words.
    #[test]
    fn the_same_words_are_the_same_in_both_languages() {
        for op in op::OPS {
            for (one, other) in op.ladder().iter().flat_map(|a| op.ladder().iter().map(move |b| (a, b))) {
                let both = format!("{}: {} {}", op.name(), one.id(), other.id());
                assert_eq!(one.idea == other.idea, one.chinese == other.chinese, "{both}");
                assert_eq!(one.because == other.because, one.chinese_because == other.chinese_because, "{both}");
            }
        }
    }
}
