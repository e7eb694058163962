//! Where a kernel comes from, and the language it is written in.

use std::borrow::Cow;

/// A language that kernels are written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Language {
    /// CUDA C++ and PTX.
    Cuda,
    /// WGSL.
    Wgsl,
}

/// Where the kernel of a rung comes from, in one language.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    /// Kernel text: WGSL, or CUDA C++ (whose PTX is embedded, or compiled at run time with `nvrtc`).
    Text(Cow<'static, str>),
    /// PTX given by the user. What it does cannot be checked: see [`Rung::with_ptx`].
    Ptx(Cow<'static, str>),
    /// No kernel: a call that the backend offers by itself.
    Native(Native),
    /// This language cannot express the rung, or nobody wrote it; the reason is shown in its cell.
    Absent {
        /// The reason, as a clause: «WGSL has no asynchronous copy».
        because: Cow<'static, str>,
    },
}

/// A call that a backend offers by itself, without a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Native {
    /// Copies the first binding to the second, as far as both reach.
    Copy,
}
