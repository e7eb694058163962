//! A problem: one op on matrices of given shapes, layouts and element type.

use crate::element::Element;

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

/// One op on matrices of given shapes, layouts and element type. The op says what its dimensions
/// mean ([`Op::dims`](crate::op::Op::dims)).
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    /// The element type.
    pub element: Element,
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
        Problem { element, dims: dims.into(), batch: 1, layouts: Vec::new(), alpha: 1.0, beta: 0.0 }
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

    /// The layout of operand `index`.
    pub fn layout(&self, index: usize) -> Layout {
        self.layouts.get(index).copied().unwrap_or_default()
    }

    /// Dimension `index`, 0 where there is none.
    pub fn dim(&self, index: usize) -> u64 {
        self.dims.get(index).copied().unwrap_or(0)
    }
}
