//! `gather`: reads that follow an index array.

use super::{Op, Place, Shape, Work, word, words};
use crate::element::Element;
use crate::error::{Error, Result};
use crate::problem::Problem;
use crate::random::permuted;
use crate::rung::{Grid, Rung, rung};
use crate::verify::Expected;
use bytemuck::{Pod, Zeroable};
use rayon::prelude::*;
use std::sync::{Arc, LazyLock};

/// Gathers `len` words through indices that are permuted inside windows of `window` places: `len` is
/// random access, 1 is what sorting by index would leave.
pub struct Gather;

/// The params struct of every gather kernel.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
struct Params {
    block: [u32; 3],
    pad: u32,
    len: [u32; 2],
}

static LADDER: LazyLock<Vec<Rung>> = LazyLock::new(|| {
    vec![
        rung!("gather", "direct", block [256, 1, 1], Grid::Linear { per_block: 256 }, {
            idea: "One element per thread, from wherever its index points.".into(),
            chinese: "每个线程一个元素，取自其下标所指之处。".into(),
            because: "The first rung.".into(),
            chinese_because: "第一级。".into(),
        }),
        rung!("gather", "in_flight", block [256, 1, 1], Grid::Linear { per_block: 1024 }, {
            idea: "Four independent elements per thread: indices first, then reads, then writes.".into(),
            chinese: "每个线程四个独立元素：先取下标，再读，后写。".into(),
            because: "Four random reads of a thread are under way at a time.".into(),
            chinese_because: "一个线程同时有四次随机读取在途。".into(),
            constants: vec![("LOADS", 4)].into(),
        }),
    ]
});

impl Op for Gather {
    fn name(&self) -> &'static str {
        "gather"
    }

    fn about(&self) -> &'static str {
        "output[i] = input[index[i]], indices permuted inside windows: 1 is in order"
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
        let input: &[u8] = &inputs[0];
        let mut output = vec![0u8; input.len()];
        output.par_chunks_exact_mut(4).zip(inputs[1].par_chunks_exact(4)).for_each(|(out, at)| {
            let at = word(at) as usize * 4;
            out.copy_from_slice(&input[at..at + 4]);
        });
        Ok(Expected::bytes(Shape::packed(1, problem.dim(0)), Element::U32, Arc::new(output)))
    }
}

/// Refuses indices that are not below `count`.
pub(super) fn check_indices(op: &str, indices: &[u8], count: u64) -> Result<()> {
    let outside = |(_, at): &(usize, u32)| u64::from(*at) >= count;
    match indices.chunks_exact(4).map(word).enumerate().find(outside) {
        None => Ok(()),
        Some((place, at)) => Err(Error::shape(op, format!("index {at} at place {place}; the elements are {count}"))),
    }
}

/// Indices below `count`, permuted inside windows of `window` places.
pub(super) fn indices(seed: u64, count: u64, window: u64) -> Vec<u8> {
    let window = window.clamp(1, count.max(1));
    let mut bytes = vec![0u8; count as usize * 4];
    bytes.par_chunks_exact_mut(4).enumerate().for_each(|(place, out)| {
        let first = place as u64 / window * window;
        let at = first + permuted(seed ^ first, place as u64 - first, window.min(count - first));
        out.copy_from_slice(&(at as u32).to_le_bytes());
    });
    bytes
}
