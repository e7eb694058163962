//! One suite over tables: every backend x op x rung x shape class, generated. A backend that does
//! not open here is a visible skip with its reason, and a failure where `GPU_LADDER_REQUIRE` names it.

mod every;
mod required;

use gpu_ladder::backend::{Any, BACKENDS, Backend, Device, Select};
use gpu_ladder::op::{self, Op};
use gpu_ladder::rung::{Accepts, Language, Promise, Rung};
use gpu_ladder::{Element, Error, Inputs, Layout, Precision, Problem, Session, Verdict};
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use std::sync::Arc;

fn main() {
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    for (name, built) in BACKENDS {
        let required = required::is_required(name);
        if !built {
            if required {
                trials.push(Trial::test(format!("{name}::is_required"), || Err("this build does not have it".into())));
            }
            continue;
        }
        match pollster::block_on(Any::open_named(name, &Select::default())) {
            Ok(any) => {
                eprintln!("{name}: {} ({})", any.device().name, any.device().driver);
                trials.extend(every::sampled(suite(Arc::new(Session::new(any)))));
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
    /// Runs on a GPU that must all give the same bits: a race shows in some.
    repeats: usize,
}

/// Two runs tell whether bits repeat at all.
const TWICE: usize = 2;

fn case(name: impl Into<String>, problem: Problem) -> Case {
    Case { name: name.into(), problem, given: None, hardware: false, repeats: TWICE }
}

fn suite(session: Arc<Session<Any>>) -> Vec<Trial> {
    /// Elements of a problem that the simulator, which counts every access, is asked for.
    const SIMULATED: u64 = 200_000;
    /// And operations.
    const SIMULATED_FLOPS: f64 = 4e6;
    /// And of kernels that compute whole tiles of cooperative matrices; one larger case is enough.
    const COOPERATIVE_FLOPS: f64 = 2e5;
    const COOPERATIVE_CASE: &str = "129x131x133";
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
                let whole_tiles = rung.cooperative.is_some() && !case.name.ends_with(COOPERATIVE_CASE);
                let too_long = too_long || backend == "sim" && whole_tiles && work.flops > COOPERATIVE_FLOPS;
                let too_large = case.hardware && session.device().is_software();
                if too_long || too_large || op::accepts(*op, rung, language, &case.problem).is_err() {
                    continue;
                }
                if let Some(because) = lacks(session.device(), rung, case.problem.element) {
                    let name = format!("{name} (skipped: {because})");
                    trials.push(Trial::test(name, || Ok(())).with_ignored_flag(true));
                    continue;
                }
                let (session, rung) = (Arc::clone(&session), rung.clone());
                trials.push(Trial::ignorable_test(name, move || verify(&session, *op, &rung, &case)));
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

/// What the device has too little of for a rung.
fn lacks(device: &Device, rung: &Rung, element: Element) -> Option<String> {
    let language = device.language();
    if let (Language::Wgsl, Some(shape)) = (language, rung.cooperative)
        && !device.cooperative.contains(&shape)
    {
        return Some(format!("no cooperative matrices of {shape}"));
    }
    let row = rung.tuned(language, element.size());
    let threads = row.passes.iter().map(|pass| pass.block.iter().map(|&n| u64::from(n)).product()).max();
    let shared = rung.static_shared(language, element.size());
    let most = [
        ("threads in a block", threads.unwrap_or(0), device.limits.threads_per_block),
        ("bytes of shared memory", shared, device.limits.shared_static),
    ];
    let lack = most.iter().find(|(_, needed, limit)| *needed > u64::from(*limit));
    lack.map(|(what, needed, limit)| format!("{needed} {what}, this device has {limit}"))
}

fn verify(session: &Session<Any>, op: &'static dyn Op, rung: &Rung, case: &Case) -> Result<Completion, Failed> {
    pollster::block_on(async {
        let problem = &case.problem;
        let inputs = case.given.map_or(Inputs::Seeded(7), |given| given(problem));
        let stage = match session.stage(op, problem, inputs).await {
            Ok(stage) => stage,
            Err(error @ Error::Limit { .. }) => return Ok(Completion::ignored_with(error)),
            Err(error) => return Err(error.into()),
        };
        let prepared = match session.prepare(&stage, rung).await {
            Ok(prepared) => prepared,
            // A rung that this language or device cannot express says why; shapes it must take are
            // only asked of rungs whose row accepts them.
            Err(error @ (Error::Unsupported { .. } | Error::Limit { .. })) => {
                return Ok(Completion::ignored_with(error));
            }
            Err(error) => return Err(error.into()),
        };
        match session.verify(prepared).await? {
            // The simulator has one order of everything; a rung that adds to its output goes on from the last run.
            Verdict::Pass(_) if session.device().backend == "sim" || op.reads_output(problem) => {
                Ok(Completion::Completed)
            }
            Verdict::Pass(_) if rung.promise == Promise::WithinBound => Ok(Completion::Completed),
            Verdict::Pass(proof) => {
                let first = proof.output().await?;
                let repeats = if session.device().is_software() { TWICE } else { case.repeats };
                for _ in 1..repeats {
                    if proof.output().await? != first {
                        return Err("the same operands gave different bits in another run".into());
                    }
                }
                Ok(Completion::Completed)
            }
            Verdict::Fail(_) if matches!(rung.promise, Promise::Nothing { .. }) => Ok(Completion::Completed),
            Verdict::Fail(mismatch) => Err(mismatch.to_string().into()),
        }
    })
}

/// The shape classes that a rung's row says it takes.
fn cases(op: &dyn Op, rung: &Rung) -> Vec<Case> {
    match op.name() {
        "transpose" => transposes(rung),
        "transpose_in_place" => squares(),
        "matmul" => products(rung),
        _ => examples(op, rung),
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

fn examples(op: &dyn Op, rung: &Rung) -> Vec<Case> {
    let mut cases = Vec::new();
    for element in elements(op, rung) {
        for dims in op.examples() {
            let shape: Vec<String> = dims.iter().map(u64::to_string).collect();
            cases.push(case(format!("{element}_{}", shape.join("x")), Problem::new(element, dims)));
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

/// The shape classes in every type and precision that the rung takes.
fn products(rung: &Rung) -> Vec<Case> {
    let one = |element| Problem::new(element, [1, 1, 1]);
    let f32s = Precision::ALL.iter().map(|&precision| one(Element::F32).with_precision(precision));
    let shorts = [Element::F16, Element::Bf16].map(|element| [one(element), one(element).with_output(Element::F32)]);
    let taken =
        |one: &Problem| rung.element_sizes.contains(&one.element.size()) && rung.precisions.contains(&one.precision);
    f32s.chain(shorts.into_iter().flatten()).filter(taken).flat_map(|one| products_of(rung, &one)).collect()
}

/// The problem with rows and matrices that start at multiples of 16 bytes, the least that bulk copies take.
fn whole_rows(problem: Problem) -> Problem {
    let Ok((inputs, output)) = op::Matmul.shapes(&problem) else { return problem };
    inputs.into_iter().chain([output]).enumerate().fold(problem, |problem, (index, shape)| {
        let layout = Layout { leading_dimension: Some(shape.cols.next_multiple_of(8)), ..problem.layout(index) };
        problem.with_layout(index, layout)
    })
}

fn products_of(rung: &Rung, one: &Problem) -> Vec<Case> {
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
    /// Runs in which a race between steps of k would show.
    const MANY: usize = 200;
    /// More rows than 2^21; a tall thin product that libraries give to another kernel.
    const TALL: &[(u64, u64, u64)] = &[((1 << 21) + 10, 2, 2), (1_000_000, 4, 4)];
    let mut cases = Vec::new();
    let new = |dims: [u64; 3]| Problem { dims: dims.to_vec(), ..one.clone() };
    let types = one.types().replace(' ', "_");
    // Kernels of true f32 take rows that start anywhere.
    let chunks = types != "f32" && rung.accepts.leading_dimension;
    for &(m, n, k) in SHAPES {
        let repeats = if (m, n) == (128, 128) { MANY } else { TWICE };
        let product = case(format!("{types}_{m}x{n}x{k}"), new([m, n, k]));
        cases.push(Case { repeats, ..product });
        if chunks {
            let product = case(format!("{types}_{m}x{n}x{k}_whole_chunks"), whole_rows(new([m, n, k])));
            cases.push(Case { repeats, ..product });
        }
    }
    if chunks {
        cases.push(case(format!("{types}_257x259x131_whole_chunks"), whole_rows(new([257, 259, 131]))));
    }
    if types == "f32" {
        cases.push(Case { given: Some(all_bits_of_2049), ..case("f32_2049_times_1", new([1, 1, 1])) });
    }
    for &(m, n, k) in TALL {
        let tall = case(format!("{types}_{m}x{n}x{k}"), new([m, n, k]));
        cases.push(Case { hardware: true, ..tall });
    }
    // The parts of an infinity are no numbers: what it touches may be NaN.
    if matches!(one.precision, Precision::Full | Precision::Tf32) {
        for (name, specials) in [("", new([127, 255, 129])), ("_whole_chunks", new([128, 256, 136]))] {
            let name = format!("{types}_an_infinity_and_a_nan{name}");
            cases.push(Case { given: Some(one_infinity_and_one_nan), ..case(name, specials) });
        }
    }
    if one.element != Element::F32 {
        let large = whole_rows(new([33, 40, 300]));
        cases.push(Case { given: Some(large_numbers), ..case(format!("{types}_large_numbers"), large) });
    }
    let scalings: &[(f32, f32)] = if rung.accepts.scaling {
        &[(0.0, 0.0), (-0.5, 0.0), (1.0, 1.0), (1.0, -0.5), (-0.5, -0.5), (0.0, 1.0)]
    } else {
        &[]
    };
    for &(alpha, beta) in scalings {
        let problem = Problem { alpha, beta, ..new([45, 67, 89]) };
        cases.push(case(format!("{types}_alpha_{alpha}_beta_{beta}"), problem));
    }
    let ld = |ld| Layout { leading_dimension: Some(ld), ..Layout::default() };
    if rung.accepts.leading_dimension {
        for (name, [a, b, c]) in [("odd", [41, 40, 43]), ("aligned", [40, 44, 48])] {
            let problem = new([33, 35, 37]).with_layout(0, ld(a)).with_layout(1, ld(b)).with_layout(2, ld(c));
            cases.push(case(format!("{types}_leading_dimensions_{name}"), problem));
        }
        // A one-row operand's leading dimension is never used; a large one must do no harm.
        cases.push(case(format!("{types}_one_row_long_pitch"), new([1, 32, 2048]).with_layout(0, ld(5000))));
    }
    if rung.accepts.offset {
        for offsets in [[1, 3, 5], [4, 8, 12]] {
            let at = |offset| Layout { leading_dimension: Some(40), offset, ..Layout::default() };
            let problem = (0..3).fold(new([33, 33, 33]), |problem, i| problem.with_layout(i, at(offsets[i])));
            cases.push(case(format!("{types}_offsets_{}_{}_{}", offsets[0], offsets[1], offsets[2]), problem));
        }
    }
    if rung.accepts.batch {
        if chunks {
            let problem = Problem { alpha: -0.5, beta: 1.0, ..new([45, 67, 89]) }.with_batch(3);
            cases.push(case(format!("{types}_batch_3_whole_chunks"), whole_rows(problem)));
        }
        cases.push(case(format!("{types}_batch_3"), new([45, 67, 89]).with_batch(3)));
        cases.push(case(format!("{types}_batch_3_aligned"), new([44, 68, 88]).with_batch(3)));
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
                let problem = stored(new([m, n, k]), [None, None], 0);
                cases.push(case(format!("{types}_{name}_{m}x{n}x{k}"), problem));
            }
            let everything = Problem { alpha: -0.5, beta: 1.0, ..new([70, 66, 90]).with_batch(3) };
            for (m, n, k) in [(129, 131, 133), (5, 1, 70), (257, 259, 131)].into_iter().filter(|_| chunks) {
                let problem = whole_rows(stored(new([m, n, k]), [None, None], 0));
                cases.push(case(format!("{types}_{name}_{m}x{n}x{k}_whole_chunks"), problem));
            }
            if chunks {
                let problem = whole_rows(stored(everything.clone(), [None, None], 0));
                cases.push(case(format!("{types}_{name}_everything_whole_chunks"), problem));
            }
            cases.push(case(
                format!("{types}_{name}_everything_odd"),
                stored(everything.clone(), [Some(91), Some(93)], 3),
            ));
            cases.push(case(format!("{types}_{name}_everything_aligned"), stored(everything, [Some(92), Some(96)], 4)));
        }
    }
    cases
}

/// Twelve significant bits, which TF32 and f16 would round.
fn all_bits_of_2049(_: &Problem) -> Inputs {
    let operands = [2049.0f32, 1.0].map(|value| Arc::new(value.to_le_bytes().to_vec()));
    Inputs::Given { operands: operands.to_vec(), description: "2049 and 1".into() }
}

/// Uniform operands with an infinity in the first element of a and a NaN in the last of b: only row
/// 0 and the last column of the product may show them.
fn one_infinity_and_one_nan(problem: &Problem) -> Inputs {
    let [m, n, k] = [0, 1, 2].map(|i| problem.dim(i));
    let distribution = op::Distribution::Uniform;
    let mut a = gpu_ladder::random::elements(7, 0, problem.element, m * k, distribution);
    let mut b = gpu_ladder::random::elements(7, 1, problem.element, k * n, distribution);
    let bytes = |value: f64| {
        let mut bytes = Vec::new();
        problem.element.push_rounded(value, &mut bytes);
        bytes
    };
    let (infinity, nan) = (bytes(f64::INFINITY), bytes(f64::NAN));
    a[..infinity.len()].copy_from_slice(&infinity);
    let last = b.len() - nan.len();
    b[last..].copy_from_slice(&nan);
    Inputs::Given { operands: vec![Arc::new(a), Arc::new(b)], description: "an infinity and a NaN".into() }
}

/// Operands of 16 bits, uniform in [-64, 64): sums of f16 reach its largest number, and some of them pass it.
fn large_numbers(problem: &Problem) -> Inputs {
    const SCALE: f64 = 64.0;
    let shapes = op::Matmul.shapes(problem).map(|(inputs, _)| inputs).unwrap_or_default();
    let operands = shapes.iter().enumerate().map(|(index, shape)| {
        let stream = gpu_ladder::random::Stream::new(7, index as u64);
        let mut bytes = Vec::new();
        for element in 0..shape.span("matmul").unwrap_or(0) {
            problem.element.push_rounded(stream.uniform(element) * SCALE, &mut bytes);
        }
        Arc::new(bytes)
    });
    Inputs::Given { operands: operands.collect(), description: "uniform [-64, 64)".into() }
}
