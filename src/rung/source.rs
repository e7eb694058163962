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
    /// PTX given by the user. What it does cannot be checked: see [`Rung::with_ptx`](super::Rung::with_ptx).
    Ptx(Cow<'static, str>),
    /// No kernel: a call that the backend offers by itself.
    Native(Native),
    /// No kernel: a call into a library that is no part of this crate.
    #[cfg(feature = "cuda")]
    Library(Library),
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

/// A call into a library that is no part of this crate (a vendor's), on the CUDA backend's stream.
#[cfg(feature = "cuda")]
#[derive(Clone, Copy)]
pub struct Library {
    /// Its name in messages.
    pub name: &'static str,
    /// Makes the call ready for one pass of a rung, with the backend's context current on the thread.
    pub prepare: fn(&super::Program) -> crate::Result<Box<dyn crate::backend::cuda::Call>>,
}

#[cfg(feature = "cuda")]
impl std::fmt::Debug for Library {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Library").field(&self.name).finish()
    }
}

#[cfg(feature = "cuda")]
impl PartialEq for Library {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}
