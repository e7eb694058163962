//! `reduce`: the sum of all elements, in f32.

use super::{Distribution, Op, Place, Shape, Work, words};
use crate::element::Element;
use crate::error::{Error, Result};
use crate::problem::Problem;
use crate::rung::{Grid, Operand, Pass, Rung, Workspace, rung};
use crate::verify::{Expected, rounding};
use bytemuck::{Pod, Zeroable};
use std::sync::{Arc, LazyLock};

/// Sums `len` elements.
pub struct Reduce;

/// The params struct of every reduce kernel.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
struct Params {
    block: [u32; 3],
    blocks: u32,
    len: [u32; 2],
}

/// A rung adds at most `ceil(len / LANES) + LEVELS` values one after the other; this chain, not the
/// length, bounds its error.
const LANES: u64 = 256;
const LEVELS: u64 = 64;

static LADDER: LazyLock<Vec<Rung>> = LazyLock::new(|| {
    vec![
        rung!("reduce", "one_pass", block [256, 1, 1], Grid::Fixed { blocks: 1 }, {
            idea: "One block walks over the array and adds its partial sums in a tree.".into(),
            because: "The first rung.".into(),
            shared_elements: 256,
        }),
        rung!("reduce", "two_pass", block [256, 1, 1], Grid::LinearAtMost { per_block: 256, max: 1024 }, {
            idea: "Many blocks leave a partial sum each; a second launch adds those.".into(),
            because: "All multiprocessors read at once.".into(),
            passes: vec![
                Pass {
                    suffix: "partials".into(),
                    block: [256, 1, 1],
                    grid: Grid::LinearAtMost { per_block: 256, max: 1024 },
                    bindings: Some(vec![Operand::Input(0), Operand::WorkspaceOut(0)].into()),
                    dynamic_shared: None,
                    kernel: None,
                },
                Pass {
                    suffix: "total".into(),
                    block: [256, 1, 1],
                    grid: Grid::Fixed { blocks: 1 },
                    bindings: Some(vec![Operand::WorkspaceIn(0), Operand::Output(0)].into()),
                    dynamic_shared: None,
                    kernel: None,
                },
            ]
            .into(),
            workspace: (&[Workspace::PerBlock(4)]).into(),
            shared_elements: 256,
        }),
    ]
});

impl Op for Reduce {
    fn name(&self) -> &'static str {
        "reduce"
    }

    fn about(&self) -> &'static str {
        "output[0] = sum of input"
    }

    fn dims(&self) -> &'static [&'static str] {
        &["len"]
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
        if problem.dim(0) == 0 {
            return Err(Error::shape("reduce", "0 elements have no sum to write; the least is 1"));
        }
        Ok((vec![Shape::packed(1, problem.dim(0))], Shape::packed(1, 1)))
    }

    fn extent(&self, problem: &Problem) -> [u64; 3] {
        [problem.dim(0), 1, 1]
    }

    fn work(&self, problem: &Problem) -> Work {
        let len = problem.dim(0) as f64;
        Work { bytes: 4.0 * len + 4.0, flops: (len - 1.0).max(0.0) }
    }

    fn distribution(&self) -> Distribution {
        Distribution::Uniform
    }

    fn params(&self, problem: &Problem, place: Place) -> Vec<u8> {
        let params = Params { block: place.origin, blocks: place.first_pass_blocks as u32, len: words(problem.dim(0)) };
        bytemuck::bytes_of(&params).to_vec()
    }

    fn expected(&self, problem: &Problem, inputs: &[Arc<Vec<u8>>]) -> Result<Expected> {
        let len = problem.dim(0);
        let values = inputs[0]
            .chunks_exact(4)
            .take(len as usize)
            .map(|b| f64::from(f32::from_le_bytes([b[0], b[1], b[2], b[3]])));
        let (sum, magnitude) = values.fold((0.0, 0.0), |(s, m), v| (s + v, m + v.abs()));
        let chain = len.div_ceil(LANES) + LEVELS;
        // |computed - exact| <= gamma(chain) * sum |x|: Higham, Accuracy and Stability of Numerical Algorithms, 4.2.
        let bound = rounding(chain, Element::F32) * magnitude;
        Ok(Expected::bounded(Shape::packed(1, 1), Element::F32, vec![sum], vec![bound]))
    }
}
