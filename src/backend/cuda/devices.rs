//! Which devices there are, and what the driver says of one.

use super::context::Context;
use super::driver::{Driver, SUCCESS};
use crate::backend::{Clock, Device, DeviceKind, Limits, Select};
use crate::error::{Error, Result};
use cudarc::driver::sys;
use std::ffi::{CStr, c_char, c_int};
use sys::CUdevice_attribute as Attribute;

/// The documented resolution of CUDA events.
const EVENT_RESOLUTION_NS: f64 = 500.0;
/// Bytes of a kernel's parameters that every driver takes.
const PARAMETER_BYTES: u32 = 4096;
/// What this crate aligns the first byte of a binding to: one transaction of the memory system and more.
const BINDING_ALIGNMENT: u64 = 256;

/// The names of all devices that the driver shows, by ordinal.
pub(super) fn names(driver: &Driver) -> Result<Vec<String>> {
    let mut count: c_int = 0;
    // SAFETY: the out-pointer is a local.
    driver.check("cuDeviceGetCount", unsafe { (driver.device_get_count)(&mut count) })?;
    (0..count).map(|ordinal| Ok(name(driver, by_ordinal(driver, ordinal)?))).collect()
}

/// The device that `asked` (an ordinal, or part of a name) selects; the driver's first for `None`.
pub(super) fn select(driver: &Driver, asked: Option<&str>) -> Result<sys::CUdevice> {
    let names = names(driver)?;
    let first = (!names.is_empty()).then_some(0);
    let ordinal = asked.map_or(first, |asked| Select::find(&names, asked)).ok_or_else(|| Error::NoDevice {
        backend: "cuda",
        asked: asked.unwrap_or("any").into(),
        available: names.clone(),
    })?;
    by_ordinal(driver, ordinal as c_int)
}

fn by_ordinal(driver: &Driver, ordinal: c_int) -> Result<sys::CUdevice> {
    let mut device: sys::CUdevice = 0;
    // SAFETY: the out-pointer is a local.
    driver.check("cuDeviceGet", unsafe { (driver.device_get)(&mut device, ordinal) })?;
    Ok(device)
}

fn name(driver: &Driver, device: sys::CUdevice) -> String {
    text(|buffer, len| {
        // SAFETY: `text` gives a buffer of `len` bytes.
        unsafe { (driver.device_get_name)(buffer, len, device) }
    })
    .unwrap_or_else(|| format!("CUDA device {device}"))
}

/// The device's place on the bus, as NVML knows it.
pub(super) fn pci_bus_id(driver: &Driver, device: sys::CUdevice) -> Option<String> {
    text(|buffer, len| {
        // SAFETY: `text` gives a buffer of `len` bytes.
        unsafe { (driver.device_get_pci_bus_id)(buffer, len, device) }
    })
}

/// The device's identifier, as NVML writes it.
pub(super) fn uuid(driver: &Driver, device: sys::CUdevice) -> Option<String> {
    let mut bytes = [0u8; 16];
    // SAFETY: the out-pointer is a local of the size of a `CUuuid`.
    let code = unsafe { driver.device_get_uuid?(&mut bytes, device) };
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    (code == SUCCESS)
        .then(|| format!("GPU-{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]))
}

/// The string that a driver function writes into a buffer.
fn text(write: impl FnOnce(*mut c_char, c_int) -> u32) -> Option<String> {
    let mut buffer = [0u8; 256];
    // One byte is held back, so that the text ends with NUL whatever the function does.
    let code = write(buffer.as_mut_ptr().cast(), buffer.len() as c_int - 1);
    let text = CStr::from_bytes_until_nul(&buffer).ok()?.to_string_lossy().into_owned();
    (code == SUCCESS).then_some(text)
}

/// An attribute of a device.
pub(super) fn attribute(driver: &Driver, device: sys::CUdevice, attribute: Attribute) -> Result<u32> {
    let mut value: c_int = 0;
    // SAFETY: the out-pointer is a local; `device` came from the driver.
    let code = unsafe { (driver.device_get_attribute)(&mut value, attribute as c_int, device) };
    driver.check("cuDeviceGetAttribute", code)?;
    Ok(value.max(0) as u32)
}

/// Everything that reports and limits need to know.
pub(super) fn describe(context: &Context, driver_version: Option<String>) -> Result<Device> {
    use Attribute::*;
    let get = |which| context.attribute(which);
    let mut memory = 0usize;
    // SAFETY: the out-pointer is a local; `device` came from the driver.
    let code = unsafe { (context.driver.device_total_mem)(&mut memory, context.device) };
    context.check("cuDeviceTotalMem", code)?;
    let memory = memory as u64;
    let (major, minor) = context.driver.version();
    Ok(Device {
        backend: "cuda",
        name: name(context.driver, context.device),
        driver: driver_version.unwrap_or_else(|| format!("NVIDIA, CUDA {major}.{minor}")),
        api: format!("CUDA {major}.{minor}"),
        kind: if get(CU_DEVICE_ATTRIBUTE_INTEGRATED)? != 0 { DeviceKind::Integrated } else { DeviceKind::Discrete },
        limits: Limits {
            threads_per_block: get(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
            block: [
                get(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X)?,
                get(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y)?,
                get(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z)?,
            ],
            grid: [
                get(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X)?,
                get(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y)?,
                get(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z)?,
            ],
            shared_static: get(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK)?,
            shared_dynamic: get(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
            buffer: memory,
            binding: memory,
            binding_alignment: BINDING_ALIGNMENT,
            bindings: PARAMETER_BYTES / 2 / size_of::<u64>() as u32,
        },
        memory: Some(memory),
        l2: Some(get(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?.into()).filter(|&bytes| bytes > 0),
        multiprocessors: Some(get(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?),
        compute_capability: Some((
            get(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            get(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        )),
        warp: get(CU_DEVICE_ATTRIBUTE_WARP_SIZE)?,
        f16: true,
        cooperative: Vec::new(),
        browser_checks: false,
        clock: Clock::Device { resolution_ns: EVENT_RESOLUTION_NS },
    })
}
