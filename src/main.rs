//! The command line: parse, call, print, exit code. 0: all verified; 1: a verdict failed; 2: could not run.

mod cli;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Optimisation ladders of GPU kernels: verified, timed against the hardware's limit, explained.
#[derive(Parser)]
#[command(name = "gpu-ladder", version, about)]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// List the ops and their rungs, each with its idea.
    List {
        /// Only this op.
        op: Option<String>,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Describe the devices that open, and say why others do not.
    Info {
        #[command(flatten)]
        device: cli::DeviceArguments,
    },
    /// Climb the ladder of an op: every rung verified, then timed side by side.
    #[command(
        after_help = "Examples:\n  gpu-ladder run transpose --size 8192\n  gpu-ladder run matmul --m 512 --n 512 --k 512 --rung tiled --format json"
    )]
    Run(Box<cli::run::RunArguments>),
    /// Run a rung on the simulator and print its source with what every line did.
    #[command(
        after_help = "Examples:\n  gpu-ladder explain transpose/tiled\n  gpu-ladder explain matmul/tiled@16 --size 128 --format json"
    )]
    Explain(cli::explain::ExplainArguments),
    /// Run a WGSL shader of your own on the simulator: races, bad accesses, conflicts, divergence. No GPU needed.
    #[command(
        after_help = "Examples:\n  gpu-ladder check blur.wgsl --groups 16,16,1 --buffer 0=65536xf32 --buffer 1=65536xf32 --buffer 2=u32:256,256\n  gpu-ladder check sort.wgsl --config sort.toml --format json"
    )]
    Check(cli::check::CheckArguments),
    /// Print a kept run (`run --format json`) in another format.
    Report(cli::report::ReportArguments),
}

fn main() -> ExitCode {
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_ansi(false).without_time().init();
    let arguments = Arguments::parse();
    let done = match arguments.verb {
        Verb::List { op, json } => cli::list::list(op.as_deref(), json),
        Verb::Info { device } => cli::list::info(&device),
        Verb::Run(arguments) => cli::run::run(&arguments),
        Verb::Explain(arguments) => cli::explain::explain(&arguments),
        Verb::Check(arguments) => cli::check::check(&arguments),
        Verb::Report(arguments) => cli::report::report(&arguments),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("gpu-ladder: {error}");
            ExitCode::from(2)
        }
    }
}
