//! The verifier itself: a backend on the host that lies in each known way must be caught, and an
//! honest one must pass.

mod as_transpose;

use as_transpose::as_transpose;
use gpu_ladder::backend::{Backend, Clock, Device, DeviceKind, KernelInfo, Launch, Limits, Select};
use gpu_ladder::op::{Copy, Matmul, Op, Reduce, Shape, Transpose};
use gpu_ladder::rung::{Language, Program, Rung};
use gpu_ladder::verify::{Entry, Expected, Mismatch, Projection};
use gpu_ladder::{Element, Error, Inputs, Layout, Problem, Result, Samples, Session, Timing, Verdict, Verified};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// What is wrong with the output that this backend writes.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Lie {
    None,
    OneWrongElement,
    NotANumber,
    NothingWritten,
    LastRowMissing,
    SwappedDimensions,
    WritesPastTheEnd,
    WritesIntoTheGap,
    WritesBeforeTheStart,
    OnlyTheFirstLaunchWrites,
    WrongFromTheFifthLaunchOn,
}

struct Host {
    device: Device,
    lie: Lie,
    launches: AtomicUsize,
}

impl Host {
    fn new(lie: Lie) -> Self {
        let limits = Limits {
            threads_per_block: 1024,
            block: [1024; 3],
            grid: [u32::MAX; 3],
            shared_static: 1 << 16,
            shared_dynamic: 1 << 16,
            buffer: 1 << 30,
            binding: 1 << 30,
            binding_alignment: 256,
            bindings: 8,
        };
        let device = Device {
            kind: DeviceKind::Software,
            memory: Some(1 << 30),
            l2: Some(1 << 10),
            clock: Clock::Host { resolution_ns: 1.0 },
            ..Device::new("host", "host", limits)
        };
        Host { device, lie, launches: AtomicUsize::new(0) }
    }
}

fn word(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes")) as usize
}

impl Backend for Host {
    const NAME: &'static str = "host";
    type Buffer = Mutex<Vec<u8>>;
    type Kernel = ();

    async fn open(_: &Select) -> Result<Self> {
        Ok(Host::new(Lie::None))
    }
    fn device(&self) -> &Device {
        &self.device
    }
    async fn compile(&self, _: &Program) -> Result<()> {
        Ok(())
    }
    async fn alloc(&self, bytes: u64) -> Result<Self::Buffer> {
        Ok(Mutex::new(vec![0; bytes as usize]))
    }
    async fn upload(&self, buffer: &Self::Buffer, offset: u64, bytes: &[u8]) -> Result<()> {
        buffer.lock().expect("no panic")[offset as usize..][..bytes.len()].copy_from_slice(bytes);
        Ok(())
    }
    async fn fill(&self, buffer: &Self::Buffer, offset: u64, len: u64, word: u32) -> Result<()> {
        let words = word.to_le_bytes().repeat(len as usize / 4);
        self.upload(buffer, offset, &words).await
    }
    async fn download(&self, buffer: &Self::Buffer, offset: u64, bytes: &mut [u8]) -> Result<()> {
        bytes.copy_from_slice(&buffer.lock().expect("no panic")[offset as usize..][..bytes.len()]);
        Ok(())
    }

    /// Transposes words, as the params say, and then lies.
    fn launch(&self, launches: &[Launch<'_, Self>]) -> Result<()> {
        for launch in launches {
            let number = self.launches.fetch_add(1, Ordering::Relaxed);
            let p = launch.params();
            let (rows, cols, input_ld, output_ld) = (word(p, 12), word(p, 16), word(p, 20), word(p, 24));
            let input = launch.bindings()[0].buffer.lock().expect("no panic").clone();
            let mut output = launch.bindings()[1].buffer.lock().expect("no panic");
            let first = launch.bindings()[1].offset as usize;
            if self.lie == Lie::NothingWritten || (self.lie == Lie::OnlyTheFirstLaunchWrites && number > 0) {
                continue;
            }
            for row in 0..rows {
                for col in 0..cols {
                    if self.lie == Lie::LastRowMissing && col == cols - 1 {
                        continue;
                    }
                    let at = if self.lie == Lie::SwappedDimensions { row * cols + col } else { col * output_ld + row };
                    let from = (row * input_ld + col) * 4;
                    output[first + at * 4..][..4].copy_from_slice(&input[from..from + 4]);
                }
            }
            match self.lie {
                Lie::OneWrongElement => output[first + 5 * 4] ^= 1,
                Lie::WrongFromTheFifthLaunchOn if number >= 4 => output[first] ^= 1,
                Lie::NotANumber => output[first + 8..][..4].copy_from_slice(&f32::NAN.to_le_bytes()),
                Lie::WritesPastTheEnd => output[first + cols * output_ld * 4 + 20] = 1,
                Lie::WritesBeforeTheStart => output[first - 4] = 1,
                Lie::WritesIntoTheGap => output[first + rows * 4] = 1,
                _ => {}
            }
        }
        Ok(())
    }
    async fn time(&self, works: &[&[Launch<'_, Self>]]) -> Result<Vec<f64>> {
        for work in works {
            self.launch(work)?;
        }
        Ok(vec![1000.0; works.len()])
    }
    fn inspect(&self, (): &()) -> Result<KernelInfo> {
        Ok(KernelInfo::default())
    }
}

fn problem() -> Problem {
    let pitched = Layout { leading_dimension: Some(20), ..Layout::default() };
    Problem::new(Element::F32, [17, 9]).with_layout(1, pitched)
}

fn verdict(lie: Lie) -> (Session<Host>, Verdict<Host>) {
    let session = Session::new(Host::new(lie));
    let verdict = pollster::block_on(async {
        let stage = session.stage(&Transpose, &problem(), Inputs::Seeded(3)).await?;
        let prepared = session.prepare(&stage, &Transpose.ladder()[0]).await?;
        session.verify(prepared).await
    });
    (session, verdict.expect("the host does not fail"))
}

fn proof(lie: Lie) -> (Session<Host>, Verified<Host>) {
    match verdict(lie) {
        (session, Verdict::Pass(proof)) => (session, proof),
        (_, Verdict::Fail(mismatch)) => panic!("{mismatch}"),
    }
}

fn caught(lie: Lie) -> Mismatch {
    match verdict(lie).1 {
        Verdict::Pass(_) => panic!("{lie:?} was not caught"),
        Verdict::Fail(mismatch) => mismatch,
    }
}

#[test]
fn the_truth_passes_and_can_be_timed() {
    let (session, proof) = proof(Lie::None);
    let samples: Vec<Samples> = pollster::block_on(session.time(&[&proof], &Timing::brief())).expect("it can be timed");
    assert_eq!(samples[0].median(), 1000.0);
}

#[test]
fn a_wrong_element_is_named() {
    assert!(matches!(caught(Lie::OneWrongElement), Mismatch::Wrong { at: (0, 0, 5), count: 1, .. }));
}

#[test]
fn a_nan_fails() {
    assert!(matches!(caught(Lie::NotANumber), Mismatch::Wrong { at: (0, 0, 2), .. }));
}

#[test]
fn an_output_that_was_not_written_is_seen() {
    assert!(matches!(caught(Lie::NothingWritten), Mismatch::Unwritten { at: (0, 0, 0), count: 153 }));
}

#[test]
fn a_missing_last_row_is_seen() {
    assert!(matches!(caught(Lie::LastRowMissing), Mismatch::Unwritten { at: (0, 8, 0), count: 17 }));
}

#[test]
fn swapped_dimensions_are_seen() {
    caught(Lie::SwappedDimensions);
}

#[test]
fn stray_writes_are_seen_wherever_they_land() {
    assert!(matches!(caught(Lie::WritesPastTheEnd), Mismatch::Stray { offset: 740 }));
    assert!(matches!(caught(Lie::WritesBeforeTheStart), Mismatch::Stray { offset: -4 }));
    assert!(matches!(caught(Lie::WritesIntoTheGap), Mismatch::Stray { offset: 68 }));
}

#[test]
fn a_stale_output_does_not_count_as_a_result() {
    caught(Lie::OnlyTheFirstLaunchWrites);
}

#[test]
fn a_kernel_that_goes_wrong_while_it_is_timed_gives_no_time() {
    let (session, proof) = proof(Lie::WrongFromTheFifthLaunchOn);
    let error = pollster::block_on(session.time(&[&proof], &Timing::brief())).expect_err("it must be caught");
    assert!(matches!(error, Error::WrongWhileTimed { .. }), "{error}");
}

#[test]
fn a_proof_of_one_session_is_no_key_to_another() {
    let (_, proof) = proof(Lie::None);
    let other = Session::new(Host::new(Lie::None));
    let error = pollster::block_on(other.time(&[&proof], &Timing::brief())).expect_err("another device");
    assert!(matches!(error, Error::WrongDevice(_)));
}

/// What a CUDA kernel does to memory nobody checks: safe code cannot change what it is launched with.
#[test]
fn a_cuda_kernel_runs_with_the_row_and_the_op_it_ships_with_or_is_vouched_for_with() {
    let mut host = Host::new(Lie::None);
    host.device.compute_capability = Some((9, 0));
    let session = Session::new(host);
    let prepare = |op: &'static dyn Op, rung: &Rung| {
        pollster::block_on(async {
            let stage = session.stage(op, &problem(), Inputs::Seeded(3)).await?;
            session.prepare(&stage, rung).await.map(drop)
        })
    };
    let shipped = &Transpose.ladder()[0];
    prepare(&Transpose, shipped).expect("as it ships");
    let refused = |made: Result<()>, why: &str| {
        let Err(Error::Unsupported { because, .. }) = made else { panic!("it is not refused: {made:?}") };
        assert!(because.contains(why), "{because}");
    };
    let wider = |rung: Rung| rung.with_constants(vec![("TILE", 64)]);
    refused(prepare(&Transpose, &wider(shipped.clone())), "ships");
    static OTHER: Mine = Mine(|shape| Expected::bytes(shape, Element::F32, vec![0; shape.len() as usize * 4].into()));
    refused(prepare(&OTHER, shipped), "ships");
    let own = shipped.clone().with_cuda("// nothing");
    refused(prepare(&Transpose, &own), "vouched_for");
    // SAFETY: the host runs no kernel.
    let vouched = unsafe { own.vouched_for(Language::Cuda, &OTHER) };
    prepare(&OTHER, &vouched).expect("vouched for");
    refused(prepare(&Transpose, &vouched), "with another op");
    for changed in [wider(vouched.clone()), vouched.clone().with_ptx("// something else")] {
        refused(prepare(&OTHER, &changed), "before the row was changed");
    }
    // SAFETY: as above.
    let in_wgsl = unsafe { shipped.clone().with_cuda("// nothing").vouched_for(Language::Wgsl, &OTHER) };
    refused(prepare(&OTHER, &in_wgsl), "vouched_for");
}

/// Bad problems are refused above the backends, before anything is allocated.
mod refused {
    use super::*;

    fn stage(op: &'static dyn Op, problem: &Problem) -> Error {
        let session = Session::new(Host::new(Lie::None));
        match pollster::block_on(session.stage(op, problem, Inputs::Seeded(1))) {
            Ok(_) => panic!("{problem:?} was accepted"),
            Err(error) => error,
        }
    }

    #[test]
    fn a_shape_whose_product_wraps() {
        let error = stage(&Transpose, &Problem::new(Element::F32, [1 << 32, 1 << 32]));
        assert!(matches!(error, Error::Overflow { .. } | Error::Shape { .. }), "{error}");
        let error = stage(&Copy, &Problem::new(Element::F64, [u64::MAX]));
        assert!(matches!(error, Error::Overflow { .. } | Error::Shape { .. }), "{error}");
    }

    #[test]
    fn a_leading_dimension_below_the_row() {
        let narrow = Layout { leading_dimension: Some(15), ..Layout::default() };
        let error = stage(&Transpose, &Problem::new(Element::F32, [8, 16]).with_layout(0, narrow));
        assert_eq!(error.to_string(), "transpose input 0: leading dimension 15 is below its minimum, 16 columns");
    }

    #[test]
    fn more_memory_than_the_device_has() {
        let error = stage(&Transpose, &Problem::new(Element::F32, [20_000, 20_000]));
        assert!(matches!(error, Error::Limit { needed: 1_600_000_000, .. }), "{error}");
        let error = stage(&Transpose, &Problem::new(Element::F32, [12_000, 12_000]));
        assert!(matches!(error, Error::OutOfMemory { needed: 1_152_000_000, free: Some(_) }), "{error}");
    }

    #[test]
    fn an_element_type_that_the_op_does_not_know() {
        let error = stage(&Matmul, &Problem::new(Element::I8, [2, 2, 2]));
        assert!(matches!(error, Error::Unsupported { .. }), "{error}");
    }

    #[test]
    fn a_sum_of_nothing() {
        assert!(matches!(stage(&Reduce, &Problem::new(Element::F32, [0])), Error::Shape { .. }));
    }

    #[test]
    fn a_wrong_number_of_dimensions() {
        let error = stage(&Matmul, &Problem::new(Element::F32, [2, 2]));
        assert_eq!(error.to_string(), "matmul: 2 dimensions given, 3 expected (m, n, k)");
    }

    #[test]
    fn bytes_that_are_not_as_many_as_the_shape_takes() {
        let session = Session::new(Host::new(Lie::None));
        for bytes in [396, 404] {
            let given =
                Inputs::Given { operands: vec![std::sync::Arc::new(vec![0; bytes])], description: "mine".into() };
            let staged = pollster::block_on(session.stage(&Transpose, &Problem::new(Element::F32, [10, 10]), given));
            let Err(error) = staged else { panic!("{bytes} bytes were accepted") };
            assert_eq!(error.to_string(), format!("transpose input 0: {bytes} bytes given, its shape takes 400"));
        }
    }
}

/// An op of one's own that expects something else than its output is refused where it says so.
#[test]
fn an_expectation_that_does_not_fit_the_output_is_refused() {
    let expect = |expected: Expectation| {
        let session = Session::new(Host::new(Lie::None));
        let op: &'static Mine = Box::leak(Box::new(Mine(expected)));
        pollster::block_on(session.stage(op, &Problem::new(Element::F32, [4, 3]), Inputs::Seeded(1))).map(|_| ())
    };
    assert_eq!(expect(|shape| Expected::bounded(shape, Element::F32, vec![0.0; 12], vec![1.0; 12])), Ok(()));
    let wrong: [Expectation; 6] = [
        |shape| Expected::bounded(shape, Element::F32, vec![0.0; 11], vec![1.0; 12]),
        |shape| Expected::bounded(shape, Element::F32, vec![0.0; 12], vec![]),
        |shape| Expected::bytes(shape, Element::F32, vec![0; 47].into()),
        |_| Expected::bounded(Shape::packed(4, 3), Element::F32, vec![0.0; 12], vec![1.0; 12]),
        |shape| Expected::sampled(shape, Element::F32, vec![entry(3, 0)], Vec::new()),
        |shape| {
            let projection = Projection { matrix: 0, weights: vec![1.0; 3], rows: vec![(0.0, 1.0); 3] };
            Expected::sampled(shape, Element::F32, vec![entry(2, 3)], vec![projection])
        },
    ];
    for expectation in wrong {
        let error = expect(expectation).expect_err("it does not fit");
        assert!(matches!(&error, Error::Shape { what, .. } if what == "what transpose expects"), "{error}");
    }
}

type Expectation = fn(Shape) -> Expected;

fn entry(row: u64, col: u64) -> Entry {
    Entry { matrix: 0, row, col, value: 0.0, bound: 1.0 }
}

/// A transpose with an expectation of its own.
struct Mine(Expectation);

impl Op for Mine {
    as_transpose!(name, about, dims, ladder, elements, shapes, extent, work, params);

    fn expected(&self, problem: &Problem, _: &[Arc<Vec<u8>>]) -> Result<Expected> {
        Ok((self.0)(self.shapes(problem)?.1))
    }
}

/// The tolerance grows with the length of the sum and the size of its terms, and not beyond.
#[test]
fn the_bound_of_a_product_is_that_of_its_sum() {
    let problem = Problem::new(Element::F32, [64, 64, 2048]);
    let session = Session::new(Host::new(Lie::None));
    let stage = pollster::block_on(session.stage(&Matmul, &problem, Inputs::Seeded(1))).expect("a legal problem");
    assert_eq!(stage.problem(), &problem);
    let gamma = gpu_ladder::verify::rounding(2048, Element::F32);
    assert!((gamma - 2048.0 / (16_777_216.0 - 2048.0)).abs() < 1e-12);
    assert!(gpu_ladder::verify::rounding(1 << 24, Element::F32).is_infinite());
}

/// Operations and bytes, by hand.
#[test]
fn work_is_counted_once_per_dimension_and_in_the_real_width() {
    assert_eq!(Matmul.work(&Problem::new(Element::F32, [25, 9, 16])).flops, 7200.0);
    let work = Transpose.work(&Problem::new(Element::F16, [1024, 1024]));
    assert_eq!(work.bytes, 4_194_304.0);
    assert!((work.bytes / 10_000.0 - 419.43).abs() < 0.01);
}

/// Rows are compared on every core; the expected output they share must be there before they start.
#[test]
fn a_large_output_is_checked_on_every_core_without_waiting_for_itself() {
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let session = Session::new(Host::new(Lie::None));
        for _ in 0..5 {
            let verdict = pollster::block_on(async {
                let stage =
                    session.stage(&Transpose, &Problem::new(Element::F32, [700, 900]), Inputs::Seeded(3)).await?;
                let prepared = session.prepare(&stage, &Transpose.ladder()[0]).await?;
                session.verify(prepared).await
            });
            assert!(matches!(verdict, Ok(Verdict::Pass(_))));
        }
        sender.send(()).expect("the test waits");
    });
    receiver.recv_timeout(std::time::Duration::from_secs(600)).expect("the check came to an end");
}
