//! Transposes of matrices and views.

use super::call::Call;
use super::matrix::{Matrix, MatrixView, MatrixViewMut, Place};
use super::{Gpu, pool::Block};
use crate::backend::Backend;
use crate::error::{Error, Result};
use crate::op::Transpose;
use crate::problem::Problem;

impl<B: Backend> Gpu<B> {
    /// The transposed matrix, stored as such.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::Limit`]; what the device reports.
    pub async fn transpose_async<'a>(&self, input: impl Into<MatrixView<'a, B>>) -> Result<Matrix<B>> {
        let input = input.into();
        let mut output = self.empty_batch_async(input.element(), input.batch(), input.cols(), input.rows()).await?;
        self.transpose_call_async(input, &mut output).await?.run()?;
        Ok(output)
    }

    /// Writes the transposed input to the output.
    ///
    /// # Errors
    /// [`Error::Shape`] for an output of another shape or element type, or in the same buffer.
    pub async fn transpose_into_async<'a>(
        &self,
        input: impl Into<MatrixView<'a, B>>,
        output: impl Into<MatrixViewMut<'a, B>>,
    ) -> Result<()> {
        self.transpose_call_async(input, output).await?.run()
    }

    /// The same, ready to be run as often as needed.
    ///
    /// An input that is a transposed view is copied as it is stored.
    ///
    /// # Errors
    /// As [`transpose_into_async`](Self::transpose_into_async).
    pub async fn transpose_call_async<'a>(
        &self,
        input: impl Into<MatrixView<'a, B>>,
        output: impl Into<MatrixViewMut<'a, B>>,
    ) -> Result<Call<'a, B>> {
        let (input, output) = (input.into(), output.into());
        let (from, to) = (input.place, output.place);
        if from.element != to.element {
            return Err(Error::shape(
                "transpose",
                format!("an input of {}, an output of {}", from.element, to.element),
            ));
        }
        if (from.batch, from.rows(), from.cols()) != (to.batch, to.cols(), to.rows()) {
            return Err(Error::shape(
                "transpose",
                format!(
                    "an input of {} x {} x {} needs an output of {} x {} x {}, not {} x {} x {}",
                    from.batch,
                    from.rows(),
                    from.cols(),
                    from.batch,
                    from.cols(),
                    from.rows(),
                    to.batch,
                    to.rows(),
                    to.cols()
                ),
            ));
        }
        self.own(input.block)?;
        self.own(output.block)?;
        let mut call = Call::new(&self.shared);
        if from.is_empty() {
            return Ok(call);
        }
        let blocks = (input.block, output.block);
        if from.transposed == to.transposed {
            add(&mut call, blocks, from, to).await?;
        } else {
            copy(&mut call, blocks, from, to).await?;
        }
        Ok(call)
    }
}

/// Adds the transpose of what is stored at `from` to what is stored at `to`.
async fn add<'a, B: Backend>(
    call: &mut Call<'a, B>,
    (input, output): (&'a Block<B>, &'a Block<B>),
    from: Place,
    to: Place,
) -> Result<()> {
    let problem = Problem::new(from.element, [from.stored_rows, from.stored_cols]).with_batch(from.batch);
    let plain = |place: Place| Place { transposed: false, ..place };
    call.add(&Transpose, problem, &[(input, plain(from)), (output, plain(to))], None).await
}

/// Adds a copy of what is stored: the transpose of a row is the same row.
async fn copy<'a, B: Backend>(
    call: &mut Call<'a, B>,
    blocks: (&'a Block<B>, &'a Block<B>),
    from: Place,
    to: Place,
) -> Result<()> {
    let count = from.batch * from.stored_rows * from.stored_cols;
    if from.is_dense() && to.is_dense() && count <= u32::MAX.into() {
        return add(call, blocks, row(from, 1, count, count), column(to, 1, count, count)).await;
    }
    let regular = |place: &Place| place.batch <= 1 || place.stride == place.stored_rows * place.ld;
    if regular(&from) && regular(&to) {
        let rows = from.batch * from.stored_rows;
        return add(call, blocks, row(from, rows, from.stored_cols, from.ld), column(to, rows, to.stored_cols, to.ld))
            .await;
    }
    for index in 0..from.batch {
        let one = |place: Place| Place { offset: place.offset + index * place.stride, ..place };
        let (from, to) = (one(from), one(to));
        add(
            call,
            blocks,
            row(from, from.stored_rows, from.stored_cols, from.ld),
            column(to, to.stored_rows, to.stored_cols, to.ld),
        )
        .await?;
    }
    Ok(())
}

/// `batch` matrices of one row.
fn row(place: Place, batch: u64, cols: u64, stride: u64) -> Place {
    Place { batch, stored_rows: 1, stored_cols: cols, ld: cols, stride, ..place }
}

/// `batch` matrices of one column.
fn column(place: Place, batch: u64, rows: u64, stride: u64) -> Place {
    Place { batch, stored_rows: rows, stored_cols: 1, ld: 1, stride, ..place }
}

/// The same for threads that wait (for a compiler at most, never for the device).
#[cfg(not(target_arch = "wasm32"))]
impl<B: Backend> Gpu<B> {
    /// The transposed matrix, stored as such.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::Limit`]; what the device reports.
    pub fn transpose<'a>(&self, input: impl Into<MatrixView<'a, B>>) -> Result<Matrix<B>> {
        super::wait(self.transpose_async(input))
    }

    /// Writes the transposed input to the output.
    ///
    /// # Errors
    /// [`Error::Shape`] for an output of another shape or element type, or in the same buffer.
    pub fn transpose_into<'a>(
        &self,
        input: impl Into<MatrixView<'a, B>>,
        output: impl Into<MatrixViewMut<'a, B>>,
    ) -> Result<()> {
        super::wait(self.transpose_into_async(input, output))
    }

    /// The same, ready to be run as often as needed.
    ///
    /// # Errors
    /// As [`transpose_into`](Self::transpose_into).
    pub fn transpose_call<'a>(
        &self,
        input: impl Into<MatrixView<'a, B>>,
        output: impl Into<MatrixViewMut<'a, B>>,
    ) -> Result<Call<'a, B>> {
        super::wait(self.transpose_call_async(input, output))
    }
}
