//! `transpose`: output[c][r] = input[r][c], the main ladder of data movement.

mod bands;
mod costs_cuda;
mod costs_wgsl;
mod estimate;
pub(super) mod facts;
mod ladder;
mod selection;
#[cfg(feature = "vendor")]
mod vendor;

use super::{Band, Op, Place, Shape, Terms, Work, words};
use crate::backend::Device;
use crate::element::Element;
use crate::error::Result;
use crate::problem::Problem;
use crate::rung::{Language, Rung};
use crate::verify::Expected;
use bytemuck::{Pod, Zeroable};
use std::sync::Arc;

/// Transposes matrices of `rows` x `cols`.
pub struct Transpose;

/// The params struct of every transpose kernel.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
pub(crate) struct Params {
    pub(crate) block: [u32; 3],
    pub(crate) rows: u32,
    pub(crate) cols: u32,
    pub(crate) input_ld: u32,
    pub(crate) output_ld: u32,
    pub(crate) batch: u32,
    pub(crate) input_offset: [u32; 2],
    pub(crate) output_offset: [u32; 2],
    pub(crate) input_stride: [u32; 2],
    pub(crate) output_stride: [u32; 2],
}

impl Op for Transpose {
    fn name(&self) -> &'static str {
        "transpose"
    }

    fn about(&self) -> &'static str {
        "output[c][r] = input[r][c]"
    }

    fn dims(&self) -> &'static [&'static str] {
        &["rows", "cols"]
    }

    fn ladder(&self) -> &'static [Rung] {
        &ladder::LADDER
    }

    #[cfg(feature = "vendor")]
    fn vendor(&self) -> &'static [Rung] {
        &vendor::ROWS
    }

    fn elements(&self) -> &'static [Element] {
        Element::ALL
    }

    fn shapes(&self, problem: &Problem) -> Result<(Vec<Shape>, Shape)> {
        let (rows, cols, batch) = (problem.dim(0), problem.dim(1), problem.batch);
        let input = Shape { batch, rows, cols, layout: problem.layout(0) };
        let output = Shape { batch, rows: cols, cols: rows, layout: problem.layout(1) };
        Ok((vec![input], output))
    }

    fn extent(&self, problem: &Problem) -> [u64; 3] {
        [problem.dim(1), problem.dim(0), problem.batch]
    }

    fn work(&self, problem: &Problem) -> Work {
        let elements = problem.dim(0) as f64 * problem.dim(1) as f64 * problem.batch as f64;
        Work { bytes: 2.0 * elements * problem.element.size() as f64, flops: 0.0 }
    }

    fn params(&self, problem: &Problem, place: Place) -> Vec<u8> {
        params(&sides(problem), place)
    }

    fn switch(&self, problem: &Problem, name: &str) -> u32 {
        facts::value(&sides(problem), problem.element, name)
    }

    fn layout(&self, problem: &Problem) -> Option<String> {
        pitches(&sides(problem))
    }

    fn terms(&self, rung: &Rung, problem: &Problem, language: Language, multiprocessors: u64) -> Option<Terms> {
        estimate::terms(rung, problem, language, multiprocessors)
    }

    fn select(&self, device: &Device, problem: &Problem) -> Option<&'static Rung> {
        selection::select(device, problem)
    }

    fn bands(&self, problem: &Problem, limit: u64, alignment: u64) -> Option<Vec<Band>> {
        bands::cut(&sides(problem), problem, limit, alignment)
    }

    fn expected(&self, problem: &Problem, inputs: &[Arc<Vec<u8>>]) -> Result<Expected> {
        expected(&sides(problem), problem.element, Arc::clone(&inputs[0]))
    }
}

/// The params of a launch on an input and an output.
pub(super) fn params((input, output): &(Shape, Shape), place: Place) -> Vec<u8> {
    let params = Params {
        block: place.origin,
        rows: input.rows as u32,
        cols: input.cols as u32,
        input_ld: input.leading_dimension() as u32,
        output_ld: output.leading_dimension() as u32,
        batch: input.batch as u32,
        input_offset: words(input.layout.offset),
        output_offset: words(output.layout.offset),
        input_stride: words(input.batch_stride()),
        output_stride: words(output.batch_stride()),
    };
    bytemuck::bytes_of(&params).to_vec()
}

/// The leading dimensions of input and output where their rows have gaps.
pub(super) fn pitches((input, output): &(Shape, Shape)) -> Option<String> {
    let [from, to] = [input, output].map(Shape::leading_dimension);
    ([from, to] != [input.cols, output.cols]).then(|| format!("ld {from}, {to}"))
}

/// The output that belongs to these input bytes.
pub(super) fn expected((from, to): &(Shape, Shape), element: Element, input: Arc<Vec<u8>>) -> Result<Expected> {
    let (from, size) = (*from, element.size() as usize);
    Ok(Expected::bits(*to, element, move |matrix, rows, out| {
        let row_bytes = from.rows as usize * size;
        for col in 0..from.rows {
            let first = from.index(matrix, col, rows.start) as usize * size;
            let run = &input[first..first + (rows.end - rows.start) as usize * size];
            for (row, element) in run.chunks_exact(size).enumerate() {
                let at = row * row_bytes + col as usize * size;
                out[at..at + size].copy_from_slice(element);
            }
        }
    }))
}

/// The shapes of input and output.
fn sides(problem: &Problem) -> (Shape, Shape) {
    let (rows, cols, batch) = (problem.dim(0), problem.dim(1), problem.batch);
    (
        Shape { batch, rows, cols, layout: problem.layout(0) },
        Shape { batch, rows: cols, cols: rows, layout: problem.layout(1) },
    )
}
