//! A backend made outside the crate: kernels are Rust functions, buffers are vectors.

use gpu_ladder::backend::{Backend, Clock, Device, DeviceKind, KernelInfo, Launch, Limits, Select};
use gpu_ladder::rung::Program;
use gpu_ladder::{Error, Result};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// The processor this program runs on.
pub struct Cpu {
    device: Device,
}

/// What it does for all blocks of a launch at once: the bytes of an element, the bound parts of the
/// inputs and of the output, and the params.
type Function = fn(usize, &[Vec<u8>], &mut [u8], &Params<'_>);

/// The kernels that were written for it, by entry point.
const KERNELS: &[(&str, Function)] =
    &[("transpose_naive", transpose), ("transpose_ordered", transpose), ("matmul_compact", matmul)];

/// A function and the element size it was "compiled" for.
pub struct Kernel {
    function: Function,
    element: usize,
}

/// The words of a params struct.
pub struct Params<'a>(&'a [u8]);

impl Params<'_> {
    fn word(&self, index: usize) -> u32 {
        let bytes = self.0.get(4 * index..4 * index + 4).and_then(|b| b.try_into().ok());
        bytes.map_or(0, u32::from_le_bytes)
    }

    fn number(&self, index: usize) -> usize {
        self.word(index) as usize
    }

    fn long(&self, index: usize) -> usize {
        self.number(index) | self.number(index + 1) << 32
    }

    /// Whether this launch begins the grid; functions do all of it then.
    fn is_first(&self) -> bool {
        (0..3).all(|index| self.word(index) == 0)
    }
}

fn transpose(size: usize, inputs: &[Vec<u8>], output: &mut [u8], p: &Params<'_>) {
    let [rows, cols, input_ld, output_ld, batch] = [3, 4, 5, 6, 7].map(|i| p.number(i));
    let [input_offset, output_offset, input_stride, output_stride] = [8, 10, 12, 14].map(|i| p.long(i));
    for (matrix, row) in (0..batch).flat_map(|m| (0..rows).map(move |r| (m, r))) {
        for col in 0..cols {
            let from = (input_offset + matrix * input_stride + row * input_ld + col) * size;
            let to = (output_offset + matrix * output_stride + col * output_ld + row) * size;
            output[to..to + size].copy_from_slice(&inputs[0][from..from + size]);
        }
    }
}

fn matmul(size: usize, inputs: &[Vec<u8>], output: &mut [u8], p: &Params<'_>) {
    let [m, n, k, a_ld, b_ld, c_ld, batch] = [3, 4, 5, 6, 7, 8, 9].map(|i| p.number(i));
    let [alpha, beta] = [10, 11].map(|i| f32::from_bits(p.word(i)));
    let [a_offset, b_offset, c_offset, a_stride, b_stride, c_stride] = [12, 14, 16, 18, 20, 22].map(|i| p.long(i));
    // Which operands are stored transposed is a constant of shipped kernels, which the example leaves out.
    let read = |bytes: &[u8], index: usize| {
        let bytes = bytes.get(index * size..index * size + 4).and_then(|b| b.try_into().ok());
        bytes.map_or(0.0, f32::from_le_bytes)
    };
    for (matrix, row) in (0..batch).flat_map(|b| (0..m).map(move |r| (b, r))) {
        for col in 0..n {
            let product = |i: usize| {
                let a = read(&inputs[0], a_offset + matrix * a_stride + row * a_ld + i);
                f64::from(a) * f64::from(read(&inputs[1], b_offset + matrix * b_stride + i * b_ld + col))
            };
            let at = c_offset + matrix * c_stride + row * c_ld + col;
            let old = if beta == 0.0 { 0.0 } else { beta * read(output, at) };
            let sum = alpha * (0..k).map(product).sum::<f64>() as f32 + old;
            output[at * size..at * size + 4].copy_from_slice(&sum.to_le_bytes());
        }
    }
}

fn lock(buffer: &Mutex<Vec<u8>>) -> MutexGuard<'_, Vec<u8>> {
    buffer.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Backend for Cpu {
    const NAME: &'static str = "cpu";
    type Buffer = Mutex<Vec<u8>>;
    type Kernel = Kernel;

    async fn open(_select: &Select) -> Result<Self> {
        let limits = Limits {
            threads_per_block: 1024,
            block: [1024; 3],
            grid: [u32::MAX; 3],
            shared_static: 1 << 20,
            shared_dynamic: 1 << 20,
            buffer: 1 << 40,
            binding: 1 << 40,
            binding_alignment: 256,
            bindings: 8,
        };
        let device = Device {
            driver: std::env::consts::ARCH.into(),
            api: "Rust".into(),
            kind: DeviceKind::Software,
            l2: Some(1 << 20),
            warp: 1,
            f16: true,
            cooperative: Vec::new(),
            clock: Clock::Host { resolution_ns: 100.0 },
            ..Device::new(Cpu::NAME, "this processor", limits)
        };
        Ok(Cpu { device })
    }

    fn device(&self) -> &Device {
        &self.device
    }

    async fn compile(&self, program: &Program) -> Result<Kernel> {
        let transposed = program.constants.iter().any(|(name, value)| name.starts_with("TRANSPOSE") && *value == 1);
        let found = KERNELS.iter().find(|(entry, _)| *entry == program.entry && !transposed);
        let Some((_, function)) = found else {
            return Err(Error::Unsupported {
                what: program.label.clone(),
                because: "nobody wrote it for the processor".into(),
            });
        };
        Ok(Kernel { function: *function, element: program.element.size() as usize })
    }

    async fn alloc(&self, bytes: u64) -> Result<Self::Buffer> {
        let mut memory = Vec::new();
        memory.try_reserve_exact(bytes as usize).map_err(|_| Error::OutOfMemory { needed: bytes, free: None })?;
        memory.resize(bytes as usize, 0xAA);
        Ok(Mutex::new(memory))
    }

    async fn upload(&self, buffer: &Self::Buffer, offset: u64, bytes: &[u8]) -> Result<()> {
        lock(buffer)[offset as usize..][..bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    async fn fill(&self, buffer: &Self::Buffer, offset: u64, len: u64, word: u32) -> Result<()> {
        for chunk in lock(buffer)[offset as usize..][..len as usize].chunks_exact_mut(4) {
            chunk.copy_from_slice(&word.to_le_bytes());
        }
        Ok(())
    }

    async fn download(&self, buffer: &Self::Buffer, offset: u64, bytes: &mut [u8]) -> Result<()> {
        bytes.copy_from_slice(&lock(buffer)[offset as usize..][..bytes.len()]);
        Ok(())
    }

    fn launch(&self, launches: &[Launch<'_, Self>]) -> Result<()> {
        for launch in launches {
            let params = Params(launch.params());
            let Some((output, inputs)) = launch.bindings().split_last() else { continue };
            if !params.is_first() {
                continue;
            }
            let part = |offset: u64, len: u64| offset as usize..(offset + len) as usize;
            let inputs: Vec<Vec<u8>> =
                inputs.iter().map(|view| lock(view.buffer)[part(view.offset, view.len)].to_vec()).collect();
            let mut memory = lock(output.buffer);
            let bound = &mut memory[part(output.offset, output.len)];
            (launch.kernel().function)(launch.kernel().element, &inputs, bound, &params);
        }
        Ok(())
    }

    async fn time(&self, works: &[&[Launch<'_, Self>]]) -> Result<Vec<f64>> {
        let mut times = Vec::new();
        for work in works {
            let start = Instant::now();
            self.launch(work)?;
            times.push(start.elapsed().as_nanos() as f64);
        }
        Ok(times)
    }

    fn inspect(&self, _kernel: &Kernel) -> Result<KernelInfo> {
        Ok(KernelInfo::default())
    }
}
