//! Which f32 product to take where nobody asks for one.
//!
//! In CUDA the rung with the shortest [estimate](super::estimate), in WGSL the first line of a table that
//! fits; both from measurements on one H200 (driver 580.159; WGSL through Vulkan), of which
//! `docs/matmul.md` has the figures. The rung must take the problem on the device. A processor that
//! imitates a GPU takes longer to compile a long shader than to run a short one on a small problem.

use super::Matmul;
use super::estimate::estimates;
use crate::backend::Device;
use crate::element::Element;
use crate::op::{Op, runs};
use crate::problem::{Precision, Problem};
use crate::rung::{Language, Rung};

/// Multiprocessors of a device that does not tell: of middle size.
const MULTIPROCESSORS: u32 = 64;

/// A line of the WGSL table.
struct Choice {
    /// The problems it is about.
    when: fn(&Facts) -> bool,
    /// The rung to take then.
    rung: &'static str,
}

/// What the table distinguishes.
struct Facts {
    m: u64,
    n: u64,
    k: u64,
    batch: u64,
    multiprocessors: u64,
}

impl Facts {
    fn of(multiprocessors: u64, problem: &Problem) -> Self {
        Facts { m: problem.dim(0), n: problem.dim(1), k: problem.dim(2), batch: problem.batch, multiprocessors }
    }

    fn least(&self) -> u64 {
        self.m.min(self.n)
    }

    /// Whether such tiles fill so many percent of the multiprocessors.
    fn fill(&self, rows: u64, cols: u64, percent: u64) -> bool {
        let tiles = self.m.div_ceil(rows).saturating_mul(self.n.div_ceil(cols)).saturating_mul(self.batch);
        tiles.saturating_mul(100) >= self.multiprocessors * percent
    }
}

const fn choice(rung: &'static str, when: fn(&Facts) -> bool) -> Choice {
    Choice { when, rung }
}

const TABLE: &[Choice] = &[
    // Little work, as it lies: many small blocks.
    choice("tiled@16", |f| !f.fill(16, 16, 500) && f.k <= if f.least() <= 16 { 256 } else { 768 }),
    choice("tiled_1d", |f| !f.fill(128, 128, 100) && f.k <= 192),
    // A k of a few: C is written once.
    choice("outer", |f| f.k <= 8 && f.least() > 16),
    // A vector or a few: the other operand is read once.
    choice("gemv@1", |f| f.least() <= 16),
    // Few tiles: k is divided among blocks.
    choice("split_workspace@16", |f| !f.fill(128, 128, 25) && f.k >= 512),
    choice("split_workspace@4", |f| !f.fill(128, 128, 150) && f.k >= 384),
    // Enough of them.
    choice("raster", |f| f.fill(256, 128, 200)),
    choice("compact", |_| true),
];

/// For devices that the table's rungs are too large for.
const OTHERWISE: &[&str] = &["double_buffered", "conflict_free", "vectorized", "tiled@16", "coalesced"];

/// For a processor that imitates a GPU: a short shader for so many multiply-adds, and one that it runs well.
const SHORT: (&str, f64) = ("coalesced", 4e6);
const ON_A_PROCESSOR: &str = "compact";

/// The candidates for a problem, the likeliest first.
fn candidates(device: &Device, problem: &Problem) -> Vec<&'static str> {
    let multiprocessors = device.multiprocessors.unwrap_or(MULTIPROCESSORS).max(1).into();
    if device.language() == Language::Cuda {
        let estimated = estimates(problem, multiprocessors).into_iter().map(|(rung, _)| rung);
        return estimated.chain(["pipelined"]).chain(OTHERWISE.iter().copied()).collect();
    }
    let mut likeliest = Vec::new();
    if device.compiles_for_the_host() {
        let work: f64 = problem.dims.iter().chain([&problem.batch]).map(|&n| n as f64).product();
        likeliest.extend((work <= SHORT.1).then_some(SHORT.0));
        likeliest.push(ON_A_PROCESSOR);
    }
    let facts = Facts::of(multiprocessors, problem);
    likeliest.extend(TABLE.iter().filter(|choice| (choice.when)(&facts)).map(|choice| choice.rung));
    likeliest.extend(OTHERWISE);
    likeliest
}

pub(super) fn select(device: &Device, problem: &Problem) -> Option<&'static Rung> {
    if problem.element != Element::F32 || problem.precision != Precision::Full {
        return None;
    }
    candidates(device, problem)
        .into_iter()
        .filter_map(|word| Matmul.ladder().iter().find(|rung| rung.id() == word))
        .find(|rung| runs(&Matmul, rung, device, problem))
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
        // In WGSL.
        let device = Device { compute_capability: None, ..device };
        for (problem, expected) in [
            (of([128, 128, 128]), "tiled@16"),
            (of([700, 700, 128]), "tiled_1d"),
            (transposed(of([128, 128, 128])), "compact"),
            (of([512, 512, 512]), "split_workspace@16"),
            (transposed(of([1024, 1024, 1024])), "split_workspace@4"),
            (of([4096, 4096, 4096]), "raster"),
            (of([8192, 1, 8192]), "gemv@1"),
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
    fn every_word_is_a_rung() {
        let estimated = estimates(&Problem::new(Element::F32, [64, 64, 64]), 132).into_iter().map(|(rung, _)| rung);
        let others =
            TABLE.iter().map(|choice| choice.rung).chain(OTHERWISE.iter().copied()).chain([SHORT.0, ON_A_PROCESSOR]);
        for word in estimated.chain(others) {
            assert!(Matmul.ladder().iter().any(|rung| rung.id() == word), "{word}");
        }
    }
}
