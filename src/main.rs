//! The command line: parse, call, print, exit code. 0: all verified; 1: a verdict failed; 2: could not run.

use clap::{Args, Parser, Subcommand};
use gpu_ladder::backend::{Any, BACKENDS, Backend, Select};
use gpu_ladder::climb::{Ascent, Climb};
use gpu_ladder::npy::{self, Matrix};
use gpu_ladder::op::{self, Op};
use gpu_ladder::{Element, Error, Problem, Result, Timing, report};
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// Optimisation ladders of GPU kernels: verified, timed against the hardware's limit, explained.
#[derive(Parser)]
#[command(name = "gpu-ladder", version, about)]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// List the ops and their rungs, each with its idea.
    List {
        /// Only this op.
        op: Option<String>,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Describe the devices that open, and say why others do not.
    Info {
        #[command(flatten)]
        device: DeviceArguments,
    },
    /// Climb the ladder of an op: every rung verified, then timed side by side.
    #[command(
        after_help = "Examples:\n  gpu-ladder run transpose --size 8192\n  gpu-ladder run matmul --m 512 --n 512 --k 512 --rung tiled --format json"
    )]
    Run(Box<RunArguments>),
}

#[derive(Args)]
struct DeviceArguments {
    /// auto, cuda or wgpu; several may be given (default: all that open).
    #[arg(long)]
    backend: Vec<String>,
    /// An index, or part of a device's name.
    #[arg(long)]
    device: Option<String>,
}

#[derive(Args)]
struct RunArguments {
    /// The op; see `list`.
    op: String,
    #[command(flatten)]
    device: DeviceArguments,
    /// Only this rung; may be repeated.
    #[arg(long)]
    rung: Vec<String>,
    /// Every dimension that is not given by its own name (default 1024).
    #[arg(long)]
    size: Option<u64>,
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
    #[arg(long)]
    budget: Option<f64>,
    /// Seconds of work before the first sample.
    #[arg(long)]
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

fn main() -> ExitCode {
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_ansi(false).without_time().init();
    let arguments = Arguments::parse();
    let done = match arguments.verb {
        Verb::List { op, json } => list(op.as_deref(), json),
        Verb::Info { device } => info(&device),
        Verb::Run(run) => climb(&run),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("gpu-ladder: {error}");
            ExitCode::from(2)
        }
    }
}

fn list(only: Option<&str>, json: bool) -> Result<bool> {
    let ops: Vec<&dyn Op> = match only {
        Some(name) => vec![op::find(name)?],
        None => op::OPS.to_vec(),
    };
    let mut text = String::new();
    if json {
        let ladder = |op: &dyn Op| -> Vec<_> {
            let rung = |r: &gpu_ladder::rung::Rung| serde_json::json!({ "rung": r.id(), "idea": r.idea, "because": r.because });
            op.ladder().iter().map(rung).collect()
        };
        let ops: Vec<_> = ops
            .iter()
            .map(|op| serde_json::json!({ "op": op.name(), "about": op.about(), "dims": op.dims(), "ladder": ladder(*op) }))
            .collect();
        text.push_str(&format!("{:#}\n", serde_json::json!({ "ops": ops })));
    } else {
        for op in ops {
            text.push_str(&format!("{}: {} ({})\n", op.name(), op.about(), op.dims().join(", ")));
            for rung in op.ladder() {
                text.push_str(&format!("  {:<20} {}\n", rung.id(), rung.idea));
            }
        }
    }
    print(&text);
    Ok(true)
}

fn info(arguments: &DeviceArguments) -> Result<bool> {
    let select = Select { device: arguments.device.clone(), ..Select::default() };
    let asked: Vec<&str> = match arguments.backend.as_slice() {
        [] => BACKENDS.iter().map(|(name, _)| *name).collect(),
        names => names.iter().map(String::as_str).collect(),
    };
    let mut text = String::new();
    let mut opened = 0;
    for name in asked {
        match pollster::block_on(Any::open_named(name, &select)) {
            Ok(any) => {
                opened += 1;
                text.push_str(&describe(any.device()));
            }
            Err(error @ Error::Unknown { .. }) => return Err(error),
            Err(error) => text.push_str(&format!("{name}: unavailable: {error}\n")),
        }
    }
    print(&text);
    // Looking is no failure; asking for one backend by name and not getting it is.
    if opened == 0 && !arguments.backend.is_empty() {
        return Err(Error::Option {
            option: "--backend",
            value: arguments.backend.join(", "),
            problem: "none of them opened".into(),
        });
    }
    Ok(true)
}

fn describe(device: &gpu_ladder::backend::Device) -> String {
    let unknown = || "unknown".to_string();
    let count = |value: Option<u64>| value.map_or_else(unknown, |v| v.to_string());
    let limits = &device.limits;
    let software = if device.is_software() { "  software adapter: its times say nothing about a GPU\n" } else { "" };
    format!(
        "{}: {}\n{software}  driver {}, {}\n  memory {} bytes, last-level cache {} bytes, multiprocessors {}, warp {}{}\n  block {} threads, shared memory {} bytes ({} on request), buffer {} bytes, binding {} bytes\n  clock {}\n",
        device.backend,
        device.name,
        device.driver,
        device.api,
        count(device.memory),
        count(device.l2),
        count(device.multiprocessors.map(u64::from)),
        device.warp,
        device
            .compute_capability
            .map_or(String::new(), |(major, minor)| format!(", compute capability {major}.{minor}")),
        limits.threads_per_block,
        limits.shared_static,
        limits.shared_dynamic,
        limits.buffer,
        limits.binding,
        device.clock.name(),
    )
}

fn climb(arguments: &RunArguments) -> Result<bool> {
    let format = report::find(&arguments.format)?;
    let op = op::find(&arguments.op)?;
    let element: Element = arguments.element.parse()?;
    if let Some(path) = &arguments.output {
        npy::check_writable(path)?;
    }
    let mut climb = Climb::new(op, problem(op, element, arguments));
    if let Some(path) = &arguments.input {
        if op.name() != "transpose" {
            return Err(Error::Option {
                option: "--input",
                value: path.display().to_string(),
                problem: "only transpose reads one matrix".into(),
            });
        }
        let matrix = npy::read(path)?;
        climb.problem = Problem::new(matrix.element, [matrix.rows, matrix.cols]);
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
        let (rows, cols) = (climb.problem.dim(1), climb.problem.dim(0));
        npy::write(path, &Matrix { element: climb.problem.element, rows, cols, bytes })?;
    }
    print(&(format.print)(&ascent.rows, unicode()));
    Ok(ascent.passed())
}

fn problem(op: &dyn Op, element: Element, arguments: &RunArguments) -> Problem {
    const DEFAULT: u64 = 1024;
    let size = arguments.size.unwrap_or(DEFAULT);
    let dims: Vec<u64> = op
        .dims()
        .iter()
        .map(|name| match *name {
            "rows" => arguments.rows.unwrap_or(size),
            "cols" => arguments.cols.unwrap_or(size),
            "m" => arguments.m.unwrap_or(size),
            "n" => arguments.n.unwrap_or(size),
            "k" => arguments.k.unwrap_or(size),
            // A vector of as many elements as a square matrix of that size.
            _ => arguments.len.unwrap_or(size.saturating_mul(size)),
        })
        .collect();
    Problem::new(element, dims).with_batch(arguments.batch)
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

/// Whether the terminal's character set has more than ASCII.
fn unicode() -> bool {
    let locale =
        ["LC_ALL", "LC_CTYPE", "LANG"].iter().filter_map(|name| std::env::var(name).ok()).find(|v| !v.is_empty());
    locale.is_some_and(|l| l.to_lowercase().replace('-', "").contains("utf8"))
}

/// Prints without a panic when the reader has gone (`gpu-ladder list | head -1`).
fn print(text: &str) {
    let mut out = std::io::stdout();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
