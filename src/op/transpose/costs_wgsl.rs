//! The weights of [`estimate`](super::estimate) in microseconds, fitted by least squares of the relative
//! error (none below 0) to the times of 2254 random problems on one H200. Printed by
//! `examples/fit_selection.rs` from a survey that `docs/results` keeps.

use crate::op::estimate::Cost;

#[allow(clippy::approx_constant)] // a weight may be near one
pub(super) const COSTS: &[Cost] = &[
    // 8 bytes, aligned: launch; used; fill of rows; fill of columns; millions of elements; first megabyte; megabytes beyond the cache; megabytes of few rows; thousands of columns; elements, output rows off words; batched
    Cost {
        rung: "any_width@columns_8",
        family: "8 bytes, aligned",
        weights: &[4.266, 0.1065, 0.04674, 0.03833, 3.949, 0.4377, 0.02135, 0.0, 0.02574, 0.0, 0.0],
    },
    // bytes, aligned: launch; used; fill of rows; fill of columns; millions of elements; first megabyte; megabytes beyond the cache; megabytes of few rows; thousands of columns; elements, output rows off words; batched
    Cost {
        rung: "any_width@columns_8",
        family: "bytes, aligned",
        weights: &[6.395, 0.0, 0.0, 0.4958, 0.3853, 0.4359, 1.331, 0.005615, 0.01196, 0.0, 0.0],
    },
    // halves, aligned: launch; used; fill of rows; fill of columns; millions of elements; first megabyte; megabytes beyond the cache; megabytes of few rows; thousands of columns; elements, output rows off words; batched
    Cost {
        rung: "any_width@columns_8",
        family: "halves, aligned",
        weights: &[4.321, 0.0, 0.1015, 0.882, 1.162, 0.0, 0.005473, 0.0, 0.01908, 0.0, 0.02152],
    },
    // words, aligned: launch; used; fill of rows; fill of columns; millions of elements; first megabyte; megabytes beyond the cache; megabytes of few rows; thousands of columns; elements, output rows off words; batched
    Cost {
        rung: "any_width@columns_8",
        family: "words, aligned",
        weights: &[4.36, 0.0, 0.0, 0.1291, 2.08, 0.4697, 0.005193, 0.0, 0.0144, 0.0, 0.04559],
    },
    Cost {
        rung: "any_width@rows_2",
        family: "8 bytes, aligned",
        weights: &[4.099, 0.5671, 0.3181, 0.0, 4.431, 0.0, 0.03391, 0.0, 0.0, 0.0, 0.05072],
    },
    Cost {
        rung: "any_width@rows_2",
        family: "bytes, aligned",
        weights: &[6.109, 0.0, 1.263, 0.2257, 0.4242, 0.3263, 0.5755, 0.0, 0.0, 0.0, 0.0],
    },
    Cost {
        rung: "any_width@rows_2",
        family: "halves, aligned",
        weights: &[5.118, 0.7225, 0.3099, 0.0, 1.129, 0.0, 0.1904, 0.0, 0.0, 0.0, 0.0],
    },
    Cost {
        rung: "any_width@rows_2",
        family: "words, aligned",
        weights: &[4.479, 0.4916, 0.08188, 0.0, 2.459, 0.1462, 0.0249, 0.0, 0.0, 0.0, 0.2591],
    },
    Cost {
        rung: "any_width@rows_8",
        family: "8 bytes, aligned",
        weights: &[4.379, 0.237, 0.04779, 0.0, 3.976, 0.1886, 0.01168, 0.0, 0.009982, 0.0, 0.01013],
    },
    Cost {
        rung: "any_width@rows_8",
        family: "bytes, aligned",
        weights: &[6.248, 0.04003, 0.0, 0.5567, 0.3642, 0.5234, 1.252, 0.002789, 0.006897, 0.0, 0.0],
    },
    Cost {
        rung: "any_width@rows_8",
        family: "halves, aligned",
        weights: &[4.995, 0.0, 0.0, 0.2524, 1.104, 0.0, 0.02594, 0.0, 0.0, 0.0, 0.0],
    },
    Cost {
        rung: "any_width@rows_8",
        family: "words, aligned",
        weights: &[4.397, 0.04353, 0.0, 0.1315, 2.06, 0.3826, 0.009114, 0.0, 0.007778, 0.0, 0.0],
    },
    Cost {
        rung: "any_width@square",
        family: "8 bytes, aligned",
        weights: &[4.316, 0.1506, 0.0, 0.0, 3.876, 0.4681, 0.0163, 0.0, 0.02383, 0.0, 0.0],
    },
    Cost {
        rung: "any_width@square",
        family: "bytes, aligned",
        weights: &[6.237, 0.0, 0.0, 0.5545, 0.3772, 0.5096, 1.175, 0.005175, 0.009683, 0.0, 0.0],
    },
    Cost {
        rung: "any_width@square",
        family: "halves, aligned",
        weights: &[5.351, 0.0, 0.0, 0.1831, 0.9218, 0.2068, 0.09832, 0.0, 0.009626, 0.0, 0.03013],
    },
    Cost {
        rung: "any_width@square",
        family: "words, aligned",
        weights: &[4.338, 0.0, 0.0, 0.1096, 2.106, 0.543, 0.0, 0.0, 0.01483, 0.0, 0.08781],
    },
    // small: launch; megabytes; kilobytes of a matrix; kilobytes in parts of words
    Cost { rung: "batched_small", family: "small", weights: &[4.724, 0.8011, 0.08916, 0.1885] },
    Cost {
        rung: "coalesced_write",
        family: "8 bytes, aligned",
        weights: &[3.968, 0.2112, 0.0, 0.141, 5.302, 0.5254, 0.0002174, 0.01089, 0.05283, 0.0, 0.0],
    },
    // 8 bytes, ragged: launch; used; fill of rows; fill of columns; millions of elements; first megabyte; megabytes beyond the cache; megabytes of few rows; thousands of columns; elements, output rows off words; batched
    Cost {
        rung: "coalesced_write",
        family: "8 bytes, ragged",
        weights: &[3.995, 0.1598, 0.0, 0.1527, 5.224, 0.5141, 0.01648, 0.02986, 0.04163, 0.0, 0.0],
    },
    Cost {
        rung: "coalesced_write",
        family: "words, aligned",
        weights: &[3.965, 0.1973, 0.02596, 0.1095, 4.076, 0.4463, 0.03104, 0.001667, 0.03209, 0.0, 0.0],
    },
    // words, ragged: launch; used; fill of rows; fill of columns; millions of elements; first megabyte; megabytes beyond the cache; megabytes of few rows; thousands of columns; elements, output rows off words; batched
    Cost {
        rung: "coalesced_write",
        family: "words, ragged",
        weights: &[3.862, 0.189, 0.1064, 0.1526, 4.253, 0.3288, 0.01028, 0.01585, 0.05084, 0.0, 0.0],
    },
    Cost {
        rung: "coarsened",
        family: "8 bytes, aligned",
        weights: &[4.085, 0.1693, 0.0, 0.2169, 4.098, 0.4436, 0.009816, 0.0, 0.01241, 0.0, 0.0],
    },
    Cost {
        rung: "coarsened",
        family: "8 bytes, ragged",
        weights: &[4.051, 0.0239, 0.102, 0.2986, 4.377, 0.2761, 0.0243, 0.02806, 0.01968, 0.0, 0.0],
    },
    Cost {
        rung: "coarsened",
        family: "words, aligned",
        weights: &[4.066, 0.3072, 0.0, 0.1945, 2.086, 0.3641, 0.02069, 0.004452, 0.006465, 0.0, 0.0],
    },
    Cost {
        rung: "coarsened",
        family: "words, ragged",
        weights: &[3.947, 0.3394, 0.0985, 0.308, 2.412, 0.04876, 0.1097, 0.03328, 0.01116, 0.0, 0.0],
    },
    Cost {
        rung: "naive",
        family: "8 bytes, aligned",
        weights: &[3.856, 0.1419, 0.2128, 0.1779, 13.66, 0.1493, 0.3089, 0.01115, 0.0, 0.0, 0.0],
    },
    Cost {
        rung: "naive",
        family: "8 bytes, ragged",
        weights: &[3.556, 0.06272, 0.508, 0.2187, 14.87, 0.0, 0.2211, 0.0, 0.0, 0.0, 0.0],
    },
    Cost {
        rung: "naive",
        family: "words, aligned",
        weights: &[3.491, 0.1292, 0.596, 0.09456, 12.92, 0.3584, 0.0, 0.001049, 0.0, 0.0, 0.0],
    },
    Cost {
        rung: "naive",
        family: "words, ragged",
        weights: &[3.794, 0.1211, 0.2772, 0.1312, 13.41, 0.0, 0.3584, 0.0, 0.0, 0.0, 0.0],
    },
    Cost {
        rung: "ordered",
        family: "words, aligned",
        weights: &[4.944, 0.168, 0.0326, 0.0, 2.114, 0.1858, 0.0, 0.0, 0.01125, 0.0, 0.174],
    },
    Cost {
        rung: "ordered",
        family: "words, ragged",
        weights: &[5.255, 0.0, 0.2189, 0.737, 2.376, 0.04944, 0.01703, 0.0, 0.0636, 0.0, 0.09904],
    },
    Cost {
        rung: "register_blocked",
        family: "words, aligned",
        weights: &[4.861, 0.1445, 0.003855, 0.0, 2.12, 0.2171, 0.001583, 0.0, 0.01316, 0.0, 0.1726],
    },
    Cost {
        rung: "register_blocked",
        family: "words, ragged",
        weights: &[5.197, 0.0, 0.2077, 0.7284, 2.395, 0.02449, 0.03595, 0.01786, 0.06508, 0.0, 0.0602],
    },
    Cost {
        rung: "sheared@narrow",
        family: "8 bytes, aligned",
        weights: &[4.852, 0.07245, 0.0, 0.0, 4.407, 0.2759, 0.0, 0.0, 0.02187, 0.0, 0.1442],
    },
    Cost {
        rung: "sheared@narrow",
        family: "8 bytes, ragged",
        weights: &[5.105, 0.0, 0.5006, 0.0, 4.471, 0.3102, 0.0, 0.05159, 0.07348, 0.0, 0.07134],
    },
    Cost {
        rung: "sheared@narrow",
        family: "bytes, aligned",
        weights: &[5.756, 0.1342, 0.0, 1.255, 1.758, 0.0, 0.6629, 0.0, 0.0, 0.0, 0.0],
    },
    // bytes, ragged: launch; used; fill of rows; fill of columns; millions of elements; first megabyte; megabytes beyond the cache; megabytes of few rows; thousands of columns; elements, output rows off words; batched
    Cost {
        rung: "sheared@narrow",
        family: "bytes, ragged",
        weights: &[7.934, 0.0, 1.233, 10.59, 1.893, 0.0, 0.0, 0.6267, 0.0452, 0.06768, 1.179],
    },
    Cost {
        rung: "sheared@narrow",
        family: "halves, aligned",
        weights: &[5.417, 0.0, 0.0, 0.2462, 1.55, 0.3985, 0.03033, 0.0, 0.01574, 0.0, 0.04255],
    },
    // halves, ragged: launch; used; fill of rows; fill of columns; millions of elements; first megabyte; megabytes beyond the cache; megabytes of few rows; thousands of columns; elements, output rows off words; batched
    Cost {
        rung: "sheared@narrow",
        family: "halves, ragged",
        weights: &[6.984, 0.0, 0.7218, 2.196, 1.628, 0.0, 0.0, 0.05468, 0.1198, 0.0402, 0.2711],
    },
    Cost {
        rung: "sheared@narrow",
        family: "words, aligned",
        weights: &[4.622, 0.129, 0.01947, 0.0, 2.202, 0.325, 0.0, 0.0, 0.01457, 0.0, 0.1521],
    },
    Cost {
        rung: "sheared@narrow",
        family: "words, ragged",
        weights: &[5.546, 0.0, 0.5278, 0.105, 2.269, 0.07389, 0.0, 0.04985, 0.08988, 0.0, 0.209],
    },
    Cost {
        rung: "sheared@wide",
        family: "8 bytes, aligned",
        weights: &[5.06, 0.0, 0.0, 0.154, 5.052, 0.1328, 0.0, 0.0, 0.04439, 0.0, 0.07815],
    },
    Cost {
        rung: "sheared@wide",
        family: "8 bytes, ragged",
        weights: &[4.965, 0.0, 0.7993, 0.8479, 5.154, 0.0, 0.0, 0.03668, 0.07627, 0.0, 0.4253],
    },
    Cost {
        rung: "sheared@wide",
        family: "bytes, aligned",
        weights: &[5.943, 0.3493, 0.0, 1.456, 1.056, 0.0, 0.8355, 0.0, 0.003268, 0.0, 0.0],
    },
    Cost {
        rung: "sheared@wide",
        family: "bytes, ragged",
        weights: &[8.115, 0.0, 1.709, 10.38, 1.263, 0.0, 0.0, 0.4965, 0.1213, 0.1863, 1.072],
    },
    Cost {
        rung: "sheared@wide",
        family: "halves, aligned",
        weights: &[5.427, 0.0, 0.0, 0.2466, 1.551, 0.3306, 0.02967, 0.0, 0.01826, 0.0, 0.08501],
    },
    Cost {
        rung: "sheared@wide",
        family: "halves, ragged",
        weights: &[6.909, 0.0, 0.7645, 2.212, 1.627, 0.0, 0.0, 0.05985, 0.1214, 0.03794, 0.2594],
    },
    Cost {
        rung: "sheared@wide",
        family: "words, aligned",
        weights: &[4.617, 0.1324, 0.02862, 0.0, 2.203, 0.296, 0.0, 0.0, 0.01452, 0.0, 0.146],
    },
    Cost {
        rung: "sheared@wide",
        family: "words, ragged",
        weights: &[5.534, 0.0, 0.5268, 0.105, 2.26, 0.1155, 0.0, 0.05121, 0.08829, 0.0, 0.2198],
    },
    // skinny: launch; megabytes; blocks; short side
    Cost { rung: "skinny", family: "skinny", weights: &[4.078, 0.0, 0.1497, 0.1823] },
    Cost {
        rung: "swizzled",
        family: "8 bytes, aligned",
        weights: &[4.096, 0.1455, 0.0, 0.1853, 4.059, 0.4667, 0.01132, 0.0, 0.01381, 0.0, 0.0],
    },
    Cost {
        rung: "swizzled",
        family: "8 bytes, ragged",
        weights: &[4.027, 0.01387, 0.1342, 0.2773, 4.322, 0.271, 0.02851, 0.02672, 0.02023, 0.0, 0.0],
    },
    Cost {
        rung: "swizzled",
        family: "words, aligned",
        weights: &[4.085, 0.3196, 0.0, 0.153, 2.109, 0.3597, 0.01814, 0.004224, 0.006574, 0.0, 0.0],
    },
    Cost {
        rung: "swizzled",
        family: "words, ragged",
        weights: &[3.999, 0.3429, 0.07615, 0.2568, 2.43, 0.06771, 0.1061, 0.0329, 0.01084, 0.0, 0.0],
    },
    Cost {
        rung: "tiled_padded@16",
        family: "8 bytes, aligned",
        weights: &[4.113, 0.2169, 0.0, 0.01917, 5.2, 0.3966, 0.0, 0.008064, 0.01787, 0.0, 0.0],
    },
    Cost {
        rung: "tiled_padded@16",
        family: "8 bytes, ragged",
        weights: &[4.161, 0.2627, 0.01505, 0.01197, 5.509, 0.1426, 0.0, 0.05094, 0.01843, 0.0, 0.0],
    },
    Cost {
        rung: "tiled_padded@16",
        family: "words, aligned",
        weights: &[4.044, 0.2361, 0.04853, 0.0, 4.017, 0.3449, 0.01481, 0.0, 0.01243, 0.0, 0.0],
    },
    Cost {
        rung: "tiled_padded@16",
        family: "words, ragged",
        weights: &[4.015, 0.2086, 0.09445, 0.01771, 4.295, 0.2009, 0.005416, 0.02451, 0.02639, 0.0, 0.0],
    },
];
