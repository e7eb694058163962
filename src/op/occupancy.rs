//! `occupancy`: how many warps a multiprocessor must hold.

use super::{Op, Place, Shape, Work, word, words};
use crate::element::Element;
use crate::error::Result;
use crate::problem::Problem;
use crate::rung::{Grid, Pass, Rung, rung};
use crate::verify::Expected;
use bytemuck::{Pod, Zeroable};
use rayon::prelude::*;
use std::sync::{Arc, LazyLock};

/// Adds two vectors of `len` words, modulo 2^32. The kernel is the same all the way up: the rungs change
/// how many of its warps a multiprocessor can hold.
pub struct Occupancy;

/// The params struct of every kernel.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
struct Params {
    block: [u32; 3],
    pad: u32,
    len: [u32; 2],
}

static LADDER: LazyLock<Vec<Rung>> = LazyLock::new(|| {
    let block = |variant: &'static str, threads: u32, [because, chinese_because]: [&'static str; 2]| {
        let mut rung = rung!("occupancy", "block", block [32, 1, 1], Grid::Linear { per_block: 32 }, {
            variant: variant.into(),
            idea: "Blocks of so many threads.".into(),
            chinese: "线程块的线程数由变体给出。".into(),
            because: because.into(),
            chinese_because: chinese_because.into(),
            constants: vec![("THREADS", threads)].into(),
        });
        rung.passes = vec![Pass::new([threads, 1, 1], Grid::Linear { per_block: threads })].into();
        rung
    };
    let ballast = |variant: &'static str, words: u32, [because, chinese_because]: [&'static str; 2]| {
        rung!("occupancy", "ballast", block [64, 1, 1], Grid::Linear { per_block: 64 }, {
            variant: variant.into(),
            idea: "Blocks of 64 threads that claim shared memory they do not need.".into(),
            chinese: "64 个线程的线程块，占用并不需要的共享内存。".into(),
            because: because.into(),
            chinese_because: chinese_because.into(),
            constants: vec![("THREADS", 64), ("BALLAST", words)].into(),
            shared_elements: words,
        })
    };
    vec![
        block(
            "32",
            32,
            [
                "The first rung: at most 32 blocks of one warp, half of the places of a multiprocessor; and so many blocks that starting them takes longer than their work.",
                "第一级：最多 32 个线程块，每块一个线程束，只占多处理器一半的位置；并且线程块太多，启动它们比它们的工作还久。",
            ],
        ),
        block(
            "64",
            64,
            [
                "All places of a multiprocessor of 2048 threads are taken, and half as many blocks have to be started.",
                "2048 个线程的多处理器的位置全部占满，要启动的线程块减半。",
            ],
        ),
        block(
            "128",
            128,
            ["As many warps, and again half as many blocks to start.", "线程束一样多，要启动的线程块再减半。"],
        ),
        block(
            "256",
            256,
            [
                "As many warps, in blocks few enough for memory to be the limit.",
                "线程束一样多，线程块已少到由内存决定快慢。",
            ],
        ),
        block(
            "512",
            512,
            ["Little: as many warps, and memory is the limit already.", "作用很小：线程束一样多，内存早已是极限。"],
        ),
        block(
            "1024",
            1024,
            [
                "Slower, if anything: two blocks fill a multiprocessor, and a place is free only when the last of 32 warps is done.",
                "即使有差别也是变慢：两个线程块就占满多处理器，要等 32 个线程束中最后一个结束才空出位置。",
            ],
        ),
        ballast(
            "13k",
            3328,
            [
                "Half of the warps, on a device of 228 KiB: still enough, where starting blocks of 64 threads is the limit.",
                "在 228 KiB 的设备上线程束减半：仍然足够，那里的极限是启动 64 个线程的线程块。",
            ],
        ),
        ballast("27k", 6912, ["A quarter of the warps there: just too few.", "那里线程束只有四分之一：刚好不够。"]),
        ballast(
            "47k",
            12000,
            [
                "An eighth of the warps there: half of the bytes under way, and twice the time.",
                "那里线程束只有八分之一：在途的字节减半，时间加倍。",
            ],
        ),
    ]
});

impl Op for Occupancy {
    fn name(&self) -> &'static str {
        "occupancy"
    }

    fn about(&self) -> &'static str {
        "output = a + b, by blocks of several sizes and weights"
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
        Ok((vec![vector, vector], vector))
    }

    fn extent(&self, problem: &Problem) -> [u64; 3] {
        [problem.dim(0), 1, 1]
    }

    fn work(&self, problem: &Problem) -> Work {
        Work { bytes: 12.0 * problem.dim(0) as f64, flops: 0.0 }
    }

    fn examples(&self) -> Vec<Vec<u64>> {
        [1, 257, 4096, 70_001].map(|len| vec![len]).to_vec()
    }

    fn params(&self, problem: &Problem, place: Place) -> Vec<u8> {
        let params = Params { block: place.origin, pad: 0, len: words(problem.dim(0)) };
        bytemuck::bytes_of(&params).to_vec()
    }

    fn expected(&self, problem: &Problem, inputs: &[Arc<Vec<u8>>]) -> Result<Expected> {
        let mut output = vec![0u8; inputs[0].len()];
        let operands = inputs[0].par_chunks_exact(4).zip(inputs[1].par_chunks_exact(4));
        output.par_chunks_exact_mut(4).zip(operands).for_each(|(out, (a, b))| {
            out.copy_from_slice(&word(a).wrapping_add(word(b)).to_le_bytes());
        });
        Ok(Expected::bytes(Shape::packed(1, problem.dim(0)), Element::U32, Arc::new(output)))
    }
}
