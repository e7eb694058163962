//! `scatter`: writes that follow an index array.

use super::gather::{check_indices, indices};
use super::{Op, Place, Shape, Work, word, words};
use crate::element::Element;
use crate::error::Result;
use crate::problem::Problem;
use crate::rung::{Grid, Rung, rung};
use crate::verify::Expected;
use bytemuck::{Pod, Zeroable};
use std::sync::{Arc, LazyLock};

/// Scatters `len` words through indices that are permuted inside windows of `window` places: `len` is
/// random access, 1 is what sorting by index would leave.
pub struct Scatter;

/// The params struct of every scatter kernel.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
struct Params {
    block: [u32; 3],
    pad: u32,
    len: [u32; 2],
}

static LADDER: LazyLock<Vec<Rung>> = LazyLock::new(|| {
    vec![
        rung!("scatter", "direct", block [256, 1, 1], Grid::Linear { per_block: 256 }, {
            idea: "One element per thread, to wherever its index points.".into(),
            chinese: "每个线程一个元素，写到其下标所指之处。".into(),
            because: "The first rung.".into(),
            chinese_because: "第一级。".into(),
        }),
        rung!("scatter", "in_flight", block [256, 1, 1], Grid::Linear { per_block: 1024 }, {
            idea: "Four independent elements per thread: all reads first, then all writes.".into(),
            chinese: "每个线程四个独立元素：先全部读，再全部写。".into(),
            because: "Little: nobody waits for a write.".into(),
            chinese_because: "作用很小：没有谁等待写入。".into(),
            constants: vec![("LOADS", 4)].into(),
        }),
        rung!("scatter", "atomic", block [256, 1, 1], Grid::Linear { per_block: 256 }, {
            idea: "The same by atomic exchanges, as it must be where two elements may want one place.".into(),
            chinese: "同样的写入改用原子交换：两个元素可能要同一位置时必须如此。".into(),
            because: "Slower, if anything: what atomics cost that nobody contends for.".into(),
            chinese_because: "即使有差别也是变慢：这就是没有争用时原子操作的代价。".into(),
        }),
    ]
});

impl Op for Scatter {
    fn name(&self) -> &'static str {
        "scatter"
    }

    fn about(&self) -> &'static str {
        "output[index[i]] = input[i], indices permuted inside windows: 1 is in order"
    }

    fn dims(&self) -> &'static [&'static str] {
        &["len", "window"]
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

    fn follows_indices(&self) -> bool {
        true
    }

    fn extent(&self, problem: &Problem) -> [u64; 3] {
        [problem.dim(0), 1, 1]
    }

    fn work(&self, problem: &Problem) -> Work {
        Work { bytes: 12.0 * problem.dim(0) as f64, flops: 0.0 }
    }

    fn input(&self, problem: &Problem, index: usize, seed: u64, count: u64) -> Vec<u8> {
        if index == 0 {
            return crate::random::elements(seed, 0, Element::U32, count, self.distribution());
        }
        indices(seed, count, problem.dim(1))
    }

    fn generated(&self) -> &'static str {
        "random bits; indices permuted inside windows"
    }

    fn of_size(&self, size: u64) -> Vec<u64> {
        vec![size.saturating_mul(size), size.saturating_mul(size)]
    }

    fn examples(&self) -> Vec<Vec<u64>> {
        [[1, 1], [257, 257], [1000, 64], [4096, 1], [70_001, 70_001]].map(|dims| dims.to_vec()).to_vec()
    }

    fn params(&self, problem: &Problem, place: Place) -> Vec<u8> {
        bytemuck::bytes_of(&Params { block: place.origin, pad: 0, len: words(problem.dim(0)) }).to_vec()
    }

    fn expected(&self, problem: &Problem, inputs: &[Arc<Vec<u8>>]) -> Result<Expected> {
        check_indices(self.name(), &inputs[1], problem.dim(0))?;
        let mut output = vec![0u8; inputs[0].len()];
        for (element, at) in inputs[0].chunks_exact(4).zip(inputs[1].chunks_exact(4)) {
            let at = word(at) as usize * 4;
            output[at..at + 4].copy_from_slice(element);
        }
        Ok(Expected::bytes(Shape::packed(1, problem.dim(0)), Element::U32, Arc::new(output)))
    }
}
