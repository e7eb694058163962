//! How far a correct kernel may be from the exact product.
//!
//! With S = |alpha| |A| |B| + |beta C| for an element, u = 2^-24 and gamma(n, v) = n v / (1 - n v):
//!
//! - *f32*: gamma(k + 3, u) S: k products and additions in any order or fused, the scaling, and the
//!   rounding of the result (Higham, Accuracy and Stability of Numerical Algorithms, 3.5).
//! - *f16, bf16*: products are exact in f32, sums are of f32. Matrix units align the addends of a
//!   group to the largest and cut what hangs over, up to 2^-24 of the largest for each addend and
//!   2^-23 for the sum, in groups of at least 4: fewer than k 2^-23 S in all, so gamma(k + 3, 2u) S.
//! - *TF32*: the same, and each operand is rounded to 11 bits first: (2^-10 + 2^-22) S more.
//! - *split*: an operand is a sum of parts. What the parts leave out and the products that are not
//!   computed are a constant times S (below). Products are added in short groups as above, at most
//!   [`SPLIT_GROUPS`] of 16 between two additions to the f32 sum, which rounds: at most
//!   k / [`SPLIT_STEP`] of those. With each goes 2^-24 of what is added, for what was cut on average:
//!   [`GIVEN_BACK`] units of S in all, its own roundings included.
//!
//! An output in f16 or bf16 is then rounded to its type: half a step of the value found.

use crate::element::Element;
use crate::problem::{Precision, Problem};
use crate::verify::rounding;

/// The least number of steps of k between two additions to the f32 sums of a split product.
const SPLIT_STEP: u64 = 16;
/// The most groups of 16 products of one element that are added without such an addition: 6 products
/// of parts on 64 steps of k.
const SPLIT_GROUPS: f64 = 24.0;
/// What a group loses, in units of 2^-24: its 16 products and the sum before are cut, and the result too.
const GROUP_LOSS: f64 = 19.0;

/// What is added against the cuts, in units of 2^-24 times the sum of magnitudes.
const GIVEN_BACK: f64 = 2.0;

const UNIT: f64 = 1.0 / (1u64 << 24) as f64;
/// The least normal number of f32: smaller products may be flushed to zero.
const LEAST_NORMAL: f64 = 1.175_494_350_822_287_5e-38;
const LEAST_SUBNORMAL: f64 = 1.401_298_464_324_817e-45;

/// The bound of one problem.
pub(super) struct Bound {
    /// Times the sum of magnitudes.
    relative: f64,
    /// Beside it, whatever the magnitudes.
    absolute: f64,
}

impl Bound {
    /// Whether it depends on the largest elements of both operands.
    pub(super) fn asks_for_largest(precision: Precision) -> bool {
        precision == Precision::SplitF16
    }

    /// For a problem whose operands' largest elements are `largest`, where [that counts](Self::asks_for_largest).
    pub(super) fn new(problem: &Problem, largest: [f64; 2]) -> Self {
        let terms = problem.dim(2) + 3;
        let count = terms as f64;
        // Twice the unit: an addition that cuts loses up to a whole step.
        let cut = rounding(2 * terms, Element::F32);
        let sums = |products: f64| {
            (products / 6.0 * SPLIT_GROUPS * GROUP_LOSS + GIVEN_BACK) * UNIT
                + rounding(terms.div_ceil(SPLIT_STEP) + 4, Element::F32)
        };
        let (relative, absolute) = match (problem.precision, problem.element) {
            (Precision::Full, Element::F32) => (rounding(terms, Element::F32), count * LEAST_SUBNORMAL),
            (Precision::Full, _) => (cut, count * LEAST_NORMAL),
            (Precision::Tf32, _) => {
                let inputs = f64::exp2(-10.0) + f64::exp2(-22.0);
                (inputs + cut * (1.0 + inputs), count * LEAST_NORMAL)
            }
            // Two TF32 leave 2^-22 of an element; the product of both second parts is left out.
            (Precision::SplitTf32, _) => (3.1 * f64::exp2(-22.0) + sums(3.0), count * LEAST_NORMAL),
            // Two f16 leave 2^-22 of an element and 2^-39 of the largest one, to which the scale fits
            // them, as long as that is a power of two up to 2^60; the product of both second parts is left out.
            (Precision::SplitF16, _) => {
                let parts = 3.1 * f64::exp2(-22.0);
                let [a, b] = largest;
                let left = |largest: f64| (largest * f64::exp2(-39.0)).max(f64::exp2(-85.0));
                let small = f64::from(problem.alpha).abs() * 1.05 * (left(a) * b + left(b) * a);
                (parts + sums(3.0), count * (small + LEAST_NORMAL))
            }
            // Three bf16 leave 2^-24; the products of parts 1 and 2 are left out.
            (Precision::SplitBf16, _) => (4.1 * UNIT + sums(6.0), count * LEAST_NORMAL),
        };
        Bound { relative, absolute }
    }

    /// For an element whose terms' magnitudes add up to `magnitude`.
    pub(super) fn of_sum(&self, magnitude: f64) -> f64 {
        self.relative * magnitude + self.absolute
    }

    /// For a sum of `elements` of them.
    pub(super) fn of_row(&self, magnitude: f64, elements: u64) -> f64 {
        self.relative * magnitude + elements as f64 * self.absolute
    }

    /// The bound once a value, off by at most `bound`, is rounded to the output's type. For f32 that
    /// rounding is one of those already counted.
    pub(super) fn rounded(&self, value: f64, bound: f64, output: Element) -> f64 {
        match (output, output.unit_roundoff(), output.least_positive()) {
            (Element::F16 | Element::Bf16, Some(unit), Some(least)) => {
                bound + unit * (value.abs() + bound) + least / 2.0
            }
            _ => bound,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relative(element: Element, precision: Precision, k: u64) -> f64 {
        Bound::new(&Problem::new(element, [1, 1, k]).with_precision(precision), [1.0; 2]).relative
    }

    #[test]
    fn true_f32_has_the_textbook_bound() {
        assert_eq!(relative(Element::F32, Precision::Full, 1021), rounding(1024, Element::F32));
    }

    #[test]
    fn a_split_is_bound_tighter_than_a_long_f32_sum_and_tf32_looser() {
        for precision in [Precision::SplitTf32, Precision::SplitF16, Precision::SplitBf16] {
            let (split, full) =
                (relative(Element::F32, precision, 4096), relative(Element::F32, Precision::Full, 4096));
            assert!(split < full, "{precision}: {split} {full}");
        }
        assert!(relative(Element::F32, Precision::Tf32, 4096) > relative(Element::F32, Precision::Full, 4096));
    }

    #[test]
    fn a_short_output_is_rounded_once_more() {
        let bound = Bound::new(&Problem::new(Element::F16, [1, 1, 8]), [0.0; 2]);
        assert_eq!(bound.rounded(1.0, 0.0, Element::F32), 0.0);
        assert!(bound.rounded(1.0, 0.0, Element::F16) >= f64::exp2(-11.0));
    }
}
