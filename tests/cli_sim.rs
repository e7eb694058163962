//! `explain` and `check` as a person calls them. The simulator needs no adapter.

mod cores;

use assert_cmd::Command;
use cores::on_every_core;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A reversal inside each workgroup, guarded, with the barrier it needs.
const REVERSE: &str = "\
struct Params { len: u32, scale: f32 }
override STEP: u32 = 1u;
@group(0) @binding(0) var<storage, read> input: array<f32>;
@group(0) @binding(1) var<storage, read_write> output: array<f32>;
@group(0) @binding(2) var<uniform> p: Params;
var<workgroup> tile: array<f32, 64>;
@compute @workgroup_size(64)
fn reverse(@builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    var value = 0.0;
    if (id.x < p.len) { value = input[id.x * STEP]; }
    tile[lane] = value;
    workgroupBarrier();
    if (id.x < p.len) { output[id.x] = tile[63u - lane]; }
}
";
/// The line of [`REVERSE`] that reads what another invocation wrote.
const READS: u32 = 13;

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Folder(tempfile::tempdir().expect("a folder"))
    }

    fn with(&self, name: &str, text: &str) -> String {
        let path: PathBuf = self.0.path().join(name);
        std::fs::write(&path, text).expect("written");
        path.display().to_string()
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

/// Exit code, stdout and stderr, where no adapter and no CUDA device can be found.
fn run(arguments: &[&str]) -> (i32, String, String) {
    let mut command = Command::cargo_bin("gpu-ladder").expect("the tool is built with feature `cli`");
    command.args(arguments).env_remove("LC_ALL").env("LANG", "C");
    command.env("VK_DRIVER_FILES", "/nonexistent").env("WGPU_BACKEND", "vulkan").env("CUDA_VISIBLE_DEVICES", "");
    let output = command.output().expect("it runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}

fn refused(arguments: &[&str], expected: &str) {
    let (code, out, err) = run(arguments);
    assert_eq!((code, out.as_str()), (2, ""), "{arguments:?}: {err}");
    assert!(err.contains(expected), "{arguments:?}: {err}");
    assert!(!err.contains("panicked") && err.lines().count() < 12, "{err}");
}

fn document(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("strict JSON: {e}\n{text}"))
}

/// What every check of [`REVERSE`] is given.
const BUFFERS: [&str; 6] = ["--buffer", "0=200xf32", "--buffer", "1=800", "--buffer", "2=u32:200,0"];

fn check<'a>(file: &'a str, more: &[&'a str]) -> (i32, String, String) {
    run(&[&["check", file, "--groups", "4"], &BUFFERS[..], more].concat())
}

#[test]
fn explain_annotates_the_source_and_names_the_step() {
    let (code, out, err) = run(&["explain", "transpose/tiled", "--size", "128"]);
    assert_eq!((code, err.as_str()), (0, ""));
    for text in
        ["transpose/tiled, rows 128, cols 128", "Idea: ", "Why it pays: ", "workgroupBarrier();", "the rung below:"]
    {
        assert!(out.contains(text), "{text} is missing in\n{out}");
    }
    // Columns of the tile meet in one bank: 32 wavefronts for one request.
    assert!(out.contains("32.0 wavefronts where 1 would do"), "{out}");
    assert!(!out.contains(" ms"), "a counter is no time: {out}");
}

#[test]
fn explain_as_json_is_one_document() {
    let (code, out, _) = run(&["explain", "transpose/tiled_padded@32", "--size", "64", "--format", "json"]);
    assert_eq!(code, 0);
    let document = document(&out);
    let text = document.to_string();
    assert!(text.contains("tiled_padded") && text.contains("global_load"), "{text}");
}

#[test]
fn every_rung_can_be_explained() {
    let (_, list, _) = run(&["list", "--json"]);
    let list = document(&list);
    // One variant of each: the others differ in constants, and run on the simulator in other suites.
    let mut names = BTreeMap::new();
    for op in list["ops"].as_array().expect("ops") {
        for rung in op["ladder"].as_array().expect("rungs") {
            let (op, id) = (op["op"].as_str().expect("name"), rung["rung"].as_str().expect("rung"));
            let name = id.split('@').next().unwrap_or(id);
            names.entry(format!("{op}/{name}")).or_insert_with(|| format!("{op}/{id}"));
        }
    }
    let names: Vec<String> = names.into_values().collect();
    let explained = on_every_core(&names, |name| {
        let (code, out, err) = run(&["explain", name, "--size", "33"]);
        let absent = code == 2 && !err.contains("panicked") && err.lines().count() == 1;
        assert!((code == 0 && out.contains("Idea: ")) || absent, "{name}: {code} {err}");
        code == 0
    });
    let explained = explained.into_iter().filter(|&done| done).count();
    assert!(explained * 2 > names.len(), "only {explained} of {} rungs were explained", names.len());
}

#[test]
fn explain_shows_what_is_wrong_by_design_and_takes_a_problem_that_fits() {
    let (code, out, err) = run(&["explain", "double_buffer/barrier_missing", "--lang", "en"]);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("Wrong by design: ") && out.contains("race in workgroup memory"), "{out}");
    let (code, out, err) = run(&["explain", "hierarchy_latency/shared", "--lang", "en"]);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("words 3072"), "{out}");
}

#[test]
fn explain_refuses_what_it_does_not_know() {
    refused(&["explain", "transpose"], "OP/RUNG");
    refused(&["explain", "transposed/tiled"], "did you mean 'transpose'");
    refused(&["explain", "transpose/tild"], "did you mean 'tiled'");
    refused(&["explain", "transpose/tiled", "--machine", "abacus"], "abacus");
    refused(&["explain", "transpose/tiled", "--format", "yaml"], "unknown format 'yaml'");
}

#[test]
fn a_correct_shader_passes() {
    let folder = Folder::new();
    let file = folder.with("reverse.wgsl", REVERSE);
    let (code, out, err) = check(&file, &[]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(out.contains("entry reverse, 4x1x1 workgroups") && !out.contains("warning"), "{out}");
    let (code, out, _) = check(&file, &["--format", "json"]);
    let document = document(&out);
    assert_eq!(code, 0);
    assert_eq!(document["passed"], true);
    assert_eq!(document["profile"]["hazards"], Value::Array(Vec::new()));
    assert_eq!(document["profile"]["totals"]["global_load"]["useful_bytes"], 800, "{out}");
}

#[test]
fn a_planted_race_is_found_at_its_line() {
    let folder = Folder::new();
    let file = folder.with("race.wgsl", &REVERSE.replace("    workgroupBarrier();\n", "\n"));
    let (code, out, _) = check(&file, &[]);
    assert_eq!(code, 1, "{out}");
    assert!(out.contains(&format!("line {READS}")) && out.contains("workgroupBarrier()"), "{out}");
    let (code, out, _) = check(&file, &["--format", "json"]);
    let document = document(&out);
    assert_eq!((code, &document["passed"]), (1, &Value::Bool(false)));
    let hazard = &document["profile"]["hazards"][0];
    let mut lines = [&hazard["at"]["line"], &hazard["other"]["line"]].map(|l| l.as_u64().expect("a line"));
    lines.sort_unstable();
    assert_eq!(lines, [11, u64::from(READS)], "{hazard}");
}

#[test]
fn an_access_beyond_the_end_is_found_at_its_line() {
    let folder = Folder::new();
    let file = folder.with("tail.wgsl", &REVERSE.replace("if (id.x < p.len) { output", "if (id.x <= p.len) { output"));
    let (code, out, _) = check(&file, &[]);
    assert_eq!(code, 1, "{out}");
    assert!(out.contains(&format!("line {READS}")) && out.contains("Guard the index"), "{out}");
}

#[test]
fn a_file_says_what_the_flags_would_and_flags_win() {
    let folder = Folder::new();
    let file = folder.with("reverse.wgsl", REVERSE);
    let config = folder.with(
        "reverse.toml",
        "entry = \"reverse\"\ngroups = [2, 1, 1]\nmachine = \"nvidia-t4\"\nseed = 3\n\n[buffer]\n0 = \"200xf32\"\n\"0.1\" = \"800\"\n2 = \"u32:200,0\"\n\n[override]\nSTEP = 1\n",
    );
    let (code, out, err) = run(&["check", &file, "--config", &config]);
    assert_eq!(code, 0, "{out}{err}");
    assert!(out.contains("2x1x1 workgroups, simulated nvidia-t4"), "{out}");
    let (code, out, _) = run(&["check", &file, "--config", &config, "--groups", "4", "--machine", "nvidia-a100"]);
    assert_eq!(code, 0);
    assert!(out.contains("4x1x1 workgroups, simulated nvidia-a100"), "{out}");
    // A step of 2 leaves the input's end behind.
    let (code, out, _) = run(&["check", &file, "--config", &config, "--groups", "4", "--override", "STEP=2"]);
    assert_eq!(code, 1, "{out}");
    assert!(out.contains("line 10"), "{out}");
}

#[test]
fn a_matrix_from_a_file_is_the_buffer() {
    let folder = Folder::new();
    let file = folder.with("reverse.wgsl", REVERSE);
    let matrix = folder.path().join("m.npy");
    let bytes: Vec<u8> = (0..200u32).flat_map(|i| (i as f32).to_le_bytes()).collect();
    let written = gpu_ladder::npy::Matrix { element: gpu_ladder::Element::F32, rows: 1, cols: 200, bytes };
    gpu_ladder::npy::write(&matrix, &written).expect("written");
    let data = format!("0={}", matrix.display());
    let arguments =
        ["check", &file, "--groups", "4", "--buffer", &data, "--buffer", "1=800", "--buffer", "2=u32:200,0"];
    assert_eq!(run(&arguments).0, 0);
}

#[test]
fn the_same_seed_gives_the_same_document() {
    let folder = Folder::new();
    let file = folder.with("reverse.wgsl", REVERSE);
    let once = check(&file, &["--format", "json", "--seed", "5"]);
    assert_eq!(once, check(&file, &["--format", "json", "--seed", "5"]));
}

#[test]
fn shaders_that_cannot_run_say_why() {
    let folder = Folder::new();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let good = folder.with("reverse.wgsl", REVERSE);
    refused(&["check", &at("none.wgsl")], "none.wgsl");
    refused(&["check", &folder.path().display().to_string()], "");
    let broken = folder.with("broken.wgsl", &REVERSE.replace("var value = 0.0;", "var value = ;"));
    refused(&["check", &broken, "--groups", "4"], "line 9");
    let invalid = folder.with("invalid.wgsl", &REVERSE.replace("tile[lane] = value;", "tile[lane] = lane;"));
    refused(&["check", &invalid, "--groups", "4"], "line 11");
    refused(&["check", &good, "--entry", "revers"], "reverse");
    refused(&["check", &good, "--groups", "4", "--buffer", "0=200xf32", "--buffer", "2=u32:200,0"], "output");
    refused(
        &["check", &good, "--groups", "4", "--buffer", "7=200xf32"],
        "--buffer 0.7 is left out: the entry point uses",
    );
    refused(&["check", &good, "--override", "STEEP=2"], "STEEP");
    let texture = folder.with(
        "texture.wgsl",
        "@group(0) @binding(0) var image: texture_2d<f32>;\n@group(0) @binding(1) var<storage, read_write> o: vec4f;\n@compute @workgroup_size(1) fn main() {\n  o = textureLoad(image, vec2u(0u, 0u), 0);\n}\n",
    );
    refused(&["check", &texture, "--buffer", "1=16"], "line ");
}

#[test]
fn flags_that_make_no_sense_are_refused() {
    let folder = Folder::new();
    let file = folder.with("reverse.wgsl", REVERSE);
    let with = |more: &[&str], expected: &str| refused(&[&["check", &file][..], more].concat(), expected);
    with(&["--buffer", "0"], "BINDING=DATA");
    with(&["--buffer", "x=16"], "whole numbers");
    with(&["--buffer", "0=sixteen"], "sixteen");
    with(&["--buffer", "0=4xf31"], "f31");
    with(&["--buffer", "0=u32:1,-1"], "u32:1,-1");
    with(&["--buffer", "0=99999999999999999xf32"], "the most is");
    with(&["--buffer", "0=none.npy"], "none.npy");
    with(&["--override", "STEP"], "NAME=VALUE");
    with(&["--override", "STEP=two"], "number");
    with(&["--groups", "1,1,1,1"], "three");
    with(&["--groups", "many"], "many");
    with(&["--machine", "abacus"], "abacus");
    with(&["--format", "yaml"], "unknown format 'yaml'");
}

#[test]
fn a_configuration_is_read_strictly() {
    let folder = Folder::new();
    let file = folder.with("reverse.wgsl", REVERSE);
    let with = |name: &str, text: &str, expected: &str| {
        refused(&["check", &file, "--config", &folder.with(name, text)], expected);
    };
    with("key.toml", "group = [4]\n", "unknown field `group`");
    with("type.toml", "groups = \"four\"\n", "groups");
    with("syntax.toml", "groups = [4\n", "syntax.toml");
    let missing = folder.path().join("none.toml").display().to_string();
    refused(&["check", &file, "--config", &missing], "none.toml");
}
