//! `tune`: the fastest right rung for a problem on this device, kept for the library's later calls.

use super::output::{OutputArguments, TEXTS};
use super::selectors::{DeviceArguments, ProblemArguments};
use super::terminal::{Spinner, complain};
use clap::Args;
use gpu_ladder::backend::Clock;
use gpu_ladder::gpu::{Gpu, Tuned};
use gpu_ladder::op::{self, Op};
use gpu_ladder::rung::Rung;
use gpu_ladder::words::{self, Language};
use gpu_ladder::{Error, Problem, Result};
use serde_json::{Value, json};

/// The flags of `tune`.
#[derive(Args)]
pub struct TuneArguments {
    /// The op; see `list`.
    op: String,
    /// Only among these rungs; several by commas.
    #[arg(long, value_delimiter = ',')]
    rung: Vec<String>,
    #[command(flatten)]
    device: DeviceArguments,
    #[command(flatten)]
    problem: ProblemArguments,
    /// Measure, and keep nothing.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    output: OutputArguments,
}

/// What tuning changed for one problem.
struct Change {
    problem: Problem,
    before: String,
    tuned: Tuned,
}

impl Change {
    /// The time of the rung that was taken before over that of the one that is taken now.
    fn speedup(&self) -> Option<f64> {
        let of = |rung: &str| self.tuned.candidates.iter().find(|c| c.rung == rung)?.outcome.as_ref().ok().copied();
        Some(of(&self.before)? / of(&self.tuned.rung)?)
    }
}

/// Tunes, and says what changed.
pub fn tune(arguments: &TuneArguments) -> Result<bool> {
    let op = op::find(&arguments.op)?;
    if let Some(word) = arguments.rung.iter().find(|w| !op.ladder().iter().any(|r| r.answers_to(w))) {
        let known = op.ladder().iter().map(Rung::id).collect();
        return Err(Error::Unknown { kind: "rung", word: word.clone(), known });
    }
    const SIZE: u64 = 1024;
    let problems = arguments.problem.problems(op, SIZE)?;
    problems.iter().try_for_each(|problem| op.check(problem).map(|_| ()))?;
    let language = arguments.output.language()?;
    let json = arguments.output.one_of(TEXTS)? == "json";
    let backend = arguments.device.backend.first().map_or("auto", String::as_str);
    let gpu = pollster::block_on(Gpu::open_on_async(backend, &arguments.device.select()))?;
    // What it takes now is compiled and verified first, which a simulator does for most of a minute.
    if gpu.device().clock == Clock::None {
        let because = format!("{} has no clock", gpu.device().backend);
        return Err(Error::Unsupported { what: format!("tuning {}", op.name()), because });
    }
    let taken: Vec<String> =
        problems.iter().map(|problem| Ok(plain(op, &gpu.chosen(op, problem)?))).collect::<Result<_>>()?;
    if arguments.dry_run {
        gpu.keep_tuning_in(None);
    }
    let spinner = Spinner::new();
    let allowed = |rung: &Rung| arguments.rung.is_empty() || arguments.rung.iter().any(|word| rung.answers_to(word));
    let mut changes = Vec::new();
    for (problem, before) in problems.into_iter().zip(taken) {
        spinner.say(&format!("tuning {}", about(op, &problem)));
        let tuned = gpu.tune_among(op, &problem, allowed)?;
        changes.push(Change { problem, before, tuned });
    }
    drop(spinner);
    let file = gpu.tuning_file().map(|file| file.display().to_string());
    if file.is_none() && !arguments.dry_run {
        complain("there is no folder to keep it in (GPU_LADDER_CACHE names one): it is forgotten now");
    }
    let text = match json {
        true => document(op, &gpu, &changes, file),
        false => {
            changes.iter().map(|change| described(op, &gpu, change, language)).collect::<String>()
                + &kept(file, language)
        }
    };
    arguments.output.text(&text)?;
    Ok(true)
}

/// The id of a rung without its op.
fn plain(op: &dyn Op, label: &str) -> String {
    label.strip_prefix(op.name()).and_then(|rest| rest.strip_prefix('/')).unwrap_or(label).to_string()
}

fn about(op: &dyn Op, problem: &Problem) -> String {
    let dims: Vec<String> =
        op.dims().iter().zip(&problem.dims).map(|(name, value)| format!("{name} {value}")).collect();
    let layout = op.layout(problem).map(|layout| format!(", {layout}")).unwrap_or_default();
    format!("{} {}, {}{layout}", op.name(), problem.types(), dims.join(", "))
}

fn described(op: &dyn Op, gpu: &Gpu, change: &Change, language: Language) -> String {
    let device = gpu.device();
    let mut text = format!("{}; {}: {}\n", about(op, &change.problem), device.backend, device.name);
    let fastest = change.tuned.candidates.iter().find_map(|candidate| candidate.outcome.as_ref().ok().copied());
    let width = change.tuned.candidates.iter().map(|candidate| candidate.rung.len()).max().unwrap_or(0);
    for candidate in &change.tuned.candidates {
        text += &match (&candidate.outcome, fastest) {
            (Ok(ns), Some(fastest)) => {
                format!("  {:<width$}  {:>10.4} ms  {:.2}x\n", candidate.rung, ns / 1e6, ns / fastest)
            }
            (Ok(_), None) => String::new(),
            (Err(because), _) => format!("  {:<width$}  {because}\n", candidate.rung),
        };
    }
    let (now, before) = (change.tuned.rung.clone(), change.before.clone());
    let said = match change.speedup() {
        _ if now == before => words::TUNED_SAME.with([now]),
        Some(speedup) => words::TUNED.with([now, format!("{speedup:.2}"), before]),
        None => words::TUNED_NEW.with([now, before]),
    };
    text + &format!("{}\n", said.text(language))
}

fn kept(file: Option<String>, language: Language) -> String {
    let said = file.map_or_else(|| words::KEPT_NOWHERE.say(), |file| words::KEPT_IN.with([file]));
    format!("{}\n", said.text(language))
}

fn document(op: &dyn Op, gpu: &Gpu, changes: &[Change], file: Option<String>) -> String {
    let one = |change: &Change| -> Value {
        let candidates = change.tuned.candidates.iter().map(|candidate| {
            let ms = candidate.outcome.as_ref().ok().map(|ns| ns / 1e6);
            json!({ "rung": candidate.rung, "median_ms": ms, "reason": candidate.outcome.as_ref().err() })
        });
        let candidates: Vec<Value> = candidates.collect();
        json!({
            "problem": about(op, &change.problem), "before": change.before, "rung": change.tuned.rung,
            "speedup": change.speedup(), "candidates": candidates,
        })
    };
    let device = gpu.device();
    let problems: Vec<Value> = changes.iter().map(one).collect();
    let document = json!({
        "schema": "gpu-ladder/tuning", "version": 1, "backend": device.backend, "device": device.name,
        "driver": device.driver, "software_adapter": device.is_software(), "file": file, "problems": problems,
    });
    format!("{document:#}\n")
}
