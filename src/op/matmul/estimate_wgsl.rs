//! The terms of the WGSL kernels, which read and write each operand in words where it is not aligned, and
//! turn what is stored transposed in registers.

use super::Matmul;
use super::estimate::{Facts, Tiles, case_of, is, lines};
use crate::op::Op;
use crate::op::estimate::{Terms, fill, one_if};
use crate::problem::Problem;
use crate::rung::{Grid, Rung};

/// Rungs that cover C with tiles: what their loops take of k at a time, and the blocks on a
/// multiprocessor at a time.
const TILED: [(&str, u64, u64); 10] = [
    ("coalesced", 1, 8),
    ("tiled@16", 16, 8),
    ("tiled@32", 32, 2),
    ("tiled_1d", 8, 4),
    ("conflict_free", 16, 2),
    ("double_buffered", 16, 1),
    ("raster", 16, 1),
    ("compact", 16, 2),
    ("split_workspace@4", 16, 2),
    ("split_workspace@16", 16, 2),
];

/// Tiles for each multiprocessor beyond which dividing k does not pay: 4096 x 4096 x 4096 takes 3.05 ms
/// by `compact` and 3.27 by `split_workspace@4`.
const MOST_DIVIDED: f64 = 7.0;

const TILED_TERMS: [&str; 13] = [
    "launch",
    // Of the busiest multiprocessor.
    "blocks",
    // Of a block's results, those in C, where they are stored a word at a time.
    "blocks x fill, C by words",
    // The part of the device that has a block.
    "used",
    // Thousands of steps along k; for as many turns as all blocks take, for every block, or for the mean of them.
    "steps",
    "steps x turns",
    "steps x blocks x fill of columns",
    "steps x blocks, B transposed",
    "steps x mean blocks",
    "C by words",
    // Megabytes of A and B, and of C.
    "inputs",
    "C",
    "megabytes of C by words",
];

/// `gemv`. Whether the long operand runs along k decides which kernel it is.
const STREAMED_TERMS: [&str; 8] = [
    "launch",
    // Those that the kernel is compiled for: 0 for one, 1 for sixteen.
    "lines",
    // Blocks of a multiprocessor.
    "blocks",
    // Thousands of k.
    "depth",
    "depth x lines, short operand by words",
    "depth x blocks x lines",
    "depth x blocks x lines, short operand across k",
    // Megabytes of A and B.
    "inputs",
];

/// The terms of a rung, whose first grid can be asked for; `None` where it has none for this problem.
pub(super) fn terms(
    facts: &Facts,
    rung: &Rung,
    grid: impl FnOnce() -> Option<Grid>,
    problem: &Problem,
) -> Option<Terms> {
    let id = rung.id();
    if let Some(&(_, step, resident)) = TILED.iter().find(|(word, ..)| *word == id) {
        return tiled(facts, grid()?, problem, step, resident);
    }
    match rung.name.as_ref() {
        "gemv" => streamed(facts, grid()?, problem),
        "outer" => Some(facts.outer()),
        _ => None,
    }
}

fn tiled(facts: &Facts, grid: Grid, problem: &Problem, step: u64, resident: u64) -> Option<Terms> {
    let &Facts { m, n, k, inputs, output, multiprocessors, .. } = facts;
    let Tiles { rows, cols, parts, count } = facts.tiles(grid)?;
    if parts > 1 && count > MOST_DIVIDED * multiprocessors {
        return None;
    }
    let by_words = one_if(!is(problem, "VECTOR_C"));
    let b_transposed = one_if(problem.layout(1).transposed);
    let share = count * parts as f64 / multiprocessors;
    let (blocks, turns) = (share.ceil(), (share / resident as f64).ceil());
    let steps = (k.div_ceil(parts).div_ceil(step) * step) as f64 / 1000.0;
    let (fill_m, fill_n) = (fill(m, rows), fill(n, cols));
    Some(Terms::new(
        "tiles",
        &TILED_TERMS,
        [
            1.0,
            blocks,
            blocks * fill_m * fill_n * by_words,
            share.min(1.0),
            steps,
            steps * turns,
            steps * blocks * fill_n,
            steps * blocks * b_transposed,
            steps * share,
            by_words,
            inputs,
            output,
            output * by_words,
        ],
    ))
}

fn streamed(facts: &Facts, grid: Grid, problem: &Problem) -> Option<Terms> {
    let &Facts { m, n, k, batch, inputs, multiprocessors, .. } = facts;
    let Grid::Tiles { x, y } = case_of(grid, problem)? else { return None };
    let along_k = is(problem, "THICK_K");
    // What a block's threads take of k at a time, a quad each.
    let chunk = 4 * u64::from(Matmul.switch(problem, "K_THREADS"));
    let depth = k.next_multiple_of(chunk) as f64 / 1000.0;
    let share = m.max(n).div_ceil(x.max(y).into()) as f64 * batch / multiprocessors;
    let lines = lines(m.min(n));
    let short_by_words = one_if(!is(problem, if n > m { "VECTOR_A" } else { "VECTOR_B" }));
    let work = depth * share.ceil() * lines;
    Some(Terms::new(
        if along_k { "streams along k" } else { "streams across k" },
        &STREAMED_TERMS,
        [1.0, lines, share, depth, depth * lines * short_by_words, work, work * one_if(!is(problem, "THIN_K")), inputs],
    ))
}
