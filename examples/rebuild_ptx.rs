//! Compiles the embedded CUDA kernels (`cuda/ptx/`) whose source or options changed.
//!
//! ```text
//! GPU_LADDER_NVRTC=<path of libnvrtc.so.12> cargo run --release --features nvrtc --example rebuild_ptx
//! ```
//! `--check` only lists what is stale and exits with 1 if anything is. `--all` compiles everything
//! again. `--allow-any` takes another NVRTC than the pinned one, whose PTX older drivers may not read.

use gpu_ladder::backend::cuda::artefacts::{self, Image, PINNED_NVRTC};
use gpu_ladder::backend::cuda::nvrtc::Nvrtc;
use gpu_ladder::op::shipped_programs;
use gpu_ladder::rung::{Arch, Program, Source};
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;

const USAGE: &str = "usage: rebuild_ptx [--check] [--all] [--allow-any]";
/// What the assembler says when a kernel cannot run as it was meant to: register hints (C7508) and
/// asynchronous products (C7510 to C7519) that it had to give up.
const WORRIES: [&str; 2] = ["C7508", "C751"];

#[derive(Default)]
struct Flags {
    check: bool,
    all: bool,
    allow_any: bool,
}

/// One file to write: its programs differ only in their entry.
struct Job {
    file: String,
    programs: Vec<Program>,
}

/// A written file, as a line of the index.
struct Line {
    file: String,
    text: String,
}

fn main() -> ExitCode {
    match flags().and_then(|flags| run(&flags)) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("rebuild_ptx: {error}");
            ExitCode::from(2)
        }
    }
}

fn flags() -> Result<Flags, Box<dyn Error>> {
    let mut flags = Flags::default();
    for word in std::env::args().skip(1) {
        match word.as_str() {
            "--check" => flags.check = true,
            "--all" => flags.all = true,
            "--allow-any" => flags.allow_any = true,
            other => return Err(format!("unknown argument '{other}'; {USAGE}").into()),
        }
    }
    Ok(flags)
}

fn run(flags: &Flags) -> Result<ExitCode, Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("cuda/ptx");
    let programs = shipped_programs();
    let mut stale = artefacts::stale(&programs);
    let jobs = jobs(programs)?;
    let names: BTreeSet<&str> = jobs.iter().map(|job| job.file.as_str()).collect();
    for name in unknown_files(&folder, &names)? {
        stale.insert(name, "belongs to no program");
    }
    if flags.check {
        for (name, problem) in &stale {
            println!("{name} {problem}");
        }
        println!("{} of {} artefacts are stale", stale.len(), jobs.len());
        return Ok(if stale.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    let (todo, kept): (Vec<_>, Vec<_>) = jobs.into_iter().partition(|job| flags.all || stale.contains_key(&job.file));
    let mut lines: Vec<Line> = kept.iter().map(kept_line).collect::<Option<_>>().ok_or("an artefact vanished")?;
    let mut failed = 0;
    if !todo.is_empty() {
        for line in compile_all(compiler(flags)?, &todo, &folder) {
            match line {
                Ok(line) => lines.push(line),
                Err(error) => {
                    eprintln!("{error}");
                    failed += 1;
                }
            }
        }
    }
    write_index(&folder, &mut lines)?;
    let known: BTreeSet<&str> = lines.iter().map(|line| line.file.as_str()).collect();
    let removed = unknown_files(&folder, &known)?;
    for name in &removed {
        std::fs::remove_file(folder.join(name))?;
    }
    let bytes = lines
        .iter()
        .map(|line| std::fs::metadata(folder.join(&line.file)).map(|meta| meta.len()))
        .sum::<Result<u64, _>>()?;
    let (compiled, mib) = (lines.len() - kept.len(), bytes as f64 / f64::from(1 << 20));
    println!("{compiled} compiled, {} kept, {} removed, {failed} failed; {mib:.2} MiB", kept.len(), removed.len());
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The files that the programs need.
fn jobs(programs: Vec<Program>) -> Result<Vec<Job>, Box<dyn Error>> {
    let mut jobs: BTreeMap<String, Vec<Program>> = BTreeMap::new();
    for program in programs {
        if artefacts::fingerprint(&program).is_some() {
            jobs.entry(artefacts::file_name(&program.artefact_key(), program.cuda_needs.arch))
                .or_default()
                .push(program);
        }
    }
    for (file, programs) in &jobs {
        let sources: BTreeSet<_> = programs.iter().map(artefacts::fingerprint).collect();
        if sources.len() > 1 {
            return Err(format!("{file} would be made from {} sources: their keys must differ", sources.len()).into());
        }
    }
    Ok(jobs.into_iter().map(|(file, programs)| Job { file, programs }).collect())
}

/// Files in the folder that are neither the index nor named.
fn unknown_files(folder: &Path, names: &BTreeSet<&str>) -> std::io::Result<Vec<String>> {
    let mut unknown = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name != "index.rs" && !names.contains(name.as_str()) {
            unknown.push(name);
        }
    }
    Ok(unknown)
}

fn compiler(flags: &Flags) -> Result<&'static Nvrtc, Box<dyn Error>> {
    let nvrtc = Nvrtc::load()?;
    let ((major, minor), (pinned_major, pinned_minor)) = (nvrtc.version(), PINNED_NVRTC);
    if (major, minor) != PINNED_NVRTC && !flags.allow_any {
        return Err(format!(
            "this is NVRTC {major}.{minor}, and the artefacts are made with {pinned_major}.{pinned_minor} \
             (pip install nvidia-cuda-nvrtc-cu12==12.0.140); --allow-any takes it all the same"
        )
        .into());
    }
    Ok(nvrtc)
}

/// Compiles the jobs on every core.
fn compile_all(nvrtc: &Nvrtc, jobs: &[Job], folder: &Path) -> Vec<Result<Line, String>> {
    let (next, done) = (Mutex::new(jobs.iter()), Mutex::new(Vec::with_capacity(jobs.len())));
    // A function of its own, so that the lock is let go before the work begins.
    let take = || next.lock().ok()?.next();
    let work = || {
        while let Some(job) = take() {
            let line = compile(nvrtc, job, folder).map_err(|error| format!("{}: {error}", job.file));
            if let Ok(mut done) = done.lock() {
                done.push(line);
                eprintln!("{}/{} {}", done.len(), jobs.len(), job.file);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    done.into_inner().unwrap_or_default()
}

fn compile(nvrtc: &Nvrtc, job: &Job, folder: &Path) -> Result<Line, Box<dyn Error>> {
    let program = job.programs.first().ok_or("no program")?;
    let Source::Text(text) = program.cuda() else { return Err("no CUDA text".into()) };
    let arch = program.cuda_needs.arch;
    let mut options = artefacts::options(program, arch.name());
    let machine_code = arch == Arch::Sm90a;
    if machine_code {
        options.push("--ptxas-options=-v".into()); // reports spills
    }
    let compiled = nvrtc.compile(&program.label, text, &options)?;
    for program in &job.programs {
        artefacts::compare_parameters(program, &Image::Ptx(compiled.ptx.as_str().into()))?;
    }
    let worry = |line: &&str| WORRIES.iter().any(|code| line.contains(code)) || is_spill(line);
    if let Some(line) = compiled.log.lines().find(worry) {
        return Err(line.trim().to_string().into());
    }
    let bytes =
        if machine_code { compiled.cubin.ok_or("NVRTC gave no machine code")? } else { compiled.ptx.into_bytes() };
    write(&folder.join(&job.file), &bytes)?;
    Ok(line(job, artefacts::fingerprint_of_bytes(&bytes)).ok_or("no fingerprint")?)
}

/// Whether a line of the assembler's report counts spills.
fn is_spill(line: &str) -> bool {
    line.contains("spill") && line.split(',').any(|part| part.contains("spill") && !part.trim_start().starts_with("0 "))
}

fn kept_line(job: &Job) -> Option<Line> {
    let program = job.programs.first()?;
    let (key, arch) = (program.artefact_key(), program.cuda_needs.arch);
    let artefact = artefacts::ARTEFACTS.iter().find(|artefact| artefact.key == key && artefact.arch == arch)?;
    line(job, artefact.content)
}

/// The line of the index for a job's file.
fn line(job: &Job, content: u128) -> Option<Line> {
    let program = job.programs.first()?;
    let (key, arch, source) = (program.artefact_key(), program.cuda_needs.arch, artefacts::fingerprint(program)?);
    let embedded = match arch {
        Arch::Sm90a => format!("Cubin(include_bytes!({:?}))", job.file),
        _ => format!("Ptx(include_str!({:?}))", job.file),
    };
    let text = format!(
        "    Artefact {{\n        key: {key:?},\n        arch: Arch::{arch:?},\n        source: {source:#034x},\n        \
         content: {content:#034x},\n        embedded: Embedded::{embedded},\n    }},\n"
    );
    Some(Line { file: job.file.clone(), text })
}

fn write_index(folder: &Path, lines: &mut [Line]) -> std::io::Result<()> {
    lines.sort_by(|a, b| a.file.cmp(&b.file));
    let mut text = String::from("// Written by examples/rebuild_ptx.rs. Do not edit.\n&[\n");
    for line in lines {
        let _ = write!(text, "{}", line.text);
    }
    text.push_str("]\n");
    write(&folder.join("index.rs"), text.as_bytes())
}

/// Writes a file so that it is never seen half-written.
fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    let new = PathBuf::from(name);
    std::fs::write(&new, bytes)?;
    std::fs::rename(&new, path)
}
