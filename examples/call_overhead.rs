//! What a call of the library costs the host, and how long a program waits for its first result.
//!
//! ```sh
//! cargo run --release --example call_overhead --features cuda
//! CUDA_CACHE_DISABLE=1 cargo run --release --example call_overhead --features cuda -- --backend cuda --cold matmul
//! ```

use gpu_ladder::gpu::{Gpu, HostMatrix, Product};
use gpu_ladder::{Element, Error, Result};
use std::process::ExitCode;
use std::time::Instant;

const HELP: &str = "\
Host time of a call, and the time from opening a device to its first result.

  --backend NAME     auto, cuda, wgpu, sim (default auto)
  --calls N          calls of each kind (default 1000)
  --cold OP          only the cold start: transpose or matmul of a 4096 x 4096 matrix
  --size N           another size for it
";

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
    let (mut backend, mut calls, mut cold, mut size) = ("auto".to_string(), 1000, None, 4096);
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
            Long("calls") => calls = parser.value().and_then(|v| v.parse()).map_err(usage)?,
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
        None => overhead(&backend, calls),
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
    let corner = gpu.download::<f32>(result.view().part(1..2, 0..1)?)?;
    let cache = std::env::var("CUDA_CACHE_DISABLE").is_ok_and(|v| v == "1");
    println!(
        "cold {op} {size}: open {opened:.1} ms, upload {:.1} ms, compile and launch {:.1} ms, compute {:.1} ms, in all \
         {done:.1} ms ({}; driver's cache {}; element {:?})",
        uploaded - opened,
        queued - uploaded,
        done - queued,
        gpu.device().name,
        if cache { "off" } else { "on" },
        corner.get(0, 0),
    );
    Ok(())
}

/// Microseconds of one of `calls` calls, the median of several loops: the device idles between loops.
fn per_call(gpu: &Gpu, calls: u32, mut call: impl FnMut() -> Result<()>) -> Result<f64> {
    const LOOPS: usize = 7;
    let mut times = Vec::new();
    for _ in 0..LOOPS {
        let start = Instant::now();
        for _ in 0..calls {
            call()?;
        }
        times.push(start.elapsed().as_secs_f64() * 1e6 / f64::from(calls));
        gpu.finish()?;
    }
    times.sort_by(f64::total_cmp);
    Ok(times[LOOPS / 2])
}

fn overhead(backend: &str, calls: u32) -> Result<()> {
    let gpu = Gpu::open_on(backend)?;
    println!("{} calls on {} ({})", calls, gpu.device().name, gpu.device().api);
    let (a, b) = (gpu.upload(&numbers(128, 128)?)?, gpu.upload(&numbers(256, 256)?)?);
    let mut product = gpu.zeros(Element::F32, 128, 128)?;
    let mut turned = gpu.zeros(Element::F32, 256, 256)?;
    gpu.matmul_into(&a, &a, &mut product, Product::new())?;
    gpu.transpose_into(&b, &mut turned)?;
    gpu.finish()?;
    let before = gpu.memory();
    let matmul = per_call(&gpu, calls, || gpu.matmul_into(&a, &a, &mut product, Product::new()))?;
    let transpose = per_call(&gpu, calls, || gpu.transpose_into(&b, &mut turned))?;
    let allocating = per_call(&gpu, calls, || gpu.transpose(&b).map(drop))?;
    let after = gpu.memory();
    let mut prepared_matmul = gpu.matmul_call(&a, &a, &mut product, Product::new())?;
    let run_matmul = per_call(&gpu, calls, || prepared_matmul.run())?;
    let launches = prepared_matmul.launches()?;
    let only = per_call(&gpu, calls, || gpu_ladder::backend::Backend::launch(gpu.session().backend(), &launches))?;
    let rungs: Vec<_> = prepared_matmul.rungs().map(String::from).collect();
    let mut prepared_transpose = gpu.transpose_call(&b, &mut turned)?;
    let run_transpose = per_call(&gpu, calls, || prepared_transpose.run())?;
    let launches = prepared_transpose.launches()?;
    let only_transpose =
        per_call(&gpu, calls, || gpu_ladder::backend::Backend::launch(gpu.session().backend(), &launches))?;
    println!(
        "matmul_into 128 ({}): {matmul:.2} us a call, prepared {run_matmul:.2}, backend alone {only:.2}",
        rungs.join(" ")
    );
    println!(
        "transpose_into 256: {transpose:.2} us a call, prepared {run_transpose:.2}, backend alone {only_transpose:.2}; \
         with an output from the pool {allocating:.2}"
    );
    println!(
        "allocations during {} calls: {} (reused {})",
        calls * 21,
        after.allocations - before.allocations,
        after.reuses - before.reuses
    );
    Ok(())
}
