//! The weights of [`estimate`](super::estimate) in microseconds, fitted by least squares of the relative
//! error (none below 0) to the times of 2402 random problems on one H200. Printed by
//! `examples/fit_selection.rs` from a survey that `docs/results` keeps.

use crate::op::estimate::Cost;

#[allow(clippy::approx_constant)] // a weight may be near one
pub(super) const COSTS: &[Cost] = &[
    // tiles: launch; blocks; blocks x fill, C by words; used; steps; steps x turns; steps x blocks x fill of columns; steps x blocks, B transposed; steps x mean blocks; C by words; inputs; C; megabytes of C by words
    Cost {
        rung: "coalesced",
        family: "tiles",
        weights: &[4.376, 0.0, 0.0, 0.3442, 8.729, 35.09, 6.825, 0.0, 0.4738, 0.0, 0.7256, 0.5662, 0.0],
    },
    Cost {
        rung: "compact",
        family: "tiles",
        weights: &[12.04, 1.444, 8.045, 0.0, 7.526, 156.1, 6.283, 4.36, 14.1, 1.344, 0.3268, 0.1578, 0.1052],
    },
    Cost {
        rung: "conflict_free",
        family: "tiles",
        weights: &[4.932, 1.77, 3.288, 0.0, 0.0, 136.3, 12.73, 0.0, 47.66, 0.4898, 0.0, 0.04337, 0.5081],
    },
    Cost {
        rung: "double_buffered",
        family: "tiles",
        weights: &[9.434, 2.041, 4.848, 0.0, 5.24, 100.5, 1.499, 0.0, 18.52, 0.3284, 0.3792, 0.2386, 0.4345],
    },
    // streams across k: launch; lines; blocks; depth; depth x lines, short operand by words; depth x blocks x lines; depth x blocks x lines, short operand across k; inputs
    Cost {
        rung: "gemv@1",
        family: "streams across k",
        weights: &[4.47, 6.835, 0.5209, 12.21, 5.879, 4.298, 0.1898, 0.1603],
    },
    // streams along k: launch; lines; blocks; depth; depth x lines, short operand by words; depth x blocks x lines; depth x blocks x lines, short operand across k; inputs
    Cost {
        rung: "gemv@1",
        family: "streams along k",
        weights: &[4.706, 11.72, 1.061, 4.903, 4.379, 4.308, 8.518, 0.2122],
    },
    // outer: launch; inputs; C; first megabyte of C; millions of multiply-adds
    Cost { rung: "outer", family: "outer", weights: &[8.665, 3.679, 0.01893, 0.3744, 0.2594] },
    Cost {
        rung: "raster",
        family: "tiles",
        weights: &[12.44, 4.2, 8.679, 0.0, 0.0, 198.7, 0.0, 2.886, 9.604, 0.2119, 0.3647, 0.2239, 0.6435],
    },
    Cost {
        rung: "split_workspace@16",
        family: "tiles",
        weights: &[10.21, 2.758, 0.0, 0.234, 51.02, 125.1, 0.1487, 6.269, 21.26, 0.4558, 0.5307, 2.821, 0.7327],
    },
    Cost {
        rung: "split_workspace@4",
        family: "tiles",
        weights: &[11.11, 1.351, 0.0, 0.2039, 38.31, 129.1, 0.0, 8.667, 25.11, 0.4409, 0.4239, 1.588, 1.432],
    },
    Cost {
        rung: "tiled@16",
        family: "tiles",
        weights: &[3.539, 0.03039, 0.0148, 0.6027, 6.797, 25.02, 4.592, 0.0, 0.0, 0.0, 0.08225, 0.09245, 0.0],
    },
    Cost {
        rung: "tiled@32",
        family: "tiles",
        weights: &[3.818, 0.2971, 0.04271, 0.3232, 10.67, 22.03, 7.244, 0.0, 10.29, 0.02492, 0.1951, 0.0, 0.0],
    },
    Cost {
        rung: "tiled_1d",
        family: "tiles",
        weights: &[4.778, 0.0, 0.0407, 0.08694, 10.99, 66.19, 8.367, 0.0, 33.9, 0.0106, 0.09782, 0.1647, 0.06495],
    },
];
