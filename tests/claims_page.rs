//! `docs/claims.md` is printed from the kept runs, has a verdict in every row, and no run is older than its predicates.

use gpu_ladder::claims::{Report, Test, Verdict, claims, page, read};
use std::path::Path;

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())).replace('\r', "")
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The kept runs, by name of their files.
fn kept() -> Vec<Report> {
    let folder = std::fs::read_dir(root().join("docs/results")).expect("the results");
    let mut paths: Vec<_> = folder.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.to_string_lossy().ends_with("-claims.json"));
    paths.sort();
    paths.iter().map(|path| read(&path.display().to_string(), &text(path)).expect("a kept run")).collect()
}

#[test]
fn the_page_is_printed_from_the_kept_runs() {
    let kept = kept();
    assert!(!kept.is_empty());
    let printed = text(&root().join("docs/claims.md"));
    assert!(page(&kept) == printed, "print docs/claims.md again: its first line says how");
}

#[test]
fn no_kept_run_is_older_than_its_predicates() {
    for report in kept() {
        for claim in claims() {
            let finding = report.findings.iter().find(|finding| finding.id == claim.id);
            let finding = finding.unwrap_or_else(|| panic!("{} has not measured {}", report.device, claim.id));
            assert_eq!(finding.predicate, claim.predicate, "{}: measure {} again", report.device, claim.id);
        }
    }
}

#[test]
fn every_id_has_a_verdict_on_the_page() {
    let page = text(&root().join("docs/claims.md"));
    for claim in claims() {
        let row = page.lines().find(|line| line.starts_with(&format!("| {} |", claim.id)));
        let row = row.unwrap_or_else(|| panic!("docs/claims.md lacks {}", claim.id));
        let said = |verdict: Verdict| row.contains(&format!("| **{}**", verdict.name()));
        let settled = [Verdict::Holds, Verdict::Fails, Verdict::Depends].into_iter().any(said);
        // Launches, streams, several devices and allocation have no rungs yet; the crate's own test lists them.
        let open = matches!(claim.test, Test::Later);
        assert_eq!((settled, said(Verdict::Later)), (!open, open), "{row}");
    }
}
