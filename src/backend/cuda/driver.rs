//! The functions of the CUDA driver that this backend uses, looked up once by name.
//!
//! `cudarc` finds and loads the library and gives the types. Its own bindings are not called, for
//! two reasons: they look a function up at its first call and panic where the driver is too old to
//! have it, and they return a Rust `enum`, which a newer driver's error code must not be put in.

use crate::error::{Error, Result};
use cudarc::driver::sys;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;

/// What a driver function returns: 0, or a code that [`Driver::describe`] has words for.
pub(super) type Code = u32;

pub(super) const SUCCESS: Code = 0;
pub(super) const OUT_OF_MEMORY: Code = 2;
pub(super) const NO_DEVICE: Code = 100;
pub(super) const INVALID_PTX: Code = 218;
pub(super) const UNSUPPORTED_PTX_VERSION: Code = 222;

/// Forms the table: each function by its name in the library, and whether it may be missing.
macro_rules! driver_table {
    (
        required { $($required:ident: $required_symbol:literal ($($a:ty),*);)* }
        optional { $($optional:ident: $optional_symbol:literal ($($b:ty),*);)* }
    ) => {
        /// The driver's functions.
        #[allow(clippy::type_complexity)]
        pub(super) struct Driver {
            $(pub(super) $required: unsafe extern "C" fn($($a),*) -> Code,)*
            $(pub(super) $optional: Option<unsafe extern "C" fn($($b),*) -> Code>,)*
        }

        impl Driver {
            /// Looks every function up, or names the first that this driver does not have.
            fn look_up() -> Result<Self, &'static str> {
                // SAFETY: `load` has made sure that the library can be loaded, which is all that
                // `culib` asks for; the driver's initialisers may run on any thread.
                let library = unsafe { sys::culib() };
                Ok(Driver {
                    $(
                        // SAFETY: the signature is that of cuda.h (12.0) for this versioned name,
                        // and a versioned name never changes its signature.
                        $required: *unsafe { library.get($required_symbol.as_bytes()) }.map_err(|_| $required_symbol)?,
                    )*
                    $(
                        // SAFETY: as above.
                        $optional: unsafe { library.get($optional_symbol.as_bytes()) }.ok().map(|symbol| *symbol),
                    )*
                })
            }
        }
    };
}

driver_table! {
    required {
        init: "cuInit"(c_uint);
        get_error_name: "cuGetErrorName"(Code, *mut *const c_char);
        get_error_string: "cuGetErrorString"(Code, *mut *const c_char);
        driver_get_version: "cuDriverGetVersion"(*mut c_int);
        device_get_count: "cuDeviceGetCount"(*mut c_int);
        device_get: "cuDeviceGet"(*mut sys::CUdevice, c_int);
        device_get_name: "cuDeviceGetName"(*mut c_char, c_int, sys::CUdevice);
        device_get_attribute: "cuDeviceGetAttribute"(*mut c_int, c_int, sys::CUdevice);
        device_get_pci_bus_id: "cuDeviceGetPCIBusId"(*mut c_char, c_int, sys::CUdevice);
        device_total_mem: "cuDeviceTotalMem_v2"(*mut usize, sys::CUdevice);
        primary_ctx_retain: "cuDevicePrimaryCtxRetain"(*mut sys::CUcontext, sys::CUdevice);
        primary_ctx_release: "cuDevicePrimaryCtxRelease_v2"(sys::CUdevice);
        ctx_get_current: "cuCtxGetCurrent"(*mut sys::CUcontext);
        ctx_set_current: "cuCtxSetCurrent"(sys::CUcontext);
        stream_create: "cuStreamCreate"(*mut sys::CUstream, c_uint);
        stream_synchronize: "cuStreamSynchronize"(sys::CUstream);
        stream_destroy: "cuStreamDestroy_v2"(sys::CUstream);
        event_create: "cuEventCreate"(*mut sys::CUevent, c_uint);
        event_record: "cuEventRecord"(sys::CUevent, sys::CUstream);
        event_synchronize: "cuEventSynchronize"(sys::CUevent);
        event_elapsed_time: "cuEventElapsedTime"(*mut f32, sys::CUevent, sys::CUevent);
        event_destroy: "cuEventDestroy_v2"(sys::CUevent);
        mem_alloc: "cuMemAlloc_v2"(*mut sys::CUdeviceptr, usize);
        mem_free: "cuMemFree_v2"(sys::CUdeviceptr);
        mem_get_info: "cuMemGetInfo_v2"(*mut usize, *mut usize);
        mem_alloc_host: "cuMemAllocHost_v2"(*mut *mut c_void, usize);
        mem_free_host: "cuMemFreeHost"(*mut c_void);
        memcpy_htod_async: "cuMemcpyHtoDAsync_v2"(sys::CUdeviceptr, *const c_void, usize, sys::CUstream);
        memcpy_dtoh_async: "cuMemcpyDtoHAsync_v2"(*mut c_void, sys::CUdeviceptr, usize, sys::CUstream);
        memcpy_dtod_async: "cuMemcpyDtoDAsync_v2"(sys::CUdeviceptr, sys::CUdeviceptr, usize, sys::CUstream);
        memset_d32_async: "cuMemsetD32Async"(sys::CUdeviceptr, c_uint, usize, sys::CUstream);
        module_load_data: "cuModuleLoadDataEx"(*mut sys::CUmodule, *const c_void, c_uint, *mut c_int, *mut *mut c_void);
        module_get_function: "cuModuleGetFunction"(*mut sys::CUfunction, sys::CUmodule, *const c_char);
        module_unload: "cuModuleUnload"(sys::CUmodule);
        func_get_attribute: "cuFuncGetAttribute"(*mut c_int, c_int, sys::CUfunction);
        func_set_attribute: "cuFuncSetAttribute"(sys::CUfunction, c_int, c_int);
        occupancy: "cuOccupancyMaxActiveBlocksPerMultiprocessor"(*mut c_int, sys::CUfunction, c_int, usize);
        launch_kernel: "cuLaunchKernel"(
            sys::CUfunction, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, sys::CUstream,
            *mut *mut c_void, *mut *mut c_void
        );
    }
    optional {
        device_get_uuid: "cuDeviceGetUuid_v2"(*mut [u8; 16], sys::CUdevice);
        tensor_map_encode_tiled: "cuTensorMapEncodeTiled"(
            *mut c_void, c_uint, c_uint, *mut c_void, *const u64, *const u64, *const c_uint, *const c_uint,
            c_uint, c_uint, c_uint, c_uint
        );
        mem_alloc_async: "cuMemAllocAsync"(*mut sys::CUdeviceptr, usize, sys::CUstream);
        mem_free_async: "cuMemFreeAsync"(sys::CUdeviceptr, sys::CUstream);
        stream_begin_capture: "cuStreamBeginCapture_v2"(sys::CUstream, c_uint);
        stream_end_capture: "cuStreamEndCapture"(sys::CUstream, *mut sys::CUgraph);
        graph_instantiate: "cuGraphInstantiateWithFlags"(*mut sys::CUgraphExec, sys::CUgraph, u64);
        graph_upload: "cuGraphUpload"(sys::CUgraphExec, sys::CUstream);
        graph_launch: "cuGraphLaunch"(sys::CUgraphExec, sys::CUstream);
        graph_destroy: "cuGraphDestroy"(sys::CUgraph);
        graph_exec_destroy: "cuGraphExecDestroy"(sys::CUgraphExec);
        func_get_param_info: "cuFuncGetParamInfo"(sys::CUfunction, usize, *mut usize, *mut usize);
    }
}

impl Driver {
    /// The driver of this machine, initialised; loaded at the first call.
    pub(super) fn load() -> Result<&'static Driver> {
        static DRIVER: OnceLock<Result<Driver>> = OnceLock::new();
        DRIVER.get_or_init(Self::open).as_ref().map_err(Clone::clone)
    }

    fn open() -> Result<Driver> {
        // SAFETY: loading the driver's library runs only its initialisers.
        if !unsafe { sys::is_culib_present() } {
            return Err(no_library());
        }
        let driver = Driver::look_up().map_err(|symbol| {
            missing(format!("its driver has no `{symbol}`"), "Update the NVIDIA driver to 525 or newer")
        })?;
        // SAFETY: `cuInit` takes no pointers and may be called any number of times.
        match unsafe { (driver.init)(0) } {
            SUCCESS => Ok(driver),
            NO_DEVICE => Err(missing(
                match std::env::var("CUDA_VISIBLE_DEVICES") {
                    Ok(value) => format!("the driver shows no device (CUDA_VISIBLE_DEVICES is '{value}')"),
                    Err(_) => "the driver finds no device".into(),
                },
                "Unset CUDA_VISIBLE_DEVICES or name an existing device there, and look whether nvidia-smi lists one",
            )),
            code => Err(missing(
                format!("cuInit failed: {}", driver.describe(code)),
                "Look whether nvidia-smi runs; library and kernel module must come from one driver version",
            )),
        }
    }

    /// The name and meaning of an error code.
    pub(super) fn describe(&self, code: Code) -> String {
        let words = |function: unsafe extern "C" fn(Code, *mut *const c_char) -> Code| {
            let mut text: *const c_char = std::ptr::null();
            // SAFETY: the out-pointer is a local; on success the driver points it to a static string.
            let found = unsafe { function(code, &mut text) } == SUCCESS && !text.is_null();
            // SAFETY: just checked; driver strings end with NUL and live as long as the library, which is never unloaded.
            found.then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
        };
        match (words(self.get_error_name), words(self.get_error_string)) {
            (Some(name), Some(text)) => format!("{name} ({text})"),
            _ => format!("CUDA error {code}"),
        }
    }

    /// `Ok`, or the failed call with the driver's words.
    pub(super) fn check(&self, call: &'static str, code: Code) -> Result<()> {
        if code == SUCCESS { Ok(()) } else { Err(Error::device(call, self.describe(code))) }
    }

    /// The driver's CUDA version, major and minor.
    pub(super) fn version(&self) -> (u32, u32) {
        let mut version: c_int = 0;
        // SAFETY: the out-pointer is a local. The function fails only for a null pointer.
        unsafe { (self.driver_get_version)(&mut version) };
        (version as u32 / 1000, version as u32 % 1000 / 10)
    }
}

fn missing(because: String, remedy: &str) -> Error {
    Error::NoBackend { backend: "cuda", because, remedy: remedy.into() }
}

fn no_library() -> Error {
    missing(
        "the CUDA driver's library (libcuda.so.1, nvcuda.dll) was not found".into(),
        "Install the NVIDIA driver (525 or newer); in a container, start it with the GPU passed through \
         (docker run --gpus all)",
    )
}

/// Whether every later call in the same context fails too.
pub(super) const fn is_sticky(code: Code) -> bool {
    matches!(
        code,
        4       // the driver shuts down
        | 46    // device unavailable
        | 214   // uncorrectable memory error
        | 220   // uncorrectable NVLink error
        | 226   // contained error
        | 700   // illegal address
        | 702   // launch timed out
        | 709   // context destroyed
        | 710   // device-side assertion
        | 714
            ..=719 // stack, instruction, alignment, address space, program counter, launch failed
        | 721 // tensor memory leak
    )
}

/// The newest PTX version that a driver of this CUDA version reads.
pub(super) const fn newest_ptx((major, minor): (u32, u32)) -> (u32, u32) {
    match (major, minor) {
        (12, 0..=5) => (8, minor),
        (12, 6) => (8, 5),
        (12, _) => (8, minor - 1),
        _ => (major.saturating_sub(4), minor),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ptx_versions_follow_the_driver() {
        let expected = [
            ((11, 8), (7, 8)),
            ((12, 0), (8, 0)),
            ((12, 5), (8, 5)),
            ((12, 6), (8, 5)),
            ((12, 8), (8, 7)),
            ((12, 9), (8, 8)),
            ((13, 0), (9, 0)),
        ];
        for (driver, ptx) in expected {
            assert_eq!(newest_ptx(driver), ptx, "CUDA {driver:?}");
        }
    }

    #[test]
    fn a_launch_that_ran_too_long_is_a_loss() {
        // Kinds ERR3 and ERR5: CUDA_ERROR_LAUNCH_TIMEOUT and CUDA_ERROR_ILLEGAL_ADDRESS; out of memory is none.
        assert!(is_sticky(702) && is_sticky(700) && !is_sticky(OUT_OF_MEMORY));
        assert_eq!(sys::cudaError_enum::CUDA_ERROR_LAUNCH_TIMEOUT as u32, 702);
    }

    #[test]
    fn a_machine_without_a_driver_says_what_to_do() {
        let text = no_library().to_string();
        assert!(text.contains("libcuda.so.1") && text.contains("Install the NVIDIA driver"), "{text}");
        // And that is what it says, where that is so.
        match Driver::load() {
            Ok(driver) => assert!(driver.version() >= (11, 0)),
            Err(error) => assert!(matches!(error, Error::NoBackend { backend: "cuda", .. }), "{error}"),
        }
    }
}
