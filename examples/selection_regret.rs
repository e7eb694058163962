//! How far the rung that is taken by itself is from the best rung, on random shapes that no table was
//! made from: every rung that takes a shape is verified and timed against the one that is taken.
//!
//! ```sh
//! cargo run --release --example selection_regret --features cuda -- --op transpose --count 200
//! ```

use gpu_ladder::gpu::Gpu;
use gpu_ladder::op::{self, Op};
use gpu_ladder::random::Stream;
use gpu_ladder::{Element, Error, Inputs, Layout, Problem, Result, Samples, Timing, Verdict, Verified};
use std::process::ExitCode;
use std::time::{Duration, Instant};

const HELP: &str = "\
The time of the rung that is taken over that of the best one, on random shapes.

  --op NAME          transpose or matmul (default transpose)
  --backend NAME     auto, cuda, wgpu (default auto)
  --count N          shapes (default 200)
  --first N          skip this many of the sequence first (default 0)
  --seed N           of the shapes (default 7)
  --seconds N        stop after so long (default 600)
";

/// A rung this much slower than the best in a first look is out.
const CLOSE: f64 = 1.6;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("selection_regret: {error}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<()> {
    let (mut op, mut backend) = ("transpose".to_string(), "auto".to_string());
    let (mut count, mut first, mut seed, mut seconds) = (200, 0, 7, 600);
    let mut parser = lexopt::Parser::from_env();
    let usage = |error: lexopt::Error| Error::Option {
        option: "command line",
        value: String::new(),
        problem: error.to_string(),
    };
    while let Some(argument) = parser.next().map_err(usage)? {
        use lexopt::prelude::*;
        match argument {
            Long("op") => op = parser.value().and_then(|v| v.string()).map_err(usage)?,
            Long("backend") => backend = parser.value().and_then(|v| v.string()).map_err(usage)?,
            Long("count") => count = parser.value().and_then(|v| v.parse()).map_err(usage)?,
            Long("first") => first = parser.value().and_then(|v| v.parse()).map_err(usage)?,
            Long("seed") => seed = parser.value().and_then(|v| v.parse()).map_err(usage)?,
            Long("seconds") => seconds = parser.value().and_then(|v| v.parse()).map_err(usage)?,
            Long("help") => {
                print!("{HELP}");
                return Ok(());
            }
            other => return Err(usage(other.unexpected())),
        }
    }
    let op = op::find(&op)?;
    let gpu = Gpu::open_on(&backend)?;
    gpu.keep_tuning_in(None); // the tables alone
    println!(
        "# {} on {} ({}), shapes {first}..{} of seed {seed}",
        op.name(),
        gpu.device().name,
        gpu.device().driver,
        first + count
    );
    println!("shape,taken,taken_us,best,best_us,ratio,rungs");
    let start = Instant::now();
    let mut ratios = Vec::new();
    for index in first..first + count {
        if start.elapsed() > Duration::from_secs(seconds) {
            println!("# stopped after {seconds} s");
            break;
        }
        let problem = shape(op, Dice(Stream::new(seed, index), 0));
        match pollster::block_on(regret(&gpu, op, &problem)) {
            Ok(line) => {
                println!("{},{}", text(&problem), line.0);
                ratios.push((line.1, text(&problem), line.0));
            }
            Err(error) => println!("{},failed: {error}", text(&problem)),
        }
    }
    let within = ratios.iter().filter(|(ratio, ..)| *ratio <= 1.05).count();
    println!(
        "# {} of {} shapes within 5 % of the best rung ({:.1} %)",
        within,
        ratios.len(),
        100.0 * within as f64 / ratios.len().max(1) as f64
    );
    ratios.sort_by(|a, b| b.0.total_cmp(&a.0));
    for (ratio, shape, line) in ratios.iter().take_while(|(ratio, ..)| *ratio > 1.05) {
        println!("# miss {ratio:.3} {shape} {line}");
    }
    Ok(())
}

/// Random numbers, one after the other.
struct Dice(Stream, u64);

impl Dice {
    fn bits(&mut self) -> u64 {
        self.1 += 1;
        self.0.bits(self.1)
    }

    /// Whether something of probability `percent` happens.
    fn chance(&mut self, percent: u64) -> bool {
        self.bits() % 100 < percent
    }

    /// A dimension, uniform in its logarithm; half of them multiples of 8, 32 or 128.
    fn dimension(&mut self, least: u64, most: u64) -> u64 {
        let share = (self.bits() >> 11) as f64 / (1u64 << 53) as f64;
        let size = (least as f64 * (most as f64 / least as f64).powf(share)).round() as u64;
        let multiple = [1, 1, 1, 8, 32, 128][self.bits() as usize % 6];
        if size < multiple { size } else { size - size % multiple }
    }
}

fn shape(op: &dyn Op, mut dice: Dice) -> Problem {
    if op.name() == "matmul" {
        let [m, n, k] = [0; 3].map(|_| if dice.chance(8) { dice.dimension(1, 16) } else { dice.dimension(16, 4096) });
        let mut problem = Problem::new(Element::F32, [m, n, k]);
        for operand in 0..2 {
            if dice.chance(50) {
                problem = problem.with_layout(operand, Layout { transposed: true, ..Layout::default() });
            }
        }
        let work = m * n * k;
        if dice.chance(10) && work < 1 << 26 {
            problem = problem.with_batch(2 + dice.bits() % 30);
        }
        return problem;
    }
    const MOST_ELEMENTS: u64 = 1 << 24;
    let element = match dice.bits() % 10 {
        0 => Element::F64,
        1 => Element::F16,
        2 => Element::U8,
        _ => Element::F32,
    };
    let rows = if dice.chance(10) { dice.dimension(1, 16) } else { dice.dimension(16, 65_536) };
    let cols = if dice.chance(10) { dice.dimension(1, 16) } else { dice.dimension(16, 65_536) };
    let cols = cols.min((MOST_ELEMENTS / rows).max(1));
    let mut problem = Problem::new(element, [rows, cols]);
    if dice.chance(15) {
        let ld = cols + dice.dimension(1, 256);
        problem = problem.with_layout(0, Layout { leading_dimension: Some(ld), ..Layout::default() });
    }
    if dice.chance(10) && rows * cols < 1 << 17 {
        problem = problem.with_batch(2 + dice.bits() % 60);
    }
    problem
}

fn text(problem: &Problem) -> String {
    let dims: Vec<_> = problem.dims.iter().map(u64::to_string).collect();
    let mut text = format!("{} {}", problem.element, dims.join("x"));
    if problem.batch > 1 {
        text.push_str(&format!(" batch {}", problem.batch));
    }
    for layout in &problem.layouts {
        text.push_str(if layout.transposed { " T" } else { " N" });
        if let Some(ld) = layout.leading_dimension {
            text.push_str(&format!(" ld {ld}"));
        }
    }
    text
}

/// The rest of a shape's line, and the ratio.
async fn regret(gpu: &Gpu, op: &'static dyn Op, problem: &Problem) -> Result<(String, f64)> {
    let session = gpu.session();
    let taken = gpu.chosen_async(op, problem).await?;
    let stage = session.stage(op, problem, Inputs::Seeded(1)).await?;
    let mut proofs: Vec<Verified<_>> = Vec::new();
    for rung in op.ladder().iter().filter(|rung| op::runs(op, rung, gpu.device(), problem)) {
        let Ok(prepared) = session.prepare(&stage, rung).await else { continue };
        match session.verify(prepared).await? {
            Verdict::Pass(proof) => proofs.push(proof),
            Verdict::Fail(mismatch) => println!("# {} is wrong: {mismatch}", rung.id()),
        }
    }
    let look = Timing { warmup: Duration::ZERO, budget: Duration::ZERO, min_rounds: 3, ..Timing::brief() };
    let mut looks = Vec::new();
    for proof in &proofs {
        looks.push(session.time(&[proof], &look).await?.first().map_or(f64::INFINITY, Samples::median));
    }
    let best = looks.iter().copied().fold(f64::INFINITY, f64::min);
    let close: Vec<&Verified<_>> = proofs
        .iter()
        .zip(&looks)
        .filter(|(p, ns)| p.label() == taken || **ns <= best * CLOSE)
        .map(|(p, _)| p)
        .collect();
    let timing = Timing {
        warmup: Duration::from_millis(5),
        budget: Duration::from_millis(40),
        min_rounds: 15,
        max_rounds: 200,
        precision: 0.005,
        warm_cache: false,
    };
    let samples = session.time(&close, &timing).await?;
    let mut times: Vec<(String, f64)> =
        close.iter().map(|p| p.label()).zip(samples.iter().map(Samples::median)).collect();
    times.sort_by(|a, b| a.1.total_cmp(&b.1));
    let of = |label: &str| times.iter().find(|(l, _)| l == label).map(|(_, ns)| *ns);
    let (Some((fastest, least)), Some(ns)) = (times.first(), of(&taken)) else {
        return Err(Error::Unsupported { what: taken, because: "it was not timed".into() });
    };
    let ratio = ns / least;
    Ok((format!("{taken},{:.2},{fastest},{:.2},{ratio:.3},{}", ns / 1e3, least / 1e3, proofs.len()), ratio))
}
