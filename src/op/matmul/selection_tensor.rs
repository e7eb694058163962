//! Which kernel of the matrix units to take where nobody asks for one.
//!
//! What divides k is taken by rules, else the rung with the shortest estimated time; measured on one H200
//! (`docs/kernels/matmul-tensor-cores.md`). The first candidate whose rung takes the problem wins; the last ones
//! take everything.

use super::ladder_tensor::{FEW, SOME};
use super::{LADDER, Matmul};
use crate::backend::Device;
use crate::element::Element;
use crate::op::runs;
use crate::problem::{Precision, Problem};
use crate::rung::Rung;

/// The most tiles that two blocks each put on an H200's multiprocessors at a time.
const FEW_TILES: u64 = 66;
/// Tiles of 128 x 256 that are about two for each of an H200's multiprocessors, one at a time.
const ENOUGH_TILES: u64 = 256;
/// Multiprocessors of a device that does not tell: an H200's.
const MULTIPROCESSORS: u32 = 132;
/// Rows of c up to which b is all there is to read, and the k that makes it worth dividing.
const MOST_ROWS: u64 = 64;
const MIDDLING_K: u64 = 1024;
/// Rows of most tiles.
const BLOCK_M: u64 = 128;
/// The least k that is worth dividing.
const LONG_K: u64 = 4096;
/// The same where undivided tiles of 128 x 144 fill the device as well.
const LONGER_K: u64 = 16384;
/// The same where undivided tiles of 128 x 128 would do: adding sums takes 2 us.
const LONGEST_K: u64 = 24576;

/// A line of the WGSL table: rungs without a twin in CUDA.
struct Choice {
    /// Whether only devices whose shaders keep no checks of a browser take it.
    unchecked: bool,
    /// Rows and columns of a tile, and how many tiles there must be.
    tiles: (u64, u64, u64),
    rungs: &'static [&'static str],
}

/// The likeliest first. A browser's checks cost the first line a quarter to a third.
const WGSL: &[Choice] = &[
    Choice {
        unchecked: true,
        tiles: (128, 256, ENOUGH_TILES),
        rungs: &["cooperative_ahead", "cooperative_ahead@turned", "cooperative_ahead@copied"],
    },
    Choice { unchecked: false, tiles: (128, 128, 0), rungs: &["cooperative_words"] },
];

impl Choice {
    fn fits(&self, device: &Device, problem: &Problem) -> bool {
        let (rows, cols, least) = self.tiles;
        tiles(problem, rows, cols) >= least && !(self.unchecked && device.browser_checks)
    }
}

/// Tiles of C.
fn tiles(problem: &Problem, rows: u64, cols: u64) -> u64 {
    problem.dim(0).div_ceil(rows) * problem.dim(1).div_ceil(cols) * problem.batch
}

/// How a rung cuts C into tiles, of 128 rows where nothing else is said.
enum Cut {
    /// Into tiles of so many rows and columns.
    Equal(u64, u64),
    /// Into wide ones of so many and narrow ones, as `even_shares` does.
    Shares(u64, Longer),
    /// The same with rows and columns changed.
    Swapped(u64, Longer),
}

/// How much longer a column takes than one of a wide tile with k contiguous in b: a column of a narrow tile there, since
/// as much of b is copied as for a wide one; any column where k is not contiguous and copies are of 64 columns, and one
/// of a narrow tile more than that.
#[derive(Clone, Copy)]
struct Longer {
    along_k: f64,
    across: f64,
    narrow_across: f64,
}

/// A rung of tiles, and microseconds of a kernel, of a tile, and of a million multiply-adds of 128 rows by one column.
struct Tiled {
    rung: &'static str,
    cut: Cut,
    kernel: f64,
    tile: f64,
    column: f64,
}

const fn tiled(rung: &'static str, cut: Cut, [kernel, tile, column]: [f64; 3]) -> Tiled {
    Tiled { rung, cut, kernel, tile, column }
}

const WHOLE: Longer = Longer { along_k: 1.02, across: 1.0, narrow_across: 1.03 };
const BY_224: Longer = Longer { along_k: 1.02, across: 1.04, narrow_across: 1.09 };
const BY_192: Longer = Longer { along_k: 1.02, across: 1.0, narrow_across: 1.06 };
const BY_160: Longer = Longer { along_k: 1.14, across: 1.03, narrow_across: 1.12 };
const BY_144: Longer = Longer { along_k: 1.14, across: 1.08, narrow_across: 1.12 };

/// A tie goes to the first. Fitted to 130 products of 16 bits (NN and NT, 256 to 28672); from rung to rung only the differences matter.
const TILED: [Tiled; 11] = [
    tiled("even_shares@swapped", Cut::Swapped(256, WHOLE), [1.3, 1.9, 45.9]),
    tiled("even_shares", Cut::Shares(256, WHOLE), [1.3, 1.9, 46.0]),
    tiled("even_shares@224", Cut::Shares(224, BY_224), [1.5, 1.9, 46.5]),
    tiled("even_shares@192", Cut::Shares(192, BY_192), [1.5, 1.5, 46.9]),
    tiled("even_shares@swapped160", Cut::Swapped(160, BY_160), [0.5, 2.5, 48.5]),
    tiled("even_shares@160", Cut::Shares(160, BY_160), [0.5, 2.5, 48.5]),
    tiled("even_shares@swapped144", Cut::Swapped(144, BY_144), [0.5, 2.5, 50.5]),
    tiled("even_shares@144", Cut::Shares(144, BY_144), [0.5, 2.5, 50.5]),
    tiled("async_store@128", Cut::Equal(BLOCK_M, 128), [0.9, 1.0, 46.2]),
    tiled("async_store@64", Cut::Equal(BLOCK_M, 64), [3.0, 1.0, 52.7]),
    tiled("split_k@undivided", Cut::Equal(192, 192), [0.0, 5.5, 47.2]),
];

/// A narrow tile: columns that it has less than a wide one, and how much longer it takes for one of them.
#[derive(Clone, Copy)]
struct Narrow {
    less: u64,
    longer: f64,
}

impl Longer {
    fn along_k(self) -> Narrow {
        Narrow { less: 24, longer: self.along_k }
    }

    fn across(self) -> Narrow {
        Narrow { less: 16, longer: self.narrow_across }
    }
}

impl Tiled {
    /// Microseconds on a device of so many multiprocessors.
    fn estimate(&self, problem: &Problem, multiprocessors: u64) -> f64 {
        let (rows, columns) = (problem.dim(0), problem.dim(1));
        let (of_each, tiles_of_each) = match self.cut {
            Cut::Equal(height, width) => {
                let tiles = tiles(problem, height, width).div_ceil(multiprocessors);
                ((tiles * width * height) as f64 / BLOCK_M as f64, tiles)
            }
            Cut::Shares(wide, longer) if problem.layout(1).transposed => {
                shares([rows, columns], problem.batch, wide, longer.along_k(), multiprocessors)
            }
            Cut::Shares(wide, longer) => {
                let (of_each, tiles) = shares([rows, columns], problem.batch, wide, longer.across(), multiprocessors);
                (of_each * longer.across, tiles)
            }
            Cut::Swapped(wide, longer) => {
                shares([columns, rows], problem.batch, wide, longer.along_k(), multiprocessors)
            }
        };
        self.kernel + self.tile * tiles_of_each as f64 + self.column * of_each * problem.dim(2) as f64 * 1e-6
    }
}

/// Columns and tiles of the busiest of `blocks`, as `even_shares` cuts C, without the 8 columns that half of a
/// narrow tile may have less.
fn shares([rows, columns]: [u64; 2], batch: u64, wide: u64, kind: Narrow, blocks: u64) -> (f64, u64) {
    let narrow = wide - kind.less;
    let rows = (rows.div_ceil(BLOCK_M) * batch).max(1);
    let (least, most) = (columns.div_ceil(wide), columns.div_ceil(narrow));
    // Turns of the blocks in which there is no tile, and the rows of tiles that get one more for them.
    let spare = (rows * least).next_multiple_of(blocks) - rows * least;
    let (across, longer) = if least + spare / rows >= most { (most, 0) } else { (least + spare / rows, spare % rows) };
    let wide_among = |tiles: u64| tiles - tiles.min((tiles * wide - columns) / kind.less);
    // The wide ones come first: the first block has the most of both.
    let wide_tiles = (rows - longer) * wide_among(across) + longer * wide_among(across + 1);
    let (tiles, wide_tiles) = ((rows * across + longer).div_ceil(blocks), wide_tiles.div_ceil(blocks));
    ((wide_tiles * wide) as f64 + ((tiles - wide_tiles) * narrow) as f64 * kind.longer, tiles)
}

/// Elements that tiles of this size compute, those outside C among them.
fn computed(problem: &Problem, rows: u64, cols: u64) -> u64 {
    tiles(problem, rows, cols) * rows * cols
}

/// The candidates for a problem, the likeliest first.
fn candidates(device: &Device, problem: &Problem) -> Vec<&'static str> {
    match problem.precision {
        Precision::Tf32 => return vec!["async_store@tf32", "register_operand", "register_operand@copied"],
        Precision::SplitTf32 => return vec!["split_products@tf32"],
        Precision::SplitF16 => return vec!["split_products@f16"],
        Precision::SplitBf16 => return vec!["split_products@bf16"],
        Precision::Full if problem.element == Element::F32 => return Vec::new(),
        Precision::Full => {}
    }
    let multiprocessors = device.multiprocessors.unwrap_or(MULTIPROCESSORS).max(1).into();
    let in_one_round = |cols| tiles(problem, BLOCK_M, cols) <= multiprocessors;
    let mut names = Vec::new();
    if problem.dim(0) <= MOST_ROWS && problem.dim(2) >= MIDDLING_K {
        let at_most = |(_, rows): (&str, u32)| problem.dim(0) <= rows.into();
        names.extend(at_most(FEW).then_some("split_k@16x64"));
        names.extend(at_most(SOME).then_some("split_k@32x64"));
        names.push("split_k@64x64");
    }
    if problem.dim(2) >= LONG_K {
        let few = |rows, cols| tiles(problem, rows, cols) <= FEW_TILES;
        let fits_as_well = || computed(problem, 192, 192) <= computed(problem, 128, 256);
        if few(128, 128) {
            names.push("split_k@128x128");
        } else if few(192, 192) && fits_as_well() && !(in_one_round(144) && problem.dim(2) < LONGER_K) {
            names.push("split_k@192x192");
        } else if few(128, 192) {
            names.push("split_k@128x192");
        } else if few(128, 256) && problem.dim(2) >= LONGEST_K {
            names.push("split_k@128x256");
        } else if (BLOCK_M + 1..=2 * BLOCK_M).contains(&problem.dim(0)) && in_one_round(224) && !in_one_round(192) {
            names.push("split_k@128x224");
        }
    }
    let mut estimated = TILED.map(|tiled| (tiled.rung, tiled.estimate(problem, multiprocessors)));
    estimated.sort_by(|a, b| a.1.total_cmp(&b.1));
    names.extend(estimated.map(|(rung, _)| rung));
    names.extend(["persistent", "persistent@copied", "ldmatrix_pipelined", "ldmatrix_pipelined@copied"]);
    names.extend(WGSL.iter().filter(|choice| choice.fits(device, problem)).flat_map(|choice| choice.rungs));
    names
}

/// The rung for a problem of 16 bits, or of f32 in another precision than its own.
pub(super) fn select(device: &Device, problem: &Problem) -> Option<&'static Rung> {
    candidates(device, problem)
        .into_iter()
        .filter_map(|name| LADDER.iter().find(|rung| rung.id() == name))
        .find(|rung| runs(&Matmul, rung, device, problem))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Layout;

    fn first(problem: &Problem) -> &'static str {
        candidates(&crate::op::test_device((9, 0)), problem)[0]
    }

    #[test]
    fn every_candidate_is_a_rung() {
        for &precision in Precision::ALL {
            for element in [Element::F32, Element::F16, Element::Bf16] {
                for dims in [[64, 64, 64], [128, 7168, 16384], [576, 4096, 7168], [4096, 512, 32768], [8192; 3]] {
                    let problem = Problem::new(element, dims).with_precision(precision);
                    for name in candidates(&crate::op::test_device((9, 0)), &problem) {
                        assert!(LADDER.iter().any(|rung| rung.id() == name), "{name}");
                    }
                }
            }
        }
    }

    #[test]
    fn few_tiles_with_a_long_k_are_divided() {
        let of = |dims: [u64; 3]| first(&Problem::new(Element::Bf16, dims));
        assert_eq!(of([4096, 512, 32768]), "split_k@128x256");
        assert_eq!(of([576, 4096, 7168]), "split_k@192x192");
        assert_eq!(of([128, 7168, 16384]), "split_k@128x128");
        assert_eq!(of([1024, 1024, 1024]), "async_store@64");
        assert_eq!(of([2048, 2048, 2048]), "async_store@128");
        assert_eq!(of([4096, 4096, 4096]), "even_shares@swapped");
        assert_eq!(of([8192, 8192, 8192]), "even_shares@swapped");
    }

    #[test]
    fn what_tiles_fit_a_middling_size_is_estimated() {
        let of = |dims: [u64; 3]| first(&Problem::new(Element::Bf16, dims));
        assert_eq!(of([2304; 3]), "async_store@128");
        assert_eq!(of([1536; 3]), "even_shares@swapped144");
        assert_eq!(of([640, 4096, 4096]), "even_shares@swapped160");
        assert_eq!(of([3072; 3]), "even_shares@192");
        assert_eq!(of([5120; 3]), "even_shares@224");
        for size in [2560, 3328, 4096, 6144, 8192, 16384] {
            assert_eq!(of([size; 3]), "even_shares@swapped", "{size}");
        }
        assert_eq!(of([16, 4096, 4096]), "split_k@16x64");
        assert_eq!(of([32, 4096, 4096]), "split_k@32x64");
        assert_eq!(of([64, 14336, 4096]), "split_k@64x64");
    }

    /// Rungs that take only NN are passed over.
    #[test]
    fn what_tiles_fit_other_layouts_is_estimated() {
        let of = |a: bool, b: bool, dims: [u64; 3]| {
            let layout = |transposed| Layout { transposed, ..Layout::default() };
            let problem = Problem::new(Element::Bf16, dims).with_layout(0, layout(a)).with_layout(1, layout(b));
            select(&crate::op::test_device((9, 0)), &problem).map(Rung::id).unwrap_or_default()
        };
        assert_eq!(of(false, true, [512, 6144, 4096]), "even_shares@192");
        assert_eq!(of(false, true, [768, 6144, 4096]), "split_k@undivided");
        assert_eq!(of(false, true, [384, 6144, 4096]), "even_shares@144");
        assert_eq!(of(false, true, [640, 4096, 4096]), "even_shares@160");
        assert_eq!(of(false, true, [256, 14336, 4096]), "split_k@128x224");
        assert_eq!(of(false, true, [512, 14336, 4096]), "even_shares@224");
        assert_eq!(of(false, true, [256, 6144, 4096]), "split_k@128x192");
        assert_eq!(of(false, true, [768, 4096, 4096]), "even_shares@192");
        assert_eq!(of(false, true, [768, 7168, 4096]), "even_shares@192");
        assert_eq!(of(false, true, [512, 4096, 4096]), "async_store@128");
        assert_eq!(of(false, true, [1024, 7168, 2048]), "even_shares@224");
        assert_eq!(of(false, true, [1024, 6144, 4096]), "async_store@128");
        for (a, b) in [(false, true), (true, false), (true, true)] {
            assert_eq!(of(a, b, [4096; 3]), "even_shares");
            assert_eq!(of(a, b, [8192; 3]), "even_shares");
        }
    }

    /// 512 tiles of 256 columns for 132 blocks: four wide ones each, or three and a narrow one.
    #[test]
    fn shares_are_those_of_the_kernel() {
        let (columns, tiles) = shares([4096, 4096], 1, 256, WHOLE.along_k(), 132);
        assert!(tiles == 4 && (columns - (3.0 * 256.0 + 232.0 * 1.02)).abs() < 1e-9, "{columns} {tiles}");
        assert_eq!(shares([1024, 1024], 1, 256, WHOLE.across(), 132).1, 1);
        assert_eq!(shares([0, 0], 1, 256, WHOLE.across(), 132), (0.0, 0));
    }

    #[test]
    fn a_browser_s_checks_change_the_choice_in_wgsl() {
        let device = |browser_checks| Device {
            cooperative: vec![crate::backend::Cooperative::square(16, Element::F16, Element::F32)],
            browser_checks,
            compute_capability: None,
            ..crate::op::test_device((9, 0))
        };
        let taken = |checks, dims: [u64; 3]| select(&device(checks), &Problem::new(Element::F16, dims)).map(Rung::id);
        for size in [4096, 8192] {
            assert_eq!(taken(false, [size; 3]).as_deref(), Some("cooperative_ahead@turned"));
        }
        assert_eq!(taken(false, [512; 3]).as_deref(), Some("cooperative_words"));
        for size in [512, 4096, 8192] {
            assert_eq!(taken(true, [size; 3]).as_deref(), Some("cooperative_words"));
        }
    }

    #[test]
    fn the_last_candidate_takes_rows_that_start_anywhere() {
        let odd = |index| Layout { leading_dimension: Some(101), offset: index, ..Layout::default() };
        let problem = (0..3)
            .fold(Problem::new(Element::F16, [99, 99, 99]), |problem, i| problem.with_layout(i, odd(i as u64 + 1)));
        let takes = |name: &str| {
            let rung = LADDER.iter().find(|rung| rung.id() == name);
            rung.is_some_and(|rung| crate::op::accepts(&Matmul, rung, crate::rung::Language::Cuda, &problem).is_ok())
        };
        assert!(!takes("async_store") && takes("persistent@copied") && takes("ldmatrix_pipelined@copied"));
    }
}
