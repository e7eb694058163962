//! Operations on memory, and the arithmetic of their addresses.

use super::Reg;
use crate::sim::source::Span;

/// Where memory operations go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Space {
    /// Index into the program's buffers.
    Buffer(u16),
    Workgroup,
}

/// Width and meaning of one component in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Elem {
    Word,
    Half,
    /// A `bool` in workgroup memory takes one byte.
    Byte,
}

impl Elem {
    pub fn bytes(self) -> u32 {
        match self {
            Elem::Word => 4,
            Elem::Half => 2,
            Elem::Byte => 1,
        }
    }
}

/// A load or store of one to four consecutive components per lane.
#[derive(Debug, Clone)]
pub struct MemOp {
    pub space: Space,
    /// Byte offset known at compile time.
    pub offset: u32,
    /// Register with the byte offset per lane, or [`NONE`](super::NONE).
    pub dynamic: Reg,
    pub elem: Elem,
    pub count: u8,
    /// Loads: the first of `count` consecutive registers. Stores: the value's registers.
    pub regs: [Reg; 4],
    /// Counter row.
    pub access: u16,
    /// Index operations that formed the address: ids, as a range of `Program::guards`.
    pub guards: (u32, u32),
    /// May other invocations write here (so that races are possible).
    pub tracked: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rmw {
    Add,
    Sub,
    And,
    Or,
    Xor,
    MinU,
    MaxU,
    MinS,
    MaxS,
    AddF,
    SubF,
    MinF,
    MaxF,
    Exchange,
    Load,
    Store,
    /// Compare exchange: writes the old value and whether it was exchanged.
    CompareExchange,
}

#[derive(Debug, Clone)]
pub struct AtomicOp {
    pub mem: MemOp,
    pub fun: Rmw,
    pub value: Reg,
    pub compare: Reg,
    pub d: Reg,
    pub exchanged: Reg,
}

/// How long an indexed array is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Len {
    Known(u32),
    /// Runtime-sized array of a buffer: index into `Program::lengths`.
    Runtime(u32),
}

/// `d = base + min(index, len - 1) * stride`, remembering lanes where the index was out of range.
#[derive(Debug, Clone)]
pub struct IndexOp {
    pub d: Reg,
    pub base: Reg,
    pub index: Reg,
    pub len: Len,
    pub stride: u32,
    /// Overflow mark slot of the index value, or [`NONE`](super::NONE).
    pub mark: u32,
    pub signed: bool,
}

/// Integer arithmetic that feeds an index: which lanes wrapped.
#[derive(Debug, Clone, Copy)]
pub struct OverflowOp {
    pub multiply: bool,
    pub signed: bool,
    pub a: Reg,
    pub b: Reg,
    pub out: u32,
    pub in_a: u32,
    pub in_b: u32,
    pub span: Span,
}
