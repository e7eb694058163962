//! What the tool knows of the terminal, and how it prints: results to stdout, all else to stderr.

use gpu_ladder::climb::Progress;
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The first of the locale's variables that says anything, for the category `category`.
fn locale(category: &str) -> String {
    let names = ["LC_ALL", category, "LANG"];
    names.iter().filter_map(|name| std::env::var(name).ok()).find(|value| !value.is_empty()).unwrap_or_default()
}

/// Whether the terminal's character set has more than ASCII.
pub fn unicode() -> bool {
    locale("LC_CTYPE").to_lowercase().replace('-', "").contains("utf8")
}

/// Whether the locale's messages are Chinese.
pub fn chinese() -> bool {
    locale("LC_MESSAGES").to_lowercase().starts_with("zh") && unicode()
}

/// Prints without a panic when the reader has gone (`gpu-ladder list | head -1`).
pub fn print(text: &str) {
    let mut out = std::io::stdout();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Says something that is no result.
pub fn complain(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Columns of the terminal that results go to; `None` for a file or a pipe.
pub fn width() -> Option<usize> {
    let stdout = std::io::stdout();
    if !stdout.is_terminal() {
        return None;
    }
    let told = std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok());
    told.or_else(|| terminal_size::terminal_size().map(|(columns, _)| columns.0.into())).filter(|&columns| columns > 0)
}

/// A line of progress, on a terminal only: a log gets neither escape codes nor carriage returns.
pub struct Spinner(indicatif::ProgressBar);

impl Spinner {
    /// Starts it, where somebody watches.
    pub fn new() -> Self {
        let watched = std::io::stderr().is_terminal()
            && std::env::var("TERM").is_ok_and(|term| term != "dumb")
            && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let bar = if watched { indicatif::ProgressBar::new_spinner() } else { indicatif::ProgressBar::hidden() };
        bar.enable_steady_tick(Duration::from_millis(100));
        Spinner(bar)
    }

    /// Says what is being done.
    pub fn say(&self, what: &str) {
        self.0.set_message(what.to_string());
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// Set by the first interruption: the step that runs is finished and what is there is kept. Another one
/// ends the process as usual, unless it is the same one over again: some senders signal a process and then its group.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);
const SAME_INTERRUPTION: Duration = Duration::from_millis(200);

/// Whether somebody has interrupted work that keeps what it has.
pub fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// From now on the first interruption only sets [`interrupted`].
pub fn listen() {
    let mut first: Option<Instant> = None;
    // Without a handler an interruption ends the process and loses what is there; that is no reason not to run.
    let _ = ctrlc::set_handler(move || match first {
        Some(first) if first.elapsed() > SAME_INTERRUPTION => {
            const BY_INTERRUPT: i32 = 130;
            std::process::exit(BY_INTERRUPT);
        }
        Some(_) => {}
        None => {
            first = Some(Instant::now());
            INTERRUPTED.store(true, Ordering::Relaxed);
            complain("interrupted: what is there so far follows; once more ends at once");
        }
    });
}

/// Work that shows its steps and may be interrupted between them.
pub struct Watched(Spinner);

impl Watched {
    /// Begins it.
    pub fn new() -> Self {
        listen();
        Watched(Spinner::new())
    }
}

impl Progress for Watched {
    fn step(&mut self, what: &str) {
        self.0.say(what);
    }

    fn stop(&self) -> bool {
        interrupted()
    }
}
