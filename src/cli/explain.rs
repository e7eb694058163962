//! `explain OP/RUNG`: the annotated source of a rung, its summary, and the step from the rung below.

use super::output::whole;
use super::selectors::problem_of_size;
use super::terminal::print;
use clap::Args;
use gpu_ladder::counted::{Counted, count};
use gpu_ladder::diagnose::{Checklist, Finding, Measured, checklist, diagnose, limiter};
use gpu_ladder::op::{self, Op};
use gpu_ladder::rung::{Promise, Rung, Source};
use gpu_ladder::sim::{Counters, Machine, Profile};
use gpu_ladder::words::{self, Language, Said};
use gpu_ladder::{Error, Problem, Result};
use std::fmt::Write;

/// The flags of `explain`.
#[derive(Args)]
pub struct ExplainArguments {
    /// The rung, as OP/RUNG; see `list`.
    rung: String,
    /// Every dimension of the problem (default: 256, or what the rung takes).
    #[arg(long, value_parser = whole::<u64>)]
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
    let mut line = |said: Said| out.push_str(&format!("{}\n", said.text(language)));
    let label = format!("{}/{}", op.name(), rung.id());
    line(words::SIMULATED_ON.with([label, dims.join(", "), profile.machine.clone()]));
    line(words::IDEA.with([words::idea(rung, language)]));
    line(words::WHY_IT_PAYS.with([words::because(rung, language)]));
    if let Promise::Nothing { because } = &rung.promise {
        line(words::WRONG_BY_DESIGN.with([because.to_string()]));
    }
    out.push('\n');
    if let Source::Text(source) = rung.wgsl() {
        out.push_str(&annotated(source, profile, language));
    }
    out.push_str(&summary(profile, &counted.machine, findings, language));
    if let Some(below) = below {
        let _ = writeln!(out, "\n{}", words::AGAINST.with([below.rung.id()]).text(language));
        out.push_str(&step(&below.whole, profile, language));
    }
    out
}

/// The source with what each line did in front of it.
pub fn annotated(source: &str, profile: &Profile, language: Language) -> String {
    let mut out = format!("  instr  lanes  sectors  waves | {}\n", words::SOURCE_HEAD.text(language));
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
    let percent =
        |value: Option<f64>| value.map_or_else(|| words::NONE.text(language).into(), |v| format!("{:.1} %", v * 100.0));
    let mut out = String::from("\n");
    let mut line = |said: Said| out.push_str(&format!("{}\n", said.text(language)));
    line(words::TOTALS.with([
        totals.instructions.to_string(),
        format!("{:.1}", totals.lanes_per_instruction().unwrap_or(0.0)),
        totals.flops.total().to_string(),
        totals.barriers.to_string(),
    ]));
    line(words::TRAFFIC.with([
        global.requests.to_string(),
        global.sectors.to_string(),
        percent(global.efficiency()),
        totals.shared().wavefronts.to_string(),
        totals.shared().ideal_wavefronts.to_string(),
    ]));
    let occupancy = &profile.occupancy;
    line(words::RESIDENT.with([
        occupancy.blocks.to_string(),
        occupancy.warps.to_string(),
        machine.warps_per_multiprocessor.to_string(),
        limiter(occupancy).text(language),
    ]));
    line(questions(&checklist(profile, machine), language));
    for finding in findings {
        let _ = writeln!(out, "- {}", finding.text(language));
    }
    for hazard in profile.hazards.iter().filter(|h| h.severity == gpu_ladder::sim::Severity::Warning) {
        let _ = writeln!(out, "- {}", words::WARNING.with([hazard.to_string()]).text(language));
    }
    out
}

fn questions(list: &Checklist, language: Language) -> Said {
    let answer = |value: Option<bool>| {
        let word = match value {
            None => &words::NONE_USED,
            Some(true) => &words::YES,
            Some(false) => &words::NO,
        };
        word.text(language).to_string()
    };
    let answers = [Some(list.occupancy), list.coalesced, list.conflict_free, list.uniform];
    words::QUESTIONS.with(answers.map(answer))
}

/// What changed from one rung to the next, as figures.
fn step(before: &Profile, after: &Profile, language: Language) -> String {
    let mut out = String::new();
    let mut line = |what: &words::Phrase, a: Option<f64>, b: Option<f64>| {
        if a == b {
            return;
        }
        // Counts are whole; what is an average has a digit more.
        let digits = usize::from([a, b].iter().flatten().any(|value| value.fract() > 0.0));
        let number = |value: Option<f64>| {
            value.map_or_else(|| words::NONE.text(language).to_string(), |value| format!("{value:.digits$}"))
        };
        let _ = writeln!(out, "  {}: {} -> {}", what.text(language), number(a), number(b));
    };
    let mut both = |what, of: fn(&Counters) -> Option<f64>| line(what, of(&before.totals), of(&after.totals));
    both(&words::STEP_INSTRUCTIONS, |c| Some(c.instructions as f64));
    both(&words::STEP_SECTORS, |c| Some(c.global().sectors as f64));
    both(&words::STEP_REQUESTS, |c| Some(c.global().requests as f64));
    both(&words::STEP_WAVES, |c| Some(c.shared().wavefronts as f64));
    both(&words::STEP_CONFLICT, |c| c.shared().conflict_degree());
    both(&words::STEP_LANES, |c| c.lanes_per_instruction());
    let warps = |profile: &Profile| Some(f64::from(profile.occupancy.warps));
    line(&words::STEP_WARPS, warps(before), warps(after));
    if out.is_empty() {
        let _ = writeln!(out, "  {}", words::NO_COUNTER_CHANGED.text(language));
    }
    out
}
