//! The library surface on every backend of this build: handles, views, pool, chains, errors.

mod as_transpose;
mod required;

use as_transpose::as_transpose;
use gpu_ladder::backend::{Any, Backend, Clock, Select};
use gpu_ladder::gpu::{Gpu, HostMatrix, Matrix, Product, Scalar};
use gpu_ladder::op::{Gather, HierarchyConstant, Matmul, Op, Scatter, Transpose};
use gpu_ladder::rung::Rung;
use gpu_ladder::{Element, Error, Inputs, Problem, Result, Session};
use std::sync::LazyLock;

/// Every backend that opens here; where one is required (`GPU_LADDER_REQUIRE`), it must. The tests
/// share them, so that each kernel is compiled once.
fn gpus() -> &'static [Gpu] {
    static OPEN: LazyLock<Vec<Gpu>> = LazyLock::new(open);
    &OPEN
}

fn open() -> Vec<Gpu> {
    let mut gpus = Vec::new();
    for name in ["cuda", "wgpu", "sim"] {
        match Gpu::open_on(name) {
            Ok(gpu) => {
                gpu.keep_tuning_in(None);
                gpus.push(gpu);
            }
            Err(error) if required::is_required(name) => panic!("{name} is required: {error}"),
            Err(error) => println!("skipped {name}: {error}"),
        }
    }
    assert!(!gpus.is_empty(), "no backend opened");
    gpus
}

fn numbers(rows: u64, cols: u64) -> HostMatrix<f32> {
    HostMatrix::from_fn(rows, cols, |r, c| ((r * 31 + c * 7) % 17) as f32 - 8.0).unwrap()
}

fn transposed<T: Scalar>(m: &HostMatrix<T>) -> HostMatrix<T> {
    HostMatrix::from_fn(m.cols(), m.rows(), |r, c| m.get(c, r).unwrap()).unwrap()
}

fn product(a: &HostMatrix<f32>, b: &HostMatrix<f32>) -> HostMatrix<f32> {
    // Small whole numbers: the sums are exact in any order.
    let dot = |r, c| (0..a.cols()).map(|k| a.get(r, k).unwrap() * b.get(k, c).unwrap()).sum();
    HostMatrix::from_fn(a.rows(), b.cols(), dot).unwrap()
}

#[test]
fn six_lines() -> Result<()> {
    for gpu in gpus() {
        let a = gpu.upload(&[[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]])?;
        let c = gpu.matmul(&a, a.t())?;
        assert_eq!(gpu.download::<f32>(&c)?.elements(), [14.0, 32.0, 32.0, 77.0]);
        let t = gpu.transpose(&a)?;
        assert_eq!(gpu.download::<f32>(&t)?.elements(), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    }
    Ok(())
}

#[test]
fn every_element_width_goes_up_and_comes_back_transposed() -> Result<()> {
    fn one<T: Scalar + PartialEq + std::fmt::Debug>(gpu: &Gpu, of: impl Fn(u64) -> T) -> Result<()> {
        for (rows, cols) in [(3, 5), (1, 7), (1, 1), (33, 65), (0, 4)] {
            let m = HostMatrix::from_fn(rows, cols, |r, c| of(r * cols + c))?;
            let up = gpu.upload(&m)?;
            assert_eq!(gpu.download::<T>(&up)?, m);
            assert_eq!(gpu.download::<T>(up.t())?, transposed(&m));
            let turned = gpu.transpose(&up)?;
            assert_eq!(gpu.download::<T>(&turned)?, transposed(&m), "{} {rows}x{cols}", T::ELEMENT);
        }
        Ok(())
    }
    for gpu in gpus() {
        one::<u8>(gpu, |i| i as u8)?;
        one::<half::f16>(gpu, |i| half::f16::from_bits(i as u16))?;
        one::<f32>(gpu, |i| i as f32)?;
        one::<f64>(gpu, |i| i as f64)?;
        one::<u128>(gpu, |i| u128::from(i) << 70 | 1)?;
    }
    Ok(())
}

#[test]
fn views_in_and_out_need_no_copies() -> Result<()> {
    for gpu in gpus() {
        let (a, b) = (numbers(40, 50), numbers(60, 70));
        let (on_a, on_b) = (gpu.upload(&a)?, gpu.upload(&b)?);
        // 20 x 30 by (40 x 30)^T, into part of a larger output, and into its transpose.
        let left = on_a.view().part(3..23, 5..35)?;
        let right = on_b.view().part(1..41, 16..46)?.t();
        let expected = product(
            &HostMatrix::from_fn(20, 30, |r, c| a.get(r + 3, c + 5).unwrap())?,
            &HostMatrix::from_fn(30, 40, |r, c| b.get(c + 1, r + 16).unwrap())?,
        );
        let mut out = gpu.zeros(Element::F32, 100, 100)?;
        gpu.matmul_into(left, right, out.view_mut().part(7..27, 9..49)?, Product::new())?;
        gpu.matmul_into(left, right, out.view_mut().part(50..90, 1..21)?.t(), Product::new().alpha(2.0))?;
        let whole = gpu.download::<f32>(&out)?;
        for (r, c) in (0..100).flat_map(|r| (0..100).map(move |c| (r, c))) {
            let straight = (r >= 7 && c >= 9).then(|| expected.get(r - 7, c - 9)).flatten();
            let turned = (r >= 50 && c >= 1).then(|| expected.get(c - 1, r - 50)).flatten().map(|x| 2.0 * x);
            assert_eq!(whole.get(r, c), straight.or(turned).or(Some(0.0)), "{r}, {c}");
        }
        assert_eq!(gpu.download::<f32>(left)?.rows(), 20);
    }
    Ok(())
}

#[test]
fn a_transposed_view_is_copied_as_it_lies() -> Result<()> {
    for gpu in gpus() {
        let a = numbers(37, 41);
        let up = gpu.upload(&a)?;
        assert_eq!(gpu.download::<f32>(&gpu.transpose(up.t())?)?, a);
        let part = gpu.transpose(up.view().part(2..30, 3..40)?.t())?;
        assert_eq!(gpu.download::<f32>(&part)?.get(0, 0), a.get(2, 3));
        assert_eq!(gpu.download::<f32>(&part)?.get(27, 36), a.get(29, 39));
    }
    Ok(())
}

#[test]
fn batches() -> Result<()> {
    for gpu in gpus() {
        let (a, b) = (numbers(3 * 8, 12), numbers(3 * 12, 5));
        let up_a = gpu.upload(&HostMatrix::new_batch(3, 8, 12, a.elements())?)?;
        let up_b = gpu.upload(&HostMatrix::new_batch(3, 12, 5, b.elements())?)?;
        let c = gpu.download::<f32>(&gpu.matmul(&up_a, &up_b)?)?;
        let shared = gpu.download::<f32>(&gpu.matmul(&up_a, up_b.view().one(1)?)?)?;
        let turned = gpu.download::<f32>(&gpu.transpose(&up_a)?)?;
        assert_eq!((c.batch(), shared.batch(), turned.rows()), (3, 3, 12));
        for i in 0..3 {
            let part = |m: &HostMatrix<f32>, rows, cols| {
                HostMatrix::new(rows, cols, &m.elements()[(i * rows * cols) as usize..][..(rows * cols) as usize])
            };
            let (a, b) = (part(&a, 8, 12)?, part(&b, 12, 5)?);
            assert_eq!(part(&c, 8, 5)?, product(&a, &b));
            let middle = HostMatrix::new(12, 5, &up_b_elements(&up_b, gpu)?[60..120])?;
            assert_eq!(part(&shared, 8, 5)?, product(&a, &middle));
            assert_eq!(part(&turned, 12, 8)?, transposed(&a));
        }
    }
    Ok(())
}

fn up_b_elements(matrix: &Matrix, gpu: &Gpu) -> Result<Vec<f32>> {
    Ok(gpu.download::<f32>(matrix)?.into_elements())
}

#[test]
fn beta_reads_the_output_and_zero_never_does() -> Result<()> {
    for gpu in gpus() {
        let a = numbers(9, 9);
        let up = gpu.upload(&a)?;
        let mut c = gpu.upload(&HostMatrix::new(9, 9, vec![f32::NAN; 81])?)?;
        gpu.matmul_into(&up, &up, &mut c, Product::new())?;
        let once = gpu.download::<f32>(&c)?;
        assert_eq!(once, product(&a, &a));
        gpu.matmul_into(&up, &up, &mut c, Product::new().alpha(3.0).beta(-1.0))?;
        let twice = gpu.download::<f32>(&c)?;
        assert!(twice.elements().iter().zip(once.elements()).all(|(x, y)| *x == 2.0 * y));
        // Nothing to add up: zeros.
        let (left, right) = (gpu.empty(Element::F32, 9, 0)?, gpu.empty(Element::F32, 0, 9)?);
        gpu.matmul_into(&left, &right, &mut c, Product::new())?;
        assert!(gpu.download::<f32>(&c)?.elements().iter().all(|x| *x == 0.0));
    }
    Ok(())
}

#[test]
fn nothing_is_allocated_after_the_first_iteration() -> Result<()> {
    for gpu in open() {
        let up = gpu.upload(&numbers(64, 64))?;
        let mut after_first = None;
        for _ in 0..20 {
            let turned = gpu.transpose(&up)?;
            let back = gpu.transpose(&turned)?;
            gpu.transpose(&back)?;
            let now = gpu.memory().allocations;
            assert_eq!(*after_first.get_or_insert(now), now);
        }
        let memory = gpu.memory();
        assert!(memory.reuses >= 57, "{memory:?}");
        assert_eq!(gpu.session().allocations().live, memory.in_use + memory.kept);
        gpu.trim();
        assert_eq!((gpu.memory().kept, gpu.session().allocations().live), (0, memory.in_use));
    }
    Ok(())
}

#[test]
fn a_call_runs_often_on_what_its_inputs_hold() -> Result<()> {
    for gpu in gpus() {
        let up = gpu.upload(&numbers(20, 30))?;
        let mut turned = gpu.zeros(Element::F32, 30, 20)?;
        let mut call = gpu.transpose_call(&up, &mut turned)?;
        assert!(call.rungs().all(|rung| rung.starts_with("transpose/")));
        for _ in 0..3 {
            call.run()?;
        }
        drop(call);
        assert_eq!(gpu.download::<f32>(&turned)?, transposed(&numbers(20, 30)));
    }
    Ok(())
}

#[test]
fn offset_views_start_inside_a_binding() -> Result<()> {
    // Kind BUF5: 16 elements of f32 are no multiple of WebGPU's 256 bytes.
    for gpu in gpus() {
        let all = numbers(1, 16 + 40 * 24);
        let up = gpu.upload(&all)?;
        for offset in [1, 16, 64, 67] {
            let row = up.view().part(0..1, offset..offset + 64)?;
            let column = gpu.transpose(row)?;
            let expected = &all.elements()[offset as usize..][..64];
            assert_eq!(gpu.download::<f32>(&column)?.elements(), expected, "offset {offset}");
        }
        let square = gpu.upload(&numbers(24, 40))?;
        let inner = square.view().part(1..20, 16..40)?;
        let turned = gpu.download::<f32>(&gpu.transpose(inner)?)?;
        assert_eq!(turned.get(3, 5), numbers(24, 40).get(6, 19));
    }
    Ok(())
}

#[test]
fn shapes_that_do_not_fit_are_the_same_error_everywhere() -> Result<()> {
    let mut texts = Vec::new();
    for gpu in gpus() {
        let (a, b) = (gpu.upload(&numbers(2, 5))?, gpu.upload(&numbers(3, 7))?);
        let mut errors = vec![gpu.matmul(&a, &b).unwrap_err()];
        let mut out = gpu.zeros(Element::F32, 2, 2)?;
        errors.push(gpu.transpose_into(&a, &mut out).unwrap_err());
        errors.push(gpu.matmul_into(&a, a.t(), out.view_mut().part(0..1, 0..2)?, Product::new()).unwrap_err());
        errors.push(a.view().part(0..3, 0..1).unwrap_err());
        errors.push(gpu.download::<f64>(&a).unwrap_err());
        assert!(errors.iter().all(|e| matches!(e, Error::Shape { .. })), "{errors:?}");
        assert!(errors[0].to_string().contains("2 x 5") && errors[0].to_string().contains("3 x 7"), "{}", errors[0]);
        texts.push(format!("{errors:?}"));
        assert!(matches!(gpu.empty(Element::F32, 1 << 32, 1 << 32), Err(Error::Overflow { .. })));
        gpu.usable()?;
        assert_eq!(gpu.download::<f32>(&gpu.matmul(&a, a.t())?)?.rows(), 2);
    }
    assert!(texts.windows(2).all(|pair| pair[0] == pair[1]));
    Ok(())
}

#[test]
fn what_cannot_fit_is_out_of_memory_or_over_a_limit_and_the_handle_stays_usable() -> Result<()> {
    // Kind ERR1.
    for gpu in gpus() {
        let error = gpu.empty(Element::F32, 400_000, 400_000).unwrap_err();
        let told = matches!(error, Error::OutOfMemory { needed, .. } | Error::Limit { needed, .. } if needed >= 640_000_000_000);
        assert!(told, "{error:?}");
        gpu.usable()?;
        gpu.upload(&numbers(3, 3))?;
    }
    Ok(())
}

/// Inputs, output and the sums of 4 shares fit into a binding, those of 16 do not.
#[test]
fn a_workspace_larger_than_a_binding_is_a_named_limit() -> Result<()> {
    const BINDING: u64 = 512 << 10;
    const SUMS: u64 = 16 * 128 * 128 * 4;
    let select = Select { max_binding: Some(BINDING), ..Select::default() };
    pollster::block_on(async {
        let session = Session::new(Any::open_named("sim", &select).await?);
        let stage = session.stage(&Matmul, &Problem::new(Element::F32, [128, 128, 512]), Inputs::Seeded(1)).await?;
        let rung = |id: &str| Matmul.ladder().iter().find(|rung| rung.id() == id).expect("a rung of the ladder");
        match session.prepare(&stage, rung("split_workspace@16")).await {
            Err(Error::Limit { needed: SUMS, limit: BINDING, .. }) => {}
            other => panic!("{:?}", other.err()),
        }
        session.prepare(&stage, rung("split_workspace@4")).await.map(drop)
    })
}

#[test]
fn a_matrix_of_another_handle_is_refused() -> Result<()> {
    for gpu in gpus() {
        let other = Gpu::new(pollster::block_on(Any::open_named(gpu.device().backend, &Select::default()))?);
        let (a, b) = (gpu.upload(&numbers(4, 4))?, other.upload(&numbers(4, 4))?);
        assert!(matches!(gpu.matmul(&a, &b), Err(Error::WrongDevice(_))));
        assert!(matches!(other.transpose(&a), Err(Error::WrongDevice(_))));
        assert!(matches!(other.download::<f32>(&a), Err(Error::WrongDevice(_))));
    }
    assert_eq!(Any::NAME, "auto");
    Ok(())
}

#[test]
fn futures_can_be_sent_to_another_thread() {
    fn sendable(_: impl Send) {}
    for gpu in gpus() {
        let up = gpu.upload(&numbers(4, 4)).unwrap();
        sendable(gpu.matmul_async(&up, &up));
        sendable(gpu.transpose_async(&up));
        sendable(gpu.download_async::<f32>(&up));
    }
    fn shared<T: Send + Sync>() {}
    shared::<Gpu>();
    shared::<Matrix>();
}

#[test]
fn eight_threads_two_handles_and_mixed_ops() {
    let handles = [open(), open()];
    for (first, second) in handles[0].iter().zip(&handles[1]) {
        // Software devices take milliseconds for what a GPU does in microseconds.
        let calls = match (first.device().is_software(), first.device().backend) {
            (false, _) => 10_000,
            (true, "sim") => 160,
            (true, _) => 480,
        };
        std::thread::scope(|scope| {
            for thread in 0..8u64 {
                let gpu = [first, second][thread as usize % 2];
                scope.spawn(move || mixed(gpu, thread, calls / 8).unwrap());
            }
        });
        assert_eq!((first.memory().in_use, second.memory().in_use), (0, 0));
        println!("{}: {calls} calls, {:?}", first.device().name, first.memory());
    }
}

/// Transposes, products of shared and own operands, and both in a chain, each result compared.
fn mixed(gpu: &Gpu, thread: u64, calls: u64) -> Result<()> {
    let shared = numbers(32, 24);
    let on_shared = gpu.upload(&shared)?;
    for call in 0..calls {
        let host = numbers(32 + 4 * (thread % 2), 24 + 4 * (call % 3));
        let a = gpu.upload(&host)?;
        match call % 4 {
            0 => assert_eq!(
                gpu.download::<f32>(&gpu.matmul(on_shared.t(), &on_shared)?)?,
                product(&transposed(&shared), &shared)
            ),
            1 => {
                let there_and_back = gpu.transpose(&gpu.transpose(&a)?)?;
                assert_eq!(gpu.download::<f32>(&there_and_back)?, host);
            }
            _ => assert_eq!(gpu.download::<f32>(&gpu.transpose(&a)?)?, transposed(&host)),
        }
    }
    Ok(())
}

#[test]
fn what_was_tuned_for_one_k_is_right_for_others() -> Result<()> {
    // Kind TUN5: 126 is not a multiple of the 4 elements that vectors hold, 48 not of a tile.
    for gpu in open() {
        for (tuned, other) in [(128, 126), (64, 48)] {
            let problem = Problem::new(Element::F32, [40, 40, tuned]);
            match gpu.tune_among(&Matmul, &problem, |rung| matches!(&*rung.name, "coalesced" | "tiled")) {
                Err(Error::Unsupported { .. }) if gpu.device().clock == Clock::None => continue,
                tuned => drop(tuned?),
            }
            for k in [tuned, other] {
                let (a, b) = (numbers(40, k), numbers(k, 40));
                let mut c = gpu.zeros(Element::F32, 40, 40)?;
                let (on_a, on_b) = (gpu.upload(&a)?, gpu.upload(&b)?);
                gpu.matmul_into(&on_a, &on_b, &mut c, Product::new())?;
                assert_eq!(gpu.download::<f32>(&c)?, product(&a, &b), "{k} after {tuned}");
            }
        }
    }
    Ok(())
}

#[test]
fn another_op_and_a_named_rung() -> Result<()> {
    let problem = Problem::new(Element::F32, [40, 24]);
    for gpu in gpus() {
        let a = gpu.upload(&numbers(40, 24))?;
        for name in ["tiled", "register_blocked"] {
            let rung = Transpose.ladder().iter().find(|rung| rung.name == name).unwrap();
            let mut b = gpu.zeros(Element::F32, 24, 40)?;
            let mut call = gpu.op_call(&Transpose, &problem, &[a.view()], &mut b, Some(rung))?;
            assert_eq!(call.rungs().collect::<Vec<_>>(), [format!("transpose/{name}")]);
            call.run()?;
            drop(call);
            assert_eq!(gpu.download::<f32>(&b)?, transposed(&numbers(40, 24)));
        }
        let mut wrong = gpu.zeros(Element::F32, 40, 24)?;
        let error = gpu.op_call(&Transpose, &problem, &[a.view()], &mut wrong, None).err().unwrap();
        assert!(matches!(error, Error::Shape { .. }));
        assert!(gpu.chosen(&Transpose, &problem)?.starts_with("transpose/"));
    }
    Ok(())
}

/// A kernel would follow them out of its buffers.
#[test]
fn indices_that_nobody_has_checked_are_refused() -> Result<()> {
    for gpu in gpus() {
        refused_on(gpu)?;
    }
    Ok(())
}

fn refused_on(gpu: &Gpu) -> Result<()> {
    let line = gpu.upload(&[[7u32; 64]])?;
    let mut output = gpu.zeros(Element::U32, 1, 64)?;
    let ops: [(&'static dyn Op, u64, usize); 3] =
        [(&Gather, 64, 64), (&Scatter, 64, 64), (&HierarchyConstant, 64, 256)];
    for (op, spread, entries) in ops {
        let problem = Problem::new(Element::U32, [64, spread]);
        let error = gpu.op_call(op, &problem, &[line.view(), line.view()], &mut output, None).err().unwrap();
        assert!(matches!(error, Error::Unsupported { .. }), "{error}");
        for (index, is_inside) in [(entries as u32 - 1, true), (entries as u32, false)] {
            let indices = std::iter::repeat_n(index, 64).flat_map(u32::to_le_bytes).collect::<Vec<u8>>();
            let operands = vec![vec![0u8; entries * 4].into(), indices.into()];
            let given = Inputs::Given { operands, description: "a test's".into() };
            let staged = pollster::block_on(gpu.session().stage(op, &problem, given));
            assert_eq!(staged.is_ok(), is_inside, "{} {index}", op.name());
        }
    }
    Ok(())
}

#[test]
fn a_buffer_as_large_as_the_address_space_is_refused() {
    for gpu in gpus() {
        for bytes in [u64::MAX, u64::MAX - 20] {
            let made = pollster::block_on(gpu.session().backend().alloc(bytes));
            assert!(matches!(made, Err(Error::Limit { .. } | Error::OutOfMemory { .. })), "{gpu:?}");
        }
    }
}

/// A transpose of the program's own that adds one to the bits of each element.
struct PlusOne;

impl Op for PlusOne {
    as_transpose!(name, dims, shapes, extent, work, params, expected);

    fn about(&self) -> &'static str {
        "output[c][r] = input[r][c] + 1"
    }
    fn ladder(&self) -> &'static [Rung] {
        static LADDER: LazyLock<Vec<Rung>> = LazyLock::new(|| {
            let naive = &Transpose.ladder()[0];
            let gpu_ladder::rung::Source::Text(text) = naive.wgsl() else { panic!("naive is text") };
            vec![naive.clone().with_wgsl(text.replace("= input[", "= 1u + input["))]
        });
        &LADDER
    }
    fn elements(&self) -> &'static [Element] {
        &[Element::U32]
    }
}

#[test]
fn an_op_of_the_same_name_is_another_op() -> Result<()> {
    let problem = Problem::new(Element::U32, [2, 3]);
    let ops: [(&'static dyn Op, u32); 3] = [(&Transpose, 1), (&PlusOne, 2), (&Transpose, 1)];
    for gpu in gpus().iter().filter(|gpu| gpu.device().compute_capability.is_none()) {
        let a = gpu.upload(&[[1u32, 2, 3], [4, 5, 6]])?;
        for (op, first) in ops {
            let mut b = gpu.zeros(Element::U32, 3, 2)?;
            gpu.op_call(op, &problem, &[a.view()], &mut b, None)?.run()?;
            assert_eq!(gpu.download::<u32>(&b)?.elements()[..2], [first, first + 3]);
        }
    }
    Ok(())
}
