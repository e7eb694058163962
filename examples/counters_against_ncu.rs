//! Sets what the simulator counts for the transpose ladder beside what Nsight Compute measures for
//! the CUDA twins, and says where the two differ.
//!
//! ```sh
//! gpu-ladder run transpose --backend cuda --rows 1024 --cols 1024 --iters 1 --warmup 0   # under:
//! ncu --csv --page raw --print-units base --clock-control none -k regex:transpose_ --launch-count 18 \
//!     --log-file 1024.csv --metrics METRICS …     # METRICS: see --metrics
//! cargo run --release --example counters_against_ncu -- 1024x1024=1024.csv > h200-counters.md
//! ```
//! Several files of one shape (other metrics) are joined; `--json FILE` writes every figure.
//! No GPU is needed to read the files.

use gpu_ladder::backend::{Backend, sim::Sim};
use gpu_ladder::op::{Op, Transpose};
use gpu_ladder::rung::Rung;
use gpu_ladder::sim::{Counters, GlobalTraffic, Machine, Memory, Options, Profile, SharedTraffic};
use gpu_ladder::{Element, Error, Inputs, Problem, Result, Session, Verdict};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

/// A figure that both sides have.
struct Figure {
    name: &'static str,
    /// The metrics of Nsight Compute that tell it, the first that is there.
    metrics: &'static [&'static str],
    simulated: fn(&Counters) -> Option<f64>,
    /// Whether it must be the same to the last digit where every access is of single elements.
    sectors: bool,
}

/// What is compared, in column order.
const FIGURES: &[Figure] = &[
    Figure {
        name: "sectors/load",
        metrics: &["l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio"],
        simulated: |c| c.global_load.sectors_per_request(),
        sectors: true,
    },
    Figure {
        name: "sectors/store",
        metrics: &["l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio"],
        simulated: |c| c.global_store.sectors_per_request(),
        sectors: true,
    },
    Figure {
        name: "load sectors",
        metrics: &["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"],
        simulated: |c| traffic(&c.global_load),
        sectors: true,
    },
    Figure {
        name: "store sectors",
        metrics: &["l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"],
        simulated: |c| traffic(&c.global_store),
        sectors: true,
    },
    Figure {
        name: "shared wavefronts, loads",
        metrics: &[
            "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
            "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
        ],
        simulated: |c| waves(&c.shared_load),
        sectors: false,
    },
    Figure {
        name: "shared wavefronts, stores",
        metrics: &[
            "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
            "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
        ],
        simulated: |c| waves(&c.shared_store),
        sectors: false,
    },
    Figure {
        name: "bank conflicts, loads",
        metrics: &[
            "smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
            "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
        ],
        simulated: |c| conflicts(&c.shared_load),
        sectors: false,
    },
    Figure {
        name: "bank conflicts, stores",
        metrics: &[
            "smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
            "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
        ],
        simulated: |c| conflicts(&c.shared_store),
        sectors: false,
    },
    Figure {
        name: "threads/instruction",
        metrics: &["smsp__thread_inst_executed_per_inst_executed.ratio"],
        simulated: Counters::lanes_per_instruction,
        sectors: false,
    },
];

/// How far the two may be apart where they need not be the same.
const TOLERANCE: f64 = 0.02;

fn traffic(t: &GlobalTraffic) -> Option<f64> {
    (t.requests > 0).then_some(t.sectors as f64)
}

fn waves(t: &SharedTraffic) -> Option<f64> {
    (t.requests > 0).then_some(t.wavefronts as f64)
}

fn conflicts(t: &SharedTraffic) -> Option<f64> {
    (t.requests > 0).then_some((t.wavefronts - t.ideal_wavefronts) as f64)
}

/// The metrics of one kernel, by name.
type Measured = BTreeMap<String, f64>;

/// One figure of one rung.
struct Cell {
    simulated: Option<f64>,
    measured: Option<f64>,
    /// Whether the two are as close as they should be; `None` where one is missing.
    close: Option<bool>,
}

struct Line {
    shape: (u64, u64),
    rung: String,
    cells: Vec<Cell>,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|a| a == "--metrics") {
        let all: Vec<&str> = FIGURES.iter().flat_map(|f| f.metrics).copied().collect();
        println!("{}", all.join(","));
        return ExitCode::SUCCESS;
    }
    match compare(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("counters_against_ncu: {error}");
            ExitCode::from(2)
        }
    }
}

fn compare(arguments: &[String]) -> Result<()> {
    let mut shapes: BTreeMap<(u64, u64), BTreeMap<(String, String), Measured>> = BTreeMap::new();
    let (mut json, mut arguments) = (None, arguments.iter());
    while let Some(argument) = arguments.next() {
        if argument == "--json" {
            json = arguments.next();
            continue;
        }
        let (shape, file) = argument.split_once('=').ok_or_else(|| usage(argument))?;
        let (rows, cols) = shape.split_once('x').ok_or_else(|| usage(argument))?;
        let number = |text: &str| text.parse::<u64>().map_err(|_| usage(argument));
        let kernels = shapes.entry((number(rows)?, number(cols)?)).or_default();
        for (kernel, metrics) in read(Path::new(file))? {
            kernels.entry(kernel).or_default().extend(metrics);
        }
    }
    if shapes.is_empty() {
        return Err(usage(""));
    }
    let machine = Machine::load("nvidia-h200").map_err(|e| Error::device("the machine model", e))?;
    let mut lines = Vec::new();
    for (&shape, kernels) in &shapes {
        for rung in Transpose.ladder() {
            lines.extend(line(shape, rung, kernels, &machine)?);
        }
    }
    print!("{}", markdown(&lines));
    if let Some(path) = json {
        let text = format!("{:#}\n", document(&lines));
        std::fs::write(path, text).map_err(|e| Error::File { path: path.clone(), problem: e.to_string() })?;
    }
    Ok(())
}

fn usage(argument: &str) -> Error {
    Error::Option {
        option: "the command line",
        value: argument.into(),
        problem: "it takes ROWSxCOLS=FILE.csv …, --json FILE, or --metrics".into(),
    }
}

/// The first launch of every kernel in a raw page, by name and block size.
fn read(path: &Path) -> Result<BTreeMap<(String, String), Measured>> {
    let problem = |e: String| Error::File { path: path.display().to_string(), problem: e };
    let text = std::fs::read_to_string(path).map_err(|e| problem(e.to_string()))?;
    // The profiler's and the program's own lines stand around the table.
    let table: Vec<&str> = text.lines().filter(|l| l.starts_with('"')).collect();
    let table = table.join("\n");
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(table.as_bytes());
    let names = reader.headers().map_err(|e| problem(e.to_string()))?.clone();
    let place = |name: &str| {
        names.iter().position(|n| n == name).ok_or_else(|| problem(format!("no column \"{name}\": not a raw page")))
    };
    let (kernel, block) = (place("Kernel Name")?, place("Block Size")?);
    let mut kernels = BTreeMap::new();
    for record in reader.records() {
        let record = record.map_err(|e| problem(e.to_string()))?;
        let name = record.get(kernel).unwrap_or_default().split('(').next().unwrap_or_default().to_string();
        if name.is_empty() {
            continue; // the line of units
        }
        let metrics = names
            .iter()
            .zip(&record)
            .filter_map(|(n, v)| Some((n.to_string(), v.replace(',', "").parse().ok()?)))
            .collect();
        let key = (name, record.get(block).unwrap_or_default().to_string());
        kernels.entry(key).or_insert(metrics);
    }
    Ok(kernels)
}

/// One rung on one shape; none where it was not measured.
fn line(
    shape: (u64, u64),
    rung: &Rung,
    kernels: &BTreeMap<(String, String), Measured>,
    machine: &Machine,
) -> Result<Option<Line>> {
    let [x, y, z] = rung.passes[0].block;
    let key = (format!("transpose_{}", rung.name), format!("({x}, {y}, {z})"));
    let Some(measured) = kernels.get(&key) else { return Ok(None) };
    let profile = pollster::block_on(simulate(shape, rung, machine))?;
    let scalar = profile.accesses.iter().filter(|a| a.memory == Memory::Storage).all(|a| a.width <= 4);
    let cells = FIGURES
        .iter()
        .map(|figure| {
            let simulated = (figure.simulated)(&profile.totals);
            let measured = figure.metrics.iter().find_map(|m| measured.get(*m)).copied();
            // A kernel without shared memory has zero wavefronts on one side and none on the other.
            let measured = measured.filter(|m| simulated.is_some() || *m != 0.0);
            let allowed = if figure.sectors && scalar { 0.0 } else { TOLERANCE };
            let close = simulated.zip(measured).map(|(s, m)| apart(s, m) <= allowed + PRINTED);
            Cell { simulated, measured, close }
        })
        .collect();
    Ok(Some(Line { shape, rung: rung.id(), cells }))
}

/// The profiler prints six digits of a ratio.
const PRINTED: f64 = 1e-5;

fn apart(simulated: f64, measured: f64) -> f64 {
    if simulated == measured { 0.0 } else { (simulated - measured).abs() / measured.abs().max(1.0) }
}

/// The verified run of a rung: its result is checked, so what was counted is the right program.
async fn simulate((rows, cols): (u64, u64), rung: &Rung, machine: &Machine) -> Result<Arc<Profile>> {
    let options = Options { hazards: false, ..Options::default() };
    let session = Session::new(Sim::new(machine.clone(), options));
    let problem = Problem::new(Element::F32, [rows, cols]);
    let stage = session.stage(&Transpose, &problem, Inputs::Seeded(1)).await?;
    let proof = match session.verify(session.prepare(&stage, rung).await?).await? {
        Verdict::Pass(proof) => proof,
        Verdict::Fail(mismatch) => return Err(Error::device(rung.id(), mismatch)),
    };
    let first = proof.kernels().next().map(|k| session.backend().inspect(k)).transpose()?;
    first.and_then(|info| info.profile).ok_or_else(|| Error::device(rung.id(), "nothing was counted"))
}

fn number(value: Option<f64>) -> String {
    match value {
        None => "-".into(),
        Some(v) if v.fract() == 0.0 => format!("{v:.0}"),
        Some(v) => format!("{v:.2}"),
    }
}

fn markdown(lines: &[Line]) -> String {
    let mut out = String::new();
    let mut shape = None;
    for line in lines {
        if shape != Some(line.shape) {
            shape = Some(line.shape);
            let names: Vec<&str> = FIGURES.iter().map(|f| f.name).collect();
            out += &format!("\n### {} x {}\n\n| rung | {} |\n|---", line.shape.0, line.shape.1, names.join(" | "));
            out += &"|---:".repeat(FIGURES.len());
            out += "|\n";
        }
        let cells: Vec<String> = line
            .cells
            .iter()
            .map(|cell| match cell {
                Cell { simulated: None, measured: None, .. } => String::new(),
                Cell { simulated, measured, close: Some(true) } if number(*simulated) == number(*measured) => {
                    number(*simulated)
                }
                Cell { simulated, measured, close } => {
                    let mark = if *close == Some(false) { "**" } else { "" };
                    format!("{mark}{} / {}{mark}", number(*simulated), number(*measured))
                }
            })
            .collect();
        out += &format!("| {} | {} |\n", line.rung, cells.join(" | "));
    }
    let all = || lines.iter().flat_map(|l| l.cells.iter()).filter_map(|c| c.close);
    out += &format!(
        "\nsimulated / measured, one figure where both print alike; bold beyond the tolerance (sectors of scalar accesses exact, else {:.0} %). {} of {} figures are within it.\n",
        TOLERANCE * 100.0,
        all().filter(|close| *close).count(),
        all().count()
    );
    out
}

fn document(lines: &[Line]) -> serde_json::Value {
    let rows: Vec<serde_json::Value> = lines
        .iter()
        .map(|line| {
            let mut figures = serde_json::Map::new();
            for (figure, cell) in FIGURES.iter().zip(&line.cells) {
                let value =
                    serde_json::json!({ "simulated": cell.simulated, "measured": cell.measured, "close": cell.close });
                figures.insert(figure.name.into(), value);
            }
            serde_json::json!({ "rung": line.rung, "rows": line.shape.0, "cols": line.shape.1, "figures": figures })
        })
        .collect();
    serde_json::json!({ "schema": "gpu-ladder/counters", "version": 1, "tolerance": TOLERANCE, "rows": rows })
}
