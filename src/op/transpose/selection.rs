//! Which transpose to take where nobody asks for one.
//!
//! The rung with the shortest [estimate](crate::op::estimate); for large matrices and elements of 16 bytes the
//! first line of a table that fits. Both from measurements on one H200 (driver 580.159; WGSL through Vulkan);
//! `docs/transpose.md` has the figures. The rung must take the problem on the device. A processor
//! that imitates a GPU is given a short shader, which it runs as fast as the others.

use super::{costs_cuda, costs_wgsl, facts, ladder::LADDER, sides};
use crate::backend::Device;
use crate::op::estimate::estimates;
use crate::op::{Shape, Transpose, runs};
use crate::problem::Problem;
use crate::rung::{Language, Rung};

/// A line of the table.
struct Choice {
    /// The only language it is about; `None` for both.
    language: Option<Language>,
    /// The shapes it is about.
    when: fn(&Facts) -> bool,
    /// The rung to take then.
    rung: &'static str,
}

/// What the table distinguishes.
struct Facts {
    rows: u64,
    cols: u64,
    batch: u64,
    width: u64,
    /// Whether rows of both sides start at multiples of 16 bytes.
    aligned: bool,
}

impl Facts {
    fn of(problem: &Problem) -> Self {
        let (input, output): (Shape, Shape) = sides(problem);
        let aligned = |side| facts::aligned(side, problem.element);
        Facts {
            rows: input.rows,
            cols: input.cols,
            batch: input.batch,
            width: problem.element.size(),
            aligned: aligned(&input) && aligned(&output),
        }
    }

    /// Elements of so many chunks.
    fn chunks(&self, count: u64) -> u64 {
        count * 16 / self.width
    }

    /// A matrix of few columns, and of more rows than a square tile has.
    fn columns(&self, chunks: u64) -> bool {
        self.aligned && self.cols <= self.chunks(chunks) && self.rows > self.chunks(16)
    }

    /// Its mirror.
    fn rows(&self, chunks: u64) -> bool {
        self.aligned && self.rows <= self.chunks(chunks) && self.cols > self.chunks(16)
    }

    /// Many words in whole square tiles: two threads to a block lose where an edge cuts one.
    fn whole_words(&self) -> bool {
        const TILE: u64 = 64;
        const MEASURED: u64 = 1 << 20;
        let whole = self.rows.is_multiple_of(TILE) && self.cols.is_multiple_of(TILE);
        self.aligned && self.width == 4 && whole && self.rows * self.cols * self.batch >= MEASURED
    }

    /// A large batch of matrices of bytes or halves with at most so many elements on each side, at least 32.
    fn batch_within(&self, side: u64) -> bool {
        const LEAST: u64 = 32;
        const MEASURED: u64 = 1 << 22;
        let within = (LEAST..=side).contains(&self.rows) && (LEAST..=side).contains(&self.cols);
        self.aligned && self.width <= 2 && within && self.batch > 1 && self.rows * self.cols * self.batch >= MEASURED
    }

    /// Whether square tiles of 64x64 are more blocks than one dispatch of WebGPU takes.
    fn beyond_one_dispatch(&self) -> bool {
        self.rows.div_ceil(64).saturating_mul(self.cols.div_ceil(64)) > 65_535
    }
}

const fn both(rung: &'static str, when: fn(&Facts) -> bool) -> Choice {
    Choice { language: None, when, rung }
}

/// Before all estimates: batches of small matrices of bytes and halves, which a square tile mostly misses.
const FIRST: &[Choice] = &[
    Choice {
        language: Some(Language::Cuda),
        when: |f| f.batch_within(if f.width == 1 { 64 } else { 80 }),
        rung: "any_width@small",
    },
    Choice { language: Some(Language::Cuda), when: |f| f.batch_within(320), rung: "any_width@medium" },
];

const TABLE: &[Choice] = &[
    Choice { language: Some(Language::Cuda), when: |f| f.rows.max(f.cols) >= 64, rung: "gathered" },
    Choice { language: Some(Language::Cuda), when: |f| f.rows.max(f.cols) >= 64, rung: "skinny@kept" },
    both("skinny", |f| f.rows.max(f.cols) >= 64),
    both("batched_small", |f| f.batch > 1 && f.rows * f.cols * f.width <= 2048),
    Choice { language: Some(Language::Wgsl), when: |f| f.aligned && f.beyond_one_dispatch(), rung: "any_width@tall" },
    both("any_width@columns_1", |f| f.columns(1)),
    both("any_width@columns_2", |f| f.columns(2)),
    both("any_width@columns_4", |f| f.columns(4)),
    both("any_width@columns_8", |f| f.columns(8)),
    both("any_width@rows_1", |f| f.rows(1)),
    both("any_width@rows_2", |f| f.rows(2)),
    both("any_width@rows_4", |f| f.rows(4)),
    both("any_width@rows_8", |f| f.rows(8)),
    Choice { language: Some(Language::Wgsl), when: |f| !f.aligned && f.width == 8, rung: "swizzled" },
    Choice { language: Some(Language::Cuda), when: Facts::whole_words, rung: "any_width@pairs" },
    Choice { language: Some(Language::Cuda), when: |f| f.aligned, rung: "any_width@kept" },
    both("any_width@square", |f| f.aligned),
    Choice { language: Some(Language::Cuda), when: |f| f.cols * f.width <= 32 * 4, rung: "sheared@narrow" },
    both("sheared@wide", |_| true),
    both("sheared@narrow", |_| true),
];

/// A rung that is faster than another one wherever both run and that one is the choice, and so needs no estimate.
struct Better {
    than: &'static str,
    /// The shapes it is about.
    when: fn(&Facts) -> bool,
    rung: &'static str,
}

const BETTER: &[Better] = &[
    Better { than: "any_width@square", when: Facts::whole_words, rung: "any_width@pairs" },
    Better { than: "any_width@square", when: |_| true, rung: "any_width@kept" },
    Better { than: "skinny", when: |_| true, rung: "gathered" },
];

/// For a processor that imitates a GPU.
const ON_A_PROCESSOR: &str = "naive";

/// For devices that the table's rungs are too large for.
const OTHERWISE: &[&str] = &["ordered", "register_blocked", "coarsened", "tiled_padded@16", "naive"];

/// The candidates for a problem, the likeliest first.
fn candidates(device: &Device, problem: &Problem) -> Vec<&'static Rung> {
    let (facts, language) = (&Facts::of(problem), device.language());
    let costs = match language {
        Language::Cuda => costs_cuda::COSTS,
        Language::Wgsl => costs_wgsl::COSTS,
    };
    let named = |word: &&str| LADDER.iter().find(|rung| rung.id() == *word);
    let short = device.compiles_for_the_host().then_some(&ON_A_PROCESSOR);
    let better = |rung: &Rung| {
        let id = rung.id();
        BETTER.iter().filter(move |b| b.than == id && (b.when)(facts)).filter_map(|b| named(&b.rung))
    };
    let estimated = estimates(&Transpose, costs, device, problem).into_iter();
    let estimated = estimated.flat_map(|(rung, _)| better(rung).chain([rung]));
    let fits = |choice: &&Choice| choice.language.is_none_or(|l| l == language) && (choice.when)(facts);
    let table = TABLE.iter().filter(fits).map(|choice| &choice.rung).chain(OTHERWISE);
    let first = FIRST.iter().filter(fits).map(|choice| &choice.rung);
    short.into_iter().chain(first).filter_map(named).chain(estimated).chain(table.filter_map(named)).collect()
}

pub(super) fn select(device: &Device, problem: &Problem) -> Option<&'static Rung> {
    candidates(device, problem).into_iter().find(|rung| runs(&Transpose, rung, device, problem))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::Element;

    #[test]
    fn small_matrices_get_short_kernels_and_large_ones_long_runs() {
        let device = crate::op::test_device((9, 0));
        let of = |dims: [u64; 2]| select(&device, &Problem::new(Element::F32, dims)).map(Rung::id).unwrap_or_default();
        assert_eq!(of([256, 256]), "tiled_padded@16");
        assert_eq!(of([8192, 8192]), "any_width@pairs");
        assert_eq!(of([8192, 8196]), "any_width@kept");
        assert_eq!(of([8191, 8193]), "sheared@wide");
        assert_eq!(of([10_000_000, 3]), "gathered");
        let batch = |element, side: u64| {
            let problem = Problem::new(element, [side, side]).with_batch(16384);
            select(&device, &problem).map(Rung::id).unwrap_or_default()
        };
        assert_eq!(batch(Element::I8, 64), "any_width@small");
        assert_eq!(batch(Element::F16, 64), "any_width@small");
        assert_eq!(batch(Element::I8, 192), "any_width@medium");
        assert_eq!(batch(Element::F16, 192), "any_width@kept");
        let bytes = Problem::new(Element::I8, [8192, 8192]);
        assert_eq!(select(&device, &bytes).map(Rung::id).as_deref(), Some("any_width@kept"));
    }

    #[test]
    fn wgsl_has_its_own_weights() {
        let device = Device { compute_capability: None, multiprocessors: None, ..crate::op::test_device((9, 0)) };
        let of =
            |element, dims: [u64; 2]| select(&device, &Problem::new(element, dims)).map(Rung::id).unwrap_or_default();
        assert!(["naive", "coalesced_write", "tiled_padded@16"].contains(&&*of(Element::F32, [75, 32])));
        assert!(["coarsened", "swizzled"].contains(&&*of(Element::F64, [2880, 5825])));
        assert_eq!(of(Element::F32, [8192, 8192]), "any_width@square");
        // Beyond what the weights were fitted to, the table.
        assert_eq!(of(Element::F16, [8192, 8192]), "any_width@square");
        assert_eq!(of(Element::I8, [8192, 8192]), "any_width@square");
        assert_eq!(of(Element::F32, [8191, 8193]), "sheared@wide");
    }

    #[test]
    fn every_word_is_a_rung() {
        let words = FIRST
            .iter()
            .chain(TABLE)
            .map(|choice| choice.rung)
            .chain(OTHERWISE.iter().copied())
            .chain([ON_A_PROCESSOR]);
        for word in words {
            assert!(LADDER.iter().any(|rung| rung.id() == word), "{word}");
        }
        for Better { than, rung, .. } in BETTER {
            assert!([than, rung].iter().all(|word| LADDER.iter().any(|rung| rung.id() == **word)), "{than}, {rung}");
        }
    }
}
