//! `double_buffer`: what a missing barrier does.

use super::{Op, Place, Shape, Work, words};
use crate::element::Element;
use crate::error::Result;
use crate::problem::Problem;
use crate::rung::{Grid, Promise, Rung, rung};
use crate::verify::Expected;
use bytemuck::{Pod, Zeroable};
use std::sync::{Arc, LazyLock};

/// Subtracts from every word its mirror image inside its tile of 256 words, modulo 2^32, through two
/// buffers of shared memory that take turns.
pub struct DoubleBuffer;

/// The params struct of every kernel.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
struct Params {
    block: [u32; 3],
    pad: u32,
    len: [u32; 2],
}

/// Words of a tile, as in every kernel.
const TILE: usize = 256;

static LADDER: LazyLock<Vec<Rung>> = LazyLock::new(|| {
    vec![
        rung!("double_buffer", "barrier_missing", block [256, 1, 1], Grid::Linear { per_block: 2048 }, {
            idea: "Two buffers in turn, and no barrier.".into(),
            chinese: "两个缓冲区轮换，没有屏障。".into(),
            because: "The first rung, wrong: threads read what others have not yet written.".into(),
            chinese_because: "第一级，是错的：线程读到别人还没写的内容。".into(),
            shared_elements: 512,
            promise: Promise::Nothing { because: "threads read a tile before it is complete".into() },
        }),
        rung!("double_buffer", "barrier_per_phase", block [256, 1, 1], Grid::Linear { per_block: 2048 }, {
            idea: "One barrier per phase.".into(),
            chinese: "每个阶段一个屏障。".into(),
            because: "It ends this phase's writes and the reads of the phase before; one buffer would need two.".into(),
            chinese_because: "它结束本阶段的写入和上一阶段的读取；只有一个缓冲区就需要两个屏障。".into(),
            shared_elements: 512,
        }),
    ]
});

impl Op for DoubleBuffer {
    fn name(&self) -> &'static str {
        "double_buffer"
    }

    fn about(&self) -> &'static str {
        "output[i] = input[i] - input[mirror of i in its tile of 256]"
    }

    fn dims(&self) -> &'static [&'static str] {
        &["len"]
    }

    fn ladder(&self) -> &'static [Rung] {
        &LADDER
    }

    fn elements(&self) -> &'static [Element] {
        &[Element::U32]
    }

    fn shapes(&self, problem: &Problem) -> Result<(Vec<Shape>, Shape)> {
        let vector = Shape::packed(1, problem.dim(0));
        Ok((vec![vector], vector))
    }

    fn extent(&self, problem: &Problem) -> [u64; 3] {
        [problem.dim(0), 1, 1]
    }

    fn work(&self, problem: &Problem) -> Work {
        Work { bytes: 8.0 * problem.dim(0) as f64, flops: 0.0 }
    }

    fn examples(&self) -> Vec<Vec<u64>> {
        [1, 257, 4096, 70_001].map(|len| vec![len]).to_vec()
    }

    fn params(&self, problem: &Problem, place: Place) -> Vec<u8> {
        let params = Params { block: place.origin, pad: 0, len: words(problem.dim(0)) };
        bytemuck::bytes_of(&params).to_vec()
    }

    fn expected(&self, problem: &Problem, inputs: &[Arc<Vec<u8>>]) -> Result<Expected> {
        let values = bytemuck::pod_collect_to_vec::<u8, u32>(&inputs[0]);
        let output = (0..values.len()).flat_map(|place| {
            let mirror = place / TILE * TILE + (TILE - 1 - place % TILE);
            values[place].wrapping_sub(values.get(mirror).copied().unwrap_or(0)).to_le_bytes()
        });
        Ok(Expected::bytes(Shape::packed(1, problem.dim(0)), Element::U32, Arc::new(output.collect())))
    }
}
