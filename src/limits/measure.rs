//! Measuring what a device can do at most, through the same rungs, verification and clocks as
//! everything else: the fastest verified rung of each op is the ceiling.

use super::steps::{self, Step};
use super::{Ceiling, Ceilings, Kind};
use crate::backend::{Any, Clock};
use crate::climb::Progress;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::op::{Copy, HierarchyBandwidth, HierarchyLatency, Matmul, MultiplyAdd, Op, SharedRead};
use crate::problem::Problem;
use crate::rung::Rung;
use crate::session::{InARow, Inputs, Prepared, Session, Verdict, Verified};
use crate::timing::{Samples, Timing};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The seed of all operands.
const SEED: u64 = 1;

/// Measures the ceilings of a device that `known` lacks, within the budget of `timing` for all of them
/// together: what is left of it is shared out anew before each. `keep` sees them after each.
///
/// # Errors
/// [`Error::Unsupported`] where the backend has no clock; [`Error::Interrupted`]; what the device reports.
/// What this device or language cannot do is left out.
pub async fn measure(
    session: &Session<Any>,
    timing: &Timing,
    known: Option<Ceilings>,
    progress: &mut dyn Progress,
    keep: &mut dyn FnMut(&Ceilings),
) -> Result<Ceilings> {
    let device = session.device();
    if device.clock == Clock::None {
        return Err(Error::unsupported(format!("limits of {}", device.backend), "it counts and does not time"));
    }
    if cfg!(target_arch = "wasm32") {
        return Err(Error::unsupported("limits", "the standard library has no clock in a browser"));
    }
    let all = steps::of(session);
    let mut ceilings = known.unwrap_or_else(|| Ceilings::none_of(device));
    let missing: Vec<&Step> = all.iter().filter(|step| !step.is_in(&ceilings)).collect();
    let end = Instant::now() + timing.budget;
    for (index, step) in missing.iter().enumerate() {
        if progress.stop() {
            return Err(Error::Interrupted);
        }
        progress.step(&format!("{}, {} of {}: {}", device.backend, index + 1, missing.len(), step.about()));
        let begin = Instant::now();
        let part = end.saturating_duration_since(begin) / (missing.len() - index) as u32;
        // Power holds the clock down after a while, and how far is a matter of what ran before: a product's
        // ceiling is that of its first moments.
        let part = if matches!(step, Step::Product { .. }) { part.min(BURST) } else { part };
        let bench = Bench { session, timing, end: begin + part };
        let found = bench.ceilings_of(step).await?;
        tracing::debug!(step = step.about(), seconds = begin.elapsed().as_secs_f64(), "measured");
        if !found.is_empty() {
            ceilings.ceilings.extend(found);
            keep(&ceilings);
        }
    }
    // Those that were there before came earlier in the table or later.
    let place = |ceiling: &Ceiling| all.iter().position(|step| step.made(ceiling));
    ceilings.ceilings.sort_by_key(place);
    ceilings.complete = true;
    keep(&ceilings);
    Ok(ceilings)
}

/// Where one step is measured, and until when.
struct Bench<'a> {
    session: &'a Session<Any>,
    timing: &'a Timing,
    end: Instant,
}

impl Bench<'_> {
    async fn ceilings_of(&self, step: &Step) -> Result<Vec<Ceiling>> {
        let problem = step.problem();
        let found = match *step {
            Step::Launch => {
                let best = self.best(&Copy, &Copy.ladder()[..1], &problem).await?;
                best.map(|best| best.time(Kind::Launch))
            }
            Step::Copy { bytes, largest } => return self.copies(&problem, bytes, largest).await,
            Step::Read { bytes, .. } => {
                let plain = &HierarchyBandwidth.ladder()[..1];
                let best = self.best(&HierarchyBandwidth, plain, &problem).await?;
                best.map(|best| best.ceiling(Kind::Read, None, Some(bytes), HierarchyBandwidth.work(&problem).bytes))
            }
            Step::Latency { bytes, hops, shared, beyond } => {
                let rung = if shared { "shared" } else { "cached" };
                let rung = HierarchyLatency.ladder().iter().find(|r| r.name == rung);
                match rung {
                    Some(rung) => self.latency(rung, bytes, hops, beyond).await?,
                    None => None,
                }
            }
            Step::Arithmetic { element, .. } => {
                let best = self.best(&MultiplyAdd, MultiplyAdd.ladder(), &problem).await?;
                let flops = MultiplyAdd.work(&problem).flops;
                best.map(|best| best.ceiling(Kind::Arithmetic, Some(element), None, flops))
            }
            Step::Shared { .. } => {
                // Each addition reads one word.
                let bytes = 4.0 * SharedRead.work(&problem).flops;
                let best = self.best(&SharedRead, SharedRead.ladder(), &problem).await?;
                best.map(|best| best.ceiling(Kind::Shared, None, None, bytes))
            }
            Step::Product { .. } => {
                // The ladder of matrix units is long, and its choice for this problem is measured already.
                let chosen = Matmul.select(self.session.device(), &problem);
                match chosen.filter(|_| Matmul.check(&problem).is_ok()) {
                    Some(rung) => {
                        let flops = Matmul.work(&problem).flops;
                        let best = self.best(&Matmul, std::slice::from_ref(rung), &problem).await?;
                        best.map(|best| best.ceiling(Kind::Tensor, Some(problem.element), None, flops))
                    }
                    None => None,
                }
            }
        };
        Ok(found.into_iter().collect())
    }

    /// The fastest copy of so many bytes; and the driver's own beside the largest.
    async fn copies(&self, problem: &Problem, bytes: u64, largest: bool) -> Result<Vec<Ceiling>> {
        let rungs: Vec<Rung> = Copy::yardsticks().cloned().collect();
        let driver = |label: &str| label.ends_with("/buffer_copy");
        let mut all = self.each(&Copy, &rungs, problem, |label| largest && driver(label)).await?;
        all.sort_by(|a, b| a.samples.median().total_cmp(&b.samples.median()));
        let ceiling = |best: &Best| best.ceiling(Kind::Copy, None, Some(bytes), Copy.work(problem).bytes);
        let mut ceilings: Vec<Ceiling> = all.first().map(ceiling).into_iter().collect();
        if largest {
            // What the driver itself does, beside what kernels can.
            ceilings.extend(all.iter().skip(1).find(|one| driver(&one.rung)).map(ceiling));
        }
        Ok(ceilings)
    }

    /// How long one load from a set takes: the difference of two numbers of loads leaves the launch out.
    async fn latency(&self, rung: &Rung, bytes: u64, hops: u64, beyond: bool) -> Result<Option<Ceiling>> {
        let rungs = std::slice::from_ref(rung);
        // Both walk the same chain, which takes longer to make than to follow.
        let problem = |hops: u64| Problem::new(Element::U32, [bytes / 4, hops]);
        let chain = Arc::new(HierarchyLatency.input(&problem(hops), 0, SEED, bytes / 4));
        let mut proofs = Vec::new();
        for hops in [hops, 2 * hops] {
            let operands = vec![Arc::clone(&chain)];
            let inputs = Inputs::Given { operands, description: HierarchyLatency.generated().into() };
            for one in self.prepare(&HierarchyLatency, rungs, &problem(hops), inputs).await? {
                proofs.push(self.verify(one).await?);
            }
        }
        let [short, long] = proofs.as_slice() else { return Ok(None) };
        // A copy of more than the last level holds leaves nothing of a set in any cache.
        let mut flush = Vec::new();
        if beyond {
            let problem = Problem::new(Element::U32, [self.session.device().l2_or_guess() / 4]);
            for one in self.prepare(&Copy, &Copy.ladder()[..1], &problem, Inputs::Seeded(SEED)).await? {
                flush.push(self.verify(one).await?);
            }
        }
        // Whatever order a round takes, most walks come after a flush, and the median is of those.
        const FLUSHES: usize = 4;
        let flushes = flush.iter().flat_map(|flush| [flush; FLUSHES]);
        let contenders: Vec<&Verified<Any>> = [short, long].into_iter().chain(flushes).collect();
        let mut walks = self.session.time(&contenders, &self.timing()).await?.into_iter();
        let (Some(less), Some(more)) = (walks.next(), walks.next()) else { return Ok(None) };
        let of = |samples: Samples| Best { rung: long.label(), samples };
        Ok(Some(of(more).latency(&of(less), bytes, hops)))
    }

    /// How to time with what is left of the step's part.
    fn timing(&self) -> Timing {
        let left = self.end.saturating_duration_since(Instant::now());
        let exactly = self.timing.min_rounds == self.timing.max_rounds;
        Timing {
            warmup: self.timing.warmup.min(left / 4),
            budget: left.saturating_sub(self.timing.warmup.min(left / 4)),
            // Another run finds the same only where each sampled for long enough.
            precision: 0.0,
            // Sets and copies that fit a cache are measured from there.
            warm_cache: true,
            max_rounds: if exactly { self.timing.max_rounds } else { MOST_ROUNDS },
            ..self.timing.clone()
        }
    }

    /// The fastest of some rungs for a problem; `None` where none can run here.
    async fn best(&self, op: &'static dyn Op, rungs: &[Rung], problem: &Problem) -> Result<Option<Best>> {
        let all = self.each(op, rungs, problem, |_| false).await?;
        Ok(all.into_iter().min_by(|a, b| a.samples.median().total_cmp(&b.samples.median())))
    }

    /// The samples of those of some rungs that a first look finds near the fastest, or that `also` names:
    /// verified, and timed side by side, short ones many in a row.
    async fn each(
        &self,
        op: &'static dyn Op,
        rungs: &[Rung],
        problem: &Problem,
        also: impl Fn(&str) -> bool,
    ) -> Result<Vec<Best>> {
        /// What a first look may miss by; of what is over in microseconds it sees mostly launches.
        const NEAR: f64 = 1.03;
        const NEAR_SHORT: f64 = 1.5;
        let prepared = self.prepare(op, rungs, problem, Inputs::Seeded(SEED)).await?;
        if prepared.is_empty() {
            return Ok(Vec::new());
        }
        let looks = self.session.look(&prepared.iter().collect::<Vec<_>>(), true).await?;
        let least = looks.iter().copied().fold(f64::INFINITY, f64::min);
        let short = least < SHORT_NS;
        let near = least * if short { NEAR_SHORT } else { NEAR };
        let mut proofs = Vec::new();
        for (one, ns) in prepared.into_iter().zip(looks) {
            if ns <= near || also(&one.label()) {
                proofs.push(self.verify(one).await?);
            }
        }
        let contenders: Vec<&Verified<Any>> = proofs.iter().collect();
        // Another run has the same number, although it looked a little longer or shorter.
        let many = ((LEAST_SAMPLE_NS / least).ceil() as usize).clamp(1, MOST_IN_A_ROW).next_power_of_two();
        let runs = if short { many } else { 1 };
        let warm_sets = if op.name() == Copy.name() { COPIED_SETS } else { 1 };
        let samples = self
            .session
            .time_in_a_row(&contenders, &self.timing(), InARow { runs, recorded: short, warm_sets }, || false)
            .await?;
        Ok(samples.into_iter().zip(&proofs).map(|(samples, proof)| Best { rung: proof.label(), samples }).collect())
    }

    /// Those of some rungs that run here.
    async fn prepare(
        &self,
        op: &'static dyn Op,
        rungs: &[Rung],
        problem: &Problem,
        inputs: Inputs,
    ) -> Result<Vec<Prepared<Any>>> {
        let left_out = |error: &Error| {
            matches!(error, Error::Limit { .. } | Error::OutOfMemory { .. } | Error::Unsupported { .. })
        };
        let stage = match self.session.stage(op, problem, inputs).await {
            Ok(stage) => stage,
            Err(error) if left_out(&error) => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut all = Vec::new();
        for rung in rungs {
            match self.session.prepare(&stage, rung).await {
                Ok(prepared) => all.push(prepared),
                Err(error) if left_out(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(all)
    }

    async fn verify(&self, prepared: Prepared<Any>) -> Result<Verified<Any>> {
        let label = prepared.label();
        match self.session.verify(prepared).await? {
            Verdict::Pass(proof) => Ok(proof),
            Verdict::Fail(mismatch) => Err(Error::device(label, mismatch)),
        }
    }
}

/// The part of the time that a product gets at most: its set-up takes longer, so that it is sampled for as
/// long as one batch lasts, a tenth of a second.
const BURST: Duration = Duration::from_millis(100);
/// Below so many nanoseconds launches count, and work runs many times in a row for a sample: longer work would
/// only heat the device, and what the driver takes for a large copy within a graph is slower.
const SHORT_NS: f64 = 50_000.0;
/// Nanoseconds of such a sample at least, and the most in a row.
const LEAST_SAMPLE_NS: f64 = 600_000.0;
const MOST_IN_A_ROW: usize = 256;
/// Buffer sets that copies within a cache take in turn.
const COPIED_SETS: u64 = 8;
/// The budget ends the sampling, not the number of rounds.
const MOST_ROUNDS: usize = 20_000;

/// A rung and its samples.
struct Best {
    rung: String,
    samples: Samples,
}

impl Best {
    /// The ceiling that it sets, for so much work in its time.
    fn ceiling(&self, kind: Kind, element: Option<Element>, bytes: Option<u64>, work: f64) -> Ceiling {
        let (low, high) = self.samples.median_interval();
        Ceiling {
            kind,
            rung: self.rung.clone(),
            element: element.map(|e| e.name().to_string()),
            bytes,
            value: work / self.samples.median() * 1e9,
            low: work / high * 1e9,
            high: work / low * 1e9,
            sm_clock_mhz: self.samples.telemetry.sm_clock_mhz,
        }
    }

    /// Its time itself, in seconds.
    fn time(&self, kind: Kind) -> Ceiling {
        let (low, high) = self.samples.median_interval();
        let [value, low, high] = [self.samples.median(), low, high].map(|ns| ns / 1e9);
        Ceiling { value, low, high, ..self.ceiling(kind, None, None, 0.0) }
    }

    /// The seconds of each of the `hops` loads that it did more than `short`.
    fn latency(&self, short: &Best, bytes: u64, hops: u64) -> Ceiling {
        let (less, more) = (short.time(Kind::Latency), self.time(Kind::Latency));
        let each = |seconds: f64| seconds / hops as f64;
        Ceiling {
            value: each(more.value - less.value).max(0.0),
            // The medians' intervals may overlap where a clock is coarse.
            low: each(more.low - less.high).max(0.0),
            high: each(more.high - less.low),
            bytes: Some(bytes),
            ..more
        }
    }
}
