//! The one error of the crate: named cases, each with the value that was wrong and the limit it met.

use std::fmt;

/// What every fallible function of the crate returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that can go wrong, told apart by what a caller can do about it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A shape, leading dimension or offset that no backend could serve.
    #[error("{what}: {problem}")]
    Shape {
        /// Which shape, as the caller knows it (`"input"`, `"transpose"`).
        what: String,
        /// What is wrong with it, with the value and the limit.
        problem: String,
    },
    /// A count of bytes or elements that does not fit 64 bits.
    #[error("{what} is too large: {factors} overflows 64 bits")]
    Overflow {
        /// What was being counted.
        what: String,
        /// The product that overflowed, written out.
        factors: String,
    },
    /// A resource limit of this device.
    #[error("{what} needs {needed} {unit}, but {device} allows {limit}")]
    Limit {
        /// What needs the resource.
        what: String,
        /// How much it needs.
        needed: u64,
        /// How much there is.
        limit: u64,
        /// The unit of both.
        unit: &'static str,
        /// The device that sets the limit.
        device: String,
    },
    /// Not enough memory on the device.
    #[error("out of device memory: {needed} bytes needed{}", free_text(*.free))]
    OutOfMemory {
        /// Bytes asked for.
        needed: u64,
        /// Bytes free when it failed; `None` where the backend cannot tell.
        free: Option<u64>,
    },
    /// A backend that is not in this build, or not on this machine.
    #[error("no {backend} backend: {because}. {remedy}")]
    NoBackend {
        /// The backend asked for.
        backend: &'static str,
        /// What is missing.
        because: String,
        /// How to get it.
        remedy: String,
    },
    /// A device name or index that matches nothing.
    #[error("no {backend} device matches '{asked}'; there {}", devices_text(.available))]
    NoDevice {
        /// The backend searched.
        backend: &'static str,
        /// What the caller asked for.
        asked: String,
        /// What there is, by index.
        available: Vec<String>,
    },
    /// A word (op, rung, element, format) that names nothing.
    #[error("unknown {kind} '{word}'{}; known: {}", nearest_text(.word, .known), .known.join(", "))]
    Unknown {
        /// What kind of name it should have been.
        kind: &'static str,
        /// The word given.
        word: String,
        /// Every name that would have been understood.
        known: Vec<String>,
    },
    /// This rung, on this backend or device, cannot do what was asked.
    #[error("{what} is not supported: {because}")]
    Unsupported {
        /// The rung or operation.
        what: String,
        /// Why not.
        because: String,
    },
    /// Kernel text that does not compile or does not load.
    #[error("{label} does not compile: {log}")]
    Compile {
        /// The kernel.
        label: String,
        /// The compiler's or driver's own words.
        log: String,
    },
    /// PTX that is newer than the driver.
    #[error(
        "{label}: its PTX is version {ptx}, and this driver (CUDA {driver}) reads up to {max}; update the driver or rebuild the PTX with an older NVRTC"
    )]
    PtxVersion {
        /// The kernel.
        label: String,
        /// The version the PTX declares.
        ptx: String,
        /// The driver's CUDA version.
        driver: String,
        /// The newest PTX version that this driver reads.
        max: String,
    },
    /// A call into the driver that failed.
    #[error("{call} failed: {message}")]
    Device {
        /// The call.
        call: String,
        /// The driver's own words.
        message: String,
    },
    /// The device is gone; nothing that was made from it works any more.
    #[error("the device was lost: {0}")]
    DeviceLost(String),
    /// A buffer, kernel or proof of one session used with another.
    #[error("{0} belongs to another device")]
    WrongDevice(&'static str),
    /// A file that cannot be read or written, or does not hold what it should.
    #[error("{path}: {problem}")]
    File {
        /// The file.
        path: String,
        /// What is wrong.
        problem: String,
    },
    /// A value of an option that makes no sense.
    #[error("{option} = {value}: {problem}")]
    Option {
        /// The option.
        option: &'static str,
        /// The value given.
        value: String,
        /// What it may be.
        problem: String,
    },
    /// The caller asked for an end before the end.
    #[error("interrupted: what follows is missing")]
    Interrupted,
    /// A verified kernel gave a wrong result while it was timed.
    #[error("{label} gave a wrong result while it was timed: {mismatch}")]
    WrongWhileTimed {
        /// The rung.
        label: String,
        /// The first wrong element.
        mismatch: String,
    },
}

impl Error {
    pub(crate) fn shape(what: impl Into<String>, problem: impl Into<String>) -> Self {
        Error::Shape { what: what.into(), problem: problem.into() }
    }

    pub(crate) fn unsupported(what: impl Into<String>, because: impl Into<String>) -> Self {
        Error::Unsupported { what: what.into(), because: because.into() }
    }

    /// A call into the driver, or a kernel, that failed.
    pub fn device(call: impl Into<String>, message: impl fmt::Display) -> Self {
        Error::Device { call: call.into(), message: message.to_string() }
    }
}

/// The product of `factors`, or [`Error::Overflow`] naming them.
pub(crate) fn product(what: &str, factors: &[u64]) -> Result<u64> {
    factors.iter().try_fold(1u64, |a, &b| a.checked_mul(b)).ok_or_else(|| Error::Overflow {
        what: what.to_string(),
        factors: factors.iter().map(u64::to_string).collect::<Vec<_>>().join(" x "),
    })
}

fn free_text(free: Option<u64>) -> String {
    free.map(|f| format!(", {f} free")).unwrap_or_default()
}

fn devices_text(available: &[String]) -> String {
    if available.is_empty() {
        return "is none".into();
    }
    let list: Vec<_> = available.iter().enumerate().map(|(i, name)| format!("{i} ({name})")).collect();
    format!("{} {}", if list.len() == 1 { "is" } else { "are" }, list.join(", "))
}

fn nearest_text(word: &str, known: &[String]) -> String {
    let nearest = known.iter().min_by_key(|k| edit_distance(word, k));
    match nearest {
        Some(k) if edit_distance(word, k) <= word.chars().count().div_ceil(3) => format!(", did you mean '{k}'?"),
        _ => String::new(),
    }
}

/// Levenshtein distance, one row at a time.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &cb) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(ca != cb);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_names_the_nearest() {
        let known = vec!["tiled".to_string(), "naive".to_string()];
        let error = Error::Unknown { kind: "rung", word: "tild".into(), known };
        assert_eq!(error.to_string(), "unknown rung 'tild', did you mean 'tiled'?; known: tiled, naive");
        // Two letters in the wrong order are two steps.
        assert_eq!(nearest_text("wpgu", &["wgpu".into()]), ", did you mean 'wgpu'?");
        assert_eq!(nearest_text("x", &["naive".into()]), "");
        assert_eq!(nearest_text("", &["naive".into()]), "");
    }

    #[test]
    fn a_product_that_wraps_is_an_error_with_its_factors() {
        let error = product("elements", &[1 << 32, 1 << 32]).unwrap_err();
        assert_eq!(error.to_string(), "elements is too large: 4294967296 x 4294967296 overflows 64 bits");
    }
}
