//! Timing verified rungs against each other.

use super::stage::{Inputs, Slot};
use super::{Session, Verdict, Verified};
use crate::backend::{Backend, Launch};
use crate::error::{Error, Result};
use crate::op::{self, Op};
use crate::problem::Problem;
use crate::timing::{self, Samples, Timing};
use crate::verify::POISONS;
use std::sync::Arc;
use std::time::Instant;

/// Work to queue at a time while timing.
const QUEUED_SECONDS: f64 = 0.02;
/// The most rounds to queue at a time.
const MOST_QUEUED: usize = 64;

impl<B: Backend> Session<B> {
    /// Times verified rungs against each other: every round runs each once, on the next of its
    /// buffers. The last output of each is checked again.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where the backend has no clock, [`Error::WrongWhileTimed`].
    pub async fn time(&self, contenders: &[&Verified<B>], timing: &Timing) -> Result<Vec<Samples>> {
        timing.check()?;
        let mut rings = Vec::new();
        for contender in contenders {
            self.same_device(&contender.prepared.stage.backend)?;
            rings.push(contender.prepared.stage.ring(timing.warm_cache).await?);
        }
        let mut turn = 0;
        let start = Instant::now();
        while turn == 0 || start.elapsed() < timing.warmup {
            self.rounds(contenders, &rings, turn, 1).await?;
            turn += 1;
        }
        // Rounds are queued together, so that the device does not idle (and slow its clocks) while
        // the host prepares the next one.
        let round = start.elapsed().as_secs_f64() / turn as f64;
        let together = ((QUEUED_SECONDS / round) as usize).clamp(1, MOST_QUEUED);
        let mut all: Vec<Vec<f64>> = vec![Vec::new(); contenders.len()];
        let start = Instant::now();
        let mut done = 0;
        while done < timing.max_rounds {
            let count = together.min(timing.max_rounds - done);
            for ns in self.rounds(contenders, &rings, turn, count).await? {
                all.iter_mut().zip(ns).for_each(|(samples, ns)| samples.push(ns));
            }
            turn += count;
            done += count;
            let settled = || all.iter().all(|ns| ns.len() >= 30 && timing::uncertainty(ns) <= timing.precision);
            if done >= timing.min_rounds && (start.elapsed() >= timing.budget || settled()) {
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
                clock: self.device().clock,
                cache_policy: stage.cache_policy(ring.len(), timing.warm_cache),
                telemetry,
            });
        }
        Ok(results)
    }

    /// Runs `count` rounds and returns the nanoseconds of each contender, round by round.
    async fn rounds(
        &self,
        contenders: &[&Verified<B>],
        rings: &[Vec<Arc<Slot<B>>>],
        first: usize,
        count: usize,
    ) -> Result<Vec<Vec<f64>>> {
        let mut works = Vec::new();
        for turn in first..first + count {
            for (contender, ring) in contenders.iter().zip(rings) {
                works.push(contender.prepared.launches(&ring[turn % ring.len()])?);
            }
        }
        let slices: Vec<&[Launch<'_, B>]> = works.iter().map(Vec::as_slice).collect();
        let ns = self.backend.time(&slices).await?;
        Ok(ns.chunks(contenders.len().max(1)).map(<[f64]>::to_vec).collect())
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
