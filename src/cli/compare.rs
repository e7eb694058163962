//! `compare`: what got slower, faster or wrong between two kept runs. Made to be a gate in CI.

use super::output::{OutputArguments, TABLES, bad};
use super::selectors::RowArguments;
use super::terminal::{complain, unicode};
use clap::Args;
use gpu_ladder::Result;
use gpu_ladder::report::Row;
use gpu_ladder::report::compare::{Change, Comparison, Options, compare as compare_rows, print};
use std::path::PathBuf;

/// The flags of `compare`.
#[derive(Args)]
pub struct CompareArguments {
    /// Kept runs: the one before and the one after, or with --baseline all of them after.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// The runs before; several repeats of one build, by commas, tell noise from change better.
    #[arg(long, value_delimiter = ',')]
    baseline: Vec<PathBuf>,
    /// Per cent of time beyond which a difference counts.
    #[arg(long, default_value_t = 3.0)]
    threshold: f64,
    /// Compare rows of different devices.
    #[arg(long)]
    across_devices: bool,
    /// Compare rows of different inputs, seeds, cache policies or clocks.
    #[arg(long)]
    across_inputs: bool,
    /// Compare times as multiples of the best copy in the same rounds.
    #[arg(long)]
    against_copy: bool,
    /// Compare medians, also of software adapters, whose fastest samples are compared otherwise.
    #[arg(long, conflicts_with = "against_copy")]
    as_measured: bool,
    /// Print every row, not only those that changed.
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    rows: RowArguments,
    #[command(flatten)]
    output: OutputArguments,
}

/// Compares and prints; false for a regression.
pub fn compare(arguments: &CompareArguments) -> Result<bool> {
    if !arguments.threshold.is_finite() || arguments.threshold < 0.0 {
        return Err(bad("--threshold", arguments.threshold.to_string(), "per cent, not below 0"));
    }
    let format = arguments.output.one_of(TABLES)?;
    let (before, after) = match (arguments.baseline.as_slice(), arguments.files.as_slice()) {
        ([], [before, after]) => (vec![before.clone()], vec![after.clone()]),
        ([], files) => {
            let problem = "two files, or the runs before by --baseline";
            return Err(bad("FILES", format!("{} given", files.len()), problem));
        }
        (baseline, files) => (baseline.to_vec(), files.to_vec()),
    };
    let read = |paths: &[PathBuf]| -> Result<Vec<Vec<Row>>> {
        paths.iter().map(|path| Ok(super::report::read(path)?.rows)).collect()
    };
    let (mut before, mut after) = (read(&before)?, read(&after)?);
    for runs in [&mut before, &mut after] {
        for rows in runs.iter_mut() {
            arguments.rows.keep(rows)?;
        }
    }
    drivers(&before, &after);
    let options = Options {
        threshold: arguments.threshold / 100.0,
        across_devices: arguments.across_devices,
        across_inputs: arguments.across_inputs,
        against_copy: match (arguments.against_copy, arguments.as_measured) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        },
    };
    let all = compare_rows(&before, &after, &options)?;
    let shown: Vec<Comparison> = all
        .iter()
        .filter(|c| arguments.all || !matches!(c.change, Change::Same | Change::Untimed | Change::Unclear))
        .cloned()
        .collect();
    let unicode = arguments.output.output.is_none() && unicode();
    arguments.output.text(&print(format, &all, &shown, &options, unicode)?)?;
    Ok(!all.iter().any(|c| c.change.is_regression()))
}

/// A driver that changed explains much, and forbids nothing.
fn drivers(before: &[Vec<Row>], after: &[Vec<Row>]) {
    let names = |runs: &[Vec<Row>]| {
        let mut names: Vec<String> = runs.iter().flatten().map(|r| format!("{} {}", r.backend, r.driver)).collect();
        names.sort();
        names.dedup();
        names.join(", ")
    };
    let (old, new) = (names(before), names(after));
    if old != new {
        complain(&format!("the drivers differ: before {old}; after {new}"));
    }
}
