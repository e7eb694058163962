//! `branch`: what it costs when the lanes of a warp disagree.

use super::{Op, Place, Shape, Work, word, words};
use crate::element::Element;
use crate::error::Result;
use crate::problem::Problem;
use crate::random::{self, Stream};
use crate::rung::{Grid, Rung, rung};
use crate::verify::Expected;
use bytemuck::{Pod, Zeroable};
use rayon::prelude::*;
use std::sync::{Arc, LazyLock};

/// Walks `steps` steps of one of two integer generators from each of `len` elements; which one, its kind
/// says. `pattern` says where the kinds lie: 0 by parity, 1 by warp, 2 at random, 3 sorted (what sorting the
/// elements by kind leaves), 4 and 5 all of one kind and all of the other.
pub struct Branch;

/// The params struct of every kernel.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
struct Params {
    block: [u32; 3],
    steps: u32,
    len: [u32; 2],
}

/// Elements of one kind in the pattern by warp.
const WARP: u64 = 32;
/// The constants of both sides, as in every kernel.
const FACTOR: u32 = 1_664_525;
const ADDEND: u32 = 1_013_904_223;
const HIGH: u32 = 15;
const LOW: u32 = 13;

static LADDER: LazyLock<Vec<Rung>> = LazyLock::new(|| {
    vec![
        rung!("branch", "branched", block [256, 1, 1], Grid::Linear { per_block: 256 }, {
            idea: "Each element takes one of two ways.".into(),
            chinese: "每个元素走两条路之一。".into(),
            because: "The first rung: a warp whose lanes disagree walks both.".into(),
            chinese_because: "第一级：线程意见不一的线程束两边都要走。".into(),
        }),
        rung!("branch", "predicated", block [256, 1, 1], Grid::Linear { per_block: 256 }, {
            idea: "Every thread walks both ways and keeps one result.".into(),
            chinese: "每个线程走两条路，只保留一个结果。".into(),
            because: "No branch; pays only for sides of a few instructions.".into(),
            chinese_because: "没有分支；只有两边都只有几条指令时才合算。".into(),
        }),
        rung!("branch", "grouped", block [256, 1, 1], Grid::Linear { per_block: 256 }, {
            idea: "A block sorts its elements by kind before it walks.".into(),
            chinese: "线程块先按种类排序元素，再分支。".into(),
            because: "At most one warp of a block still has both kinds.".into(),
            chinese_because: "一个线程块中最多只有一个线程束仍同时有两种线程。".into(),
            shared_elements: 258,
        }),
    ]
});

impl Op for Branch {
    fn name(&self) -> &'static str {
        "branch"
    }

    fn about(&self) -> &'static str {
        "output = steps of one of two generators; the pattern of the choice: 0 by thread, 1 by warp, 2 random, 3 sorted, 4 and 5 all the same"
    }

    fn dims(&self) -> &'static [&'static str] {
        &["len", "steps", "pattern"]
    }

    fn ladder(&self) -> &'static [Rung] {
        &LADDER
    }

    fn elements(&self) -> &'static [Element] {
        &[Element::U32]
    }

    fn shapes(&self, problem: &Problem) -> Result<(Vec<Shape>, Shape)> {
        let vector = Shape::packed(1, problem.dim(0));
        Ok((vec![vector, vector], vector))
    }

    fn extent(&self, problem: &Problem) -> [u64; 3] {
        [problem.dim(0), 1, 1]
    }

    fn work(&self, problem: &Problem) -> Work {
        // Counted as 3 operations a step, whichever side.
        Work { bytes: 12.0 * problem.dim(0) as f64, flops: 3.0 * problem.dim(0) as f64 * problem.dim(1) as f64 }
    }

    fn of_size(&self, size: u64) -> Vec<u64> {
        vec![size.saturating_mul(size), 64, 2]
    }

    fn examples(&self) -> Vec<Vec<u64>> {
        [[1, 1, 0], [257, 3, 0], [1000, 2, 1], [4096, 5, 2], [777, 4, 3], [300, 0, 4]]
            .map(|dims| dims.to_vec())
            .to_vec()
    }

    fn input(&self, problem: &Problem, index: usize, seed: u64, count: u64) -> Vec<u8> {
        if index == 0 {
            return random::elements(seed, 0, Element::U32, count, self.distribution());
        }
        let stream = Stream::new(seed, 1);
        let kind = |place: u64| match problem.dim(2) {
            0 => place % 2,
            1 => place / WARP % 2,
            2 => stream.bits(place) % 2,
            3 => u64::from(place >= count / 2),
            4 => 1,
            _ => 0,
        };
        let mut kinds = vec![0u8; count as usize * 4];
        kinds.par_chunks_exact_mut(4).enumerate().for_each(|(place, out)| out[0] = kind(place as u64) as u8);
        kinds
    }

    fn generated(&self) -> &'static str {
        "random bits; kinds by the pattern"
    }

    fn params(&self, problem: &Problem, place: Place) -> Vec<u8> {
        let params = Params { block: place.origin, steps: problem.dim(1) as u32, len: words(problem.dim(0)) };
        bytemuck::bytes_of(&params).to_vec()
    }

    fn expected(&self, problem: &Problem, inputs: &[Arc<Vec<u8>>]) -> Result<Expected> {
        let steps = problem.dim(1);
        let walk = |mut x: u32, kind: u32| {
            for _ in 0..steps {
                x = match kind {
                    0 => x.wrapping_mul(FACTOR).wrapping_add(x >> HIGH),
                    _ => (x ^ (x << LOW)).wrapping_add(ADDEND),
                };
            }
            x
        };
        let mut output = vec![0u8; inputs[0].len()];
        let operands = inputs[0].par_chunks_exact(4).zip(inputs[1].par_chunks_exact(4));
        output.par_chunks_exact_mut(4).zip(operands).for_each(|(out, (x, kind))| {
            out.copy_from_slice(&walk(word(x), word(kind)).to_le_bytes());
        });
        Ok(Expected::bytes(Shape::packed(1, problem.dim(0)), Element::U32, Arc::new(output)))
    }
}
