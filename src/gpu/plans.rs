//! Which rung to take, and the compiled plans that are kept: a call of the same shape as an earlier
//! one is a look-up.

use super::tune::Choice;
use super::{Gpu, Shared};
use crate::backend::Backend;
use crate::error::{Error, Result};
use crate::op::{self, Op};
use crate::problem::Problem;
use crate::rung::Rung;
use crate::session::{Operands, Plan};
use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, PoisonError, RwLock};

/// Plans that are kept; one of a new shape beyond that starts over.
const MOST_PLANS: usize = 1024;

/// An op, a problem, and the rung where the caller names one.
#[derive(PartialEq)]
struct Key {
    /// The name, and the type: a program's op may have the name of one of this crate.
    op: (&'static str, TypeId),
    rung: Option<Rung>,
    problem: Problem,
}

// A factor that is NaN equals nothing, so such a plan is made anew each time; that is all.
impl Eq for Key {}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Problem { element, dims, batch, layouts, alpha, beta, .. } = &self.problem;
        (self.op, self.rung.as_ref().map(|rung| &rung.name), element, dims, batch).hash(state);
        for layout in layouts {
            (layout.leading_dimension, layout.offset, layout.batch_stride, layout.transposed).hash(state);
        }
        (alpha.to_bits(), beta.to_bits()).hash(state);
    }
}

type Kept<B> = RwLock<HashMap<Key, Arc<Plan<B>>>>;

pub(super) struct Plans<B: Backend>(Kept<B>);

impl<B: Backend> Default for Plans<B> {
    fn default() -> Self {
        Plans(RwLock::default())
    }
}

impl<B: Backend> Plans<B> {
    fn get(&self, key: &Key) -> Option<Arc<Plan<B>>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    fn put(&self, key: Key, plan: &Arc<Plan<B>>) {
        let mut plans = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if plans.len() >= MOST_PLANS {
            plans.clear();
        }
        plans.insert(key, Arc::clone(plan));
    }

    /// Forgets everything, after the choice may have changed.
    pub(super) fn clear(&self) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

impl<B: Backend> Gpu<B> {
    /// The rung, as `op/rung`, that is taken for a problem: the one that tuning found, or else the one
    /// that measurements made with this crate favour.
    ///
    /// # Errors
    /// Those of the call itself.
    pub async fn chosen_async(&self, op: &'static dyn Op, problem: &Problem) -> Result<String> {
        self.usable()?;
        Ok(self.shared.plan(op, problem, None).await?.label.clone())
    }

    /// The same for threads that wait.
    ///
    /// # Errors
    /// As [`chosen_async`](Self::chosen_async).
    #[cfg(not(target_arch = "wasm32"))]
    pub fn chosen(&self, op: &'static dyn Op, problem: &Problem) -> Result<String> {
        super::wait(self.chosen_async(op, problem))
    }
}

impl<B: Backend> Shared<B> {
    /// The plan of a rung for a problem, of the best one for `None`.
    pub(super) async fn plan(
        &self,
        op: &'static dyn Op,
        problem: &Problem,
        rung: Option<&Rung>,
    ) -> Result<Arc<Plan<B>>> {
        let key = Key { op: (op.name(), (op as &dyn Any).type_id()), rung: rung.cloned(), problem: problem.clone() };
        if let Some(plan) = self.plans.get(&key) {
            return Ok(plan);
        }
        let operands = Arc::new(Operands::new(op, problem)?);
        let plan = match rung {
            Some(rung) => self.noting(self.session.plan(&operands, rung).await)?,
            None => self.best(&operands).await?,
        };
        let plan = Arc::new(plan);
        self.plans.put(key, &plan);
        Ok(plan)
    }

    /// The rungs of an op, from the top of its ladder, and then those that the program brought.
    pub(super) fn rungs(&self, op: &'static dyn Op) -> Vec<Choice> {
        let own = self.own.read().unwrap_or_else(PoisonError::into_inner);
        let own = own.iter().filter(|(name, _)| *name == op.name()).map(|(_, rung)| Choice::Own(Arc::clone(rung)));
        op.ladder().iter().rev().map(Choice::Shipped).chain(own).collect()
    }

    /// The plan of the first rung that works: the one that tuning found, else the one that the op
    /// selects, and, should those not compile here, the others from the top of the ladder.
    async fn best(&self, operands: &Arc<Operands>) -> Result<Plan<B>> {
        let (op, problem, device) = (operands.op, &operands.problem, self.session.device());
        let rungs = self.rungs(op);
        let tuned = self.choices.get(op, problem);
        let tuned = tuned.and_then(|word| rungs.iter().find(|rung| rung.word() == word).cloned());
        let selected = op.select(device, problem).map(Choice::Shipped);
        let others = rungs.into_iter().filter(|rung| matches!(rung, Choice::Shipped(_)));
        let mut tried: Vec<String> = Vec::new();
        let mut first_error = None;
        for rung in tuned.into_iter().chain(selected).chain(others) {
            if tried.contains(&rung.word()) || !op::runs(op, &rung, device, problem) {
                continue;
            }
            tried.push(rung.word());
            match self.noting(self.session.plan(operands, &rung).await) {
                Ok(plan) => return Ok(plan),
                Err(error @ (Error::DeviceLost(_) | Error::OutOfMemory { .. } | Error::Device { .. })) => {
                    return Err(error);
                }
                Err(error) => {
                    tracing::warn!(rung = rung.id(), %error, "this rung does not work here; another one is taken");
                    first_error.get_or_insert(error);
                }
            }
        }
        Err(first_error.unwrap_or_else(|| self.nothing_runs(operands)))
    }

    /// Why no rung takes a problem: the limit that all of them meet, or else the first rung's reason.
    fn nothing_runs(&self, operands: &Operands) -> Error {
        let (op, problem, device) = (operands.op, &operands.problem, self.session.device());
        if let Err(limit) = op::parts(op, device, problem) {
            return limit;
        }
        let reasons = op.ladder().iter().rev().map(|rung| op::accepts(op, rung, device.language(), problem));
        let because = reasons.filter_map(Result::err).next().map(|error| error.to_string());
        Error::unsupported(
            format!("{} of {} on {}", op.name(), problem.element, device.name),
            because.unwrap_or_else(|| "no rung fits this device".into()),
        )
    }
}
