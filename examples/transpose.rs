//! Climbs the transpose ladder on every backend that opens and prints one table.
//!
//! ```sh
//! cargo run --release --example transpose
//! cargo run --release --example transpose --features cuda -- --size 8192
//! cargo run --release --example transpose -- --input m.npy --output t.npy --rung ordered
//! ```

mod terminal;

use gpu_ladder::climb::Climb;
use gpu_ladder::npy::{self, Matrix};
use gpu_ladder::{Element, Error, Problem, Result, op, report};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

const HELP: &str = "\
Climbs the transpose ladder on every backend that opens: each rung verified, then timed.

  --rows N, --cols N, --size N   the matrix (default 1024 x 1024)
  --element TYPE                 f32, f64, f16, bf16, i8 ... (default f32)
  --backend NAME                 auto, cuda, wgpu (default: all that open)
  --device NAME                  an index or part of a name
  --rung NAME                    only this rung; may be repeated
  --input M.npy --output T.npy   transpose this f32 matrix and write the result
  --browser-checks               compile WGSL with all that a browser enforces
  --seed N                       of the generated matrix (default 1)
  --format NAME                  table, markdown, csv, json
";

struct Arguments {
    rows: u64,
    cols: u64,
    element: Element,
    rungs: Vec<String>,
    input: Option<PathBuf>,
    output: Option<PathBuf>,
    format: &'static report::Format,
    climb: Climb,
}

fn main() -> ExitCode {
    match run() {
        Ok(passed) if passed => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(1),
        Err(error) => {
            eprintln!("transpose: {error}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<bool> {
    let Some(arguments) = parse()? else {
        print!("{HELP}");
        return Ok(true);
    };
    let (mut rows, mut cols, element) = (arguments.rows, arguments.cols, arguments.element);
    let mut climb = arguments.climb;
    if let Some(path) = &arguments.output {
        npy::check_writable(path)?;
    }
    if let Some(path) = &arguments.input {
        let matrix = npy::read(path)?;
        (rows, cols) = (matrix.rows, matrix.cols);
        climb.given = Some((vec![Arc::new(matrix.bytes)], path.display().to_string()));
    }
    climb.problems = vec![Problem::new(element, [rows, cols])];
    if !arguments.rungs.is_empty() {
        climb = climb.with_rungs(&arguments.rungs)?;
    }
    let ascent = terminal::climb(&climb)?;
    if let (Some(path), Some(bytes)) = (&arguments.output, ascent.output.clone()) {
        npy::write(path, &Matrix { element, rows: cols, cols: rows, bytes })?;
    }
    terminal::print(&(arguments.format.print)(&ascent.rows, &terminal::page()));
    Ok(ascent.passed())
}

fn parse() -> Result<Option<Arguments>> {
    use lexopt::prelude::*;
    let wrong = |error: lexopt::Error| Error::Option {
        option: "the command line",
        value: String::new(),
        problem: error.to_string(),
    };
    let mut arguments = Arguments {
        rows: 1024,
        cols: 1024,
        element: Element::F32,
        rungs: Vec::new(),
        input: None,
        output: None,
        format: report::find("table")?,
        climb: Climb::new(&op::Transpose, Problem::new(Element::F32, [1, 1])),
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
            "rows" => arguments.rows = terminal::number("--rows", &text()?)?,
            "cols" => arguments.cols = terminal::number("--cols", &text()?)?,
            "size" => {
                arguments.rows = terminal::number("--size", &text()?)?;
                arguments.cols = arguments.rows;
            }
            "element" => arguments.element = text()?.parse()?,
            "backend" => arguments.climb.backends.push(text()?),
            "device" => arguments.climb.select.device = Some(text()?),
            "rung" => arguments.rungs.push(text()?),
            "seed" => arguments.climb.seed = terminal::number("--seed", &text()?)?,
            "browser-checks" => arguments.climb.select.browser_checks = true,
            "input" => arguments.input = Some(text()?.into()),
            "output" => arguments.output = Some(text()?.into()),
            "format" => arguments.format = report::find(&text()?)?,
            _ => return Err(wrong(lexopt::Error::UnexpectedOption(format!("--{name}")))),
        }
    }
    if arguments.output.is_some() && arguments.input.is_none() {
        return Err(Error::Option {
            option: "--output",
            value: String::new(),
            problem: "it takes the transpose of --input, which is missing".into(),
        });
    }
    Ok(Some(arguments))
}
