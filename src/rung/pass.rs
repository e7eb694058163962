//! The launches of a rung, their operands and the memory between them.

use super::{Arch, Grid, Source, Switch};
use crate::element::Element;
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
    /// The kernel, where it is not the rung's own.
    pub kernel: Option<PassKernel>,
}

/// A kernel with a source of its own, for one pass of a rung (an operand that is copied first, say).
#[derive(Debug, Clone, PartialEq)]
pub struct PassKernel {
    /// The file stem; the entry point is `<op>_<name>`.
    pub name: Cow<'static, str>,
    /// The CUDA source.
    pub(crate) cuda: Source,
    /// The architecture it is compiled for.
    pub arch: Arch,
    /// The WGSL source.
    pub(crate) wgsl: Source,
    /// Whether the WGSL was reviewed with this crate, as [`Rung`](super::Rung)'s.
    pub(crate) trusted: bool,
    /// Its constants.
    pub constants: Cow<'static, [(&'static str, u32)]>,
    /// Its constants whose value depends on the problem.
    pub switches: Cow<'static, [Switch]>,
}

impl PassKernel {
    /// A kernel of the caller's own with no source in either language yet.
    pub fn new(name: impl Into<Cow<'static, str>>) -> Self {
        let absent = || Source::Absent { because: "no kernel was given".into() };
        PassKernel {
            name: name.into(),
            cuda: absent(),
            arch: Arch::Compute70,
            wgsl: absent(),
            trusted: false,
            constants: Cow::Borrowed(&[]),
            switches: Cow::Borrowed(&[]),
        }
    }

    /// The same with a CUDA C++ source, compiled at run time (feature `nvrtc`). It runs in a rung that is
    /// [vouched for](super::Rung::vouched_for).
    pub fn with_cuda(mut self, text: impl Into<Cow<'static, str>>) -> Self {
        self.cuda = Source::Text(text.into());
        self
    }

    /// The same with a WGSL source, compiled with every run-time check.
    pub fn with_wgsl(mut self, text: impl Into<Cow<'static, str>>) -> Self {
        self.wgsl = Source::Text(text.into());
        self.trusted = false;
        self
    }

    /// The CUDA source.
    pub fn cuda(&self) -> &Source {
        &self.cuda
    }

    /// The WGSL source.
    pub fn wgsl(&self) -> &Source {
        &self.wgsl
    }
}

impl Pass {
    /// The only pass of a rung, on all operands of its op.
    pub const fn new(block: [u32; 3], grid: Grid) -> Self {
        Pass { suffix: Cow::Borrowed(""), block, grid, bindings: None, dynamic_shared: None, kernel: None }
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
    /// So many bytes.
    Bytes(u32),
    /// The matrices of an input in another form.
    Matrices(Matrices),
}

/// An input's matrices in a form that suits a kernel better: rows start at multiples of 16 bytes. A
/// pass that reads a whole copy (one part, the same elements) gets the params and switches of a
/// problem whose operand lies so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Matrices {
    /// The input.
    pub input: usize,
    /// The type of their elements, where it is not the input's.
    pub element: Option<Element>,
    /// Matrices for each one of the input, one after the other.
    pub parts: u32,
    /// Which way round they are stored.
    pub stored: Stored,
}

/// Which way round matrices are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stored {
    /// As their input is.
    AsInput,
    /// Transposed where another input is.
    As(usize),
    /// Transposed, or not.
    Transposed(bool),
}
