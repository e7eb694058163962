//! The library surface: matrices on a device, and the ladder's best rungs on them.
//!
//! ```
//! use gpu_ladder::gpu::Gpu;
//!
//! # fn main() -> gpu_ladder::Result<()> {
//! # #[cfg(feature = "sim")] {
//! let gpu = Gpu::open_on("sim")?; // Gpu::open() takes the best device there is
//! let a = gpu.upload(&[[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]])?;
//! let c = gpu.matmul(&a, a.t())?; // t() moves nothing
//! assert_eq!(gpu.download::<f32>(&c)?.elements(), [14.0, 32.0, 32.0, 77.0]);
//! # }
//! # Ok(())
//! # }
//! ```
//!
//! A [`Gpu`] is a handle: cloning it is cheap, and any thread may use it. Calls queue work and do not
//! wait for it; only downloads do. What is queued runs in order, so results can be passed on at once.
//!
//! Every call that may compile or allocate has an async form (`upload_async`) for programs that must
//! not block, browsers among them; the short names wait where a thread can.

#[cfg(feature = "ndarray")]
mod arrays;
mod call;
mod choices;
mod host;
mod matmul;
mod matrix;
#[cfg(feature = "cuda")]
mod on_cuda;
#[cfg(feature = "wgpu")]
mod on_wgpu;
mod plans;
mod pool;
mod raw;
mod transfer;
mod transpose;
mod tune;

pub use crate::problem::Precision;
pub use call::Call;
pub use host::{HostMatrix, Packed, Scalar, ToDevice};
pub use matmul::Product;
pub use matrix::{Matrix, MatrixView, MatrixViewMut};
#[cfg(feature = "cuda")]
pub use on_cuda::{Lent, LentToRead};
pub use pool::Memory;
pub use raw::{Raw, RawBinding, RawPass, raw};
pub use tune::{Candidate, Tuned};

use crate::backend::{Any, Backend, Device, Select};
use crate::error::{Error, Result};
use crate::op::Op;
use crate::problem::Problem;
use crate::rung::Rung;
use crate::session::Session;
use choices::Choices;
use pool::Pool;
use std::sync::{Arc, OnceLock, RwLock};

/// A device, ready to compute. Clones share it.
pub struct Gpu<B: Backend = Any> {
    shared: Arc<Shared<B>>,
}

impl<B: Backend> Clone for Gpu<B> {
    fn clone(&self) -> Self {
        Gpu { shared: Arc::clone(&self.shared) }
    }
}

impl<B: Backend> std::fmt::Debug for Gpu<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Device { backend, name, .. } = self.device();
        write!(f, "Gpu({backend}: {name})")
    }
}

/// What the clones of a handle share.
pub(crate) struct Shared<B: Backend> {
    session: Session<B>,
    pool: Pool<B>,
    plans: plans::Plans<B>,
    choices: Choices,
    /// Rungs that the program brought, by op.
    own: RwLock<Vec<(&'static str, Arc<Rung>)>>,
    /// Why nothing works any more, once that is so.
    lost: OnceLock<String>,
}

/// Waits for a future where a thread can.
#[cfg(not(target_arch = "wasm32"))]
fn wait<T>(future: impl Future<Output = T>) -> T {
    pollster::block_on(future)
}

#[cfg(not(target_arch = "wasm32"))]
impl Gpu {
    /// Opens the best device: CUDA, a GPU through `wgpu`, a software one, the simulator.
    ///
    /// # Errors
    /// [`Error::NoBackend`] where this build or machine has none.
    pub fn open() -> Result<Self> {
        wait(Self::open_async(&Select::default()))
    }

    /// Opens the backend called `name`: `cuda`, `wgpu` or `sim`.
    ///
    /// # Errors
    /// [`Error::NoBackend`], [`Error::NoDevice`]; [`Error::Unknown`] for another name.
    pub fn open_on(name: &str) -> Result<Self> {
        wait(Self::open_on_async(name, &Select::default()))
    }
}

impl Gpu {
    /// Opens the best device that `select` allows.
    ///
    /// # Errors
    /// As `Gpu::open`.
    pub async fn open_async(select: &Select) -> Result<Self> {
        Ok(Gpu::new(Any::open(select).await?))
    }

    /// Opens the device that `select` names of the backend called `name`.
    ///
    /// # Errors
    /// As `Gpu::open_on`.
    pub async fn open_on_async(name: &str, select: &Select) -> Result<Self> {
        if name == Any::NAME {
            return Self::open_async(select).await;
        }
        Ok(Gpu::new(Any::open_named(name, select).await?))
    }
}

impl<B: Backend> Gpu<B> {
    /// A handle on an open backend, one of this crate or your own.
    pub fn new(backend: B) -> Self {
        let (memory, choices) = (backend.device().memory, Choices::of(backend.device()));
        let shared = Shared {
            session: Session::new(backend),
            pool: Pool::new(memory),
            plans: plans::Plans::default(),
            choices,
            own: RwLock::default(),
            lost: OnceLock::new(),
        };
        Gpu { shared: Arc::new(shared) }
    }

    /// The device.
    pub fn device(&self) -> &Device {
        self.shared.session.device()
    }

    /// The pipeline underneath, to verify and time single rungs on the same device.
    pub fn session(&self) -> &Session<B> {
        &self.shared.session
    }

    /// What this handle has allocated.
    pub fn memory(&self) -> Memory {
        self.shared.pool.memory()
    }

    /// Keeps at most so many bytes of freed matrices for reuse; half of the device's memory at first.
    pub fn keep_at_most(&self, bytes: u64) {
        self.shared.pool.keep_at_most(bytes);
    }

    /// Gives memory that is kept for reuse back to the driver; returns the bytes.
    pub fn trim(&self) -> u64 {
        self.shared.pool.trim()
    }

    /// `Ok` while the handle can be used.
    ///
    /// # Errors
    /// [`Error::DeviceLost`] once the device is gone: nothing made from this handle works any more,
    /// and a new one has to be opened. After any other error the handle is as usable as before.
    pub fn usable(&self) -> Result<()> {
        self.shared.usable()
    }

    /// Refuses what was made by another handle.
    fn own(&self, block: &pool::Block<B>) -> Result<()> {
        if Arc::ptr_eq(&self.shared, &block.shared) { Ok(()) } else { Err(Error::WrongDevice("the matrix")) }
    }
}

/// The id of the rung that tuning found for a problem on a device, where it is there and runs.
pub(crate) fn tuned(device: &Device, op: &'static dyn Op, problem: &Problem) -> Option<String> {
    let found = Choices::of(device).get(op, problem)?;
    let rung = op.ladder().iter().find(|rung| rung.id() == found)?;
    crate::op::runs(op, rung, device, problem).then_some(found)
}

impl<B: Backend> Shared<B> {
    fn usable(&self) -> Result<()> {
        match self.lost.get() {
            Some(why) => Err(Error::DeviceLost(why.clone())),
            None => Ok(()),
        }
    }

    /// Remembers a loss of the device.
    fn noting<T>(&self, result: Result<T>) -> Result<T> {
        if let Err(Error::DeviceLost(why)) = &result {
            self.lost.get_or_init(|| why.clone());
        }
        result
    }
}
