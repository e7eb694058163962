//! Launching: views, params and tensor maps become the parameters of `cuLaunchKernel`.

use super::Cuda;
use super::context::Context;
use super::kernel::{Entry, Kernel};
use crate::backend::{Launch, TensorMap};
use crate::element::Element;
use crate::error::{Error, Result};
use crate::rung::Native;
use cudarc::driver::sys;
use std::ffi::c_void;
use std::sync::Arc;

/// Dimensions of every tensor map: elements, rows, matrices.
const TENSOR_RANK: u32 = 3;
/// `CU_TENSOR_MAP_L2_PROMOTION_L2_256B`.
const PROMOTE_256_BYTES: u32 = 3;

/// A tensor map as the kernel takes it, by value.
#[repr(C, align(64))]
pub(super) struct EncodedMap([u64; 16]);

/// Queues the launches. The context must have been entered.
pub(super) fn queue(context: &Arc<Context>, launches: &[Launch<'_, Cuda>]) -> Result<()> {
    launches.iter().try_for_each(|launch| queue_one(context, launch))
}

/// The calls of the driver that queueing them takes, roughly.
pub(super) fn calls(launches: &[Launch<'_, Cuda>]) -> u64 {
    /// A library's call asks the driver for several things.
    const LIBRARY: u64 = 3;
    let of_one = |launch: &Launch<'_, Cuda>| match &launch.kernel.0 {
        Kernel::Library(_) => LIBRARY,
        _ => 1 + launch.tensor_maps.len() as u64 / 2,
    };
    launches.iter().map(of_one).sum()
}

fn queue_one(context: &Arc<Context>, launch: &Launch<'_, Cuda>) -> Result<()> {
    let mut addresses = Vec::with_capacity(launch.bindings.len());
    for view in &launch.bindings {
        view.buffer.expect_in(context)?;
        addresses.push(view.buffer.range(view.offset, view.len)?);
    }
    match &launch.kernel.0 {
        Kernel::Native(Native::Copy) => copy(context, launch, &addresses),
        Kernel::Library(call) => call.queue(context, launch, &addresses),
        Kernel::Entry(entry) => launch_entry(context, entry, launch, addresses),
    }
}

fn copy(context: &Context, launch: &Launch<'_, Cuda>, addresses: &[u64]) -> Result<()> {
    let ([from, to], [source, target]) = (launch.bindings.as_slice(), addresses) else {
        return Err(Error::shape("copy", format!("takes 2 bindings, not {}", addresses.len())));
    };
    let bytes = from.len.min(to.len) as usize;
    if bytes == 0 {
        return Ok(());
    }
    // SAFETY: `range` has checked both views; their memory outlives the copy, since it is given back
    // behind all work on the stream.
    let code = unsafe { (context.driver.memcpy_dtod_async)(*target, *source, bytes, context.stream) };
    context.check("cuMemcpyDtoDAsync", code)
}

fn launch_entry(
    context: &Arc<Context>,
    entry: &Entry,
    launch: &Launch<'_, Cuda>,
    mut addresses: Vec<u64>,
) -> Result<()> {
    entry.expect_in(context)?;
    let given = [addresses.len(), launch.params.len(), launch.tensor_maps.len()];
    if given != entry.takes {
        let [bindings, params, maps] = entry.takes;
        return Err(Error::shape(
            entry.label.as_str(),
            format!("takes {bindings} bindings, {params} bytes of params and {maps} tensor maps, not {given:?}"),
        ));
    }
    if launch.grid.contains(&0) {
        return Ok(()); // no block, no work; the driver would call it an invalid value
    }
    let mut maps = launch
        .tensor_maps
        .iter()
        .map(|map| encode(context, map, addresses.get(map.binding).copied(), &entry.label))
        .collect::<Result<Vec<_>>>()?;
    let mut parameters: Vec<*mut c_void> = addresses.iter_mut().map(|a| std::ptr::from_mut(a).cast()).collect();
    if !launch.params.is_empty() {
        parameters.push(launch.params.as_ptr().cast_mut().cast());
    }
    parameters.extend(maps.iter_mut().map(|map| std::ptr::from_mut(map).cast()));
    let [grid, block] = [launch.grid, entry.block];
    // SAFETY: the function lives in a module that `entry` keeps loaded. The driver copies each
    // parameter before it returns; their number and sizes were compared with the kernel's own when
    // it was loaded (`kernel::compare_parameters`) and with this launch above. That the kernel stays
    // inside its views is what the shipped kernels are tested for with their own rows and ops, which
    // alone a `Session` launches, and what a user vouches for in the `unsafe` functions of `Rung`,
    // `PassKernel` and `Launch`; memory and module outlive the work, since they
    // are given back behind all work on the stream.
    let code = unsafe {
        (context.driver.launch_kernel)(
            entry.function,
            grid[0],
            grid[1],
            grid[2],
            block[0],
            block[1],
            block[2],
            entry.dynamic_shared,
            context.stream,
            parameters.as_mut_ptr(),
            std::ptr::null_mut(),
        )
    };
    context.check("cuLaunchKernel", code).map_err(|error| match error {
        Error::Device { call, message } => Error::Device { call: format!("{call} of {}", entry.label), message },
        other => other,
    })
}

/// Describes part of the binding at `address` to the bulk copy engine. Elements outside read as zero.
fn encode(context: &Context, map: &TensorMap, address: Option<u64>, label: &str) -> Result<EncodedMap> {
    let problem = |what: String| Error::shape(format!("tensor map of {label}"), what);
    let address = address.ok_or_else(|| problem(format!("there is no binding {}", map.binding)))? + map.offset;
    let encode = context.driver.tensor_map_encode_tiled.ok_or_else(|| {
        Error::unsupported(label, "this driver has no cuTensorMapEncodeTiled; update it to 525 or newer")
    })?;
    let swizzle = match map.swizzle {
        0 => 0,
        32 => 1,
        64 => 2,
        128 => 3,
        other => return Err(problem(format!("a swizzle of {other} bytes (0, 32, 64 and 128 exist)"))),
    };
    let data_type = data_type(map).ok_or_else(|| problem(format!("no tensor maps of {}", map.element)))?;
    let steps = [1u32; TENSOR_RANK as usize];
    let mut encoded = EncodedMap([0; 16]);
    // SAFETY: the target is a map of the documented size and alignment, the arrays have `TENSOR_RANK`
    // entries (one less for strides) and all live through the call, which only computes on the host.
    let code = unsafe {
        encode(
            std::ptr::from_mut(&mut encoded).cast(),
            data_type as u32,
            TENSOR_RANK,
            address as usize as *mut c_void,
            map.dims.as_ptr(),
            map.strides.as_ptr(),
            map.block.as_ptr(),
            steps.as_ptr(),
            0, // no interleaving
            swizzle,
            PROMOTE_256_BYTES,
            0, // zeros outside
        )
    };
    context.check("cuTensorMapEncodeTiled", code).map_err(|error| match error {
        Error::Device { .. } => problem(format!("the driver refuses {map:?} at address {address:#x}")),
        other => other,
    })?;
    Ok(encoded)
}

const fn data_type(map: &TensorMap) -> Option<sys::CUtensorMapDataType> {
    use sys::CUtensorMapDataType::*;
    Some(match map.element {
        Element::F32 if map.tf32 => CU_TENSOR_MAP_DATA_TYPE_TFLOAT32,
        Element::F32 => CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
        Element::F64 => CU_TENSOR_MAP_DATA_TYPE_FLOAT64,
        Element::F16 => CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
        Element::Bf16 => CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
        Element::I8 | Element::U8 => CU_TENSOR_MAP_DATA_TYPE_UINT8,
        Element::I16 | Element::U16 => CU_TENSOR_MAP_DATA_TYPE_UINT16,
        Element::I32 => CU_TENSOR_MAP_DATA_TYPE_INT32,
        Element::U32 => CU_TENSOR_MAP_DATA_TYPE_UINT32,
        Element::I64 => CU_TENSOR_MAP_DATA_TYPE_INT64,
        Element::U64 => CU_TENSOR_MAP_DATA_TYPE_UINT64,
        Element::B128 => return None,
    })
}
