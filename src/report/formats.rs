//! Rows as a text table, markdown, CSV or JSON.

use super::{Cell, Row};
use crate::error::{Error, Result};
use comfy_table::{CellAlignment, ContentArrangement, Table, TableStyle, presets};
use serde_json::{Map, Value, json};

/// A way to print rows.
pub struct Format {
    /// The word on the command line.
    pub name: &'static str,
    /// Rows to text. The flag says whether the terminal shows more than ASCII.
    pub print: fn(&[Row], unicode: bool) -> String,
}

/// Every format.
pub const FORMATS: &[Format] = &[
    Format {
        name: "table",
        print: |rows, unicode| {
            table(rows, if unicode { presets::UTF8_FULL_CONDENSED } else { presets::ASCII_FULL_CONDENSED })
        },
    },
    Format { name: "markdown", print: |rows, _| markdown(rows) },
    Format { name: "csv", print: |rows, _| csv(rows) },
    Format { name: "json", print: |rows, _| json_document(rows) },
];

/// The format called `name`.
///
/// # Errors
/// [`Error::Unknown`].
pub fn find(name: &str) -> Result<&'static Format> {
    FORMATS.iter().find(|f| f.name == name).ok_or_else(|| Error::Unknown {
        kind: "format",
        word: name.into(),
        known: FORMATS.iter().map(|f| f.name.to_string()).collect(),
    })
}

/// The version of the JSON document; it changes when a field changes its meaning or goes.
const SCHEMA_VERSION: u32 = 1;

/// Every field of a row by name: the one list behind CSV and JSON.
fn fields(row: &Row) -> Map<String, Value> {
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
    put("reason", json!(row.cell.reason()));
    let coverage = match &row.cell {
        Cell::Verified { coverage } => Some(coverage),
        _ => None,
    };
    put("coverage", json!(coverage));
    put("clock", json!(row.clock));
    put("samples", json!(row.samples));
    put("median_ms", json!(row.median_ms));
    put("median_low_ms", json!(row.median_low_ms));
    put("median_high_ms", json!(row.median_high_ms));
    put("p05_ms", json!(row.p05_ms));
    put("p95_ms", json!(row.p95_ms));
    put("gbps", json!(row.gbps));
    put("tflops", json!(row.tflops));
    put("share_of_copy", json!(row.share_of_copy));
    put("speedup_over_first", json!(row.speedup_over_first));
    put("library", json!(row.library));
    put("share_of_vendor", json!(row.share_of_vendor));
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

fn json_document(rows: &[Row]) -> String {
    let rows: Vec<Value> = rows.iter().map(|row| Value::Object(fields(row))).collect();
    let document = json!({ "schema": "gpu-ladder/rows", "version": SCHEMA_VERSION, "rows": rows });
    format!("{document:#}\n")
}

fn csv(rows: &[Row]) -> String {
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

/// A table of text columns; the first is left-aligned, the rest are numbers.
fn grid(style: TableStyle, header: Vec<String>, lines: Vec<Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(style).set_content_arrangement(ContentArrangement::Disabled).set_header(header).add_rows(lines);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!("{table}\n")
}

/// One table per problem.
fn table(rows: &[Row], style: TableStyle) -> String {
    let mut problems: Vec<Vec<Row>> = Vec::new();
    for row in rows {
        let same = |group: &&mut Vec<Row>| {
            let first = &group[0];
            (&first.op, &first.element, &first.dims, first.batch, &first.layout)
                == (&row.op, &row.element, &row.dims, row.batch, &row.layout)
        };
        match problems.iter_mut().find(same) {
            Some(group) => group.push(row.clone()),
            None => problems.push(vec![row.clone()]),
        }
    }
    problems.iter().map(|rows| problem_table(rows, style)).collect::<Vec<_>>().join("\n")
}

/// The same in markdown, where a line that is no table row needs a paragraph of its own.
fn markdown(rows: &[Row]) -> String {
    let text = table(rows, presets::ASCII_MARKDOWN);
    let mut out = String::new();
    let mut in_table = false;
    for line in text.lines().filter(|line| !line.is_empty()) {
        let row = line.starts_with('|');
        let same_table = row && in_table;
        if !out.is_empty() && !same_table {
            out.push('\n');
        }
        out.push_str(line);
        out.push('\n');
        in_table = row;
    }
    out
}

/// The ladder, rung by rung, the backends side by side; counters in a table of their own.
fn problem_table(rows: &[Row], style: TableStyle) -> String {
    let mut text = heading(rows);
    let mut notes: Vec<String> = Vec::new();
    let (counted, timed): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(|row| row.backend == "sim");
    if !timed.is_empty() {
        text.push_str(&times(&timed, style, &mut notes));
    }
    if !counted.is_empty() {
        text.push_str(&counters(&counted, style, &mut notes));
    }
    for (index, note) in notes.iter().enumerate() {
        text.push_str(&format!("[{}] {note}\n", index + 1));
    }
    text
}

fn times(rows: &[&Row], style: TableStyle, notes: &mut Vec<String>) -> String {
    let mut backends: Vec<(&str, &str)> = Vec::new();
    let mut rungs: Vec<&str> = Vec::new();
    for row in rows {
        let key = (row.backend.as_str(), row.device.as_str());
        if !backends.contains(&key) {
            backends.push(key);
        }
        if !rungs.contains(&row.rung.as_str()) {
            rungs.push(&row.rung);
        }
    }
    let arithmetic = rows.iter().any(|r| r.op == "matmul");
    let rate = if arithmetic { "TFLOP/s" } else { "GB/s" };
    let mut header = vec!["rung".to_string()];
    for (backend, _) in &backends {
        header.extend(["ms", rate, "of copy", "x first", "verdict"].map(|column| format!("{backend} {column}")));
    }
    let lines = rungs.iter().map(|rung| {
        let mut line = vec![rung.to_string()];
        for key in &backends {
            let row = rows.iter().find(|r| r.rung == *rung && (r.backend.as_str(), r.device.as_str()) == *key);
            line.extend(columns(row.copied(), arithmetic, notes));
        }
        line
    });
    let lines = lines.collect();
    grid(style, header, lines)
}

/// What the simulator counted: it alone explains the ladder.
fn counters(rows: &[&Row], style: TableStyle, notes: &mut Vec<String>) -> String {
    let header = [
        "rung",
        "sectors/load",
        "sectors/store",
        "bytes used",
        "turns/shared load",
        "turns/shared store",
        "lanes",
        "instructions",
        "warps/SM",
        "hazards",
        "verdict",
    ];
    let number = |value: Option<f64>| value.map(|v| format!("{v:.1}")).unwrap_or_default();
    let sectors = |moved: Option<f64>, ideal: Option<f64>| {
        moved.zip(ideal).map(|(moved, ideal)| format!("{moved:.1} of {ideal:.1}")).unwrap_or_default()
    };
    let mut lines = Vec::new();
    for row in rows {
        let verdict = verdict(row, notes);
        let mut line = vec![row.rung.clone()];
        match &row.counters {
            None => line.resize(header.len() - 1, String::new()),
            Some(c) => line.extend([
                sectors(c.sectors_per_load, c.ideal_sectors_per_load),
                sectors(c.sectors_per_store, c.ideal_sectors_per_store),
                c.global_efficiency.map(|e| format!("{:.0} %", e * 100.0)).unwrap_or_default(),
                number(c.load_conflict_degree),
                number(c.store_conflict_degree),
                number(c.lanes_per_instruction),
                c.instructions.to_string(),
                c.resident_warps.to_string(),
                c.hazards.len().to_string(),
            ]),
        }
        line.push(verdict);
        lines.push(line);
    }
    let mut text = String::from("counted by the simulator; no time is measured or guessed\n");
    text += &grid(style, header.map(String::from).to_vec(), lines);
    text += COUNTED;
    for row in rows.iter().filter(|row| !row.idea.is_empty()) {
        text += &format!("{}: {}\n", row.rung, row.idea);
    }
    text
}

/// How the columns of the counters are read.
const COUNTED: &str = "\
sectors: 32-byte pieces of memory that a warp's access moves, of those its bytes would fit in; fewer bytes used is traffic in vain
turns: 1 where all lanes are served at once, n where n of them meet in one bank of shared memory; empty where a rung uses none
lanes: active threads of a warp per instruction, 32 at best; warps/SM: resident at a time; instructions: of warps, of the shader's code
";

/// The verdict, with a note where it has a reason.
fn verdict(row: &Row, notes: &mut Vec<String>) -> String {
    let mark = if row.selected == Some(true) { " *" } else { "" };
    let word = format!("{}{mark}", row.cell.verdict());
    let Some(reason) = row.cell.reason() else { return word };
    let index = notes.iter().position(|n| n == reason).unwrap_or_else(|| {
        notes.push(reason.to_string());
        notes.len() - 1
    });
    format!("{word} [{}]", index + 1)
}

fn columns(row: Option<&Row>, arithmetic: bool, notes: &mut Vec<String>) -> [String; 5] {
    let Some(row) = row else { return Default::default() };
    let number = |value: Option<f64>, digits: usize| value.map(|v| format!("{v:.digits$}")).unwrap_or_default();
    let verdict = verdict(row, notes);
    let mark = if row.near_floor == Some(true) { "~" } else { "" };
    [
        row.median_ms.map(|ms| format!("{mark}{ms:.4}")).unwrap_or_default(),
        significant(if arithmetic { row.tflops } else { row.gbps }),
        number(row.share_of_copy, 3),
        number(row.speedup_over_first, 2),
        verdict,
    ]
}

/// A rate with three significant digits or all its whole ones.
fn significant(value: Option<f64>) -> String {
    let Some(value) = value else { return String::new() };
    let digits = if value >= 100.0 { 0 } else { (2 - value.max(1e-6).log10().floor() as i32).clamp(0, 8) as usize };
    format!("{value:.digits$}")
}

/// What the table is about, and on what it was measured.
fn heading(rows: &[Row]) -> String {
    let Some(first) = rows.first() else { return "no rows\n".into() };
    let dims: Vec<String> = first.dims.iter().map(|(name, value)| format!("{name} {value}")).collect();
    let batch = if first.batch == 1 { String::new() } else { format!(", batch {}", first.batch) };
    let layout = first.layout.as_ref().map(|layout| format!(", {layout}")).unwrap_or_default();
    let mut text = format!("{} {}, {}{batch}{layout}\n", first.op, first.element, dims.join(", "));
    let mut seen: Vec<String> = Vec::new();
    for row in rows {
        let software = if row.software_adapter && row.backend != "sim" {
            ", SOFTWARE ADAPTER: its times say nothing about a GPU"
        } else {
            ""
        };
        let line = format!("{}: {} ({}, {}){software}\n", row.backend, row.device, row.api, row.driver);
        if !seen.contains(&line) {
            text.push_str(&line);
            seen.push(line);
        }
    }
    if rows.iter().any(|r| r.selected == Some(true)) {
        text.push_str("* is the rung that the op selects for this problem on this device\n");
    }
    let timed = rows.iter().find(|r| r.samples.is_some());
    if let Some(row) = timed {
        let floor =
            if rows.iter().any(|r| r.near_floor == Some(true)) { "; ~ is within ten launch floors" } else { "" };
        text.push_str(&format!(
            "{} clock, {}, {}, seed {}, commit {}{floor}\n",
            row.clock.unwrap_or("no"),
            row.cache_policy.as_deref().unwrap_or(""),
            row.input.as_deref().unwrap_or(""),
            row.seed.map_or("none".into(), |s| s.to_string()),
            row.commit.as_deref().unwrap_or("unknown"),
        ));
    }
    text
}
