//! The operands of a problem: their shapes and the bytes they take.

use crate::element::Element;
use crate::error::Result;
use crate::op::{Op, Shape};
use crate::problem::{Layout, Problem};
use crate::rung::{Matrices, Operand, Stored};

/// A binding's last word is whole, and vectors may be read whole: views are rounded up to this.
const VIEW_ALIGNMENT: u64 = 16;

/// A problem that its op has checked, with the shapes of its operands.
pub(crate) struct Operands {
    pub op: &'static dyn Op,
    pub problem: Problem,
    pub inputs: Vec<Shape>,
    pub output: Shape,
}

impl Operands {
    /// Checks a problem.
    pub fn new(op: &'static dyn Op, problem: &Problem) -> Result<Self> {
        let (inputs, output) = op.check(problem)?;
        Ok(Operands { op, problem: problem.clone(), inputs, output })
    }

    /// The shape and element type of an operand that is not workspace.
    pub fn of(&self, operand: Operand) -> (Shape, Element) {
        match operand {
            Operand::Input(index) => (self.inputs[index], self.input_element(index)),
            _ => (self.output, self.output_element()),
        }
    }

    /// The shape and element type of an input's matrices in another form.
    pub fn again(&self, form: Matrices) -> (Shape, Element) {
        let (stored, element) = (self.inputs[form.input], form.element.unwrap_or(self.problem.element));
        let transposed = match form.stored {
            Stored::AsInput => stored.layout.transposed,
            Stored::As(other) => self.inputs[other].layout.transposed,
            Stored::Transposed(transposed) => transposed,
        };
        let turned = transposed != stored.layout.transposed;
        let (rows, cols) = if turned { (stored.cols, stored.rows) } else { (stored.rows, stored.cols) };
        let leading_dimension = Some(cols.next_multiple_of(VIEW_ALIGNMENT / element.size()));
        let layout = Layout { leading_dimension, transposed, ..Layout::default() };
        (Shape { batch: stored.batch * u64::from(form.parts), rows, cols, layout }, element)
    }

    pub fn input_element(&self, index: usize) -> Element {
        self.op.input_element(index, self.problem.element)
    }

    pub fn output_element(&self) -> Element {
        self.op.output_element(&self.problem)
    }

    /// The bytes of an input, from its buffer's start to the end of its last element.
    pub fn input_bytes(&self, index: usize) -> Result<u64> {
        Ok(self.inputs[index].span(self.op.name())? * self.input_element(index).size())
    }

    pub fn output_bytes(&self) -> Result<u64> {
        Ok(self.output.span(self.op.name())? * self.output_element().size())
    }

    /// The bytes of an input as a kernel is given it.
    pub fn input_view_bytes(&self, index: usize) -> Result<u64> {
        Ok(view_bytes(self.input_bytes(index)?))
    }

    pub fn output_view_bytes(&self) -> Result<u64> {
        Ok(view_bytes(self.output_bytes()?))
    }

    /// The bytes of all operands as kernels are given them, in order, the output last.
    pub fn views(&self) -> Result<Vec<u64>> {
        let inputs = (0..self.inputs.len()).map(|index| self.input_view_bytes(index));
        inputs.chain([self.output_view_bytes()]).collect()
    }
}

fn view_bytes(bytes: u64) -> u64 {
    bytes.next_multiple_of(VIEW_ALIGNMENT).max(VIEW_ALIGNMENT)
}
