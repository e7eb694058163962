//! The weights of [`estimate`](super::estimate) in microseconds, fitted by least squares of the relative
//! error (none below 0) to the times of 539 random problems on one H200. Printed by
//! `examples/fit_selection.rs` from a survey that `docs/results` keeps.

use crate::op::estimate::Cost;

#[allow(clippy::approx_constant)] // a weight may be near one
pub(super) const COSTS: &[Cost] = &[
    // tiles: launch; blocks; blocks x fill; used; fill of rows; by words; steps x turns; steps x blocks; steps x blocks x fill of columns; steps x blocks, both transposed; steps, A by words; steps x turns, B by words; inputs; C; sums
    Cost {
        rung: "coalesced",
        family: "tiles",
        weights: &[3.882, 0.0, 0.08954, 0.03462, 0.1207, 0.0, 55.6, 0.0, 4.988, 0.0, 0.0, 0.0, 3.157, 0.0, 0.0],
    },
    Cost {
        rung: "compact",
        family: "tiles",
        weights: &[11.27, 0.7901, 1.035, 0.0, 0.7963, 3.666, 153.1, 0.0, 25.07, 0.0, 0.0, 3.103, 0.3307, 0.1294, 0.0],
    },
    Cost {
        rung: "conflict_free",
        family: "tiles",
        weights: &[5.813, 0.0, 0.6234, 0.0, 0.581, 1.814, 87.61, 49.11, 20.51, 0.0, 0.0, 7.936, 1.257, 0.2355, 0.0],
    },
    // streams across k: launch; lines; by words; blocks; depth; depth, ragged; depth x blocks x lines; inputs
    Cost {
        rung: "gemv@1",
        family: "streams across k",
        weights: &[4.502, 9.783, 0.157, 2.387, 8.468, 4.916, 9.014, 0.03945],
    },
    // streams along k: launch; lines; by words; blocks; depth; depth, ragged; depth x blocks x lines; inputs
    Cost {
        rung: "gemv@1",
        family: "streams along k",
        weights: &[4.819, 15.18, 0.8477, 0.6033, 5.319, 0.0, 4.141, 0.2736],
    },
    // outer: launch; inputs; C; first megabyte of C; millions of multiply-adds
    Cost { rung: "outer", family: "outer", weights: &[8.682, 10.81, 0.0, 0.1174, 0.2444] },
    Cost {
        rung: "raster",
        family: "tiles",
        weights: &[9.351, 3.912, 4.239, 0.0, 0.2512, 2.881, 222.9, 0.0, 0.0, 11.33, 0.0, 6.464, 0.0, 0.03307, 0.0],
    },
    Cost {
        rung: "split_workspace@16",
        family: "tiles",
        weights: &[14.94, 3.21, 0.0, 1.694, 0.0, 0.6156, 182.1, 0.0, 0.0, 0.0, 0.0, 0.0, 0.6847, 2.174, 0.0],
    },
    Cost {
        rung: "split_workspace@4",
        family: "tiles",
        weights: &[
            15.08, 2.326, 0.01085, 1.955, 0.2661, 0.6971, 174.8, 0.0, 6.541, 3.008, 0.0, 3.175, 0.6188, 1.507, 0.0,
        ],
    },
    Cost {
        rung: "tiled@16",
        family: "tiles",
        weights: &[3.175, 0.0, 0.0, 0.4723, 0.3776, 0.0, 30.24, 0.0, 3.791, 0.0, 0.0, 0.0, 0.7825, 0.4659, 0.0],
    },
    Cost {
        rung: "tiled@32",
        family: "tiles",
        weights: &[
            3.516, 0.004809, 0.0, 0.699, 0.2855, 0.005337, 26.63, 15.08, 2.384, 0.0, 0.0, 0.3938, 0.5605, 0.3272, 0.0,
        ],
    },
    Cost {
        rung: "tiled_1d",
        family: "tiles",
        weights: &[4.225, 0.0, 0.0, 0.0, 0.2155, 0.009049, 65.09, 19.03, 13.21, 0.0, 0.0, 2.448, 2.201, 0.2631, 0.0],
    },
];
