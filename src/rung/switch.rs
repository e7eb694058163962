//! Constants whose value depends on the problem.

use std::borrow::Cow;

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

    pub(super) fn matters(&self, setting: &[(String, u32)]) -> bool {
        self.matters_with.is_empty() || self.matters_with.iter().any(|all| has_all(setting, all))
    }

    /// Its value beside those of the switches before it.
    pub(super) fn value(&self, setting: &[(String, u32)], answer: &impl Fn(&str) -> u32) -> u32 {
        if !self.matters(setting) {
            return 0;
        }
        let asked = answer(self.question.as_ref().unwrap_or(&self.name));
        let enough = self.values.iter().copied().filter(|&value| value >= asked).min();
        enough.or(self.values.iter().copied().max()).unwrap_or(asked)
    }
}

/// The value of every switch, by what `answer` says to its question.
pub(crate) fn setting(switches: &[Switch], answer: impl Fn(&str) -> u32) -> Vec<(String, u32)> {
    let mut setting = Vec::with_capacity(switches.len());
    for switch in switches {
        let value = switch.value(&setting, &answer);
        setting.extend(switch.names().map(|name| (name.to_string(), value)));
    }
    setting
}

/// Every setting of switches that can occur, the first value of each first.
pub(crate) fn settings(switches: &[Switch]) -> Vec<Vec<(String, u32)>> {
    let mut all = vec![vec![]];
    for switch in switches {
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

/// Whether a setting gives each of these switches its value.
pub(crate) fn has_all(setting: &[(String, u32)], wanted: &[(&str, u32)]) -> bool {
    wanted.iter().all(|(name, value)| setting.iter().any(|(n, v)| n == name && v == value))
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
