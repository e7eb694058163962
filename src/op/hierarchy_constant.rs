//! `hierarchy_constant`: a small table in global, shared and constant memory.

use super::gather::check_indices;
use super::{Op, Place, Shape, Work, word, words};
use crate::element::Element;
use crate::error::Result;
use crate::problem::Problem;
use crate::random::Stream;
use crate::rung::{Grid, Rung, rung};
use crate::verify::Expected;
use bytemuck::{Pod, Zeroable};
use rayon::prelude::*;
use std::sync::{Arc, LazyLock};

/// Every one of `len` threads adds up 64 entries of a table of 256, modulo 2^32. `spread` says how many
/// different entries a warp asks for at a time: 1 is a broadcast, 32 is all lanes apart.
pub struct HierarchyConstant;

/// The params struct of every kernel, with the table once more: in CUDA params lie in constant memory,
/// in WGSL in a uniform.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
struct Params {
    block: [u32; 3],
    pad: u32,
    len: [u32; 2],
    reserved: [u32; 2],
    table: [u32; ENTRIES],
}

/// Entries of the table, look-ups of a thread, and the way from one to the next, as in every kernel.
const ENTRIES: usize = 256;
const ROUNDS: usize = 64;
const STEP: usize = 37;
const WARP: u64 = 32;

/// The table does not depend on the seed, since the params hold it too.
fn table() -> [u32; ENTRIES] {
    let stream = Stream::new(0, 0);
    std::array::from_fn(|entry| stream.bits(entry as u64) as u32)
}

static LADDER: LazyLock<Vec<Rung>> = LazyLock::new(|| {
    const GRID: Grid = Grid::Linear { per_block: 256 };
    vec![
        rung!("hierarchy_constant", "global", block [256, 1, 1], GRID, {
            idea: "The table in global memory.".into(),
            chinese: "表放在全局内存中。".into(),
            because: "The first rung: the first-level cache answers.".into(),
            chinese_because: "第一级：由第一级缓存供给。".into(),
        }),
        rung!("hierarchy_constant", "shared", block [256, 1, 1], GRID, {
            idea: "The table is copied to shared memory.".into(),
            chinese: "表先复制到共享内存。".into(),
            because: "Lanes that disagree cost bank conflicts at most.".into(),
            chinese_because: "线程意见不一，最多带来存储体冲突。".into(),
            shared_elements: ENTRIES as u32,
        }),
        rung!("hierarchy_constant", "constant", block [256, 1, 1], GRID, {
            idea: "The table in constant memory or a uniform.".into(),
            chinese: "表放在常量内存或 uniform 中。".into(),
            because: "One entry for all lanes is read in one go; entries that differ go one after the other.".into(),
            chinese_because: "所有线程同一项，一次读完；不同的项要一个接一个。".into(),
        }),
    ]
});

impl Op for HierarchyConstant {
    fn name(&self) -> &'static str {
        "hierarchy_constant"
    }

    fn about(&self) -> &'static str {
        "output = sum of 64 entries of a table, from index[i] on; a warp reads `spread` entries at a time"
    }

    fn dims(&self) -> &'static [&'static str] {
        &["len", "spread"]
    }

    fn ladder(&self) -> &'static [Rung] {
        &LADDER
    }

    fn elements(&self) -> &'static [Element] {
        &[Element::U32]
    }

    fn shapes(&self, problem: &Problem) -> Result<(Vec<Shape>, Shape)> {
        let vector = Shape::packed(1, problem.dim(0));
        Ok((vec![Shape::packed(1, ENTRIES as u64), vector], vector))
    }

    fn follows_indices(&self) -> bool {
        true
    }

    fn extent(&self, problem: &Problem) -> [u64; 3] {
        [problem.dim(0), 1, 1]
    }

    fn work(&self, problem: &Problem) -> Work {
        Work { bytes: 8.0 * problem.dim(0) as f64, flops: 0.0 }
    }

    fn input(&self, problem: &Problem, index: usize, seed: u64, count: u64) -> Vec<u8> {
        if index == 0 {
            return bytemuck::bytes_of(&table()).to_vec();
        }
        let stream = Stream::new(seed, 1);
        let spread = problem.dim(1).clamp(1, WARP);
        let entry = |place: u64| (stream.bits(place / WARP) + place % WARP % spread) as u32 % ENTRIES as u32;
        (0..count).flat_map(|place| entry(place).to_le_bytes()).collect()
    }

    fn generated(&self) -> &'static str {
        "entries that differ inside a warp as the problem says"
    }

    fn of_size(&self, size: u64) -> Vec<u64> {
        vec![size.saturating_mul(size), WARP]
    }

    fn examples(&self) -> Vec<Vec<u64>> {
        [[1, 1], [257, 1], [1000, 32], [4096, 5]].map(|dims| dims.to_vec()).to_vec()
    }

    fn params(&self, problem: &Problem, place: Place) -> Vec<u8> {
        let params =
            Params { block: place.origin, pad: 0, len: words(problem.dim(0)), reserved: [0; 2], table: table() };
        bytemuck::bytes_of(&params).to_vec()
    }

    fn expected(&self, problem: &Problem, inputs: &[Arc<Vec<u8>>]) -> Result<Expected> {
        check_indices(self.name(), &inputs[1], ENTRIES as u64)?;
        let table = bytemuck::pod_collect_to_vec::<u8, u32>(&inputs[0]);
        let mut output = vec![0u8; inputs[1].len()];
        output.par_chunks_exact_mut(4).zip(inputs[1].par_chunks_exact(4)).for_each(|(out, index)| {
            let index = word(index) as usize;
            let entries = (0..ROUNDS).map(|round| table[(index + round * STEP) % ENTRIES]);
            out.copy_from_slice(&entries.fold(0u32, u32::wrapping_add).to_le_bytes());
        });
        Ok(Expected::bytes(Shape::packed(1, problem.dim(0)), Element::U32, Arc::new(output)))
    }
}
