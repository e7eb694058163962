//! `completions`: from the same table as everything else.

use super::terminal::print;
use clap::Args;
use gpu_ladder::Result;

/// The flags of `completions`.
#[derive(Args)]
pub struct CompletionsArguments {
    /// The shell.
    shell: clap_complete::Shell,
}

/// Prints them.
pub fn completions(arguments: &CompletionsArguments) -> Result<bool> {
    let mut text = Vec::new();
    clap_complete::generate(arguments.shell, &mut super::command(), "gpu-ladder", &mut text);
    print(&String::from_utf8_lossy(&text));
    Ok(true)
}
