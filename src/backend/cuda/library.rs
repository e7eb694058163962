//! Calls into libraries that queue work of their own on the backend's stream.

use super::Cuda;
use super::context::Context;
use crate::backend::Launch;
use crate::error::{Error, Result};
use crate::rung::{Library, Program};
use cudarc::driver::sys::CUstream;
use std::mem::ManuallyDrop;
use std::sync::Arc;

/// A call into a library, made ready for one pass of a rung. It is made, used and dropped with the
/// backend's context current on the thread.
pub trait Call: Send + Sync {
    /// How many bindings it takes.
    fn bindings(&self) -> usize;

    /// Queues the work, without waiting for it (but the first time, when it may try what is best).
    ///
    /// # Errors
    /// [`Error::Unsupported`] where the library does not do it, or what the library reports.
    fn queue(&self, queued: &Queued<'_>) -> Result<()>;

    /// The library, its version, and what it chose.
    fn about(&self) -> String;
}

/// What a [`Call`] gets.
pub struct Queued<'a> {
    /// The stream.
    pub stream: CUstream,
    /// Address and bytes of each binding: checked ranges of live buffers.
    pub bindings: &'a [(u64, u64)],
    /// The params struct of the op.
    pub params: &'a [u8],
    /// Waits for the stream.
    pub synchronize: &'a dyn Fn() -> Result<()>,
}

/// A [`Call`] in a context.
pub(super) struct Prepared {
    pub(super) name: &'static str,
    context: Arc<Context>,
    call: ManuallyDrop<Box<dyn Call>>,
}

impl Prepared {
    pub(super) fn new(context: &Arc<Context>, library: Library, program: &Program) -> Result<Self> {
        let _entered = context.enter()?;
        let call = ManuallyDrop::new((library.prepare)(program)?);
        Ok(Prepared { name: library.name, context: Arc::clone(context), call })
    }

    pub(super) fn about(&self) -> String {
        self.call.about()
    }

    /// Queues it. The context must have been entered; `addresses` are those of the launch's views.
    pub(super) fn queue(&self, context: &Arc<Context>, launch: &Launch<'_, Cuda>, addresses: &[u64]) -> Result<()> {
        if !Arc::ptr_eq(&self.context, context) {
            return Err(Error::WrongDevice("the library's call"));
        }
        if addresses.len() != self.call.bindings() {
            let counts = format!("takes {} bindings, not {}", self.call.bindings(), addresses.len());
            return Err(Error::shape(self.name, counts));
        }
        let bindings: Vec<(u64, u64)> =
            addresses.iter().zip(&launch.bindings).map(|(a, view)| (*a, view.len)).collect();
        self.call.queue(&Queued {
            stream: context.stream,
            bindings: &bindings,
            params: &launch.params,
            synchronize: &|| context.synchronize(),
        })
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        let call = &mut self.call;
        // After a loss the library's handle is not touched again.
        // SAFETY: the call is given up here, once.
        self.context.release(|_| unsafe { ManuallyDrop::drop(call) });
    }
}
