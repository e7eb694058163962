//! A backend from outside the crate: the processor itself. Handles, verification and timing work on
//! it as they do on a GPU.

mod cpu;

use cpu::Cpu;
use gpu_ladder::backend::{Backend, Select};
use gpu_ladder::gpu::Gpu;
use gpu_ladder::op::{Op, Transpose};
use gpu_ladder::{Element, Inputs, Problem, Result, Timing, Verdict};
use std::process::ExitCode;

fn main() -> ExitCode {
    match pollster::block_on(run()) {
        Ok(passed) => ExitCode::from(u8::from(!passed)),
        Err(error) => {
            eprintln!("own_backend: {error}");
            ExitCode::from(2)
        }
    }
}

async fn run() -> Result<bool> {
    let gpu = Gpu::new(Cpu::open(&Select::default()).await?);
    let a = gpu.upload_async(&[[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]]).await?;
    let turned = gpu.transpose_async(&a).await?;
    let product = gpu.matmul_async(&a, &turned).await?;
    println!("A A^T = {:?}", gpu.download_async::<f32>(&product).await?.elements());

    let session = gpu.session();
    let stage = session.stage(&Transpose, &Problem::new(Element::F32, [300, 200]), Inputs::Seeded(1)).await?;
    let prepared = session.prepare(&stage, &Transpose.ladder()[0]).await?;
    match session.verify(prepared).await? {
        Verdict::Pass(proof) => {
            let samples = session.time(&[&proof], &Timing::brief()).await?;
            let us = samples.first().map_or(f64::NAN, |s| s.median() / 1e3);
            println!("{}: {} compared, {us:.1} us", proof.label(), proof.coverage());
            Ok(true)
        }
        Verdict::Fail(mismatch) => {
            println!("{mismatch}");
            Ok(false)
        }
    }
}
