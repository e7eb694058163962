//! `report`, `compare` and `completions` as a person calls them, on kept runs: no device is needed.

use assert_cmd::Command;
use serde_json::Value;
use std::path::{Path, PathBuf};

fn run(arguments: &[&str]) -> (i32, String, String) {
    let mut command = Command::cargo_bin("gpu-ladder").expect("the tool is built with feature `cli`");
    let output = command.args(arguments).env_remove("LC_ALL").env("LANG", "C").output().expect("it runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}

fn refused(arguments: &[&str], expected: &str) {
    let (code, out, err) = run(arguments);
    assert_eq!((code, out.as_str()), (2, ""), "{arguments:?}: {err}");
    assert!(err.contains(expected), "{arguments:?}: {err}");
}

/// A kept run of the transpose ladder at 8192x8192.
fn kept() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/transpose-run.json").display().to_string()
}

/// The kept run with something changed in each row.
fn changed(folder: &Path, name: &str, change: impl Fn(&mut Value)) -> String {
    let text = std::fs::read_to_string(kept()).expect("the kept run");
    let mut document: Value = serde_json::from_str(&text).expect("JSON");
    document["rows"].as_array_mut().expect("rows").iter_mut().for_each(change);
    let path: PathBuf = folder.join(name);
    std::fs::write(&path, document.to_string()).expect("written");
    path.display().to_string()
}

fn slower(row: &mut Value, by: f64) {
    for field in ["median_ms", "median_low_ms", "median_high_ms", "p05_ms", "p95_ms"] {
        if let Some(ms) = row[field].as_f64() {
            row[field] = (ms * by).into();
        }
    }
}

#[test]
fn compare_finds_a_planted_slowdown_and_is_silent_without_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let planted = changed(folder.path(), "slow.json", |row| {
        if row["rung"] == "tiled" && row["rows"] == 8192 {
            slower(row, 1.05);
        }
    });
    let (code, out, err) = run(&["compare", &kept(), &planted]);
    assert_eq!((code, err.as_str()), (1, ""), "{out}");
    assert!(out.contains("SLOWER") && out.contains("tiled") && !out.contains("ordered"), "{out}");
    let (code, out, _) = run(&["compare", &kept(), &planted, "--format", "json"]);
    let document: Value = serde_json::from_str(&out).expect("strict JSON");
    assert_eq!((code, &document["regression"]), (1, &Value::Bool(true)));
    let repeat = changed(folder.path(), "repeat.json", |row| slower(row, 1.004));
    let (code, out, _) = run(&["compare", &kept(), &repeat]);
    assert_eq!(code, 0, "{out}");
    assert!(out.starts_with("no regression"), "{out}");
    assert_eq!(run(&["compare", &kept(), &planted, "--threshold", "6"]).0, 0);
    let (code, _, err) = run(&["compare", "--baseline", &format!("{},{}", kept(), kept()), &repeat, &repeat]);
    assert_eq!(code, 0, "{err}");
}

#[test]
fn compare_refuses_what_is_not_comparable() {
    let folder = tempfile::tempdir().expect("a folder");
    let device = changed(folder.path(), "device.json", |row| row["device"] = "another".into());
    refused(&["compare", &kept(), &device], "--across-devices");
    assert_eq!(run(&["compare", &kept(), &device, "--across-devices"]).0, 0);
    let seed = changed(folder.path(), "seed.json", |row| row["seed"] = 7.into());
    refused(&["compare", &kept(), &seed], "--across-inputs");
    refused(&["compare", &kept()], "two files");
    refused(&["compare", &kept(), "/no/such/file.json"], "/no/such/file.json");
    refused(&["compare", &kept(), &kept(), "--threshold", "NaN"], "--threshold");
    refused(&["compare", &kept(), &kept(), "--format", "yaml"], "unknown format 'yaml'");
    let broken = changed(folder.path(), "broken.json", |row| row["verdict"] = "wrong".into());
    let (code, out, _) = run(&["compare", &kept(), &broken]);
    assert!(code == 1 && out.contains("BROKEN"), "{out}");
}

/// What a browser needs to show a page without a network, by day and by night, on a phone and on paper, and
/// to let its reader select all of it.
fn reads_everywhere(page: &str) {
    let without_names = page.replace("http://www.w3.org/2000/svg", "");
    let loading = ["http://", "https://", "<script", "src=", "@import", "url(", "<image", "<use", "<foreignObject"];
    for word in loading.iter().chain(&["user-select", "pointer-events", "::before", "::after"]) {
        assert!(!without_names.contains(word), "{word}");
    }
    assert!(page.contains("name=\"viewport\"") && page.contains("default-src 'none'"));
    // Night is for screens only: paper stays white, and colours that mean something are printed.
    assert_eq!(page.matches("prefers-color-scheme:dark").count(), page.matches("@media screen and (prefers-").count());
    let print = page.split("@media print{").nth(1).expect("rules for paper");
    assert!(print.contains(".scroll{overflow:visible}") && page.contains(".bar,.mark,.key i{print-color-adjust:exact"));
    // The words of drawings are text: no letters drawn as lines.
    for drawing in page.split("<svg").skip(1).map(|rest| rest.split("</svg>").next().unwrap_or_default()) {
        assert!(drawing.contains("<text") && !drawing.contains("<path"), "{drawing}");
    }
}

#[test]
fn a_page_is_one_file_that_loads_nothing_and_holds_every_rung() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("report.html");
    let (code, out, err) = run(&["report", &kept(), "--shape", "8192x8192", "--output", path.to_str().expect("text")]);
    assert_eq!((code, out.as_str(), err.as_str()), (0, "", ""));
    let page = std::fs::read_to_string(&path).expect("the page");
    for rung in ["naive", "tiled_padded@32", "ordered"] {
        assert!(page.contains(rung), "{rung}");
    }
    reads_everywhere(&page);
    assert!(page.contains("sectors") && page.contains("0c5d6c455dbb"), "lines and provenance");
    let left: Vec<_> = std::fs::read_dir(folder.path()).expect("the folder").collect();
    assert_eq!(left.len(), 1, "only the page is left behind");
}

#[test]
fn out_an_apostrophe_in_a_name_breaks_no_picture() {
    let folder = tempfile::tempdir().expect("a folder");
    let odd = changed(folder.path(), "odd.json", |row| row["device"] = "it's <a> & \"b\"".into());
    for format in ["svg", "html"] {
        let (code, out, err) = run(&["report", &odd, "--shape", "8192x8192", "--format", format]);
        assert_eq!(code, 0, "{err}");
        assert!(out.contains("it&#39;s &lt;a&gt; &amp; &quot;b&quot;") && !out.contains("<a> &"), "{format}");
    }
}

#[test]
fn the_picture_of_the_readmes_is_printed_from_the_kept_run() {
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/results");
    let run_of_docs = results.join("h200-transpose.json").display().to_string();
    let (code, out, err) = run(&["report", &run_of_docs, "--shape", "8192x8192", "--format", "svg"]);
    assert_eq!(code, 0, "{err}");
    assert!(std::fs::read_to_string(results.join("h200-transpose.svg")).expect("the picture") == out, "print it again");
}

#[test]
fn a_page_speaks_chinese() {
    let (code, out, _) = run(&["report", &kept(), "--shape", "8192x8192", "--format", "html", "--lang", "zh"]);
    assert_eq!(code, 0);
    assert!(out.contains("lang=\"zh-CN\"") && out.contains("最快的是 ordered"));
    refused(&["report", &kept(), "--lang", "fr"], "unknown language 'fr'");
}

#[test]
fn out_a_file_that_cannot_be_written_is_refused_first() {
    refused(&["report", &kept(), "--output", "/no/such/folder/x.json"], "cannot be written");
    refused(&["run", "transpose", "--size", "64", "--output", "/no/such/folder/x.json"], "cannot be written");
    refused(&["report", &kept(), "--output", "x.yaml"], "unknown file ending 'yaml'");
}

#[test]
fn a_document_that_is_none_of_ours_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let with = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("written");
        path.display().to_string()
    };
    refused(&["report", &with("half.json", "{\"schema\": ")], "not JSON");
    refused(&["report", &with("other.json", "{}")], "schema");
    refused(&["report", &with("new.json", r#"{"schema":"gpu-ladder/rows","version":99,"rows":[]}"#)], "version is 99");
    refused(&["report", &kept(), "--rung", "tild"], "unknown rung 'tild'");
    // One line that names the row and the field, not the whole row.
    let wrong = |name: &str, field: &str, value: Value, expected: &str| {
        let path = changed(folder.path(), name, |row| row[field] = value.clone());
        for arguments in [vec!["report", path.as_str()], vec!["compare", &kept(), path.as_str()]] {
            let (code, out, err) = run(&arguments);
            assert_eq!((code, out.as_str()), (2, ""), "{err}");
            assert!(err.contains(name) && err.contains(expected) && err.len() < 700, "{err}");
        }
    };
    wrong("op.json", "op", "transpos".into(), "row 1: unknown op 'transpos', did you mean 'transpose'?");
    wrong("time.json", "median_ms", (-1.5).into(), "row 1: median_ms is -1.5; there is none below 0");
    wrong("rung.json", "rung", Value::Null, "row 1: rung is not a text");
    wrong("dims.json", "cols", "many".into(), "row 1: cols is not a whole number");
}

#[test]
fn cli_numbers_have_dots_in_every_locale() {
    for locale in ["de_DE.UTF-8", "C"] {
        let mut command = Command::cargo_bin("gpu-ladder").expect("the tool");
        let output =
            command.args(["report", &kept(), "--format", "csv"]).env("LC_ALL", locale).output().expect("it runs");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.contains("0.9936320185661316"), "{locale}");
    }
}

#[test]
fn every_shell_has_completions() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let (code, out, _) = run(&["completions", shell]);
        assert!(code == 0 && out.contains("compare"), "{shell}");
    }
}

#[test]
fn every_verb_has_help_with_an_example() {
    let (_, help, _) = run(&["--help"]);
    for verb in ["list", "info", "run", "compare", "explain", "check", "report", "completions"] {
        assert!(help.contains(verb), "{verb}: {help}");
        let (code, out, _) = run(&[verb, "--help"]);
        assert!(code == 0 && out.contains(&format!("gpu-ladder {verb}")), "{verb}: {out}");
    }
}

#[test]
fn a_kept_run_fits_a_screen_and_says_what_each_step_changed() {
    let (code, out, err) = run(&["report", &kept(), "--shape", "8192x8192"]);
    assert_eq!(code, 0, "{err}");
    assert!(out.lines().count() <= 50 && out.lines().all(|line| line.chars().count() <= 100), "{out}");
    let out = out.replace("\n    ", " ");
    for said in [
        "cuda: best is ordered, 4071 GB/s, 96 % of the best copy",
        "coalesced_write: The mirror",
        "3.17x as fast as naive (3.1",
        "SLOWER, 0.60x as fast as coalesced_write",
        "shared memory is served in turns (line 45: 32.0 wavefronts where 1 would do)",
        "no real difference from the line above: ",
        "medians known to ",
    ] {
        assert!(out.contains(said), "{said}: {out}");
    }
    let (_, all, _) = run(&["report", &kept(), "--shape", "8192x8192", "--all"]);
    assert!(all.contains("tiled_padded@32"), "{all}");
}

#[test]
fn compare_is_silent_on_repeats_of_one_build_and_finds_a_slowdown_planted_in_them() {
    // Ten runs of one build on an H200, ladder rungs at 2048 x 2048: 13 to 71 microseconds each.
    let folder = tempfile::tempdir().expect("a folder");
    let run_of =
        |number: u32| Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/h200-repeats/{number}.json"));
    let text = |number: u32| std::fs::read_to_string(run_of(number)).expect("a kept run");
    let paths = |numbers: std::ops::RangeInclusive<u32>| -> Vec<String> {
        numbers.map(|number| run_of(number).display().to_string()).collect()
    };
    let before = paths(1..=5).join(",");
    let compare = |after: &[String]| {
        let files: Vec<&str> = after.iter().map(String::as_str).collect();
        run(&[&["compare", "--baseline", before.as_str()][..], &files].concat())
    };
    let (code, out, _) = compare(&paths(6..=10));
    assert!(code == 0 && out.starts_with("no regression"), "{out}");
    for number in 2..=10 {
        let [first, other] = [1, number].map(|number| run_of(number).display().to_string());
        let (code, out, _) = run(&["compare", &first, &other]);
        assert!(code == 0 && out.starts_with("no regression"), "{number}: {out}");
    }
    for rung in ["naive", "tiled", "tiled_padded@16", "tiled_padded@32", "coarsened", "ordered"] {
        let planted: Vec<String> = (6..=10)
            .map(|number| {
                let mut document: Value = serde_json::from_str(&text(number)).expect("JSON");
                let rows = document["rows"].as_array_mut().expect("rows");
                rows.iter_mut().filter(|row| row["rung"] == rung).for_each(|row| slower(row, 1.05));
                let path = folder.path().join(format!("{number}.json"));
                std::fs::write(&path, document.to_string()).expect("written");
                path.display().to_string()
            })
            .collect();
        let (code, out, _) = compare(&planted);
        assert!(code == 1 && out.matches("SLOWER").count() == 2 && out.contains(rung), "{rung}: {out}");
    }
}

#[test]
fn compare_tells_a_planted_slowdown_on_a_processor_that_others_use_too() {
    // Ten runs of two builds on llvmpipe, one thread pinned to one of two cores, while the machine had ten jobs:
    // `busy` does a twentieth more work in the second build.
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/lavapipe-repeats");
    let runs = |side: &str, numbers: std::ops::RangeInclusive<u32>| -> Vec<String> {
        numbers.map(|number| folder.join(format!("{side}-{number}.json")).display().to_string()).collect()
    };
    let compare = |before: Vec<String>, after: Vec<String>| {
        let before = before.join(",");
        let files: Vec<&str> = after.iter().map(String::as_str).collect();
        run(&[&["compare", "--all", "--baseline", before.as_str()][..], &files].concat())
    };
    let (code, out, _) = compare(runs("before", 1..=10), runs("after", 1..=10));
    let slower: Vec<&str> =
        out.lines().filter(|line| line.contains("SLOWER") && !line.contains("regression")).collect();
    assert!(code == 1 && slower.len() == 1 && slower[0].contains("busy"), "{out}");
    assert!(out.contains("fastest samples"), "{out}");
    let (code, out, _) = compare(runs("before", 1..=5), runs("before", 6..=10));
    assert!(code == 0 && !out.contains("SLOWER") && !out.contains("faster"), "{out}");
    // A single run on each side says nothing here.
    let (code, out, _) = compare(runs("before", 1..=1), runs("after", 1..=1));
    assert!(code == 0 && out.contains("3 cannot tell"), "{out}");
}

#[test]
fn the_screen_of_the_readmes_is_printed_from_the_kept_run() {
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/results");
    let rows = results.join("h200-matmul-ladder.json").display().to_string();
    let arguments = ["report", &rows, "--format", "screen"];
    let (code, out, err) = run(&arguments);
    assert_eq!(code, 0, "{err}");
    let kept = std::fs::read_to_string(results.join("h200-matmul-screen.svg")).expect("the picture");
    assert!(kept == out, "print it again: gpu-ladder {}", arguments.join(" "));
}
