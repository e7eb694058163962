//! Matrices in host memory: what goes up, and what comes back.

use crate::element::Element;
use crate::error::{Error, Result, product};
use std::borrow::Cow;

mod sealed {
    pub trait Sealed {}
}

/// A Rust type that a matrix element can have.
pub trait Scalar: bytemuck::Pod + Default + sealed::Sealed + Send + Sync {
    /// The element type.
    const ELEMENT: Element;
}

macro_rules! scalars {
    ($($rust:ty = $element:ident),* $(,)?) => {$(
        impl sealed::Sealed for $rust {}
        impl Scalar for $rust {
            const ELEMENT: Element = Element::$element;
        }
    )*};
}

scalars! {
    f32 = F32, f64 = F64, half::f16 = F16, half::bf16 = Bf16, i8 = I8, u8 = U8, i16 = I16, u16 = U16,
    i32 = I32, u32 = U32, i64 = I64, u64 = U64, u128 = B128,
}

/// One or several matrices of one shape in host memory, packed, in row-major order.
#[derive(Debug, Clone, PartialEq)]
pub struct HostMatrix<T> {
    batch: u64,
    rows: u64,
    cols: u64,
    elements: Vec<T>,
}

impl<T: Scalar> HostMatrix<T> {
    /// A matrix of these elements, row by row.
    ///
    /// # Errors
    /// [`Error::Shape`] where there are more or fewer than `rows * cols`, [`Error::Overflow`].
    pub fn new(rows: u64, cols: u64, elements: impl Into<Vec<T>>) -> Result<Self> {
        Self::new_batch(1, rows, cols, elements)
    }

    /// `batch` matrices, one after the other.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn new_batch(batch: u64, rows: u64, cols: u64, elements: impl Into<Vec<T>>) -> Result<Self> {
        let elements = elements.into();
        let expected = product("a host matrix", &[batch, rows, cols])?;
        if elements.len() as u64 != expected {
            return Err(Error::shape(
                "a host matrix",
                format!("{} elements given, its shape takes {expected}", elements.len()),
            ));
        }
        Ok(HostMatrix { batch, rows, cols, elements })
    }

    /// The matrix whose elements `element(row, column)` gives.
    ///
    /// # Errors
    /// [`Error::Overflow`].
    pub fn from_fn(rows: u64, cols: u64, mut element: impl FnMut(u64, u64) -> T) -> Result<Self> {
        product("a host matrix", &[rows, cols, T::ELEMENT.size()])?;
        let elements: Vec<T> =
            (0..rows).flat_map(|row| (0..cols).map(move |col| (row, col))).map(|(r, c)| element(r, c)).collect();
        Self::new(rows, cols, elements)
    }

    /// The matrix of little-endian bytes, as they come from a device.
    pub(super) fn from_bytes(batch: u64, rows: u64, cols: u64, bytes: &[u8]) -> Result<Self> {
        let mut elements = vec![T::default(); bytes.len() / size_of::<T>()];
        bytemuck::cast_slice_mut(&mut elements).copy_from_slice(bytes);
        Self::new_batch(batch, rows, cols, elements)
    }

    /// Matrices.
    pub fn batch(&self) -> u64 {
        self.batch
    }

    /// Rows of a matrix.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Columns of a matrix.
    pub fn cols(&self) -> u64 {
        self.cols
    }

    /// The elements, row by row.
    pub fn elements(&self) -> &[T] {
        &self.elements
    }

    /// The elements, row by row.
    pub fn into_elements(self) -> Vec<T> {
        self.elements
    }

    /// An element of the first matrix; `None` outside of it.
    pub fn get(&self, row: u64, col: u64) -> Option<T> {
        let inside = self.batch > 0 && row < self.rows && col < self.cols;
        inside.then(|| self.elements.get((row * self.cols + col) as usize).copied()).flatten()
    }
}

/// The bytes of packed, row-major matrices in host memory, of any element type.
#[derive(Debug, Clone, PartialEq)]
pub struct Packed<'a> {
    /// The element type.
    pub element: Element,
    /// Matrices.
    pub batch: u64,
    /// Rows of a matrix.
    pub rows: u64,
    /// Columns of a matrix.
    pub cols: u64,
    /// The elements' bytes, little-endian, row by row.
    pub bytes: Cow<'a, [u8]>,
}

impl Packed<'_> {
    /// Refuses a number of bytes that is not that of the shape.
    pub(super) fn check(&self) -> Result<()> {
        let expected = product("a host matrix", &[self.batch, self.rows, self.cols, self.element.size()])?;
        if self.bytes.len() as u64 == expected {
            return Ok(());
        }
        Err(Error::shape("a host matrix", format!("{} bytes given, its shape takes {expected}", self.bytes.len())))
    }
}

/// What can be uploaded.
pub trait ToDevice {
    /// Its elements, packed row by row; borrowed where they lie like that already.
    ///
    /// # Errors
    /// [`Error::Shape`] for what has no such form.
    fn packed(&self) -> Result<Packed<'_>>;
}

impl ToDevice for Packed<'_> {
    fn packed(&self) -> Result<Packed<'_>> {
        Ok(Packed { bytes: Cow::Borrowed(&self.bytes), ..*self })
    }
}

impl<T: Scalar> ToDevice for HostMatrix<T> {
    fn packed(&self) -> Result<Packed<'_>> {
        let bytes = Cow::Borrowed(bytemuck::cast_slice(&self.elements));
        Ok(Packed { element: T::ELEMENT, batch: self.batch, rows: self.rows, cols: self.cols, bytes })
    }
}

impl<T: Scalar, const ROWS: usize, const COLS: usize> ToDevice for [[T; COLS]; ROWS] {
    fn packed(&self) -> Result<Packed<'_>> {
        let bytes = Cow::Borrowed(bytemuck::cast_slice(self.as_flattened()));
        Ok(Packed { element: T::ELEMENT, batch: 1, rows: ROWS as u64, cols: COLS as u64, bytes })
    }
}

#[cfg(feature = "npy")]
impl ToDevice for crate::npy::Matrix {
    fn packed(&self) -> Result<Packed<'_>> {
        let bytes = Cow::Borrowed(&self.bytes[..]);
        Ok(Packed { element: self.element, batch: 1, rows: self.rows, cols: self.cols, bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_that_the_elements_do_not_fill_is_refused_with_both_counts() {
        for count in [99, 101] {
            let error = HostMatrix::new(10, 10, vec![0f32; count]).unwrap_err().to_string();
            assert!(error.contains(&count.to_string()) && error.contains("100"), "{error}");
        }
        assert!(matches!(HostMatrix::<f32>::new(1 << 40, 1 << 40, vec![]), Err(Error::Overflow { .. })));
    }

    #[test]
    fn elements_are_where_rows_and_columns_say() {
        let m = HostMatrix::from_fn(2, 3, |row, col| (10 * row + col) as i32).unwrap();
        assert_eq!(m.elements(), [0, 1, 2, 10, 11, 12]);
        assert_eq!((m.get(1, 2), m.get(2, 0), m.get(0, 3)), (Some(12), None, None));
        assert_eq!(*m.packed().unwrap().bytes, *[[0, 1, 2], [10, 11, 12]].packed().unwrap().bytes);
    }
}
