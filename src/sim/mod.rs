//! A WGSL compute shader on the CPU, warp by warp, with the counters of a profiler and the checks
//! of a sanitizer.
//!
//! ```text
//! WGSL --naga--> IR --lower--> Code (flat, 32 lanes) --exec--> buffers + Gathered --> Profile
//! ```
//!
//! [`Program::new`] compiles once, [`Program::run`] executes on a [`Machine`] model. Values are
//! exactly those that WGSL defines; where it leaves freedom (precision of `sin`, contraction of
//! multiply and add) the simulator rounds each operation on its own. The result is the same for
//! any number of threads. What cannot be executed (64-bit types, textures)
//! is a [`SimError::Unsupported`] with its line.
//!
//! Counters are those of a machine without caches: they say what a kernel asks for. They are never
//! turned into a time.

mod code;
mod counters;
mod error;
mod exec;
mod hazard;
mod lower;
mod machine;
mod occupancy;
mod profile;
mod program;
mod source;

pub use code::Class;
pub use error::SimError;
pub use hazard::{Hazard, HazardKind, Order, Severity, Site};
pub use lower::AccessOp;
pub use machine::Machine;
pub use occupancy::{Limiter, Occupancy, occupancy};
pub use profile::{AccessProfile, Counters, Flops, GlobalTraffic, LineProfile, Memory, Profile, SharedTraffic};
pub use program::{Binding, BindingInfo, BindingKind, Options, Program};
