//! The right product and how far a correct kernel may be from it.

use super::Matmul;
use super::error_bound::Bound;
use crate::element::Element;
use crate::error::Result;
use crate::op::{Op, Shape};
use crate::problem::Problem;
use crate::verify::{Entry, Expected, Projection};
use rayon::prelude::*;
use std::sync::Arc;

/// Products with at most this many multiply-adds are computed whole on the host.
const WHOLE: u64 = 1 << 28;
/// Rows and columns of a larger product that are computed on the host.
const SAMPLED_LINES: u64 = 8;

/// One operand on the host, by (matrix, row, column) of the product's own indices.
struct Operand<'a> {
    bytes: &'a [u8],
    shape: Shape,
    element: Element,
}

impl Operand<'_> {
    fn at(&self, matrix: u64, row: u64, col: u64) -> f64 {
        let (row, col) = if self.shape.layout.transposed { (col, row) } else { (row, col) };
        let size = self.element.size();
        let at = (self.shape.index(matrix, row, col) * size) as usize;
        self.element.to_f64(&self.bytes[at..at + size as usize]).unwrap_or(f64::NAN)
    }

    /// The largest finite magnitude of all matrices.
    fn largest(&self) -> f64 {
        let (rows, cols) = (self.shape.rows, self.shape.cols);
        let size = self.element.size();
        let magnitude = |line: u64| {
            let start = self.shape.index(line / rows, line % rows, 0) * size;
            let elements = self.bytes[start as usize..(start + cols * size) as usize].chunks_exact(size as usize);
            elements
                .filter_map(|bytes| self.element.to_f64(bytes))
                .map(f64::abs)
                .filter(|x| x.is_finite())
                .fold(0.0, f64::max)
        };
        let lines = if self.shape.is_empty() { 0 } else { self.shape.batch * rows };
        (0..lines).into_par_iter().map(magnitude).reduce(|| 0.0, f64::max)
    }
}

/// The product in f64, every element with its [`Bound`].
pub(super) fn expected(op: &Matmul, problem: &Problem, inputs: &[Arc<Vec<u8>>]) -> Result<Expected> {
    let (shapes, c) = op.shapes(problem)?;
    let (element, output) = (problem.element, op.output_element(problem));
    let a = Operand { bytes: &inputs[0], shape: shapes[0], element };
    let b = Operand { bytes: &inputs[1], shape: shapes[1], element };
    let [m, n, k] = [0, 1, 2].map(|i| problem.dim(i));
    let (alpha, beta) = (f64::from(problem.alpha), f64::from(problem.beta));
    let old = inputs.get(2).map(|bytes| Operand { bytes, shape: c, element: output });
    let old_term = |matrix, row, col| old.as_ref().map_or(0.0, |c| beta * c.at(matrix, row, col));
    let largest = if Bound::asks_for_largest(problem.precision) { [a.largest(), b.largest()] } else { [0.0; 2] };
    let bound = Bound::new(problem, largest);
    let entry = |matrix, row, col| {
        let (mut sum, mut magnitude) = (0.0, 0.0);
        for i in 0..k {
            let product = a.at(matrix, row, i) * b.at(matrix, i, col);
            sum += product;
            magnitude += product.abs();
        }
        let old = old_term(matrix, row, col);
        let value = alpha * sum + old;
        (value, bound.rounded(value, bound.of_sum(alpha.abs() * magnitude + old.abs()), output))
    };
    let all = problem.batch.saturating_mul(m).saturating_mul(n);
    if all.saturating_mul(k.max(1)) <= WHOLE {
        let (values, bounds) = (0..all).into_par_iter().map(|i| entry(i / (m * n).max(1), i / n % m, i % n)).unzip();
        return Ok(Expected::bounded(c, output, values, bounds));
    }
    let lines = |count: u64| -> Vec<u64> {
        // The edges, and some in between that no tile size divides evenly.
        (0..SAMPLED_LINES).map(|i| i * (count - 1) / (SAMPLED_LINES - 1)).collect()
    };
    let matrices = [0, problem.batch - 1];
    let mut places = Vec::new();
    for &matrix in &matrices[..if problem.batch > 1 { 2 } else { 1 }] {
        for row in lines(m) {
            places.extend((0..n).map(|col| (matrix, row, col)));
        }
        for col in lines(n) {
            places.extend((0..m).map(|row| (matrix, row, col)));
        }
    }
    let entries = places
        .into_par_iter()
        .map(|(matrix, row, col)| {
            let (value, bound) = entry(matrix, row, col);
            Entry { matrix, row, col, value, bound }
        })
        .collect();
    let projections = (0..problem.batch).map(|matrix| projection(problem, &a, &b, &old_term, matrix, &bound)).collect();
    Ok(Expected::sampled(c, output, entries, projections))
}

/// Freivalds' check of the whole matrix: C w = A (B w) for a vector of random signs, row by row.
fn projection(
    problem: &Problem,
    a: &Operand<'_>,
    b: &Operand<'_>,
    old_term: &(impl Fn(u64, u64, u64) -> f64 + Sync),
    matrix: u64,
    bound: &Bound,
) -> Projection {
    let [m, n, k] = [0, 1, 2].map(|i| problem.dim(i));
    let signs = crate::random::Stream::new(matrix, u64::MAX);
    let weights: Vec<f64> = (0..n).map(|i| if signs.bits(i) & 1 == 0 { 1.0 } else { -1.0 }).collect();
    let through_b: Vec<(f64, f64)> = (0..k)
        .into_par_iter()
        .map(|i| {
            (0..n).fold((0.0, 0.0), |(sum, magnitude), j| {
                let value = b.at(matrix, i, j);
                (sum + value * weights[j as usize], magnitude + value.abs())
            })
        })
        .collect();
    let alpha = f64::from(problem.alpha);
    let rows = (0..m)
        .into_par_iter()
        .map(|row| {
            let (sum, magnitude) = through_b.iter().enumerate().fold((0.0, 0.0), |(s, g), (i, (value, size))| {
                let x = a.at(matrix, row, i as u64);
                (s + x * value, g + x.abs() * size)
            });
            let old = (0..n).fold((0.0, 0.0), |(sum, magnitude), j| {
                let value = old_term(matrix, row, j);
                (sum + value * weights[j as usize], magnitude + value.abs())
            });
            // The bounds of the row's elements add up; its own sum in f64 is far below them.
            (alpha * sum + old.0, bound.of_row(alpha.abs() * magnitude + old.1, n))
        })
        .collect();
    Projection { matrix, weights, rows }
}
