//! Measures figures: times on a device, counts on the simulator.

use super::reading::{half_error, read, sum_error};
use super::{Figure, What};
use crate::backend::{Any, Clock, Device, Select};
use crate::climb::Progress;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::op::{self, Op};
use crate::problem::{Layout, Problem};
use crate::rung::{Grid, Language, Promise, Rung};
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
pub(super) const SEED: u64 = 1;
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

    /// Measures figures, until `progress` asks to stop; those of one problem are timed in the same rounds.
    /// What this device cannot give is NaN from then on.
    ///
    /// # Errors
    /// What a device reports, and a rung that gives a wrong result.
    pub async fn measure(&self, figures: &[Figure], progress: &mut dyn Progress) -> Result<()> {
        for figure in figures {
            if self.value(figure).is_some() {
                continue;
            }
            if progress.stop() {
                break;
            }
            if figure.what.is_arithmetic() {
                self.learn(*figure, half_error(figure.what, figure.full[0]));
                continue;
            }
            let mut group: Vec<Figure> = Vec::new();
            for other in figures.iter().filter(|other| other.shares_stage(figure)) {
                let new = !group.contains(other) && self.value(other).is_none();
                if new && !other.what.is_arithmetic() {
                    group.push(*other);
                }
            }
            progress.step(&format!("{} {:?}", figure.op, self.dims(figure)));
            let values = match self.group(&group).await {
                Ok(values) => values,
                Err(Error::Unsupported { .. } | Error::Limit { .. } | Error::OutOfMemory { .. }) => {
                    vec![f64::NAN; group.len()]
                }
                Err(error) => return Err(error),
            };
            group.into_iter().zip(values).for_each(|(figure, value)| self.learn(figure, value));
        }
        Ok(())
    }

    /// What was measured: NaN for what this device cannot give, `None` for what was not reached.
    pub fn value(&self, figure: &Figure) -> Option<f64> {
        if figure.what == What::ClockMhz {
            return Some(self.clock_mhz.lock().ok().and_then(|clock| *clock).map_or(f64::NAN, f64::from));
        }
        let known = self.known.lock().ok()?;
        known.iter().find(|(other, _)| other == figure).map(|(_, value)| *value)
    }

    fn learn(&self, figure: Figure, value: f64) {
        if let Ok(mut known) = self.known.lock() {
            known.push((figure, value));
        }
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
            budget: Duration::from_millis(if brief { 200 } else { 120 }),
            min_rounds: 5,
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

    /// The time of a hop: of very many, or, where a launch would count, from a run of five times as many.
    async fn hop(&self, op: &'static dyn Op, problem: &Problem, figure: &Figure, once: f64) -> Result<f64> {
        const TIMES: u64 = 5;
        const LONG: u64 = 1 << 16;
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
        // More shared memory than it uses, or other blocks of a kernel that is told how many they are, let none reach
        // beyond its operands.
        if figure.ballast > 0 || figure.blocks > 0 {
            rung.vouch(Language::Cuda, op);
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
