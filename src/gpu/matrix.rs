//! Matrices in device memory, and views of them.

use super::pool::Block;
use crate::backend::{Any, Backend};
use crate::element::Element;
use crate::error::{Error, Result};
use crate::op::Shape;
use crate::problem::Layout;
use std::marker::PhantomData;
use std::ops::Range;
#[cfg(any(feature = "wgpu", feature = "cuda"))]
use {super::Shared, std::sync::Arc};

/// Where the elements of a matrix (or of several of one shape) lie in a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) element: Element,
    pub(super) batch: u64,
    /// Rows and columns as they are stored; a transposed view has them the other way round.
    pub(super) stored_rows: u64,
    pub(super) stored_cols: u64,
    pub(super) ld: u64,
    pub(super) stride: u64,
    pub(super) offset: u64,
    pub(super) transposed: bool,
}

impl Place {
    pub(super) fn packed(element: Element, batch: u64, rows: u64, cols: u64) -> Self {
        Place {
            element,
            batch,
            stored_rows: rows,
            stored_cols: cols,
            ld: cols,
            stride: rows.saturating_mul(cols),
            offset: 0,
            transposed: false,
        }
    }

    /// Where a shape with a layout lies.
    #[cfg(any(feature = "wgpu", feature = "cuda"))]
    fn of(element: Element, shape: Shape) -> Self {
        Place {
            ld: shape.leading_dimension(),
            stride: shape.batch_stride(),
            offset: shape.layout.offset,
            transposed: shape.layout.transposed,
            ..Place::packed(element, shape.batch, shape.rows, shape.cols)
        }
    }

    pub(super) fn rows(&self) -> u64 {
        if self.transposed { self.stored_cols } else { self.stored_rows }
    }

    pub(super) fn cols(&self) -> u64 {
        if self.transposed { self.stored_rows } else { self.stored_cols }
    }

    pub(super) fn t(self) -> Self {
        Place { transposed: !self.transposed, ..self }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.batch == 0 || self.stored_rows == 0 || self.stored_cols == 0
    }

    /// As the ops see the stored matrix.
    pub(super) fn shape(&self) -> Shape {
        Shape { batch: self.batch, rows: self.stored_rows, cols: self.stored_cols, layout: self.layout() }
    }

    pub(super) fn layout(&self) -> Layout {
        Layout {
            leading_dimension: Some(self.ld),
            offset: self.offset,
            batch_stride: Some(self.stride),
            transposed: self.transposed,
        }
    }

    /// Whether its elements follow each other without gaps.
    pub(super) fn is_dense(&self) -> bool {
        let rows = self.stored_rows <= 1 || self.ld == self.stored_cols;
        rows && (self.batch <= 1 || self.stride == self.stored_rows * self.stored_cols)
    }

    /// The first and the last byte (exclusive) in its buffer.
    ///
    /// # Errors
    /// [`Error::Overflow`].
    pub(super) fn bytes(&self) -> Result<Range<u64>> {
        let size = self.element.size();
        let start = crate::error::product("a view", &[self.offset, size])?;
        if self.is_empty() {
            return Ok(start..start);
        }
        Ok(start..crate::error::product("a view", &[self.shape().span("a view")?, size])?)
    }

    fn part(self, rows: Range<u64>, cols: Range<u64>) -> Result<Self> {
        let inside = |name: &str, range: &Range<u64>, all: u64| {
            if range.start <= range.end && range.end <= all {
                return Ok(());
            }
            Err(Error::shape("a view", format!("{name} {}..{} of {all}", range.start, range.end)))
        };
        inside("rows", &rows, self.rows())?;
        inside("columns", &cols, self.cols())?;
        let (down, across) = if self.transposed { (cols, rows) } else { (rows, cols) };
        let offset = self.offset + down.start * self.ld + across.start;
        let (stored_rows, stored_cols) = (down.end - down.start, across.end - across.start);
        Ok(Place { stored_rows, stored_cols, offset, ..self })
    }

    fn one(self, index: u64) -> Result<Self> {
        if index >= self.batch {
            return Err(Error::shape("a view", format!("matrix {index} of {}", self.batch)));
        }
        Ok(Place { batch: 1, offset: self.offset + index * self.stride, ..self })
    }
}

/// One or several matrices of one shape in device memory. Dropping it gives the memory back to the
/// handle it came from, which hands it out again.
pub struct Matrix<B: Backend = Any> {
    pub(super) block: Block<B>,
    pub(super) place: Place,
}

/// Matrices to be read: a whole [`Matrix`], part of one, or one seen transposed. Nothing is copied.
pub struct MatrixView<'a, B: Backend = Any> {
    pub(super) block: &'a Block<B>,
    pub(super) place: Place,
}

/// Matrices to be written.
pub struct MatrixViewMut<'a, B: Backend = Any> {
    pub(super) block: &'a Block<B>,
    pub(super) place: Place,
    exclusive: PhantomData<&'a mut Block<B>>,
}

impl<B: Backend> Clone for MatrixView<'_, B> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<B: Backend> Copy for MatrixView<'_, B> {}

macro_rules! shape_of {
    ($type:ty $(, $lifetime:lifetime)?) => {
        impl<$($lifetime,)? B: Backend> $type {
            /// The element type.
            pub fn element(&self) -> Element {
                self.place.element
            }

            /// Matrices.
            pub fn batch(&self) -> u64 {
                self.place.batch
            }

            /// Rows of a matrix.
            pub fn rows(&self) -> u64 {
                self.place.rows()
            }

            /// Columns of a matrix.
            pub fn cols(&self) -> u64 {
                self.place.cols()
            }

            /// Elements between the starts of two stored rows.
            pub fn leading_dimension(&self) -> u64 {
                self.place.ld
            }

            /// Elements of the buffer before the first one.
            pub fn offset(&self) -> u64 {
                self.place.offset
            }

            /// Elements between the starts of two matrices.
            pub fn batch_stride(&self) -> u64 {
                self.place.stride
            }

            /// Whether its rows are stored as columns.
            pub fn is_transposed(&self) -> bool {
                self.place.transposed
            }

            /// The backend's buffer that holds the elements.
            pub fn buffer(&self) -> &B::Buffer {
                self.block.buffer()
            }
        }

        impl<$($lifetime,)? B: Backend> std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let Place { element, batch, ld, offset, transposed, .. } = self.place;
                write!(f, "{batch} x {} x {} {element} (ld {ld}, offset {offset}", self.rows(), self.cols())?;
                f.write_str(if transposed { ", transposed)" } else { ")" })
            }
        }
    };
}

shape_of!(Matrix<B>);
shape_of!(MatrixView<'a, B>, 'a);
shape_of!(MatrixViewMut<'a, B>, 'a);

impl<B: Backend> Matrix<B> {
    /// Matrices in a buffer that is not the pool's.
    #[cfg(any(feature = "wgpu", feature = "cuda"))]
    pub(super) fn foreign(
        shared: &Arc<Shared<B>>,
        buffer: B::Buffer,
        bytes: u64,
        element: Element,
        shape: Shape,
    ) -> Result<Self> {
        let what = "a wrapped buffer";
        shape.check(what)?;
        let place = Place::of(element, shape);
        let end = place.bytes()?.end;
        if end.checked_next_multiple_of(16).is_none_or(|needed| needed > bytes) {
            return Err(Error::shape(
                what,
                format!("it has {bytes} bytes, and the matrix reaches to {end}, in whole vectors"),
            ));
        }
        Ok(Matrix { block: Block::foreign(shared, buffer, bytes), place })
    }

    /// All of it.
    pub fn view(&self) -> MatrixView<'_, B> {
        MatrixView { block: &self.block, place: self.place }
    }

    /// All of it, to be written.
    pub fn view_mut(&mut self) -> MatrixViewMut<'_, B> {
        MatrixViewMut { block: &self.block, place: self.place, exclusive: PhantomData }
    }

    /// The transposed matrix, without moving anything.
    pub fn t(&self) -> MatrixView<'_, B> {
        self.view().t()
    }

    /// The matrix itself stored anew: rows become columns from here on, without moving anything.
    pub fn into_t(mut self) -> Self {
        self.place = self.place.t();
        self
    }
}

impl<'a, B: Backend> MatrixView<'a, B> {
    /// The transposed view.
    pub fn t(self) -> Self {
        MatrixView { place: self.place.t(), ..self }
    }

    /// These rows and columns (of every matrix).
    ///
    /// # Errors
    /// [`Error::Shape`] where they are not part of it.
    pub fn part(self, rows: Range<u64>, cols: Range<u64>) -> Result<Self> {
        Ok(MatrixView { place: self.place.part(rows, cols)?, ..self })
    }

    /// One matrix of a batch.
    ///
    /// # Errors
    /// [`Error::Shape`] where there are fewer.
    pub fn one(self, index: u64) -> Result<Self> {
        Ok(MatrixView { place: self.place.one(index)?, ..self })
    }
}

impl<'a, B: Backend> MatrixViewMut<'a, B> {
    /// The transposed view: what is written to it is stored transposed.
    pub fn t(self) -> Self {
        MatrixViewMut { place: self.place.t(), ..self }
    }

    /// These rows and columns (of every matrix).
    ///
    /// # Errors
    /// [`Error::Shape`] where they are not part of it.
    pub fn part(self, rows: Range<u64>, cols: Range<u64>) -> Result<Self> {
        Ok(MatrixViewMut { place: self.place.part(rows, cols)?, ..self })
    }

    /// One matrix of a batch.
    ///
    /// # Errors
    /// [`Error::Shape`] where there are fewer.
    pub fn one(self, index: u64) -> Result<Self> {
        Ok(MatrixViewMut { place: self.place.one(index)?, ..self })
    }
}

impl<'a, B: Backend> From<&'a Matrix<B>> for MatrixView<'a, B> {
    fn from(matrix: &'a Matrix<B>) -> Self {
        matrix.view()
    }
}

impl<'a, B: Backend> From<&'a mut Matrix<B>> for MatrixViewMut<'a, B> {
    fn from(matrix: &'a mut Matrix<B>) -> Self {
        matrix.view_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_transposed_views_are_parts_of_what_is_stored() {
        let whole = Place::packed(Element::F32, 1, 10, 20);
        let part = whole.part(2..5, 4..8).unwrap();
        assert_eq!((part.rows(), part.cols(), part.offset, part.ld), (3, 4, 44, 20));
        let turned = whole.t().part(4..8, 2..5).unwrap();
        assert_eq!((turned.rows(), turned.cols(), turned.offset, turned.t()), (4, 3, 44, part));
        assert_eq!(part.bytes().unwrap(), 176..(44 + 2 * 20 + 4) * 4);
        let backwards = std::ops::Range { start: 3, end: 2 };
        assert!(whole.part(0..11, 0..1).is_err() && whole.part(0..1, backwards).is_err());
    }

    #[test]
    fn one_matrix_of_a_batch() {
        let batch = Place::packed(Element::F16, 3, 4, 5);
        assert_eq!(batch.one(2).unwrap().offset, 40);
        assert!(batch.one(3).is_err());
        assert!(batch.is_dense() && !batch.part(0..4, 0..4).unwrap().is_dense());
    }
}
