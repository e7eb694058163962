//! `run`: climb a ladder.

use super::kernel::KernelArguments;
use super::output::{OutputArguments, bad, whole};
use super::selectors::{DeviceArguments, ProblemArguments, light_size, missing, problem_of_size, simulated_size};
use super::terminal::{Watched, complain};
use clap::Args;
use gpu_ladder::backend::Select;
use gpu_ladder::climb::{Ascent, Climb, Progress};
use gpu_ladder::npy::{self, Matrix};
use gpu_ladder::op::{self, Op};
use gpu_ladder::report::{Cell, Format, Row};
use gpu_ladder::{Error, Problem, Result, Timing};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The flags of `run`.
#[derive(Args)]
pub struct RunArguments {
    /// The op, or OP/RUNG; see `list`.
    #[arg(value_name = "OP", required_unless_present = "op_flag")]
    op: Option<String>,
    /// The same as a flag.
    #[arg(long = "op", value_name = "OP", conflicts_with = "op")]
    op_flag: Option<String>,
    #[command(flatten)]
    device: DeviceArguments,
    /// Only this rung; several by commas.
    #[arg(long, value_delimiter = ',')]
    rung: Vec<String>,
    #[command(flatten)]
    problem: ProblemArguments,
    /// The seed of generated inputs.
    #[arg(long, default_value_t = 1, value_parser = whole::<u64>)]
    seed: u64,
    /// An f32 matrix in place of a generated one: a NumPy file for transpose, a Matrix Market file for
    /// spmv, whose vector stays generated; an --output that ends in .npy then takes the result.
    #[arg(long)]
    input: Option<PathBuf>,
    /// Verify, and do not time.
    #[arg(long)]
    verify_only: bool,
    /// Every rung and variant in the table, not the digest that fits a screen.
    #[arg(long)]
    all: bool,
    /// Compile WGSL with everything that a browser enforces.
    #[arg(long)]
    browser_checks: bool,
    /// Lower the largest binding of a wgpu device, in bytes, to see what a smaller device would do.
    #[arg(long, hide = true)]
    max_binding: Option<u64>,
    #[command(flatten)]
    kernel: KernelArguments,
    #[command(flatten)]
    timing: TimingArguments,
    #[command(flatten)]
    output: OutputArguments,
}

/// How to time.
#[derive(Args)]
pub struct TimingArguments {
    /// Time for samples, such as 2.5, 30s or 500ms.
    #[arg(long, allow_hyphen_values = true)]
    budget: Option<String>,
    /// Time of work before the first sample.
    #[arg(long, allow_hyphen_values = true)]
    warmup: Option<String>,
    /// Exactly this many rounds of samples.
    #[arg(long, value_parser = whole::<usize>)]
    iters: Option<usize>,
    /// Run on one buffer set again and again instead of rotating past the cache.
    #[arg(long)]
    warm_cache: bool,
    /// Runs of a sample, one behind the other, whose mean it is: what a start costs is shared out.
    #[arg(long, value_name = "RUNS", default_value_t = 1, value_parser = whole::<usize>)]
    in_a_row: usize,
}

impl TimingArguments {
    /// The timing that was asked for; `None` leaves it to the device.
    pub fn timing(&self) -> Result<Option<Timing>> {
        let mut timing = Timing { warm_cache: self.warm_cache, in_a_row: self.in_a_row, ..Timing::default() };
        if let Some(value) = &self.budget {
            timing.budget = duration("--budget", value)?;
        }
        if let Some(value) = &self.warmup {
            timing.warmup = duration("--warmup", value)?;
        }
        if let Some(rounds) = self.iters {
            if rounds == 0 {
                return Err(bad("--iters", "0", "a time needs at least one round"));
            }
            (timing.min_rounds, timing.max_rounds) = (rounds, rounds);
        }
        if self.in_a_row == 0 {
            return Err(bad("--in-a-row", "0", "a sample needs at least one run"));
        }
        let asked = self.budget.is_some()
            || self.warmup.is_some()
            || self.iters.is_some()
            || self.warm_cache
            || self.in_a_row != 1;
        Ok(asked.then_some(timing))
    }
}

/// A time as people write it; a bare number is in seconds.
fn duration(option: &'static str, text: &str) -> Result<Duration> {
    let units = [("ms", 1e-3), ("us", 1e-6), ("min", 60.0), ("s", 1.0), ("m", 60.0), ("", 1.0)];
    let parsed =
        units.iter().find_map(|(unit, factor)| Some(text.strip_suffix(unit)?.trim().parse::<f64>().ok()? * factor));
    let seconds = parsed.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds.ok_or_else(|| bad(option, text, "a time such as 2.5, 30s, 500ms or 2min"))
}

/// Climbs, prints, and says whether every verdict passed.
pub fn run(arguments: &RunArguments) -> Result<bool> {
    let matrix_file = arguments.output.output.as_deref().filter(|path| path.extension().is_some_and(|e| e == "npy"));
    let format = match matrix_file {
        Some(path) => {
            if arguments.input.is_none() {
                return Err(bad(
                    "--output",
                    path.display().to_string(),
                    "a matrix is written only where --input gives one",
                ));
            }
            npy::check_writable(path)?;
            gpu_ladder::report::find(arguments.output.format.as_deref().unwrap_or("table"))?
        }
        None => arguments.output.format()?,
    };
    let climb = climb(arguments)?;
    let keeps = matrix_file.is_none();
    let mut kept = Kept { watched: Watched::new(), output: keeps.then_some((&arguments.output, format)), last: None };
    let ascent = pollster::block_on(climb.run(&mut kept))?;
    drop(kept);
    let partial = ascent.stopped.is_some();
    for (backend, error) in &ascent.missing {
        complain(&missing(backend, error));
    }
    smaller(&climb, &ascent);
    let mut leaks: Vec<&String> = ascent.rows.iter().flat_map(|row| &row.device_leaks).collect();
    leaks.dedup();
    leaks.iter().for_each(|leak| complain(&format!("device memory was not given back: {leak}")));
    match matrix_file {
        Some(path) => {
            write_matrix(path, &climb, &ascent)?;
            OutputArguments { output: None, ..arguments.output.clone() }.rows(
                format,
                &ascent.rows,
                &climb.rungs,
                arguments.all,
                partial,
            )?;
        }
        None => arguments.output.rows(format, &ascent.rows, &climb.rungs, arguments.all, partial)?,
    }
    match ascent.stopped {
        Some(error) => Err(error),
        None => {
            nothing_ran(&climb, &ascent.rows).map_or_else(|| Ok(ascent.rows.iter().all(|row| !row.is_failure())), Err)
        }
    }
}

/// Why not a single rung could run, where that is so.
fn nothing_ran(climb: &Climb, rows: &[Row]) -> Option<Error> {
    let first = rows.first().filter(|_| rows.iter().all(|row| matches!(row.cell, Cell::Absent(_))))?;
    let because = format!("no rung could; {} on {}: {}", first.rung, first.backend, first.cell.reason()?);
    Some(Error::Unsupported { what: format!("running {}", climb.op.name()), because })
}

/// Tells of problems that are smaller than a GPU's, where the caller named no size.
fn smaller(climb: &Climb, ascent: &Ascent) {
    let asked = |row: &Row| {
        climb.problems.iter().any(|problem| row.dims.iter().map(|dim| dim.1).eq(problem.dims.iter().copied()))
    };
    let mut lines: Vec<String> = ascent
        .rows
        .iter()
        .filter(|row| !asked(row))
        .map(|row| {
            let usual: Vec<String> = climb.problems[0].dims.iter().map(u64::to_string).collect();
            format!(
                "{} ({}) takes {} here, not the {} of a GPU; --size asks for another",
                row.backend,
                row.device,
                row.shape(),
                usual.join("x")
            )
        })
        .collect();
    lines.dedup();
    lines.iter().for_each(|line| complain(line));
}

/// The climb that the flags describe.
fn climb(arguments: &RunArguments) -> Result<Climb> {
    let word = arguments.op.as_ref().or(arguments.op_flag.as_ref()).map_or("", String::as_str);
    let (op_name, rung) = word.split_once('/').map_or((word, None), |(op, rung)| (op, Some(rung.to_string())));
    let op = op::find(op_name)?;
    let mut climb = Climb::new(op, problem_of_size(op, 1));
    const DEFAULT_SIZE: u64 = 1024;
    /// A processor that imitates a GPU does so many operations a rung in a moment.
    const IMITATED: f64 = 1e8;
    climb.problems = arguments.problem.problems(op, DEFAULT_SIZE)?;
    climb.imitated = arguments.problem.problems(op, light_size(op, DEFAULT_SIZE, IMITATED))?;
    climb.simulated = arguments.problem.problems(op, simulated_size(op))?;
    if let Some(path) = &arguments.input {
        let (problem, operands) = given(op, path, arguments.seed)?;
        (climb.problems, climb.simulated, climb.imitated) = (vec![problem], Vec::new(), Vec::new());
        climb.given = Some((operands, path.display().to_string()));
    }
    climb.backends = arguments.device.backend.clone();
    climb.select = Select {
        browser_checks: arguments.browser_checks,
        max_binding: arguments.max_binding,
        ..arguments.device.select()
    };
    climb.verify_only = arguments.verify_only;
    climb.seed = arguments.seed;
    climb.timing = arguments.timing.timing()?;
    let rungs: Vec<String> = arguments.rung.iter().cloned().chain(rung).collect();
    if !rungs.is_empty() {
        climb = climb.with_rungs(&rungs)?;
    }
    if let Some(own) = arguments.kernel.rung(op, climb.problems[0].element.size())? {
        if climb.rungs.is_empty() {
            climb.rungs = op.ladder().to_vec();
        }
        climb.rungs.push(own);
    }
    Ok(climb)
}

/// The problem and the operands that a matrix in a file makes.
fn given(op: &dyn Op, path: &Path, seed: u64) -> Result<(Problem, Vec<Arc<Vec<u8>>>)> {
    let file = path.display().to_string();
    match op.name() {
        "transpose" => {
            let matrix = npy::read(path)?;
            Ok((Problem::new(matrix.element, [matrix.rows, matrix.cols]), vec![Arc::new(matrix.bytes)]))
        }
        "spmv" => {
            let text = std::fs::read_to_string(path)
                .map_err(|error| Error::File { path: file, problem: error.to_string() })?;
            let of_file = |error: Error| Error::File { path: path.display().to_string(), problem: error.to_string() };
            let sparse = op::read_matrix_market(&text).map_err(of_file)?;
            Ok((sparse.problem(), sparse.operands(seed)))
        }
        _ => Err(bad("--input", file, "only transpose and spmv read a matrix")),
    }
}

fn write_matrix(path: &Path, climb: &Climb, ascent: &Ascent) -> Result<()> {
    let Some(bytes) = ascent.output.clone() else { return Ok(()) };
    let problem = &climb.problems[0];
    let (_, shape) = climb.op.shapes(problem)?;
    npy::write(path, &Matrix { element: problem.element, rows: shape.rows, cols: shape.cols, bytes })
}

/// A climb that is watched, and whose rows are kept while it goes on: whatever ends it, they are there.
struct Kept<'a> {
    watched: Watched,
    output: Option<(&'a OutputArguments, &'static Format)>,
    last: Option<Instant>,
}

impl Progress for Kept<'_> {
    fn step(&mut self, what: &str) {
        self.watched.step(what);
    }

    fn rows(&mut self, rows: &[Row], settled: bool) {
        /// Between two writings of rows that are not settled.
        const PAUSE: Duration = Duration::from_secs(1);
        let Some((output, format)) = self.output else { return };
        if settled || self.last.is_none_or(|last| last.elapsed() >= PAUSE) {
            output.rows_so_far(format, rows);
            self.last = Some(Instant::now());
        }
    }

    fn stop(&self) -> bool {
        self.watched.stop()
    }
}
