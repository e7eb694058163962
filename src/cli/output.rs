//! Where results go and in which format: flags that every verb with rows shares.

use super::terminal::{chinese, print, unicode, width};
use clap::Args;
use gpu_ladder::backend::BACKENDS;
use gpu_ladder::counted::{Counts, count_all, small};
use gpu_ladder::limits::{Ceilings, store};
use gpu_ladder::op::{self, Op};
use gpu_ladder::report::story::Background;
use gpu_ladder::report::{self, Format, Page, Row, file};
use gpu_ladder::rung::Rung;
use gpu_ladder::sim::Machine;
use gpu_ladder::words::Language;
use gpu_ladder::{Element, Error, Problem, Result};
use std::path::PathBuf;
use std::str::FromStr;

#[derive(Args, Clone)]
pub struct OutputArguments {
    /// table, markdown, csv, json, html, svg or screen (default: what the name of --output says, else table).
    // The verbs that know fewer say so in their own help, see `Verb::formats`.
    #[arg(long)]
    pub format: Option<String>,
    /// Write the results to this file, which is whole at any moment; `run` adds to it while it goes on.
    #[arg(long, short)]
    pub output: Option<PathBuf>,
    /// en or zh (default: the locale's).
    #[arg(long)]
    pub lang: Option<String>,
    /// Tables only, without the sentences.
    #[arg(long)]
    pub brief: bool,
}

impl OutputArguments {
    /// The format asked for by name, by the file's ending, or the table. Whatever is wrong with
    /// either is said before any work is done.
    pub fn format(&self) -> Result<&'static Format> {
        self.word("table", report::FORMATS.iter().map(|format| format.name)).and_then(report::find)
    }

    /// The one of `formats` that is asked for by name or by the file's ending, or `default`. Whatever is wrong with
    /// the format, the file or the language is said before any work is done.
    fn word(&self, default: &'static str, formats: impl Iterator<Item = &'static str>) -> Result<&'static str> {
        if let Some(path) = &self.output {
            file::check_writable(path)?;
        }
        self.language()?;
        let ending = self.output.as_ref().and_then(|path| path.extension()?.to_str());
        let word = match (&self.format, ending) {
            (Some(name), _) => name,
            (None, Some(ending)) => report::by_ending(ending)?.name,
            (None, None) => return Ok(default),
        };
        let formats: Vec<&str> = formats.collect();
        formats.iter().find(|format| **format == word).copied().ok_or_else(|| Error::Unknown {
            kind: "format",
            word: word.into(),
            known: formats.iter().map(|format| format.to_string()).collect(),
        })
    }

    /// The one of a verb's own formats that is asked for; the first where nothing is.
    pub fn one_of(&self, formats: &[&'static str]) -> Result<&'static str> {
        self.word(formats[0], formats.iter().copied())
    }

    /// The language asked for, else that of the locale.
    pub fn language(&self) -> Result<Language> {
        language(self.lang.as_deref())
    }

    /// Prints rows, or writes them to the file: a digest of them, where `all` does not ask for every one.
    /// `own` are rungs that no ladder has; `partial` rows are of a run that was stopped.
    pub fn rows(&self, format: &Format, rows: &[Row], own: &[Rung], all: bool, partial: bool) -> Result<()> {
        let story = !self.brief && format.explains;
        let page = Page {
            unicode: self.output.is_none() && unicode(),
            width: width(),
            story,
            all,
            partial,
            background: Background {
                language: self.language()?,
                counts: if story { counts(rows, own) } else { Counts::default() },
                ceilings: ceilings(rows),
            },
        };
        self.text(&(format.print)(rows, &page))
    }

    /// Writes the rows of a run that goes on to the file, without the story, which takes long.
    pub fn rows_so_far(&self, format: &Format, rows: &[Row]) {
        let Some(path) = self.output.as_deref().filter(|path| file::can_be_replaced(path)) else { return };
        let text = (format.print)(rows, &Page { partial: true, ..Page::default() });
        // What is wrong with the file is told at the end, when all rows are to be written.
        let _ = file::write(path, text.as_bytes());
    }

    /// Prints text, or writes it to the file.
    pub fn text(&self, text: &str) -> Result<()> {
        match &self.output {
            Some(path) => file::write(path, text.as_bytes()),
            None => {
                print(text);
                Ok(())
            }
        }
    }
}

/// The formats of verbs that print tables of their own.
pub const TABLES: &[&str] = &["table", "markdown", "json"];

/// The formats of verbs that print text.
pub const TEXTS: &[&str] = &["text", "table", "json"];

/// A whole number of a flag, or what is asked for in its place.
pub fn whole<T: FromStr>(text: &str) -> std::result::Result<T, String> {
    text.parse().map_err(|_| format!("a whole number from 0 on, of at most {} bits", 8 * size_of::<T>()))
}

/// The language of a tag, else that of the locale.
pub fn language(tag: Option<&str>) -> Result<Language> {
    match tag {
        None => Ok(if chinese() { Language::Chinese } else { Language::English }),
        Some(tag) => Language::from_tag(tag).ok_or_else(|| Error::Unknown {
            kind: "language",
            word: tag.into(),
            known: vec!["en".into(), "zh".into()],
        }),
    }
}

/// The kept ceilings of the devices among rows, through whatever backend they were measured.
fn ceilings(rows: &[Row]) -> Vec<Ceilings> {
    let Some(folder) = store::folder() else { return Vec::new() };
    let mut devices: Vec<&str> = rows.iter().map(|row| row.device.as_str()).collect();
    devices.sort();
    devices.dedup();
    // A file that cannot be read is `limits`' to mend; a report does without.
    let of = |device: &&str| {
        let device = device.to_string();
        let folder = &folder;
        BACKENDS.iter().filter_map(move |(name, _)| store::named(folder, name, &device).ok().flatten())
    };
    devices.iter().flat_map(of).collect()
}

/// What the simulator counts of every rung among the rows, at a size that takes a moment.
fn counts(rows: &[Row], own: &[Rung]) -> Counts {
    let mut counts = Counts::default();
    for op in op::OPS {
        let of_op: Vec<&Row> = rows.iter().filter(|row| row.op == op.name()).collect();
        let Some(first) = of_op.first() else { continue };
        let (Some(problem), Ok(machine)) = (problem_of_row(*op, first), Machine::load(machine_of(&first.device)))
        else {
            continue;
        };
        let all = op.ladder().iter().chain(own.iter().filter(|rung| !op.ladder().contains(rung)));
        let rungs: Vec<Rung> = all.filter(|rung| of_op.iter().any(|row| row.rung == rung.id())).cloned().collect();
        counts.extend(count_all(*op, &rungs, &small(*op, &problem, super::selectors::simulated_size(*op)), &machine));
    }
    counts
}

fn problem_of_row(op: &dyn Op, row: &Row) -> Option<Problem> {
    let dims: Vec<u64> = row.dims.iter().map(|(_, value)| *value).collect();
    // The types of a row read `f32`, `f32 as tf32` or `f16 to f32`.
    let words: Vec<&str> = row.element.split(' ').collect();
    let mut problem = Problem::new(words.first()?.parse::<Element>().ok()?, dims).with_batch(row.batch);
    for pair in words[1..].chunks(2) {
        match *pair {
            ["as", precision] => problem = problem.with_precision(precision.parse().ok()?),
            ["to", element] => problem = problem.with_output(element.parse().ok()?),
            _ => return None,
        }
    }
    match &row.layout {
        None => Some(problem),
        Some(word) => super::selectors::with_layout(op, problem, word).ok(),
    }
}

/// The machine model that is nearest to a device.
fn machine_of(device: &str) -> &str {
    const NEAREST: &[(&str, &str)] =
        &[("A100", "nvidia-a100"), ("4090", "nvidia-rtx4090"), ("T4", "nvidia-t4"), ("H200", "nvidia-h200")];
    if Machine::names().any(|name| name == device) {
        return device;
    }
    NEAREST.iter().find(|(part, _)| device.contains(part)).map_or("nvidia-h200", |(_, model)| model)
}

/// An option whose value makes no sense.
pub fn bad(option: &'static str, value: impl Into<String>, problem: impl Into<String>) -> Error {
    Error::Option { option, value: value.into(), problem: problem.into() }
}
