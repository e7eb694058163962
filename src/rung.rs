//! A rung: one optimisation idea for one op, as a row of data beside two kernel sources.
//!
//! Nothing here runs. A rung says where its kernels are, which constants both of them get, how its
//! grid is laid over a problem and what it accepts; [`Session`](crate::Session) turns that into
//! launches. Rungs of this crate are `const` data made by the `rung!` macro; a program makes its
//! own with [`Rung::new`] and the `with_` methods.

use crate::element::Element;
use std::borrow::Cow;

/// Where the kernel of a rung comes from, in one language.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    /// Kernel text: WGSL, or CUDA C++ (whose PTX is embedded, or compiled at run time with `nvrtc`).
    Text(Cow<'static, str>),
    /// PTX given by the user. What it does cannot be checked: see [`Rung::with_ptx`].
    Ptx(Cow<'static, str>),
    /// No kernel: a call that the backend offers by itself.
    Native(Native),
    /// This language cannot express the rung, or nobody wrote it; the reason is shown in its cell.
    Absent {
        /// The reason, as a clause: «WGSL has no asynchronous copy».
        because: Cow<'static, str>,
    },
}

/// A call that a backend offers by itself, without a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Native {
    /// Copies the first binding to the second, as far as both reach.
    Copy,
}

/// How many blocks a pass launches, over the extent that its op gives for a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grid {
    /// One block per tile of `x` columns and `y` rows; the batch is the third dimension.
    Tiles {
        /// Columns of a tile.
        x: u32,
        /// Rows of a tile.
        y: u32,
    },
    /// The same tiles, numbered along one dimension; the kernel decides their order.
    TilesLinear {
        /// Columns of a tile.
        x: u32,
        /// Rows of a tile.
        y: u32,
    },
    /// The same, and `parts` blocks for each tile along the second dimension (a divided sum).
    TilesLinearParts {
        /// Columns of a tile.
        x: u32,
        /// Rows of a tile.
        y: u32,
        /// Blocks of each tile.
        parts: u32,
    },
    /// One block per `per_block` columns, whatever the rows, and `parts` blocks for each along the
    /// second dimension; the batch is the third.
    Columns {
        /// Columns of a block.
        per_block: u32,
        /// Blocks of the same columns.
        parts: u32,
    },
    /// The same along the rows: one block per `per_block` rows.
    Rows {
        /// Rows of a block.
        per_block: u32,
        /// Blocks of the same rows.
        parts: u32,
    },
    /// The grid of the first case whose switches all have the stated values.
    BySwitch(&'static [(&'static [(&'static str, u32)], Grid)]),
    /// One block per `per_block` elements of a one-dimensional extent.
    Linear {
        /// Elements of a block.
        per_block: u32,
    },
    /// One block per `per_block` bytes of a one-dimensional extent.
    LinearBytes {
        /// Bytes of a block.
        per_block: u32,
    },
    /// As [`Linear`](Grid::Linear), but at most `max` blocks, which then take several turns.
    LinearAtMost {
        /// Elements of a block and turn.
        per_block: u32,
        /// The most blocks.
        max: u32,
    },
    /// One block per `per_block` bytes of the longer of both extents; the batch is the third dimension.
    LongSideBytes {
        /// Bytes of a block.
        per_block: u32,
    },
    /// One block per run of whole matrices that `per_block` bytes hold (see [`whole_matrices`]), over the batch.
    Matrices {
        /// Bytes of a block.
        per_block: u32,
    },
    /// One block per pair of square tiles that mirror each other at the diagonal, numbered along one
    /// dimension; the batch is the third.
    Triangle {
        /// Rows and columns of a tile.
        tile: u32,
    },
    /// This many blocks, whatever the problem.
    Fixed {
        /// The blocks.
        blocks: u32,
    },
    /// As many blocks as the device holds at a time, at most one per tile, each taking several tiles.
    Persistent {
        /// Blocks on each multiprocessor.
        per_sm: u32,
        /// Columns of a tile.
        x: u32,
        /// Rows of a tile.
        y: u32,
    },
}

/// How many whole matrices of `matrix` elements of `element` bytes a block of `per_block` bytes
/// takes: where it can be, so many that the next block starts at a multiple of 16 bytes.
pub const fn whole_matrices(per_block: u32, matrix: u64, element: u64) -> u64 {
    let bytes = matrix.saturating_mul(element);
    if bytes == 0 {
        return 1;
    }
    let (fit, vector) = (per_block as u64 / bytes, 16 / element);
    if fit >= vector { fit - fit % vector } else { fit }
}

/// The size of a workspace buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Workspace {
    /// So many bytes for each block of the first pass.
    PerBlock(u32),
    /// So many times the bytes of the (packed) output.
    PerOutput(u32),
}

/// One operand of a pass, by its place in the op.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operand {
    /// An input of the op.
    Input(usize),
    /// An output of the op.
    Output(usize),
    /// A workspace of the rung, read by this pass.
    WorkspaceIn(usize),
    /// A workspace of the rung, written by this pass.
    WorkspaceOut(usize),
}

impl Operand {
    /// Whether the pass may write it.
    pub const fn is_written(self) -> bool {
        matches!(self, Operand::Output(_) | Operand::WorkspaceOut(_))
    }
}

/// One kernel launch of a rung (almost every rung has exactly one).
#[derive(Debug, Clone, PartialEq)]
pub struct Pass {
    /// Appended to `<op>_<rung>` for the entry point; empty for the only pass.
    pub suffix: Cow<'static, str>,
    /// Threads of a block.
    pub block: [u32; 3],
    /// Blocks of the launch.
    pub grid: Grid,
    /// Operands in binding order; `None` means all inputs and then all outputs of the op.
    pub bindings: Option<Cow<'static, [Operand]>>,
    /// Shared memory that a launch gives a block (CUDA), in bytes, where it is not that of
    /// [`CudaNeeds`].
    pub dynamic_shared: Option<u32>,
}

impl Pass {
    /// The only pass of a rung, on all operands of its op.
    pub const fn new(block: [u32; 3], grid: Grid) -> Self {
        Pass { suffix: Cow::Borrowed(""), block, grid, bindings: None, dynamic_shared: None }
    }
}

/// A CUDA tensor map (a descriptor for the bulk copy engine) that a kernel takes after its params.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TensorMapRow {
    /// The operand it describes.
    pub operand: Operand,
    /// The box: elements along the contiguous dimension, then rows.
    pub block: [u32; 2],
    /// Bytes of the swizzle pattern: 0, 32, 64 or 128.
    pub swizzle: u32,
    /// The switch and its value for which the kernel takes the map; `None` for always.
    pub when: Option<(&'static str, u32)>,
}

/// What a CUDA kernel needs beyond its text.
#[derive(Debug, Clone, PartialEq)]
pub struct CudaNeeds {
    /// The architecture it is compiled for, and so the least capability it runs on.
    pub arch: Arch,
    /// Dynamic shared memory of a block, in bytes.
    pub dynamic_shared: u32,
    /// Tensor maps, in parameter order.
    pub tensor_maps: Cow<'static, [TensorMapRow]>,
}

/// A compilation target of CUDA kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Arch {
    /// PTX for capability 7.0 and later.
    Compute70,
    /// PTX for capability 8.0 and later (asynchronous copies).
    Compute80,
    /// PTX for capability 9.0 and later (bulk tensor copies, barriers with transaction counts).
    Compute90,
    /// Machine code for capability 9.0 exactly (`wgmma`, `setmaxnreg`).
    Sm90a,
}

impl Arch {
    /// The name that NVRTC takes.
    pub const fn name(self) -> &'static str {
        match self {
            Arch::Compute70 => "compute_70",
            Arch::Compute80 => "compute_80",
            Arch::Compute90 => "compute_90",
            Arch::Sm90a => "sm_90a",
        }
    }

    /// Whether a device of compute capability `(major, minor)` runs it.
    pub const fn runs_on(self, capability: (u32, u32)) -> bool {
        match self {
            Arch::Compute70 => capability.0 >= 7,
            Arch::Compute80 => capability.0 >= 8,
            Arch::Compute90 => capability.0 >= 9,
            Arch::Sm90a => capability.0 == 9 && capability.1 == 0,
        }
    }

    /// The requirement in words.
    pub const fn requirement(self) -> &'static str {
        match self {
            Arch::Compute70 => "compute capability 7.0 or later",
            Arch::Compute80 => "compute capability 8.0 or later",
            Arch::Compute90 => "compute capability 9.0 or later",
            Arch::Sm90a => "compute capability 9.0 exactly",
        }
    }
}

/// What a rung takes beyond packed matrices; outside it the rung is `Unsupported` with the reason.
/// Ragged edges every rung takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Accepts {
    /// Leading dimensions larger than the row.
    pub leading_dimension: bool,
    /// A first element that is not the buffer's first.
    pub offset: bool,
    /// More than one matrix.
    pub batch: bool,
    /// Transposed operands of a product.
    pub transposed: bool,
    /// Scaling other than alpha = 1, beta = 0.
    pub scaling: bool,
}

impl Accepts {
    /// Packed matrices only.
    pub const PACKED: Accepts =
        Accepts { leading_dimension: false, offset: false, batch: false, transposed: false, scaling: false };
    /// Packed matrices and leading dimensions.
    pub const PITCHED: Accepts = Accepts { leading_dimension: true, ..Accepts::PACKED };
    /// Everything the op knows.
    pub const ALL: Accepts =
        Accepts { leading_dimension: true, offset: true, batch: true, transposed: true, scaling: true };
}

/// A constant whose value depends on the problem (a side that can be vectorised, a transposed operand).
/// The op gives the value; the list of possible values is what gets compiled ahead of time.
#[derive(Debug, Clone, PartialEq)]
pub struct Switch {
    /// The constant's name in the kernel.
    pub name: Cow<'static, str>,
    /// Further constants that have the same value.
    pub also: Cow<'static, [&'static str]>,
    /// What the op is asked ([`Op::switch`](crate::op::Op::switch)), where it is not the name.
    pub question: Option<Cow<'static, str>>,
    /// Every value it can take. The least one that is no less than the op's answer is chosen.
    pub values: Cow<'static, [u32]>,
    /// Values of earlier switches with which it matters, any one of these lists; with others it is
    /// 0. Empty for always.
    pub matters_with: Cow<'static, [&'static [(&'static str, u32)]]>,
}

impl Switch {
    /// A switch that always matters and asks for its own name.
    pub fn new(name: impl Into<Cow<'static, str>>, values: impl Into<Cow<'static, [u32]>>) -> Self {
        Switch {
            name: name.into(),
            also: Cow::Borrowed(&[]),
            question: None,
            values: values.into(),
            matters_with: Cow::Borrowed(&[]),
        }
    }

    /// The same, which decides further constants too.
    pub fn with(mut self, names: &'static [&'static str]) -> Self {
        self.also = names.into();
        self
    }

    /// The constants that it decides.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.name.as_ref()).chain(self.also.iter().copied())
    }

    /// The same with a question of its own.
    pub fn asking(mut self, question: &'static str) -> Self {
        self.question = Some(question.into());
        self
    }

    /// The same, 0 unless earlier switches have the values of one of these lists.
    pub fn mattering_with(mut self, any: &'static [&'static [(&'static str, u32)]]) -> Self {
        self.matters_with = any.into();
        self
    }

    fn matters(&self, setting: &[(String, u32)]) -> bool {
        self.matters_with.is_empty() || self.matters_with.iter().any(|all| has_all(setting, all))
    }

    /// Its value beside those of the switches before it.
    fn value(&self, setting: &[(String, u32)], answer: &impl Fn(&str) -> u32) -> u32 {
        if !self.matters(setting) {
            return 0;
        }
        let asked = answer(self.question.as_ref().unwrap_or(&self.name));
        let enough = self.values.iter().copied().filter(|&value| value >= asked).min();
        enough.or(self.values.iter().copied().max()).unwrap_or(asked)
    }
}

/// Whether a setting gives each of these switches its value.
pub(crate) fn has_all(setting: &[(String, u32)], wanted: &[(&str, u32)]) -> bool {
    wanted.iter().all(|(name, value)| setting.iter().any(|(n, v)| n == name && v == value))
}

/// What one language's kernels of a rung are compiled with and how they are laid over a problem.
#[derive(Debug, Clone, PartialEq)]
pub struct Form {
    /// Constants of the kernels.
    pub constants: Cow<'static, [(&'static str, u32)]>,
    /// Constants whose value depends on the problem.
    pub switches: Cow<'static, [Switch]>,
    /// The launches, in order.
    pub passes: Cow<'static, [Pass]>,
    /// Workspace buffers.
    pub workspace: Cow<'static, [Workspace]>,
    /// Static shared (workgroup) memory of a block in elements, as the kernels declare it.
    pub shared_elements: u32,
}

/// A language that kernels are written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Language {
    /// CUDA C++ and PTX.
    Cuda,
    /// WGSL.
    Wgsl,
}

/// What a row says for one language and element width, where kernels are tuned for each: it adds
/// to the row's constants and takes the place of the only pass's block and grid.
#[derive(Debug, Clone, PartialEq)]
pub struct Tuning {
    /// The language.
    pub language: Language,
    /// Bytes of an element.
    pub element_size: u64,
    /// Further constants of this kernel.
    pub constants: Cow<'static, [(&'static str, u32)]>,
    /// Threads of a block.
    pub block: [u32; 3],
    /// Blocks of the launch.
    pub grid: Grid,
    /// Shared memory of a block that the kernel declares, in bytes.
    pub static_shared: u32,
    /// Shared memory of a block that the launch gives (CUDA), in bytes.
    pub dynamic_shared: u32,
}

/// What a rung asks of a problem beyond [`Accepts`]: the op's value of a fact, the same as for a
/// [`Switch`] of that name.
#[derive(Debug, Clone, PartialEq)]
pub struct Need {
    /// The only twin that asks it; `None` for both.
    pub language: Option<Language>,
    /// The fact.
    pub fact: Cow<'static, str>,
    /// The value it must have.
    pub value: u32,
    /// What to say where it has not, as a clause.
    pub because: Cow<'static, str>,
}

/// A type alias of the WGSL kernel that depends on a switch, since a binding has one type.
#[derive(Debug, Clone, PartialEq)]
pub struct Alias {
    /// The alias in `alias NAME = …;`.
    pub name: Cow<'static, str>,
    /// The switch that decides.
    pub switch: Cow<'static, str>,
    /// Its value for which the type is replaced.
    pub value: u32,
    /// The type then.
    pub text: Cow<'static, str>,
}

/// One optimisation idea for one op: a row of data beside two kernel sources.
#[derive(Debug, Clone, PartialEq)]
pub struct Rung {
    /// The file stem, entry point suffix, command-line word, test name and report row.
    pub name: Cow<'static, str>,
    /// Tells apart several rows made from one source by other constants; empty for the only one.
    pub variant: Cow<'static, str>,
    /// The one thing it adds, in a sentence.
    pub idea: Cow<'static, str>,
    /// Why that pays over the rung below, in a sentence.
    pub because: Cow<'static, str>,
    /// Constants of both kernels.
    pub constants: Cow<'static, [(&'static str, u32)]>,
    /// Constants whose value depends on the problem.
    pub switches: Cow<'static, [Switch]>,
    /// WGSL types that depend on a switch.
    pub aliases: Cow<'static, [Alias]>,
    /// The launches, in order.
    pub passes: Cow<'static, [Pass]>,
    /// Workspace buffers.
    pub workspace: Cow<'static, [Workspace]>,
    /// The WGSL twin's own constants, switches, passes, workspace and shared memory in place of the
    /// rung's; `None` where both twins are laid over a problem in the same way.
    pub wgsl_form: Option<Form>,
    /// Element sizes in bytes that it moves or computes with.
    pub element_sizes: Cow<'static, [u64]>,
    /// Element sizes that its WGSL twin takes, where those are fewer.
    pub wgsl_element_sizes: Cow<'static, [u64]>,
    /// What it takes beyond packed matrices.
    pub accepts: Accepts,
    /// What else it asks of a problem.
    pub needs: Cow<'static, [Need]>,
    /// What differs by language and element width; empty where nothing does.
    pub tunings: Cow<'static, [Tuning]>,
    /// The CUDA kernel.
    pub cuda: Source,
    /// What the CUDA kernel needs.
    pub cuda_needs: CudaNeeds,
    /// The WGSL kernel.
    pub wgsl: Source,
    /// Static shared (workgroup) memory of a block in elements, as both kernels declare it; a test
    /// compares them.
    pub shared_elements: u32,
    /// Whether the WGSL was reviewed with this crate and may run without run-time loop guards.
    pub(crate) trusted: bool,
}

impl Rung {
    /// A rung of the caller's own with no kernel in either language yet, one pass of `block` threads.
    ///
    /// Its WGSL runs with every run-time check that `wgpu` has.
    pub fn new(name: impl Into<Cow<'static, str>>, block: [u32; 3], grid: Grid) -> Self {
        let absent = || Source::Absent { because: "no kernel was given".into() };
        Rung {
            name: name.into(),
            variant: "".into(),
            idea: "".into(),
            because: "".into(),
            constants: Cow::Borrowed(&[]),
            switches: Cow::Borrowed(&[]),
            aliases: Cow::Borrowed(&[]),
            passes: vec![Pass::new(block, grid)].into(),
            workspace: Cow::Borrowed(&[]),
            wgsl_form: None,
            element_sizes: Cow::Borrowed(&[4]),
            wgsl_element_sizes: Cow::Borrowed(&[4]),
            accepts: Accepts::PACKED,
            needs: Cow::Borrowed(&[]),
            tunings: Cow::Borrowed(&[]),
            cuda: absent(),
            cuda_needs: CudaNeeds { arch: Arch::Compute70, dynamic_shared: 0, tensor_maps: Cow::Borrowed(&[]) },
            wgsl: absent(),
            shared_elements: 0,
            trusted: false,
        }
    }

    /// The idea, in a sentence.
    pub fn with_idea(mut self, idea: impl Into<Cow<'static, str>>) -> Self {
        self.idea = idea.into();
        self
    }

    /// The WGSL kernel, compiled with every run-time check.
    pub fn with_wgsl(mut self, text: impl Into<Cow<'static, str>>) -> Self {
        self.wgsl = Source::Text(text.into());
        self
    }

    /// The CUDA C++ kernel, compiled at run time (feature `nvrtc`).
    ///
    /// # Safety
    /// A CUDA kernel can write anywhere in the memory of its context: the caller vouches that this
    /// one, launched with the op's bindings and params, stays inside its bindings and ends.
    pub unsafe fn with_cuda(mut self, text: impl Into<Cow<'static, str>>) -> Self {
        self.cuda = Source::Text(text.into());
        self
    }

    /// The CUDA kernel as PTX.
    ///
    /// # Safety
    /// As for [`with_cuda`](Self::with_cuda).
    pub unsafe fn with_ptx(mut self, text: impl Into<Cow<'static, str>>) -> Self {
        self.cuda = Source::Ptx(text.into());
        self
    }

    /// Constants that replace those of the kernels.
    pub fn with_constants(mut self, constants: impl Into<Cow<'static, [(&'static str, u32)]>>) -> Self {
        self.constants = constants.into();
        self
    }

    /// What it takes beyond packed matrices.
    pub fn with_accepts(mut self, accepts: Accepts) -> Self {
        self.accepts = accepts;
        self
    }

    /// Lets the WGSL run without loop bounding, as this crate's own shaders do.
    ///
    /// # Safety
    /// Every loop of the shader ends, and it stays inside its bindings and arrays.
    pub unsafe fn with_trusted_wgsl(mut self) -> Self {
        self.trusted = true;
        self
    }

    /// `name`, or `name@variant` where one source gives several rows.
    pub fn id(&self) -> String {
        if self.variant.is_empty() { self.name.to_string() } else { format!("{}@{}", self.name, self.variant) }
    }

    fn tuning(&self, language: Language, element_size: u64) -> Option<&Tuning> {
        self.tunings.iter().find(|t| t.language == language && t.element_size == element_size)
    }

    /// The row as it is for one language and element width.
    pub fn tuned(&self, language: Language, element_size: u64) -> Rung {
        let mut rung = self.clone();
        if let (Language::Wgsl, Some(form)) = (language, rung.wgsl_form.take()) {
            Form {
                constants: rung.constants,
                switches: rung.switches,
                passes: rung.passes,
                workspace: rung.workspace,
                shared_elements: rung.shared_elements,
            } = form;
        }
        if let Some(tuning) = self.tuning(language, element_size) {
            rung.constants = [&self.constants[..], &tuning.constants[..]].concat().into();
            rung.cuda_needs.dynamic_shared = tuning.dynamic_shared;
            for pass in rung.passes.to_mut() {
                (pass.block, pass.grid) = (tuning.block, tuning.grid);
            }
        }
        rung
    }

    /// Shared memory of a block that its kernel declares, in bytes.
    pub fn static_shared(&self, language: Language, element_size: u64) -> u64 {
        let own = self.tuning(language, element_size).map(|t| u64::from(t.static_shared));
        let form = self.wgsl_form.as_ref().filter(|_| language == Language::Wgsl);
        let elements = form.map_or(self.shared_elements, |form| form.shared_elements);
        own.unwrap_or(u64::from(elements) * element_size)
    }

    /// What its twin in a language asks of a problem.
    pub fn needs_in(&self, language: Language) -> impl Iterator<Item = &Need> {
        self.needs.iter().filter(move |need| need.language.is_none_or(|l| l == language))
    }

    /// Whether its needs leave a switch setting possible in a language.
    pub fn allows(&self, language: Language, setting: &[(String, u32)]) -> bool {
        self.needs_in(language).all(|need| setting.iter().all(|(n, v)| *n != need.fact || *v == need.value))
    }

    /// The element sizes that its twin in a language takes.
    pub fn sizes(&self, language: Language) -> &[u64] {
        match language {
            Language::Cuda => &self.element_sizes,
            Language::Wgsl => &self.wgsl_element_sizes,
        }
    }

    /// Whether `word` selects this rung: its id, or its name for every variant.
    pub fn answers_to(&self, word: &str) -> bool {
        self.name == word || self.id() == word
    }

    /// The value of every switch, by what `answer` says to its question.
    pub fn setting(&self, answer: impl Fn(&str) -> u32) -> Vec<(String, u32)> {
        let mut setting = Vec::with_capacity(self.switches.len());
        for switch in self.switches.iter() {
            let value = switch.value(&setting, &answer);
            setting.extend(switch.names().map(|name| (name.to_string(), value)));
        }
        setting
    }

    /// Every setting of its switches that can occur, the first value of each first.
    pub fn switch_settings(&self) -> Vec<Vec<(String, u32)>> {
        let mut all = vec![vec![]];
        for switch in self.switches.iter() {
            let mut longer = Vec::with_capacity(all.len() * switch.values.len());
            for setting in &all {
                let values: &[u32] = if switch.matters(setting) { &switch.values } else { &[0] };
                for &value in values {
                    let mut next: Vec<(String, u32)> = setting.clone();
                    next.extend(switch.names().map(|name| (name.to_string(), value)));
                    longer.push(next);
                }
            }
            all = longer;
        }
        all
    }
}

/// Everything a backend needs to compile one pass of a rung for one element type.
#[derive(Debug, Clone)]
pub struct Program {
    /// `op/rung` and the pass, for messages.
    pub label: String,
    /// `op/rung`, the same for every pass: the name of what is compiled, which holds all their entries.
    pub unit: String,
    /// The entry point, the same in both languages.
    pub entry: String,
    /// The CUDA source.
    pub cuda: Source,
    /// What the CUDA kernel needs.
    pub cuda_needs: CudaNeeds,
    /// The WGSL source, before its constants are set.
    pub wgsl: Source,
    /// Whether the WGSL may run without loop bounding.
    pub trusted: bool,
    /// Constants of both kernels.
    pub constants: Vec<(String, u32)>,
    /// WGSL types to replace.
    pub aliases: Vec<Alias>,
    /// The type words of both kernels: CUDA `ELEMENT`, WGSL `T`.
    pub element_words: (&'static str, Option<&'static str>),
    /// The element type.
    pub element: Element,
    /// Threads of a block.
    pub block: [u32; 3],
    /// For each binding in order, whether the kernel may write it.
    pub written: Vec<bool>,
    /// Bytes of the params struct, the last binding.
    pub params_bytes: u32,
}

impl Program {
    /// The key of its embedded PTX: `op/rung/word[/NAME=value…]`.
    pub fn artefact_key(&self) -> String {
        let mut key = format!("{}/{}", self.unit, self.element_words.0.replace(' ', "_"));
        for (name, value) in &self.constants {
            key.push_str(&format!("/{name}={value}"));
        }
        key
    }

    /// The `-D` options of the CUDA compiler.
    pub fn cuda_defines(&self) -> Vec<String> {
        let mut defines = vec![format!("-DELEMENT={}", self.element_words.0)];
        defines.extend(self.constants.iter().map(|(name, value)| format!("-D{name}={value}")));
        defines
    }

    /// The WGSL text with its `const` and `alias` lines set (`ELEMENT_BYTES` to the element's width), or `None` where there is none.
    pub fn wgsl_text(&self) -> Option<String> {
        let Source::Text(text) = &self.wgsl else { return None };
        if self.element_words.1.is_none() && text.lines().any(|line| line.starts_with("alias T =")) {
            return None;
        }
        let mut out = String::with_capacity(text.len() + 16);
        for line in text.lines() {
            match self.replaced_line(line) {
                Some(new) => out.push_str(&new),
                None => out.push_str(line),
            }
            out.push('\n');
        }
        Some(out)
    }

    fn replaced_line(&self, line: &str) -> Option<String> {
        let comment = line.find("//").map(|at| &line[at..]).unwrap_or_default();
        let new = if let Some(rest) = line.strip_prefix("const ") {
            let (name, _) = rest.split_once(':')?;
            let given = self.constants.iter().find(|(n, _)| n == name.trim()).map(|(_, v)| *v);
            let width = (name.trim() == "ELEMENT_BYTES").then(|| self.element.size() as u32);
            let value = given.or(width)?;
            format!("const {}: u32 = {value}u; {comment}", name.trim())
        } else {
            let (name, _) = line.strip_prefix("alias ")?.split_once(" =")?;
            let text = if name == "T" { self.element_words.1? } else { self.alias(name)? };
            format!("alias {name} = {text}; {comment}")
        };
        Some(new.trim_end().to_string())
    }

    fn alias(&self, name: &str) -> Option<&str> {
        let chosen = self
            .aliases
            .iter()
            .find(|a| a.name == name && self.constants.iter().any(|(n, v)| *n == a.switch && *v == a.value))?;
        Some(&chosen.text)
    }
}

/// A row of a ladder: `rung!("transpose", "naive", block [32, 8, 1], grid …, { field: value, … })`, or
/// `rung!("matmul", "pipelined", no wgsl "because", block …)` where a language has no kernel.
macro_rules! rung {
    ($op:literal, $name:literal, no wgsl $because:literal, $($row:tt)*) => {
        $crate::rung::rung!(@row $name,
            $crate::rung::Source::Text(std::borrow::Cow::Borrowed($crate::rung::rung!(@cuda $op, $name))),
            $crate::rung::Source::Absent { because: std::borrow::Cow::Borrowed($because) },
            $($row)*)
    };
    ($op:literal, $name:literal, no cuda $because:literal, $($row:tt)*) => {
        $crate::rung::rung!(@row $name,
            $crate::rung::Source::Absent { because: std::borrow::Cow::Borrowed($because) },
            $crate::rung::Source::Text(std::borrow::Cow::Borrowed($crate::rung::rung!(@wgsl $op, $name))),
            $($row)*)
    };
    ($op:literal, $name:literal, block $($row:tt)*) => {
        $crate::rung::rung!(@row $name,
            $crate::rung::Source::Text(std::borrow::Cow::Borrowed($crate::rung::rung!(@cuda $op, $name))),
            $crate::rung::Source::Text(std::borrow::Cow::Borrowed($crate::rung::rung!(@wgsl $op, $name))),
            block $($row)*)
    };
    (@cuda $op:literal, $name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/cuda/", $op, "/", $name, ".cu"))
    };
    (@wgsl $op:literal, $name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/shaders/", $op, "/", $name, ".wgsl"))
    };
    (@row $name:literal, $cuda:expr, $wgsl:expr, block $block:expr, $grid:expr, { $($field:ident : $value:expr),* $(,)? }) => {
        $crate::rung::Rung {
            $($field: $value,)*
            ..$crate::rung::shipped($name, const { &[$crate::rung::Pass::new($block, $grid)] }, $cuda, $wgsl)
        }
    };
}
pub(crate) use rung;

/// A shipped rung with its twins and the commonest values of everything else.
pub(crate) const fn shipped(name: &'static str, passes: &'static [Pass], cuda: Source, wgsl: Source) -> Rung {
    Rung {
        name: Cow::Borrowed(name),
        variant: Cow::Borrowed(""),
        idea: Cow::Borrowed(""),
        because: Cow::Borrowed(""),
        constants: Cow::Borrowed(&[]),
        switches: Cow::Borrowed(&[]),
        aliases: Cow::Borrowed(&[]),
        passes: Cow::Borrowed(passes),
        workspace: Cow::Borrowed(&[]),
        wgsl_form: None,
        element_sizes: Cow::Borrowed(&[4]),
        wgsl_element_sizes: Cow::Borrowed(&[4]),
        accepts: Accepts::PACKED,
        needs: Cow::Borrowed(&[]),
        tunings: Cow::Borrowed(&[]),
        cuda,
        cuda_needs: CudaNeeds { arch: Arch::Compute70, dynamic_shared: 0, tensor_maps: Cow::Borrowed(&[]) },
        wgsl,
        shared_elements: 0,
        trusted: true,
    }
}
