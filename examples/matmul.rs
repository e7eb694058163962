//! Climbs the matmul ladder on every backend that opens and prints one table.
//!
//! ```sh
//! cargo run --release --example matmul
//! cargo run --release --example matmul --features cuda -- --size 4096 --layout NT
//! cargo run --release --example matmul -- --a a.npy --b b.npy --output c.npy --rung compact
//! ```

mod terminal;

use gpu_ladder::climb::Climb;
use gpu_ladder::npy::{self, Matrix};
use gpu_ladder::{Element, Error, Layout, Problem, Result, op, report};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

const HELP: &str = "\
Climbs the matmul ladder, C = alpha op(A) op(B) + beta C, on every backend that opens: each rung
verified, then timed.

  --m N, --n N, --k N, --size N  C is m x n, the sum is over k (default 512 each)
  --element f32|f16|bf16         the type of A and B (default f32)
  --result f32                   the type of C, where it is not that of A and B
  --precision NAME               for f32: full, tf32, split-tf32, split-f16, split-bf16 (default full)
  --layout NN|NT|TN|TT           which operands are stored transposed (default NN)
  --batch N                      products (default 1)
  --alpha X, --beta X            (default 1 and 0)
  --backend NAME                 auto, cuda, wgpu, sim (default: all GPUs that open)
  --device NAME                  an index or part of a name
  --rung NAME                    only this rung; may be repeated
  --a A.npy --b B.npy            multiply these f32 matrices, as they are stored
  --output C.npy                 where to write their product
  --browser-checks               compile WGSL with all that a browser enforces
  --seed N                       of generated matrices (default 1)
  --format NAME                  table, markdown, csv, json
";

struct Arguments {
    problem: Problem,
    /// Whether each operand is stored transposed.
    transposed: [bool; 2],
    operands: [Option<PathBuf>; 2],
    output: Option<PathBuf>,
    rungs: Vec<String>,
    format: &'static report::Format,
    climb: Climb,
}

fn main() -> ExitCode {
    match run() {
        Ok(passed) if passed => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(1),
        Err(error) => {
            eprintln!("matmul: {error}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<bool> {
    let Some(arguments) = parse()? else {
        terminal::print(HELP);
        return Ok(true);
    };
    let (mut problem, mut climb) = (arguments.problem, arguments.climb);
    if let Some(path) = &arguments.output {
        npy::check_writable(path)?;
    }
    if let [Some(a), Some(b)] = &arguments.operands {
        let operands = [npy::read(a)?, npy::read(b)?];
        problem.dims = dimensions(&operands, arguments.transposed)?;
        climb.given =
            Some((operands.map(|m| Arc::new(m.bytes)).to_vec(), format!("{} and {}", a.display(), b.display())));
    }
    for (index, transposed) in arguments.transposed.into_iter().enumerate() {
        problem = problem.with_layout(index, Layout { transposed, ..Layout::default() });
    }
    let (rows, cols) = (problem.dim(0), problem.dim(1));
    climb.problems = vec![problem];
    if !arguments.rungs.is_empty() {
        climb = climb.with_rungs(&arguments.rungs)?;
    }
    let ascent = terminal::climb(&climb)?;
    if let (Some(path), Some(bytes)) = (&arguments.output, ascent.output.clone()) {
        npy::write(path, &Matrix { element: Element::F32, rows, cols, bytes })?;
    }
    terminal::print(&(arguments.format.print)(&ascent.rows, &terminal::page()));
    Ok(ascent.passed())
}

/// m, n and k of the product of two stored matrices.
fn dimensions(stored: &[Matrix; 2], transposed: [bool; 2]) -> Result<Vec<u64>> {
    let shape = |index: usize| {
        let matrix = &stored[index];
        if transposed[index] { (matrix.cols, matrix.rows) } else { (matrix.rows, matrix.cols) }
    };
    let ((m, k), (other_k, n)) = (shape(0), shape(1));
    if k != other_k {
        let problem = format!("op(A) is {m} x {k} and op(B) is {other_k} x {n}: {k} is not {other_k}");
        return Err(Error::Shape { what: "matmul".into(), problem });
    }
    Ok(vec![m, n, k])
}

fn parse() -> Result<Option<Arguments>> {
    use lexopt::prelude::*;
    let wrong = |error: lexopt::Error| Error::Option {
        option: "the command line",
        value: String::new(),
        problem: error.to_string(),
    };
    let problem = Problem::new(Element::F32, [512, 512, 512]);
    let mut arguments = Arguments {
        climb: Climb::new(&op::Matmul, problem.clone()),
        problem,
        transposed: [false; 2],
        operands: [None, None],
        output: None,
        rungs: Vec::new(),
        format: report::find("table")?,
    };
    let mut parser = lexopt::Parser::from_env();
    while let Some(argument) = parser.next().map_err(wrong)? {
        let name = match argument {
            Short('h') => return Ok(None),
            Long(name) => name.to_string(),
            other => return Err(wrong(other.unexpected())),
        };
        let mut text = || parser.value().and_then(|v| v.string()).map_err(wrong);
        match name.as_str() {
            "help" => return Ok(None),
            "m" => arguments.problem.dims[0] = terminal::number("--m", &text()?)?,
            "n" => arguments.problem.dims[1] = terminal::number("--n", &text()?)?,
            "k" => arguments.problem.dims[2] = terminal::number("--k", &text()?)?,
            "size" => arguments.problem.dims = vec![terminal::number("--size", &text()?)?; 3],
            "element" => arguments.problem.element = text()?.parse()?,
            "result" => arguments.problem.output = Some(text()?.parse()?),
            "precision" => arguments.problem.precision = text()?.parse()?,
            "layout" => arguments.transposed = layout(&text()?)?,
            "batch" => arguments.problem.batch = terminal::number("--batch", &text()?)?,
            "alpha" => arguments.problem.alpha = factor("--alpha", &text()?)?,
            "beta" => arguments.problem.beta = factor("--beta", &text()?)?,
            "backend" => arguments.climb.backends.push(text()?),
            "device" => arguments.climb.select.device = Some(text()?),
            "rung" => arguments.rungs.push(text()?),
            "a" => arguments.operands[0] = Some(PathBuf::from(text()?)),
            "b" => arguments.operands[1] = Some(PathBuf::from(text()?)),
            "output" => arguments.output = Some(text()?.into()),
            "seed" => arguments.climb.seed = terminal::number("--seed", &text()?)?,
            "browser-checks" => arguments.climb.select.browser_checks = true,
            "format" => arguments.format = report::find(&text()?)?,
            _ => return Err(wrong(lexopt::Error::UnexpectedOption(format!("--{name}")))),
        }
    }
    check(&arguments)?;
    Ok(Some(arguments))
}

/// Refuses options that belong together and do not come together.
fn check(arguments: &Arguments) -> Result<()> {
    let refuse = |option: &'static str, value: Option<&Path>, problem: &str| {
        let value = value.map(|path| path.display().to_string()).unwrap_or_default();
        Err(Error::Option { option, value, problem: problem.into() })
    };
    let given = arguments.operands.iter().flatten().count();
    match &arguments.operands {
        [Some(a), None] => refuse("--a", Some(a), "it needs --b, the other operand"),
        [None, Some(b)] => refuse("--b", Some(b), "it needs --a, the other operand"),
        _ if given == 0 && arguments.output.is_some() => {
            refuse("--output", arguments.output.as_deref(), "it takes the product of --a and --b, which are missing")
        }
        _ if given == 2 && arguments.problem.element != Element::F32 => {
            refuse("--element", None, "files are read and written in f32")
        }
        _ if given == 2 && arguments.problem.batch != 1 => refuse("--batch", None, "files hold one matrix each"),
        _ if given == 2 && arguments.problem.beta != 0.0 => {
            refuse("--beta", None, "there is no file for the old C; leave it 0")
        }
        _ => Ok(()),
    }
}

fn layout(text: &str) -> Result<[bool; 2]> {
    match text.to_uppercase().as_str() {
        "NN" => Ok([false, false]),
        "NT" => Ok([false, true]),
        "TN" => Ok([true, false]),
        "TT" => Ok([true, true]),
        _ => Err(Error::Option { option: "--layout", value: text.into(), problem: "NN, NT, TN or TT".into() }),
    }
}

fn factor(option: &'static str, text: &str) -> Result<f32> {
    text.parse().map_err(|_| Error::Option { option, value: text.into(), problem: "a number".into() })
}
