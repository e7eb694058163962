//! Operations on all lanes of a warp together: those of subgroups, and products of cooperative matrices.

use super::{MemOp, Reg};

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
