//! Counters of the simulator and of the hardware side by side.

use super::table::grid;
use crate::error::{Error, Result};
use crate::sim::{Counters, Occupancy};
use comfy_table::presets;
use std::collections::BTreeMap;

/// What the profiler is asked for.
pub const METRICS: &[&str] = &[
    LOAD_REQUESTS,
    LOAD_SECTORS,
    STORE_REQUESTS,
    STORE_SECTORS,
    LOAD_WAVES,
    STORE_WAVES,
    LOAD_CONFLICTS,
    STORE_CONFLICTS,
    LANES,
    INSTRUCTIONS,
    WARPS,
    DRAM_READ,
    DRAM_WRITE,
    TIME,
];
/// The same for stores to shared memory by asynchronous copies, which not every device has.
pub const ASYNC_METRICS: &[&str] = &[ASYNC_WAVES, ASYNC_CONFLICTS];
const ASYNC_WAVES: &str = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldgsts.sum";
const ASYNC_CONFLICTS: &str = "smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_ldgsts.sum";
const LOAD_REQUESTS: &str = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum";
const LOAD_SECTORS: &str = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum";
const STORE_REQUESTS: &str = "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum";
const STORE_SECTORS: &str = "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum";
const LOAD_WAVES: &str = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum";
const STORE_WAVES: &str = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum";
const LOAD_CONFLICTS: &str = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum";
const STORE_CONFLICTS: &str = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum";
const LANES: &str = "smsp__thread_inst_executed_per_inst_executed.ratio";
const INSTRUCTIONS: &str = "smsp__inst_executed.sum";
const WARPS: &str = "sm__warps_active.avg.per_cycle_active";
const DRAM_READ: &str = "dram__bytes_read.sum";
const DRAM_WRITE: &str = "dram__bytes_write.sum";
const TIME: &str = "gpu__time_duration.sum";

/// The figures of one side; `None` where it has none. Those of a kind of access that a kernel does not
/// have are 0.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Figures {
    /// Sectors of an average global load.
    pub sectors_per_load: Option<f64>,
    /// Sectors of an average global store.
    pub sectors_per_store: Option<f64>,
    /// Turns of a shared load, 1 without conflicts.
    pub load_turns: Option<f64>,
    /// Turns of a shared store, 1 without conflicts.
    pub store_turns: Option<f64>,
    /// Active lanes of an instruction.
    pub lanes: Option<f64>,
    /// Instructions of warps.
    pub instructions: Option<f64>,
    /// Warps of a multiprocessor: those that fit it, or that were active on average.
    pub warps: Option<f64>,
    /// Bytes read from and written to device memory.
    pub dram_bytes: Option<f64>,
    /// Microseconds under the profiler.
    pub time_us: Option<f64>,
}

/// One rung.
#[derive(Debug, Clone, Default)]
pub struct Line {
    /// The rung.
    pub rung: String,
    /// By the simulator.
    pub simulated: Option<Figures>,
    /// By the profiler.
    pub measured: Option<Figures>,
    /// Why a side is missing.
    pub notes: Vec<String>,
}

impl Figures {
    /// What the simulator counted.
    pub fn of_profile(totals: &Counters, occupancy: &Occupancy) -> Figures {
        Figures {
            sectors_per_load: totals.global_load.sectors_per_request().or(Some(0.0)),
            sectors_per_store: totals.global_store.sectors_per_request().or(Some(0.0)),
            load_turns: totals.shared_load.conflict_degree().or(Some(0.0)),
            store_turns: totals.shared_store.conflict_degree().or(Some(0.0)),
            lanes: totals.lanes_per_instruction(),
            instructions: Some(totals.instructions as f64),
            warps: Some(f64::from(occupancy.warps)),
            dram_bytes: None,
            time_us: None,
        }
    }
}

/// One launch that the profiler measured: its kernel, and its metrics by name.
#[derive(Debug, Clone, PartialEq)]
pub struct Launch {
    /// The entry point.
    pub kernel: String,
    metrics: BTreeMap<&'static str, f64>,
}

/// The launches in the profiler's CSV (`--csv --page raw --print-units base`), in order.
pub fn of_ncu(text: &str) -> Vec<Launch> {
    let Some(start) = text.lines().position(|line| line.starts_with("\"ID\"")) else { return Vec::new() };
    let table: String = text.lines().skip(start).flat_map(|line| [line, "\n"]).collect();
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(table.as_bytes());
    let Ok(names) = reader.headers().cloned() else { return Vec::new() };
    let place = |name: &str| names.iter().position(|n| n == name);
    // The second line holds units and has no ID.
    let launches = reader.records().flatten().filter(|record| record.get(0).is_some_and(|id| !id.is_empty()));
    launches
        .map(|record| {
            let number = |name: &&'static str| {
                let text = record.get(place(name)?)?;
                Some((*name, text.replace(',', "").parse::<f64>().ok()?))
            };
            Launch {
                kernel: place("Kernel Name").and_then(|at| record.get(at)).unwrap_or_default().to_string(),
                metrics: METRICS.iter().chain(ASYNC_METRICS).filter_map(number).collect(),
            }
        })
        .collect()
}

impl Figures {
    /// The figures of a rung's launches together; `None` for none.
    pub fn of_launches(launches: &[Launch]) -> Option<Figures> {
        if launches.is_empty() {
            return None;
        }
        let of = |launch: &Launch, name: &str| launch.metrics.get(name).copied();
        // A metric that one launch lacks is not known of all of them.
        let sum = |name: &str| launches.iter().map(|launch| of(launch, name)).sum::<Option<f64>>();
        let lanes = launches.iter().map(|launch| Some(of(launch, LANES)? * of(launch, INSTRUCTIONS)?)).sum();
        let ratio = |over: Option<f64>, under: Option<f64>| match (over?, under?) {
            (over, under) if under > 0.0 => Some(over / under),
            (over, _) => (over == 0.0).then_some(0.0),
        };
        let turns = |waves: Option<f64>, conflicts: Option<f64>| ratio(waves, Some(waves? - conflicts?));
        // A device without asynchronous copies has none.
        let with = |name: &str, more: &str| Some(sum(name)? + sum(more).unwrap_or(0.0));
        Some(Figures {
            sectors_per_load: ratio(sum(LOAD_SECTORS), sum(LOAD_REQUESTS)),
            sectors_per_store: ratio(sum(STORE_SECTORS), sum(STORE_REQUESTS)),
            load_turns: turns(sum(LOAD_WAVES), sum(LOAD_CONFLICTS)),
            store_turns: turns(with(STORE_WAVES, ASYNC_WAVES), with(STORE_CONFLICTS, ASYNC_CONFLICTS)),
            lanes: ratio(lanes, sum(INSTRUCTIONS)),
            instructions: sum(INSTRUCTIONS),
            warps: sum(WARPS).map(|warps| warps / launches.len() as f64),
            dram_bytes: sum(DRAM_READ).zip(sum(DRAM_WRITE)).map(|(read, write)| read + write),
            time_us: sum(TIME).map(|ns| ns / 1e3),
        })
    }
}

/// A figure's name in tables and in JSON, and where it is.
type Column = (&'static str, &'static str, usize, fn(&Figures) -> Option<f64>);
const COLUMNS: &[Column] = &[
    ("sectors/load", "sectors_per_load", 1, |f| f.sectors_per_load),
    ("sectors/store", "sectors_per_store", 1, |f| f.sectors_per_store),
    ("turns/shared load", "load_turns", 2, |f| f.load_turns),
    ("turns/shared store", "store_turns", 2, |f| f.store_turns),
    ("lanes", "lanes", 1, |f| f.lanes),
    ("instructions", "instructions", 0, |f| f.instructions),
    ("warps/SM", "warps", 1, |f| f.warps),
    ("DRAM bytes", "dram_bytes", 0, |f| f.dram_bytes),
    ("us", "time_us", 1, |f| f.time_us),
];

/// The lines as a table, in markdown or as JSON.
///
/// # Errors
/// [`Error::Unknown`] for another format.
pub fn print(format: &str, head: &str, lines: &[Line], unicode: bool) -> Result<String> {
    let style = match format {
        "table" if unicode => presets::UTF8_FULL_CONDENSED,
        "table" => presets::ASCII_FULL_CONDENSED,
        "markdown" => presets::ASCII_MARKDOWN,
        "json" => return Ok(json(head, lines)),
        other => {
            let known = ["table", "markdown", "json"].map(String::from).to_vec();
            return Err(Error::Unknown { kind: "format", word: other.into(), known });
        }
    };
    let mut header = vec!["rung".to_string(), "by".into()];
    header.extend(COLUMNS.iter().map(|(name, ..)| name.to_string()));
    let mut table = Vec::new();
    for line in lines {
        for (by, figures) in [("simulator", &line.simulated), ("hardware", &line.measured)] {
            let Some(figures) = figures else { continue };
            let mut cells = vec![line.rung.clone(), by.into()];
            let number = |(_, _, digits, of): &Column| match of(figures) {
                None => String::new(),
                Some(0.0) => "-".into(),
                Some(value) => format!("{value:.digits$}"),
            };
            cells.extend(COLUMNS.iter().map(number));
            table.push(cells);
        }
    }
    let mut text = format!("{head}\n\n{}", grid(style, header, table));
    for line in lines {
        for note in &line.notes {
            text += &format!("{}: {note}\n", line.rung);
        }
    }
    Ok(text
        + "\nwarps/SM: those that fit (simulator), those active on average (hardware)\n\
                -: the kernel has no such access; an empty cell: the simulator has no time and no device memory\n")
}

fn json(head: &str, lines: &[Line]) -> String {
    use serde_json::{Map, Value, json};
    let side = |figures: &Option<Figures>| match figures {
        None => Value::Null,
        Some(figures) => {
            let fields = COLUMNS.iter().map(|(_, key, _, of)| (key.to_string(), json!(of(figures))));
            Value::Object(fields.collect::<Map<String, Value>>())
        }
    };
    let rows: Vec<Value> = lines
        .iter()
        .map(|line| json!({ "rung": line.rung, "simulator": side(&line.simulated), "hardware": side(&line.measured), "notes": line.notes }))
        .collect();
    let document = json!({ "schema": "gpu-ladder/counters", "version": 1, "about": head, "rows": rows });
    format!("{document:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_profilers_csv_is_read_by_name() {
        let text = format!(
            "==PROF== Connected\n\"ID\",\"Kernel Name\",\"{LOAD_REQUESTS}\",\"{LOAD_SECTORS}\",\"{LOAD_WAVES}\",\"{LOAD_CONFLICTS}\",\"{INSTRUCTIONS}\",\"{LANES}\"\n\
             \"\",\"\",\"\",\"sector\",\"\",\"\",\"inst\",\"\"\n\"0\",\"transpose_tiled\",\"1,000\",\"4,000\",\"32\",\"31\",\"10\",\"32\"\n\
             \"1\",\"transpose_naive\",\"1,000\",\"32,000\",\"0\",\"0\",\"10\",\"16\"\n"
        );
        let launches = of_ncu(&text);
        assert_eq!(
            launches.iter().map(|l| l.kernel.as_str()).collect::<Vec<_>>(),
            ["transpose_tiled", "transpose_naive"]
        );
        let figures = Figures::of_launches(&launches[..1]).expect("a launch");
        assert_eq!(figures.sectors_per_load, Some(4.0));
        assert_eq!(figures.load_turns, Some(32.0));
        assert_eq!(figures.lanes, Some(32.0));
        assert_eq!(figures.sectors_per_store, None);
        let both = Figures::of_launches(&launches).expect("launches");
        assert_eq!((both.lanes, both.instructions, both.sectors_per_load), (Some(24.0), Some(20.0), Some(18.0)));
        assert_eq!(of_ncu("==ERROR== ERR_NVGPUCTRPERM"), []);
    }

    #[test]
    fn a_missing_figure_is_null() {
        let line = Line { rung: "it's".into(), measured: Some(Figures::default()), ..Line::default() };
        let text = print("json", "head", &[line], false).expect("a format");
        let document: serde_json::Value = serde_json::from_str(&text).expect("strict JSON");
        assert!(document["rows"][0]["hardware"]["lanes"].is_null() && document["rows"][0]["simulator"].is_null());
    }
}
