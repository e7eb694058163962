//! Rows back from their JSON document, so that a table can be printed from a kept run.

use super::{Cell, Counters, Row};
use crate::error::{Error, Result};
use serde_json::Value;

/// What is kept of a run.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Kept {
    /// Its rows.
    pub rows: Vec<Row>,
    /// Whether the run went on when they were written, or was stopped before its end.
    pub partial: bool,
}

/// The rows of a document that [`FORMATS`](super::FORMATS)' `json` wrote. Fields that a later version added are left out.
///
/// # Errors
/// [`Error::File`] naming `path` for text that is no such document.
pub fn rows(path: &str, text: &str) -> Result<Vec<Row>> {
    Ok(kept(path, text)?.rows)
}

/// The same, with what the document says of all its rows.
///
/// # Errors
/// [`Error::File`] naming `path` for text that is no such document.
pub fn kept(path: &str, text: &str) -> Result<Kept> {
    let wrong = |problem: String| Error::File { path: path.into(), problem };
    let document: Value = serde_json::from_str(text).map_err(|e| wrong(format!("not JSON: {e}")))?;
    if document["schema"] != "gpu-ladder/rows" {
        return Err(wrong("not a report of this tool: its schema is not gpu-ladder/rows".into()));
    }
    let version = document["version"].as_u64().unwrap_or(0);
    if version != u64::from(super::SCHEMA_VERSION) {
        return Err(wrong(format!("its version is {version}; this tool reads version {}", super::SCHEMA_VERSION)));
    }
    let list = document["rows"].as_array().ok_or_else(|| wrong("it has no rows".into()))?;
    let rows =
        (1..).zip(list).map(|(number, row)| one(row).map_err(|problem| wrong(format!("row {number}: {problem}"))));
    Ok(Kept { rows: rows.collect::<Result<_>>()?, partial: document["complete"] == false })
}

/// A row, or what is wrong with it.
fn one(row: &Value) -> std::result::Result<Row, String> {
    let text = |name: &str| row[name].as_str().map(str::to_string);
    let needed = |name: &str| text(name).ok_or_else(|| format!("{name} is not a text"));
    let number = |name: &str| row[name].as_f64();
    if let Some((name, value)) = QUANTITIES.iter().find_map(|name| Some((name, number(name).filter(|v| *v < 0.0)?))) {
        return Err(format!("{name} is {value}; there is none below 0"));
    }
    let words = |name: &str| {
        let list = row[name].as_array().into_iter().flatten();
        list.filter_map(|word| word.as_str().map(String::from)).collect()
    };
    let op = needed("op")?;
    let dims = crate::op::find(&op).map_err(|error| error.to_string())?.dims().iter();
    let whole = |name: &str| row[name].as_u64().ok_or_else(|| format!("{name} is not a whole number"));
    let reason = text("reason").unwrap_or_default();
    let cell = match needed("verdict")?.as_str() {
        "verified" => Cell::Verified { coverage: text("coverage").unwrap_or_default() },
        "wrong" => Cell::Wrong(reason),
        "flawed" => Cell::Flawed(reason),
        "absent" => Cell::Absent(reason),
        _ => Cell::Failed(reason),
    };
    Ok(Row {
        dims: dims.map(|name| Ok((*name, whole(name)?))).collect::<std::result::Result<_, String>>()?,
        op,
        rung: needed("rung")?,
        idea: String::new(),
        library: text("library"),
        backend: needed("backend")?,
        device: needed("device")?,
        driver: needed("driver")?,
        api: text("api").unwrap_or_default(),
        software_adapter: row["software_adapter"].as_bool().ok_or("software_adapter is neither true nor false")?,
        element: needed("element")?,
        batch: whole("batch")?,
        layout: text("layout"),
        cell,
        selected: row["selected"].as_bool(),
        tuned: row["tuned"].as_bool(),
        launches: row["launches"].as_u64().map(|n| n as usize),
        input: text("input"),
        seed: row["seed"].as_u64(),
        commit: text("commit"),
        clock: match row["clock"].as_str() {
            Some("device") => Some("device"),
            Some("host") => Some("host"),
            _ => None,
        },
        cache_policy: text("cache_policy"),
        samples: row["samples"].as_u64().map(|n| n as usize),
        runs_per_sample: row["runs_per_sample"].as_u64().map(|n| n as usize),
        median_ms: number("median_ms"),
        least_ms: number("least_ms"),
        p05_ms: number("p05_ms"),
        p95_ms: number("p95_ms"),
        median_low_ms: number("median_low_ms"),
        median_high_ms: number("median_high_ms"),
        gbps: number("gbps"),
        tflops: number("tflops"),
        share_of_copy: number("share_of_copy"),
        speedup_over_first: number("speedup_over_first"),
        share_of_vendor: number("share_of_vendor"),
        step: number("step"),
        step_low: number("step_low"),
        step_high: number("step_high"),
        share_of_data_sheet: number("share_of_data_sheet"),
        sm_clock_mhz: row["sm_clock_mhz"].as_u64().map(|n| n as u32),
        power_w: number("power_w"),
        throttled: row["throttled"].as_bool(),
        floor_us: number("floor_us"),
        near_floor: row["near_floor"].as_bool(),
        drift: number("drift"),
        device_peak_bytes: row["device_peak_bytes"].as_u64(),
        device_leaks: words("device_leaks"),
        counters: counters(row),
    })
}

/// Fields that hold times, rates or shares.
const QUANTITIES: [&str; 12] = [
    "median_ms",
    "least_ms",
    "p05_ms",
    "p95_ms",
    "median_low_ms",
    "median_high_ms",
    "gbps",
    "tflops",
    "share_of_copy",
    "share_of_vendor",
    "speedup_over_first",
    "floor_us",
];

fn counters(row: &Value) -> Option<Counters> {
    let number = |name: &str| row[name].as_f64();
    let count = |name: &str| row[name].as_u64();
    let hazards = row["hazards"].as_array().into_iter().flatten();
    Some(Counters {
        sectors_per_load: number("sectors_per_load"),
        sectors_per_store: number("sectors_per_store"),
        ideal_sectors_per_load: number("ideal_sectors_per_load"),
        ideal_sectors_per_store: number("ideal_sectors_per_store"),
        global_efficiency: number("global_efficiency"),
        conflict_degree: number("conflict_degree"),
        load_conflict_degree: number("load_conflict_degree"),
        store_conflict_degree: number("store_conflict_degree"),
        lanes_per_instruction: number("lanes_per_instruction"),
        instructions: count("instructions")?,
        flops: count("flops")?,
        barriers: count("barriers")?,
        arithmetic_intensity: number("arithmetic_intensity"),
        resident_warps: count("resident_warps")? as u32,
        occupancy_limiter: row["occupancy_limiter"].as_str()?.to_string(),
        hazards: hazards.filter_map(|h| h.as_str().map(String::from)).collect(),
    })
}
