//! What the library surface does when things go wrong: memory that runs out, a device that is lost, a
//! compiler that refuses, a kernel that is wrong, a tuning file that is damaged. The faults are
//! injected into the processor backend of `examples/own_backend`.

#[path = "../examples/own_backend/cpu.rs"]
mod cpu;

use cpu::Cpu;
use gpu_ladder::backend::{Backend, Device, KernelInfo, Launch, Select, View};
use gpu_ladder::gpu::{Gpu, HostMatrix, Product};
use gpu_ladder::op::{Op, Transpose};
use gpu_ladder::rung::{Accepts, Grid, Program, Rung};
use gpu_ladder::{Element, Error, Problem, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// What goes wrong, switched on and off while a handle is in use.
#[derive(Default)]
struct Faults {
    /// Bytes that can be allocated in all; 0 for no limit.
    memory: AtomicU64,
    lost: AtomicBool,
    /// The launch does nothing, and says nothing.
    idle: AtomicBool,
    /// Compiling anything but `naive` fails.
    only_naive: AtomicBool,
    compiled: AtomicU64,
}

struct Faulty {
    cpu: Cpu,
    faults: Arc<Faults>,
    allocated: Arc<AtomicU64>,
}

struct Buffer {
    memory: <Cpu as Backend>::Buffer,
    bytes: u64,
    allocated: Arc<AtomicU64>,
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.allocated.fetch_sub(self.bytes, Relaxed);
    }
}

impl Faulty {
    fn alive(&self) -> Result<()> {
        if self.faults.lost.load(Relaxed) { Err(Error::DeviceLost("it fell off the bus".into())) } else { Ok(()) }
    }
}

impl Backend for Faulty {
    const NAME: &'static str = "faulty";
    type Buffer = Buffer;
    type Kernel = <Cpu as Backend>::Kernel;

    async fn open(select: &Select) -> Result<Self> {
        Ok(Faulty { cpu: Cpu::open(select).await?, faults: Arc::default(), allocated: Arc::default() })
    }
    fn device(&self) -> &Device {
        self.cpu.device()
    }
    async fn compile(&self, program: &Program) -> Result<Self::Kernel> {
        self.alive()?;
        self.faults.compiled.fetch_add(1, Relaxed);
        if self.faults.only_naive.load(Relaxed) && !program.entry.ends_with("naive") {
            return Err(Error::Compile { label: program.label.clone(), log: "internal compiler error".into() });
        }
        self.cpu.compile(program).await
    }
    async fn alloc(&self, bytes: u64) -> Result<Buffer> {
        self.alive()?;
        let (limit, used) = (self.faults.memory.load(Relaxed), self.allocated.load(Relaxed));
        if limit > 0 && used + bytes > limit {
            return Err(Error::OutOfMemory { needed: bytes, free: Some(limit.saturating_sub(used)) });
        }
        self.allocated.fetch_add(bytes, Relaxed);
        Ok(Buffer { memory: self.cpu.alloc(bytes).await?, bytes, allocated: Arc::clone(&self.allocated) })
    }
    async fn upload(&self, buffer: &Buffer, offset: u64, bytes: &[u8]) -> Result<()> {
        self.alive()?;
        self.cpu.upload(&buffer.memory, offset, bytes).await
    }
    async fn fill(&self, buffer: &Buffer, offset: u64, len: u64, word: u32) -> Result<()> {
        self.alive()?;
        self.cpu.fill(&buffer.memory, offset, len, word).await
    }
    async fn download(&self, buffer: &Buffer, offset: u64, bytes: &mut [u8]) -> Result<()> {
        self.alive()?;
        self.cpu.download(&buffer.memory, offset, bytes).await
    }
    fn launch(&self, launches: &[Launch<'_, Self>]) -> Result<()> {
        self.alive()?;
        if self.faults.idle.load(Relaxed) {
            return Ok(());
        }
        for launch in launches {
            let bindings =
                launch.bindings().iter().map(|v| View { buffer: &v.buffer.memory, offset: v.offset, len: v.len });
            let params = launch.params().to_vec();
            // SAFETY: the launch that was given, on the memory behind its buffers.
            let inner = unsafe { Launch::new(launch.kernel(), bindings.collect(), params, Vec::new(), launch.grid()) };
            self.cpu.launch(&[inner])?;
        }
        Ok(())
    }
    async fn time(&self, works: &[&[Launch<'_, Self>]]) -> Result<Vec<f64>> {
        works.iter().map(|work| self.launch(work).map(|()| 1000.0)).collect()
    }
    fn inspect(&self, _: &Self::Kernel) -> Result<KernelInfo> {
        Ok(KernelInfo::default())
    }
}

fn open() -> (Gpu<Faulty>, Arc<Faults>) {
    let backend = pollster::block_on(Faulty::open(&Select::default())).unwrap();
    let faults = Arc::clone(&backend.faults);
    let gpu = Gpu::new(backend);
    gpu.keep_tuning_in(None);
    (gpu, faults)
}

fn numbers(rows: u64, cols: u64) -> HostMatrix<f32> {
    HostMatrix::from_fn(rows, cols, |r, c| (r * 100 + c) as f32).unwrap()
}

#[test]
fn memory_that_runs_out_is_told_and_freed_memory_is_used_first() -> Result<()> {
    let (gpu, faults) = open();
    faults.memory.store(10_000, Relaxed);
    let small = gpu.upload(&numbers(30, 30))?;
    drop(gpu.upload(&numbers(40, 20))?); // 3200 bytes are kept for reuse
    let error = gpu.empty(Element::F32, 100, 100).unwrap_err();
    assert!(matches!(error, Error::OutOfMemory { needed: 40_000.., free: Some(_) }), "{error:?}");
    gpu.usable()?;
    // Only fits once what is kept has been given back.
    drop(gpu.upload(&numbers(30, 20))?);
    let large = gpu.empty(Element::F32, 39, 39)?;
    assert_eq!(gpu.memory().kept, 0);
    drop(large);
    assert_eq!(gpu.download::<f32>(&small)?, numbers(30, 30));
    assert_eq!(gpu.download::<f32>(&gpu.transpose(&small)?)?.get(3, 2), Some(203.0));
    Ok(())
}

#[test]
fn a_lost_device_is_final_and_destructors_are_quiet() -> Result<()> {
    let (gpu, faults) = open();
    let a = gpu.upload(&numbers(8, 8))?;
    let mut out = gpu.zeros(Element::F32, 8, 8)?;
    let mut call = gpu.transpose_call(&a, &mut out)?;
    call.run()?;
    faults.lost.store(true, Relaxed);
    assert!(matches!(call.run(), Err(Error::DeviceLost(why)) if why.contains("bus")));
    drop(call);
    // Also should the device seem to answer again: what was on it is gone.
    faults.lost.store(false, Relaxed);
    assert!(matches!(gpu.usable(), Err(Error::DeviceLost(_))));
    assert!(matches!(gpu.upload(&numbers(2, 2)), Err(Error::DeviceLost(_))));
    assert!(matches!(gpu.transpose(&a), Err(Error::DeviceLost(_))));
    assert!(matches!(gpu.matmul_into(&a, &a, &mut out, Product::new()), Err(Error::DeviceLost(_))));
    assert!(matches!(gpu.download::<f32>(&a), Err(Error::DeviceLost(_))));
    assert!(matches!(gpu.clone().finish(), Err(Error::DeviceLost(_))));
    drop((a, out));
    gpu.trim();
    Ok(())
}

#[test]
fn a_rung_that_does_not_compile_is_passed_over() -> Result<()> {
    let (gpu, faults) = open();
    faults.only_naive.store(true, Relaxed);
    let a = gpu.upload(&numbers(50, 60))?;
    assert_eq!(gpu.download::<f32>(&gpu.transpose(&a)?)?.get(59, 49), Some(4959.0));
    let mut out = gpu.empty(Element::F32, 60, 50)?;
    let call = gpu.transpose_call(&a, &mut out)?;
    assert_eq!(call.rungs().collect::<Vec<_>>(), ["transpose/naive"]);
    // What none but the refused rungs take is an error with the compiler's words, not a panic.
    let view = a.view().part(1..50, 1..60)?;
    assert!(matches!(gpu.transpose(view), Err(Error::Compile { .. } | Error::Unsupported { .. })));
    gpu.usable()
}

#[test]
fn the_second_call_of_a_shape_compiles_nothing() -> Result<()> {
    let (gpu, faults) = open();
    let a = gpu.upload(&numbers(50, 60))?;
    gpu.transpose(&a)?;
    let compiled = faults.compiled.load(Relaxed);
    for _ in 0..10 {
        gpu.transpose(&a)?;
    }
    assert_eq!(faults.compiled.load(Relaxed), compiled);
    Ok(())
}

/// A rung of the program's own that takes packed matrices.
fn own_rung(name: &'static str) -> Rung {
    Rung::new(name, [32, 8, 1], Grid::Tiles { x: 32, y: 8 }).with_wgsl("transposes").with_accepts(Accepts::PACKED)
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

const PROBLEM: [u64; 2] = [33, 65];

#[test]
fn tuning_is_kept_and_a_damaged_file_is_replaced() -> Result<()> {
    // Kind TUN1.
    let folder = folder();
    let problem = Problem::new(Element::F32, PROBLEM);
    let tuned = {
        let (gpu, _) = open();
        gpu.keep_tuning_in(Some(folder.path()));
        let tuned = gpu.tune_among(&Transpose, &problem, |rung| rung.name == "naive" || rung.name == "ordered")?;
        assert!(tuned.candidates.iter().all(|candidate| candidate.outcome.is_ok()), "{tuned:?}");
        tuned.rung
    };
    let taken = |gpu: &Gpu<Faulty>| -> Result<String> {
        let a = gpu.upload(&numbers(PROBLEM[0], PROBLEM[1]))?;
        let mut out = gpu.empty(Element::F32, PROBLEM[1], PROBLEM[0])?;
        let mut call = gpu.transpose_call(&a, &mut out)?;
        call.run()?;
        let rungs = call.rungs().collect::<Vec<_>>().join(" ");
        drop(call);
        assert_eq!(gpu.download::<f32>(&out)?.get(64, 32), Some(3264.0));
        Ok(rungs)
    };
    let (gpu, _) = open();
    gpu.keep_tuning_in(Some(folder.path()));
    assert_eq!(taken(&gpu)?, format!("transpose/{tuned}"));

    let file = gpu.tuning_file().expect("a folder was given");
    let whole = std::fs::read(&file).unwrap();
    let damages: [(&str, Vec<u8>); 5] = [
        ("cut", whole[..whole.len() / 2].to_vec()),
        ("empty", Vec::new()),
        ("altered", String::from_utf8_lossy(&whole).replace("naive", "knave").replace("ordered", "odder").into()),
        ("binary", vec![0xFF; 1000]),
        ("of another version", String::from_utf8_lossy(&whole).replace("tuning 1", "tuning 9").into()),
    ];
    for (damage, bytes) in damages {
        std::fs::write(&file, bytes).unwrap();
        let (gpu, _) = open();
        gpu.keep_tuning_in(Some(folder.path()));
        taken(&gpu)?; // right, whatever the file says
        gpu.tune_among(&Transpose, &problem, |rung| rung.name == "naive")?;
        let (again, _) = open();
        again.keep_tuning_in(Some(folder.path()));
        assert_eq!(taken(&again)?, "transpose/naive", "{damage}");
    }
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "no half-written file is left");
    Ok(())
}

#[test]
fn a_folder_that_cannot_be_written_costs_nothing_but_the_file() -> Result<()> {
    // Kind TUN3. A file where the folder should be stops also a user who may write everywhere.
    let folder = folder();
    let blocked = folder.path().join("file");
    std::fs::write(&blocked, "not a folder").unwrap();
    let (gpu, _) = open();
    gpu.keep_tuning_in(Some(&blocked.join("below")));
    let problem = Problem::new(Element::F32, PROBLEM);
    gpu.tune_among(&Transpose, &problem, |rung| rung.name == "naive")?;
    gpu.tune_among(&Transpose, &problem, |rung| rung.name == "ordered")?;
    let a = gpu.upload(&numbers(PROBLEM[0], PROBLEM[1]))?;
    let mut out = gpu.empty(Element::F32, PROBLEM[1], PROBLEM[0])?;
    let call = gpu.transpose_call(&a, &mut out)?;
    assert_eq!(call.rungs().collect::<Vec<_>>(), ["transpose/ordered"], "kept in memory");
    assert_eq!(gpu.tuning_file(), None, "and not tried again");
    Ok(())
}

#[test]
fn what_was_tuned_for_one_shape_serves_others_only_where_it_fits() -> Result<()> {
    // Kind TUN5.
    let (gpu, _) = open();
    gpu.tune_among(&Transpose, &Problem::new(Element::F32, [64, 128]), |rung| rung.name == "naive")?;
    for (rows, cols) in [(64, 128), (64, 126), (48, 128), (63, 127)] {
        let a = gpu.upload(&numbers(rows, cols))?;
        let expected = Some(((rows - 1) * 100 + cols - 1) as f32);
        assert_eq!(gpu.download::<f32>(&gpu.transpose(&a)?)?.get(cols - 1, rows - 1), expected);
        // A view with gaps is not the tuned layout.
        let view = a.view().part(1..rows, 1..cols)?;
        assert_eq!(gpu.download::<f32>(&gpu.transpose(view)?)?.get(cols - 2, rows - 2), expected);
    }
    Ok(())
}

#[test]
fn where_no_candidate_is_right_tuning_is_an_error_and_nothing_changes() -> Result<()> {
    // Kind TUN7.
    let (gpu, faults) = open();
    let problem = Problem::new(Element::F32, PROBLEM);
    faults.idle.store(true, Relaxed);
    let error = gpu.tune_among(&Transpose, &problem, |rung| rung.name == "naive").unwrap_err();
    assert!(matches!(&error, Error::Unsupported { because, .. } if because.contains("naive")), "{error:?}");
    faults.idle.store(false, Relaxed);
    let error = gpu.tune_among(&Transpose, &problem, |_| false).unwrap_err();
    assert!(matches!(error, Error::Unsupported { .. }), "{error:?}");
    let a = gpu.upload(&numbers(PROBLEM[0], PROBLEM[1]))?;
    assert_eq!(gpu.download::<f32>(&gpu.transpose(&a)?)?.get(64, 32), Some(3264.0));
    Ok(())
}

#[test]
fn a_rung_of_ones_own_wins_only_by_tuning() -> Result<()> {
    let (gpu, _) = open();
    assert!(matches!(gpu.add_rung(&Transpose, own_rung("naive")), Err(Error::Option { .. })));
    gpu.add_rung(&Transpose, own_rung("unknown_to_this_backend"))?;
    assert!(matches!(gpu.add_rung(&Transpose, own_rung("unknown_to_this_backend")), Err(Error::Option { .. })));
    // It does not compile here, so it is no candidate; the others still are.
    let problem = Problem::new(Element::F32, PROBLEM);
    let tuned = gpu.tune(&Transpose, &problem)?;
    let own = tuned.candidates.iter().find(|c| c.rung == "unknown_to_this_backend").expect("it was tried");
    assert!(own.outcome.is_err() && tuned.rung != own.rung);
    assert!(Transpose.ladder().iter().any(|rung| rung.id() == tuned.rung));
    Ok(())
}

#[test]
fn many_writers_of_one_tuning_file_lose_nothing() -> Result<()> {
    let folder = folder();
    std::thread::scope(|scope| {
        for thread in 0..8u64 {
            let folder = folder.path();
            scope.spawn(move || {
                let (gpu, _) = open();
                gpu.keep_tuning_in(Some(folder));
                for i in 0..4 {
                    let problem = Problem::new(Element::F32, [8 << thread, 3 << i]);
                    gpu.tune_among(&Transpose, &problem, |rung| rung.name == "naive").unwrap();
                }
            });
        }
    });
    let (gpu, _) = open();
    gpu.keep_tuning_in(Some(folder.path()));
    let text = std::fs::read_to_string(gpu.tuning_file().unwrap()).unwrap();
    assert_eq!(text.lines().filter(|line| line.contains('\t') && !line.contains("class")).count(), 32);
    Ok(())
}

#[test]
fn eight_threads_and_two_handles_share_nothing_but_the_machine() {
    const CALLS: usize = 10_000;
    let handles = [open().0, open().0];
    std::thread::scope(|scope| {
        for thread in 0..8usize {
            let gpu = handles[thread % 2].clone();
            scope.spawn(move || mixed(&gpu, thread as u64, CALLS / 8).unwrap());
        }
    });
    assert!(handles.iter().all(|gpu| gpu.memory().in_use == 0 && gpu.memory().allocations < 200));
}

/// Calls of several ops and shapes, each verified.
fn mixed(gpu: &Gpu<Faulty>, thread: u64, calls: usize) -> Result<()> {
    for call in 0..calls as u64 {
        let (rows, cols) = (1 + (call * 7 + thread) % 23, 1 + (call * 5 + thread * 3) % 19);
        let host = HostMatrix::from_fn(rows, cols, |r, c| ((r * 3 + c + call) % 11) as f32)?;
        let a = gpu.upload(&host)?;
        if call % 3 == 0 {
            let b = gpu.transpose(&a)?;
            let c = gpu.download::<f32>(&gpu.matmul(&a, &b)?)?;
            let row = |r: u64| (0..cols).map(move |k| (r, k));
            let expected: f32 = row(rows - 1).map(|(r, k)| host.get(r, k).unwrap() * host.get(0, k).unwrap()).sum();
            assert_eq!(c.get(rows - 1, 0), Some(expected));
        } else {
            let turned = gpu.download::<f32>(&gpu.transpose(&a)?)?;
            assert_eq!(turned, HostMatrix::from_fn(cols, rows, |r, c| host.get(c, r).unwrap())?);
        }
    }
    Ok(())
}
