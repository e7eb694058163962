//! What `wgpu` does not ask Vulkan: how much memory a device has, and memory of its own for a large buffer.
//!
//! `wgpu` gives a buffer above some hundred MiB a memory object of its own too, but does not tell the driver which
//! buffer it is for. NVIDIA's places memory that it was told about so that its pages are found again: on an H200
//! copies and transposes that take turns on buffers of 2 GiB run 3 to 11 % faster.

use ash::vk;
use wgpu::hal::{api::Vulkan, vulkan};

/// The least bytes of a buffer that gets memory of its own: `wgpu` has none above this size in a shared block, so
/// there are no more memory objects than before.
const LARGE: u64 = 256 << 20;

/// Bytes of the largest heap of the device's own memory.
pub(super) fn memory(device: &wgpu::Device) -> Option<u64> {
    // SAFETY: the handle is only asked.
    let device = unsafe { device.as_hal::<Vulkan>() }?;
    let memory = properties(&device);
    let heaps = memory.memory_heaps_as_slice().iter();
    heaps.filter(|heap| heap.flags.contains(vk::MemoryHeapFlags::DEVICE_LOCAL)).map(|heap| heap.size).max()
}

fn properties(device: &vulkan::Device) -> vk::PhysicalDeviceMemoryProperties {
    let instance = device.shared_instance().raw_instance();
    // SAFETY: instance and physical device belong together and live as long as the device does.
    unsafe { instance.get_physical_device_memory_properties(device.raw_physical_device()) }
}

/// A large buffer with memory of its own, of unspecified content; `None` where another backend runs, the buffer is
/// not large, or Vulkan refuses.
pub(super) fn large_buffer(device: &wgpu::Device, descriptor: &wgpu::BufferDescriptor<'_>) -> Option<wgpu::Buffer> {
    if descriptor.size < LARGE {
        return None;
    }
    // SAFETY: what is made below is made by the functions of this very device and destroyed with them.
    let hal = unsafe { device.as_hal::<Vulkan>() }?;
    let buffer = allocate(&hal, descriptor.size)?;
    drop(hal);
    // SAFETY: it was made on this device, of this size, for uses that contain those of the descriptor, and its
    // memory is its own. `Wgpu::alloc` clears it before anyone can read it.
    Some(unsafe { device.create_buffer_from_hal::<Vulkan>(buffer, descriptor) })
}

fn allocate(device: &vulkan::Device, bytes: u64) -> Option<vulkan::Buffer> {
    let raw = device.raw_device();
    let usage =
        vk::BufferUsageFlags::STORAGE_BUFFER | vk::BufferUsageFlags::TRANSFER_SRC | vk::BufferUsageFlags::TRANSFER_DST;
    let info = vk::BufferCreateInfo::default().size(bytes).usage(usage);
    // SAFETY: the description is valid and borrows nothing.
    let buffer = unsafe { raw.create_buffer(&info, None) }.ok()?;
    // SAFETY: the buffer was just made.
    let needs = unsafe { raw.get_buffer_memory_requirements(buffer) };
    let memory = own_memory(device, buffer, &needs);
    if memory.is_none() {
        // SAFETY: nobody else has it.
        unsafe { raw.destroy_buffer(buffer, None) };
    }
    // SAFETY: both are given away here, and the memory is as large as it says.
    memory.map(|memory| unsafe { vulkan::Buffer::from_raw_managed(buffer, memory, 0, needs.size) })
}

/// Device memory for this buffer alone, bound to it.
fn own_memory(device: &vulkan::Device, buffer: vk::Buffer, needs: &vk::MemoryRequirements) -> Option<vk::DeviceMemory> {
    let raw = device.raw_device();
    let memory = properties(device);
    let mut kinds = memory.memory_types_as_slice().iter().zip(0u32..);
    let local = |kind: &vk::MemoryType| kind.property_flags.contains(vk::MemoryPropertyFlags::DEVICE_LOCAL);
    let (_, kind) = kinds.find(|&(kind, number)| needs.memory_type_bits >> number & 1 == 1 && local(kind))?;
    let mut own = vk::MemoryDedicatedAllocateInfo::default().buffer(buffer);
    let info =
        vk::MemoryAllocateInfo::default().allocation_size(needs.size).memory_type_index(kind).push_next(&mut own);
    // SAFETY: kind and size are those that the buffer needs.
    let memory = unsafe { raw.allocate_memory(&info, None) }.ok()?;
    // SAFETY: both are new, nobody else has them, and the memory is for this buffer.
    if unsafe { raw.bind_buffer_memory(buffer, memory, 0) }.is_ok() {
        return Some(memory);
    }
    // SAFETY: as above.
    unsafe { raw.free_memory(memory, None) };
    None
}
