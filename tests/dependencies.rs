//! The tables of dependencies in the README and in `docs/dependencies.md` are those of `Cargo.toml`.

use std::collections::{BTreeMap, BTreeSet};

const MANIFEST: &str = include_str!("../Cargo.toml");
const README: &str = include_str!("../README.md");
const PAGE: &str = include_str!("../docs/dependencies.md");

/// Where Vulkan's own words are to be had.
const WITH_VULKAN: &str = r#"target.'cfg(any(windows, all(unix, not(target_vendor = "apple"))))'.dependencies"#;

/// The lines `name = value` of a section of the manifest.
fn section(name: &str) -> BTreeMap<&'static str, &'static str> {
    let head = format!("[{name}]");
    let lines = MANIFEST.lines().skip_while(|line| *line != head).skip(1).take_while(|line| !line.starts_with('['));
    lines.filter_map(|line| line.split_once(" = ")).filter(|(key, _)| !key.starts_with('#')).collect()
}

/// The words in quotes of a line.
fn quoted(line: &str) -> impl Iterator<Item = &str> {
    line.split('"').skip(1).step_by(2)
}

/// The words in backquotes of the first cell of each row of the table behind a line.
fn first_cells<'a>(page: &'a str, behind: &str) -> BTreeSet<&'a str> {
    let table = page.lines().skip_while(|line| !line.contains(behind)).skip_while(|line| !line.starts_with('|'));
    let rows = table.skip(2).take_while(|line| line.starts_with('|'));
    rows.filter_map(|row| row.split('|').nth(1)).flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect()
}

/// What the default features bring, and what only others do.
fn dependencies() -> [BTreeSet<&'static str>; 2] {
    let (mut all, features) = (section("dependencies"), section("features"));
    all.extend(section(WITH_VULKAN));
    let mut wanted: Vec<&str> = quoted(features["default"]).collect();
    let mut enabled = BTreeSet::new();
    while let Some(word) = wanted.pop() {
        match word.strip_prefix("dep:") {
            Some(name) => drop(enabled.insert(name)),
            None => wanted.extend(features.get(word).into_iter().flat_map(|line| quoted(line))),
        }
    }
    let is_default = |name: &&str| enabled.contains(*name) || !all[*name].contains("optional = true");
    let (default, others): (BTreeSet<_>, BTreeSet<_>) = all.keys().copied().partition(is_default);
    [default, others]
}

#[test]
fn each_has_a_reason_in_both_tables() {
    let [default, others] = dependencies();
    assert!(default.contains("wgpu") && others.contains("cudarc"), "{default:?} {others:?}");
    // Some cells name the feature in the reason, none in the first cell.
    assert_eq!(first_cells(README, "## Dependencies of the default build"), default, "README.md");
    assert_eq!(first_cells(PAGE, "Direct dependencies"), default, "docs/dependencies.md");
    for name in others {
        assert!(PAGE.contains(&format!("`{name}`")), "docs/dependencies.md does not name {name}");
    }
}

#[test]
fn each_has_its_reason_beside_it_in_the_manifest() {
    let rows = section("dependencies");
    let without: Vec<_> = rows.iter().filter(|(_, value)| !value.contains('#')).map(|(name, _)| *name).collect();
    // One reason stands for both.
    assert_eq!(without, ["serde_json"]);
}
