//! Products of matrices and views.

use super::Gpu;
use super::call::Call;
use super::matrix::{Matrix, MatrixView, MatrixViewMut, Place};
use crate::backend::Backend;
use crate::error::{Error, Result};
use crate::op::{Matmul, Op};
use crate::problem::{Precision, Problem};

/// How a product goes into its output: C = alpha A B + beta C.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Product {
    /// The factor of the product.
    pub alpha: f32,
    /// The factor of what the output holds before; with 0 that is never read.
    pub beta: f32,
    /// What is made of f32 elements before they are multiplied.
    pub precision: Precision,
}

impl Default for Product {
    fn default() -> Self {
        Product { alpha: 1.0, beta: 0.0, precision: Precision::Full }
    }
}

impl Product {
    /// C = A B.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same with this factor of the product.
    pub fn alpha(self, alpha: f32) -> Self {
        Product { alpha, ..self }
    }

    /// The same with this factor of the old output.
    pub fn beta(self, beta: f32) -> Self {
        Product { beta, ..self }
    }

    /// The same with this precision.
    pub fn precision(self, precision: Precision) -> Self {
        Product { precision, ..self }
    }
}

impl<B: Backend> Gpu<B> {
    /// The product of two matrices, or of the pairs of two batches, in their own element type.
    ///
    /// # Errors
    /// [`Error::Shape`] where they cannot be multiplied, [`Error::Unsupported`] for element types
    /// without a product, [`Error::OutOfMemory`]; what the device reports.
    pub async fn matmul_async<'a>(
        &self,
        a: impl Into<MatrixView<'a, B>>,
        b: impl Into<MatrixView<'a, B>>,
    ) -> Result<Matrix<B>> {
        let (a, b) = (a.into(), b.into());
        check_inner(&a.place, &b.place)?;
        let element = Matmul.output_elements(a.element()).first().copied().unwrap_or(a.element());
        let batch = a.batch().max(b.batch());
        let mut c = self.empty_batch_async(element, batch, a.rows(), b.cols()).await?;
        self.matmul_call_async(a, b, &mut c, Product::new()).await?.run()?;
        Ok(c)
    }

    /// Puts a product into `c`.
    ///
    /// # Errors
    /// As [`matmul_async`](Self::matmul_async); [`Error::Shape`] for an output of another shape, or in
    /// the same buffer as an input.
    pub async fn matmul_into_async<'a>(
        &self,
        a: impl Into<MatrixView<'a, B>>,
        b: impl Into<MatrixView<'a, B>>,
        c: impl Into<MatrixViewMut<'a, B>>,
        product: Product,
    ) -> Result<()> {
        self.matmul_call_async(a, b, c, product).await?.run()
    }

    /// The same, ready to be run as often as needed.
    ///
    /// Transposed views are multiplied as they lie. A transposed output takes the product of the
    /// transposed operands in the other order, so it costs nothing either. One matrix B for a whole
    /// batch of A (without gaps) is one product of all its rows. Products of f16 and bf16 go into an
    /// output of their own type or of f32.
    ///
    /// # Errors
    /// As [`matmul_into_async`](Self::matmul_into_async).
    pub async fn matmul_call_async<'a>(
        &self,
        a: impl Into<MatrixView<'a, B>>,
        b: impl Into<MatrixView<'a, B>>,
        c: impl Into<MatrixViewMut<'a, B>>,
        product: Product,
    ) -> Result<Call<'a, B>> {
        let (a, b, c) = (a.into(), b.into(), c.into());
        for block in [a.block, b.block, c.block] {
            self.own(block)?;
        }
        let (mut left, mut right, mut out) = ((a.block, a.place), (b.block, b.place), (c.block, c.place));
        check_inner(&left.1, &right.1)?;
        check_output(&left.1, &right.1, &out.1)?;
        if out.1.transposed {
            // C^T = B^T A^T
            (left, right, out) = ((right.0, right.1.t()), (left.0, left.1.t()), (out.0, out.1.t()));
        }
        fold(&mut left.1, &right.1, &mut out.1);
        if left.1.batch != right.1.batch {
            return Err(Error::shape(
                "matmul",
                format!("{} matrices by {}: they lie so that one cannot serve all", left.1.batch, right.1.batch),
            ));
        }
        let mut call = Call::new(&self.shared);
        if out.1.is_empty() {
            return Ok(call);
        }
        let dims = [left.1.rows(), right.1.cols(), left.1.cols()];
        let mut problem = Problem::new(left.1.element, dims).with_batch(out.1.batch);
        (problem.alpha, problem.beta) = (product.alpha, product.beta);
        (problem.output, problem.precision) = (Some(out.1.element), product.precision);
        call.add(&Matmul, problem, &[left, right, out], None).await?;
        Ok(call)
    }
}

/// Takes all rows of a batch as one matrix where one right operand serves all of them.
fn fold(left: &mut Place, right: &Place, out: &mut Place) {
    let stacked = |place: &Place| !place.transposed && place.stride == place.stored_rows * place.ld;
    if right.batch == 1 && left.batch > 1 && stacked(left) && stacked(out) {
        for place in [left, out] {
            place.stored_rows *= place.batch;
            place.stride = place.stored_rows * place.ld;
            place.batch = 1;
        }
    }
}

fn check_inner(a: &Place, b: &Place) -> Result<()> {
    if a.element != b.element {
        return Err(Error::shape("matmul", format!("elements of {} by elements of {}", a.element, b.element)));
    }
    let batches = a.batch == b.batch || a.batch == 1 || b.batch == 1;
    if a.cols() == b.rows() && batches {
        return Ok(());
    }
    let text = |place: &Place| format!("{} x {} x {}", place.batch, place.rows(), place.cols());
    Err(Error::shape("matmul", format!("{} by {}", text(a), text(b))))
}

fn check_output(a: &Place, b: &Place, c: &Place) -> Result<()> {
    let elements = Matmul.output_elements(a.element);
    if !elements.contains(&c.element) {
        let known: Vec<_> = elements.iter().map(|element| element.name()).collect();
        return Err(Error::shape("matmul", format!("an output of {}, not {}", c.element, known.join(" or "))));
    }
    let expected = (a.batch.max(b.batch), a.rows(), b.cols());
    if (c.batch, c.rows(), c.cols()) == expected {
        return Ok(());
    }
    let (batch, rows, cols) = expected;
    let (found_batch, found_rows, found_cols) = (c.batch, c.rows(), c.cols());
    Err(Error::shape(
        "matmul",
        format!("an output of {found_batch} x {found_rows} x {found_cols}, not {batch} x {rows} x {cols}"),
    ))
}

/// The same for threads that wait (for a compiler at most, never for the device).
#[cfg(not(target_arch = "wasm32"))]
impl<B: Backend> Gpu<B> {
    /// The product of two matrices, or of the pairs of two batches, in their own element type.
    ///
    /// # Errors
    /// [`Error::Shape`] where they cannot be multiplied, [`Error::Unsupported`] for element types
    /// without a product, [`Error::OutOfMemory`]; what the device reports.
    pub fn matmul<'a>(&self, a: impl Into<MatrixView<'a, B>>, b: impl Into<MatrixView<'a, B>>) -> Result<Matrix<B>> {
        super::wait(self.matmul_async(a, b))
    }

    /// Puts a product into `c`.
    ///
    /// # Errors
    /// As [`matmul`](Self::matmul); [`Error::Shape`] for an output of another shape, or in the same
    /// buffer as an input.
    pub fn matmul_into<'a>(
        &self,
        a: impl Into<MatrixView<'a, B>>,
        b: impl Into<MatrixView<'a, B>>,
        c: impl Into<MatrixViewMut<'a, B>>,
        product: Product,
    ) -> Result<()> {
        super::wait(self.matmul_into_async(a, b, c, product))
    }

    /// The same, ready to be run as often as needed.
    ///
    /// # Errors
    /// As [`matmul_into`](Self::matmul_into).
    pub fn matmul_call<'a>(
        &self,
        a: impl Into<MatrixView<'a, B>>,
        b: impl Into<MatrixView<'a, B>>,
        c: impl Into<MatrixViewMut<'a, B>>,
        product: Product,
    ) -> Result<Call<'a, B>> {
        super::wait(self.matmul_call_async(a, b, c, product))
    }
}
