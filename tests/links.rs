//! What the pages name is there: files behind links, headings behind `#`, paths in backquotes.

use std::path::{Path, PathBuf};

/// The pages, by their path from the root.
fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder =
        |name: &str| std::fs::read_dir(root.join(name)).expect("a folder").map(|entry| entry.expect("an entry").path());
    let all = folder("").chain(folder("docs")).chain(folder("docs/kernels"));
    all.filter(|path| path.extension().is_some_and(|end| end == "md")).collect()
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The names by which the headings of a page are linked.
fn anchors(page: &str) -> Vec<String> {
    let headings = page.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
    let kept = |c: &char| c.is_alphanumeric() || ['-', '_', ' '].contains(c);
    headings.map(|line| line.to_lowercase().chars().filter(kept).collect::<String>().replace(' ', "-")).collect()
}

#[test]
fn every_link_leads_somewhere() {
    let mut links = 0;
    for page in pages() {
        let (here, content) = (page.parent().expect("a folder"), text(&page));
        let targets = content.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target);
        for target in targets.filter(|target| !target.starts_with("http")) {
            let (file, anchor) = target.split_once('#').map_or((target, None), |(file, anchor)| (file, Some(anchor)));
            let file = if file.is_empty() { page.clone() } else { here.join(file) };
            assert!(file.exists(), "{}: {target}", page.display());
            assert!(
                anchor.is_none_or(|anchor| anchors(&text(&file)).iter().any(|a| a == anchor)),
                "{}: {target}",
                page.display()
            );
            links += 1;
        }
    }
    assert!(links > 50, "{links} links");
}

#[test]
fn every_path_that_is_named_is_there() {
    const FOLDERS: [&str; 7] = ["src/", "examples/", "tests/", "cuda/", "shaders/", "docs/", "models/"];
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let is_path = |word: &&str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "/_-.@".contains(c);
        FOLDERS.iter().any(|folder| word.starts_with(folder)) && word.chars().all(plain)
    };
    for page in pages() {
        for line in text(&page).lines() {
            for word in line.split('`').skip(1).step_by(2).filter(is_path) {
                let there = root.join(word).exists() || root.join(format!("{word}.rs")).exists();
                assert!(there, "{}: `{word}`", page.display());
            }
        }
    }
}
