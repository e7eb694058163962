//! Runs compiled shaders: workgroups in parallel, the warps of one in turns between barriers.

mod cooperative;
pub mod lanes;
mod memory;
pub mod shadow;
mod subgroup;
mod warp;

use super::code::{Fixed, LANES, Lanes, Op};
use super::counters::{Pattern, Tally};
use super::error::SimError;
use super::hazard::{Collector, Event, RawKind};
use super::lower::Code;
use super::machine::Machine;
use super::source::{Source, Span};
use half::f16;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use warp::{Stop, Warp};

/// Loop rounds of one warp before the next one gets its turn, so that a warp may wait for another.
const TURN: u64 = 1 << 16;
/// Workgroups that a thread takes at once.
const CHUNK: u64 = 4;

/// A buffer during a run: words that all threads may touch.
pub struct Buffer {
    pub words: Vec<AtomicU32>,
    /// Bytes of the view.
    pub bytes: u64,
    /// Where the view starts, for sectors.
    pub offset: u32,
    pub shadow: Option<shadow::Storage>,
    pub grain: u32,
}

impl Buffer {
    pub fn new(bytes: &[u8], offset: u32, shadowed: bool, grain: u32) -> Self {
        let mut words: Vec<AtomicU32> = Vec::with_capacity(bytes.len() / 4 + 1);
        let (chunks, rest) = bytes.as_chunks::<4>();
        words.extend(chunks.iter().map(|c| AtomicU32::new(u32::from_le_bytes(*c))));
        if !rest.is_empty() {
            let mut last = [0; 4];
            last[..rest.len()].copy_from_slice(rest);
            words.push(AtomicU32::new(u32::from_le_bytes(last)));
        }
        let cells = (bytes.len() >> grain) + 1;
        Buffer {
            words,
            bytes: bytes.len() as u64,
            offset,
            shadow: shadowed.then(|| shadow::Storage::new(cells)),
            grain,
        }
    }

    pub fn write_back(&self, bytes: &mut [u8]) {
        for (chunk, w) in bytes.chunks_mut(4).zip(&self.words) {
            let n = chunk.len();
            chunk.copy_from_slice(&w.load(Ordering::Relaxed).to_le_bytes()[..n]);
        }
    }
}

/// Everything that stays the same during a run.
pub struct Launch<'a> {
    pub code: &'a Code,
    pub source: &'a Source,
    pub machine: &'a Machine,
    pub buffers: Vec<Buffer>,
    /// Elements of each runtime-sized array.
    pub lengths: Vec<u32>,
    pub workgroups: [u32; 3],
    pub size: [u32; 3],
    pub counters: bool,
    pub hazards: bool,
    pub max_steps: u64,
}

/// What one thread of the simulator has gathered.
#[derive(Default)]
pub struct Gathered {
    pub executions: Vec<u64>,
    pub lanes: Vec<u64>,
    pub tallies: Vec<Tally>,
    pub(super) hazards: Collector,
    pub warps: u64,
}

impl Gathered {
    fn merge(&mut self, o: Gathered) {
        let add = |a: &mut Vec<u64>, b: Vec<u64>| {
            a.resize(a.len().max(b.len()), 0);
            a.iter_mut().zip(b).for_each(|(x, y)| *x += y);
        };
        add(&mut self.executions, o.executions);
        add(&mut self.lanes, o.lanes);
        self.tallies.resize(self.tallies.len().max(o.tallies.len()), Tally::default());
        self.tallies.iter_mut().zip(&o.tallies).for_each(|(x, y)| x.merge(y));
        self.hazards.merge(o.hazards);
        self.warps += o.warps;
    }
}

/// Runs every workgroup on `threads` threads.
pub fn run(launch: &Launch<'_>, threads: usize) -> Result<Gathered, SimError> {
    let total = launch.workgroups.iter().map(|n| u64::from(*n)).product::<u64>();
    if total == 0 {
        return Ok(Gathered::default());
    }
    if threads <= 1 {
        let mut worker = Worker::new(launch);
        for g in 0..total {
            worker.workgroup(g)?;
        }
        return Ok(worker.finish());
    }
    let next = AtomicU64::new(0);
    let stop = AtomicBool::new(false);
    // The failure of the lowest workgroup wins, so that the message does not depend on timing.
    let result: Mutex<(Gathered, Option<(u64, SimError)>)> = Mutex::new((Gathered::default(), None));
    let lock = || match result.lock() {
        Ok(g) => g,
        Err(poisoned) => poisoned.into_inner(),
    };
    rayon::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|_| {
                let mut worker = Worker::new(launch);
                let mut failed = None;
                'all: while !stop.load(Ordering::Relaxed) {
                    let first = next.fetch_add(CHUNK, Ordering::Relaxed);
                    if first >= total {
                        break;
                    }
                    for g in first..(first + CHUNK).min(total) {
                        if let Err(e) = worker.workgroup(g) {
                            stop.store(true, Ordering::Relaxed);
                            failed = Some((g, e));
                            break 'all;
                        }
                    }
                }
                let mut all = lock();
                all.0.merge(worker.finish());
                if let Some((g, e)) = failed
                    && all.1.as_ref().is_none_or(|(first, _)| g < *first)
                {
                    all.1 = Some((g, e));
                }
            });
        }
    });
    let (gathered, failed) = match result.into_inner() {
        Ok(r) => r,
        Err(poisoned) => poisoned.into_inner(),
    };
    match failed {
        Some((_, e)) => Err(e),
        None => Ok(gathered),
    }
}

/// One thread of the simulator with the memory that it reuses from workgroup to workgroup.
pub struct Worker<'a> {
    launch: &'a Launch<'a>,
    code: &'a Code,
    warps: Vec<Warp>,
    shared: Vec<u32>,
    shadow: shadow::Shared,
    /// Registers to set for each workgroup.
    per_workgroup: Vec<(u32, Fixed)>,
    patterns: Vec<Pattern>,
    out: Gathered,
    workgroup: u32,
    storage_epoch: u32,
    steps: u64,
}

impl<'a> Worker<'a> {
    fn new(launch: &'a Launch<'a>) -> Self {
        let code = launch.code;
        let threads: u32 = launch.size.iter().product();
        let width = launch.machine.warp;
        let count = threads.div_ceil(width);
        let mut per_workgroup = Vec::new();
        let mut warps = Vec::with_capacity(count as usize);
        for w in 0..count {
            let first = w * width;
            let lanes = width.min(threads - first);
            let full = if lanes == 32 { u32::MAX } else { (1 << lanes) - 1 };
            let mut warp = Warp::new(code, first, full);
            for (i, f) in code.fixed.iter().enumerate() {
                let r = code.fixed_base + i as u32;
                match fixed_value(launch, *f, first, w, count) {
                    Some(v) => warp.regs[r as usize] = v,
                    None if w == 0 => per_workgroup.push((r, *f)),
                    None => {}
                }
            }
            warps.push(warp);
        }
        let cells = if launch.hazards { (code.shared_bytes as usize >> code.shared_grain) + 1 } else { 0 };
        Worker {
            launch,
            code,
            warps,
            shared: vec![0; code.shared_bytes.div_ceil(4) as usize],
            shadow: shadow::Shared::new(cells),
            per_workgroup,
            patterns: vec![Pattern::default(); code.accesses.len()],
            out: Gathered {
                executions: vec![0; code.segments as usize],
                lanes: vec![0; code.segments as usize],
                tallies: vec![Tally::default(); code.accesses.len()],
                ..Gathered::default()
            },
            workgroup: 0,
            storage_epoch: 0,
            steps: 0,
        }
    }

    fn finish(self) -> Gathered {
        self.out
    }

    /// Runs workgroup number `g` to its end.
    fn workgroup(&mut self, g: u64) -> Result<(), SimError> {
        let [nx, ny, _] = self.launch.workgroups.map(u64::from);
        let id = [(g % nx) as u32, (g / nx % ny) as u32, (g / nx / ny) as u32];
        self.workgroup = g as u32;
        self.storage_epoch = 0;
        self.steps = 0;
        self.shared.fill(0);
        if self.launch.hazards {
            self.shadow.new_workgroup();
        }
        let mut warps = std::mem::take(&mut self.warps);
        for warp in &mut warps {
            warp.restart();
            for (r, f) in &self.per_workgroup {
                warp.regs[*r as usize] = per_workgroup_value(self.launch.size, *f, id, warp.first);
            }
        }
        self.out.warps += warps.len() as u64;
        let result = self.turns(&mut warps);
        self.warps = warps;
        result
    }

    fn turns(&mut self, warps: &mut [Warp]) -> Result<(), SimError> {
        loop {
            let mut running = false;
            for w in warps.iter_mut() {
                if w.waiting.is_some() || w.done {
                    continue;
                }
                let stop = if self.launch.hazards { self.run_warp::<true>(w) } else { self.run_warp::<false>(w) };
                match stop {
                    Stop::Done => w.done = true,
                    Stop::Barrier => w.waiting = Some(w.pc),
                    Stop::Turn => {
                        running = true;
                        self.steps += TURN;
                        if self.steps > self.launch.max_steps {
                            let span = self.code.meta.get(w.pc).map(|m| m.span).unwrap_or_default();
                            return Err(SimError::StepLimit {
                                line: self.launch.source.locate(span).0,
                                steps: self.steps,
                            });
                        }
                    }
                }
            }
            if running {
                continue;
            }
            if warps.iter().all(|w| w.done) {
                return Ok(());
            }
            self.release_barrier(warps);
        }
    }

    /// All warps that still run wait at a barrier: check that it is the same one, and go on.
    fn release_barrier(&mut self, warps: &mut [Warp]) {
        let Some(pc) = warps.iter().find_map(|w| w.waiting) else { return };
        let mut what = 0;
        for w in warps.iter() {
            if let Some(at) = w.waiting
                && let Some(Op::Barrier { what: b }) = self.code.ops.get(at)
            {
                what |= b;
            }
        }
        if self.launch.hazards {
            for w in warps.iter() {
                match w.waiting {
                    Some(at) if at == pc => {}
                    // Waiting elsewhere, or already at the end: not all invocations meet.
                    Some(at) => self.divergent(at, w, Some(pc)),
                    None => {
                        if let Some(waiting) = warps.iter().find(|w| w.waiting == Some(pc)) {
                            self.divergent(pc, waiting, None);
                        }
                    }
                }
            }
        }
        for w in warps.iter_mut() {
            if w.waiting.take().is_some() {
                w.pc += 1;
            }
        }
        if what & 1 != 0 && self.launch.hazards {
            self.shadow.barrier();
        }
        if what & 2 != 0 {
            self.storage_epoch += 1;
        }
    }

    fn divergent(&mut self, pc: usize, w: &Warp, other: Option<usize>) {
        let span = |pc: usize| self.code.meta.get(pc).map(|m| m.span).unwrap_or_default();
        let e = self.event(RawKind::Divergent, span(pc), other.map(span).unwrap_or_default(), w, w.mask);
        self.out.hazards.report(e);
    }

    fn event(&self, kind: RawKind, at: Span, other: Span, w: &Warp, lanes: u32) -> Event {
        Event {
            kind,
            at,
            other,
            access: u16::MAX,
            address: None,
            workgroup: self.workgroup,
            invocation: w.first + lanes.trailing_zeros().min(31),
            lanes,
            other_workgroup: None,
            other_invocation: None,
            index: 0,
            length: 0,
        }
    }
}

/// Contents of a register that stays the same for a whole run; `None` if it does not.
fn fixed_value(launch: &Launch<'_>, f: Fixed, first: u32, warp: u32, warps: u32) -> Option<Lanes> {
    let [sx, sy, _] = launch.size;
    let lane = |g: &dyn Fn(u32) -> u32| {
        let mut r = [0; LANES];
        for (i, x) in r.iter_mut().enumerate() {
            *x = g(first + i as u32);
        }
        r
    };
    Some(match f {
        Fixed::Const(c) => [c; LANES],
        Fixed::Uniform { buffer, offset, elem } => {
            let word = |o: u32| {
                let b = launch.buffers.get(usize::from(buffer));
                b.and_then(|b| b.words.get(o as usize / 4)).map_or(0, |w| w.load(Ordering::Relaxed))
            };
            let v = word(offset);
            let v = if elem == 2 { f16::from_bits((v >> (offset % 4 * 8)) as u16).to_f32().to_bits() } else { v };
            [v; LANES]
        }
        Fixed::ArrayLength(i) => [launch.lengths.get(i as usize).copied().unwrap_or(0); LANES],
        Fixed::NumWorkgroups(i) => [launch.workgroups[usize::from(i)]; LANES],
        Fixed::LocalId(i) => lane(&|t| [t % sx, t / sx % sy, t / sx / sy][usize::from(i)]),
        Fixed::LocalIndex => lane(&|t| t),
        Fixed::SubgroupSize => [launch.machine.warp; LANES],
        Fixed::SubgroupLane => lane(&|t| t - first),
        Fixed::SubgroupId => [warp; LANES],
        Fixed::NumSubgroups => [warps; LANES],
        Fixed::WorkgroupId(_) | Fixed::GlobalId(_) => return None,
    })
}

fn per_workgroup_value([sx, sy, sz]: [u32; 3], f: Fixed, id: [u32; 3], first: u32) -> Lanes {
    match f {
        Fixed::WorkgroupId(i) => [id[usize::from(i)]; LANES],
        Fixed::GlobalId(i) => {
            let i = usize::from(i);
            let base = id[i].wrapping_mul([sx, sy, sz][i]);
            let mut r = [0; LANES];
            for (k, x) in r.iter_mut().enumerate() {
                let t = first + k as u32;
                *x = base.wrapping_add([t % sx, t / sx % sy, t / sx / sy][i]);
            }
            r
        }
        _ => [0; LANES],
    }
}
