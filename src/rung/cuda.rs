//! What a CUDA kernel needs beyond its text.

use super::Operand;
use std::borrow::Cow;

/// What a CUDA kernel needs beyond its text.
#[derive(Debug, Clone, PartialEq)]
pub struct CudaNeeds {
    /// The architecture it is compiled for, and so the least capability it runs on.
    pub arch: Arch,
    /// Dynamic shared memory of a block, in bytes.
    pub dynamic_shared: u32,
    /// Tensor maps, in parameter order.
    pub tensor_maps: Cow<'static, [TensorMapRow]>,
}

/// A CUDA tensor map (a descriptor for the bulk copy engine) that a kernel takes after its params.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TensorMapRow {
    /// The operand it describes.
    pub operand: Operand,
    /// The box: elements along the contiguous dimension, then rows.
    pub block: [u32; 2],
    /// Bytes of the swizzle pattern: 0, 32, 64 or 128.
    pub swizzle: u32,
    /// The switch and its value for which the kernel takes the map; `None` for always.
    pub when: Option<(&'static str, u32)>,
    /// Whether f32 elements are rounded to TF32 on the way.
    pub tf32: bool,
}

/// A compilation target of CUDA kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Arch {
    /// PTX for capability 7.0 and later.
    Compute70,
    /// PTX for capability 8.0 and later (asynchronous copies).
    Compute80,
    /// PTX for capability 9.0 and later (bulk tensor copies, barriers with transaction counts).
    Compute90,
    /// Machine code for capability 9.0 exactly (`wgmma`, `setmaxnreg`).
    Sm90a,
}

impl Arch {
    /// The name that NVRTC takes.
    pub const fn name(self) -> &'static str {
        match self {
            Arch::Compute70 => "compute_70",
            Arch::Compute80 => "compute_80",
            Arch::Compute90 => "compute_90",
            Arch::Sm90a => "sm_90a",
        }
    }

    /// Whether a device of compute capability `(major, minor)` runs it.
    pub const fn runs_on(self, capability: (u32, u32)) -> bool {
        match self {
            Arch::Compute70 => capability.0 >= 7,
            Arch::Compute80 => capability.0 >= 8,
            Arch::Compute90 => capability.0 >= 9,
            Arch::Sm90a => capability.0 == 9 && capability.1 == 0,
        }
    }

    /// The requirement in words.
    pub const fn requirement(self) -> &'static str {
        match self {
            Arch::Compute70 => "compute capability 7.0 or later",
            Arch::Compute80 => "compute capability 8.0 or later",
            Arch::Compute90 => "compute capability 9.0 or later",
            Arch::Sm90a => "compute capability 9.0 exactly",
        }
    }
}
