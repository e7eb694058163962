//! Files that are written whole or not at all.

use crate::error::{Error, Result};
use std::io::Write;
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

/// Whether a file can be written more than once: what goes to a pipe or a terminal cannot be taken back.
pub fn can_be_replaced(path: &Path) -> bool {
    !is_special(path)
}

/// Where a link leads: the file is replaced, and not the link to it.
fn place(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_path_buf())
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
    let part = part_path(&place(path));
    std::fs::File::create(&part).map_err(|e| error(path, e))?;
    std::fs::remove_file(&part).map_err(|e| error(path, e))
}

/// Writes a file beside its place, waits until it is on the disk and moves it there, so that nobody ever
/// finds half of it.
///
/// # Errors
/// [`Error::File`].
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    if is_special(path) {
        return std::fs::write(path, bytes).map_err(|e| error(path, e));
    }
    let place = place(path);
    let part = part_path(&place);
    let write = || {
        let mut file = std::fs::File::create(&part)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        std::fs::rename(&part, &place)
    };
    write().map_err(|e| {
        let _ = std::fs::remove_file(&part);
        error(path, e)
    })
}
