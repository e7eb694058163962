//! NVRTC, the CUDA C++ compiler as a library, loaded at run time.
//!
//! It compiles a caller's kernels for the device at hand, and the kernels of this crate when they
//! are rebuilt. It is found by its usual names, or at the path in `GPU_LADDER_NVRTC`.

use super::artefacts::{self, Image};
use crate::error::{Error, Result};
use crate::rung::{Arch, Program};
use libloading::Library;
use std::error::Error as _;
use std::ffi::{CStr, CString, c_char, c_int};
use std::sync::OnceLock;

/// Names of the library, newest of the versions that read our kernels first.
const NAMES: &[&str] = if cfg!(windows) {
    &["nvrtc64_120_0.dll", "nvrtc64_130_0.dll"]
} else if cfg!(target_os = "macos") {
    &[]
} else {
    &["libnvrtc.so.12", "libnvrtc.so.13", "libnvrtc.so"]
};

/// Which path to load it from.
const PATH_VARIABLE: &str = "GPU_LADDER_NVRTC";

const SUCCESS: c_int = 0;
/// `NVRTC_ERROR_INVALID_OPTION`: among others, an architecture it does not know.
const INVALID_OPTION: c_int = 5;
/// `NVRTC_ERROR_COMPILATION`.
const COMPILATION: c_int = 6;

/// `nvrtcProgram`.
type Handle = *mut std::ffi::c_void;
/// A function that gives a size, or fills a buffer of it.
type Size = unsafe extern "C" fn(Handle, *mut usize) -> c_int;
type Fill = unsafe extern "C" fn(Handle, *mut c_char) -> c_int;

/// The loaded compiler.
pub struct Nvrtc {
    version: (u32, u32),
    archs: Vec<u32>,
    create: unsafe extern "C" fn(
        *mut Handle,
        *const c_char,
        *const c_char,
        c_int,
        *const *const c_char,
        *const *const c_char,
    ) -> c_int,
    destroy: unsafe extern "C" fn(*mut Handle) -> c_int,
    compile: unsafe extern "C" fn(Handle, c_int, *const *const c_char) -> c_int,
    error_string: unsafe extern "C" fn(c_int) -> *const c_char,
    log: (Size, Fill),
    ptx: (Size, Fill),
    cubin: (Size, Fill),
}

/// What one compilation gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compiled {
    /// PTX; machine code comes with the PTX that it was made from.
    pub ptx: String,
    /// Machine code, where the target was a real architecture (`sm_…`).
    pub cubin: Option<Vec<u8>>,
    /// Warnings.
    pub log: String,
}

impl Nvrtc {
    /// The compiler of this machine, loaded at the first call.
    ///
    /// # Errors
    /// [`Error::NoBackend`] where there is none.
    pub fn load() -> Result<&'static Nvrtc> {
        static NVRTC: OnceLock<Result<Nvrtc>> = OnceLock::new();
        NVRTC.get_or_init(Self::open).as_ref().map_err(Clone::clone)
    }

    fn open() -> Result<Nvrtc> {
        let missing = |because: String| Error::NoBackend {
            backend: "nvrtc",
            because,
            remedy: format!(
                "Install NVRTC 12 (pip install nvidia-cuda-nvrtc-cu12==12.0.140, or the CUDA toolkit) and set {PATH_VARIABLE} to its libnvrtc.so.12"
            ),
        };
        let path = std::env::var_os(PATH_VARIABLE).filter(|path| !path.is_empty());
        let names: Vec<std::ffi::OsString> = match path {
            Some(path) => vec![path],
            None => NAMES.iter().map(Into::into).collect(),
        };
        let mut failures = Vec::new();
        let library = names.iter().find_map(|name| {
            // SAFETY: loading NVRTC runs only its initialisers.
            let loaded = unsafe { Library::new(name) };
            let words = |error: libloading::Error| error.source().map_or(error.to_string(), ToString::to_string);
            loaded.map_err(|error| failures.push(words(error))).ok()
        });
        let library = library.ok_or_else(|| missing(format!("its library was not found ({})", failures.join("; "))))?;
        Self::look_up(library).map_err(|symbol| missing(format!("its library has no `{symbol}`")))
    }

    fn look_up(library: Library) -> Result<Self, &'static str> {
        // Never unloaded: the functions must outlive every use.
        let library: &'static Library = Box::leak(Box::new(library));
        macro_rules! get {
            ($name:literal) => {
                // SAFETY: the field it goes to has the signature of nvrtc.h, the same since CUDA 11.
                *unsafe { library.get($name.as_bytes()) }.map_err(|_| $name)?
            };
        }
        let version: unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int = get!("nvrtcVersion");
        let count_archs: unsafe extern "C" fn(*mut c_int) -> c_int = get!("nvrtcGetNumSupportedArchs");
        let list_archs: unsafe extern "C" fn(*mut c_int) -> c_int = get!("nvrtcGetSupportedArchs");
        let (mut major, mut minor, mut count): (c_int, c_int, c_int) = (0, 0, 0);
        // SAFETY: the out-pointers are locals; both functions fail only for null pointers.
        unsafe { (version(&mut major, &mut minor), count_archs(&mut count)) };
        let mut archs: Vec<c_int> = vec![0; count.max(0) as usize];
        // SAFETY: the array has as many entries as the library says it needs.
        unsafe { list_archs(archs.as_mut_ptr()) };
        Ok(Nvrtc {
            version: (major as u32, minor as u32),
            archs: archs.into_iter().map(|arch| arch as u32).collect(),
            create: get!("nvrtcCreateProgram"),
            destroy: get!("nvrtcDestroyProgram"),
            compile: get!("nvrtcCompileProgram"),
            error_string: get!("nvrtcGetErrorString"),
            log: (get!("nvrtcGetProgramLogSize"), get!("nvrtcGetProgramLog")),
            ptx: (get!("nvrtcGetPTXSize"), get!("nvrtcGetPTX")),
            cubin: (get!("nvrtcGetCUBINSize"), get!("nvrtcGetCUBIN")),
        })
    }

    /// Its version, major and minor.
    pub fn version(&self) -> (u32, u32) {
        self.version
    }

    /// Compiles CUDA C++ with the given options.
    ///
    /// # Errors
    /// [`Error::Compile`] with the compiler's log.
    pub fn compile(&self, label: &str, text: &str, options: &[String]) -> Result<Compiled> {
        let fail = |log: String| Error::Compile { label: label.into(), log };
        let c_string = |what: &str, text: &str| {
            CString::new(text).map_err(|error| fail(format!("{what} has a NUL byte at {}", error.nul_position())))
        };
        let (source, name) = (c_string("the source", text)?, c_string("the label", &format!("{label}.cu"))?);
        let options = options.iter().map(|option| c_string("an option", option)).collect::<Result<Vec<_>>>()?;
        let pointers: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        let mut program = Compilation { nvrtc: self, handle: std::ptr::null_mut() };
        // SAFETY: source and name end with NUL and are copied; there are no headers.
        let code = unsafe {
            let none = std::ptr::null();
            (self.create)(&mut program.handle, source.as_ptr(), name.as_ptr(), 0, none, none)
        };
        if code != SUCCESS {
            return Err(fail(self.words(code)));
        }
        // SAFETY: the program was made above; the options end with NUL and live through the call.
        let code = unsafe { (self.compile)(program.handle, pointers.len() as c_int, pointers.as_ptr()) };
        let log = program.read_text(self.log).unwrap_or_default().trim().to_string();
        match code {
            SUCCESS => {}
            COMPILATION => return Err(fail(log)),
            INVALID_OPTION => {
                let (major, minor) = self.version;
                let list: Vec<_> = options.iter().map(|option| option.to_string_lossy()).collect();
                return Err(fail(format!("NVRTC {major}.{minor} does not take one of {}: {log}", list.join(" "))));
            }
            code => return Err(fail(format!("{}\n{log}", self.words(code)).trim_end().into())),
        }
        let ptx = program.read_text(self.ptx).map_err(|code| fail(self.words(code)))?;
        let cubin = program.read(self.cubin).ok().filter(|bytes| !bytes.is_empty());
        Ok(Compiled { ptx: without_target_tables(&ptx), cubin, log })
    }

    /// Compiles a program for a device: machine code where this compiler knows the device, else PTX
    /// of the newest architecture before it.
    pub(super) fn compile_for(&self, program: &Program, text: &str, capability: (u32, u32)) -> Result<Image<'static>> {
        let target = target(&self.archs, program.cuda_needs.arch, capability).ok_or_else(|| {
            let ((major, minor), (of, point)) = (capability, self.version);
            let because = format!("NVRTC {of}.{point} cannot compile for compute capability {major}.{minor}");
            Error::unsupported(program.label.as_str(), because)
        })?;
        let mut options = artefacts::options(program, &target);
        options.push("-lineinfo".into()); // profilers show the source
        let compiled = self.compile(&program.label, text, &options)?;
        if !compiled.log.is_empty() {
            tracing::warn!(kernel = program.label, log = compiled.log, "NVRTC has warnings");
        }
        Ok(match compiled.cubin {
            Some(bytes) => Image::Cubin(bytes.into()),
            None => Image::Ptx(compiled.ptx.into()),
        })
    }

    fn words(&self, code: c_int) -> String {
        // SAFETY: takes any code and returns a static string that ends with NUL.
        unsafe { CStr::from_ptr((self.error_string)(code)) }.to_string_lossy().into_owned()
    }
}

/// The name of the architecture to compile for, given the ones that the compiler knows: that of the
/// device, or of the newest before it, as PTX, which the driver compiles on.
fn target(known: &[u32], needed: Arch, (major, minor): (u32, u32)) -> Option<String> {
    let device = major * 10 + minor;
    if needed == Arch::Sm90a {
        return Some(Arch::Sm90a.name().into());
    }
    if known.contains(&device) {
        return Some(format!("sm_{device}"));
    }
    known.iter().filter(|&&arch| arch < device).max().map(|arch| format!("compute_{arch}"))
}

/// A compilation in progress, given back to the compiler when dropped.
struct Compilation<'a> {
    nvrtc: &'a Nvrtc,
    handle: Handle,
}

impl Compilation<'_> {
    /// As [`read`](Self::read), up to the NUL that ends a text.
    fn read_text(&self, what: (Size, Fill)) -> Result<String, c_int> {
        let bytes = self.read(what)?;
        Ok(String::from_utf8_lossy(bytes.split(|&byte| byte == 0).next().unwrap_or_default()).into_owned())
    }

    fn read(&self, (size, fill): (Size, Fill)) -> Result<Vec<u8>, c_int> {
        let mut len = 0;
        // SAFETY: the program is alive; the out-pointer is a local.
        let code = unsafe { size(self.handle, &mut len) };
        if code != SUCCESS {
            return Err(code);
        }
        let mut bytes = vec![0u8; len];
        // SAFETY: the buffer has the size that the library has just asked for.
        let code = unsafe { fill(self.handle, bytes.as_mut_ptr().cast()) };
        if code == SUCCESS { Ok(bytes) } else { Err(code) }
    }
}

impl Drop for Compilation<'_> {
    fn drop(&mut self) {
        if !self.handle.is_null() {
            // SAFETY: made by `create`, destroyed once.
            unsafe { (self.nvrtc.destroy)(&mut self.handle) };
        }
    }
}

/// The PTX without the tables of `nv::target` that NVRTC 12.0 to 12.2 put into every module: some
/// 4 KB that no kernel uses.
fn without_target_tables(ptx: &str) -> String {
    let is_table = |line: &&str| line.starts_with(".global") && line.contains("2nv6target");
    let kept = ptx.lines().filter(|line| !is_table(line)).fold(String::with_capacity(ptx.len()), |mut text, line| {
        text.push_str(line);
        text.push('\n');
        text
    });
    // A kernel that does use them keeps them.
    if kept.contains("nv6target") { ptx.into() } else { kept }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_newer_than_the_compiler_gets_ptx() {
        let known = [70, 80, 90];
        for (needed, capability, expected) in [
            (Arch::Compute70, (8, 0), Some("sm_80")),
            (Arch::Compute70, (8, 9), Some("compute_80")),
            (Arch::Compute80, (12, 0), Some("compute_90")),
            (Arch::Sm90a, (9, 0), Some("sm_90a")),
            (Arch::Compute70, (6, 1), None),
        ] {
            assert_eq!(target(&known, needed, capability).as_deref(), expected, "{capability:?}");
        }
    }

    #[test]
    fn target_tables_go_unless_they_are_used() {
        let table = ".global .align 8 .u64 _ZN38_INTERNAL_0_8_x_cu_02nv6target5sm_35E = 35;\n";
        assert_eq!(without_target_tables(&format!(".version 8.0\n{table}ret;\n")), ".version 8.0\nret;\n");
        let used = format!("{table}ld.global.u64 %rd1, [_ZN38_INTERNAL_0_8_x_cu_02nv6target5sm_35E];\n");
        assert_eq!(without_target_tables(&used), used);
    }
}
