//! A sample of a long suite, for machines with little time.

use libtest_mimic::Trial;

/// With `GPU_LADDER_EVERY=3`, every third trial; the others are listed as ignored.
pub fn sampled(trials: Vec<Trial>) -> Vec<Trial> {
    let every = std::env::var("GPU_LADDER_EVERY").ok().and_then(|n| n.trim().parse().ok()).filter(|n| *n > 1usize);
    let Some(every) = every else { return trials };
    eprintln!("GPU_LADDER_EVERY={every}: one of {every} runs, the others are ignored");
    let ignored = |index: usize, trial: Trial| trial.with_ignored_flag(index % every != 0);
    trials
        .into_iter()
        .enumerate()
        .map(|(i, trial)| if trial.has_ignored_flag() { trial } else { ignored(i, trial) })
        .collect()
}
