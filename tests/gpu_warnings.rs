//! What the library says through `tracing` while it goes on: once, and where a user can see it. A file of its own,
//! since a process has one subscriber.

#[path = "../examples/own_backend/cpu.rs"]
mod cpu;

use cpu::Cpu;
use gpu_ladder::backend::{Any, Backend, Select};
use gpu_ladder::gpu::{Gpu, HostMatrix};
use gpu_ladder::op::Transpose;
use gpu_ladder::{Element, Problem, Result};
use std::cell::RefCell;
use std::path::Path;
use std::process::Command;
use std::sync::Once;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

thread_local! {
    static WARNINGS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Keeps the warnings of each thread.
struct Keeper;

struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0.push_str(&format!("{} {value:?} ", field.name()));
    }
}

impl Subscriber for Keeper {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("gpu_ladder")
    }
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, event: &Event<'_>) {
        if *event.metadata().level() <= Level::WARN {
            let mut text = Text(String::new());
            event.record(&mut text);
            WARNINGS.with_borrow_mut(|warnings| warnings.push(text.0));
        }
    }
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// The warnings of this thread while `work` runs.
fn warnings<T>(work: impl FnOnce() -> T) -> (T, Vec<String>) {
    static SET: Once = Once::new();
    SET.call_once(|| tracing::subscriber::set_global_default(Keeper).unwrap());
    WARNINGS.take();
    let result = work();
    (result, WARNINGS.take())
}

fn cpu() -> Gpu<Cpu> {
    Gpu::new(pollster::block_on(Cpu::open(&Select::default())).unwrap())
}

/// Tunes and uses what was found.
fn tune(gpu: &Gpu<Cpu>) -> Result<()> {
    gpu.tune_among(&Transpose, &Problem::new(Element::F32, [33, 65]), |rung| rung.name == "naive")?;
    let a = gpu.upload(&HostMatrix::from_fn(33, 65, |r, c| (r * 100 + c) as f32)?)?;
    assert_eq!(gpu.download::<f32>(&gpu.transpose(&a)?)?.get(64, 32), Some(3264.0));
    Ok(())
}

#[test]
fn a_damaged_tuning_file_is_told_once() -> Result<()> {
    // Kind TUN1.
    let folder = tempfile::tempdir().unwrap();
    let gpu = cpu();
    gpu.keep_tuning_in(Some(folder.path()));
    tune(&gpu)?;
    let file = gpu.tuning_file().unwrap();
    let whole = std::fs::read(&file).unwrap();
    std::fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    let again = cpu();
    let (_, told) = warnings(|| again.keep_tuning_in(Some(folder.path())));
    assert!(told.len() == 1 && told[0].contains("damaged"), "{told:?}");
    tune(&again)?;
    let (_, told) = warnings(|| cpu().keep_tuning_in(Some(folder.path())));
    assert_eq!(told, [""; 0], "it was written anew");
    assert_eq!(std::fs::read(&file).unwrap(), whole);
    Ok(())
}

#[test]
fn a_folder_that_cannot_be_written_is_told_once() {
    // Kind TUN3. A file in the folder's place stops also a user who may write everywhere.
    let folder = tempfile::tempdir().unwrap();
    let blocked = folder.path().join("file");
    std::fs::write(&blocked, "not a folder").unwrap();
    let gpu = cpu();
    gpu.keep_tuning_in(Some(&blocked.join("below")));
    let (result, told) = warnings(|| tune(&gpu).and_then(|()| tune(&gpu)));
    result.unwrap();
    assert!(told.len() == 1 && told[0].contains("not kept"), "{told:?}");
}

#[test]
fn without_a_home_tuning_lasts_as_long_as_the_handle() {
    // Kind TUN3.
    if std::env::var_os("GPU_LADDER_TEST_HOMELESS").is_some() {
        let gpu = cpu();
        assert_eq!(gpu.tuning_file(), None);
        let (result, told) = warnings(|| tune(&gpu).and_then(|()| tune(&gpu)));
        result.unwrap();
        assert!(told.len() == 1 && told[0].contains("not kept"), "{told:?}");
        return;
    }
    let mut alone = Command::new(std::env::current_exe().unwrap());
    alone.args(["--exact", "without_a_home_tuning_lasts_as_long_as_the_handle"]);
    for variable in ["HOME", "XDG_CACHE_HOME", "LOCALAPPDATA", "GPU_LADDER_CACHE"] {
        alone.env_remove(variable);
    }
    let output = alone.env("GPU_LADDER_TEST_HOMELESS", "1").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn nothing_on_disk_is_what_was_asked_for() {
    let gpu = cpu();
    gpu.keep_tuning_in(None::<&Path>);
    let (result, told) = warnings(|| tune(&gpu));
    result.unwrap();
    assert_eq!(told, [""; 0]);
}

#[test]
fn a_device_that_only_imitates_a_gpu_is_told() {
    // Kind DEV1.
    let (opened, told) = warnings(|| pollster::block_on(Any::open(&Select::default())));
    let any = match opened {
        Ok(any) => any,
        Err(error) if cfg!(feature = "sim") => panic!("the simulator opens everywhere: {error}"),
        Err(_) => return,
    };
    if any.device().is_software() {
        assert!(told.len() == 1 && told[0].contains(&any.device().name), "{told:?}");
        assert!(told[0].contains("imitates"), "{told:?}");
    } else {
        assert_eq!(told, [""; 0]);
    }
}
