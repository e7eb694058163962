//! What the launch convention costs: the textbook kernel beside the rung that does the same, in the
//! same rounds, on a CUDA device. `tests/kernels/textbook_transpose.ptx` is compiled from the `.cu`
//! beside it (compute_70, NVRTC 12.0).

mod as_transpose;

use as_transpose::as_transpose;
use gpu_ladder::backend::{Backend, Select, cuda::Cuda};
use gpu_ladder::op::{Op, Place, Transpose};
use gpu_ladder::rung::{Grid, Language, Operand, Pass, Rung};
use gpu_ladder::{Element, Inputs, Problem, Result, Session, Timing, Verdict, Verified, paired_ratio};
use libtest_mimic::{Arguments, Failed, Trial};
use std::sync::Arc;

/// How much slower than the textbook's a rung may be.
const TOLERATED: f64 = 1.03;
const PTX: &str = include_str!("kernels/textbook_transpose.ptx");

/// Transpose under the textbook's own convention: output first, then width and height.
struct Textbook;

impl Op for Textbook {
    as_transpose!(about, dims, shapes, extent, work, expected);

    fn name(&self) -> &'static str {
        "textbook"
    }
    fn ladder(&self) -> &'static [Rung] {
        &[]
    }
    fn elements(&self) -> &'static [Element] {
        &[Element::F32]
    }
    fn params(&self, problem: &Problem, _: Place) -> Vec<u8> {
        [problem.dim(1) as i32, problem.dim(0) as i32].iter().flat_map(|v| v.to_le_bytes()).collect()
    }
}

fn textbook_rung(name: &'static str, block: [u32; 3]) -> Rung {
    let pass = Pass {
        suffix: "".into(),
        block,
        grid: Grid::Tiles { x: 32, y: 32 },
        bindings: Some(vec![Operand::Output(0), Operand::Input(0)].into()),
        dynamic_shared: None,
        kernel: None,
    };
    let mut rung = Rung::new(name, block, Grid::Tiles { x: 32, y: 32 });
    rung.passes = vec![pass].into();
    // SAFETY: the kernels write inside width x height of the output and read the same of the input.
    unsafe { rung.with_ptx(PTX).vouched_for(Language::Cuda, &Textbook) }
}

fn proof(
    session: &Session<Cuda>,
    op: &'static dyn Op,
    rung: &Rung,
    problem: &Problem,
) -> Result<Verified<Cuda>, Failed> {
    pollster::block_on(async {
        let stage = session.stage(op, problem, Inputs::Seeded(1)).await?;
        match session.verify(session.prepare(&stage, rung).await?).await? {
            Verdict::Pass(proof) => Ok(proof),
            Verdict::Fail(mismatch) => Err(mismatch.to_string().into()),
        }
    })
}

fn compare(session: &Session<Cuda>, name: &'static str, ours: &str, block: [u32; 3], size: u64) -> Result<(), Failed> {
    let problem = Problem::new(Element::F32, [size, size]);
    let rung = Transpose.ladder().iter().find(|r| r.id() == ours).ok_or("no such rung")?;
    let ours = proof(session, &Transpose, rung, &problem)?;
    let textbook = proof(session, &Textbook, &textbook_rung(name, block), &problem)?;
    let samples = pollster::block_on(session.time(&[&ours, &textbook], &Timing::default()))?;
    let (ratio, (low, high)) = paired_ratio(&samples[0], &samples[1]);
    println!(
        "{{\"rung\":\"{}\",\"textbook\":\"{name}\",\"size\":{size},\"rung_ms\":{:.5},\"textbook_ms\":{:.5},\"ratio\":{ratio:.4},\"low\":{low:.4},\"high\":{high:.4},\"device\":\"{}\",\"driver\":\"{}\"}}",
        ours.label(),
        samples[0].median() / 1e6,
        samples[1].median() / 1e6,
        session.device().name,
        session.device().driver,
    );
    if ratio <= TOLERATED { Ok(()) } else { Err(format!("{ratio:.3} of the textbook's time").into()) }
}

fn main() {
    let arguments = Arguments::from_args();
    let session = match pollster::block_on(Cuda::open(&Select::default())) {
        Ok(cuda) => Arc::new(Session::new(cuda)),
        Err(error) => {
            let skipped = Trial::test(format!("textbook (skipped: {error})"), || Ok(())).with_ignored_flag(true);
            libtest_mimic::run(&arguments, vec![skipped]).exit();
        }
    };
    let mut trials = Vec::new();
    for size in [8192, 16384] {
        for (name, ours, block) in
            [("tiled_padded", "tiled_padded@32", [32, 32, 1]), ("coarsened", "coarsened", [32, 8, 1])]
        {
            let session = Arc::clone(&session);
            trials.push(Trial::test(format!("{ours} against the textbook at {size}"), move || {
                compare(&session, name, ours, block, size)
            }));
        }
    }
    // Times want the device for themselves.
    let arguments = Arguments { test_threads: Some(1), ..arguments };
    libtest_mimic::run(&arguments, trials).exit();
}
