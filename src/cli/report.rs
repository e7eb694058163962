//! `report`: kept runs in another format.

use super::output::OutputArguments;
use super::selectors::RowArguments;
use super::terminal::complain;
use clap::Args;
use gpu_ladder::report::read::{self, Kept};
use gpu_ladder::{Error, Result};
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

/// A kept run; one that is not whole is read with a word about it.
pub fn read(path: &Path) -> Result<Kept> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|e| Error::File { path: name.clone(), problem: e.to_string() })?;
    let kept = read::kept(&name, &text)?;
    if kept.partial {
        complain(&format!("{name}: its run was stopped before its end; rows may be missing or without times"));
    }
    Ok(kept)
}

/// Prints the rows of the files; false if a verdict in them failed.
pub fn report(arguments: &ReportArguments) -> Result<bool> {
    let format = arguments.output.format()?;
    let (mut rows, mut partial) = (Vec::new(), false);
    for path in &arguments.files {
        let kept = read(path)?;
        rows.extend(kept.rows);
        partial |= kept.partial;
    }
    arguments.rows.keep(&mut rows)?;
    arguments.output.rows(format, &rows, &[], arguments.all, partial)?;
    Ok(rows.iter().all(|row| !row.is_failure()))
}
