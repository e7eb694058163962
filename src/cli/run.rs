//! `run`: climb a ladder.

use super::{DeviceArguments, print, unicode};
use clap::Args;
use gpu_ladder::backend::Select;
use gpu_ladder::climb::{Ascent, Climb};
use gpu_ladder::npy::{self, Matrix};
use gpu_ladder::op::{self, Op};
use gpu_ladder::{Element, Error, Problem, Result, Timing, report};
use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

#[derive(Args)]
pub struct RunArguments {
    /// The op; see `list`.
    op: String,
    #[command(flatten)]
    device: DeviceArguments,
    /// Only this rung; several by commas.
    #[arg(long, value_delimiter = ',')]
    rung: Vec<String>,
    /// Every dimension that is not given by its own name (default 1024); several by commas.
    #[arg(long, value_delimiter = ',')]
    size: Vec<u64>,
    /// All dimensions at once, such as 8191x8193; several by commas.
    #[arg(long, value_delimiter = ',')]
    shape: Vec<String>,
    /// Rows of the input.
    #[arg(long)]
    rows: Option<u64>,
    /// Columns of the input.
    #[arg(long)]
    cols: Option<u64>,
    /// Elements of a vector.
    #[arg(long)]
    len: Option<u64>,
    /// Rows of A and C.
    #[arg(long)]
    m: Option<u64>,
    /// Columns of B and C.
    #[arg(long)]
    n: Option<u64>,
    /// Columns of A, rows of B.
    #[arg(long)]
    k: Option<u64>,
    /// Matrices.
    #[arg(long, default_value_t = 1)]
    batch: u64,
    /// f32, f64, f16, bf16, i8 ...
    #[arg(long, default_value = "f32")]
    element: String,
    /// The seed of generated inputs.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// An f32 matrix as a NumPy file, in place of a generated input (transpose).
    #[arg(long)]
    input: Option<PathBuf>,
    /// Where to write the result as a NumPy file.
    #[arg(long, requires = "input")]
    output: Option<PathBuf>,
    /// Compile WGSL with everything that a browser enforces.
    #[arg(long)]
    browser_checks: bool,
    /// Lower the largest binding of a wgpu device, in bytes, to see what a smaller device would do.
    #[arg(long, hide = true)]
    max_binding: Option<u64>,
    /// Seconds of sampling.
    #[arg(long, allow_negative_numbers = true)]
    budget: Option<f64>,
    /// Seconds of work before the first sample.
    #[arg(long, allow_negative_numbers = true)]
    warmup: Option<f64>,
    /// Exactly this many rounds of samples.
    #[arg(long)]
    iters: Option<usize>,
    /// Run on one buffer set again and again instead of rotating past the cache.
    #[arg(long)]
    warm_cache: bool,
    /// table, markdown, csv or json.
    #[arg(long, default_value = "table")]
    format: String,
}

/// Climbs, prints, and says whether every verdict passed.
pub fn run(arguments: &RunArguments) -> Result<bool> {
    let format = report::find(&arguments.format)?;
    let op = op::find(&arguments.op)?;
    let element: Element = arguments.element.parse()?;
    if let Some(path) = &arguments.output {
        npy::check_writable(path)?;
    }
    let mut climb = Climb::new(op, problem_of_size(op, 1));
    climb.problems = problems(op, element, arguments)?;
    if let Some(path) = &arguments.input {
        if op.name() != "transpose" {
            return Err(Error::Option {
                option: "--input",
                value: path.display().to_string(),
                problem: "only transpose reads one matrix".into(),
            });
        }
        let matrix = npy::read(path)?;
        climb.problems = vec![Problem::new(matrix.element, [matrix.rows, matrix.cols])];
        climb.given = Some((vec![Arc::new(matrix.bytes)], path.display().to_string()));
    }
    climb.backends = arguments.device.backend.clone();
    climb.select = Select {
        device: arguments.device.device.clone(),
        browser_checks: arguments.browser_checks,
        max_binding: arguments.max_binding,
    };
    climb.seed = arguments.seed;
    climb.timing = timing(arguments)?;
    if !arguments.rung.is_empty() {
        climb = climb.with_rungs(&arguments.rung)?;
    }
    let ascent = with_progress(&climb)?;
    for (backend, error) in &ascent.missing {
        eprintln!("{backend}: {error}");
    }
    if let (Some(path), Some(bytes)) = (&arguments.output, ascent.output.clone()) {
        let problem = &climb.problems[0];
        npy::write(path, &Matrix { element: problem.element, rows: problem.dim(1), cols: problem.dim(0), bytes })?;
    }
    print(&(format.print)(&ascent.rows, unicode()));
    Ok(ascent.passed())
}

/// Every problem that was asked for: by shape, or by size and single dimensions.
fn problems(op: &dyn Op, element: Element, arguments: &RunArguments) -> Result<Vec<Problem>> {
    const DEFAULT: u64 = 1024;
    let mut problems = Vec::new();
    for shape in &arguments.shape {
        let dims: std::result::Result<Vec<u64>, _> = shape.split('x').map(str::parse).collect();
        let dims = dims.map_err(|_| Error::Option {
            option: "--shape",
            value: shape.clone(),
            problem: format!("whole numbers with x between, for {}", op.dims().join(", ")),
        })?;
        problems.push(Problem::new(element, dims).with_batch(arguments.batch));
    }
    let named = [arguments.rows, arguments.cols, arguments.m, arguments.n, arguments.k, arguments.len];
    let sizes: &[u64] = match arguments.size.as_slice() {
        [] if problems.is_empty() || named.iter().any(Option::is_some) => &[DEFAULT],
        sizes => sizes,
    };
    for &size in sizes {
        let mut problem = problem_of_size(op, size);
        problem.element = element;
        for (name, value) in op.dims().iter().zip(&mut problem.dims) {
            let given = match *name {
                "rows" => arguments.rows,
                "cols" => arguments.cols,
                "m" => arguments.m,
                "n" => arguments.n,
                "k" => arguments.k,
                _ => arguments.len,
            };
            *value = given.unwrap_or(*value);
        }
        problems.push(problem.with_batch(arguments.batch));
    }
    Ok(problems)
}

/// A problem whose matrices are square; a vector has as many elements as such a matrix.
pub fn problem_of_size(op: &dyn Op, size: u64) -> Problem {
    let dims: Vec<u64> =
        op.dims().iter().map(|name| if *name == "len" { size.saturating_mul(size) } else { size }).collect();
    Problem::new(Element::F32, dims)
}

/// The timing that was asked for; `None` leaves it to the device.
fn timing(arguments: &RunArguments) -> Result<Option<Timing>> {
    let seconds = |option: &'static str, value: f64| {
        Duration::try_from_secs_f64(value).map_err(|error| Error::Option {
            option,
            value: value.to_string(),
            problem: error.to_string(),
        })
    };
    let mut timing = Timing { warm_cache: arguments.warm_cache, ..Timing::default() };
    if let Some(value) = arguments.budget {
        timing.budget = seconds("--budget", value)?;
    }
    if let Some(value) = arguments.warmup {
        timing.warmup = seconds("--warmup", value)?;
    }
    if let Some(rounds) = arguments.iters {
        if rounds == 0 {
            return Err(Error::Option {
                option: "--iters",
                value: "0".into(),
                problem: "a time needs at least one round".into(),
            });
        }
        (timing.min_rounds, timing.max_rounds) = (rounds, rounds);
    }
    let asked =
        arguments.budget.is_some() || arguments.warmup.is_some() || arguments.iters.is_some() || arguments.warm_cache;
    Ok(asked.then_some(timing))
}

/// Progress goes to a terminal only: a log gets neither escape codes nor carriage returns.
fn with_progress(climb: &Climb) -> Result<Ascent> {
    let terminal = std::io::stderr().is_terminal() && std::env::var("TERM").is_ok_and(|t| t != "dumb");
    let bar = if terminal { indicatif::ProgressBar::new_spinner() } else { indicatif::ProgressBar::hidden() };
    bar.enable_steady_tick(Duration::from_millis(100));
    let ascent = pollster::block_on(climb.run(&mut |step: &str| bar.set_message(step.to_string())));
    bar.finish_and_clear();
    ascent
}
