//! How long rungs take, estimated to choose among them: a sum of terms that a person can read (blocks of a
//! multiprocessor, steps along k, megabytes …), each with a weight in microseconds.
//!
//! An op names the terms ([`Op::terms`]); the weights were fitted to the times of many random problems
//! on one device, none of them below zero, by `examples/fit_selection.rs`, which prints the tables
//! (`costs_cuda.rs` and `costs_wgsl.rs` of the op). An estimate is only there to be compared with others. Where it is far from
//! what it was fitted to, it is far from the truth, but so are the others, in the same direction.

use super::Op;
use crate::backend::{Device, DeviceKind};
use crate::problem::Problem;
use crate::rung::Rung;

/// Multiprocessors of the device that was measured, also for one that does not tell.
const MULTIPROCESSORS: u32 = 132;
/// What one that shares its memory with the processor is taken to have, where it does not tell.
const INTEGRATED: u32 = 16;

/// What the time of a rung is estimated from.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Terms {
    /// Which weights of the rung they are for: a rung whose kernel differs by problem has several.
    pub family: &'static str,
    /// A word for each term.
    pub names: &'static [&'static str],
    /// The terms of the problem, in the same order.
    pub values: Vec<f64>,
}

impl Terms {
    pub(super) fn new<const N: usize>(family: &'static str, names: &'static [&str; N], values: [f64; N]) -> Self {
        Terms { family, names, values: values.into() }
    }
}

/// The weights of a rung's terms, in microseconds.
pub(super) struct Cost {
    pub(super) rung: &'static str,
    pub(super) family: &'static str,
    pub(super) weights: &'static [f64],
}

/// Microseconds of each rung that has weights and terms for this problem, the shortest first.
pub(super) fn estimates(
    op: &dyn Op,
    costs: &'static [Cost],
    device: &Device,
    problem: &Problem,
) -> Vec<(&'static Rung, f64)> {
    let guess = if device.kind == DeviceKind::Integrated { INTEGRATED } else { MULTIPROCESSORS };
    let multiprocessors = device.multiprocessors.unwrap_or(guess).max(1).into();
    let mut all: Vec<_> = op
        .ladder()
        .iter()
        .filter_map(|rung| {
            let terms = op.terms(rung, problem, device.language(), multiprocessors)?;
            let cost = costs.iter().find(|cost| cost.family == terms.family && cost.rung == rung.id())?;
            Some((rung, cost.weights.iter().zip(&terms.values).map(|(weight, term)| weight * term).sum()))
        })
        .collect();
    all.sort_by(|a: &(_, f64), b| a.1.total_cmp(&b.1));
    all
}

/// 1 where a condition holds.
pub(super) fn one_if(condition: bool) -> f64 {
    if condition { 1.0 } else { 0.0 }
}

/// How full a tile of so many lines is along a side of `side` of them.
pub(super) fn fill(side: u64, tile: u64) -> f64 {
    side.min(tile) as f64 / tile as f64
}

/// Whether the weights of a table are for the terms of some problems, and none is missing; for tests.
#[cfg(test)]
pub(super) fn check(op: &dyn Op, language: crate::rung::Language, costs: &'static [Cost], problems: &[Problem]) {
    for problem in problems {
        for rung in op.ladder().iter().filter(|rung| super::accepts(op, rung, language, problem).is_ok()) {
            let Some(terms) = op.terms(rung, problem, language, MULTIPROCESSORS.into()) else { continue };
            assert_eq!(terms.names.len(), terms.values.len(), "{}", rung.id());
            let mut of_rung = costs.iter().filter(|cost| cost.rung == rung.id() && cost.family == terms.family);
            let cost = of_rung.next().unwrap_or_else(|| panic!("no weights for {} ({})", rung.id(), terms.family));
            assert_eq!(cost.weights.len(), terms.names.len(), "{} ({})", rung.id(), terms.family);
            assert!(of_rung.next().is_none(), "{} twice", rung.id());
        }
    }
    for cost in costs {
        assert!(op.ladder().iter().any(|rung| rung.id() == cost.rung), "{} is no rung", cost.rung);
    }
}
