//! Expected output against actual output.
//!
//! An output buffer is poisoned before the kernel runs and lies between two guard bands, so that
//! an element that was not written and a byte that should not have been are both seen. Comparison
//! is `!(difference <= bound)`, so a NaN fails where a number is due.

mod mismatch;

pub use mismatch::{Coverage, Mismatch};

use crate::element::Element;
use crate::error::{Error, Result};
use crate::op::Shape;
use rayon::prelude::*;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// Bytes of guard before and after an output; a multiple of every binding alignment.
pub const GUARD: u64 = 256;

/// The two words that outputs are poisoned with, one after the other: a NaN, and a value that a
/// kernel is unlikely to produce. One alone could be a legal result.
pub const POISONS: [u32; 2] = [0xFFFF_FFFF, 0x5A5A_5A5A];

/// `gamma(n) = n u / (1 - n u)`: the relative error of `n` roundings in a row; infinite where it
/// proves nothing any more.
pub fn rounding(n: u64, element: Element) -> f64 {
    let nu = n as f64 * element.unit_roundoff().unwrap_or(0.0);
    if nu < 1.0 { nu / (1.0 - nu) } else { f64::INFINITY }
}

/// One expected element.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Entry {
    /// Which matrix of the batch.
    pub matrix: u64,
    /// Its row.
    pub row: u64,
    /// Its column.
    pub col: u64,
    /// The right value.
    pub value: f64,
    /// How far a correct kernel may be from it.
    pub bound: f64,
}

/// The right value of every row of one matrix times a vector: a check of the whole matrix.
#[derive(Debug, Clone, PartialEq)]
pub struct Projection {
    /// Which matrix of the batch.
    pub matrix: u64,
    /// The vector.
    pub weights: Vec<f64>,
    /// For each row, the value and its bound.
    pub rows: Vec<(f64, f64)>,
}

/// Writes the right bytes of some consecutive rows of a matrix.
type RowsOfBits = Box<dyn Fn(u64, Range<u64>, &mut [u8]) + Send + Sync>;

enum Content {
    /// Every bit: how to make rows, and all rows together once they have been asked for.
    Bits { rows: RowsOfBits, all: OnceLock<Arc<Vec<u8>>> },
    /// Every element, in row order, with its bound.
    Bounded { values: Vec<f64>, bounds: Vec<f64> },
    /// Some elements, and every row through a projection.
    Sampled { entries: Vec<Entry>, projections: Vec<Projection> },
}

/// The right output of a problem.
pub struct Expected {
    shape: Shape,
    element: Element,
    content: Content,
}

impl fmt::Debug for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Expected").field("shape", &self.shape).field("coverage", &self.coverage()).finish()
    }
}

impl Expected {
    /// Bit equality; `rows(matrix, range, bytes)` writes the right bytes of a range of rows.
    pub fn bits(
        shape: Shape,
        element: Element,
        rows: impl Fn(u64, Range<u64>, &mut [u8]) + Send + Sync + 'static,
    ) -> Self {
        Expected { shape, element, content: Content::Bits { rows: Box::new(rows), all: OnceLock::new() } }
    }

    /// Bit equality with packed bytes that exist already.
    pub fn bytes(shape: Shape, element: Element, bytes: Arc<Vec<u8>>) -> Self {
        let all = OnceLock::from(bytes);
        Expected { shape, element, content: Content::Bits { rows: Box::new(|_, _, _| {}), all } }
    }

    /// Every element with its bound, in row order.
    pub fn bounded(shape: Shape, element: Element, values: Vec<f64>, bounds: Vec<f64>) -> Self {
        Expected { shape, element, content: Content::Bounded { values, bounds } }
    }

    /// Some elements, and projections of the whole.
    pub fn sampled(shape: Shape, element: Element, entries: Vec<Entry>, projections: Vec<Projection>) -> Self {
        Expected { shape, element, content: Content::Sampled { entries, projections } }
    }

    /// Refuses what is not an expectation of `output`: values that are missing could only be compared
    /// in a panic.
    pub(crate) fn check_shape(&self, op: &str, output: &Shape) -> Result<()> {
        let refuse = |problem: String| Err(Error::shape(format!("what {op} expects"), problem));
        if self.shape != *output {
            return refuse(format!("it is of {:?}, the output is {output:?}", self.shape));
        }
        let elements = output.len();
        let outside =
            |matrix: u64, row: u64, col: u64| matrix >= output.batch || row >= output.rows || col >= output.cols;
        match &self.content {
            Content::Bits { all, .. } => match all.get().map(|all| all.len() as u64) {
                Some(given) if given != elements * self.element.size() => {
                    refuse(format!("{given} bytes given, the output has {}", elements * self.element.size()))
                }
                _ => Ok(()),
            },
            Content::Bounded { values, bounds } => match [values.len() as u64, bounds.len() as u64] {
                given if given != [elements; 2] => {
                    refuse(format!("{} values and {} bounds given, the output has {elements}", given[0], given[1]))
                }
                _ => Ok(()),
            },
            Content::Sampled { entries, projections } => {
                if let Some(entry) = entries.iter().find(|e| outside(e.matrix, e.row, e.col)) {
                    return refuse(format!("{entry:?} is outside the output, {output:?}"));
                }
                let sides = |p: &Projection| (p.weights.len() as u64, p.rows.len() as u64);
                match projections.iter().find(|p| p.matrix >= output.batch || sides(p) != (output.cols, output.rows)) {
                    Some(p) => refuse(format!(
                        "a projection of matrix {} by {} columns and {} rows does not fit the output, {output:?}",
                        p.matrix,
                        p.weights.len(),
                        p.rows.len()
                    )),
                    None => Ok(()),
                }
            }
        }
    }

    /// How much it compares.
    pub fn coverage(&self) -> Coverage {
        match &self.content {
            Content::Bits { .. } => Coverage::Bits,
            Content::Bounded { .. } => Coverage::Whole,
            Content::Sampled { entries, .. } => Coverage::Sampled { elements: entries.len() as u64 },
        }
    }

    /// How far a correct kernel may be from the right value of an element: 0 where bits are compared,
    /// `None` where that element is not compared by itself.
    pub fn bound(&self, matrix: u64, row: u64, col: u64) -> Option<f64> {
        match &self.content {
            Content::Bits { .. } => Some(0.0),
            Content::Bounded { bounds, .. } => {
                bounds.get(((matrix * self.shape.rows + row) * self.shape.cols + col) as usize).copied()
            }
            Content::Sampled { entries, .. } => {
                entries.iter().find(|e| (e.matrix, e.row, e.col) == (matrix, row, col)).map(|e| e.bound)
            }
        }
    }

    /// Compares a buffer that was poisoned with `poison` before the kernel ran: guard, output, guard.
    ///
    /// # Errors
    /// The first [`Mismatch`] in row order; writes outside the matrix come last, since they are
    /// often the other half of a wrong element.
    pub fn check(&self, buffer: &[u8], poison: u32) -> Result<Coverage, Mismatch> {
        // Every rung is compared with the same output, several times: it is made once, and before the
        // rows are shared out, since a worker that waits for it could not make it.
        if let Content::Bits { rows, all } = &self.content {
            all.get_or_init(|| Arc::new(self.every_row(rows)));
        }
        let size = self.element.size() as usize;
        let body = &buffer[GUARD as usize..];
        let wrong = |matrix: u64, row: u64| -> (u64, Option<u64>) {
            // The count of wrong elements of a row, and the first one.
            let start = self.shape.index(matrix, row, 0) as usize * size;
            let got = &body[start..start + self.shape.cols as usize * size];
            self.wrong_in_row(matrix, row, got)
        };
        let rows = self.shape.rows;
        let lines = if self.shape.is_empty() { 0 } else { self.shape.batch * rows };
        let (count, first) = (0..lines)
            .into_par_iter()
            .map(|line| {
                let (count, col) = wrong(line / rows, line % rows);
                (count, col.map(|col| (line / rows, line % rows, col)))
            })
            .reduce(|| (0, None), |a, b| (a.0 + b.0, a.1.or(b.1)));
        if let Some(at) = first {
            return Err(self.describe(body, at, count, poison));
        }
        self.check_samples(body, poison)?;
        self.check_guards(buffer, poison)?;
        Ok(self.coverage())
    }

    fn every_row(&self, rows: &RowsOfBits) -> Vec<u8> {
        /// Rows made at a time: enough that a transposed read uses whole cache lines.
        const ROWS: u64 = 64;
        if self.shape.is_empty() {
            return Vec::new();
        }
        let row_bytes = (self.shape.cols * self.element.size()) as usize;
        let mut all = vec![0; self.shape.len() as usize * self.element.size() as usize];
        let matrix_bytes = row_bytes * self.shape.rows as usize;
        for (matrix, bytes) in all.chunks_exact_mut(matrix_bytes).enumerate() {
            bytes.par_chunks_mut(row_bytes * ROWS as usize).enumerate().for_each(|(part, bytes)| {
                let first = part as u64 * ROWS;
                rows(matrix as u64, first..first + (bytes.len() / row_bytes) as u64, bytes);
            });
        }
        all
    }

    fn wrong_in_row(&self, matrix: u64, row: u64, got: &[u8]) -> (u64, Option<u64>) {
        let size = self.element.size() as usize;
        match &self.content {
            Content::Bits { all, .. } => {
                let Some(all) = all.get() else { return (got.len() as u64, Some(0)) };
                let start = (matrix * self.shape.rows + row) as usize * got.len();
                let right = &all[start..start + got.len()];
                if right == got {
                    return (0, None);
                }
                let different = |(_, (a, b)): &(usize, (&[u8], &[u8]))| a != b;
                let pairs = || got.chunks_exact(size).zip(right.chunks_exact(size)).enumerate();
                let first = pairs().find(different).map(|(col, _)| col as u64);
                (pairs().filter(different).count() as u64, first)
            }
            Content::Bounded { values, bounds } => {
                let start = ((matrix * self.shape.rows + row) * self.shape.cols) as usize;
                let (mut count, mut first) = (0, None);
                for (col, bytes) in got.chunks_exact(size).enumerate() {
                    if !self.within(self.element.to_f64(bytes), values[start + col], bounds[start + col]) {
                        count += 1;
                        first = first.or(Some(col as u64));
                    }
                }
                (count, first)
            }
            Content::Sampled { .. } => (0, None),
        }
    }

    fn check_samples(&self, body: &[u8], poison: u32) -> Result<(), Mismatch> {
        let Content::Sampled { entries, projections } = &self.content else { return Ok(()) };
        let size = self.element.size() as usize;
        let value = |matrix, row, col| {
            let at = self.shape.index(matrix, row, col) as usize * size;
            self.element.to_f64(&body[at..at + size])
        };
        let wrong = |e: &&Entry| !self.within(value(e.matrix, e.row, e.col), e.value, e.bound);
        if let Some(e) = entries.par_iter().find_first(wrong) {
            let count = entries.par_iter().filter(wrong).count() as u64;
            return Err(self.describe(body, (e.matrix, e.row, e.col), count, poison));
        }
        // Rounding an element to the output's type loses at most this part of what is found there.
        let (unit, least) = (self.element.unit_roundoff().unwrap_or(0.0), self.element.least_positive().unwrap_or(0.0));
        for projection in projections {
            let off = projection.rows.par_iter().enumerate().find_map_first(|(row, &(expected, bound))| {
                let (mut got, mut rounded) = (0.0, 0.0);
                for (col, weight) in projection.weights.iter().enumerate() {
                    let element = value(projection.matrix, row as u64, col as u64).unwrap_or(f64::NAN);
                    got += weight * element;
                    rounded += unit * element.abs() + least;
                }
                let bound = bound + rounded;
                let right = match expected {
                    _ if expected.is_nan() => got.is_nan(),
                    _ if expected.is_infinite() => got == expected,
                    _ => got.is_finite() && (got - expected).abs() <= bound,
                };
                (!right).then_some((row as u64, got, expected))
            });
            if let Some((row, got, expected)) = off {
                return Err(Mismatch::Projection { at: (projection.matrix, row), got, expected });
            }
        }
        Ok(())
    }

    /// Whether a value is right: a number within the bound, or the same infinity, or NaN where NaN is
    /// due. A value beyond the type's numbers is an infinity there, as IEEE 754 rounds it.
    fn within(&self, got: Option<f64>, expected: f64, bound: f64) -> bool {
        let overflow = self.element.overflow().unwrap_or(f64::INFINITY);
        match got {
            None => false,
            Some(got) if expected.is_nan() => got.is_nan(),
            Some(got) if expected.is_infinite() => got == expected,
            Some(got) if got.is_infinite() => bound.is_finite() && got.signum() * expected + bound >= overflow,
            // An infinite bound (of a chain too long to prove anything) still asks for a number.
            Some(got) => got.is_finite() && (got - expected).abs() <= bound && expected.abs() - bound < overflow,
        }
    }

    /// Every byte outside the matrix must still be poison: guards, gaps between rows and matrices.
    fn check_guards(&self, buffer: &[u8], poison: u32) -> Result<(), Mismatch> {
        let poison = poison.to_le_bytes();
        let size = self.element.size();
        let clean = |from: u64, to: u64| {
            (from..to).find(|&at| buffer[at as usize] != poison[(at % 4) as usize]).map_or(Ok(()), |at| {
                let first = GUARD + self.shape.layout.offset * size;
                Err(Mismatch::Stray { offset: at as i64 - first as i64 })
            })
        };
        let mut free = 0;
        if !self.shape.is_empty() {
            let packed = self.shape.leading_dimension() == self.shape.cols;
            let (lines, width) =
                if packed { (1, self.shape.rows * self.shape.cols) } else { (self.shape.rows, self.shape.cols) };
            for matrix in 0..self.shape.batch {
                for row in 0..lines {
                    let start = GUARD + self.shape.index(matrix, row, 0) * size;
                    clean(free, start)?;
                    free = start + width * size;
                }
            }
        }
        clean(free, buffer.len() as u64)
    }

    fn describe(&self, body: &[u8], at: (u64, u64, u64), count: u64, poison: u32) -> Mismatch {
        let size = self.element.size() as usize;
        let start = self.shape.index(at.0, at.1, at.2) as usize * size;
        let got = &body[start..start + size];
        let pattern = poison.to_le_bytes();
        if got.iter().enumerate().all(|(i, &byte)| byte == pattern[(start + i) % 4]) {
            return Mismatch::Unwritten { at, count };
        }
        let expected = match &self.content {
            Content::Bits { all, .. } => {
                let index = ((at.0 * self.shape.rows + at.1) * self.shape.cols + at.2) as usize * size;
                all.get().map(|all| hex(&all[index..index + size])).unwrap_or_default()
            }
            Content::Bounded { values, bounds } => {
                let index = ((at.0 * self.shape.rows + at.1) * self.shape.cols + at.2) as usize;
                format!("{} within {:.3e}", values[index], bounds[index])
            }
            Content::Sampled { entries, .. } => entries
                .iter()
                .find(|e| (e.matrix, e.row, e.col) == at)
                .map(|e| format!("{} within {:.3e}", e.value, e.bound))
                .unwrap_or_default(),
        };
        let got = match (&self.content, self.element.to_f64(got)) {
            (Content::Bits { .. }, _) | (_, None) => hex(got),
            (_, Some(value)) => value.to_string(),
        };
        Mismatch::Wrong { at, got, expected, count }
    }
}

fn hex(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().rev().map(|b| format!("{b:02x}")).collect();
    format!("0x{digits}")
}
