//! The library surface on a `wgpu` device that a program made itself: its limits and features, its
//! buffers and encoders, and rungs in raw form launched without this crate.

mod required;

use gpu_ladder::backend::wgpu::{Wgpu, required_features, required_limits};
use gpu_ladder::backend::{Any, Backend, Clock, Select};
use gpu_ladder::gpu::{Gpu, HostMatrix, Product, Raw, raw};
use gpu_ladder::op::{Matmul, Op, Transpose};
use gpu_ladder::rung::Operand;
use gpu_ladder::{Element, Error, Layout, Problem, Result};
use libtest_mimic::{Arguments, Failed, Trial};
use std::sync::OnceLock;

/// One test.
type Check = fn() -> std::result::Result<(), Failed>;

fn main() {
    let arguments = Arguments::from_args();
    let required = required::is_required("wgpu");
    let tests: &[(&str, Check)] = &[
        ("work_goes_into_the_programs_encoder_on_its_buffers", own_encoder),
        ("a_device_without_f16_runs_f32_and_says_why_not_f16", no_f16),
        ("small_limits_choose_a_rung_that_fits", small_limits),
        ("the_raw_form_runs_without_this_crate", raw_form),
        ("a_wrapped_buffer_must_hold_its_matrix", wrapped),
        ("input_and_output_in_one_buffer_are_refused", one_buffer),
        ("several_devices_in_one_process", several),
        ("tuning_without_timestamps_reads_the_hosts_clock", tuning_by_host),
        ("a_device_that_its_program_destroys_is_lost", destroyed),
        ("a_download_that_is_given_up_harms_nothing", given_up),
        ("devices_that_are_not_there_are_typed_errors", missing),
        ("what_to_ask_for_is_what_the_adapter_has", asked),
    ];
    let opened = pollster::block_on(Wgpu::open(&Select::default()));
    let trials = match opened {
        Err(error) if !required => {
            let name = format!("gpu_devices (skipped: {error})");
            vec![Trial::test(name, || Ok(())).with_ignored_flag(true)]
        }
        _ => tests.iter().map(|(name, test)| Trial::test(*name, *test)).collect(),
    };
    libtest_mimic::run(&arguments, trials).exit();
}

fn adapter() -> Result<wgpu::Adapter, Failed> {
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle_from_env();
    descriptor.backends &= wgpu::Backends::PRIMARY;
    let instance = wgpu::Instance::new(descriptor);
    Ok(pollster::block_on(instance.request_adapter(&wgpu::RequestAdapterOptions::default()))?)
}

struct Program {
    device: wgpu::Device,
    queue: wgpu::Queue,
    gpu: Gpu<Wgpu>,
}

/// A program with a plain device: WebGPU's default limits, no features.
fn program(change: impl FnOnce(&mut wgpu::Limits)) -> Result<Program, Failed> {
    let adapter = adapter()?;
    let mut limits = wgpu::Limits::default();
    change(&mut limits);
    let request = wgpu::DeviceDescriptor { required_limits: limits, ..Default::default() };
    let (device, queue) = pollster::block_on(adapter.request_device(&request))?;
    let gpu = Gpu::from_wgpu(&adapter.get_info(), device.clone(), queue.clone());
    gpu.keep_tuning_in(None);
    Ok(Program { device, queue, gpu })
}

/// The plain device, shared where a test needs no other.
fn plain() -> Result<&'static Program, Failed> {
    static PLAIN: OnceLock<Program> = OnceLock::new();
    if PLAIN.get().is_none() {
        let made = program(|_| {})?;
        return Ok(PLAIN.get_or_init(|| made));
    }
    PLAIN.get().ok_or_else(|| "it was just made".into())
}

fn numbers(rows: u64, cols: u64) -> HostMatrix<f32> {
    HostMatrix::from_fn(rows, cols, |r, c| (r * 1000 + c) as f32).expect("a small matrix")
}

fn turned(m: &HostMatrix<f32>) -> HostMatrix<f32> {
    HostMatrix::from_fn(m.cols(), m.rows(), |r, c| m.get(c, r).unwrap_or_default()).expect("a small matrix")
}

fn buffer(program: &Program, bytes: u64, usage: wgpu::BufferUsages) -> wgpu::Buffer {
    program.device.create_buffer(&wgpu::BufferDescriptor { label: None, size: bytes, usage, mapped_at_creation: false })
}

const STORAGE: wgpu::BufferUsages =
    wgpu::BufferUsages::STORAGE.union(wgpu::BufferUsages::COPY_SRC).union(wgpu::BufferUsages::COPY_DST);

fn own_encoder() -> Result<(), Failed> {
    let program = plain()?;
    let host = numbers(60, 44);
    let (input, output) = (buffer(program, 60 * 44 * 4 + 64, STORAGE), buffer(program, 44 * 64 * 4, STORAGE));
    program.queue.write_buffer(&input, 64, bytemuck_bytes(host.elements()));
    // 16 elements into the program's buffer, and rows of the output 64 elements apart.
    let a = program.gpu.wrap(input, Element::F32, [1, 60, 44], Layout { offset: 16, ..Layout::default() })?;
    let pitched = Layout { leading_dimension: Some(64), ..Layout::default() };
    let mut b = program.gpu.wrap(output, Element::F32, [1, 44, 60], pitched)?;
    let call = program.gpu.transpose_call(&a, &mut b)?;
    let mut encoder = program.device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: None });
    call.encode(&mut encoder)?;
    drop(call);
    assert!(
        program.gpu.download::<f32>(&b)?.elements().iter().all(|x| *x == 0.0),
        "nothing runs before the submission"
    );
    program.queue.submit([encoder.finish()]);
    assert_eq!(program.gpu.download::<f32>(&b)?, turned(&host));
    Ok(())
}

fn bytemuck_bytes(elements: &[f32]) -> &[u8] {
    bytemuck::cast_slice(elements)
}

fn no_f16() -> Result<(), Failed> {
    // Kind CAP1.
    let gpu = &plain()?.gpu;
    assert!(!gpu.device().f16);
    let a = gpu.upload(&HostMatrix::from_fn(8, 8, |r, c| (r * 8 + c) as f32)?)?;
    let mut product = gpu.zeros(Element::F32, 8, 8)?;
    // A rung that a software adapter compiles in no time.
    let rung = Matmul.ladder().iter().find(|rung| rung.name == "coalesced").ok_or("a shipped rung")?;
    let problem = Problem::new(Element::F32, [8, 8, 8]);
    gpu.op_call(&Matmul, &problem, &[a.view(), a.view()], &mut product, Some(rung))?.run()?;
    let c = gpu.download::<f32>(&product)?;
    let expected: f32 = (0..8).map(|k| (8 * k + 3) as f32 * (56 + k) as f32).sum();
    assert_eq!(c.get(7, 3), Some(expected));
    // Moving halves needs no arithmetic; multiplying them does, or says why not.
    let halves = HostMatrix::from_fn(8, 8, |r, c| half::f16::from_f32((r + c) as f32))?;
    let b = gpu.upload(&halves)?;
    assert_eq!(gpu.download::<half::f16>(&gpu.transpose(&b)?)?, halves);
    match gpu.matmul(&b, &b) {
        Ok(product) => assert!(gpu.download::<half::f16>(&product)?.get(0, 0).is_some_and(|x| x.to_f32() == 140.0)),
        Err(error) => assert!(matches!(error, Error::Unsupported { .. }), "{error:?}"),
    }
    gpu.usable()?;
    Ok(())
}

fn small_limits() -> Result<(), Failed> {
    // Kinds RES1 and RES3.
    let program = program(|limits| {
        limits.max_compute_invocations_per_workgroup = 256;
        limits.max_compute_workgroup_size_x = 256;
        limits.max_compute_workgroup_storage_size = 2048;
    })?;
    let host = numbers(100, 60);
    let a = program.gpu.upload(&host)?;
    assert_eq!(program.gpu.download::<f32>(&program.gpu.transpose(&a)?)?, turned(&host));
    Ok(())
}

/// Dispatches a raw form by hand on these operands.
fn dispatch(program: &Program, raw: &Raw, operands: impl Fn(Operand) -> wgpu::Buffer) {
    let device = &program.device;
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: None });
    let workspaces: Vec<_> = raw.workspaces.iter().map(|&bytes| buffer(program, bytes, STORAGE)).collect();
    for pass in &raw.passes {
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some(&pass.label),
            source: wgpu::ShaderSource::Wgsl(pass.wgsl.as_str().into()),
        });
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: None,
            layout: None,
            module: &module,
            entry_point: Some(&pass.entry),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        });
        let uniform =
            buffer(program, pass.params.len() as u64, wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST);
        program.queue.write_buffer(&uniform, 0, &pass.params);
        let buffers: Vec<_> = pass
            .bindings
            .iter()
            .map(|binding| match binding.operand {
                Operand::WorkspaceIn(index) | Operand::WorkspaceOut(index) => workspaces[index].clone(),
                operand => operands(operand),
            })
            .collect();
        let mut entries: Vec<_> = (0u32..)
            .zip(pass.bindings.iter().zip(&buffers))
            .map(|(number, (binding, buffer))| wgpu::BindGroupEntry {
                binding: number,
                resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                    buffer,
                    offset: binding.offset,
                    size: std::num::NonZeroU64::new(binding.len),
                }),
            })
            .collect();
        entries.push(wgpu::BindGroupEntry { binding: entries.len() as u32, resource: uniform.as_entire_binding() });
        let layout = pipeline.get_bind_group_layout(0);
        let group =
            device.create_bind_group(&wgpu::BindGroupDescriptor { label: None, layout: &layout, entries: &entries });
        let mut compute = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        compute.set_pipeline(&pipeline);
        compute.set_bind_group(0, &group, &[]);
        let [x, y, z] = pass.workgroups;
        compute.dispatch_workgroups(x, y, z);
    }
    program.queue.submit([encoder.finish()]);
}

fn raw_form() -> Result<(), Failed> {
    let program = plain()?;
    let problem = Problem::new(Element::F32, [52, 36]);
    let rung = Transpose.select(program.gpu.device(), &problem).ok_or("a rung is selected")?;
    let raw = raw(&Transpose, rung, &problem, program.gpu.device())?;
    assert_eq!(raw.passes.len(), 1);
    let host = numbers(52, 36);
    let [input, output] = [(); 2].map(|()| buffer(program, 52 * 36 * 4, STORAGE));
    program.queue.write_buffer(&input, 0, bytemuck_bytes(host.elements()));
    dispatch(program, &raw, |operand| if operand == Operand::Input(0) { input.clone() } else { output.clone() });
    let result = program.gpu.wrap(output.clone(), Element::F32, [1, 36, 52], Layout::default())?;
    assert_eq!(program.gpu.download::<f32>(&result)?, turned(&host));
    // A divided sum hands its parts over in a workspace.
    let split = Matmul.ladder().iter().find(|rung| rung.name == "split_workspace").ok_or("a shipped rung")?;
    let raw = gpu_ladder::gpu::raw(&Matmul, split, &Problem::new(Element::F32, [64, 64, 512]), program.gpu.device())?;
    assert!(raw.passes.len() == 2 && raw.workspaces.len() == 1);
    assert!(raw.passes[0].bindings.iter().any(|b| b.operand == Operand::WorkspaceOut(0) && b.written));
    assert!(raw.passes[1].bindings.iter().any(|b| b.operand == Operand::WorkspaceIn(0) && !b.written));
    Ok(())
}

fn wrapped() -> Result<(), Failed> {
    let program = plain()?;
    let small = buffer(program, 96, STORAGE);
    let packed = Layout::default();
    let refused =
        |error: Result<_>| matches!(error.map(|_: gpu_ladder::gpu::Matrix<Wgpu>| ()), Err(Error::Shape { .. }));
    assert!(refused(program.gpu.wrap(small.clone(), Element::F32, [1, 5, 5], packed)));
    assert!(refused(program.gpu.wrap(small.clone(), Element::F32, [1, 4, 4], Layout { offset: 9, ..packed })));
    let at_the_end = Layout { offset: u64::MAX - 20, ..packed };
    assert!(refused(program.gpu.wrap(small.clone(), Element::U8, [1, 1, 8], at_the_end)));
    let narrow = Layout { leading_dimension: Some(3), ..packed };
    assert!(refused(program.gpu.wrap(small.clone(), Element::F32, [1, 4, 4], narrow)));
    let unusable = buffer(program, 96, wgpu::BufferUsages::COPY_DST);
    assert!(refused(program.gpu.wrap(unusable, Element::F32, [1, 4, 4], packed)));
    program.gpu.wrap(small, Element::F32, [1, 4, 6], packed)?;
    Ok(())
}

fn one_buffer() -> Result<(), Failed> {
    // Kind ERR9: also disjoint halves of one buffer, which WebGPU does not allow.
    let program = plain()?;
    let all = buffer(program, 2 * 64 * 64 * 4, STORAGE);
    let first = program.gpu.wrap(all.clone(), Element::F32, [1, 64, 64], Layout::default())?;
    let half = Layout { offset: 64 * 64, ..Layout::default() };
    for layout in [Layout::default(), half] {
        let mut second = program.gpu.wrap(all.clone(), Element::F32, [1, 64, 64], layout)?;
        let error = program.gpu.transpose_into(&first, &mut second).expect_err("it must be refused");
        assert!(matches!(&error, Error::Shape { problem, .. } if problem.contains("same buffer")), "{error:?}");
    }
    Ok(())
}

fn several() -> Result<(), Failed> {
    // Kind DEV7: opened here, used elsewhere; two devices at the same time.
    let programs = [program(|_| {})?, program(|_| {})?];
    std::thread::scope(|scope| {
        for (index, program) in programs.iter().enumerate() {
            scope.spawn(move || {
                for round in 0..10 {
                    let host = numbers(30 + index as u64, 20 + round);
                    let a = program.gpu.upload(&host).expect("memory");
                    let b = program.gpu.transpose(&a).expect("a transpose");
                    assert_eq!(program.gpu.download::<f32>(&b).expect("a download"), turned(&host));
                }
            });
        }
    });
    let a = programs[0].gpu.upload(&numbers(4, 4))?;
    assert!(matches!(
        programs[1].gpu.matmul_into(&a, &a, &mut programs[1].gpu.zeros(Element::F32, 4, 4)?, Product::new()),
        Err(Error::WrongDevice(_))
    ));
    Ok(())
}

fn tuning_by_host() -> Result<(), Failed> {
    // Kind CAP3.
    let gpu = &plain()?.gpu;
    assert!(matches!(gpu.device().clock, Clock::Host { .. }));
    let problem = Problem::new(Element::F32, [100, 60]);
    let tuned = gpu.tune_among(&Transpose, &problem, |rung| matches!(&*rung.name, "naive" | "coarsened"))?;
    assert!(tuned.candidates.iter().all(|c| matches!(c.outcome, Ok(ns) if ns > 0.0)), "{tuned:?}");
    assert_eq!(gpu.chosen(&Transpose, &problem)?, format!("transpose/{}", tuned.rung));
    Ok(())
}

fn destroyed() -> Result<(), Failed> {
    // Kinds ERR3 and ERR5: the device goes while work, matrices and calls are about.
    let program = program(|_| {})?;
    let a = program.gpu.upload(&numbers(30, 20))?;
    let mut b = program.gpu.zeros(Element::F32, 20, 30)?;
    let mut call = program.gpu.transpose_call(&a, &mut b)?;
    call.run()?;
    program.device.destroy();
    // Whatever comes first says so at the latest when it is waited for; from then on everything does.
    let first = call.run().and_then(|()| program.gpu.download::<f32>(&a).map(drop));
    let errors = [
        first.err(),
        call.run().err(),
        program.gpu.download::<f32>(&a).err(),
        program.gpu.upload(&numbers(2, 2)).err(),
        program.gpu.transpose(&a).err(),
        program.gpu.finish().err(),
        program.gpu.usable().err(),
    ];
    assert!(errors.iter().all(|error| matches!(error, Some(Error::DeviceLost(_)))), "{errors:?}");
    Ok(())
}

fn given_up() -> Result<(), Failed> {
    // Kinds ERR7 and ERR8: read back right after the submission, twice, and once dropped half-way.
    use std::future::Future;
    use std::task::{Context, Waker};
    let gpu = &plain()?.gpu;
    let host = numbers(300, 300);
    let a = gpu.upload(&host)?;
    let b = gpu.transpose(&a)?;
    {
        let mut download = Box::pin(gpu.download_async::<f32>(&b));
        let _ = download.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    }
    for _ in 0..2 {
        assert_eq!(gpu.download::<f32>(&b)?, turned(&host));
    }
    let dropped = gpu.transpose(&b)?;
    drop((dropped, b));
    assert_eq!(gpu.download::<f32>(&a)?, host);
    Ok(())
}

fn missing() -> Result<(), Failed> {
    // Kinds DEV3, DEV5, DEV6.
    let select = |device: &str| Select { device: Some(device.into()), ..Select::default() };
    let error = pollster::block_on(Gpu::open_on_async("wgpu", &select("99"))).err().ok_or("there is no such device")?;
    assert!(matches!(&error, Error::NoDevice { available, .. } if !available.is_empty()), "{error:?}");
    let error = Gpu::open_on("wpgu").err().ok_or("there is no such backend")?;
    assert!(matches!(error, Error::Unknown { .. }) && error.to_string().contains("did you mean 'wgpu'"), "{error}");
    let opened = pollster::block_on(Gpu::open_on_async("cuda", &select("99")));
    let error = opened.err().ok_or("there is no such device")?;
    assert!(matches!(error, Error::NoBackend { .. } | Error::NoDevice { .. }), "{error:?}");
    assert_eq!(Any::NAME, "auto");
    Ok(())
}

fn asked() -> Result<(), Failed> {
    let adapter = adapter()?;
    let request = wgpu::DeviceDescriptor {
        required_features: required_features(&adapter),
        required_limits: required_limits(&adapter),
        ..Default::default()
    };
    let (device, queue) = pollster::block_on(adapter.request_device(&request))?;
    let gpu = Gpu::from_wgpu(&adapter.get_info(), device, queue);
    assert_eq!(gpu.device().limits.binding, adapter.limits().max_storage_buffer_binding_size);
    Ok(())
}
