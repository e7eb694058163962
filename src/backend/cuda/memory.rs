//! Device memory: allocation, and transfers through page-locked memory.

use super::context::{Context, Event, lock};
use super::driver::{Driver, OUT_OF_MEMORY, SUCCESS};
use crate::error::{Error, Result};
use cudarc::driver::sys;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Allocations are whole multiples of this, so that the last element can be read with the rest of a vector.
const GRANULE: u64 = 16;
/// Bytes of one page-locked buffer. Smaller transfers are left to the driver.
const CHUNK: usize = 4 << 20;
/// Threads that copy between a caller's memory and the page-locked buffers. One alone stays below
/// the bus, above all where the caller's pages are touched for the first time.
const MAX_COPIERS: usize = 8;

/// Device memory.
///
/// Dropping it frees the memory once the stream is done with it, and never panics, whatever state the
/// device is in.
pub struct CudaBuffer {
    pub(super) context: Arc<Context>,
    pointer: sys::CUdeviceptr,
    len: u64,
    owned: bool,
}

impl std::fmt::Debug for CudaBuffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CudaBuffer").field("pointer", &self.pointer).field("len", &self.len).finish_non_exhaustive()
    }
}

impl CudaBuffer {
    /// The device address of its first byte, for other users of the same context. It stays valid as
    /// long as the buffer; other streams wait for this one before they use it.
    pub fn pointer(&self) -> u64 {
        self.pointer
    }

    /// Its bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether some byte belongs to both.
    pub(super) fn overlaps(&self, other: &CudaBuffer) -> bool {
        let end = |buffer: &CudaBuffer| buffer.pointer.saturating_add(buffer.len);
        self.pointer < end(other) && other.pointer < end(self)
    }

    /// `bytes` of new memory, in the stream's order where the driver has memory pools.
    pub(super) fn allocate(context: &Arc<Context>, bytes: u64) -> Result<Self> {
        let len = bytes.max(1).checked_next_multiple_of(GRANULE).unwrap_or(u64::MAX);
        let out_of_memory = |free| Error::OutOfMemory { needed: bytes, free };
        // Far too large a request is refused here: some drivers report it as another kind of error.
        if let Some((free, total)) = context.memory()
            && len > total
        {
            return Err(out_of_memory(Some(free)));
        }
        let size = usize::try_from(len).map_err(|_| out_of_memory(None))?;
        let mut pointer: sys::CUdeviceptr = 0;
        let entered = context.enter_to_work()?;
        let code = match context.pools {
            // SAFETY: the context is current and the stream its own; the out-pointer is a local.
            Some(pools) => unsafe { (pools.alloc)(&mut pointer, size, context.stream) },
            // SAFETY: the context is current; the out-pointer is a local.
            None => unsafe { (context.driver.mem_alloc)(&mut pointer, size) },
        };
        drop(entered);
        if code == OUT_OF_MEMORY {
            return Err(out_of_memory(context.memory().map(|(free, _)| free)));
        }
        context.check("cuMemAlloc", code)?;
        let buffer = CudaBuffer { context: context.clone(), pointer, len, owned: true };
        // What lies behind the last element is read with it, so it is given a value.
        fill(&buffer, len - GRANULE, GRANULE, 0)?;
        Ok(buffer)
    }

    /// Memory that someone else allocated and frees.
    ///
    /// # Safety
    /// As [`Cuda::wrap`](super::Cuda::wrap).
    pub(super) unsafe fn borrowed(context: &Arc<Context>, pointer: sys::CUdeviceptr, len: u64) -> Self {
        CudaBuffer { context: context.clone(), pointer, len, owned: false }
    }

    /// The address of `len` bytes at `offset`, if they lie inside.
    pub(super) fn range(&self, offset: u64, len: u64) -> Result<sys::CUdeviceptr> {
        if offset.checked_add(len).is_none_or(|end| end > self.len) {
            return Err(Error::shape("view", format!("{len} bytes at {offset} of a buffer of {} bytes", self.len)));
        }
        Ok(self.pointer + offset)
    }

    /// Fails unless the buffer was made in `context`.
    pub(super) fn expect_in(&self, context: &Arc<Context>) -> Result<()> {
        if Arc::ptr_eq(&self.context, context) { Ok(()) } else { Err(Error::WrongDevice("the buffer")) }
    }
}

impl Drop for CudaBuffer {
    fn drop(&mut self) {
        if !self.owned {
            return;
        }
        if let Some(pools) = self.context.pools {
            // Freed in the stream's order, behind all work on it: nothing has to be waited for.
            if let Ok(_entered) = self.context.enter_to_work() {
                // SAFETY: allocated by `alloc` of the same pools on this stream, and given up here.
                unsafe { (pools.free)(self.pointer, self.context.stream) };
            }
        } else {
            self.context.release(|driver| {
                // SAFETY: allocated in `allocate`, given up here, and the stream is idle.
                unsafe { (driver.mem_free)(self.pointer) };
            });
        }
    }
}

/// Fills `len` bytes at `offset` with a word; the stream does it in its turn.
pub(super) fn fill(buffer: &CudaBuffer, offset: u64, len: u64, word: u32) -> Result<()> {
    let context = &buffer.context;
    let target = buffer.range(offset, len)?;
    if !target.is_multiple_of(4) || !len.is_multiple_of(4) {
        return Err(Error::shape("fill", format!("{len} bytes at {offset} are not whole words")));
    }
    if len == 0 {
        return Ok(());
    }
    let _entered = context.enter_to_work()?;
    // SAFETY: `range` has checked that the words lie inside the buffer, whose memory outlives the
    // work: it is given back behind all work on the stream.
    let code = unsafe { (context.driver.memset_d32_async)(target, word, (len / 4) as usize, context.stream) };
    context.check("cuMemsetD32Async", code)
}

/// Writes `bytes` at `offset`.
pub(super) fn upload(buffer: &CudaBuffer, offset: u64, bytes: &[u8]) -> Result<()> {
    let context = &buffer.context;
    let target = buffer.range(offset, bytes.len() as u64)?;
    if bytes.len() > CHUNK {
        return in_chunks(context, bytes.len(), |staging, at, len| {
            // SAFETY: the chunk lies inside `bytes`, the staging buffer holds `CHUNK` bytes, and its
            // last transfer has been waited for; different memory, so no overlap.
            unsafe { staging.address.copy_from_nonoverlapping(bytes.as_ptr().add(at), len) };
            // SAFETY: the target was checked by `range`; the source stays as it is until the event
            // behind it has been waited for.
            let code = unsafe {
                let source = staging.address.cast_const().cast();
                (context.driver.memcpy_htod_async)(target + at as u64, source, len, context.stream)
            };
            context.check("cuMemcpyHtoDAsync", code)?;
            staging.mark(context)
        });
    }
    if bytes.is_empty() {
        return Ok(());
    }
    let entered = context.enter_to_work()?;
    // SAFETY: the target was checked by `range`. The source must stay as it is until the copy is
    // done, which is waited for below, before the borrow of `bytes` ends.
    let code =
        unsafe { (context.driver.memcpy_htod_async)(target, bytes.as_ptr().cast(), bytes.len(), context.stream) };
    context.check("cuMemcpyHtoDAsync", code)?;
    drop(entered);
    context.synchronize()
}

/// Reads `bytes` back from `offset`, after everything launched so far.
pub(super) fn download(buffer: &CudaBuffer, offset: u64, bytes: &mut [u8]) -> Result<()> {
    let context = &buffer.context;
    let source = buffer.range(offset, bytes.len() as u64)?;
    if bytes.len() > CHUNK {
        let target = Target(bytes.as_mut_ptr());
        return in_chunks(context, bytes.len(), |staging, at, len| {
            // SAFETY: the source was checked by `range`, the staging buffer holds `CHUNK` bytes and is idle.
            let code = unsafe {
                (context.driver.memcpy_dtoh_async)(staging.address.cast(), source + at as u64, len, context.stream)
            };
            context.check("cuMemcpyDtoHAsync", code)?;
            staging.mark(context)?;
            staging.wait(context)?;
            // SAFETY: the transfer is done; every chunk of `bytes` belongs to one thread, and the
            // exclusive borrow of `bytes` lasts until all threads have ended.
            unsafe { target.at(at).copy_from_nonoverlapping(staging.address, len) };
            Ok(())
        });
    }
    if bytes.is_empty() {
        return context.synchronize();
    }
    let entered = context.enter_to_work()?;
    // SAFETY: the source was checked by `range`; the exclusive borrow of `bytes` lasts until the
    // copy has been waited for below.
    let code =
        unsafe { (context.driver.memcpy_dtoh_async)(bytes.as_mut_ptr().cast(), source, bytes.len(), context.stream) };
    context.check("cuMemcpyDtoHAsync", code)?;
    drop(entered);
    context.synchronize()
}

/// Where a download goes, shared by the threads that fill its chunks.
#[derive(Clone, Copy)]
struct Target(*mut u8);

// SAFETY: the threads of `in_chunks` write different chunks.
unsafe impl Send for Target {}
// SAFETY: as above.
unsafe impl Sync for Target {}

impl Target {
    fn at(&self, offset: usize) -> *mut u8 {
        self.0.wrapping_add(offset)
    }
}

/// A page-locked buffer of [`CHUNK`] bytes with the event behind its last transfer.
pub(super) struct Staging {
    address: *mut u8,
    done: Event,
}

// SAFETY: it is owned memory and an event handle, both usable from any thread.
unsafe impl Send for Staging {}

impl Staging {
    /// One from the pool, or a new one. The context must have been entered.
    fn take(context: &Context) -> Result<Self> {
        if let Some(staging) = lock(&context.staging).pop() {
            return Ok(staging);
        }
        let done = context.take_event()?;
        let mut address = std::ptr::null_mut();
        // SAFETY: the context is current; the out-pointer is a local.
        let code = unsafe { (context.driver.mem_alloc_host)(&mut address, CHUNK) };
        if code != SUCCESS {
            context.put_events([done]);
        }
        context.check("cuMemAllocHost", code)?;
        Ok(Staging { address: address.cast(), done })
    }

    /// Gives it back to the driver.
    ///
    /// # Safety
    /// Its context is current and its last transfer is done.
    pub(super) unsafe fn free(self, driver: &Driver) {
        // SAFETY: both were made in `take` and are given up here; the rest is the caller's word.
        unsafe {
            (driver.mem_free_host)(self.address.cast());
            (driver.event_destroy)(self.done.0);
        }
    }

    /// Notes that the buffer is in use until everything queued so far is done.
    fn mark(&self, context: &Context) -> Result<()> {
        // SAFETY: event and stream are of this context, which the thread has entered.
        context.check("cuEventRecord", unsafe { (context.driver.event_record)(self.done.0, context.stream) })
    }

    /// Waits until it is not in use (at once if it never was).
    fn wait(&self, context: &Context) -> Result<()> {
        // SAFETY: the event is of this context, which the thread has entered.
        context.check("cuEventSynchronize", unsafe { (context.driver.event_synchronize)(self.done.0) })
    }
}

/// Runs `transfer(staging, first byte, bytes)` for every chunk of `len` bytes, on several threads,
/// each with a page-locked buffer of its own, and waits for all of it.
fn in_chunks(
    context: &Context,
    len: usize,
    transfer: impl Fn(&Staging, usize, usize) -> Result<()> + Sync,
) -> Result<()> {
    let next = AtomicUsize::new(0);
    let copy = || -> Result<()> {
        let _entered = context.enter_to_work()?;
        let staging = Staging::take(context)?;
        let chunks = || -> Result<()> {
            loop {
                let at = next.fetch_add(CHUNK, Ordering::Relaxed);
                if at >= len {
                    break staging.wait(context);
                }
                staging.wait(context)?;
                transfer(&staging, at, CHUNK.min(len - at))?;
            }
        };
        let result = chunks();
        // Back to the pool also after an error: the buffer is waited for before its next use.
        lock(&context.staging).push(staging);
        result
    };
    let copiers = std::thread::available_parallelism().map_or(1, usize::from).min(MAX_COPIERS).min(len.div_ceil(CHUNK));
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..copiers).map(|_| scope.spawn(copy)).collect();
        let mut result = copy();
        for other in others {
            let other = other.join().unwrap_or_else(|_| Err(Error::device("transfer", "a copying thread panicked")));
            result = result.and(other);
        }
        result
    })
}
