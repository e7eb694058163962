//! Sparse matrices by pattern, and what is checked of any.

use crate::error::{Error, Result};
use crate::problem::Problem;
use crate::random::Stream;
use rayon::prelude::*;

/// Sizes that 32-bit indices hold.
pub(super) fn check(rows: u64, cols: u64, nonzeros: u64) -> Result<()> {
    if rows == 0 || nonzeros > 0 && cols == 0 {
        return Err(Error::shape("spmv", format!("{rows} rows and {cols} columns; the least is 1 of each")));
    }
    for (name, value) in [("rows", rows), ("columns", cols), ("nonzeros", nonzeros)] {
        if value >= 1 << 31 {
            return Err(Error::shape("spmv", format!("{value} {name}; the most is {}", (1u64 << 31) - 1)));
        }
    }
    Ok(())
}

/// Whether starts rise from 0 to the number of entries and columns are inside, since kernels trust them.
pub(super) fn check_places(starts: &[u32], columns: &[u32], problem: &Problem) -> Result<()> {
    let ends = starts.first() == Some(&0) && starts.last().map(|&end| u64::from(end)) == Some(problem.dim(2));
    if !ends || starts.windows(2).any(|pair| pair[0] > pair[1]) {
        return Err(Error::shape("spmv input 0", "row starts must rise from 0 to the number of nonzeros"));
    }
    match columns.par_iter().position_any(|&column| u64::from(column) >= problem.dim(1)) {
        Some(place) => Err(Error::shape(
            "spmv input 1",
            format!("column {} at place {place} of a matrix of {} columns", columns[place], problem.dim(1)),
        )),
        None => Ok(()),
    }
}

/// The place of the first entry of every row, and the number of all.
fn places(problem: &Problem, seed: u64) -> Vec<u64> {
    let (rows, nonzeros) = (problem.dim(0), problem.dim(2));
    let stream = Stream::new(seed, 0);
    let weight = |row: u64| match problem.dim(3) {
        0 => 1.0,
        // Between nothing and twice the average.
        1 => stream.uniform(row) + 1.0,
        // A power law: row number r of a random order weighs 1 / (r + 1)^0.8.
        _ => ((crate::random::permuted(seed, row, rows) + 1) as f64).powf(-0.8),
    };
    let total: f64 = (0..rows).map(weight).sum();
    let mut sum = 0.0;
    let mut starts = vec![0];
    for row in 0..rows {
        sum += weight(row);
        starts.push(((sum / total * nonzeros as f64).round() as u64).min(nonzeros));
    }
    if let Some(end) = starts.last_mut() {
        *end = nonzeros;
    }
    starts
}

pub(super) fn starts(problem: &Problem, seed: u64) -> Vec<u8> {
    places(problem, seed).into_iter().flat_map(|place| (place as u32).to_le_bytes()).collect()
}

pub(super) fn columns(problem: &Problem, seed: u64) -> Vec<u8> {
    let (rows, cols) = (problem.dim(0), problem.dim(1));
    let stream = Stream::new(seed, 1);
    let starts = places(problem, seed);
    let row_columns = |row: usize| {
        let (from, to) = (starts[row], starts[row + 1]);
        let length = (to - from).max(1);
        (from..to).flat_map(move |place| {
            let column = match problem.dim(3) {
                // Neighbours of the diagonal.
                0 => (row as u64 * cols / rows + place - from + cols - length.min(cols) / 2) % cols,
                // One in each of as many equal parts of the row, so that columns rise.
                _ => ((place - from) * cols + stream.bits(place) % cols) / length,
            };
            (column.min(cols - 1) as u32).to_le_bytes()
        })
    };
    (0..rows as usize).into_par_iter().flat_map_iter(row_columns).collect()
}
