//! The simulator as a backend: runs the WGSL of a rung on the CPU and counts. It has no clock, so
//! nothing that runs on it is ever timed.

use crate::backend::{Backend, Clock, Cooperative, Device, DeviceKind, KernelInfo, Launch, Limits, Select};
use crate::element::Element;
use crate::error::{Error, Result};
use crate::rung::{Native, Program, Source};
use crate::sim::{self, Binding, Machine, Options, Profile, SimError};
use std::sync::{Arc, Mutex, MutexGuard};

/// The model that is simulated unless [`Select::device`] names another.
const DEFAULT_MACHINE: &str = "nvidia-h200";

/// A simulated machine.
pub struct Sim {
    machine: Machine,
    description: Device,
    options: Options,
    /// One launch or transfer at a time: a launch takes its buffers' memory out while it runs.
    turn: Mutex<()>,
}

/// Memory of the simulated machine.
pub struct Buffer(Mutex<Vec<u8>>);

/// A compiled program and what its last launch counted.
pub struct Kernel {
    code: Code,
    bindings: usize,
    last: Mutex<Option<Arc<Profile>>>,
}

enum Code {
    Program(Box<sim::Program>),
    Native(Native),
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Sim {
    /// Simulates `machine`.
    pub fn new(machine: Machine, options: Options) -> Self {
        let limits = Limits {
            threads_per_block: machine.threads_per_block,
            block: [machine.threads_per_block; 3],
            grid: [u32::MAX, 65_535, 65_535],
            shared_static: machine.shared_per_block,
            shared_dynamic: machine.shared_per_block,
            buffer: u32::MAX.into(),
            binding: u32::MAX.into(),
            binding_alignment: 256,
            bindings: 64,
        };
        let description = Device {
            backend: Sim::NAME,
            name: machine.name.clone(),
            driver: format!("gpu-ladder {}", env!("CARGO_PKG_VERSION")),
            api: "counters only".into(),
            kind: DeviceKind::Software,
            limits,
            memory: None,
            l2: None,
            multiprocessors: Some(machine.multiprocessors),
            compute_capability: None,
            warp: machine.warp,
            f16: true,
            cooperative: if machine.warp == 32 { executed() } else { Vec::new() },
            browser_checks: false,
            clock: Clock::None,
        };
        Sim { machine, description, options, turn: Mutex::default() }
    }

    fn run(&self, launch: &Launch<'_, Self>, program: &sim::Program, last: &Mutex<Option<Arc<Profile>>>) -> Result<()> {
        let mut bindings: Vec<Binding> = Vec::new();
        for (index, view) in launch.bindings.iter().enumerate() {
            // A buffer that is bound twice, to be read, is there in a copy.
            let first = launch.bindings[..index].iter().position(|other| std::ptr::eq(other.buffer, view.buffer));
            bindings.push(Binding {
                group: 0,
                binding: index as u32,
                data: match first {
                    Some(first) => bindings[first].data.clone(),
                    None => std::mem::take(&mut *lock(&view.buffer.0)),
                },
                offset: view.offset,
                len: Some(view.len),
            });
        }
        if !launch.params.is_empty() {
            bindings.push(Binding::new(0, bindings.len() as u32, launch.params.clone()));
        }
        let profile = program.run(&self.machine, &mut bindings, launch.grid, &self.options);
        for (view, binding) in launch.bindings.iter().zip(bindings).rev() {
            *lock(&view.buffer.0) = binding.data;
        }
        *lock(last) = Some(Arc::new(profile.map_err(|error| failed(program.entry(), error))?));
        Ok(())
    }
}

/// Every product of cooperative matrices that WGSL can write, as the simulator executes all of them.
fn executed() -> Vec<Cooperative> {
    let types = [(Element::F16, Element::F32), (Element::F16, Element::F16), (Element::F32, Element::F32)];
    [16, 8].iter().flat_map(|&side| types.map(|(inputs, sums)| Cooperative::square(side, inputs, sums))).collect()
}

/// The simulator's errors in the crate's words.
fn failed(label: &str, error: SimError) -> Error {
    match error {
        SimError::Parse { .. }
        | SimError::Invalid { .. }
        | SimError::NoEntryPoint { .. }
        | SimError::Override { .. } => Error::Compile { label: label.into(), log: error.to_string() },
        SimError::Unsupported { .. } => Error::unsupported(label, error.to_string()),
        other => Error::device(label, other),
    }
}

impl Backend for Sim {
    const NAME: &'static str = "sim";
    type Buffer = Buffer;
    type Kernel = Kernel;

    async fn open(select: &Select) -> Result<Self> {
        let name = select.device.as_deref().unwrap_or(DEFAULT_MACHINE);
        let known: Vec<String> = Machine::names().map(String::from).collect();
        let Some(chosen) = Select::find(&known, name).map(|index| &known[index]) else {
            return Err(Error::NoDevice { backend: Sim::NAME, asked: name.into(), available: known });
        };
        let machine = Machine::load(chosen).map_err(|error| Error::device("the machine model", error))?;
        let mut sim = Sim::new(machine, Options::default());
        if let Some(bytes) = select.max_binding {
            sim.description.limits.binding = sim.description.limits.binding.min(bytes);
        }
        Ok(sim)
    }

    fn device(&self) -> &Device {
        &self.description
    }

    async fn compile(&self, program: &Program) -> Result<Kernel> {
        let code = match &program.wgsl {
            Source::Native(native) => Code::Native(*native),
            Source::Absent { because } => return Err(Error::unsupported(&program.label, because.as_ref())),
            Source::Ptx(_) => return Err(Error::unsupported(&program.label, "PTX is not WGSL")),
            #[cfg(feature = "cuda")]
            Source::Library(_) => return Err(Error::unsupported(&program.label, "the library calls CUDA")),
            Source::Text(_) => {
                let mut text = program.wgsl_text().unwrap_or_default();
                if program.element_words.1 == Some("f16") {
                    text.insert_str(0, "enable f16; ");
                }
                let compiled = sim::Program::new(&text, Some(&program.entry), &[]);
                Code::Program(Box::new(compiled.map_err(|error| failed(&program.label, error))?))
            }
        };
        Ok(Kernel { code, bindings: program.written.len(), last: Mutex::new(None) })
    }

    async fn alloc(&self, bytes: u64) -> Result<Buffer> {
        let mut memory = Vec::new();
        let out_of_memory = || Error::OutOfMemory { needed: bytes, free: None };
        let size = bytes.checked_next_multiple_of(16).and_then(|size| usize::try_from(size).ok());
        let size = size.ok_or_else(out_of_memory)?;
        memory.try_reserve_exact(size).map_err(|_| out_of_memory())?;
        memory.resize(size, 0);
        Ok(Buffer(Mutex::new(memory)))
    }

    async fn upload(&self, buffer: &Buffer, offset: u64, bytes: &[u8]) -> Result<()> {
        let _turn = lock(&self.turn);
        let mut memory = lock(&buffer.0);
        part(&mut memory, offset, bytes.len())?.copy_from_slice(bytes);
        Ok(())
    }

    async fn fill(&self, buffer: &Buffer, offset: u64, len: u64, word: u32) -> Result<()> {
        let _turn = lock(&self.turn);
        let mut memory = lock(&buffer.0);
        for place in part(&mut memory, offset, len as usize)?.chunks_exact_mut(4) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        Ok(())
    }

    async fn download(&self, buffer: &Buffer, offset: u64, bytes: &mut [u8]) -> Result<()> {
        let _turn = lock(&self.turn);
        let mut memory = lock(&buffer.0);
        bytes.copy_from_slice(part(&mut memory, offset, bytes.len())?);
        Ok(())
    }

    fn launch(&self, launches: &[Launch<'_, Self>]) -> Result<()> {
        let _turn = lock(&self.turn);
        for launch in launches {
            match &launch.kernel.code {
                Code::Program(program) if launch.bindings.len() == launch.kernel.bindings => {
                    self.run(launch, program, &launch.kernel.last)?;
                }
                Code::Program(program) => {
                    return Err(Error::device(
                        program.entry(),
                        format!("{} bindings given, it takes {}", launch.bindings.len(), launch.kernel.bindings),
                    ));
                }
                Code::Native(Native::Copy) => {
                    if let [from, to] = launch.bindings.as_slice() {
                        let len = from.len.min(to.len) as usize;
                        let bytes = part(&mut lock(&from.buffer.0), from.offset, len)?.to_vec();
                        part(&mut lock(&to.buffer.0), to.offset, len)?.copy_from_slice(&bytes);
                    }
                }
            }
        }
        Ok(())
    }

    async fn time(&self, _works: &[&[Launch<'_, Self>]]) -> Result<Vec<f64>> {
        Err(Error::unsupported("timing on the simulator", "it counts, and has no clock"))
    }

    fn inspect(&self, kernel: &Kernel) -> Result<KernelInfo> {
        let profile = lock(&kernel.last).clone();
        let shared = match &kernel.code {
            Code::Program(program) => Some(program.shared_bytes()),
            Code::Native(_) => None,
        };
        Ok(KernelInfo { shared, profile, ..KernelInfo::default() })
    }
}

fn part(memory: &mut [u8], offset: u64, len: usize) -> Result<&mut [u8]> {
    let size = memory.len();
    let start = offset as usize;
    memory
        .get_mut(start..start.saturating_add(len))
        .ok_or_else(|| Error::shape("a view", format!("{len} bytes at {offset} of a buffer of {size}")))
}
