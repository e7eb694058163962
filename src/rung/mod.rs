//! A rung: one optimisation idea for one op, as a row of data beside two kernel sources.
//!
//! Nothing here runs. A rung says where its kernels are, which constants both of them get, how its
//! grid is laid over a problem and what it accepts; [`Session`](crate::Session) turns that into
//! launches. Rungs of this crate are `const` data made by the `rung!` macro; a program makes its
//! own with [`Rung::new`] and the `with_` methods.
mod cuda;
mod form;
mod grid;
mod pass;
mod program;
mod shipped;
mod source;
mod switch;

pub use cuda::{Arch, CudaNeeds, TensorMapRow};
pub use form::{Accepts, Form, Need, Promise, Tuning};
pub use grid::{Grid, whole_matrices};
pub use pass::{Matrices, Operand, Pass, PassKernel, Stored, Workspace};
pub use program::Program;
pub(crate) use shipped::{rung, shipped};
#[cfg(feature = "cuda")]
pub use source::Library;
pub use source::{Language, Native, Source};
pub use switch::{Alias, Switch};
pub(crate) use switch::{has_all, setting, settings};

use crate::backend::Cooperative;
use crate::op::{self, Op};
use crate::problem::Precision;
use std::any::TypeId;
use std::borrow::Cow;
use std::sync::Arc;

/// One optimisation idea for one op: a row of data beside two kernel sources.
///
/// A row of a program's own, or one of this crate that a program has changed, runs its WGSL with every run-time check,
/// and its CUDA kernel not at all until somebody has [vouched](Self::vouched_for) for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Rung {
    /// The file stem, entry point suffix, command-line word, test name and report row.
    pub name: Cow<'static, str>,
    /// Tells apart several rows made from one source by other constants; empty for the only one.
    pub variant: Cow<'static, str>,
    /// The one thing it adds, in a sentence.
    pub idea: Cow<'static, str>,
    /// The same in Chinese; empty where nobody has translated it.
    pub chinese: Cow<'static, str>,
    /// Why that pays over the rung below, in a sentence.
    pub because: Cow<'static, str>,
    /// The same in Chinese; empty where nobody has translated it.
    pub chinese_because: Cow<'static, str>,
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
    /// The precisions it multiplies in.
    pub precisions: Cow<'static, [Precision]>,
    /// What it takes beyond packed matrices.
    pub accepts: Accepts,
    /// What else it asks of a problem.
    pub needs: Cow<'static, [Need]>,
    /// What differs by language and element width; empty where nothing does.
    pub tunings: Cow<'static, [Tuning]>,
    /// The CUDA kernel; [`with_cuda`](Self::with_cuda) and [`with_ptx`](Self::with_ptx) give another.
    pub(crate) cuda: Source,
    /// What the CUDA kernel needs.
    pub cuda_needs: CudaNeeds,
    /// The WGSL kernel; [`with_wgsl`](Self::with_wgsl) gives another.
    pub(crate) wgsl: Source,
    /// The product of cooperative matrices that the WGSL kernel is made of; `None` for none.
    pub cooperative: Option<Cooperative>,
    /// Static shared (workgroup) memory of a block in elements, as both kernels declare it; a test
    /// compares them.
    pub shared_elements: u32,
    /// What it promises about its output.
    pub promise: Promise,
    /// Whether the WGSL was reviewed with this crate and may run without run-time loop guards, in the row as it ships.
    pub(crate) trusted: bool,
    /// What a caller has vouched for in either language.
    pub(crate) vouched: Vouched,
}

/// What a caller has vouched for, by language; `None` for nothing.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Vouched {
    pub(crate) cuda: Option<Arc<Voucher>>,
    pub(crate) wgsl: Option<Arc<Voucher>>,
}

/// A row and an op that somebody has vouched for together.
#[derive(Debug, PartialEq)]
pub(crate) struct Voucher {
    op: TypeId,
    row: Rung,
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
            chinese: "".into(),
            because: "".into(),
            chinese_because: "".into(),
            constants: Cow::Borrowed(&[]),
            switches: Cow::Borrowed(&[]),
            aliases: Cow::Borrowed(&[]),
            passes: vec![Pass::new(block, grid)].into(),
            workspace: Cow::Borrowed(&[]),
            wgsl_form: None,
            element_sizes: Cow::Borrowed(&[4]),
            wgsl_element_sizes: Cow::Borrowed(&[4]),
            precisions: Cow::Borrowed(&[Precision::Full]),
            accepts: Accepts::PACKED,
            needs: Cow::Borrowed(&[]),
            tunings: Cow::Borrowed(&[]),
            cuda: absent(),
            cuda_needs: CudaNeeds { arch: Arch::Compute70, dynamic_shared: 0, tensor_maps: Cow::Borrowed(&[]) },
            wgsl: absent(),
            cooperative: None,
            shared_elements: 0,
            promise: Promise::SameBits,
            trusted: false,
            vouched: Vouched::default(),
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

    /// The CUDA C++ kernel, compiled at run time (feature `nvrtc`). It runs once it is [vouched for](Self::vouched_for).
    pub fn with_cuda(mut self, text: impl Into<Cow<'static, str>>) -> Self {
        self.cuda = Source::Text(text.into());
        self
    }

    /// The CUDA kernel as PTX. It runs once it is [vouched for](Self::vouched_for).
    pub fn with_ptx(mut self, text: impl Into<Cow<'static, str>>) -> Self {
        self.cuda = Source::Ptx(text.into());
        self
    }

    /// Vouches for the kernels in a language, launched as this row and the params of `op` say: CUDA ones may run,
    /// and WGSL runs without loop bounding, as this crate's own does. It holds for the row as it is now and for ops
    /// of that type: another op, or a row that is changed afterwards, asks for another word.
    ///
    /// # Safety
    /// A CUDA kernel can write anywhere in the memory of its context, and what a loop of WGSL without an end does is
    /// undefined: the caller knows that these kernels, for every problem of the op that the row takes, stay inside
    /// their bindings and arrays and end.
    pub unsafe fn vouched_for(mut self, language: Language, op: &dyn Op) -> Self {
        self.vouch(language, op);
        self
    }

    pub(crate) fn vouch(&mut self, language: Language, op: &dyn Op) {
        let voucher = Some(Arc::new(Voucher { op: op::type_of(op), row: self.bare() }));
        match language {
            Language::Cuda => self.vouched.cuda = voucher,
            Language::Wgsl => self.vouched.wgsl = voucher,
        }
    }

    /// Whether somebody has vouched for this very row with this op.
    pub(crate) fn is_vouched_for(&self, language: Language, op: &dyn Op) -> bool {
        let voucher = match language {
            Language::Cuda => &self.vouched.cuda,
            Language::Wgsl => &self.vouched.wgsl,
        };
        voucher.as_ref().is_some_and(|voucher| voucher.op == op::type_of(op) && voucher.row == self.bare())
    }

    /// The row without what anybody has said of it.
    fn bare(&self) -> Rung {
        Rung { vouched: Vouched::default(), ..self.clone() }
    }

    /// The CUDA kernel.
    pub fn cuda(&self) -> &Source {
        &self.cuda
    }

    /// The WGSL kernel.
    pub fn wgsl(&self) -> &Source {
        &self.wgsl
    }

    /// Constants that replace those of the kernels.
    pub fn with_constants(mut self, constants: impl Into<Cow<'static, [(&'static str, u32)]>>) -> Self {
        self.constants = constants.into();
        self
    }

    /// The product of cooperative matrices that the WGSL kernel needs of a device, whose subgroups are 32 threads.
    pub fn with_cooperative(mut self, shape: Cooperative) -> Self {
        self.cooperative = Some(shape);
        self
    }

    /// What it takes beyond packed matrices.
    pub fn with_accepts(mut self, accepts: Accepts) -> Self {
        self.accepts = accepts;
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
}
