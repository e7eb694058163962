//! Rows as data: JSON and CSV, from one list of fields.

use super::{Cell, Row};
use serde_json::{Map, Value, json};

/// The version of the JSON document; it changes when a field changes its meaning or goes.
pub const SCHEMA_VERSION: u32 = 1;

/// Every field of a row by name: the one list behind CSV and JSON.
pub(super) fn fields(row: &Row) -> Map<String, Value> {
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| {
        fields.insert(name.into(), value);
    };
    put("op", json!(row.op));
    put("rung", json!(row.rung));
    put("backend", json!(row.backend));
    put("device", json!(row.device));
    put("driver", json!(row.driver));
    put("api", json!(row.api));
    put("software_adapter", json!(row.software_adapter));
    put("element", json!(row.element));
    for (name, value) in &row.dims {
        put(name, json!(value));
    }
    put("batch", json!(row.batch));
    if let Some(layout) = &row.layout {
        put("layout", json!(layout));
    }
    put("verdict", json!(row.cell.verdict()));
    put("selected", json!(row.selected));
    put("tuned", json!(row.tuned));
    put("reason", json!(row.cell.reason()));
    let coverage = match &row.cell {
        Cell::Verified { coverage } => Some(coverage),
        _ => None,
    };
    put("coverage", json!(coverage));
    put("launches", json!(row.launches));
    put("clock", json!(row.clock));
    put("samples", json!(row.samples));
    put("runs_per_sample", json!(row.runs_per_sample));
    put("median_ms", json!(row.median_ms));
    put("median_low_ms", json!(row.median_low_ms));
    put("median_high_ms", json!(row.median_high_ms));
    put("least_ms", json!(row.least_ms));
    put("p05_ms", json!(row.p05_ms));
    put("p95_ms", json!(row.p95_ms));
    put("gbps", json!(row.gbps));
    put("tflops", json!(row.tflops));
    put("share_of_copy", json!(row.share_of_copy));
    put("speedup_over_first", json!(row.speedup_over_first));
    put("library", json!(row.library));
    put("share_of_vendor", json!(row.share_of_vendor));
    put("step", json!(row.step));
    put("step_low", json!(row.step_low));
    put("step_high", json!(row.step_high));
    put("share_of_data_sheet", json!(row.share_of_data_sheet));
    put("input", json!(row.input));
    put("seed", json!(row.seed));
    put("cache_policy", json!(row.cache_policy));
    put("commit", json!(row.commit));
    put("sm_clock_mhz", json!(row.sm_clock_mhz));
    put("power_w", json!(row.power_w));
    put("throttled", json!(row.throttled));
    put("floor_us", json!(row.floor_us));
    put("near_floor", json!(row.near_floor));
    put("drift", json!(row.drift));
    put("device_peak_bytes", json!(row.device_peak_bytes));
    put("device_leaks", json!(row.device_leaks));
    if let Some(c) = &row.counters {
        put("sectors_per_load", json!(c.sectors_per_load));
        put("sectors_per_store", json!(c.sectors_per_store));
        put("ideal_sectors_per_load", json!(c.ideal_sectors_per_load));
        put("ideal_sectors_per_store", json!(c.ideal_sectors_per_store));
        put("global_efficiency", json!(c.global_efficiency));
        put("conflict_degree", json!(c.conflict_degree));
        put("load_conflict_degree", json!(c.load_conflict_degree));
        put("store_conflict_degree", json!(c.store_conflict_degree));
        put("lanes_per_instruction", json!(c.lanes_per_instruction));
        put("instructions", json!(c.instructions));
        put("flops", json!(c.flops));
        put("barriers", json!(c.barriers));
        put("arithmetic_intensity", json!(c.arithmetic_intensity));
        put("resident_warps", json!(c.resident_warps));
        put("occupancy_limiter", json!(c.occupancy_limiter));
        put("hazards", json!(c.hazards));
    }
    fields
}

pub(super) fn json_document(rows: &[Row], partial: bool) -> String {
    let rows: Vec<Value> = rows.iter().map(|row| Value::Object(fields(row))).collect();
    let document =
        json!({ "schema": "gpu-ladder/rows", "version": SCHEMA_VERSION, "complete": !partial, "rows": rows });
    format!("{document:#}\n")
}

pub(super) fn csv(rows: &[Row]) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    // Ops differ in their dimensions; the union of all names is the header.
    let all: Vec<Map<String, Value>> = rows.iter().map(fields).collect();
    let mut names: Vec<&String> = Vec::new();
    for name in all.iter().flat_map(Map::keys) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let text = |value: Option<&Value>| match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(s)) => s.clone(),
        Some(other) => other.to_string(),
    };
    // Writing to memory does not fail.
    let _ = writer.write_record(&names);
    for row in &all {
        let _ = writer.write_record(names.iter().map(|n| text(row.get(*n))));
    }
    String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
}
