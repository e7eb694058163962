//! What a call of the library costs the host, and how long a program waits for its first result.
//!
//! ```sh
//! cargo run --release --example call_overhead --features cuda
//! CUDA_CACHE_DISABLE=1 cargo run --release --example call_overhead --features cuda -- --backend cuda --cold matmul
//! ```
//!
//! Times say little on a software adapter, which shares its processor with the host. There the
//! instructions of the calling thread can be counted, as the difference between two numbers of calls:
//!
//! ```sh
//! valgrind --tool=callgrind --separate-threads=yes target/release/examples/call_overhead --backend wgpu \
//!   --only matmul_into --loops 1 --calls 100
//! ```

mod driver;

use gpu_ladder::backend::Backend;
use gpu_ladder::gpu::{Gpu, HostMatrix, Product};
use gpu_ladder::{Element, Error, Result};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::process::ExitCode;
use std::time::Instant;

const HELP: &str = "\
Host time of a call, and the time from opening a device to its first result.

  --backend NAME     auto, cuda, wgpu, sim (default auto)
  --calls N          calls of a loop (default 1000)
  --loops N          loops, of which the median counts (default 7)
  --only WORD        only the calls whose name has this word
  --cold OP          only the cold start: transpose or matmul of a 4096 x 4096 matrix
  --size N           another size for it
";

/// Counts what this thread allocates on the host.
struct Counting;

thread_local! {
    static ALLOCATED: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: everything is the system allocator's; the counter allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATED.try_with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("call_overhead: {error}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<()> {
    let (mut backend, mut cold, mut size) = ("auto".to_string(), None, 4096);
    let mut loops = Loops { calls: 1000, loops: 7, only: String::new() };
    let mut parser = lexopt::Parser::from_env();
    let usage = |error: lexopt::Error| Error::Option {
        option: "command line",
        value: String::new(),
        problem: error.to_string(),
    };
    while let Some(argument) = parser.next().map_err(usage)? {
        use lexopt::prelude::*;
        match argument {
            Long("backend") => backend = parser.value().and_then(|v| v.string()).map_err(usage)?,
            Long("calls") => loops.calls = parser.value().and_then(|v| v.parse()).map_err(usage)?,
            Long("loops") => loops.loops = parser.value().and_then(|v| v.parse()).map_err(usage)?,
            Long("only") => loops.only = parser.value().and_then(|v| v.string()).map_err(usage)?,
            Long("cold") => cold = Some(parser.value().and_then(|v| v.string()).map_err(usage)?),
            Long("size") => size = parser.value().and_then(|v| v.parse()).map_err(usage)?,
            Long("help") => {
                print!("{HELP}");
                return Ok(());
            }
            other => return Err(usage(other.unexpected())),
        }
    }
    match cold {
        Some(op) => cold_start(&backend, &op, size),
        None => overhead(&backend, &loops),
    }
}

/// Milliseconds since `start`.
fn ms(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e3
}

fn numbers(rows: u64, cols: u64) -> Result<HostMatrix<f32>> {
    HostMatrix::from_fn(rows, cols, |row, col| ((row * 31 + col * 17) % 97) as f32 - 48.0)
}

/// Open, upload, compute, wait: each step of a program's first result.
fn cold_start(backend: &str, op: &str, size: u64) -> Result<()> {
    let host = numbers(size, size)?;
    let start = Instant::now();
    let gpu = Gpu::open_on(backend)?;
    let opened = ms(start);
    let a = gpu.upload(&host)?;
    let uploaded = ms(start);
    let result = match op {
        "transpose" => gpu.transpose(&a)?,
        _ => gpu.matmul(&a, &a)?,
    };
    let queued = ms(start);
    gpu.finish()?;
    let done = ms(start);
    let element = gpu.download::<f32>(result.view().part(1..2, 0..1)?)?.get(0, 0);
    let expected = match op {
        "transpose" => host.get(0, 1).unwrap_or(f32::NAN),
        // Whole numbers below 2^24: exact in any order.
        _ => (0..size).filter_map(|i| Some(host.get(1, i)? * host.get(i, 0)?)).sum(),
    };
    if element != Some(expected) {
        return Err(Error::device(op, format!("element (1, 0) is {element:?}, not {expected}")));
    }
    let cache = if std::env::var("CUDA_CACHE_DISABLE").is_ok_and(|v| v == "1") { "off" } else { "on" };
    println!("# {} ({}), the driver's cache of compiled kernels {cache}", gpu.device().name, gpu.device().driver);
    println!("first,size,cache,open_ms,upload_ms,compile_and_launch_ms,compute_ms,all_ms");
    println!(
        "{op},{size},{cache},{opened:.1},{:.1},{:.1},{:.1},{done:.1}",
        uploaded - opened,
        queued - uploaded,
        done - queued
    );
    Ok(())
}

/// How often calls are made, and which.
pub struct Loops {
    calls: u32,
    loops: usize,
    only: String,
}

/// A kind of call.
pub struct Kind<'a> {
    name: String,
    call: Box<dyn FnMut() -> Result<()> + 'a>,
}

impl<'a> Kind<'a> {
    pub fn new(name: impl Into<String>, call: impl FnMut() -> Result<()> + 'a) -> Self {
        Kind { name: name.into(), call: Box::new(call) }
    }
}

impl Loops {
    /// Times loops of every kind of call in turn, so that clocks which change meanwhile change for all of
    /// them, and prints a line for each. The device idles between loops.
    fn measure(&self, gpu: &Gpu, kinds: Vec<Kind<'_>>) -> Result<()> {
        let mut kinds: Vec<Kind<'_>> = kinds.into_iter().filter(|kind| kind.name.contains(&self.only)).collect();
        let mut times: Vec<Vec<f64>> = vec![Vec::new(); kinds.len()];
        let mut allocated = vec![[0u64; 2]; kinds.len()];
        for round in 0..=self.loops {
            for (index, kind) in kinds.iter_mut().enumerate() {
                // The first round makes what is kept.
                let calls = if round == 0 { 1 } else { self.calls };
                let (start, on_host, on_device) = (Instant::now(), ALLOCATED.get(), gpu.memory().allocations);
                for _ in 0..calls {
                    (kind.call)()?;
                }
                let us = start.elapsed().as_secs_f64() * 1e6 / f64::from(calls);
                if round > 0 {
                    times[index].push(us);
                    allocated[index][0] += ALLOCATED.get() - on_host;
                    allocated[index][1] += gpu.memory().allocations - on_device;
                }
                gpu.finish()?;
            }
        }
        for ((kind, mut times), [on_host, on_device]) in kinds.iter().zip(times).zip(allocated) {
            times.sort_by(f64::total_cmp);
            let on_host = on_host as f64 / (f64::from(self.calls) * self.loops as f64);
            let (least, median) = (times[0], times[times.len() / 2]);
            println!("{},{median:.2},{least:.2},{on_host:.1},{on_device}", kind.name);
        }
        Ok(())
    }
}

fn overhead(backend: &str, loops: &Loops) -> Result<()> {
    let gpu = Gpu::open_on(backend)?;
    let (a, b) = (gpu.upload(&numbers(128, 128)?)?, gpu.upload(&numbers(256, 256)?)?);
    let zeros = |size| gpu.zeros(Element::F32, size, size);
    let [mut product, mut product_2, mut product_3] = [zeros(128)?, zeros(128)?, zeros(128)?];
    let [mut turned, mut turned_2, mut turned_3] = [zeros(256)?, zeros(256)?, zeros(256)?];
    let mut prepared_product = gpu.matmul_call(&a, &a, &mut product_2, Product::new())?;
    let mut prepared_transpose = gpu.transpose_call(&b, &mut turned_2)?;
    let product_alone = gpu.matmul_call(&a, &a, &mut product_3, Product::new())?;
    let transpose_alone = gpu.transpose_call(&b, &mut turned_3)?;
    let (product_launches, transpose_launches) = (product_alone.launches()?, transpose_alone.launches()?);
    let rungs: Vec<_> = product_alone.rungs().chain(transpose_alone.rungs()).map(String::from).collect();
    let backend = gpu.session().backend();
    let mut kinds = vec![
        Kind::new("matmul_into 128x128x128", || gpu.matmul_into(&a, &a, &mut product, Product::new())),
        Kind::new("transpose_into 256x256", || gpu.transpose_into(&b, &mut turned)),
        Kind::new("transpose 256x256 (output of the pool)", || gpu.transpose(&b).map(drop)),
        Kind::new("run of a prepared product", || prepared_product.run()),
        Kind::new("run of a prepared transpose", || prepared_transpose.run()),
        Kind::new("launch of the backend for the product", || backend.launch(&product_launches)),
        Kind::new("launch of the backend for the transpose", || backend.launch(&transpose_launches)),
    ];
    kinds.extend(driver::kinds(&gpu)?);
    println!(
        "# {} loops of {} calls, interleaved, on {} ({}); {}",
        loops.loops,
        loops.calls,
        gpu.device().name,
        gpu.device().driver,
        rungs.join(" ")
    );
    println!("call,median_us,least_us,host_allocations_per_call,device_allocations_after_the_first");
    loops.measure(&gpu, kinds)
}
