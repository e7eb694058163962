//! The raw form of a rung: everything that another program, or another version of `wgpu`, needs to
//! launch it.

use crate::backend::{Backend, Device, KernelInfo, Launch, Select};
use crate::error::{Error, Result};
use crate::op::Op;
use crate::problem::Problem;
use crate::rung::{Language, Operand, Program, Rung};
use crate::session::{Operands, Session};
use std::sync::Arc;

/// One dispatch of a rung, in WGSL.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RawPass {
    /// `op/rung`, and the pass where there are several.
    pub label: String,
    /// The shader, with its constants and types set, as naga 30 reads it: a browser wants `enable subgroups;` in front
    /// of one with subgroup operations, which that naga refuses.
    pub wgsl: String,
    /// The entry point.
    pub entry: String,
    /// The constants that were set in it.
    pub constants: Vec<(String, u32)>,
    /// The storage buffers of group 0, from binding 0 on.
    pub bindings: Vec<RawBinding>,
    /// The bytes of the uniform buffer behind them, the last binding of group 0.
    pub params: Vec<u8>,
    /// Threads of a workgroup, as the shader says.
    pub workgroup_size: [u32; 3],
    /// Workgroups to dispatch.
    pub workgroups: [u32; 3],
}

/// A storage buffer of a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawBinding {
    /// The operand of the op, or the workspace.
    pub operand: Operand,
    /// Whether the shader writes it (`read_write`).
    pub written: bool,
    /// The first byte, from where the operand's buffer is bound.
    pub offset: u64,
    /// Bytes, a multiple of 16.
    pub len: u64,
}

/// A rung laid over a problem: its dispatches in order, and the buffers they hand results over in.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Raw {
    /// The dispatches.
    pub passes: Vec<RawPass>,
    /// The bytes of each workspace buffer.
    pub workspaces: Vec<u64>,
}

/// The raw WGSL form of a rung for a problem, within the limits of the device described.
///
/// The shaders are this crate's own: their loops end and they stay inside their bindings, so they may
/// be compiled without loop bounding, which on many drivers costs a multiple of their time.
///
/// # Errors
/// [`Error::Unsupported`] where the rung has no WGSL kernel or does not take the problem,
/// [`Error::Limit`] where it does not fit the device; whatever is wrong with the problem.
pub fn raw(op: &'static dyn Op, rung: &Rung, problem: &Problem, device: &Device) -> Result<Raw> {
    if device.language() != Language::Wgsl {
        return Err(Error::unsupported("the raw form", "it is made for devices that take WGSL"));
    }
    let session = Session::new(Paper(device.clone()));
    let operands = Arc::new(Operands::new(op, problem)?);
    // Nothing in it waits: paper compiles at once.
    let plan = pollster::block_on(session.plan(&operands, rung))?;
    let inputs: Vec<Operand> = (0..operands.inputs.len()).map(Operand::Input).collect();
    let inputs: Vec<(&Operand, u64)> = inputs.iter().map(|operand| (operand, 0)).collect();
    let workspaces: Vec<Operand> = (0..plan.workspaces.len()).map(Operand::WorkspaceIn).collect();
    let workspaces: Vec<&Operand> = workspaces.iter().collect();
    let launches = plan.launches(&inputs, (&Operand::Output(0), 0), &workspaces)?;
    let passes = launches.iter().map(pass).collect::<Result<_>>()?;
    Ok(Raw { passes, workspaces: plan.workspaces.clone() })
}

fn pass(launch: &Launch<'_, Paper>) -> Result<RawPass> {
    let program = launch.kernel;
    let Some(mut wgsl) = program.wgsl_text() else {
        return Err(Error::unsupported(&program.label, "it is a call of the backend, not a kernel"));
    };
    if program.element_words.1 == Some("f16") {
        wgsl.insert_str(0, "enable f16; ");
    }
    let bindings = launch.bindings.iter().zip(&program.written).map(|(view, &written)| {
        let operand = match (*view.buffer, written) {
            (Operand::WorkspaceIn(index), true) => Operand::WorkspaceOut(index),
            (operand, _) => operand,
        };
        RawBinding { operand, written, offset: view.offset, len: view.len }
    });
    Ok(RawPass {
        label: program.label.clone(),
        entry: program.entry.clone(),
        constants: program.constants.clone(),
        bindings: bindings.collect(),
        params: launch.params.clone(),
        workgroup_size: program.block,
        workgroups: launch.grid,
        wgsl,
    })
}

/// A backend on paper: what it would launch is what is asked for.
struct Paper(Device);

impl Paper {
    fn refuse<T>() -> Result<T> {
        Err(Error::unsupported("running on paper", "it only describes launches"))
    }
}

impl Backend for Paper {
    const NAME: &'static str = "paper";
    type Buffer = Operand;
    type Kernel = Program;

    async fn open(_select: &Select) -> Result<Self> {
        Self::refuse()
    }

    fn device(&self) -> &Device {
        &self.0
    }

    async fn compile(&self, program: &Program) -> Result<Program> {
        Ok(program.clone())
    }

    async fn alloc(&self, _bytes: u64) -> Result<Operand> {
        Self::refuse()
    }

    async fn upload(&self, _buffer: &Operand, _offset: u64, _bytes: &[u8]) -> Result<()> {
        Self::refuse()
    }

    async fn fill(&self, _buffer: &Operand, _offset: u64, _len: u64, _word: u32) -> Result<()> {
        Self::refuse()
    }

    async fn download(&self, _buffer: &Operand, _offset: u64, _bytes: &mut [u8]) -> Result<()> {
        Self::refuse()
    }

    fn launch(&self, _launches: &[Launch<'_, Self>]) -> Result<()> {
        Self::refuse()
    }

    async fn time(&self, _works: &[&[Launch<'_, Self>]]) -> Result<Vec<f64>> {
        Self::refuse()
    }

    fn inspect(&self, _kernel: &Program) -> Result<KernelInfo> {
        Self::refuse()
    }
}
