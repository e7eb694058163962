//! Kinds of faults that people met in tools of this field, as they would show here: output files,
//! terminals, clocks and the profiler's rights.

mod required;

use assert_cmd::Command;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::{Duration, Instant};

fn tool() -> PathBuf {
    assert_cmd::cargo::cargo_bin("gpu-ladder")
}

/// The tool where no adapter and no CUDA device can be found, and nothing is kept.
fn command(arguments: &[&str], folder: &Path) -> Command {
    let mut command = Command::new(tool());
    command.args(arguments).env_remove("LC_ALL").env("LANG", "C").env("GPU_LADDER_STATE", folder);
    command.env("VK_DRIVER_FILES", "/nonexistent").env("WGPU_BACKEND", "vulkan").env("CUDA_VISIBLE_DEVICES", "");
    command
}

fn parts(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}

fn run(arguments: &[&str]) -> (i32, String, String) {
    let folder = tempfile::tempdir().expect("a folder");
    parts(&command(arguments, folder.path()).output().expect("it runs"))
}

/// Runs a shell line on a pseudo-terminal; `None` where `script` is not there and `GPU_LADDER_REQUIRE`
/// does not name it.
fn on_a_terminal(line: &str, variables: &[(&str, &str)]) -> Option<String> {
    let mut command = std::process::Command::new("script");
    command.args(["-qec", line, "/dev/null"]).envs(variables.iter().copied());
    command.env("VK_DRIVER_FILES", "/nonexistent").env("WGPU_BACKEND", "vulkan").env("CUDA_VISIBLE_DEVICES", "");
    match command.output() {
        Ok(output) => Some(String::from_utf8_lossy(&output.stdout).into_owned()),
        Err(error) => {
            assert!(!required::is_required("script"), "`script` is required: {error}");
            eprintln!("skipped: `script` (util-linux) is not here, so there is no pseudo-terminal");
            None
        }
    }
}

#[test]
fn out_rows_without_a_time_are_null_with_a_status() {
    let (code, out, err) = run(&["run", "transpose", "--size", "64", "--rung", "skinny,naive", "--format", "json"]);
    assert_eq!(code, 0, "{err}");
    let document: Value = serde_json::from_str(&out).expect("strict JSON");
    for row in document["rows"].as_array().expect("rows") {
        assert!(row["median_ms"].is_null() && row["verdict"].is_string(), "{row}");
    }
    assert!(!out.contains("NaN") && !out.contains("inf"), "{out}");
}

#[test]
fn out_every_field_is_in_the_schema() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/rows.schema.json");
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(path).expect("the schema")).expect("JSON");
    let known = schema["$defs"]["row"]["properties"].as_object().expect("properties");
    let dims = ["rows", "cols", "len", "m", "n", "k"];
    for op in ["transpose", "matmul", "copy", "reduce"] {
        let (_, out, _) = run(&["run", op, "--size", "32", "--format", "json"]);
        let document: Value = serde_json::from_str(&out).expect("strict JSON");
        for row in document["rows"].as_array().expect("rows") {
            for (name, value) in row.as_object().expect("a row") {
                let types = known.get(name).unwrap_or_else(|| panic!("{name} is not in the schema"))["type"].clone();
                let kind = match value {
                    Value::Null => "null",
                    Value::Bool(_) => "boolean",
                    Value::String(_) => "string",
                    Value::Array(_) => "array",
                    Value::Number(number) if number.is_f64() => "number",
                    _ => "integer",
                };
                let fits = types.as_array().map_or(vec![types.clone()], Clone::clone);
                let number = kind == "integer" && fits.contains(&"number".into());
                assert!(fits.contains(&kind.into()) || number, "{name}: {value} is none of {types}");
                assert!(!dims.contains(&name.as_str()) || value.is_u64(), "{name}");
            }
        }
    }
}

#[test]
fn out_a_file_is_written_whole_and_its_name_says_the_format() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("rows.json");
    let arguments = ["run", "copy", "--len", "1000", "--output", path.to_str().expect("text")];
    let (code, out, err) = parts(&command(&arguments, folder.path()).output().expect("it runs"));
    assert_eq!((code, out.as_str()), (0, ""), "{err}");
    let text = std::fs::read_to_string(&path).expect("the file");
    assert_eq!(serde_json::from_str::<Value>(&text).expect("strict JSON")["complete"], true);
    assert_eq!(std::fs::read_dir(folder.path()).expect("the folder").count(), 1, "no part is left behind");
}

#[cfg(unix)]
#[test]
fn out_an_interruption_ends_the_sampling_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("rows.json");
    // So many rounds take hours.
    for seconds in [2, 8, 30] {
        let line = format!(
            "{} run copy --backend wgpu --len 4096 --rung scalar --iters 1000000000 --output {} & child=$!; sleep {seconds}; kill -INT $child; wait $child; echo code $?",
            tool().display(),
            path.display()
        );
        let output = std::process::Command::new("bash").args(["-mc", &line]).output().expect("bash runs");
        let (_, out, err) = parts(&output);
        if err.contains("no wgpu backend") {
            eprintln!("skipped: no adapter here");
            return;
        }
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let document: Value = serde_json::from_str(&text).expect("strict JSON");
        if document["rows"][0]["samples"].as_u64() >= Some(1) {
            assert!(out.contains("code 2") && err.contains("interrupted"), "{out}{err}");
            return;
        }
    }
    panic!("no sample was kept, however late the interruption");
}

#[test]
fn out_an_interrupted_run_keeps_the_rows_it_has() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("rows.json");
    // The first size takes no time, all of them take minutes. A busy machine is given longer to get that far.
    for seconds in [1, 5, 25, 100] {
        let line = format!(
            "{} run transpose --backend sim --size 16,700..2000+100 --output {} & child=$!; sleep {seconds}; kill -INT $child; wait $child; echo code $?",
            tool().display(),
            path.display()
        );
        let output = std::process::Command::new("bash").args(["-mc", &line]).output().expect("bash runs");
        let (_, out, err) = parts(&output);
        if !path.exists() {
            continue;
        }
        assert!(out.contains("code 2") && err.contains("interrupted"), "{out}{err}");
        let document: Value =
            serde_json::from_str(&std::fs::read_to_string(&path).expect("the file")).expect("strict JSON");
        assert!(!document["rows"].as_array().expect("rows").is_empty());
        assert_eq!(document["complete"], false);
        return;
    }
    panic!("no row was kept, however late the interruption");
}

#[test]
fn out_a_killed_run_keeps_the_rows_it_had() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("rows.json");
    let file = path.to_str().expect("text");
    // The first sizes take no time, all of them take minutes.
    let arguments = ["run", "transpose", "--backend", "sim", "--size", "16,24,700..2000+100", "--output", file];
    let mut child = std::process::Command::new(tool()).args(arguments).spawn().expect("it runs");
    let kept = || -> Value {
        let text = std::fs::read_to_string(&path).unwrap_or_else(|_| "{}".into());
        serde_json::from_str(&text).expect("whole at any moment")
    };
    let has = |size: u64| kept()["rows"].as_array().is_some_and(|rows| rows.iter().any(|row| row["rows"] == size));
    let (start, most) = (Instant::now(), Duration::from_secs(120));
    while !has(24) && start.elapsed() < most {
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().expect("it was running");
    child.wait().expect("it ends");
    let document = kept();
    assert!(has(16) && has(24), "{document}");
    assert_eq!(document["complete"], false);
    let (code, out, err) = run(&["report", file, "--format", "json"]);
    assert!(code == 0 && err.contains("stopped before its end"), "{err}");
    assert_eq!(
        serde_json::from_str::<Value>(&out).expect("strict JSON"),
        document,
        "and it is still said to be partial"
    );
}

#[cfg(unix)]
#[test]
fn out_a_link_is_followed_and_a_pipe_gets_rows_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, link) = (folder.path().join("rows.json"), folder.path().join("link.json"));
    std::fs::write(&file, "old").expect("a file");
    std::os::unix::fs::symlink(&file, &link).expect("a link");
    let (code, _, err) = run(&["run", "copy", "--len", "1000", "--output", link.to_str().expect("text")]);
    assert_eq!(code, 0, "{err}");
    assert!(link.is_symlink() && std::fs::read_to_string(&file).expect("the file").contains("complete"));
    let (_, out, _) = run(&["run", "copy", "--len", "100,1000", "--format", "json", "--output", "/dev/stdout"]);
    assert_eq!(serde_json::from_str::<Value>(&out).expect("one document")["complete"], true);
}

#[test]
fn cli_a_closed_pipe_ends_quietly() {
    for line in ["list --json | head -1", "run transpose --size 64 --rung naive | head -1", "check --help | head -1"] {
        let line = format!("{} {line}", tool().display());
        let output = std::process::Command::new("sh")
            .args(["-c", &line])
            .env("VK_DRIVER_FILES", "/nonexistent")
            .env("CUDA_VISIBLE_DEVICES", "")
            .output()
            .expect("sh runs");
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!err.contains("panicked") && !err.contains("Broken pipe"), "{err}");
    }
}

#[test]
fn cli_no_escape_codes_where_nobody_watches() {
    let (_, out, err) = run(&["run", "transpose", "--size", "64", "--rung", "naive,tiled"]);
    assert!(!out.contains('\u{1b}') && !err.contains('\u{1b}') && !err.contains('\r'), "{out}{err}");
    let line = format!("{} run transpose --size 64 --rung naive", tool().display());
    for variables in [[("TERM", "dumb"), ("LANG", "C")], [("NO_COLOR", "1"), ("LANG", "C")]] {
        let Some(seen) = on_a_terminal(&line, &variables) else { return };
        assert!(!seen.contains('\u{1b}'), "{variables:?}: {seen:?}");
    }
}

#[test]
fn cli_a_narrow_terminal_breaks_sentences_at_spaces() {
    let line = format!("stty cols 60 2>/dev/null; {} run transpose --size 64 --rung naive", tool().display());
    let Some(seen) = on_a_terminal(&line, &[("TERM", "dumb"), ("LANG", "C"), ("COLUMNS", "60")]) else { return };
    let story: Vec<&str> = seen.lines().skip_while(|line| !line.trim_start().starts_with("naive: ")).collect();
    assert!(story.len() > 1, "{seen}");
    assert!(story.iter().all(|line| line.trim_end().chars().count() <= 60), "{seen}");
}

#[test]
fn cli_other_character_sets_get_ascii_and_every_locale_gets_dots() {
    for locale in ["C", "uk_UA.KOI8-U", "zh_CN.GB18030", "de_DE.ISO-8859-1"] {
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = command(&["run", "transpose", "--size", "64", "--rung", "naive,tiled"], folder.path());
        let (_, out, _) = parts(&command.env("LC_ALL", locale).output().expect("it runs"));
        assert!(out.is_ascii(), "{locale}: {out}");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut command =
        command(&["run", "transpose", "--size", "64", "--rung", "naive", "--format", "csv"], folder.path());
    let (_, out, _) = parts(&command.env("LC_ALL", "de_DE.UTF-8").output().expect("it runs"));
    assert!(out.contains(",0.2222222222222222,"), "{out}");
    let mut command = self::command(&["run", "copy", "--len", "999", "--format", "json"], folder.path());
    let (_, out, _) = parts(&command.env("LC_ALL", "de_DE.UTF-8").output().expect("it runs"));
    assert!(serde_json::from_str::<Value>(&out).is_ok(), "{out}");
}

#[test]
fn env_inputs_are_random_and_the_rows_say_how() {
    for (op, distribution) in [("transpose", "random bits"), ("matmul", "uniform [-1, 1)")] {
        let (_, out, _) = run(&["run", op, "--size", "32", "--rung", "naive", "--seed", "7", "--format", "json"]);
        let document: Value = serde_json::from_str(&out).expect("strict JSON");
        let row = &document["rows"][0];
        assert_eq!((&row["input"], &row["seed"]), (&Value::from(distribution), &Value::from(7)), "{row}");
    }
}

#[test]
fn cli_the_locale_chooses_the_language() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = command(&["run", "transpose", "--size", "64", "--rung", "naive"], folder.path());
    let (_, out, _) = parts(&command.env("LC_ALL", "zh_CN.UTF-8").output().expect("it runs"));
    assert!(out.contains("搬运的字节"), "{out}");
}

#[test]
fn env_a_profiler_that_is_missing_or_refused_is_named_and_the_counters_still_come() {
    let (code, out, err) = run(&["profile", "transpose/tiled", "--size", "64", "--ncu", "/nonexistent/ncu"]);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("simulator") && out.contains("tiled"), "{out}");
    assert!(err.contains("no hardware counters"), "{err}");
    #[cfg(all(unix, feature = "cuda"))]
    {
        use std::os::unix::fs::PermissionsExt;
        assert!(err.contains("/nonexistent/ncu") && err.contains("Nsight Compute"), "{err}");
        let folder = tempfile::tempdir().expect("a folder");
        let fake = folder.path().join("ncu");
        let script = "#!/bin/sh\n[ \"$1\" = --version ] && exit 0\necho '==ERROR== ERR_NVGPUCTRPERM - no permission' >&2\nexit 1\n";
        std::fs::write(&fake, script).expect("written");
        std::fs::set_permissions(&fake, std::fs::Permissions::from_mode(0o755)).expect("executable");
        let (code, out, err) =
            run(&["profile", "transpose/tiled", "--size", "64", "--ncu", fake.to_str().expect("text")]);
        assert_eq!(code, 0, "{err}");
        assert!(err.contains("ERR_NVGPUCTRPERM") && err.contains("NVreg_RestrictProfilingToAdminUsers"), "{err}");
        assert!(out.contains("simulator"), "{out}");
    }
}

/// A profiler that says what the real one would, of rungs whose names begin alike and of variants of one.
#[cfg(all(unix, feature = "cuda"))]
#[test]
fn every_column_is_filled_from_one_run_of_the_profiler() {
    use std::os::unix::fs::PermissionsExt;
    let metrics = gpu_ladder::report::counters::METRICS;
    let line = |id: &str, kernel: &str, value: &str| {
        format!("\"{id}\",\"{kernel}\",{}\n", vec![format!("\"{value}\""); metrics.len()].join(","))
    };
    let mut csv = line("ID", "Kernel Name", "").lines().next().expect("a line").replace("\"\"", "");
    csv.truncate("\"ID\",\"Kernel Name\"".len());
    metrics.iter().for_each(|metric| csv.push_str(&format!(",\"{metric}\"")));
    csv.push('\n');
    csv += &line("", "", "unit");
    // Verification runs each twice.
    for (kernel, value) in [("tiled", "8"), ("tiled_padded", "6"), ("tiled_padded", "4")] {
        csv += &line("0", &format!("transpose_{kernel}"), value);
        csv += &line("1", &format!("transpose_{kernel}"), value);
    }
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("csv"), csv).expect("written");
    let fake = folder.path().join("ncu");
    // It runs what it is told to, on a backend that is here.
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = --version ] && exit 0\necho run >> {0}/runs\n\
         while [ \"$1\" != run ]; do tool=$1; shift; done\n\
         \"$tool\" $(echo \"$@\" | sed 's/--backend cuda/--backend sim/') >&2\ncat {0}/csv\n",
        folder.path().display()
    );
    std::fs::write(&fake, script).expect("written");
    std::fs::set_permissions(&fake, std::fs::Permissions::from_mode(0o755)).expect("executable");
    let ncu = fake.to_str().expect("text");
    let (code, out, err) = run(&[
        "profile",
        "transpose",
        "--rung",
        "tiled,tiled_padded",
        "--size",
        "64",
        "--ncu",
        ncu,
        "--format",
        "json",
    ]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    let document: Value = serde_json::from_str(&out).expect("strict JSON");
    for (row, instructions) in document["rows"].as_array().expect("rows").iter().zip([8.0, 6.0, 4.0]) {
        let hardware = row["hardware"].as_object().expect("figures");
        assert_eq!(hardware["instructions"], instructions, "{row}");
        // Turns are wavefronts over those without conflicts, and here all of them are conflicts.
        let empty: Vec<&String> = hardware.iter().filter(|(_, value)| value.is_null()).map(|(name, _)| name).collect();
        assert_eq!(empty, ["load_turns", "store_turns"], "{row}");
    }
    assert_eq!(std::fs::read_to_string(folder.path().join("runs")).expect("runs"), "run\n", "one run for all");
}

#[test]
fn env_a_folder_that_cannot_be_written_costs_one_line() {
    let mut command = command(&["limits", "--iters", "1", "--warmup", "0"], Path::new("/proc/no-such-folder"));
    command.env_remove("VK_DRIVER_FILES").env_remove("HOME");
    let (code, out, err) = parts(&command.output().expect("it runs"));
    if code == 2 {
        assert!(err.contains("limits"), "{err}");
        assert!(!required::is_required("wgpu"), "wgpu is required: {err}");
        eprintln!("skipped: no device with a clock here");
        return;
    }
    assert_eq!(code, 0, "{err}");
    assert!(err.contains("not kept") && out.contains("multiply-adds, f32"), "{err}{out}");
}

#[test]
fn limits_keeps_what_it_has_and_goes_on_from_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let limits = || {
        let mut command = command(&["limits", "--backend", "wgpu", "--budget", "100ms"], folder.path());
        parts(&command.env_remove("VK_DRIVER_FILES").output().expect("it runs"))
    };
    let (code, out, err) = limits();
    if code == 2 {
        assert!(err.contains("limits"), "{err}");
        eprintln!("skipped: no device with a clock here");
        return;
    }
    assert!(code == 0 && !out.contains("not everything"), "{err}{out}");
    let path = std::fs::read_dir(folder.path()).expect("the folder").next().expect("a file").expect("a file").path();
    let read = || -> Value { serde_json::from_str(&std::fs::read_to_string(&path).expect("it")).expect("strict JSON") };
    // As a run that was stopped leaves it.
    let whole = read();
    let mut part = whole.clone();
    part["complete"] = false.into();
    part["ceilings"].as_array_mut().expect("a list").remove(2);
    std::fs::write(&path, part.to_string()).expect("written");
    let (code, _, err) = limits();
    assert!(code == 0 && err.contains("measuring the others"), "{err}");
    let again = read();
    let (before, after) =
        (whole["ceilings"].as_array().expect("a list"), again["ceilings"].as_array().expect("a list"));
    assert_eq!((again["complete"].as_bool(), before.len()), (Some(true), after.len()));
    for (index, (before, after)) in before.iter().zip(after).enumerate() {
        assert_eq!((&before["kind"], &before["bytes"]), (&after["kind"], &after["bytes"]), "{index}");
        let values = before["value"].as_f64().zip(after["value"].as_f64());
        // Reading and writing may cost the last bit.
        let same = values.is_some_and(|(a, b)| (a - b).abs() <= 1e-12 * a);
        assert!(index == 2 || same, "{index}: measured again");
    }
}

#[test]
fn a_kernel_of_the_users_own_is_verified_beside_ours() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("shaders/transpose/naive.wgsl");
    let naive = std::fs::read_to_string(source).expect("the shader");
    let with = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("written");
        path.display().to_string()
    };
    let good = with("mine.wgsl", &naive.replace("transpose_naive", "mine"));
    let arguments = ["run", "transpose", "--size", "100", "--rung", "naive", "--tile", "32,8", "--backend", "sim"];
    let (code, out, err) = run(&[&arguments[..], &["--kernel", &good]].concat());
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("every output verified") && out.lines().any(|line| line.starts_with("mine ")), "{out}");
    assert!(out.contains("mine: ") && out.contains("bytes moved are used"), "{out}");
    // The transposed index is forgotten on one side.
    let wrong = naive
        .replace("transpose_naive", "mine")
        .replace("input[row * p.input_ld + col]", "input[col * p.input_ld + row]");
    let bad = with("wrong.wgsl", &wrong);
    let (code, out, _) = run(&[&arguments[..], &["--kernel", &bad]].concat());
    assert_eq!(code, 1, "{out}");
    assert!(out.contains("wrong"), "{out}");
    let (code, _, err) = run(&[&arguments[..], &["--kernel", &with("mine.txt", "")]].concat());
    assert!(code == 2 && err.contains(".wgsl, .cu or .ptx"), "{err}");
    let (code, _, err) = run(&[&arguments[..], &["--kernel", &with("none.wgsl", "fn f() {}")]].concat());
    assert!(code == 2 && err.contains("none.wgsl"), "{err}");
}

#[test]
fn advice_names_a_place_and_a_reason() {
    for (flags, place) in [
        (&["--bytes", "64", "--shared-by", "thread"][..], "registers"),
        (&["--bytes", "16K", "--access", "strided", "--shared-by", "block"], "shared memory"),
        (&["--bytes", "4K", "--access", "broadcast"], "constant memory"),
        (&["--bytes", "1G", "--access", "random"], "sorted"),
    ] {
        let (code, out, err) = run(&[&["advise", "--backend", "sim"], flags].concat());
        assert_eq!(code, 0, "{err}");
        assert!(out.contains(place) && out.contains("\n- "), "{out}");
    }
    assert_eq!(run(&["advise", "--bytes", "0"]).0, 2);
    assert_eq!(run(&["advise", "--bytes", "1K", "--reuse", "NaN"]).0, 2);
}

/// A screen: 100 columns by 50 lines.
fn fits_a_screen(text: &str) {
    let long: Vec<&str> = text.lines().filter(|line| line.chars().count() > 100).collect();
    assert!(long.is_empty(), "{long:?}");
    assert!(text.lines().count() <= 50, "{} lines:\n{text}", text.lines().count());
}

#[test]
fn a_ladder_fits_a_screen_and_answers_what_one_asks() {
    let (code, out, err) = run(&["run", "transpose", "--backend", "sim", "--size", "128"]);
    assert_eq!(code, 0, "{err}");
    fits_a_screen(&out);
    for said in [
        "every output verified",
        "device memory: ",
        "all given back",
        "naive: Threads of a warp",
        "22 % of the bytes moved are used (line 29",
        "sectors/load 32.0 -> 4.0",
        "not shown: variants: ",
        "--all",
    ] {
        assert!(out.replace("\n    ", " ").contains(said), "{said}: {out}");
    }
    let (code, out, _) = run(&["run", "matmul", "--backend", "sim", "--size", "64"]);
    assert_eq!(code, 0);
    fits_a_screen(&out);
    let (_, all, _) = run(&["run", "matmul", "--backend", "sim", "--size", "64", "--all", "--brief"]);
    assert!(all.contains("tiled@32") && all.contains("absent: "), "{all}");
}

#[test]
fn a_run_that_only_verifies_has_verdicts_and_no_times() {
    let (code, out, err) = run(&["run", "copy", "--len", "1000", "--verify-only", "--format", "json"]);
    assert_eq!(code, 0, "{err}");
    let document: Value = serde_json::from_str(&out).expect("strict JSON");
    for row in document["rows"].as_array().expect("rows") {
        assert!(row["samples"].is_null() && row["verdict"] != "failed", "{row}");
        assert!(
            row["device_peak_bytes"].as_u64() > Some(8000) && row["device_leaks"] == serde_json::json!([]),
            "{row}"
        );
    }
}
