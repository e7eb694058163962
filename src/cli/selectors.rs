//! Which problems, rungs and devices: the flags that every verb shares.

use super::output::{bad, whole};
use clap::Args;
use gpu_ladder::backend::Select;
use gpu_ladder::op::Op;
use gpu_ladder::report::Row;
use gpu_ladder::{Element, Error, Layout, Precision, Problem, Result};

/// The most problems of one call: a range that gives more is a slip.
const MOST_PROBLEMS: usize = 10_000;

#[derive(Args)]
pub struct DeviceArguments {
    /// auto, cuda, wgpu or sim; several by commas (default: all that open).
    #[arg(long, value_delimiter = ',')]
    pub backend: Vec<String>,
    /// An index, or part of a device's name.
    #[arg(long)]
    pub device: Option<String>,
}

impl DeviceArguments {
    /// Which device of a backend.
    pub fn select(&self) -> Select {
        Select { device: self.device.clone(), ..Select::default() }
    }
}

/// Why a backend that was looked for is not there, in a line.
pub fn missing(backend: &str, error: &Error) -> String {
    match error {
        Error::NoBackend { because, remedy, .. } => format!("{backend}: unavailable: {because}. {remedy}"),
        other => format!("{backend}: unavailable: {other}"),
    }
}

/// The problems of an op. Numbers are single, lists (`256,512`), or ranges: `1024..16384*2` multiplies,
/// `100..1000+100` adds, `256..4096` doubles.
#[derive(Args)]
pub struct ProblemArguments {
    /// Every dimension that is not given by its own name: 4096, 256,512 or 1024..16384*2 (default: 1024; less on the
    /// simulator, on software adapters and under `profile`).
    #[arg(long)]
    size: Option<String>,
    /// All dimensions at once, such as 8191x8193; several by commas.
    #[arg(long, value_delimiter = ',')]
    shape: Vec<String>,
    /// Rows of the input.
    #[arg(long)]
    rows: Option<String>,
    /// Columns of the input.
    #[arg(long)]
    cols: Option<String>,
    /// Elements of a vector.
    #[arg(long)]
    len: Option<String>,
    /// Rows of A and C.
    #[arg(long)]
    m: Option<String>,
    /// Columns of B and C.
    #[arg(long)]
    n: Option<String>,
    /// Columns of A, rows of B.
    #[arg(long)]
    k: Option<String>,
    /// Any dimension by its name, as NAME=NUMBERS.
    #[arg(long)]
    dim: Vec<String>,
    /// Which operands of a product are stored transposed: NN, NT, TN, TT; several by commas.
    #[arg(long, value_delimiter = ',')]
    layout: Vec<String>,
    /// What a product makes of f32 elements: full, tf32, split-f16, split-bf16 or split-tf32; several by commas.
    #[arg(long, value_delimiter = ',')]
    precision: Vec<String>,
    /// The type of the result, where it is not that of the operands.
    #[arg(long)]
    result: Option<String>,
    /// Elements from one row to the next, of every operand (default: no gaps).
    #[arg(long, value_parser = whole::<u64>)]
    ld: Option<u64>,
    /// Matrices.
    #[arg(long, default_value_t = 1, value_parser = whole::<u64>)]
    batch: u64,
    /// f32, f64, f16, bf16, i8 ...; several by commas (default: the op's first, mostly f32).
    #[arg(long, value_delimiter = ',')]
    element: Vec<String>,
}

impl ProblemArguments {
    /// Every problem that was asked for: by shape, or by size and single dimensions, for each
    /// element type and layout.
    pub fn problems(&self, op: &dyn Op, default_size: u64) -> Result<Vec<Problem>> {
        let mut all_dims = Vec::new();
        for shape in &self.shape {
            let dims: std::result::Result<Vec<u64>, _> = shape.split('x').map(str::parse).collect();
            let problem =
                || bad("--shape", shape, format!("whole numbers with x between, for {}", op.dims().join(", ")));
            all_dims.push(dims.map_err(|_| problem())?);
        }
        let named = self.named(op)?;
        if all_dims.is_empty() || !named.is_empty() || self.size.is_some() {
            let sizes = match &self.size {
                Some(text) => numbers("--size", text)?,
                None => vec![default_size],
            };
            for size in sizes {
                let mut partial = vec![problem_of_size(op, size).dims];
                for (place, values) in &named {
                    let with = |dims: &Vec<u64>, value: u64| {
                        let mut dims = dims.clone();
                        dims[*place] = value;
                        dims
                    };
                    partial = partial
                        .iter()
                        .flat_map(|dims| values.iter().map(|v| with(dims, *v)).collect::<Vec<_>>())
                        .collect();
                    if partial.len() > MOST_PROBLEMS {
                        return Err(bad(
                            "the dimensions",
                            format!("{} problems", partial.len()),
                            format!("the most is {MOST_PROBLEMS}"),
                        ));
                    }
                }
                all_dims.append(&mut partial);
            }
        }
        all_dims.dedup();
        let mut problems = Vec::new();
        let elements: Result<Vec<Element>> = match self.element.as_slice() {
            [] => Ok(vec![first_element(op)]),
            words => words.iter().map(|word| word.parse()).collect(),
        };
        for element in elements? {
            for dims in &all_dims {
                let problem = self.laid_out(op, Problem::new(element, dims.clone()).with_batch(self.batch))?;
                problems.append(&mut self.variants(op, problem)?);
            }
        }
        Ok(problems)
    }

    /// A problem in every layout and precision that was asked for.
    fn variants(&self, op: &dyn Op, problem: Problem) -> Result<Vec<Problem>> {
        let mut problems = vec![problem];
        if !self.layout.is_empty() {
            let layouts = self.layout.iter().map(|word| with_layout(op, problems[0].clone(), word));
            problems = layouts.collect::<Result<_>>()?;
        }
        if !self.precision.is_empty() {
            let precisions: Vec<Precision> = self.precision.iter().map(|word| word.parse()).collect::<Result<_>>()?;
            let with = |problem: &Problem| {
                precisions.iter().map(|precision| problem.clone().with_precision(*precision)).collect::<Vec<_>>()
            };
            problems = problems.iter().flat_map(with).collect();
        }
        Ok(problems)
    }

    /// A problem with the result type and the leading dimension that were asked for.
    fn laid_out(&self, op: &dyn Op, mut problem: Problem) -> Result<Problem> {
        if let Some(word) = &self.result {
            problem = problem.with_output(word.parse()?);
        }
        if self.ld.is_some() {
            let pitched = Layout { leading_dimension: self.ld, ..Layout::default() };
            let operands = op.shapes(&problem)?.0.len() + 1;
            problem = (0..operands).fold(problem, |problem, index| problem.with_layout(index, pitched));
        }
        Ok(problem)
    }

    /// Dimensions given by name, with their place in the op.
    fn named(&self, op: &dyn Op) -> Result<Vec<(usize, Vec<u64>)>> {
        let mut given: Vec<(&str, &'static str, &str)> = Vec::new();
        let flags = [
            ("rows", "--rows", &self.rows),
            ("cols", "--cols", &self.cols),
            ("len", "--len", &self.len),
            ("m", "--m", &self.m),
            ("n", "--n", &self.n),
            ("k", "--k", &self.k),
        ];
        given.extend(flags.iter().filter_map(|(name, option, value)| Some((*name, *option, value.as_deref()?))));
        for text in &self.dim {
            let (name, value) =
                text.split_once('=').ok_or_else(|| bad("--dim", text, "it is given as NAME=NUMBERS"))?;
            given.push((name, "--dim", value));
        }
        let mut named = Vec::new();
        for (name, option, value) in given {
            let place = op.dims().iter().position(|dim| *dim == name).ok_or_else(|| Error::Unknown {
                kind: "dimension",
                word: name.into(),
                known: op.dims().iter().map(|d| d.to_string()).collect(),
            })?;
            named.push((place, numbers(option, value)?));
        }
        Ok(named)
    }
}

/// A problem whose matrices are square; a vector has as many elements as such a matrix.
pub fn problem_of_size(op: &dyn Op, size: u64) -> Problem {
    Problem::new(first_element(op), op.of_size(size))
}

/// A size, halved until an op of it takes at most so many operations.
pub fn light_size(op: &dyn Op, size: u64, operations: f64) -> u64 {
    const LEAST: u64 = 16;
    let mut halves = std::iter::successors(Some(size), |size| Some(size / 2));
    let light = |size: &u64| *size <= LEAST || op.work(&problem_of_size(op, *size)).flops <= operations;
    halves.find(light).unwrap_or(LEAST)
}

/// A size that the simulator counts in a moment; the counters of a larger one tell the same.
pub fn simulated_size(op: &dyn Op) -> u64 {
    light_size(op, 128, 5e6)
}

/// The element type that an op is best known for.
fn first_element(op: &dyn Op) -> Element {
    op.elements().first().copied().unwrap_or(Element::F32)
}

/// A problem with some operands stored transposed.
pub fn with_layout(op: &dyn Op, mut problem: Problem, word: &str) -> Result<Problem> {
    for (index, letter) in word.chars().enumerate() {
        match letter.to_ascii_uppercase() {
            'N' => {}
            'T' => {
                let layout = Layout { transposed: true, ..problem.layout(index) };
                problem = problem.with_layout(index, layout);
            }
            _ => {
                return Err(bad(
                    "--layout",
                    word,
                    "a letter for each operand: N as it is, T stored transposed, such as NT",
                ));
            }
        }
    }
    if op.layout(&problem).is_none_or(|understood| !understood.eq_ignore_ascii_case(word)) {
        return Err(bad("--layout", word, format!("{} has no such choice of layouts", op.name())));
    }
    Ok(problem)
}

/// The numbers of a list or range.
fn numbers(option: &'static str, text: &str) -> Result<Vec<u64>> {
    let mut all = Vec::new();
    for part in text.split(',') {
        let wrong = |problem: &str| bad(option, text, problem);
        let number = |word: &str| {
            word.trim()
                .parse::<u64>()
                .map_err(|_| wrong("whole numbers, lists such as 256,512 or ranges such as 1024..16384*2"))
        };
        let Some((first, rest)) = part.split_once("..") else {
            all.push(number(part)?);
            continue;
        };
        let (last, factor, step) = match (rest.split_once('*'), rest.split_once('+')) {
            (Some((last, factor)), _) => (last, number(factor)?, 0),
            (_, Some((last, step))) => (last, 1, number(step)?),
            _ => (rest, 2, 0),
        };
        let (mut value, last) = (number(first)?, number(last)?);
        if value > last || (factor < 2 && step == 0) || (factor > 1 && value == 0) {
            return Err(wrong("a range goes upwards: FIRST..LAST*FACTOR or FIRST..LAST+STEP"));
        }
        while value <= last {
            all.push(value);
            if all.len() > MOST_PROBLEMS {
                return Err(wrong("more than 10000 values"));
            }
            value = value.saturating_mul(factor).saturating_add(step);
        }
    }
    Ok(all)
}

/// Which rows of a kept run.
#[derive(Args, Default)]
pub struct RowArguments {
    /// Only this op; several by commas.
    #[arg(long, value_delimiter = ',')]
    op: Vec<String>,
    /// Only this rung, by name or id; several by commas.
    #[arg(long, value_delimiter = ',')]
    rung: Vec<String>,
    /// Only this backend; several by commas.
    #[arg(long, value_delimiter = ',')]
    backend: Vec<String>,
    /// Only devices with this in their name.
    #[arg(long)]
    device: Option<String>,
    /// Only this element type; several by commas.
    #[arg(long, value_delimiter = ',')]
    element: Vec<String>,
    /// Only this shape, such as 8192x8192; several by commas.
    #[arg(long, value_delimiter = ',')]
    shape: Vec<String>,
    /// Only this layout; several by commas.
    #[arg(long, value_delimiter = ',')]
    layout: Vec<String>,
}

impl RowArguments {
    /// Keeps the rows that were asked for.
    ///
    /// # Errors
    /// [`Error::Unknown`] for a word that no row answers to: an empty report would hide the slip.
    pub fn keep(&self, rows: &mut Vec<Row>) -> Result<()> {
        let device = self.device.iter().cloned().collect::<Vec<_>>();
        type Filter<'a> = (&'static str, &'a [String], fn(&Row) -> String);
        let filters: [Filter<'_>; 7] = [
            ("op", &self.op, |row| row.op.clone()),
            ("rung", &self.rung, |row| row.rung.clone()),
            ("backend", &self.backend, |row| row.backend.clone()),
            ("device", &device, |row| row.device.clone()),
            ("element", &self.element, |row| row.element.clone()),
            ("shape", &self.shape, Row::shape),
            ("layout", &self.layout, |row| row.layout.clone().unwrap_or_default()),
        ];
        for (kind, words, of) in filters {
            if words.is_empty() {
                continue;
            }
            let answers = |value: &str, word: &str| match kind {
                "device" => value.to_lowercase().contains(&word.to_lowercase()),
                "rung" => value == word || value.split('@').next() == Some(word),
                _ => value == word,
            };
            for word in words {
                if !rows.iter().any(|row| answers(&of(row), word)) {
                    let mut known: Vec<String> = rows.iter().map(of).collect();
                    known.sort();
                    known.dedup();
                    return Err(Error::Unknown { kind, word: word.clone(), known });
                }
            }
            rows.retain(|row| words.iter().any(|word| answers(&of(row), word)));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_computes_much_is_small_on_a_processor() {
        let [product, copy, chains] =
            ["matmul", "copy", "multiply_add"].map(|name| gpu_ladder::op::find(name).unwrap());
        assert_eq!([product, copy].map(|op| light_size(op, 1024, 1e8)), [256, 1024]);
        assert_eq!([product, copy, chains].map(simulated_size), [128, 128, 32]);
    }

    #[test]
    fn ranges_and_lists() {
        assert_eq!(numbers("--size", "1024..16384*2").unwrap(), [1024, 2048, 4096, 8192, 16384]);
        assert_eq!(numbers("--size", "1..4+1,9").unwrap(), [1, 2, 3, 4, 9]);
        assert_eq!(numbers("--size", "3..20").unwrap(), [3, 6, 12]);
        for wrong in ["", "x", "5..1", "0..8", "1..9*1", "1..9+0", "1..100000+1", "-3"] {
            assert!(numbers("--size", wrong).is_err(), "{wrong}");
        }
    }
}
