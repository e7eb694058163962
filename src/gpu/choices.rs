//! What tuning found, and the file of the user's cache folder that keeps it.
//!
//! A file belongs to one device, driver and version of this crate. It is written beside its final
//! place and moved there, and its last line is a checksum: a file that is cut short, altered or of
//! another kind is ignored with a warning and replaced at the next tuning. Whatever it says, a rung
//! is only taken where its row accepts the problem, so the file decides about speed alone.

use crate::backend::Device;
use crate::error::{Error, Result};
use crate::op::{Op, Shape};
use crate::problem::Problem;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError, RwLock};

const HEADER: &str = "gpu-ladder tuning 1";
/// Where the files go instead of the platform's cache folder; empty for nowhere.
const ENVIRONMENT: &str = "GPU_LADDER_CACHE";

/// One writer of this process at a time, so that each keeps what the others found.
static WRITING: Mutex<()> = Mutex::new(());

/// Chosen rungs by problem, and by the class of problems like it.
pub(super) struct Choices {
    found: RwLock<BTreeMap<String, String>>,
    file: Mutex<Option<PathBuf>>,
    /// Whether it has yet to be said that there is no place for a file.
    homeless: AtomicBool,
    device: String,
}

impl Choices {
    /// What an earlier run found on this device.
    pub(super) fn of(device: &Device) -> Self {
        let (found, file, homeless) = (RwLock::default(), Mutex::new(None), AtomicBool::new(false));
        let choices = Choices { found, file, homeless, device: identity(device) };
        let folder = folder();
        choices.keep_in(folder.as_deref());
        choices.homeless.store(folder.is_none() && std::env::var_os(ENVIRONMENT).is_none(), Relaxed);
        choices
    }

    /// Reads from, and from now on writes to, this folder; keeps nothing for `None`.
    pub(super) fn keep_in(&self, folder: Option<&Path>) {
        // A browser has no files.
        let folder = folder.filter(|_| !cfg!(target_arch = "wasm32"));
        let file = folder.map(|folder| folder.join(format!("tuning-{:016x}.txt", fnv(&self.device))));
        let kept = file.as_deref().map(|file| self.read(file)).unwrap_or_default();
        *self.found.write().unwrap_or_else(PoisonError::into_inner) = kept;
        *self.file.lock().unwrap_or_else(PoisonError::into_inner) = file;
        self.homeless.store(false, Relaxed);
    }

    /// The file, where there is one to be.
    pub(super) fn file(&self) -> Option<PathBuf> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The rung found for a problem, or else for its class.
    pub(super) fn get(&self, op: &dyn Op, problem: &Problem) -> Option<String> {
        let found = self.found.read().unwrap_or_else(PoisonError::into_inner);
        if found.is_empty() {
            return None;
        }
        let [exact, class] = keys(op, problem)?;
        found.get(&exact).or_else(|| found.get(&class)).cloned()
    }

    /// Takes note of a rung for a problem and its class, and writes the file. A file that cannot be
    /// written costs a warning and the next run's start, nothing else.
    pub(super) fn put(&self, op: &dyn Op, problem: &Problem, rung: &str) {
        let Some(keys) = keys(op, problem) else { return };
        let _writing = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
        let file = self.file();
        if self.homeless.swap(false, Relaxed) {
            tracing::warn!("what was tuned is not kept: there is no cache folder; {ENVIRONMENT} can name one");
        }
        // What another process has found meanwhile stays.
        let others = file.as_deref().map(|file| self.read(file)).unwrap_or_default();
        let all = {
            let mut found = self.found.write().unwrap_or_else(PoisonError::into_inner);
            for (key, other) in others {
                found.entry(key).or_insert(other);
            }
            found.extend(keys.map(|key| (key, rung.to_string())));
            found.clone()
        };
        if let Some(file) = file
            && let Err(error) = self.write(&file, &all)
        {
            tracing::warn!(%error, "what was tuned is not kept");
            // One warning is enough: the rest of this run keeps it in memory.
            *self.file.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }

    fn read(&self, file: &Path) -> BTreeMap<String, String> {
        let text = match std::fs::read(file) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(_) => return BTreeMap::new(),
        };
        self.parse(&text).unwrap_or_else(|| {
            tracing::warn!(file = %file.display(), "this tuning file is damaged or of another device; it is not used");
            BTreeMap::new()
        })
    }

    fn parse(&self, text: &str) -> Option<BTreeMap<String, String>> {
        let body = text.strip_suffix('\n')?;
        let (body, last) = body.rsplit_once('\n')?;
        if last != format!("end {:016x}", fnv(body)) {
            return None;
        }
        let mut lines = body.lines();
        if lines.next()? != HEADER || lines.next()? != self.device {
            return None;
        }
        lines.map(|line| line.split_once('\t').map(|(key, rung)| (key.into(), rung.into()))).collect()
    }

    fn text(&self, all: &BTreeMap<String, String>) -> String {
        let mut body = format!("{HEADER}\n{}", self.device);
        for (key, rung) in all {
            body.push_str(&format!("\n{key}\t{rung}"));
        }
        let end = fnv(&body);
        format!("{body}\nend {end:016x}\n")
    }

    fn write(&self, file: &Path, all: &BTreeMap<String, String>) -> Result<()> {
        let failed =
            |error: std::io::Error| Error::File { path: file.display().to_string(), problem: error.to_string() };
        let part = file.with_extension(format!("{}.part", std::process::id()));
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        let moved = std::fs::write(&part, self.text(all)).and_then(|()| std::fs::rename(&part, file));
        if moved.is_err() {
            // The error that counts is the one above.
            let _ = std::fs::remove_file(&part);
        }
        moved.map_err(failed)
    }
}

/// The platform's folder for what can be made again; `None` where there is none.
fn folder() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(given) = std::env::var_os(ENVIRONMENT) {
        return (!given.is_empty()).then(|| PathBuf::from(given));
    }
    let base = if cfg!(windows) {
        set("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        set("HOME").map(|home| home.join("Library/Caches"))
    } else {
        set("XDG_CACHE_HOME").filter(|path| path.is_absolute()).or_else(|| set("HOME").map(|home| home.join(".cache")))
    };
    base.map(|base| base.join("gpu-ladder"))
}

/// What a file is about, on one line.
fn identity(device: &Device) -> String {
    let Device { backend, name, driver, api, .. } = device;
    let version = env!("CARGO_PKG_VERSION");
    [version, backend, name, driver, api].map(|word| word.replace(['\n', '\t', '|'], " ")).join("|")
}

/// A problem in words, and the class it belongs to: dimensions to half an octave, and how well the
/// operands are aligned.
fn keys(op: &dyn Op, problem: &Problem) -> Option<[String; 2]> {
    let (inputs, result) = op.shapes(problem).ok()?;
    let shapes: Vec<&Shape> = inputs.iter().chain([&result]).collect();
    let size = problem.element.size();
    let output = (op.output_element(problem), problem.precision);
    let mut exact = format!("{} {} {} {}", op.name(), problem.element, output.0, output.1);
    let mut class = format!("{exact} class");
    for &dim in problem.dims.iter().chain([&problem.batch]) {
        exact.push_str(&format!(" {dim}"));
        class.push_str(&format!(" {}", half_octave(dim)));
    }
    for shape in shapes {
        let letter = if shape.layout.transposed { 't' } else { 'n' };
        let (ld, stride, offset) = (shape.leading_dimension(), shape.batch_stride(), shape.layout.offset);
        exact.push_str(&format!(" {letter}{ld},{stride},{offset}"));
        let gaps = if ld == shape.cols { 'p' } else { 'g' };
        class.push_str(&format!(" {letter}{gaps}{}", alignment([ld, stride, offset].map(|n| n.wrapping_mul(size)))));
    }
    let old = if op.reads_output(problem) { " +" } else { "" };
    Some([exact + old, class + old])
}

/// Twice the logarithm of a dimension, rounded down.
fn half_octave(dim: u64) -> u64 {
    let Some(octave) = dim.checked_ilog2() else { return 0 };
    // Past the square root of two, in whole numbers.
    let upper = u128::from(dim) * u128::from(dim) >= 1u128 << (2 * octave + 1);
    1 + 2 * u64::from(octave) + u64::from(upper)
}

/// The largest power of two up to a vector that divides all of these bytes.
fn alignment(bytes: [u64; 3]) -> u64 {
    const VECTOR: u64 = 16;
    let all = bytes.into_iter().fold(VECTOR, |all, n| all | n);
    1 << all.trailing_zeros()
}

/// The 64-bit FNV-1a hash.
pub(super) fn fnv(text: &str) -> u64 {
    text.bytes().fold(0xCBF2_9CE4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::Element;
    use crate::op::{Matmul, Transpose};
    use crate::problem::Layout;

    #[test]
    fn classes_are_half_octaves() {
        let classes: Vec<_> = [0, 1, 2, 3, 4, 5, 6, 8].map(half_octave).into();
        assert_eq!(classes, [0, 1, 3, 4, 5, 5, 6, 7]);
    }

    #[test]
    fn tuned_for_aligned_rows_says_nothing_about_others() {
        let problem = |k| Problem::new(Element::F32, [64, 64, k]);
        let [_, aligned] = keys(&Matmul, &problem(128)).unwrap();
        let [_, odd] = keys(&Matmul, &problem(126)).unwrap();
        let [_, near] = keys(&Matmul, &problem(132)).unwrap();
        assert_ne!(aligned, odd);
        assert_eq!(aligned, near);
        assert_ne!(keys(&Matmul, &problem(64)).unwrap(), keys(&Matmul, &problem(48)).unwrap());
    }

    #[test]
    fn a_layout_that_is_spelt_out_is_the_same_problem() {
        let short = Problem::new(Element::F32, [10, 20]);
        let layout = Layout { leading_dimension: Some(20), batch_stride: Some(200), ..Layout::default() };
        assert_eq!(keys(&Transpose, &short), keys(&Transpose, &short.clone().with_layout(0, layout)));
    }
}
