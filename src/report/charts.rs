//! The charts of a report: ladder bars, roofline, time against size.

use super::Row;
use super::axis::{Log, short};
use super::story::{Background, is_arithmetic, rate};
use super::svg::{Anchor, Drawing};
use super::table::significant;
use crate::limits::{Ceilings, data_sheet};
use crate::words;

/// A drawing and its size.
pub struct Chart {
    pub drawing: Drawing,
    pub width: f64,
    pub height: f64,
    pub label: String,
}

impl Chart {
    /// The element for a page.
    pub fn inline(&self) -> String {
        self.drawing.finish(self.width, self.height, &self.label, false)
    }
}

/// The backends (with their devices) among rows, in the order in which they were met.
pub fn series(rows: &[Row]) -> Vec<(String, String)> {
    let mut series = Vec::new();
    for row in rows.iter().filter(|row| row.median_ms.is_some()) {
        let key = (row.backend.clone(), row.device.clone());
        if !series.contains(&key) {
            series.push(key);
        }
    }
    series
}

/// The number of a row's series, of the colours there are.
pub fn colour(series: &[(String, String)], row: &Row) -> usize {
    const COLOURS: usize = 4;
    series.iter().position(|(b, d)| *b == row.backend && *d == row.device).unwrap_or(0) % COLOURS
}

/// The rate of the best copy of a row's bytes, in GB/s.
pub fn copy_rate(row: &Row) -> Option<f64> {
    Some(row.gbps? / row.share_of_copy.filter(|share| *share > 0.0)?)
}

/// The highest rate to draw: of the rows, of the copy and of the data sheet.
pub fn ceiling(rows: &[Row]) -> f64 {
    let arithmetic = rows.iter().any(is_arithmetic);
    let rates = rows.iter().filter_map(|row| Some(rate(row)?.0));
    let limits = rows.iter().filter_map(|row| if arithmetic { None } else { copy_rate(row) });
    rates.chain(limits).fold(0.0, f64::max).max(f64::MIN_POSITIVE)
}

/// The rungs of rows, in ladder order.
pub fn rungs(rows: &[Row]) -> Vec<&str> {
    let mut rungs = Vec::new();
    for row in rows.iter().filter(|row| row.median_ms.is_some()) {
        if !rungs.contains(&row.rung.as_str()) {
            rungs.push(row.rung.as_str());
        }
    }
    rungs
}

/// One bar for each rung and backend of one problem, with the best copy as a line; `None` where nothing
/// was timed.
pub fn bars(rows: &[Row], background: &Background) -> Option<Chart> {
    const WIDTH: f64 = 720.0;
    const LEFT: f64 = 150.0;
    const RIGHT: f64 = 190.0;
    const BAR: f64 = 14.0;
    const GAP: f64 = 8.0;
    const TOP: f64 = 44.0;
    let (series, rungs) = (series(rows), rungs(rows));
    let first = rows.iter().find(|row| row.median_ms.is_some())?;
    let top = ceiling(rows);
    let scale = (WIDTH - LEFT - RIGHT) / top;
    let mut drawing = Drawing::default();
    drawing.text((8.0, 18.0), Anchor::Start, "head", &first.problem());
    for (index, (backend, device)) in series.iter().enumerate() {
        let x = LEFT + 190.0 * index as f64;
        drawing.bar([x, 27.0, 10.0, 10.0], &format!("s{}", index % 4), backend);
        drawing.text((x + 15.0, 36.0), Anchor::Start, "dim", &format!("{backend}: {device}"));
    }
    let mut y = TOP;
    for rung in rungs {
        let group: Vec<&Row> = rows.iter().filter(|r| r.rung == rung && r.median_ms.is_some()).collect();
        let middle = y + BAR * group.len() as f64 / 2.0 + 4.0;
        drawing.text((LEFT - 8.0, middle), Anchor::End, "", rung);
        for row in group {
            let Some((value, unit)) = rate(row) else { continue };
            let label = bar_label(row, value, unit);
            let class = format!("s{}", colour(&series, row));
            drawing.bar([LEFT, y + 1.0, value * scale, BAR - 2.0], &class, &format!("{} {rung}: {label}", row.backend));
            // The interval of the median, where it is wide enough to be seen.
            if let (Some(low), Some(high), Some(ms)) = (row.median_low_ms, row.median_high_ms, row.median_ms) {
                let at = |ms_end: f64| LEFT + value * ms / ms_end * scale;
                drawing.line([at(high), y + BAR / 2.0, at(low), y + BAR / 2.0], "whisker");
            }
            drawing.text((WIDTH - RIGHT + 10.0, y + BAR - 3.0), Anchor::Start, "dim", &label);
            y += BAR;
        }
        y += GAP;
    }
    for (backend, device) in &series {
        let own = rows.iter().filter(|r| r.backend == *backend && r.device == *device);
        let Some(copy) = own.filter(|row| !is_arithmetic(row)).filter_map(copy_rate).reduce(f64::max) else { continue };
        drawing.line([LEFT + copy * scale, TOP - 4.0, LEFT + copy * scale, y], "roof");
    }
    let _ = background;
    Some(Chart { drawing, width: WIDTH, height: y + 6.0, label: first.problem() })
}

/// What stands beside a bar.
pub fn bar_label(row: &Row, value: f64, unit: &str) -> String {
    let mut label = format!("{} {unit}", significant(Some(value)));
    if !is_arithmetic(row) {
        label.extend(row.share_of_copy.map(|share| format!(", {:.0} % of copy", share * 100.0)));
    }
    label.extend(row.speedup_over_first.map(|times| format!(", {times:.2}x")));
    label
}

/// Every rung of one problem under the roofs of its device: rate against operations per byte that goes
/// through memory (as the simulator counted it, else the least there can be). For ops that only move
/// data: rate of bytes against the bytes, under the copy and the data sheet.
pub fn roofline(rows: &[Row], background: &Background) -> Option<Chart> {
    const WIDTH: f64 = 520.0;
    const HEIGHT: f64 = 340.0;
    const LEFT: f64 = 58.0;
    const RIGHT: f64 = 14.0;
    const TOP: f64 = 14.0;
    const BOTTOM: f64 = 40.0;
    let (series, arithmetic) = (series(rows), rows.iter().any(is_arithmetic));
    let timed: Vec<&Row> = rows.iter().filter(|row| row.median_ms.is_some()).collect();
    let first = *timed.first()?;
    let points: Vec<(f64, f64, &Row)> = timed.iter().filter_map(|row| point(row, arithmetic, background)).collect();
    if points.is_empty() {
        return None;
    }
    let (memory, peak) = roofs(first, background);
    let ridge = peak.zip(memory).map(|(peak, memory)| peak / memory);
    let x = Log::over(
        points.iter().map(|p| p.0).chain(ridge.filter(|_| arithmetic)).chain([0.25].into_iter().filter(|_| arithmetic)),
        LEFT,
        WIDTH - RIGHT,
    );
    let tops = if arithmetic { peak } else { memory };
    let y = Log::over(points.iter().map(|p| p.1).chain(tops), HEIGHT - BOTTOM, TOP);
    let mut drawing = Drawing::default();
    grid(&mut drawing, &x, &y, [LEFT, WIDTH - RIGHT, TOP, HEIGHT - BOTTOM], if arithmetic { "FLOP/s" } else { "B/s" });
    let language = background.language;
    let below = if arithmetic { &words::INTENSITY } else { &words::BYTES_MOVED };
    drawing.text(((LEFT + WIDTH) / 2.0, HEIGHT - 6.0), Anchor::Middle, "dim", below.text(language));
    let (low, high) = x.ends();
    let roof = |at: f64| match (memory, peak) {
        (Some(memory), Some(peak)) if arithmetic => Some((at * memory).min(peak)),
        (Some(memory), None) if arithmetic => Some(at * memory),
        (None, Some(peak)) if arithmetic => Some(peak),
        (Some(memory), _) => Some(memory),
        _ => None,
    };
    let steps = (0..=64).map(|i| low * (high / low).powf(f64::from(i) / 64.0));
    let line: Vec<(f64, f64)> = steps.filter_map(|at| Some((x.place(at), y.place(roof(at)?)))).collect();
    drawing.path(&line, "roof");
    for (at, value, row) in &points {
        let title = format!("{} {}: {}, {} per byte", row.backend, row.rung, short(*value), short(*at));
        drawing.dot((x.place(*at), y.place(*value)), &format!("s{}", colour(&series, row)), &title);
    }
    label_ends(&mut drawing, &points, &x, &y);
    Some(Chart { drawing, width: WIDTH, height: HEIGHT, label: format!("roofline: {}", first.problem()) })
}

/// Names the lowest and the highest point; the others say theirs when pointed at.
fn label_ends(drawing: &mut Drawing, points: &[(f64, f64, &Row)], x: &Log, y: &Log) {
    let by_rate = |a: &&(f64, f64, &Row), b: &&(f64, f64, &Row)| a.1.total_cmp(&b.1);
    // The highest is often on the roof, where a line would cross its name.
    const BESIDE: f64 = 4.0;
    const BELOW: f64 = 16.0;
    let ends = [(points.iter().min_by(by_rate), BESIDE), (points.iter().max_by(by_rate), BELOW)];
    for ((at, value, row), down) in ends.into_iter().filter_map(|(point, down)| Some((point?, down))) {
        let place = x.place(*at);
        let (anchor, shift) = if place > 300.0 { (Anchor::End, -8.0) } else { (Anchor::Start, 8.0) };
        drawing.text((place + shift, y.place(*value) + down), anchor, "dim", &row.rung);
    }
}

fn point<'a>(row: &'a Row, arithmetic: bool, background: &Background) -> Option<(f64, f64, &'a Row)> {
    let bytes = row.gbps? * row.median_ms? * 1e6;
    if !arithmetic {
        return Some((bytes, row.gbps? * 1e9, row));
    }
    let flops = row.tflops? * row.median_ms? * 1e9;
    Some((background.intensity(row).unwrap_or(flops / bytes.max(1.0)), row.tflops? * 1e12, row))
}

/// Bytes and operations per second of a row's device: measured, else by its data sheet.
fn roofs(row: &Row, background: &Background) -> (Option<f64>, Option<f64>) {
    let sheet = data_sheet(&row.device);
    let copy = if is_arithmetic(row) { None } else { copy_rate(row).map(|rate| rate * 1e9) };
    let memory = background.measured(row, Ceilings::memory).or(copy).or(sheet.map(|s| s.memory_bandwidth));
    (memory, background.peak(row))
}

fn grid(drawing: &mut Drawing, x: &Log, y: &Log, [left, right, top, bottom]: [f64; 4], unit: &str) {
    for tick in x.ticks() {
        drawing.line([x.place(tick), top, x.place(tick), bottom], "grid");
        drawing.text((x.place(tick), bottom + 15.0), Anchor::Middle, "dim", &short(tick));
    }
    for tick in y.ticks() {
        drawing.line([left, y.place(tick), right, y.place(tick)], "grid");
        drawing.text((left - 6.0, y.place(tick) + 4.0), Anchor::End, "dim", &short(tick));
    }
    drawing.text((left + 4.0, top + 10.0), Anchor::Start, "dim", unit);
    drawing.line([left, bottom, right, bottom], "axis");
    drawing.line([left, top, left, bottom], "axis");
}

/// Time against the bytes that must move, of one op, element type and layout on one device: a line for
/// each of up to four rungs (the first, the last, and the fastest between). `None` with fewer than two sizes.
pub fn sizes(rows: &[Row], background: &Background) -> Option<Chart> {
    const WIDTH: f64 = 520.0;
    const HEIGHT: f64 = 340.0;
    const LEFT: f64 = 58.0;
    const RIGHT: f64 = 120.0;
    const TOP: f64 = 14.0;
    const BOTTOM: f64 = 40.0;
    let bytes = |row: &Row| Some(row.gbps? * row.median_ms? * 1e6);
    let first = rows.iter().find(|row| row.median_ms.is_some())?;
    let all: Vec<(f64, f64, &Row)> =
        rows.iter().filter_map(|row| Some((bytes(row)?, row.median_ms? / 1e3, row))).collect();
    let (least, most) = all.iter().fold((f64::INFINITY, 0.0f64), |(a, b), p| (a.min(p.0), b.max(p.0)));
    if all.is_empty() || least * 1.01 >= most {
        return None;
    }
    let x = Log::over(all.iter().map(|p| p.0), LEFT, WIDTH - RIGHT);
    let y = Log::over(all.iter().map(|p| p.1), HEIGHT - BOTTOM, TOP);
    let mut drawing = Drawing::default();
    grid(&mut drawing, &x, &y, [LEFT, WIDTH - RIGHT, TOP, HEIGHT - BOTTOM], "s");
    let below = words::BYTES_MOVED.text(background.language);
    drawing.text(((LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 6.0), Anchor::Middle, "dim", below);
    let mut ends: Vec<f64> = Vec::new();
    for (index, rung) in shown(&all).into_iter().enumerate() {
        let mut points: Vec<(f64, f64)> = all.iter().filter(|p| p.2.rung == rung).map(|p| (p.0, p.1)).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let line: Vec<(f64, f64)> = points.iter().map(|(bytes, time)| (x.place(*bytes), y.place(*time))).collect();
        drawing.path(&line, &format!("l{index}"));
        for ((bytes, time), place) in points.iter().zip(&line) {
            drawing.dot(*place, &format!("s{index}"), &format!("{rung}: {}B, {}s", short(*bytes), short(*time)));
        }
        // Names that would lie on each other move apart.
        let mut end = line.last().map_or(TOP, |p| p.1);
        while ends.iter().any(|taken| (taken - end).abs() < 13.0) {
            end += 13.0;
        }
        ends.push(end);
        drawing.text((WIDTH - RIGHT + 6.0, end + 4.0), Anchor::Start, "dim", &rung);
    }
    Some(Chart {
        drawing,
        width: WIDTH,
        height: HEIGHT,
        label: format!("time against size: {} {}", first.op, first.element),
    })
}

/// Which rungs to draw: the first, the last, and the fastest at the largest size.
fn shown(points: &[(f64, f64, &Row)]) -> Vec<String> {
    const MOST: usize = 4;
    let largest = points.iter().map(|p| p.0).fold(0.0, f64::max);
    let mut there: Vec<&(f64, f64, &Row)> = points.iter().filter(|p| p.0 > largest * 0.99).collect();
    let mut names: Vec<String> =
        [there.first(), there.last()].into_iter().flatten().map(|p| p.2.rung.clone()).collect();
    there.sort_by(|a, b| a.1.total_cmp(&b.1));
    names.extend(there.iter().map(|p| p.2.rung.clone()));
    let mut seen = Vec::new();
    names.retain(|name| {
        !seen.contains(name) && {
            seen.push(name.clone());
            true
        }
    });
    names.truncate(MOST);
    names
}
