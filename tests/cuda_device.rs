//! The CUDA backend on a device. Without one, every test but the last two is a visible skip, and a
//! failure where `GPU_LADDER_REQUIRE` names cuda.

mod required;

use gpu_ladder::backend::cuda::{Cuda, CudaBuffer, CudaKernel, cudarc};
use gpu_ladder::backend::{Backend, Launch, Select, TensorMap, View};
use gpu_ladder::gpu::Gpu;
use gpu_ladder::rung::{Arch, CudaNeeds, Native, Operand, Program, Source, TensorMapRow};
use gpu_ladder::{Element, Error, Result};
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use pollster::block_on;
use std::process::{Command, ExitCode};
use std::sync::OnceLock;

const PROBE: &str = include_str!("kernels/probe.ptx");
const PROBE_TENSOR_MAP: &str = include_str!("kernels/probe_tensor_map.ptx");
/// Makes this program do one thing in a process of its own.
const ALONE: &str = "GPU_LADDER_CUDA_TEST_ALONE";

type Test = fn(&Cuda) -> Result<(), Failed>;

const TESTS: &[(&str, Test)] = &[
    ("words_come_back", words_come_back),
    ("a_kernel_adds", a_kernel_adds),
    ("any_thread_will_do", any_thread_will_do),
    ("threads_work_side_by_side", threads_work_side_by_side),
    ("a_buffer_copies", a_buffer_copies),
    ("ranges_are_checked", ranges_are_checked),
    ("another_device_is_refused", another_device_is_refused),
    ("too_much_memory_is_refused", too_much_memory_is_refused),
    ("unknown_devices_are_listed", unknown_devices_are_listed),
    ("bad_ptx_is_a_typed_error", bad_ptx_is_a_typed_error),
    ("parameters_are_compared", parameters_are_compared),
    ("limits_are_checked", limits_are_checked),
    ("shared_memory_beyond_48_kib", shared_memory_beyond_48_kib),
    ("tensor_maps_read_zero_outside", tensor_maps_read_zero_outside),
    ("times_are_of_the_device", times_are_of_the_device),
    ("recorded_works_do_what_queued_ones_do", recorded_works_do_what_queued_ones_do),
    ("a_kernel_tells_its_registers", a_kernel_tells_its_registers),
    ("a_programs_own_context_and_memory", a_programs_own_context_and_memory),
    ("the_library_on_a_programs_stream_and_slices", the_library_on_a_programs_stream_and_slices),
];

fn main() -> ExitCode {
    match std::env::var(ALONE).as_deref() {
        Ok("open") => return alone_open(),
        Ok("fault") => return alone_fault(),
        _ => {}
    }
    let mut trials: Vec<Trial> = TESTS
        .iter()
        .map(|&(name, test)| {
            Trial::ignorable_test(name, move || match cuda() {
                Ok(cuda) => test(cuda).map(|()| Completion::Completed),
                Err(error) => skip(error),
            })
        })
        .collect();
    trials.push(Trial::ignorable_test("a_fault_is_a_lost_device_and_no_panic", || match cuda() {
        Ok(_) => alone("fault", &[]).map(|()| Completion::Completed),
        Err(error) => skip(error),
    }));
    trials.push(Trial::test("no_visible_device_is_no_backend", || alone("open", &[("CUDA_VISIBLE_DEVICES", "")])));
    let mut arguments = Arguments::from_args();
    arguments.test_threads = Some(1); // they share a stream, and one of them times it
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn cuda() -> Result<&'static Cuda, &'static Error> {
    static CUDA: OnceLock<Result<Cuda>> = OnceLock::new();
    CUDA.get_or_init(open).as_ref()
}

fn open() -> Result<Cuda> {
    block_on(Cuda::open(&Select::default()))
}

fn skip(error: &Error) -> Result<Completion, Failed> {
    let required = required::is_required("cuda");
    if required { Err(error.into()) } else { Ok(Completion::ignored_with(error)) }
}

/// Runs one thing in a process of its own.
fn alone(what: &str, variables: &[(&str, &str)]) -> Result<(), Failed> {
    let output = Command::new(std::env::current_exe()?).env(ALONE, what).envs(variables.iter().copied()).output()?;
    if output.status.success() {
        Ok(())
    } else {
        Err(format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr)).into())
    }
}

fn alone_open() -> ExitCode {
    match open() {
        Err(Error::NoBackend { remedy, .. }) if !remedy.is_empty() => ExitCode::SUCCESS,
        other => complain(format!("{other:?}")),
    }
}

fn complain(what: impl std::fmt::Display) -> ExitCode {
    eprintln!("{what}");
    ExitCode::FAILURE
}

/// One kernel writes where nothing is; afterwards every call says so, and dropping is quiet.
fn alone_fault() -> ExitCode {
    let run = || -> Result<Vec<Error>> {
        let cuda = open()?;
        let kernel = block_on(cuda.compile(&ptx("stray")))?;
        let (input, output) = (block_on(cuda.alloc(LARGE))?, block_on(cuda.alloc(1024))?);
        block_on(cuda.fill(&input, 0, LARGE, 1))?;
        let launch = [launch(&kernel, [&input, &output], params(1, 0, 64), [1, 1, 1])];
        cuda.launch(&launch)?;
        let mut bytes = vec![0; LARGE as usize];
        let calls = [
            block_on(cuda.download(&input, 0, &mut bytes)),
            block_on(cuda.download(&output, 0, &mut bytes[..64])),
            block_on(cuda.upload(&input, 0, &bytes)),
            block_on(cuda.fill(&input, 0, 64, 0)),
            block_on(cuda.alloc(64)).map(drop),
            block_on(cuda.compile(&ptx("add"))).map(drop),
            cuda.launch(&launch),
            block_on(cuda.time(&[&launch])).map(drop),
            cuda.inspect(&kernel).map(drop),
            cuda.synchronize(),
        ];
        Ok(calls.into_iter().filter_map(Result::err).collect())
    };
    match run() {
        Err(error) => complain(format!("too early: {error}")),
        Ok(errors) if errors.len() < 10 => complain(format!("only {} of 10 calls fail", errors.len())),
        Ok(errors) => match errors.iter().find(|error| !matches!(error, Error::DeviceLost(_))) {
            Some(error) => complain(format!("{error:?} is not DeviceLost")),
            None => match open() {
                Ok(_) | Err(Error::DeviceLost(_)) => ExitCode::SUCCESS,
                Err(error) => complain(format!("opening again: {error:?}")),
            },
        },
    }
}

/// Bytes of a buffer that is transferred in several chunks.
const LARGE: u64 = 20 << 20;

fn program(entry: &str, cuda: Source) -> Program {
    let mut program = Program::new(format!("probe/{entry}"), entry, [256, 1, 1]);
    (program.written, program.params_bytes) = (vec![false, true], 16);
    // SAFETY: the kernels of tests/kernels stay inside the bindings that these tests launch them with,
    // but for the one that is there to fault.
    unsafe { program.with_cuda(cuda) }
}

fn ptx(entry: &str) -> Program {
    program(entry, Source::Ptx(PROBE.into()))
}

fn params(len: u32, shared_words: u32, value: u64) -> Vec<u8> {
    [&len.to_le_bytes()[..], &shared_words.to_le_bytes(), &value.to_le_bytes()].concat()
}

fn view(buffer: &CudaBuffer) -> View<'_, Cuda> {
    View { buffer, offset: 0, len: buffer.len() }
}

fn launch<'a>(
    kernel: &'a CudaKernel,
    [a, b]: [&'a CudaBuffer; 2],
    params: Vec<u8>,
    grid: [u32; 3],
) -> Launch<'a, Cuda> {
    launch_with(kernel, [view(a), view(b)], params, Vec::new(), grid)
}

fn launch_with<'a>(
    kernel: &'a CudaKernel,
    views: [View<'a, Cuda>; 2],
    params: Vec<u8>,
    tensor_maps: Vec<TensorMap>,
    grid: [u32; 3],
) -> Launch<'a, Cuda> {
    // SAFETY: these tests launch the kernels of tests/kernels on what they need; the one that strays is alone in its
    // process, and what does not fit its buffers or its kernel is refused.
    unsafe { Launch::new(kernel, views.to_vec(), params, tensor_maps, grid) }
}

fn some_words(count: usize) -> Vec<u32> {
    (0..count as u32).map(|i| i.wrapping_mul(2_654_435_761)).collect()
}

fn on_device(cuda: &Cuda, words: &[u32]) -> Result<CudaBuffer> {
    let bytes: &[u8] = bytemuck::cast_slice(words);
    let buffer = block_on(cuda.alloc(bytes.len() as u64))?;
    block_on(cuda.upload(&buffer, 0, bytes))?;
    Ok(buffer)
}

fn read(cuda: &Cuda, buffer: &CudaBuffer, count: usize) -> Result<Vec<u32>> {
    let mut words = vec![0u32; count];
    block_on(cuda.download(buffer, 0, bytemuck::cast_slice_mut(&mut words)))?;
    Ok(words)
}

fn words_come_back(cuda: &Cuda) -> Result<(), Failed> {
    for count in [1, 1000, 1 << 20, (1 << 20) + 1, 25_000_001] {
        let words = some_words(count);
        let buffer = on_device(cuda, &words)?;
        assert!(read(cuda, &buffer, count)? == words, "{count} words");
        block_on(cuda.fill(&buffer, 0, count as u64 * 4, 0xdead_beef))?;
        assert!(read(cuda, &buffer, count)?.iter().all(|&word| word == 0xdead_beef), "{count} words filled");
    }
    Ok(())
}

/// Adds on the device and compares.
fn add(cuda: &Cuda, kernel: &CudaKernel, value: u32) -> Result<()> {
    let words = some_words(100_003);
    let (input, output) = (on_device(cuda, &words)?, block_on(cuda.alloc(words.len() as u64 * 4))?);
    let grid = [(words.len() as u32).div_ceil(256), 1, 1];
    cuda.launch(&[launch(kernel, [&input, &output], params(words.len() as u32, 0, value.into()), grid)])?;
    let sums = read(cuda, &output, words.len())?;
    assert!(sums.iter().zip(&words).all(|(sum, word)| *sum == word.wrapping_add(value)), "wrong sums");
    Ok(())
}

fn a_kernel_adds(cuda: &Cuda) -> Result<(), Failed> {
    Ok(add(cuda, &block_on(cuda.compile(&ptx("add")))?, 5)?)
}

fn any_thread_will_do(cuda: &Cuda) -> Result<(), Failed> {
    let kernel = block_on(cuda.compile(&ptx("add")))?;
    let joined = std::thread::scope(|scope| scope.spawn(|| add(cuda, &kernel, 7)).join());
    Ok(joined.map_err(|_| "the thread panicked")??)
}

fn threads_work_side_by_side(cuda: &Cuda) -> Result<(), Failed> {
    let kernel = &block_on(cuda.compile(&ptx("add")))?;
    let work = |thread: u32| (0..20).try_for_each(|round| add(cuda, kernel, thread * 100 + round));
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|thread| scope.spawn(move || work(thread))).collect();
        threads.into_iter().try_for_each(|thread| Ok(thread.join().map_err(|_| "a thread panicked")??))
    })
}

fn a_buffer_copies(cuda: &Cuda) -> Result<(), Failed> {
    let kernel = block_on(cuda.compile(&program("copy", Source::Native(Native::Copy))))?;
    let words = some_words(5000);
    let (input, output) = (on_device(cuda, &words)?, block_on(cuda.alloc(20_000))?);
    cuda.launch(&[launch(&kernel, [&input, &output], Vec::new(), [1, 1, 1])])?;
    assert_eq!(read(cuda, &output, 5000)?, words);
    Ok(())
}

fn expect<T>(result: Result<T>, is: impl Fn(&Error) -> bool) -> Result<(), Failed> {
    match result {
        Ok(_) => Err("it succeeded".into()),
        Err(error) if is(&error) => Ok(()),
        Err(error) => Err(format!("{error:?}").into()),
    }
}

fn ranges_are_checked(cuda: &Cuda) -> Result<(), Failed> {
    let kernel = block_on(cuda.compile(&program("copy", Source::Native(Native::Copy))))?;
    let (a, b) = (block_on(cuda.alloc(4096))?, block_on(cuda.alloc(4096))?);
    let over = launch_with(&kernel, [view(&a), View { len: 4100, ..view(&b) }], Vec::new(), Vec::new(), [1, 1, 1]);
    let is_shape = |error: &Error| matches!(error, Error::Shape { .. });
    expect(cuda.launch(&[over]), is_shape)?;
    expect(block_on(cuda.upload(&a, 4092, &[0; 8])), is_shape)?;
    expect(block_on(cuda.download(&a, u64::MAX, &mut [0; 8])), is_shape)?;
    expect(block_on(cuda.fill(&a, 4096, 4, 0)), is_shape)
}

fn another_device_is_refused(cuda: &Cuda) -> Result<(), Failed> {
    let other = open()?;
    let foreign = block_on(other.alloc(64))?;
    expect(block_on(cuda.fill(&foreign, 0, 64, 0)), |error| *error == Error::WrongDevice("the buffer"))?;
    let kernel = block_on(other.compile(&ptx("add")))?;
    let (a, b) = (block_on(cuda.alloc(64))?, block_on(cuda.alloc(64))?);
    let launch = [launch(&kernel, [&a, &b], params(1, 0, 1), [1, 1, 1])];
    expect(cuda.launch(&launch), |error| *error == Error::WrongDevice("the kernel"))
}

fn too_much_memory_is_refused(cuda: &Cuda) -> Result<(), Failed> {
    let total = cuda.device().memory.ok_or("no memory size")?;
    for bytes in [u64::MAX, 1 << 60, 400_000 * 400_000 * 4, total + 4096] {
        let is = |error: &Error| matches!(error, Error::OutOfMemory { needed, free: Some(_) } if *needed == bytes);
        expect(block_on(cuda.alloc(bytes)), is)?;
    }
    // The last request fits the device, not what is left of it.
    let _most = block_on(cuda.alloc(total / 8 * 5))?;
    expect(block_on(cuda.alloc(total / 2)), |error| matches!(error, Error::OutOfMemory { free: Some(_), .. }))?;
    a_kernel_adds(cuda)
}

fn unknown_devices_are_listed(cuda: &Cuda) -> Result<(), Failed> {
    for word in ["99", "no such name", ""] {
        let select = Select { device: Some(word.into()), ..Select::default() };
        let is = |error: &Error| matches!(error, Error::NoDevice { available, .. } if !available.is_empty());
        expect(block_on(Cuda::open(&select)), is)?;
    }
    let select = Select { device: Some(cuda.device().name.to_uppercase()), ..Select::default() };
    assert_eq!(block_on(Cuda::open(&select))?.device().name, cuda.device().name);
    Ok(())
}

fn bad_ptx_is_a_typed_error(cuda: &Cuda) -> Result<(), Failed> {
    let compile = |text: &str| block_on(cuda.compile(&program("add", Source::Ptx(text.to_string().into()))));
    let newer = PROBE.replacen(".version 8.0", ".version 99.9", 1);
    expect(compile(&newer), |error| matches!(error, Error::PtxVersion { ptx, .. } if ptx == "99.9"))?;
    let typo = PROBE.replacen("ld.global", "ld.globe", 1);
    expect(compile(&typo), |error| matches!(error, Error::Compile { log, .. } if log.contains(".globe")))?;
    for text in [String::new(), "no PTX at all".into(), PROBE.replacen("ret;", "ret;\0", 1)] {
        expect(compile(&text), |error| matches!(error, Error::Compile { .. }))?;
    }
    expect(
        block_on(cuda.compile(&ptx("nothing"))),
        |error| matches!(error, Error::Compile { log, .. } if log.contains("nothing")),
    )
}

fn parameters_are_compared(cuda: &Cuda) -> Result<(), Failed> {
    let is = |error: &Error| matches!(error, Error::Compile { log, .. } if log.contains("[8, 8, 16]"));
    let mut longer = ptx("add");
    longer.params_bytes = 24;
    expect(block_on(cuda.compile(&longer)), is)?;
    let mut fewer = ptx("add");
    fewer.written = vec![true];
    expect(block_on(cuda.compile(&fewer)), is)
}

fn limits_are_checked(cuda: &Cuda) -> Result<(), Failed> {
    let is_limit = |error: &Error| matches!(error, Error::Limit { .. });
    let mut large = ptx("add");
    large.block = [512, 1, 1];
    expect(block_on(cuda.compile(&large)), is_limit)?;
    let mut greedy = ptx("reverse");
    greedy.cuda_needs.dynamic_shared = cuda.device().limits.shared_dynamic + 16;
    expect(block_on(cuda.compile(&greedy)), is_limit)
}

fn shared_memory_beyond_48_kib(cuda: &Cuda) -> Result<(), Failed> {
    let mut program = ptx("reverse");
    program.cuda_needs.dynamic_shared = cuda.device().limits.shared_dynamic;
    let kernel = block_on(cuda.compile(&program))?;
    let words = some_words(256);
    let (input, output) = (on_device(cuda, &words)?, block_on(cuda.alloc(1024))?);
    let params = params(256, program.cuda_needs.dynamic_shared / 4, 0);
    cuda.launch(&[launch(&kernel, [&input, &output], params, [1, 1, 1])])?;
    assert!(read(cuda, &output, 256)?.iter().rev().eq(&words));
    assert_eq!(cuda.inspect(&kernel)?.shared, Some(program.cuda_needs.dynamic_shared));
    Ok(())
}

fn tensor_maps_read_zero_outside(cuda: &Cuda) -> Result<(), Failed> {
    const MAPS: &[TensorMapRow] =
        &[TensorMapRow { operand: Operand::Input(0), block: [32, 8], swizzle: 0, when: None, tf32: false }];
    let mut program = program("boxes", Source::Ptx(PROBE_TENSOR_MAP.into()));
    program.cuda_needs = CudaNeeds { arch: Arch::Compute90, dynamic_shared: 0, tensor_maps: MAPS.into() };
    let kernel = match block_on(cuda.compile(&program)) {
        Err(Error::Unsupported { .. }) if cuda.device().compute_capability < Some((9, 0)) => return Ok(()),
        other => other?,
    };
    let (batch, rows, cols, ld, before) = (2u64, 13u64, 50u64, 52u64, 16u64);
    let words = some_words((before + batch * rows * ld) as usize);
    let (input, output) = (on_device(cuda, &words)?, block_on(cuda.alloc(8 * 1024))?);
    let map = TensorMap {
        binding: 0,
        offset: before * 4,
        element: Element::U32,
        dims: [cols, rows, batch],
        strides: [ld * 4, rows * ld * 4],
        block: [32, 8, 1],
        swizzle: 0,
        tf32: false,
    };
    let launch = |maps| [launch_with(&kernel, [view(&input), view(&output)], params(0, 0, 0), maps, [2, 2, 2])];
    cuda.launch(&launch(vec![map]))?;
    for (i, word) in (0u64..).zip(read(cuda, &output, 2048)?) {
        let (matrix, row, col) = (i / 1024, i / 512 % 2 * 8 + i / 32 % 8, i / 256 % 2 * 32 + i % 32);
        let inside = row < rows && col < cols;
        let expected = if inside { words[(before + (matrix * rows + row) * ld + col) as usize] } else { 0 };
        assert_eq!(word, expected, "matrix {matrix}, row {row}, column {col}");
    }
    let skewed = TensorMap { strides: [100, map.strides[1]], ..map }; // not a multiple of 16
    expect(cuda.launch(&launch(vec![skewed])), |error| matches!(error, Error::Shape { .. }))?;
    expect(cuda.launch(&launch(Vec::new())), |error| matches!(error, Error::Shape { .. }))
}

fn times_are_of_the_device(cuda: &Cuda) -> Result<(), Failed> {
    let kernel = block_on(cuda.compile(&program("copy", Source::Native(Native::Copy))))?;
    let (a, b) = (block_on(cuda.alloc(1 << 28))?, block_on(cuda.alloc(1 << 28))?);
    block_on(cuda.fill(&a, 0, 1 << 28, 0x1234_5678))?;
    let once = [launch(&kernel, [&a, &b], Vec::new(), [1, 1, 1])];
    let four_times: Vec<_> = std::iter::repeat_n(&once[0], 4).cloned().collect();
    let times = block_on(cuda.time(&[&[], &once, &four_times, &[], &once, &four_times]))?;
    assert_eq!(times.len(), 6);
    let [nothing, one, four] = [times[3], times[4], times[5]];
    assert!(nothing < one && one < four && four < 8.0 * one, "{times:?}");
    Ok(())
}

fn recorded_works_do_what_queued_ones_do(cuda: &Cuda) -> Result<(), Failed> {
    let add = block_on(cuda.compile(&ptx("add")))?;
    let words = some_words(100_003);
    let (a, b) = (on_device(cuda, &words)?, block_on(cuda.alloc(words.len() as u64 * 4))?);
    let grid = [(words.len() as u32).div_ceil(256), 1, 1];
    let step = |from, to, value| launch(&add, [from, to], params(words.len() as u32, 0, value), grid);
    let there_and_back: Vec<_> = (0..64).flat_map(|_| [step(&a, &b, 5), step(&b, &a, 2)]).collect();
    let times = block_on(cuda.time_recorded(&[&[], &there_and_back[..2], &there_and_back, &[]]))?;
    assert!(times[0] < times[1] && times[1] < times[2], "{times:?}");
    let expected: Vec<u32> = words.iter().map(|word| word.wrapping_add(65 * 7)).collect();
    assert!(read(cuda, &a, words.len())? == expected, "other sums than those of as many launches");
    Ok(())
}

fn a_kernel_tells_its_registers(cuda: &Cuda) -> Result<(), Failed> {
    let info = cuda.inspect(&block_on(cuda.compile(&ptx("add")))?)?;
    assert!(
        info.registers.is_some_and(|registers| registers > 0) && info.blocks_per_sm.is_some_and(|blocks| blocks > 0)
    );
    assert_eq!((info.shared, info.local), (Some(0), Some(0)));
    Ok(())
}

/// What the guide shows.
fn the_library_on_a_programs_stream_and_slices(_: &Cuda) -> Result<(), Failed> {
    use cudarc::driver::CudaContext;
    let context = CudaContext::new(0)?;
    let stream = context.new_stream()?;
    let gpu = Gpu::from_cuda(stream.clone())?;
    gpu.keep_tuning_in(None);
    let (rows, cols) = (60u64, 44u64);
    let host: Vec<f32> = (0..rows * cols).map(|i| i as f32).collect();
    let (a, mut b) = (stream.clone_htod(&host)?, stream.alloc_zeros::<f32>(host.len())?);
    {
        let input = gpu.lend(&a, rows, cols)?;
        let mut output = gpu.lend_mut(&mut b, cols, rows)?;
        gpu.transpose_into(input.view(), output.view_mut())?;
    }
    let turned = stream.clone_dtoh(&b)?;
    for (index, value) in (0u64..).zip(&turned) {
        assert_eq!(*value, host[(index % rows * cols + index / rows) as usize]);
    }
    // A product of the library's own memory with a slice that is lent.
    let own = gpu.upload(&gpu_ladder::gpu::HostMatrix::new(rows, cols, host.clone())?)?;
    let lent = gpu.lend(&b, cols, rows)?;
    let product = gpu.download::<f32>(&gpu.matmul(&own, lent.view())?)?;
    let expected: f64 = (0..cols).map(|k| f64::from(host[k as usize]) * f64::from(host[k as usize])).sum();
    assert!(product.get(0, 0).is_some_and(|x| (f64::from(x) - expected).abs() < 1e-3 * expected));
    drop(lent);
    expect(gpu.lend(&a, rows, cols + 1).map(drop), |error| matches!(error, Error::Shape { .. }))?;
    let elsewhere = context.new_stream()?.clone_htod(&host)?;
    expect(gpu.lend(&elsewhere, rows, cols).map(drop), |error| matches!(error, Error::WrongDevice(_)))
}

fn a_programs_own_context_and_memory(_: &Cuda) -> Result<(), Failed> {
    use cudarc::driver::{CudaContext, DevicePtr};
    let context = CudaContext::new(0)?;
    let stream = context.new_stream()?;
    let mine = Cuda::from_context(context.clone(), stream.clone())?;
    let kernel = block_on(mine.compile(&ptx("add")))?;
    let words = some_words(1000);
    let slice = stream.clone_htod(&words)?;
    let (pointer, _in_use) = slice.device_ptr(&stream);
    // SAFETY: the slice outlives the buffer, and both are used on `stream` alone.
    let input = unsafe { mine.wrap(pointer, 4000) }?;
    let output = block_on(mine.alloc(4000))?;
    mine.launch(&[launch(&kernel, [&input, &output], params(1000, 0, 3), [4, 1, 1])])?;
    assert!(read(&mine, &output, 1000)?.iter().zip(&words).all(|(sum, word)| *sum == word.wrapping_add(3)));
    // A context of the program's own, current on this thread in turn with the other one.
    let other = CudaContext::new_non_primary(0, 0)?;
    let second = Cuda::from_context(other.clone(), other.new_stream()?)?;
    add(&second, &block_on(second.compile(&ptx("add")))?, 1)?;
    add(&mine, &kernel, 1)?;
    expect(Cuda::from_context(context, other.new_stream()?), |error| *error == Error::WrongDevice("the stream"))
}
