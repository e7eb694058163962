//! Finding an adapter, asking it for all it has, and describing what was given.

use crate::backend::{Backend as _, Clock, Cooperative, Device, DeviceKind, Limits, Select};
use crate::element::Element;
use crate::error::{Error, Result};
use wgpu::{DeviceType, Features};

/// Features that some rung or the clock can use; each is requested where it exists.
const WANTED: Features = Features::TIMESTAMP_QUERY
    .union(Features::TIMESTAMP_QUERY_INSIDE_ENCODERS)
    .union(Features::TIMESTAMP_QUERY_INSIDE_PASSES)
    .union(Features::SHADER_F16)
    .union(Features::SHADER_F64)
    .union(Features::SUBGROUP);

/// The adapter that `select` names, or the best one: a real GPU before a software adapter.
pub(super) async fn choose(select: &Select) -> Result<wgpu::Adapter> {
    let mut adapters = list(wgpu::Backends::PRIMARY).await;
    if adapters.is_empty() {
        adapters = list(wgpu::Backends::SECONDARY).await;
    }
    if adapters.is_empty() {
        return Err(Error::NoBackend {
            backend: "wgpu",
            because: "no Vulkan, Metal, DX12 or GL adapter was found".into(),
            remedy:
                "Install a GPU driver; without a GPU, Mesa's software adapter (mesa-vulkan-drivers) runs every rung"
                    .into(),
        });
    }
    adapters.sort_by_key(|adapter| rank(adapter.get_info().device_type));
    let asked = select.device.clone().or_else(|| std::env::var("WGPU_ADAPTER_NAME").ok());
    let Some(asked) = asked else { return Ok(adapters.remove(0)) };
    let names: Vec<String> = adapters.iter().map(|a| a.get_info().name).collect();
    match Select::find(&names, &asked) {
        Some(index) => Ok(adapters.swap_remove(index)),
        None => Err(Error::NoDevice { backend: super::Wgpu::NAME, asked, available: names }),
    }
}

async fn list(group: wgpu::Backends) -> Vec<wgpu::Adapter> {
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle_from_env();
    // The environment (WGPU_BACKEND) narrows the group; validation layers are for debugging wgpu itself.
    descriptor.backends &= group;
    descriptor.flags = wgpu::InstanceFlags::empty().with_env();
    if descriptor.backends.is_empty() {
        return Vec::new();
    }
    #[cfg(not(target_arch = "wasm32"))]
    return wgpu::Instance::new(descriptor).enumerate_adapters(group).await;
    #[cfg(target_arch = "wasm32")]
    return wgpu::Instance::new(descriptor)
        .request_adapter(&wgpu::RequestAdapterOptions::default())
        .await
        .into_iter()
        .collect();
}

fn rank(kind: DeviceType) -> u32 {
    match kind {
        DeviceType::DiscreteGpu => 0,
        DeviceType::IntegratedGpu => 1,
        DeviceType::VirtualGpu => 2,
        DeviceType::Other => 3,
        DeviceType::Cpu => 4,
    }
}

/// The features to ask for when a program makes a device of its own for this crate: those of its
/// kernels and its clock that the adapter has. Rungs that need a missing one are `Unsupported`.
pub fn required_features(adapter: &wgpu::Adapter) -> Features {
    adapter.features() & WANTED
}

/// The limits to ask for then: all that the adapter allows, which costs nothing.
pub fn required_limits(adapter: &wgpu::Adapter) -> wgpu::Limits {
    adapter.limits()
}

/// A device with every wanted feature and the largest limits that the adapter has.
pub(super) async fn request(adapter: &wgpu::Adapter, select: &Select) -> Result<(wgpu::Device, wgpu::Queue)> {
    let mut limits = required_limits(adapter);
    if let Some(bytes) = select.max_binding {
        limits.max_storage_buffer_binding_size = limits.max_storage_buffer_binding_size.min(bytes);
    }
    // Not among the features that a program is told to ask for: it would have to vouch for the experiment itself.
    let experiment = adapter.features() & Features::EXPERIMENTAL_COOPERATIVE_MATRIX;
    let experimental_features = if !experiment.is_empty() {
        // SAFETY: wgpu asks to be told that its experimental features may have defects. The only
        // one requested is cooperative matrices; the shaders of this crate that use them are run by
        // the simulator in the tests, which checks their pointers, strides and subgroups.
        unsafe { wgpu::ExperimentalFeatures::enabled() }
    } else {
        wgpu::ExperimentalFeatures::disabled()
    };
    adapter
        .request_device(&wgpu::DeviceDescriptor {
            label: Some("gpu-ladder"),
            required_features: required_features(adapter) | experiment,
            required_limits: limits,
            experimental_features,
            memory_hints: wgpu::MemoryHints::Performance,
            trace: wgpu::Trace::Off,
        })
        .await
        .map_err(|error| Error::device("request_device", error))
}

/// The products of cooperative matrices that a device made from `adapter` may use.
pub(super) fn cooperative(adapter: &wgpu::Adapter, device: &wgpu::Device) -> Vec<Cooperative> {
    let info = adapter.get_info();
    // Threads are assigned to subgroups by their number, so the size of these must be fixed.
    let fixed = info.subgroup_min_size == info.subgroup_max_size;
    if !fixed || !device.features().contains(Features::EXPERIMENTAL_COOPERATIVE_MATRIX) {
        return Vec::new();
    }
    let element = |scalar| match scalar {
        wgpu::CooperativeScalarType::F16 => Some(Element::F16),
        wgpu::CooperativeScalarType::F32 => Some(Element::F32),
        _ => None,
    };
    let properties = adapter.cooperative_matrix_properties();
    let known = properties.iter().filter(|p| !p.saturating_accumulation).filter_map(|p| {
        let (inputs, sums) = element(p.ab_type).zip(element(p.cr_type))?;
        Some(Cooperative { m: p.m_size, n: p.n_size, k: p.k_size, inputs, sums })
    });
    let mut shapes = Vec::new();
    known.for_each(|shape| {
        if !shapes.contains(&shape) {
            shapes.push(shape);
        }
    });
    shapes
}

/// What was given.
pub(super) fn describe(info: &wgpu::AdapterInfo, device: &wgpu::Device, queue: &wgpu::Queue) -> Device {
    let limits = device.limits();
    let features = device.features();
    let blocks = limits.max_compute_workgroups_per_dimension;
    let kind = match info.device_type {
        DeviceType::DiscreteGpu => DeviceKind::Discrete,
        DeviceType::IntegratedGpu => DeviceKind::Integrated,
        DeviceType::VirtualGpu => DeviceKind::Virtual,
        DeviceType::Cpu => DeviceKind::Software,
        DeviceType::Other => DeviceKind::Unknown,
    };
    let sheet = crate::limits::data_sheet(&info.name);
    Device {
        backend: super::Wgpu::NAME,
        name: info.name.clone(),
        driver: format!("{} {}", info.driver, info.driver_info).trim().to_string(),
        api: format!("{:?}", info.backend),
        kind,
        limits: Limits {
            threads_per_block: limits.max_compute_invocations_per_workgroup,
            block: [
                limits.max_compute_workgroup_size_x,
                limits.max_compute_workgroup_size_y,
                limits.max_compute_workgroup_size_z,
            ],
            grid: [blocks; 3],
            shared_static: limits.max_compute_workgroup_storage_size,
            shared_dynamic: limits.max_compute_workgroup_storage_size,
            buffer: limits.max_buffer_size,
            binding: limits.max_storage_buffer_binding_size,
            binding_alignment: limits.min_storage_buffer_offset_alignment.into(),
            bindings: limits.max_storage_buffers_per_shader_stage,
        },
        memory: super::vulkan::memory(device),
        l2: sheet.map(|s| s.l2_bytes),
        multiprocessors: sheet.map(|s| s.multiprocessors),
        compute_capability: None,
        warp: info.subgroup_min_size.max(1),
        f16: features.contains(Features::SHADER_F16),
        cooperative: Vec::new(),
        browser_checks: cfg!(target_arch = "wasm32"),
        clock: if features.contains(Features::TIMESTAMP_QUERY) {
            Clock::Device { resolution_ns: queue.get_timestamp_period().into() }
        } else {
            Clock::Host { resolution_ns: 100.0 }
        },
    }
}
