//! A rung compiled for a problem: launches without their buffers.

use super::check::{check_row, check_vouched};
use super::{Operands, Session, lock};
use crate::backend::{Backend, Launch, TensorMap, View};
use crate::error::{Error, Result, product};
use crate::op::{self, Band, Place, Window};
use crate::problem::Problem;
use crate::rung::{Language, Matrices, Operand, Program, Promise, Rung, Source, TensorMapRow, Workspace, setting};
use std::sync::Arc;

/// Threads of the subgroups that kernels of cooperative matrices are laid out for.
const COOPERATIVE_SUBGROUP: u32 = 32;

/// A rung compiled for a problem: its launches without their buffers.
pub(crate) struct Plan<B: Backend> {
    /// `op/rung`.
    pub label: String,
    pub operands: Arc<Operands>,
    /// The bytes of each workspace buffer.
    pub workspaces: Vec<u64>,
    /// What is wrong with the rung by design; `None` for one that is meant to be right.
    pub flaw: Option<String>,
    recipes: Vec<Recipe<B>>,
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

/// Where an operand starts: a buffer and the byte in it.
pub(crate) type Start<'a, B> = (&'a <B as Backend>::Buffer, u64);

impl<B: Backend> Plan<B> {
    /// The compiled kernels, in pass order.
    pub fn kernels(&self) -> impl Iterator<Item = &B::Kernel> {
        self.recipes.iter().map(|recipe| recipe.kernel.as_ref())
    }

    /// The launches on these buffers, in order.
    pub fn launches<'a>(
        &'a self,
        inputs: &[Start<'a, B>],
        output: Start<'a, B>,
        workspaces: &[&'a B::Buffer],
    ) -> Result<Vec<Launch<'a, B>>> {
        let operands = &self.operands;
        let view = |operand: &Operand, recipe: &Recipe<B>| {
            let (number, mut view) = match *operand {
                Operand::Input(index) => {
                    let (buffer, offset) = inputs[index];
                    let len =
                        if recipe.exact { operands.input_bytes(index)? } else { operands.input_view_bytes(index)? };
                    (index, View { buffer, offset, len })
                }
                Operand::Output(_) => {
                    let (buffer, offset) = output;
                    let len = if recipe.exact { operands.output_bytes()? } else { operands.output_view_bytes()? };
                    (inputs.len(), View { buffer, offset, len })
                }
                Operand::WorkspaceIn(index) | Operand::WorkspaceOut(index) => {
                    return Ok(View { buffer: workspaces[index], offset: 0, len: self.workspaces[index] });
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

impl<B: Backend> Session<B> {
    /// Compiles a rung for a problem.
    ///
    /// # Errors
    /// [`Error::Unsupported`] with the reason, [`Error::Limit`] with both numbers, or the compiler's words.
    pub(crate) async fn plan(&self, operands: &Arc<Operands>, rung: &Rung) -> Result<Plan<B>> {
        let (op, problem, device) = (operands.op, &operands.problem, self.device());
        let label = format!("{}/{}", op.name(), rung.id());
        check_row(&label, rung, operands.inputs.len())?;
        let ships = op::ships(op, rung);
        if !ships && device.language() == Language::Cuda {
            check_vouched(&label, op, rung)?;
        }
        op::accepts(op, rung, device.language(), problem)?;
        self.check_cooperative(&label, rung)?;
        self.check_block(&label, rung, problem)?;
        let trusted = if ships { rung.trusted } else { rung.is_vouched_for(Language::Wgsl, op) };
        let rung = &Rung { trusted, ..rung.tuned(device.language(), problem.element.size()) };
        let exact = matches!(rung.wgsl, Source::Native(_)) || matches!(rung.cuda, Source::Native(_));
        let flaw = match &rung.promise {
            Promise::Nothing { because } => Some(because.to_string()),
            _ => None,
        };
        let mut plan =
            Plan { label, operands: Arc::clone(operands), workspaces: Vec::new(), flaw, recipes: Vec::new() };
        let mut first_pass_blocks = 0;
        for part in self.parts(&plan.label, rung, operands, exact)? {
            let blocks = self.add_part(&mut plan, rung, &part, exact).await?;
            first_pass_blocks = first_pass_blocks.max(blocks);
        }
        let whole_words = !exact || operands.output_bytes()?.is_multiple_of(4);
        if !whole_words && device.compute_capability.is_none() {
            let because = format!("WebGPU copies whole words, and {} bytes are none", operands.output_bytes()?);
            return Err(Error::unsupported(plan.label, because));
        }
        for size in rung.workspace.iter() {
            let bytes = match *size {
                Workspace::PerBlock(bytes) => product(&plan.label, &[first_pass_blocks, bytes.into()])?,
                Workspace::PerOutput(times) => {
                    let one = operands.output_element().size();
                    product(&plan.label, &[operands.output.len(), one, times.into()])?
                }
                Workspace::Bytes(bytes) => bytes.into(),
                Workspace::Matrices(form) => {
                    let (shape, element) = operands.again(form);
                    product(&plan.label, &[shape.span(&plan.label)?, element.size()])?
                }
            };
            let bytes = bytes.next_multiple_of(16).max(16);
            if bytes > device.limits.binding {
                return Err(Error::Limit {
                    what: format!("a workspace of {}", plan.label),
                    needed: bytes,
                    limit: device.limits.binding,
                    unit: "bytes",
                    device: device.name.clone(),
                });
            }
            plan.workspaces.push(bytes);
        }
        Ok(plan)
    }

    /// Whether the device multiplies the cooperative matrices that a rung is made of.
    fn check_cooperative(&self, label: &str, rung: &Rung) -> Result<()> {
        let device = self.device();
        let Some(shape) = rung.cooperative.filter(|_| device.language() == Language::Wgsl) else { return Ok(()) };
        let because = if !device.cooperative.contains(&shape) {
            let has: Vec<String> = device.cooperative.iter().map(ToString::to_string).collect();
            let has = if has.is_empty() { "none".into() } else { has.join(", ") };
            format!("it multiplies cooperative matrices of {shape}, and this device has {has}")
        } else if device.warp != COOPERATIVE_SUBGROUP {
            format!("it takes subgroups of {COOPERATIVE_SUBGROUP} threads, and this device has {}", device.warp)
        } else {
            return Ok(());
        };
        Err(Error::unsupported(label, because))
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
    fn parts(&self, label: &str, rung: &Rung, operands: &Operands, native: bool) -> Result<Vec<Band>> {
        let (op, problem, device) = (operands.op, &operands.problem, self.device());
        if native || operands.output.is_empty() {
            return Ok(vec![Band { problem: problem.clone(), windows: Vec::new() }]);
        }
        let parts = op::parts(op, device, problem)?;
        for part in parts.iter().filter(|part| !part.windows.is_empty()) {
            if let Err(Error::Unsupported { because, .. }) = op::accepts(op, rung, device.language(), &part.problem) {
                let needed = operands.views()?.into_iter().max().unwrap_or_default();
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

    /// Adds the launches of a rung for one part of a plan's problem; returns the blocks of its first pass.
    async fn add_part(&self, plan: &mut Plan<B>, rung: &Rung, part: &Band, exact: bool) -> Result<u64> {
        let (op, device) = (plan.operands.op, self.device());
        let (extent, inputs) = (op.extent(&part.problem), plan.operands.inputs.len());
        let (element, multiprocessors) = (part.problem.element.size(), device.multiprocessors.unwrap_or(1));
        let mut first_pass_blocks = 0;
        for (number, pass) in rung.passes.iter().enumerate() {
            let bound = op::pass_operands(pass, inputs);
            let problem = &as_read(&plan.operands, rung, &bound, &part.problem);
            let setting = setting(op::pass_switches(rung, pass), |question| op.switch(problem, question));
            let blocks = pass.grid.blocks(&setting, extent, element, multiprocessors);
            if number == 0 {
                first_pass_blocks = blocks.iter().product();
            }
            let params = |origin| op.params(problem, Place { origin, first_pass_blocks });
            let params_bytes = params([0; 3]).len() as u32;
            let program = op::program(op, rung, pass, problem.element, &setting, params_bytes, inputs);
            let kernel = self.kernel(&program).await?;
            if plan.operands.output.is_empty() {
                continue;
            }
            let maps = &program.cuda_needs.tensor_maps;
            let tensor_maps = match device.language() {
                Language::Cuda => tensor_maps(&plan.operands, rung, &plan.label, maps, &bound)?,
                Language::Wgsl => Vec::new(),
            };
            for (origin, grid) in split_grid(blocks, device.limits.grid, pass.grid.together(&setting)) {
                plan.recipes.push(Recipe {
                    kernel: Arc::clone(&kernel),
                    operands: bound.clone(),
                    windows: part.windows.clone(),
                    params: params(origin),
                    tensor_maps: tensor_maps.clone(),
                    grid,
                    exact,
                });
            }
        }
        Ok(first_pass_blocks)
    }

    /// The compiled kernel of a program, compiled once.
    async fn kernel(&self, program: &Program) -> Result<Arc<B::Kernel>> {
        let (artefact, hash) = (program.artefact_key(), program_text_hash(program));
        // What is asked for at launch (dynamic shared memory) is set once, when a kernel is loaded.
        let asked = program.cuda_needs.dynamic_shared;
        let key = format!("{artefact}/{}/{}/{asked}/{}/{hash}", program.entry, program.element, program.trusted);
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
}

/// The form in which a workspace has an input.
fn form(rung: &Rung, operand: Operand) -> Option<Matrices> {
    let (Operand::WorkspaceIn(index) | Operand::WorkspaceOut(index)) = operand else { return None };
    match rung.workspace.get(index) {
        Some(Workspace::Matrices(form)) => Some(*form),
        _ => None,
    }
}

/// The problem of a pass: operands of which it reads a copy lie as the copy does.
fn as_read(operands: &Operands, rung: &Rung, bound: &[Operand], problem: &Problem) -> Problem {
    let read = bound.iter().filter(|operand| !operand.is_written()).filter_map(|operand| form(rung, *operand));
    let whole = read.filter(|form| form.parts == 1 && form.element.is_none());
    whole.fold(problem.clone(), |problem, form| problem.with_layout(form.input, operands.again(form).0.layout))
}

/// The tensor maps of a kernel that is bound to these operands.
fn tensor_maps(
    operands: &Operands,
    rung: &Rung,
    label: &str,
    rows: &[TensorMapRow],
    bound: &[Operand],
) -> Result<Vec<TensorMap>> {
    /// What a map's strides are multiples of, in bytes.
    const STEP: u64 = 16;
    let mut maps = Vec::new();
    for row in rows {
        let Some(binding) = bound.iter().position(|o| *o == row.operand) else { continue };
        let (shape, element) = form(rung, row.operand).map_or(operands.of(row.operand), |form| operands.again(form));
        // A single matrix's stride is never used, but must be a valid one.
        let stride = if shape.batch > 1 { shape.batch_stride() } else { shape.rows * shape.leading_dimension() };
        let strides = [shape.leading_dimension(), stride].map(|s| s * element.size());
        let offset = shape.layout.offset * element.size();
        if strides.iter().chain([&offset]).any(|bytes| !bytes.is_multiple_of(STEP)) {
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
            // A map has no empty dimension; a kernel that has nothing to read reads nothing of it.
            dims: [shape.cols, shape.rows, shape.batch].map(|count| count.max(1)),
            strides: strides.map(|bytes| bytes.max(STEP)),
            block: [row.block[0], row.block[1], 1],
            swizzle: row.swizzle,
            tf32: row.tf32,
        });
    }
    Ok(maps)
}

/// Cuts a grid into launches within a device's limits, as evenly as possible (a last launch of one
/// block would cost a whole latency), which do not part `together` blocks along x. The origin of each
/// is the index of its first block.
fn split_grid(grid: [u64; 3], limits: [u32; 3], together: u32) -> Vec<([u32; 3], [u32; 3])> {
    let parts = |axis: usize| -> Vec<(u32, u32)> {
        let unit = if axis == 0 { u64::from(together.max(1)) } else { 1 };
        let (all, limit) = (grid[axis], (u64::from(limits[axis]) / unit * unit).max(unit));
        let count = all.div_ceil(limit).max(1);
        let size = all.div_ceil(count).next_multiple_of(unit);
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

fn program_text_hash(program: &Program) -> u64 {
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
        let launches = split_grid([65_536, 3, 1], [65_535; 3], 1);
        assert_eq!(launches, [([0, 0, 0], [32_768, 3, 1]), ([32_768, 0, 0], [32_768, 3, 1])]);
    }

    #[test]
    fn every_block_is_launched_once() {
        for all in [1u64, 7, 8, 9, 100] {
            let launches = split_grid([all, 1, 1], [8, 8, 8], 1);
            let total: u64 = launches.iter().map(|(_, g)| u64::from(g[0])).sum();
            assert_eq!(total, all);
            assert!(launches.windows(2).all(|w| w[0].0[0] + w[0].1[0] == w[1].0[0]));
        }
    }

    #[test]
    fn a_cluster_is_never_parted() {
        let launches = split_grid([18, 1, 1], [8, 8, 8], 3);
        assert_eq!(
            launches.iter().map(|(first, grid)| (first[0], grid[0])).collect::<Vec<_>>(),
            [(0, 6), (6, 6), (12, 6)]
        );
    }
}
