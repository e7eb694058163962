//! `hierarchy_bandwidth`: the bytes per time of each level, by the size of the set that is read.

use super::{Op, Place, Shape, Work};
use crate::element::Element;
use crate::error::Result;
use crate::problem::Problem;
use crate::rung::{Grid, Rung, rung};
use crate::verify::Expected;
use bytemuck::{Pod, Zeroable};
use rayon::prelude::*;
use std::sync::{Arc, LazyLock};

/// Every thread of a fixed grid adds up `loads` vectors of 16 bytes, modulo 2^32; all threads together walk
/// through a working set of `words` again and again. The level that holds the set decides how fast.
pub struct HierarchyBandwidth;

/// The params struct of every kernel.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
struct Params {
    block: [u32; 3],
    vectors: u32,
    loads: u32,
    threads: u32,
}

/// Words of a vector.
const VECTOR: u64 = 4;
/// Blocks, of 256 threads: eight for each of 132 multiprocessors.
const BLOCKS: u32 = 1056;
const THREADS: u64 = BLOCKS as u64 * 256;

static LADDER: LazyLock<Vec<Rung>> = LazyLock::new(|| {
    const GRID: Grid = Grid::Fixed { blocks: BLOCKS };
    vec![
        rung!("hierarchy_bandwidth", "cached", block [256, 1, 1], GRID, {
            idea: "Plain loads: the level that holds the set answers.".into(),
            chinese: "普通载入：由放得下这个集合的那一级回答。".into(),
            because: "The first rung.".into(),
            chinese_because: "第一级。".into(),
        }),
        rung!("hierarchy_bandwidth", "read_only", no wgsl "WGSL has no load of its own for read-only data", block [256, 1, 1], GRID, {
            idea: "Loads through the read-only path.".into(),
            chinese: "经只读路径载入。".into(),
            because: "Nothing: plain loads of inputs that nobody writes take it by themselves.".into(),
            chinese_because: "没有好处：对没有谁写的输入，普通载入自己就走这条路。".into(),
        }),
        rung!("hierarchy_bandwidth", "second_level", no wgsl "WGSL cannot choose a cache", block [256, 1, 1], GRID, {
            idea: "Loads that pass the first-level cache by.".into(),
            chinese: "绕过一级缓存的载入。".into(),
            because: "Slower for sets that the first level would hold.".into(),
            chinese_because: "对第一级缓存装得下的集合来说更慢。".into(),
        }),
    ]
});

/// Words of the set: those that were asked for, rounded up to whole vectors.
fn set(problem: &Problem) -> u64 {
    problem.dim(0).next_multiple_of(VECTOR).max(VECTOR)
}

impl Op for HierarchyBandwidth {
    fn name(&self) -> &'static str {
        "hierarchy_bandwidth"
    }

    fn about(&self) -> &'static str {
        "output[t] = sum of the vectors that thread t meets in the set"
    }

    fn dims(&self) -> &'static [&'static str] {
        &["words", "loads"]
    }

    fn ladder(&self) -> &'static [Rung] {
        &LADDER
    }

    fn elements(&self) -> &'static [Element] {
        &[Element::U32]
    }

    fn shapes(&self, problem: &Problem) -> Result<(Vec<Shape>, Shape)> {
        Ok((vec![Shape::packed(1, set(problem))], Shape::packed(1, THREADS)))
    }

    fn extent(&self, _problem: &Problem) -> [u64; 3] {
        [THREADS, 1, 1]
    }

    fn work(&self, problem: &Problem) -> Work {
        // What is asked for, wherever it comes from.
        Work { bytes: (THREADS * (problem.dim(1) * 16 + 4)) as f64, flops: 0.0 }
    }

    fn of_size(&self, size: u64) -> Vec<u64> {
        vec![size.saturating_mul(size), 64]
    }

    fn examples(&self) -> Vec<Vec<u64>> {
        [[4, 1], [1024, 2], [4096, 1]].map(|dims| dims.to_vec()).to_vec()
    }

    fn params(&self, problem: &Problem, place: Place) -> Vec<u8> {
        let params = Params {
            block: place.origin,
            vectors: (set(problem) / VECTOR) as u32,
            loads: problem.dim(1) as u32,
            threads: THREADS as u32,
        };
        bytemuck::bytes_of(&params).to_vec()
    }

    fn expected(&self, problem: &Problem, inputs: &[Arc<Vec<u8>>]) -> Result<Expected> {
        let words = bytemuck::pod_collect_to_vec::<u8, u32>(&inputs[0]);
        let sum = |vector: &[u32]| vector.iter().fold(0u32, |sum, word| sum.wrapping_add(*word));
        let sums: Vec<u32> = words.par_chunks_exact(VECTOR as usize).map(sum).collect();
        let (vectors, step) = (sums.len() as u64, THREADS % sums.len() as u64);
        let thread = |thread: u64| {
            let mut at = thread % vectors;
            let mut total = 0u32;
            for _ in 0..problem.dim(1) {
                total = total.wrapping_add(sums[at as usize]);
                at = (at + step) % vectors;
            }
            total.to_le_bytes()
        };
        let output: Vec<[u8; 4]> = (0..THREADS).into_par_iter().map(thread).collect();
        Ok(Expected::bytes(Shape::packed(1, THREADS), Element::U32, Arc::new(output.concat())))
    }
}
