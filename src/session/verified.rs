//! The only key to a time.

use super::stage::Slot;
use super::{Held, Plan, Session, Stage};
use crate::backend::{Backend, Launch};
use crate::error::Result;
use crate::rung::Rung;
use crate::verify::{Coverage, GUARD, Mismatch, POISONS};
use std::panic::Location;
use std::sync::Arc;

/// A rung compiled for a stage, not yet trusted.
pub struct Prepared<B: Backend> {
    pub(super) stage: Arc<Stage<B>>,
    plan: Plan<B>,
    workspaces: Vec<Held<B::Buffer>>,
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
    pub(super) prepared: Prepared<B>,
    coverage: Coverage,
}

impl<B: Backend> Session<B> {
    /// Compiles a rung for a stage.
    ///
    /// # Errors
    /// [`Error::Unsupported`](crate::Error::Unsupported) with the reason,
    /// [`Error::Limit`](crate::Error::Limit) with both numbers, or the compiler's words.
    #[track_caller]
    pub fn prepare(&self, stage: &Arc<Stage<B>>, rung: &Rung) -> impl Future<Output = Result<Prepared<B>>> {
        self.prepare_at(stage, rung, Location::caller())
    }

    async fn prepare_at(
        &self,
        stage: &Arc<Stage<B>>,
        rung: &Rung,
        at: &'static Location<'static>,
    ) -> Result<Prepared<B>> {
        self.same_device(&stage.backend)?;
        let plan = self.plan(&stage.operands, rung).await?;
        let mut workspaces = Vec::new();
        for &bytes in &plan.workspaces {
            workspaces.push(self.ledger.enter(self.backend.alloc(bytes).await?, bytes, at));
        }
        Ok(Prepared { stage: Arc::clone(stage), plan, workspaces })
    }

    /// Runs a prepared rung twice on poisoned outputs and compares all it wrote.
    ///
    /// # Errors
    /// What the device reports; a wrong output is a [`Verdict::Fail`], not an error.
    pub async fn verify(&self, prepared: Prepared<B>) -> Result<Verdict<B>> {
        self.same_device(&prepared.stage.backend)?;
        let mut coverage = prepared.stage.expected.coverage();
        for poison in POISONS {
            match self.run_once(&prepared, poison).await? {
                Ok(covered) => coverage = covered,
                Err(mismatch) => return Ok(Verdict::Fail(mismatch)),
            }
        }
        // A rung that is wrong by design proves nothing by being right for once.
        if let Some(because) = &prepared.plan.flaw {
            return Ok(Verdict::Fail(Mismatch::ByDesign { because: because.clone() }));
        }
        Ok(Verdict::Pass(Verified { prepared, coverage }))
    }

    /// In how many of `runs` runs the output of a prepared rung is wrong: what a rung that promises
    /// [nothing](crate::rung::Promise::Nothing) can show.
    ///
    /// # Errors
    /// What the device reports.
    pub async fn wrong_runs(&self, prepared: &Prepared<B>, runs: u64) -> Result<u64> {
        self.same_device(&prepared.stage.backend)?;
        let mut wrong = 0;
        for run in 0..runs as usize {
            wrong += u64::from(self.run_once(prepared, POISONS[run % POISONS.len()]).await?.is_err());
        }
        Ok(wrong)
    }

    /// One run on a poisoned output, compared.
    async fn run_once(&self, prepared: &Prepared<B>, poison: u32) -> Result<Result<Coverage, Mismatch>> {
        let slot = prepared.stage.slot(0).await?;
        prepared.stage.poison(&slot, poison).await?;
        self.poison_workspaces(prepared, poison).await?;
        self.backend.launch(&prepared.launches(&slot)?)?;
        prepared.stage.check(&slot, poison).await
    }

    async fn poison_workspaces(&self, prepared: &Prepared<B>, poison: u32) -> Result<()> {
        for (buffer, &bytes) in prepared.workspaces.iter().zip(&prepared.plan.workspaces) {
            self.backend.fill(buffer, 0, bytes, poison).await?;
        }
        Ok(())
    }
}

impl<B: Backend> Prepared<B> {
    /// `op/rung`.
    pub fn label(&self) -> String {
        self.plan.label.clone()
    }

    /// The compiled kernels, in pass order.
    pub fn kernels(&self) -> impl Iterator<Item = &B::Kernel> {
        self.plan.kernels()
    }

    pub(super) fn launches<'a>(&'a self, slot: &'a Slot<B>) -> Result<Vec<Launch<'a, B>>> {
        let inputs: Vec<_> = slot.inputs.iter().map(|buffer| (&**buffer, 0)).collect();
        let workspaces: Vec<_> = self.workspaces.iter().map(|buffer| &**buffer).collect();
        self.plan.launches(&inputs, (&slot.output, GUARD), &workspaces)
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
        let bytes = stage.operands.output_bytes()?;
        let mut padded = vec![0; stage.operands.output_view_bytes()? as usize];
        stage.backend.download(&slot.output, GUARD, &mut padded).await?;
        padded.truncate(bytes as usize);
        Ok(padded)
    }
}
