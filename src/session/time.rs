//! Timing verified rungs against each other.

use super::stage::{Inputs, Slot};
use super::{Prepared, Session, Verdict, Verified, order};
use crate::backend::{Backend, Launch};
use crate::error::{Error, Result};
use crate::op::{self, Op};
use crate::problem::Problem;
use crate::timing::{self, Samples, Timing};
use crate::verify::POISONS;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Work to queue at a time, in nanoseconds: a device that waits for the host lowers its clocks.
const QUEUED_NS: f64 = 1e8;
/// The most rounds to queue at a time.
const MOST_QUEUED: usize = 256;
/// What a batch may be faster than the one before when the clocks have settled, as a share.
const SETTLED: f64 = 0.01;
/// How many times the warm-up may last while they have not.
const MOST_WARMUPS: u32 = 5;

/// Several runs of the same for one sample: what a start and the reading of the clock cost is shared out.
#[derive(Clone, Copy)]
pub(crate) struct InARow {
    /// How many.
    pub runs: usize,
    /// Whether they are recorded beforehand and started as one thing.
    pub recorded: bool,
    /// Buffer sets to run on in turn where the cache is warm, as far as half of it holds them: where memory lies
    /// is worth a per cent or two.
    pub warm_sets: u64,
}

impl InARow {
    const ONE: Self = InARow { runs: 1, recorded: false, warm_sets: 1 };
}

impl<B: Backend> Session<B> {
    /// Times verified rungs against each other: every round runs each once, each time on the next of
    /// its buffers, in an order of its own, so that each follows each other equally often. The last
    /// output of each is checked again.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where the backend has no clock and in a browser, [`Error::WrongWhileTimed`].
    pub async fn time(&self, contenders: &[&Verified<B>], timing: &Timing) -> Result<Vec<Samples>> {
        self.time_until(contenders, timing, || false).await
    }

    /// The same, which ends with the samples that are there once `stop` says so.
    pub(crate) async fn time_until(
        &self,
        contenders: &[&Verified<B>],
        timing: &Timing,
        stop: impl Fn() -> bool,
    ) -> Result<Vec<Samples>> {
        let in_a_row = InARow { runs: timing.in_a_row, ..InARow::ONE };
        self.time_in_a_row(contenders, timing, in_a_row, stop).await
    }

    /// The same, where each sample is of several runs in a row, as the share of one.
    pub(crate) async fn time_in_a_row(
        &self,
        contenders: &[&Verified<B>],
        timing: &Timing,
        in_a_row: InARow,
        stop: impl Fn() -> bool,
    ) -> Result<Vec<Samples>> {
        timing.check()?;
        if cfg!(target_arch = "wasm32") {
            return Err(Error::unsupported("timing", "the standard library has no clock in a browser"));
        }
        let prepared: Vec<&Prepared<B>> = contenders.iter().map(|contender| &contender.prepared).collect();
        let rings = self.rings(&prepared, timing.warm_cache, in_a_row.warm_sets).await?;
        let start = Instant::now();
        let (mut turn, mut together, mut settled) = (0, 1, false);
        let mut round_ns = f64::INFINITY;
        // Until the clocks are up: no batch is faster than the one before.
        let cold = |settled: bool, warm: Duration| warm < timing.warmup * if settled { 1 } else { MOST_WARMUPS };
        while turn == 0 || (cold(settled, start.elapsed()) && !stop()) {
            let rounds = self.rounds(&prepared, &rings, turn, together, in_a_row).await?;
            turn += together;
            let before = round_ns;
            round_ns = rounds.iter().rev().take(1).flatten().sum();
            settled = round_ns > before * (1.0 - SETTLED);
            together = ((QUEUED_NS / round_ns) as usize).clamp(1, MOST_QUEUED);
        }
        let mut all: Vec<Vec<f64>> = vec![Vec::new(); contenders.len()];
        let start = Instant::now();
        let mut done = 0;
        while done < timing.max_rounds {
            let count = together.min(timing.max_rounds - done);
            for ns in self.rounds(&prepared, &rings, turn, count, in_a_row).await? {
                all.iter_mut().zip(ns).for_each(|(samples, ns)| samples.push(ns / in_a_row.runs as f64));
            }
            turn += count;
            done += count;
            let settled = || all.iter().all(|ns| ns.len() >= 30 && timing::uncertainty(ns) <= timing.precision);
            let enough = || done >= timing.min_rounds && (start.elapsed() >= timing.budget || settled());
            if stop() || enough() {
                break;
            }
        }
        let telemetry = self.backend.telemetry();
        let mut results = Vec::new();
        for ((contender, ring), ns) in contenders.iter().zip(&rings).zip(all) {
            let stage = &contender.prepared.stage;
            let slot = &ring[turn % ring.len()];
            let poison = POISONS[turn % POISONS.len()];
            stage.poison(slot, poison).await?;
            // One more run, on poisoned memory, of exactly what was timed.
            self.backend.launch(&contender.prepared.launches(slot)?)?;
            if let Err(mismatch) = stage.check(slot, poison).await? {
                return Err(Error::WrongWhileTimed { label: contender.label(), mismatch: mismatch.to_string() });
            }
            results.push(Samples {
                ns,
                in_a_row: in_a_row.runs,
                clock: self.device().clock,
                cache_policy: stage.cache_policy(ring.len(), timing.warm_cache),
                telemetry,
            });
        }
        Ok(results)
    }

    /// The least time of each of `contenders` in a few rounds, in nanoseconds: to leave out what is
    /// far from the best before it is verified and measured, and no figure to show.
    pub(crate) async fn look(&self, contenders: &[&Prepared<B>], warm_cache: bool) -> Result<Vec<f64>> {
        const ROUNDS: usize = 4;
        let rings = self.rings(contenders, warm_cache, 1).await?;
        // Behind those in which some buffers are met for the first time.
        let first = rings.iter().map(Vec::len).max().unwrap_or(0).div_ceil(contenders.len().max(1));
        let rounds = self.rounds(contenders, &rings, 0, first + ROUNDS, InARow::ONE).await?;
        let least = |index: usize| rounds.iter().skip(first).map(|round| round[index]).fold(f64::INFINITY, f64::min);
        Ok((0..contenders.len()).map(least).collect())
    }

    async fn rings(
        &self,
        contenders: &[&Prepared<B>],
        warm_cache: bool,
        warm_sets: u64,
    ) -> Result<Vec<Vec<Arc<Slot<B>>>>> {
        let mut rings = Vec::new();
        for contender in contenders {
            self.same_device(&contender.stage.backend)?;
            rings.push(contender.stage.ring(warm_cache, warm_sets).await?);
        }
        Ok(rings)
    }

    /// Runs `count` rounds, in each every contender `runs` times in a row, and returns the nanoseconds of
    /// each contender's runs together, round by round.
    async fn rounds(
        &self,
        contenders: &[&Prepared<B>],
        rings: &[Vec<Arc<Slot<B>>>],
        first: usize,
        count: usize,
        InARow { runs, recorded, .. }: InARow,
    ) -> Result<Vec<Vec<f64>>> {
        let orders: Vec<_> = (first..first + count).map(|turn| order::of_round(contenders.len(), turn)).collect();
        let mut works = Vec::new();
        for (turn, order) in (first..).zip(&orders) {
            for (place, &index) in order.iter().enumerate() {
                // The next buffers for every run, not for every round: contenders share them.
                let (ring, first) = (&rings[index], (turn * contenders.len() + place) * runs);
                let mut work = Vec::new();
                for run in first..first + runs {
                    work.append(&mut contenders[index].launches(&ring[run % ring.len()])?);
                }
                works.push(work);
            }
        }
        let slices: Vec<&[Launch<'_, B>]> = works.iter().map(Vec::as_slice).collect();
        let ns = match recorded {
            true => self.backend.time_recorded(&slices).await?,
            false => self.backend.time(&slices).await?,
        };
        let rounds = orders.iter().zip(ns.chunks(contenders.len().max(1)));
        Ok(rounds.map(|(order, ns)| by_contender(order, ns)).collect())
    }

    /// The time of the smallest launch that this backend can time, in nanoseconds: times near it
    /// are mostly overhead. Measured once.
    pub async fn floor(&self) -> Result<f64> {
        if let Some(&floor) = self.floor.get() {
            return Ok(floor);
        }
        let problem = Problem::new(crate::Element::F32, [1]);
        let stage = self.stage(&op::Copy, &problem, Inputs::Seeded(0)).await?;
        let prepared = self.prepare(&stage, &op::Copy.ladder()[0]).await?;
        let Verdict::Pass(verified) = self.verify(prepared).await? else {
            return Err(Error::device("copy/scalar", "a copy of one element gave a wrong result"));
        };
        let timing = Timing { warmup: std::time::Duration::from_millis(20), ..Timing::brief() };
        let samples = self.time(&[&verified], &timing).await?;
        let floor = samples.first().map_or(f64::NAN, Samples::median);
        Ok(*self.floor.get_or_init(|| floor))
    }
}

/// The times of a round, which were taken in this order, by the numbers of the contenders.
fn by_contender(order: &[usize], ns: &[f64]) -> Vec<f64> {
    let mut times = vec![f64::NAN; order.len()];
    order.iter().zip(ns).for_each(|(&index, &ns)| times[index] = ns);
    times
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_go_back_to_their_contenders() {
        for round in 0..20 {
            let order = order::of_round(5, round);
            let ns: Vec<f64> = order.iter().map(|&index| index as f64).collect();
            assert_eq!(by_contender(&order, &ns), [0.0, 1.0, 2.0, 3.0, 4.0]);
        }
    }
}
