//! The ops: what each computes, the least work it takes, its reference and its ladder.
//!
//! An op is one file here, its kernels, and its line in [`OPS`]. It knows shapes and numbers; it
//! does not know backends.

mod estimate;
mod fit;
mod programs;
mod shape;

use crate::backend::Device;
use crate::element::{Element, moving_word};
use crate::error::{Error, Result, product};
use crate::problem::{Precision, Problem};
use crate::random;
use crate::rung::{Language, Rung};
use crate::verify::Expected;
use crate::words::Said;
use std::any::{Any, TypeId};
use std::sync::Arc;

pub use estimate::Terms;
pub use fit::{Band, Window, accepts, parts, runs};
pub(crate) use programs::pass_operands;
pub use programs::{pass_switches, program, shipped_programs};
pub use shape::Shape;
pub use spmv::{Sparse, read_matrix_market};

/// Declares each op's module and exports its type; [`OPS`] holds them in the same order.
///
/// `cargo fmt` alone does not follow modules that a macro declares: `cargo fmt -- src/op/*.rs` does.
macro_rules! ops {
    ($($module:ident::$op:ident,)*) => {
        $(
            pub(crate) mod $module;
            pub use $module::$op;
        )*

        /// Every op, in the order in which it is best learnt.
        pub const OPS: &[&dyn Op] = &[$(&$op),*];
    };
}

ops! {
    copy::Copy,
    transpose::Transpose,
    transpose_in_place::TransposeInPlace,
    matmul::Matmul,
    reduce::Reduce,
    multiply_add::MultiplyAdd,
    shared_read::SharedRead,
    convolve::Convolve,
    shared::Shared,
    gather::Gather,
    scatter::Scatter,
    fields::Fields,
    branch::Branch,
    occupancy::Occupancy,
    registers::Registers,
    spmv::Spmv,
    hierarchy_latency::HierarchyLatency,
    hierarchy_bandwidth::HierarchyBandwidth,
    hierarchy_constant::HierarchyConstant,
    double_buffer::DoubleBuffer,
    consistency::Consistency,
}

/// Whether a row is one that this crate ships for an op, as it ships it: its kernels were reviewed and tested with that
/// row and that op's params.
pub(crate) fn ships(op: &dyn Op, rung: &Rung) -> bool {
    OPS.iter().any(|shipped| {
        type_of(*shipped) == type_of(op) && [shipped.ladder(), shipped.vendor()].iter().any(|rows| rows.contains(rung))
    })
}

/// What tells ops apart, also those of one name.
pub(crate) fn type_of(op: &dyn Op) -> TypeId {
    (op as &dyn Any).type_id()
}

/// The op called `name`.
///
/// # Errors
/// [`Error::Unknown`] with the nearest name.
pub fn find(name: &str) -> Result<&'static dyn Op> {
    OPS.iter().copied().find(|op| op.name() == name).ok_or_else(|| Error::Unknown {
        kind: "op",
        word: name.into(),
        known: OPS.iter().map(|op| op.name().to_string()).collect(),
    })
}

/// The least work of a problem: what any correct kernel must do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Work {
    /// Bytes read and written once each.
    pub bytes: f64,
    /// Arithmetic operations (a multiply-add counts two).
    pub flops: f64,
}

/// What fills the inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Distribution {
    /// Every bit pattern, NaNs and subnormals among them: for ops that move data.
    Bits,
    /// Uniform in [-1, 1), rounded to the element type.
    Uniform,
}

impl Distribution {
    /// The words in a report.
    pub const fn name(self) -> &'static str {
        match self {
            Distribution::Bits => "random bits",
            Distribution::Uniform => "uniform [-1, 1)",
        }
    }
}

/// The rung's place in a launch that params depend on.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// The first block of this launch.
    pub origin: [u32; 3],
    /// Blocks of the first pass, in all.
    pub first_pass_blocks: u64,
}

/// An operation: shapes, least work, reference, error bound, ladder.
pub trait Op: Any + Sync {
    /// The word on the command line, in file names and in reports.
    fn name(&self) -> &'static str;

    /// What it computes, in a sentence.
    fn about(&self) -> &'static str;

    /// The names of its dimensions, in the order of [`Problem::dims`].
    fn dims(&self) -> &'static [&'static str];

    /// The rungs, from the first to the top.
    fn ladder(&self) -> &'static [Rung];

    /// Rows of a vendor's library, which are no rungs: what ours are measured against.
    fn vendor(&self) -> &'static [Rung] {
        &[]
    }

    /// The element types it is defined for.
    fn elements(&self) -> &'static [Element];

    /// The words for the element type in CUDA and WGSL kernels.
    fn element_words(&self, element: Element) -> (&'static str, Option<&'static str>) {
        moving_word(element.size())
    }

    /// The types that the output's elements may have, for inputs of a type; the first is the one of
    /// a problem that does not say.
    fn output_elements(&self, element: Element) -> Vec<Element> {
        vec![element]
    }

    /// The type of the output's elements.
    fn output_element(&self, problem: &Problem) -> Element {
        let own = || self.output_elements(problem.element).first().copied().unwrap_or(problem.element);
        problem.output.unwrap_or_else(own)
    }

    /// The precisions in which it multiplies elements of a type.
    fn precisions(&self, _element: Element) -> &'static [Precision] {
        &[Precision::Full]
    }

    /// The shapes of the inputs and of the output.
    ///
    /// # Errors
    /// [`Error::Shape`] or [`Error::Overflow`] for a problem that has none.
    fn shapes(&self, problem: &Problem) -> Result<(Vec<Shape>, Shape)>;

    /// What a grid is laid over: columns, rows and matrices.
    fn extent(&self, problem: &Problem) -> [u64; 3];

    /// The least work.
    fn work(&self, problem: &Problem) -> Work;

    /// What fills the inputs.
    fn distribution(&self) -> Distribution {
        Distribution::Bits
    }

    /// The type of the elements of input `index`: the problem's own, unless the input holds indices.
    fn input_element(&self, _index: usize, element: Element) -> Element {
        element
    }

    /// Whether its kernels go where elements of its inputs say (an index, the start of a row). Such an op runs on inputs
    /// whose reference the host has computed ([`Session::stage`](crate::Session::stage)), which refuses what leads out of
    /// its operands, and not on matrices of a [`Gpu`](crate::gpu::Gpu), which nobody has looked at.
    fn follows_indices(&self) -> bool {
        false
    }

    /// `count` generated elements of input `index`, in bytes: of the op's [distribution](Self::distribution),
    /// unless they must be indices, say.
    fn input(&self, problem: &Problem, index: usize, seed: u64, count: u64) -> Vec<u8> {
        random::elements(seed, index as u64, self.input_element(index, problem.element), count, self.distribution())
    }

    /// What [`input`](Self::input) makes, in the words of a report.
    fn generated(&self) -> &'static str {
        self.distribution().name()
    }

    /// What a time comes to in the op's own unit, where bytes and operations of the least work do not tell: the
    /// nanoseconds of a hop, say. The dimensions are those of [`Problem::dims`].
    fn told(&self, _dims: &[u64], _ns: f64) -> Option<Said> {
        None
    }

    /// The dimensions of a problem whose matrices are `size` x `size`; a vector has as many elements.
    fn of_size(&self, size: u64) -> Vec<u64> {
        let vector = size.saturating_mul(size);
        self.dims().iter().map(|name| if *name == "len" { vector } else { size }).collect()
    }

    /// The bytes of the params struct. A kernel reaches as far as they say, and a CUDA kernel into any memory of its
    /// context: an op of one's own with CUDA rungs vouches for them by [`Rung::vouched_for`].
    fn params(&self, problem: &Problem, place: Place) -> Vec<u8>;

    /// The answer to a switch's question for this problem, mostly 0 or 1. A binding starts at a multiple of 256 bytes.
    fn switch(&self, _problem: &Problem, _name: &str) -> u32 {
        0
    }

    /// Whether some problem of this element type gives its switches these values together.
    fn occurs(&self, _element: Element, _setting: &[(String, u32)]) -> bool {
        true
    }

    /// The rung to take for a problem on a device where nobody asks for another: measured, or the
    /// likeliest where nothing was. `None` where the op has no opinion.
    fn select(&self, _device: &Device, _problem: &Problem) -> Option<&'static Rung> {
        None
    }

    /// What the time of a rung is estimated from, where selecting asks for estimates: terms to be weighed.
    /// `None` where this rung has none for this problem.
    fn terms(&self, _rung: &Rung, _problem: &Problem, _language: Language, _multiprocessors: u64) -> Option<Terms> {
        None
    }

    /// Parts of a problem whose operands' windows are of at most `limit` bytes and start at multiples
    /// of `alignment` bytes; `None` where it cannot be cut so.
    fn bands(&self, _problem: &Problem, _limit: u64, _alignment: u64) -> Option<Vec<Band>> {
        None
    }

    /// How the operands lie, in the letters of a report: which are stored transposed, or the leading
    /// dimensions; `None` where there is nothing to tell.
    fn layout(&self, _problem: &Problem) -> Option<String> {
        None
    }

    /// Dimensions of small problems at which a kernel may go wrong: single elements, whole tiles,
    /// tiles and one more. Tests verify every rung at each of them.
    fn examples(&self) -> Vec<Vec<u64>> {
        let examples: &[&[u64]] = match self.dims().len() {
            1 => &[&[1], &[3], &[4], &[255], &[256], &[257], &[1023], &[1024], &[1025], &[70_001], &[1_000_003]],
            2 => &[&[1, 1], &[31, 33], &[64, 64], &[128, 192], &[127, 130], &[200, 7], &[5, 300], &[1, 257]],
            _ => &[&[1, 1, 1], &[35, 79, 19], &[64, 64, 96], &[33, 17, 130], &[128, 128, 32]],
        };
        examples.iter().map(|dims| dims.to_vec()).collect()
    }

    /// Whether the old output takes part in the new one.
    fn reads_output(&self, _problem: &Problem) -> bool {
        false
    }

    /// The right output for these operands (whole buffers, as uploaded): the inputs, and the old
    /// output where the op [reads it](Self::reads_output).
    fn expected(&self, problem: &Problem, inputs: &[Arc<Vec<u8>>]) -> Result<Expected>;

    /// Everything above that can be wrong about a problem, checked once.
    ///
    /// # Errors
    /// [`Error::Shape`], [`Error::Overflow`] or [`Error::Unsupported`].
    fn check(&self, problem: &Problem) -> Result<(Vec<Shape>, Shape)> {
        if !self.elements().contains(&problem.element) {
            return Err(Error::unsupported(
                format!("{} of {}", self.name(), problem.element),
                format!("it takes {}", self.elements().iter().map(|e| e.name()).collect::<Vec<_>>().join(", ")),
            ));
        }
        let refuse = |known: Vec<String>| {
            Err(Error::unsupported(
                format!("{} of {}", self.name(), problem.types()),
                format!("it takes {}", known.join(", ")),
            ))
        };
        let outputs = self.output_elements(problem.element);
        if !outputs.contains(&self.output_element(problem)) {
            return refuse(outputs.iter().map(|output| format!("{} to {output}", problem.element)).collect());
        }
        let precisions = self.precisions(problem.element);
        if !precisions.contains(&problem.precision) {
            return refuse(precisions.iter().map(|precision| format!("{} as {precision}", problem.element)).collect());
        }
        if problem.dims.len() != self.dims().len() {
            return Err(Error::shape(
                self.name(),
                format!(
                    "{} dimensions given, {} expected ({})",
                    problem.dims.len(),
                    self.dims().len(),
                    self.dims().join(", ")
                ),
            ));
        }
        let (inputs, output) = self.shapes(problem)?;
        for (index, shape) in inputs.iter().enumerate() {
            shape.check(&format!("{} input {index}", self.name()))?;
            let element = self.input_element(index, problem.element);
            product(self.name(), &[shape.span(self.name())?, element.size()])?;
        }
        output.check(&format!("{} output", self.name()))?;
        product(self.name(), &[output.span(self.name())?, self.output_element(problem).size()])?;
        Ok((inputs, output))
    }
}

/// A 64-bit field of a params struct, low word first.
pub(crate) fn words(value: u64) -> [u32; 2] {
    [value as u32, (value >> 32) as u32]
}

/// The word that a buffer begins with.
pub(crate) fn word(bytes: &[u8]) -> u32 {
    bytes.first_chunk::<4>().map_or(0, |b| u32::from_le_bytes(*b))
}

/// A CUDA device of the size of an H200, for tests of what is selected on one.
#[cfg(test)]
pub(crate) fn test_device(capability: (u32, u32)) -> Device {
    use crate::backend::Limits;
    let limits = Limits {
        threads_per_block: 1024,
        block: [1024, 1024, 64],
        grid: [i32::MAX as u32, 65_535, 65_535],
        shared_static: 48 << 10,
        shared_dynamic: if capability >= (9, 0) { 227 << 10 } else { 96 << 10 },
        buffer: 1 << 37,
        binding: 1 << 37,
        binding_alignment: 256,
        bindings: 64,
    };
    Device {
        compute_capability: Some(capability),
        multiprocessors: Some(132),
        ..Device::new("cuda", "a device", limits)
    }
}
