//! Files that are written whole or not at all.

use crate::error::{Error, Result};
use std::path::{Path, PathBuf};

fn part_path(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}.part", std::process::id()));
    path.with_file_name(name)
}

fn error(path: &Path, problem: impl std::fmt::Display) -> Error {
    Error::File { path: path.display().to_string(), problem: format!("it cannot be written: {problem}") }
}

/// A device or a pipe, which nothing may be moved over.
fn is_special(path: &Path) -> bool {
    path.exists() && !path.is_file()
}

/// Refuses a path that [`write()`] could not write, before any work is done for it.
///
/// # Errors
/// [`Error::File`].
pub fn check_writable(path: &Path) -> Result<()> {
    if path.is_dir() {
        return Err(error(path, "it is a folder"));
    }
    if is_special(path) {
        return Ok(());
    }
    let part = part_path(path);
    std::fs::File::create(&part).map_err(|e| error(path, e))?;
    std::fs::remove_file(&part).map_err(|e| error(path, e))
}

/// Writes a file beside its place and moves it there, so that no reader sees half of it.
///
/// # Errors
/// [`Error::File`].
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    if is_special(path) {
        return std::fs::write(path, bytes).map_err(|e| error(path, e));
    }
    let part = part_path(path);
    let written = std::fs::write(&part, bytes).and_then(|()| std::fs::rename(&part, path));
    written.map_err(|e| {
        let _ = std::fs::remove_file(&part);
        error(path, e)
    })
}
