//! Prints how far products are from f64, by precision, length of the sum and kind of input: `docs/accuracy.md`.
//!
//! ```sh
//! cargo run --release --features cuda,vendor --example accuracy -- cuda > docs/accuracy.md
//! cargo run --release --features cuda,vendor --example accuracy -- cuda f16 bf16 split-f16
//! ```
//! Words behind the backend name elements and precisions; without any, all are printed.

use gpu_ladder::backend::{Any, Select};
use gpu_ladder::op::{self, Op};
use gpu_ladder::random::Stream;
use gpu_ladder::rung::Rung;
use gpu_ladder::{Element, Error, Inputs, Precision, Problem, Result, Session, Stage, Verdict};
use rayon::prelude::*;
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::Arc;

/// Rows and columns of C.
const SIDE: u64 = 128;
const LENGTHS: [u64; 6] = [64, 256, 1024, 4096, 16384, 65536];

/// What fills the operands.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Uniform,
    Normal,
    /// The second half of every sum takes the first one away again, but for one part in ten thousand.
    Cancelling,
    /// Uniform between 0 and 1: what is cut off all terms adds up.
    Positive,
}

impl Kind {
    const ALL: [(Kind, &'static str); 4] = [
        (Kind::Uniform, "uniform"),
        (Kind::Normal, "normal"),
        (Kind::Cancelling, "cancelling"),
        (Kind::Positive, "positive"),
    ];

    /// Element `index` of a stream.
    fn value(self, stream: Stream, index: u64) -> f64 {
        /// The second stream of uniform numbers that a normal one takes.
        const OTHER: u64 = 1 << 40;
        let (u, v) = (stream.uniform(index), stream.uniform(index + OTHER));
        match self {
            Kind::Normal => {
                let radius = (-2.0 * ((1.0 - u) / 2.0).ln()).sqrt();
                radius * (std::f64::consts::PI * v).cos()
            }
            Kind::Positive => u.abs(),
            _ => u,
        }
    }

    /// Packed operands: a is SIDE x k, b is k x SIDE.
    fn operands(self, element: Element, k: u64) -> [Vec<u8>; 2] {
        let (first, second, gap) = (Stream::new(k, 0), Stream::new(k, 1), Stream::new(k, 2));
        let half = k / 2;
        let again = |i: u64| if self == Kind::Cancelling && i >= half { i - half } else { i };
        let a = |at: u64| self.value(first, at / k * k + again(at % k));
        let b = |at: u64| {
            let (i, column) = (at / SIDE, at % SIDE);
            let value = self.value(second, again(i) * SIDE + column);
            if again(i) == i { value } else { -value * (1.0 + 1e-4 * gap.uniform(at)) }
        };
        let rounded = |value: &(dyn Fn(u64) -> f64 + Sync)| {
            let line = |line: u64| {
                let mut bytes = Vec::new();
                (line * SIDE..(line + 1) * SIDE).for_each(|at| element.push_rounded(value(at), &mut bytes));
                bytes
            };
            (0..k).into_par_iter().flat_map_iter(line).collect()
        };
        [rounded(&a), rounded(&b)]
    }
}

fn numbers(element: Element, bytes: &[u8]) -> Vec<f64> {
    bytes.chunks_exact(element.size() as usize).map(|bytes| element.to_f64(bytes).unwrap_or(f64::NAN)).collect()
}

/// The exact product and the sum of its terms' magnitudes, for every element.
fn exact(element: Element, operands: &[Vec<u8>; 2], k: u64) -> Vec<(f64, f64)> {
    let [a, b] = [0, 1].map(|i| numbers(element, &operands[i]));
    let (side, k) = (SIDE as usize, k as usize);
    let row = |row: usize| {
        let mut sums = vec![(0.0, 0.0); side];
        for i in 0..k {
            let x = a[row * k + i];
            for (sum, y) in sums.iter_mut().zip(&b[i * side..]) {
                *sum = (sum.0 + x * y, sum.1 + (x * y).abs());
            }
        }
        sums
    };
    (0..side).into_par_iter().flat_map_iter(row).collect()
}

/// The largest and the mean error over the sum of magnitudes, or why there is none.
fn errors(session: &Session<Any>, rung: &Rung, stage: &Arc<Stage<Any>>, exact: &[(f64, f64)]) -> Result<(f64, f64)> {
    let output = pollster::block_on(async {
        match session.verify(session.prepare(stage, rung).await?).await? {
            Verdict::Pass(verified) => verified.output().await,
            Verdict::Fail(mismatch) => Err(Error::WrongWhileTimed { label: rung.id(), mismatch: mismatch.to_string() }),
        }
    })?;
    let found = numbers(op::Matmul.output_element(stage.problem()), &output);
    let error = |(found, (right, magnitude)): (&f64, &(f64, f64))| (found - right).abs() / magnitude;
    let all: Vec<f64> = found.iter().zip(exact).map(error).collect();
    Ok((all.iter().copied().fold(0.0, f64::max), all.iter().sum::<f64>() / all.len() as f64))
}

/// A column group of the table: a rung for problems of these types.
struct Subject {
    title: String,
    one: Problem,
    rung: Rung,
}

/// What the device offers: for each precision the rung that is selected, and the vendor's f32.
fn subjects(session: &Session<Any>) -> Vec<Subject> {
    let f32s = Precision::ALL.iter().map(|&precision| Problem::new(Element::F32, [1; 3]).with_precision(precision));
    let shorts = [Element::F16, Element::Bf16]
        .map(|element| [Problem::new(element, [1; 3]).with_output(Element::F32), Problem::new(element, [1; 3])]);
    let mut subjects = Vec::new();
    for one in f32s.chain(shorts.into_iter().flatten()) {
        let large = Problem { dims: vec![SIDE, SIDE, 4096], ..one.clone() };
        let takes = |rung: &&Rung| op::runs(&op::Matmul, rung, session.device(), &large);
        let own = op::Matmul.select(session.device(), &large).or_else(|| op::Matmul.ladder().iter().rfind(takes));
        // Split products are measured against true f32, which is in the table already.
        let splits = !matches!(one.precision, Precision::Full | Precision::Tf32);
        let vendor = op::Matmul.vendor().iter().filter(takes).take(usize::from(!splits));
        let library = vendor.map(|rung| (format!("{}: {}", one.types(), rung.name), rung));
        for (title, rung) in
            own.map(|rung| (format!("{}: {}", one.types(), rung.id()), rung)).into_iter().chain(library)
        {
            if !subjects.iter().any(|subject: &Subject| subject.title == title) {
                subjects.push(Subject { title, one: one.clone(), rung: rung.clone() });
            }
        }
    }
    subjects
}

fn heading(session: &Session<Any>) -> String {
    let device = session.device();
    format!(
        "# Accuracy of products\n\nPrinted by `examples/accuracy.rs` on {}, {}.\n\n\
         m = n = {SIDE}. Error of an element over the sum of its terms' magnitudes, |A| |B|, against a sum in f64 of the \
         same (rounded) elements: largest, mean. *Cancelling*: the second half of every sum takes the first away but for \
         one part in ten thousand. *Positive*: uniform between 0 and 1. Every result was first verified against its bound \
         (`src/op/matmul/error_bound.rs`).\n",
        device.name, device.driver
    )
}

/// The tables of the subjects that read the same elements.
fn tables(session: &Session<Any>, subjects: &[&Subject]) -> Result<String> {
    let mut texts: Vec<String> = subjects
        .iter()
        .map(|subject| {
            let kinds: Vec<&str> = Kind::ALL.iter().map(|(_, name)| *name).collect();
            format!("\n## {}\n\n| k | {} |\n|---|{}", subject.title, kinds.join(" | "), "---|".repeat(kinds.len()))
        })
        .collect();
    for k in LENGTHS {
        texts.iter_mut().for_each(|text| text.push_str(&format!("\n| {k} |")));
        for (kind, _) in Kind::ALL {
            let element = subjects[0].one.element;
            let operands = kind.operands(element, k);
            let right = exact(element, &operands, k);
            let mut staged: Option<Arc<Stage<Any>>> = None;
            for (subject, text) in subjects.iter().zip(&mut texts) {
                let problem = Problem { dims: vec![SIDE, SIDE, k], ..subject.one.clone() };
                let stage = match staged.take().filter(|stage| *stage.problem() == problem) {
                    Some(stage) => stage,
                    None => {
                        let operands = operands.iter().map(|bytes| Arc::new(bytes.clone())).collect();
                        let inputs = Inputs::Given { operands, description: "of the accuracy table".into() };
                        pollster::block_on(session.stage(&op::Matmul, &problem, inputs))?
                    }
                };
                let _ = match errors(session, &subject.rung, staged.insert(stage), &right) {
                    Ok((largest, mean)) => write!(text, " {largest:.1e}, {mean:.1e} |"),
                    Err(error) => write!(text, " {error} |"),
                };
            }
            eprint!(".");
        }
    }
    Ok(texts.join("\n") + "\n")
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_else(|| "auto".into());
    let words: Vec<String> = arguments.collect();
    let session = Session::new(pollster::block_on(Any::open_named(&name, &Select::default()))?);
    // A reader that has gone is no error.
    let print = |text: String| drop(std::io::stdout().write_all(text.as_bytes()));
    print(heading(&session));
    let wanted = |one: &Problem| {
        let names = [one.element.to_string(), one.precision.to_string()];
        words.is_empty() || names.iter().any(|name| words.contains(name))
    };
    let subjects: Vec<Subject> = subjects(&session).into_iter().filter(|subject| wanted(&subject.one)).collect();
    for group in subjects.chunk_by(|a, b| a.one.element == b.one.element) {
        print(tables(&session, &group.iter().collect::<Vec<_>>())?);
    }
    Ok(())
}
