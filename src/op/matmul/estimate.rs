//! What the time of an f32 product is estimated from. The weights are in [`costs_cuda`](super::costs_cuda) and
//! [`costs_wgsl`](super::costs_wgsl).

use super::{Matmul, estimate_wgsl};
use crate::element::Element;
use crate::op::Op;
use crate::op::estimate::{Terms, fill, one_if};
use crate::problem::{Precision, Problem};
use crate::rung::{Grid, Language, Rung};

/// Rungs that cover C with tiles: what their loops take of k at a time, and the blocks on a
/// multiprocessor at a time.
const TILED: [(&str, u64, u64); 9] = [
    ("coalesced", 1, 8),
    ("tiled@16", 16, 8),
    ("tiled_1d", 8, 3),
    ("pipelined", 16, 2),
    ("tma_specialised", 32, 1),
    ("slice_k@64x128", 32, 1),
    ("slice_k@128x64", 32, 1),
    ("split_workspace@4", 16, 2),
    ("split_workspace@16", 16, 2),
];

const TILED_TERMS: [&str; 15] = [
    "launch",
    // Of the busiest multiprocessor.
    "blocks",
    "blocks x fill",
    // The part of the device that has a block.
    "used",
    "fill of rows",
    // A word at a time instead of 16 bytes.
    "by words",
    // Thousands of steps along k, for as many turns as all blocks take, or for every block.
    "steps x turns",
    "steps x blocks",
    "steps x blocks x fill of columns",
    "steps x blocks, both transposed",
    "steps, A by words",
    "steps x turns, B by words",
    // Megabytes of A and B, of C, and of the sums of parts.
    "inputs",
    "C",
    "sums",
];

/// Rungs that stream one operand. Whether it runs along k decides which kernel they are.
const STREAMED_TERMS: [&str; 8] = [
    "launch",
    // Those that the kernel is compiled for: 0 for one, 1 for sixteen.
    "lines",
    "by words",
    // Blocks of a multiprocessor.
    "blocks",
    // Thousands of k.
    "depth",
    "depth, ragged",
    "depth x blocks x lines",
    // Megabytes of A and B.
    "inputs",
];

const OUTER_TERMS: [&str; 5] = ["launch", "inputs", "C", "first megabyte of C", "millions of multiply-adds"];

/// What the terms are made of.
pub(super) struct Facts {
    pub m: u64,
    pub n: u64,
    pub k: u64,
    pub batch: f64,
    /// Megabytes of A and B, and of C.
    pub inputs: f64,
    pub output: f64,
    pub multiprocessors: f64,
}

/// How a rung covers C.
pub(super) struct Tiles {
    pub rows: u64,
    pub cols: u64,
    /// Blocks that share a tile's k.
    pub parts: u64,
    /// All tiles.
    pub count: f64,
}

/// The terms of a rung; `None` where it has none for this problem.
pub(super) fn terms(rung: &Rung, problem: &Problem, language: Language, multiprocessors: u64) -> Option<Terms> {
    if problem.element != Element::F32 || problem.precision != Precision::Full {
        return None;
    }
    let [m, n, k] = [0, 1, 2].map(|i| problem.dim(i));
    let batch = problem.batch as f64;
    let megabytes = |elements: f64| elements * batch * 4e-6;
    let facts = Facts {
        inputs: megabytes((m as f64 + n as f64) * k as f64),
        output: megabytes(m as f64 * n as f64),
        multiprocessors: multiprocessors as f64,
        m,
        n,
        k,
        batch,
    };
    let id = rung.id();
    let grid = || Some(rung.tuned(language, problem.element.size()).passes.first()?.grid);
    if language == Language::Wgsl {
        return estimate_wgsl::terms(&facts, rung, grid, problem);
    }
    if let Some(&(_, step, resident)) = TILED.iter().find(|(word, ..)| *word == id) {
        return facts.tiled(&id, grid()?, problem, step, resident);
    }
    match rung.name.as_ref() {
        "gemv" => facts.streamed(grid()?, problem),
        "outer" => Some(facts.outer()),
        _ => None,
    }
}

pub(super) fn is(problem: &Problem, question: &str) -> bool {
    Matmul.switch(problem, question) == 1
}

impl Facts {
    /// The tiles of a grid; `None` where it has none.
    pub(super) fn tiles(&self, grid: Grid) -> Option<Tiles> {
        let ([rows, cols], parts) = match grid {
            Grid::Tiles { x, y } | Grid::TilesLinear { x, y } | Grid::Persistent { x, y, .. } => ([y, x], 1),
            Grid::TilesLinearParts { x, y, parts } => ([y, x], parts.into()),
            _ => return None,
        };
        let [rows, cols] = [rows, cols].map(u64::from);
        let count = self.m.div_ceil(rows) as f64 * self.n.div_ceil(cols) as f64 * self.batch;
        Some(Tiles { rows, cols, parts, count })
    }

    fn tiled(&self, rung: &str, grid: Grid, problem: &Problem, step: u64, resident: u64) -> Option<Terms> {
        let &Facts { m, n, k, inputs, output, multiprocessors, .. } = self;
        let Tiles { rows, cols, parts, count } = self.tiles(grid)?;
        let by_words = !is(problem, "TMA_ACROSS");
        if by_words && rung == "tma_specialised" {
            return None; // Bulk copies do not pay where they can fetch nothing.
        }
        let [a_transposed, b_transposed] = [0, 1].map(|index| problem.layout(index).transposed);
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
                blocks * fill_m * fill_n,
                share.min(1.0),
                fill_m,
                one_if(by_words),
                steps * turns,
                steps * blocks,
                steps * blocks * fill_n,
                steps * blocks * one_if(a_transposed && b_transposed),
                steps * one_if(by_words && a_transposed),
                steps * turns * one_if(by_words && !b_transposed),
                inputs,
                output,
                if parts > 1 { output * parts as f64 } else { 0.0 },
            ],
        ))
    }

    fn streamed(&self, grid: Grid, problem: &Problem) -> Option<Terms> {
        /// What the second kind of kernel takes of k at a time.
        const CHUNK: u64 = 256;
        let &Facts { m, n, k, batch, inputs, multiprocessors, .. } = self;
        let (thin, thick) = (m.min(n), m.max(n));
        let along_k = is(problem, "THICK_K");
        let Grid::LongSide { per_block, parts } = case_of(grid, problem)? else { return None };
        let (per_block, parts) = (u64::from(per_block), u64::from(parts));
        if parts > 1 && thin == 1 && along_k {
            return None; // Whole lines were faster for every vector along k that was measured.
        }
        let share = thick.div_ceil(per_block) as f64 * parts as f64 * batch / multiprocessors;
        let part = if parts > 1 { k.div_ceil(parts).next_multiple_of(CHUNK).min(k) } else { k };
        let depth = part as f64 / 1000.0;
        let lines = lines(thin);
        Some(Terms::new(
            if along_k { "streams along k" } else { "streams across k" },
            &STREAMED_TERMS,
            [
                1.0,
                lines,
                one_if(!is(problem, "STREAMED")),
                share,
                depth,
                depth * one_if(!along_k && !thick.is_multiple_of(per_block)),
                depth * share.ceil() * lines,
                inputs,
            ],
        ))
    }

    pub(super) fn outer(&self) -> Terms {
        let &Facts { m, n, k, batch, inputs, output, .. } = self;
        let millions = m as f64 * n as f64 * k as f64 * batch * 1e-6;
        Terms::new("outer", &OUTER_TERMS, [1.0, inputs, output, output.min(1.0), millions])
    }
}

/// The grid of the first case that a problem is.
pub(super) fn case_of(grid: Grid, problem: &Problem) -> Option<Grid> {
    let Grid::BySwitch(cases) = grid else { return None };
    let answer = |name: &str| Matmul.switch(problem, if name == "FEW_ROWS" { "THICK_B" } else { name });
    let fits = |when: &[(&str, u32)]| when.iter().all(|(name, value)| answer(name) == *value);
    cases.iter().find(|(when, _)| fits(when)).map(|(_, case)| *case)
}

/// The lines that a kernel for few of them is compiled for: 0 for one, 1 for sixteen.
pub(super) fn lines(thin: u64) -> f64 {
    let compiled_for = match thin {
        0 | 1 => 1.0,
        2..=4 => 4.0,
        _ => 16.0,
    };
    (compiled_for - 1.0) / 15.0
}

#[cfg(test)]
mod tests {
    use super::super::{costs_cuda, costs_wgsl};
    use super::*;
    use crate::op::estimate::check;
    use crate::problem::Layout;

    #[test]
    fn every_rung_with_terms_has_as_many_weights() {
        let transposed = |p: Problem| p.with_layout(0, Layout { transposed: true, ..Layout::default() });
        let of = |dims| Problem::new(Element::F32, dims);
        let problems = [of([100, 200, 300]), of([1, 2000, 1000]), transposed(of([2000, 1, 1000])), of([300, 300, 4])];
        check(&Matmul, Language::Cuda, costs_cuda::COSTS, &problems);
        check(&Matmul, Language::Wgsl, costs_wgsl::COSTS, &problems);
    }

    #[test]
    fn terms_count_what_they_are_named_for() {
        let rung = Matmul.ladder().iter().find(|rung| rung.id() == "split_workspace@4").unwrap();
        let found = terms(rung, &Problem::new(Element::F32, [129, 64, 1000]), Language::Cuda, 2).unwrap();
        let of = |name| found.values[found.names.iter().position(|word| *word == name).unwrap()];
        // Two tiles in four parts of 250 (256 in whole steps) on two multiprocessors, two of them at a time.
        assert_eq!((of("blocks"), of("steps x turns"), of("steps x blocks")), (4.0, 0.512, 1.024));
        assert_eq!((of("fill of rows"), of("blocks x fill"), of("used")), (1.0, 2.0, 1.0));
        assert_eq!((of("by words"), of("sums")), (0.0, of("C") * 4.0));
    }
}
