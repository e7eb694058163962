//! Shadow memory: who touched each word last, to find races and reads of unwritten memory.
//!
//! Workgroup memory belongs to one thread of the simulator, so its cells are plain. Storage is
//! shared by all workgroups that run at once, so its cells are atomic, and their updates are such
//! that whichever of two conflicting accesses comes second sees the first, in every interleaving:
//! a write publishes itself and then looks at the reader, a read publishes itself and then looks
//! at the writer.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// What an access ran into.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Conflict {
    /// In another workgroup (its number modulo [`WORKGROUPS`]), or `None` for this one.
    pub workgroup: Option<u32>,
    /// The earlier access was a read.
    pub read: bool,
    /// Its invocation; `None` when there were several.
    pub invocation: Option<u32>,
    pub access: u16,
}

// Workgroup cell: epoch 24 bits | subgroup epoch 12 | invocation 12 | access 16.
const MANY: u64 = 0xfff;
const EPOCHS: u32 = (1 << 24) - 2;

/// Shadow of a workgroup's memory.
pub struct Shared {
    writer: Vec<u64>,
    reader: Vec<u64>,
    epoch: u32,
    /// Cells older than this belong to earlier workgroups.
    start: u32,
}

/// The invocation that touches memory.
#[derive(Debug, Clone, Copy)]
pub struct Who {
    pub invocation: u32,
    pub warp_first: u32,
    pub warp_width: u32,
    pub sub: u32,
    pub access: u16,
}

impl Shared {
    pub fn new(cells: usize) -> Self {
        Shared { writer: vec![0; cells], reader: vec![0; cells], epoch: 1, start: 1 }
    }

    pub fn new_workgroup(&mut self) {
        self.barrier();
        self.start = self.epoch;
    }

    pub fn barrier(&mut self) {
        self.epoch += 1;
        if self.epoch > EPOCHS {
            // Once in 16 million barriers: forget who wrote, but not that something was written.
            for w in &mut self.writer {
                let old = (*w >> 40) as u32;
                *w = if old >= self.start { 1 << 40 } else { 0 };
            }
            self.reader.fill(0);
            self.start = 1;
            self.epoch = 2;
        }
    }

    fn cell(&self, who: Who) -> u64 {
        u64::from(self.epoch) << 40
            | u64::from(who.sub & 0xfff) << 28
            | u64::from(who.invocation) << 16
            | u64::from(who.access)
    }

    /// Is the cell by another invocation, in this epoch, not ordered by a subgroup barrier.
    #[inline]
    fn conflicts(&self, cell: u64, who: Who) -> bool {
        if (cell >> 40) as u32 != self.epoch {
            return false;
        }
        let invocation = cell >> 16 & 0xfff;
        if invocation == u64::from(who.invocation) {
            return false;
        }
        let same_warp = invocation == MANY || (invocation as u32).wrapping_sub(who.warp_first) < who.warp_width;
        !(same_warp && (cell >> 28 & 0xfff) as u32 != who.sub & 0xfff)
    }

    fn conflict(cell: u64, read: bool) -> Conflict {
        let invocation = cell >> 16 & 0xfff;
        Conflict {
            workgroup: None,
            read,
            invocation: (invocation != MANY).then_some(invocation as u32),
            access: cell as u16,
        }
    }

    /// Records a read; says whether it races and whether the memory was ever written.
    #[inline]
    pub fn read(&mut self, cell: usize, who: Who) -> (Option<Conflict>, bool) {
        let (Some(&w), Some(&r)) = (self.writer.get(cell), self.reader.get(cell)) else { return (None, true) };
        let written = (w >> 40) as u32 >= self.start;
        let conflict = self.conflicts(w, who).then(|| Self::conflict(w, false));
        if (r >> 40) as u32 != self.epoch || (r >> 28 & 0xfff) as u32 != who.sub & 0xfff {
            self.reader[cell] = self.cell(who);
        } else if r >> 16 & 0xfff != u64::from(who.invocation) {
            self.reader[cell] = r | MANY << 16;
        }
        (conflict, written)
    }

    /// Records a write.
    #[inline]
    pub fn write(&mut self, cell: usize, who: Who) -> Option<Conflict> {
        let (Some(&w), Some(&r)) = (self.writer.get(cell), self.reader.get(cell)) else { return None };
        self.writer[cell] = self.cell(who);
        if self.conflicts(w, who) {
            return Some(Self::conflict(w, false));
        }
        self.conflicts(r, who).then(|| Self::conflict(r, true))
    }

    /// Atomics only initialise: they do not race with each other, and plain accesses cannot reach them.
    pub fn atomic(&mut self, cell: usize, who: Who) {
        let c = self.cell(who);
        if let Some(w) = self.writer.get_mut(cell) {
            *w = c;
        }
    }
}

// Storage cell: workgroup + 1, 22 bits | epoch 20 | invocation 11 | access 11.
/// Workgroups are told apart modulo this; more would only hide a race of two that far apart.
pub const WORKGROUPS: u32 = (1 << 22) - 2;
const MANY_GROUPS: u64 = (1 << 22) - 1;
const MANY_LANES: u64 = (1 << 11) - 1;
const MAX_ACCESS: u16 = (1 << 11) - 1;

/// Shadow of a storage buffer.
pub struct Storage {
    writer: Vec<AtomicU64>,
    reader: Vec<AtomicU64>,
}

fn group(cell: u64) -> u64 {
    cell >> 42
}

fn invocation(cell: u64) -> u64 {
    cell >> 11 & MANY_LANES
}

fn epoch(cell: u64) -> u64 {
    cell >> 22 & 0xf_ffff
}

impl Storage {
    pub fn new(cells: usize) -> Self {
        let zeros = || (0..cells).map(|_| AtomicU64::new(0)).collect();
        Storage { writer: zeros(), reader: zeros() }
    }

    /// The cell of an access: workgroup number, storage barriers passed in it, invocation, access.
    pub fn cell(workgroup: u32, epoch: u32, invocation: u32, access: u16) -> u64 {
        u64::from(workgroup % WORKGROUPS + 1) << 42
            | u64::from(epoch & 0xf_ffff) << 22
            | u64::from(invocation & 0x3ff) << 11
            | u64::from(access.min(MAX_ACCESS))
    }

    fn conflict(me: u64, other: u64, read: bool) -> Option<Conflict> {
        if other == 0 {
            return None;
        }
        let lane = (invocation(other) != MANY_LANES).then_some(invocation(other) as u32);
        let access = (other & u64::from(MAX_ACCESS)) as u16;
        if group(other) != group(me) {
            let workgroup = if group(other) == MANY_GROUPS { WORKGROUPS } else { group(other) as u32 - 1 };
            return Some(Conflict { workgroup: Some(workgroup), read, invocation: lane, access });
        }
        let same = epoch(other) == epoch(me) && invocation(other) != invocation(me);
        same.then_some(Conflict { workgroup: None, read, invocation: lane, access })
    }

    #[inline]
    pub fn read(&self, cell: usize, me: u64) -> Option<Conflict> {
        let (Some(writer), Some(reader)) = (self.writer.get(cell), self.reader.get(cell)) else { return None };
        let r = reader.load(SeqCst);
        if r == 0 || (group(r) == group(me) && epoch(r) != epoch(me)) {
            let old = reader.swap(me, SeqCst);
            if old != 0 && group(old) != group(me) {
                reader.fetch_or(MANY_GROUPS << 42, SeqCst);
            }
        } else if group(r) != group(me) && group(r) != MANY_GROUPS {
            reader.fetch_or(MANY_GROUPS << 42, SeqCst);
        } else if group(r) == group(me) && invocation(r) != invocation(me) && invocation(r) != MANY_LANES {
            reader.fetch_or(MANY_LANES << 11, SeqCst);
        }
        Self::conflict(me, writer.load(SeqCst), false)
    }

    #[inline]
    pub fn write(&self, cell: usize, me: u64) -> Option<Conflict> {
        let (Some(writer), Some(reader)) = (self.writer.get(cell), self.reader.get(cell)) else { return None };
        let old = writer.swap(me, SeqCst);
        Self::conflict(me, old, false).or_else(|| Self::conflict(me, reader.load(SeqCst), true))
    }
}
