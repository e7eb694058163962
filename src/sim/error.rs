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
    #[error("line {line}: {message}")]
    Parse { line: u32, message: String },
    /// The module parses but breaks a rule of WGSL.
    #[error("line {line}: invalid shader: {message}")]
    Invalid { line: u32, message: String },
    /// A construct that the simulator does not execute (64-bit types, textures, …).
    #[error("line {line}: not supported by the simulator: {what}")]
    Unsupported { line: u32, what: String },
    /// No compute entry point of that name.
    #[error("no compute entry point `{name}`; the module has {available:?}")]
    NoEntryPoint { name: String, available: Vec<String> },
    /// A value for an override is missing, unknown or out of range.
    #[error("override: {message}")]
    Override { message: String },
    /// The shader declares a binding for which no buffer was given.
    #[error("no buffer for @group({group}) @binding({binding}) `{name}`")]
    MissingBinding { group: u32, binding: u32, name: String },
    /// A buffer is smaller than the type that the shader declares for it.
    #[error("@group({group}) @binding({binding}) `{name}`: needs at least {needed} bytes, the view has {given}")]
    BindingTooSmall { group: u32, binding: u32, name: String, needed: u64, given: u64 },
    /// A view reaches past the end of its buffer or does not start at a multiple of 4 bytes.
    #[error(
        "@group({group}) @binding({binding}): view of {len} bytes at {offset} does not fit a buffer of {size} bytes, or is not 4-byte aligned"
    )]
    BadView { group: u32, binding: u32, offset: u64, len: u64, size: u64 },
    /// The same group and binding was given twice.
    #[error("@group({group}) @binding({binding}) is given twice")]
    DuplicateBinding { group: u32, binding: u32 },
    /// A workgroup asks for more than the machine has.
    #[error("{what}: the shader needs {needed}, {machine} has {limit}")]
    Limit { what: String, needed: u64, limit: u64, machine: String },
    /// The shader did not end within [`Options::max_steps`](super::Options) loop iterations.
    #[error(
        "line {line}: still running after {steps} loop iterations of one workgroup: an endless loop, or a wait for another workgroup"
    )]
    StepLimit { line: u32, steps: u64 },
    /// A machine model file is missing or malformed.
    #[error("machine model: {message}")]
    Machine { message: String },
    /// The simulator met a form of the IR that it did not expect; a defect worth a report.
    #[error("line {line}: the simulator does not understand this: {what}")]
    Internal { line: u32, what: String },
}
