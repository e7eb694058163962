//! Measures figures: times on a device, counts on the simulator.

use super::{Figure, What};
use crate::backend::{Any, Backend, Clock, Device, KernelInfo, Select};
use crate::element::Element;
use crate::error::{Error, Result};
use crate::op::{self, Op};
use crate::problem::{Layout, Problem};
use crate::rung::{Grid, Promise, Rung};
use crate::session::{Inputs, Prepared, Session, Stage, Verdict, Verified};
use crate::timing::{Samples, Timing};
use std::sync::Mutex;
use std::time::Duration;

/// A device and a simulator.
pub struct Lab {
    device: Session<Any>,
    sim: Session<Any>,
    clock_mhz: Mutex<Option<u32>>,
    /// What was measured before: several claims and tables ask for the same.
    known: Mutex<Vec<(Figure, f64)>>,
}

/// The seed of every input.
const SEED: u64 = 1;
/// Runs of a rung that may be wrong.
const RUNS: u64 = 100;

impl Lab {
    /// On the device that a backend opens.
    ///
    /// # Errors
    /// Whatever keeps it from opening.
    pub async fn open(backend: &str, select: &Select) -> Result<Lab> {
        let device = Session::new(Any::open_named(backend, select).await?);
        let sim = Session::new(Any::open_named("sim", &Select::default()).await?);
        Ok(Lab { device, sim, clock_mhz: Mutex::new(None), known: Mutex::new(Vec::new()) })
    }

    /// The device.
    pub fn device(&self) -> &Device {
        self.device.device()
    }

    /// The values of figures, in order; NaN for what this device cannot give.
    ///
    /// # Errors
    /// What a device reports, and a rung that gives a wrong result.
    pub async fn measure(&self, figures: &[Figure], progress: &mut dyn FnMut(&str)) -> Result<Vec<f64>> {
        let mut values: Vec<Option<f64>> = figures.iter().map(|figure| self.recall(figure)).collect();
        for index in 0..figures.len() {
            if values[index].is_some() {
                continue;
            }
            if figures[index].what.is_arithmetic() {
                values[index] = Some(half_error(figures[index].what, figures[index].full[0]));
                continue;
            }
            // Rungs of one problem are timed in the same rounds.
            let mut together: Vec<usize> = Vec::new();
            for other in index..figures.len() {
                let new = !together.iter().any(|&i| figures[i] == figures[other]);
                if new && figures[other].shares_stage(&figures[index]) {
                    together.push(other);
                }
            }
            progress(&format!("{} {:?}", figures[index].op, self.dims(&figures[index])));
            let group: Vec<Figure> = together.iter().map(|&i| figures[i]).collect();
            let found = match self.group(&group).await {
                Ok(found) => found,
                Err(Error::Unsupported { .. } | Error::Limit { .. } | Error::OutOfMemory { .. }) => {
                    vec![f64::NAN; group.len()]
                }
                Err(error) => return Err(error),
            };
            for (&measured, value) in together.iter().zip(found) {
                let same = (0..figures.len()).filter(|&i| figures[i] == figures[measured]);
                same.for_each(|i| values[i] = Some(value));
                if let Ok(mut known) = self.known.lock() {
                    known.push((figures[measured], value));
                }
            }
        }
        // The clock is known once something has run.
        let clock = self.clock_mhz.lock().ok().and_then(|clock| *clock).map_or(f64::NAN, f64::from);
        let value = |(figure, value): (&Figure, Option<f64>)| match figure.what {
            What::ClockMhz => clock,
            _ => value.unwrap_or(f64::NAN),
        };
        Ok(figures.iter().zip(values).map(value).collect())
    }

    fn recall(&self, figure: &Figure) -> Option<f64> {
        let known = self.known.lock().ok()?;
        known.iter().find(|(other, _)| other == figure).map(|(_, value)| *value)
    }

    pub(super) fn dims<'a>(&self, figure: &'a Figure) -> &'a [u64] {
        if self.device().is_software() || figure.what.is_counted() { figure.small } else { figure.full }
    }

    fn problem(&self, op: &dyn Op, figure: &Figure) -> Problem {
        let element = figure.element.or(op.elements().first().copied()).unwrap_or(Element::F32);
        let problem = Problem::new(element, self.dims(figure).to_vec());
        if figure.padding == 0 {
            return problem;
        }
        let apart = |cols: u64| Layout { leading_dimension: Some(cols + figure.padding), ..Layout::default() };
        let (rows, cols) = (problem.dim(0), problem.dim(1));
        problem.with_layout(0, apart(cols)).with_layout(1, apart(rows))
    }

    /// Figures of rungs on one problem.
    async fn group(&self, figures: &[Figure]) -> Result<Vec<f64>> {
        let op = op::find(figures[0].op)?;
        let problem = self.problem(op, &figures[0]);
        let session = if figures[0].what.is_counted() { &self.sim } else { &self.device };
        let stage = session.stage(op, &problem, Inputs::Seeded(SEED)).await?;
        let mut values = vec![f64::NAN; figures.len()];
        let mut proofs: Vec<(usize, Verified<Any>)> = Vec::new();
        for (index, figure) in figures.iter().enumerate() {
            let Some(rung) = self.rung(op, &problem, figure) else { continue };
            let prepared = match session.prepare(&stage, &rung).await {
                Ok(prepared) => prepared,
                Err(Error::Unsupported { .. } | Error::Limit { .. }) => continue,
                Err(error) => return Err(error),
            };
            if matches!(rung.promise, Promise::Nothing { .. }) || figure.what == What::WrongRuns {
                values[index] = self.wrong(session, &prepared, figure.what).await?;
                continue;
            }
            match session.verify(prepared).await? {
                Verdict::Pass(proof) => {
                    values[index] = self.untimed(session, &stage, &proof, figure, &rung).await?;
                    if figure.what.is_timed() {
                        proofs.push((index, proof));
                    }
                }
                Verdict::Fail(mismatch) => {
                    return Err(Error::device(format!("{}/{}", op.name(), rung.id()), mismatch));
                }
            }
        }
        if session.device().clock == Clock::None || proofs.is_empty() {
            return Ok(values);
        }
        for warm in [false, true] {
            let chosen: Vec<_> = proofs.iter().filter(|(i, _)| (figures[*i].what != What::Ns) == warm).collect();
            let contenders: Vec<&Verified<Any>> = chosen.iter().map(|(_, proof)| proof).collect();
            if contenders.is_empty() {
                continue;
            }
            let samples = self.time(&contenders, warm).await?;
            for ((index, _), samples) in chosen.iter().zip(&samples) {
                values[*index] = samples.median();
                if figures[*index].what == What::HopNs {
                    values[*index] = self.hop(op, &problem, &figures[*index], samples.median()).await?;
                }
            }
        }
        Ok(values)
    }

    async fn time(&self, contenders: &[&Verified<Any>], warm_cache: bool) -> Result<Vec<Samples>> {
        let brief = self.device().is_software();
        let timing = Timing {
            warmup: Duration::from_millis(if brief { 0 } else { 30 }),
            budget: Duration::from_millis(200),
            min_rounds: if brief { 5 } else { 20 },
            max_rounds: if brief { 20 } else { 500 },
            warm_cache,
            ..Timing::default()
        };
        let samples = self.device.time(contenders, &timing).await?;
        let clock = samples.last().and_then(|samples| samples.telemetry.sm_clock_mhz);
        if let (Some(clock), Ok(mut known)) = (clock, self.clock_mhz.lock()) {
            *known = Some(clock);
        }
        Ok(samples)
    }

    /// The time of a hop, from a run of five times as many.
    async fn hop(&self, op: &'static dyn Op, problem: &Problem, figure: &Figure, once: f64) -> Result<f64> {
        const TIMES: u64 = 5;
        /// Hops beside whose time a launch does not matter.
        const LONG: u64 = 1 << 19;
        if problem.dim(1) >= LONG {
            return Ok(once / problem.dim(1) as f64);
        }
        let longer = Problem { dims: vec![problem.dim(0), problem.dim(1) * TIMES], ..problem.clone() };
        let stage = self.device.stage(op, &longer, Inputs::Seeded(SEED)).await?;
        let Some(rung) = self.rung(op, &longer, figure) else { return Ok(f64::NAN) };
        let Verdict::Pass(proof) = self.device.verify(self.device.prepare(&stage, &rung).await?).await? else {
            return Ok(f64::NAN);
        };
        let samples = self.time(&[&proof], true).await?;
        let hop = (samples[0].median() - once) / (problem.dim(1) * (TIMES - 1)) as f64;
        // Where noise is longer than the hops, there is nothing to tell.
        Ok(if hop > 0.0 { hop } else { f64::NAN })
    }

    fn rung(&self, op: &'static dyn Op, problem: &Problem, figure: &Figure) -> Option<Rung> {
        let mut rung = match figure.rung {
            "" => op.select(self.device(), problem)?.clone(),
            id => op.ladder().iter().find(|rung| rung.id() == id)?.clone(),
        };
        if figure.ballast > 0 {
            self.device().compute_capability?;
            rung.cuda_needs.dynamic_shared += figure.ballast;
        }
        for pass in rung.passes.to_mut().iter_mut().filter(|_| figure.blocks > 0) {
            if let Grid::LinearAtMost { max, .. } = &mut pass.grid {
                *max = figure.blocks;
            }
        }
        Some(rung)
    }

    /// How often a rung that may be wrong is wrong, or how many hazards it has.
    async fn wrong(&self, session: &Session<Any>, prepared: &Prepared<Any>, what: What) -> Result<f64> {
        if what == What::WrongRuns {
            return Ok(session.wrong_runs(prepared, RUNS).await? as f64);
        }
        session.wrong_runs(prepared, 1).await?;
        read(session, prepared.kernels(), what, 32)
    }

    async fn untimed(
        &self,
        session: &Session<Any>,
        stage: &Stage<Any>,
        proof: &Verified<Any>,
        figure: &Figure,
        rung: &Rung,
    ) -> Result<f64> {
        if figure.what == What::SumError {
            return sum_error(stage, &proof.output().await?);
        }
        let threads = rung.passes.first().map_or(0, |pass| pass.block.iter().product());
        read(session, proof.kernels(), figure.what, threads)
    }
}

/// What the kernels of a rung tell of themselves.
fn read<'a>(
    session: &Session<Any>,
    kernels: impl Iterator<Item = &'a <Any as Backend>::Kernel>,
    what: What,
    threads: u32,
) -> Result<f64> {
    let mut infos = Vec::new();
    for kernel in kernels {
        infos.push(session.backend().inspect(kernel)?);
    }
    let Some(KernelInfo { blocks_per_sm, local, .. }) = infos.first() else { return Ok(f64::NAN) };
    let warp = session.device().warp.max(1);
    let known = |value: Option<u32>| value.map_or(f64::NAN, f64::from);
    match what {
        What::ResidentWarps => return Ok(known(blocks_per_sm.map(|blocks| blocks * threads.div_ceil(warp)))),
        What::LocalBytes => return Ok(known(*local)),
        _ => {}
    }
    let profiles: Vec<_> = infos.iter().filter_map(|info| info.profile.as_ref()).collect();
    if profiles.is_empty() {
        return Ok(f64::NAN);
    }
    let sum = |count: &dyn Fn(&crate::sim::Profile) -> u64| profiles.iter().map(|p| count(p)).sum::<u64>() as f64;
    let loads = sum(&|p| p.totals.global_load.requests);
    let shared = sum(&|p| p.totals.shared().wavefronts);
    Ok(match what {
        What::LoadSectors => sum(&|p| p.totals.global_load.sectors) / loads,
        What::Loads => loads * 32.0,
        What::Efficiency => sum(&|p| p.totals.global().useful_bytes) / sum(&|p| p.totals.global().moved_bytes),
        What::Wavefronts => sum(&|p| p.totals.shared_load.wavefronts) / sum(&|p| p.totals.shared_load.requests),
        What::ConflictDegree => shared / sum(&|p| p.totals.shared().ideal_wavefronts),
        What::Hazards => sum(&|p| p.hazards.len() as u64),
        _ => f64::NAN,
    })
}

/// The error of a sum in units of u times the sum of magnitudes.
fn sum_error(stage: &Stage<Any>, output: &[u8]) -> Result<f64> {
    let problem = stage.problem();
    let bytes = stage.op().input(problem, 0, SEED, problem.dim(0));
    let values = bytes.chunks_exact(4).filter_map(|b| Element::F32.to_f64(b));
    // Exact enough: f64 rounds 2^29 times finer.
    let (sum, magnitude) = values.fold((0.0, 0.0), |(s, m), v| (s + v, m + v.abs()));
    let got = output.get(..4).and_then(|b| Element::F32.to_f64(b)).unwrap_or(f64::NAN);
    Ok((got - sum).abs() / (magnitude * f64::from(f32::EPSILON) / 2.0))
}

/// The error of adding up `len` magnitudes, uniform in [0, 1), in f16, over their sum.
fn half_error(what: What, len: u64) -> f64 {
    let round = |value: f64| half::f16::from_f64(value).to_f64();
    let stream = crate::random::Stream::new(SEED, 0);
    let (mut exact, mut sum, mut lost) = (0.0, 0.0, 0.0);
    for place in 0..len {
        let value = round(stream.uniform(place).abs());
        exact += value;
        // Sums of two f16 values are exact in f64, so that each is rounded once.
        let corrected = if what == What::HalfCompensated { round(value - lost) } else { value };
        let next = round(sum + corrected);
        lost = round(round(next - sum) - corrected);
        sum = next;
    }
    (sum - exact).abs() / exact
}

/// The id of a rung, for good: ladders are never dropped, and a figure is a constant.
pub(super) fn id_of(op: &str, id: &str) -> Option<&'static str> {
    const IDS: &[(&str, &[&str])] = &[
        (
            "occupancy",
            &[
                "block@32",
                "block@64",
                "block@128",
                "block@256",
                "block@512",
                "block@1024",
                "ballast@13k",
                "ballast@27k",
                "ballast@47k",
            ],
        ),
        ("registers", &["free", "capped@128", "capped@64", "capped@40", "capped@32"]),
    ];
    let (_, ids) = IDS.iter().find(|(name, _)| *name == op)?;
    ids.iter().copied().find(|known| *known == id)
}
