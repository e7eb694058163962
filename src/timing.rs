//! How long something takes: warm-up, stop rule, and the statistics of the samples.

use crate::backend::{Clock, Telemetry};
use std::time::Duration;

/// How to time.
#[derive(Debug, Clone, PartialEq)]
pub struct Timing {
    /// Work done before the first sample, so that clocks and caches settle.
    pub warmup: Duration,
    /// Time for the samples of all contenders together; a round that has begun is finished.
    pub budget: Duration,
    /// The fewest rounds, budget or not.
    pub min_rounds: usize,
    /// The most rounds.
    pub max_rounds: usize,
    /// Sampling stops early once every median is known to within this share of itself.
    pub precision: f64,
    /// Run on one buffer again and again instead of rotating over more than the cache holds.
    pub warm_cache: bool,
    /// Runs of a sample, one behind the other between two readings of the clock, whose mean it is: what a
    /// start and the readings cost is shared out. 1 for the time of a run by itself.
    pub in_a_row: usize,
}

impl Default for Timing {
    fn default() -> Self {
        Timing {
            warmup: Duration::from_millis(300),
            budget: Duration::from_millis(1500),
            min_rounds: 10,
            max_rounds: 400,
            precision: 0.002,
            warm_cache: false,
            in_a_row: 1,
        }
    }
}

impl Timing {
    /// A short measurement for a processor that only imitates a GPU, whose times say little.
    pub fn brief() -> Self {
        Timing {
            warmup: Duration::ZERO,
            budget: Duration::from_millis(200),
            min_rounds: 3,
            max_rounds: 20,
            precision: 0.05,
            warm_cache: false,
            in_a_row: 1,
        }
    }

    /// Refuses what cannot give a sample.
    ///
    /// # Errors
    /// [`Error::Option`](crate::Error::Option).
    pub fn check(&self) -> crate::Result<()> {
        if self.min_rounds == 0 || self.max_rounds < self.min_rounds {
            return Err(crate::Error::Option {
                option: "rounds",
                value: format!("{} to {}", self.min_rounds, self.max_rounds),
                problem: "a time needs at least one round, and the least must not be above the most".into(),
            });
        }
        if self.in_a_row == 0 {
            return Err(crate::Error::Option {
                option: "in-a-row",
                value: "0".into(),
                problem: "a sample needs at least one run".into(),
            });
        }
        Ok(())
    }
}

/// The samples of one contender, in nanoseconds, in the order they were taken.
#[derive(Debug, Clone, PartialEq)]
pub struct Samples {
    /// Nanoseconds of each.
    pub ns: Vec<f64>,
    /// Runs of each, whose mean it is.
    pub in_a_row: usize,
    /// The clock they were read from.
    pub clock: Clock,
    /// What the cache held, in words.
    pub cache_policy: String,
    /// Clocks and power right after the last round.
    pub telemetry: Telemetry,
}

impl Samples {
    /// The value below which a share `q` of the samples lies, interpolated; NaN without samples.
    pub fn quantile(&self, q: f64) -> f64 {
        quantile(&self.ns, q)
    }

    /// The median in nanoseconds.
    pub fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// A 95 % confidence interval of the median, from the order of the samples alone.
    pub fn median_interval(&self) -> (f64, f64) {
        median_interval(&self.ns)
    }

    /// Half the interval's width as a share of the median: how well the median is known.
    pub fn uncertainty(&self) -> f64 {
        uncertainty(&self.ns)
    }

    /// The median of the samples' second half over that of the first: a drift of the clocks shows here.
    pub fn drift(&self) -> f64 {
        let (first, second) = self.ns.split_at(self.ns.len() / 2);
        quantile(second, 0.5) / quantile(first, 0.5)
    }
}

/// The ratio of two contenders that were timed in the same rounds: `a` over `b`, with a 95 % interval
/// of the median of the per-round ratios.
pub fn paired_ratio(a: &Samples, b: &Samples) -> (f64, (f64, f64)) {
    let ratios: Vec<f64> = a.ns.iter().zip(&b.ns).map(|(a, b)| a / b).collect();
    (quantile(&ratios, 0.5), median_interval(&ratios))
}

/// Half the width of the median's 95 % interval as a share of the median.
pub(crate) fn uncertainty(values: &[f64]) -> f64 {
    let (low, high) = median_interval(values);
    (high - low) / (2.0 * quantile(values, 0.5))
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

fn quantile(values: &[f64], q: f64) -> f64 {
    let sorted = sorted(values);
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let place = q.clamp(0.0, 1.0) * last as f64;
    let below = place.floor() as usize;
    let above = (below + 1).min(last);
    sorted[below] + (sorted[above] - sorted[below]) * (place - below as f64)
}

/// The ranks between which the median lies with 95 % probability, by the binomial distribution's
/// normal approximation.
fn median_interval(values: &[f64]) -> (f64, f64) {
    const Z: f64 = 1.96;
    let sorted = sorted(values);
    let Some(last) = sorted.len().checked_sub(1) else { return (f64::NAN, f64::NAN) };
    let n = sorted.len() as f64;
    let half = Z * n.sqrt() / 2.0;
    let low = (n / 2.0 - half).floor().max(0.0) as usize;
    let high = (n / 2.0 + half).ceil().min(last as f64) as usize;
    (sorted[low], sorted[high])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(ns: &[f64]) -> Samples {
        Samples {
            ns: ns.to_vec(),
            in_a_row: 1,
            clock: Clock::None,
            cache_policy: String::new(),
            telemetry: Telemetry::default(),
        }
    }

    #[test]
    fn a_first_sample_that_held_the_compile_time_does_not_move_the_median() {
        let mut ns = vec![100.0; 9];
        ns.insert(0, 1e9);
        assert_eq!(samples(&ns).median(), 100.0);
    }

    #[test]
    fn no_samples_give_no_number() {
        assert!(samples(&[]).median().is_nan());
        assert!(samples(&[]).median_interval().0.is_nan());
    }

    #[test]
    fn falling_clocks_show_as_drift() {
        let ns: Vec<f64> = (0..100).map(|i| 100.0 + f64::from(i)).collect();
        assert!(samples(&ns).drift() > 1.3);
        assert!((samples(&[5.0; 10]).drift() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_ratio_is_taken_round_by_round() {
        let a = samples(&[2.0, 4.0, 8.0]);
        let b = samples(&[1.0, 2.0, 4.0]);
        assert_eq!(paired_ratio(&a, &b).0, 2.0);
    }

    #[test]
    fn zero_rounds_are_refused() {
        assert!(Timing { min_rounds: 0, ..Timing::default() }.check().is_err());
        assert!(Timing { in_a_row: 0, ..Timing::default() }.check().is_err());
    }
}
