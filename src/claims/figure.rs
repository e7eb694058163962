//! A number that a claim needs.

use crate::element::Element;

/// What is read off a run of a rung.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum What {
    /// The median time in nanoseconds, on buffers that the cache has forgotten.
    Ns,
    /// The same on one buffer set again and again.
    WarmNs,
    /// Nanoseconds of a hop of `hierarchy_latency`: of very many, or the difference between this many and five
    /// times as many.
    HopNs,
    /// The clock of the multiprocessors in MHz, as it was last read.
    ClockMhz,
    /// Warps that a multiprocessor holds at a time, as the driver says.
    ResidentWarps,
    /// Local memory of a thread in bytes: what was spilled.
    LocalBytes,
    /// Runs of a hundred whose result was wrong.
    WrongRuns,
    /// The error of a sum of generated elements, in units of the last place of the sum of magnitudes.
    SumError,
    /// The error of adding up generated magnitudes one by one in f16, over the sum: by arithmetic, no device.
    HalfChain,
    /// The same with Kahan's compensation, in f16 too.
    HalfCompensated,
    /// 32-byte sectors of an average global load, by the simulator.
    LoadSectors,
    /// Useful over moved bytes of global memory, by the simulator.
    Efficiency,
    /// Turns of an average shared-memory load, by the simulator.
    Wavefronts,
    /// Turns of shared memory over the fewest possible, by the simulator.
    ConflictDegree,
    /// Global loads of single elements, by the simulator.
    Loads,
    /// Races and other hazards, by the simulator.
    Hazards,
}

impl What {
    /// Whether the simulator gives it.
    pub(super) const fn is_counted(self) -> bool {
        use What::*;
        matches!(self, LoadSectors | Efficiency | Wavefronts | ConflictDegree | Loads | Hazards)
    }

    /// Whether arithmetic gives it, on any machine the same.
    pub(super) const fn is_arithmetic(self) -> bool {
        matches!(self, What::HalfChain | What::HalfCompensated)
    }

    /// Whether it takes a clock.
    pub(super) const fn is_timed(self) -> bool {
        matches!(self, What::Ns | What::WarmNs | What::HopNs)
    }
}

/// One number of one rung on one problem.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figure {
    /// The op.
    pub op: &'static str,
    /// The rung's id; empty for the one that the op selects.
    pub rung: &'static str,
    /// The dimensions on a GPU.
    pub full: &'static [u64],
    /// And on a software adapter or the simulator.
    pub small: &'static [u64],
    /// The element type; `None` for the op's first.
    pub element: Option<Element>,
    /// Elements by which rows are further apart than they are long.
    pub padding: u64,
    /// Shared memory that a block claims without need, in bytes (CUDA).
    pub ballast: u32,
    /// Blocks at most, where the rung's grid has a most; 0 leaves it.
    pub blocks: u32,
    /// What to read off.
    pub what: What,
}

impl Figure {
    /// Of a rung on a problem.
    pub const fn new(
        what: What,
        op: &'static str,
        rung: &'static str,
        full: &'static [u64],
        small: &'static [u64],
    ) -> Self {
        Figure { op, rung, full, small, element: None, padding: 0, ballast: 0, blocks: 0, what }
    }

    /// With another element type.
    pub const fn of(mut self, element: Element) -> Self {
        self.element = Some(element);
        self
    }

    /// With rows further apart.
    pub const fn padded(mut self, elements: u64) -> Self {
        self.padding = elements;
        self
    }

    /// With ballast.
    pub const fn with_ballast(mut self, bytes: u32) -> Self {
        self.ballast = bytes;
        self
    }

    /// With another limit of blocks.
    pub const fn with_blocks(mut self, blocks: u32) -> Self {
        self.blocks = blocks;
        self
    }

    /// Whether both are read off the same operands.
    pub(super) fn shares_stage(&self, other: &Figure) -> bool {
        let key = |f: &Figure| (f.op, f.full, f.small, f.element, f.padding, f.what.is_counted());
        key(self) == key(other)
    }
}

/// A time on buffers that the cache has forgotten.
pub(super) const fn ns(op: &'static str, rung: &'static str, full: &'static [u64], small: &'static [u64]) -> Figure {
    Figure::new(What::Ns, op, rung, full, small)
}

/// A figure of the simulator, which runs the small problem only.
pub(super) const fn counted(what: What, op: &'static str, rung: &'static str, small: &'static [u64]) -> Figure {
    Figure::new(what, op, rung, small, small)
}
