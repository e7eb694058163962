//! Measured ceilings, kept with the device: a JSON file in the platform's folder for state.

use super::Ceilings;
use crate::backend::Device;
use crate::error::{Error, Result};
use crate::report::file;
use std::path::{Path, PathBuf};

/// The version of the file; it changes when a field changes its meaning or goes.
const VERSION: u32 = 2;

#[derive(serde::Serialize, serde::Deserialize)]
struct Document {
    schema: String,
    version: u32,
    #[serde(flatten)]
    ceilings: Ceilings,
}

/// The folder for what the tool remembers: `GPU_LADDER_STATE`, else the platform's own; `None` where
/// there is none.
pub fn folder() -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(own) = variable("GPU_LADDER_STATE") {
        return Some(own);
    }
    let home = || variable("HOME");
    let base = if cfg!(windows) {
        variable("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        home().map(|home| home.join("Library/Application Support"))
    } else {
        variable("XDG_STATE_HOME").or_else(|| home().map(|home| home.join(".local/state")))
    };
    base.map(|base| base.join("gpu-ladder"))
}

/// The file of a device within a folder: its backend and name, in characters that every system takes.
pub fn path(folder: &Path, backend: &str, device: &str) -> PathBuf {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    folder.join(format!("limits-{backend}-{}.json", device.chars().map(plain).collect::<String>()))
}

/// The ceilings as JSON.
pub fn json(ceilings: &Ceilings) -> String {
    let document = Document { schema: "gpu-ladder/limits".into(), version: VERSION, ceilings: ceilings.clone() };
    serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"
}

/// Keeps the ceilings of a device.
///
/// # Errors
/// [`Error::File`].
pub fn save(folder: &Path, ceilings: &Ceilings) -> Result<PathBuf> {
    let path = path(folder, &ceilings.backend, &ceilings.device);
    std::fs::create_dir_all(folder)
        .map_err(|e| Error::File { path: folder.display().to_string(), problem: e.to_string() })?;
    file::write(&path, json(ceilings).as_bytes())?;
    Ok(path)
}

/// The kept ceilings of a device; `None` where there are none, or those of another driver.
///
/// # Errors
/// [`Error::File`] for a file that is there and cannot be used; measuring again mends it.
pub fn load(folder: &Path, device: &Device) -> Result<Option<Ceilings>> {
    let ceilings = named(folder, device.backend, &device.name)?;
    Ok(ceilings.filter(|ceilings| ceilings.driver == device.driver))
}

/// The kept ceilings of a device by its name, of whatever driver.
///
/// # Errors
/// As [`load`].
pub fn named(folder: &Path, backend: &str, device: &str) -> Result<Option<Ceilings>> {
    let path = path(folder, backend, device);
    let Ok(text) = std::fs::read_to_string(&path) else { return Ok(None) };
    read(&path.display().to_string(), &text).map(Some)
}

/// The ceilings of a document.
///
/// # Errors
/// [`Error::File`] naming `path`.
pub fn read(path: &str, text: &str) -> Result<Ceilings> {
    let wrong = |problem: String| Error::File { path: path.into(), problem };
    let document: Document = serde_json::from_str(text).map_err(|e| wrong(format!("no kept limits: {e}")))?;
    if document.schema != "gpu-ladder/limits" || document.version != VERSION {
        return Err(wrong(format!(
            "{} version {}; this tool reads version {VERSION}",
            document.schema, document.version
        )));
    }
    Ok(document.ceilings)
}

#[cfg(test)]
mod tests {
    use super::super::{Ceiling, Kind};
    use super::*;

    fn ceilings() -> Ceilings {
        let ceiling = |bytes: u64, value: f64| Ceiling {
            kind: Kind::Copy,
            rung: "copy/vectorized@4".into(),
            element: None,
            bytes: Some(bytes),
            value,
            low: value,
            high: value,
            sm_clock_mhz: Some(1980),
        };
        Ceilings {
            device: "It's a GPU/0".into(),
            driver: "1".into(),
            backend: "cuda".into(),
            software_adapter: false,
            clock: "device".into(),
            commit: None,
            complete: true,
            ceilings: vec![ceiling(1 << 20, 9e12), ceiling(1 << 30, 4e12), ceiling(1 << 30, 3e12)],
        }
    }

    #[test]
    fn what_was_kept_comes_back_and_half_a_file_is_an_error_that_saving_mends() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = save(folder.path(), &ceilings()).expect("saved");
        assert!(path.ends_with("limits-cuda-it-s-a-gpu-0.json"), "{path:?}");
        let back = named(folder.path(), "cuda", "It's a GPU/0").expect("readable");
        assert_eq!(back, Some(ceilings()));
        // The best of the largest copies, whatever their order.
        assert_eq!(ceilings().memory(), Some(4e12));
        std::fs::write(&path, "{\"schema\": \"gpu").expect("written");
        assert!(named(folder.path(), "cuda", "It's a GPU/0").is_err());
        save(folder.path(), &ceilings()).expect("saved again");
        assert_eq!(named(folder.path(), "cuda", "It's a GPU/0").expect("readable"), Some(ceilings()));
        assert_eq!(named(folder.path(), "cuda", "another").expect("none"), None);
    }
}
