//! The seam: «launch a compiled kernel on buffers».
//!
//! A [`Backend`] knows kernels, buffers and clocks. It does not know what a transpose is: shapes,
//! layouts, verification and statistics live above it, once, for all backends. Validation too: what
//! reaches a backend has been checked, so a backend reports only what could not be foreseen.
//!
//! A backend is one module and one line in [`BACKENDS`]. Programs choose at compile time
//! (`Session<Cuda>`) or at run time (`Session<Any>`), and may bring their own implementation.

mod any;
#[cfg(feature = "cuda")]
pub mod cuda;
mod device;
#[cfg(feature = "sim")]
pub mod sim;
#[cfg(feature = "wgpu")]
pub mod wgpu;

pub use any::Any;
pub use device::{Clock, Cooperative, Device, DeviceKind, Limits, Select, Telemetry};

use crate::element::Element;
use crate::error::{Error, Result};
use crate::rung::Program;
use std::future::Future;

/// `Send` where threads exist; nothing in a browser, whose GPU handles stay on one thread.
#[cfg(not(target_arch = "wasm32"))]
pub trait MaybeSend: Send {}
#[cfg(not(target_arch = "wasm32"))]
impl<T: Send> MaybeSend for T {}
/// `Send` where threads exist; nothing in a browser, whose GPU handles stay on one thread.
#[cfg(target_arch = "wasm32")]
pub trait MaybeSend {}
#[cfg(target_arch = "wasm32")]
impl<T> MaybeSend for T {}

/// `Sync` where threads exist; nothing in a browser.
#[cfg(not(target_arch = "wasm32"))]
pub trait MaybeSync: Sync {}
#[cfg(not(target_arch = "wasm32"))]
impl<T: Sync> MaybeSync for T {}
/// `Sync` where threads exist; nothing in a browser.
#[cfg(target_arch = "wasm32")]
pub trait MaybeSync {}
#[cfg(target_arch = "wasm32")]
impl<T> MaybeSync for T {}

/// Part of a buffer: what a binding is.
pub struct View<'a, B: Backend> {
    /// The buffer.
    pub buffer: &'a B::Buffer,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub len: u64,
}

impl<B: Backend> Clone for View<'_, B> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<B: Backend> Copy for View<'_, B> {}

/// A tensor map, as `cuTensorMapEncodeTiled` wants it, for the binding it describes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TensorMap {
    /// Which binding.
    pub binding: usize,
    /// Bytes from the binding's first byte to the first element.
    pub offset: u64,
    /// The element type.
    pub element: Element,
    /// Elements along the contiguous dimension, rows, and matrices.
    pub dims: [u64; 3],
    /// Bytes between rows, and between matrices.
    pub strides: [u64; 2],
    /// Elements of the box along each dimension.
    pub block: [u32; 3],
    /// Bytes of the swizzle pattern: 0, 32, 64 or 128.
    pub swizzle: u32,
    /// Whether f32 elements are rounded to TF32 on the way.
    pub tf32: bool,
}

/// One launch of a compiled kernel: what a [`Session`](crate::Session) makes, or whoever vouches for it.
pub struct Launch<'a, B: Backend> {
    pub(crate) kernel: &'a B::Kernel,
    pub(crate) bindings: Vec<View<'a, B>>,
    pub(crate) params: Vec<u8>,
    pub(crate) tensor_maps: Vec<TensorMap>,
    pub(crate) grid: [u32; 3],
}

impl<'a, B: Backend> Launch<'a, B> {
    /// A launch of `grid` blocks of a kernel on its bindings in order, with the bytes of its params struct and
    /// tensor maps in parameter order.
    ///
    /// # Safety
    /// A kernel reaches as far as its params, tensor maps and grid say, and a CUDA kernel into any memory of its
    /// context: with these it stays inside the bindings, and it ends. Backends compare the bindings with their buffers
    /// and the size of the params with the kernel, and cannot check more.
    pub unsafe fn new(
        kernel: &'a B::Kernel,
        bindings: Vec<View<'a, B>>,
        params: Vec<u8>,
        tensor_maps: Vec<TensorMap>,
        grid: [u32; 3],
    ) -> Self {
        Launch { kernel, bindings, params, tensor_maps, grid }
    }

    /// The kernel.
    pub fn kernel(&self) -> &'a B::Kernel {
        self.kernel
    }

    /// Its bindings in order.
    pub fn bindings(&self) -> &[View<'a, B>] {
        &self.bindings
    }

    /// The bytes of its params struct.
    pub fn params(&self) -> &[u8] {
        &self.params
    }

    /// Tensor maps, in parameter order.
    pub fn tensor_maps(&self) -> &[TensorMap] {
        &self.tensor_maps
    }

    /// Blocks in each direction.
    pub fn grid(&self) -> [u32; 3] {
        self.grid
    }
}

impl<B: Backend> Clone for Launch<'_, B> {
    fn clone(&self) -> Self {
        Launch {
            kernel: self.kernel,
            bindings: self.bindings.clone(),
            params: self.params.clone(),
            tensor_maps: self.tensor_maps.clone(),
            grid: self.grid,
        }
    }
}

/// What is known of a compiled kernel; `None` where the backend cannot tell.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct KernelInfo {
    /// Registers of a thread.
    pub registers: Option<u32>,
    /// Shared memory of a block, in bytes.
    pub shared: Option<u32>,
    /// Local memory of a thread (spills and indexed arrays), in bytes.
    pub local: Option<u32>,
    /// Blocks that fit a multiprocessor at a time.
    pub blocks_per_sm: Option<u32>,
    /// The target the running code was compiled for.
    pub target: Option<String>,
    /// What the last launch counted, on the simulator.
    #[cfg(feature = "sim")]
    pub profile: Option<std::sync::Arc<crate::sim::Profile>>,
}

/// Something that compiles kernels, keeps buffers and launches the one on the other.
///
/// Methods may be called from any thread. Work is done in the order it was launched. Futures are
/// `Send` on native targets; in a browser, compiling and allocating can report an error only later.
pub trait Backend: Sized + MaybeSend + MaybeSync + 'static {
    /// The word on the command line and in reports.
    const NAME: &'static str;
    /// Device memory. Dropping it frees it and never panics.
    type Buffer: MaybeSend + MaybeSync;
    /// A compiled kernel.
    type Kernel: MaybeSend + MaybeSync;

    /// Opens a device.
    ///
    /// # Errors
    /// [`Error::NoBackend`] where this machine has none, [`Error::NoDevice`] where none matches.
    fn open(select: &Select) -> impl Future<Output = Result<Self>> + MaybeSend;

    /// The device.
    fn device(&self) -> &Device;

    /// Compiles (or loads) one pass.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where the rung has no kernel in this language or the device is too
    /// old, [`Error::Compile`] and [`Error::PtxVersion`] with the compiler's words.
    fn compile(&self, program: &Program) -> impl Future<Output = Result<Self::Kernel>> + MaybeSend;

    /// Allocates at least `bytes` of device memory, with unspecified content.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::Limit`].
    fn alloc(&self, bytes: u64) -> impl Future<Output = Result<Self::Buffer>> + MaybeSend;

    /// Writes `bytes` (a multiple of 4) at `offset` (a multiple of 4).
    fn upload(&self, buffer: &Self::Buffer, offset: u64, bytes: &[u8]) -> impl Future<Output = Result<()>> + MaybeSend;

    /// Fills `len` bytes at `offset` (both multiples of 4) with `word`.
    fn fill(
        &self,
        buffer: &Self::Buffer,
        offset: u64,
        len: u64,
        word: u32,
    ) -> impl Future<Output = Result<()>> + MaybeSend;

    /// Reads back into `bytes` (a multiple of 4) from `offset`, after all work launched so far.
    fn download(
        &self,
        buffer: &Self::Buffer,
        offset: u64,
        bytes: &mut [u8],
    ) -> impl Future<Output = Result<()>> + MaybeSend;

    /// Launches in order, without waiting. That each kernel stays inside its bindings is in the making of a
    /// [`Launch`]; a backend checks the bindings against their buffers and the size of the params against the kernel.
    fn launch(&self, launches: &[Launch<'_, Self>]) -> Result<()>;

    /// Runs each work (a list of launches) in order, each between two readings of the clock, and
    /// returns the nanoseconds of each.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where the backend has no clock.
    fn time(&self, works: &[&[Launch<'_, Self>]]) -> impl Future<Output = Result<Vec<f64>>> + MaybeSend;

    /// The same, each work recorded beforehand and started as one thing where the backend can (a graph of CUDA's
    /// driver): what launches cost at least. Elsewhere it is [`time`](Self::time).
    fn time_recorded(&self, works: &[&[Launch<'_, Self>]]) -> impl Future<Output = Result<Vec<f64>>> + MaybeSend {
        self.time(works)
    }

    /// What is known of a compiled kernel.
    fn inspect(&self, kernel: &Self::Kernel) -> Result<KernelInfo>;

    /// Whether two buffers are the same memory: a launch must not read what it writes elsewhere.
    fn is_same(&self, a: &Self::Buffer, b: &Self::Buffer) -> bool {
        std::ptr::eq(a, b)
    }

    /// Clocks and power now.
    fn telemetry(&self) -> Telemetry {
        Telemetry::default()
    }
}

/// The backends of this crate, in the order `auto` tries them, and whether they are in this build.
pub const BACKENDS: &[(&str, bool)] =
    &[("cuda", cfg!(feature = "cuda")), ("wgpu", cfg!(feature = "wgpu")), ("sim", cfg!(feature = "sim"))];

/// The error for a backend that this build does not have.
pub fn not_built(name: &str) -> Error {
    match BACKENDS.iter().find(|(n, _)| *n == name) {
        Some((name, _)) => Error::NoBackend {
            backend: name,
            because: "this build does not have it".into(),
            remedy: format!("Build with `--features {name}`"),
        },
        None => Error::Unknown {
            kind: "backend",
            word: name.into(),
            known: std::iter::once("auto").chain(BACKENDS.iter().map(|b| b.0)).map(String::from).collect(),
        },
    }
}
