//! What a backend compiles: one pass of a rung for one element type.

use super::{Alias, Arch, CudaNeeds, Source};
use crate::element::{Element, moving_word};
use std::borrow::Cow;

/// Everything a backend needs to compile one pass of a rung for one element type.
#[derive(Debug, Clone)]
pub struct Program {
    /// `op/rung` and the pass, for messages.
    pub label: String,
    /// `op/rung`, the same for every pass: the name of what is compiled, which holds all their entries.
    pub unit: String,
    /// The entry point, the same in both languages.
    pub entry: String,
    /// The CUDA source. Not open to change: what it does to memory nobody checks.
    pub(crate) cuda: Source,
    /// What the CUDA kernel needs.
    pub cuda_needs: CudaNeeds,
    /// The WGSL source, before its constants are set.
    pub(crate) wgsl: Source,
    /// Whether the WGSL may run without loop bounding: for somebody has vouched for it.
    pub(crate) trusted: bool,
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
    /// A program of the caller's own with no kernel in either language yet: words, no bindings and no params.
    pub fn new(label: impl Into<String>, entry: impl Into<String>, block: [u32; 3]) -> Self {
        let absent = || Source::Absent { because: "no kernel was given".into() };
        let label = label.into();
        Program {
            unit: label.clone(),
            label,
            entry: entry.into(),
            cuda: absent(),
            cuda_needs: CudaNeeds { arch: Arch::Compute70, dynamic_shared: 0, tensor_maps: Cow::Borrowed(&[]) },
            wgsl: absent(),
            trusted: false,
            constants: Vec::new(),
            aliases: Vec::new(),
            element_words: moving_word(Element::U32.size()),
            element: Element::U32,
            block,
            written: Vec::new(),
            params_bytes: 0,
        }
    }

    /// The same with a CUDA source.
    ///
    /// # Safety
    /// As for [`Rung::vouched_for`](super::Rung::vouched_for), whatever it is launched with.
    pub unsafe fn with_cuda(mut self, source: Source) -> Self {
        self.cuda = source;
        self
    }

    /// The same with a WGSL kernel, compiled with every run-time check.
    pub fn with_wgsl(mut self, text: impl Into<Cow<'static, str>>) -> Self {
        (self.wgsl, self.trusted) = (Source::Text(text.into()), false);
        self
    }

    /// The WGSL source, before its constants are set.
    pub fn wgsl(&self) -> &Source {
        &self.wgsl
    }

    /// The CUDA source.
    pub fn cuda(&self) -> &Source {
        &self.cuda
    }

    /// Whether the WGSL may run without loop bounding.
    pub fn is_trusted(&self) -> bool {
        self.trusted
    }

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
