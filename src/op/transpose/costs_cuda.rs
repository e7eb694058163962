//! The weights of [`estimate`](super::estimate) in microseconds, fitted by least squares of the relative
//! error (none below 0) to the times of 2268 random problems on one H200. Printed by
//! `examples/fit_selection.rs` from a survey that `docs/results` keeps.

use crate::op::estimate::Cost;

#[allow(clippy::approx_constant)] // a weight may be near one
pub(super) const COSTS: &[Cost] = &[
    // other widths, aligned: launch; tiles; most tiles; used; fill of rows; fill of columns; millions of elements; sectors; first megabyte; megabytes, output rows off lines; input rows off chunks; output rows off words
    Cost {
        rung: "any_width@columns_8",
        family: "other widths, aligned",
        weights: &[3.455, 0.0, 0.07597, 0.0, 0.0, 0.02892, 0.3986, 0.2732, 0.4802, 0.002961, 0.0, 0.0],
    },
    // words, aligned: launch; tiles; most tiles; used; fill of rows; fill of columns; millions of elements; sectors; first megabyte; megabytes, output rows off lines; input rows off chunks; output rows off words
    Cost {
        rung: "any_width@columns_8",
        family: "words, aligned",
        weights: &[3.194, 0.0, 0.08825, 0.3773, 0.1024, 0.2241, 1.648, 0.0, 0.01781, 0.003772, 0.0, 0.0],
    },
    Cost {
        rung: "any_width@rows_2",
        family: "other widths, aligned",
        weights: &[3.414, 0.0, 0.1208, 0.0, 0.1321, 0.0, 0.4918, 0.22, 0.7433, 0.007468, 0.0, 0.0],
    },
    Cost {
        rung: "any_width@rows_2",
        family: "words, aligned",
        weights: &[2.744, 0.1409, 0.09641, 0.2996, 0.6128, 0.5397, 0.0, 0.2736, 0.06381, 0.004556, 0.0, 0.0],
    },
    Cost {
        rung: "any_width@rows_8",
        family: "other widths, aligned",
        weights: &[3.478, 0.0, 0.06605, 0.0, 0.0, 0.0, 0.3114, 0.2909, 0.4885, 0.003521, 0.0, 0.0],
    },
    Cost {
        rung: "any_width@rows_8",
        family: "words, aligned",
        weights: &[3.195, 0.00492, 0.08503, 0.4227, 0.06669, 0.2534, 1.616, 0.0, 0.0, 0.009114, 0.0, 0.0],
    },
    Cost {
        rung: "any_width@square",
        family: "other widths, aligned",
        weights: &[3.439, 0.0, 0.1329, 0.0, 0.0, 0.0, 0.4292, 0.2728, 0.56, 0.0, 0.0, 0.0],
    },
    Cost {
        rung: "any_width@square",
        family: "words, aligned",
        weights: &[3.11, 0.07635, 0.06659, 0.4012, 0.1952, 0.3571, 1.665, 0.0, 0.0, 0.004361, 0.0, 0.0],
    },
    // small: launch; megabytes; kilobytes of a matrix
    Cost { rung: "batched_small", family: "small", weights: &[3.57, 3.035, 0.09862] },
    Cost {
        rung: "coalesced_write",
        family: "other widths, aligned",
        weights: &[2.912, 0.0, 0.06448, 0.06279, 0.1586, 0.1366, 0.9499, 0.3112, 0.2544, 0.005298, 0.0, 0.0],
    },
    // other widths, ragged: launch; tiles; most tiles; used; fill of rows; fill of columns; millions of elements; sectors; first megabyte; megabytes, output rows off lines; input rows off chunks; output rows off words
    Cost {
        rung: "coalesced_write",
        family: "other widths, ragged",
        weights: &[2.966, 0.06643, 0.0, 0.07609, 0.09383, 0.166, 0.6621, 0.3558, 0.1086, 0.0, 0.0, 0.0],
    },
    Cost {
        rung: "coalesced_write",
        family: "words, aligned",
        weights: &[3.016, 0.06447, 0.0, 0.02203, 0.06233, 0.1523, 0.4376, 0.4097, 0.286, 0.0, 0.0, 0.0],
    },
    // words, ragged: launch; tiles; most tiles; used; fill of rows; fill of columns; millions of elements; sectors; first megabyte; megabytes, output rows off lines; input rows off chunks; output rows off words
    Cost {
        rung: "coalesced_write",
        family: "words, ragged",
        weights: &[3.0, 0.06453, 0.0, 0.07999, 0.1035, 0.1264, 0.3445, 0.4219, 0.1967, 0.0, 0.0, 0.0],
    },
    Cost {
        rung: "coarsened",
        family: "other widths, aligned",
        weights: &[3.036, 0.0192, 0.07752, 0.09424, 0.1349, 0.1579, 0.01429, 0.3698, 0.2222, 0.001778, 0.03188, 0.0],
    },
    Cost {
        rung: "coarsened",
        family: "other widths, ragged",
        weights: &[3.065, 0.01943, 0.08166, 0.1061, 0.06545, 0.1787, 0.0, 0.222, 0.1757, 0.1122, 0.004041, 0.01549],
    },
    Cost {
        rung: "coarsened",
        family: "words, aligned",
        weights: &[3.147, 0.0706, 0.04393, 0.06861, 0.02718, 0.13, 0.5767, 0.167, 0.3002, 0.006657, 0.02363, 0.0],
    },
    Cost {
        rung: "coarsened",
        family: "words, ragged",
        weights: &[3.173, 0.1394, 0.0, 0.03529, 0.05092, 0.1711, 1.67, 0.05349, 0.0, 0.000258, 0.0, 0.0],
    },
    Cost {
        rung: "naive",
        family: "other widths, aligned",
        weights: &[2.564, 0.04717, 0.0, 0.004659, 0.5324, 0.2231, 13.11, 0.0, 0.0, 0.0, 0.1138, 0.0],
    },
    Cost {
        rung: "naive",
        family: "other widths, ragged",
        weights: &[2.735, 0.02939, 0.0, 0.2175, 0.3231, 0.1397, 5.731, 0.0, 0.0, 0.5047, 0.03978, 0.1177],
    },
    Cost {
        rung: "naive",
        family: "words, aligned",
        weights: &[2.682, 0.01234, 0.01904, 0.0791, 0.447, 0.1504, 11.83, 0.0, 0.0, 0.0, 0.0, 0.0],
    },
    Cost {
        rung: "naive",
        family: "words, ragged",
        weights: &[2.948, 0.02939, 0.0, 0.02018, 0.1857, 0.08547, 11.09, 0.0, 0.0, 0.0, 0.02396, 0.0],
    },
    Cost {
        rung: "ordered",
        family: "words, aligned",
        weights: &[3.621, 0.167, 0.2388, 0.1033, 0.04695, 0.5262, 1.219, 0.0, 0.2538, 0.006105, 0.4971, 0.0],
    },
    Cost {
        rung: "ordered",
        family: "words, ragged",
        weights: &[3.509, 0.2197, 0.2019, 0.0, 0.21, 0.7296, 1.514, 0.0, 0.09996, 0.0, 0.4392, 0.0],
    },
    Cost {
        rung: "register_blocked",
        family: "words, aligned",
        weights: &[3.53, 0.1332, 0.2352, 0.1049, 0.04935, 0.5151, 0.9676, 0.0664, 0.2681, 0.01572, 0.541, 0.0],
    },
    Cost {
        rung: "register_blocked",
        family: "words, ragged",
        weights: &[3.426, 0.1507, 0.2627, 0.0, 0.1998, 0.7177, 1.805, 0.0, 0.0, 0.0, 0.4496, 0.0],
    },
    Cost {
        rung: "sheared@narrow",
        family: "other widths, aligned",
        weights: &[3.766, 0.0, 0.1519, 0.0, 0.001307, 0.0, 1.166, 0.1682, 0.803, 0.0, 0.2778, 0.0],
    },
    Cost {
        rung: "sheared@narrow",
        family: "other widths, ragged",
        weights: &[3.477, 0.0, 0.2665, 0.0, 0.0, 0.8683, 1.24, 0.02493, 0.5949, 0.0, 0.5784, 1.86],
    },
    Cost {
        rung: "sheared@narrow",
        family: "words, aligned",
        weights: &[3.617, 0.2539, 0.07584, 0.0, 0.1354, 0.2285, 1.395, 0.0, 0.4664, 0.0, 0.0721, 0.0],
    },
    Cost {
        rung: "sheared@narrow",
        family: "words, ragged",
        weights: &[3.697, 0.3136, 0.1213, 0.0, 0.1248, 0.2431, 0.7461, 0.05219, 0.4196, 0.0, 0.003801, 0.0],
    },
    Cost {
        rung: "sheared@wide",
        family: "other widths, aligned",
        weights: &[3.82, 0.0, 0.2296, 0.0, 0.1828, 0.1607, 0.9104, 0.2241, 0.6992, 0.0, 0.2527, 0.0],
    },
    Cost {
        rung: "sheared@wide",
        family: "other widths, ragged",
        weights: &[3.632, 0.0, 0.3994, 0.0, 0.0, 0.9542, 1.123, 0.05462, 0.8782, 0.0, 0.5324, 1.604],
    },
    Cost {
        rung: "sheared@wide",
        family: "words, aligned",
        weights: &[3.859, 0.2169, 0.4441, 0.0, 0.0917, 0.9939, 1.425, 0.0, 0.1102, 0.0, 0.07122, 0.0],
    },
    Cost {
        rung: "sheared@wide",
        family: "words, ragged",
        weights: &[3.844, 0.291, 0.4568, 0.0, 0.1062, 1.402, 1.062, 0.06129, 0.02458, 0.0, 0.04787, 0.0],
    },
    // skinny: launch; megabytes; blocks; short side
    Cost { rung: "skinny", family: "skinny", weights: &[3.325, 0.0, 0.3104, 0.2021] },
    Cost {
        rung: "swizzled",
        family: "other widths, aligned",
        weights: &[3.045, 0.01937, 0.07568, 0.1116, 0.1258, 0.1554, 0.04143, 0.3667, 0.2276, 0.0, 0.03661, 0.0],
    },
    Cost {
        rung: "swizzled",
        family: "other widths, ragged",
        weights: &[3.079, 0.03323, 0.06683, 0.09317, 0.08605, 0.1886, 0.0, 0.2294, 0.1961, 0.1091, 0.002606, 0.002374],
    },
    Cost {
        rung: "swizzled",
        family: "words, aligned",
        weights: &[3.126, 0.08213, 0.03166, 0.06255, 0.05955, 0.1382, 0.7157, 0.138, 0.3165, 0.007013, 0.04179, 0.0],
    },
    Cost {
        rung: "swizzled",
        family: "words, ragged",
        weights: &[3.161, 0.1403, 0.0, 0.03586, 0.08181, 0.1816, 1.65, 0.05561, 0.0, 0.0, 0.0, 0.0],
    },
    Cost {
        rung: "tiled_padded@16",
        family: "other widths, aligned",
        weights: &[3.204, 0.06611, 0.003597, 0.04254, 0.01156, 0.0, 0.3281, 0.3163, 0.1968, 0.006172, 0.02229, 0.0],
    },
    Cost {
        rung: "tiled_padded@16",
        family: "other widths, ragged",
        weights: &[3.028, 0.07358, 0.0, 0.09001, 0.06943, 0.105, 0.3455, 0.06643, 0.1295, 0.1645, 0.0, 0.0],
    },
    Cost {
        rung: "tiled_padded@16",
        family: "words, aligned",
        weights: &[3.052, 0.08789, 0.0, 0.04982, 0.06694, 0.07005, 0.01343, 0.2585, 0.1594, 0.0, 0.03826, 0.0],
    },
    Cost {
        rung: "tiled_padded@16",
        family: "words, ragged",
        weights: &[3.051, 0.08297, 0.0, 0.1065, 0.0864, 0.06874, 0.909, 0.1401, 0.07246, 0.0, 0.0, 0.0],
    },
];
