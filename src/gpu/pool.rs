//! Device memory that is handed out again instead of freed.
//!
//! Everything a handle launches runs in order, so memory may be handed out again as soon as its last
//! use was queued: whatever uses it next is queued behind.

use super::Shared;
use crate::backend::Backend;
use crate::error::{Error, Result};
use crate::session::Held;
use std::collections::BTreeMap;
use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

/// The smallest buffer, in bytes.
const SMALLEST: u64 = 256;
/// What a device is assumed to have where its driver does not tell, in bytes.
const MEMORY_GUESS: u64 = 2 << 30;

/// What a handle has allocated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Memory {
    /// Buffers that were asked of the driver since the handle was opened.
    pub allocations: u64,
    /// Buffers that were handed out again instead.
    pub reuses: u64,
    /// Bytes in use now.
    pub in_use: u64,
    /// Bytes kept for reuse.
    pub kept: u64,
}

/// A buffer, and its place in the session's books unless a caller owns it.
struct Piece<B: Backend> {
    buffer: B::Buffer,
    entry: Option<Held<()>>,
}

pub(super) struct Pool<B: Backend> {
    free: Mutex<BTreeMap<u64, Vec<Arc<Piece<B>>>>>,
    most_kept: AtomicU64,
    allocations: AtomicU64,
    reuses: AtomicU64,
    in_use: AtomicU64,
    kept: AtomicU64,
}

/// A buffer of the pool, or one that a caller owns.
pub(super) struct Block<B: Backend> {
    piece: Arc<Piece<B>>,
    bytes: u64,
    pub(super) shared: Arc<Shared<B>>,
}

impl<B: Backend> Block<B> {
    /// A buffer that is not the pool's.
    #[cfg(any(feature = "wgpu", feature = "cuda"))]
    pub(super) fn foreign(shared: &Arc<Shared<B>>, buffer: B::Buffer, bytes: u64) -> Self {
        let piece = Arc::new(Piece { buffer, entry: None });
        Block { piece, bytes, shared: Arc::clone(shared) }
    }

    pub(super) fn buffer(&self) -> &B::Buffer {
        &self.piece.buffer
    }

    /// Bytes that may be bound.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl<B: Backend> Drop for Block<B> {
    fn drop(&mut self) {
        if self.piece.entry.is_some() {
            self.shared.pool.put(self.bytes, Arc::clone(&self.piece));
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The size that is allocated for `bytes`: at most an eighth more, so that sizes which differ a
/// little share buffers.
fn size_class(bytes: u64) -> u64 {
    let bytes = bytes.max(SMALLEST);
    let step = (1 << bytes.ilog2()) / 8;
    bytes.checked_next_multiple_of(step.max(16)).unwrap_or(bytes)
}

impl<B: Backend> Pool<B> {
    pub(super) fn new(memory: Option<u64>) -> Self {
        Pool {
            free: Mutex::default(),
            most_kept: AtomicU64::new(memory.unwrap_or(MEMORY_GUESS) / 2),
            allocations: AtomicU64::new(0),
            reuses: AtomicU64::new(0),
            in_use: AtomicU64::new(0),
            kept: AtomicU64::new(0),
        }
    }

    pub(super) fn memory(&self) -> Memory {
        Memory {
            allocations: self.allocations.load(Relaxed),
            reuses: self.reuses.load(Relaxed),
            in_use: self.in_use.load(Relaxed),
            kept: self.kept.load(Relaxed),
        }
    }

    pub(super) fn keep_at_most(&self, bytes: u64) {
        self.most_kept.store(bytes, Relaxed);
        if self.kept.load(Relaxed) > bytes {
            self.trim();
        }
    }

    /// Gives all that is kept back to the driver; returns the bytes.
    pub(super) fn trim(&self) -> u64 {
        let free = std::mem::take(&mut *lock(&self.free));
        let bytes = free.iter().map(|(size, buffers)| size * buffers.len() as u64).sum();
        self.kept.fetch_sub(bytes, Relaxed);
        bytes
    }

    /// A kept buffer of at least `class` bytes and at most an eighth more.
    fn reuse(&self, class: u64) -> Option<(u64, Arc<Piece<B>>)> {
        let mut free = lock(&self.free);
        let (&size, buffers) = free.range_mut(class..=class.saturating_add(class / 8)).find(|(_, b)| !b.is_empty())?;
        let piece = buffers.pop()?;
        drop(free);
        self.kept.fetch_sub(size, Relaxed);
        self.reuses.fetch_add(1, Relaxed);
        Some((size, piece))
    }

    fn put(&self, size: u64, piece: Arc<Piece<B>>) {
        self.in_use.fetch_sub(size, Relaxed);
        if self.kept.load(Relaxed).saturating_add(size) > self.most_kept.load(Relaxed) {
            return; // and so it is freed
        }
        self.kept.fetch_add(size, Relaxed);
        lock(&self.free).entry(size).or_default().push(piece);
    }
}

impl<B: Backend> Shared<B> {
    /// A block of at least `bytes`, of unspecified content. Where memory runs out, what is kept for
    /// reuse is given back first.
    pub(super) async fn block(self: &Arc<Self>, bytes: u64) -> Result<Block<B>> {
        self.usable()?;
        let device = self.session.device();
        let class = match size_class(bytes) {
            class if class <= device.limits.buffer => class,
            _ => bytes,
        };
        let (size, piece) = match self.pool.reuse(class) {
            Some(kept) => kept,
            None => (class, Arc::new(self.allocate(class).await?)),
        };
        self.pool.in_use.fetch_add(size, Relaxed);
        Ok(Block { piece, bytes: size, shared: Arc::clone(self) })
    }

    async fn allocate(&self, bytes: u64) -> Result<Piece<B>> {
        let device = self.session.device();
        if bytes > device.limits.buffer {
            return Err(match device.memory {
                Some(memory) if bytes > memory => Error::OutOfMemory { needed: bytes, free: Some(memory) },
                _ => Error::Limit {
                    what: "a buffer".into(),
                    needed: bytes,
                    limit: device.limits.buffer,
                    unit: "bytes",
                    device: device.name.clone(),
                },
            });
        }
        let mut made = self.session.backend().alloc(bytes).await;
        if matches!(made, Err(Error::OutOfMemory { .. })) && self.pool.trim() > 0 {
            made = self.session.backend().alloc(bytes).await;
        }
        let buffer = self.noting(made)?;
        self.pool.allocations.fetch_add(1, Relaxed);
        Ok(Piece { buffer, entry: Some(self.session.enter(bytes, Location::caller())) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_is_at_most_an_eighth_larger() {
        for bytes in [1, 255, 256, 257, 1000, 4096, 5000, 1 << 20, (1 << 20) + 1, 3 << 30] {
            let class = size_class(bytes);
            assert!(class >= bytes && class <= bytes.max(SMALLEST) / 8 * 9 + 32, "{bytes} -> {class}");
            assert!(class.is_multiple_of(16) && size_class(class) == class, "{bytes} -> {class}");
        }
    }
}
