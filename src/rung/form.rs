//! What differs by language and width, and what a rung asks of a problem.

use super::{Grid, Language, Pass, Switch, Workspace};
use std::borrow::Cow;

/// What a rung promises about its output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Promise {
    /// The right output, the same bits in every run.
    SameBits,
    /// The right output within the op's bound; the last bits may differ from run to run.
    WithinBound,
    /// Nothing: it is wrong by design, kept to be looked at. It is run, and never timed.
    Nothing {
        /// What is wrong with it, as a clause.
        because: Cow<'static, str>,
    },
}

/// What a rung takes beyond packed matrices; outside it the rung is `Unsupported` with the reason.
/// Ragged edges every rung takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Accepts {
    /// Leading dimensions larger than the row.
    pub leading_dimension: bool,
    /// A first element that is not the buffer's first.
    pub offset: bool,
    /// More than one matrix.
    pub batch: bool,
    /// Transposed operands of a product.
    pub transposed: bool,
    /// Scaling other than alpha = 1, beta = 0.
    pub scaling: bool,
}

impl Accepts {
    /// Packed matrices only.
    pub const PACKED: Accepts =
        Accepts { leading_dimension: false, offset: false, batch: false, transposed: false, scaling: false };
    /// Packed matrices and leading dimensions.
    pub const PITCHED: Accepts = Accepts { leading_dimension: true, ..Accepts::PACKED };
    /// Everything the op knows.
    pub const ALL: Accepts =
        Accepts { leading_dimension: true, offset: true, batch: true, transposed: true, scaling: true };
}

/// What a rung asks of a problem beyond [`Accepts`]: the op's value of a fact, the same as for a
/// [`Switch`] of that name.
#[derive(Debug, Clone, PartialEq)]
pub struct Need {
    /// The only twin that asks it; `None` for both.
    pub language: Option<Language>,
    /// The fact.
    pub fact: Cow<'static, str>,
    /// The value it must have.
    pub value: u32,
    /// What to say where it has not, as a clause.
    pub because: Cow<'static, str>,
}

/// What one language's kernels of a rung are compiled with and how they are laid over a problem.
#[derive(Debug, Clone, PartialEq)]
pub struct Form {
    /// Constants of the kernels.
    pub constants: Cow<'static, [(&'static str, u32)]>,
    /// Constants whose value depends on the problem.
    pub switches: Cow<'static, [Switch]>,
    /// The launches, in order.
    pub passes: Cow<'static, [Pass]>,
    /// Workspace buffers.
    pub workspace: Cow<'static, [Workspace]>,
    /// Static shared (workgroup) memory of a block in elements, as the kernels declare it.
    pub shared_elements: u32,
}

/// What a row says for one language and element width, where kernels are tuned for each: it adds
/// to the row's constants and takes the place of the only pass's block and grid.
#[derive(Debug, Clone, PartialEq)]
pub struct Tuning {
    /// The language.
    pub language: Language,
    /// Bytes of an element.
    pub element_size: u64,
    /// Further constants of this kernel.
    pub constants: Cow<'static, [(&'static str, u32)]>,
    /// Threads of a block.
    pub block: [u32; 3],
    /// Blocks of the launch.
    pub grid: Grid,
    /// Shared memory of a block that the kernel declares, in bytes.
    pub static_shared: u32,
    /// Shared memory of a block that the launch gives (CUDA), in bytes.
    pub dynamic_shared: u32,
}
