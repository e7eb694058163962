//! `report`: kept runs in another format.

use super::output::OutputArguments;
use super::selectors::RowArguments;
use clap::Args;
use gpu_ladder::{Error, Result, report};
use std::path::{Path, PathBuf};

/// The flags of `report`.
#[derive(Args)]
pub struct ReportArguments {
    /// JSON documents that `run --format json` wrote.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Every rung and variant in the table, not the digest that fits a screen.
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    rows: RowArguments,
    #[command(flatten)]
    output: OutputArguments,
}

/// The rows of a kept run.
pub fn read(path: &Path) -> Result<Vec<report::Row>> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|e| Error::File { path: name.clone(), problem: e.to_string() })?;
    report::read::rows(&name, &text)
}

/// Prints the rows of the files; false if a verdict in them failed.
pub fn report(arguments: &ReportArguments) -> Result<bool> {
    let format = arguments.output.format()?;
    let mut rows = Vec::new();
    for path in &arguments.files {
        rows.extend(read(path)?);
    }
    arguments.rows.keep(&mut rows)?;
    arguments.output.rows(format, &rows, &[], arguments.all)?;
    Ok(rows.iter().all(|row| !row.is_failure()))
}
