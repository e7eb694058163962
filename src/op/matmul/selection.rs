//! Which f32 product to take where nobody asks for one: a table of what was measured fastest, and
//! behind it what is likeliest to be.
//!
//! Measured on one H200 (driver 580.159; CUDA, and WGSL through Vulkan); `docs/matmul.md` has the
//! figures. The first line that fits and whose rung takes the problem on the device wins.

use super::Matmul;
use crate::backend::Device;
use crate::element::Element;
use crate::op::{Op, runs};
use crate::problem::{Precision, Problem};
use crate::rung::{Language, Rung};

/// A line of the table.
struct Choice {
    /// The only language it is about; `None` for both.
    language: Option<Language>,
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
    /// Whether the operand on the long side runs along k.
    thick_k: bool,
    /// Whether what runs along m or n can be fetched by TMA.
    fetched: bool,
    multiprocessors: u64,
}

impl Facts {
    fn of(device: &Device, problem: &Problem) -> Self {
        /// Of a device that does not tell: of middle size.
        const MULTIPROCESSORS: u32 = 64;
        Facts {
            m: problem.dim(0),
            n: problem.dim(1),
            k: problem.dim(2),
            batch: problem.batch,
            thick_k: Matmul.switch(problem, "THICK_K") == 1,
            fetched: Matmul.switch(problem, "TMA_ACROSS") == 1,
            multiprocessors: device.multiprocessors.unwrap_or(MULTIPROCESSORS).into(),
        }
    }

    fn least(&self) -> u64 {
        self.m.min(self.n)
    }

    /// Tiles of so many rows and columns.
    fn tiles(&self, rows: u64, cols: u64) -> u64 {
        self.m.div_ceil(rows).saturating_mul(self.n.div_ceil(cols)).saturating_mul(self.batch)
    }

    /// Whether such tiles fill so many percent of the multiprocessors.
    fn fill(&self, rows: u64, cols: u64, percent: u64) -> bool {
        self.tiles(rows, cols) * 100 >= self.multiprocessors * percent
    }
}

const fn cuda(rung: &'static str, when: fn(&Facts) -> bool) -> Choice {
    Choice { language: Some(Language::Cuda), when, rung }
}

const fn wgsl(rung: &'static str, when: fn(&Facts) -> bool) -> Choice {
    Choice { language: Some(Language::Wgsl), when, rung }
}

const TABLE: &[Choice] = &[
    // A k of a few: C is written once.
    Choice { language: None, when: |f| f.k <= 8 && f.least() > 16, rung: "outer" },
    // A vector or a few: the other operand is read once.
    cuda("gemv@1", |f| f.least() == 1 && f.thick_k && f.m.max(f.n) >= 4096),
    cuda("gemv@4", |f| f.least() <= 16 && f.k >= 1024),
    Choice { language: None, when: |f| f.least() <= 16, rung: "gemv@1" },
    cuda("gemv@4", |f| f.least() <= 16),
    // A short k: nothing to keep a ring of stages for.
    cuda("pipelined", |f| f.k <= 24),
    // Few tiles: k is divided, among the warps of a block or among blocks.
    cuda("split_workspace@16", |f| !f.fill(128, 128, 25) && f.k >= 2048),
    cuda("split_workspace@4", |f| !f.fill(128, 64, 50) && f.k >= 1024),
    cuda("slice_k@64x128", |f| !f.fill(128, 256, 80)),
    // Enough of them.
    cuda("tma_specialised", |f| f.fetched),
    cuda("pipelined", |_| true),
    wgsl("split_workspace@16", |f| !f.fill(128, 128, 25) && f.k >= 2048),
    wgsl("split_workspace@4", |f| !f.fill(128, 128, 100) && f.k >= 512),
    wgsl("raster", |f| f.fill(256, 128, 200)),
    wgsl("compact", |_| true),
];

/// For devices that the table's rungs are too large for.
const OTHERWISE: &[&str] = &["double_buffered", "conflict_free", "vectorized", "tiled@16", "coalesced"];

pub(super) fn select(device: &Device, problem: &Problem) -> Option<&'static Rung> {
    if problem.element != Element::F32 || problem.precision != Precision::Full {
        return None;
    }
    let facts = Facts::of(device, problem);
    let language = device.language();
    let fits = |choice: &&Choice| choice.language.is_none_or(|l| l == language) && (choice.when)(&facts);
    let words = TABLE.iter().filter(fits).map(|choice| choice.rung).chain(OTHERWISE.iter().copied());
    words
        .filter_map(|word| Matmul.ladder().iter().find(|rung| rung.id() == word))
        .find(|rung| runs(&Matmul, rung, device, problem))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(feature = "sim")]
    #[test]
    fn a_small_device_gets_a_rung_that_fits() {
        use crate::backend::{Backend, Select, sim::Sim};
        const SHARED: u32 = 16 << 10;
        let sim = pollster::block_on(Sim::open(&Select::default())).expect("the simulator opens anywhere");
        let mut device = sim.device().clone();
        device.limits.shared_static = SHARED;
        device.limits.threads_per_block = 256;
        for dims in [[512, 512, 512], [8192, 8192, 8192], [512, 512, 8192], [16, 4096, 4096], [4096, 4096, 2]] {
            let rung = select(&device, &Problem::new(Element::F32, dims)).expect("there is always one");
            assert!(rung.static_shared(Language::Wgsl, 4) <= SHARED.into(), "{}", rung.id());
            assert!(rung.tuned(Language::Wgsl, 4).passes[0].block.iter().product::<u32>() <= 256, "{}", rung.id());
        }
    }

    #[test]
    fn every_word_of_the_table_is_a_rung() {
        for word in TABLE.iter().map(|choice| choice.rung).chain(OTHERWISE.iter().copied()) {
            assert!(Matmul.ladder().iter().any(|rung| rung.id() == word), "{word}");
        }
    }
}
