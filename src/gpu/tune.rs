//! Finding the best rung on the user's own device. Nothing is tuned unless it is asked for.

use super::Gpu;
use super::choices::fnv;
use crate::backend::{Backend, Clock};
use crate::error::{Error, Result};
use crate::op::{self, Op};
use crate::problem::Problem;
use crate::rung::Rung;
use crate::session::{Inputs, Verdict, Verified};
use crate::timing::{Samples, Timing};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// The seed of the operands.
const SEED: u64 = 1;
/// A rung this many times slower than the fastest in a first look is not timed in earnest.
const HOPELESS: f64 = 2.0;

/// What tuning found.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Tuned {
    /// The rung that is taken from now on.
    pub rung: String,
    /// Every candidate and what became of it, the fastest first.
    pub candidates: Vec<Candidate>,
}

/// A rung that might have been taken.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Candidate {
    /// The rung.
    pub rung: String,
    /// Its median time in nanoseconds, or why it has none.
    pub outcome: Result<f64, String>,
}

/// A rung of a ladder, or one that the program brought.
#[derive(Clone)]
pub(super) enum Choice {
    Shipped(&'static Rung),
    Own(Arc<Rung>),
}

impl std::ops::Deref for Choice {
    type Target = Rung;
    fn deref(&self) -> &Rung {
        match self {
            Choice::Shipped(rung) => rung,
            Choice::Own(rung) => rung,
        }
    }
}

impl Choice {
    /// What a file calls it: a program's own rung by its content too, since its name says nothing.
    pub(super) fn word(&self) -> String {
        match self {
            Choice::Shipped(rung) => rung.id(),
            Choice::Own(rung) => format!("{}#{:016x}", rung.id(), fnv(&format!("{rung:?}"))),
        }
    }
}

impl<B: Backend> Gpu<B> {
    /// Adds a rung of the program's own to those of an op. It is taken where [tuning](Self::tune_async)
    /// found it right and fastest, and nowhere else.
    ///
    /// # Errors
    /// [`Error::Option`] where the op has a rung of that name.
    pub fn add_rung(&self, op: &'static dyn Op, rung: Rung) -> Result<()> {
        let mut own = self.shared.own.write().unwrap_or_else(PoisonError::into_inner);
        let id = rung.id();
        if op
            .ladder()
            .iter()
            .chain(own.iter().filter(|(o, _)| *o == op.name()).map(|(_, r)| &**r))
            .any(|r| r.id() == id)
        {
            let problem = format!("{} has a rung of that name", op.name());
            return Err(Error::Option { option: "rung", value: id, problem });
        }
        own.push((op.name(), Arc::new(rung)));
        Ok(())
    }

    /// Keeps what tuning finds in this folder, and takes what is there; nothing on disk for `None`.
    /// Without a call it is the platform's cache folder, or that of the variable `GPU_LADDER_CACHE`.
    pub fn keep_tuning_in(&self, folder: Option<&Path>) {
        self.shared.choices.keep_in(folder);
        self.shared.plans.clear();
    }

    /// The file that keeps what tuning finds; `None` where nothing is kept.
    pub fn tuning_file(&self) -> Option<PathBuf> {
        self.shared.choices.file()
    }

    /// Verifies and times every rung that takes a problem, and takes the fastest right one from now
    /// on, for this problem and the ones like it, also in later runs.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where no rung gives the right result, or the backend has no clock.
    pub async fn tune_async(&self, op: &'static dyn Op, problem: &Problem) -> Result<Tuned> {
        self.tune_among_async(op, problem, |_| true).await
    }

    /// The same among the rungs that `allowed` lets pass.
    ///
    /// # Errors
    /// As [`tune_async`](Self::tune_async).
    pub async fn tune_among_async(
        &self,
        op: &'static dyn Op,
        problem: &Problem,
        allowed: impl Fn(&Rung) -> bool,
    ) -> Result<Tuned> {
        self.usable()?;
        let (session, device) = (&self.shared.session, self.device());
        if device.clock == Clock::None {
            return Err(Error::unsupported(
                format!("tuning {}", op.name()),
                format!("{} has no clock", device.backend),
            ));
        }
        let span = tracing::info_span!("tune", op = op.name(), ?problem.dims);
        let stage = self.shared.noting(session.stage(op, problem, Inputs::Seeded(SEED)).await)?;
        let mut candidates = Vec::new();
        let mut proofs: Vec<(Choice, Verified<B>)> = Vec::new();
        for choice in self.shared.rungs(op) {
            if !allowed(&choice) || !op::runs(op, &choice, device, problem) {
                continue;
            }
            let because = match session.prepare(&stage, &choice).await {
                Ok(prepared) => match self.shared.noting(session.verify(prepared).await)? {
                    Verdict::Pass(proof) => {
                        proofs.push((choice, proof));
                        continue;
                    }
                    Verdict::Fail(mismatch) => format!("wrong: {mismatch}"),
                },
                Err(error @ Error::DeviceLost(_)) => return self.shared.noting(Err(error)),
                Err(error) => error.to_string(),
            };
            span.in_scope(|| tracing::warn!(rung = choice.id(), because, "not a candidate"));
            candidates.push(Candidate { rung: choice.id(), outcome: Err(because) });
        }
        if proofs.is_empty() {
            let reasons: Vec<_> = candidates
                .iter()
                .map(|c| format!("{}: {}", c.rung, c.outcome.as_ref().err().map_or("", |e| e)))
                .collect();
            return Err(Error::unsupported(
                format!("tuning {}", op.name()),
                format!("no rung gives the right result here ({})", reasons.join("; ")),
            ));
        }
        let times = self.shared.noting(self.times(&proofs).await)?;
        let mut timed: Vec<(&Choice, f64)> = proofs.iter().map(|(choice, _)| choice).zip(times).collect();
        timed.sort_by(|a, b| a.1.total_cmp(&b.1));
        let fastest = timed.iter().map(|(choice, _)| choice.word()).next().unwrap_or_default();
        let rung = timed.first().map(|(choice, _)| choice.id()).unwrap_or_default();
        candidates.splice(0..0, timed.iter().map(|(choice, ns)| Candidate { rung: choice.id(), outcome: Ok(*ns) }));
        self.shared.choices.put(op, problem, &fastest);
        self.shared.plans.clear();
        span.in_scope(|| tracing::info!(rung, "tuned"));
        Ok(Tuned { rung, candidates })
    }

    /// The median times of proofs: a short look at all, then those that may win against each other.
    async fn times(&self, proofs: &[(Choice, Verified<B>)]) -> Result<Vec<f64>> {
        let session = &self.shared.session;
        let mut times = Vec::with_capacity(proofs.len());
        let look = Timing { warmup: Duration::ZERO, budget: Duration::ZERO, min_rounds: 2, ..Timing::brief() };
        for (_, proof) in proofs {
            times.push(session.time(&[proof], &look).await?.first().map_or(f64::INFINITY, Samples::median));
        }
        let best = times.iter().copied().fold(f64::INFINITY, f64::min);
        let close: Vec<usize> = (0..times.len()).filter(|&i| times[i] <= best * HOPELESS).collect();
        let contenders: Vec<&Verified<B>> = close.iter().map(|&i| &proofs[i].1).collect();
        let samples = session.time(&contenders, &Timing::brief()).await?;
        for (&index, samples) in close.iter().zip(&samples) {
            times[index] = samples.median();
        }
        Ok(times)
    }
}

/// The same for threads that wait.
#[cfg(not(target_arch = "wasm32"))]
impl<B: Backend> Gpu<B> {
    /// Verifies and times every rung that takes a problem, and takes the fastest right one from now
    /// on, for this problem and the ones like it, also in later runs.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where no rung gives the right result, or the backend has no clock.
    pub fn tune(&self, op: &'static dyn Op, problem: &Problem) -> Result<Tuned> {
        super::wait(self.tune_async(op, problem))
    }

    /// The same among the rungs that `allowed` lets pass.
    ///
    /// # Errors
    /// As [`tune`](Self::tune).
    pub fn tune_among(&self, op: &'static dyn Op, problem: &Problem, allowed: impl Fn(&Rung) -> bool) -> Result<Tuned> {
        super::wait(self.tune_among_async(op, problem, allowed))
    }
}
