//! The command line: parse, call, print, exit code. 0: all as it should be; 1: a verdict failed or
//! something got slower; 2: could not run.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_ansi(false).without_time().init();
    match cli::call() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            cli::terminal::complain(&format!("gpu-ladder: {error}"));
            ExitCode::from(2)
        }
    }
}
