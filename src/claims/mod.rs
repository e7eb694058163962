//! What widely read texts claim about GPUs, each as a predicate that was fixed before measuring, and what
//! this device says to it.
//!
//! The claims are data: [`claims()`] has one row for each, with the [`Figure`]s it needs and a judgement of
//! their values. A [`Lab`] measures figures, on a device for times and on the simulator for counts.
//!
//! - claims A, of a practical article from the architecture to the transpose,
//! - claims B, of an article on the memory system,
//! - claims C, of a textbook chapter on hardware, hierarchy and a matrix product.

mod article;
mod figure;
mod judge;
mod lab;
mod memory;
mod print;
mod tables;
mod textbook;

pub use figure::{Figure, What};
pub use lab::Lab;
pub use print::{Report, page, read};
pub use tables::{Level, Resident, levels, resident};

use crate::error::Result;
use serde::{Deserialize, Serialize};

/// What became of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// True here.
    Holds,
    /// Not true here.
    Fails,
    /// True in part, or only under conditions, or this device cannot tell.
    Depends,
    /// Not looked at yet.
    Later,
}

impl Verdict {
    /// The word of a report.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::Fails => "fails",
            Verdict::Depends => "depends",
            Verdict::Later => "later",
        }
    }
}

/// What the figures of a claim come to.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// Our figure, in words.
    pub figure: String,
}

/// How a claim is settled.
#[derive(Debug, Clone, Copy)]
pub enum Test {
    /// By figures of this device; one that could not be had is NaN.
    Measured {
        /// What to measure.
        figures: &'static [Figure],
        /// What the values, in this order, come to.
        judge: fn(&[f64]) -> Judgement,
    },
    /// By arithmetic or by the vendor's documentation: no measurement decides it.
    Settled {
        /// The verdict.
        verdict: Verdict,
        /// The figure, or where the word stands.
        figure: &'static str,
    },
    /// Not yet.
    Later,
}

/// One claim.
#[derive(Debug, Clone, Copy)]
pub struct Claim {
    /// Section and number: `A1`.
    pub id: &'static str,
    /// What the text says, in other words.
    pub claim: &'static str,
    /// The GPU that the text names, `?` for none.
    pub gpu: &'static str,
    /// The test, fixed before measuring.
    pub predicate: &'static str,
    /// How it is settled.
    pub test: Test,
    /// Why, in a sentence.
    pub because: &'static str,
}

/// A claim with its verdict on a device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)] // the fields of a claim
pub struct Finding {
    pub id: String,
    pub claim: String,
    pub gpu: String,
    pub predicate: String,
    pub verdict: Verdict,
    pub figure: String,
    pub because: String,
}

/// Every claim, in order.
pub fn claims() -> impl Iterator<Item = &'static Claim> {
    [article::CLAIMS, memory::CLAIMS, textbook::CLAIMS].into_iter().flatten()
}

/// The figures of some claims, measured, and the verdicts.
///
/// # Errors
/// What the device reports; a figure that it cannot give is not an error.
pub async fn settle(lab: &Lab, chosen: &[&Claim], progress: &mut dyn FnMut(&str)) -> Result<Vec<Finding>> {
    let figures: Vec<Figure> = chosen
        .iter()
        .flat_map(|claim| match claim.test {
            Test::Measured { figures, .. } => figures.to_vec(),
            _ => Vec::new(),
        })
        .collect();
    let values = lab.measure(&figures, progress).await?;
    let mut rest = values.as_slice();
    let mut findings = Vec::new();
    for claim in chosen {
        let Judgement { verdict, figure } = match claim.test {
            Test::Measured { figures, judge } => {
                let (own, others) = rest.split_at(figures.len());
                rest = others;
                judge(own)
            }
            Test::Settled { verdict, figure } => Judgement { verdict, figure: figure.into() },
            Test::Later => Judgement { verdict: Verdict::Later, figure: String::new() },
        };
        findings.push(Finding {
            id: claim.id.into(),
            claim: claim.claim.into(),
            gpu: claim.gpu.into(),
            predicate: claim.predicate.into(),
            verdict,
            figure,
            because: claim.because.into(),
        });
    }
    Ok(findings)
}

/// Holds where a condition on a value is met; depends where there is no value.
fn met(value: f64, met: bool, figure: String) -> Judgement {
    let verdict = match (value.is_finite(), met) {
        (false, _) => return Judgement { verdict: Verdict::Depends, figure: "not measurable on this device".into() },
        (true, true) => Verdict::Holds,
        (true, false) => Verdict::Fails,
    };
    Judgement { verdict, figure }
}

/// Whether `value` is at least `least`.
fn at_least(value: f64, least: f64) -> Judgement {
    met(value, value >= least, format!("{value:.2}"))
}

/// Whether `value` is at most `most`.
fn at_most(value: f64, most: f64) -> Judgement {
    met(value, value <= most, format!("{value:.2}"))
}

/// Whether `value` lies between two others.
fn between(value: f64, low: f64, high: f64) -> Judgement {
    met(value, (low..=high).contains(&value), format!("{value:.2}"))
}

/// A verdict that was settled before, with a figure of this device beside it.
fn beside(verdict: Verdict, value: f64, figure: String) -> Judgement {
    if value.is_finite() { Judgement { verdict, figure } } else { met(value, false, figure) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every id of the list that the claims come from.
    fn ids() -> impl Iterator<Item = String> {
        [('A', 37), ('B', 26), ('C', 12)].into_iter().flat_map(|(s, n)| (1..=n).map(move |i| format!("{s}{i}")))
    }

    #[test]
    fn every_id_has_a_claim_and_a_verdict() {
        let ours: Vec<&str> = claims().map(|claim| claim.id).collect();
        assert_eq!(ours, ids().collect::<Vec<_>>());
        // Launches, streams and several devices have no rungs yet.
        let open = ["A30", "A31", "A32", "A33", "A36"];
        for claim in claims() {
            let later = matches!(claim.test, Test::Later);
            assert_eq!(later, open.contains(&claim.id), "{}", claim.id);
            assert!(claim.because.ends_with('.') && !claim.predicate.is_empty(), "{}", claim.id);
        }
    }

    #[test]
    fn every_figure_names_a_rung() {
        for claim in claims() {
            let Test::Measured { figures, judge } = claim.test else { continue };
            for figure in figures {
                let op = crate::op::find(figure.op).expect("an op");
                let known = figure.rung.is_empty() || op.ladder().iter().any(|rung| rung.id() == figure.rung);
                assert!(known, "{}: {}/{}", claim.id, figure.op, figure.rung);
                assert!([figure.full, figure.small].iter().all(|d| d.len() == op.dims().len()), "{}", claim.id);
            }
            let nothing = vec![f64::NAN; figures.len()];
            assert_ne!(judge(&nothing).verdict, Verdict::Later, "{}", claim.id);
        }
    }
}
