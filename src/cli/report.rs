//! `report`: a kept run in another format.

use super::{print, unicode};
use clap::Args;
use gpu_ladder::{Error, Result, report};
use std::path::PathBuf;

/// The flags of `report`.
#[derive(Args)]
pub struct ReportArguments {
    /// JSON documents that `run --format json` wrote.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Only this shape, such as 8192x8192; several by commas.
    #[arg(long, value_delimiter = ',')]
    shape: Vec<String>,
    /// table, markdown, csv or json.
    #[arg(long, default_value = "table")]
    format: String,
}

/// Prints the rows of the files; false if a verdict in them failed.
pub fn report(arguments: &ReportArguments) -> Result<bool> {
    let format = report::find(&arguments.format)?;
    let mut rows = Vec::new();
    for path in &arguments.files {
        let name = path.display().to_string();
        let text =
            std::fs::read_to_string(path).map_err(|e| Error::File { path: name.clone(), problem: e.to_string() })?;
        rows.extend(report::read::rows(&name, &text)?);
    }
    if !arguments.shape.is_empty() {
        let shape = |row: &report::Row| row.dims.iter().map(|d| d.1.to_string()).collect::<Vec<_>>().join("x");
        rows.retain(|row| arguments.shape.contains(&shape(row)));
    }
    print(&(format.print)(&rows, unicode()));
    Ok(rows.iter().all(|row| !row.cell.is_failure()))
}
