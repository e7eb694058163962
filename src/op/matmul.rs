//! `matmul`: C = alpha op(A) op(B) + beta C, row-major, the main ladder of arithmetic.

mod costs_cuda;
mod costs_wgsl;
mod error_bound;
mod estimate;
mod estimate_wgsl;
mod ladder_cooperative;
mod ladder_f32;
mod ladder_split;
mod ladder_tensor;
mod reference;
mod selection;
mod selection_tensor;
#[cfg(feature = "vendor")]
mod vendor;

use super::{Distribution, Op, Place, Shape, Terms, Work, words};
use crate::backend::Device;
use crate::element::Element;
use crate::error::Result;
use crate::problem::{Precision, Problem};
use crate::rung::{Language, Rung};
use crate::verify::Expected;
use bytemuck::{Pod, Zeroable};
use std::sync::{Arc, LazyLock};

/// Multiplies an m x k by a k x n matrix.
pub struct Matmul;

/// The params struct of every matmul kernel.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
pub(crate) struct Params {
    pub(crate) block: [u32; 3],
    pub(crate) m: u32,
    pub(crate) n: u32,
    pub(crate) k: u32,
    pub(crate) a_ld: u32,
    pub(crate) b_ld: u32,
    pub(crate) c_ld: u32,
    pub(crate) batch: u32,
    pub(crate) alpha: f32,
    pub(crate) beta: f32,
    pub(crate) a_offset: [u32; 2],
    pub(crate) b_offset: [u32; 2],
    pub(crate) c_offset: [u32; 2],
    pub(crate) a_stride: [u32; 2],
    pub(crate) b_stride: [u32; 2],
    pub(crate) c_stride: [u32; 2],
}

/// f32 by multiply-adds, then everything on matrix units.
static LADDER: LazyLock<Vec<Rung>> = LazyLock::new(|| {
    let parts = [ladder_f32::rungs(), ladder_tensor::rungs(), ladder_split::rungs(), ladder_cooperative::rungs()];
    parts.into_iter().flatten().collect()
});

/// Bytes of the widest access.
const VECTOR_BYTES: u64 = 16;

/// Whether every row of an operand starts at a whole vector.
fn aligned(shape: &Shape, element: u64) -> bool {
    let whole = |elements: u64| (elements * element).is_multiple_of(VECTOR_BYTES);
    let matrices = shape.batch <= 1 || whole(shape.batch_stride());
    whole(shape.layout.offset) && whole(shape.leading_dimension()) && matrices
}

/// Whether operand `index` runs along k.
fn along_k(inputs: &[Shape], index: usize) -> bool {
    inputs[index].layout.transposed == (index == 1)
}

/// Whether the operand on the long side is aligned, and a vector beside it too if both run along k.
fn streamed(problem: &Problem, inputs: &[Shape], thick: usize) -> bool {
    let (thin, size) = (1 - thick, problem.element.size());
    let vector = along_k(inputs, thick) && along_k(inputs, thin);
    aligned(&inputs[thick], size) && (!vector || aligned(&inputs[thin], size))
}

impl Op for Matmul {
    fn name(&self) -> &'static str {
        "matmul"
    }

    fn about(&self) -> &'static str {
        "C = alpha op(A) op(B) + beta C"
    }

    fn dims(&self) -> &'static [&'static str] {
        &["m", "n", "k"]
    }

    fn ladder(&self) -> &'static [Rung] {
        &LADDER
    }

    #[cfg(feature = "vendor")]
    fn vendor(&self) -> &'static [Rung] {
        &vendor::ROWS
    }

    fn elements(&self) -> &'static [Element] {
        &[Element::F32, Element::F16, Element::Bf16]
    }

    /// CUDA kernels of the 16-bit types tell them apart by `BF16`; WGSL has no bf16.
    fn element_words(&self, element: Element) -> (&'static str, Option<&'static str>) {
        match element {
            Element::F16 => ("unsigned short", Some("f16")),
            Element::Bf16 => ("unsigned short", None),
            _ => ("float", Some("f32")),
        }
    }

    /// f32 or the inputs' type.
    fn output_elements(&self, element: Element) -> Vec<Element> {
        if element == Element::F32 { vec![element] } else { vec![element, Element::F32] }
    }

    fn precisions(&self, element: Element) -> &'static [Precision] {
        if element == Element::F32 { Precision::ALL } else { &[Precision::Full] }
    }

    fn shapes(&self, problem: &Problem) -> Result<(Vec<Shape>, Shape)> {
        let (m, n, k, batch) = (problem.dim(0), problem.dim(1), problem.dim(2), problem.batch);
        let operand = |index: usize, rows: u64, cols: u64| {
            let layout = problem.layout(index);
            let (rows, cols) = if layout.transposed { (cols, rows) } else { (rows, cols) };
            Shape { batch, rows, cols, layout }
        };
        Ok((vec![operand(0, m, k), operand(1, k, n)], operand(2, m, n)))
    }

    fn extent(&self, problem: &Problem) -> [u64; 3] {
        [problem.dim(1), problem.dim(0), problem.batch]
    }

    fn work(&self, problem: &Problem) -> Work {
        let [m, n, k] = [0, 1, 2].map(|i| problem.dim(i) as f64);
        let batch = problem.batch as f64;
        let [input, output] = [problem.element, self.output_element(problem)].map(|element| element.size() as f64);
        let moved = (m * k + k * n) * input + m * n * output * if problem.beta == 0.0 { 1.0 } else { 2.0 };
        Work { bytes: batch * moved, flops: batch * 2.0 * m * n * k }
    }

    fn distribution(&self) -> Distribution {
        Distribution::Uniform
    }

    fn params(&self, problem: &Problem, place: Place) -> Vec<u8> {
        let Ok((inputs, c)) = self.shapes(problem) else { return Vec::new() };
        let (a, b) = (inputs[0], inputs[1]);
        let params = Params {
            block: place.origin,
            m: problem.dim(0) as u32,
            n: problem.dim(1) as u32,
            k: problem.dim(2) as u32,
            a_ld: a.leading_dimension() as u32,
            b_ld: b.leading_dimension() as u32,
            c_ld: c.leading_dimension() as u32,
            batch: problem.batch as u32,
            alpha: problem.alpha,
            beta: problem.beta,
            a_offset: words(a.layout.offset),
            b_offset: words(b.layout.offset),
            c_offset: words(c.layout.offset),
            a_stride: words(a.batch_stride()),
            b_stride: words(b.batch_stride()),
            c_stride: words(c.batch_stride()),
        };
        bytemuck::bytes_of(&params).to_vec()
    }

    /// `TRANSPOSE_x`: whether it is stored transposed. `VECTOR_x`: whether its rows start at multiples
    /// of 16 bytes; `WHOLE_x`: whether they end there too; `TMA_x`: whether a tensor map can describe
    /// it. x is `A`, `B`, `C`, `ALL` of them, or those that run along m or n (`ACROSS`). `THIN`: the
    /// lesser of m and n, and `SLIM` whether it is small; `SHALLOW`: whether k is. `THICK_B`: whether b
    /// is the operand on the other side. `THICK_K` and `THIN_K`: whether the operand on that side runs
    /// along k, and `STREAMED` whether they can be read in vectors. `K_THREADS`: 32 where the thick
    /// operand runs along k, 16 where it does not. `SAME_LAYOUT`, `MIXED_LAYOUT`: whether both inputs or
    /// one of them is stored transposed. `BF16`, `OUTPUT_F32`: whether the inputs or the output have that type.
    fn switch(&self, problem: &Problem, question: &str) -> u32 {
        let Ok((inputs, c)) = self.shapes(problem) else { return 0 };
        let (m, n) = (problem.dim(0), problem.dim(1));
        let thick = usize::from(n > m);
        match question {
            "THIN" => return m.min(n).min(u32::MAX.into()) as u32,
            "BF16" => return (problem.element == Element::Bf16).into(),
            "SAME_LAYOUT" => return (problem.layout(0).transposed == problem.layout(1).transposed).into(),
            "MIXED_LAYOUT" => return (problem.layout(0).transposed != problem.layout(1).transposed).into(),
            "OUTPUT_F32" => return (self.output_element(problem) == Element::F32).into(),
            "SHALLOW" => return (problem.dim(2) <= ladder_f32::MOST_SHALLOW).into(),
            "DEEP" => return (problem.dim(2) >= ladder_cooperative::LEAST_DEEP).into(),
            "ALONG_A" => return (!problem.layout(0).transposed).into(),
            "ALONG_B" => return problem.layout(1).transposed.into(),
            "FEW_ROWS" => return (m <= ladder_tensor::FEW.1.into()).into(),
            "SOME_ROWS" => return (m <= ladder_tensor::SOME.1.into()).into(),
            "SLIM" => return (m.min(n) <= ladder_f32::MOST_THIN).into(),
            "THICK_K" => return along_k(&inputs, thick).into(),
            "THIN_K" => return along_k(&inputs, 1 - thick).into(),
            "THICK_B" => return (thick == 1).into(),
            "STREAMED" => return streamed(problem, &inputs, thick).into(),
            "K_THREADS" => return if along_k(&inputs, thick) { 32 } else { 16 },
            _ => {}
        }
        let Some((what, operand)) = question.rsplit_once('_') else { return 0 };
        let (input, output) = (problem.element.size(), self.output_element(problem).size());
        let all = [(inputs[0], input), (inputs[1], input), (c, output)];
        let across = [inputs[0].layout.transposed, !inputs[1].layout.transposed, true];
        let asked = all.iter().enumerate().filter(|(index, _)| match operand {
            "A" | "B" | "C" => ["A", "B", "C"][*index] == operand,
            "ACROSS" => across[*index],
            _ => true,
        });
        let answer = |&(shape, size): &(Shape, u64)| match what {
            "TRANSPOSE" => shape.layout.transposed,
            "VECTOR" => aligned(&shape, size),
            "WHOLE" => aligned(&shape, size) && (shape.cols * size).is_multiple_of(VECTOR_BYTES),
            "TMA" => aligned(&shape, size) && !shape.is_empty(),
            _ => false,
        };
        asked.map(|(_, shape)| shape).all(answer).into()
    }

    fn terms(&self, rung: &Rung, problem: &Problem, language: Language, multiprocessors: u64) -> Option<Terms> {
        estimate::terms(rung, problem, language, multiprocessors)
    }

    fn select(&self, device: &Device, problem: &Problem) -> Option<&'static Rung> {
        match (problem.element, problem.precision) {
            (Element::F32, Precision::Full) => selection::select(device, problem),
            _ => selection_tensor::select(device, problem),
        }
    }

    fn layout(&self, problem: &Problem) -> Option<String> {
        Some([0, 1].map(|operand| if problem.layout(operand).transposed { 'T' } else { 'N' }).iter().collect())
    }

    fn occurs(&self, element: Element, setting: &[(String, u32)]) -> bool {
        let value = |name: &str| setting.iter().find(|(n, _)| n == name).map(|(_, value)| *value);
        if value("BF16").is_some_and(|bf16| (bf16 == 1) != (element == Element::Bf16)) {
            return false;
        }
        // How many threads share k follows from the layout of the large operand.
        let Some((threads, few_rows)) = value("K_THREADS").zip(value("FEW_ROWS")) else { return true };
        let along_k = if few_rows == 1 { value("TRANSPOSE_B") == Some(1) } else { value("TRANSPOSE_A") == Some(0) };
        (threads == 32) == along_k
    }

    fn reads_output(&self, problem: &Problem) -> bool {
        problem.beta != 0.0
    }

    fn expected(&self, problem: &Problem, inputs: &[Arc<Vec<u8>>]) -> Result<Expected> {
        reference::expected(self, problem, inputs)
    }
}
