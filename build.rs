//! Tells the crate which commit it was built from, so that every row of a report can say so.

use std::process::Command;

fn main() {
    let git = |args: &[&str]| {
        let output = Command::new("git").args(args).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_string())
    };
    // A package from a registry has no repository, or lies inside somebody else's.
    let ours = std::path::Path::new(".git").exists();
    if let Some(commit) = git(&["rev-parse", "--short=12", "HEAD"]).filter(|_| ours) {
        let changed = git(&["status", "--porcelain", "--untracked-files=no"]).is_some_and(|s| !s.is_empty());
        println!("cargo::rustc-env=GPU_LADDER_COMMIT={commit}{}", if changed { "+" } else { "" });
    }
    // A linked worktree keeps these elsewhere; naming a file that is not there would rebuild every time.
    for name in ["HEAD", "index"] {
        let path = git(&["rev-parse", "--git-path", name]).unwrap_or_else(|| format!(".git/{name}"));
        println!("cargo::rerun-if-changed={path}");
    }
}
