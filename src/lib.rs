//! Optimisation ladders of GPU kernels: one idea per rung, the same rung on every backend, each
//! verified before it may be timed, each time set against what the hardware can do; and the best
//! rungs as a library: transpose and matmul on whatever GPU there is.
//!
//! # A first example
//!
//! ```
//! use gpu_ladder::gpu::Gpu;
//!
//! # fn main() -> gpu_ladder::Result<()> {
//! # #[cfg(feature = "sim")] {
//! let gpu = Gpu::open_on("sim")?; // Gpu::open() takes the best device there is
//! let a = gpu.upload(&[[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]])?;
//! let c = gpu.matmul(&a, a.t())?; // t() moves nothing
//! assert_eq!(gpu.download::<f32>(&c)?.elements(), [14.0, 32.0, 32.0, 77.0]);
//! # }
//! # Ok(())
//! # }
//! ```
//!
//! # Where to begin
//!
//! | to | read |
//! |---|---|
//! | transpose and multiply on the GPU at hand | [`gpu`]: handles, views, batches, a program's own device, tuning |
//! | see a ladder, verified and timed | the tool: `gpu-ladder run transpose` (feature `cli`); [`climb`] as a call |
//! | measure a kernel of your own beside ours | [`Rung::new`](rung::Rung::new), [`Session`]; `examples/own_rung.rs` |
//! | know what a device can do at most | [`limits`] |
//! | find races, conflicts and divergence in a WGSL shader, without a GPU | `sim::Program` (feature `sim`) |
//! | bring another device | [`Backend`](backend::Backend); `examples/own_backend` |
//!
//! # Features
//!
//! | feature | what it brings | at run time it needs |
//! |---|---|---|
//! | `wgpu` (default) | WGSL through Vulkan, Metal, DX12 or GL | a driver, or Mesa's software adapter |
//! | `sim` (default) | WGSL on the CPU: counters and hazards, no times | nothing |
//! | `report` (default) | rows as a table, markdown, CSV, JSON, HTML | nothing |
//! | `cuda` | embedded PTX | NVIDIA's driver, 525 or newer |
//! | `nvrtc` | CUDA C++ compiled at run time | NVRTC 12 or 13 |
//! | `vendor` | rows of cuBLAS beside ours | cuBLAS 12 or 13 |
//! | `npy`, `ndarray` | matrices from files, and of that crate | nothing |
//! | `cli` | the tool `gpu-ladder` | nothing |
//!
//! Everything that a missing driver or library stops is a typed [`Error`] that says how to get it.
//!
//! # The ladder
//!
//! An [op](op::Op) (transpose, matmul, copy …) has a ladder of [rungs](rung::Rung). A rung is one
//! idea, as a CUDA kernel and as a WGSL kernel of the same name and shape, and a row of data. The
//! [`Backend`](backend::Backend) trait is the seam below: «launch a compiled kernel on buffers».
//!
//! ```text
//! Problem --stage--> Stage --prepare(rung)--> Prepared --verify--> Verdict::Pass(Verified) --time--> Samples
//! ```
//!
//! [`Verified`] can only be had from [`Session::verify`], owns the kernel it was made for, and is the
//! only thing that can be timed: no speed exists for an unchecked result.
//!
//! ```
//! use gpu_ladder::backend::{Any, Backend, Select};
//! use gpu_ladder::op::{Op, Transpose};
//! use gpu_ladder::{Element, Inputs, Problem, Session, Verdict};
//!
//! # pollster::block_on(async {
//! // Any::open(&Select::default()).await? in a program
//! let Ok(any) = Any::open(&Select::default()).await else { return Ok(()) };
//! let session = Session::new(any);
//! let problem = Problem::new(Element::F32, [100, 77]);
//! let stage = session.stage(&Transpose, &problem, Inputs::Seeded(1)).await?;
//! let prepared = session.prepare(&stage, &Transpose.ladder()[0]).await?;
//! let Verdict::Pass(proof) = session.verify(prepared).await? else { panic!("a wrong result") };
//! println!("{}: {} compared", proof.label(), proof.coverage());
//! # Ok::<(), gpu_ladder::Error>(())
//! # }).unwrap();
//! ```
//!
//! # Words
//!
//! | CUDA, and here | WGSL | Chinese |
//! |---|---|---|
//! | grid of blocks | dispatch of workgroups | 网格（线程块的集合） |
//! | block | workgroup | 线程块 |
//! | thread | invocation | 线程 |
//! | shared memory | workgroup memory | 共享内存 |
//! | warp | subgroup | 线程束 |
//! | global memory | storage buffers | 全局内存 |
//! | `__syncthreads()` | `workgroupBarrier()` | 屏障（同步） |
#![cfg_attr(docsrs, feature(doc_cfg))]
#![deny(missing_docs)]
#![forbid(unsafe_op_in_unsafe_fn)]

pub mod advise;
pub mod backend;
#[cfg(all(feature = "report", feature = "sim"))]
pub mod claims;
pub mod climb;
#[cfg(feature = "sim")]
pub mod counted;
#[cfg(feature = "sim")]
pub mod diagnose;
mod element;
mod error;
pub mod gpu;
pub mod limits;
#[cfg(feature = "npy")]
pub mod npy;
pub mod op;
mod problem;
pub mod random;
pub mod report;
pub mod rung;
mod session;
#[cfg(feature = "sim")]
pub mod sim;
mod timing;
#[cfg(feature = "vendor")]
pub mod vendor;
pub mod verify;
pub mod words;

pub use element::Element;
pub use error::{Error, Result};
pub use problem::{Layout, Precision, Problem};
pub use session::{Allocations, Inputs, Prepared, Session, Site, Stage, Verdict, Verified};
pub use timing::{Samples, Timing, paired_ratio};

/// The examples of the README and of the guides are tests.
#[cfg(all(doctest, feature = "sim"))]
mod pages {
    #[doc = include_str!("../README.md")]
    struct Readme;
    #[cfg(feature = "wgpu")]
    #[doc = include_str!("../docs/for-rust-developers.md")]
    struct ForRustDevelopers;
    #[doc = include_str!("../docs/for-performance-engineers.md")]
    struct ForPerformanceEngineers;
    #[doc = include_str!("../docs/for-shader-authors.md")]
    struct ForShaderAuthors;
}
