//! `profile`: hardware counters by Nsight Compute beside the simulator's, rung by rung. Where the
//! profiler or the right to use it is missing, the cause is named and the simulator's stand alone.

use super::output::{OutputArguments, TABLES, bad};
use super::selectors::ProblemArguments;
use super::terminal::{Spinner, complain, unicode};
use clap::Args;
use gpu_ladder::counted::{Counted, count};
use gpu_ladder::op::{self, Op};
use gpu_ladder::report::Row;
use gpu_ladder::report::counters::{self, Figures, Launch, Line};
use gpu_ladder::rung::Rung;
use gpu_ladder::sim::Machine;
use gpu_ladder::{Error, Problem, Result};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

/// The flags of `profile`.
#[derive(Args)]
pub struct ProfileArguments {
    /// The op, or OP/RUNG; see `list`.
    op: String,
    /// Only this rung; several by commas.
    #[arg(long, value_delimiter = ',')]
    rung: Vec<String>,
    #[command(flatten)]
    problem: ProblemArguments,
    /// The profiler, where it is not on the PATH.
    #[arg(long)]
    ncu: Option<PathBuf>,
    /// The machine model of the simulator.
    #[arg(long, default_value = "nvidia-h200")]
    machine: String,
    #[command(flatten)]
    output: OutputArguments,
}

/// Runs both, prints both.
pub fn profile(arguments: &ProfileArguments) -> Result<bool> {
    let (op_name, rung) = arguments.op.split_once('/').map_or((arguments.op.as_str(), None), |(op, r)| (op, Some(r)));
    let op = op::find(op_name)?;
    let words: Vec<&str> = arguments.rung.iter().map(String::as_str).chain(rung).collect();
    if let Some(word) = words.iter().find(|w| !op.ladder().iter().any(|r| r.answers_to(w))) {
        let known = op.ladder().iter().map(Rung::id).collect();
        return Err(Error::Unknown { kind: "rung", word: word.to_string(), known });
    }
    let rungs: Vec<&Rung> =
        op.ladder().iter().filter(|r| words.is_empty() || words.iter().any(|w| r.answers_to(w))).collect();
    const SIDE: u64 = 256;
    let problems = arguments.problem.problems(op, SIDE)?;
    let [problem] = problems.as_slice() else {
        return Err(bad("the problem", format!("{} of them", problems.len()), "profile takes one"));
    };
    op.check(problem)?;
    let machine = Machine::load(&arguments.machine).map_err(|e| bad("--machine", &arguments.machine, e.to_string()))?;
    let format = arguments.output.one_of(TABLES)?;
    let spinner = Spinner::new();
    spinner.say(&format!("profiling {} rungs", rungs.len()));
    let profiled = Profiler::find(arguments).and_then(|profiler| profiler.measure(op, &rungs, problem));
    let mut profiled = profiled.unwrap_or_else(|because| {
        complain(&format!("no hardware counters: {because}. The simulator's stand alone"));
        BTreeMap::new()
    });
    let (mut lines, mut nowhere) = (Vec::new(), 0);
    for rung in rungs {
        spinner.say(&format!("counting {}", rung.id()));
        let counted = count(op, rung, problem, &machine);
        let mut line = Line { rung: rung.id(), ..Line::default() };
        match &counted {
            Ok(counted) => line.simulated = Some(simulated(counted)),
            Err(error) => line.notes.push(format!("simulator: {error}")),
        }
        match profiled.remove(&rung.id()) {
            Some(Ok(figures)) => line.measured = Some(figures),
            Some(Err(because)) => line.notes.push(format!("hardware: {because}")),
            None => {}
        }
        // Why a rung is on neither side is told where it was asked for.
        match line.simulated.is_none() && line.measured.is_none() && words.is_empty() {
            true => nowhere += 1,
            false => lines.push(line),
        }
    }
    drop(spinner);
    let dims: Vec<String> = op.dims().iter().zip(&problem.dims).map(|(n, v)| format!("{n} {v}")).collect();
    let head = format!("{} {}, {}; simulated {}", op.name(), problem.element, dims.join(", "), machine.name);
    let unicode = arguments.output.output.is_none() && unicode();
    arguments.output.text(&counters::print(format, &head, &lines, unicode)?)?;
    if nowhere > 0 {
        complain(&format!("{nowhere} rungs do not take this problem on either side; --rung NAME says why"));
    }
    Ok(true)
}

fn simulated(counted: &Counted) -> Figures {
    counted.longest_pass().map(|profile| Figures::of_profile(&profile.totals, &profile.occupancy)).unwrap_or_default()
}

/// Nsight Compute, ready to run this very tool.
struct Profiler {
    ncu: PathBuf,
    tool: PathBuf,
}

/// What became of each rung by its id: its figures, or why it has none.
type Profiled = BTreeMap<String, std::result::Result<Figures, String>>;

impl Profiler {
    fn find(arguments: &ProfileArguments) -> std::result::Result<Profiler, String> {
        if !cfg!(feature = "cuda") {
            return Err("this build has no CUDA backend; build with `--features cuda`".into());
        }
        let ncu = arguments.ncu.clone().unwrap_or_else(|| "ncu".into());
        match Command::new(&ncu).arg("--version").output() {
            Ok(output) if output.status.success() => {}
            Ok(output) => return Err(format!("{} --version failed ({})", ncu.display(), output.status)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(format!("there is no {}; it comes with NVIDIA Nsight Compute (see --ncu)", ncu.display()));
            }
            Err(error) => return Err(format!("{}: {error}", ncu.display())),
        }
        let tool = std::env::current_exe().map_err(|e| e.to_string())?;
        Ok(Profiler { ncu, tool })
    }

    /// The counters of rungs, all in one run of the profiler: starting it costs more than they do.
    fn measure(&self, op: &dyn Op, rungs: &[&Rung], problem: &Problem) -> std::result::Result<Profiled, String> {
        let all: Vec<&str> = [counters::METRICS, counters::ASYNC_METRICS].concat();
        match self.ask(op, rungs, problem, &all) {
            // A profiler ends where it does not know one.
            Err(because) if because.contains("metric") => self.ask(op, rungs, problem, counters::METRICS),
            asked => asked,
        }
    }

    fn ask(
        &self,
        op: &dyn Op,
        rungs: &[&Rung],
        problem: &Problem,
        metrics: &[&str],
    ) -> std::result::Result<Profiled, String> {
        let folder = std::env::temp_dir();
        let rows = folder.join(format!("gpu-ladder-profile-{}.json", std::process::id()));
        let shape: Vec<String> = problem.dims.iter().map(u64::to_string).collect();
        let ids: Vec<String> = rungs.iter().map(|rung| rung.id()).collect();
        let mut command = Command::new(&self.ncu);
        command.args(["--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none"]);
        command.args(["-k", &format!("regex:^{}_", op.name()), "--metrics", &metrics.join(",")]);
        command.arg(&self.tool).args(["run", op.name(), "--backend", "cuda", "--verify-only", "--format", "json"]);
        command.arg("--output").arg(&rows);
        command.args(["--rung", &ids.join(","), "--shape", &shape.join("x"), "--element", problem.element.name()]);
        command.args(["--batch", &problem.batch.to_string()]);
        if let Some(layout) = op.layout(problem) {
            command.args(["--layout", &layout]);
        }
        let output = command.output().map_err(|e| e.to_string())?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let both = format!("{text}{}", String::from_utf8_lossy(&output.stderr));
        let kept = super::report::read(&rows).map(|kept| kept.rows).unwrap_or_default();
        // It may never have been written.
        let _ = std::fs::remove_file(&rows);
        if both.contains("ERR_NVGPUCTRPERM") {
            return Err("this user may not read the GPU's counters (ERR_NVGPUCTRPERM): run as root, or let the \
                        administrator load the driver with NVreg_RestrictProfilingToAdminUsers=0"
                .into());
        }
        if both.contains("no cuda backend") {
            return Err("CUDA does not open here".into());
        }
        let launches = counters::of_ncu(&text);
        if launches.is_empty() && kept.is_empty() {
            let said = both.lines().rfind(|line| line.contains("==")).unwrap_or("the profiler said nothing").trim();
            return Err(format!("{} measured nothing: {said}", self.ncu.display()));
        }
        Ok(shared_out(&kept, &launches))
    }
}

/// Which launches are whose: each verified row ran all of its own twice, in the order of the rows.
fn shared_out(rows: &[Row], launches: &[Launch]) -> Profiled {
    let mut profiled = BTreeMap::new();
    let mut rest = launches;
    for row in rows {
        let name = row.rung.split('@').next().unwrap_or_default();
        // A pass may be a kernel of another name; one at least is the rung's.
        let own = |launch: &Launch| launch.kernel.starts_with(&format!("{}_{name}", row.op));
        let once = row.launches.unwrap_or(0);
        let figures = match rest.split_at_checked(2 * once) {
            Some((both, others)) if both.iter().any(own) => {
                rest = others;
                Figures::of_launches(&both[..once])
            }
            _ => None,
        };
        if row.launches.is_none() {
            // A wrong one may have run any number of times.
            rest = &rest[rest.iter().take_while(|launch| own(launch)).count()..];
        }
        let because = || row.cell.reason().unwrap_or("no kernel of this rung was measured").to_string();
        profiled.insert(row.rung.clone(), figures.ok_or_else(because));
    }
    profiled
}
