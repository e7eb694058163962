//! A call: compiled kernels with the buffers they work on, to be run once or often.

use super::matrix::{MatrixView, MatrixViewMut, Place};
use super::pool::Block;
use super::{Gpu, Shared};
use crate::backend::{Any, Backend, Launch};
use crate::error::{Error, Result};
use crate::op::Op;
use crate::problem::Problem;
use crate::rung::Rung;
use crate::session::Plan;
use std::sync::Arc;

/// An op on given matrices, chosen, compiled and checked: running it only queues its launches.
///
/// It borrows its matrices, the output exclusively, so it can be run again and again while they
/// live, also on new contents of its inputs.
pub struct Call<'a, B: Backend = Any> {
    shared: Arc<Shared<B>>,
    steps: Vec<Step<'a, B>>,
}

impl<B: Backend> Gpu<B> {
    /// Any op on given matrices, ready to be run: one of this crate or the program's own, by `rung` or,
    /// for `None`, by the best. The problem's layouts come from the matrices.
    ///
    /// # Errors
    /// [`Error::Shape`] where a matrix is not what the op's shapes say, [`Error::Unsupported`] for an op that
    /// [follows indices](Op::follows_indices); those of the op and the rung.
    pub async fn op_call_async<'a>(
        &self,
        op: &'static dyn Op,
        problem: &Problem,
        inputs: &[MatrixView<'a, B>],
        output: impl Into<MatrixViewMut<'a, B>>,
        rung: Option<&Rung>,
    ) -> Result<Call<'a, B>> {
        if op.follows_indices() {
            return Err(Error::unsupported(op.name(), "it follows indices, and nobody has checked those of a matrix"));
        }
        let output = output.into();
        let mut operands: Vec<Operand<'a, B>> = inputs.iter().map(|view| (view.block, view.place)).collect();
        operands.push((output.block, output.place));
        let laid = operands
            .iter()
            .enumerate()
            .fold(problem.clone(), |problem, (index, (_, place))| problem.with_layout(index, place.layout()));
        let (shapes, result) = op.check(&laid)?;
        if shapes.len() != inputs.len() {
            return Err(Error::shape(op.name(), format!("{} inputs given, it takes {}", inputs.len(), shapes.len())));
        }
        let elements =
            (0..inputs.len()).map(|index| op.input_element(index, problem.element)).chain([op.output_element(problem)]);
        for ((shape, element), (_, place)) in shapes.iter().chain([&result]).zip(elements).zip(&operands) {
            let found = (place.element, place.batch, place.stored_rows, place.stored_cols);
            let wanted = (element, shape.batch, shape.rows, shape.cols);
            if found != wanted {
                return Err(Error::shape(op.name(), format!("a matrix stored as {found:?}, it takes {wanted:?}")));
            }
        }
        let mut call = Call::new(&self.shared);
        if !result.is_empty() {
            call.add(op, problem.clone(), &operands, rung).await?;
        }
        Ok(call)
    }

    /// The same for threads that wait.
    ///
    /// # Errors
    /// As [`op_call_async`](Self::op_call_async).
    #[cfg(not(target_arch = "wasm32"))]
    pub fn op_call<'a>(
        &self,
        op: &'static dyn Op,
        problem: &Problem,
        inputs: &[MatrixView<'a, B>],
        output: impl Into<MatrixViewMut<'a, B>>,
        rung: Option<&Rung>,
    ) -> Result<Call<'a, B>> {
        super::wait(self.op_call_async(op, problem, inputs, output, rung))
    }
}

/// One rung on its buffers.
struct Step<'a, B: Backend> {
    plan: Arc<Plan<B>>,
    inputs: Vec<(&'a B::Buffer, u64)>,
    output: (&'a B::Buffer, u64),
    workspaces: Vec<Block<B>>,
}

/// An operand: the block it lies in, and where.
pub(super) type Operand<'a, B> = (&'a Block<B>, Place);

impl<'a, B: Backend> Call<'a, B> {
    pub(super) fn new(shared: &Arc<Shared<B>>) -> Self {
        Call { shared: Arc::clone(shared), steps: Vec::new() }
    }

    /// What it runs on.
    #[cfg(feature = "wgpu")]
    pub(super) fn shared(&self) -> &Shared<B> {
        &self.shared
    }

    /// Adds an op whose problem has no layouts yet: they come from the operands, the output last.
    /// `rung` is the one to take; `None` for the best.
    pub(super) async fn add(
        &mut self,
        op: &'static dyn Op,
        mut problem: Problem,
        operands: &[Operand<'a, B>],
        rung: Option<&Rung>,
    ) -> Result<()> {
        self.shared.usable()?;
        let device = self.shared.session.device();
        let mut starts = Vec::with_capacity(operands.len());
        for (index, (block, place)) in operands.iter().enumerate() {
            if !Arc::ptr_eq(&self.shared, &block.shared) {
                return Err(Error::WrongDevice("the matrix"));
            }
            let (start, place) = aligned(*place, device.limits.binding_alignment)?;
            problem = problem.with_layout(index, place.layout());
            starts.push((block.buffer(), start));
        }
        let Some(output) = starts.pop() else { return Err(Error::shape(op.name(), "no operands given")) };
        let backend = self.shared.session.backend();
        if starts.iter().any(|(buffer, _)| backend.is_same(buffer, output.0)) {
            return Err(Error::shape(op.name(), "an input lies in the same buffer as the output"));
        }
        let plan = self.shared.plan(op, &problem, rung).await?;
        for ((block, _), (bytes, start)) in
            operands.iter().zip(plan.operands.views()?.into_iter().zip(starts.iter().chain([&output]).map(|s| s.1)))
        {
            // Kernels read whole vectors at the end of a view, and keep what they do not own there.
            if start.saturating_add(bytes) > block.bytes() {
                return Err(Error::shape(
                    op.name(),
                    format!("a view of {bytes} bytes at {start} of a buffer of {} bytes", block.bytes()),
                ));
            }
        }
        let mut workspaces = Vec::with_capacity(plan.workspaces.len());
        for &bytes in &plan.workspaces {
            workspaces.push(self.shared.block(bytes).await?);
        }
        self.steps.push(Step { plan, inputs: starts, output, workspaces });
        Ok(())
    }

    /// Queues the work, and does not wait for it.
    ///
    /// # Errors
    /// [`Error::DeviceLost`], [`Error::Device`]; what earlier work did wrong may surface here.
    pub fn run(&mut self) -> Result<()> {
        self.shared.usable()?;
        for step in &self.steps {
            let _span = tracing::debug_span!("launch", label = step.plan.label).entered();
            let launches = step.launches()?;
            self.shared.noting(self.shared.session.backend().launch(&launches))?;
        }
        Ok(())
    }

    /// The rungs that it runs, as `op/rung`, in order; none where there is nothing to compute.
    pub fn rungs(&self) -> impl Iterator<Item = &str> {
        self.steps.iter().map(|step| step.plan.label.as_str())
    }

    /// All its launches, in order.
    ///
    /// # Errors
    /// [`Error::Overflow`].
    pub fn launches(&self) -> Result<Vec<Launch<'_, B>>> {
        let mut all = Vec::new();
        for step in &self.steps {
            all.extend(step.launches()?);
        }
        Ok(all)
    }
}

impl<B: Backend> Step<'_, B> {
    fn launches(&self) -> Result<Vec<Launch<'_, B>>> {
        let workspaces: Vec<&B::Buffer> = self.workspaces.iter().map(Block::buffer).collect();
        self.plan.launches(&self.inputs, self.output, &workspaces)
    }
}

/// Where a binding for a place starts, and the place from there on.
fn aligned(place: Place, alignment: u64) -> Result<(u64, Place)> {
    let first = place.bytes()?.start;
    let start = first - first % alignment.max(1);
    Ok((start, Place { offset: (first - start) / place.element.size(), ..place }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::Element;

    #[test]
    fn a_binding_starts_where_the_device_allows() {
        let place = Place { offset: 16, ..Place::packed(Element::F32, 1, 4, 4) };
        assert_eq!(aligned(place, 256).unwrap(), (0, place));
        let far = Place { offset: 64 + 3, ..place };
        assert_eq!(aligned(far, 256).unwrap(), (256, Place { offset: 3, ..place }));
        assert_eq!(aligned(far, 32).unwrap(), (256, Place { offset: 3, ..place }));
    }
}
