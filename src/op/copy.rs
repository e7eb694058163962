//! `copy`: the yardstick. A kernel that moves data cannot be faster than moving it once.

use super::{Band, Distribution, Op, Place, Shape, Window, Work, words};
use crate::element::Element;
use crate::error::{Error, Result};
use crate::problem::Problem;
use crate::rung::{Accepts, Grid, Native, Rung, Source, rung};
use crate::verify::Expected;
use bytemuck::{Pod, Zeroable};
use std::sync::{Arc, LazyLock};

/// Copies `len` elements.
pub struct Copy;

/// The params struct of every copy kernel.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
struct Params {
    block: [u32; 3],
    tail: u32,
    len: [u32; 2],
}

const ANY_WORD: &[u64] = &[1, 2, 4, 8, 16];

static LADDER: LazyLock<Vec<Rung>> = LazyLock::new(|| {
    let vectorized = |vectors: u32, variant: &'static str| {
        let mut rung = rung!("copy", "vectorized", block [256, 1, 1], Grid::LinearBytes { per_block: 4096 }, {
            variant: variant.into(),
            idea: "16 bytes per access; VECTORS independent loads before the first store.".into(),
            chinese: "每次访问 16 字节；先发出 VECTORS 个独立的读取，再开始写。".into(),
            because: "A quarter of the memory instructions, and at least four times the bytes in flight.".into(),
            chinese_because: "访存指令只有四分之一，在途的字节至少是四倍。".into(),
            constants: vec![("VECTORS", vectors)].into(),
            element_sizes: ANY_WORD.into(),
            wgsl_element_sizes: ANY_WORD.into(),
        });
        rung.passes.to_mut()[0].grid = Grid::LinearBytes { per_block: 4096 * vectors };
        rung
    };
    let strided = |stride: u32, variant: &'static str| {
        let mut rung = rung!("copy", "strided", block [256, 1, 1], Grid::LongSide { per_block: 512, parts: 2 }, {
            variant: variant.into(),
            idea: "Neighbouring threads copy elements some places apart; the rest waits for later blocks.".into(),
            chinese: "相邻线程复制相隔几个位置的元素；其余留给后面的线程块。".into(),
            because: "Slower: a sector of 8 words is moved for every element, and again for the next one.".into(),
            chinese_because: "变慢：每个元素都要搬运 8 个字的扇区，下一个元素又要再搬一次。".into(),
            constants: vec![("STRIDE", stride)].into(),
        });
        rung.passes.to_mut()[0].grid = Grid::LongSide { per_block: 256 * stride, parts: stride };
        rung
    };
    vec![
        rung!("copy", "scalar", block [256, 1, 1], Grid::Linear { per_block: 256 }, {
            idea: "One element per thread.".into(),
            chinese: "每个线程一个元素。".into(),
            because: "The first rung.".into(),
            chinese_because: "第一级。".into(),
            element_sizes: ANY_WORD.into(),
            wgsl_element_sizes: (&[4, 8, 16]).into(),
            accepts: Accepts::PACKED,
        }),
        rung!("copy", "misaligned", block [256, 1, 1], Grid::Linear { per_block: 256 }, {
            idea: "The same, shifted by one element: warps start in the middle of a sector.".into(),
            chinese: "同上，但偏移一个元素：线程束从扇区中间开始。".into(),
            because: "Slower, if anything: a fifth sector for every request of four, mostly found in the cache.".into(),
            chinese_because: "即使有差别也是变慢：每四个扇区的请求多出第五个，但大多能在缓存中找到。".into(),
            constants: vec![("SHIFT", 1)].into(),
        }),
        strided(2, "2"),
        strided(4, "4"),
        strided(8, "8"),
        strided(32, "32"),
        rung!("copy", "read_only", no wgsl "WGSL has no load of its own for read-only data", block [256, 1, 1], Grid::Linear { per_block: 256 }, {
            idea: "Loads through the read-only path, asked for by name.".into(),
            chinese: "明确要求经只读路径载入。".into(),
            because: "Nothing: data that is read once gains nothing from any cache.".into(),
            chinese_because: "没有好处：只读一次的数据从任何缓存都得不到好处。".into(),
        }),
        vectorized(1, "1"),
        vectorized(4, "4"),
        Rung {
            idea: "The backend's own copy of a buffer.".into(),
            chinese: "后端自带的缓冲区复制。".into(),
            because: "No kernel at all: the driver chooses a copy engine or a kernel of its own.".into(),
            chinese_because: "根本没有内核：由驱动选择复制引擎或自带的内核。".into(),
            element_sizes: ANY_WORD.into(),
            wgsl_element_sizes: ANY_WORD.into(),
            cuda: Source::Native(Native::Copy),
            wgsl: Source::Native(Native::Copy),
            ..Rung::new("buffer_copy", [1, 1, 1], Grid::Fixed { blocks: 1 })
        },
    ]
});

impl Copy {
    /// The rungs that may be the fastest copy of a device: what a data movement is compared with.
    pub fn yardsticks() -> impl Iterator<Item = &'static Rung> {
        LADDER.iter().filter(|rung| ["scalar", "vectorized", "buffer_copy"].contains(&rung.name.as_ref()))
    }
}

impl Op for Copy {
    fn name(&self) -> &'static str {
        "copy"
    }

    fn about(&self) -> &'static str {
        "output = input"
    }

    fn dims(&self) -> &'static [&'static str] {
        &["len"]
    }

    fn ladder(&self) -> &'static [Rung] {
        &LADDER
    }

    fn elements(&self) -> &'static [Element] {
        Element::ALL
    }

    fn shapes(&self, problem: &Problem) -> Result<(Vec<Shape>, Shape)> {
        // One row has no leading dimension, so its length may pass 32 bits: rows of 2^30 elements.
        let len = problem.dim(0);
        let shape = row(len);
        if shape.rows.max(shape.cols) > u32::MAX.into() {
            return Err(Error::shape(
                "copy",
                format!(
                    "{len} elements; the most is {}, and beyond {} whole multiples of {ROW}",
                    u64::from(u32::MAX) * ROW,
                    u32::MAX
                ),
            ));
        }
        Ok((vec![shape], shape))
    }

    fn extent(&self, problem: &Problem) -> [u64; 3] {
        [problem.dim(0), 1, 1]
    }

    fn work(&self, problem: &Problem) -> Work {
        Work { bytes: 2.0 * problem.dim(0) as f64 * problem.element.size() as f64, flops: 0.0 }
    }

    fn bands(&self, problem: &Problem, limit: u64, alignment: u64) -> Option<Vec<Band>> {
        const CHUNK: u64 = 16;
        let (len, width) = (problem.dim(0), problem.element.size());
        let step = alignment.max(CHUNK) / width;
        let parts = len.div_ceil((limit / width / step * step).max(1));
        let size = len.div_ceil(parts).next_multiple_of(step);
        let band = |start: u64| {
            let len = size.min(len - start);
            let window = Window { offset: start * width, len: (len * width).next_multiple_of(CHUNK) };
            Band { problem: Problem { dims: vec![len], ..problem.clone() }, windows: vec![window; 2] }
        };
        (size * width <= limit).then(|| (0..len).step_by(size as usize).map(band).collect())
    }

    fn distribution(&self) -> Distribution {
        Distribution::Bits
    }

    fn params(&self, problem: &Problem, place: Place) -> Vec<u8> {
        let params = Params { block: place.origin, tail: 0, len: words(problem.dim(0)) };
        bytemuck::bytes_of(&params).to_vec()
    }

    fn expected(&self, problem: &Problem, inputs: &[Arc<Vec<u8>>]) -> Result<Expected> {
        Ok(Expected::bytes(row(problem.dim(0)), problem.element, Arc::clone(&inputs[0])))
    }
}

/// Elements of a row of a long array.
const ROW: u64 = 1 << 30;

/// `len` elements as rows that a 32-bit field can count.
fn row(len: u64) -> Shape {
    if len <= ROW || !len.is_multiple_of(ROW) { Shape::packed(1, len) } else { Shape::packed(len / ROW, ROW) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_cover_every_element_once_within_the_limit() {
        for (element, len, limit) in [(Element::I8, 70_001, 65_536), (Element::F64, 1 << 28, (1 << 31) - 4)] {
            let bands = Copy.bands(&Problem::new(element, [len]), limit, 256).expect("it can be cut");
            let mut end = 0;
            for band in &bands {
                let window = band.windows[0];
                assert!(window.offset == end * element.size() && window.offset % 256 == 0 && window.len <= limit);
                end += band.problem.dim(0);
            }
            assert!(end == len && bands.len() == 2, "{bands:?}");
        }
    }
}
