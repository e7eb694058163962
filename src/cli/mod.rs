//! The verbs of the command line, one file each.

pub mod check;
pub mod explain;
pub mod list;
pub mod report;
pub mod run;

use clap::Args;
use std::io::Write;

#[derive(Args)]
pub struct DeviceArguments {
    /// auto, cuda, wgpu or sim; several by commas (default: all that open).
    #[arg(long, value_delimiter = ',')]
    pub backend: Vec<String>,
    /// An index, or part of a device's name.
    #[arg(long)]
    pub device: Option<String>,
}

/// Whether the terminal's character set has more than ASCII.
pub fn unicode() -> bool {
    let locale =
        ["LC_ALL", "LC_CTYPE", "LANG"].iter().filter_map(|name| std::env::var(name).ok()).find(|v| !v.is_empty());
    locale.is_some_and(|l| l.to_lowercase().replace('-', "").contains("utf8"))
}

/// Prints without a panic when the reader has gone (`gpu-ladder list | head -1`).
pub fn print(text: &str) {
    let mut out = std::io::stdout();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
