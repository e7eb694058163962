//! A context with its stream: what every buffer and kernel keeps alive.

use super::driver::{Code, Driver, SUCCESS, is_sticky};
use super::memory::Staging;
use crate::error::{Error, Result};
use cudarc::driver::{CudaContext, CudaStream, sys};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// `CU_STREAM_NON_BLOCKING`: the stream does not wait for the legacy default stream.
const STREAM_NON_BLOCKING: u32 = 1;
/// `CU_EVENT_DEFAULT`: an event with timing.
const EVENT_WITH_TIMING: u32 = 0;

/// Who made the context and the stream, and so who releases them.
enum Owner {
    /// This backend: the device's primary context, retained, and a stream of its own.
    Backend,
    /// The program: kept alive as long as this backend uses them.
    Program { _context: Arc<CudaContext>, stream: Arc<CudaStream> },
}

/// The driver's functions that allocate and free in a stream's order.
#[derive(Clone, Copy)]
pub(super) struct Pools {
    pub(super) alloc: unsafe extern "C" fn(*mut sys::CUdeviceptr, usize, sys::CUstream) -> Code,
    pub(super) free: unsafe extern "C" fn(sys::CUdeviceptr, sys::CUstream) -> Code,
}

impl Pools {
    fn of(driver: &Driver, device: sys::CUdevice) -> Option<Self> {
        let attribute = sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED;
        let supported = super::devices::attribute(driver, device, attribute).is_ok_and(|value| value != 0);
        let (alloc, free) = driver.mem_alloc_async.zip(driver.mem_free_async)?;
        supported.then_some(Pools { alloc, free })
    }
}

/// A context, its stream and what is reused within it.
pub(super) struct Context {
    pub(super) driver: &'static Driver,
    pub(super) device: sys::CUdevice,
    pub(super) stream: sys::CUstream,
    raw: sys::CUcontext,
    owner: Owner,
    /// Allocation in the stream's order, where driver and device have it.
    pub(super) pools: Option<Pools>,
    /// Why nothing works any more, once that is so.
    lost: OnceLock<String>,
    /// How often work was queued, counted after queueing it.
    queued: AtomicU64,
    /// The part of `queued` that is known to be done.
    done: AtomicU64,
    /// Events with timing that are not in use.
    events: Mutex<Vec<Event>>,
    /// Page-locked memory that is not in use.
    pub(super) staging: Mutex<Vec<Staging>>,
    /// The kernel that gives the host a head start before timed work; `None` where it does not load.
    pub(super) head_start: OnceLock<Option<super::timing::HeadStart>>,
    /// Nanoseconds that queueing one call took lately.
    pub(super) queueing_ns: AtomicU64,
}

// SAFETY: the driver's functions may be called from any thread as long as the context is current
// there, which `enter` sees to before each of them; the handles are plain addresses, and whatever
// changes on the host side is behind a lock or an atomic.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

/// An event handle.
#[derive(Clone, Copy)]
pub(super) struct Event(pub(super) sys::CUevent);

// SAFETY: an event handle may be used from any thread on which its context is current.
unsafe impl Send for Event {}

/// While this lives, the context is current on this thread; afterwards the earlier one is again.
pub(super) struct Entered<'a> {
    context: &'a Context,
    previous: sys::CUcontext,
    /// Whether the stream may have got work meanwhile.
    queues: bool,
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        if self.queues {
            self.context.queued.fetch_add(1, Ordering::AcqRel);
        }
        if self.previous != self.context.raw {
            // SAFETY: `previous` was this thread's current context (or none) when `bind` was called.
            unsafe { (self.context.driver.ctx_set_current)(self.previous) };
        }
    }
}

impl Context {
    /// The device's primary context, which it shares with everything else in the process, and a new stream.
    pub(super) fn primary(driver: &'static Driver, device: sys::CUdevice) -> Result<Arc<Self>> {
        let mut raw: sys::CUcontext = std::ptr::null_mut();
        // SAFETY: `device` came from `cuDeviceGet`; the out-pointer is a local.
        let code = unsafe { (driver.primary_ctx_retain)(&mut raw, device) };
        if is_sticky(code) {
            let why = format!("cuDevicePrimaryCtxRetain reported {}; start a new process", driver.describe(code));
            return Err(Error::DeviceLost(why));
        }
        driver.check("cuDevicePrimaryCtxRetain", code)?;
        let mut context = Self::assemble(driver, device, raw, std::ptr::null_mut(), Owner::Backend);
        let mut stream: sys::CUstream = std::ptr::null_mut();
        {
            let _entered = context.enter()?;
            // SAFETY: the context is current; the out-pointer is a local.
            context.check("cuStreamCreate", unsafe { (driver.stream_create)(&mut stream, STREAM_NON_BLOCKING) })?;
        }
        context.stream = stream;
        Ok(Arc::new(context))
    }

    /// What a program already has.
    pub(super) fn of_program(driver: &'static Driver, context: Arc<CudaContext>, stream: Arc<CudaStream>) -> Arc<Self> {
        let (device, raw, handle) = (context.cu_device(), context.cu_ctx(), stream.cu_stream());
        let owner = Owner::Program { _context: context, stream };
        Arc::new(Self::assemble(driver, device, raw, handle, owner))
    }

    /// The stream, where it is the program's.
    pub(super) fn program_stream(&self) -> Option<&Arc<CudaStream>> {
        match &self.owner {
            Owner::Program { stream, .. } => Some(stream),
            Owner::Backend => None,
        }
    }

    fn assemble(
        driver: &'static Driver,
        device: sys::CUdevice,
        raw: sys::CUcontext,
        stream: sys::CUstream,
        owner: Owner,
    ) -> Self {
        Context {
            pools: Pools::of(driver, device),
            driver,
            device,
            stream,
            raw,
            owner,
            lost: OnceLock::new(),
            queued: AtomicU64::new(0),
            done: AtomicU64::new(0),
            events: Mutex::default(),
            staging: Mutex::default(),
            head_start: OnceLock::new(),
            queueing_ns: AtomicU64::new(super::timing::QUEUEING_NS_GUESS),
        }
    }

    /// Makes the context current on this thread.
    ///
    /// # Errors
    /// [`Error::DeviceLost`] once a call has failed in a way that no later call survives.
    pub(super) fn enter(&self) -> Result<Entered<'_>> {
        match self.lost.get() {
            Some(why) => Err(Error::DeviceLost(why.clone())),
            None => self.bind(),
        }
    }

    /// As [`enter`](Self::enter), to give the stream work. The work counts when this ends; until
    /// then the caller still borrows what the work uses.
    pub(super) fn enter_to_work(&self) -> Result<Entered<'_>> {
        let mut entered = self.enter()?;
        entered.queues = true;
        Ok(entered)
    }

    fn bind(&self) -> Result<Entered<'_>> {
        let mut previous: sys::CUcontext = std::ptr::null_mut();
        // SAFETY: the out-pointer is a local.
        self.check("cuCtxGetCurrent", unsafe { (self.driver.ctx_get_current)(&mut previous) })?;
        if previous != self.raw {
            // SAFETY: `raw` is alive: retained by `primary`, or kept by the `Arc` that `of_program` took.
            self.check("cuCtxSetCurrent", unsafe { (self.driver.ctx_set_current)(self.raw) })?;
        }
        Ok(Entered { context: self, previous, queues: false })
    }

    /// `Ok`, or the failed call; remembers a failure after which nothing works.
    pub(super) fn check(&self, call: &'static str, code: Code) -> Result<()> {
        if code == SUCCESS {
            return Ok(());
        }
        let words = self.driver.describe(code);
        if is_sticky(code) {
            let why = self.lost.get_or_init(|| format!("{call} reported {words}"));
            return Err(Error::DeviceLost(why.clone()));
        }
        Err(Error::device(call, words))
    }

    /// Waits until the stream has done everything.
    pub(super) fn synchronize(&self) -> Result<()> {
        let _entered = self.enter()?;
        let queued = self.queued.load(Ordering::Acquire);
        // SAFETY: the stream is alive as long as `self`.
        let code = unsafe { (self.driver.stream_synchronize)(self.stream) };
        self.check("cuStreamSynchronize", code)?;
        self.done.fetch_max(queued, Ordering::AcqRel);
        Ok(())
    }

    /// Runs `release` with the context current and the stream idle, so that nothing in flight uses
    /// what it releases. Quiet: this is for destructors, and after a loss there is nothing to release.
    pub(super) fn release(&self, release: impl FnOnce(&Driver)) {
        let idle = self.done.load(Ordering::Acquire) == self.queued.load(Ordering::Acquire);
        if !idle && self.synchronize().is_err() {
            return;
        }
        if let Ok(_entered) = self.enter() {
            release(self.driver);
        }
    }

    /// An event with timing, from the pool or new. The context must have been entered.
    pub(super) fn take_event(&self) -> Result<Event> {
        if let Some(event) = lock(&self.events).pop() {
            return Ok(event);
        }
        let mut event: sys::CUevent = std::ptr::null_mut();
        // SAFETY: the context is current (the caller entered it); the out-pointer is a local.
        let code = unsafe { (self.driver.event_create)(&mut event, EVENT_WITH_TIMING) };
        self.check("cuEventCreate", code)?;
        Ok(Event(event))
    }

    /// Puts events back for the next timing.
    pub(super) fn put_events(&self, events: impl IntoIterator<Item = Event>) {
        lock(&self.events).extend(events);
    }

    /// An attribute of the device.
    pub(super) fn attribute(&self, attribute: sys::CUdevice_attribute) -> Result<u32> {
        super::devices::attribute(self.driver, self.device, attribute)
    }

    /// Free and total bytes of device memory; `None` where the driver does not tell.
    pub(super) fn memory(&self) -> Option<(u64, u64)> {
        let _entered = self.enter().ok()?;
        let (mut free, mut total) = (0usize, 0usize);
        // SAFETY: the context is current; the out-pointers are locals.
        let code = unsafe { (self.driver.mem_get_info)(&mut free, &mut total) };
        (code == SUCCESS).then_some((free as u64, total as u64))
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        let (driver, stream, ours) = (self.driver, self.stream, matches!(self.owner, Owner::Backend));
        let events = std::mem::take(&mut *lock(&self.events));
        let staging = std::mem::take(&mut *lock(&self.staging));
        let head_start = self.head_start.take().flatten();
        // SAFETY: all of it was made in this context and is given up here, and the stream is idle.
        self.release(|driver| unsafe {
            for event in events {
                (driver.event_destroy)(event.0);
            }
            for pinned in staging {
                pinned.free(driver);
            }
            if let Some(kernel) = head_start {
                (driver.module_unload)(kernel.module);
            }
            if ours && !stream.is_null() {
                (driver.stream_destroy)(stream);
            }
        });
        if ours {
            // SAFETY: balances the retain in `primary`.
            unsafe { (driver.primary_ctx_release)(self.device) };
        }
    }
}

/// Locks, also after a panic elsewhere: what these locks guard is never left half-changed.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sys::CUevent_flags::*;

    #[test]
    fn events_are_made_with_timing() {
        // Kind CAP5: libraries make theirs without, and then there is no elapsed time.
        assert_eq!(EVENT_WITH_TIMING, CU_EVENT_DEFAULT as u32);
        assert_eq!(EVENT_WITH_TIMING & CU_EVENT_DISABLE_TIMING as u32, 0);
    }
}
