//! `ndarray` in and out: views with any strides go up, arrays come down.

use super::host::{HostMatrix, Packed, Scalar, ToDevice};
use crate::error::{Error, Result};
use ndarray::{Array2, Array3, ArrayBase, Data, Dimension, Ix2, Ix3};
use std::borrow::Cow;

/// The elements in the order of the indices; borrowed where they lie like that.
fn bytes<T: Scalar, S: Data<Elem = T>, D: Dimension>(array: &ArrayBase<S, D>) -> Cow<'_, [u8]> {
    match array.as_slice() {
        Some(elements) => Cow::Borrowed(bytemuck::cast_slice(elements)),
        None => Cow::Owned(array.iter().flat_map(|element| bytemuck::bytes_of(element).iter().copied()).collect()),
    }
}

impl<T: Scalar, S: Data<Elem = T>> ToDevice for ArrayBase<S, Ix2> {
    fn packed(&self) -> Result<Packed<'_>> {
        let (rows, cols) = self.dim();
        Ok(Packed { element: T::ELEMENT, batch: 1, rows: rows as u64, cols: cols as u64, bytes: bytes(self) })
    }
}

/// The first index counts matrices.
impl<T: Scalar, S: Data<Elem = T>> ToDevice for ArrayBase<S, Ix3> {
    fn packed(&self) -> Result<Packed<'_>> {
        let (batch, rows, cols) = self.dim();
        let [batch, rows, cols] = [batch, rows, cols].map(|n| n as u64);
        Ok(Packed { element: T::ELEMENT, batch, rows, cols, bytes: bytes(self) })
    }
}

/// [`Error::Shape`] for more than one matrix.
impl<T: Scalar> TryFrom<HostMatrix<T>> for Array2<T> {
    type Error = Error;
    fn try_from(matrix: HostMatrix<T>) -> Result<Self> {
        if matrix.batch() != 1 {
            return Err(Error::shape("a two-dimensional array", format!("{} matrices", matrix.batch())));
        }
        let shape = (matrix.rows() as usize, matrix.cols() as usize);
        Array2::from_shape_vec(shape, matrix.into_elements())
            .map_err(|error| Error::shape("a two-dimensional array", error.to_string()))
    }
}

impl<T: Scalar> TryFrom<HostMatrix<T>> for Array3<T> {
    type Error = Error;
    fn try_from(matrix: HostMatrix<T>) -> Result<Self> {
        let shape = (matrix.batch() as usize, matrix.rows() as usize, matrix.cols() as usize);
        Array3::from_shape_vec(shape, matrix.into_elements())
            .map_err(|error| Error::shape("a three-dimensional array", error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_strides_go_up_in_the_order_of_the_indices() {
        let array = Array2::from_shape_fn((4, 6), |(r, c)| (10 * r + c) as f32);
        let numbers = |packed: Packed<'_>| bytemuck::pod_collect_to_vec::<u8, f32>(&packed.bytes);
        assert!(matches!(array.packed().unwrap().bytes, Cow::Borrowed(_)));
        let turned = array.t();
        assert_eq!(numbers(turned.packed().unwrap())[..5], [0.0, 10.0, 20.0, 30.0, 1.0]);
        let back = array.slice(ndarray::s![..;-2, 1..4]);
        assert_eq!(numbers(back.packed().unwrap()), [31.0, 32.0, 33.0, 11.0, 12.0, 13.0]);
        let matrix = HostMatrix::new(4, 6, array.as_slice().unwrap()).unwrap();
        assert_eq!(Array2::try_from(matrix).unwrap(), array);
    }
}
