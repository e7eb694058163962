//! Fits the weights of the estimates that choose rungs to the times of a survey, prints the table
//! for `src/op/<op>/costs_<language>.rs`, and tells how often the choice is right on problems left out of the fit.
//!
//! ```sh
//! cargo run --release --example selection_regret --features cuda -- --op matmul --survey --count 900 --seed 1 > survey.csv
//! cargo run --release --example fit_selection -- matmul cuda survey.csv > costs.rs
//! mv costs.rs src/op/matmul/costs_cuda.rs; cargo fmt -- src/op/*.rs
//! ```

use gpu_ladder::op::{self, Op, Terms};
use gpu_ladder::rung::Language;
use gpu_ladder::{Error, Layout, Problem, Result};
use std::collections::BTreeMap;
use std::process::ExitCode;

/// Multiprocessors of the device that was surveyed.
const MULTIPROCESSORS: u64 = 132;
/// Parts of the samples that are left out in turn.
const FOLDS: usize = 10;
/// A time so many times the fastest one is not fitted: that rung would never be taken.
const FAR: f64 = 4.0;
/// So many times are fitted whatever they are.
const FEW: usize = 30;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("fit_selection: {error}");
            ExitCode::from(2)
        }
    }
}

/// A problem and the microseconds of the rungs that were timed on it.
struct Sample {
    problem: Problem,
    times: Vec<(String, f64)>,
    best: f64,
    /// In which turn it is left out.
    fold: usize,
}

/// The terms of a rung's times, and the times.
#[derive(Default)]
struct Rows {
    names: &'static [&'static str],
    /// Which sample, its terms, its time.
    rows: Vec<(usize, Vec<f64>, f64)>,
}

/// A rung and the family of its terms.
type Key = (String, &'static str);

fn run() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let usage = || Error::Option {
        option: "command line",
        value: String::new(),
        problem: "fit_selection OP cuda|wgsl SURVEY.csv …".into(),
    };
    let op = op::find(&arguments.next().ok_or_else(usage)?)?;
    let language = match arguments.next().as_deref() {
        Some("cuda") => Language::Cuda,
        Some("wgsl") => Language::Wgsl,
        _ => return Err(usage()),
    };
    let mut samples: Vec<Sample> = Vec::new();
    for path in arguments {
        let file = |problem: std::io::Error| Error::File { path: path.clone(), problem: problem.to_string() };
        let text = std::fs::read_to_string(&path).map_err(file)?;
        samples.extend(text.lines().filter_map(sample));
    }
    if samples.is_empty() {
        return Err(usage());
    }
    // Neighbours in a file are in different parts.
    samples.iter_mut().enumerate().for_each(|(index, sample)| sample.fold = index % FOLDS);
    let rows = rows(op, language, &samples);
    judge(&samples, &rows);
    print(samples.len(), &fit(&samples, &rows, None), &rows);
    Ok(())
}

/// The terms of every rung's times, by rung and family.
fn rows(op: &'static dyn Op, language: Language, samples: &[Sample]) -> BTreeMap<Key, Rows> {
    let mut all: BTreeMap<Key, Rows> = BTreeMap::new();
    for (index, sample) in samples.iter().enumerate() {
        for (word, time) in &sample.times {
            let rung = op.ladder().iter().find(|rung| rung.id() == *word);
            let terms = rung.and_then(|rung| op.terms(rung, &sample.problem, language, MULTIPROCESSORS));
            if let Some(Terms { family, names, values, .. }) = terms {
                let of_rung = all.entry((word.clone(), family)).or_default();
                of_rung.names = names;
                of_rung.rows.push((index, values, *time));
            }
        }
    }
    all
}

/// The weights of every rung, without the samples of one part.
fn fit(samples: &[Sample], rows: &BTreeMap<Key, Rows>, without: Option<usize>) -> BTreeMap<Key, Vec<f64>> {
    let weights = |rows: &Rows| {
        let used = |(index, ..): &&(usize, Vec<f64>, f64)| Some(samples[*index].fold) != without;
        let near = |(index, _, time): &&(usize, Vec<f64>, f64)| *time < FAR * samples[*index].best;
        let mut chosen: Vec<_> = rows.rows.iter().filter(used).filter(near).collect();
        if chosen.len() < FEW {
            chosen = rows.rows.iter().filter(used).collect();
        }
        // The relative error counts, and more the nearer a rung is to the fastest.
        let lines = chosen.iter().map(|(index, terms, time)| {
            let weight = samples[*index].best / time;
            (terms.iter().map(|term| term * weight / time).collect(), weight)
        });
        least_squares(&lines.collect::<Vec<_>>())
    };
    rows.iter().map(|(key, rows)| (key.clone(), weights(rows))).collect()
}

/// Terms of a time and what they should sum up to.
type Line = (Vec<f64>, f64);

/// The x, none below 0, with the least sum of (line · x - target)², one component at a time.
fn least_squares(lines: &[Line]) -> Vec<f64> {
    const MOST_TURNS: usize = 200_000;
    const SETTLED: f64 = 1e-10;
    let count = lines.first().map_or(0, |(line, _)| line.len());
    let norms: Vec<f64> = (0..count).map(|i| lines.iter().map(|(l, _)| l[i] * l[i]).sum::<f64>().sqrt()).collect();
    let scale: Vec<f64> = norms.iter().map(|norm| if *norm > 0.0 { 1.0 / norm } else { 0.0 }).collect();
    let sum = |f: &dyn Fn(&Line) -> f64| lines.iter().map(f).sum::<f64>();
    let matrix: Vec<Vec<f64>> =
        (0..count).map(|i| (0..count).map(|j| scale[i] * scale[j] * sum(&|(l, _)| l[i] * l[j])).collect()).collect();
    let target: Vec<f64> = (0..count).map(|i| scale[i] * sum(&|(l, t)| l[i] * t)).collect();
    let mut x = vec![0.0; count];
    for _ in 0..MOST_TURNS {
        let mut moved = 0.0f64;
        for i in (0..count).filter(|&i| scale[i] > 0.0) {
            let gradient: f64 = matrix[i].iter().zip(&x).map(|(m, x)| m * x).sum::<f64>() - target[i];
            let next = (x[i] - gradient).max(0.0);
            moved = moved.max((next - x[i]).abs());
            x[i] = next;
        }
        if moved < SETTLED {
            break;
        }
    }
    x.iter().zip(&scale).map(|(x, scale)| x * scale).collect()
}

/// How near the rung with the shortest estimate is to the fastest, on samples that were left out.
fn judge(samples: &[Sample], rows: &BTreeMap<Key, Rows>) {
    let mut shortest: Vec<(f64, f64)> = vec![(f64::INFINITY, f64::INFINITY); samples.len()];
    for fold in 0..FOLDS {
        let weights = fit(samples, rows, Some(fold));
        for (key, of_rung) in rows {
            for (index, terms, time) in of_rung.rows.iter().filter(|(index, ..)| samples[*index].fold == fold) {
                let estimate: f64 = terms.iter().zip(&weights[key]).map(|(term, weight)| term * weight).sum();
                if estimate < shortest[*index].0 {
                    shortest[*index] = (estimate, *time);
                }
            }
        }
    }
    // Where no rung has terms, a table decides.
    let estimated = samples.iter().zip(&shortest).filter(|(_, (_, time))| time.is_finite());
    let ratios: Vec<f64> = estimated.map(|(sample, (_, time))| time / sample.best).collect();
    let share = |most: f64| 100.0 * ratios.iter().filter(|r| **r <= most).count() as f64 / ratios.len() as f64;
    let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
    eprintln!(
        "{} samples with estimates, each left out once: within 5 % of the fastest {:.1} %, within 10 % {:.1} %, mean {mean:.4}",
        ratios.len(),
        share(1.05),
        share(1.1)
    );
}

/// The table, as Rust.
fn print(samples: usize, weights: &BTreeMap<Key, Vec<f64>>, rows: &BTreeMap<Key, Rows>) {
    println!(
        "//! The weights of [`estimate`](super::estimate) in microseconds, fitted by least squares of the relative"
    );
    println!("//! error (none below 0) to the times of {samples} random problems on one H200. Printed by");
    println!("//! `examples/fit_selection.rs` from a survey that `docs/results` keeps.");
    println!("\nuse crate::op::estimate::Cost;\n");
    println!("#[allow(clippy::approx_constant)] // a weight may be near one");
    println!("pub(super) const COSTS: &[Cost] = &[");
    let mut named: Vec<&str> = Vec::new();
    for ((rung, family), weights) in weights {
        let Rows { names, rows } = &rows[&(rung.clone(), *family)];
        if !named.contains(family) {
            named.push(family);
            println!("    // {family}: {}", names.join("; "));
        }
        // Four digits; what is nothing beside the shortest launch is nothing.
        let digits = |weight: &f64| format!("{:?}", format!("{weight:.3e}").parse::<f64>().unwrap_or(0.0));
        let largest = |i: usize| rows.iter().map(|(_, terms, _)| terms[i]).fold(0.0, f64::max);
        let short = |(i, weight): (usize, &f64)| if weight * largest(i) < 1e-3 { "0.0".into() } else { digits(weight) };
        let list: Vec<String> = weights.iter().enumerate().map(short).collect();
        println!("    Cost {{ rung: {rung:?}, family: {family:?}, weights: &[{}] }},", list.join(", "));
    }
    println!("];");
}

/// A line of a survey: `f32 128x486 batch 3 N T ld 500,rung=microseconds rung=microseconds …`.
fn sample(line: &str) -> Option<Sample> {
    let (shape, times) = line.split_once(',')?;
    let problem = problem(shape)?;
    let times: Option<Vec<(String, f64)>> = times
        .split(' ')
        .map(|pair| pair.rsplit_once('=').and_then(|(rung, us)| Some((rung.to_string(), us.parse().ok()?))))
        .collect();
    let times = times?;
    let best = times.iter().map(|(_, us)| *us).fold(f64::INFINITY, f64::min);
    Some(Sample { problem, times, best, fold: 0 })
}

fn problem(shape: &str) -> Option<Problem> {
    let mut words = shape.split(' ');
    let element = words.next()?.parse().ok()?;
    let dims: Option<Vec<u64>> = words.next()?.split('x').map(|n| n.parse().ok()).collect();
    let (mut batch, mut layouts) = (1, Vec::new());
    while let Some(word) = words.next() {
        match word {
            "batch" => batch = words.next()?.parse().ok()?,
            "N" | "T" => layouts.push(Layout { transposed: word == "T", ..Layout::default() }),
            "ld" => layouts.last_mut()?.leading_dimension = Some(words.next()?.parse().ok()?),
            _ => return None,
        }
    }
    let plain = Problem::new(element, dims?).with_batch(batch);
    Some(layouts.into_iter().enumerate().fold(plain, |problem, (index, layout)| problem.with_layout(index, layout)))
}
