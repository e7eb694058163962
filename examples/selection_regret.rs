//! How far the rung that is taken by itself is from the best rung, on random shapes that no table was
//! made from: a short look at every rung that takes a shape, then those near the fastest are verified
//! and timed against the one that is taken.
//!
//! ```sh
//! cargo run --release --example selection_regret --features cuda -- --op transpose --count 200
//! ```

use gpu_ladder::backend::{Any, Backend};
use gpu_ladder::gpu::{Gpu, Matrix, MatrixView, Packed};
use gpu_ladder::op::{self, Op, Shape};
use gpu_ladder::random::{self, Stream};
use gpu_ladder::rung::Rung;
use gpu_ladder::{Element, Error, Inputs, Layout, Problem, Result, Samples, Timing, Verdict, Verified};
use std::borrow::Cow;
use std::collections::HashMap;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const HELP: &str = "\
The time of the rung that is taken over that of the best one, on random shapes.

  --op NAME          transpose or matmul (default transpose)
  --backend NAME     auto, cuda, wgpu (default auto)
  --count N          shapes (default 200)
  --first N          skip this many of the sequence first (default 0)
  --seed N           of the shapes (default 7)
  --seconds N        stop after so long (default 600)
  --largest N        the largest dimension (default 4096 for matmul, 65536 for transpose)
  --thin N           percent of the dimensions that are 16 at most (default 8 for matmul, 10 for transpose)
  --survey           only times of every rung, to make tables from: nothing is verified or judged

Prints a line of CSV for every shape as soon as it is measured. `looks` are the microseconds of every
rung in a first look, `times` those of the rungs that came near the fastest, verified and interleaved.
";

/// A rung this much slower than the fastest in a first look is not timed in earnest.
const CLOSE: f64 = 1.35;
/// The most rungs that are.
const MOST_CLOSE: usize = 6;
/// A rung that was never within so much of the fastest is left out after [`TRIAL`] shapes that it took.
const HOPELESS: f64 = 2.0;
const TRIAL: usize = 24;
/// Problems that a survey measures once before it begins.
const WARM_UP: usize = 4;
/// Runs of a first look; the fastest counts.
const LOOKS: usize = 4;

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
    let (mut count, mut first, mut seed, mut seconds, mut largest) = (200, 0, 7, 600, None);
    let (mut survey, mut thin) = (false, None);
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
            Long("survey") => survey = true,
            Long("thin") => thin = Some(parser.value().and_then(|v| v.parse()).map_err(usage)?),
            Long("largest") => largest = Some(parser.value().and_then(|v| v.parse()).map_err(usage)?),
            Long("help") => {
                print!("{HELP}");
                return Ok(());
            }
            other => return Err(usage(other.unexpected())),
        }
    }
    let op = op::find(&op)?;
    let largest = largest.unwrap_or(if op.name() == "matmul" { 4096 } else { 65_536 });
    let gpu = Gpu::open_on(&backend)?;
    gpu.keep_tuning_in(None); // the tables alone
    let (name, driver) = (&gpu.device().name, &gpu.device().driver);
    println!("# {} on {name} ({driver}), shapes {first}..{} of seed {seed}", op.name(), first + count);
    let start = Instant::now();
    let problems: Vec<Problem> =
        (first..first + count).map(|index| shape(op, largest, thin, Dice(Stream::new(seed, index), 0))).collect();
    compile_all(&gpu, op, &problems);
    println!("# every rung compiled in {:.1} s", start.elapsed().as_secs_f64());
    let mut field = Field { gpu: &gpu, op, bytes: Vec::new(), nearest: HashMap::new() };
    if survey {
        println!("shape,times");
        // The clocks rise during the first ones.
        for problem in problems.iter().take(WARM_UP) {
            let _ = pollster::block_on(field.survey(problem));
        }
        for problem in problems.iter().take_while(|_| start.elapsed() < Duration::from_secs(seconds)) {
            match pollster::block_on(field.survey(problem)) {
                Ok(times) => println!("{},{}", text(problem), field.list(&times)),
                Err(error) => println!("{},failed: {error}", text(problem)),
            }
        }
        return Ok(());
    }
    println!("shape,taken,taken_us,best,best_us,ratio,times,looks");
    let mut ratios = Vec::new();
    for problem in &problems {
        if start.elapsed() > Duration::from_secs(seconds) {
            println!("# stopped after {seconds} s");
            break;
        }
        match pollster::block_on(field.measure(problem)) {
            Ok(found) => {
                println!("{}", found.line);
                ratios.push((found.ratio, found.line));
            }
            Err(error) => println!("{},failed: {error}", text(problem)),
        }
    }
    let within = ratios.iter().filter(|(ratio, _)| *ratio <= 1.05).count();
    let share = 100.0 * within as f64 / ratios.len().max(1) as f64;
    println!("# {within} of {} shapes within 5 % of the best rung ({share:.1} %)", ratios.len());
    let left_out: Vec<_> = field.nearest.keys().filter(|id| field.is_hopeless(id)).map(|id| &**id).collect();
    println!("# never within {HOPELESS} of the fastest, so left out after {TRIAL} shapes: {}", left_out.join(" "));
    ratios.sort_by(|a, b| b.0.total_cmp(&a.0));
    for (ratio, line) in ratios.iter().take_while(|(ratio, _)| *ratio > 1.05) {
        println!("# miss {ratio:.3} {}", line.split(',').take(5).collect::<Vec<_>>().join(" "));
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

fn shape(op: &dyn Op, largest: u64, thin: Option<u64>, mut dice: Dice) -> Problem {
    if op.name() == "matmul" {
        let [m, n, k] = [0; 3]
            .map(|_| if dice.chance(thin.unwrap_or(8)) { dice.dimension(1, 16) } else { dice.dimension(16, largest) });
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
    let thin = thin.unwrap_or(10);
    let rows = if dice.chance(thin) { dice.dimension(1, 16) } else { dice.dimension(16, largest) };
    let cols = if dice.chance(thin) { dice.dimension(1, 16) } else { dice.dimension(16, largest) };
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

/// The rungs that take a problem here.
fn candidates(gpu: &Gpu, op: &'static dyn Op, problem: &Problem) -> Vec<&'static Rung> {
    op.ladder().iter().filter(|rung| op::runs(op, rung, gpu.device(), problem)).collect()
}

/// Compiles whatever the problems take, on several threads: most of the time of a run goes there.
fn compile_all(gpu: &Gpu, op: &'static dyn Op, problems: &[Problem]) {
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let next = &next;
            scope.spawn(move || {
                while let Some(problem) = problems.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let mut rungs = candidates(gpu, op, problem);
                    if rungs.is_empty() {
                        continue;
                    }
                    // Threads that begin together begin with different kernels.
                    let turn = thread % rungs.len();
                    rungs.rotate_left(turn);
                    for rung in rungs {
                        // What fails here fails again, and is told, when it is measured.
                        let _ = pollster::block_on(compile(gpu, op, problem, rung));
                    }
                }
            });
        }
    });
}

async fn compile(gpu: &Gpu, op: &'static dyn Op, problem: &Problem, rung: &Rung) -> Result<()> {
    let (shapes, result) = op.check(problem)?;
    let mut inputs = Vec::new();
    for shape in &shapes {
        inputs.push(empty(gpu, problem.element, shape).await?);
    }
    let mut output = empty(gpu, op.output_element(problem), &result).await?;
    let views = inputs.iter().zip(&shapes).map(|(m, s)| view(m, s)).collect::<Result<Vec<_>>>()?;
    gpu.op_call_async(op, problem, &views, &mut output, Some(rung)).await.map(drop)
}

async fn empty(gpu: &Gpu, element: Element, shape: &Shape) -> Result<Matrix> {
    gpu.empty_batch_async(element, shape.batch, shape.rows, shape.leading_dimension()).await
}

/// A matrix as wide as the leading dimension, as the operand that it holds.
fn view<'a>(matrix: &'a Matrix, shape: &Shape) -> Result<MatrixView<'a>> {
    let whole = matrix.view().part(0..shape.rows, 0..shape.cols)?;
    Ok(if shape.layout.transposed { whole.t() } else { whole })
}

/// What is measured, and what is known of the rungs so far.
struct Field<'a> {
    gpu: &'a Gpu,
    op: &'static dyn Op,
    /// Random elements to upload.
    bytes: Vec<u8>,
    /// How near each rung ever came to the fastest, and of how many shapes.
    nearest: HashMap<String, (f64, usize)>,
}

struct Found {
    line: String,
    ratio: f64,
}

impl Field<'_> {
    async fn measure(&mut self, problem: &Problem) -> Result<Found> {
        let (op, session) = (self.op, self.gpu.session());
        let taken = self.gpu.chosen_async(op, problem).await?;
        let looks = self.looks(problem, &taken).await?;
        let best = looks.first().map_or(f64::INFINITY, |(_, ns)| *ns);
        let near: Vec<&String> =
            looks.iter().filter(|(_, ns)| *ns <= best * CLOSE).take(MOST_CLOSE).map(|(id, _)| id).collect();
        let is_close = |id: String| near.contains(&&id) || format!("{}/{id}", op.name()) == taken;
        let close = op.ladder().iter().filter(|rung| is_close(rung.id()));
        let stage = session.stage(op, problem, Inputs::Seeded(1)).await?;
        let mut proofs: Vec<Verified<_>> = Vec::new();
        for rung in close {
            match session.verify(session.prepare(&stage, rung).await?).await? {
                Verdict::Pass(proof) => proofs.push(proof),
                Verdict::Fail(mismatch) => println!("# {} is wrong: {mismatch}", rung.id()),
            }
        }
        let timing = Timing {
            warmup: Duration::from_millis(2),
            budget: Duration::from_millis(30),
            min_rounds: 15,
            max_rounds: 150,
            precision: 0.005,
            warm_cache: false,
            in_a_row: 1,
        };
        let contenders: Vec<_> = proofs.iter().collect();
        let samples = session.time(&contenders, &timing).await?;
        let mut times: Vec<(String, f64)> =
            proofs.iter().map(Verified::label).zip(samples.iter().map(Samples::median)).collect();
        times.sort_by(|a, b| a.1.total_cmp(&b.1));
        let of = |label: &str| times.iter().find(|(l, _)| l == label).map(|(_, ns)| *ns);
        let (Some((fastest, least)), Some(ns)) = (times.first(), of(&taken)) else {
            return Err(Error::Unsupported { what: taken, because: "it was not timed".into() });
        };
        let ratio = ns / least;
        let (timed, looked) = (self.list(&times), self.list(&looks));
        let line = format!(
            "{},{taken},{:.2},{fastest},{:.2},{ratio:.3},{timed},{looked}",
            text(problem),
            ns / 1e3,
            least / 1e3
        );
        Ok(Found { line, ratio })
    }

    /// Every rung's time, the fastest first, by the median of runs on rotating operands.
    async fn survey(&mut self, problem: &Problem) -> Result<Vec<(String, f64)>> {
        const ROUNDS: usize = 4;
        const RUNS: usize = 8;
        // As many as a session rotates over.
        const LEAST_SETS: u64 = 3;
        const MOST_SETS: u64 = 64;
        // Beyond it one run tells enough: more shapes tell more.
        const SLOW: f64 = 1.6;
        let (gpu, op) = (self.gpu, self.op);
        let (shapes, result) = op.check(problem)?;
        let set: u64 = shapes.iter().chain([&result]).map(|s| s.len() * problem.element.size()).sum();
        let sets = (2 * gpu.device().l2_or_guess()).div_ceil(set.max(1)).clamp(LEAST_SETS, MOST_SETS);
        let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
        for _ in 0..sets {
            inputs.push(self.inputs(problem, &shapes).await?);
            outputs.push(empty(gpu, op.output_element(problem), &result).await?);
        }
        let mut times: Vec<(&Rung, Vec<f64>)> = Vec::new();
        let (mut best, mut turn) = (f64::INFINITY, 0);
        for round in 0..ROUNDS {
            for (index, rung) in candidates(gpu, op, problem).into_iter().rev().enumerate() {
                if round == 0 {
                    times.push((rung, Vec::new()));
                }
                let hopeless = self.is_hopeless(&rung.id());
                let slow = times[index].1.first().is_some_and(|ns| *ns > SLOW * best);
                if hopeless || slow {
                    continue;
                }
                // Every run takes the next operands, whichever rung it is of: nothing is found in the cache
                // because the rung before has just read it.
                let runs = if round == 0 { 1 } else { RUNS };
                let (first, many) = (turn, runs.min(sets as usize));
                turn = (turn + many) % sets as usize;
                let mut calls = Vec::new();
                let mut failed = false;
                for (set, output) in outputs.iter_mut().enumerate() {
                    if (set + sets as usize - first) % (sets as usize) < many {
                        let views =
                            inputs[set].iter().zip(&shapes).map(|(m, s)| view(m, s)).collect::<Result<Vec<_>>>()?;
                        match gpu.op_call_async(op, problem, &views, output, Some(rung)).await {
                            Ok(call) => calls.push(call),
                            Err(_) => failed = true,
                        }
                    }
                }
                if failed {
                    // A workspace that is too large: not a rung for this problem.
                    times[index].1 = vec![f64::INFINITY];
                    continue;
                }
                if round == 0 {
                    calls[0].run()?;
                }
                let launches = calls.iter().map(|call| call.launches()).collect::<Result<Vec<_>>>()?;
                let works: Vec<_> = launches.iter().map(|work| &work[..]).cycle().take(runs).collect();
                let ns = Backend::time(gpu.session().backend() as &Any, &works).await?;
                best = ns.iter().copied().fold(best, f64::min);
                // The first look only tells what is too slow to be looked at again.
                if round == 1 {
                    times[index].1.clear();
                }
                times[index].1.extend(ns);
            }
        }
        let mut medians: Vec<(String, f64)> = Vec::new();
        for (rung, mut ns) in times.into_iter().filter(|(_, ns)| ns.first().is_some_and(|ns| ns.is_finite())) {
            ns.sort_by(f64::total_cmp);
            medians.push((rung.id(), ns[ns.len() / 2]));
        }
        self.note(&mut medians);
        Ok(medians)
    }

    /// Sorts times, and takes note of how near each rung came.
    fn note(&mut self, times: &mut [(String, f64)]) {
        times.sort_by(|a, b| a.1.total_cmp(&b.1));
        let best = times.first().map_or(f64::INFINITY, |(_, ns)| *ns);
        for (id, ns) in times.iter() {
            let (near, shapes) = self.nearest.entry(id.clone()).or_insert((f64::INFINITY, 0));
            (*near, *shapes) = (near.min(ns / best), *shapes + 1);
        }
    }

    fn is_hopeless(&self, id: &str) -> bool {
        self.nearest.get(id).is_some_and(|&(near, shapes)| shapes >= TRIAL && near > HOPELESS)
    }

    /// `rung=microseconds`, without the op's name.
    fn list(&self, times: &[(String, f64)]) -> String {
        let short = |word: &str| word.trim_start_matches(self.op.name()).trim_start_matches('/').to_string();
        times.iter().map(|(id, ns)| format!("{}={:.2}", short(id), ns / 1e3)).collect::<Vec<_>>().join(" ")
    }

    /// Operands on the device.
    async fn inputs(&mut self, problem: &Problem, shapes: &[Shape]) -> Result<Vec<Matrix>> {
        let mut inputs = Vec::new();
        for (index, shape) in shapes.iter().enumerate() {
            let element = self.op.input_element(index, problem.element);
            let (batch, rows, cols) = (shape.batch, shape.rows, shape.leading_dimension());
            let needed = (batch * rows * cols * element.size()) as usize;
            if self.bytes.len() < needed {
                // Numbers of one width are numbers of the others too, if odd ones.
                let count = needed.next_power_of_two() as u64 / 4;
                self.bytes = random::elements(1, 0, Element::F32, count.max(4), self.op.distribution());
            }
            let bytes = Cow::Borrowed(&self.bytes[..needed]);
            inputs.push(self.gpu.upload_async(&Packed { element, batch, rows, cols, bytes }).await?);
        }
        Ok(inputs)
    }

    /// Every rung's least time of a few runs, the fastest first. These choose what is timed in
    /// earnest, and are no results: nothing is verified yet, and small operands stay in the cache.
    async fn looks(&mut self, problem: &Problem, taken: &str) -> Result<Vec<(String, f64)>> {
        let (gpu, op) = (self.gpu, self.op);
        let (shapes, result) = op.check(problem)?;
        let inputs = self.inputs(problem, &shapes).await?;
        let views = inputs.iter().zip(&shapes).map(|(m, s)| view(m, s)).collect::<Result<Vec<_>>>()?;
        let mut output = empty(gpu, op.output_element(problem), &result).await?;
        let mut looks = Vec::new();
        for rung in candidates(gpu, op, problem) {
            let id = rung.id();
            if self.is_hopeless(&id) && format!("{}/{id}", op.name()) != taken {
                continue;
            }
            let mut call = match gpu.op_call_async(op, problem, &views, &mut output, Some(rung)).await {
                Ok(call) => call,
                Err(error) => {
                    println!("# {id}: {error}");
                    continue;
                }
            };
            call.run()?;
            let launches = call.launches()?;
            let works = vec![&launches[..]; LOOKS];
            let ns = Backend::time(gpu.session().backend() as &Any, &works).await?;
            looks.push((id, ns.into_iter().fold(f64::INFINITY, f64::min)));
        }
        self.note(&mut looks);
        Ok(looks)
    }
}
