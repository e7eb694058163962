//! Up to the device, and down from it.

use super::host::{HostMatrix, Scalar, ToDevice};
use super::matrix::{Matrix, MatrixView, Place};
use super::{Gpu, Shared};
use crate::backend::Backend;
use crate::element::Element;
use crate::error::{Error, Result, product};
use std::sync::Arc;

/// Backends move whole words.
const WORD: u64 = 4;

impl<B: Backend> Gpu<B> {
    /// A matrix on the device with the elements of one on the host.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::Limit`]; what the source or the device reports.
    pub async fn upload_async(&self, matrix: &(impl ToDevice + ?Sized)) -> Result<Matrix<B>> {
        let packed = matrix.packed()?;
        packed.check()?;
        let made = self.empty_batch_async(packed.element, packed.batch, packed.rows, packed.cols).await?;
        let (whole, rest) = packed.bytes.split_at(packed.bytes.len() / WORD as usize * WORD as usize);
        let backend = self.shared.session.backend();
        if !whole.is_empty() {
            self.shared.noting(backend.upload(made.buffer(), 0, whole).await)?;
        }
        if !rest.is_empty() {
            let mut last = [0u8; WORD as usize];
            last[..rest.len()].copy_from_slice(rest);
            self.shared.noting(backend.upload(made.buffer(), whole.len() as u64, &last).await)?;
        }
        Ok(made)
    }

    /// A matrix of unspecified content, to be written to.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::Limit`], [`Error::Overflow`].
    pub async fn empty_async(&self, element: Element, rows: u64, cols: u64) -> Result<Matrix<B>> {
        self.empty_batch_async(element, 1, rows, cols).await
    }

    /// `batch` matrices of unspecified content.
    ///
    /// # Errors
    /// As [`empty_async`](Self::empty_async).
    pub async fn empty_batch_async(&self, element: Element, batch: u64, rows: u64, cols: u64) -> Result<Matrix<B>> {
        let bytes = product("a matrix", &[batch, rows, cols, element.size()])?;
        let place = Place::packed(element, batch, rows, cols);
        Ok(Matrix { block: self.shared.block(bytes).await?, place })
    }

    /// A matrix of zeros.
    ///
    /// # Errors
    /// As [`empty_async`](Self::empty_async).
    pub async fn zeros_async(&self, element: Element, rows: u64, cols: u64) -> Result<Matrix<B>> {
        self.zeros_batch_async(element, 1, rows, cols).await
    }

    /// `batch` matrices of zeros.
    ///
    /// # Errors
    /// As [`empty_async`](Self::empty_async).
    pub async fn zeros_batch_async(&self, element: Element, batch: u64, rows: u64, cols: u64) -> Result<Matrix<B>> {
        let made = self.empty_batch_async(element, batch, rows, cols).await?;
        let bytes = made.place.bytes()?.end.next_multiple_of(WORD);
        if bytes > 0 {
            self.shared.noting(self.shared.session.backend().fill(made.buffer(), 0, bytes, 0).await)?;
        }
        Ok(made)
    }

    /// The elements of a matrix or view, packed, after all work queued so far.
    ///
    /// # Errors
    /// [`Error::Shape`] where the elements are not of type `T`; what the device reports.
    pub async fn download_async<'a, T: Scalar>(&self, matrix: impl Into<MatrixView<'a, B>>) -> Result<HostMatrix<T>> {
        let view = matrix.into();
        if view.element() != T::ELEMENT {
            return Err(Error::shape(
                "a download",
                format!("{} elements asked of a matrix of {}", T::ELEMENT, view.element()),
            ));
        }
        let (batch, rows, cols) = (view.batch(), view.rows(), view.cols());
        HostMatrix::from_bytes(batch, rows, cols, &self.download_bytes_async(view).await?)
    }

    /// The bytes of the elements of a matrix or view, packed, after all work queued so far.
    ///
    /// # Errors
    /// What the device reports.
    pub async fn download_bytes_async<'a>(&self, matrix: impl Into<MatrixView<'a, B>>) -> Result<Vec<u8>> {
        let view = matrix.into();
        self.own(view.block)?;
        self.shared.usable()?;
        let place = view.place;
        if place.is_empty() {
            return Ok(Vec::new());
        }
        let bytes = place.bytes()?;
        let first = bytes.start / WORD * WORD;
        let mut read = vec![0u8; (bytes.end.next_multiple_of(WORD) - first) as usize];
        self.shared.noting(self.shared.session.backend().download(view.buffer(), first, &mut read).await)?;
        read.drain(..(bytes.start - first) as usize);
        read.truncate((bytes.end - bytes.start) as usize);
        Ok(gather(&place, read))
    }
}

/// The elements of a place in packed order, from the bytes between its first and its last one.
fn gather(place: &Place, bytes: Vec<u8>) -> Vec<u8> {
    if place.is_dense() && !place.transposed {
        return bytes;
    }
    let size = place.element.size();
    let at = |matrix: u64, row: u64, col: u64| ((matrix * place.stride + row * place.ld + col) * size) as usize;
    let mut packed = Vec::with_capacity((place.batch * place.stored_rows * place.stored_cols * size) as usize);
    for matrix in 0..place.batch {
        if place.transposed {
            for col in 0..place.stored_cols {
                for row in 0..place.stored_rows {
                    packed.extend(&bytes[at(matrix, row, col)..][..size as usize]);
                }
            }
        } else {
            for row in 0..place.stored_rows {
                packed.extend(&bytes[at(matrix, row, 0)..][..(place.stored_cols * size) as usize]);
            }
        }
    }
    packed
}

/// The same for threads that wait.
#[cfg(not(target_arch = "wasm32"))]
impl<B: Backend> Gpu<B> {
    /// A matrix on the device with the elements of one on the host.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::Limit`]; what the source or the device reports.
    pub fn upload(&self, matrix: &(impl ToDevice + ?Sized)) -> Result<Matrix<B>> {
        super::wait(self.upload_async(matrix))
    }

    /// A matrix of unspecified content, to be written to.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::Limit`], [`Error::Overflow`].
    pub fn empty(&self, element: Element, rows: u64, cols: u64) -> Result<Matrix<B>> {
        super::wait(self.empty_async(element, rows, cols))
    }

    /// `batch` matrices of unspecified content.
    ///
    /// # Errors
    /// As [`empty`](Self::empty).
    pub fn empty_batch(&self, element: Element, batch: u64, rows: u64, cols: u64) -> Result<Matrix<B>> {
        super::wait(self.empty_batch_async(element, batch, rows, cols))
    }

    /// `batch` matrices of zeros.
    ///
    /// # Errors
    /// As [`empty`](Self::empty).
    pub fn zeros_batch(&self, element: Element, batch: u64, rows: u64, cols: u64) -> Result<Matrix<B>> {
        super::wait(self.zeros_batch_async(element, batch, rows, cols))
    }

    /// A matrix of zeros.
    ///
    /// # Errors
    /// As [`empty`](Self::empty).
    pub fn zeros(&self, element: Element, rows: u64, cols: u64) -> Result<Matrix<B>> {
        super::wait(self.zeros_async(element, rows, cols))
    }

    /// The elements of a matrix or view, packed, after all work queued so far.
    ///
    /// # Errors
    /// [`Error::Shape`] where the elements are not of type `T`; what the device reports.
    pub fn download<'a, T: Scalar>(&self, matrix: impl Into<MatrixView<'a, B>>) -> Result<HostMatrix<T>> {
        super::wait(self.download_async(matrix))
    }

    /// The bytes of the elements of a matrix or view, packed, after all work queued so far.
    ///
    /// # Errors
    /// What the device reports.
    pub fn download_bytes<'a>(&self, matrix: impl Into<MatrixView<'a, B>>) -> Result<Vec<u8>> {
        super::wait(self.download_bytes_async(matrix))
    }

    /// Waits until everything queued so far is done.
    ///
    /// # Errors
    /// What the device reports of it.
    pub fn finish(&self) -> Result<()> {
        super::wait(self.finish_async())
    }
}

impl<B: Backend> Gpu<B> {
    /// Waits until everything queued so far is done.
    ///
    /// # Errors
    /// What the device reports of it.
    pub async fn finish_async(&self) -> Result<()> {
        let shared: &Arc<Shared<B>> = &self.shared;
        let block = shared.block(WORD).await?;
        let mut word = [0u8; WORD as usize];
        shared.noting(shared.session.backend().download(block.buffer(), 0, &mut word).await)
    }
}
