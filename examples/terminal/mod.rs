//! What both climbing examples say and ask on a terminal.

use gpu_ladder::climb::{Ascent, Climb};
use gpu_ladder::{Error, Result};
use std::io::{IsTerminal, Write};

/// Climbs with a spinner where somebody watches.
pub fn climb(climb: &Climb) -> Result<Ascent> {
    let bar = if std::io::stderr().is_terminal() {
        indicatif::ProgressBar::new_spinner()
    } else {
        indicatif::ProgressBar::hidden()
    };
    bar.enable_steady_tick(std::time::Duration::from_millis(100));
    let ascent = pollster::block_on(climb.run(&mut |step: &str| bar.set_message(step.to_string())));
    bar.finish_and_clear();
    for (backend, error) in ascent.iter().flat_map(|ascent| &ascent.missing) {
        eprintln!("{backend}: {error}");
    }
    ascent
}

/// A whole number given as an option's value.
pub fn number(option: &'static str, text: &str) -> Result<u64> {
    text.parse().map_err(|_| Error::Option {
        option,
        value: text.into(),
        problem: "a whole number from 0 to 2^64 - 1".into(),
    })
}

/// Whether the terminal's character set has more than ASCII.
fn unicode() -> bool {
    let locale =
        ["LC_ALL", "LC_CTYPE", "LANG"].iter().filter_map(|name| std::env::var(name).ok()).find(|v| !v.is_empty());
    locale.is_some_and(|l| l.to_lowercase().replace('-', "").contains("utf8"))
}

/// What the table may know of the terminal.
pub fn page() -> gpu_ladder::report::Page {
    gpu_ladder::report::Page { unicode: unicode(), ..Default::default() }
}

/// Prints without a panic when the reader has gone.
pub fn print(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}
