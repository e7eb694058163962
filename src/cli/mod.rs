//! The verbs of the command line: one table of them, one file each.

pub mod terminal;

mod advise;
mod check;
mod claims;
mod compare;
mod completions;
mod explain;
mod kernel;
mod limits;
mod list;
mod output;
mod profile;
mod report;
mod run;
mod selectors;
mod tune;

use clap::{ArgMatches, Args, Command, FromArgMatches};
use gpu_ladder::Result;
use gpu_ladder::sim::Machine;

/// A verb: what the help says of it, which flags it takes, and what it does.
struct Verb {
    name: &'static str,
    about: &'static str,
    examples: &'static [&'static str],
    flags: fn(Command) -> Command,
    /// What --format takes, where it is not every format of rows.
    formats: Option<&'static [&'static str]>,
    call: fn(&ArgMatches) -> Result<bool>,
}

macro_rules! verb {
    ($name:literal, $about:literal, $call:ident::$function:ident($arguments:ident), [$($example:literal),* $(,)?]) => {
        verb!($name, $about, $call::$function($arguments), formats None, [$($example),*])
    };
    ($name:literal, $about:literal, $module:ident::$function:ident($arguments:ident), formats $formats:expr, [$($example:literal),* $(,)?]) => {
        Verb {
            name: $name,
            about: $about,
            examples: &[$($example),*],
            flags: <$module::$arguments as Args>::augment_args,
            formats: $formats,
            call: |matches| {
                let arguments = $module::$arguments::from_arg_matches(matches).unwrap_or_else(|error| error.exit());
                $module::$function(&arguments)
            },
        }
    };
}

/// Every verb. A new one is a file and an entry here: help, completions and dispatch follow.
const VERBS: &[Verb] = &[
    verb!(
        "list",
        "List the ops and their rungs, each with its idea",
        list::list(ListArguments),
        ["list", "list transpose --json",]
    ),
    verb!("info", "Describe the devices that open, and say why others do not", list::info(InfoArguments), ["info"]),
    verb!(
        "run",
        "Climb the ladder of an op: every rung verified, then timed side by side",
        run::run(RunArguments),
        [
            "run transpose --size 8192",
            "run matmul --size 1024..16384*2 --budget 30s --output sweep.json",
            "run transpose --kernel mine.wgsl --tile 32,32 --rung naive",
            "run matmul --m 512 --n 512 --k 512 --rung tiled --format json",
        ]
    ),
    verb!(
        "compare",
        "Compare two kept runs row by row; ends 1 where something got slower",
        compare::compare(CompareArguments),
        formats Some(output::TABLES),
        [
            "compare before.json after.json",
            "compare --baseline main-1.json,main-2.json mine-1.json mine-2.json --threshold 3",
        ]
    ),
    verb!(
        "claims",
        "Test what widely read texts claim about GPUs on this device",
        claims::claims(ClaimsArguments),
        ["claims", "claims A1 B3 --backend wgpu", "claims --format json",]
    ),
    verb!(
        "explain",
        "Run a rung on the simulator and print its source with what every line did",
        explain::explain(ExplainArguments),
        ["explain transpose/tiled", "explain matmul/tiled@16 --size 128 --format json",]
    ),
    verb!(
        "check",
        "Run a WGSL shader of your own on the simulator: races, bad accesses, conflicts, divergence. No GPU needed",
        check::check(CheckArguments),
        [
            "check blur.wgsl --groups 16,16,1 --buffer 0=65536xf32 --buffer 1=65536xf32 --buffer 2=u32:256,256",
            "check sort.wgsl --config sort.toml --format json",
        ]
    ),
    verb!(
        "limits",
        "Measure what a device can do at most: copies, multiply-adds, shared memory, launches",
        limits::limits(LimitsArguments),
        formats Some(output::TABLES),
        ["limits", "limits --backend cuda --again --format json"]
    ),
    verb!(
        "tune",
        "Find the fastest right rung for a problem on this device, and keep it for the library",
        tune::tune(TuneArguments),
        formats Some(output::TEXTS),
        ["tune matmul --m 512 --n 512 --k 64", "tune transpose --shape 1000x777 --element f16 --dry-run"]
    ),
    verb!(
        "profile",
        "Hardware counters by Nsight Compute (CUDA) beside the simulator's, rung by rung",
        profile::profile(ProfileArguments),
        formats Some(output::TABLES),
        ["profile transpose --size 1024", "profile matmul/tiled --size 256 --format json"]
    ),
    verb!(
        "advise",
        "Say where data should go on a device: registers, shared, constant or global memory, and why",
        advise::advise(AdviseArguments),
        formats Some(output::TEXTS),
        [
            "advise --bytes 16K --access strided --reuse 32 --shared-by block",
            "advise --bytes 1G --access random --backend sim",
        ]
    ),
    verb!(
        "report",
        "Print kept runs in another format: a table, an HTML page, a picture",
        report::report(ReportArguments),
        ["report run.json --format markdown", "report cuda.json wgpu.json --output report.html",]
    ),
    verb!(
        "completions",
        "Print the completions of a shell",
        completions::completions(CompletionsArguments),
        ["completions bash > ~/.local/share/bash-completion/completions/gpu-ladder",]
    ),
];

/// The command line as `clap` knows it.
fn command() -> Command {
    let mut command = Command::new("gpu-ladder")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Optimisation ladders of GPU kernels: verified, timed against the hardware's limit, explained")
        .after_help(
            "Exit codes: 0 all as it should be, 1 a wrong result or a regression, 2 could not run.\n\n\
             Environment: GPU_LADDER_STATE and GPU_LADDER_CACHE name the folders in which measured limits and tuned \
             choices are kept (default: the platform's); GPU_LADDER_NVRTC is the path of NVRTC, GPU_LADDER_CUBLAS the \
             folder of cuBLAS, where they are not found by themselves.",
        )
        .subcommand_required(true)
        .arg_required_else_help(true);
    for verb in VERBS {
        let examples: Vec<String> = verb.examples.iter().map(|line| format!("  gpu-ladder {line}")).collect();
        let help = format!("Examples:\n{}", examples.join("\n"));
        // A value below 0 is refused as the value it is, not as an unknown flag.
        let mut subcommand = (verb.flags)(Command::new(verb.name)).mut_args(|flag| {
            let takes_value = !flag.is_positional() && flag.get_action().takes_values();
            let models =
                || format!("The simulator's machine model: {}", Machine::names().collect::<Vec<_>>().join(", "));
            let flag = if flag.get_id() == "machine" { flag.help(models()) } else { flag };
            flag.allow_negative_numbers(takes_value)
        });
        if let Some(formats) = verb.formats {
            let says = format!("{} (default: what the name of --output says, else {})", formats.join(", "), formats[0]);
            subcommand = subcommand.mut_arg("format", |flag| flag.help(says));
        }
        command = command.subcommand(subcommand.about(verb.about).long_about(None).after_help(help));
    }
    command
}

/// Parses the arguments of the process and does what they say; false where the answer is a bad one.
pub fn call() -> Result<bool> {
    let matches = command().get_matches();
    let Some((name, arguments)) = matches.subcommand() else { return Ok(true) };
    VERBS.iter().find(|verb| verb.name == name).map_or(Ok(true), |verb| (verb.call)(arguments))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the help and the guides tell people to type.
    #[test]
    fn every_command_that_is_shown_parses() {
        let pages = [
            include_str!("../../README.md"),
            include_str!("../../README.zh-CN.md"),
            include_str!("../../docs/for-learners.md"),
            include_str!("../../docs/for-performance-engineers.md"),
            include_str!("../../docs/for-shader-authors.md"),
            include_str!("../../docs/for-rust-developers.md"),
            include_str!("../../docs/simulator.md"),
        ];
        let lines = pages.iter().flat_map(|page| page.lines()).filter_map(|line| line.strip_prefix("gpu-ladder "));
        let shown = lines.map(|line| line.split_once(" #").map_or(line, |(command, _)| command));
        let examples = VERBS.iter().flat_map(|verb| verb.examples.iter().copied());
        let mut count = 0;
        for line in shown.filter(|line| !line.contains('…') && !line.starts_with('=')).chain(examples) {
            let before_redirection = line.split_whitespace().take_while(|word| *word != ">");
            let words = std::iter::once("gpu-ladder").chain(before_redirection);
            command().try_get_matches_from(words).unwrap_or_else(|error| panic!("{line}: {error}"));
            count += 1;
        }
        assert!(count > 50, "{count} commands");
    }
}
