//! The weights of [`estimate`](super::estimate) in microseconds, fitted by least squares of the relative
//! error (none below 0) to the times of 1800 random problems on one H200. Printed by
//! `examples/fit_selection.rs` from a survey that `docs/results` keeps.

use crate::op::estimate::Cost;

#[allow(clippy::approx_constant)] // a weight may be near one
pub(super) const COSTS: &[Cost] = &[
    // tiles: launch; blocks; blocks x fill; used; fill of rows; by words; steps x turns; steps x blocks; steps x blocks x fill of columns; steps x blocks, both transposed; steps, A by words; steps x turns, B by words; inputs; C; sums
    Cost {
        rung: "coalesced",
        family: "tiles",
        weights: &[3.046, 0.03873, 0.04529, 0.2317, 0.2247, 0.0, 30.95, 0.0, 6.078, 0.0, 0.0, 0.0, 1.198, 0.0, 0.0],
    },
    // streams across k: launch; lines; by words; blocks; depth; depth, ragged; depth x blocks x lines; inputs
    Cost { rung: "gemv@1", family: "streams across k", weights: &[5.546, 0.0, 0.0, 1.707, 7.187, 3.981, 0.0, 0.04828] },
    // streams along k: launch; lines; by words; blocks; depth; depth, ragged; depth x blocks x lines; inputs
    Cost { rung: "gemv@1", family: "streams along k", weights: &[3.604, 0.0, 0.0, 0.391, 0.8661, 0.0, 0.0, 0.2025] },
    Cost {
        rung: "gemv@4",
        family: "streams across k",
        weights: &[6.945, 4.08, 0.0, 1.294, 7.173, 3.079, 9.636, 0.1021],
    },
    Cost { rung: "gemv@4", family: "streams along k", weights: &[5.4, 2.83, 0.2608, 0.5426, 1.738, 0.0, 5.7, 0.1495] },
    // outer: launch; inputs; C; first megabyte of C; millions of multiply-adds
    Cost { rung: "outer", family: "outer", weights: &[4.8, 8.274, 0.1636, 0.5028, 0.1186] },
    Cost {
        rung: "pipelined",
        family: "tiles",
        weights: &[
            3.321, 0.3706, 2.417, 1.063, 0.1948, 0.808, 16.56, 78.16, 0.0, 0.0, 20.21, 25.23, 0.1185, 0.07314, 0.0,
        ],
    },
    Cost {
        rung: "slice_k@128x64",
        family: "tiles",
        weights: &[2.346, 5.563, 0.1015, 0.8863, 0.2438, 0.517, 43.98, 0.0, 0.0, 0.0, 12.26, 6.271, 0.08655, 0.0, 0.0],
    },
    Cost {
        rung: "slice_k@64x128",
        family: "tiles",
        weights: &[2.234, 5.532, 0.0, 0.7596, 0.5344, 0.3931, 42.49, 0.0, 0.0, 2.599, 5.98, 11.88, 0.1181, 0.0, 0.0],
    },
    Cost {
        rung: "split_workspace@16",
        family: "tiles",
        weights: &[6.181, 0.0, 4.835, 0.0, 0.1658, 0.2904, 46.11, 45.8, 0.0, 0.0, 26.66, 26.92, 0.3213, 8.951, 0.0],
    },
    Cost {
        rung: "split_workspace@4",
        family: "tiles",
        weights: &[
            5.889, 0.0, 4.991, 1.533, 0.3942, 0.3684, 26.58, 67.53, 0.0, 1.412, 16.13, 20.45, 0.07456, 2.758, 0.0,
        ],
    },
    Cost {
        rung: "tiled@16",
        family: "tiles",
        weights: &[2.964, 0.0, 0.0, 0.4033, 0.05294, 0.0, 18.42, 2.104, 3.654, 0.0, 0.0, 0.4945, 0.6999, 0.2561, 0.0],
    },
    Cost {
        rung: "tiled_1d",
        family: "tiles",
        weights: &[2.911, 0.0, 0.0, 0.3176, 0.4389, 0.02431, 81.94, 23.93, 13.58, 0.0, 0.0, 4.568, 1.002, 0.2177, 0.0],
    },
    Cost {
        rung: "tma_specialised",
        family: "tiles",
        weights: &[3.131, 2.564, 1.144, 0.5836, 1.608, 0.0, 65.26, 0.0, 87.35, 2.503, 0.0, 0.0, 0.1123, 0.1063, 0.0],
    },
];
