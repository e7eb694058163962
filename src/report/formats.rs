//! The formats that rows are printed in.

use super::story::Background;
use super::{Row, fields, html, screen, table};
use crate::error::{Error, Result};
use comfy_table::presets;

/// What a format may know of the place it is printed to.
#[derive(Debug, Clone, Default)]
pub struct Page {
    /// Whether it shows more than ASCII.
    pub unicode: bool,
    /// Columns of the terminal; `None` for a file or a pipe.
    pub width: Option<usize>,
    /// Whether a table is followed by its story.
    pub story: bool,
    /// Whether every rung and variant is shown, not a digest that fits a screen.
    pub all: bool,
    /// Whether the run goes on, or was stopped before its end: rows may be missing or without times.
    pub partial: bool,
    /// What the story and the charts draw on.
    pub background: Background,
}

/// A way to print rows.
pub struct Format {
    /// The word on the command line.
    pub name: &'static str,
    /// How names of such files end.
    pub ending: &'static str,
    /// Whether it prints sentences, for which the rungs are simulated.
    pub explains: bool,
    /// Rows to text.
    pub print: fn(&[Row], &Page) -> String,
}

/// Every format.
pub const FORMATS: &[Format] = &[
    Format {
        name: "table",
        ending: "txt",
        explains: true,
        print: |rows, page| {
            let style = if page.unicode { presets::UTF8_FULL_CONDENSED } else { presets::ASCII_FULL_CONDENSED };
            table::text(rows, style, page)
        },
    },
    Format { name: "markdown", ending: "md", explains: false, print: |rows, _| table::markdown(rows) },
    Format { name: "csv", ending: "csv", explains: false, print: |rows, _| fields::csv(rows) },
    Format {
        name: "json",
        ending: "json",
        explains: false,
        print: |rows, page| fields::json_document(rows, page.partial),
    },
    Format { name: "html", ending: "html", explains: true, print: html::html },
    Format { name: "svg", ending: "svg", explains: false, print: html::svg },
    Format { name: "screen", ending: "screen", explains: true, print: screen::screen },
];

/// The format called `name`.
///
/// # Errors
/// [`Error::Unknown`].
pub fn find(name: &str) -> Result<&'static Format> {
    FORMATS.iter().find(|f| f.name == name).ok_or_else(|| Error::Unknown {
        kind: "format",
        word: name.into(),
        known: FORMATS.iter().map(|f| f.name.to_string()).collect(),
    })
}

/// The format of files whose names end in `ending`.
///
/// # Errors
/// [`Error::Unknown`].
pub fn by_ending(ending: &str) -> Result<&'static Format> {
    FORMATS.iter().find(|f| f.ending.eq_ignore_ascii_case(ending)).ok_or_else(|| Error::Unknown {
        kind: "file ending",
        word: ending.into(),
        known: FORMATS.iter().map(|f| f.ending.to_string()).collect(),
    })
}
