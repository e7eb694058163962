//! Judgements of several figures.

use super::{Judgement, Verdict};

/// Multiply-adds of a product of 64 x 64 x 64, twice: the loads of the naive kernel.
pub(super) const CUBE: f64 = 2.0 * 64.0 * 64.0 * 64.0;
/// Bytes that `shared` reads from shared memory at its full size: 2^19 rows of 32 words, 512 rounds.
pub(super) const SHARED_BYTES: f64 = 524_288.0 * 32.0 * 4.0 * 512.0;
/// Bytes that a copy of 2^25 words moves.
pub(super) const COPY_BYTES: f64 = 8.0 * 33_554_432.0;

/// All of them, or the worst.
pub(super) fn both(all: &[Judgement]) -> Judgement {
    let worst = |verdict| all.iter().any(|j| j.verdict == verdict);
    let verdict = match () {
        () if worst(Verdict::Fails) && worst(Verdict::Holds) => Verdict::Depends,
        () if worst(Verdict::Fails) => Verdict::Fails,
        () if worst(Verdict::Depends) => Verdict::Depends,
        () => Verdict::Holds,
    };
    let figures: Vec<&str> = all.iter().map(|j| j.figure.as_str()).collect();
    Judgement { verdict, figure: figures.join("; ") }
}

/// Latencies in nanoseconds (shared, first level, second level, memory) and the clock in MHz, against
/// ranges in cycles.
pub(super) fn levels(v: &[f64], ranges: &[(f64, f64); 4]) -> Judgement {
    const NAMES: [&str; 4] = ["shared", "first level", "second level", "memory"];
    let clock = v[4];
    if !clock.is_finite() {
        let parts: Vec<String> = NAMES.iter().zip(v).map(|(name, ns)| format!("{name} {} ns", word(*ns))).collect();
        return Judgement {
            verdict: Verdict::Depends,
            figure: format!("{} (no clock to count cycles by)", parts.join(", ")),
        };
    }
    let cycles: Vec<f64> = v[..4].iter().map(|ns| ns * clock / 1e3).collect();
    let inside = cycles.iter().zip(ranges).filter(|(c, (low, high))| (low..=high).contains(c)).count();
    let parts: Vec<String> = NAMES.iter().zip(&cycles).map(|(name, c)| format!("{name} {}", word(*c))).collect();
    let verdict = match inside {
        _ if cycles.iter().any(|c| c.is_nan()) => Verdict::Depends,
        4 => Verdict::Holds,
        0 => Verdict::Fails,
        _ => Verdict::Depends,
    };
    Judgement { verdict, figure: format!("cycles: {}", parts.join(", ")) }
}

/// A number without decimals, or a dash.
pub(super) fn word(value: f64) -> String {
    if value.is_finite() { format!("{value:.0}") } else { "-".into() }
}

/// The largest.
pub(super) fn max(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NAN, f64::max)
}

/// The least.
pub(super) fn min(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NAN, f64::min)
}
