//! What a run of the claims keeps, and how it is printed.

use super::tables::{Level, Resident};
use super::{Finding, Lab, Verdict};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// The findings of one device, with where they come from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)] // the names of any report
pub struct Report {
    pub backend: String,
    pub device: String,
    pub driver: String,
    pub software_adapter: bool,
    pub commit: Option<String>,
    pub findings: Vec<Finding>,
    /// The levels of its memory.
    pub levels: Vec<Level>,
    /// Times beside resident warps.
    pub resident: Vec<Resident>,
}

impl Report {
    /// Of a lab's device.
    pub fn new(lab: &Lab, findings: Vec<Finding>, levels: Vec<Level>, resident: Vec<Resident>) -> Self {
        let device = lab.device();
        Report {
            backend: device.backend.into(),
            device: device.name.clone(),
            driver: device.driver.clone(),
            software_adapter: device.is_software(),
            commit: option_env!("GPU_LADDER_COMMIT").map(str::to_string),
            findings,
            levels,
            resident,
        }
    }

    /// As JSON.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// As text for a terminal.
    pub fn text(&self) -> String {
        let mut out = format!("{} ({}, {})\n", self.device, self.backend, self.driver);
        for f in &self.findings {
            let _ = writeln!(out, "\n{} [{}] {}", f.id, f.verdict.name(), f.claim);
            let _ = writeln!(out, "   test: {}\n   here: {}\n   {}", f.predicate, f.figure, f.because);
        }
        out + "\n" + &self.tables()
    }

    fn tables(&self) -> String {
        let number = |value: Option<f64>, digits: usize| value.map_or("-".into(), |v| format!("{v:.digits$}"));
        let mut out = String::new();
        if !self.levels.is_empty() {
            out.push_str("| level | capacity | set | latency, ns | cycles | claimed | all threads, GB/s |\n");
            out.push_str("|---|---|---:|---:|---:|---|---:|\n");
        }
        for l in &self.levels {
            let (ns, cycles, gbps) = (number(l.latency_ns, 1), number(l.latency_cycles, 0), number(l.gbps, 0));
            let set = l.set_bytes.map_or("-".into(), |bytes| format!("{} KiB", bytes >> 10));
            let [capacity, claimed] = [&l.capacity, &l.claimed].map(|text| if text.is_empty() { "-" } else { text });
            let _ = writeln!(out, "| {} | {capacity} | {set} | {ns} | {cycles} | {claimed} | {gbps} |", l.level);
        }
        if !self.resident.is_empty() {
            out.push_str("\n| rung | resident warps | local memory, bytes per thread | ms |\n|---|---:|---:|---:|\n");
        }
        for r in &self.resident {
            let (warps, local, ms) = (number(r.warps, 0), number(r.local_bytes, 0), number(r.ms, 4));
            let _ = writeln!(out, "| {} | {warps} | {local} | {ms} |", r.rung);
        }
        out
    }
}

/// Reads a report that was kept as JSON.
///
/// # Errors
/// [`Error::Option`] where it is none.
pub fn read(path: &str, text: &str) -> Result<Report> {
    let wrong =
        |error: serde_json::Error| Error::Option { option: "--kept", value: path.into(), problem: error.to_string() };
    serde_json::from_str(text).map_err(wrong)
}

/// The page of several devices' findings, in Markdown.
pub fn page(reports: &[Report]) -> String {
    let mut out = String::from(
        "# Claims, tested\n\nWhat three widely read texts claim about GPUs (A: a practical article from the \
         architecture to the transpose, B: an article on the memory system, C: a textbook chapter), each with the \
         predicate that was fixed before measuring, and what our devices say. *Depends* also stands where a device \
         cannot tell; *later* where the rungs do not exist yet. Printed by `gpu-ladder claims --kept FILE… --format \
         markdown` from `gpu-ladder claims --format json` of each device.\n\n",
    );
    for report in reports {
        let commit = report.commit.as_deref().unwrap_or("unknown");
        let software =
            if report.software_adapter { "; a software adapter, whose times say nothing about a GPU" } else { "" };
        let counts = [Verdict::Holds, Verdict::Fails, Verdict::Depends, Verdict::Later].map(|verdict| {
            let count = report.findings.iter().filter(|f| f.verdict == verdict).count();
            format!("{count} {}", verdict.name())
        });
        let (device, backend, driver) = (&report.device, &report.backend, &report.driver);
        let _ = writeln!(out, "- {device} ({backend}, {driver}, commit {commit}{software}): {}", counts.join(", "));
    }
    let name =
        |report: &Report| format!("{} ({})", report.device.split(" (").next().unwrap_or_default(), report.backend);
    let heads: Vec<String> = reports.iter().map(name).collect();
    for (section, title) in [('A', "A practical article"), ('B', "The memory system"), ('C', "A textbook chapter")] {
        let _ = writeln!(out, "\n## {section}. {title}\n\n| id | claim | GPU | test | {} | why |", heads.join(" | "));
        let _ = writeln!(out, "|---|---|---|---|{}---|", "---|".repeat(reports.len()));
        for claim in super::claims().filter(|claim| claim.id.starts_with(section)) {
            let cells = reports.iter().map(|report| {
                let found = report.findings.iter().find(|other| other.id == claim.id);
                found.map_or("-".into(), |f| match f.figure.as_str() {
                    "" => format!("**{}**", f.verdict.name()),
                    figure => format!("**{}**: {}", f.verdict.name(), escaped(figure)),
                })
            });
            let cells: Vec<String> = cells.collect();
            let (id, cells) = (claim.id, cells.join(" | "));
            let [claim, gpu, test, why] = [claim.claim, claim.gpu, claim.predicate, claim.because].map(escaped);
            let _ = writeln!(out, "| {id} | {claim} | {gpu} | {test} | {cells} | {why} |");
        }
    }
    for report in reports.iter().filter(|report| !report.levels.is_empty()) {
        let _ = writeln!(out, "\n## Levels and residency: {}\n\n{}", name(report), report.tables().trim_end());
    }
    out
}

/// Text inside a cell of a table.
fn escaped(text: &str) -> String {
    text.replace('|', "\\|")
}
