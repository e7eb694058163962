//! How an operand lies in memory.

use crate::error::{Error, Result, product};
use crate::problem::Layout;

/// The shape of one operand in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Matrices.
    pub batch: u64,
    /// Rows of a matrix.
    pub rows: u64,
    /// Elements of a row.
    pub cols: u64,
    /// Where they lie.
    pub layout: Layout,
}

impl Shape {
    /// One packed matrix.
    pub fn packed(rows: u64, cols: u64) -> Self {
        Shape { batch: 1, rows, cols, layout: Layout::default() }
    }

    /// Elements between the starts of two rows.
    pub fn leading_dimension(&self) -> u64 {
        self.layout.leading_dimension.unwrap_or(self.cols)
    }

    /// Elements between the starts of two matrices.
    pub fn batch_stride(&self) -> u64 {
        self.layout.batch_stride.unwrap_or(self.rows.saturating_mul(self.leading_dimension()))
    }

    /// Elements that are part of a matrix.
    pub fn len(&self) -> u64 {
        self.batch.saturating_mul(self.rows).saturating_mul(self.cols)
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.batch == 0 || self.rows == 0 || self.cols == 0
    }

    /// Elements from the buffer's first to the last one that is part of a matrix.
    ///
    /// # Errors
    /// [`Error::Overflow`].
    pub fn span(&self, what: &str) -> Result<u64> {
        if self.is_empty() {
            return Ok(self.layout.offset);
        }
        let matrices = product(what, &[self.batch - 1, self.batch_stride()])?;
        let rows = product(what, &[self.rows - 1, self.leading_dimension()])?;
        let terms = [self.layout.offset, matrices, rows, self.cols];
        terms
            .iter()
            .try_fold(0u64, |sum, &t| sum.checked_add(t))
            .ok_or_else(|| Error::Overflow { what: what.into(), factors: terms.map(|t| t.to_string()).join(" + ") })
    }

    /// The index in the buffer of an element.
    pub fn index(&self, matrix: u64, row: u64, col: u64) -> u64 {
        self.layout.offset + matrix * self.batch_stride() + row * self.leading_dimension() + col
    }

    /// Checks leading dimension and batch stride, and that a kernel's 32-bit fields hold them.
    pub(crate) fn check(&self, what: &str) -> Result<()> {
        let ld = self.leading_dimension();
        if ld < self.cols {
            return Err(Error::shape(
                what,
                format!("leading dimension {ld} is below its minimum, {} columns", self.cols),
            ));
        }
        let matrix = product(what, &[self.rows, ld])?;
        if self.batch > 1 && self.batch_stride() < matrix.saturating_sub(ld - self.cols) {
            return Err(Error::shape(
                what,
                format!("batch stride {} is below one matrix, {matrix} elements", self.batch_stride()),
            ));
        }
        for (name, value) in
            [("rows", self.rows), ("columns", self.cols), ("leading dimension", ld), ("matrices", self.batch)]
        {
            if value > u32::MAX.into() {
                return Err(Error::shape(what, format!("{value} {name}; the most is {}", u32::MAX)));
            }
        }
        Ok(())
    }
}
