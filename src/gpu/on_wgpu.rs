//! On a `wgpu` device that the program already has: its buffers, its command encoders.

use super::Gpu;
use super::call::Call;
use super::matrix::Matrix;
use crate::backend::Select;
use crate::backend::wgpu::Wgpu;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::op::Shape;
use crate::problem::Layout;

impl Gpu<Wgpu> {
    /// A handle on a device of the program's own. It stays within the features and limits that the
    /// device was made with; [`required_features`](crate::backend::wgpu::required_features) and
    /// [`required_limits`](crate::backend::wgpu::required_limits) say what to ask for to have all rungs.
    ///
    /// It takes over the device's handlers of uncaptured errors and of loss, to report both as typed errors.
    pub fn from_wgpu(adapter: &wgpu::AdapterInfo, device: wgpu::Device, queue: wgpu::Queue) -> Self {
        Gpu::new(Wgpu::from_device(adapter, device, queue, &Select::default()))
    }

    /// Matrices in a buffer of the program's own, which is neither copied nor freed nor reused.
    ///
    /// # Errors
    /// [`Error::Shape`] where the buffer lacks the usage `STORAGE`, or does not reach, rounded up to
    /// 16 bytes, to the end of the last row: kernels bind whole vectors.
    pub fn wrap(
        &self,
        buffer: wgpu::Buffer,
        element: Element,
        [batch, rows, cols]: [u64; 3],
        layout: Layout,
    ) -> Result<Matrix<Wgpu>> {
        if !buffer.usage().contains(wgpu::BufferUsages::STORAGE) {
            return Err(Error::shape("a wrapped buffer", "it was made without the usage STORAGE"));
        }
        let bytes = buffer.size();
        Matrix::foreign(&self.shared, buffer.into(), bytes, element, Shape { batch, rows, cols, layout })
    }
}

impl Call<'_, Wgpu> {
    /// Records the call into an encoder of the program's, to be submitted to the same queue.
    ///
    /// # Errors
    /// [`Error::DeviceLost`], [`Error::Overflow`].
    ///
    /// Memory of this handle that is dropped before the encoder was submitted may be handed out
    /// again: keep its matrices until then.
    pub fn encode(&self, encoder: &mut wgpu::CommandEncoder) -> Result<()> {
        let shared = self.shared();
        shared.usable()?;
        shared.noting(shared.session.backend().encode(encoder, &self.launches()?))
    }
}
