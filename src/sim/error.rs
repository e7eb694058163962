//! What can go wrong before or while a shader runs, with the source line where there is one.

/// Why the simulator could not compile or run a shader.
///
/// A hazard (a race, an index out of range) is not an error: it is reported in
/// [`Profile::hazards`](super::Profile) and the run goes on with the result that WGSL defines.
/// `line` is 1-based; 0 means that the place is unknown.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SimError {
    /// The text is not valid WGSL.
    #[error("{}{message}", at(*line))]
    Parse {
        /// Its line, 1-based; 0 where it is unknown.
        line: u32,
        /// What is wrong, in words.
        message: String,
    },
    /// The module parses but breaks a rule of WGSL.
    #[error("{}invalid shader: {message}", at(*line))]
    Invalid {
        /// Its line, 1-based; 0 where it is unknown.
        line: u32,
        /// What is wrong, in words.
        message: String,
    },
    /// A construct that the simulator does not execute (64-bit types, textures, …).
    #[error("{}not supported by the simulator: {what}", at(*line))]
    Unsupported {
        /// Its line, 1-based; 0 where it is unknown.
        line: u32,
        /// What it is.
        what: String,
    },
    /// No compute entry point of that name, or none is named and there is not exactly one.
    #[error("{}", no_entry_point(.name, .available))]
    NoEntryPoint {
        /// Its name.
        name: String,
        /// Those that the module has.
        available: Vec<String>,
    },
    /// A value for an override is missing, unknown or out of range.
    #[error("override: {message}")]
    Override {
        /// What is wrong, in words.
        message: String,
    },
    /// The shader declares a binding for which no buffer was given.
    #[error("no buffer for @group({group}) @binding({binding}) `{name}`")]
    MissingBinding {
        /// Its `@group`.
        group: u32,
        /// Its `@binding`.
        binding: u32,
        /// Its name.
        name: String,
    },
    /// A buffer is smaller than the type that the shader declares for it.
    #[error("@group({group}) @binding({binding}) `{name}`: needs at least {needed} bytes, the view has {given}")]
    BindingTooSmall {
        /// Its `@group`.
        group: u32,
        /// Its `@binding`.
        binding: u32,
        /// Its name.
        name: String,
        /// What the shader needs.
        needed: u64,
        /// What was given, in bytes.
        given: u64,
    },
    /// A view reaches past the end of its buffer or does not start at a multiple of 4 bytes.
    #[error(
        "@group({group}) @binding({binding}): view of {len} bytes at {offset} does not fit a buffer of {size} bytes, or is not 4-byte aligned"
    )]
    BadView {
        /// Its `@group`.
        group: u32,
        /// Its `@binding`.
        binding: u32,
        /// First byte of the view.
        offset: u64,
        /// Bytes of the view.
        len: u64,
        /// Bytes of the buffer.
        size: u64,
    },
    /// The same group and binding was given twice.
    #[error("@group({group}) @binding({binding}) is given twice")]
    DuplicateBinding {
        /// Its `@group`.
        group: u32,
        /// Its `@binding`.
        binding: u32,
    },
    /// A workgroup asks for more than the machine has.
    #[error("{what}: the shader needs {needed}, {machine} has {limit}")]
    Limit {
        /// What it is.
        what: String,
        /// What the shader needs.
        needed: u64,
        /// What the machine has.
        limit: u64,
        /// The machine model.
        machine: String,
    },
    /// The shader did not end within [`Options::max_steps`](super::Options) loop iterations.
    #[error(
        "{}still running after {steps} loop iterations of one workgroup: an endless loop, or a wait for another workgroup",
        at(*line)
    )]
    StepLimit {
        /// Its line, 1-based; 0 where it is unknown.
        line: u32,
        /// Loop iterations so far.
        steps: u64,
    },
    /// A machine model file is missing or malformed.
    #[error("machine model: {message}")]
    Machine {
        /// What is wrong, in words.
        message: String,
    },
    /// The simulator met a form of the IR that it did not expect; a defect worth a report.
    #[error("{}the simulator does not understand this: {what}", at(*line))]
    Internal {
        /// Its line, 1-based; 0 where it is unknown.
        line: u32,
        /// What it is.
        what: String,
    },
}

/// Where it is, if that is known.
fn at(line: u32) -> String {
    if line == 0 { String::new() } else { format!("line {line}: ") }
}

fn no_entry_point(name: &str, available: &[String]) -> String {
    let there = match available {
        [] => "the module has none".into(),
        some => format!("the module has {}", some.join(", ")),
    };
    match name {
        "" => format!("one compute entry point is due; {there}"),
        name => format!("no compute entry point `{name}`; {there}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_say_what_is_known_and_no_more() {
        let error = |name: &str, available: &[&str]| {
            let available = available.iter().map(|name| name.to_string()).collect();
            SimError::NoEntryPoint { name: name.into(), available }.to_string()
        };
        assert_eq!(error("", &[]), "one compute entry point is due; the module has none");
        assert_eq!(error("", &["a", "b"]), "one compute entry point is due; the module has a, b");
        assert_eq!(error("c", &["a"]), "no compute entry point `c`; the module has a");
        let invalid = |line| SimError::Invalid { line, message: "x".into() }.to_string();
        assert_eq!((invalid(0), invalid(3)), ("invalid shader: x".into(), "line 3: invalid shader: x".into()));
    }
}
