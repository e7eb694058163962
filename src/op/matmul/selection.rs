//! Which f32 product to take where nobody asks for one.
//!
//! The rung with the shortest [estimate](crate::op::estimate), from measurements on one H200 (driver
//! 580.159; WGSL through Vulkan), of which `docs/matmul.md` has the figures. The rung must take the problem
//! on the device. A processor that imitates a GPU takes longer to compile a long shader than to run a
//! short one on a small problem.

use super::{Matmul, costs_cuda, costs_wgsl};
use crate::backend::Device;
use crate::element::Element;
use crate::op::estimate::estimates;
use crate::op::{Op, runs};
use crate::problem::{Precision, Problem};
use crate::rung::{Language, Rung};

/// For devices that the estimated rungs are too large for.
const OTHERWISE: &[&str] = &["double_buffered", "conflict_free", "vectorized", "tiled@16", "coalesced"];

/// For a processor that imitates a GPU: a short shader for so many multiply-adds, and one that it runs well.
const SHORT: (&str, f64) = ("coalesced", 4e6);
const ON_A_PROCESSOR: &str = "compact";

/// The candidates for a problem, the likeliest first.
fn candidates(device: &Device, problem: &Problem) -> Vec<&'static Rung> {
    let mut likeliest = Vec::new();
    if device.compiles_for_the_host() {
        let work: f64 = problem.dims.iter().chain([&problem.batch]).map(|&n| n as f64).product();
        likeliest.extend((work <= SHORT.1).then_some(SHORT.0));
        likeliest.push(ON_A_PROCESSOR);
    }
    let costs = match device.language() {
        Language::Cuda => costs_cuda::COSTS,
        Language::Wgsl => costs_wgsl::COSTS,
    };
    let named = |word: &&str| Matmul.ladder().iter().find(|rung| rung.id() == *word);
    let estimated = estimates(&Matmul, costs, device, problem).into_iter().map(|(rung, _)| rung);
    likeliest.iter().filter_map(named).chain(estimated).chain(OTHERWISE.iter().filter_map(named)).collect()
}

pub(super) fn select(device: &Device, problem: &Problem) -> Option<&'static Rung> {
    if problem.element != Element::F32 || problem.precision != Precision::Full {
        return None;
    }
    candidates(device, problem).into_iter().find(|rung| runs(&Matmul, rung, device, problem))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Layout;

    #[cfg(feature = "sim")]
    #[test]
    fn a_small_device_gets_a_rung_that_fits() {
        use crate::backend::{Backend, Select, sim::Sim};
        const SHARED: u32 = 16 << 10;
        let sim = pollster::block_on(Sim::open(&Select::default())).expect("the simulator opens anywhere");
        let mut device = sim.device().clone();
        device.limits.shared_static = SHARED;
        device.limits.threads_per_block = 256;
        device.kind = crate::backend::DeviceKind::Discrete;
        for dims in [[512, 512, 512], [8192, 8192, 8192], [512, 512, 8192], [16, 4096, 4096], [4096, 4096, 2]] {
            let rung = select(&device, &Problem::new(Element::F32, dims)).expect("there is always one");
            assert!(rung.static_shared(Language::Wgsl, 4) <= SHARED.into(), "{}", rung.id());
            assert!(rung.tuned(Language::Wgsl, 4).passes[0].block.iter().product::<u32>() <= 256, "{}", rung.id());
        }
    }

    #[test]
    fn shapes_of_every_kind_get_the_rung_that_was_measured_fastest() {
        let device = crate::op::test_device((9, 0));
        let transposed = |problem: Problem| problem.with_layout(0, Layout { transposed: true, ..Layout::default() });
        let of = |dims: [u64; 3]| Problem::new(Element::F32, dims);
        for (problem, expected) in [
            (of([4096, 4096, 4096]), "tma_specialised"),
            (transposed(of([8192, 8192, 8192])), "tma_specialised"),
            (of([1024, 1024, 1024]), "slice_k@64x128"),
            (of([512, 512, 8192]), "split_workspace@16"),
            (of([8192, 1, 8192]), "gemv@1"),
            (of([16, 8192, 8192]), "gemv@4"),
            (of([8192, 8192, 4]), "outer"),
            (of([100, 200, 300]), "tiled@16"),
        ] {
            assert_eq!(select(&device, &problem).map(Rung::id).as_deref(), Some(expected), "{problem:?}");
        }
        // An older device gets what it can run, and one in between too.
        for capability in [(7, 0), (8, 6)] {
            let rung =
                select(&crate::op::test_device(capability), &of([2048, 2048, 2048])).expect("there is always one");
            assert!(rung.cuda_needs.arch.runs_on(capability), "{}", rung.id());
        }
    }

    #[test]
    fn wgsl_has_its_own_weights() {
        let device = Device { compute_capability: None, multiprocessors: None, ..crate::op::test_device((9, 0)) };
        for (dims, expected) in [
            ([8192, 8192, 8192], "compact"),
            ([4096, 4096, 4096], "compact"),
            ([1024, 1024, 1024], "split_workspace"),
            ([512, 512, 8192], "split_workspace@16"),
            ([8192, 1, 8192], "gemv@1"),
            ([8192, 8192, 4], "outer"),
            ([100, 200, 300], "tiled@16"),
        ] {
            let taken = select(&device, &Problem::new(Element::F32, dims)).map(Rung::id).unwrap_or_default();
            assert!(taken.starts_with(expected), "{dims:?}: {taken}");
        }
    }

    #[test]
    fn every_word_is_a_rung() {
        for word in OTHERWISE.iter().copied().chain([SHORT.0, ON_A_PROCESSOR]) {
            assert!(Matmul.ladder().iter().any(|rung| rung.id() == word), "{word}");
        }
    }
}
