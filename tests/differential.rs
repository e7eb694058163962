//! The simulator against a driver: every WGSL rung of every op, and shaders made at random, on both.
//!
//! Where data moves, both give the same bits. Where numbers are rounded, each is within the op's
//! bound of the right value, so the two are within twice that of each other.
//!
//! 100 random shaders run by default; `GPU_LADDER_SEEDS=2000` runs more, `GPU_LADDER_SEEDS=700..720`
//! those. Without an adapter all of it is a visible skip, and a failure where `GPU_LADDER_REQUIRE`
//! names wgpu.

mod every;
mod required;
mod sim_generator;

use gpu_ladder::backend::{Any, Backend, Select, wgpu::Wgpu};
use gpu_ladder::op::{self, Op, Shape};
use gpu_ladder::rung::{Promise, Rung};
use gpu_ladder::sim::{Binding, Machine, Options, Program};
use gpu_ladder::verify::Expected;
use gpu_ladder::{Element, Error, Inputs, Layout, Problem, Result, Session, Verdict, Verified, random};
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use sim_generator::{Case, generate};
use std::ops::Range;
use std::sync::Arc;

/// Random shaders where the environment asks for no other number.
const SEEDS: u64 = 100;
/// The seed of every rung's inputs.
const INPUTS: u64 = 11;

fn main() {
    let arguments = Arguments::from_args();
    let required = required::is_required("wgpu");
    let opened = pollster::block_on(async {
        let sim = Any::open_named("sim", &Select::default()).await?;
        let any = Any::open_named("wgpu", &Select::default()).await?;
        Ok::<_, Error>((sim, any, Wgpu::open(&Select::default()).await?))
    });
    let trials = match opened {
        Ok((sim, any, raw)) => {
            eprintln!("against {} ({})", any.device().name, any.device().driver);
            let mut trials = every::sampled(rungs(Arc::new(Session::new(sim)), Arc::new(Session::new(any))));
            trials.extend(random_shaders(Arc::new(raw)));
            trials
        }
        Err(error) if required => {
            let text = format!("GPU_LADDER_REQUIRE=wgpu, but there is no driver to compare with: {error}");
            vec![Trial::test("wgpu::is_required", move || Err(text.into()))]
        }
        Err(error) => {
            eprintln!("skipped: {error}");
            vec![Trial::test(format!("every_rung (skipped: {error})"), || Ok(())).with_ignored_flag(true)]
        }
    };
    libtest_mimic::run(&arguments, trials).exit();
}

// ---- rungs ----

fn rungs(sim: Arc<Session<Any>>, driver: Arc<Session<Any>>) -> Vec<Trial> {
    let mut trials = Vec::new();
    for op in op::OPS {
        for rung in op.ladder().iter().filter(|r| !matches!(r.promise, Promise::Nothing { .. })) {
            for problem in problems(*op, rung) {
                let shape: Vec<String> = problem.dims.iter().map(u64::to_string).collect();
                let kind = layout_word(&problem);
                let name = format!("{}::{}::{}_{}{kind}", op.name(), rung.id(), problem.element, shape.join("x"));
                let (sim, driver) = (Arc::clone(&sim), Arc::clone(&driver));
                trials.push(Trial::ignorable_test(name, move || same_output(&sim, &driver, *op, rung, &problem)));
            }
        }
    }
    trials
}

fn layout_word(problem: &Problem) -> &'static str {
    match problem.layout(0) {
        _ if problem.batch > 1 => "_batch",
        layout if layout.leading_dimension.is_some() => "_pitched",
        _ => "",
    }
}

/// Shapes that fit the tiles, miss them by one, and are far from square; each element width once.
fn problems(op: &dyn Op, rung: &Rung) -> Vec<Problem> {
    /// Bytes of the problems that the simulator, which counts every access, gets through in a test's time.
    const SIMULATED: f64 = 1e6;
    let mut problems = Vec::new();
    let mut widths = Vec::new();
    for &element in op.elements().iter().filter(|e| rung.wgsl_element_sizes.contains(&e.size())) {
        if widths.contains(&element.size()) {
            continue;
        }
        widths.push(element.size());
        let examples = op.examples().into_iter().map(|dims| Problem::new(element, dims));
        problems.extend(examples.filter(|problem| op.work(problem).bytes < SIMULATED));
        let ld = |ld| Layout { leading_dimension: Some(ld), ..Layout::default() };
        if op.dims().len() == 2 && rung.accepts.leading_dimension {
            problems.push(Problem::new(element, [70, 131]).with_layout(0, ld(133)).with_layout(1, ld(80)));
        }
        if op.dims().len() == 2 && rung.accepts.batch {
            problems.push(Problem::new(element, [33, 68]).with_batch(3));
        }
    }
    problems
}

fn same_output(
    sim: &Session<Any>,
    driver: &Session<Any>,
    op: &'static dyn Op,
    rung: &Rung,
    problem: &Problem,
) -> std::result::Result<Completion, Failed> {
    pollster::block_on(async {
        let (shapes, output) = op.check(problem)?;
        let mut operands = Vec::new();
        for (index, shape) in shapes.iter().enumerate() {
            let count = shape.span(op.name())?;
            let bytes = op.input(problem, index, INPUTS, count);
            operands.push(Arc::new(bytes));
        }
        let ours = match verified(sim, op, rung, problem, &operands).await {
            Err(error @ (Error::Unsupported { .. } | Error::Limit { .. })) => {
                return Ok(Completion::ignored_with(error));
            }
            other => other?,
        };
        let theirs = match verified(driver, op, rung, problem, &operands).await {
            Err(error @ (Error::Unsupported { .. } | Error::Limit { .. })) => {
                return Ok(Completion::ignored_with(error));
            }
            other => other?,
        };
        no_hazard(sim, &ours)?;
        if op.reads_output(problem) {
            // What a stage of given operands puts into an output that is read.
            let (element, count) = (op.output_element(problem), output.span(op.name())?);
            let initial = random::elements(0, operands.len() as u64, element, count, op.distribution());
            operands.push(Arc::new(initial));
        }
        let expected = op.expected(problem, &operands)?;
        let element = op.output_element(problem);
        agree(&expected, &output, element, &ours.output().await?, &theirs.output().await?)?;
        Ok(Completion::Completed)
    })
}

async fn verified(
    session: &Session<Any>,
    op: &'static dyn Op,
    rung: &Rung,
    problem: &Problem,
    operands: &[Arc<Vec<u8>>],
) -> Result<Verified<Any>> {
    let inputs = Inputs::Given { operands: operands.to_vec(), description: "seeded".into() };
    let stage = session.stage(op, problem, inputs).await?;
    match session.verify(session.prepare(&stage, rung).await?).await? {
        Verdict::Pass(proof) => Ok(proof),
        Verdict::Fail(mismatch) => Err(Error::device(session.device().backend, mismatch)),
    }
}

/// A shipped kernel has nothing that the simulator would warn of.
fn no_hazard(sim: &Session<Any>, proof: &Verified<Any>) -> std::result::Result<(), Failed> {
    for kernel in proof.kernels() {
        let hazards = sim.backend().inspect(kernel)?.profile.map(|p| p.hazards.clone()).unwrap_or_default();
        if let Some(hazard) = hazards.first() {
            return Err(format!("a false alarm: {hazard}").into());
        }
    }
    Ok(())
}

fn agree(
    expected: &Expected,
    shape: &Shape,
    element: Element,
    ours: &[u8],
    theirs: &[u8],
) -> std::result::Result<(), Failed> {
    let size = element.size() as usize;
    for matrix in 0..shape.batch {
        for row in 0..shape.rows {
            for col in 0..shape.cols {
                let at = shape.index(matrix, row, col) as usize * size;
                let (a, b) = (&ours[at..at + size], &theirs[at..at + size]);
                let place = format!("element ({row}, {col}) of matrix {matrix}");
                let bound = expected.bound(matrix, row, col).ok_or("the op compares only samples of this size")?;
                if bound == 0.0 && a != b {
                    return Err(format!("{place}: bits {a:02x?} on the simulator, {b:02x?} on the driver").into());
                }
                let (Some(x), Some(y)) = (element.to_f64(a), element.to_f64(b)) else { continue };
                // A NaN is close to nothing.
                let close = (x - y).abs() <= 2.0 * bound;
                if bound > 0.0 && !close {
                    return Err(format!("{place}: {x} on the simulator, {y} on the driver, bound {bound:.3e}").into());
                }
            }
        }
    }
    Ok(())
}

// ---- random shaders ----

fn random_shaders(driver: Arc<Wgpu>) -> Vec<Trial> {
    let seeds = match seeds(std::env::var("GPU_LADDER_SEEDS").ok().as_deref()) {
        Ok(seeds) => seeds,
        Err(text) => return vec![Trial::test("random::seeds", move || Err(text.into()))],
    };
    seeds
        .map(|seed| {
            let driver = Arc::clone(&driver);
            Trial::test(format!("random::seed_{seed:05}"), move || same_words(&driver, &generate(seed)))
        })
        .collect()
}

/// `2000` is 0..2000, `700..720` itself.
fn seeds(asked: Option<&str>) -> std::result::Result<Range<u64>, String> {
    let Some(text) = asked else { return Ok(0..SEEDS) };
    let (from, to) = text.split_once("..").unwrap_or(("0", text));
    let number = |text: &str| {
        text.trim().parse().map_err(|_| format!("GPU_LADDER_SEEDS={text}: a number, or a range such as 700..720"))
    };
    Ok(number(from)?..number(to)?)
}

/// Whether the simulator and the driver leave the same words in the two buffers that the shader writes.
fn same_words(driver: &Wgpu, case: &Case) -> std::result::Result<(), Failed> {
    let with_source = |text: String| Failed::from(format!("{text}\n{}", case.wgsl));
    let program = Program::new(&case.wgsl, None, &[]).map_err(|e| with_source(e.to_string()))?;
    let mut bindings: Vec<Binding> =
        case.buffers.iter().enumerate().map(|(i, data)| Binding::new(0, i as u32, data.clone())).collect();
    program
        .run(&Machine::default(), &mut bindings, case.workgroups, &Options::default())
        .map_err(|e| with_source(e.to_string()))?;
    let theirs =
        pollster::block_on(on_driver(driver, case, program.entry())).map_err(|e| with_source(e.to_string()))?;
    for (index, theirs) in (FIRST_WRITTEN..).zip(&theirs) {
        let ours = &bindings[index].data;
        let words = |bytes: &[u8]| -> Vec<u32> {
            bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
        };
        let (a, b) = (words(ours), words(theirs));
        let different: Vec<usize> = (0..a.len()).filter(|&i| a[i] != b[i]).collect();
        if let Some(&first) = different.first() {
            return Err(with_source(format!(
                "{} of {} words of binding {index} differ; the first is {first}: {:#x} on the simulator, {:#x} on the driver",
                different.len(),
                a.len(),
                a[first],
                b[first],
            )));
        }
    }
    Ok(())
}

/// The first of a case's bindings that its shader writes.
const FIRST_WRITTEN: usize = 2;

/// Runs a case and returns what it left in its written bindings.
async fn on_driver(driver: &Wgpu, case: &Case, entry: &str) -> Result<Vec<Vec<u8>>> {
    use wgpu::{BufferBindingType, BufferUsages};
    let (device, queue) = (driver.raw_device(), driver.raw_queue());
    let kinds = [
        BufferBindingType::Storage { read_only: true },
        BufferBindingType::Uniform,
        BufferBindingType::Storage { read_only: false },
        BufferBindingType::Storage { read_only: false },
    ];
    let entries: Vec<_> = (0u32..)
        .zip(kinds)
        .map(|(binding, ty)| wgpu::BindGroupLayoutEntry {
            binding,
            visibility: wgpu::ShaderStages::COMPUTE,
            ty: wgpu::BindingType::Buffer { ty, has_dynamic_offset: false, min_binding_size: None },
            count: None,
        })
        .collect();
    let scope = device.push_error_scope(wgpu::ErrorFilter::Validation);
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: None,
        source: wgpu::ShaderSource::Wgsl(case.wgsl.as_str().into()),
    });
    let layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: None, entries: &entries });
    let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: None,
        bind_group_layouts: &[Some(&layout)],
        immediate_size: 0,
    });
    let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: None,
        layout: Some(&pipeline_layout),
        module: &module,
        entry_point: Some(entry),
        compilation_options: wgpu::PipelineCompilationOptions::default(),
        cache: None,
    });
    if let Some(error) = scope.pop().await {
        return Err(Error::Compile { label: "a random shader".into(), log: error.to_string() });
    }
    let buffers: Vec<wgpu::Buffer> = case
        .buffers
        .iter()
        .zip(kinds)
        .map(|(data, kind)| {
            let usage = if kind == BufferBindingType::Uniform { BufferUsages::UNIFORM } else { BufferUsages::STORAGE };
            let buffer = device.create_buffer(&wgpu::BufferDescriptor {
                label: None,
                size: data.len() as u64,
                usage: usage | BufferUsages::COPY_DST | BufferUsages::COPY_SRC,
                mapped_at_creation: false,
            });
            queue.write_buffer(&buffer, 0, data);
            buffer
        })
        .collect();
    let resources: Vec<_> = (0u32..)
        .zip(&buffers)
        .map(|(binding, buffer)| wgpu::BindGroupEntry { binding, resource: buffer.as_entire_binding() })
        .collect();
    let group =
        device.create_bind_group(&wgpu::BindGroupDescriptor { label: None, layout: &layout, entries: &resources });
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: None });
    {
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor { label: None, timestamp_writes: None });
        pass.set_pipeline(&pipeline);
        pass.set_bind_group(0, &group, &[]);
        let [x, y, z] = case.workgroups;
        pass.dispatch_workgroups(x, y, z);
    }
    let mut written = Vec::new();
    let mut results = Vec::new();
    for (buffer, data) in buffers.iter().zip(&case.buffers).skip(FIRST_WRITTEN) {
        // The crate's own read-back takes its own buffers.
        let copy = driver.alloc(data.len() as u64).await?;
        encoder.copy_buffer_to_buffer(buffer, 0, copy.raw(), 0, data.len() as u64);
        written.push((copy, data.len()));
    }
    queue.submit([encoder.finish()]);
    for (copy, len) in &written {
        let mut bytes = vec![0; *len];
        driver.download(copy, 0, &mut bytes).await?;
        results.push(bytes);
    }
    Ok(results)
}
