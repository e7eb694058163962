//! cuBLAS and cublasLt, loaded at run time, their functions looked up once by name.
//!
//! As with the driver, `cudarc`'s bindings are not called: they panic where a library or a function
//! is missing, and put a newer library's codes in a Rust `enum`.

use crate::error::{Error, Result};
use libloading::Library;
use std::error::Error as _;
use std::ffi::{CStr, OsString, c_char, c_int, c_void};
use std::path::PathBuf;
use std::sync::OnceLock;

/// The folder to load the libraries from.
const PATH_VARIABLE: &str = "GPU_LADDER_CUBLAS";
const VERSIONS: &[u32] = &[13, 12];

/// `cublasStatus_t`.
pub(super) type Status = c_int;
pub(super) type Handle = *mut c_void;
const SUCCESS: Status = 0;
/// `CUBLAS_STATUS_NOT_SUPPORTED`.
const NOT_SUPPORTED: Status = 15;

/// Forms a table of functions of one library.
macro_rules! table {
    ($(#[$doc:meta])* $name:ident { $($field:ident: $symbol:literal ($($a:ty),*);)* }) => {
        $(#[$doc])*
        #[allow(clippy::type_complexity)]
        pub(super) struct $name {
            $(pub(super) $field: unsafe extern "C" fn($($a),*) -> Status,)*
            words: unsafe extern "C" fn(Status) -> *const c_char,
        }

        impl $name {
            fn look_up(library: &'static Library, words: &'static str) -> Result<Self, &'static str> {
                Ok(Self {
                    $(
                        // SAFETY: the signature is that of the library's header, the same in 12 and 13.
                        $field: *unsafe { library.get($symbol.as_bytes()) }.map_err(|_| $symbol)?,
                    )*
                    // SAFETY: as above.
                    words: *unsafe { library.get(words.as_bytes()) }.map_err(|_| words)?,
                })
            }

            /// `Ok`, or the failed call with the library's words.
            pub(super) fn check(&self, call: &'static str, status: Status) -> Result<()> {
                if status == SUCCESS {
                    return Ok(());
                }
                // SAFETY: takes any code and returns a static string, or null.
                let text = unsafe { (self.words)(status) };
                // SAFETY: static strings end with NUL.
                let text = (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned());
                let text = text.unwrap_or_else(|| format!("status {status}"));
                if status == NOT_SUPPORTED {
                    return Err(Error::unsupported(call, format!("the library reports {text}")));
                }
                Err(Error::device(call, text))
            }
        }
    };
}

table! {
    /// cuBLAS.
    Cublas {
        create: "cublasCreate_v2"(*mut Handle);
        destroy: "cublasDestroy_v2"(Handle);
        version: "cublasGetVersion_v2"(Handle, *mut c_int);
        set_stream: "cublasSetStream_v2"(Handle, *mut c_void);
        gemm: "cublasGemmEx"(
            Handle, c_int, c_int, c_int, c_int, c_int, *const c_void, *const c_void, c_int, c_int, *const c_void,
            c_int, c_int, *const c_void, *mut c_void, c_int, c_int, c_int, c_int
        );
        gemm_batched: "cublasGemmStridedBatchedEx"(
            Handle, c_int, c_int, c_int, c_int, c_int, *const c_void, *const c_void, c_int, c_int, i64, *const c_void,
            c_int, c_int, i64, *const c_void, *mut c_void, c_int, c_int, i64, c_int, c_int, c_int
        );
        sgeam: "cublasSgeam"(
            Handle, c_int, c_int, c_int, c_int, *const f32, *const c_void, c_int, *const f32, *const c_void, c_int,
            *mut c_void, c_int
        );
        dgeam: "cublasDgeam"(
            Handle, c_int, c_int, c_int, c_int, *const f64, *const c_void, c_int, *const f64, *const c_void, c_int,
            *mut c_void, c_int
        );
    }
}

/// `cublasLtMatmulHeuristicResult_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Heuristic {
    pub(super) algorithm: [u64; 8],
    pub(super) workspace: usize,
    pub(super) state: Status,
    waves: f32,
    reserved: [c_int; 4],
}

impl Heuristic {
    pub(super) const EMPTY: Heuristic =
        Heuristic { algorithm: [0; 8], workspace: 0, state: NOT_SUPPORTED, waves: 0.0, reserved: [0; 4] };

    pub(super) fn is_usable(&self) -> bool {
        self.state == SUCCESS
    }
}

table! {
    /// cublasLt.
    CublasLt {
        create: "cublasLtCreate"(*mut Handle);
        destroy: "cublasLtDestroy"(Handle);
        matmul: "cublasLtMatmul"(
            Handle, Handle, *const c_void, *const c_void, Handle, *const c_void, Handle, *const c_void, *const c_void,
            Handle, *mut c_void, Handle, *const [u64; 8], *mut c_void, usize, *mut c_void
        );
        product_create: "cublasLtMatmulDescCreate"(*mut Handle, c_int, c_int);
        product_set: "cublasLtMatmulDescSetAttribute"(Handle, c_int, *const c_void, usize);
        product_destroy: "cublasLtMatmulDescDestroy"(Handle);
        layout_create: "cublasLtMatrixLayoutCreate"(*mut Handle, c_int, u64, u64, i64);
        layout_set: "cublasLtMatrixLayoutSetAttribute"(Handle, c_int, *const c_void, usize);
        layout_destroy: "cublasLtMatrixLayoutDestroy"(Handle);
        preference_create: "cublasLtMatmulPreferenceCreate"(*mut Handle);
        preference_set: "cublasLtMatmulPreferenceSetAttribute"(Handle, c_int, *const c_void, usize);
        preference_destroy: "cublasLtMatmulPreferenceDestroy"(Handle);
        heuristics: "cublasLtMatmulAlgoGetHeuristic"(
            Handle, Handle, Handle, Handle, Handle, Handle, Handle, c_int, *mut Heuristic, *mut c_int
        );
    }
}

/// Both libraries.
pub(super) struct Libraries {
    pub(super) cublas: Cublas,
    pub(super) lt: CublasLt,
}

impl Libraries {
    /// The libraries of this machine, loaded at the first call.
    ///
    /// # Errors
    /// [`Error::Unsupported`], which a row shows, where there are none.
    pub(super) fn load() -> Result<&'static Libraries> {
        static LIBRARIES: OnceLock<Result<Libraries>> = OnceLock::new();
        LIBRARIES.get_or_init(Self::open).as_ref().map_err(Clone::clone)
    }

    fn open() -> Result<Libraries> {
        let folder = std::env::var_os(PATH_VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from);
        let mut failures = Vec::new();
        for version in VERSIONS {
            let open = |stem: &str| -> Result<&'static Library, String> {
                let name = file_name(stem, *version);
                let path = folder.as_ref().map_or_else(|| OsString::from(&name), |f| f.join(&name).into_os_string());
                // SAFETY: loading these libraries runs only their initialisers. They are never
                // unloaded: their functions must outlive every use.
                let loaded = unsafe { Library::new(path) };
                let words = |error: libloading::Error| error.source().map_or(error.to_string(), ToString::to_string);
                loaded.map(|library| &*Box::leak(Box::new(library))).map_err(words)
            };
            // cuBLAS depends on cublasLt, and finds the one that is loaded already.
            match open("cublasLt").and_then(|lt| Ok((lt, open("cublas")?))) {
                Ok((lt, cublas)) => return Self::look_up(lt, cublas),
                Err(words) => failures.push(words),
            }
        }
        Err(missing(format!("the vendor's library was not found ({})", failures.join("; "))))
    }

    fn look_up(lt: &'static Library, cublas: &'static Library) -> Result<Libraries> {
        let lacks = |symbol: &str| missing(format!("the vendor's library has no `{symbol}`"));
        Ok(Libraries {
            cublas: Cublas::look_up(cublas, "cublasGetStatusString").map_err(lacks)?,
            lt: CublasLt::look_up(lt, "cublasLtGetStatusString").map_err(lacks)?,
        })
    }
}

fn file_name(stem: &str, version: u32) -> String {
    if cfg!(windows) { format!("{stem}64_{version}.dll") } else { format!("lib{stem}.so.{version}") }
}

fn missing(because: String) -> Error {
    Error::unsupported(
        "the vendor's row",
        format!("{because}; install cuBLAS 12 or 13, or set {PATH_VARIABLE} to its folder"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_the_libraries_says_what_to_do() {
        let text = missing("the vendor's library was not found".into()).to_string();
        assert!(text.contains("install cuBLAS") && text.contains(PATH_VARIABLE), "{text}");
        // A row shows only what is unsupported.
        let opened = Libraries::load().map(|_| ());
        assert!(matches!(opened, Ok(()) | Err(Error::Unsupported { .. })), "{opened:?}");
    }
}
