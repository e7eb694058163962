//! Transposes of shapes, layouts and widths that nobody thought of: exact bits and untouched gaps on
//! every backend that opens, whole and in bands; and the cases that other projects got wrong.
//!
//! Sizes that need tens of gigabytes run where the device has them, and say so where it has not.

use gpu_ladder::backend::{Any, BACKENDS, Backend, Select};
use gpu_ladder::op::{self, Op, Transpose, TransposeInPlace};
use gpu_ladder::rung::Rung;
use gpu_ladder::{Element, Error, Inputs, Layout, Problem, Session, Verdict};
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use std::sync::Arc;

mod kept_runs;
mod required;

/// One element type per width.
const WIDTHS: [Element; 5] = [Element::U8, Element::F16, Element::F32, Element::F64, Element::B128];
/// A binding limit that makes bands of small matrices.
const SMALL_BINDING: u64 = 64 << 10;

fn main() {
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    for (name, _) in BACKENDS.iter().filter(|(_, built)| *built) {
        let open =
            |max_binding| pollster::block_on(Any::open_named(name, &Select { max_binding, ..Select::default() }));
        match (open(None), open(Some(SMALL_BINDING))) {
            (Ok(whole), Ok(banded)) => {
                eprintln!("{name}: {} ({})", whole.device().name, whole.device().driver);
                let banded = (*name != "cuda").then(|| Arc::new(Session::new(banded)));
                trials.extend(suite(name, Arc::new(Session::new(whole)), banded));
            }
            (Err(error), _) | (_, Err(error)) => {
                let text = format!("{name} does not open: {error}");
                let skipped = format!("{name}::properties (skipped: {error})");
                trials.push(if required::is_required(name) {
                    Trial::test(format!("{name}::is_required"), move || Err(text.into()))
                } else {
                    Trial::test(skipped, || Ok(())).with_ignored_flag(true)
                });
            }
        }
    }
    trials.push(Trial::test("docs::hold_the_kept_runs", kept_runs::are_in_the_docs));
    libtest_mimic::run(&arguments, trials).exit();
}

fn suite(name: &'static str, whole: Arc<Session<Any>>, banded: Option<Arc<Session<Any>>>) -> Vec<Trial> {
    let simulated = name == "sim";
    let mut trials = Vec::new();
    for element in WIDTHS {
        let session = Arc::clone(&whole);
        trials.push(Trial::test(format!("{name}::any_layout_is_exact::{element}"), move || {
            properties(&session, layouts(element, if simulated { 70 } else { 300 }), if simulated { 12 } else { 40 })
        }));
        if let Some(banded) = &banded {
            let session = Arc::clone(banded);
            // About five bands of the limit, so that they meet in both directions.
            let side = (5.0 * SMALL_BINDING as f64 / element.size() as f64).sqrt() as u64;
            trials.push(Trial::test(format!("{name}::bands_are_exact::{element}"), move || {
                properties(&session, layouts(element, side), if simulated { 3 } else { 16 })
            }));
        }
    }
    for element in WIDTHS {
        let session = Arc::clone(&whole);
        let name = format!("{name}::every_rung_at_two_shapes::{element}");
        // The simulator meets every rung in the differential suite.
        if !simulated {
            trials.push(Trial::test(name, move || every_rung_at_two_shapes(&session, element)));
        }
    }
    for (case, run) in KNOWN {
        let session = Arc::clone(&whole);
        trials.push(Trial::ignorable_test(format!("{name}::{case}"), move || run(&session)));
    }
    for case in BIG {
        let session = Arc::clone(&whole);
        let name = format!("{name}::{}::{}x{}_{}", case.kind, case.rows, case.cols, case.element);
        trials.push(Trial::ignorable_test(name, move || big(&session, case)));
    }
    if let Some(banded) = banded {
        trials.push(Trial::test(
            format!("{name}::the_bands_are_many_and_every_rung_that_takes_views_runs_in_them"),
            move || every_view_rung_in_bands(&banded),
        ));
    }
    trials
}

/// Both layouts and the batch of a transpose, each stride as likely whole chunks as not.
fn layouts(element: Element, most: u64) -> impl Strategy<Value = Problem> {
    let side = prop_oneof![3 => 1..=most, 1 => 1..=9u64, 1 => Just(64u64.min(most))];
    let gap = || prop_oneof![2 => Just(0u64), 1 => 1..=5u64, 1 => Just(16u64)];
    let stride = || (gap(), gap(), gap(), any::<bool>());
    (side.clone(), side, 1..=3u64, stride(), stride()).prop_map(move |(rows, cols, batch, from, to)| {
        let chunk = 16 / element.size();
        let layout = |rows: u64, cols: u64, (pitch, offset, between, whole): (u64, u64, u64, bool)| {
            let round = |n: u64| if whole { n.next_multiple_of(chunk) } else { n };
            let ld = round(cols + pitch);
            let stride = round(rows * ld + between);
            Layout { leading_dimension: Some(ld), offset: round(offset), batch_stride: Some(stride), transposed: false }
        };
        let problem = Problem::new(element, [rows, cols]).with_batch(batch);
        problem.with_layout(0, layout(rows, cols, from)).with_layout(1, layout(cols, rows, to))
    })
}

/// The selection's rung and every other that takes the problem, on the seeded inputs.
fn properties(session: &Session<Any>, problems: impl Strategy<Value = Problem>, cases: u32) -> Result<(), Failed> {
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 200, ..Config::default() };
    let fails = |error: Failed| TestCaseError::fail(format!("{error:?}"));
    let result = TestRunner::new_with_rng(config, deterministic()).run(&problems, |problem| {
        let selected = Transpose.select(session.device(), &problem);
        let selected = selected.ok_or_else(|| TestCaseError::fail(format!("nothing is selected for {problem:?}")))?;
        exact(session, &Transpose, selected, &problem).map_err(fails)?;
        let top = Transpose.ladder().iter().skip_while(|r| r.name != "register_blocked");
        for rung in top.filter(|r| r.id() != selected.id() && op::runs(&Transpose, r, session.device(), &problem)) {
            exact(session, &Transpose, rung, &problem).map_err(fails)?;
        }
        Ok(())
    });
    result.map_err(|error| error.to_string().into())
}

/// The same cases on every machine.
fn deterministic() -> proptest::test_runner::TestRng {
    proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha)
}

fn exact(session: &Session<Any>, op: &'static dyn Op, rung: &Rung, problem: &Problem) -> Result<(), Failed> {
    pollster::block_on(async {
        let stage = session.stage(op, problem, Inputs::Seeded(3)).await?;
        match session.verify(session.prepare(&stage, rung).await?).await? {
            Verdict::Pass(_) => Ok(()),
            Verdict::Fail(mismatch) => Err(format!("{}: {mismatch}; {problem:?}", rung.id()).into()),
        }
    })
}

/// All rungs of both ops where tiles fit and where they do not, in rows without gaps and in rows of
/// whole chunks: together every path of every kernel, for tools that watch a device run them.
fn every_rung_at_two_shapes(session: &Session<Any>, element: Element) -> Result<(), Failed> {
    let ragged = if session.device().is_software() { [40, 43] } else { [1000, 1003] };
    let chunk = 16 / element.size();
    let pitched = |cols: u64| Layout { leading_dimension: Some(cols.next_multiple_of(chunk)), ..Layout::default() };
    let problems = |op: &'static dyn Op, dims: &[u64]| {
        let problem = Problem::new(element, dims.to_vec());
        let layouts = if op.dims().len() == 2 { vec![dims[1], dims[0]] } else { dims.to_vec() };
        let whole = layouts.iter().enumerate().fold(problem.clone(), |p, (i, &cols)| p.with_layout(i, pitched(cols)));
        [problem, whole]
    };
    let small = Problem::new(element, [24u64, 20]).with_batch(9);
    let mut cases: Vec<(&'static dyn Op, Problem)> = vec![(&Transpose, small)];
    for dims in [[64, 64], ragged] {
        cases.extend(problems(&Transpose, &dims).map(|p| (&Transpose as &dyn Op, p)));
        cases.extend(problems(&TransposeInPlace, &dims[1..]).map(|p| (&TransposeInPlace as &dyn Op, p)));
    }
    let long = ragged[1].next_multiple_of(16);
    for narrow in [[ragged[1], 3], [5, ragged[1]], [long, 3], [5, long]] {
        cases.extend(problems(&Transpose, &narrow).map(|p| (&Transpose as &dyn Op, p)));
    }
    let mut ran = std::collections::BTreeSet::new();
    for (op, problem) in cases {
        for rung in op.ladder().iter().filter(|r| op::runs(op, r, session.device(), &problem)) {
            exact(session, op, rung, &problem)?;
            ran.insert(format!("{}/{}", op.name(), rung.id()));
        }
    }
    let tops = ["any_width@square", "skinny", "batched_small"].map(|r| format!("transpose/{r}"));
    let missing: Vec<_> = tops.iter().filter(|r| !ran.contains(*r)).collect();
    if missing.is_empty() { Ok(()) } else { Err(format!("{missing:?} did not run, of {ran:?}").into()) }
}

fn selected(session: &Session<Any>, problem: &Problem) -> Result<(), Failed> {
    let rung = Transpose.select(session.device(), problem).ok_or("nothing is selected")?;
    exact(session, &Transpose, rung, problem)
}

fn every_view_rung_in_bands(session: &Session<Any>) -> Result<(), Failed> {
    // Whole chunks apart, so that every rung that takes views takes these.
    let ld = |leading_dimension| Layout { leading_dimension: Some(leading_dimension), ..Layout::default() };
    let problem = Problem::new(Element::F32, [301, 203]).with_layout(0, ld(208)).with_layout(1, ld(304));
    let parts = op::parts(&Transpose, session.device(), &problem)?;
    assert!(parts.len() >= 4, "{} bands", parts.len());
    let mut names = Vec::new();
    for rung in Transpose.ladder().iter().filter(|r| op::runs(&Transpose, r, session.device(), &problem)) {
        exact(session, &Transpose, rung, &problem)?;
        names.push(rung.id());
    }
    for name in ["register_blocked", "ordered", "any_width@square", "sheared@wide"] {
        assert!(names.iter().any(|n| n == name), "{name} does not run in bands: {names:?}");
    }
    // A rung that takes no offsets says which limit it meets where a band needs one.
    let naive = &Transpose.ladder()[0];
    let problem = Problem::new(Element::F32, [40, 5001]);
    pollster::block_on(async {
        let stage = session.stage(&Transpose, &problem, Inputs::Seeded(3)).await?;
        match session.prepare(&stage, naive).await {
            Err(Error::Limit { limit: SMALL_BINDING, .. }) => Ok(()),
            Err(error) => Err(error.into()),
            Ok(_) => Err("a binding over the limit was accepted".into()),
        }
    })
}

type Known = fn(&Session<Any>) -> Result<Completion, Failed>;

/// Cases of the kinds IDX, GRD, BUF, LAY and NUM1: what other projects got wrong.
const KNOWN: &[(&str, Known)] = &[
    ("grd1_more_than_65535_blocks_down", |session| many(session, &[(2_097_153, 1), (2_097_153, 3)])),
    ("grd3_more_than_65535_blocks_in_a_dispatch", |session| many(session, &[(1, 16_777_217), (16_777_217, 1)])),
    ("grd3_more_than_65535_matrices", |session| {
        if session.device().backend == "sim" {
            return Ok(Completion::ignored_with("the simulator counts every access: too long"));
        }
        // Gaps keep the matrices apart, so that each is a block of its own.
        let gap = Layout { batch_stride: Some(12), ..Layout::default() };
        selected(session, &Problem::new(Element::F32, [3, 3]).with_batch(70_000).with_layout(0, gap))?;
        Ok(Completion::Completed)
    }),
    ("idx3_a_product_of_sides_overflows", |session| {
        let problem = Problem::new(Element::F32, [1u64 << 32, 1 << 32]);
        match pollster::block_on(session.stage(&Transpose, &problem, Inputs::Seeded(1))) {
            Err(Error::Overflow { .. } | Error::Shape { .. }) => Ok(Completion::Completed),
            Err(error) => Err(format!("{error:?}").into()),
            Ok(_) => Err("it was staged".into()),
        }
    }),
    ("idx5_a_row_of_2_to_the_32_names_the_limit", |session| {
        let problem = Problem::new(Element::I8, [1, 1u64 << 32]);
        match pollster::block_on(session.stage(&Transpose, &problem, Inputs::Seeded(1))) {
            Err(error @ Error::Shape { .. }) => {
                let text = error.to_string();
                assert!(text.contains("4294967296") && text.contains("4294967295"), "{text}");
                Ok(Completion::Completed)
            }
            Err(error) => Err(error.into()),
            Ok(_) => Err("it was staged".into()),
        }
    }),
    ("idx5_a_vector_takes_no_tile", |session| {
        for dims in [[1u64, 100_003], [100_003, 1]] {
            let problem = Problem::new(Element::F32, dims);
            let rung = Transpose.select(session.device(), &problem).ok_or("nothing is selected")?;
            exact(session, &Transpose, rung, &problem)?;
        }
        Ok(Completion::Completed)
    }),
    ("buf1_larger_than_the_default_binding", |session| {
        if session.device().is_software() {
            return Ok(Completion::ignored_with("a software adapter: 268 MB take too long"));
        }
        selected(session, &Problem::new(Element::F32, [5793, 5793]))?;
        Ok(Completion::Completed)
    }),
    ("buf3_an_odd_number_of_halves_and_bytes", |session| {
        for element in [Element::F16, Element::Bf16, Element::I8] {
            for dims in [[3u64, 5], [1, 1], [1, 3], [7, 1]] {
                selected(session, &Problem::new(element, dims))?;
            }
        }
        Ok(Completion::Completed)
    }),
    ("buf5_a_view_at_64_bytes", |session| {
        let offset = |offset| Layout { offset, leading_dimension: Some(96), ..Layout::default() };
        for (input, output) in [(16, 0), (0, 16), (16, 48), (1, 3)] {
            let problem = Problem::new(Element::F32, [65, 70]);
            selected(session, &problem.with_layout(0, offset(input)).with_layout(1, offset(output)))?;
        }
        Ok(Completion::Completed)
    }),
    ("lay1_odd_sides_of_halves", |session| {
        for dims in [[3u64, 7], [7, 5], [33, 65], [127, 129]] {
            selected(session, &Problem::new(Element::F16, dims))?;
        }
        Ok(Completion::Completed)
    }),
    ("lay3_offsets_inside_guards", |session| {
        let layout = |offset| Layout { offset, leading_dimension: Some(40), ..Layout::default() };
        for element in WIDTHS {
            let problem = Problem::new(element, [33, 33]).with_layout(0, layout(1)).with_layout(1, layout(5));
            selected(session, &problem)?;
        }
        Ok(Completion::Completed)
    }),
    ("lay5_one_row_with_a_large_stride", |session| {
        let long = Layout { leading_dimension: Some(5001), ..Layout::default() };
        selected(session, &Problem::new(Element::F32, [1, 2048]).with_layout(0, long))?;
        selected(session, &Problem::new(Element::F32, [2048, 1]).with_layout(1, long))?;
        Ok(Completion::Completed)
    }),
    ("lay7_a_leading_dimension_below_its_row", |session| {
        let short = Layout { leading_dimension: Some(15), ..Layout::default() };
        let problem = Problem::new(Element::F32, [8, 16]).with_layout(0, short);
        match pollster::block_on(session.stage(&Transpose, &problem, Inputs::Seeded(1))) {
            Err(error @ Error::Shape { .. }) => {
                let text = error.to_string();
                assert!(text.contains("15") && text.contains("16"), "{text}");
                Ok(Completion::Completed)
            }
            Err(error) => Err(error.into()),
            Ok(_) => Err("it was staged".into()),
        }
    }),
    ("num1_small_patterns_keep_their_bits", |session| {
        let patterns: [u32; 6] = [0x0000_0001, 0x0000_0032, 0x007f_ffff, 0x8000_0000, 0x7fa0_0001, 0xffff_ffff];
        let (rows, cols) = (68u64, 72u64);
        let words: Vec<u32> = (0..rows * cols).map(|i| patterns[i as usize % patterns.len()]).collect();
        let operands = vec![Arc::new(words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>())];
        let problem = Problem::new(Element::F32, [rows, cols]);
        for rung in Transpose.ladder().iter().filter(|r| op::runs(&Transpose, r, session.device(), &problem)) {
            pollster::block_on(async {
                let given = Inputs::Given { operands: operands.clone(), description: "bit patterns".into() };
                let stage = session.stage(&Transpose, &problem, given).await?;
                match session.verify(session.prepare(&stage, rung).await?).await? {
                    Verdict::Pass(_) => Ok::<(), Failed>(()),
                    Verdict::Fail(mismatch) => Err(format!("{}: {mismatch}", rung.id()).into()),
                }
            })?;
        }
        Ok(Completion::Completed)
    }),
    ("in_place_is_the_same_matrix_twice_turned", |session| {
        for element in WIDTHS {
            for side in [1u64, 48, 130] {
                let layout = Layout { leading_dimension: Some(side.next_multiple_of(16)), ..Layout::default() };
                let problem = Problem::new(element, [side]).with_layout(0, layout);
                exact(session, &TransposeInPlace, &TransposeInPlace.ladder()[0], &problem)?;
            }
        }
        Ok(Completion::Completed)
    }),
];

fn many(session: &Session<Any>, shapes: &[(u64, u64)]) -> Result<Completion, Failed> {
    if session.device().backend == "sim" {
        return Ok(Completion::ignored_with("the simulator counts every access: too long"));
    }
    for &(rows, cols) in shapes {
        let problem = Problem::new(Element::F32, [rows, cols]);
        selected(session, &problem)?;
        // The plain tiles put one block on every 32 rows. A software adapter has no time for the others.
        let all = Transpose.ladder().iter().filter(|r| op::runs(&Transpose, r, session.device(), &problem));
        for rung in all.filter(|r| r.id() == "tiled_padded@32" || !session.device().is_software()) {
            exact(session, &Transpose, rung, &problem)?;
        }
    }
    Ok(Completion::Completed)
}

/// A problem larger than 32-bit indices or one binding.
struct Big {
    kind: &'static str,
    element: Element,
    rows: u64,
    cols: u64,
}

const BIG: &[Big] = &[
    Big { kind: "idx1", element: Element::F16, rows: 65_537, cols: 32_769 },
    // 2^31 + 98,305 elements within one buffer of WebGPU, and so in bands there.
    Big { kind: "idx1", element: Element::I8, rows: 65_537, cols: 32_769 },
    Big { kind: "idx1", element: Element::I8, rows: 70_000, cols: 70_000 },
    Big { kind: "idx1", element: Element::F32, rows: 32_768, cols: 32_768 },
];

fn big(session: &Session<Any>, case: &Big) -> Result<Completion, Failed> {
    let device = session.device();
    if device.is_software() {
        return Ok(Completion::ignored_with(format!("{} is a software adapter", device.name)));
    }
    let problem = Problem::new(case.element, [case.rows, case.cols]);
    let bytes = case.rows * case.cols * case.element.size();
    if device.memory.is_some_and(|memory| memory < bytes * 5 / 2) {
        return Ok(Completion::ignored_with(format!("two matrices of {bytes} bytes do not fit {}", device.name)));
    }
    match pollster::block_on(session.stage(&Transpose, &problem, Inputs::Seeded(3))) {
        // The largest buffer of a device is named, with both numbers.
        Err(Error::Limit { needed, limit, .. }) if limit < bytes => {
            assert!(needed >= bytes);
            Ok(Completion::Completed)
        }
        Err(error @ Error::OutOfMemory { .. }) => Ok(Completion::ignored_with(error.to_string())),
        Err(error) => Err(error.into()),
        Ok(stage) => {
            drop(stage);
            selected(session, &problem)?;
            Ok(Completion::Completed)
        }
    }
}
