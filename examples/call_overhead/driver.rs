//! What a launch costs without this library: the driver's own call, or `wgpu`'s own calls.

use super::Kind;
use gpu_ladder::Result;
use gpu_ladder::backend::Any;
use gpu_ladder::gpu::Gpu;

/// The calls to set the others against.
pub fn kinds(gpu: &Gpu) -> Result<Vec<Kind<'_>>> {
    match gpu.session().backend() {
        #[cfg(feature = "cuda")]
        Any::Cuda(cuda) => Ok(vec![by_cuda(cuda)?]),
        #[cfg(feature = "wgpu")]
        Any::Wgpu(wgpu) => Ok(by_wgpu(wgpu)),
        _ => Ok(Vec::new()),
    }
}

/// `cuLaunchKernel` of a kernel that does nothing, on the same stream.
#[cfg(feature = "cuda")]
fn by_cuda(cuda: &gpu_ladder::backend::cuda::Cuda) -> Result<Kind<'_>> {
    use gpu_ladder::Error;
    use gpu_ladder::backend::cuda::cudarc::driver::{CudaContext, result};
    const NOTHING: &std::ffi::CStr = c"
.version 7.0
.target sm_70
.address_size 64
.visible .entry nothing(.param .u64 a, .param .u64 b, .param .u64 c)
{
    ret;
}
";
    let failed = |error| Error::device("the driver", error);
    // The same primary context as that of the backend.
    let context = CudaContext::new(0).map_err(failed)?;
    context.bind_to_thread().map_err(failed)?;
    // SAFETY: the image ends with NUL and the context is current.
    let module = unsafe { result::module::load_data(NOTHING.as_ptr().cast()) }.map_err(failed)?;
    // SAFETY: the module was just loaded.
    let function = unsafe { result::module::get_function(module, c"nothing".into()) }.map_err(failed)?;
    let mut arguments = [0u64; 3];
    let stream = cuda.raw_stream();
    let one = (1, 1, 1);
    Ok(Kind::new("cuLaunchKernel alone", move || {
        let mut pointers = arguments.each_mut().map(|argument| std::ptr::from_mut(argument).cast());
        // The context is current as long as it lives.
        let _ = &context;
        // SAFETY: the kernel takes three addresses, touches none of them, and its module stays loaded.
        unsafe { result::launch_kernel(function, one, one, 0, stream, &mut pointers) }.map_err(failed)
    }))
}

/// The calls of `wgpu` for one dispatch, its pipeline and bind group made before.
#[cfg(feature = "wgpu")]
fn by_wgpu(backend: &gpu_ladder::backend::wgpu::Wgpu) -> Vec<Kind<'_>> {
    use gpu_ladder::backend::wgpu::wgpu;
    const NOTHING: &str = "
@group(0) @binding(0) var<storage, read_write> words: array<u32>;
@compute @workgroup_size(1) fn nothing() { if words[0] == 1u { words[0] = 2u; } }
";
    let (device, queue) = (backend.raw_device(), backend.raw_queue());
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: None,
        source: wgpu::ShaderSource::Wgsl(NOTHING.into()),
    });
    let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: None,
        layout: None,
        module: &module,
        entry_point: None,
        compilation_options: wgpu::PipelineCompilationOptions::default(),
        cache: None,
    });
    let buffer = device.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: 256,
        usage: wgpu::BufferUsages::STORAGE,
        mapped_at_creation: false,
    });
    let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: None,
        layout: &pipeline.get_bind_group_layout(0),
        entries: &[wgpu::BindGroupEntry { binding: 0, resource: buffer.as_entire_binding() }],
    });
    let dispatch = move || {
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        pass.set_pipeline(&pipeline);
        pass.set_bind_group(0, &group, &[]);
        pass.dispatch_workgroups(1, 1, 1);
        drop(pass);
        queue.submit([encoder.finish()]);
        Ok(())
    };
    let nothing = move || {
        queue.submit([]);
        Ok(())
    };
    vec![Kind::new("wgpu alone: one dispatch", dispatch), Kind::new("wgpu alone: an empty submission", nothing)]
}
