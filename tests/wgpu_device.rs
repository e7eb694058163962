//! The portable backend on devices that lack what ours usually asks for, and its errors.

mod required;

use gpu_ladder::backend::wgpu::Wgpu;
use gpu_ladder::backend::{Backend, Clock, Select};
use gpu_ladder::op::{Matmul, Op, Transpose};
use gpu_ladder::rung::{Accepts, Grid, Rung};
use gpu_ladder::{Element, Error, Inputs, Problem, Result, Session, Timing, Verdict, Verified};
use libtest_mimic::{Arguments, Failed, Trial};

/// One test.
type Check = fn() -> std::result::Result<(), Failed>;

fn main() {
    let arguments = Arguments::from_args();
    let required = required::is_required("wgpu");
    let tests: &[(&str, Check)] = &[
        ("without_timestamps_the_host_clock_is_used_and_named", without_timestamps),
        ("a_block_beyond_the_limit_names_product_and_limit", small_blocks),
        ("workgroup_memory_beyond_the_limit_names_both_numbers", small_memory),
        ("a_device_without_cooperative_matrices_says_so", no_cooperative_matrices),
        ("an_invalid_shader_is_an_error_with_its_words", invalid_shader),
        ("a_shader_without_the_entry_point_is_an_error", missing_entry),
        ("a_device_index_beyond_the_last_lists_what_there_is", unknown_device),
        ("a_session_works_from_another_thread", other_thread),
        ("an_error_leaves_the_session_usable", usable_after_error),
        ("a_buffer_beyond_the_limit_is_refused_before_work", huge_buffer),
        ("a_large_buffer_begins_clear_and_keeps_what_is_written", large_buffer),
    ];
    let opened = pollster::block_on(Wgpu::open(&Select::default()));
    let trials = match opened {
        Err(error) if !required => {
            let name = format!("wgpu_device (skipped: {error})");
            vec![Trial::test(name, || Ok(())).with_ignored_flag(true)]
        }
        _ => tests.iter().map(|(name, test)| Trial::test(*name, *test)).collect(),
    };
    libtest_mimic::run(&arguments, trials).exit();
}

/// A device with WebGPU's default limits and no features, as a program of one's own may have it.
fn plain_device(change: impl FnOnce(&mut wgpu::Limits)) -> std::result::Result<Session<Wgpu>, Failed> {
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle_from_env();
    descriptor.backends &= wgpu::Backends::PRIMARY;
    let instance = wgpu::Instance::new(descriptor);
    let adapter = pollster::block_on(instance.request_adapter(&wgpu::RequestAdapterOptions::default()))?;
    let mut limits = wgpu::Limits::default();
    change(&mut limits);
    let request = wgpu::DeviceDescriptor { required_limits: limits, ..Default::default() };
    let (device, queue) = pollster::block_on(adapter.request_device(&request))?;
    Ok(Session::new(Wgpu::from_device(&adapter.get_info(), device, queue, &Select::default())))
}

fn rung(name: &str) -> &'static Rung {
    Transpose.ladder().iter().find(|r| r.id() == name).expect("a shipped rung")
}

fn prove(session: &Session<Wgpu>, rung: &Rung) -> Result<Verified<Wgpu>> {
    pollster::block_on(async {
        let stage = session.stage(&Transpose, &Problem::new(Element::F32, [100, 60]), Inputs::Seeded(1)).await?;
        match session.verify(session.prepare(&stage, rung).await?).await? {
            Verdict::Pass(proof) => Ok(proof),
            Verdict::Fail(mismatch) => panic!("{mismatch}"),
        }
    })
}

fn refused(result: Result<Verified<Wgpu>>) -> std::result::Result<Error, Failed> {
    result.err().ok_or_else(|| "it was accepted".into())
}

fn without_timestamps() -> std::result::Result<(), Failed> {
    let session = plain_device(|_| {})?;
    let proof = prove(&session, rung("naive"))?;
    let samples = pollster::block_on(session.time(&[&proof], &Timing::brief()))?;
    assert!(matches!(samples[0].clock, Clock::Host { .. }) && samples[0].median() > 0.0);
    assert_eq!(samples[0].clock.name(), "host");
    Ok(())
}

fn small_blocks() -> std::result::Result<(), Failed> {
    let session = plain_device(|limits| limits.max_compute_invocations_per_workgroup = 256)?;
    let error = refused(prove(&session, rung("tiled_padded@32")))?;
    assert!(matches!(error, Error::Limit { needed: 1024, limit: 256, unit: "threads", .. }), "{error}");
    assert!(error.to_string().contains("32x32x1"), "{error}");
    prove(&session, rung("tiled_padded@16"))?;
    Ok(())
}

fn small_memory() -> std::result::Result<(), Failed> {
    let session = plain_device(|limits| limits.max_compute_workgroup_storage_size = 8192)?;
    let error = refused(prove(&session, rung("register_blocked")))?;
    assert!(matches!(error, Error::Limit { needed: 16_384, limit: 8192, unit: "bytes", .. }), "{error}");
    Ok(())
}

fn no_cooperative_matrices() -> std::result::Result<(), Failed> {
    let session = plain_device(|_| {})?;
    // What a rung needs of a problem is asked first: those that need nothing are left.
    for rung in Matmul.ladder().iter().filter(|r| r.cooperative.is_some() && r.needs.is_empty()) {
        let problem = Problem::new(Element::F16, [20, 30, 40]).with_output(Element::F32);
        let refused = pollster::block_on(async {
            let stage = session.stage(&Matmul, &problem, Inputs::Seeded(1)).await?;
            session.prepare(&stage, rung).await.map(|_| ())
        });
        match refused {
            Err(Error::Unsupported { because, .. }) if because.contains("cooperative matrices") => {}
            other => return Err(format!("{}: {other:?}", rung.id()).into()),
        }
    }
    Ok(())
}

fn own(text: &str) -> Rung {
    Rung::new("own", [64, 1, 1], Grid::Tiles { x: 64, y: 1 }).with_wgsl(text.to_string()).with_accepts(Accepts::PACKED)
}

fn invalid_shader() -> std::result::Result<(), Failed> {
    let session = Session::new(pollster::block_on(Wgpu::open(&Select::default()))?);
    let error =
        refused(prove(&session, &own("@compute @workgroup_size(64) fn transpose_own() { let x: u32 = 1.5; }")))?;
    assert!(
        matches!(&error, Error::Compile { label, log } if label == "transpose/own" && log.contains("u32")),
        "{error}"
    );
    Ok(())
}

fn missing_entry() -> std::result::Result<(), Failed> {
    let session = Session::new(pollster::block_on(Wgpu::open(&Select::default()))?);
    let error = refused(prove(&session, &own("@compute @workgroup_size(64) fn another() {}")))?;
    assert!(matches!(&error, Error::Compile { log, .. } if log.contains("transpose_own")), "{error}");
    Ok(())
}

fn unknown_device() -> std::result::Result<(), Failed> {
    let select = Select { device: Some("99".into()), ..Select::default() };
    match pollster::block_on(Wgpu::open(&select)) {
        Err(Error::NoDevice { available, .. }) if !available.is_empty() => Ok(()),
        Err(other) => Err(other.into()),
        Ok(_) => Err("it was opened".into()),
    }
}

fn other_thread() -> std::result::Result<(), Failed> {
    let session = Session::new(pollster::block_on(Wgpu::open(&Select::default()))?);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..4).map(|_| scope.spawn(|| prove(&session, rung("coarsened")).map(|_| ()))).collect();
        workers.into_iter().try_for_each(|w| w.join().expect("no panic"))
    })?;
    Ok(())
}

fn usable_after_error() -> std::result::Result<(), Failed> {
    let session = Session::new(pollster::block_on(Wgpu::open(&Select::default()))?);
    refused(prove(&session, &own("not WGSL")))?;
    prove(&session, rung("swizzled"))?;
    Ok(())
}

/// From this size on a buffer's memory is asked of Vulkan itself.
fn large_buffer() -> std::result::Result<(), Failed> {
    const BYTES: u64 = 256 << 20;
    pollster::block_on(async {
        let wgpu = Wgpu::open(&Select::default()).await?;
        if wgpu.device().limits.buffer < BYTES {
            return Ok(());
        }
        let buffer = wgpu.alloc(BYTES).await?;
        let (ends, mut read) = ([0, BYTES / 2, BYTES - 16], [1u8; 16]);
        for offset in ends {
            wgpu.download(&buffer, offset, &mut read).await?;
            assert_eq!(read, [0; 16], "at {offset}");
        }
        for offset in ends {
            wgpu.upload(&buffer, offset, &[offset as u8 + 7; 16]).await?;
        }
        for offset in ends {
            wgpu.download(&buffer, offset, &mut read).await?;
            assert_eq!(read, [offset as u8 + 7; 16], "at {offset}");
        }
        assert!(wgpu.device().memory.is_none_or(|memory| memory >= BYTES), "{:?}", wgpu.device().memory);
        Ok(())
    })
}

fn huge_buffer() -> std::result::Result<(), Failed> {
    let session = Session::new(pollster::block_on(Wgpu::open(&Select::default()))?);
    let problem = Problem::new(Element::F32, [400_000, 400_000]);
    let staged = pollster::block_on(session.stage(&Transpose, &problem, Inputs::Seeded(1)));
    match staged {
        Err(Error::Limit { needed: 640_000_000_000, .. }) => Ok(()),
        Err(other) => Err(other.into()),
        Ok(_) => Err("it was accepted".into()),
    }
}
