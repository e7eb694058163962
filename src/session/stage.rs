//! A problem's operands on a device.

use super::{Held, Ledger, Operands, Session, lock};
use crate::backend::Backend;
use crate::error::{Error, Result};
use crate::op::Op;
use crate::problem::Problem;
use crate::random;
use crate::verify::{Coverage, Expected, GUARD, Mismatch, POISONS};
use std::panic::Location;
use std::sync::{Arc, Mutex};

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

/// One problem's operands on a device, shared by the rungs that run on it.
pub struct Stage<B: Backend> {
    pub(super) backend: Arc<B>,
    pub(super) operands: Arc<Operands>,
    inputs: Vec<Arc<Vec<u8>>>,
    /// What the output holds before, where the op reads it.
    pub(super) initial: Option<Arc<Vec<u8>>>,
    pub(super) expected: Expected,
    slots: Mutex<Vec<Arc<Slot<B>>>>,
    ledger: Arc<Ledger>,
    /// Who asked for it.
    at: &'static Location<'static>,
    scratch: Mutex<Vec<u8>>,
    /// How the inputs were made, for reports.
    pub input_description: String,
    /// The seed, where the inputs were generated.
    pub seed: Option<u64>,
}

/// One set of buffers; timing rotates over several.
pub(super) struct Slot<B: Backend> {
    pub inputs: Vec<Held<B::Buffer>>,
    pub output: Held<B::Buffer>,
}

impl<B: Backend> Session<B> {
    /// Puts a problem's operands on the device: seeded inputs, or the caller's own (whole buffers,
    /// offset and gaps included).
    ///
    /// # Errors
    /// Whatever is wrong with the problem, or [`Error::OutOfMemory`] and [`Error::Limit`].
    #[track_caller]
    pub fn stage(
        &self,
        op: &'static dyn Op,
        problem: &Problem,
        inputs: Inputs,
    ) -> impl Future<Output = Result<Arc<Stage<B>>>> {
        self.stage_at(op, problem, inputs, Location::caller())
    }

    async fn stage_at(
        &self,
        op: &'static dyn Op,
        problem: &Problem,
        inputs: Inputs,
        at: &'static Location<'static>,
    ) -> Result<Arc<Stage<B>>> {
        let operands = Arc::new(Operands::new(op, problem)?);
        let spans = (0..operands.inputs.len()).map(|index| operands.input_bytes(index)).collect::<Result<Vec<_>>>()?;
        let output_bytes = operands.output_bytes()?;
        self.check_memory(op.name(), spans.iter().chain([&output_bytes]))?;
        let (inputs, input_description, seed) = match inputs {
            Inputs::Seeded(seed) => {
                let made = spans
                    .iter()
                    .enumerate()
                    .map(|(i, bytes)| Arc::new(op.input(problem, i, seed, bytes / operands.input_element(i).size())))
                    .collect();
                (made, op.generated().to_string(), Some(seed))
            }
            Inputs::Given { operands: given, description } => {
                for (index, bytes) in given.iter().enumerate() {
                    let expected = spans.get(index).copied().unwrap_or(0);
                    if bytes.len() as u64 != expected {
                        return Err(Error::shape(
                            format!("{} input {index}", op.name()),
                            format!("{} bytes given, its shape takes {expected}", bytes.len()),
                        ));
                    }
                }
                if given.len() != spans.len() {
                    return Err(Error::shape(
                        op.name(),
                        format!("{} inputs given, it takes {}", given.len(), spans.len()),
                    ));
                }
                (given, description, None)
            }
        };
        let initial = op.reads_output(problem).then(|| {
            let count = output_bytes / operands.output_element().size();
            let seed = seed.unwrap_or_default();
            Arc::new(random::elements(seed, inputs.len() as u64, operands.output_element(), count, op.distribution()))
        });
        let before: Vec<_> = inputs.iter().chain(&initial).cloned().collect();
        let expected = op.expected(problem, &before)?;
        expected.check_shape(op.name(), &operands.output)?;
        let stage = Stage {
            backend: Arc::clone(&self.backend),
            operands,
            inputs,
            initial,
            expected,
            slots: Mutex::new(Vec::new()),
            ledger: Arc::clone(&self.ledger),
            at,
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
}

impl<B: Backend> Stage<B> {
    /// The op.
    pub fn op(&self) -> &'static dyn Op {
        self.operands.op
    }

    /// The problem.
    pub fn problem(&self) -> &Problem {
        &self.operands.problem
    }

    fn output_buffer_bytes(&self) -> Result<u64> {
        Ok(self.operands.output_view_bytes()? + 2 * GUARD)
    }

    async fn alloc(&self, bytes: u64) -> Result<Held<B::Buffer>> {
        Ok(self.ledger.enter(self.backend.alloc(bytes).await?, bytes, self.at))
    }

    /// Buffer set number `index`, made when it is first asked for.
    pub(super) async fn slot(&self, index: usize) -> Result<Arc<Slot<B>>> {
        if let Some(slot) = lock(&self.slots).get(index) {
            return Ok(Arc::clone(slot));
        }
        let mut inputs = Vec::new();
        for (number, bytes) in self.inputs.iter().enumerate() {
            let buffer = self.alloc(self.operands.input_view_bytes(number)?).await?;
            let whole = bytes.len() / 4 * 4;
            self.backend.upload(&buffer, 0, &bytes[..whole]).await?;
            if whole < bytes.len() {
                let mut last = [0u8; 4];
                last[..bytes.len() - whole].copy_from_slice(&bytes[whole..]);
                self.backend.upload(&buffer, whole as u64, &last).await?;
            }
            inputs.push(buffer);
        }
        let output = self.alloc(self.output_buffer_bytes()?).await?;
        let slot = Arc::new(Slot { inputs, output });
        if self.initial.is_some() {
            // Timed without being poisoned first.
            self.poison(&slot, POISONS[0]).await?;
        }
        lock(&self.slots).push(Arc::clone(&slot));
        Ok(slot)
    }

    /// Enough buffer sets that together they are twice the cache, so that no run finds its inputs
    /// there; and where memory allows it never one alone, since a kernel may mark its inputs as the
    /// last to leave the cache, and whoever reads them next would profit.
    pub(super) async fn ring(&self, warm_cache: bool, warm_sets: u64) -> Result<Vec<Arc<Slot<B>>>> {
        const MOST_SLOTS: u64 = 64;
        const LEAST_SLOTS: u64 = 3;
        /// The part of a device's memory that the least slots may take.
        const PART: u64 = 8;
        let device = self.backend.device();
        let set = self.operands.views()?.into_iter().sum::<u64>().max(1);
        let fit = device.memory.map_or(1, |memory| memory / PART / set).max(1);
        let wanted = (2 * device.l2_or_guess()).div_ceil(set).max(LEAST_SLOTS.min(fit)).min(MOST_SLOTS);
        let warm = (device.l2_or_guess() / 2 / set).clamp(1, warm_sets.max(1));
        let mut ring = Vec::new();
        for index in 0..if warm_cache { warm } else { wanted } as usize {
            ring.push(self.slot(index).await?);
        }
        Ok(ring)
    }

    pub(super) fn cache_policy(&self, slots: usize, warm_cache: bool) -> String {
        match (warm_cache, slots) {
            (true, _) => "warm".into(),
            (false, 1) => "one buffer set, larger than twice the cache".into(),
            (false, n) => format!("rotating over {n} buffer sets"),
        }
    }

    /// Poisons the output, and puts its old elements in where the op reads them.
    pub(super) async fn poison(&self, slot: &Slot<B>, word: u32) -> Result<()> {
        let bytes = self.output_buffer_bytes()?;
        let Some(initial) = &self.initial else {
            return self.backend.fill(&slot.output, 0, bytes, word).await;
        };
        let (output, size) = (&self.operands.output, self.operands.output_element().size());
        let row_bytes = (output.cols * size) as usize;
        let one_run = output.batch <= 1 && (output.rows <= 1 || output.leading_dimension() == output.cols);
        let first = output.layout.offset * size;
        let run = &initial[first as usize..];
        if one_run && first.is_multiple_of(4) && run.len().is_multiple_of(4) {
            self.backend.fill(&slot.output, 0, bytes, word).await?;
            return self.backend.upload(&slot.output, GUARD + first, run).await;
        }
        let mut buffer = word.to_le_bytes().repeat(bytes as usize / 4);
        for matrix in 0..output.batch {
            for row in 0..output.rows {
                let from = (output.index(matrix, row, 0) * size) as usize;
                let to = from + GUARD as usize;
                buffer[to..to + row_bytes].copy_from_slice(&initial[from..from + row_bytes]);
            }
        }
        self.backend.upload(&slot.output, 0, &buffer).await
    }

    pub(super) async fn check(&self, slot: &Slot<B>, poison: u32) -> Result<Result<Coverage, Mismatch>> {
        // A large output is read back several times: its pages are made once, and by all the threads
        // that fill them.
        let len = self.output_buffer_bytes()? as usize;
        let kept = std::mem::take(&mut *lock(&self.scratch));
        let mut bytes = if kept.len() == len { kept } else { vec![0; len] };
        self.backend.download(&slot.output, 0, &mut bytes).await?;
        let verdict = self.expected.check(&bytes, poison);
        *lock(&self.scratch) = bytes;
        Ok(verdict)
    }
}
