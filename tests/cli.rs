//! The tool as a person calls it: exit codes, streams, bad input.

mod required;

use assert_cmd::Command;
use std::path::Path;

fn tool(arguments: &[&str]) -> Command {
    let mut command = Command::cargo_bin("gpu-ladder").expect("the tool is built with feature `cli`");
    command.args(arguments).env_remove("LC_ALL").env("LANG", "C");
    command
}

/// Exit code, stdout and stderr.
fn run(arguments: &[&str]) -> (i32, String, String) {
    outcome(&mut tool(arguments))
}

fn outcome(command: &mut Command) -> (i32, String, String) {
    let output = command.output().expect("it runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}

fn refused(arguments: &[&str], expected: &str) {
    let (code, out, err) = run(arguments);
    assert_eq!((code, out.as_str()), (2, ""), "{arguments:?}: {err}");
    assert!(err.contains(expected), "{arguments:?}: {err}");
    assert!(!err.contains("panicked"), "{err}");
}

/// Whether `wgpu` opens here; the simulator, without a clock, always does.
fn has_wgpu() -> bool {
    let (_, out, _) = run(&["info", "--backend", "wgpu"]);
    let opens = out.contains("driver ");
    assert!(opens || !required::is_required("wgpu"), "wgpu is required: {out}");
    opens
}

#[test]
fn list_names_every_op_and_rung() {
    let (code, out, _) = run(&["list"]);
    assert_eq!(code, 0);
    for word in ["copy", "transpose", "tiled_padded (2)", "matmul", "reduce"] {
        assert!(out.contains(word), "{word}: {out}");
    }
    let (_, one, _) = run(&["list", "transpose"]);
    assert!(one.contains("tiled_padded@16") && one.contains("-> More bytes in flight"), "{one}");
    let (_, one, _) = run(&["list", "transpose", "--lang", "zh"]);
    assert!(one.contains("-> 第一级。") && !one.contains("-> More bytes in flight"), "{one}");
    // Rungs that share name and idea share a line, wherever they lie in the ladder: the plain widths, and the swapped ones.
    assert_eq!(out.matches("\n  even_shares (").count(), 2, "{out}");
    assert!(out.is_ascii() || !out.contains('\u{1b}'));
}

#[test]
fn list_as_json_is_one_document() {
    let (_, out, _) = run(&["list", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&out).expect("strict JSON");
    assert!(document["ops"].as_array().is_some_and(|ops| ops.len() >= 4));
}

#[test]
fn info_says_why_a_backend_is_missing_and_ends_0() {
    let (code, out, err) = outcome(tool(&["info"]).env("CUDA_VISIBLE_DEVICES", ""));
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("cuda: unavailable"), "{out}");
}

#[test]
fn unknown_words_name_the_nearest() {
    refused(&["run", "transposed"], "did you mean 'transpose'");
    refused(&["run", "transpose", "--rung", "tild"], "did you mean 'tiled'");
    refused(&["run", "transpose", "--element", "float"], "unknown element 'float'");
    refused(&["run", "transpose", "--format", "yaml"], "unknown format 'yaml'");
    refused(&["run", "transpose", "--backend", "opencl"], "unknown backend 'opencl'");
}

#[test]
fn cli_numbers_that_make_no_sense_are_refused() {
    refused(&["run", "transpose", "--iters", "0"], "--iters = 0");
    refused(&["run", "transpose", "--in-a-row", "0"], "--in-a-row = 0");
    refused(&["run", "transpose", "--budget", "-1"], "--budget");
    refused(&["run", "transpose", "--rows", "4294967296", "--cols", "4294967296"], "overflow");
    refused(&["run", "transpose", "--rows", "5000000000", "--cols", "1"], "5000000000 rows");
    refused(&["run", "transpose", "--rows", "many"], "many");
    refused(&["run", "reduce", "--len", "0"], "0 elements");
    refused(&["run", "transpose", "--size", "-5"], "--size = -5");
    refused(&["run", "transpose", "--seed", "-1"], "a whole number from 0 on, of at most 64 bits");
    refused(&["run", "transpose", "--size", "1024", "--ld", "100"], "100 is below its minimum, 1024");
    refused(&["compare", "a.json", "b.json", "--threshold", "-1"], "--threshold = -1");
    refused(&["advise", "--bytes", "99999999999G"], "2^64 - 1");
    for groups in ["0", "1,65536"] {
        let shader = concat!(env!("CARGO_MANIFEST_DIR"), "/shaders/copy/scalar.wgsl");
        refused(&["check", shader, "--groups", groups], "each is from 1 to 65535");
    }
}

/// The formats of each verb are in its help, and another one is refused before anything is measured.
#[test]
fn out_formats_and_languages_are_refused_before_any_work() {
    let verbs: [(&[&str], &str); 6] = [
        (&["compare", "a.json", "b.json"], "table, markdown, json"),
        (&["limits"], "table, markdown, json"),
        (&["profile", "transpose"], "table, markdown, json"),
        (&["claims"], "table, markdown, json"),
        (&["tune", "transpose"], "text, table, json"),
        (&["advise", "--bytes", "1K"], "text, table, json"),
    ];
    for (verb, formats) in verbs {
        let with = |more: &[&'static str]| [verb, more].concat();
        refused(&with(&["--format", "svg"]), &format!("unknown format 'svg'; known: {formats}"));
        if verb[0] != "claims" {
            let (_, help, _) = run(&[verb[0], "--help"]);
            assert!(help.contains(formats) && !help.contains("csv"), "{help}");
            refused(&with(&["--output", "x.svg"]), "unknown format 'svg'");
            refused(&with(&["--output", "/no/such/folder/x.json"]), "cannot be written");
        }
    }
    refused(&["run", "transpose", "--lang", "fr"], "unknown language 'fr'; known: en, zh");
}

#[test]
fn a_run_in_which_nothing_could_run_ends_2_with_the_reason() {
    let (code, out, err) = run(&["run", "transpose", "--size", "200000", "--backend", "sim"]);
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("no rung could") && err.contains("allows") && !out.contains("verified"), "{out}{err}");
}

#[test]
fn out_files_are_refused_before_any_work() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(folder.path().join("text.npy"), "no matrix").expect("written");
    refused(&["run", "transpose", "--input", &at("none.npy")], "none.npy");
    refused(&["run", "transpose", "--input", &at("text.npy")], "not a .npy file");
    write_npy(&folder.path().join("double.npy"), "<f8", "(2, 2)", &[0; 32]);
    refused(&["run", "transpose", "--input", &at("double.npy")], "not f32");
    write_npy(&folder.path().join("cube.npy"), "<f4", "(1, 2, 2)", &[0; 16]);
    refused(&["run", "transpose", "--input", &at("cube.npy")], "3 dimensions");
    write_npy(&folder.path().join("short.npy"), "<f4", "(2, 2)", &[0; 8]);
    refused(&["run", "transpose", "--input", &at("short.npy")], "short.npy");
    write_npy(&folder.path().join("good.npy"), "<f4", "(1, 2)", &[0; 8]);
    refused(
        &["run", "transpose", "--input", &at("good.npy"), "--output", "/no/such/folder/x.npy"],
        "cannot be written",
    );
    refused(&["run", "transpose", "--output", &at("x.npy")], "--input");
}

fn write_npy(path: &Path, kind: &str, shape: &str, data: &[u8]) {
    let mut header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}");
    while !(header.len() + 11).is_multiple_of(64) {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    std::fs::write(path, bytes).expect("written");
}

#[test]
fn a_matrix_from_a_file_comes_back_transposed() {
    let folder = tempfile::tempdir().expect("a folder");
    let (input, output) = (folder.path().join("m.npy"), folder.path().join("t.npy"));
    let values: Vec<u8> = (0..6u32).flat_map(|i| (i as f32).to_le_bytes()).collect();
    write_npy(&input, "<f4", "(2, 3)", &values);
    let (code, _, err) = run(&[
        "run",
        "transpose",
        "--input",
        input.to_str().expect("text"),
        "--output",
        output.to_str().expect("text"),
    ]);
    assert_eq!(code, 0, "{err}");
    let matrix = gpu_ladder::npy::read(&output).expect("a matrix");
    let expected: Vec<u8> = [0, 3, 1, 4, 2, 5u32].iter().flat_map(|&i| (i as f32).to_le_bytes()).collect();
    assert_eq!((matrix.rows, matrix.cols, matrix.bytes), (3, 2, expected));
}

#[test]
fn a_sparse_matrix_from_a_file_is_multiplied() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    // The vector is generated, so the identity hands it on and twice the identity doubles it.
    let product = |value: u32| {
        let (input, output) = (at(&format!("{value}.mtx")), at(&format!("{value}.npy")));
        let entries: String = (1..=5).map(|i| format!("{i} {i} {value}\n")).collect();
        let text = format!("%%MatrixMarket matrix coordinate integer general\n5 5 5\n{entries}");
        std::fs::write(&input, text).expect("written");
        let (code, out, err) =
            run(&["run", "spmv", "--backend", "sim", "--input", input.as_str(), "--output", output.as_str()]);
        assert_eq!(code, 0, "{err}");
        assert!(out.contains("adaptive"), "{out}");
        let vector = gpu_ladder::npy::read(Path::new(&output)).expect("a vector");
        assert_eq!((vector.rows, vector.cols), (1, 5));
        let words = vector.bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]));
        words.collect::<Vec<f32>>()
    };
    let once = product(1);
    assert!(once.iter().all(|x| x.abs() <= 1.0) && once.iter().any(|x| *x != 0.0), "{once:?}");
    assert_eq!(product(2), once.iter().map(|x| 2.0 * x).collect::<Vec<f32>>());
}

#[test]
fn sparse_files_are_refused_with_their_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("short.mtx");
    std::fs::write(&path, "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 7 0.5\n").expect("written");
    refused(&["run", "spmv", "--input", path.to_str().expect("text")], "line 3");
    refused(&["run", "spmv", "--input", "/no/such.mtx"], "such.mtx");
    refused(&["run", "copy", "--input", path.to_str().expect("text")], "only transpose and spmv");
}

#[test]
fn json_rows_have_every_field_and_null_where_nothing_is_known() {
    let (code, out, err) = run(&["run", "transpose", "--size", "100", "--format", "json"]);
    assert_eq!(code, 0, "{err}");
    assert!(!out.contains('\u{1b}') && !err.contains('\u{1b}') && !err.contains('\r'));
    let document: serde_json::Value = serde_json::from_str(&out).expect("strict JSON");
    let rows = document["rows"].as_array().expect("rows");
    assert!(!rows.is_empty());
    for row in rows {
        for field in [
            "op",
            "rung",
            "backend",
            "device",
            "driver",
            "element",
            "rows",
            "cols",
            "verdict",
            "clock",
            "samples",
            "median_ms",
            "p05_ms",
            "p95_ms",
            "gbps",
            "share_of_copy",
            "speedup_over_first",
            "software_adapter",
            "input",
            "cache_policy",
            "seed",
            "commit",
            "sm_clock_mhz",
            "power_w",
            "throttled",
            "floor_us",
        ] {
            assert!(row.get(field).is_some(), "{field} is missing in {row}");
        }
        assert_ne!(row["verdict"], "wrong");
    }
}

#[test]
fn a_closed_pipe_is_no_panic() {
    let tool = assert_cmd::cargo::cargo_bin("gpu-ladder");
    let output = std::process::Command::new("sh")
        .args(["-c", &format!("{} list --json | head -1", tool.display())])
        .output()
        .expect("sh runs");
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_c_locale_gets_ascii() {
    for locale in ["C", "uk_UA.KOI8-U"] {
        let (_, out, _) = outcome(tool(&["run", "copy", "--len", "100"]).env("LC_ALL", locale));
        assert!(out.is_ascii(), "{locale}: {out}");
    }
}

#[test]
fn no_adapter_is_one_line_that_says_how_to_get_one() {
    let mut command = tool(&["run", "copy", "--len", "10", "--backend", "wgpu"]);
    let (code, out, err) = outcome(command.env("WGPU_BACKEND", "vulkan").env("VK_DRIVER_FILES", "/nonexistent"));
    assert_eq!((code, out.as_str()), (2, ""), "{err}");
    assert!(err.contains("no Vulkan") && err.contains("Install"), "{err}");
}

#[test]
fn a_software_adapter_says_so_in_every_format() {
    // Kind DEV1.
    if !has_wgpu() {
        eprintln!("skipped: no adapter here");
        return;
    }
    let of =
        |format| run(&["run", "transpose", "--size", "64", "--backend", "wgpu", "--rung", "naive", "--format", format]);
    let (code, json, err) = of("json");
    assert_eq!(code, 0, "{err}");
    let rows: serde_json::Value = serde_json::from_str(&json).expect("strict JSON");
    if rows["rows"][0]["software_adapter"] == false {
        assert!(!err.contains("software adapter"), "{err}");
        return;
    }
    assert!(err.contains("software adapter"), "{err}");
    assert!(of("table").1.contains("SOFTWARE ADAPTER"));
    assert!(of("html").1.contains("class=\"warning\""));
    // It would take minutes for what nobody asked for.
    let product = ["run", "matmul", "--backend", "wgpu", "--rung", "coalesced", "--verify-only", "--format", "json"];
    let (_, json, err) = run(&product);
    let rows: serde_json::Value = serde_json::from_str(&json).expect("strict JSON");
    assert_eq!(rows["rows"][0]["m"], 256, "{json}");
    assert!(err.contains("takes 256x256x256 here, not the 1024x1024x1024 of a GPU; --size"), "{err}");
}

#[test]
fn without_any_gpu_the_simulator_runs_the_ladder() {
    let mut command = tool(&["run", "transpose", "--size", "64", "--format", "json"]);
    command.env("WGPU_BACKEND", "vulkan").env("VK_DRIVER_FILES", "/nonexistent").env("CUDA_VISIBLE_DEVICES", "");
    let (code, out, err) = outcome(&mut command);
    assert_eq!(code, 0, "{err}");
    let document: serde_json::Value = serde_json::from_str(&out).expect("strict JSON");
    for row in document["rows"].as_array().expect("rows") {
        assert_eq!(row["backend"], "sim");
        assert!(row["median_ms"].is_null(), "a simulated time: {row}");
        assert_ne!(row["verdict"], "wrong");
    }
}

#[test]
fn a_device_that_does_not_exist_is_an_error_that_lists_those_that_do() {
    let (code, _, err) = run(&["run", "copy", "--len", "10", "--device", "99"]);
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("99") && err.contains("0 ("), "{err}");
}

#[test]
fn the_tables_of_the_readmes_are_printed_from_the_kept_run() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let kept = root.join("docs/results/h200-transpose.json").display().to_string();
    let (code, table, err) = run(&["report", &kept, "--shape", "8192x8192", "--format", "markdown"]);
    assert_eq!(code, 0, "{err}");
    for readme in ["README.md", "README.zh-CN.md"] {
        let text = std::fs::read_to_string(root.join(readme)).expect("a readme");
        assert!(text.contains(&table), "{readme} does not hold this table:\n{table}");
    }
}

#[test]
fn tuning_says_what_changed_and_keeps_it() {
    if !has_wgpu() {
        eprintln!("skipped: no backend with a clock opens here");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let tune = |more: &[&str]| {
        let arguments = ["tune", "transpose", "--backend", "wgpu", "--size", "64", "--rung", "naive,tiled"];
        outcome(tool(&[&arguments[..], more].concat()).env("GPU_LADDER_CACHE", folder.path()))
    };
    let (code, out, err) = tune(&["--dry-run"]);
    assert_eq!(code, 0, "{err}");
    let said = out.contains("is taken now") || out.contains("is the fastest, and was taken before");
    assert!(said && out.contains("nothing was kept"), "{out}");
    assert_eq!(std::fs::read_dir(folder.path()).expect("the folder").count(), 0);
    let (code, out, err) = tune(&["--format", "json"]);
    assert_eq!(code, 0, "{err}");
    let document: serde_json::Value = serde_json::from_str(&out).expect("strict JSON");
    let problem = &document["problems"][0];
    assert!(problem["candidates"].as_array().is_some_and(|all| all.len() == 2), "{out}");
    assert!(document["file"].as_str().is_some_and(|file| Path::new(file).exists()), "{out}");
    let (_, out, _) = tune(&["--format", "json"]);
    let again: serde_json::Value = serde_json::from_str(&out).expect("strict JSON");
    assert_eq!(again["problems"][0]["before"], problem["rung"], "what was kept is taken: {out}");
    // What a run marks is what the library takes from then on.
    let arguments = ["run", "transpose", "--backend", "wgpu", "--size", "64", "--rung", "naive,tiled", "--verify-only"];
    let mut marked = tool(&[&arguments[..], &["--format", "json"]].concat());
    let (_, out, _) = outcome(marked.env("GPU_LADDER_CACHE", folder.path()));
    let document: serde_json::Value = serde_json::from_str(&out).expect("strict JSON");
    for row in document["rows"].as_array().expect("rows") {
        let taken = row["rung"] == again["problems"][0]["rung"];
        assert_eq!((&row["selected"], &row["tuned"]), (&taken.into(), &true.into()), "{row}");
    }
    let mut plain = tool(&arguments);
    let (_, out, _) = outcome(plain.env("GPU_LADDER_CACHE", folder.path()));
    assert!(out.contains("found by tuning") && out.contains("verified, and not timed"), "{out}");
    // At once, although verifying this on the simulator takes most of a minute.
    refused(&["tune", "matmul", "--backend", "sim"], "clock");
    refused(&["tune", "transpose", "--rung", "tild"], "did you mean 'tiled'");
}

#[test]
fn tim_times_grow_with_the_work_and_hold_no_compilation() {
    if !has_wgpu() {
        eprintln!("skipped: no backend with a clock opens here");
        return;
    }
    let arguments = ["run", "copy", "--backend", "wgpu", "--rung", "scalar", "--warmup", "0", "--iters", "10"];
    let more = ["--in-a-row", "2", "--len", "1000,40000,8000000", "--format", "json"];
    let (code, out, err) = run(&[&arguments[..], &more].concat());
    assert_eq!(code, 0, "{err}");
    let document: serde_json::Value = serde_json::from_str(&out).expect("strict JSON");
    let rows = document["rows"].as_array().expect("rows");
    let ms = |row: &serde_json::Value, field: &str| row[field].as_f64().expect("a time");
    // The quickest samples: whatever else the machine does, it does not hold up every one.
    assert!(ms(&rows[2], "p05_ms") > 2.0 * ms(&rows[0], "p05_ms"), "{out}");
    for row in rows {
        // The first launch, which pays for the pipeline, is no sample, of any size.
        assert_eq!(row["samples"], 10, "{row}");
        assert_eq!(row["runs_per_sample"], 2, "{row}");
        assert!(ms(row, "median_low_ms") <= ms(row, "median_ms") && ms(row, "median_high_ms") >= ms(row, "median_ms"));
    }
}
