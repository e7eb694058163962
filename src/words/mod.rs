//! What the reports say in sentences, in every language they speak: one table of phrases.

mod ideas;
mod table;

pub use ideas::{because, idea};
pub use table::*;

use std::fmt;

/// A language of the reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Language {
    /// English.
    #[default]
    English,
    /// Chinese, in simplified characters.
    Chinese,
}

impl Language {
    /// The language of a tag such as `zh` or `en_GB.UTF-8`.
    pub fn from_tag(tag: &str) -> Option<Self> {
        match tag.to_lowercase().get(..2)? {
            "en" => Some(Language::English),
            "zh" => Some(Language::Chinese),
            _ => None,
        }
    }

    /// The tag of an HTML page.
    pub fn tag(self) -> &'static str {
        match self {
            Language::English => "en",
            Language::Chinese => "zh-CN",
        }
    }
}

/// A sentence in every language, with places `{0}`, `{1}` … for values.
#[derive(Debug, PartialEq, Eq)]
pub struct Phrase {
    /// In English.
    pub english: &'static str,
    /// In Chinese.
    pub chinese: &'static str,
}

impl Phrase {
    /// The text in a language, its places still open.
    pub fn text(&self, language: Language) -> &'static str {
        match language {
            Language::English => self.english,
            Language::Chinese => self.chinese,
        }
    }

    /// The phrase with its values.
    pub fn with<const N: usize>(&'static self, values: [String; N]) -> Said {
        Said { phrase: self, values: values.to_vec() }
    }

    /// The phrase that has no places.
    pub fn say(&'static self) -> Said {
        Said { phrase: self, values: Vec::new() }
    }
}

/// A phrase and the values of its places. Displays in English.
#[derive(Debug, Clone, PartialEq)]
pub struct Said {
    phrase: &'static Phrase,
    values: Vec<String>,
}

impl Said {
    /// The sentence in a language.
    pub fn text(&self, language: Language) -> String {
        let mut out = String::new();
        let mut rest = self.phrase.text(language);
        while let Some((before, after)) = rest.split_once('{') {
            out.push_str(before);
            let Some((index, after)) = after.split_once('}') else { break };
            out.push_str(index.parse::<usize>().ok().and_then(|i| self.values.get(i)).map_or("", String::as_str));
            rest = after;
        }
        out + rest
    }

    /// Whether it is this phrase, whatever the values.
    pub fn is(&self, phrase: &Phrase) -> bool {
        self.phrase == phrase
    }
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(Language::English))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(text: &str) -> Vec<&str> {
        let mut places: Vec<&str> = text.split('{').skip(1).filter_map(|part| Some(part.split_once('}')?.0)).collect();
        places.sort();
        places
    }

    #[test]
    fn every_phrase_has_the_same_places_in_every_language() {
        for phrase in ALL {
            assert!(!phrase.chinese.is_empty() && !phrase.english.is_empty());
            assert_eq!(places(phrase.english), places(phrase.chinese), "{phrase:?}");
        }
    }

    #[test]
    fn values_take_their_places() {
        let said = STEP_FASTER.with(["3.17".into(), "naive".into(), "3.16".into(), "3.18".into()]);
        assert_eq!(said.to_string(), "3.17x as fast as naive (3.16 to 3.18)");
        assert!(said.text(Language::Chinese).contains("3.17"));
    }

    #[test]
    fn a_language_is_known_by_its_tag() {
        assert_eq!(Language::from_tag("zh_CN.UTF-8"), Some(Language::Chinese));
        assert_eq!(Language::from_tag("en"), Some(Language::English));
        assert_eq!(Language::from_tag("C"), None);
    }
}
