//! `shared_read`: the ceiling of shared memory. Every thread reads far more from its block's tile than
//! from anywhere else.

use super::{Op, Place, Shape, Work, word, words};
use crate::element::Element;
use crate::error::Result;
use crate::problem::Problem;
use crate::rung::{Grid, Rung, rung};
use crate::verify::Expected;
use bytemuck::{Pod, Zeroable};
use std::sync::{Arc, LazyLock};

/// Sums 1040 words around each word's ring of its block.
pub struct SharedRead;

/// Words that are added for each word of the output; no multiple of `RING`, so that the place matters.
const STEPS: u32 = 1040;
/// Vectors of a block's tile, and words of a vector.
const RING: usize = 256;
const VECTOR: usize = 4;

/// The params struct of every kernel of this op.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
struct Params {
    block: [u32; 3],
    tail: u32,
    len: [u32; 2],
}

static LADDER: LazyLock<Vec<Rung>> = LazyLock::new(|| {
    vec![rung!("shared_read", "vectors", block [256, 1, 1], Grid::Linear { per_block: 1024 }, {
        idea: "Lanes read 16 bytes each from shared memory, side by side, again and again.".into(),
        chinese: "各线程并排从共享内存反复读取 16 字节。".into(),
        because: "The first rung.".into(),
        chinese_because: "第一级。".into(),
        constants: vec![("STEPS", STEPS)].into(),
        shared_elements: 2048,
    })]
});

impl Op for SharedRead {
    fn name(&self) -> &'static str {
        "shared_read"
    }

    fn about(&self) -> &'static str {
        "output = sum of 1040 words around a ring in shared memory (each addition reads 4 bytes of it)"
    }

    fn dims(&self) -> &'static [&'static str] {
        &["len"]
    }

    fn ladder(&self) -> &'static [Rung] {
        &LADDER
    }

    fn elements(&self) -> &'static [Element] {
        &[Element::U32, Element::F32]
    }

    fn shapes(&self, problem: &Problem) -> Result<(Vec<Shape>, Shape)> {
        let shape = Shape::packed(1, problem.dim(0));
        Ok((vec![shape], shape))
    }

    fn extent(&self, problem: &Problem) -> [u64; 3] {
        [problem.dim(0), 1, 1]
    }

    fn work(&self, problem: &Problem) -> Work {
        let len = problem.dim(0) as f64;
        Work { bytes: 8.0 * len, flops: len * f64::from(STEPS) }
    }

    fn params(&self, problem: &Problem, place: Place) -> Vec<u8> {
        let params = Params { block: place.origin, tail: 0, len: words(problem.dim(0)) };
        bytemuck::bytes_of(&params).to_vec()
    }

    fn expected(&self, problem: &Problem, inputs: &[Arc<Vec<u8>>]) -> Result<Expected> {
        let len = problem.dim(0) as usize;
        let words: Vec<u32> = inputs[0].chunks_exact(4).take(len).map(word).collect();
        let (turns, rest) = (STEPS as usize / RING, STEPS as usize % RING);
        let mut output = vec![0u8; len * 4];
        for (block, sums) in words.chunks(RING * VECTOR).zip(output.chunks_mut(4 * RING * VECTOR)) {
            let word = |vector: usize, lane: usize| block.get(vector % RING * VECTOR + lane).copied().unwrap_or(0);
            for lane in 0..VECTOR {
                let sum_of = |vectors: usize| (0..vectors).fold(0u32, |sum, v| sum.wrapping_add(word(v, lane)));
                let whole = sum_of(RING).wrapping_mul(turns as u32);
                // A window of `rest` vectors slides around the ring.
                let mut window = sum_of(rest);
                for vector in 0..RING {
                    let place = 4 * (vector * VECTOR + lane);
                    if place < sums.len() {
                        sums[place..place + 4].copy_from_slice(&whole.wrapping_add(window).to_le_bytes());
                    }
                    window = window.wrapping_sub(word(vector, lane)).wrapping_add(word(vector + rest, lane));
                }
            }
        }
        Ok(Expected::bytes(Shape::packed(1, problem.dim(0)), problem.element, Arc::new(output)))
    }
}
