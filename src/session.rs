//! The pipeline, written once for every backend: stage the operands, compile, launch, verify, time.
//!
//! ```text
//! Problem --stage--> Stage --prepare(rung)--> Prepared --verify--> Verdict::Pass(Verified) --time--> Samples
//! ```
//! A [`Verified`] is the only key to a time, and only verification makes one.

use crate::backend::{Backend, Device, Launch, TensorMap, View};
use crate::error::{Error, Result, product};
use crate::op::{self, Band, Op, Place, Shape, Window};
use crate::problem::Problem;
use crate::random;
use crate::rung::{Grid, Language, Operand, Rung, Source, TensorMapRow, Workspace, has_all, whole_matrices};
use crate::timing::{self, Samples, Timing};
use crate::verify::{Coverage, Expected, GUARD, Mismatch, POISONS};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

/// A backend with its compiled kernels.
pub struct Session<B: Backend> {
    backend: Arc<B>,
    kernels: Mutex<HashMap<String, Arc<B::Kernel>>>,
    floor: OnceLock<f64>,
}

/// One problem's operands on a device, shared by the rungs that run on it.
pub struct Stage<B: Backend> {
    backend: Arc<B>,
    op: &'static dyn Op,
    problem: Problem,
    input_shapes: Vec<Shape>,
    output: Shape,
    inputs: Vec<Arc<Vec<u8>>>,
    /// What the output holds before, where the op reads it.
    initial: Option<Arc<Vec<u8>>>,
    expected: Expected,
    slots: Mutex<Vec<Arc<Slot<B>>>>,
    scratch: Mutex<Vec<u8>>,
    /// How the inputs were made, for reports.
    pub input_description: String,
    /// The seed, where the inputs were generated.
    pub seed: Option<u64>,
}

/// One set of buffers; timing rotates over several.
struct Slot<B: Backend> {
    inputs: Vec<B::Buffer>,
    output: B::Buffer,
}

/// A rung compiled for a stage, not yet trusted.
pub struct Prepared<B: Backend> {
    stage: Arc<Stage<B>>,
    rung: String,
    recipes: Vec<Recipe<B>>,
    workspaces: Vec<WorkspaceBuffer<B>>,
}

/// Memory that a rung's passes hand results over in.
struct WorkspaceBuffer<B: Backend> {
    buffer: B::Buffer,
    bytes: u64,
}

/// A launch without its buffers.
struct Recipe<B: Backend> {
    kernel: Arc<B::Kernel>,
    operands: Vec<Operand>,
    /// What it sees of each input and of the output; empty for all of them.
    windows: Vec<Window>,
    params: Vec<u8>,
    tensor_maps: Vec<TensorMap>,
    grid: [u32; 3],
    /// Whether its views end with the last element instead of being rounded up to 16 bytes: a call
    /// that copies a view must not touch what lies behind it.
    exact: bool,
}

/// The result of verification.
pub enum Verdict<B: Backend> {
    /// The output is right; the proof can be timed.
    Pass(Verified<B>),
    /// It is not.
    Fail(Mismatch),
}

/// Proof that a compiled rung gives the right output for a problem on a device. It owns that
/// kernel, its parameters and operands, so nothing else can be timed in its name.
pub struct Verified<B: Backend> {
    prepared: Prepared<B>,
    coverage: Coverage,
}

/// Work to queue at a time while timing.
const QUEUED_SECONDS: f64 = 0.02;
/// The most rounds to queue at a time.
const MOST_QUEUED: usize = 64;

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl<B: Backend> Session<B> {
    /// A session on an open backend.
    pub fn new(backend: B) -> Self {
        Session { backend: Arc::new(backend), kernels: Mutex::new(HashMap::new()), floor: OnceLock::new() }
    }

    /// The backend.
    pub fn backend(&self) -> &B {
        &self.backend
    }

    /// The device.
    pub fn device(&self) -> &Device {
        self.backend.device()
    }

    /// Puts a problem's operands on the device: seeded inputs, or the caller's own (whole buffers,
    /// offset and gaps included).
    ///
    /// # Errors
    /// Whatever is wrong with the problem, or [`Error::OutOfMemory`] and [`Error::Limit`].
    pub async fn stage(&self, op: &'static dyn Op, problem: &Problem, inputs: Inputs) -> Result<Arc<Stage<B>>> {
        let (input_shapes, output) = op.check(problem)?;
        let element = problem.element.size();
        let mut spans = Vec::new();
        for shape in &input_shapes {
            spans.push(product(op.name(), &[shape.span(op.name())?, element])?);
        }
        let output_bytes = product(op.name(), &[output.span(op.name())?, op.output_element(problem.element).size()])?;
        self.check_memory(op.name(), spans.iter().chain([&output_bytes]))?;
        let (inputs, input_description, seed) = match inputs {
            Inputs::Seeded(seed) => {
                let made = spans
                    .iter()
                    .enumerate()
                    .map(|(i, bytes)| {
                        let bytes =
                            random::elements(seed, i as u64, problem.element, bytes / element, op.distribution());
                        Arc::new(bytes)
                    })
                    .collect();
                (made, op.distribution().name().to_string(), Some(seed))
            }
            Inputs::Given { operands, description } => {
                for (index, bytes) in operands.iter().enumerate() {
                    let expected = spans.get(index).copied().unwrap_or(0);
                    if bytes.len() as u64 != expected {
                        return Err(Error::shape(
                            format!("{} input {index}", op.name()),
                            format!("{} bytes given, its shape takes {expected}", bytes.len()),
                        ));
                    }
                }
                if operands.len() != spans.len() {
                    return Err(Error::shape(
                        op.name(),
                        format!("{} inputs given, it takes {}", operands.len(), spans.len()),
                    ));
                }
                (operands, description, None)
            }
        };
        let initial = op.reads_output(problem).then(|| {
            let count = output_bytes / op.output_element(problem.element).size();
            let seed = seed.unwrap_or_default();
            Arc::new(random::elements(seed, inputs.len() as u64, problem.element, count, op.distribution()))
        });
        let operands: Vec<_> = inputs.iter().chain(&initial).cloned().collect();
        let expected = op.expected(problem, &operands)?;
        let stage = Stage {
            backend: Arc::clone(&self.backend),
            op,
            problem: problem.clone(),
            input_shapes,
            output,
            inputs,
            initial,
            expected,
            slots: Mutex::new(Vec::new()),
            scratch: Mutex::new(Vec::new()),
            input_description,
            seed,
        };
        stage.slot(0).await?;
        Ok(Arc::new(stage))
    }

    /// Refuses what cannot fit before anything is allocated.
    fn check_memory<'a>(&self, what: &str, bytes: impl Iterator<Item = &'a u64>) -> Result<()> {
        let device = self.device();
        let mut total = 0u64;
        for &bytes in bytes {
            total = total.saturating_add(bytes);
            if bytes > device.limits.buffer {
                return Err(Error::Limit {
                    what: format!("a buffer of {what}"),
                    needed: bytes,
                    limit: device.limits.buffer,
                    unit: "bytes",
                    device: device.name.clone(),
                });
            }
        }
        match device.memory {
            Some(memory) if total > memory => Err(Error::OutOfMemory { needed: total, free: Some(memory) }),
            _ => Ok(()),
        }
    }

    /// Compiles a rung for a stage.
    ///
    /// # Errors
    /// [`Error::Unsupported`] with the reason, [`Error::Limit`] with both numbers, or the compiler's words.
    pub async fn prepare(&self, stage: &Arc<Stage<B>>, rung: &Rung) -> Result<Prepared<B>> {
        self.same_device(&stage.backend)?;
        let (op, problem) = (stage.op, &stage.problem);
        let label = format!("{}/{}", op.name(), rung.id());
        op::accepts(op, rung, self.device().language(), problem)?;
        self.check_block(&label, rung, problem)?;
        let rung = &rung.tuned(self.device().language(), problem.element.size());
        let exact = matches!(rung.wgsl, Source::Native(_)) || matches!(rung.cuda, Source::Native(_));
        let mut first_pass_blocks = 0;
        let mut recipes = Vec::new();
        for part in self.parts(&label, rung, stage, exact)? {
            let blocks = self.recipes(&label, rung, stage, &part, exact, &mut recipes).await?;
            first_pass_blocks = first_pass_blocks.max(blocks);
        }
        let whole_words = !exact || stage.output_bytes()?.is_multiple_of(4);
        if !whole_words && self.device().compute_capability.is_none() {
            let because = format!("WebGPU copies whole words, and {} bytes are none", stage.output_bytes()?);
            return Err(Error::unsupported(label, because));
        }
        let mut workspaces = Vec::new();
        for size in rung.workspace.iter() {
            let bytes = match *size {
                Workspace::PerBlock(bytes) => product(&label, &[first_pass_blocks, bytes.into()])?,
                Workspace::PerOutput(times) => {
                    product(&label, &[stage.output.len(), op.output_element(problem.element).size(), times.into()])?
                }
            };
            let bytes = bytes.next_multiple_of(16).max(16);
            workspaces.push(WorkspaceBuffer { buffer: self.backend.alloc(bytes).await?, bytes });
        }
        Ok(Prepared { stage: Arc::clone(stage), rung: rung.id(), recipes, workspaces })
    }

    fn check_block(&self, label: &str, rung: &Rung, problem: &Problem) -> Result<()> {
        let device = self.device();
        let limit = |what: String, needed: u64, limit: u64, unit: &'static str| {
            if needed <= limit {
                return Ok(());
            }
            Err(Error::Limit { what, needed, limit, unit, device: device.name.clone() })
        };
        let (language, size) = (device.language(), problem.element.size());
        let shared = rung.static_shared(language, size);
        let rung = &rung.tuned(language, size);
        for pass in rung.passes.iter() {
            let [x, y, z] = pass.block;
            let threads = product(label, &[x.into(), y.into(), z.into()])?;
            limit(
                format!("a block of {label} ({x}x{y}x{z})"),
                threads,
                device.limits.threads_per_block.into(),
                "threads",
            )?;
            for (axis, (&needed, &most)) in ["x", "y", "z"].iter().zip(pass.block.iter().zip(&device.limits.block)) {
                limit(format!("a block of {label} along {axis}"), needed.into(), most.into(), "threads")?;
            }
        }
        limit(format!("{label} (shared memory)"), shared, device.limits.shared_static.into(), "bytes")?;
        if device.compute_capability.is_some() {
            let own = rung.passes.iter().filter_map(|pass| pass.dynamic_shared).max();
            let dynamic = u64::from(own.unwrap_or(0).max(rung.cuda_needs.dynamic_shared));
            limit(format!("{label} (shared memory)"), dynamic, device.limits.shared_dynamic.into(), "bytes")?;
        }
        Ok(())
    }

    /// The parts in which a rung takes a stage's problem; a call of the backend has no binding limit.
    fn parts(&self, label: &str, rung: &Rung, stage: &Stage<B>, native: bool) -> Result<Vec<Band>> {
        let (op, problem, device) = (stage.op, &stage.problem, self.device());
        if native || stage.output.is_empty() {
            return Ok(vec![Band { problem: problem.clone(), windows: Vec::new() }]);
        }
        let parts = op::parts(op, device, problem)?;
        for part in parts.iter().filter(|part| !part.windows.is_empty()) {
            if let Err(Error::Unsupported { because, .. }) = op::accepts(op, rung, device.language(), &part.problem) {
                let needed = stage.largest_view()?;
                return Err(Error::Limit {
                    what: format!("a binding of {label}, which cannot run in bands ({because})"),
                    needed,
                    limit: device.limits.binding,
                    unit: "bytes",
                    device: device.name.clone(),
                });
            }
        }
        Ok(parts)
    }

    /// Adds the launches of a rung for one part of a stage's problem; returns the blocks of its first pass.
    async fn recipes(
        &self,
        label: &str,
        rung: &Rung,
        stage: &Stage<B>,
        part: &Band,
        exact: bool,
        recipes: &mut Vec<Recipe<B>>,
    ) -> Result<u64> {
        let (op, problem) = (stage.op, &part.problem);
        let extent = op.extent(problem);
        let setting = rung.setting(|question| op.switch(problem, question));
        let grids: Vec<[u64; 3]> =
            rung.passes.iter().map(|pass| self.blocks(pass.grid, &setting, extent, problem.element.size())).collect();
        let first_pass_blocks = grids.first().map_or(0, |g| g.iter().product());
        let params_bytes = op.params(problem, Place { origin: [0; 3], first_pass_blocks }).len() as u32;
        let programs = op::programs(op, rung, problem.element, &setting, params_bytes, stage.inputs.len());
        for ((program, pass), grid) in programs.iter().zip(rung.passes.iter()).zip(&grids) {
            let kernel = self.kernel(program).await?;
            let operands = op::pass_operands(pass, stage.inputs.len());
            if stage.output.is_empty() {
                continue;
            }
            let tensor_maps = stage.tensor_maps(label, &program.cuda_needs.tensor_maps, &operands)?;
            for (origin, grid) in split_grid(*grid, self.device().limits.grid) {
                recipes.push(Recipe {
                    kernel: Arc::clone(&kernel),
                    operands: operands.clone(),
                    windows: part.windows.clone(),
                    params: op.params(problem, Place { origin, first_pass_blocks }),
                    tensor_maps: tensor_maps.clone(),
                    grid,
                    exact,
                });
            }
        }
        Ok(first_pass_blocks)
    }

    /// The blocks of a pass, in each direction, before they are split into launches.
    fn blocks(&self, grid: Grid, setting: &[(String, u32)], extent: [u64; 3], element: u64) -> [u64; 3] {
        let tiles = |x: u32, y: u32| (extent[0].div_ceil(x.into()), extent[1].div_ceil(y.into()));
        match grid {
            Grid::Tiles { x, y } => {
                let (across, down) = tiles(x, y);
                [across, down, extent[2]]
            }
            Grid::TilesLinear { x, y } => {
                let (across, down) = tiles(x, y);
                [across.saturating_mul(down), 1, extent[2]]
            }
            Grid::TilesLinearParts { x, y, parts } => {
                let (across, down) = tiles(x, y);
                [across.saturating_mul(down), parts.into(), extent[2]]
            }
            Grid::Columns { per_block, parts } => [extent[0].div_ceil(per_block.into()), parts.into(), extent[2]],
            Grid::Rows { per_block, parts } => [extent[1].div_ceil(per_block.into()), parts.into(), extent[2]],
            Grid::BySwitch(cases) => cases
                .iter()
                .find(|(wanted, _)| has_all(setting, wanted))
                .map_or([0; 3], |(_, grid)| self.blocks(*grid, setting, extent, element)),
            Grid::Linear { per_block } => [extent[0].div_ceil(per_block.into()), 1, 1],
            Grid::LinearBytes { per_block } => [(extent[0].saturating_mul(element)).div_ceil(per_block.into()), 1, 1],
            Grid::LinearAtMost { per_block, max } => [extent[0].div_ceil(per_block.into()).min(max.into()), 1, 1],
            Grid::LongSideBytes { per_block } => {
                let long = extent[0].max(extent[1]).saturating_mul(element);
                [long.div_ceil(per_block.into()), 1, extent[2]]
            }
            Grid::Matrices { per_block } => {
                let matrix = extent[0].saturating_mul(extent[1]);
                [extent[2].div_ceil(whole_matrices(per_block, matrix, element).max(1)), 1, 1]
            }
            Grid::Triangle { tile } => {
                let tiles = extent[0].div_ceil(tile.into());
                [tiles.saturating_mul(tiles + 1) / 2, 1, extent[2]]
            }
            Grid::Fixed { blocks } => [blocks.into(), 1, 1],
            Grid::Persistent { per_sm, x, y } => {
                let (across, down) = tiles(x, y);
                let all = across.saturating_mul(down).saturating_mul(extent[2]);
                let held = u64::from(self.device().multiprocessors.unwrap_or(1)) * u64::from(per_sm);
                [all.min(held), 1, 1]
            }
        }
    }

    /// The compiled kernel of a program, compiled once.
    async fn kernel(&self, program: &crate::rung::Program) -> Result<Arc<B::Kernel>> {
        let (artefact, hash) = (program.artefact_key(), program_text_hash(program));
        let key = format!("{artefact}/{}/{}/{hash}", program.entry, program.element);
        if let Some(kernel) = lock(&self.kernels).get(&key) {
            return Ok(Arc::clone(kernel));
        }
        let span = tracing::debug_span!("compile", label = program.label);
        let kernel = Arc::new(
            {
                let future = self.backend.compile(program);
                let _entered = span.entered();
                future
            }
            .await?,
        );
        lock(&self.kernels).insert(key, Arc::clone(&kernel));
        Ok(kernel)
    }

    fn same_device(&self, other: &Arc<B>) -> Result<()> {
        if Arc::ptr_eq(&self.backend, other) { Ok(()) } else { Err(Error::WrongDevice("the stage")) }
    }

    /// Runs a prepared rung twice on poisoned outputs and compares all it wrote.
    ///
    /// # Errors
    /// What the device reports; a wrong output is a [`Verdict::Fail`], not an error.
    pub async fn verify(&self, prepared: Prepared<B>) -> Result<Verdict<B>> {
        self.same_device(&prepared.stage.backend)?;
        let slot = prepared.stage.slot(0).await?;
        let mut coverage = prepared.stage.expected.coverage();
        for poison in POISONS {
            prepared.stage.poison(&slot, poison).await?;
            self.poison_workspaces(&prepared, poison).await?;
            self.backend.launch(&prepared.launches(&slot)?)?;
            match prepared.stage.check(&slot, poison).await? {
                Ok(covered) => coverage = covered,
                Err(mismatch) => return Ok(Verdict::Fail(mismatch)),
            }
        }
        Ok(Verdict::Pass(Verified { prepared, coverage }))
    }

    async fn poison_workspaces(&self, prepared: &Prepared<B>, poison: u32) -> Result<()> {
        for workspace in &prepared.workspaces {
            self.backend.fill(&workspace.buffer, 0, workspace.bytes, poison).await?;
        }
        Ok(())
    }

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

/// What a stage's inputs are made from.
pub enum Inputs {
    /// Generated from a seed, in the op's distribution.
    Seeded(u64),
    /// The caller's own bytes, one whole buffer per operand.
    Given {
        /// The buffers.
        operands: Vec<Arc<Vec<u8>>>,
        /// Where they come from, for reports.
        description: String,
    },
}

impl<B: Backend> Stage<B> {
    /// The op.
    pub fn op(&self) -> &'static dyn Op {
        self.op
    }

    /// The problem.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    fn input_bytes(&self, index: usize) -> Result<u64> {
        Ok(self.input_shapes[index].span(self.op.name())? * self.problem.element.size())
    }

    fn output_bytes(&self) -> Result<u64> {
        Ok(self.output.span(self.op.name())? * self.op.output_element(self.problem.element).size())
    }

    fn input_view_bytes(&self, index: usize) -> Result<u64> {
        Ok(self.input_bytes(index)?.next_multiple_of(16).max(16))
    }

    fn output_view_bytes(&self) -> Result<u64> {
        Ok(self.output_bytes()?.next_multiple_of(16).max(16))
    }

    /// The largest binding that a kernel for the whole problem would have.
    fn largest_view(&self) -> Result<u64> {
        let mut most = self.output_view_bytes()?;
        for index in 0..self.inputs.len() {
            most = most.max(self.input_view_bytes(index)?);
        }
        Ok(most)
    }

    fn output_buffer_bytes(&self) -> Result<u64> {
        Ok(self.output_view_bytes()? + 2 * GUARD)
    }

    /// Buffer set number `index`, made when it is first asked for.
    async fn slot(&self, index: usize) -> Result<Arc<Slot<B>>> {
        if let Some(slot) = lock(&self.slots).get(index) {
            return Ok(Arc::clone(slot));
        }
        let mut inputs = Vec::new();
        for (number, bytes) in self.inputs.iter().enumerate() {
            let buffer = self.backend.alloc(self.input_view_bytes(number)?).await?;
            let whole = bytes.len() / 4 * 4;
            self.backend.upload(&buffer, 0, &bytes[..whole]).await?;
            if whole < bytes.len() {
                let mut last = [0u8; 4];
                last[..bytes.len() - whole].copy_from_slice(&bytes[whole..]);
                self.backend.upload(&buffer, whole as u64, &last).await?;
            }
            inputs.push(buffer);
        }
        let output = self.backend.alloc(self.output_buffer_bytes()?).await?;
        let slot = Arc::new(Slot { inputs, output });
        lock(&self.slots).push(Arc::clone(&slot));
        Ok(slot)
    }

    /// Enough buffer sets that together they are twice the cache, so that no run finds its inputs there.
    async fn ring(&self, warm_cache: bool) -> Result<Vec<Arc<Slot<B>>>> {
        const MOST_SLOTS: u64 = 64;
        let set = self.set_bytes()?.max(1);
        let wanted =
            if warm_cache { 1 } else { (2 * self.backend.device().l2_or_guess()).div_ceil(set).clamp(1, MOST_SLOTS) };
        let mut ring = Vec::new();
        for index in 0..wanted as usize {
            ring.push(self.slot(index).await?);
        }
        Ok(ring)
    }

    fn set_bytes(&self) -> Result<u64> {
        let mut bytes = self.output_view_bytes()?;
        for index in 0..self.inputs.len() {
            bytes += self.input_view_bytes(index)?;
        }
        Ok(bytes)
    }

    fn cache_policy(&self, slots: usize, warm_cache: bool) -> String {
        match (warm_cache, slots) {
            (true, _) => "warm".into(),
            (false, 1) => "one buffer set, larger than twice the cache".into(),
            (false, n) => format!("rotating over {n} buffer sets"),
        }
    }

    /// Poisons the output, and puts its old elements in where the op reads them.
    async fn poison(&self, slot: &Slot<B>, word: u32) -> Result<()> {
        let bytes = self.output_buffer_bytes()?;
        let Some(initial) = &self.initial else {
            return self.backend.fill(&slot.output, 0, bytes, word).await;
        };
        let mut buffer = word.to_le_bytes().repeat(bytes as usize / 4);
        let size = self.op.output_element(self.problem.element).size();
        let row_bytes = (self.output.cols * size) as usize;
        for matrix in 0..self.output.batch {
            for row in 0..self.output.rows {
                let from = (self.output.index(matrix, row, 0) * size) as usize;
                let to = from + GUARD as usize;
                buffer[to..to + row_bytes].copy_from_slice(&initial[from..from + row_bytes]);
            }
        }
        self.backend.upload(&slot.output, 0, &buffer).await
    }

    async fn check(&self, slot: &Slot<B>, poison: u32) -> Result<Result<Coverage, Mismatch>> {
        // A large output is read back several times; its pages are made once.
        let mut bytes = std::mem::take(&mut *lock(&self.scratch));
        bytes.resize(self.output_buffer_bytes()? as usize, 0);
        self.backend.download(&slot.output, 0, &mut bytes).await?;
        let verdict = self.expected.check(&bytes, poison);
        *lock(&self.scratch) = bytes;
        Ok(verdict)
    }

    fn tensor_maps(&self, label: &str, rows: &[TensorMapRow], operands: &[Operand]) -> Result<Vec<TensorMap>> {
        let mut maps = Vec::new();
        if self.backend.device().language() != Language::Cuda {
            return Ok(maps);
        }
        for row in rows {
            let Some(binding) = operands.iter().position(|o| *o == row.operand) else { continue };
            let (shape, element) = match row.operand {
                Operand::Input(index) => (self.input_shapes[index], self.problem.element),
                _ => (self.output, self.op.output_element(self.problem.element)),
            };
            // A single matrix's stride is never used, but must be a valid one.
            let stride = if shape.batch > 1 { shape.batch_stride() } else { shape.rows * shape.leading_dimension() };
            let strides = [shape.leading_dimension(), stride].map(|s| s * element.size());
            let offset = shape.layout.offset * element.size();
            if strides.iter().chain([&offset]).any(|bytes| !bytes.is_multiple_of(16)) {
                return Err(Error::unsupported(
                    label,
                    format!(
                        "its bulk copies need rows and matrices that start at multiples of 16 bytes; these are {} and \
                         {} bytes apart",
                        strides[0], strides[1]
                    ),
                ));
            }
            maps.push(TensorMap {
                binding,
                offset,
                element,
                dims: [shape.cols, shape.rows, shape.batch],
                strides,
                block: [row.block[0], row.block[1], 1],
                swizzle: row.swizzle,
            });
        }
        Ok(maps)
    }
}

impl<B: Backend> Prepared<B> {
    /// `op/rung`.
    pub fn label(&self) -> String {
        format!("{}/{}", self.stage.op.name(), self.rung)
    }

    /// The compiled kernels, in pass order.
    pub fn kernels(&self) -> impl Iterator<Item = &B::Kernel> {
        self.recipes.iter().map(|r| r.kernel.as_ref())
    }

    fn launches<'a>(&'a self, slot: &'a Slot<B>) -> Result<Vec<Launch<'a, B>>> {
        let stage = &self.stage;
        let view = |operand: &Operand, recipe: &Recipe<B>| {
            let (number, mut view) = match *operand {
                Operand::Input(index) => {
                    let len = if recipe.exact { stage.input_bytes(index)? } else { stage.input_view_bytes(index)? };
                    (index, View { buffer: &slot.inputs[index], offset: 0, len })
                }
                Operand::Output(_) => {
                    let len = if recipe.exact { stage.output_bytes()? } else { stage.output_view_bytes()? };
                    (stage.inputs.len(), View { buffer: &slot.output, offset: GUARD, len })
                }
                Operand::WorkspaceIn(index) | Operand::WorkspaceOut(index) => {
                    let workspace = &self.workspaces[index];
                    return Ok(View { buffer: &workspace.buffer, offset: 0, len: workspace.bytes });
                }
            };
            if let Some(window) = recipe.windows.get(number) {
                view.offset += window.offset;
                view.len = window.len.min(view.len.saturating_sub(window.offset));
            }
            Ok(view)
        };
        self.recipes
            .iter()
            .map(|recipe| {
                Ok(Launch {
                    kernel: recipe.kernel.as_ref(),
                    bindings: recipe.operands.iter().map(|o| view(o, recipe)).collect::<Result<_>>()?,
                    params: recipe.params.clone(),
                    tensor_maps: recipe.tensor_maps.clone(),
                    grid: recipe.grid,
                })
            })
            .collect()
    }
}

impl<B: Backend> Verified<B> {
    /// `op/rung`.
    pub fn label(&self) -> String {
        self.prepared.label()
    }

    /// How much of the output was compared.
    pub fn coverage(&self) -> Coverage {
        self.coverage
    }

    /// The stage it was verified on.
    pub fn stage(&self) -> &Stage<B> {
        &self.prepared.stage
    }

    /// The compiled kernels, in pass order.
    pub fn kernels(&self) -> impl Iterator<Item = &B::Kernel> {
        self.prepared.kernels()
    }

    /// The bytes of the output that was verified last, without guards and padding.
    ///
    /// # Errors
    /// What the device reports.
    pub async fn output(&self) -> Result<Vec<u8>> {
        let stage = &self.prepared.stage;
        let slot = stage.slot(0).await?;
        if stage.initial.is_some() {
            stage.poison(&slot, POISONS[0]).await?;
        }
        stage.backend.launch(&self.prepared.launches(&slot)?)?;
        let bytes = stage.output_bytes()?;
        let mut padded = vec![0; stage.output_view_bytes()? as usize];
        stage.backend.download(&slot.output, GUARD, &mut padded).await?;
        padded.truncate(bytes as usize);
        Ok(padded)
    }
}

/// Cuts a grid into launches within a device's limits, as evenly as possible (a last launch of one
/// block would cost a whole latency). The origin of each is the index of its first block.
fn split_grid(grid: [u64; 3], limits: [u32; 3]) -> Vec<([u32; 3], [u32; 3])> {
    let parts = |axis: usize| -> Vec<(u32, u32)> {
        let (all, limit) = (grid[axis], u64::from(limits[axis].max(1)));
        let count = all.div_ceil(limit).max(1);
        let size = all.div_ceil(count);
        (0..count).map(|i| ((i * size) as u32, (size.min(all - i * size)) as u32)).filter(|p| p.1 > 0).collect()
    };
    let mut launches = Vec::new();
    for (z, depth) in parts(2) {
        for (y, height) in parts(1) {
            for (x, width) in parts(0) {
                launches.push(([x, y, z], [width, height, depth]));
            }
        }
    }
    launches
}

fn program_text_hash(program: &crate::rung::Program) -> u64 {
    use std::hash::{Hash, Hasher};
    let mut hasher = std::collections::hash_map::DefaultHasher::new();
    format!("{:?}{:?}", program.wgsl, program.cuda).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_beyond_the_limit_is_cut_evenly() {
        let launches = split_grid([65_536, 3, 1], [65_535; 3]);
        assert_eq!(launches, [([0, 0, 0], [32_768, 3, 1]), ([32_768, 0, 0], [32_768, 3, 1])]);
    }

    #[test]
    fn every_block_is_launched_once() {
        for all in [1u64, 7, 8, 9, 100] {
            let launches = split_grid([all, 1, 1], [8, 8, 8]);
            let total: u64 = launches.iter().map(|(_, g)| u64::from(g[0])).sum();
            assert_eq!(total, all);
            assert!(launches.windows(2).all(|w| w[0].0[0] + w[0].1[0] == w[1].0[0]));
        }
    }
}
