//! The portable backend: WGSL through `wgpu` (Vulkan, Metal, DX12, GL, and WebGPU in a browser).

mod adapter;
mod awake;
mod timer;
mod transfer;
#[cfg(any(windows, all(unix, not(target_vendor = "apple"))))]
mod vulkan;
#[cfg(not(any(windows, all(unix, not(target_vendor = "apple")))))]
mod vulkan {
    //! There is none here.
    pub(super) fn memory(_device: &wgpu::Device) -> Option<u64> {
        None
    }
    pub(super) fn large_buffer(
        _device: &wgpu::Device,
        _descriptor: &wgpu::BufferDescriptor<'_>,
    ) -> Option<wgpu::Buffer> {
        None
    }
}

/// The `wgpu` that this crate works with, for programs that bring their own device: one major
/// version, raised only with a breaking release.
pub use ::wgpu;
pub use adapter::{required_features, required_limits};

use crate::backend::{Backend, Device, KernelInfo, Launch, Select, Telemetry};
use crate::error::{Error, Result};
use crate::rung::{Native, Program, Source};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

/// A `wgpu` device and its queue.
pub struct Wgpu {
    device: wgpu::Device,
    queue: wgpu::Queue,
    description: Device,
    #[cfg(feature = "cuda")]
    pci_bus_id: String,
    faults: Arc<Mutex<Faults>>,
    patterns: Mutex<HashMap<u32, wgpu::Buffer>>,
    /// Uniforms by their content, which never changes: launches with the same params share one.
    params: Mutex<HashMap<Vec<u8>, wgpu::Buffer>>,
    /// What results are read back through, kept for the next one.
    staging: Mutex<Option<wgpu::Buffer>>,
    stopwatch: Mutex<Option<Box<timer::Stopwatch>>>,
}

/// The most params that are kept.
const MOST_PARAMS: usize = 512;

/// A storage buffer; its size is rounded up to 16 bytes.
pub struct Buffer {
    buffer: wgpu::Buffer,
}

impl From<wgpu::Buffer> for Buffer {
    /// A buffer that the program made on the same device.
    fn from(buffer: wgpu::Buffer) -> Self {
        Buffer { buffer }
    }
}

impl Buffer {
    /// The `wgpu` buffer.
    pub fn raw(&self) -> &wgpu::Buffer {
        &self.buffer
    }
}

/// What a shader with cooperative matrices says.
const COOPERATIVE: &str = "enable wgpu_cooperative_matrix;";

/// A compiled compute pipeline, or a call of the encoder.
pub struct Kernel(Code);

enum Code {
    Pipeline {
        pipeline: wgpu::ComputePipeline,
        layout: wgpu::BindGroupLayout,
        label: String,
        /// See [`timer::counts_blocks`].
        counts_blocks: bool,
    },
    Native(Native),
}

/// What the device said outside of any call.
#[derive(Default)]
struct Faults {
    lost: Option<String>,
    uncaptured: Option<String>,
}

/// Why a device is gone, and what is likeliest behind it: drivers do not tell one loss from another.
fn loss(reason: wgpu::DeviceLostReason, message: &str) -> String {
    match reason {
        wgpu::DeviceLostReason::Destroyed => format!("its owner destroyed it ({message})"),
        _ => format!(
            "{message}; if a launch ran for seconds, the operating system's time limit for GPU work ended it: \
             divide the problem or take a faster rung"
        ),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Wgpu {
    /// Wraps a device that the program already has. It runs within the features and limits that
    /// the device was made with.
    /// It takes over the device's handlers of uncaptured errors and of loss, to report both as typed
    /// errors.
    pub fn from_device(adapter: &wgpu::AdapterInfo, device: wgpu::Device, queue: wgpu::Queue, select: &Select) -> Self {
        let faults = Arc::new(Mutex::new(Faults::default()));
        let sink = Arc::clone(&faults);
        device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
            lock(&sink).uncaptured.get_or_insert(error.to_string());
        }));
        let sink = Arc::clone(&faults);
        device.set_device_lost_callback(move |reason, message| {
            lock(&sink).lost.get_or_insert(loss(reason, &message));
        });
        let mut description = adapter::describe(adapter, &device, &queue);
        description.browser_checks |= select.browser_checks;
        Wgpu {
            device,
            queue,
            description,
            #[cfg(feature = "cuda")]
            pci_bus_id: adapter.device_pci_bus_id.clone(),
            faults,
            patterns: Mutex::new(HashMap::new()),
            params: Mutex::new(HashMap::new()),
            staging: Mutex::new(None),
            stopwatch: Mutex::new(None),
        }
    }

    /// The same with the cooperative matrices of the adapter that the device was made from, where it
    /// was made with `EXPERIMENTAL_COOPERATIVE_MATRIX`. Without this call no rung uses them.
    pub fn with_cooperative_matrices(mut self, adapter: &wgpu::Adapter) -> Self {
        self.description.cooperative = adapter::cooperative(adapter, &self.device);
        self
    }

    /// The `wgpu` device.
    pub fn raw_device(&self) -> &wgpu::Device {
        &self.device
    }

    /// The `wgpu` queue.
    pub fn raw_queue(&self) -> &wgpu::Queue {
        &self.queue
    }

    /// An error if the device was lost or reported one that no call caught.
    fn check(&self) -> Result<()> {
        let mut faults = lock(&self.faults);
        if let Some(message) = &faults.lost {
            return Err(Error::DeviceLost(message.clone()));
        }
        match faults.uncaptured.take() {
            Some(message) => Err(Error::device("wgpu", message)),
            None => Ok(()),
        }
    }

    /// Runs `make` and returns its value, or what the validation and memory scopes caught. The
    /// scopes belong to this thread, so they are closed before anything is awaited.
    async fn scoped<T>(&self, label: &str, make: impl FnOnce() -> T) -> Result<T> {
        let (value, validation, memory, internal) = {
            let internal = self.device.push_error_scope(wgpu::ErrorFilter::Internal);
            let memory = self.device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
            let validation = self.device.push_error_scope(wgpu::ErrorFilter::Validation);
            let value = make();
            (value, validation.pop(), memory.pop(), internal.pop())
        };
        if let Some(error) = validation.await {
            return Err(Error::Compile { label: label.into(), log: error.to_string() });
        }
        if memory.await.is_some() {
            return Err(Error::OutOfMemory { needed: 0, free: None });
        }
        if let Some(error) = internal.await {
            return Err(Error::Compile { label: label.into(), log: error.to_string() });
        }
        self.check()?;
        Ok(value)
    }

    fn pipeline(&self, program: &Program, text: &str) -> Code {
        let descriptor =
            wgpu::ShaderModuleDescriptor { label: Some(&program.label), source: wgpu::ShaderSource::Wgsl(text.into()) };
        let lean = program.trusted && !self.description.browser_checks;
        let module = if lean {
            let checks = wgpu::ShaderRuntimeChecks {
                force_loop_bounding: false,
                bounds_checks: !text.contains(COOPERATIVE),
                ..wgpu::ShaderRuntimeChecks::checked()
            };
            // SAFETY: `trusted` is only set for this crate's own shaders, whose loops all end (the
            // simulator runs every one in the tests), or by a caller of the unsafe
            // `Rung::vouched_for`, who vouched for it. Bounds checks stay on, except where
            // the injected ones would hide from the driver how workgroup memory is laid out: the
            // shaders with cooperative matrices. Their indices into workgroup memory depend on
            // constants and the thread's number alone, those into storage are clamped to the
            // operand's last element or guarded by the shape, and the simulator, which reports
            // every index out of range, runs all of them in the tests.
            unsafe { self.device.create_shader_module_trusted(descriptor, checks) }
        } else {
            self.device.create_shader_module(descriptor)
        };
        let storage = program.written.iter().map(|&written| wgpu::BufferBindingType::Storage { read_only: !written });
        let params = (program.params_bytes > 0).then_some(wgpu::BufferBindingType::Uniform);
        let entries: Vec<_> = storage
            .chain(params)
            .enumerate()
            .map(|(binding, ty)| wgpu::BindGroupLayoutEntry {
                binding: binding as u32,
                visibility: wgpu::ShaderStages::COMPUTE,
                ty: wgpu::BindingType::Buffer { ty, has_dynamic_offset: false, min_binding_size: None },
                count: None,
            })
            .collect();
        let layout = self.device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some(&program.label),
            entries: &entries,
        });
        let pipeline_layout = self.device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: Some(&program.label),
            bind_group_layouts: &[Some(&layout)],
            immediate_size: 0,
        });
        let pipeline = self.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(&program.label),
            layout: Some(&pipeline_layout),
            module: &module,
            entry_point: Some(&program.entry),
            compilation_options: wgpu::PipelineCompilationOptions {
                constants: &[],
                // Shipped kernels write every element of workgroup memory before they read it.
                zero_initialize_workgroup_memory: !lean,
            },
            cache: None,
        });
        let counts_blocks = timer::counts_blocks(text);
        Code::Pipeline { pipeline, layout, label: program.label.clone(), counts_blocks }
    }

    /// Records launches in order. Kernels that follow one another share a compute pass, since a pass of
    /// its own costs each some microseconds; with `marks` that pass is timed, and holds all of them.
    fn record(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        launches: &[Launch<'_, Self>],
        marks: Option<&timer::Marks<'_>>,
    ) {
        let is_kernel = |launch: &Launch<'_, Self>| matches!(launch.kernel.0, Code::Pipeline { .. });
        for run in launches.chunk_by(|a, b| is_kernel(a) && is_kernel(b)) {
            if let [Launch { kernel: Kernel(Code::Native(Native::Copy)), bindings, .. }] = run {
                if let [from, to] = bindings.as_slice() {
                    let len = from.len.min(to.len);
                    encoder.copy_buffer_to_buffer(&from.buffer.buffer, from.offset, &to.buffer.buffer, to.offset, len);
                }
                continue;
            }
            let label = run.iter().find_map(|launch| match &launch.kernel.0 {
                Code::Pipeline { label, .. } => Some(label.as_str()),
                Code::Native(_) => None,
            });
            let timestamp_writes = marks.map(timer::Marks::of_pass);
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor { label, timestamp_writes });
            if let Some(marks) = marks {
                marks.begin(self, &mut pass, run);
            }
            for (number, launch) in run.iter().enumerate() {
                if marks.is_some() && number > 0 {
                    timer::keep_apart(&mut pass, &run[number - 1], launch);
                }
                self.dispatch(&mut pass, launch, launch.grid);
            }
        }
    }

    fn dispatch(&self, pass: &mut wgpu::ComputePass<'_>, launch: &Launch<'_, Self>, [x, y, z]: [u32; 3]) {
        let Code::Pipeline { pipeline, layout, .. } = &launch.kernel.0 else { return };
        pass.set_pipeline(pipeline);
        pass.set_bind_group(0, &self.bind_group(launch, layout), &[]);
        pass.dispatch_workgroups(x, y, z);
    }

    /// A uniform with these bytes.
    fn params(&self, bytes: &[u8]) -> wgpu::Buffer {
        let mut kept = lock(&self.params);
        if let Some(buffer) = kept.get(bytes) {
            return buffer.clone();
        }
        let buffer = self.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("params"),
            size: (bytes.len() as u64).next_multiple_of(16),
            usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        self.queue.write_buffer(&buffer, 0, bytes);
        if kept.len() >= MOST_PARAMS {
            kept.clear();
        }
        kept.insert(bytes.to_vec(), buffer.clone());
        buffer
    }

    /// Records launches into an encoder of the program's, to be submitted to the same device's queue.
    pub fn encode(&self, encoder: &mut wgpu::CommandEncoder, launches: &[Launch<'_, Self>]) -> Result<()> {
        self.record(encoder, launches, None);
        self.check()
    }

    fn bind_group(&self, launch: &Launch<'_, Self>, layout: &wgpu::BindGroupLayout) -> wgpu::BindGroup {
        let uniform = (!launch.params.is_empty()).then(|| self.params(&launch.params));
        let mut resources: Vec<wgpu::BindingResource<'_>> = launch
            .bindings
            .iter()
            .map(|view| {
                wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                    buffer: &view.buffer.buffer,
                    offset: view.offset,
                    size: std::num::NonZeroU64::new(view.len),
                })
            })
            .collect();
        resources.extend(uniform.as_ref().map(|u| u.as_entire_binding()));
        let entries: Vec<_> = resources
            .into_iter()
            .enumerate()
            .map(|(binding, resource)| wgpu::BindGroupEntry { binding: binding as u32, resource })
            .collect();
        self.device.create_bind_group(&wgpu::BindGroupDescriptor { label: None, layout, entries: &entries })
    }
}

impl Backend for Wgpu {
    const NAME: &'static str = "wgpu";
    type Buffer = Buffer;
    type Kernel = Kernel;

    async fn open(select: &Select) -> Result<Self> {
        let adapter = adapter::choose(select).await?;
        let (device, queue) = adapter::request(&adapter, select).await?;
        Ok(Wgpu::from_device(&adapter.get_info(), device, queue, select).with_cooperative_matrices(&adapter))
    }

    fn device(&self) -> &Device {
        &self.description
    }

    async fn compile(&self, program: &Program) -> Result<Kernel> {
        match &program.wgsl {
            Source::Native(native) => return Ok(Kernel(Code::Native(*native))),
            Source::Absent { because } => return Err(Error::unsupported(&program.label, because.as_ref())),
            Source::Ptx(_) => return Err(Error::unsupported(&program.label, "PTX is not WGSL")),
            #[cfg(feature = "cuda")]
            Source::Library(_) => return Err(Error::unsupported(&program.label, "the library calls CUDA")),
            Source::Text(_) => {}
        }
        let mut text = program
            .wgsl_text()
            .ok_or_else(|| Error::unsupported(&program.label, "WGSL cannot store elements of this width"))?;
        if program.element_words.1 == Some("f16") {
            if !self.description.f16 {
                return Err(Error::unsupported(&program.label, "this adapter has no f16 arithmetic in shaders"));
            }
            text.insert_str(0, "enable f16; ");
        }
        let code = self.scoped(&program.label, || self.pipeline(program, &text)).await?;
        Ok(Kernel(code))
    }

    async fn alloc(&self, bytes: u64) -> Result<Buffer> {
        let size = bytes.max(1).checked_next_multiple_of(16).unwrap_or(u64::MAX);
        let limit = self.description.limits.buffer;
        if size > limit {
            return Err(Error::Limit {
                what: "a buffer".into(),
                needed: size,
                limit,
                unit: "bytes",
                device: self.description.name.clone(),
            });
        }
        let descriptor = wgpu::BufferDescriptor {
            label: None,
            size,
            usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        };
        if let Some(buffer) = vulkan::large_buffer(&self.device, &descriptor) {
            let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: None });
            encoder.clear_buffer(&buffer, 0, None);
            self.queue.submit([encoder.finish()]);
            self.check()?;
            return Ok(Buffer { buffer });
        }
        let made = self.scoped("buffer", || self.device.create_buffer(&descriptor)).await;
        match made {
            Ok(buffer) => Ok(Buffer { buffer }),
            Err(Error::OutOfMemory { free, .. }) => Err(Error::OutOfMemory { needed: size, free }),
            Err(Error::Compile { log, .. }) => Err(Error::device("create_buffer", log)),
            Err(other) => Err(other),
        }
    }

    async fn upload(&self, buffer: &Buffer, offset: u64, bytes: &[u8]) -> Result<()> {
        self.write(buffer, offset, bytes)
    }

    async fn fill(&self, buffer: &Buffer, offset: u64, len: u64, word: u32) -> Result<()> {
        self.fill_words(buffer, offset, len, word)
    }

    async fn download(&self, buffer: &Buffer, offset: u64, bytes: &mut [u8]) -> Result<()> {
        self.read(buffer, offset, bytes).await
    }

    fn launch(&self, launches: &[Launch<'_, Self>]) -> Result<()> {
        let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: None });
        self.record(&mut encoder, launches, None);
        self.queue.submit([encoder.finish()]);
        self.check()
    }

    async fn time(&self, works: &[&[Launch<'_, Self>]]) -> Result<Vec<f64>> {
        timer::time(self, works).await
    }

    fn inspect(&self, _kernel: &Kernel) -> Result<KernelInfo> {
        // WebGPU tells nothing about a compiled pipeline.
        Ok(KernelInfo::default())
    }

    fn is_same(&self, a: &Buffer, b: &Buffer) -> bool {
        a.buffer == b.buffer
    }

    fn telemetry(&self) -> Telemetry {
        #[cfg(feature = "cuda")]
        if !self.pci_bus_id.is_empty() {
            return crate::backend::cuda::telemetry::at_pci_bus(&self.pci_bus_id);
        }
        Telemetry::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_names_the_time_limit_that_is_likeliest_behind_it() {
        // Kind ERR3.
        let text = loss(wgpu::DeviceLostReason::Unknown, "Parent device is lost");
        assert!(text.contains("Parent device is lost") && text.contains("time limit"), "{text}");
        assert!(!loss(wgpu::DeviceLostReason::Destroyed, "destroyed").contains("time limit"));
    }
}
