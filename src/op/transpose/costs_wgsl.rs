//! The weights of [`estimate`](super::estimate) in microseconds, fitted by least squares of the relative
//! error (none below 0) to the times of 638 random problems on one H200. Printed by
//! `examples/fit_selection.rs` from a survey that `docs/results` keeps.

use crate::op::estimate::Cost;

#[allow(clippy::approx_constant)] // a weight may be near one
pub(super) const COSTS: &[Cost] = &[
    Cost {
        rung: "naive",
        family: "other widths, aligned",
        weights: &[3.789, 0.0, 0.0, 0.2534, 0.2116, 0.1641, 15.2, 0.0, 0.0, 0.0, 0.0, 0.0],
    },
    Cost {
        rung: "naive",
        family: "other widths, ragged",
        weights: &[3.485, 0.0, 0.0, 0.0, 0.3131, 0.5179, 7.893, 0.08654, 0.0, 0.4933, 0.0, 0.0],
    },
    Cost {
        rung: "naive",
        family: "words, aligned",
        weights: &[3.702, 0.0, 0.03497, 0.1143, 0.1418, 0.289, 12.28, 0.0, 0.3196, 0.0, 0.04729, 0.0],
    },
    Cost {
        rung: "naive",
        family: "words, ragged",
        weights: &[3.842, 0.01818, 0.0, 0.1482, 0.247, 0.09046, 6.406, 0.0, 0.05558, 0.8007, 0.00366, 0.0],
    },
    Cost {
        rung: "coalesced_write",
        family: "other widths, aligned",
        weights: &[3.883, 0.08229, 0.0, 0.2511, 0.0, 0.196, 2.818, 0.009341, 0.6822, 0.006863, 0.01058, 0.0],
    },
    Cost {
        rung: "coalesced_write",
        family: "other widths, ragged",
        weights: &[2.811, 0.0, 0.06621, 0.01206, 0.1922, 1.195, 0.0, 0.4129, 0.5873, 0.0, 0.004772, 0.0],
    },
    Cost {
        rung: "coalesced_write",
        family: "words, aligned",
        weights: &[3.913, 0.0, 0.0, 0.2178, 0.0, 0.1679, 0.456, 0.856, 0.4152, 0.0, 0.0, 0.0],
    },
    Cost {
        rung: "coalesced_write",
        family: "words, ragged",
        weights: &[3.961, 0.06637, 0.0, 0.1536, 0.1466, 0.03752, 0.2653, 0.3919, 0.3373, 0.03316, 0.0, 0.0],
    },
    Cost {
        rung: "tiled_padded@16",
        family: "other widths, aligned",
        weights: &[3.962, 0.104, 0.0, 0.1408, 0.05144, 0.1293, 1.596, 0.05273, 0.435, 0.01011, 0.03489, 0.0],
    },
    Cost {
        rung: "tiled_padded@16",
        family: "other widths, ragged",
        weights: &[4.043, 0.01865, 0.0, 0.1887, 0.0, 0.1304, 1.468, 0.2323, 0.4267, 0.09178, 0.03927, 0.0],
    },
    Cost {
        rung: "tiled_padded@16",
        family: "words, aligned",
        weights: &[3.888, 0.08825, 0.0, 0.1851, 0.02382, 0.1883, 0.5492, 0.1867, 0.3228, 0.0005098, 0.0, 0.0],
    },
    Cost {
        rung: "tiled_padded@16",
        family: "words, ragged",
        weights: &[3.99, 0.0773, 0.0, 0.2014, 0.1587, 0.0, 0.5187, 0.1857, 0.1688, 0.06484, 0.0, 0.0],
    },
    Cost {
        rung: "coarsened",
        family: "other widths, aligned",
        weights: &[3.931, 0.08948, 0.01714, 0.07568, 0.03595, 0.2931, 3.373, 0.0, 0.4706, 0.01071, 0.1044, 0.0],
    },
    Cost {
        rung: "coarsened",
        family: "other widths, ragged",
        weights: &[3.748, 0.0, 0.1129, 0.0, 0.146, 0.4833, 0.0, 0.4492, 0.1389, 0.0, 0.07613, 0.0],
    },
    Cost {
        rung: "coarsened",
        family: "words, aligned",
        weights: &[3.886, 0.08115, 0.0, 0.2414, 0.02472, 0.4375, 1.208, 0.07961, 0.2369, 0.004934, 0.02719, 0.0],
    },
    Cost {
        rung: "coarsened",
        family: "words, ragged",
        weights: &[4.067, 0.08184, 7.681e-05, 0.1832, 0.07841, 0.2039, 1.157, 0.008392, 0.0, 0.1447, 0.0, 0.0],
    },
    Cost {
        rung: "swizzled",
        family: "other widths, aligned",
        weights: &[3.974, 0.1097, 0.0, 0.02433, 0.03412, 0.2525, 3.217, 0.0128, 0.51, 0.01036, 0.08103, 0.0],
    },
    Cost {
        rung: "swizzled",
        family: "other widths, ragged",
        weights: &[3.521, 0.0, 0.1403, 0.0, 0.2944, 0.5475, 0.0, 0.4267, 0.07608, 0.0, 0.03745, 0.0],
    },
    Cost {
        rung: "swizzled",
        family: "words, aligned",
        weights: &[3.882, 0.08485, 0.0, 0.2503, 0.02536, 0.4248, 1.251, 0.06505, 0.2417, 0.005306, 0.04431, 0.0],
    },
    Cost {
        rung: "swizzled",
        family: "words, ragged",
        weights: &[4.081, 0.08238, 0.0, 0.2237, 0.06141, 0.1797, 1.166, 0.003712, 0.0, 0.1457, 0.0, 0.0],
    },
    Cost {
        rung: "register_blocked",
        family: "words, aligned",
        weights: &[4.722, 0.2409, 0.1006, 0.0, 0.01109, 0.07144, 1.449, 0.0, 0.2241, 0.006989, 0.00132, 0.0],
    },
    Cost {
        rung: "register_blocked",
        family: "words, ragged",
        weights: &[4.854, 0.2999, 0.2899, 0.0, 0.0, 1.043, 0.3662, 0.1728, 0.0, 0.04578, 0.0, 0.0],
    },
    Cost {
        rung: "ordered",
        family: "words, aligned",
        weights: &[4.69, 0.2897, 0.08726, 0.0, 0.1295, 0.147, 1.387, 0.0, 0.1388, 0.004206, 0.04966, 0.0],
    },
    Cost {
        rung: "ordered",
        family: "words, ragged",
        weights: &[4.895, 0.4395, 0.1996, 0.0, 0.05119, 1.126, 0.5887, 0.02021, 0.03042, 0.07359, 0.0, 0.0],
    },
    Cost {
        rung: "any_width@square",
        family: "other widths, aligned",
        weights: &[4.696, 0.304, 0.8468, 0.0, 0.0, 0.3165, 0.1913, 0.1886, 1.18, 0.03034, 0.0, 0.0],
    },
    Cost {
        rung: "any_width@square",
        family: "words, aligned",
        weights: &[3.99, 0.0, 0.4605, 0.04276, 0.0, 0.6394, 0.0, 0.3047, 1.062, 0.03518, 0.0, 0.0],
    },
    Cost {
        rung: "any_width@columns_8",
        family: "other widths, aligned",
        weights: &[4.88, 0.0, 0.1809, 0.0, 0.0, 0.0, 1.285, 0.0, 0.5968, 0.04116, 0.0, 0.0],
    },
    Cost {
        rung: "any_width@columns_8",
        family: "words, aligned",
        weights: &[4.341, 0.3238, 0.0, 0.3857, 0.0, 0.8339, 0.0, 0.2182, 0.1727, 0.03735, 0.0, 0.0],
    },
    Cost {
        rung: "any_width@rows_2",
        family: "other widths, aligned",
        weights: &[4.067, 0.0, 0.2814, 0.0, 0.7762, 0.0, 2.788, 0.0, 0.5763, 0.0, 0.0, 0.0],
    },
    Cost {
        rung: "any_width@rows_2",
        family: "words, aligned",
        weights: &[4.504, 0.3437, 0.1342, 0.2388, 0.0, 0.6795, 0.0, 0.2711, 0.6533, 0.01915, 0.0, 0.0],
    },
    Cost {
        rung: "any_width@rows_8",
        family: "other widths, aligned",
        weights: &[4.94, 0.0, 0.1835, 0.0, 0.0, 0.0, 1.228, 0.0, 0.4743, 0.03711, 0.0, 0.0],
    },
    Cost {
        rung: "any_width@rows_8",
        family: "words, aligned",
        weights: &[4.509, 0.2515, 0.0, 0.544, 0.0, 0.7083, 0.0, 0.2593, 0.0, 0.04519, 0.0, 0.0],
    },
    Cost {
        rung: "sheared@wide",
        family: "other widths, aligned",
        weights: &[5.033, 0.0, 0.1899, 0.0, 0.09613, 0.2785, 0.7305, 0.4016, 0.0, 0.0, 0.3386, 0.0],
    },
    Cost {
        rung: "sheared@wide",
        family: "other widths, ragged",
        weights: &[5.639, 0.0, 0.0, 0.0, 0.0, 3.684, 1.397, 0.3475, 0.1254, 0.0, 0.0, 3.083],
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
    Cost {
        rung: "sheared@narrow",
        family: "other widths, aligned",
        weights: &[3.837, 0.0, 0.4022, 0.0, 0.8958, 0.3841, 1.303, 0.0, 0.0, 0.0, 0.3876, 0.0],
    },
    Cost {
        rung: "sheared@narrow",
        family: "other widths, ragged",
        weights: &[5.058, 0.235, 0.0, 0.0, 0.0, 3.012, 1.847, 0.05478, 0.0, 0.0, 0.0, 3.998],
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
    Cost { rung: "skinny", family: "skinny", weights: &[4.098, 0.3276, 0.0, 0.171] },
    Cost { rung: "batched_small", family: "small", weights: &[4.656, 0.8718, 0.1507] },
];
