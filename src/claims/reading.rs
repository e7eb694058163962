//! What is read off runs that need no clock: of kernels, of results, and by arithmetic.

use super::What;
use super::lab::SEED;
use crate::backend::{Any, Backend, KernelInfo};
use crate::element::Element;
use crate::error::Result;
use crate::session::{Session, Stage};

/// What the kernels of a rung tell of themselves.
pub(super) fn read<'a>(
    session: &Session<Any>,
    kernels: impl Iterator<Item = &'a <Any as Backend>::Kernel>,
    what: What,
    threads: u32,
) -> Result<f64> {
    let mut infos = Vec::new();
    for kernel in kernels {
        infos.push(session.backend().inspect(kernel)?);
    }
    let Some(KernelInfo { blocks_per_sm, local, .. }) = infos.first() else { return Ok(f64::NAN) };
    let warp = session.device().warp.max(1);
    let known = |value: Option<u32>| value.map_or(f64::NAN, f64::from);
    match what {
        What::ResidentWarps => return Ok(known(blocks_per_sm.map(|blocks| blocks * threads.div_ceil(warp)))),
        What::LocalBytes => return Ok(known(*local)),
        _ => {}
    }
    let profiles: Vec<_> = infos.iter().filter_map(|info| info.profile.as_ref()).collect();
    if profiles.is_empty() {
        return Ok(f64::NAN);
    }
    let sum = |count: &dyn Fn(&crate::sim::Profile) -> u64| profiles.iter().map(|p| count(p)).sum::<u64>() as f64;
    let loads = sum(&|p| p.totals.global_load.requests);
    let shared = sum(&|p| p.totals.shared().wavefronts);
    Ok(match what {
        What::LoadSectors => sum(&|p| p.totals.global_load.sectors) / loads,
        What::Loads => loads * 32.0,
        What::Efficiency => sum(&|p| p.totals.global().useful_bytes) / sum(&|p| p.totals.global().moved_bytes),
        What::Wavefronts => sum(&|p| p.totals.shared_load.wavefronts) / sum(&|p| p.totals.shared_load.requests),
        What::ConflictDegree => shared / sum(&|p| p.totals.shared().ideal_wavefronts),
        What::Hazards => sum(&|p| p.hazards.len() as u64),
        _ => f64::NAN,
    })
}

/// The error of a sum in units of u times the sum of magnitudes.
pub(super) fn sum_error(stage: &Stage<Any>, output: &[u8]) -> Result<f64> {
    let problem = stage.problem();
    let bytes = stage.op().input(problem, 0, SEED, problem.dim(0));
    let values = bytes.chunks_exact(4).filter_map(|b| Element::F32.to_f64(b));
    // Exact enough: f64 rounds 2^29 times finer.
    let (sum, magnitude) = values.fold((0.0, 0.0), |(s, m), v| (s + v, m + v.abs()));
    let got = output.get(..4).and_then(|b| Element::F32.to_f64(b)).unwrap_or(f64::NAN);
    Ok((got - sum).abs() / (magnitude * f64::from(f32::EPSILON) / 2.0))
}

/// The error of adding up `len` magnitudes, uniform in [0, 1), in f16, over their sum.
pub(super) fn half_error(what: What, len: u64) -> f64 {
    let round = |value: f64| half::f16::from_f64(value).to_f64();
    let stream = crate::random::Stream::new(SEED, 0);
    let (mut exact, mut sum, mut lost) = (0.0, 0.0, 0.0);
    for place in 0..len {
        let value = round(stream.uniform(place).abs());
        exact += value;
        // Sums of two f16 values are exact in f64, so that each is rounded once.
        let corrected = if what == What::HalfCompensated { round(value - lost) } else { value };
        let next = round(sum + corrected);
        lost = round(round(next - sum) - corrected);
        sum = next;
    }
    (sum - exact).abs() / exact
}
