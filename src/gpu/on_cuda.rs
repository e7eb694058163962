//! In a CUDA context and on a stream that the program already has, on its device memory.

use super::Gpu;
use super::host::Scalar;
use super::matrix::{Matrix, MatrixView, MatrixViewMut};
use crate::backend::cuda::Cuda;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::op::Shape;
use crate::problem::Layout;
use cudarc::driver::{CudaStream, DevicePtr, DevicePtrMut, SyncOnDrop};
use std::sync::Arc;

/// What kernels may read beyond the last element: allocations are whole multiples of it.
const VECTOR: u64 = 16;

/// A matrix in memory that the program lent to be written; the loan ends when this is dropped.
pub struct Lent<'a> {
    matrix: Matrix<Cuda>,
    /// Lets `cudarc` order other streams behind this loan.
    _until: SyncOnDrop<'a>,
}

impl Lent<'_> {
    /// The matrix.
    pub fn view(&self) -> MatrixView<'_, Cuda> {
        self.matrix.view()
    }

    /// The matrix, to be written.
    pub fn view_mut(&mut self) -> MatrixViewMut<'_, Cuda> {
        self.matrix.view_mut()
    }
}

impl Gpu<Cuda> {
    /// A handle on a stream of the program's own, in its context. Work is queued on that stream, in order
    /// with the program's.
    ///
    /// ```no_run
    /// use gpu_ladder::backend::cuda::cudarc::driver::CudaContext;
    /// use gpu_ladder::gpu::Gpu;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let context = CudaContext::new(0)?;
    /// let stream = context.new_stream()?;
    /// let gpu = Gpu::from_cuda(stream.clone())?;
    /// let a = stream.clone_htod(&vec![1.0f32; 512 * 256])?;
    /// let mut b = stream.alloc_zeros::<f32>(512 * 256)?;
    /// let input = gpu.lend(&a, 512, 256)?;
    /// let mut output = gpu.lend_mut(&mut b, 256, 512)?;
    /// gpu.transpose_into(input.view(), output.view_mut())?; // queued on the program's stream
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Those of opening CUDA.
    pub fn from_cuda(stream: Arc<CudaStream>) -> Result<Self> {
        Ok(Gpu::new(Cuda::from_context(Arc::clone(stream.context()), stream)?))
    }

    /// Matrices in device memory that something else owns; nothing is copied.
    ///
    /// # Errors
    /// [`Error::Shape`] where the address is not a multiple of 4, or the matrix reaches past the end.
    ///
    /// # Safety
    /// `pointer` is the address of `bytes` bytes of device memory of this context. They stay
    /// allocated until the matrix is dropped and the work queued on it is done; nothing uses them on
    /// another stream meanwhile without waiting; and nothing else that this handle writes overlaps them.
    pub unsafe fn wrap(
        &self,
        pointer: u64,
        bytes: u64,
        element: Element,
        [batch, rows, cols]: [u64; 3],
        layout: Layout,
    ) -> Result<Matrix<Cuda>> {
        // The driver allocates in whole vectors, so the rest of the last one can be read.
        let bytes = bytes.next_multiple_of(VECTOR);
        // SAFETY: what this function asks of its caller.
        let buffer = unsafe { self.shared.session.backend().wrap(pointer, bytes)? };
        Matrix::foreign(&self.shared, buffer, bytes, element, Shape { batch, rows, cols, layout })
    }

    /// A packed matrix in a slice of the program's, to be read. The slice is of the stream that this handle
    /// was [made with](Self::from_cuda).
    ///
    /// # Errors
    /// [`Error::WrongDevice`] for a slice of another stream, [`Error::Shape`] where it has not as many elements.
    pub fn lend<'a, T: Scalar>(&'a self, slice: &'a impl DevicePtr<T>, rows: u64, cols: u64) -> Result<LentToRead<'a>> {
        let stream = self.shared_with(slice.stream())?;
        expect_len(slice.len(), rows, cols)?;
        let bytes = slice.num_bytes() as u64;
        let (pointer, until) = slice.device_ptr(stream);
        // SAFETY: the slice is borrowed as long as the loan lasts and freed in the order of this very
        // stream; only views to be read can be had of it.
        let matrix = unsafe { self.wrap(pointer, bytes, T::ELEMENT, [1, rows, cols], Layout::default())? };
        Ok(LentToRead(Lent { matrix, _until: until }))
    }

    /// A packed matrix in a slice of the program's, to be written.
    ///
    /// # Errors
    /// As [`lend`](Self::lend).
    pub fn lend_mut<'a, T: Scalar>(
        &'a self,
        slice: &'a mut impl DevicePtrMut<T>,
        rows: u64,
        cols: u64,
    ) -> Result<Lent<'a>> {
        let stream = self.shared_with(slice.stream())?;
        expect_len(slice.len(), rows, cols)?;
        let bytes = slice.num_bytes() as u64;
        let (pointer, until) = slice.device_ptr_mut(stream);
        // SAFETY: as in `lend`; the slice is borrowed exclusively.
        let matrix = unsafe { self.wrap(pointer, bytes, T::ELEMENT, [1, rows, cols], Layout::default())? };
        Ok(Lent { matrix, _until: until })
    }

    /// The stream of this handle and of a slice, which is freed in its order, behind the work on it,
    /// whatever becomes of the loan.
    fn shared_with(&self, of_slice: &CudaStream) -> Result<&CudaStream> {
        match self.shared.session.backend().program_stream() {
            Some(stream) if stream.cu_stream() == of_slice.cu_stream() => Ok(stream),
            _ => Err(Error::WrongDevice("the slice")),
        }
    }
}

/// A matrix in memory that the program lent to be read.
pub struct LentToRead<'a>(Lent<'a>);

impl LentToRead<'_> {
    /// The matrix.
    pub fn view(&self) -> MatrixView<'_, Cuda> {
        self.0.view()
    }
}

fn expect_len(len: usize, rows: u64, cols: u64) -> Result<()> {
    let needed = crate::error::product("a lent slice", &[rows, cols])?;
    if len as u64 == needed {
        return Ok(());
    }
    Err(Error::shape("a lent slice", format!("it has {len} elements, {rows} x {cols} are {needed}")))
}
