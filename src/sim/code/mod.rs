//! The compact internal form: flat operations over 32-lane registers.
//!
//! Every value of the shader is split into scalars; each scalar is one register holding the value
//! of all lanes of a warp. Control flow is structured and all calls are inlined, so every construct
//! has a fixed slot for its saved lane masks and the executor needs no stack.

mod arithmetic;
mod memory;
mod warp;

pub use arithmetic::{Bin, Kind, Tern, Un};
pub use memory::{AtomicOp, Elem, IndexOp, Len, MemOp, OverflowOp, Rmw, Space};
pub use warp::{Product, Scan, SubFn, SubgroupOp, Transfer};

use super::source::Span;

/// Most lanes that a warp can have; the machine's warp width may be less.
pub const LANES: usize = 32;
/// One scalar of every lane of a warp, as raw bits.
pub type Lanes = [u32; LANES];
/// Index of a register in a warp's register file.
pub type Reg = u32;
/// "No register", "no slot".
pub const NONE: u32 = u32::MAX;

/// One operation. Registers named `d` are written, the others read.
///
/// Temporaries are written in all lanes whether active or not, which keeps the loops free of
/// masks; only variables ([`Op::Set`]), memory and control flow look at the active mask.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Op {
    /// A straight run of operations starts here: count one execution and its active lanes.
    Segment {
        id: u32,
    },
    /// As `Segment`, inside a short predicated branch: lanes are counted by the saved mask.
    SegmentUnder {
        id: u32,
        slot: u32,
    },
    Bin {
        f: Bin,
        d: Reg,
        a: Reg,
        b: Reg,
    },
    Un {
        f: Un,
        d: Reg,
        a: Reg,
    },
    Tern {
        f: Tern,
        d: Reg,
        a: Reg,
        b: Reg,
        c: Reg,
    },
    /// Bits `[offset, offset+count)` of `a` replaced by `b`; parameters in `c` (offset) and `n` (count).
    InsertBits {
        d: Reg,
        a: Reg,
        b: Reg,
        c: Reg,
        n: Reg,
    },
    Copy {
        d: Reg,
        a: Reg,
    },
    /// Variable `d` becomes `a` in the active lanes.
    Set {
        d: Reg,
        a: Reg,
    },
    /// Element of a variable: register `base + index[lane]`.
    GetAt {
        d: Reg,
        base: Reg,
        len: u32,
        index: Reg,
    },
    SetAt {
        base: Reg,
        len: u32,
        index: Reg,
        a: Reg,
    },
    /// Clamp and scale an index; see [`IndexOp`].
    Index {
        id: u32,
    },
    /// Report if any index operation of the guard was out of range in an active lane.
    Guard {
        id: u32,
    },
    Load {
        id: u32,
    },
    Store {
        id: u32,
    },
    Atomic {
        id: u32,
    },
    /// Overflow bookkeeping for arithmetic that feeds an index.
    Overflow {
        id: u32,
    },
    /// Overflow marks follow a value into a variable.
    MarkSet {
        d: u32,
        a: u32,
    },

    If {
        cond: Reg,
        slot: u32,
        else_pc: u32,
    },
    Else {
        slot: u32,
        end_pc: u32,
    },
    EndIf {
        slot: u32,
        skip: u32,
    },
    LoopBegin {
        slot: u32,
    },
    Continuing {
        slot: u32,
        end_pc: u32,
    },
    BreakIf {
        cond: Reg,
        slot: u32,
    },
    LoopBack {
        slot: u32,
        start: u32,
    },
    LoopEnd {
        slot: u32,
        skip: u32,
    },
    SwitchBegin {
        slot: u32,
    },
    /// Lanes whose selector is one of the case's values go on; the others jump to `next`.
    Case {
        id: u32,
        sel: Reg,
        slot: u32,
        next: u32,
    },
    SwitchEnd {
        slot: u32,
        skip: u32,
    },
    /// Break of the loop or switch whose masks are at `slot`.
    Break {
        slot: u32,
        skip: u32,
    },
    Continue {
        slot: u32,
        skip: u32,
    },
    CallBegin {
        slot: u32,
    },
    Return {
        slot: u32,
        skip: u32,
    },
    CallEnd {
        slot: u32,
        skip: u32,
    },
    /// `what`: 1 workgroup, 2 storage, 4 subgroup.
    Barrier {
        what: u32,
    },
    Subgroup {
        id: u32,
    },
    CoopLoad {
        id: u32,
    },
    CoopStore {
        id: u32,
    },
    CoopMultiply {
        id: u32,
    },
    End,
}

/// What an operation is, for the instruction mix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// f32 add, subtract, multiply, fused multiply-add, min, max, compare.
    F32,
    /// The same in f16.
    F16,
    /// Products of cooperative matrices of f16.
    MatrixF16,
    /// Products of cooperative matrices of f32.
    MatrixF32,
    /// Division, square root, exponentials, trigonometry.
    Special,
    /// Integer and boolean arithmetic, comparisons, selects.
    Integer,
    /// Conversions and packing.
    Convert,
    /// Loads from storage buffers.
    LoadGlobal,
    /// Stores to storage buffers.
    StoreGlobal,
    /// Loads from workgroup memory.
    LoadShared,
    /// Stores to workgroup memory.
    StoreShared,
    /// Loads of uniform data whose address differs between lanes or is computed.
    LoadUniform,
    /// Variable indexed by a run-time value: local memory on a GPU unless the loop unrolls.
    LocalArray,
    /// Atomics on storage buffers.
    AtomicGlobal,
    /// Atomics on workgroup memory.
    AtomicShared,
    /// Operations among the lanes of a subgroup.
    Subgroup,
    /// Barriers.
    Barrier,
    /// Branches, loops and calls.
    Branch,
    /// Bookkeeping that a GPU compiler removes; not counted as an instruction.
    Free,
}

/// Where an operation comes from and what it counts as.
#[derive(Debug, Clone, Copy)]
pub struct Meta {
    pub span: Span,
    pub class: Class,
    /// Floating-point operations per active lane (a fused multiply-add is 2).
    pub flops: u16,
    /// Segment whose execution count is this operation's.
    pub segment: u32,
}

/// Values of one switch case; `invert` selects the lanes that match none (the default).
#[derive(Debug, Clone)]
pub struct CaseOp {
    pub values: Vec<u32>,
    pub invert: bool,
}

/// A register that has the same contents for a whole run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fixed {
    Const(u32),
    /// Scalar of a uniform buffer at a fixed offset.
    Uniform {
        buffer: u16,
        offset: u32,
        elem: u8,
    },
    ArrayLength(u32),
    NumWorkgroups(u8),
    LocalId(u8),
    LocalIndex,
    SubgroupSize,
    SubgroupLane,
    SubgroupId,
    NumSubgroups,
    /// Changes from workgroup to workgroup.
    WorkgroupId(u8),
    GlobalId(u8),
}
