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
mod article_practice;
mod figure;
mod judge;
mod lab;
mod memory;
mod print;
mod reading;
mod tables;
mod textbook;

pub use figure::{Figure, What};
pub use lab::Lab;
pub use print::{Report, page, read};
pub use tables::{Level, Resident};

use crate::climb::Progress;
use crate::error::Result;
use serde::{Deserialize, Serialize};
use tables::{levels, resident};

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
    [article::CLAIMS, article_practice::CLAIMS, memory::CLAIMS, textbook::CLAIMS].into_iter().flatten()
}

/// Measures what some claims need, with `tables` what the tables of levels and residency need too, and settles
/// them. Where `progress` asks to stop, what was not measured is left out.
///
/// # Errors
/// What the device reports; a figure that it cannot give is not an error.
pub async fn settle(lab: &Lab, chosen: &[&Claim], tables: bool, progress: &mut dyn Progress) -> Result<Report> {
    let mut figures: Vec<Figure> = chosen.iter().flat_map(|claim| claim.test.figures()).copied().collect();
    if tables {
        figures.extend(tables::figures());
    }
    lab.measure(&figures, progress).await?;
    let findings = chosen.iter().filter_map(|claim| claim.finding(lab)).collect();
    let (levels, resident) = if tables { (levels(lab), resident(lab)) } else { Default::default() };
    Ok(Report::new(lab, findings, levels, resident))
}

impl Test {
    /// What it measures.
    pub fn figures(&self) -> &'static [Figure] {
        match self {
            Test::Measured { figures, .. } => figures,
            _ => &[],
        }
    }
}

impl Claim {
    /// What a lab's values come to; `None` where one was not reached.
    fn finding(&self, lab: &Lab) -> Option<Finding> {
        let Judgement { verdict, figure } = match self.test {
            Test::Measured { figures, judge } => {
                judge(&figures.iter().map(|figure| lab.value(figure)).collect::<Option<Vec<f64>>>()?)
            }
            Test::Settled { verdict, figure } => Judgement { verdict, figure: figure.into() },
            Test::Later => Judgement { verdict: Verdict::Later, figure: String::new() },
        };
        Some(Finding {
            id: self.id.into(),
            claim: self.claim.into(),
            gpu: self.gpu.into(),
            predicate: self.predicate.into(),
            verdict,
            figure,
            because: self.because.into(),
        })
    }
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
        for figure in claims().flat_map(|claim| claim.test.figures()).copied().chain(tables::figures()) {
            let op = crate::op::find(figure.op).expect("an op");
            let known = figure.rung.is_empty() || op.ladder().iter().any(|rung| rung.id() == figure.rung);
            assert!(known, "{}/{}", figure.op, figure.rung);
            assert!([figure.full, figure.small].iter().all(|d| d.len() == op.dims().len()), "{}", figure.rung);
        }
    }

    #[test]
    fn a_device_that_cannot_tell_gives_a_verdict_all_the_same() {
        for claim in claims() {
            let Test::Measured { figures, judge } = claim.test else { continue };
            let nothing = vec![f64::NAN; figures.len()];
            assert_ne!(judge(&nothing).verdict, Verdict::Later, "{}", claim.id);
        }
    }
}
