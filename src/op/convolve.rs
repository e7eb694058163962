//! `convolve`: a two-dimensional filter that is the product of a column and a row of weights.

use super::{Distribution, Op, Place, Shape, Work};
use crate::element::Element;
use crate::error::Result;
use crate::problem::Problem;
use crate::rung::{Grid, Rung, rung};
use crate::verify::{Expected, rounding};
use bytemuck::{Pod, Zeroable};
use rayon::prelude::*;
use std::sync::{Arc, LazyLock};

/// Filters an image of `rows` x `cols` with `weights[u] * weights[v]`; outside the image the input
/// counts as 0.
pub struct Convolve;

/// The params struct of every convolve kernel.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
struct Params {
    block: [u32; 3],
    rows: u32,
    cols: u32,
    pad: u32,
}

/// Neighbours on each side, as in every kernel.
const RADIUS: u64 = 4;
const TAPS: u64 = 2 * RADIUS + 1;

static LADDER: LazyLock<Vec<Rung>> = LazyLock::new(|| {
    vec![
        rung!("convolve", "naive", block [32, 8, 1], Grid::Tiles { x: 32, y: 8 }, {
            idea: "One output per thread, every neighbour from global memory.".into(),
            chinese: "每个线程一个输出，每个邻居都来自全局内存。".into(),
            because: "The first rung.".into(),
            chinese_because: "第一级。".into(),
        }),
        rung!("convolve", "tiled", block [16, 16, 1], Grid::Tiles { x: 16, y: 16 }, {
            idea: "A block stages the region that its outputs share in shared memory.".into(),
            chinese: "线程块把各输出共用的区域放入共享内存。".into(),
            because: "The reads that neighbours repeat leave the caches for shared memory.".into(),
            chinese_because: "相邻线程重复的读取从缓存转到共享内存。".into(),
            shared_elements: 24 * 24,
        }),
        rung!("convolve", "padded", block [16, 16, 1], Grid::Tiles { x: 16, y: 16 }, {
            idea: "Staged rows lie 48 words apart instead of 24.".into(),
            chinese: "暂存的行相隔 48 个字而不是 24 个。".into(),
            because: "A warp reads two rows, which now fall on different banks: 1 wavefront instead of 2.".into(),
            chinese_because: "一个线程束读两行，现在它们落在不同的存储体上：1 次波前而不是 2 次。".into(),
            shared_elements: 24 * 48,
        }),
        rung!("convolve", "separable", block [32, 8, 1], Grid::Tiles { x: 32, y: 32 }, {
            idea: "Rows are filtered first, then columns.".into(),
            chinese: "先对行滤波，再对列滤波。".into(),
            because: "2 x 9 products per output instead of 9 x 9.".into(),
            chinese_because: "每个输出做 2 x 9 次乘法，而不是 9 x 9 次。".into(),
            shared_elements: 40 * 40 + 40 * 32,
        }),
        rung!("convolve", "vectorized", block [256, 1, 1], Grid::Tiles { x: 64, y: 16 }, {
            idea: "Four neighbouring outputs per thread from 16-byte shared accesses.".into(),
            chinese: "每个线程四个相邻输出，以 16 字节访问共享内存。".into(),
            because: "3 shared reads instead of 36 feed the row filter, and 9 instead of 36 the column filter.".into(),
            chinese_because: "行滤波只需 3 次共享读取而不是 36 次，列滤波 9 次而不是 36 次。".into(),
            shared_elements: 4 * (24 * 18 + 24 * 16),
        }),
    ]
});

impl Op for Convolve {
    fn name(&self) -> &'static str {
        "convolve"
    }

    fn about(&self) -> &'static str {
        "output = input filtered by 9 x 9 weights, a column times a row"
    }

    fn dims(&self) -> &'static [&'static str] {
        &["rows", "cols"]
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
        let image = Shape::packed(problem.dim(0), problem.dim(1));
        Ok((vec![image, Shape::packed(1, TAPS)], image))
    }

    fn extent(&self, problem: &Problem) -> [u64; 3] {
        [problem.dim(1), problem.dim(0), 1]
    }

    fn work(&self, problem: &Problem) -> Work {
        let elements = problem.dim(0) as f64 * problem.dim(1) as f64;
        // Row filter and column filter: a multiply-add for every tap.
        Work { bytes: 8.0 * elements, flops: 4.0 * TAPS as f64 * elements }
    }

    fn of_size(&self, size: u64) -> Vec<u64> {
        vec![size.div_ceil(2), size.div_ceil(2)]
    }

    fn distribution(&self) -> Distribution {
        Distribution::Uniform
    }

    fn params(&self, problem: &Problem, place: Place) -> Vec<u8> {
        let params = Params { block: place.origin, rows: problem.dim(0) as u32, cols: problem.dim(1) as u32, pad: 0 };
        bytemuck::bytes_of(&params).to_vec()
    }

    fn expected(&self, problem: &Problem, inputs: &[Arc<Vec<u8>>]) -> Result<Expected> {
        let (image, weights) = (floats(&inputs[0]), floats(&inputs[1]));
        let values = filtered(&image, &weights, problem);
        let magnitudes = filtered(&absolute(&image), &absolute(&weights), problem);
        // An output is a sum of TAPS² terms, each rounded at most twice before it is added, in any
        // order: |computed - exact| <= gamma(TAPS² + 2) * sum |terms|.
        let bounds = magnitudes.into_iter().map(|m| rounding(TAPS * TAPS + 2, Element::F32) * m).collect();
        Ok(Expected::bounded(Shape::packed(problem.dim(0), problem.dim(1)), Element::F32, values, bounds))
    }
}

fn floats(bytes: &[u8]) -> Vec<f64> {
    bytes.par_chunks_exact(4).map(|b| f64::from(f32::from_le_bytes([b[0], b[1], b[2], b[3]]))).collect()
}

fn absolute(values: &[f64]) -> Vec<f64> {
    values.iter().map(|v| v.abs()).collect()
}

/// The filtered image in f64, rows first.
fn filtered(image: &[f64], weights: &[f64], problem: &Problem) -> Vec<f64> {
    let (height, width, radius) = (problem.dim(0) as usize, problem.dim(1) as usize, RADIUS as usize);
    if height == 0 || width == 0 {
        return Vec::new();
    }
    let mut rows = vec![0.0; image.len()];
    rows.par_chunks_mut(width).zip(image.par_chunks(width)).for_each(|(out, row)| {
        for (col, out) in out.iter_mut().enumerate() {
            let taps = weights.iter().enumerate().filter(|(v, _)| (radius..width + radius).contains(&(col + v)));
            *out = taps.map(|(v, weight)| weight * row[col + v - radius]).sum();
        }
    });
    let mut output = vec![0.0; image.len()];
    output.par_chunks_mut(width).enumerate().for_each(|(row, out)| {
        for (u, weight) in weights.iter().enumerate() {
            if (radius..height + radius).contains(&(row + u)) {
                let from = &rows[(row + u - radius) * width..][..width];
                out.iter_mut().zip(from).for_each(|(out, value)| *out += weight * value);
            }
        }
    });
    output
}
