//! Rows as a text table or in markdown: the ladder, rung by rung, the backends side by side.

use super::story::{is_arithmetic, story};
use super::{Page, Row};
use comfy_table::{CellAlignment, ContentArrangement, Table, TableStyle, presets};

/// A table of text columns; the first is left-aligned, the rest are numbers.
pub(crate) fn grid(style: TableStyle, header: Vec<String>, lines: Vec<Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(style).set_content_arrangement(ContentArrangement::Disabled).set_header(header).add_rows(lines);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!("{table}\n")
}

/// A digest of each problem, or everything there is.
pub(super) fn text(rows: &[Row], style: TableStyle, page: &Page) -> String {
    if page.all {
        return table(rows, style, page);
    }
    by_problem(rows).iter().map(|rows| super::digest::digest(rows, page)).collect::<Vec<_>>().join("\n")
}

/// One table per problem, with every rung.
fn table(rows: &[Row], style: TableStyle, page: &Page) -> String {
    let problems = by_problem(rows);
    let told = |rows: &Vec<Row>| {
        let text = problem_table(rows, style);
        if page.story { text + &wrapped(&story(rows, &page.background), page.width) } else { text + &ideas(rows) }
    };
    problems.iter().map(told).collect::<Vec<_>>().join("\n")
}

/// The rows of each problem, in the order in which the problems were met.
pub(super) fn by_problem(rows: &[Row]) -> Vec<Vec<Row>> {
    let mut problems: Vec<Vec<Row>> = Vec::new();
    for row in rows {
        match problems.iter_mut().find(|group| group[0].problem() == row.problem()) {
            Some(group) => group.push(row.clone()),
            None => problems.push(vec![row.clone()]),
        }
    }
    problems
}

/// Lines broken at spaces to fit `width` columns, what follows indented.
pub(super) fn wrapped(text: &str, width: Option<usize>) -> String {
    const LEAST: usize = 40;
    let Some(width) = width.map(|width| width.max(LEAST)) else { return text.to_string() };
    let mut out = String::new();
    for line in text.lines() {
        let words = line.trim_start_matches(' ');
        let mut used = line.len() - words.len();
        out.push_str(&line[..used]);
        let mut first = true;
        for word in words.split(' ') {
            let long = columns_of(word);
            if !first && used + 1 + long > width {
                out.push_str("\n    ");
                used = 4;
            } else if !first {
                out.push(' ');
                used += 1;
            }
            first = false;
            out.push_str(word);
            used += long;
        }
        out.push('\n');
    }
    out
}

/// Columns of a word; Chinese characters take two.
pub(super) fn columns_of(word: &str) -> usize {
    word.chars().map(|c| if (c as u32) < 0x1100 { 1 } else { 2 }).sum()
}

/// The same in markdown, where a line that is no table row needs a paragraph of its own.
pub(super) fn markdown(rows: &[Row]) -> String {
    let text = table(rows, presets::ASCII_MARKDOWN, &Page::default());
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
    // A rung that is nowhere has no line, only a reason.
    let here = |rung: &str| rows.iter().any(|r| r.rung == rung && r.cell.verdict() != "absent");
    let (present, absent): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(|row| here(&row.rung));
    let (counted, timed): (Vec<&Row>, Vec<&Row>) = present.into_iter().partition(|row| row.backend == "sim");
    if !timed.is_empty() {
        text.push_str(&times(&timed, style, &mut notes));
    }
    if !counted.is_empty() {
        text.push_str(&counters(&counted, style, &mut notes));
    }
    if !absent.is_empty() {
        text.push_str(&format!("absent: {}\n", nowhere(&absent, &mut notes)));
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
    let columns = columns(rows);
    let mut header = vec!["rung".to_string()];
    for (backend, _) in &backends {
        header.extend(columns.iter().map(|(name, _)| format!("{backend} {name}")));
        header.push(format!("{backend} verdict"));
    }
    let lines = rungs.iter().map(|rung| {
        let mut line = vec![rung.to_string()];
        for key in &backends {
            let row = rows.iter().find(|r| r.rung == *rung && (r.backend.as_str(), r.device.as_str()) == *key);
            line.extend(columns.iter().map(|(_, value)| row.map(|row| value(row)).unwrap_or_default()));
            line.push(row.map(|row| verdict(row, notes)).unwrap_or_default());
        }
        line
    });
    let lines = lines.collect();
    grid(style, header, lines)
}

/// Rungs that no backend has, each with its notes.
fn nowhere(rows: &[&Row], notes: &mut Vec<String>) -> String {
    let mut rungs: Vec<(&str, Vec<String>)> = Vec::new();
    for row in rows {
        let mark = note(row, notes);
        match rungs.iter_mut().find(|(rung, _)| *rung == row.rung) {
            Some((_, marks)) if marks.contains(&mark) => {}
            Some((_, marks)) => marks.push(mark),
            None => rungs.push((&row.rung, vec![mark])),
        }
    }
    rungs.iter().map(|(rung, marks)| format!("{rung}{}", marks.concat())).collect::<Vec<_>>().join(", ")
}

/// A column: its head and what it says of a row.
type Column = (&'static str, fn(&Row) -> String);

fn number(value: Option<f64>, digits: usize) -> String {
    value.map(|v| format!("{v:.digits$}")).unwrap_or_default()
}

/// The columns of times that have something to say of these rows.
fn columns(rows: &[&Row]) -> Vec<Column> {
    let arithmetic = rows.iter().any(|row| is_arithmetic(row));
    let mut columns: Vec<Column> = vec![("ms", |row| {
        let mark = if row.near_floor == Some(true) { "~" } else { "" };
        row.median_ms.map(|ms| format!("{mark}{ms:.4}")).unwrap_or_default()
    })];
    if arithmetic {
        columns.push(("TFLOP/s", |row| significant(row.tflops)));
    } else {
        columns.push(("GB/s", |row| significant(row.gbps)));
        columns.push(("of copy", |row| number(row.share_of_copy, 3)));
    }
    if rows.iter().any(|row| row.share_of_vendor.is_some()) {
        columns.push(("of vendor", |row| number(row.share_of_vendor, 3)));
    }
    columns.push(("x first", |row| number(row.speedup_over_first, 2)));
    columns
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
    text
}

/// The idea of each rung that the simulator counted, where no story tells more.
fn ideas(rows: &[Row]) -> String {
    let counted = rows.iter().filter(|row| row.backend == "sim" && !row.idea.is_empty());
    counted.map(|row| format!("{}: {}\n", row.rung, row.idea)).collect()
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
    let word = if row.has_no_samples() { "no valid samples" } else { row.cell.verdict() };
    format!("{word}{mark}{}", note(row, notes))
}

/// The number of the note with a row's reason, if it has one.
pub(super) fn note(row: &Row, notes: &mut Vec<String>) -> String {
    let Some(reason) = row.cell.reason() else { return String::new() };
    let index = notes.iter().position(|n| n == reason).unwrap_or_else(|| {
        notes.push(reason.to_string());
        notes.len() - 1
    });
    format!(" [{}]", index + 1)
}

/// A rate with three significant digits or all its whole ones.
pub(crate) fn significant(value: Option<f64>) -> String {
    let Some(value) = value else { return String::new() };
    if value == 0.0 {
        return "0".into();
    }
    let digits = if value >= 100.0 { 0 } else { (2 - value.max(1e-6).log10().floor() as i32).clamp(0, 8) as usize };
    format!("{value:.digits$}")
}

/// What the table is about, and on what it was measured.
fn heading(rows: &[Row]) -> String {
    let mut text = described(rows);
    if rows.iter().any(|r| r.selected == Some(true)) {
        let tuned = rows.iter().any(|r| r.selected == Some(true) && r.tuned == Some(true));
        let found = if tuned { ", found by tuning" } else { "" };
        text.push_str(&format!("* is the rung that the library takes for this problem on this device{found}\n"));
    }
    text + &clock(rows)
}

/// The problem, and the device of each backend.
pub(super) fn described(rows: &[Row]) -> String {
    let Some(first) = rows.first() else { return "no rows\n".into() };
    let mut text = format!("{}\n", first.problem());
    let mut seen: Vec<String> = Vec::new();
    for row in rows {
        let software = if row.software_adapter && row.backend != "sim" {
            "SOFTWARE ADAPTER: its times say nothing about a GPU\n"
        } else {
            ""
        };
        let line = format!("{}: {} ({}, {})\n{software}", row.backend, row.device, row.api, row.driver);
        if !seen.contains(&line) {
            text.push_str(&line);
            seen.push(line);
        }
    }
    text
}

/// How the times were taken.
pub(super) fn clock(rows: &[Row]) -> String {
    let mut text = String::new();
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
