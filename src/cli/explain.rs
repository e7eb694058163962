//! `explain OP/RUNG`: the annotated source of a rung, its summary, and the step from the rung below.

use super::selectors::problem_of_size;
use super::terminal::print;
use clap::Args;
use gpu_ladder::counted::{Counted, count};
use gpu_ladder::diagnose::{Checklist, Finding, Measured, checklist, diagnose};
use gpu_ladder::op::{self, Op};
use gpu_ladder::rung::{Promise, Rung, Source};
use gpu_ladder::sim::{Counters, Machine, Profile};
use gpu_ladder::words::{self, Language};
use gpu_ladder::{Error, Problem, Result};
use std::fmt::Write;

/// The flags of `explain`.
#[derive(Args)]
pub struct ExplainArguments {
    /// The rung, as OP/RUNG; see `list`.
    rung: String,
    /// Every dimension of the problem (default: 256, or what the rung takes).
    #[arg(long)]
    size: Option<u64>,
    /// The machine model.
    #[arg(long, default_value = "nvidia-h200")]
    machine: String,
    /// text or json.
    #[arg(long, default_value = "text")]
    format: String,
    /// en or zh (default: the locale's).
    #[arg(long)]
    lang: Option<String>,
}

/// Runs the rung and the one below on the simulator and prints what happened; false for a wrong
/// result or a hazard.
pub fn explain(arguments: &ExplainArguments) -> Result<bool> {
    let json = text_or_json(&arguments.format)?;
    let language = super::output::language(arguments.lang.as_deref())?;
    let (op_name, rung_name) = arguments.rung.split_once('/').unwrap_or((&arguments.rung, ""));
    let op = op::find(op_name)?;
    if rung_name.is_empty() {
        let rungs: Vec<String> = op.ladder().iter().map(Rung::id).collect();
        return Err(Error::Option {
            option: "the rung",
            value: arguments.rung.clone(),
            problem: format!("it is given as OP/RUNG; {op_name} has {}", rungs.join(", ")),
        });
    }
    let ladder = op.ladder();
    let place = ladder.iter().rposition(|r| r.answers_to(rung_name)).ok_or_else(|| Error::Unknown {
        kind: "rung",
        word: rung_name.into(),
        known: ladder.iter().map(Rung::id).collect(),
    })?;
    let problem = problem(op, &ladder[place], arguments.size);
    let machine = Machine::load(&arguments.machine).map_err(|e| Error::Option {
        option: "--machine",
        value: arguments.machine.clone(),
        problem: e.to_string(),
    })?;
    let counted = count(op, &ladder[place], &problem, &machine)?;
    let profile = &counted.whole;
    let below = place.checked_sub(1).and_then(|i| count(op, &ladder[i], &problem, &machine).ok());
    let mut findings = diagnose(profile, &machine, Measured::default());
    // The small problem's doing, not the rung's.
    findings.retain(|finding| !finding.symptom.is(&words::FEW_BLOCKS));
    if json {
        let document = serde_json::json!({
            "op": op.name(),
            "rung": ladder[place].id(),
            "idea": ladder[place].idea,
            "because": ladder[place].because,
            "findings": findings.iter().map(Finding::to_string).collect::<Vec<_>>(),
            "profile": profile,
        });
        print(&format!("{document:#}\n"));
    } else {
        print(&text(op, &counted, below.as_ref(), &findings, language));
    }
    let wrong_by_design = matches!(ladder[place].promise, Promise::Nothing { .. });
    Ok(wrong_by_design || !profile.has_errors())
}

/// Whether `format` is JSON; only text and JSON are known here.
pub fn text_or_json(format: &str) -> Result<bool> {
    match format {
        "text" => Ok(false),
        "json" => Ok(true),
        other => Err(Error::Unknown { kind: "format", word: other.into(), known: vec!["text".into(), "json".into()] }),
    }
}

/// The problem of a size, or where nobody asked for one and the rung does not take that, the largest of the op's
/// examples that it takes.
fn problem(op: &dyn Op, rung: &Rung, size: Option<u64>) -> Problem {
    const SIZE: u64 = 256;
    let of_size = problem_of_size(op, size.unwrap_or(SIZE));
    let takes = |problem: &Problem| op::accepts(op, rung, gpu_ladder::rung::Language::Wgsl, problem).is_ok();
    if size.is_some() || takes(&of_size) {
        return of_size;
    }
    let examples = op.examples().into_iter().map(|dims| Problem { dims, ..of_size.clone() });
    examples.filter(takes).last().unwrap_or(of_size)
}

fn text(op: &dyn Op, counted: &Counted, below: Option<&Counted>, findings: &[Finding], language: Language) -> String {
    let (rung, profile) = (&counted.rung, &counted.whole);
    let mut out = String::new();
    let dims: Vec<String> = op.dims().iter().zip(&counted.problem.dims).map(|(n, v)| format!("{n} {v}")).collect();
    let _ = writeln!(out, "{}/{}, {}, simulated {}", op.name(), rung.id(), dims.join(", "), profile.machine);
    let idea = words::idea(rung, language);
    let _ = writeln!(out, "Idea: {idea}\nWhy it pays: {}", rung.because);
    if let Promise::Nothing { because } = &rung.promise {
        let _ = writeln!(out, "Wrong by design: {because}");
    }
    out.push('\n');
    if let Source::Text(source) = rung.wgsl() {
        out.push_str(&annotated(source, profile));
    }
    out.push_str(&summary(profile, &counted.machine, findings, language));
    if let Some(below) = below {
        let _ = writeln!(out, "\nAgainst {}, the rung below:", below.rung.id());
        out.push_str(&step(&below.whole, profile));
    }
    out
}

/// The source with what each line did in front of it.
pub fn annotated(source: &str, profile: &Profile) -> String {
    let mut out = String::from(
        "  instr  lanes  sectors  waves | source (per line: warp instructions, active lanes, sectors per request, wavefronts per request)\n",
    );
    for (index, line) in source.lines().enumerate() {
        let counted = profile.lines.iter().find(|l| l.line as usize == index + 1).map(|l| &l.counters);
        let number = |value: Option<f64>| value.map(|v| format!("{v:.1}")).unwrap_or_default();
        let (instructions, lanes, sectors, waves) = match counted {
            None => Default::default(),
            Some(c) => {
                let shared = c.shared();
                let waves = (shared.requests > 0).then(|| shared.wavefronts as f64 / shared.requests as f64);
                let instructions = if c.instructions > 0 { c.instructions.to_string() } else { String::new() };
                (
                    instructions,
                    number(c.lanes_per_instruction()),
                    number(c.global().sectors_per_request()),
                    number(waves),
                )
            }
        };
        let _ = writeln!(out, "{instructions:>7} {lanes:>6} {sectors:>8} {waves:>6} | {line}");
    }
    out
}

/// Totals, the checklist, findings and hazards.
pub fn summary(profile: &Profile, machine: &Machine, findings: &[Finding], language: Language) -> String {
    let totals = &profile.totals;
    let global = totals.global();
    let percent = |value: Option<f64>| value.map_or("none".into(), |v| format!("{:.1} %", v * 100.0));
    let mut out = String::new();
    let _ = writeln!(
        out,
        "\n{} warp instructions, {:.1} lanes each; {} operations; {} barriers",
        totals.instructions,
        totals.lanes_per_instruction().unwrap_or(0.0),
        totals.flops.total(),
        totals.barriers,
    );
    let _ = writeln!(
        out,
        "global memory: {} requests, {} sectors, {} of the bytes moved are used; shared memory: {} wavefronts, {} needed",
        global.requests,
        global.sectors,
        percent(global.efficiency()),
        totals.shared().wavefronts,
        totals.shared().ideal_wavefronts,
    );
    let _ = writeln!(
        out,
        "resident: {} blocks, {} warps of {} on a multiprocessor, limited by {:?}",
        profile.occupancy.blocks, profile.occupancy.warps, machine.warps_per_multiprocessor, profile.occupancy.limiter,
    );
    out.push_str(&questions(&checklist(profile, machine)));
    for finding in findings {
        let _ = writeln!(out, "- {}", finding.text(language));
    }
    for hazard in profile.hazards.iter().filter(|h| h.severity == gpu_ladder::sim::Severity::Warning) {
        let _ = writeln!(out, "- warning: {hazard}");
    }
    out
}

fn questions(list: &Checklist) -> String {
    let answer = |value: Option<bool>| value.map_or("none used", |yes| if yes { "yes" } else { "NO" });
    format!(
        "occupancy at least half: {}; coalesced: {}; free of bank conflicts: {}; warps full: {}; limiter of resident warps: {}\n",
        answer(Some(list.occupancy)),
        answer(list.coalesced),
        answer(list.conflict_free),
        answer(list.uniform),
        list.limiter,
    )
}

/// What changed from one rung to the next, as figures.
fn step(before: &Profile, after: &Profile) -> String {
    let warps = [before, after].map(|profile| f64::from(profile.occupancy.warps));
    let (before, after) = (&before.totals, &after.totals);
    let mut out = String::new();
    let mut line = |what: &str, a: f64, b: f64| {
        if (a - b).abs() > 1e-9 {
            // Counts are whole; what is an average has a digit more.
            let digits = usize::from(a.fract() + b.fract() > 0.0);
            let _ = writeln!(out, "  {what}: {a:.digits$} -> {b:.digits$}");
        }
    };
    line("warp instructions", before.instructions as f64, after.instructions as f64);
    let sectors = |c: &Counters| c.global().sectors as f64;
    line("sectors moved", sectors(before), sectors(after));
    let requests = |c: &Counters| c.global().requests as f64;
    line("global requests", requests(before), requests(after));
    let waves = |c: &Counters| c.shared().wavefronts as f64;
    line("shared wavefronts", waves(before), waves(after));
    let conflict = |c: &Counters| c.shared().conflict_degree().unwrap_or(0.0);
    line("conflict degree", conflict(before), conflict(after));
    let lanes = |c: &Counters| c.lanes_per_instruction().unwrap_or(0.0);
    line("active lanes", lanes(before), lanes(after));
    line("resident warps", warps[0], warps[1]);
    if out.is_empty() {
        out.push_str("  no counter changed\n");
    }
    out
}
