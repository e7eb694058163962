//! The weights of [`estimate`](super::estimate) in microseconds, fitted by least squares of the relative
//! error (none below 0) to the times of 2268 random problems on one H200. Printed by
//! `examples/fit_selection.rs` from a survey that `docs/results` keeps.

use crate::op::estimate::Cost;

#[allow(clippy::approx_constant)] // a weight may be near one
pub(super) const COSTS: &[Cost] = &[
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
        weights: &[2.948, 0.02939, 0.0, 0.02018, 0.1857, 0.08547, 5.546, 0.0, 0.0, 0.6933, 0.02396, 0.0],
    },
    Cost {
        rung: "coalesced_write",
        family: "other widths, aligned",
        weights: &[2.915, 0.0, 0.06496, 0.05322, 0.158, 0.1337, 0.9754, 0.2807, 0.3031, 0.007718, 0.0, 0.0],
    },
    Cost {
        rung: "coalesced_write",
        family: "other widths, ragged",
        weights: &[2.967, 0.06832, 0.0, 0.06896, 0.09422, 0.1656, 0.6474, 0.3299, 0.1453, 0.0, 0.0, 0.0],
    },
    Cost {
        rung: "coalesced_write",
        family: "words, aligned",
        weights: &[3.016, 0.06447, 0.0, 0.02203, 0.06233, 0.1523, 0.4376, 0.4097, 0.286, 0.0, 0.0, 0.0],
    },
    Cost {
        rung: "coalesced_write",
        family: "words, ragged",
        weights: &[3.0, 0.06453, 0.0, 0.07999, 0.1035, 0.1264, 0.1722, 0.4219, 0.1967, 0.02153, 0.0, 0.0],
    },
    Cost {
        rung: "tiled_padded@16",
        family: "other widths, aligned",
        weights: &[3.205, 0.07133, 0.0005595, 0.03039, 0.01669, 0.0, 0.3103, 0.2944, 0.2382, 0.001751, 0.0191, 0.0],
    },
    Cost {
        rung: "tiled_padded@16",
        family: "other widths, ragged",
        weights: &[3.033, 0.07192, 0.0, 0.08489, 0.06714, 0.1006, 0.3621, 0.09888, 0.1715, 0.1324, 0.0, 0.0],
    },
    Cost {
        rung: "tiled_padded@16",
        family: "words, aligned",
        weights: &[3.052, 0.08789, 0.0, 0.04982, 0.06694, 0.07005, 0.01343, 0.2585, 0.1594, 0.0, 0.03826, 0.0],
    },
    Cost {
        rung: "tiled_padded@16",
        family: "words, ragged",
        weights: &[3.051, 0.08297, 0.0, 0.1065, 0.0864, 0.06874, 0.4545, 0.1401, 0.07246, 0.05681, 0.0, 0.0],
    },
    Cost {
        rung: "coarsened",
        family: "other widths, aligned",
        weights: &[3.035, 0.01739, 0.07708, 0.09733, 0.1339, 0.1589, 0.007596, 0.3811, 0.2014, 0.004278, 0.03738, 0.0],
    },
    Cost {
        rung: "coarsened",
        family: "other widths, ragged",
        weights: &[3.079, 0.04258, 0.05949, 0.1064, 0.06645, 0.1817, 0.0, 0.1693, 0.1208, 0.1589, 0.001426, 0.02793],
    },
    Cost {
        rung: "coarsened",
        family: "words, aligned",
        weights: &[3.147, 0.0706, 0.04393, 0.06861, 0.02718, 0.13, 0.5767, 0.167, 0.3002, 0.006657, 0.02363, 0.0],
    },
    Cost {
        rung: "coarsened",
        family: "words, ragged",
        weights: &[3.173, 0.1394, 0.0, 0.03529, 0.05092, 0.1711, 0.8362, 0.05349, 0.0, 0.1045, 0.0, 0.0],
    },
    Cost {
        rung: "swizzled",
        family: "other widths, aligned",
        weights: &[3.043, 0.01699, 0.07542, 0.115, 0.1246, 0.1563, 0.03539, 0.3787, 0.2048, 0.003022, 0.04271, 0.0],
    },
    Cost {
        rung: "swizzled",
        family: "other widths, ragged",
        weights: &[3.092, 0.05579, 0.04533, 0.0938, 0.08736, 0.1917, 0.0, 0.1771, 0.1419, 0.1552, 0.0001325, 0.01451],
    },
    Cost {
        rung: "swizzled",
        family: "words, aligned",
        weights: &[3.126, 0.08213, 0.03166, 0.06255, 0.05955, 0.1382, 0.7157, 0.138, 0.3165, 0.007013, 0.04179, 0.0],
    },
    Cost {
        rung: "swizzled",
        family: "words, ragged",
        weights: &[3.161, 0.1403, 0.0, 0.03586, 0.08181, 0.1816, 0.825, 0.05561, 0.0, 0.1031, 0.0, 0.0],
    },
    Cost {
        rung: "register_blocked",
        family: "words, aligned",
        weights: &[3.53, 0.1332, 0.2352, 0.1049, 0.04935, 0.5151, 0.9676, 0.0664, 0.2681, 0.01572, 0.541, 0.0],
    },
    Cost {
        rung: "register_blocked",
        family: "words, ragged",
        weights: &[3.426, 0.1507, 0.2627, 0.0, 0.1998, 0.7177, 0.9024, 0.0, 0.0, 0.1128, 0.4496, 0.0],
    },
    Cost {
        rung: "ordered",
        family: "words, aligned",
        weights: &[3.621, 0.167, 0.2388, 0.1033, 0.04695, 0.5262, 1.219, 0.0, 0.2538, 0.006105, 0.4971, 0.0],
    },
    Cost {
        rung: "ordered",
        family: "words, ragged",
        weights: &[3.509, 0.2197, 0.2019, 0.0, 0.21, 0.7296, 0.7568, 0.0, 0.09996, 0.0946, 0.4392, 0.0],
    },
    Cost {
        rung: "any_width@square",
        family: "other widths, aligned",
        weights: &[3.437, 0.0, 0.1379, 0.0, 0.0, 0.0, 0.4227, 0.2792, 0.5295, 0.0, 0.0, 0.0],
    },
    Cost {
        rung: "any_width@square",
        family: "words, aligned",
        weights: &[3.11, 0.07635, 0.06659, 0.4012, 0.1952, 0.3571, 1.665, 0.0, 0.0, 0.004361, 0.0, 0.0],
    },
    Cost {
        rung: "any_width@columns_8",
        family: "other widths, aligned",
        weights: &[3.452, 0.0, 0.07935, 0.0, 0.0, 0.03037, 0.3984, 0.2774, 0.4573, 0.0001463, 0.0, 0.0],
    },
    Cost {
        rung: "any_width@columns_8",
        family: "words, aligned",
        weights: &[3.194, 0.0, 0.08825, 0.3773, 0.1024, 0.2241, 1.648, 0.0, 0.01781, 0.003772, 0.0, 0.0],
    },
    Cost {
        rung: "any_width@rows_2",
        family: "other widths, aligned",
        weights: &[3.414, 0.0, 0.121, 0.0, 0.133, 0.0, 0.485, 0.2258, 0.7273, 0.005115, 0.0, 0.0],
    },
    Cost {
        rung: "any_width@rows_2",
        family: "words, aligned",
        weights: &[2.744, 0.1409, 0.09641, 0.2996, 0.6128, 0.5397, 0.0, 0.2736, 0.06381, 0.004556, 0.0, 0.0],
    },
    Cost {
        rung: "any_width@rows_8",
        family: "other widths, aligned",
        weights: &[3.477, 0.0, 0.06706, 0.0, 0.0, 0.0, 0.3155, 0.2899, 0.4903, 0.001341, 0.0, 0.0],
    },
    Cost {
        rung: "any_width@rows_8",
        family: "words, aligned",
        weights: &[3.195, 0.00492, 0.08503, 0.4227, 0.06669, 0.2534, 1.616, 0.0, 0.0, 0.009114, 0.0, 0.0],
    },
    Cost {
        rung: "sheared@wide",
        family: "other widths, aligned",
        weights: &[3.803, 0.0, 0.2466, 0.0, 0.1781, 0.1621, 0.8788, 0.2441, 0.6171, 0.0, 0.2705, 0.0],
    },
    Cost {
        rung: "sheared@wide",
        family: "other widths, ragged",
        weights: &[3.6, 0.0, 0.4675, 0.0, 0.0, 0.944, 1.047, 0.09874, 0.6079, 0.0, 0.4752, 1.676],
    },
    Cost {
        rung: "sheared@wide",
        family: "words, aligned",
        weights: &[3.859, 0.2169, 0.4441, 0.0, 0.0917, 0.9939, 1.425, 0.0, 0.1102, 0.0, 0.07122, 0.0],
    },
    Cost {
        rung: "sheared@wide",
        family: "words, ragged",
        weights: &[3.844, 0.291, 0.4568, 0.0, 0.1062, 1.402, 0.5309, 0.06129, 0.02458, 0.06636, 0.04787, 0.0],
    },
    Cost {
        rung: "sheared@narrow",
        family: "other widths, aligned",
        weights: &[3.751, 0.0, 0.1659, 0.0, 0.002321, 0.0, 1.133, 0.1881, 0.7057, 0.0, 0.2948, 0.0],
    },
    Cost {
        rung: "sheared@narrow",
        family: "other widths, ragged",
        weights: &[3.465, 0.0, 0.2991, 0.0, 0.0, 0.8724, 1.194, 0.05058, 0.4044, 0.0, 0.5383, 1.911],
    },
    Cost {
        rung: "sheared@narrow",
        family: "words, aligned",
        weights: &[3.617, 0.2539, 0.07584, 0.0, 0.1354, 0.2285, 1.395, 0.0, 0.4664, 0.0, 0.0721, 0.0],
    },
    Cost {
        rung: "sheared@narrow",
        family: "words, ragged",
        weights: &[3.697, 0.3136, 0.1213, 0.0, 0.1248, 0.2431, 0.373, 0.05219, 0.4196, 0.04663, 0.003801, 0.0],
    },
    Cost { rung: "skinny", family: "skinny", weights: &[3.325, 0.0, 0.3104, 0.2021] },
    Cost { rung: "batched_small", family: "small", weights: &[3.57, 3.035, 0.09862] },
];
