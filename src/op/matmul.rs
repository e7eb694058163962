//! `matmul`: C = alpha op(A) op(B) + beta C, row-major, the main ladder of arithmetic.

mod reference;

use super::{Distribution, Op, Place, Shape, Work, words};
use crate::element::Element;
use crate::error::Result;
use crate::problem::Problem;
use crate::rung::{Accepts, Grid, Rung, rung};
use crate::verify::Expected;
use bytemuck::{Pod, Zeroable};
use std::sync::{Arc, LazyLock};

/// Multiplies an m x k by a k x n matrix.
pub struct Matmul;

/// The params struct of every matmul kernel.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
struct Params {
    block: [u32; 3],
    m: u32,
    n: u32,
    k: u32,
    a_ld: u32,
    b_ld: u32,
    c_ld: u32,
    batch: u32,
    alpha: f32,
    beta: f32,
    a_offset: [u32; 2],
    b_offset: [u32; 2],
    c_offset: [u32; 2],
    a_stride: [u32; 2],
    b_stride: [u32; 2],
    c_stride: [u32; 2],
}

static LADDER: LazyLock<Vec<Rung>> = LazyLock::new(|| {
    let teaching = Accepts { leading_dimension: true, scaling: true, ..Accepts::PACKED };
    let tiled = |tile: u32, variant: &'static str| {
        let mut rung = rung!("matmul", "tiled", block [32, 32, 1], Grid::Tiles { x: 32, y: 32 }, {
            variant: variant.into(),
            idea: "Tiles of A and B go through shared memory and are used by the whole block.".into(),
            because: "Each element is read from global memory once per tile instead of once per result.".into(),
            constants: vec![("TILE", tile)].into(),
            accepts: teaching,
            shared_elements: 2 * tile * tile,
        });
        let pass = &mut rung.passes.to_mut()[0];
        pass.block = [tile, tile, 1];
        pass.grid = Grid::Tiles { x: tile, y: tile };
        rung
    };
    vec![
        rung!("matmul", "naive", block [32, 8, 1], Grid::Tiles { x: 8, y: 32 }, {
            idea: "One result per thread; consecutive threads walk down a column, uncoalesced on purpose.".into(),
            because: "The first rung.".into(),
            accepts: teaching,
        }),
        rung!("matmul", "coalesced", block [32, 8, 1], Grid::Tiles { x: 32, y: 8 }, {
            idea: "Consecutive threads walk along a row of C and B.".into(),
            because: "A warp reads one run of B and one broadcast element of A, not 32 separate sectors.".into(),
            accepts: teaching,
        }),
        tiled(16, "16"),
        tiled(32, "32"),
    ]
});

impl Op for Matmul {
    fn name(&self) -> &'static str {
        "matmul"
    }

    fn about(&self) -> &'static str {
        "C = alpha op(A) op(B) + beta C"
    }

    fn dims(&self) -> &'static [&'static str] {
        &["m", "n", "k"]
    }

    fn ladder(&self) -> &'static [Rung] {
        &LADDER
    }

    fn elements(&self) -> &'static [Element] {
        &[Element::F32]
    }

    fn element_words(&self, _element: Element) -> (&'static str, Option<&'static str>) {
        ("float", Some("f32"))
    }

    fn shapes(&self, problem: &Problem) -> Result<(Vec<Shape>, Shape)> {
        let (m, n, k, batch) = (problem.dim(0), problem.dim(1), problem.dim(2), problem.batch);
        let operand = |index: usize, rows: u64, cols: u64| {
            let layout = problem.layout(index);
            let (rows, cols) = if layout.transposed { (cols, rows) } else { (rows, cols) };
            Shape { batch, rows, cols, layout }
        };
        Ok((vec![operand(0, m, k), operand(1, k, n)], operand(2, m, n)))
    }

    fn extent(&self, problem: &Problem) -> [u64; 3] {
        [problem.dim(1), problem.dim(0), problem.batch]
    }

    fn work(&self, problem: &Problem) -> Work {
        let [m, n, k] = [0, 1, 2].map(|i| problem.dim(i) as f64);
        let batch = problem.batch as f64;
        let elements = m * k + k * n + m * n * if problem.beta == 0.0 { 1.0 } else { 2.0 };
        Work { bytes: batch * elements * problem.element.size() as f64, flops: batch * 2.0 * m * n * k }
    }

    fn distribution(&self) -> Distribution {
        Distribution::Uniform
    }

    fn params(&self, problem: &Problem, place: Place) -> Vec<u8> {
        let Ok((inputs, c)) = self.shapes(problem) else { return Vec::new() };
        let (a, b) = (inputs[0], inputs[1]);
        let params = Params {
            block: place.origin,
            m: problem.dim(0) as u32,
            n: problem.dim(1) as u32,
            k: problem.dim(2) as u32,
            a_ld: a.leading_dimension() as u32,
            b_ld: b.leading_dimension() as u32,
            c_ld: c.leading_dimension() as u32,
            batch: problem.batch as u32,
            alpha: problem.alpha,
            beta: problem.beta,
            a_offset: words(a.layout.offset),
            b_offset: words(b.layout.offset),
            c_offset: words(c.layout.offset),
            a_stride: words(a.batch_stride()),
            b_stride: words(b.batch_stride()),
            c_stride: words(c.batch_stride()),
        };
        bytemuck::bytes_of(&params).to_vec()
    }

    fn switch(&self, problem: &Problem, name: &str) -> u32 {
        match name {
            "TRANSPOSE_A" => problem.layout(0).transposed.into(),
            "TRANSPOSE_B" => problem.layout(1).transposed.into(),
            _ => 0,
        }
    }

    fn reads_output(&self, problem: &Problem) -> bool {
        problem.beta != 0.0
    }

    fn expected(&self, problem: &Problem, inputs: &[Arc<Vec<u8>>]) -> Result<Expected> {
        reference::expected(self, problem, inputs)
    }
}
