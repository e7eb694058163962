//! From text to a program that can run: parse, validate, compile; then bind buffers and run.

use super::error::SimError;
use super::exec::{self, Buffer, Launch};
use super::lower::{self, Code};
use super::machine::Machine;
use super::profile::Profile;
use super::source::{Source, Span, blank_subgroup_directive};
use naga::valid::{Capabilities, ValidationFlags, Validator};

/// A compute entry point, compiled once, that any number of threads may run.
#[derive(Debug, Clone)]
pub struct Program {
    code: Code,
    source: Source,
    entry: String,
    size: [u32; 3],
}

/// What a binding is to the shader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BindingKind {
    /// `var<uniform>`.
    Uniform,
    /// `var<storage, read>`.
    ReadOnlyStorage,
    /// `var<storage, read_write>`.
    Storage,
    /// `var<immediate>`; give it as group `u32::MAX`, binding 0.
    Immediate,
}

/// A buffer that the entry point uses, as declared.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct BindingInfo {
    /// Its `@group`.
    pub group: u32,
    /// Its `@binding`.
    pub binding: u32,
    /// The variable's name.
    pub name: String,
    /// How the shader uses it.
    pub kind: BindingKind,
    /// Fewest bytes that a view must have; a runtime-sized array counts one element.
    pub min_size: u64,
}

/// A buffer for one run. The view is `data[offset .. offset + len]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Binding {
    /// Its `@group`.
    pub group: u32,
    /// Its `@binding`.
    pub binding: u32,
    /// Contents, little-endian; `read_write` storage comes back changed in place.
    pub data: Vec<u8>,
    /// First byte of the view, a multiple of 4. Sector counts take it into account.
    pub offset: u64,
    /// Bytes of the view; `None` is up to the end of `data`.
    pub len: Option<u64>,
}

impl Binding {
    /// The whole of `data` at (`group`, `binding`).
    pub fn new(group: u32, binding: u32, data: Vec<u8>) -> Self {
        Binding { group, binding, data, offset: 0, len: None }
    }

    fn range(&self) -> Result<std::ops::Range<usize>, SimError> {
        let size = self.data.len() as u64;
        let len = self.len.unwrap_or(size.saturating_sub(self.offset));
        let end = self.offset.checked_add(len).filter(|e| *e <= size && *e <= u64::from(u32::MAX));
        match end {
            Some(end) if self.offset.is_multiple_of(4) => Ok(self.offset as usize..end as usize),
            _ => Err(SimError::BadView { group: self.group, binding: self.binding, offset: self.offset, len, size }),
        }
    }
}

/// How to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Count requests, sectors, wavefronts and instructions.
    pub counters: bool,
    /// Look for races and the other hazards.
    pub hazards: bool,
    /// Threads of the simulator; 0 for as many as rayon has. The result does not depend on it,
    /// unless the program races in storage and `hazards` is off.
    pub threads: usize,
    /// Loop rounds (of all warps of one workgroup) after which the run is given up.
    pub max_steps: u64,
}

impl Default for Options {
    fn default() -> Self {
        Options { counters: true, hazards: true, threads: 0, max_steps: 1 << 32 }
    }
}

impl Program {
    /// Parses, validates and compiles `wgsl`.
    ///
    /// `entry` may be `None` if there is exactly one compute entry point. `overrides` are the values
    /// of pipeline-overridable constants by name (or by number, for those with `@id`).
    /// `enable subgroups;` is accepted.
    ///
    /// # Errors
    /// Every case of [`SimError`] that concerns the text, each with its line.
    pub fn new(wgsl: &str, entry: Option<&str>, overrides: &[(&str, f64)]) -> Result<Program, SimError> {
        let source = Source::new(wgsl);
        let text = blank_subgroup_directive(wgsl);
        let module = naga::front::wgsl::parse_str(&text).map_err(|e| SimError::Parse {
            line: e.location(&text).map_or(0, |l| l.line_number),
            message: e.message().to_string(),
        })?;
        Self::compile(&module, source, entry, overrides)
    }

    /// Compiles a naga module. `source` is the text that its spans refer to; without it lines are 0.
    ///
    /// # Errors
    /// As [`Program::new`].
    pub fn from_module(
        module: &naga::Module,
        source: &str,
        entry: Option<&str>,
        overrides: &[(&str, f64)],
    ) -> Result<Program, SimError> {
        Self::compile(module, Source::new(source), entry, overrides)
    }

    fn compile(
        module: &naga::Module,
        source: Source,
        entry: Option<&str>,
        overrides: &[(&str, f64)],
    ) -> Result<Program, SimError> {
        let line = |s: naga::Span| source.locate(Span::from(s)).0;
        // naga does not reject barriers in non-uniform control flow; a run finds where they diverge.
        let info = Validator::new(ValidationFlags::all(), Capabilities::all()).validate(module).map_err(|e| {
            let at = e.spans().next().map_or(0, |(s, _)| line(*s));
            SimError::Invalid { line: at, message: chain(e.as_inner()) }
        })?;
        let names = || -> Vec<String> {
            module
                .entry_points
                .iter()
                .filter(|e| e.stage == naga::ShaderStage::Compute)
                .map(|e| e.name.clone())
                .collect()
        };
        let entry = match entry {
            Some(e) => e.to_string(),
            None => match names().as_slice() {
                [only] => only.clone(),
                several => return Err(SimError::NoEntryPoint { name: String::new(), available: several.to_vec() }),
            },
        };
        let missing = || SimError::NoEntryPoint { name: entry.clone(), available: names() };
        let find = |m: &naga::Module| {
            m.entry_points
                .iter()
                .position(|e| e.name == entry && e.stage == naga::ShaderStage::Compute)
                .ok_or_else(missing)
        };
        find(module)?;
        let (code, size) = if module.overrides.is_empty() {
            if let Some((name, _)) = overrides.first() {
                return Err(SimError::Override { message: format!("the shader has no override `{name}`") });
            }
            let at = find(module)?;
            (lower::lower(module, &info, &source, at)?, module.entry_points[at].workgroup_size)
        } else {
            let mut constants = naga::back::PipelineConstants::default();
            for (name, value) in overrides {
                constants.insert((*name).to_string(), *value);
            }
            let stage = Some((naga::ShaderStage::Compute, entry.as_str()));
            let (module, info) = naga::back::pipeline_constants::process_overrides(module, &info, stage, &constants)
                .map_err(|e| SimError::Override { message: chain(&e) })?;
            let at = find(&module)?;
            (lower::lower(&module, &info, &source, at)?, module.entry_points[at].workgroup_size)
        };
        Ok(Program { code, source, entry, size })
    }

    /// Name of the entry point.
    pub fn entry(&self) -> &str {
        &self.entry
    }

    /// Invocations of a workgroup in each direction.
    pub fn workgroup_size(&self) -> [u32; 3] {
        self.size
    }

    /// Bytes of workgroup memory.
    pub fn shared_bytes(&self) -> u32 {
        self.code.shared_bytes
    }

    /// The buffers that the entry point uses.
    pub fn bindings(&self) -> Vec<BindingInfo> {
        let kind = |b: &lower::BufferInfo| match (b.uniform, b.writable) {
            (true, _) if b.group == u32::MAX => BindingKind::Immediate,
            (true, _) => BindingKind::Uniform,
            (false, true) => BindingKind::Storage,
            (false, false) => BindingKind::ReadOnlyStorage,
        };
        let info = |b: &lower::BufferInfo| BindingInfo {
            group: b.group,
            binding: b.binding,
            name: b.name.clone(),
            kind: kind(b),
            min_size: b.min_size,
        };
        self.code.buffers.iter().map(info).collect()
    }

    /// Does it use subgroup operations, whose results depend on the machine's warp width.
    pub fn uses_subgroups(&self) -> bool {
        self.code.uses_subgroups
    }

    /// Does it use cooperative matrices, which need a machine with warps of 32 lanes.
    pub fn uses_cooperative_matrices(&self) -> bool {
        self.code.uses_cooperative
    }

    /// The shader's text.
    pub fn source(&self) -> &str {
        self.source.text()
    }

    /// Runs `workgroups` workgroups on `bindings`, and returns what was counted and found.
    ///
    /// Writable storage comes back in place. Bindings that the entry point does not use are left
    /// alone. On an error no buffer has changed.
    ///
    /// # Errors
    /// Missing, doubled or too small bindings; limits of the machine; [`SimError::StepLimit`].
    pub fn run(
        &self,
        machine: &Machine,
        bindings: &mut [Binding],
        workgroups: [u32; 3],
        options: &Options,
    ) -> Result<Profile, SimError> {
        machine.check()?;
        self.check_limits(machine, workgroups)?;
        let places = self.bind(bindings)?;
        let threads = match options.threads {
            0 => rayon::current_num_threads(),
            n => n,
        };
        // Order shows in the results of such atomics: one thread, workgroups in order.
        let threads = if self.code.ordered_atomics { 1 } else { threads };
        let mut launch = self.launch(machine, bindings, &places, workgroups, options)?;
        let mut gathered = exec::run(&launch, threads)?;
        if threads > 1 && gathered.hazards.any_cross_race() {
            // The results of a race depend on timing: once more in order, so that the report does not.
            launch = self.launch(machine, bindings, &places, workgroups, options)?;
            gathered = exec::run(&launch, 1)?;
        }
        for (info, (buffer, (at, range))) in self.code.buffers.iter().zip(launch.buffers.iter().zip(&places)) {
            if info.writable {
                buffer.write_back(&mut bindings[*at].data[range.clone()]);
            }
        }
        Ok(Profile::new(&self.code, &self.source, &self.entry, self.size, workgroups, machine, gathered))
    }

    fn check_limits(&self, machine: &Machine, workgroups: [u32; 3]) -> Result<(), SimError> {
        let limit = |what: &str, needed: u64, limit: u64| {
            if needed <= limit {
                return Ok(());
            }
            Err(SimError::Limit { what: what.into(), needed, limit, machine: machine.name.clone() })
        };
        let threads = self.size.iter().map(|n| u64::from(*n)).product();
        limit("invocations of a workgroup", threads, u64::from(machine.threads_per_block))?;
        if self.code.uses_cooperative && machine.warp as usize != super::code::LANES {
            let what = format!("cooperative matrices on {}, whose warps have {} lanes", machine.name, machine.warp);
            return Err(SimError::Unsupported { line: 0, what });
        }
        limit("bytes of workgroup memory", u64::from(self.code.shared_bytes), u64::from(machine.shared_per_block))?;
        let groups = workgroups.iter().try_fold(1u64, |p, n| p.checked_mul(u64::from(*n))).unwrap_or(u64::MAX);
        limit("workgroups of one run", groups, u64::from(u32::MAX))
    }

    /// For each buffer of the shader, which binding it is and the bytes of its view.
    fn bind(&self, bindings: &[Binding]) -> Result<Vec<(usize, std::ops::Range<usize>)>, SimError> {
        for (i, b) in bindings.iter().enumerate() {
            if bindings[..i].iter().any(|o| (o.group, o.binding) == (b.group, b.binding)) {
                return Err(SimError::DuplicateBinding { group: b.group, binding: b.binding });
            }
        }
        let mut places = Vec::new();
        for info in &self.code.buffers {
            let (group, binding, name) = (info.group, info.binding, info.name.clone());
            let Some(at) = bindings.iter().position(|b| (b.group, b.binding) == (group, binding)) else {
                return Err(SimError::MissingBinding { group, binding, name });
            };
            let range = bindings[at].range()?;
            let given = range.len() as u64;
            if given < info.min_size {
                return Err(SimError::BindingTooSmall { group, binding, name, needed: info.min_size, given });
            }
            places.push((at, range));
        }
        Ok(places)
    }

    fn launch<'a>(
        &'a self,
        machine: &'a Machine,
        bindings: &[Binding],
        places: &[(usize, std::ops::Range<usize>)],
        workgroups: [u32; 3],
        options: &Options,
    ) -> Result<Launch<'a>, SimError> {
        let buffers: Vec<Buffer> = self
            .code
            .buffers
            .iter()
            .zip(places)
            .map(|(info, (at, range))| {
                let shadowed = options.hazards && info.writable;
                Buffer::new(&bindings[*at].data[range.clone()], range.start as u32, shadowed, info.grain)
            })
            .collect();
        let length = |l: &lower::LengthInfo| {
            let bytes = buffers.get(usize::from(l.buffer)).map_or(0, |b| b.bytes);
            (bytes.saturating_sub(u64::from(l.offset)) / u64::from(l.stride.max(1))) as u32
        };
        let lengths = self.code.lengths.iter().map(length).collect();
        Ok(Launch {
            code: &self.code,
            source: &self.source,
            machine,
            buffers,
            lengths,
            workgroups,
            size: self.size,
            counters: options.counters,
            hazards: options.hazards,
            max_steps: options.max_steps,
        })
    }
}

/// An error and its causes in one line.
fn chain(e: &dyn std::error::Error) -> String {
    let mut text = e.to_string();
    let mut source = e.source();
    while let Some(s) = source {
        text.push_str(": ");
        text.push_str(&s.to_string());
        source = s.source();
    }
    text
}
