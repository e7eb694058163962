//! `claims`: what texts say about GPUs, tested on this one.

use super::output::TABLES;
use super::selectors::DeviceArguments;
use super::terminal::{interrupted, listen, print};
use clap::Args;
use gpu_ladder::backend::{Any, BACKENDS, Select};
use gpu_ladder::claims::{Claim, Lab, Report, claims as all, page, read, settle};
use gpu_ladder::climb::Progress;
use gpu_ladder::{Error, Result};
use std::path::PathBuf;

/// The flags of `claims`.
#[derive(Args)]
pub struct ClaimsArguments {
    /// Only these, by id: A1 B3 ... (default: all, and the tables of levels and residency).
    ids: Vec<String>,
    #[command(flatten)]
    device: DeviceArguments,
    /// table, markdown or json.
    #[arg(long, default_value = "table")]
    format: String,
    /// Print kept runs (`--format json`) instead of measuring.
    #[arg(long)]
    kept: Vec<PathBuf>,
}

/// A line for each step, and an end where somebody interrupts.
struct Steps;

impl Progress for Steps {
    fn step(&mut self, what: &str) {
        tracing::info!("{what}");
    }

    fn stop(&self) -> bool {
        interrupted()
    }
}

/// Settles the claims and prints them; those that an interruption left unmeasured are not in what is printed.
pub fn claims(arguments: &ClaimsArguments) -> Result<bool> {
    if !TABLES.contains(&arguments.format.as_str()) {
        let known = TABLES.iter().map(|format| format.to_string()).collect();
        return Err(Error::Unknown { kind: "format", word: arguments.format.clone(), known });
    }
    let reports = if arguments.kept.is_empty() { vec![measured(arguments)?] } else { kept(&arguments.kept)? };
    let text = match arguments.format.as_str() {
        "json" => reports.iter().map(Report::json).collect(),
        "markdown" => page(&reports),
        _ => reports.iter().map(Report::text).collect(),
    };
    print(&text);
    if arguments.kept.is_empty() && interrupted() { Err(Error::Interrupted) } else { Ok(true) }
}

fn kept(paths: &[PathBuf]) -> Result<Vec<Report>> {
    let report = |path: &PathBuf| {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|error| Error::Option {
            option: "--kept",
            value: name.clone(),
            problem: error.to_string(),
        })?;
        read(&name, &text)
    };
    paths.iter().map(report).collect()
}

fn measured(arguments: &ClaimsArguments) -> Result<Report> {
    let chosen: Vec<&Claim> =
        all().filter(|claim| arguments.ids.is_empty() || arguments.ids.iter().any(|id| id == claim.id)).collect();
    if let Some(id) = arguments.ids.iter().find(|id| !all().any(|claim| claim.id == **id)) {
        let known = all().map(|claim| claim.id.to_string()).collect();
        return Err(Error::Unknown { kind: "claim", word: id.clone(), known });
    }
    let select = arguments.device.select();
    listen();
    pollster::block_on(async {
        let lab = open(&arguments.device.backend, &select).await?;
        settle(&lab, &chosen, arguments.ids.is_empty(), &mut Steps).await
    })
}

/// The device that was asked for, or the first that opens.
async fn open(asked: &[String], select: &Select) -> Result<Lab> {
    if let [name, ..] = asked {
        return Lab::open(name, select).await;
    }
    let mut last = None;
    for (name, _) in BACKENDS.iter().filter(|(_, built)| *built) {
        match Any::open_named(name, select).await {
            Ok(_) => return Lab::open(name, select).await,
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(|| gpu_ladder::backend::not_built("wgpu")))
}
