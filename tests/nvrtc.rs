//! The run-time compiler, on any machine that has its library; no GPU needed. Where there is none,
//! all but the last test are visible skips, and failures where `GPU_LADDER_REQUIRE` names nvrtc.

mod required;

use gpu_ladder::Error;
use gpu_ladder::backend::cuda::artefacts::OPTIONS;
use gpu_ladder::backend::cuda::nvrtc::{Compiled, Nvrtc};
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use std::process::{Command, ExitCode};

const PROBE: &str = include_str!("kernels/probe.cu");
/// Makes this program load the compiler and say how that went.
const ALONE: &str = "GPU_LADDER_NVRTC_TEST_ALONE";

type Test = fn(&Nvrtc) -> Result<(), Failed>;

const TESTS: &[(&str, Test)] = &[
    ("ptx_has_the_entries", ptx_has_the_entries),
    ("machine_code_comes_with_its_ptx", machine_code_comes_with_its_ptx),
    ("output_is_reproducible", output_is_reproducible),
    ("mistakes_come_with_the_log", mistakes_come_with_the_log),
    ("an_unknown_target_is_named", an_unknown_target_is_named),
    ("a_nul_byte_is_a_typed_error", a_nul_byte_is_a_typed_error),
];

fn main() -> ExitCode {
    if std::env::var_os(ALONE).is_some() {
        let typed =
            matches!(Nvrtc::load(), Err(Error::NoBackend { remedy, .. }) if remedy.contains("GPU_LADDER_NVRTC"));
        return if typed { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let mut trials: Vec<Trial> = TESTS
        .iter()
        .map(|&(name, test)| {
            Trial::ignorable_test(name, move || match Nvrtc::load() {
                Ok(nvrtc) => test(nvrtc).map(|()| Completion::Completed),
                Err(error) => skip(&error),
            })
        })
        .collect();
    trials.push(Trial::test("a_wrong_path_says_what_to_do", a_wrong_path_says_what_to_do));
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn skip(error: &Error) -> Result<Completion, Failed> {
    let required = required::is_required("nvrtc");
    if required { Err(error.into()) } else { Ok(Completion::ignored_with(error)) }
}

fn compile(nvrtc: &Nvrtc, text: &str, target: &str) -> Result<Compiled, Error> {
    let mut options = vec![format!("--gpu-architecture={target}")];
    options.extend(OPTIONS.iter().map(|option| option.to_string()));
    nvrtc.compile("test/probe", text, &options)
}

fn ptx_has_the_entries(nvrtc: &Nvrtc) -> Result<(), Failed> {
    let compiled = compile(nvrtc, PROBE, "compute_80")?;
    for entry in ["add", "stray", "reverse"] {
        assert!(compiled.ptx.contains(&format!(".entry {entry}(")), "{entry}");
    }
    assert!(compiled.cubin.is_none() && !compiled.ptx.contains("nv6target") && !compiled.ptx.contains('\0'));
    Ok(())
}

fn machine_code_comes_with_its_ptx(nvrtc: &Nvrtc) -> Result<(), Failed> {
    let compiled = compile(nvrtc, PROBE, "sm_90a")?;
    assert!(compiled.ptx.contains(".target sm_90a"));
    assert!(compiled.cubin.is_some_and(|bytes| bytes.starts_with(b"\x7fELF")));
    Ok(())
}

fn output_is_reproducible(nvrtc: &Nvrtc) -> Result<(), Failed> {
    assert_eq!(compile(nvrtc, PROBE, "sm_90a")?, compile(nvrtc, PROBE, "sm_90a")?);
    Ok(())
}

fn mistakes_come_with_the_log(nvrtc: &Nvrtc) -> Result<(), Failed> {
    match compile(nvrtc, "__global__ void f() { undeclared; }", "compute_80") {
        Err(Error::Compile { label, log })
            if label == "test/probe" && log.contains("undeclared") && !log.contains('\0') =>
        {
            Ok(())
        }
        other => Err(format!("{other:?}").into()),
    }
}

fn an_unknown_target_is_named(nvrtc: &Nvrtc) -> Result<(), Failed> {
    let (major, minor) = nvrtc.version();
    match compile(nvrtc, PROBE, "sm_999") {
        Err(Error::Compile { log, .. }) if log.contains("sm_999") && log.contains(&format!("{major}.{minor}")) => {
            Ok(())
        }
        other => Err(format!("{other:?}").into()),
    }
}

fn a_nul_byte_is_a_typed_error(nvrtc: &Nvrtc) -> Result<(), Failed> {
    match compile(nvrtc, "void f() {}\0", "compute_80") {
        Err(Error::Compile { log, .. }) if log.contains("NUL byte at 11") => Ok(()),
        other => Err(format!("{other:?}").into()),
    }
}

fn a_wrong_path_says_what_to_do() -> Result<(), Failed> {
    let mut command = Command::new(std::env::current_exe()?);
    let status = command.env(ALONE, "1").env("GPU_LADDER_NVRTC", "/no/such/libnvrtc.so").status()?;
    if status.success() { Ok(()) } else { Err("not NoBackend with a remedy".into()) }
}
