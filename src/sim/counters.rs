//! What one memory request costs: sectors of global memory, wavefronts of workgroup memory.

use super::code::{LANES, Lanes};
use super::machine::Machine;

/// Cost of one warp-wide request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cost {
    /// Requests it is split into (a 12-byte access is one of 8 and one of 4 bytes).
    pub requests: u32,
    pub sectors: u32,
    /// Fewest sectors that could hold the distinct bytes.
    pub ideal_sectors: u32,
    /// Distinct bytes that the lanes asked for.
    pub useful: u32,
    pub wavefronts: u32,
    pub ideal_wavefronts: u32,
}

/// Sums over the requests of one access.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Tally {
    pub requests: u64,
    pub lanes: u64,
    pub sectors: u64,
    pub ideal_sectors: u64,
    pub useful: u64,
    pub wavefronts: u64,
    pub ideal_wavefronts: u64,
    pub worst_sectors: u32,
    pub worst_wavefronts: u32,
    /// Largest wavefronts of a request over its ideal.
    pub worst_degree: u32,
}

impl Tally {
    pub fn add(&mut self, c: &Cost, lanes: u32) {
        self.requests += u64::from(c.requests);
        self.lanes += u64::from(lanes);
        self.sectors += u64::from(c.sectors);
        self.ideal_sectors += u64::from(c.ideal_sectors);
        self.useful += u64::from(c.useful);
        self.wavefronts += u64::from(c.wavefronts);
        self.ideal_wavefronts += u64::from(c.ideal_wavefronts);
        self.worst_sectors = self.worst_sectors.max(c.sectors);
        self.worst_wavefronts = self.worst_wavefronts.max(c.wavefronts);
        if c.ideal_wavefronts > 0 {
            self.worst_degree = self.worst_degree.max(c.wavefronts.div_ceil(c.ideal_wavefronts));
        }
    }

    pub fn merge(&mut self, o: &Tally) {
        self.requests += o.requests;
        self.lanes += o.lanes;
        self.sectors += o.sectors;
        self.ideal_sectors += o.ideal_sectors;
        self.useful += o.useful;
        self.wavefronts += o.wavefronts;
        self.ideal_wavefronts += o.ideal_wavefronts;
        self.worst_sectors = self.worst_sectors.max(o.worst_sectors);
        self.worst_wavefronts = self.worst_wavefronts.max(o.worst_wavefronts);
        self.worst_degree = self.worst_degree.max(o.worst_degree);
    }
}

/// How requests are costed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    Global,
    Shared,
    /// Workgroup atomics: lanes with the same address take turns.
    SharedAtomic,
}

/// The last request of an access. Requests repeat the same pattern at shifted addresses, and a
/// shift by whole sectors (global) or by whole words (shared) does not change the cost.
#[derive(Debug, Clone)]
pub struct Pattern {
    mask: u32,
    phase: u32,
    deltas: Lanes,
    cost: Cost,
}

impl Default for Pattern {
    fn default() -> Self {
        Pattern { mask: 0, phase: 0, deltas: [0; LANES], cost: Cost::default() }
    }
}

/// Cost of a request of `bytes` per active lane at `address`.
#[inline]
pub fn cost(machine: &Machine, cache: &mut Pattern, target: Target, address: &Lanes, mask: u32, bytes: u32) -> Cost {
    let base = address[mask.trailing_zeros() as usize & 31];
    let phase = match target {
        Target::Global => base & (machine.sector - 1),
        _ => base & 3,
    };
    let mut deltas = [0; LANES];
    if mask == u32::MAX {
        for i in 0..LANES {
            deltas[i] = address[i].wrapping_sub(base);
        }
    } else {
        for i in 0..LANES {
            deltas[i] = if mask >> i & 1 != 0 { address[i].wrapping_sub(base) } else { 0 };
        }
    }
    if cache.mask == mask && cache.phase == phase && cache.deltas == deltas {
        return cache.cost;
    }
    let cost = compute(machine, target, address, mask, bytes);
    *cache = Pattern { mask, phase, deltas, cost };
    cost
}

fn compute(machine: &Machine, target: Target, address: &Lanes, mask: u32, bytes: u32) -> Cost {
    let mut total = Cost::default();
    // Hardware moves 1, 2, 4, 8 or 16 bytes per lane: three components are two plus one.
    let mut done = 0;
    while done < bytes {
        let piece = match bytes - done {
            n if n >= 16 => 16,
            n if n >= 8 => 8,
            n if n >= 4 => 4,
            n if n >= 2 => 2,
            _ => 1,
        };
        let mut at = Numbers::default();
        at.extend((0..LANES).filter(|i| mask >> i & 1 != 0).map(|i| address[i].wrapping_add(done)));
        total.requests += 1;
        total.useful += distinct_bytes(&at, piece);
        match target {
            Target::Global => total.sectors += sectors(machine, &at, piece),
            Target::Shared => {
                let (w, ideal) = wavefronts(machine, address, mask, done, piece);
                total.wavefronts += w;
                total.ideal_wavefronts += ideal;
            }
            Target::SharedAtomic => {
                total.wavefronts += atomic_wavefronts(machine, &at);
                total.ideal_wavefronts += 1;
            }
        }
        done += piece;
    }
    if target == Target::Global {
        total.ideal_sectors = total.useful.div_ceil(machine.sector);
    }
    total
}

/// A few numbers without an allocation: a request's addresses, or two sectors for each.
struct Numbers {
    all: [u32; 2 * LANES],
    len: usize,
}

impl Default for Numbers {
    fn default() -> Self {
        Numbers { all: [0; 2 * LANES], len: 0 }
    }
}

impl Numbers {
    fn extend(&mut self, numbers: impl Iterator<Item = u32>) {
        for (place, number) in self.all[self.len..].iter_mut().zip(numbers) {
            *place = number;
            self.len += 1;
        }
    }

    /// The different ones, in order.
    fn distinct(&mut self) -> &[u32] {
        let numbers = &mut self.all[..self.len];
        if !numbers.is_sorted() {
            numbers.sort_unstable();
        }
        let mut kept = 0;
        for i in 0..numbers.len() {
            if i == 0 || numbers[i] != numbers[kept - 1] {
                numbers[kept] = numbers[i];
                kept += 1;
            }
        }
        self.len = kept;
        self
    }
}

impl std::ops::Deref for Numbers {
    type Target = [u32];

    fn deref(&self) -> &[u32] {
        &self.all[..self.len]
    }
}

/// Bytes covered by accesses of `size` bytes, each aligned to its size.
fn distinct_bytes(at: &[u32], size: u32) -> u32 {
    let mut all = Numbers::default();
    all.extend(at.iter().copied());
    all.distinct().len() as u32 * size
}

fn sectors(machine: &Machine, at: &[u32], size: u32) -> u32 {
    let mut touched = Numbers::default();
    touched.extend(at.iter().flat_map(|a| [a / machine.sector, a.wrapping_add(size - 1) / machine.sector]));
    touched.distinct().len() as u32
}

/// Passes over workgroup memory that a request takes, and the fewest possible.
///
/// A pass serves one word of each bank. Lanes that want the same word share it. Accesses of 8
/// bytes are served by half warps, of 16 bytes by quarter warps.
fn wavefronts(machine: &Machine, address: &Lanes, mask: u32, offset: u32, size: u32) -> (u32, u32) {
    let words = size.div_ceil(machine.bank_width).max(1);
    let lanes = (machine.warp / words).max(1) as usize;
    let (mut total, mut ideal) = (0, 0);
    for first in (0..machine.warp as usize).step_by(lanes) {
        let mut wanted = Numbers::default();
        for (i, a) in address.iter().enumerate().skip(first).take(lanes) {
            if mask >> i & 1 != 0 {
                let w = a.wrapping_add(offset) / machine.bank_width;
                wanted.extend((0..words).map(|k| w.wrapping_add(k)));
            }
        }
        if wanted.is_empty() {
            continue;
        }
        let mut per_bank = [0u32; 64];
        for w in wanted.distinct() {
            per_bank[(w % machine.banks) as usize & 63] += 1;
        }
        total += per_bank.iter().max().copied().unwrap_or(1);
        ideal += 1;
    }
    (total, ideal)
}

fn atomic_wavefronts(machine: &Machine, at: &[u32]) -> u32 {
    let mut per_bank = [0u32; 64];
    for a in at {
        per_bank[(a / machine.bank_width % machine.banks) as usize & 63] += 1;
    }
    per_bank.iter().max().copied().unwrap_or(0)
}
