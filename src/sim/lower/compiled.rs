//! The compiled shader and what it says about its buffers and accesses.

use super::super::code::*;
use super::super::source::Span;

/// A buffer that the shader declares.
#[derive(Debug, Clone)]
pub struct BufferInfo {
    pub name: String,
    pub group: u32,
    pub binding: u32,
    pub uniform: bool,
    pub writable: bool,
    /// Fewest bytes that a view must have.
    pub min_size: u64,
    /// Granule of race detection, as a shift: 1 for types with f16, else 2.
    pub grain: u32,
}

/// Where a runtime-sized array starts in its buffer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LengthInfo {
    pub buffer: u16,
    pub offset: u32,
    pub stride: u32,
}

/// A variable in workgroup memory.
#[derive(Debug, Clone)]
pub struct SharedVar {
    pub offset: u32,
    pub bytes: u32,
}

/// One place in the source that touches memory.
#[derive(Debug, Clone, PartialEq)]
pub struct AccessInfo {
    pub span: Span,
    pub space: Space,
    pub op: AccessOp,
    pub variable: String,
    pub uniform: bool,
    /// Bytes per lane, the most of any instruction at this place.
    pub width: u32,
}

/// What an access does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AccessOp {
    /// A load.
    Load,
    /// A store.
    Store,
    /// An atomic operation.
    Atomic,
}

/// The compiled shader.
#[derive(Debug, Clone, Default)]
pub struct Code {
    pub ops: Vec<Op>,
    pub meta: Vec<Meta>,
    pub mems: Vec<MemOp>,
    pub atomics: Vec<AtomicOp>,
    pub indexes: Vec<IndexOp>,
    pub guards: Vec<u32>,
    pub guard_ranges: Vec<(u32, u32)>,
    pub overflows: Vec<OverflowOp>,
    pub subgroups: Vec<SubgroupOp>,
    pub transfers: Vec<Transfer>,
    pub products: Vec<Product>,
    pub cases: Vec<CaseOp>,
    /// Register contents fixed for a run, first at register `fixed_base`.
    pub fixed: Vec<Fixed>,
    pub fixed_base: u32,
    pub registers: u32,
    pub mask_slots: u32,
    pub marks: u32,
    pub segments: u32,
    pub accesses: Vec<AccessInfo>,
    pub lengths: Vec<LengthInfo>,
    pub buffers: Vec<BufferInfo>,
    pub shared: Vec<SharedVar>,
    pub shared_bytes: u32,
    pub shared_grain: u32,
    /// A storage atomic whose result is used, or that does not commute: order shows in the result.
    pub ordered_atomics: bool,
    pub uses_subgroups: bool,
    /// Cooperative matrices need warps of 32 lanes.
    pub uses_cooperative: bool,
}
