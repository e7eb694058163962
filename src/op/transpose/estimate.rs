//! What the time of a transpose is estimated from. The weights are in [`costs_cuda`](super::costs_cuda) and
//! [`costs_wgsl`](super::costs_wgsl).

use super::sides;
use crate::op::Shape;
use crate::op::estimate::{Terms, fill, one_if};
use crate::problem::Problem;
use crate::rung::{Grid, Language, Rung};

/// The rungs that cover a matrix with tiles and have an estimate.
const TILED: [&str; 13] = [
    "naive",
    "coalesced_write",
    "tiled_padded@16",
    "coarsened",
    "swizzled",
    "register_blocked",
    "ordered",
    "any_width@square",
    "any_width@columns_8",
    "any_width@rows_2",
    "any_width@rows_8",
    "sheared@wide",
    "sheared@narrow",
];

const TILED_TERMS: [&str; 12] = [
    "launch",
    // Tiles of a multiprocessor; of the busiest one; the part of the device that has a tile.
    "tiles",
    "most tiles",
    "used",
    // How much of a tile lies in the matrix.
    "fill of rows",
    "fill of columns",
    "millions of elements",
    // Megabytes of the sectors in which a tile's parts of output rows lie.
    "sectors",
    // Megabytes read and written.
    "first megabyte",
    "megabytes, output rows off lines",
    "input rows off chunks",
    "output rows off words",
];

/// Of the WGSL kernels, which pack bytes and halves into words, each width in its own way.
const WGSL_TILED_TERMS: [&str; 11] = [
    "launch",
    // The part of the device that has a tile.
    "used",
    // How much of a tile lies in the matrix.
    "fill of rows",
    "fill of columns",
    "millions of elements",
    // Megabytes read and written.
    "first megabyte",
    "megabytes beyond the cache",
    "megabytes of few rows",
    "thousands of columns",
    "elements, output rows off words",
    "batched",
];

const SKINNY_TERMS: [&str; 4] = ["launch", "megabytes", "blocks", "short side"];
const SMALL_TERMS: [&str; 3] = ["launch", "megabytes", "kilobytes of a matrix"];
const WGSL_SMALL_TERMS: [&str; 4] = ["launch", "megabytes", "kilobytes of a matrix", "kilobytes in parts of words"];

/// Bytes of a sector, the least that memory moves, and of a line of the cache.
const SECTOR: u64 = 32;
const LINE: u64 = 128;
/// The widest access, in bytes.
const CHUNK: u64 = 16;
const WORD: u64 = 4;
/// The most megabytes of what was measured, in CUDA and WGSL; beyond them other rungs are faster.
const MEASURED: [f64; 2] = [150.0, 300.0];
/// The most elements of what was measured: bytes and halves beyond them are far from any of those.
const MOST_ELEMENTS: f64 = 1.7e7;

/// The terms of a rung; `None` where it has none for this problem, for other widths than 1 to 8 bytes,
/// and for matrices larger than those measured.
pub(super) fn terms(rung: &Rung, problem: &Problem, language: Language, multiprocessors: u64) -> Option<Terms> {
    let width = problem.element.size();
    let (input, output) = sides(problem);
    let elements = input.rows as f64 * input.cols as f64 * input.batch as f64;
    let megabytes = 2e-6 * elements * width as f64;
    let wgsl = language == Language::Wgsl;
    if width > 8 || megabytes > MEASURED[usize::from(wgsl)] || elements > MOST_ELEMENTS {
        return None;
    }
    let multiprocessors = multiprocessors as f64;
    match rung.name.as_ref() {
        "skinny" if rung.variant.is_empty() => Some(skinny(&input, width, megabytes, multiprocessors)),
        "batched_small" => Some(small(&input, width, megabytes, wgsl)),
        _ if TILED.contains(&&*rung.id()) => {
            let tile = tile(rung, language, width)?;
            let tiled = if wgsl { wgsl_tiled } else { tiled };
            Some(tiled(&[input, output], tile, width, megabytes, multiprocessors))
        }
        _ => None,
    }
}

/// Rows and columns of a rung's tile.
fn tile(rung: &Rung, language: Language, width: u64) -> Option<[u64; 2]> {
    match rung.tuned(language, width).passes.first()?.grid {
        Grid::Tiles { x, y } | Grid::TilesLinear { x, y } | Grid::TilesDown { x, y } => Some([y.into(), x.into()]),
        _ => None,
    }
}

/// The largest power of two, up to `most`, that divides the bytes between the rows of a side and before them.
fn alignment(side: &Shape, width: u64, most: u64) -> u64 {
    1 << (((side.leading_dimension() | side.layout.offset) * width) | most).trailing_zeros()
}

fn tiled(
    [input, output]: &[Shape; 2],
    [rows, cols]: [u64; 2],
    width: u64,
    megabytes: f64,
    multiprocessors: f64,
) -> Terms {
    let batch = input.batch as f64;
    let elements = megabytes / (2.0 * width as f64);
    let down = input.rows.div_ceil(rows) as f64;
    let share = down * input.cols.div_ceil(cols) as f64 * batch / multiprocessors;
    // A tile's part of an output row lies in whole sectors only where rows start at chunks.
    let part = rows.min(input.rows) * width + SECTOR - alignment(output, width, CHUNK);
    // Kernels that count in words differ from the others, and so do output rows that start inside a chunk.
    let family = match (width == WORD, alignment(output, width, CHUNK) == CHUNK) {
        (true, true) => "words, aligned",
        (true, false) => "words, ragged",
        (false, true) => "other widths, aligned",
        (false, false) => "other widths, ragged",
    };
    Terms::new(
        family,
        &TILED_TERMS,
        [
            1.0,
            share,
            share.ceil(),
            share.min(1.0),
            fill(input.rows, rows),
            fill(input.cols, cols),
            elements,
            down * input.cols as f64 * batch * part as f64 * 1e-6,
            megabytes.min(1.0),
            megabytes * one_if(alignment(output, width, LINE) < LINE),
            one_if(alignment(input, width, CHUNK) < CHUNK),
            one_if(alignment(output, width, WORD) < WORD),
        ],
    )
}

fn wgsl_tiled(
    [input, output]: &[Shape; 2],
    [rows, cols]: [u64; 2],
    width: u64,
    megabytes: f64,
    multiprocessors: f64,
) -> Terms {
    /// Megabytes that stay in the cache until the next kernel.
    const KEPT: f64 = 30.0;
    /// Input rows that make short output rows.
    const FEW_ROWS: u64 = 1024;
    let batch = input.batch as f64;
    let elements = megabytes / (2.0 * width as f64);
    let share = (input.rows.div_ceil(rows) * input.cols.div_ceil(cols)) as f64 * batch / multiprocessors;
    let family = match (width, alignment(output, width, CHUNK) == CHUNK) {
        (1, true) => "bytes, aligned",
        (1, false) => "bytes, ragged",
        (2, true) => "halves, aligned",
        (2, false) => "halves, ragged",
        (WORD, true) => "words, aligned",
        (WORD, false) => "words, ragged",
        (_, true) => "8 bytes, aligned",
        (_, false) => "8 bytes, ragged",
    };
    Terms::new(
        family,
        &WGSL_TILED_TERMS,
        [
            1.0,
            share.min(1.0),
            fill(input.rows, rows),
            fill(input.cols, cols),
            elements,
            megabytes.min(1.0),
            (megabytes - KEPT).max(0.0),
            megabytes * one_if(input.rows < FEW_ROWS),
            input.cols as f64 * batch / 1000.0,
            elements * one_if(alignment(output, width, WORD) < WORD),
            one_if(input.batch > 1),
        ],
    )
}

fn small(input: &Shape, width: u64, megabytes: f64, wgsl: bool) -> Terms {
    let kilobytes = input.rows as f64 * input.cols as f64 * width as f64 / 1000.0;
    if wgsl {
        let in_parts = kilobytes * one_if(width < WORD);
        return Terms::new("small", &WGSL_SMALL_TERMS, [1.0, megabytes, kilobytes, in_parts]);
    }
    Terms::new("small", &SMALL_TERMS, [1.0, megabytes, kilobytes])
}

fn skinny(input: &Shape, width: u64, megabytes: f64, multiprocessors: f64) -> Terms {
    /// Bytes of the long side's records that a block has.
    const BLOCK: f64 = 2048.0;
    let (short, bytes) = (input.rows.min(input.cols), input.rows as f64 * input.cols as f64 * width as f64);
    let blocks = (bytes / BLOCK).ceil() * input.batch as f64 / multiprocessors;
    Terms::new("skinny", &SKINNY_TERMS, [1.0, megabytes, blocks, short as f64])
}

#[cfg(test)]
mod tests {
    use super::super::{costs_cuda, costs_wgsl};
    use super::*;
    use crate::element::Element;
    use crate::op::estimate::check;
    use crate::op::{Op, Transpose};

    #[test]
    fn every_rung_with_terms_has_as_many_weights() {
        for element in [Element::U8, Element::F16, Element::F32, Element::F64] {
            let of = |dims: [u64; 2]| Problem::new(element, dims);
            let problems = [of([64, 64]), of([3, 10_000]), of([61, 61])];
            check(&Transpose, Language::Cuda, costs_cuda::COSTS, &problems);
            check(&Transpose, Language::Wgsl, costs_wgsl::COSTS, &problems);
        }
    }

    #[test]
    fn terms_count_what_they_are_named_for() {
        let rung = Transpose.ladder().iter().find(|rung| rung.id() == "swizzled").unwrap();
        let found = terms(rung, &Problem::new(Element::F16, [33, 64]), Language::Cuda, 8).unwrap();
        let of = |name| found.values[found.names.iter().position(|word| *word == name).unwrap()];
        // Two by two tiles on eight multiprocessors.
        assert_eq!((of("tiles"), of("most tiles"), of("used")), (0.5, 1.0, 0.5));
        // 64 output rows in two parts: 32 elements of two bytes that may start at any element.
        assert!((of("sectors") - 64.0 * 2.0 * (64.0 + 32.0 - 2.0) * 1e-6).abs() < 1e-12);
        assert_eq!((of("input rows off chunks"), of("output rows off words")), (0.0, 1.0));
    }
}
