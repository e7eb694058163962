//! The pipeline, written once for every backend: stage the operands, compile, launch, verify, time.
//!
//! ```text
//! Problem --stage--> Stage --prepare(rung)--> Prepared --verify--> Verdict::Pass(Verified) --time--> Samples
//! ```
//! A [`Verified`] is the only key to a time, and only verification makes one.

mod allocations;
mod check;
mod operands;
mod order;
mod plan;
mod stage;
mod time;
mod verified;

pub(crate) use allocations::Held;
use allocations::Ledger;
pub use allocations::{Allocations, Site};
pub(crate) use operands::Operands;
pub(crate) use plan::Plan;
pub use stage::{Inputs, Stage};
pub(crate) use time::InARow;
pub use verified::{Prepared, Verdict, Verified};

use crate::backend::{Backend, Device};
use crate::error::{Error, Result};
use std::collections::HashMap;
use std::panic::Location;
use std::sync::{Arc, Mutex, OnceLock};

/// A backend with its compiled kernels.
pub struct Session<B: Backend> {
    backend: Arc<B>,
    kernels: Mutex<HashMap<String, Arc<B::Kernel>>>,
    floor: OnceLock<f64>,
    ledger: Arc<Ledger>,
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl<B: Backend> Session<B> {
    /// A session on an open backend.
    pub fn new(backend: B) -> Self {
        Session {
            backend: Arc::new(backend),
            kernels: Mutex::new(HashMap::new()),
            floor: OnceLock::new(),
            ledger: Arc::default(),
        }
    }

    /// The backend.
    pub fn backend(&self) -> &B {
        &self.backend
    }

    /// The device.
    pub fn device(&self) -> &Device {
        self.backend.device()
    }

    /// The device memory that stages and prepared rungs of this session take, and who asked for it. Once
    /// they are dropped, what is still there has leaked, or is in the pool of a [`Gpu`](crate::gpu::Gpu).
    pub fn allocations(&self) -> Allocations {
        self.ledger.now()
    }

    /// Enters memory that its holder takes of the backend, as long as what is returned lives.
    pub(crate) fn enter(&self, bytes: u64, at: &'static Location<'static>) -> Held<()> {
        self.ledger.enter((), bytes, at)
    }

    /// The most bytes at a time since the last call of this.
    pub(crate) fn peak_since(&self) -> u64 {
        self.ledger.restart()
    }

    fn same_device(&self, other: &Arc<B>) -> Result<()> {
        if Arc::ptr_eq(&self.backend, other) { Ok(()) } else { Err(Error::WrongDevice("the stage")) }
    }
}
