//! `multiply_add`: the ceiling of arithmetic. Every element goes through many multiply-adds, so that
//! memory does not matter and the units decide.

use super::{Distribution, Op, Place, Shape, Work, words};
use crate::element::Element;
use crate::error::Result;
use crate::problem::Problem;
use crate::rung::{Grid, Rung, rung};
use crate::verify::Expected;
use bytemuck::{Pod, Zeroable};
use rayon::prelude::*;
use std::sync::{Arc, LazyLock, OnceLock};

/// Applies `x * factor + summand` to each of `len` elements, 2048 times.
pub struct MultiplyAdd;

/// Multiply-adds of one element.
const ROUNDS: u32 = 2048;
/// Both are f16 values; together they draw every value towards 1/2, slowly enough that the input
/// still decides the output, and keep what began within 1 there.
const FACTOR: f32 = 1.0 - 1.0 / 1024.0;
const SUMMAND: f32 = 1.0 / 2048.0;

/// The params struct of every kernel of this op.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
struct Params {
    block: [u32; 3],
    factor: f32,
    summand: f32,
    reserved: u32,
    len: [u32; 2],
}

static LADDER: LazyLock<Vec<Rung>> = LazyLock::new(|| {
    let chains = |chains: u32, variant: &'static str, [because, chinese_because]: [&'static str; 2]| {
        let mut rung = rung!("multiply_add", "chains", block [256, 1, 1], Grid::Linear { per_block: 256 }, {
            variant: variant.into(),
            idea: "A thread runs CHAINS chains of multiply-adds that do not depend on each other.".into(),
            chinese: "每个线程运行 CHAINS 条互不依赖的乘加链。".into(),
            because: because.into(),
            chinese_because: chinese_because.into(),
            constants: vec![("CHAINS", chains), ("ROUNDS", ROUNDS)].into(),
            element_sizes: (&[4, 8]).into(),
        });
        rung.passes.to_mut()[0].grid = Grid::Linear { per_block: 256 * chains };
        rung
    };
    vec![
        chains(
            1,
            "1",
            ["The first rung: every multiply-add waits for the one before.", "第一级：每次乘加都等待前一次。"],
        ),
        chains(
            2,
            "2",
            ["While one chain waits for its result, the other issues.", "一条链等待结果时，另一条可以发出指令。"],
        ),
        chains(
            8,
            "8",
            [
                "More independent work than the latency can hide from; a thread needs no company.",
                "独立的工作超过延迟所需；一个线程不需要同伴。",
            ],
        ),
        rung!("multiply_add", "packed", no wgsl "WGSL leaves the pairing of f16 values to the driver", block [256, 1, 1], Grid::Linear { per_block: 4096 }, {
            idea: "Two f16 values share a register, and one instruction works on both.".into(),
            chinese: "两个 f16 共用一个寄存器，一条指令同时处理。".into(),
            because: "Half the instructions for the same operations.".into(),
            chinese_because: "同样的运算只用一半的指令。".into(),
            constants: vec![("CHAINS", 8), ("ROUNDS", ROUNDS)].into(),
            element_sizes: (&[2]).into(),
            wgsl_element_sizes: (&[]).into(),
        }),
    ]
});

impl Op for MultiplyAdd {
    fn name(&self) -> &'static str {
        "multiply_add"
    }

    fn about(&self) -> &'static str {
        "output = input after 2048 multiply-adds of each element"
    }

    fn dims(&self) -> &'static [&'static str] {
        &["len"]
    }

    fn ladder(&self) -> &'static [Rung] {
        &LADDER
    }

    fn elements(&self) -> &'static [Element] {
        &[Element::F32, Element::F64, Element::F16]
    }

    fn element_words(&self, element: Element) -> (&'static str, Option<&'static str>) {
        match element {
            Element::F64 => ("double", None),
            Element::F16 => ("unsigned short", None),
            _ => ("float", Some("f32")),
        }
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
        Work { bytes: 2.0 * len * problem.element.size() as f64, flops: 2.0 * len * f64::from(ROUNDS) }
    }

    fn distribution(&self) -> Distribution {
        Distribution::Uniform
    }

    fn params(&self, problem: &Problem, place: Place) -> Vec<u8> {
        let params =
            Params { block: place.origin, factor: FACTOR, summand: SUMMAND, reserved: 0, len: words(problem.dim(0)) };
        bytemuck::bytes_of(&params).to_vec()
    }

    fn expected(&self, problem: &Problem, inputs: &[Arc<Vec<u8>>]) -> Result<Expected> {
        let element = problem.element;
        let size = element.size() as usize;
        let inputs = inputs[0].par_chunks_exact(size).take(problem.dim(0) as usize);
        let (factor, summand) = (f64::from(FACTOR), f64::from(SUMMAND));
        if element == Element::F16 {
            return Ok(Expected::bounded(
                Shape::packed(1, problem.dim(0)),
                element,
                halves(inputs),
                vec![0.0; problem.dim(0) as usize],
            ));
        }
        // x after n rounds is the fixed point plus the distance to it times FACTOR to the n. No value
        // is above 1 on the way, so each of at most 2n roundings (a product and a sum) adds at most a
        // unit roundoff, which later rounds only shrink; the power here takes as many in f64.
        let fixed = summand / (1.0 - factor);
        let shrunk = factor.powi(ROUNDS as i32);
        let value = |bytes: &[u8]| fixed + (element.to_f64(bytes).unwrap_or(f64::NAN) - fixed) * shrunk;
        let values: Vec<f64> = inputs.map(value).collect();
        let roundoff = element.unit_roundoff().unwrap_or(0.0) + Element::F64.unit_roundoff().unwrap_or(0.0);
        let bounds = vec![2.0 * f64::from(ROUNDS) * roundoff; values.len()];
        Ok(Expected::bounded(Shape::packed(1, problem.dim(0)), element, values, bounds))
    }
}

/// The outputs of f16 inputs, to the bit: a product and sum of three f16 values are exact in f64, so
/// that rounding once is the fused operation. Each of the few input values is computed once.
fn halves<'a>(inputs: impl IndexedParallelIterator<Item = &'a [u8]>) -> Vec<f64> {
    let known: Vec<OnceLock<f64>> = vec![OnceLock::new(); 1 << 16];
    let after = |bits: u16| {
        let start = half::f16::from_bits(bits).to_f64();
        (0..ROUNDS).fold(start, |x, _| half::f16::from_f64(x * f64::from(FACTOR) + f64::from(SUMMAND)).to_f64())
    };
    let value = |bytes: &[u8]| {
        let bits = u16::from_le_bytes([bytes[0], bytes[1]]);
        *known[usize::from(bits)].get_or_init(|| after(bits))
    };
    inputs.map(value).collect()
}
