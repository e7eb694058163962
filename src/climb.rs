//! A climb: every rung of a ladder on every backend asked for, verified, timed against each other
//! and against the best copy of the same bytes, as rows.

use crate::backend::{Any, BACKENDS, Clock, Device, Select};
use crate::element::Element;
use crate::error::{Error, Result};
use crate::op::{self, Distribution, Op, Shape};
use crate::problem::Problem;
use crate::random;
use crate::report::{Cell, Row};
use crate::rung::{Language, Promise, Rung};
use crate::session::{Inputs, Session, Site, Stage, Verdict, Verified};
use crate::timing::{Samples, Timing, paired_ratio};
use std::sync::Arc;

/// What to climb.
#[derive(Clone)]
pub struct Climb {
    /// The op.
    pub op: &'static dyn Op,
    /// The problems, one after the other.
    pub problems: Vec<Problem>,
    /// What the simulator takes in their place, where it would count for minutes; empty for the same.
    pub simulated: Vec<Problem>,
    /// What a device that only imitates a GPU takes in their place, likewise.
    pub imitated: Vec<Problem>,
    /// The rungs, in ladder order; empty for all.
    pub rungs: Vec<Rung>,
    /// The backends; empty for every one that opens.
    pub backends: Vec<String>,
    /// Which device of them, and how to compile.
    pub select: Select,
    /// How to time; `None` for what suits the device, [`Timing::brief`] on a software adapter.
    pub timing: Option<Timing>,
    /// Verify, and do not time.
    pub verify_only: bool,
    /// The seed of generated inputs.
    pub seed: u64,
    /// The caller's own operands in place of generated ones, with where they come from.
    pub given: Option<(Vec<Arc<Vec<u8>>>, String)>,
}

/// What a climb reports while it runs.
pub trait Progress {
    /// A step has begun.
    fn step(&mut self, what: &str);

    /// There are more rows, or more is known of the last ones; `settled` where nothing more will be.
    fn rows(&mut self, _rows: &[Row], _settled: bool) {}

    /// Whether to stop before the next step and keep the rows so far.
    fn stop(&self) -> bool {
        false
    }
}

impl<F: FnMut(&str)> Progress for F {
    fn step(&mut self, what: &str) {
        self(what);
    }
}

/// The rows of a climb, and what the best verified rung computed.
pub struct Ascent {
    /// One row per rung and backend that was asked for, absent ones with their reason.
    pub rows: Vec<Row>,
    /// Backends that did not open, each with its reason.
    pub missing: Vec<(String, Error)>,
    /// The output of the last verified rung, where the caller's own operands were given.
    pub output: Option<Vec<u8>>,
    /// What ended the climb before its end; the rows are those it had by then.
    pub stopped: Option<Error>,
}

impl Ascent {
    /// Whether no rung gave a wrong result.
    pub fn passed(&self) -> bool {
        self.stopped.is_none() && self.rows.iter().all(|row| !row.is_failure())
    }
}

impl Climb {
    /// A climb of the whole ladder on every backend that opens, with generated inputs.
    pub fn new(op: &'static dyn Op, problem: Problem) -> Self {
        Climb {
            op,
            problems: vec![problem],
            simulated: Vec::new(),
            imitated: Vec::new(),
            rungs: Vec::new(),
            backends: Vec::new(),
            select: Select::default(),
            timing: None,
            verify_only: false,
            seed: 1,
            given: None,
        }
    }

    /// Keeps the rungs that `words` name (by name or by id).
    ///
    /// # Errors
    /// [`Error::Unknown`] for a word that names none.
    pub fn with_rungs(mut self, words: &[String]) -> Result<Self> {
        let ladder = self.op.ladder();
        if let Some(word) = words.iter().find(|w| !ladder.iter().any(|r| r.answers_to(w))) {
            return Err(Error::Unknown {
                kind: "rung",
                word: word.clone(),
                known: ladder.iter().map(Rung::id).collect(),
            });
        }
        self.rungs = ladder.iter().filter(|r| words.iter().any(|w| r.answers_to(w))).cloned().collect();
        Ok(self)
    }

    /// Runs it.
    ///
    /// # Errors
    /// Whatever is wrong with the problem or the options; [`Error::NoBackend`] if none opened. A rung
    /// that cannot run, or fails, is a row; what ends a climb that has rows is in [`Ascent::stopped`].
    pub async fn run(&self, progress: &mut dyn Progress) -> Result<Ascent> {
        if let Some(timing) = &self.timing {
            timing.check()?;
        }
        for problem in self.problems.iter().chain(&self.simulated).chain(&self.imitated) {
            self.op.check(problem)?;
        }
        let mut ascent = Ascent { rows: Vec::new(), missing: Vec::new(), output: None, stopped: None };
        let (mut opened, mut tried_sim) = (0, false);
        let mut names = self.backend_names()?;
        while !names.is_empty() {
            let name = names.remove(0);
            progress.step(&format!("opening {name}"));
            match Any::open_named(&name, &self.select).await {
                Ok(any) => {
                    opened += 1;
                    let session = Session::new(any);
                    let device = session.device();
                    if device.is_software() && device.clock != Clock::None {
                        tracing::warn!("{} is a software adapter: its times say nothing about a GPU", device.name);
                    }
                    for problem in self.problems_of(device) {
                        let before = ascent.rows.len();
                        let climbed = self.one(&session, problem, progress, &mut ascent).await;
                        let (peak, left) = (session.peak_since(), session.allocations());
                        for row in &mut ascent.rows[before..] {
                            row.device_peak_bytes = Some(peak);
                            row.device_leaks = left.sites.iter().map(Site::to_string).collect();
                        }
                        if let Err(error) = climbed {
                            if ascent.rows.is_empty() {
                                return Err(error);
                            }
                            ascent.stopped = Some(error);
                            return Ok(ascent);
                        }
                        progress.rows(&ascent.rows, true);
                    }
                }
                Err(error) => ascent.missing.push((name, error)),
            }
            // The simulator counts instead: without any GPU the ladder still runs and explains itself.
            if names.is_empty() && opened == 0 && self.backends.is_empty() && cfg!(feature = "sim") && !tried_sim {
                tried_sim = true;
                names.push("sim".into());
            }
        }
        if opened == 0 {
            return Err(no_backend(&ascent.missing));
        }
        Ok(ascent)
    }

    /// The problems that a device takes.
    pub fn problems_of(&self, device: &Device) -> &[Problem] {
        let own = match device.clock {
            Clock::None => &self.simulated,
            _ if device.is_software() => &self.imitated,
            _ => &self.problems,
        };
        if own.is_empty() { &self.problems } else { own }
    }

    fn backend_names(&self) -> Result<Vec<String>> {
        let built =
            || BACKENDS.iter().filter(|(name, built)| *built && *name != "sim").map(|(name, _)| name.to_string());
        if self.backends.is_empty() || self.backends.iter().any(|b| b == "auto") {
            return Ok(built().collect());
        }
        for name in &self.backends {
            if !BACKENDS.iter().any(|(n, built)| n == name && *built) {
                return Err(crate::backend::not_built(name));
            }
        }
        Ok(self.backends.clone())
    }

    async fn one(
        &self,
        session: &Session<Any>,
        problem: &Problem,
        progress: &mut dyn Progress,
        ascent: &mut Ascent,
    ) -> Result<()> {
        let device = session.device().clone();
        let ladder: Vec<Rung> = if self.rungs.is_empty() { self.op.ladder().to_vec() } else { self.rungs.clone() };
        let tuned = crate::gpu::tuned(&device, self.op, problem);
        let blank = |rung: &Rung| {
            let mut row = Row::new(self.op, rung, problem, &device);
            row.set_choice(tuned.as_deref());
            row
        };
        let stage = match session.stage(self.op, problem, self.inputs()).await {
            Ok(stage) => stage,
            Err(error @ (Error::Limit { .. } | Error::OutOfMemory { .. } | Error::Unsupported { .. })) => {
                let absent = |rung: &Rung| Row { cell: Cell::Absent(error.to_string()), ..blank(rung) };
                ascent.rows.extend(ladder.iter().map(absent));
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let (mut verified, mut vendors): (Vec<(usize, Verified<Any>)>, Vec<_>) = Default::default();
        // A vendor's rows come last: they are no rungs.
        let takes = |row: &&Rung| op::accepts(self.op, row, device.language(), problem).is_ok();
        let others: Vec<&Rung> = match device.language() {
            Language::Cuda => self.op.vendor().iter().filter(takes).collect(),
            Language::Wgsl => Vec::new(),
        };
        let vendor_stage = if others.is_empty() { None } else { self.vendor_stage(session, problem).await? };
        for (index, rung) in ladder.iter().chain(others.iter().copied()).enumerate() {
            let of_vendor = index >= ladder.len();
            if progress.stop() {
                return Err(Error::Interrupted);
            }
            progress.step(&format!("{}: verifying {}", device.backend, rung.id()));
            let mut row = blank(rung);
            let stage = vendor_stage.as_ref().filter(|_| of_vendor).unwrap_or(&stage);
            row.set_stage(stage);
            if of_vendor {
                (row.selected, row.tuned) = (None, None);
                row.library = Some(rung.id());
            }
            match self.verify(session, stage, rung).await {
                Ok(Verdict::Pass(proof)) => {
                    row.cell = Cell::Verified { coverage: proof.coverage().to_string() };
                    row.launches = Some(proof.kernels().count());
                    #[cfg(feature = "sim")]
                    row.set_profiles(&profiles(session, proof.kernels()));
                    if of_vendor {
                        row.library = about(session, &proof).or(row.library);
                    }
                    let list = if of_vendor { &mut vendors } else { &mut verified };
                    list.push((ascent.rows.len(), proof));
                }
                Ok(Verdict::Fail(mismatch)) => {
                    row.cell = match &rung.promise {
                        Promise::Nothing { because } => self.flawed(session, stage, rung, because).await?,
                        _ => Cell::Wrong(mismatch.to_string()),
                    }
                }
                Err(Error::Unsupported { because, .. }) => row.cell = Cell::Absent(because),
                Err(error @ Error::Limit { .. }) => row.cell = Cell::Absent(error.to_string()),
                Err(error) => row.cell = Cell::Failed(error.to_string()),
            }
            ascent.rows.push(row);
            progress.rows(&ascent.rows, false);
        }
        if device.clock != Clock::None && !verified.is_empty() && !self.verify_only {
            progress.step(&format!("{}: timing {} rungs side by side", device.backend, verified.len()));
            self.time(session, problem, &mut ascent.rows, [&verified, &vendors], &*progress).await?;
            if progress.stop() {
                return Err(Error::Interrupted);
            }
        }
        if self.given.is_some()
            && ascent.output.is_none()
            && let Some((_, best)) = verified.last()
        {
            ascent.output = Some(best.output().await?);
        }
        Ok(())
    }

    fn inputs(&self) -> Inputs {
        match &self.given {
            Some((operands, description)) => {
                Inputs::Given { operands: operands.clone(), description: description.clone() }
            }
            None => Inputs::Seeded(self.seed),
        }
    }

    /// Where a vendor's rows run, if not on the ladder's operands: where those are arbitrary bits, a
    /// library that computes, if only with 1 and 0, does not keep every NaN, so it gets numbers.
    async fn vendor_stage(&self, session: &Session<Any>, problem: &Problem) -> Result<Option<Arc<Stage<Any>>>> {
        let bits = self.given.is_none() && self.op.distribution() == Distribution::Bits;
        if !bits || !matches!(problem.element, Element::F32 | Element::F64) {
            return Ok(None);
        }
        let (shapes, _) = self.op.shapes(problem)?;
        let numbers = |(index, shape): (usize, &Shape)| {
            let count = shape.span(self.op.name())?;
            let bytes = random::elements(self.seed, index as u64, problem.element, count, Distribution::Uniform);
            Ok(Arc::new(bytes))
        };
        let operands = shapes.iter().enumerate().map(numbers).collect::<Result<_>>()?;
        let inputs = Inputs::Given { operands, description: Distribution::Uniform.name().into() };
        Ok(Some(session.stage(self.op, problem, inputs).await?))
    }

    async fn verify(&self, session: &Session<Any>, stage: &Arc<Stage<Any>>, rung: &Rung) -> Result<Verdict<Any>> {
        let prepared = session.prepare(stage, rung).await?;
        session.verify(prepared).await
    }

    /// How often a rung that is wrong by design is wrong, and what the simulator says of it.
    async fn flawed(
        &self,
        session: &Session<Any>,
        stage: &Arc<Stage<Any>>,
        rung: &Rung,
        because: &str,
    ) -> Result<Cell> {
        /// Runs on a device, whose result may change from one to the next.
        const RUNS: u64 = 100;
        let runs = if session.device().clock == Clock::None { 1 } else { RUNS };
        let prepared = session.prepare(stage, rung).await?;
        let wrong = session.wrong_runs(&prepared, runs).await?;
        #[allow(unused_mut)] // only the simulator has more to say
        let mut text = format!("{because}; wrong in {wrong} of {runs} runs");
        #[cfg(feature = "sim")]
        for profile in profiles(session, prepared.kernels()) {
            profile.hazards.iter().for_each(|hazard| text.push_str(&format!("; {hazard}")));
        }
        Ok(Cell::Flawed(text))
    }

    /// Times the verified rungs, and copies of as many bytes, in the same rounds.
    async fn time(
        &self,
        session: &Session<Any>,
        problem: &Problem,
        rows: &mut [Row],
        [verified, vendors]: [&[(usize, Verified<Any>)]; 2],
        progress: &dyn Progress,
    ) -> Result<()> {
        let device = session.device().clone();
        let timing = self.timing.clone().unwrap_or_else(|| timing_for(&device));
        let floor_ns = session.floor().await.ok();
        let copies = self.copies(session, problem).await?;
        let rows_of = || verified.iter().chain(vendors);
        let mut contenders: Vec<&Verified<Any>> = rows_of().map(|(_, proof)| proof).collect();
        contenders.extend(&copies);
        let samples = session.time_until(&contenders, &timing, || progress.stop()).await?;
        let (all, copies) = samples.split_at(verified.len() + vendors.len());
        let (ours, theirs) = all.split_at(verified.len());
        let best = |samples: &[Samples]| samples.iter().map(Samples::median).fold(f64::INFINITY, f64::min);
        let (best_copy, best_vendor) = (best(copies), best(theirs));
        let first = ours.first().map(Samples::median);
        for ((index, _), samples) in rows_of().zip(all) {
            let row = &mut rows[*index];
            row.set_samples(samples, self.op.work(problem), floor_ns);
            row.share_of_copy = best_copy.is_finite().then(|| best_copy / samples.median());
            row.speedup_over_first = first.map(|first| first / samples.median());
            row.share_of_vendor = best_vendor.is_finite().then(|| best_vendor / samples.median());
        }
        for (pair, (index, _)) in ours.windows(2).zip(&verified[1..]) {
            rows[*index].set_step(paired_ratio(&pair[0], &pair[1]));
        }
        Ok(())
    }

    /// Verified copies of as many bytes as the problem must move, those that may be the fastest.
    async fn copies(&self, session: &Session<Any>, problem: &Problem) -> Result<Vec<Verified<Any>>> {
        let bytes = self.op.work(problem).bytes as u64 / 2;
        let len = bytes.div_ceil(4);
        let problem = Problem::new(crate::Element::U32, [len]);
        let stage = match session.stage(&op::Copy, &problem, Inputs::Seeded(self.seed)).await {
            Ok(stage) => stage,
            // A device too full for another pair of buffers still has its own rows to show.
            Err(Error::OutOfMemory { .. } | Error::Limit { .. }) => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut prepared = Vec::new();
        for rung in op::Copy::yardsticks() {
            match session.prepare(&stage, rung).await {
                Ok(copy) => prepared.push(copy),
                Err(Error::Unsupported { .. } | Error::Limit { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        // A slow one is no yardstick, and harms the others: while a copy engine works, say, the
        // multiprocessors idle and lower their clocks.
        const FAR: f64 = 1.05;
        let looks = session.look(&prepared.iter().collect::<Vec<_>>(), false).await?;
        let best = looks.iter().copied().fold(f64::INFINITY, f64::min);
        let mut copies = Vec::new();
        for (copy, _) in prepared.into_iter().zip(looks).filter(|(_, ns)| *ns <= FAR * best) {
            let label = copy.label();
            match session.verify(copy).await? {
                Verdict::Pass(proof) => copies.push(proof),
                Verdict::Fail(mismatch) => return Err(Error::device(label, mismatch)),
            }
        }
        Ok(copies)
    }
}

/// The library behind a vendor's row, and what it chose.
fn about(session: &Session<Any>, proof: &Verified<Any>) -> Option<String> {
    let kernel = proof.kernels().next()?;
    crate::backend::Backend::inspect(session.backend(), kernel).ok()?.target
}

/// What the simulator counted in each launch's kernel.
#[cfg(feature = "sim")]
fn profiles<'a>(
    session: &Session<Any>,
    kernels: impl Iterator<Item = &'a <Any as crate::backend::Backend>::Kernel>,
) -> Vec<Arc<crate::sim::Profile>> {
    use crate::backend::Backend;
    kernels.filter_map(|kernel| session.backend().inspect(kernel).ok()?.profile).collect()
}

/// How to time on a device where the caller has no wish.
pub fn timing_for(device: &Device) -> Timing {
    if device.is_software() { Timing::brief() } else { Timing::default() }
}

fn no_backend(missing: &[(String, Error)]) -> Error {
    let reasons: Vec<String> = missing
        .iter()
        .map(|(name, error)| match error {
            Error::NoBackend { because, .. } => format!("{name}: {because}"),
            other => format!("{name}: {other}"),
        })
        .collect();
    // A device that was asked for by name, on the only backend, is the caller's to correct.
    if let [(_, error)] = missing {
        return error.clone();
    }
    Error::NoBackend {
        backend: "usable",
        because: if reasons.is_empty() { "this build has no backend".into() } else { reasons.join("; ") },
        remedy: "Install a GPU driver; without a GPU, Mesa's software adapter (mesa-vulkan-drivers) runs every rung"
            .into(),
    }
}
