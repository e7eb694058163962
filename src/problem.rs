//! A problem: one op on matrices of given shapes, layouts and element type.

use crate::element::Element;
use crate::error::{Error, Result};
use std::fmt;
use std::str::FromStr;

/// How one operand lies in its buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Layout {
    /// Elements between the starts of two rows; `None` for packed rows.
    pub leading_dimension: Option<u64>,
    /// Elements before the first one.
    pub offset: u64,
    /// Elements between the starts of two matrices of a batch; `None` for packed matrices.
    pub batch_stride: Option<u64>,
    /// Whether the matrix is stored transposed (operands of a product only).
    pub transposed: bool,
}

/// What a product makes of its elements before it multiplies them. A kernel of one precision never
/// stands in for another: the caller asks for it by name, and the bound of verification follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Precision {
    /// Every bit of the elements counts.
    #[default]
    Full,
    /// f32 elements are rounded to 11 significant bits (TF32).
    Tf32,
    /// f32 elements are two TF32 (3xTF32): 22 significant bits, three products.
    SplitTf32,
    /// f32 elements are two f16, scaled by a power of two per operand: 22 significant bits, three
    /// products. Elements below 2^-17 of the operand's largest one keep fewer; none may reach 2^75.
    SplitF16,
    /// f32 elements are three bf16: 24 significant bits, six products.
    SplitBf16,
}

impl Precision {
    /// Every precision.
    pub const ALL: &'static [Precision] =
        &[Precision::Full, Precision::Tf32, Precision::SplitTf32, Precision::SplitF16, Precision::SplitBf16];

    /// The name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Precision::Full => "full",
            Precision::Tf32 => "tf32",
            Precision::SplitTf32 => "split-tf32",
            Precision::SplitF16 => "split-f16",
            Precision::SplitBf16 => "split-bf16",
        }
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Precision {
    type Err = Error;
    fn from_str(word: &str) -> Result<Self> {
        Precision::ALL.iter().copied().find(|p| p.name() == word).ok_or_else(|| Error::Unknown {
            kind: "precision",
            word: word.into(),
            known: Precision::ALL.iter().map(|p| p.name().to_string()).collect(),
        })
    }
}

/// One op on matrices of given shapes, layouts and element type. The op says what its dimensions
/// mean ([`Op::dims`](crate::op::Op::dims)).
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    /// The element type of the inputs.
    pub element: Element,
    /// The element type of the output; `None` for that of the inputs.
    pub output: Option<Element>,
    /// What is made of the elements before they are multiplied.
    pub precision: Precision,
    /// The dimensions, in the op's order.
    pub dims: Vec<u64>,
    /// Matrices.
    pub batch: u64,
    /// The operands' layouts, inputs and then outputs; missing ones are packed.
    pub layouts: Vec<Layout>,
    /// The factor of a product.
    pub alpha: f32,
    /// The factor of the old output.
    pub beta: f32,
}

impl Problem {
    /// Packed matrices of one element type.
    pub fn new(element: Element, dims: impl Into<Vec<u64>>) -> Self {
        Problem {
            element,
            output: None,
            precision: Precision::Full,
            dims: dims.into(),
            batch: 1,
            layouts: Vec::new(),
            alpha: 1.0,
            beta: 0.0,
        }
    }

    /// The same with a layout for operand `index` (inputs, then outputs).
    pub fn with_layout(mut self, index: usize, layout: Layout) -> Self {
        if self.layouts.len() <= index {
            self.layouts.resize(index + 1, Layout::default());
        }
        self.layouts[index] = layout;
        self
    }

    /// The same for `batch` matrices.
    pub fn with_batch(mut self, batch: u64) -> Self {
        self.batch = batch;
        self
    }

    /// The same with an output of another element type.
    pub fn with_output(mut self, element: Element) -> Self {
        self.output = Some(element);
        self
    }

    /// The same in another precision.
    pub fn with_precision(mut self, precision: Precision) -> Self {
        self.precision = precision;
        self
    }

    /// The layout of operand `index`.
    pub fn layout(&self, index: usize) -> Layout {
        self.layouts.get(index).copied().unwrap_or_default()
    }

    /// Dimension `index`, 0 where there is none.
    pub fn dim(&self, index: usize) -> u64 {
        self.dims.get(index).copied().unwrap_or(0)
    }

    /// Its types in the words of a report: `f32`, `f32 as tf32`, `f16 to f32`.
    pub fn types(&self) -> String {
        let mut text = self.element.name().to_string();
        if self.precision != Precision::Full {
            text.push_str(&format!(" as {}", self.precision));
        }
        match self.output {
            Some(output) if output != self.element => text.push_str(&format!(" to {output}")),
            _ => {}
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_tells_types_and_precision() {
        let problem = Problem::new(Element::F32, [1, 1, 1]);
        assert_eq!(problem.types(), "f32");
        assert_eq!(problem.with_precision(Precision::Tf32).types(), "f32 as tf32");
        assert_eq!(Problem::new(Element::F16, [1]).with_output(Element::F32).types(), "f16 to f32");
        assert_eq!(Problem::new(Element::F16, [1]).with_output(Element::F16).types(), "f16");
    }

    #[test]
    fn names_round_trip() {
        for &precision in Precision::ALL {
            assert_eq!(precision.name().parse::<Precision>(), Ok(precision));
        }
        assert!("fast".parse::<Precision>().is_err());
    }
}
