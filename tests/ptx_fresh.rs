//! The embedded CUDA kernels are what today's sources give: no GPU and no compiler needed. Where
//! `ptxas` is at hand (on the path, or named by `GPU_LADDER_PTXAS`), none of them may spill either; of
//! machine code that is always checked, and that its products run without a wait after each (C7510, which is an
//! error of `rebuild_ptx` too).

use gpu_ladder::backend::cuda::artefacts::{self, ARTEFACTS, Artefact, Embedded, PINNED_NVRTC, REBUILD};
use gpu_ladder::backend::cuda::cubin::{bytes_at, sections};
use gpu_ladder::op::shipped_programs;
use gpu_ladder::rung::Arch;
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// The PTX version that the pinned NVRTC writes.
const PTX_VERSION: &str = ".version 8.0";
/// The assembler's words for a kernel whose asynchronous products or register hints it gave up.
const WORRIES: [&str; 2] = ["C7508", "C751"];

/// Kernels that may spill, and how many bytes a thread may store: those that are there to show what it costs, and some
/// whose bound on registers keeps enough blocks on a multiprocessor at the price of a few words (what the other way
/// costs is not measured). No other may.
const MAY_SPILL: [(&str, u32); 3] = [("registers/capped@", u32::MAX), ("matmul/gemv@", 72), ("transpose/skinny", 4)];

fn main() -> ExitCode {
    let ptxas = ptxas();
    let mut trials = vec![
        Trial::test("nothing_is_stale", nothing_is_stale),
        Trial::test("no_file_is_left_over", no_file_is_left_over),
        Trial::test("entries_take_what_launches_pass", entries_take_what_launches_pass),
        Trial::test("ptx_is_of_the_pinned_version_and_target", ptx_is_of_the_pinned_version_and_target),
        Trial::test("the_package_stays_small", the_package_stays_small),
    ];
    for artefact in ARTEFACTS {
        let (file, ptxas) = (artefacts::file_name(artefact.key, artefact.arch), ptxas.clone());
        let name = format!("assembles_without_spills::{file}");
        trials.push(Trial::ignorable_test(name, move || assembles_without_spills(artefact, &file, ptxas.as_deref())));
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn nothing_is_stale() -> Result<(), Failed> {
    let stale = artefacts::stale(&shipped_programs());
    let lines: Vec<String> = stale.iter().map(|(file, problem)| format!("{file} {problem}")).collect();
    if lines.is_empty() { Ok(()) } else { Err(format!("{}\nrebuild with: {REBUILD}", lines.join("\n")).into()) }
}

fn no_file_is_left_over() -> Result<(), Failed> {
    let known: Vec<String> = ARTEFACTS.iter().map(|a| artefacts::file_name(a.key, a.arch)).collect();
    for entry in std::fs::read_dir(folder())? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name != "index.rs" && !known.contains(&name) {
            return Err(format!("cuda/ptx/{name} is not in the index; rebuild with: {REBUILD}").into());
        }
    }
    Ok(())
}

fn entries_take_what_launches_pass() -> Result<(), Failed> {
    for program in shipped_programs() {
        let key = program.artefact_key();
        let found = ARTEFACTS.iter().find(|a| a.key == key && a.arch == program.cuda_needs.arch);
        // A missing one is another test's matter.
        if let Some(artefact) = found {
            let compared = artefacts::compare_parameters(&program, &artefact.image());
            compared.map_err(|problem| format!("{key}: {problem}"))?;
        }
    }
    Ok(())
}

fn ptx_is_of_the_pinned_version_and_target() -> Result<(), Failed> {
    assert_eq!(PINNED_NVRTC, (12, 0), "PTX_VERSION above must follow");
    for artefact in ARTEFACTS {
        let Embedded::Ptx(text) = artefact.embedded else { continue };
        let target = format!(".target {}", artefact.arch.name().replace("compute", "sm"));
        for line in [PTX_VERSION, &target] {
            if !text.lines().any(|l| l.trim_end() == line) {
                return Err(format!("{} has no line «{line}»", artefact.key).into());
            }
        }
    }
    Ok(())
}

/// The registry takes 10 MB, compressed; text like PTX shrinks to a fifth or less.
fn the_package_stays_small() -> Result<(), Failed> {
    const MOST_BYTES: usize = 32 << 20;
    let bytes: usize = ARTEFACTS.iter().map(|artefact| artefact.bytes().len()).sum();
    if bytes <= MOST_BYTES { Ok(()) } else { Err(format!("{bytes} bytes of artefacts, {MOST_BYTES} at most").into()) }
}

fn assembles_without_spills(artefact: &Artefact, file: &str, ptxas: Option<&Path>) -> Result<Completion, Failed> {
    if let Embedded::Cubin(bytes) = artefact.embedded {
        let (products, waits) = products_and_waits(bytes).ok_or("no sections in the machine code")?;
        if products > 0 && waits >= products {
            return Err(format!("{waits} waits for {products} products: they run one after the other").into());
        }
        return match frames(bytes) {
            None => Err("no frame sizes in the machine code".into()),
            Some(frames) if frames.iter().any(|&bytes| bytes > 0) => {
                Err(format!("stack frames of {frames:?} bytes").into())
            }
            Some(_) => Ok(Completion::Completed),
        };
    }
    let Some(ptxas) = ptxas else {
        return Ok(Completion::ignored_with("no ptxas: set GPU_LADDER_PTXAS or put it on the path"));
    };
    let target = match artefact.arch {
        Arch::Compute90 | Arch::Sm90a => "sm_90",
        Arch::Compute70 | Arch::Compute80 => "sm_80",
    };
    let output = Command::new(ptxas)
        .args(["-v", "--output-file", if cfg!(windows) { "NUL" } else { "/dev/null" }])
        .arg(format!("--gpu-name={target}"))
        .arg(folder().join(file))
        .output()?;
    let report = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(report.into_owned().into());
    }
    let most = MAY_SPILL.iter().find(|(key, _)| artefact.key.starts_with(key)).map_or(0, |&(_, bytes)| bytes);
    let spilled = |line: &str| {
        let stores = line.split(',').find_map(|part| part.trim().strip_suffix(" bytes spill stores"));
        stores.map_or(0, |bytes| bytes.parse().unwrap_or(u32::MAX))
    };
    let spills = |line: &&str| spilled(line) > most || WORRIES.iter().any(|code| line.contains(code));
    match report.lines().find(spills) {
        Some(line) => Err(format!("{}\n{report}", line.trim()).into()),
        None => Ok(Completion::Completed),
    }
}

/// The stack frames of a cubin's functions, in bytes: what spills lies there. `None` where it tells of none.
fn frames(cubin: &[u8]) -> Option<Vec<u32>> {
    /// An attribute of 8 bytes: the function's symbol and a value.
    const SIZED: u8 = 4;
    const FRAME_SIZE: u8 = 0x11;
    let mut frames = Vec::new();
    for (_, info) in sections(cubin)?.iter().filter(|(name, _)| *name == b".nv.info") {
        let mut at = 0;
        while at < info.len() {
            let (kind, attribute, bytes) = (info[at], *info.get(at + 1)?, u16::from_le_bytes(bytes_at(info, at + 2)?));
            if (kind, attribute) == (SIZED, FRAME_SIZE) {
                frames.push(u32::from_le_bytes(bytes_at(info, at + 8)?));
            }
            at += 4 + if kind == SIZED { usize::from(bytes) } else { 0 };
        }
    }
    (!frames.is_empty()).then_some(frames)
}

/// The products of warpgroups in a cubin's functions, and the waits for them. Where the assembler gives up on
/// running products asynchronously, there are as many.
fn products_and_waits(cubin: &[u8]) -> Option<(usize, usize)> {
    /// Bytes of an instruction, whose first half has the operation in its lowest bits.
    const INSTRUCTION: usize = 16;
    let is_product = |word: u64| word & 0xBFF == 0x9F0; // HGMMA, a from shared memory or from registers
    let is_wait = |word: u64| word & 0xFFF == 0x9C5 && word >> 47 & 1 == 1; // WARPGROUP.DEPBAR
    let (mut products, mut waits) = (0, 0);
    for (_, code) in sections(cubin)?.iter().filter(|(name, _)| name.starts_with(b".text.")) {
        let words = code.chunks_exact(INSTRUCTION).filter_map(|bytes| bytes_at(bytes, 0).map(u64::from_le_bytes));
        for word in words {
            products += usize::from(is_product(word));
            waits += usize::from(is_wait(word));
        }
    }
    Some((products, waits))
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("cuda/ptx")
}

/// The assembler that the environment names or the path holds.
fn ptxas() -> Option<PathBuf> {
    let named = std::env::var_os("GPU_LADDER_PTXAS").filter(|path| !path.is_empty()).map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = || std::env::split_paths(&path).map(|folder| folder.join("ptxas")).find(|file| file.is_file());
    named.or_else(found)
}
