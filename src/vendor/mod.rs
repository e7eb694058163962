//! Reference rows from a vendor's library: the same problem, the same operands, the same interleaved
//! measurement (feature `vendor`).
//!
//! The libraries are loaded at run time. Where they are missing, a row says so. They are found by
//! their usual names, or in the folder that `GPU_LADDER_CUBLAS` names (of `libcublas.so.12`, say).
//!
//! A row is a [`Rung`](crate::rung::Rung) whose CUDA source is a [`Library`](crate::rung::Library);
//! an op lists its own in [`Op::vendor`](crate::op::Op::vendor). The backend hands the call its bindings, params and
//! stream, and knows no more of it.

mod geam;
mod gemm;
mod lt;
mod tables;

pub(crate) use geam::GEAM;
pub(crate) use gemm::GEMM;
pub(crate) use lt::{GEMM_LT, WORKSPACE_BYTES};

use crate::error::{Error, Result};
use crate::rung::Program;

/// Elements of the types that the libraries know, as `cudaDataType`.
mod data_type {
    pub const R_32F: i32 = 0;
    pub const R_64F: i32 = 1;
    pub const R_16F: i32 = 2;
    pub const R_16BF: i32 = 14;
}

/// How a product is computed, as `cublasComputeType_t`: what a row's constant `COMPUTE` says.
pub mod compute {
    /// In f32 as IEEE 754 has it: no TF32, no splitting.
    pub const F32_PEDANTIC: u32 = 69;
    /// In f32; 16-bit operands go through matrix units.
    pub const F32: u32 = 68;
    /// f32 operands rounded to TF32.
    pub const TF32: u32 = 77;
    /// In f64.
    pub const F64: u32 = 70;
}

/// The value of a program's constant; 0 where it has none.
fn constant(program: &Program, name: &str) -> u32 {
    program.constants.iter().find(|(n, _)| n == name).map_or(0, |(_, value)| *value)
}

/// A dimension as the libraries' 32-bit interface takes it.
fn int(what: &str, value: u32) -> Result<i32> {
    value.try_into().map_err(|_| {
        let because = format!("{value} is more than the library's interface counts to, {}", i32::MAX);
        Error::unsupported(what, because)
    })
}
