//! `registers`: what a kernel does with fewer registers than it needs.

use super::{Op, Place, Shape, Work, words};
use crate::element::Element;
use crate::error::Result;
use crate::problem::Problem;
use crate::rung::{Grid, Rung, rung};
use crate::verify::Expected;
use bytemuck::{Pod, Zeroable};
use rayon::prelude::*;
use std::sync::{Arc, LazyLock};

/// Adds to each of 64 values of a group a mix of them all, modulo 2^32, one group per thread: the values
/// must all be kept until the last has been read.
pub struct Registers;

/// The params struct of every kernel.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
struct Params {
    block: [u32; 3],
    pad: u32,
    groups: [u32; 2],
}

/// Values of a group, and the factor of the FNV hash, as in every kernel.
const VALUES: u64 = 64;
const FACTOR: u32 = 16_777_619;

static LADDER: LazyLock<Vec<Rung>> = LazyLock::new(|| {
    let capped = |variant: &'static str, blocks: u32, [because, chinese_because]: [&'static str; 2]| {
        rung!("registers", "capped", no wgsl "WGSL has no word for registers", block [256, 1, 1], Grid::Linear { per_block: 256 }, {
            variant: variant.into(),
            idea: "Registers are capped so that more blocks fit a multiprocessor.".into(),
            chinese: "限制寄存器数，使多处理器容得下更多线程块。".into(),
            because: because.into(),
            chinese_because: chinese_because.into(),
            constants: vec![("BLOCKS", blocks)].into(),
        })
    };
    vec![
        rung!("registers", "free", block [256, 1, 1], Grid::Linear { per_block: 256 }, {
            idea: "The compiler takes the registers it needs.".into(),
            chinese: "编译器需要多少寄存器就用多少。".into(),
            because: "The first rung: about 80.".into(),
            chinese_because: "第一级：约 80 个寄存器。".into(),
        }),
        capped("128", 2, ["Two blocks: room for all values.", "两个线程块：所有值都放得下。"]),
        capped(
            "64",
            4,
            ["Four blocks: some values are spilled to local memory.", "四个线程块：一些值溢出到局部内存。"],
        ),
        capped("40", 6, ["Six blocks: more than half are spilled.", "六个线程块：一半以上溢出。"]),
        capped(
            "32",
            8,
            [
                "All places of a multiprocessor are taken, and nearly all values are spilled.",
                "多处理器的位置全部占满，几乎所有值都溢出。",
            ],
        ),
    ]
});

impl Op for Registers {
    fn name(&self) -> &'static str {
        "registers"
    }

    fn about(&self) -> &'static str {
        "output = each group's 64 values plus a mix of them all"
    }

    fn dims(&self) -> &'static [&'static str] {
        &["groups"]
    }

    fn ladder(&self) -> &'static [Rung] {
        &LADDER
    }

    fn elements(&self) -> &'static [Element] {
        &[Element::U32]
    }

    fn shapes(&self, problem: &Problem) -> Result<(Vec<Shape>, Shape)> {
        let values = Shape::packed(VALUES, problem.dim(0));
        Ok((vec![values], values))
    }

    fn extent(&self, problem: &Problem) -> [u64; 3] {
        [problem.dim(0), 1, 1]
    }

    fn work(&self, problem: &Problem) -> Work {
        Work { bytes: 8.0 * (VALUES * problem.dim(0)) as f64, flops: 0.0 }
    }

    fn examples(&self) -> Vec<Vec<u64>> {
        [1, 255, 256, 257, 1000].map(|groups| vec![groups]).to_vec()
    }

    fn of_size(&self, size: u64) -> Vec<u64> {
        vec![size.saturating_mul(size) / VALUES]
    }

    fn params(&self, problem: &Problem, place: Place) -> Vec<u8> {
        let params = Params { block: place.origin, pad: 0, groups: words(problem.dim(0)) };
        bytemuck::bytes_of(&params).to_vec()
    }

    fn expected(&self, problem: &Problem, inputs: &[Arc<Vec<u8>>]) -> Result<Expected> {
        let (groups, values) = (problem.dim(0) as usize, bytemuck::pod_collect_to_vec::<u8, u32>(&inputs[0]));
        let total = |group: usize| {
            let words = (0..VALUES as usize).map(|i| values[i * groups + group]);
            words.fold(0u32, |total, word| (total ^ word).wrapping_mul(FACTOR))
        };
        let totals: Vec<u32> = (0..groups).into_par_iter().map(total).collect();
        let mut output = vec![0u8; inputs[0].len()];
        output.par_chunks_exact_mut(4).enumerate().for_each(|(place, out)| {
            out.copy_from_slice(&values[place].wrapping_add(totals[place % groups]).to_le_bytes());
        });
        Ok(Expected::bytes(Shape::packed(VALUES, problem.dim(0)), Element::U32, Arc::new(output)))
    }
}
