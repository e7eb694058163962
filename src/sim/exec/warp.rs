//! One warp: its registers and masks, and the loop over operations.

use super::super::code::*;
use super::super::hazard::RawKind;
use super::super::lower::Code;
use super::super::source::Span;
use super::{TURN, Worker, lanes};

/// Why a warp stopped.
pub enum Stop {
    Done,
    Barrier,
    /// It used up its turn.
    Turn,
}

/// State of one warp.
pub struct Warp {
    pub regs: Vec<Lanes>,
    /// Saved masks of the enclosing constructs, each at its fixed slot.
    masks: Vec<u32>,
    /// Active lanes.
    pub mask: u32,
    /// Lanes that wait for the end of a loop, switch or function they left.
    removed: u32,
    /// Lanes that exist.
    full: u32,
    pub pc: usize,
    pub done: bool,
    pub waiting: Option<usize>,
    /// Local index of lane 0.
    pub first: u32,
    /// Lanes whose last index was out of range, and whose index had wrapped, per index operation.
    pub out_of_range: Vec<u32>,
    pub wrapped: Vec<u32>,
    pub wrapped_at: Vec<u32>,
    /// Lanes whose value has wrapped, per mark slot, and the operation where.
    marks: Vec<u32>,
    mark_origin: Vec<u32>,
    /// Subgroup barriers passed.
    pub sub: u32,
}

impl Warp {
    pub fn new(code: &Code, first: u32, full: u32) -> Self {
        Warp {
            regs: vec![[0; LANES]; code.registers as usize],
            masks: vec![0; code.mask_slots as usize],
            mask: full,
            removed: 0,
            full,
            pc: 0,
            done: false,
            waiting: None,
            first,
            out_of_range: vec![0; code.indexes.len()],
            wrapped: vec![0; code.indexes.len()],
            wrapped_at: vec![NONE; code.indexes.len()],
            marks: vec![0; code.marks as usize],
            mark_origin: vec![NONE; code.marks as usize],
            sub: 0,
        }
    }

    pub fn restart(&mut self) {
        self.mask = self.full;
        self.removed = 0;
        self.pc = 0;
        self.done = false;
        self.waiting = None;
        self.sub = 0;
        self.marks.fill(0);
    }

    #[inline]
    fn r(&self, r: Reg) -> &Lanes {
        &self.regs[r as usize]
    }
}

impl Worker<'_> {
    /// Runs a warp until it ends, waits at a barrier or has had its turn. `H`: look for hazards.
    pub(super) fn run_warp<const H: bool>(&mut self, w: &mut Warp) -> Stop {
        let code = self.code;
        let counters = self.launch.counters;
        let mut rounds = 0;
        let mut pc = w.pc;
        loop {
            match code.ops[pc] {
                Op::Segment { id } => {
                    if counters {
                        self.out.executions[id as usize] += 1;
                        self.out.lanes[id as usize] += u64::from(w.mask.count_ones());
                    }
                }
                Op::SegmentUnder { id, slot } => {
                    if counters {
                        self.out.executions[id as usize] += 1;
                        self.out.lanes[id as usize] += u64::from(w.masks[slot as usize].count_ones());
                    }
                }
                Op::Bin { f, d, a, b } => {
                    let r = lanes::bin(f, w.r(a), w.r(b));
                    if H {
                        self.check_bin(w, pc, f, a, b, &r);
                    }
                    w.regs[d as usize] = r;
                }
                Op::Un { f, d, a } => {
                    let r = lanes::un(f, w.r(a));
                    if H && may_make_nan(f) && lanes::any_nan(&r) {
                        self.check_nan(w, pc, &r, &[a]);
                    }
                    w.regs[d as usize] = r;
                }
                Op::Tern { f, d, a, b, c } => {
                    let r = lanes::tern(f, w.r(a), w.r(b), w.r(c));
                    if H && matches!(f, Tern::FmaF | Tern::MixF | Tern::SmoothStep) && lanes::any_nan(&r) {
                        self.check_nan(w, pc, &r, &[a, b, c]);
                    }
                    w.regs[d as usize] = r;
                }
                Op::InsertBits { d, a, b, c, n } => {
                    w.regs[d as usize] = lanes::insert_bits(w.r(a), w.r(b), w.r(c), w.r(n));
                }
                Op::Copy { d, a } => {
                    let v = *w.r(a);
                    w.regs[d as usize] = v;
                }
                Op::Set { d, a } => {
                    let v = *w.r(a);
                    if w.mask == u32::MAX {
                        w.regs[d as usize] = v;
                    } else {
                        let mask = w.mask;
                        let to = &mut w.regs[d as usize];
                        for i in 0..LANES {
                            to[i] = if mask >> i & 1 != 0 { v[i] } else { to[i] };
                        }
                    }
                }
                Op::GetAt { d, base, len, index } => {
                    let at = *w.r(index);
                    let mut v = [0; LANES];
                    for i in 0..LANES {
                        v[i] = w.regs[(base + at[i].min(len - 1)) as usize][i];
                    }
                    w.regs[d as usize] = v;
                }
                Op::SetAt { base, len, index, a } => {
                    let (at, v) = (*w.r(index), *w.r(a));
                    for i in 0..LANES {
                        if w.mask >> i & 1 != 0 {
                            w.regs[(base + at[i].min(len - 1)) as usize][i] = v[i];
                        }
                    }
                }
                Op::Index { id } => self.index::<H>(w, id),
                Op::Guard { id } => {
                    if H {
                        let range = code.guard_ranges[id as usize];
                        self.check_guards(w, range, code.meta[pc].span, u16::MAX);
                    }
                }
                Op::Load { id } => self.load::<H>(w, &code.mems[id as usize], code.meta[pc].span),
                Op::Store { id } => self.store::<H>(w, &code.mems[id as usize], code.meta[pc].span),
                Op::Atomic { id } => self.atomic::<H>(w, &code.atomics[id as usize], code.meta[pc].span),
                Op::Overflow { id } => {
                    if H {
                        overflow(w, &code.overflows[id as usize], id);
                    }
                }
                Op::MarkSet { d, a } => {
                    if H {
                        let new = if a == NONE { 0 } else { w.marks[a as usize] };
                        let d = d as usize;
                        w.marks[d] = w.marks[d] & !w.mask | new & w.mask;
                        if new & w.mask != 0 {
                            w.mark_origin[d] = w.mark_origin[a as usize];
                        }
                    }
                }
                Op::If { cond, slot, else_pc } => {
                    let c = lanes::nonzero(w.r(cond));
                    let slot = slot as usize;
                    w.masks[slot] = w.mask;
                    w.masks[slot + 1] = w.mask & !c;
                    w.mask &= c;
                    if w.mask == 0 {
                        pc = else_pc as usize;
                        continue;
                    }
                }
                Op::Else { slot, end_pc } => {
                    w.mask = w.masks[slot as usize + 1];
                    if w.mask == 0 {
                        pc = end_pc as usize;
                        continue;
                    }
                }
                Op::EndIf { slot, skip } => {
                    w.mask = w.masks[slot as usize] & !w.removed;
                    if w.mask == 0 {
                        pc = skip as usize;
                        continue;
                    }
                }
                Op::LoopBegin { slot } => {
                    let slot = slot as usize;
                    w.masks[slot] = w.mask;
                    w.masks[slot + 1] = 0;
                    w.masks[slot + 2] = 0;
                }
                Op::Continuing { slot, end_pc } => {
                    let slot = slot as usize;
                    w.removed &= !w.masks[slot + 2];
                    w.masks[slot + 2] = 0;
                    w.mask = w.masks[slot] & !w.removed;
                    if w.mask == 0 {
                        pc = end_pc as usize;
                        continue;
                    }
                }
                Op::BreakIf { cond, slot } => {
                    let m = w.mask & lanes::nonzero(w.r(cond));
                    w.masks[slot as usize + 1] |= m;
                    w.removed |= m;
                    w.mask &= !m;
                }
                Op::LoopBack { start, .. } => {
                    if w.mask != 0 {
                        pc = start as usize;
                        rounds += 1;
                        if rounds >= TURN {
                            w.pc = pc;
                            return Stop::Turn;
                        }
                        continue;
                    }
                }
                Op::LoopEnd { slot, skip } | Op::SwitchEnd { slot, skip } | Op::CallEnd { slot, skip } => {
                    let slot = slot as usize;
                    w.removed &= !w.masks[slot + 1];
                    w.mask = w.masks[slot] & !w.removed;
                    if w.mask == 0 {
                        pc = skip as usize;
                        continue;
                    }
                }
                Op::SwitchBegin { slot } | Op::CallBegin { slot } => {
                    w.masks[slot as usize] = w.mask;
                    w.masks[slot as usize + 1] = 0;
                }
                Op::Case { id, sel, slot, next } => {
                    let case = &code.cases[id as usize];
                    let sel = w.r(sel);
                    let mut m = 0;
                    for (i, s) in sel.iter().enumerate() {
                        m |= u32::from(case.values.contains(s) != case.invert) << i;
                    }
                    w.mask = w.masks[slot as usize] & !w.removed & m;
                    if w.mask == 0 {
                        pc = next as usize;
                        continue;
                    }
                }
                Op::Break { slot, skip } => {
                    w.masks[slot as usize + 1] |= w.mask;
                    w.removed |= w.mask;
                    w.mask = 0;
                    pc = skip as usize;
                    continue;
                }
                Op::Continue { slot, skip } => {
                    w.masks[slot as usize + 2] |= w.mask;
                    w.removed |= w.mask;
                    w.mask = 0;
                    pc = skip as usize;
                    continue;
                }
                Op::Return { slot, skip } => {
                    if slot != NONE {
                        w.masks[slot as usize + 1] |= w.mask;
                    }
                    w.removed |= w.mask;
                    w.mask = 0;
                    pc = skip as usize;
                    continue;
                }
                Op::Barrier { what } => {
                    if w.mask == 0 {
                        // Nobody is here: a barrier between empty blocks of a finished warp.
                    } else if what & 3 == 0 {
                        w.sub = w.sub.wrapping_add(1);
                    } else {
                        if H && w.mask != w.full {
                            self.divergent(pc, w, None);
                        }
                        w.pc = pc;
                        return Stop::Barrier;
                    }
                }
                Op::CoopLoad { id } => {
                    self.transfer::<H>(w, &code.transfers[id as usize], code.meta[pc].span, true);
                }
                Op::CoopStore { id } => {
                    self.transfer::<H>(w, &code.transfers[id as usize], code.meta[pc].span, false);
                }
                Op::CoopMultiply { id } => self.product::<H>(w, &code.products[id as usize], pc),
                Op::Subgroup { id } => super::subgroup::run(w, &code.subgroups[id as usize]),
                Op::End => {
                    w.pc = pc;
                    return Stop::Done;
                }
            }
            pc += 1;
        }
    }

    #[inline(always)]
    fn check_bin(&mut self, w: &Warp, pc: usize, f: Bin, a: Reg, b: Reg, r: &Lanes) {
        match f {
            Bin::AddF | Bin::SubF | Bin::MulF | Bin::DivF | Bin::RemF | Bin::Pow | Bin::Atan2 if lanes::any_nan(r) => {
                self.check_nan(w, pc, r, &[a, b])
            }
            Bin::DivU | Bin::ModU | Bin::DivS | Bin::ModS => self.check_division(w, pc, f, a, b),
            _ => {}
        }
    }

    #[cold]
    pub(super) fn check_nan(&mut self, w: &Warp, pc: usize, r: &Lanes, from: &[Reg]) {
        let mut born = lanes::nan_lanes(r) & w.mask;
        for a in from {
            born &= !lanes::nan_lanes(w.r(*a));
        }
        if born != 0 {
            let e = self.event(RawKind::NanBorn, self.code.meta[pc].span, Span::default(), w, born);
            self.out.hazards.report(e);
        }
    }

    fn check_division(&mut self, w: &Warp, pc: usize, f: Bin, a: Reg, b: Reg) {
        let zero = !lanes::nonzero(w.r(b)) & w.mask;
        if zero != 0 {
            let e = self.event(RawKind::DivisionByZero, self.code.meta[pc].span, Span::default(), w, zero);
            self.out.hazards.report(e);
        }
        if matches!(f, Bin::DivS | Bin::ModS) {
            let (x, y) = (w.r(a), w.r(b));
            let over = (0..LANES).fold(0, |m, i| m | u32::from(x[i] == 1 << 31 && y[i] == u32::MAX) << i) & w.mask;
            if over != 0 {
                let e = self.event(RawKind::DivisionOverflow, self.code.meta[pc].span, Span::default(), w, over);
                self.out.hazards.report(e);
            }
        }
    }

    /// Clamps and scales an index, as naga's `Restrict` policy does.
    #[inline]
    fn index<const H: bool>(&mut self, w: &mut Warp, id: u32) {
        let op = &self.code.indexes[id as usize];
        let len = match op.len {
            Len::Known(n) => n,
            Len::Runtime(i) => self.launch.lengths[i as usize],
        };
        let last = len.saturating_sub(1);
        let at = w.r(op.index);
        let mut r = [0; LANES];
        let mut over = false;
        for i in 0..LANES {
            over |= at[i] > last;
            r[i] = at[i].min(last).wrapping_mul(op.stride);
        }
        if H {
            let mut m = 0;
            if over || len == 0 {
                for (i, x) in at.iter().enumerate() {
                    m |= u32::from(*x >= len) << i;
                }
            }
            w.out_of_range[id as usize] = m;
            if op.mark != NONE {
                w.wrapped[id as usize] = w.marks[op.mark as usize];
                w.wrapped_at[id as usize] = w.mark_origin[op.mark as usize];
            }
        }
        if op.base != NONE {
            let base = w.r(op.base);
            for i in 0..LANES {
                r[i] = r[i].wrapping_add(base[i]);
            }
        }
        w.regs[op.d as usize] = r;
    }
}

/// Which lanes wrapped in an addition or multiplication that feeds an index.
fn overflow(w: &mut Warp, op: &OverflowOp, id: u32) {
    let mark = |w: &Warp, slot: u32| {
        if slot == NONE { (0, NONE) } else { (w.marks[slot as usize], w.mark_origin[slot as usize]) }
    };
    let (ma, oa) = mark(w, op.in_a);
    let (mb, ob) = mark(w, op.in_b);
    let mut m = ma | mb;
    let mut origin = if ma != 0 { oa } else { ob };
    if op.a != NONE {
        let (a, b) = (w.r(op.a), w.r(op.b));
        let (mut any_a, mut any_b) = (0, 0);
        for i in 0..LANES {
            any_a |= a[i];
            any_b |= b[i];
        }
        // Small operands cannot wrap; that is nearly always the answer.
        let small =
            if op.multiply { any_a.leading_zeros() + any_b.leading_zeros() >= 33 } else { (any_a | any_b) >> 30 == 0 };
        if !small {
            let mut new = 0;
            for i in 0..LANES {
                let over = match (op.multiply, op.signed) {
                    (true, true) => (a[i] as i32).checked_mul(b[i] as i32).is_none(),
                    (false, true) => (a[i] as i32).checked_add(b[i] as i32).is_none(),
                    (true, false) => a[i].checked_mul(b[i]).is_none(),
                    (false, false) => a[i].checked_add(b[i]).is_none(),
                };
                // Adding a small negative number as unsigned wraps on purpose.
                let negative = !op.multiply && !op.signed && (a[i] >= 0xffff_0000 || b[i] >= 0xffff_0000);
                new |= u32::from(over && !negative) << i;
            }
            if new & w.mask != 0 {
                origin = id;
            }
            m |= new;
        }
    }
    w.marks[op.out as usize] = m;
    w.mark_origin[op.out as usize] = origin;
}

fn may_make_nan(f: Un) -> bool {
    use Un::*;
    matches!(f, Sqrt | InverseSqrt | Log | Log2 | Sin | Cos | Tan | Asin | Acos | Acosh | Atanh | Fract | Exp | Exp2)
}
