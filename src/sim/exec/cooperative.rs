//! Cooperative matrices: moves between memory and registers, and products.
//!
//! Of every block of 8 x 8 elements a lane holds two neighbours of one row (of one column in a
//! right operand), as tensor cores want it: lane `4 r + c / 2` holds elements `c` and `c + 1`.

use super::super::code::*;
use super::super::counters::{self, Target};
use super::super::hazard::RawKind;
use super::super::source::Span;
use super::warp::Warp;
use super::{Worker, lanes};

const BLOCK: u32 = 8;
const BLOCK_ELEMENTS: usize = 64;
/// Lines of one matrix that shared memory serves in a turn, and the bytes of each.
const LINE_BYTES: u32 = 16;
/// An address that no memory has.
const NOWHERE: u32 = u32::MAX - 63;

impl Worker<'_> {
    /// The whole warp must come here, with one pointer and one stride. Returns both.
    fn uniform<const H: bool>(&mut self, w: &Warp, t: &Transfer, span: Span) -> (u32, u32) {
        let lane = w.mask.trailing_zeros() as usize & 31;
        let stride = w.regs[t.stride as usize];
        let base = if t.mem.dynamic == NONE { [0; LANES] } else { w.regs[t.mem.dynamic as usize] };
        if H {
            let odd = (0..LANES).fold(0, |m, i| m | u32::from(stride[i] != stride[lane] || base[i] != base[lane]) << i);
            if odd & w.mask != 0 || w.mask != u32::MAX {
                let mut e = self.event(RawKind::PartialSubgroup, span, Span::default(), w, odd & w.mask | !w.mask);
                e.access = t.mem.access;
                self.out.hazards.report(e);
            }
        }
        (t.mem.offset.wrapping_add(base[lane]), stride[lane].wrapping_mul(t.unit))
    }

    /// Addresses of a block's pairs: lane `4 l + p` has elements `2 p` and `2 p + 1` of memory line `l`.
    fn block(t: &Transfer, first: u32, stride: u32, line: u32, place: u32) -> Lanes {
        let size = t.mem.elem.bytes();
        std::array::from_fn(|i| {
            let (l, p) = (line + i as u32 / 4, place + 2 * (i as u32 % 4));
            first.wrapping_add(l.wrapping_mul(stride)).wrapping_add(p * size)
        })
    }

    /// Counts: 16-bit matrices leave workgroup memory as lines of 16 bytes, a lane each; everything
    /// else moves block by block, two elements per lane.
    fn count_transfer(&mut self, t: &Transfer, first: u32, stride: u32) {
        let m = &t.mem;
        let (lines, width) = if t.row_major { (t.rows, t.columns) } else { (t.columns, t.rows) };
        let (target, base) = match m.space {
            Space::Workgroup => (Target::Shared, 0),
            Space::Buffer(b) => (Target::Global, self.launch.buffers[usize::from(b)].offset),
        };
        let i = usize::from(m.access);
        let machine = self.launch.machine;
        let at = first.wrapping_add(base);
        if target == Target::Shared && m.elem == Elem::Half {
            let used = lines * width / BLOCK;
            let address: Lanes = std::array::from_fn(|lane| {
                let (lane, line) = (lane as u32, lane as u32 % lines);
                at.wrapping_add(line.wrapping_mul(stride)).wrapping_add(lane / lines * LINE_BYTES)
            });
            let mask = if used >= LANES as u32 { u32::MAX } else { (1 << used) - 1 };
            let cost = counters::cost(machine, &mut self.patterns[i], target, &address, mask, LINE_BYTES);
            self.out.tallies[i].add(&cost, LANES as u32);
            return;
        }
        for line in (0..lines).step_by(BLOCK as usize) {
            for place in (0..width).step_by(BLOCK as usize) {
                let address = Self::block(t, at, stride, line, place);
                let bytes = 2 * m.elem.bytes();
                let cost = counters::cost(machine, &mut self.patterns[i], target, &address, u32::MAX, bytes);
                self.out.tallies[i].add(&cost, LANES as u32);
            }
        }
    }

    /// Lanes whose pair lies beyond the variable or buffer; their address becomes one that no memory has.
    fn beyond<const H: bool>(&mut self, w: &Warp, t: &Transfer, address: &mut Lanes, span: Span) -> u32 {
        let (from, bytes) = match (t.bounds, t.mem.space) {
            (Some((from, bytes)), _) => (from, u64::from(bytes)),
            (None, Space::Buffer(b)) => (0, self.launch.buffers[usize::from(b)].bytes),
            (None, Space::Workgroup) => return 0,
        };
        let size = t.mem.elem.bytes();
        let mut outside = 0;
        for (i, a) in address.iter_mut().enumerate() {
            let end = u64::from(a.wrapping_sub(from)) + 2 * u64::from(size);
            if end > bytes {
                outside |= 1 << i;
                if H && outside == 1 << i {
                    let mut e = self.event(RawKind::OutOfBounds, span, Span::default(), w, outside);
                    e.access = t.mem.access;
                    e.index = i64::from(a.wrapping_sub(from) / size);
                    e.length = bytes / u64::from(size);
                    self.out.hazards.report(e);
                }
                *a = NOWHERE;
            }
        }
        outside
    }

    /// Moves a matrix block by block; `load` says which way.
    pub(super) fn transfer<const H: bool>(&mut self, w: &mut Warp, t: &Transfer, span: Span, load: bool) {
        if w.mask == 0 {
            return;
        }
        let (first, stride) = self.uniform::<H>(w, t, span);
        let lines = if t.row_major { t.rows } else { t.columns };
        if self.launch.counters {
            self.count_transfer(t, first, stride);
        }
        let mut skip = 0;
        if H && t.mem.guards.0 != t.mem.guards.1 {
            skip = self.check_guards(w, t.mem.guards, span, t.mem.access);
        }
        // Where a line of memory runs across what a lane holds, pairs are exchanged between lanes.
        let turned = t.row_major == t.by_columns;
        let mask = std::mem::replace(&mut w.mask, u32::MAX);
        for (number, pair) in t.regs.chunks_exact(2).enumerate() {
            let number = number as u32;
            let across = t.columns / BLOCK;
            let (row, column) = (number / across * BLOCK, number % across * BLOCK);
            let (line, place) = if t.row_major { (row, column) } else { (column, row) };
            debug_assert!(line < lines);
            let mut address = Self::block(t, first, stride, line, place);
            let outside = self.beyond::<H>(w, t, &mut address, span) | skip;
            let [low, high] = [t.mem.regs[0] as usize, t.mem.regs[1] as usize];
            if load {
                self.read::<H>(w, &t.mem, span, &address, outside);
                let (x, y) = (w.regs[low], w.regs[high]);
                let (x, y) = if turned { turn(&x, &y) } else { (x, y) };
                w.regs[pair[0] as usize] = x;
                w.regs[pair[1] as usize] = y;
            } else {
                let (x, y) = (w.regs[pair[0] as usize], w.regs[pair[1] as usize]);
                let (x, y) = if turned { turn(&x, &y) } else { (x, y) };
                w.regs[low] = x;
                w.regs[high] = y;
                self.write::<H>(w, &t.mem, span, &address, outside);
            }
        }
        w.mask = mask;
    }

    /// d = a b + c, each step of k rounded to f32; f16 sums are rounded once, at the end.
    pub(super) fn product<const H: bool>(&mut self, w: &mut Warp, p: &Product, pc: usize) {
        let [m, n, k] = p.shape.map(|x| x as usize);
        let (a, b) = (gather(w, &p.a, k, false), gather(w, &p.b, n, true));
        let mut sums = gather(w, &p.c, n, false);
        for i in 0..m {
            let row = &mut sums[i * n..(i + 1) * n];
            for l in 0..k {
                let x = a[i * k + l];
                for (s, y) in row.iter_mut().zip(&b[l * n..(l + 1) * n]) {
                    *s += x * y;
                }
            }
        }
        let regs: Vec<Reg> = (0..p.c.len() as u32).map(|i| p.d + i).collect();
        for (number, pair) in regs.chunks_exact(2).enumerate() {
            let (row, column) = block_of(number, n);
            for lane in 0..LANES {
                for (i, r) in pair.iter().enumerate() {
                    let x = sums[(row + lane / 4) * n + column + 2 * (lane % 4) + i];
                    w.regs[*r as usize][lane] = x.to_bits();
                }
            }
            for r in pair {
                if p.half {
                    w.regs[*r as usize] = lanes::un(Un::RoundF16, &w.regs[*r as usize]);
                }
                if H && lanes::any_nan(&w.regs[*r as usize]) {
                    let from: Vec<Reg> = p.a.iter().chain(&p.b).chain(&p.c).copied().collect();
                    if !from.iter().any(|x| lanes::any_nan(&w.regs[*x as usize])) {
                        self.check_nan(w, pc, &w.regs[*r as usize].clone(), &[]);
                    }
                }
            }
        }
    }
}

/// First row and column of a block of a matrix with so many columns.
fn block_of(number: usize, columns: usize) -> (usize, usize) {
    let across = columns / BLOCK as usize;
    (number / across * BLOCK as usize, number % across * BLOCK as usize)
}

/// The elements of a matrix, row by row.
fn gather(w: &Warp, regs: &[Reg], columns: usize, by_columns: bool) -> Vec<f32> {
    let mut out = vec![0.0; regs.len() / 2 * BLOCK_ELEMENTS];
    for (number, pair) in regs.chunks_exact(2).enumerate() {
        let (row, column) = block_of(number, columns);
        for (i, r) in pair.iter().enumerate() {
            for (lane, bits) in w.regs[*r as usize].iter().enumerate() {
                let (line, place) = (lane / 4, 2 * (lane % 4) + i);
                let (r, c) = if by_columns { (place, line) } else { (line, place) };
                out[(row + r) * columns + column + c] = f32::from_bits(*bits);
            }
        }
    }
    out
}

/// Transposes a block that lies in two registers.
fn turn(x: &Lanes, y: &Lanes) -> (Lanes, Lanes) {
    let (mut low, mut high) = ([0; LANES], [0; LANES]);
    for lane in 0..LANES {
        let line = lane / 4;
        for (i, from) in [x, y].into_iter().enumerate() {
            let place = 2 * (lane % 4) + i;
            let to = if line % 2 == 0 { &mut low } else { &mut high };
            to[4 * place + line / 2] = from[lane];
        }
    }
    (low, high)
}
