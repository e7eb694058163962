//! `spmv`: a sparse matrix times a vector, and what the lengths of the rows do to it.

mod generate;
mod matrix_market;

use super::{Distribution, Op, Place, Shape, Work};
use crate::element::Element;
use crate::error::Result;
use crate::problem::Problem;
use crate::rung::{Form, Grid, Operand, Pass, Rung, Switch, Workspace, rung};
use crate::verify::{Expected, rounding};
use bytemuck::{Pod, Zeroable};
use rayon::prelude::*;
use std::sync::{Arc, LazyLock};

pub use matrix_market::{Sparse, read as read_matrix_market};

/// Multiplies a matrix of `rows` x `cols` with `nonzeros` entries, as compressed sparse rows, by a vector:
/// inputs are the start of every row, the columns, the values and the vector. A generated matrix has the
/// `pattern` 0 (a band: equal rows near the diagonal), 1 (scattered: short rows anywhere) or 2 (skewed: a
/// few rows hold most entries).
pub struct Spmv;

/// The params struct of every kernel.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
struct Params {
    block: [u32; 3],
    rows: u32,
    cols: u32,
    nonzeros: u32,
}

static LADDER: LazyLock<Vec<Rung>> = LazyLock::new(|| {
    const LANES: &[u32] = &[2, 4, 8, 16, 32];
    const BY_LANES: &[(&[(&str, u32)], Grid)] = &[
        (&[("LANES", 2)], Grid::Linear { per_block: 64 }),
        (&[("LANES", 4)], Grid::Linear { per_block: 32 }),
        (&[("LANES", 8)], Grid::Linear { per_block: 16 }),
        (&[("LANES", 16)], Grid::Linear { per_block: 8 }),
        (&[("LANES", 32)], Grid::Linear { per_block: 4 }),
    ];
    // A block for each chunk of nonzeros; a few blocks first, which note the first row of every chunk.
    const CHUNK: u32 = 1024;
    const THREADS: u32 = 256;
    const ROWS: u32 = 8192;
    let pass = |suffix: &'static str, threads: u32, per_block: u32, bindings: &[Operand]| Pass {
        suffix: suffix.into(),
        bindings: Some(bindings.to_vec().into()),
        ..Pass::new([threads, 1, 1], Grid::LongSide { per_block, parts: 1 })
    };
    let passes = |noters: u32| -> Vec<Pass> {
        let [starts, columns, values, x] = [0, 1, 2, 3].map(Operand::Input);
        let (noted, left) = (Operand::WorkspaceOut(0), Operand::WorkspaceOut(1));
        let (firsts, rests, output) = (Operand::WorkspaceIn(0), Operand::WorkspaceIn(1), Operand::Output(0));
        vec![
            pass("firsts", noters, ROWS, &[starts, noted]),
            pass("chunks", THREADS, CHUNK, &[starts, columns, values, x, firsts, left, output]),
            pass("rests", THREADS, CHUNK * THREADS, &[starts, firsts, rests, output]),
        ]
    };
    // A row and a rest of 4 bytes for each chunk.
    const ROOM: Workspace = Workspace::PerBlock(4 * ROWS / CHUNK);
    let adaptive = rung!("spmv", "adaptive", block [THREADS, 1, 1], Grid::LongSide { per_block: CHUNK, parts: 1 }, {
        idea: "Blocks share out the nonzeros instead of the rows; threads per row follow each chunk's rows.".into(),
        chinese: "线程块平分非零元而不是行；每行的线程数随各块的行而定。".into(),
        because: "No block has more to do than another, however uneven the rows are.".into(),
        chinese_because: "无论各行多么不均，没有哪个线程块的工作比别的多。".into(),
        passes: passes(1024).into(),
        workspace: (&[ROOM, ROOM]).into(),
        shared_elements: CHUNK + THREADS / 32,
        wgsl_form: Some(Form {
            constants: (&[]).into(),
            switches: (&[]).into(),
            passes: passes(256).into(),
            workspace: (&[ROOM, ROOM]).into(),
            shared_elements: CHUNK + THREADS,
        }),
    });
    vec![
        rung!("spmv", "thread_per_row", block [256, 1, 1], Grid::Linear { per_block: 256 }, {
            idea: "One thread adds up one row.".into(),
            chinese: "每个线程加一行。".into(),
            because: "The first rung: uncoalesced, and a warp waits for its longest row.".into(),
            chinese_because: "第一级：没有合并，线程束要等最长的一行。".into(),
        }),
        rung!("spmv", "warp_per_row", block [128, 1, 1], Grid::BySwitch(BY_LANES), {
            idea: "Up to 32 threads share a row, four elements each at a time, as the average row asks.".into(),
            chinese: "至多 32 个线程合作一行，每次各四个元素，数目按平均每行而定。".into(),
            because: "Rows are read side by side, and a long one holds up fewer others.".into(),
            chinese_because: "一行由线程并排读取，很长的一行拖累的其他行更少。".into(),
            switches: vec![Switch::new("LANES", LANES)].into(),
            wgsl_form: Some(Form {
                constants: (&[]).into(),
                switches: vec![Switch::new("LANES", LANES)].into(),
                passes: vec![Pass::new([128, 1, 1], Grid::BySwitch(BY_LANES))].into(),
                workspace: (&[]).into(),
                shared_elements: 128,
            }),
        }),
        adaptive,
    ]
});

impl Op for Spmv {
    fn name(&self) -> &'static str {
        "spmv"
    }

    fn about(&self) -> &'static str {
        "output = sparse matrix times vector; pattern 0 a band, 1 scattered rows, 2 a few long rows"
    }

    fn dims(&self) -> &'static [&'static str] {
        &["rows", "cols", "nonzeros", "pattern"]
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

    fn input_element(&self, index: usize, element: Element) -> Element {
        if index < 2 { Element::U32 } else { element }
    }

    fn shapes(&self, problem: &Problem) -> Result<(Vec<Shape>, Shape)> {
        let [rows, cols, nonzeros] = [0, 1, 2].map(|i| problem.dim(i));
        generate::check(rows, cols, nonzeros)?;
        let vector = |len| Shape::packed(1, len);
        Ok((vec![vector(rows + 1), vector(nonzeros), vector(nonzeros), vector(cols)], vector(rows)))
    }

    fn follows_indices(&self) -> bool {
        true
    }

    fn extent(&self, problem: &Problem) -> [u64; 3] {
        // Rows, and nonzeros on the other side: one of them is the longer, and blocks too many do nothing.
        [problem.dim(0), problem.dim(2), 1]
    }

    fn work(&self, problem: &Problem) -> Work {
        let [rows, cols, nonzeros] = [0, 1, 2].map(|i| problem.dim(i) as f64);
        Work { bytes: 4.0 * (2.0 * rows + 1.0 + cols + 2.0 * nonzeros), flops: 2.0 * nonzeros }
    }

    fn distribution(&self) -> Distribution {
        Distribution::Uniform
    }

    fn input(&self, problem: &Problem, index: usize, seed: u64, count: u64) -> Vec<u8> {
        match index {
            0 => generate::starts(problem, seed),
            1 => generate::columns(problem, seed),
            _ => crate::random::elements(seed, index as u64, Element::F32, count, self.distribution()),
        }
    }

    fn generated(&self) -> &'static str {
        "uniform [-1, 1); places by the pattern"
    }

    fn of_size(&self, size: u64) -> Vec<u64> {
        let rows = size.saturating_mul(size) / 16;
        vec![rows.max(1), rows.max(1), rows.saturating_mul(16), 2]
    }

    fn examples(&self) -> Vec<Vec<u64>> {
        let shapes: &[[u64; 4]] = &[
            [1, 1, 0, 0],
            [1, 1, 1, 0],
            [300, 200, 2048, 0],
            [1000, 1000, 9000, 1],
            [3000, 100, 4096, 1],
            [500, 700, 20_000, 2],
            [2, 5000, 9000, 2],
        ];
        shapes.iter().map(|dims| dims.to_vec()).collect()
    }

    fn switch(&self, problem: &Problem, _name: &str) -> u32 {
        // Lanes that take the average row, and a little more, in one turn of four elements each.
        const EACH: u64 = 4;
        let average = problem.dim(2).div_ceil(problem.dim(0).max(1));
        (average + 1).div_ceil(EACH).try_into().unwrap_or(u32::MAX)
    }

    fn params(&self, problem: &Problem, place: Place) -> Vec<u8> {
        let [rows, cols, nonzeros] = [0, 1, 2].map(|i| problem.dim(i) as u32);
        bytemuck::bytes_of(&Params { block: place.origin, rows, cols, nonzeros }).to_vec()
    }

    fn expected(&self, problem: &Problem, inputs: &[Arc<Vec<u8>>]) -> Result<Expected> {
        let starts = bytemuck::pod_collect_to_vec::<u8, u32>(&inputs[0]);
        let columns = bytemuck::pod_collect_to_vec::<u8, u32>(&inputs[1]);
        let values = bytemuck::pod_collect_to_vec::<u8, f32>(&inputs[2]);
        let x = bytemuck::pod_collect_to_vec::<u8, f32>(&inputs[3]);
        generate::check_places(&starts, &columns, problem)?;
        let row = |bounds: &[u32]| {
            let places = bounds[0] as usize..bounds[1] as usize;
            let length = places.len() as u64;
            let terms = places.map(|i| f64::from(values[i]) * f64::from(x[columns[i] as usize]));
            let (sum, magnitude) = terms.fold((0.0, 0.0), |(s, m), term| (s + term, m + term.abs()));
            // A product and at most as many additions as the row has elements, in any order, and those
            // of a few partial sums.
            (sum, rounding(length + PARTS, Element::F32) * magnitude)
        };
        let (values, bounds) = starts.par_windows(2).map(row).unzip();
        Ok(Expected::bounded(Shape::packed(1, problem.dim(0)), Element::F32, values, bounds))
    }
}

/// Additions of a row's partial sums beyond those of its elements.
const PARTS: u64 = 16;
