//! The CUDA backend: PTX, or machine code, through the driver's own interface.
//!
//! Nothing but the driver is needed, and it only at run time: `cudarc` loads its library, `driver`
//! looks up the functions, and whatever is missing is a typed error. A [`Cuda`] has one stream;
//! everything goes through it in order. Kernels of this crate are embedded ([`artefacts`]); other
//! kernel text is compiled at run time with the `nvrtc` feature.
//!
//! A fault on the device (an illegal address, say) is final: from then on every call returns
//! [`Error::DeviceLost`], and destructors stay quiet. The driver gives the process no fresh context
//! after one, so opening the device again fails in the same way; a new process can.
//!
//! The module's `unsafe` blocks are calls into the driver. What they rely on: `context` keeps the
//! context alive and current around each call, `memory` checks ranges, buffers and modules go behind
//! all work on the stream, and `kernel` compares each kernel's parameters with what a launch passes.

pub mod artefacts;
mod context;
pub mod cubin;
mod devices;
mod driver;
mod graph;
mod kernel;
mod launch;
mod library;
mod memory;
#[cfg(feature = "nvrtc")]
pub mod nvrtc;
mod ptx;
pub(crate) mod telemetry;
mod timing;

pub use cudarc;
pub use kernel::CudaKernel;
pub use library::{Call, Queued};
pub use memory::CudaBuffer;

use super::{Backend, Device, KernelInfo, Launch, Select, Telemetry};
use crate::error::{Error, Result};
use crate::rung::Program;
use context::Context;
use cudarc::driver::{CudaContext, CudaStream};
use driver::Driver;
use std::sync::Arc;

/// An open CUDA device with a stream.
pub struct Cuda {
    context: Arc<Context>,
    device: Device,
    /// The same device as NVML sees it.
    board: Option<nvml_wrapper::Device<'static>>,
}

impl std::fmt::Debug for Cuda {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cuda").field("device", &self.device).finish_non_exhaustive()
    }
}

impl Cuda {
    /// The names of the devices that the driver shows, by the index that [`Select::device`] takes.
    ///
    /// # Errors
    /// [`Error::NoBackend`] where there is no driver or no device.
    pub fn devices() -> Result<Vec<String>> {
        devices::names(Driver::load()?)
    }

    /// Works in a context and on a stream that the program already has. Launches go to that stream
    /// and are not waited for; other work on it and they keep their order.
    ///
    /// # Errors
    /// [`Error::WrongDevice`] where the stream is not of that context; those of [`Backend::open`].
    pub fn from_context(context: Arc<CudaContext>, stream: Arc<CudaStream>) -> Result<Self> {
        if *stream.context() != context {
            return Err(Error::WrongDevice("the stream"));
        }
        Self::new(Context::of_program(Driver::load()?, context, stream))
    }

    fn new(context: Arc<Context>) -> Result<Self> {
        let device = devices::describe(&context, telemetry::driver_version())?;
        let board = telemetry::find(&context);
        Ok(Cuda { context, device, board })
    }

    /// Device memory that something else owns, as a buffer. Dropping the buffer does not free it.
    ///
    /// # Errors
    /// [`Error::Shape`] where the address is not a multiple of 4.
    ///
    /// # Safety
    /// `pointer` is the address of `bytes` bytes of device memory of this context. They stay
    /// allocated until the buffer is dropped and the work launched on it is done, and nothing uses
    /// them on another stream meanwhile without waiting for this one.
    pub unsafe fn wrap(&self, pointer: u64, bytes: u64) -> Result<CudaBuffer> {
        if !pointer.is_multiple_of(4) {
            return Err(Error::shape("pointer", format!("{pointer:#x} is not a multiple of 4")));
        }
        // SAFETY: what this function asks of its caller.
        Ok(unsafe { CudaBuffer::borrowed(&self.context, pointer, bytes) })
    }

    /// Waits until everything launched so far is done.
    ///
    /// # Errors
    /// [`Error::DeviceLost`] where some of it failed.
    pub fn synchronize(&self) -> Result<()> {
        self.context.synchronize()
    }

    /// The stream that the program gave to [`from_context`](Self::from_context); `None` otherwise.
    pub fn program_stream(&self) -> Option<&Arc<CudaStream>> {
        self.context.program_stream()
    }

    /// The stream, for other users of the driver.
    pub fn raw_stream(&self) -> cudarc::driver::sys::CUstream {
        self.context.stream
    }
}

impl Backend for Cuda {
    const NAME: &'static str = "cuda";
    type Buffer = CudaBuffer;
    type Kernel = CudaKernel;

    async fn open(select: &Select) -> Result<Self> {
        let driver = Driver::load()?;
        let device = devices::select(driver, select.device.as_deref())?;
        Self::new(Context::primary(driver, device)?)
    }

    fn device(&self) -> &Device {
        &self.device
    }

    async fn compile(&self, program: &Program) -> Result<CudaKernel> {
        kernel::compile(&self.context, &self.device, program)
    }

    async fn alloc(&self, bytes: u64) -> Result<CudaBuffer> {
        CudaBuffer::allocate(&self.context, bytes)
    }

    async fn upload(&self, buffer: &CudaBuffer, offset: u64, bytes: &[u8]) -> Result<()> {
        buffer.expect_in(&self.context)?;
        memory::upload(buffer, offset, bytes)
    }

    async fn fill(&self, buffer: &CudaBuffer, offset: u64, len: u64, word: u32) -> Result<()> {
        buffer.expect_in(&self.context)?;
        memory::fill(buffer, offset, len, word)
    }

    async fn download(&self, buffer: &CudaBuffer, offset: u64, bytes: &mut [u8]) -> Result<()> {
        buffer.expect_in(&self.context)?;
        memory::download(buffer, offset, bytes)
    }

    fn launch(&self, launches: &[Launch<'_, Self>]) -> Result<()> {
        let _entered = self.context.enter_to_work()?;
        launch::queue(&self.context, launches)
    }

    async fn time(&self, works: &[&[Launch<'_, Self>]]) -> Result<Vec<f64>> {
        timing::time(&self.context, works, false)
    }

    async fn time_recorded(&self, works: &[&[Launch<'_, Self>]]) -> Result<Vec<f64>> {
        timing::time(&self.context, works, true)
    }

    fn inspect(&self, kernel: &CudaKernel) -> Result<KernelInfo> {
        kernel::inspect(&self.context, kernel)
    }

    fn is_same(&self, a: &CudaBuffer, b: &CudaBuffer) -> bool {
        a.overlaps(b)
    }

    fn telemetry(&self) -> Telemetry {
        self.board.as_ref().map(telemetry::read).unwrap_or_default()
    }
}

/// A program with this text and one constant, for tests of what needs no device.
#[cfg(test)]
fn test_program(text: &'static str, tile: u32) -> Program {
    use crate::rung::{Arch, CudaNeeds, Source};
    Program {
        label: "op/rung".into(),
        unit: "op/rung".into(),
        entry: "op_rung".into(),
        cuda: Source::Text(text.into()),
        cuda_needs: CudaNeeds { arch: Arch::Compute70, dynamic_shared: 0, tensor_maps: (&[]).into() },
        wgsl: Source::Absent { because: "".into() },
        trusted: true,
        constants: vec![("TILE".into(), tile)],
        aliases: Vec::new(),
        element_words: ("unsigned int", None),
        element: crate::element::Element::F32,
        block: [32, 8, 1],
        written: vec![false, true],
        params_bytes: 64,
    }
}
