//! A rung run on the simulator at a size that takes a moment: the counters behind every explanation.

use crate::backend::{Backend, KernelInfo, Select, sim::Sim};
use crate::error::{Error, Result};
use crate::op::Op;
use crate::problem::Problem;
use crate::rung::{Promise, Rung, Source};
use crate::session::{Inputs, Session, Verdict};
use crate::sim::{Machine, Profile};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What one rung did on the simulator.
#[derive(Debug, Clone)]
pub struct Counted {
    /// The rung.
    pub rung: Rung,
    /// The problem it was given.
    pub problem: Problem,
    /// The machine.
    pub machine: Machine,
    /// The counters of each pass.
    pub profiles: Vec<Arc<Profile>>,
    /// The counters of all passes together.
    pub whole: Profile,
}

/// Counted rungs by `op/rung`.
pub type Counts = BTreeMap<String, Counted>;

impl Counted {
    /// The pass that did most.
    pub fn longest_pass(&self) -> Option<&Profile> {
        self.profiles.iter().max_by_key(|profile| profile.totals.instructions).map(Arc::as_ref)
    }

    /// The WGSL text, line by line as it was counted.
    pub fn source(&self) -> Option<&str> {
        match &self.rung.wgsl {
            Source::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// The same problem with no dimension above `most`: patterns of access repeat, so that a small one tells
/// what a large one would.
pub fn small(op: &dyn Op, problem: &Problem, most: u64) -> Problem {
    let mut small = problem.clone();
    for (name, dim) in op.dims().iter().zip(&mut small.dims) {
        let most = if *name == "len" { most * most } else { most };
        *dim = (*dim).min(most);
    }
    small.layouts.iter_mut().for_each(|layout| {
        (layout.leading_dimension, layout.batch_stride, layout.offset) = (None, None, 0);
    });
    small.batch = small.batch.min(2);
    small
}

/// Runs a rung on a simulated machine, verifies it unless it is wrong by design, and returns what was counted.
///
/// # Errors
/// [`Error::Unsupported`] where the rung has no WGSL twin or does not take the problem; a wrong result
/// is [`Error::Device`].
pub fn count(op: &'static dyn Op, rung: &Rung, problem: &Problem, machine: &Machine) -> Result<Counted> {
    pollster::block_on(async {
        let sim = Sim::open(&Select { device: Some(machine.name.clone()), ..Select::default() }).await?;
        let session = Session::new(sim);
        let stage = session.stage(op, problem, Inputs::Seeded(1)).await?;
        let prepared = session.prepare(&stage, rung).await?;
        let infos: Vec<KernelInfo> = if matches!(rung.promise, Promise::Nothing { .. }) {
            session.wrong_runs(&prepared, 1).await?;
            prepared.kernels().filter_map(|kernel| session.backend().inspect(kernel).ok()).collect()
        } else {
            match session.verify(prepared).await? {
                Verdict::Pass(proof) => proof.kernels().filter_map(|k| session.backend().inspect(k).ok()).collect(),
                Verdict::Fail(mismatch) => return Err(Error::device(rung.id(), mismatch)),
            }
        };
        // A pass with a kernel of its own has a source of its own.
        let own = |place: usize| rung.passes.get(place).is_some_and(|pass| pass.kernel.is_none());
        let launches: Vec<(&Profile, bool)> =
            infos.iter().enumerate().filter_map(|(i, info)| Some((&**info.profile.as_ref()?, own(i)))).collect();
        let whole = Profile::together(&launches).ok_or_else(|| Error::Unsupported {
            what: rung.id(),
            because: "nothing was counted: it is a call of the backend, or the problem is empty".into(),
        })?;
        let profiles = infos.into_iter().filter_map(|info| info.profile).collect();
        Ok(Counted { rung: rung.clone(), problem: problem.clone(), machine: machine.clone(), profiles, whole })
    })
}

/// Counts every rung of a list that the simulator can run; the others are left out.
pub fn count_all(op: &'static dyn Op, rungs: &[Rung], problem: &Problem, machine: &Machine) -> Counts {
    use rayon::prelude::*;
    let counted = rungs.par_iter().filter_map(|rung| {
        let key = format!("{}/{}", op.name(), rung.id());
        Some((key, count(op, rung, problem, machine).ok()?))
    });
    counted.collect()
}
