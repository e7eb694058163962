//! The compact internal form: flat operations over 32-lane registers.
//!
//! Every value of the shader is split into scalars; each scalar is one register holding the value
//! of all lanes of a warp. Control flow is structured and all calls are inlined, so every construct
//! has a fixed slot for its saved lane masks and the executor needs no stack.

use super::source::Span;

/// Most lanes that a warp can have; the machine's warp width may be less.
pub const LANES: usize = 32;
/// One scalar of every lane of a warp, as raw bits.
pub type Lanes = [u32; LANES];
/// Index of a register in a warp's register file.
pub type Reg = u32;
/// "No register", "no slot".
pub const NONE: u32 = u32::MAX;

/// Scalar types that a register can hold. `F16` is held as the `f32` of equal value, so that
/// arithmetic is one f32 operation and a rounding; `Bool` as 0 or 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    U32,
    I32,
    F32,
    F16,
    Bool,
}

impl Kind {
    pub fn is_float(self) -> bool {
        matches!(self, Kind::F32 | Kind::F16)
    }
}

/// Two-operand lane operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bin {
    AddI,
    SubI,
    MulI,
    DivU,
    DivS,
    ModU,
    ModS,
    And,
    Or,
    Xor,
    Shl,
    ShrU,
    ShrS,
    EqI,
    NeI,
    LtU,
    LeU,
    LtS,
    LeS,
    MinU,
    MaxU,
    MinS,
    MaxS,
    AddF,
    SubF,
    MulF,
    DivF,
    RemF,
    EqF,
    NeF,
    LtF,
    LeF,
    MinF,
    MaxF,
    Atan2,
    Pow,
    Step,
    Ldexp,
    Dot4I8,
    Dot4U8,
    Pack2x16Snorm,
    Pack2x16Unorm,
    Pack2x16Float,
}

/// One-operand lane operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Un {
    NegI,
    NotI,
    NotB,
    AbsS,
    SignS,
    NegF,
    AbsF,
    SignF,
    Ceil,
    Floor,
    Round,
    Trunc,
    Fract,
    Saturate,
    Sqrt,
    InverseSqrt,
    Exp,
    Exp2,
    Log,
    Log2,
    Sin,
    Cos,
    Tan,
    Sinh,
    Cosh,
    Tanh,
    Asin,
    Acos,
    Atan,
    Asinh,
    Acosh,
    Atanh,
    Radians,
    Degrees,
    IsNan,
    IsInf,
    RoundF16,
    F32ToU32,
    F32ToI32,
    U32ToF32,
    I32ToF32,
    IntToBool,
    FloatToBool,
    BoolToF32,
    CountOnes,
    LeadingZeros,
    TrailingZeros,
    ReverseBits,
    FirstTrailing,
    FirstLeadingU,
    FirstLeadingS,
    FrexpFract,
    FrexpExp,
    /// Component `.0` of an unpacked word.
    UnpackSnorm8(u8),
    UnpackUnorm8(u8),
    UnpackI8(u8),
    UnpackU8(u8),
    UnpackSnorm16(u8),
    UnpackUnorm16(u8),
    UnpackHalf(u8),
    /// One byte of a packed word, in place: the caller ors four of them together.
    PackSnorm8(u8),
    PackUnorm8(u8),
    PackI8(u8),
    PackU8(u8),
    PackI8Clamp(u8),
    PackU8Clamp(u8),
}

/// Three-operand lane operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tern {
    /// `c != 0 ? a : b`
    Select,
    FmaF,
    ClampF,
    MixF,
    SmoothStep,
    ExtractU,
    ExtractS,
}

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
    /// Products of cooperative matrices of f16, and of f32.
    MatrixF16,
    MatrixF32,
    /// Division, square root, exponentials, trigonometry.
    Special,
    /// Integer and boolean arithmetic, comparisons, selects.
    Integer,
    /// Conversions and packing.
    Convert,
    LoadGlobal,
    StoreGlobal,
    LoadShared,
    StoreShared,
    /// Loads of uniform data whose address differs between lanes or is computed.
    LoadUniform,
    /// Variable indexed by a run-time value: local memory on a GPU unless the loop unrolls.
    LocalArray,
    AtomicGlobal,
    AtomicShared,
    Subgroup,
    Barrier,
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
    /// Register with the byte offset per lane, or [`NONE`].
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

/// A cooperative matrix on its way between memory and registers.
#[derive(Debug, Clone)]
pub struct Transfer {
    /// Two neighbours per lane, by way of two registers of its own; the address is the matrix's.
    pub mem: MemOp,
    /// First byte and size of the variable; a buffer is known at run time.
    pub bounds: Option<(u32, u32)>,
    /// From one line to the next, in units of `unit` bytes.
    pub stride: Reg,
    pub unit: u32,
    pub rows: u32,
    pub columns: u32,
    /// Whether a line of memory is a row.
    pub row_major: bool,
    /// Whether a lane holds neighbours of a column: a right operand.
    pub by_columns: bool,
    /// Two registers per block of 8 x 8 elements.
    pub regs: Vec<Reg>,
}

/// A product of cooperative matrices and a sum.
#[derive(Debug, Clone)]
pub struct Product {
    /// m, n, k.
    pub shape: [u32; 3],
    pub a: Vec<Reg>,
    pub b: Vec<Reg>,
    pub c: Vec<Reg>,
    /// First of the result's registers.
    pub d: Reg,
    /// Round the sums to f16.
    pub half: bool,
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
    /// Overflow mark slot of the index value, or [`NONE`].
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubFn {
    Ballot,
    All,
    Any,
    AddI,
    AddF,
    MulI,
    MulF,
    MinU,
    MaxU,
    MinS,
    MaxS,
    MinF,
    MaxF,
    And,
    Or,
    Xor,
    BroadcastFirst,
    Broadcast,
    Shuffle,
    ShuffleDown,
    ShuffleUp,
    ShuffleXor,
    QuadBroadcast,
    QuadX,
    QuadY,
    QuadDiagonal,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scan {
    Reduce,
    Inclusive,
    Exclusive,
}

#[derive(Debug, Clone, Copy)]
pub struct SubgroupOp {
    pub f: SubFn,
    pub scan: Scan,
    pub d: Reg,
    pub a: Reg,
    pub index: Reg,
    /// Round each step to f16.
    pub half: bool,
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
