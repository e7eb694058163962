//! How long the rungs take in CUDA, estimated: a sum of terms whose weights were fitted to times of many
//! random matrices ([`costs`](super::costs)).
//!
//! An estimate is only there to be compared with others. Where it is far from what it was fitted to, it
//! is far from the truth, but so are the others, in the same direction.

use super::costs::{SKINNY, TILED};
use super::ladder::LADDER;
use super::sides;
use crate::op::Shape;
use crate::problem::Problem;
use crate::rung::{Grid, Language, Rung};

/// The rung of the last weights.
pub(super) const SKINNY_RUNG: &str = "skinny";
/// Bytes of a sector, the least that memory moves.
const SECTOR: f64 = 32.0;
/// The widest access, in bytes.
const CHUNK: u64 = 16;

/// A rung of tiles, with the weights for elements of 1, 2, 4 and 8 bytes.
pub(super) struct Tiled {
    pub rung: &'static str,
    pub weights: [[f64; 32]; 4],
}

/// What the terms are made of.
struct Facts {
    rows: u64,
    cols: u64,
    batch: f64,
    width: u64,
    /// The largest power of two, up to a chunk, that divides the bytes between rows of each side.
    alignment: [u64; 2],
    multiprocessors: f64,
}

/// The most megabytes of what was measured; beyond them other rungs are faster.
const MEASURED: f64 = 150.0;

/// Microseconds of each rung that has an estimate, the shortest first; none for other widths, and none
/// for matrices larger than those measured.
pub(super) fn estimates(problem: &Problem, multiprocessors: u64) -> Vec<(&'static str, f64)> {
    let (input, output) = sides(problem);
    let width = problem.element.size();
    let index = match width {
        1 | 2 | 4 | 8 => width.ilog2() as usize,
        _ => return Vec::new(),
    };
    let alignment =
        |side: &Shape| 1 << (((side.leading_dimension() | side.layout.offset) * width) | CHUNK).trailing_zeros();
    let facts = Facts {
        rows: input.rows,
        cols: input.cols,
        batch: input.batch as f64,
        width,
        alignment: [alignment(&input), alignment(&output)],
        multiprocessors: multiprocessors as f64,
    };
    if facts.moved() > MEASURED {
        return Vec::new();
    }
    let tiled = TILED.iter().filter_map(|line| {
        let rung = LADDER.iter().find(|rung| rung.id() == line.rung)?;
        Some((line.rung, sum(&line.weights[index], &facts.tiled(tile(rung, width)?))))
    });
    let mut all: Vec<_> = tiled.chain([(SKINNY_RUNG, sum(&SKINNY[index], &facts.skinny()))]).collect();
    all.sort_by(|a, b| a.1.total_cmp(&b.1));
    all
}

fn one_if(condition: bool) -> f64 {
    if condition { 1.0 } else { 0.0 }
}

fn sum(weights: &[f64], terms: &[f64]) -> f64 {
    weights.iter().zip(terms).map(|(weight, term)| weight * term).sum()
}

/// Rows and columns of a rung's tile.
fn tile(rung: &Rung, width: u64) -> Option<[u64; 2]> {
    match rung.tuned(Language::Cuda, width).passes.first()?.grid {
        Grid::Tiles { x, y } | Grid::TilesLinear { x, y } => Some([y.into(), x.into()]),
        _ => None,
    }
}

impl Facts {
    /// Megabytes read and written.
    fn moved(&self) -> f64 {
        2e-6 * self.rows as f64 * self.cols as f64 * self.batch * self.width as f64
    }

    /// Megabytes beyond what stays in the cache while it is written.
    fn beyond_cache(&self) -> f64 {
        const CACHED: f64 = 10.0;
        (self.moved() - CACHED).max(0.0)
    }

    fn tiled(&self, [rows, cols]: [u64; 2]) -> [f64; 32] {
        let (width, moved) = (self.width as f64, self.moved());
        let tiles = self.rows.div_ceil(rows) as f64 * self.cols.div_ceil(cols) as f64 * self.batch;
        // Tiles of a multiprocessor.
        let share = tiles / self.multiprocessors;
        // The sectors of an output row that starts anywhere.
        let written =
            self.cols as f64 * self.batch * 1e-6 * (self.rows as f64 * width + SECTOR - self.alignment[1] as f64);
        let [input, output] = self.alignment;
        let (odd_input, odd_output) = (one_if(input < CHUNK), one_if(output < CHUNK));
        let (by_halves, by_words) = (one_if(output < 8), one_if(output < 4));
        // How much of a tile at the edge lies in the matrix.
        let fill = |side: u64, tile: u64| side.min(tile) as f64 / tile as f64;
        let (fill_rows, fill_cols) = (fill(self.rows, rows), fill(self.cols, cols));
        let beyond = |megabytes: f64| (moved - megabytes).max(0.0);
        let (output_row, input_row) = (self.rows * self.width, self.cols * self.width);
        [
            1.0,
            moved,
            self.beyond_cache(),
            share.ceil(),
            share,
            written,
            tiles * (rows * cols) as f64 * width * 1e-6,
            odd_output,
            odd_input,
            odd_output * moved,
            odd_input * moved,
            fill_rows,
            fill_cols,
            (share / 4.0).ceil(),
            beyond(4.0),
            beyond(25.0),
            beyond(50.0),
            (share / 2.0).ceil(),
            (share / 8.0).ceil(),
            (share / 16.0).ceil(),
            fill_rows * fill_cols,
            by_halves,
            by_words,
            moved * by_halves,
            moved * by_words,
            one_if(self.cols > self.rows) * moved,
            one_if(output_row < 128) * moved,
            one_if(input_row < 128) * moved,
            one_if(output_row < 64),
            one_if(input_row < 64),
            share.min(1.0),
            moved.min(1.0),
        ]
    }

    /// A block has so many bytes of the long side's records.
    fn skinny(&self) -> [f64; 9] {
        const BLOCK: f64 = 2048.0;
        let (short, long) = (self.rows.min(self.cols), self.rows.max(self.cols));
        let record = (short * self.width) as f64;
        let share = (long as f64 * record / BLOCK).ceil() * self.batch / self.multiprocessors;
        [
            1.0,
            self.moved(),
            self.beyond_cache(),
            (share / 16.0).ceil(),
            share,
            short as f64,
            self.moved() * short as f64,
            one_if(record >= CHUNK as f64),
            one_if(self.rows > self.cols),
        ]
    }
}
