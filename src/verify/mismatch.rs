//! What a comparison says: how much was compared, and what was wrong.

use std::fmt;

/// How much of an output was compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Coverage {
    /// Every element, bit for bit.
    Bits,
    /// Every element, within its bound.
    Whole,
    /// So many elements within their bounds, and every row through a random projection.
    Sampled {
        /// Elements compared one by one.
        elements: u64,
    },
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Coverage::Bits => write!(f, "every bit"),
            Coverage::Whole => write!(f, "every element"),
            Coverage::Sampled { elements } => write!(f, "{elements} elements and every row's projection"),
        }
    }
}

/// What was wrong with an output.
#[derive(Debug, Clone, PartialEq)]
pub enum Mismatch {
    /// An element with a wrong value.
    Wrong {
        /// Matrix, row and column.
        at: (u64, u64, u64),
        /// The value found.
        got: String,
        /// The right one.
        expected: String,
        /// Wrong elements in all.
        count: u64,
    },
    /// An element that still holds the poison.
    Unwritten {
        /// Matrix, row and column.
        at: (u64, u64, u64),
        /// Wrong elements in all, unwritten or not.
        count: u64,
    },
    /// A byte outside the matrix that was changed, counted from the matrix's first byte.
    Stray {
        /// Bytes from the first element (negative: before it).
        offset: i64,
    },
    /// Nothing, this time: the rung is wrong by design.
    ByDesign {
        /// What is wrong with it.
        because: String,
    },
    /// A row whose projection is off: some element of it is wrong.
    Projection {
        /// Matrix and row.
        at: (u64, u64),
        /// The value found.
        got: f64,
        /// The right one.
        expected: f64,
    },
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mismatch::Wrong { at: (matrix, row, col), got, expected, count } => {
                write!(f, "element ({row}, {col}) of matrix {matrix} is {got}, expected {expected}; {count} wrong")
            }
            Mismatch::Unwritten { at: (matrix, row, col), count } => {
                write!(f, "element ({row}, {col}) of matrix {matrix} was not written; {count} wrong")
            }
            Mismatch::Stray { offset } => {
                write!(f, "a byte outside the matrix was written, {offset} bytes from its first")
            }
            Mismatch::ByDesign { because } => write!(f, "right in this run, and wrong by design: {because}"),
            Mismatch::Projection { at: (matrix, row), got, expected } => {
                write!(f, "row {row} of matrix {matrix} projects to {got}, expected {expected}")
            }
        }
    }
}
