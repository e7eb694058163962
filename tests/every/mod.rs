//! A sample of a long suite, for machines with little time.

use libtest_mimic::Trial;

/// With `GPU_LADDER_EVERY=3`, every third trial; the others are listed as ignored.
pub fn sampled(trials: Vec<Trial>) -> Vec<Trial> {
    let asked: Option<usize> = std::env::var("GPU_LADDER_EVERY").ok().and_then(|n| n.trim().parse().ok());
    let Some(every) = asked.filter(|&every| every > 1) else { return trials };
    eprintln!("GPU_LADDER_EVERY={every}: one of {every} runs, the others are ignored");
    let choose = |(index, trial): (usize, Trial)| {
        let ignored = trial.has_ignored_flag() || index % every != 0;
        trial.with_ignored_flag(ignored)
    };
    trials.into_iter().enumerate().map(choose).collect()
}
