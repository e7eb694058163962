//! Which transpose to take where nobody asks for one: a table of what was measured fastest, and
//! behind it what is likeliest to be.
//!
//! Measured on one H200 (driver 580.159; CUDA, and WGSL through Vulkan), each candidate against the
//! fastest copy of the same bytes; `docs/transpose.md` has the shares. The first line that fits and
//! whose rung takes the problem wins.

use super::{facts, ladder::LADDER, sides};
use crate::backend::Device;
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

    /// Whether square tiles of 64x64 are more blocks than one dispatch of WebGPU takes.
    fn beyond_one_dispatch(&self) -> bool {
        self.rows.div_ceil(64).saturating_mul(self.cols.div_ceil(64)) > 65_535
    }
}

const fn both(rung: &'static str, when: fn(&Facts) -> bool) -> Choice {
    Choice { language: None, when, rung }
}

const TABLE: &[Choice] = &[
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
    Choice { language: Some(Language::Cuda), when: |f| f.aligned, rung: "any_width@kept" },
    both("any_width@square", |f| f.aligned),
    Choice { language: Some(Language::Cuda), when: |f| f.cols * f.width <= 32 * 4, rung: "sheared@narrow" },
    both("sheared@wide", |_| true),
    both("sheared@narrow", |_| true),
];

/// For devices that the table's rungs are too large for.
const OTHERWISE: &[&str] = &["ordered", "register_blocked", "coarsened", "tiled_padded@16", "naive"];

pub(super) fn select(device: &Device, problem: &Problem) -> Option<&'static Rung> {
    let facts = Facts::of(problem);
    let language = device.language();
    let fits = |choice: &&Choice| choice.language.is_none_or(|l| l == language) && (choice.when)(&facts);
    let words = TABLE.iter().filter(fits).map(|choice| choice.rung).chain(OTHERWISE.iter().copied());
    words
        .filter_map(|word| LADDER.iter().find(|rung| rung.id() == word))
        .find(|rung| runs(&Transpose, rung, device, problem))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_the_table_is_a_rung() {
        for word in TABLE.iter().map(|choice| choice.rung).chain(OTHERWISE.iter().copied()) {
            assert!(LADDER.iter().any(|rung| rung.id() == word), "{word}");
        }
    }
}
