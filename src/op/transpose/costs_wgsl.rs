//! The weights of [`estimate`](super::estimate) in microseconds, fitted by least squares of the relative
//! error (none below 0) to the times of 638 random problems on one H200. Printed by
//! `examples/fit_selection.rs` from a survey that `docs/results` keeps.

use crate::op::estimate::Cost;

#[allow(clippy::approx_constant)] // a weight may be near one
pub(super) const COSTS: &[Cost] = &[
    // other widths, aligned: launch; tiles; most tiles; used; fill of rows; fill of columns; millions of elements; sectors; first megabyte; megabytes, output rows off lines; input rows off chunks; output rows off words
    Cost {
        rung: "any_width@columns_8",
        family: "other widths, aligned",
        weights: &[4.879, 0.0, 0.1838, 0.0, 0.0, 0.01523, 1.231, 0.0, 0.3948, 0.1738, 0.0, 0.0],
    },
    // words, aligned: launch; tiles; most tiles; used; fill of rows; fill of columns; millions of elements; sectors; first megabyte; megabytes, output rows off lines; input rows off chunks; output rows off words
    Cost {
        rung: "any_width@columns_8",
        family: "words, aligned",
        weights: &[4.341, 0.3238, 0.0, 0.3857, 0.0, 0.8339, 0.0, 0.2182, 0.1727, 0.03735, 0.0, 0.0],
    },
    Cost {
        rung: "any_width@rows_2",
        family: "other widths, aligned",
        weights: &[4.035, 0.0, 0.297, 0.0, 0.8108, 0.0, 2.798, 0.0, 0.2891, 0.1122, 0.0, 0.0],
    },
    Cost {
        rung: "any_width@rows_2",
        family: "words, aligned",
        weights: &[4.504, 0.3437, 0.1342, 0.2388, 0.0, 0.6795, 0.0, 0.2711, 0.6533, 0.01915, 0.0, 0.0],
    },
    Cost {
        rung: "any_width@rows_8",
        family: "other widths, aligned",
        weights: &[4.952, 0.0, 0.1847, 0.0, 0.0, 0.0, 1.207, 0.0, 0.2784, 0.1599, 0.0, 0.0],
    },
    Cost {
        rung: "any_width@rows_8",
        family: "words, aligned",
        weights: &[4.509, 0.2515, 0.0, 0.544, 0.0, 0.7083, 0.0, 0.2593, 0.0, 0.04519, 0.0, 0.0],
    },
    Cost {
        rung: "any_width@square",
        family: "other widths, aligned",
        weights: &[4.928, 0.2115, 0.6358, 0.0, 0.0, 0.3088, 0.139, 0.2585, 0.9128, 0.1678, 0.0, 0.0],
    },
    Cost {
        rung: "any_width@square",
        family: "words, aligned",
        weights: &[3.99, 0.0, 0.4605, 0.04276, 0.0, 0.6394, 0.0, 0.3047, 1.062, 0.03518, 0.0, 0.0],
    },
    // small: launch; megabytes; kilobytes of a matrix
    Cost { rung: "batched_small", family: "small", weights: &[4.656, 0.8718, 0.1507] },
    Cost {
        rung: "coalesced_write",
        family: "other widths, aligned",
        weights: &[3.875, 0.08368, 0.0, 0.266, 0.001776, 0.2023, 2.936, 0.005912, 0.628, 0.002392, 0.01493, 0.0],
    },
    // other widths, ragged: launch; tiles; most tiles; used; fill of rows; fill of columns; millions of elements; sectors; first megabyte; megabytes, output rows off lines; input rows off chunks; output rows off words
    Cost {
        rung: "coalesced_write",
        family: "other widths, ragged",
        weights: &[2.616, 0.0, 0.06778, 0.3223, 0.4032, 1.169, 0.0, 0.4556, 0.0, 0.0, 0.0, 0.0],
    },
    Cost {
        rung: "coalesced_write",
        family: "words, aligned",
        weights: &[3.913, 0.0, 0.0, 0.2178, 0.0, 0.1679, 0.456, 0.856, 0.4152, 0.0, 0.0, 0.0],
    },
    // words, ragged: launch; tiles; most tiles; used; fill of rows; fill of columns; millions of elements; sectors; first megabyte; megabytes, output rows off lines; input rows off chunks; output rows off words
    Cost {
        rung: "coalesced_write",
        family: "words, ragged",
        weights: &[3.961, 0.06637, 0.0, 0.1536, 0.1466, 0.03752, 0.5306, 0.3919, 0.3373, 0.0, 0.0, 0.0],
    },
    Cost {
        rung: "coarsened",
        family: "other widths, aligned",
        weights: &[3.899, 0.02067, 0.06294, 0.1308, 0.0264, 0.2873, 3.48, 0.0, 0.4535, 0.02341, 0.1021, 0.0],
    },
    Cost {
        rung: "coarsened",
        family: "other widths, ragged",
        weights: &[3.749, 0.0, 0.1136, 0.0, 0.1428, 0.4955, 0.0, 0.4762, 0.0, 0.0, 0.05024, 0.0],
    },
    Cost {
        rung: "coarsened",
        family: "words, aligned",
        weights: &[3.886, 0.08115, 0.0, 0.2414, 0.02472, 0.4375, 1.208, 0.07961, 0.2369, 0.004934, 0.02719, 0.0],
    },
    Cost {
        rung: "coarsened",
        family: "words, ragged",
        weights: &[4.067, 0.08184, 7.68e-5, 0.1832, 0.07841, 0.2039, 2.312, 0.008392, 0.0, 0.000298, 0.0, 0.0],
    },
    Cost {
        rung: "naive",
        family: "other widths, aligned",
        weights: &[3.789, 0.0, 0.0, 0.2534, 0.2116, 0.1641, 15.2, 0.0, 0.0, 0.0, 0.0, 0.0],
    },
    Cost {
        rung: "naive",
        family: "other widths, ragged",
        weights: &[3.27, 0.0, 0.0424, 0.0, 0.4799, 0.5498, 13.21, 0.1509, 0.0, 0.0, 0.0, 0.0],
    },
    Cost {
        rung: "naive",
        family: "words, aligned",
        weights: &[3.702, 0.0, 0.03497, 0.1143, 0.1418, 0.289, 12.28, 0.0, 0.3196, 0.0, 0.04729, 0.0],
    },
    Cost {
        rung: "naive",
        family: "words, ragged",
        weights: &[3.842, 0.01818, 0.0, 0.1482, 0.247, 0.09046, 12.81, 0.0, 0.05558, 0.0, 0.00366, 0.0],
    },
    Cost {
        rung: "ordered",
        family: "words, aligned",
        weights: &[4.69, 0.2897, 0.08726, 0.0, 0.1295, 0.147, 1.387, 0.0, 0.1388, 0.004206, 0.04966, 0.0],
    },
    Cost {
        rung: "ordered",
        family: "words, ragged",
        weights: &[4.895, 0.4395, 0.1996, 0.0, 0.05119, 1.126, 1.177, 0.02021, 0.03042, 0.0, 0.0, 0.0],
    },
    Cost {
        rung: "register_blocked",
        family: "words, aligned",
        weights: &[4.722, 0.2409, 0.1006, 0.0, 0.01109, 0.07144, 1.449, 0.0, 0.2241, 0.006989, 0.00132, 0.0],
    },
    Cost {
        rung: "register_blocked",
        family: "words, ragged",
        weights: &[4.854, 0.2999, 0.2899, 0.0, 0.0, 1.043, 0.7324, 0.1728, 0.0, 0.0, 0.0, 0.0],
    },
    Cost {
        rung: "sheared@narrow",
        family: "other widths, aligned",
        weights: &[3.842, 0.0, 0.3967, 0.0, 0.9004, 0.3873, 1.309, 0.0, 0.0, 0.0, 0.3836, 0.0],
    },
    Cost {
        rung: "sheared@narrow",
        family: "other widths, ragged",
        weights: &[5.104, 0.1949, 0.0, 0.0, 0.0, 3.019, 1.988, 0.0, 0.1551, 0.0, 0.0, 3.918],
    },
    Cost {
        rung: "sheared@narrow",
        family: "words, aligned",
        weights: &[4.351, 0.2027, 0.0, 0.003256, 0.1348, 0.2541, 1.431, 0.0, 0.2562, 0.0004827, 0.05034, 0.0],
    },
    Cost {
        rung: "sheared@narrow",
        family: "words, ragged",
        weights: &[5.156, 0.294, 0.1055, 0.0, 0.409, 0.4747, 0.0, 0.185, 0.4478, 0.0, 0.0, 0.0],
    },
    Cost {
        rung: "sheared@wide",
        family: "other widths, aligned",
        weights: &[5.005, 0.0, 0.1946, 0.0, 0.1319, 0.3061, 0.767, 0.3728, 0.0, 0.0, 0.316, 0.0],
    },
    Cost {
        rung: "sheared@wide",
        family: "other widths, ragged",
        weights: &[5.666, 0.0, 0.0, 0.0, 0.0, 3.706, 1.61, 0.2094, 0.3736, 0.0, 0.0, 2.963],
    },
    Cost {
        rung: "sheared@wide",
        family: "words, aligned",
        weights: &[4.385, 0.1974, 0.0, 0.0, 0.1272, 0.2363, 1.458, 0.0, 0.2288, 0.0009963, 0.04105, 0.0],
    },
    Cost {
        rung: "sheared@wide",
        family: "words, ragged",
        weights: &[5.121, 0.2879, 0.1127, 0.0, 0.4174, 0.5043, 0.0, 0.1843, 0.4237, 0.0, 0.0, 0.0],
    },
    // skinny: launch; megabytes; blocks; short side
    Cost { rung: "skinny", family: "skinny", weights: &[4.098, 0.3276, 0.0, 0.171] },
    Cost {
        rung: "swizzled",
        family: "other widths, aligned",
        weights: &[3.941, 0.04463, 0.04416, 0.07912, 0.02607, 0.2479, 3.412, 0.0, 0.4943, 0.02306, 0.07808, 0.0],
    },
    Cost {
        rung: "swizzled",
        family: "other widths, ragged",
        weights: &[3.54, 0.0, 0.1385, 0.0, 0.2791, 0.5368, 0.0, 0.4505, 0.0, 0.0, 0.01499, 0.0],
    },
    Cost {
        rung: "swizzled",
        family: "words, aligned",
        weights: &[3.882, 0.08485, 0.0, 0.2503, 0.02536, 0.4248, 1.251, 0.06505, 0.2417, 0.005306, 0.04431, 0.0],
    },
    Cost {
        rung: "swizzled",
        family: "words, ragged",
        weights: &[4.081, 0.08238, 0.0, 0.2237, 0.06141, 0.1797, 2.328, 0.003712, 0.0, 0.0005225, 0.0, 0.0],
    },
    Cost {
        rung: "tiled_padded@16",
        family: "other widths, aligned",
        weights: &[3.971, 0.07616, 0.0, 0.1995, 0.03991, 0.1273, 2.914, 0.0, 0.3469, 0.0333, 0.03259, 0.0],
    },
    Cost {
        rung: "tiled_padded@16",
        family: "other widths, ragged",
        weights: &[3.667, 0.006242, 0.06919, 0.2393, 0.2873, 0.1851, 4.18, 0.0, 0.0, 0.0, 0.03746, 0.0],
    },
    Cost {
        rung: "tiled_padded@16",
        family: "words, aligned",
        weights: &[3.888, 0.08825, 0.0, 0.1851, 0.02382, 0.1883, 0.5492, 0.1867, 0.3228, 0.0005098, 0.0, 0.0],
    },
    Cost {
        rung: "tiled_padded@16",
        family: "words, ragged",
        weights: &[3.99, 0.0773, 0.0, 0.2014, 0.1587, 0.0, 1.037, 0.1857, 0.1688, 0.0, 0.0, 0.0],
    },
];
