//! How long the f32 rungs of CUDA take, estimated: a sum of terms whose weights were fitted to times of
//! many random products ([`costs`](super::costs)).
//!
//! An estimate is only there to be compared with others. Where it is far from what it was fitted to, it
//! is far from the truth, but so are the others, in the same direction.

use super::Matmul;
use super::costs::{GEMV, OUTER, TILED};
use crate::op::Op;
use crate::problem::Problem;

/// The rung of the last weights.
const OUTER_RUNG: &str = "outer";

/// A rung that covers C with tiles.
pub(super) struct Tiled {
    pub rung: &'static str,
    /// Rows and columns of a tile.
    pub tile: [u64; 2],
    /// Parts of k.
    pub parts: u64,
    /// What its loop takes of k at a time.
    pub step: u64,
    /// Blocks on a multiprocessor at a time.
    pub resident: u64,
    /// By whether what runs along m and n is aligned (the last two) and whether A is transposed (every other one).
    pub weights: [[f64; 30]; 4],
}

/// A rung that streams one operand.
pub(super) struct Gemv {
    pub rung: &'static str,
    /// Lines of a block, where the streamed operand runs along k; else it has 128.
    pub lines: u64,
    /// Parts of k.
    pub parts: u64,
    /// By the lines that the kernel is compiled for (1, 4, 16), and whether the operand runs along k (every other one).
    pub weights: [[f64; 18]; 6],
}

/// What the terms are made of.
struct Facts {
    m: u64,
    n: u64,
    k: u64,
    batch: f64,
    /// Megabytes of A and B, and of C.
    inputs: f64,
    output: f64,
    /// Whether what runs along m or n can be fetched by TMA.
    aligned: bool,
    a_transposed: bool,
    /// Whether the operand on the long side runs along k, and whether it is read in vectors.
    thick_k: bool,
    streamed: bool,
    multiprocessors: f64,
}

/// Microseconds of each rung that has an estimate, the shortest first.
pub(super) fn estimates(problem: &Problem, multiprocessors: u64) -> Vec<(&'static str, f64)> {
    let [m, n, k] = [0, 1, 2].map(|i| problem.dim(i));
    let batch = problem.batch as f64;
    let megabytes = |elements: f64| elements * batch * 4e-6;
    let is = |question| Matmul.switch(problem, question) == 1;
    let facts = Facts {
        inputs: megabytes((m as f64 + n as f64) * k as f64),
        output: megabytes(m as f64 * n as f64),
        aligned: is("TMA_ACROSS"),
        a_transposed: problem.layout(0).transposed,
        thick_k: is("THICK_K"),
        streamed: is("STREAMED"),
        multiprocessors: multiprocessors as f64,
        m,
        n,
        k,
        batch,
    };
    let tiled = TILED.iter().map(|rung| (rung.rung, rung.estimate(&facts)));
    let gemv = GEMV.iter().map(|rung| (rung.rung, rung.estimate(&facts)));
    let mut all: Vec<_> = tiled.chain(gemv).chain([(OUTER_RUNG, sum(&OUTER, &facts.outer()))]).collect();
    // Bulk copies do not pay where they can fetch nothing, and no large product of that kind was among those measured.
    all.retain(|(rung, _)| facts.aligned || *rung != "tma_specialised");
    all.sort_by(|a, b| a.1.total_cmp(&b.1));
    all
}

fn sum(weights: &[f64], terms: &[f64]) -> f64 {
    weights.iter().zip(terms).map(|(weight, term)| weight * term).sum()
}

fn one_if(condition: bool) -> f64 {
    if condition { 1.0 } else { 0.0 }
}

impl Tiled {
    fn estimate(&self, facts: &Facts) -> f64 {
        let &Facts { m, n, k, batch, inputs, output, multiprocessors, .. } = facts;
        let ([rows, cols], parts) = (self.tile, self.parts as f64);
        let (down, across) = (m.div_ceil(rows) as f64, n.div_ceil(cols) as f64);
        // Blocks of a multiprocessor.
        let share = down * across * batch * parts / multiprocessors;
        let (most, waves) = (share.ceil(), (share / self.resident as f64).ceil());
        // Thousands of steps along k.
        let depth = (k.div_ceil(self.parts).div_ceil(self.step) * self.step) as f64 / 1000.0;
        // How much of a tile at the edge lies in C.
        let (fill_m, fill_n) = (m.min(rows) as f64 / rows as f64, n.min(cols) as f64 / cols as f64);
        let fill = fill_m * fill_n;
        // Gigabytes that pass through the tiles.
        let through = (across * m as f64 + down * n as f64) * k as f64 * batch * 4e-9;
        let [short, middle, long] = facts.depths();
        let terms = [
            1.0,
            most,
            depth * waves,
            depth * most,
            output,
            depth * share,
            fill,
            depth * fill,
            if self.parts > 1 { output * parts } else { 0.0 },
            short,
            middle,
            long,
            waves,
            (share / 2.0).ceil(),
            (share / 4.0).ceil(),
            share,
            share.min(1.0),
            depth * share.min(1.0),
            inputs.min(1.0),
            output.min(1.0),
            through,
            inputs,
            (inputs - 20.0).max(0.0),
            (output - 20.0).max(0.0),
            fill_m,
            fill_n,
            depth * fill_m,
            depth * fill_n,
            most * fill,
            most * depth * fill,
        ];
        sum(&self.weights[2 * usize::from(facts.aligned) + usize::from(facts.a_transposed)], &terms)
    }
}

impl Gemv {
    fn estimate(&self, facts: &Facts) -> f64 {
        /// Columns of a block, where the streamed operand does not run along k.
        const COLUMNS: u64 = 128;
        let &Facts { m, n, k, batch, inputs, thick_k, multiprocessors, .. } = facts;
        let (thin, thick) = (m.min(n), m.max(n));
        let lines = if thick_k { self.lines } else { COLUMNS };
        let share = thick.div_ceil(lines) as f64 * self.parts as f64 * batch / multiprocessors;
        let (most, depth) = (share.ceil(), k.div_ceil(self.parts) as f64 / 1000.0);
        let (scalar, thins, thicks) = (one_if(!facts.streamed), thin as f64, thick as f64 * batch);
        let [short, middle, long] = facts.depths();
        let terms = [
            1.0,
            depth,
            most,
            depth * most,
            depth * share,
            inputs,
            scalar,
            depth * scalar,
            depth * most * scalar,
            thins,
            depth * thins,
            depth * most * thins,
            short,
            middle,
            long,
            inputs.min(1.0),
            thicks.min(1000.0) / 1000.0,
            thicks.min(4000.0) / 4000.0,
        ];
        let compiled_for = match thin {
            0 | 1 => 0,
            2..=4 => 1,
            _ => 2,
        };
        sum(&self.weights[2 * compiled_for + usize::from(thick_k)], &terms)
    }
}

impl Facts {
    /// A short k costs more per step than a long one.
    fn depths(&self) -> [f64; 3] {
        [64, 256, 1024].map(|most| self.k.min(most) as f64 / most as f64)
    }

    fn outer(&self) -> [f64; 10] {
        let &Facts { m, n, k, batch, inputs, output, .. } = self;
        let odd = one_if(!n.is_multiple_of(4));
        [
            1.0,
            inputs,
            output,
            k as f64 / 1000.0,
            m as f64 * n as f64 * k as f64 * batch * 1e-6,
            odd,
            output * odd,
            one_if(m.min(n) < 64),
            output.min(1.0),
            (output - 10.0).max(0.0),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::Element;
    use crate::problem::Layout;

    #[test]
    fn terms_and_weights_are_in_the_same_order() {
        // Printed by the program that fitted the weights.
        let transposed = Layout { transposed: true, ..Layout::default() };
        let cases: [(Problem, &[(&str, f64)]); 3] = [
            (
                Problem::new(Element::F32, [100, 200, 300]),
                &[
                    ("split_workspace@16", 14.0475),
                    ("slice_k@128x64", 23.2957),
                    ("pipelined", 34.839),
                    ("outer", 87.6794),
                    ("tiled_1d", 40.6001),
                ],
            ),
            (
                Problem::new(Element::F32, [5, 2000, 1000]).with_layout(1, transposed),
                &[
                    ("gemv@4", 15.3322),
                    ("gemv@1", 6.8022),
                    ("split_workspace@4", 30.4391),
                    ("tma_specialised", 136.7099),
                ],
            ),
            (
                Problem::new(Element::F32, [300, 300, 4]),
                &[("outer", 5.6446), ("coalesced", 3.8358), ("tiled@16", 3.9166)],
            ),
        ];
        for (problem, expected) in cases {
            let found = estimates(&problem, 132);
            for (rung, us) in expected {
                let estimate = found.iter().find(|(word, _)| word == rung).map(|(_, us)| *us);
                assert!(estimate.is_some_and(|e| (e - us).abs() < 2e-3 * us), "{rung}: {estimate:?}, not {us}");
            }
        }
    }
}
