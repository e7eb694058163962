//! Loading kernels: from PTX or machine code to a function, with the driver's log where it fails.

use super::artefacts::{self, Image};
use super::context::Context;
use super::driver::{self, INVALID_PTX, SUCCESS, UNSUPPORTED_PTX_VERSION};
use super::library::Prepared;
use super::{cubin, ptx};
use crate::backend::{Device, KernelInfo};
use crate::error::{Error, Result};
use crate::rung::{Arch, Native, Program, Source};
use cudarc::driver::sys;
use std::borrow::Cow;
use std::ffi::{CString, c_int, c_void};
use std::sync::Arc;
use sys::CUfunction_attribute as Attribute;

/// Bytes of the log that the driver's compiler may write.
const LOG_BYTES: usize = 16 << 10;

/// A loaded kernel, or a call that needs none. Dropping it waits for the stream and never panics.
pub struct CudaKernel(pub(super) Kernel);

pub(super) enum Kernel {
    Native(Native),
    Library(Prepared),
    Entry(Entry),
}

impl std::fmt::Debug for CudaKernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            Kernel::Native(native) => write!(f, "CudaKernel({native:?})"),
            Kernel::Library(call) => write!(f, "CudaKernel({})", call.name),
            Kernel::Entry(entry) => write!(f, "CudaKernel({})", entry.label),
        }
    }
}

/// A function in a module of its own.
pub(super) struct Entry {
    pub(super) label: String,
    pub(super) function: sys::CUfunction,
    pub(super) block: [u32; 3],
    pub(super) dynamic_shared: u32,
    /// What a launch gives it: bindings, bytes of params, tensor maps.
    pub(super) takes: [usize; 3],
    module: Module,
}

impl Entry {
    /// Fails unless the kernel was loaded in `context`.
    pub(super) fn expect_in(&self, context: &Arc<Context>) -> Result<()> {
        if Arc::ptr_eq(&self.module.context, context) { Ok(()) } else { Err(Error::WrongDevice("the kernel")) }
    }
}

// SAFETY: driver handles may be used from any thread on which their context is current.
unsafe impl Send for Entry {}
// SAFETY: as above.
unsafe impl Sync for Entry {}

/// A loaded module; unloaded when dropped, after the stream is done.
struct Module {
    context: Arc<Context>,
    handle: sys::CUmodule,
}

impl Drop for Module {
    fn drop(&mut self) {
        // SAFETY: loaded in `load`, given up here, and the stream is idle.
        self.context.release(|driver| unsafe {
            (driver.module_unload)(self.handle);
        });
    }
}

/// The kernel of one pass.
pub(super) fn compile(context: &Arc<Context>, device: &Device, program: &Program) -> Result<CudaKernel> {
    let image = match &program.cuda {
        Source::Native(native) => return Ok(CudaKernel(Kernel::Native(*native))),
        Source::Library(library) => {
            return Ok(CudaKernel(Kernel::Library(Prepared::new(context, *library, program)?)));
        }
        Source::Absent { because } => return Err(Error::unsupported(program.label.as_str(), because.as_ref())),
        Source::Ptx(text) => {
            expect_capability(program, device, program.cuda_needs.arch)?;
            Image::Ptx(Cow::Borrowed(text.as_ref()))
        }
        Source::Text(text) => image_of_text(program, text, device)?,
    };
    let entry = load(context, device, program, &image)?;
    Ok(CudaKernel(Kernel::Entry(entry)))
}

fn expect_capability(program: &Program, device: &Device, arch: Arch) -> Result<(u32, u32)> {
    let capability = device.compute_capability.unwrap_or_default();
    if arch.runs_on(capability) {
        return Ok(capability);
    }
    let (needed, (major, minor)) = (arch.requirement(), capability);
    Err(Error::unsupported(
        program.label.as_str(),
        format!("it needs {needed}, and {} has {major}.{minor}", device.name),
    ))
}

/// The embedded image of kernel text, or one compiled now.
fn image_of_text<'a>(program: &Program, text: &str, device: &Device) -> Result<Image<'a>> {
    let capability = device.compute_capability.unwrap_or_default();
    if let Some(artefact) = artefacts::find(program, capability) {
        return Ok(artefact.image());
    }
    expect_capability(program, device, program.cuda_needs.arch)?;
    #[cfg(feature = "nvrtc")]
    {
        super::nvrtc::Nvrtc::load()?.compile_for(program, text, capability)
    }
    #[cfg(not(feature = "nvrtc"))]
    {
        let _ = text;
        Err(artefacts::not_embedded(program))
    }
}

/// Loads an image and finds the program's entry in it.
fn load(context: &Arc<Context>, device: &Device, program: &Program, image: &Image<'_>) -> Result<Entry> {
    let entered = context.enter()?;
    let module = Module { context: context.clone(), handle: load_module(context, program, image)? };
    let compile_error = |log: String| Error::Compile { label: program.label.clone(), log };
    let name = CString::new(program.entry.as_str())
        .map_err(|_| compile_error("its entry has a NUL byte in its name".into()))?;
    let mut function: sys::CUfunction = std::ptr::null_mut();
    // SAFETY: the module is loaded and the context current; the name ends with NUL.
    let code = unsafe { (context.driver.module_get_function)(&mut function, module.handle, name.as_ptr()) };
    if code != SUCCESS {
        let words = context.driver.describe(code);
        return Err(compile_error(format!("no entry `{}` in it: {words}", program.entry)));
    }
    drop(entered);
    let params = program.params_bytes as usize;
    let entry = Entry {
        label: program.label.clone(),
        function,
        block: program.block,
        dynamic_shared: program.cuda_needs.dynamic_shared,
        takes: [program.written.len(), params, program.cuda_needs.tensor_maps.len()],
        module,
    };
    compare_parameters(context, program, &entry, image)?;
    allow_shared_memory(context, device, &entry)?;
    let threads = u64::from(entry.block[0]) * u64::from(entry.block[1]) * u64::from(entry.block[2]);
    let limit = attribute(context, function, Attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?.into();
    if threads > limit {
        let (what, device) = (format!("a block of {}", program.label), device.name.clone());
        return Err(Error::Limit { what, needed: threads, limit, unit: "threads", device });
    }
    Ok(entry)
}

/// Loads a module. The context must have been entered.
fn load_module(context: &Context, program: &Program, image: &Image<'_>) -> Result<sys::CUmodule> {
    use sys::CUjit_option::*;
    let label = || program.label.clone();
    let with_nul; // as the driver wants text
    let address = match image {
        Image::Ptx(text) => {
            let no_ptx = |log: String| Error::Compile { label: label(), log };
            if ptx::version(text).is_none() {
                return Err(no_ptx("it is no PTX: it has no line «.version»".into()));
            }
            let nul = |error: std::ffi::NulError| no_ptx(format!("its PTX has a NUL byte at {}", error.nul_position()));
            with_nul = CString::new(text.as_bytes()).map_err(nul)?;
            with_nul.as_ptr().cast()
        }
        Image::Cubin(bytes) => bytes.as_ptr().cast::<c_void>(),
    };
    let mut log = vec![0u8; LOG_BYTES];
    // Options are pointers or, for numbers, integers in a pointer's place.
    let mut options = [
        CU_JIT_ERROR_LOG_BUFFER as c_int,
        CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES as c_int,
        CU_JIT_GENERATE_LINE_INFO as c_int,
    ];
    let number = |value: usize| std::ptr::without_provenance_mut::<c_void>(value);
    let mut values = [log.as_mut_ptr().cast::<c_void>(), number(LOG_BYTES), number(1)];
    let mut module: sys::CUmodule = std::ptr::null_mut();
    // SAFETY: the context is current. Text ends with NUL; machine code is a whole image of this
    // crate, of NVRTC or of the driver's own format, which tells its size. Options and values are as
    // many as stated and live through the call, as does the log of the stated size.
    let code = unsafe {
        let count = options.len() as u32;
        (context.driver.module_load_data)(&mut module, address, count, options.as_mut_ptr(), values.as_mut_ptr())
    };
    if code == SUCCESS {
        return Ok(module);
    }
    let version = context.driver.version();
    let newest = driver::newest_ptx(version);
    if let Image::Ptx(text) = image
        && let Some(found) = ptx::version(text)
        && (code == UNSUPPORTED_PTX_VERSION || code == INVALID_PTX)
        && found > newest
    {
        let text = |(major, minor): (u32, u32)| format!("{major}.{minor}");
        return Err(Error::PtxVersion { label: label(), ptx: text(found), driver: text(version), max: text(newest) });
    }
    // Also notes an earlier kernel's fault that surfaces here.
    let error = context.check("cuModuleLoadDataEx", code);
    let end = log.iter().position(|&byte| byte == 0).unwrap_or(LOG_BYTES);
    let log = String::from_utf8_lossy(&log[..end]);
    match error {
        Err(Error::Device { message, .. }) => {
            Err(Error::Compile { label: label(), log: format!("{message}\n{}", log.trim()).trim_end().into() })
        }
        Err(other) => Err(other),
        Ok(()) => Ok(module),
    }
}

/// Compares the kernel's parameters with what a launch gives it: the driver copies as many bytes as
/// the kernel declares, from wherever a launch points.
fn compare_parameters(context: &Context, program: &Program, entry: &Entry, image: &Image<'_>) -> Result<()> {
    let expected = ptx::expected_parameters(program);
    let found = match image {
        Image::Ptx(text) => ptx::parameters(text, &program.entry).unwrap_or_default(),
        Image::Cubin(bytes) => match cubin::parameters(bytes, &program.entry).filter(|found| !found.is_empty()) {
            Some(found) => found,
            None => match driver_parameters(context, entry, expected.len() + 1)? {
                Some(found) => found,
                // A driver before 12.4 cannot tell. What is shipped is compared by a test.
                None => return Ok(()),
            },
        },
    };
    if found == expected {
        return Ok(());
    }
    let log = format!(
        "its parameters have {found:?} bytes; {} bindings, params and tensor maps have {expected:?}",
        program.written.len()
    );
    Err(Error::Compile { label: program.label.clone(), log })
}

/// The bytes of a kernel's parameters, `most` at most, as the driver says them; `None` where it cannot. To ask past
/// the last is an error that tools report, so it is for machine code that cannot be read here.
fn driver_parameters(context: &Context, entry: &Entry, most: usize) -> Result<Option<Vec<usize>>> {
    let Some(info) = context.driver.func_get_param_info else { return Ok(None) };
    let _entered = context.enter()?;
    let size = |index| {
        let (mut offset, mut size) = (0usize, 0usize);
        // SAFETY: the function is loaded and the context current; the out-pointers are locals.
        let code = unsafe { info(entry.function, index, &mut offset, &mut size) };
        (code == SUCCESS).then_some(size)
    };
    Ok(Some((0..most).map_while(size).collect()))
}

/// Lets the kernel have its dynamic shared memory, which beyond 48 KiB must be asked for.
fn allow_shared_memory(context: &Context, device: &Device, entry: &Entry) -> Result<()> {
    if entry.dynamic_shared == 0 {
        return Ok(());
    }
    let fixed = attribute(context, entry.function, Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?;
    let needed = u64::from(entry.dynamic_shared) + u64::from(fixed);
    let limit = device.limits.shared_dynamic.into();
    if needed > limit {
        let what = format!("a block of {}", entry.label);
        return Err(Error::Limit { what, needed, limit, unit: "bytes of shared memory", device: device.name.clone() });
    }
    let _entered = context.enter()?;
    let which = Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES as c_int;
    // SAFETY: the function is loaded and the context current.
    let code = unsafe { (context.driver.func_set_attribute)(entry.function, which, entry.dynamic_shared as c_int) };
    context.check("cuFuncSetAttribute", code)
}

fn attribute(context: &Context, function: sys::CUfunction, attribute: Attribute) -> Result<u32> {
    let _entered = context.enter()?;
    let mut value: c_int = 0;
    // SAFETY: the function is loaded (its `Entry` is at hand) and the context current.
    let code = unsafe { (context.driver.func_get_attribute)(&mut value, attribute as c_int, function) };
    context.check("cuFuncGetAttribute", code)?;
    Ok(value.max(0) as u32)
}

/// What the driver knows of a kernel.
pub(super) fn inspect(context: &Arc<Context>, kernel: &CudaKernel) -> Result<KernelInfo> {
    use Attribute::*;
    let entry = match &kernel.0 {
        Kernel::Entry(entry) => entry,
        Kernel::Library(call) => return Ok(KernelInfo { target: Some(call.about()), ..KernelInfo::default() }),
        Kernel::Native(_) => return Ok(KernelInfo::default()),
    };
    entry.expect_in(context)?;
    let get = |which| attribute(context, entry.function, which);
    let threads: u32 = entry.block.iter().product();
    let mut blocks: c_int = 0;
    {
        let _entered = context.enter()?;
        // SAFETY: as in `attribute`; the out-pointer is a local.
        let code = unsafe {
            (context.driver.occupancy)(&mut blocks, entry.function, threads as c_int, entry.dynamic_shared as usize)
        };
        context.check("cuOccupancyMaxActiveBlocksPerMultiprocessor", code)?;
    }
    let (machine, ptx) = (get(CU_FUNC_ATTRIBUTE_BINARY_VERSION)?, get(CU_FUNC_ATTRIBUTE_PTX_VERSION)?);
    #[allow(clippy::needless_update)] // not in a build with the simulator, whose field it leaves out
    Ok(KernelInfo {
        registers: Some(get(CU_FUNC_ATTRIBUTE_NUM_REGS)?),
        shared: Some(get(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)? + entry.dynamic_shared),
        local: Some(get(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?),
        blocks_per_sm: Some(blocks.max(0) as u32),
        target: Some(format!("sm_{machine} from compute_{ptx}")),
        ..KernelInfo::default()
    })
}
