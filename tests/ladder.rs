//! One suite over tables: every backend x op x rung x shape class, generated. A backend that does
//! not open here is a visible skip with its reason, and a failure where `GPU_LADDER_REQUIRE` names it.

use gpu_ladder::backend::{Any, BACKENDS, Backend, Select};
use gpu_ladder::op::{self, Op};
use gpu_ladder::rung::{Accepts, Rung};
use gpu_ladder::{Element, Error, Inputs, Layout, Problem, Session, Verdict};
use libtest_mimic::{Arguments, Failed, Trial};
use std::sync::Arc;

fn main() {
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    for (name, built) in BACKENDS {
        let required = std::env::var("GPU_LADDER_REQUIRE").is_ok_and(|r| r.split(',').any(|b| b.trim() == *name));
        if !built {
            if required {
                trials.push(Trial::test(format!("{name}::is_required"), || Err("this build does not have it".into())));
            }
            continue;
        }
        match pollster::block_on(Any::open_named(name, &Select::default())) {
            Ok(any) => {
                eprintln!("{name}: {} ({})", any.device().name, any.device().driver);
                trials.extend(suite(Arc::new(Session::new(any))));
            }
            Err(error) if required => {
                let text = format!("GPU_LADDER_REQUIRE={name}, but it does not open: {error}");
                trials.push(Trial::test(format!("{name}::is_required"), move || Err(text.into())));
            }
            Err(error) => {
                eprintln!("{name}: skipped: {error}");
                trials.push(
                    Trial::test(format!("{name}::every_rung (skipped: {error})"), || Ok(())).with_ignored_flag(true),
                );
            }
        }
    }
    libtest_mimic::run(&arguments, trials).exit();
}

/// A named problem of one op.
struct Case {
    name: String,
    problem: Problem,
    /// The operands, where they are not seeded ones.
    given: Option<fn(&Problem) -> Inputs>,
    /// Whether only a GPU gets through it in a test's time.
    hardware: bool,
}

fn case(name: impl Into<String>, problem: Problem) -> Case {
    Case { name: name.into(), problem, given: None, hardware: false }
}

fn suite(session: Arc<Session<Any>>) -> Vec<Trial> {
    /// Elements of a problem that the simulator, which counts every access, is asked for.
    const SIMULATED: u64 = 200_000;
    /// And operations.
    const SIMULATED_FLOPS: f64 = 8e6;
    let backend = session.device().backend;
    let mut trials = Vec::new();
    for op in op::OPS {
        for rung in op.ladder() {
            let language = session.device().language();
            let sizes = rung.sizes(language);
            for case in cases(*op, rung) {
                let name = format!("{backend}::{}::{}::{}", op.name(), rung.id(), case.name);
                let work = op.work(&case.problem);
                let too_long =
                    backend == "sim" && (work.bytes > (SIMULATED * 8) as f64 || work.flops > SIMULATED_FLOPS);
                let too_large = case.hardware && session.device().is_software();
                if too_long || too_large || op::accepts(*op, rung, language, &case.problem).is_err() {
                    continue;
                }
                let (session, rung) = (Arc::clone(&session), rung.clone());
                trials.push(Trial::test(name, move || verify(&session, *op, &rung, &case)));
            }
            for &element in
                op.elements().iter().filter(|e| rung.element_sizes.contains(&e.size()) && !sizes.contains(&e.size()))
            {
                let name = format!(
                    "{backend}::{}::{}::{element} (absent: WGSL cannot store {} bytes alone)",
                    op.name(),
                    rung.id(),
                    element.size()
                );
                trials.push(Trial::test(name, || Ok(())).with_ignored_flag(true));
            }
        }
    }
    trials
}

fn verify(session: &Session<Any>, op: &'static dyn Op, rung: &Rung, case: &Case) -> Result<(), Failed> {
    pollster::block_on(async {
        let problem = &case.problem;
        let inputs = case.given.map_or(Inputs::Seeded(7), |given| given(problem));
        let stage = match session.stage(op, problem, inputs).await {
            Ok(stage) => stage,
            Err(error @ Error::Limit { .. }) => return skipped(&error),
            Err(error) => return Err(error.into()),
        };
        let prepared = match session.prepare(&stage, rung).await {
            Ok(prepared) => prepared,
            // A rung that this language or device cannot express says why; shapes it must take are
            // only asked of rungs whose row accepts them.
            Err(error @ (Error::Unsupported { .. } | Error::Limit { .. })) => return skipped(&error),
            Err(error) => return Err(error.into()),
        };
        match session.verify(prepared).await? {
            // The simulator has one order of everything; a rung that adds to its output goes on from the last run.
            Verdict::Pass(_) if session.device().backend == "sim" || op.reads_output(problem) => Ok(()),
            Verdict::Pass(proof) => {
                let same = proof.output().await? == proof.output().await?;
                if same { Ok(()) } else { Err("the same operands gave different bits in another run".into()) }
            }
            Verdict::Fail(mismatch) => Err(mismatch.to_string().into()),
        }
    })
}

fn skipped(error: &Error) -> Result<(), Failed> {
    eprintln!("skipped: {error}");
    Ok(())
}

/// The shape classes that a rung's row says it takes.
fn cases(op: &dyn Op, rung: &Rung) -> Vec<Case> {
    match op.name() {
        "transpose" => transposes(rung),
        "transpose_in_place" => squares(),
        "matmul" => products(rung),
        _ => lengths(op, rung),
    }
}

fn elements(op: &dyn Op, rung: &Rung) -> Vec<Element> {
    // One element type per width is enough where only bits move.
    let mut sizes = Vec::new();
    op.elements()
        .iter()
        .copied()
        .filter(|e| rung.element_sizes.contains(&e.size()))
        .filter(|e| {
            let new = !sizes.contains(&e.size());
            sizes.push(e.size());
            new
        })
        .collect()
}

fn lengths(op: &dyn Op, rung: &Rung) -> Vec<Case> {
    let mut cases = Vec::new();
    for element in elements(op, rung) {
        for len in [1u64, 3, 4, 255, 256, 257, 1023, 1024, 1025, 65_537, 1_000_003] {
            cases.push(case(format!("{element}_{len}"), Problem::new(element, [len])));
        }
    }
    if op.name() == "copy" {
        cases.push(case("f32_0", Problem::new(Element::F32, [0])));
    }
    cases
}

fn squares() -> Vec<Case> {
    let mut cases = Vec::new();
    for element in [Element::U8, Element::F16, Element::F32, Element::F64, Element::B128] {
        for side in [0u64, 1, 2, 16, 31, 63, 64, 65, 128, 129, 200, 1000] {
            cases.push(case(format!("{element}_{side}"), Problem::new(element, [side])));
            let ld = side.next_multiple_of(16) + 16;
            let view = Layout { leading_dimension: Some(ld), offset: 32, ..Layout::default() };
            cases.push(case(format!("{element}_{side}_view"), Problem::new(element, [side]).with_layout(0, view)));
        }
        let strided =
            Layout { leading_dimension: Some(80), offset: 16, batch_stride: Some(80 * 80), transposed: false };
        cases.push(case(
            format!("{element}_batch_strided"),
            Problem::new(element, [70]).with_batch(3).with_layout(0, strided),
        ));
    }
    cases
}

/// Strides of whole chunks of 16 bytes around a ragged matrix.
fn whole_chunks(element: Element, [rows, cols]: [u64; 2], batch: u64) -> Problem {
    let chunk = 16 / element.size();
    let layout = |rows: u64, cols: u64, offset: u64| {
        let ld = cols.next_multiple_of(chunk) + chunk;
        Layout {
            leading_dimension: Some(ld),
            offset: offset * chunk,
            batch_stride: Some(rows * ld + 2 * chunk),
            transposed: false,
        }
    };
    let problem = Problem::new(element, [rows, cols]).with_batch(batch);
    problem.with_layout(0, layout(rows, cols, 3)).with_layout(1, layout(cols, rows, 1))
}

fn transposes(rung: &Rung) -> Vec<Case> {
    const SHAPES: &[(u64, u64)] = &[
        (0, 0),
        (0, 5),
        (5, 0),
        (1, 1),
        (1, 31),
        (1, 32),
        (1, 33),
        (1, 257),
        (31, 1),
        (32, 1),
        (33, 1),
        (257, 1),
        (2, 16),
        (63, 63),
        (64, 64),
        (65, 65),
        (31, 33),
        (37, 101),
        (127, 129),
        (1000, 1003),
        (64, 4096),
        (2048, 1024),
        (1024, 2048),
        (8, 5000),
        (5000, 3),
    ];
    let mut cases = Vec::new();
    for element in elements(&op::Transpose, rung) {
        for &(rows, cols) in SHAPES {
            cases.push(case(format!("{element}_{rows}x{cols}"), Problem::new(element, [rows, cols])));
        }
        let pitched = |input: u64, output: u64, name: &str| {
            let ld = |ld| Layout { leading_dimension: Some(ld), ..Layout::default() };
            case(
                format!("{element}_{name}"),
                Problem::new(element, [70, 131]).with_layout(0, ld(input)).with_layout(1, ld(output)),
            )
        };
        if rung.accepts.leading_dimension {
            cases.push(pitched(136, 80, "leading_dimensions_aligned"));
            cases.push(pitched(133, 71, "leading_dimensions_odd"));
            cases.push(pitched(136, 71, "leading_dimension_of_output_odd"));
            cases.push(pitched(133, 80, "leading_dimension_of_input_odd"));
        }
        if rung.accepts.offset {
            for (input, output) in [(16, 4), (3, 0), (0, 5), (64, 64)] {
                let offset = |offset| Layout { offset, ..Layout::default() };
                let problem =
                    Problem::new(element, [65, 68]).with_layout(0, offset(input)).with_layout(1, offset(output));
                cases.push(case(format!("{element}_offsets_{input}_{output}"), problem));
            }
        }
        if rung.accepts == Accepts::ALL {
            for (rows, cols) in [(1, 1), (3, 700), (700, 3), (63, 65), (129, 257), (257, 17), (20, 300), (300, 40)] {
                cases.push(case(
                    format!("{element}_{rows}x{cols}_whole_chunks"),
                    whole_chunks(element, [rows, cols], 2),
                ));
            }
            for (rows, cols, batch) in [(4, 4, 1000), (3, 5, 333), (7, 9, 64), (30, 16, 3), (1, 1, 77), (1, 8, 16)] {
                let problem = Problem::new(element, [rows, cols]).with_batch(batch);
                cases.push(case(format!("{element}_{batch}_of_{rows}x{cols}"), problem));
            }
        }
        if rung.accepts.batch {
            cases.push(case(format!("{element}_batch_3"), Problem::new(element, [33, 68]).with_batch(3)));
            let strided = Layout { batch_stride: Some(33 * 68 + 7), ..Layout::default() };
            cases.push(case(
                format!("{element}_batch_strided"),
                Problem::new(element, [33, 68]).with_batch(3).with_layout(0, strided),
            ));
        }
    }
    // Grids beyond 65,535 blocks in one direction, on either side.
    for (rows, cols) in [(2_097_153, 1), (2_097_153, 3), (1, 4_194_305)] {
        cases.push(case(format!("f32_{rows}x{cols}"), Problem::new(Element::F32, [rows, cols])));
    }
    cases
}

fn products(rung: &Rung) -> Vec<Case> {
    const SHAPES: &[(u64, u64, u64)] = &[
        (0, 5, 5),
        (5, 0, 5),
        (16, 16, 0),
        (1, 1, 1),
        (1, 32, 1024),
        (35, 79, 19),
        (256, 128, 256),
        (64, 64, 2048),
        (129, 131, 133),
        (31, 33, 1),
        (3, 7, 5),
        (17, 1, 64),
        (128, 128, 96),
        // 2, 3, 8 and 13 steps of every length of a step: a missing barrier or a wrong last stage shows.
        (128, 128, 16),
        (128, 128, 24),
        (128, 128, 32),
        (128, 128, 48),
        (128, 128, 64),
        (128, 128, 104),
        (128, 128, 128),
        (64, 64, 208),
        (64, 64, 256),
        (64, 64, 416),
    ];
    /// More rows than 2^21; a tall thin product that libraries give to another kernel.
    const TALL: &[(u64, u64, u64)] = &[((1 << 21) + 10, 2, 2), (1_000_000, 4, 4)];
    let mut cases = Vec::new();
    for &(m, n, k) in SHAPES {
        cases.push(case(format!("f32_{m}x{n}x{k}"), Problem::new(Element::F32, [m, n, k])));
    }
    for &(m, n, k) in TALL {
        let tall = case(format!("f32_{m}x{n}x{k}"), Problem::new(Element::F32, [m, n, k]));
        cases.push(Case { hardware: true, ..tall });
    }
    let specials = Problem::new(Element::F32, [127, 255, 129]);
    cases.push(Case { given: Some(one_infinity_and_one_nan), ..case("f32_an_infinity_and_a_nan", specials) });
    let scalings: &[(f32, f32)] = if rung.accepts.scaling {
        &[(0.0, 0.0), (-0.5, 0.0), (1.0, 1.0), (1.0, -0.5), (-0.5, -0.5), (0.0, 1.0)]
    } else {
        &[]
    };
    for &(alpha, beta) in scalings {
        let problem = Problem { alpha, beta, ..Problem::new(Element::F32, [45, 67, 89]) };
        cases.push(case(format!("f32_alpha_{alpha}_beta_{beta}"), problem));
    }
    let ld = |ld| Layout { leading_dimension: Some(ld), ..Layout::default() };
    if rung.accepts.leading_dimension {
        for (name, [a, b, c]) in [("odd", [41, 40, 43]), ("aligned", [40, 44, 48])] {
            let problem = Problem::new(Element::F32, [33, 35, 37])
                .with_layout(0, ld(a))
                .with_layout(1, ld(b))
                .with_layout(2, ld(c));
            cases.push(case(format!("f32_leading_dimensions_{name}"), problem));
        }
        // A one-row operand's leading dimension is never used; a large one must do no harm.
        cases.push(case("f32_one_row_long_pitch", Problem::new(Element::F32, [1, 32, 2048]).with_layout(0, ld(5000))));
    }
    if rung.accepts.offset {
        for offsets in [[1, 3, 5], [4, 8, 12]] {
            let at = |offset| Layout { leading_dimension: Some(40), offset, ..Layout::default() };
            let problem = (0..3)
                .fold(Problem::new(Element::F32, [33, 33, 33]), |problem, i| problem.with_layout(i, at(offsets[i])));
            cases.push(case(format!("f32_offsets_{}_{}_{}", offsets[0], offsets[1], offsets[2]), problem));
        }
    }
    if rung.accepts.batch {
        cases.push(case("f32_batch_3", Problem::new(Element::F32, [45, 67, 89]).with_batch(3)));
        cases.push(case("f32_batch_3_aligned", Problem::new(Element::F32, [44, 68, 88]).with_batch(3)));
    }
    if rung.accepts.transposed {
        for (name, transposed) in [("NT", [false, true]), ("TN", [true, false]), ("TT", [true, true])] {
            let stored = |problem: Problem, lds: [Option<u64>; 2], offset| {
                (0..2).fold(problem, |problem, i| {
                    let layout =
                        Layout { transposed: transposed[i], leading_dimension: lds[i], offset, ..Layout::default() };
                    problem.with_layout(i, layout)
                })
            };
            for (m, n, k) in [(1, 1, 1), (129, 131, 133), (132, 260, 100), (5, 1, 70), (1, 9, 64), (16, 16, 0)] {
                let problem = stored(Problem::new(Element::F32, [m, n, k]), [None, None], 0);
                cases.push(case(format!("f32_{name}_{m}x{n}x{k}"), problem));
            }
            let everything =
                Problem { alpha: -0.5, beta: 1.0, ..Problem::new(Element::F32, [70, 66, 90]).with_batch(3) };
            cases.push(case(format!("f32_{name}_everything_odd"), stored(everything.clone(), [Some(91), Some(93)], 3)));
            cases.push(case(format!("f32_{name}_everything_aligned"), stored(everything, [Some(92), Some(96)], 4)));
        }
    }
    cases
}

/// Uniform operands with an infinity in the first element of a and a NaN in the last of b: only row
/// 0 and the last column of the product may show them.
fn one_infinity_and_one_nan(problem: &Problem) -> Inputs {
    let [m, n, k] = [0, 1, 2].map(|i| problem.dim(i));
    let distribution = op::Distribution::Uniform;
    let mut a = gpu_ladder::random::elements(7, 0, Element::F32, m * k, distribution);
    let mut b = gpu_ladder::random::elements(7, 1, Element::F32, k * n, distribution);
    a[..4].copy_from_slice(&f32::INFINITY.to_le_bytes());
    let last = b.len() - 4;
    b[last..].copy_from_slice(&f32::NAN.to_le_bytes());
    Inputs::Given { operands: vec![Arc::new(a), Arc::new(b)], description: "an infinity and a NaN".into() }
}
