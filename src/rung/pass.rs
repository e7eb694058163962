//! The launches of a rung, their operands and the memory between them.

use super::Grid;
use std::borrow::Cow;

/// One kernel launch of a rung (almost every rung has exactly one).
#[derive(Debug, Clone, PartialEq)]
pub struct Pass {
    /// Appended to `<op>_<rung>` for the entry point; empty for the only pass.
    pub suffix: Cow<'static, str>,
    /// Threads of a block.
    pub block: [u32; 3],
    /// Blocks of the launch.
    pub grid: Grid,
    /// Operands in binding order; `None` means all inputs and then all outputs of the op.
    pub bindings: Option<Cow<'static, [Operand]>>,
    /// Shared memory that a launch gives a block (CUDA), in bytes, where it is not that of
    /// [`CudaNeeds`](super::CudaNeeds).
    pub dynamic_shared: Option<u32>,
}

impl Pass {
    /// The only pass of a rung, on all operands of its op.
    pub const fn new(block: [u32; 3], grid: Grid) -> Self {
        Pass { suffix: Cow::Borrowed(""), block, grid, bindings: None, dynamic_shared: None }
    }
}

/// One operand of a pass, by its place in the op.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operand {
    /// An input of the op.
    Input(usize),
    /// An output of the op.
    Output(usize),
    /// A workspace of the rung, read by this pass.
    WorkspaceIn(usize),
    /// A workspace of the rung, written by this pass.
    WorkspaceOut(usize),
}

impl Operand {
    /// Whether the pass may write it.
    pub const fn is_written(self) -> bool {
        matches!(self, Operand::Output(_) | Operand::WorkspaceOut(_))
    }
}

/// The size of a workspace buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Workspace {
    /// So many bytes for each block of the first pass.
    PerBlock(u32),
    /// So many times the bytes of the (packed) output.
    PerOutput(u32),
}
