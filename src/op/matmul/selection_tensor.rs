//! Which kernel of the matrix units to take where nobody asks for one.
//!
//! Measured on one H200: eight square sizes and six other shapes (`docs/kernels/matmul-tensor-cores.md`). The
//! first line that fits and whose rung takes the problem wins; the last ones take everything.

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
/// Tiles of 160 x 128 of which two at a time on each leave no large rest.
const MANY_TILES: u64 = 2048;
/// Multiprocessors of an H200.
const MULTIPROCESSORS: u64 = 132;
/// The least k that is worth dividing.
const LONG_K: u64 = 4096;

/// A line of the WGSL table: rungs without a twin in CUDA.
struct Choice {
    /// Whether only devices whose shaders keep no checks of a browser take it.
    unchecked: bool,
    /// Rows and columns of a tile, and how many tiles there must be.
    tiles: (u64, u64, u64),
    rungs: &'static [&'static str],
}

/// The likeliest first. A browser's checks cost the first two lines a quarter to a third.
const WGSL: &[Choice] = &[
    Choice {
        unchecked: true,
        tiles: (160, 128, MANY_TILES),
        rungs: &["cooperative_tall", "cooperative_tall@turned", "cooperative_tall@copied"],
    },
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
    let mut names = Vec::new();
    if problem.dim(2) >= LONG_K {
        let few = |rows, cols| tiles(problem, rows, cols) <= FEW_TILES;
        names.extend(match problem.dim(0) {
            0..=128 if few(128, 128) => Some("split_k@128x128"),
            _ if few(192, 192) && computed(problem, 192, 192) < computed(problem, 128, 256) => Some("split_k@192x192"),
            _ if few(128, 256) => Some("split_k@128x256"),
            _ => None,
        });
    }
    // Smaller tiles where larger ones are too few for the machine; shared out where there are several rounds.
    names.extend(match tiles(problem, 128, 256) {
        0..=48 => ["async_store@64", "async_store"].as_slice(),
        49..=MULTIPROCESSORS => &["async_store@128", "async_store"],
        _ => &["even_shares@swapped", "even_shares"],
    });
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
    fn a_browser_s_checks_change_the_choice_in_wgsl() {
        let device = |browser_checks| Device {
            cooperative: vec![crate::backend::Cooperative::square(16, Element::F16, Element::F32)],
            browser_checks,
            compute_capability: None,
            ..crate::op::test_device((9, 0))
        };
        let taken = |checks, dims: [u64; 3]| select(&device(checks), &Problem::new(Element::F16, dims)).map(Rung::id);
        assert_eq!(taken(false, [8192; 3]).as_deref(), Some("cooperative_tall@turned"));
        assert_eq!(taken(false, [4096; 3]).as_deref(), Some("cooperative_ahead@turned"));
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
