//! A sample of a long suite, for machines with little time.

use libtest_mimic::Trial;

/// With `GPU_LADDER_EVERY=3`, every third trial, from that of number `GPU_LADDER_PART` on (its remainder by 3; 0 where it
/// is not given); the others are listed as ignored. Every trial is in exactly one of the parts.
pub fn sampled(trials: Vec<Trial>) -> Vec<Trial> {
    let number = |name: &str| -> Option<usize> { std::env::var(name).ok()?.trim().parse().ok() };
    let Some(every) = number("GPU_LADDER_EVERY").filter(|&every| every > 1) else { return trials };
    let part = number("GPU_LADDER_PART").unwrap_or(0) % every;
    eprintln!(
        "one trial of {every}, the others are ignored; the same again: GPU_LADDER_EVERY={every} GPU_LADDER_PART={part}"
    );
    let choose = |(index, trial): (usize, Trial)| {
        let ignored = trial.has_ignored_flag() || index % every != part;
        trial.with_ignored_flag(ignored)
    };
    trials.into_iter().enumerate().map(choose).collect()
}
