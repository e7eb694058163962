//! Loads, stores and atomics of a warp, with their counters and race checks.

use super::super::code::*;
use super::super::counters::{self, Target};
use super::super::hazard::{Order, RawKind};
use super::super::source::Span;
use super::shadow::{Conflict, Storage, Who};
use super::warp::Warp;
use super::{Buffer, Worker};
use half::f16;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

impl Worker<'_> {
    fn addresses(w: &Warp, m: &MemOp) -> Lanes {
        let mut a = [m.offset; LANES];
        if m.dynamic != NONE {
            let d = &w.regs[m.dynamic as usize];
            for i in 0..LANES {
                a[i] = a[i].wrapping_add(d[i]);
            }
        }
        a
    }

    fn count(&mut self, w: &Warp, m: &MemOp, address: &Lanes, atomic: bool) {
        let bytes = m.elem.bytes() * u32::from(m.count);
        let i = usize::from(m.access);
        let tally = &mut self.out.tallies[i];
        let (target, base) = match m.space {
            Space::Workgroup if atomic => (Target::SharedAtomic, 0),
            Space::Workgroup => (Target::Shared, 0),
            Space::Buffer(b) => {
                if self.code.buffers[usize::from(b)].uniform {
                    tally.requests += 1;
                    tally.lanes += u64::from(w.mask.count_ones());
                    return;
                }
                (Target::Global, self.launch.buffers[usize::from(b)].offset)
            }
        };
        let mut shifted = *address;
        if base != 0 {
            shifted.iter_mut().for_each(|x| *x = x.wrapping_add(base));
        }
        let cost = counters::cost(self.launch.machine, &mut self.patterns[i], target, &shifted, w.mask, bytes);
        tally.add(&cost, w.mask.count_ones());
    }

    /// Reports indices out of range, and indices that had wrapped, in lanes that really access.
    /// Returns the lanes out of range: where they were clamped to is not looked at for races.
    pub(super) fn check_guards(&mut self, w: &Warp, (from, to): (u32, u32), span: Span, access: u16) -> u32 {
        let mut outside = 0;
        for g in &self.code.guards[from as usize..to as usize] {
            let id = *g as usize;
            let m = w.out_of_range[id] & w.mask;
            outside |= m;
            if m != 0 {
                let op = &self.code.indexes[id];
                let value = w.regs[op.index as usize][m.trailing_zeros() as usize & 31];
                let mut e = self.event(RawKind::OutOfBounds, span, Span::default(), w, m);
                e.access = access;
                e.index = if op.signed { i64::from(value as i32) } else { i64::from(value) };
                e.length = match op.len {
                    Len::Known(n) => u64::from(n),
                    Len::Runtime(i) => u64::from(self.launch.lengths[i as usize]),
                };
                self.out.hazards.report(e);
            }
            let m = w.wrapped[id] & w.mask;
            if m != 0 {
                let origin = self.code.overflows.get(w.wrapped_at[id] as usize).map(|o| o.span).unwrap_or_default();
                let mut e = self.event(RawKind::IndexOverflow, origin, span, w, m);
                e.access = access;
                self.out.hazards.report(e);
            }
        }
        outside
    }

    fn who(&self, w: &Warp, lane: usize, access: u16) -> Who {
        Who {
            invocation: w.first + lane as u32,
            warp_first: w.first,
            warp_width: self.launch.machine.warp,
            sub: w.sub,
            access,
        }
    }

    /// Reports a race of the access at `lane` and `address`; `write` says of a write whether it
    /// leaves the value as it was.
    #[cold]
    fn race(
        &mut self,
        w: &Warp,
        m: &MemOp,
        span: Span,
        (lane, address): (usize, u32),
        c: Conflict,
        write: Option<bool>,
    ) {
        let order = match (write.is_some(), c.read) {
            (true, false) => Order::WriteThenWrite,
            (true, true) => Order::ReadThenWrite,
            (false, _) => Order::WriteThenRead,
        };
        let benign = write == Some(true);
        let kind = match (m.space, c.workgroup) {
            (Space::Workgroup, _) => RawKind::SharedRace(order, benign),
            (_, None) => RawKind::StorageRace(order, benign),
            (_, Some(_)) => RawKind::CrossRace(order, benign),
        };
        let other = self.code.accesses.get(usize::from(c.access)).map(|a| a.span).unwrap_or_default();
        let mut e = self.event(kind, span, other, w, 1 << lane);
        e.access = m.access;
        e.address = Some(u64::from(self.within(m, address)));
        e.other_workgroup = c.workgroup.filter(|g| *g < super::shadow::WORKGROUPS);
        e.other_invocation = c.invocation;
        self.out.hazards.report(e);
    }

    /// Byte offset within the variable.
    fn within(&self, m: &MemOp, address: u32) -> u32 {
        if m.space != Space::Workgroup {
            return address;
        }
        let var = self.code.shared.iter().rfind(|v| v.offset <= address);
        address - var.map_or(0, |v| v.offset)
    }

    fn check_reads(&mut self, w: &Warp, m: &MemOp, span: Span, address: &Lanes, mask: u32) {
        let bytes = m.elem.bytes() * u32::from(m.count);
        match m.space {
            Space::Workgroup => {
                let grain = self.code.shared_grain;
                for lane in active(mask) {
                    let who = self.who(w, lane, m.access);
                    for cell in address[lane] >> grain..(address[lane] + bytes) >> grain {
                        let (conflict, written) = self.shadow.read(cell as usize, who);
                        if let Some(c) = conflict {
                            self.race(w, m, span, (lane, cell << grain), c, None);
                        }
                        if !written {
                            let mut e = self.event(RawKind::Uninitialized, span, Span::default(), w, 1 << lane);
                            e.access = m.access;
                            e.address = Some(u64::from(self.within(m, cell << grain)));
                            self.out.hazards.report(e);
                        }
                    }
                }
            }
            Space::Buffer(b) => {
                let launch = self.launch;
                let buffer = &launch.buffers[usize::from(b)];
                let (true, Some(shadow)) = (m.tracked, &buffer.shadow) else { return };
                for lane in active(mask) {
                    let me = Storage::cell(self.workgroup, self.storage_epoch, w.first + lane as u32, m.access);
                    let first = address[lane] >> buffer.grain;
                    for cell in first..first + (bytes >> buffer.grain) {
                        if let Some(c) = shadow.read(cell as usize, me) {
                            self.race(w, m, span, (lane, cell << buffer.grain), c, None);
                        }
                    }
                }
            }
        }
    }

    #[inline]
    pub(super) fn load<const H: bool>(&mut self, w: &mut Warp, m: &MemOp, span: Span) {
        if w.mask == 0 {
            return;
        }
        let address = Self::addresses(w, m);
        if self.launch.counters {
            self.count(w, m, &address, false);
        }
        let mut outside = 0;
        if H && m.guards.0 != m.guards.1 {
            outside = self.check_guards(w, m.guards, span, m.access);
        }
        self.read::<H>(w, m, span, &address, outside);
    }

    /// The load itself; lanes `outside` are not looked at for races.
    #[inline]
    pub(super) fn read<const H: bool>(&mut self, w: &mut Warp, m: &MemOp, span: Span, address: &Lanes, outside: u32) {
        if H {
            self.check_reads(w, m, span, address, w.mask & !outside);
        }
        let size = m.elem.bytes();
        for c in 0..u32::from(m.count) {
            let mut r = [0; LANES];
            match m.space {
                Space::Workgroup => {
                    for lane in active(w.mask) {
                        let at = address[lane].wrapping_add(c * size);
                        r[lane] = decode(m.elem, self.shared.get((at >> 2) as usize).copied().unwrap_or(0), at);
                    }
                }
                Space::Buffer(b) => {
                    let words = &self.launch.buffers[usize::from(b)].words;
                    for lane in active(w.mask) {
                        let at = address[lane].wrapping_add(c * size);
                        let word = words.get((at >> 2) as usize).map_or(0, |x| x.load(Relaxed));
                        r[lane] = decode(m.elem, word, at);
                    }
                }
            }
            w.regs[(m.regs[0] + c) as usize] = r;
        }
    }

    #[inline]
    pub(super) fn store<const H: bool>(&mut self, w: &mut Warp, m: &MemOp, span: Span) {
        if w.mask == 0 {
            return;
        }
        let address = Self::addresses(w, m);
        if self.launch.counters {
            self.count(w, m, &address, false);
        }
        let mut outside = 0;
        if H && m.guards.0 != m.guards.1 {
            outside = self.check_guards(w, m.guards, span, m.access);
        }
        self.write::<H>(w, m, span, &address, outside);
    }

    /// The store itself; lanes `outside` are not looked at for races.
    #[inline]
    pub(super) fn write<const H: bool>(&mut self, w: &Warp, m: &MemOp, span: Span, address: &Lanes, outside: u32) {
        let size = m.elem.bytes();
        let launch = self.launch;
        for c in 0..u32::from(m.count) {
            let v = w.regs[m.regs[c as usize & 3] as usize];
            for lane in active(w.mask) {
                let at = address[lane].wrapping_add(c * size);
                let new = encode(m.elem, v[lane]);
                let index = (at >> 2) as usize;
                match m.space {
                    Space::Workgroup => {
                        let Some(&word) = self.shared.get(index) else { continue };
                        let updated = insert(m.elem, word, at, new);
                        if H && outside >> lane & 1 == 0 {
                            let who = self.who(w, lane, m.access);
                            let grain = self.code.shared_grain;
                            for cell in at >> grain..(at + size) >> grain {
                                if let Some(conflict) = self.shadow.write(cell as usize, who) {
                                    self.race(w, m, span, (lane, at), conflict, Some(updated == word));
                                }
                            }
                        }
                        self.shared[index] = updated;
                    }
                    Space::Buffer(b) => {
                        let buffer = &launch.buffers[usize::from(b)];
                        let Some(cell) = buffer.words.get(index) else { continue };
                        if H && outside >> lane & 1 == 0
                            && let Some(shadow) = &buffer.shadow
                        {
                            let old = cell.load(Relaxed);
                            let same = insert(m.elem, old, at, new) == old;
                            let me = Storage::cell(self.workgroup, self.storage_epoch, w.first + lane as u32, m.access);
                            for g in at >> buffer.grain..(at + size) >> buffer.grain {
                                if let Some(conflict) = shadow.write(g as usize, me) {
                                    self.race(w, m, span, (lane, at), conflict, Some(same));
                                }
                            }
                        }
                        write_word(buffer, cell, m.elem, at, new);
                    }
                }
            }
        }
    }

    pub(super) fn atomic<const H: bool>(&mut self, w: &mut Warp, a: &AtomicOp, span: Span) {
        if w.mask == 0 {
            return;
        }
        let m = &a.mem;
        let address = Self::addresses(w, m);
        if self.launch.counters {
            self.count(w, m, &address, !matches!(a.fun, Rmw::Load | Rmw::Store));
        }
        if H && m.guards.0 != m.guards.1 {
            self.check_guards(w, m.guards, span, m.access);
        }
        let value = w.regs[a.value as usize];
        let compare = if a.compare == NONE { [0; LANES] } else { w.regs[a.compare as usize] };
        let (mut old, mut exchanged) = ([0; LANES], [0; LANES]);
        for lane in active(w.mask) {
            let index = (address[lane] >> 2) as usize;
            let (v, c) = (value[lane], compare[lane]);
            let next = |x: u32| apply(a.fun, x, v, c);
            let before = match m.space {
                Space::Workgroup => {
                    if H {
                        // An atomic load of memory that nobody has written counts as a read of it.
                        let who = self.who(w, lane, m.access);
                        self.shadow.atomic((address[lane] >> self.code.shared_grain) as usize, who);
                    }
                    let Some(word) = self.shared.get_mut(index) else { continue };
                    let before = *word;
                    *word = next(before);
                    before
                }
                Space::Buffer(b) => {
                    let Some(word) = self.launch.buffers[usize::from(b)].words.get(index) else { continue };
                    match word.fetch_update(Relaxed, Relaxed, |x| Some(next(x))) {
                        Ok(x) | Err(x) => x,
                    }
                }
            };
            old[lane] = before;
            exchanged[lane] = u32::from(before == c);
        }
        w.regs[a.d as usize] = old;
        w.regs[a.exchanged as usize] = exchanged;
    }
}

fn apply(f: Rmw, x: u32, v: u32, compare: u32) -> u32 {
    let float = |g: fn(f32, f32) -> f32| g(f32::from_bits(x), f32::from_bits(v)).to_bits();
    match f {
        Rmw::Load => x,
        Rmw::Store | Rmw::Exchange => v,
        Rmw::CompareExchange => {
            if x == compare {
                v
            } else {
                x
            }
        }
        Rmw::Add => x.wrapping_add(v),
        Rmw::Sub => x.wrapping_sub(v),
        Rmw::And => x & v,
        Rmw::Or => x | v,
        Rmw::Xor => x ^ v,
        Rmw::MinU => x.min(v),
        Rmw::MaxU => x.max(v),
        Rmw::MinS => (x as i32).min(v as i32) as u32,
        Rmw::MaxS => (x as i32).max(v as i32) as u32,
        Rmw::AddF => float(|a, b| a + b),
        Rmw::SubF => float(|a, b| a - b),
        Rmw::MinF => float(f32::min),
        Rmw::MaxF => float(f32::max),
    }
}

/// The active lanes in order.
#[inline(always)]
fn active(mask: u32) -> impl Iterator<Item = usize> {
    let mut left = mask;
    std::iter::from_fn(move || {
        if left == 0 {
            return None;
        }
        let lane = left.trailing_zeros() as usize & 31;
        left &= left - 1;
        Some(lane)
    })
}

#[inline(always)]
fn decode(elem: Elem, word: u32, address: u32) -> u32 {
    match elem {
        Elem::Word => word,
        Elem::Half => f16::from_bits((word >> (address % 4 * 8)) as u16).to_f32().to_bits(),
        Elem::Byte => word >> (address % 4 * 8) & 1,
    }
}

#[inline(always)]
fn encode(elem: Elem, value: u32) -> u32 {
    match elem {
        Elem::Word => value,
        Elem::Half => u32::from(f16::from_f32(f32::from_bits(value)).to_bits()),
        Elem::Byte => value & 1,
    }
}

/// `word` with the component at `address` replaced.
#[inline(always)]
fn insert(elem: Elem, word: u32, address: u32, new: u32) -> u32 {
    let shift = address % 4 * 8;
    match elem {
        Elem::Word => new,
        Elem::Half => word & !(0xffff << shift) | new << shift,
        Elem::Byte => word & !(0xff << shift) | new << shift,
    }
}

/// Stores a component; a half word must not disturb its neighbour, which another workgroup may be writing.
#[inline(always)]
fn write_word(_buffer: &Buffer, cell: &AtomicU32, elem: Elem, address: u32, new: u32) {
    if elem == Elem::Word {
        cell.store(new, Relaxed);
    } else {
        let _ = cell.fetch_update(Relaxed, Relaxed, |w| Some(insert(elem, w, address, new)));
    }
}
