//! A rung from outside the crate: a transpose of one's own, verified and timed beside a shipped one,
//! explained on the simulator, and in the running when the library tunes itself.

use gpu_ladder::backend::{Any, Backend, Select};
use gpu_ladder::gpu::Gpu;
use gpu_ladder::op::{Op, Transpose};
use gpu_ladder::rung::{Accepts, Grid, Rung};
use gpu_ladder::{Element, Inputs, Problem, Result, Session, Timing, Verdict};
use std::process::ExitCode;

/// A whole output row per workgroup: an idea that does not pay, which is what measuring is for.
const ROW_PER_BLOCK: &str = "
struct Params {
    block_x: u32, block_y: u32, block_z: u32,
    rows: u32, cols: u32, input_ld: u32, output_ld: u32, batch: u32,
    input_offset: vec2<u32>, output_offset: vec2<u32>, input_stride: vec2<u32>, output_stride: vec2<u32>,
}
@group(0) @binding(0) var<storage, read> input: array<u32>;
@group(0) @binding(1) var<storage, read_write> output: array<u32>;
@group(0) @binding(2) var<uniform> p: Params;

@compute @workgroup_size(64)
fn transpose_row_per_block(@builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_id) thread: vec3<u32>) {
    let col = block.x + p.block_x;
    for (var row = thread.x; row < p.rows; row += 64u) {
        output[col * p.output_ld + row] = input[row * p.input_ld + col];
    }
}
";

fn main() -> ExitCode {
    match pollster::block_on(run()) {
        Ok(passed) => ExitCode::from(u8::from(!passed)),
        Err(error) => {
            eprintln!("own_rung: {error}");
            ExitCode::from(2)
        }
    }
}

async fn run() -> Result<bool> {
    let gpu = Gpu::new(Any::open_named("wgpu", &Select::default()).await?);
    let session = gpu.session();
    let problem = Problem::new(Element::F32, [1000, 777]);
    let stage = session.stage(&Transpose, &problem, Inputs::Seeded(1)).await?;

    let own = Rung::new("row_per_block", [64, 1, 1], Grid::Tiles { x: 1, y: u32::MAX })
        .with_idea("A whole output row per block.")
        .with_wgsl(ROW_PER_BLOCK)
        .with_accepts(Accepts::PITCHED);
    let shipped = Transpose.ladder().iter().find(|r| r.name == "coarsened").expect("a shipped rung");

    let mut proofs = Vec::new();
    for rung in [&own, shipped] {
        let prepared = session.prepare(&stage, rung).await?;
        match session.verify(prepared).await? {
            Verdict::Pass(proof) => proofs.push(proof),
            Verdict::Fail(mismatch) => {
                println!("{}: {mismatch}", rung.id());
                return Ok(false);
            }
        }
    }
    let contenders: Vec<_> = proofs.iter().collect();
    let samples = session.time(&contenders, &Timing::brief()).await?;
    println!("on {}", session.backend().device().name);
    for (proof, samples) in proofs.iter().zip(&samples) {
        println!("{:<28} {:.3} ms, {} compared", proof.label(), samples.median() / 1e6, proof.coverage());
    }
    explain(&problem, &own).await?;

    // From here on the library may take it, should it win on this device.
    gpu.keep_tuning_in(None);
    gpu.add_rung(&Transpose, own)?;
    let names = ["row_per_block", "coarsened", "register_blocked"];
    let tuned = gpu.tune_among_async(&Transpose, &problem, |rung| names.contains(&&*rung.name)).await?;
    println!("tuning takes {} of {} candidates", tuned.rung, tuned.candidates.len());
    Ok(true)
}

/// What the kernel does, counted on the simulator.
#[cfg(feature = "sim")]
async fn explain(problem: &Problem, rung: &Rung) -> Result<()> {
    use gpu_ladder::diagnose::{Measured, diagnose};
    let session = Session::new(Any::open_named("sim", &Select::default()).await?);
    let stage = session.stage(&Transpose, problem, Inputs::Seeded(1)).await?;
    let Verdict::Pass(proof) = session.verify(session.prepare(&stage, rung).await?).await? else { return Ok(()) };
    let machine =
        gpu_ladder::sim::Machine::load("nvidia-h200").map_err(|e| gpu_ladder::Error::device("the model", e))?;
    for kernel in proof.kernels() {
        if let Some(profile) = session.backend().inspect(kernel)?.profile {
            for finding in diagnose(&profile, &machine, Measured::default()) {
                println!("  {finding}");
            }
        }
    }
    Ok(())
}

#[cfg(not(feature = "sim"))]
async fn explain(_problem: &Problem, _rung: &Rung) -> Result<()> {
    Ok(())
}
