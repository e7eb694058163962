//! A ladder on one screen: a line for each rung, the steps that matter in a sentence each, and what was
//! left out in one line. A screen is 100 columns by 50 lines.

use super::charts::series;
use super::columns::{Columns, bar};
use super::story::{NO_DIFFERENCE, Step, is_arithmetic, is_real, rate, told};
use super::table::{clock, described, note, significant, wrapped};
use super::{Page, Row};
use crate::words::{self, Said};

/// Columns of a screen that is no terminal.
const COLUMNS: usize = 100;
/// The most lines of the table and the most sentences.
const MOST_LINES: usize = 16;
const MOST_SENTENCES: usize = 7;
const LEAST_SENTENCES: usize = 3;
/// Lines of a screen.
const LINES: usize = 50;
/// A step within this share of 1 is small.
const SMALL: f64 = 0.03;

/// One line of the table: a rung, or where there are many the variants of one, of which each backend shows its best.
struct Line<'a> {
    label: String,
    cells: Vec<Option<&'a Row>>,
    /// Variants that were run and are not shown.
    hidden: usize,
}

/// The digest of one problem's rows.
pub(super) fn digest(rows: &[Row], page: &Page) -> String {
    // Counters beside times are a digest of their own.
    let (counted, others): (Vec<Row>, Vec<Row>) = rows.iter().cloned().partition(|row| row.backend == "sim");
    match (counted.is_empty(), others.is_empty()) {
        (false, false) => one(&others, page) + "\n" + &one(&counted, page),
        _ => one(rows, page),
    }
}

fn one(rows: &[Row], page: &Page) -> String {
    let width = page.width.unwrap_or(COLUMNS);
    let mut backends = series(rows);
    let timed = !backends.is_empty();
    if !timed {
        let all = rows.iter().map(|row| (row.backend.clone(), row.device.clone()));
        all.for_each(|key| {
            if !backends.contains(&key) {
                backends.push(key)
            }
        });
    }
    let (lines, absent) = lines(rows, &backends);
    let steps = steps(rows, &lines);
    let shown = shown(&lines, &steps);
    let mut text = wrapped(&(described(rows) + &clock(rows)), Some(width));
    let mut notes = Vec::new();
    text += &facts(rows, page, width);
    let kept: Vec<&Line<'_>> = lines.iter().zip(&shown).filter(|(_, shown)| **shown).map(|(line, _)| line).collect();
    let language = page.background.language;
    if timed {
        text += &times(&kept, &backends, &mut notes).text(width);
    } else if rows.iter().all(|row| row.counters.is_none()) {
        if rows.iter().any(|row| row.cell.verdict() == "verified") {
            text += &format!("{}\n", words::ONLY_VERIFIED.text(language));
        }
        text += &verdicts(&kept, &backends, &mut notes).text(width);
    } else {
        text += &format!("{}\n", words::NO_TIME.text(language));
        text += &counters(&kept, &mut notes).text(width);
        text += &wrapped(&format!("{}\n", words::COUNTERS_READ.text(language)), Some(width));
    }
    for (index, note) in notes.iter().enumerate() {
        text += &wrapped(&format!("[{}] {note}\n", index + 1), Some(width));
    }
    let hidden: usize = lines.iter().map(|line| line.hidden).sum();
    let minor = shown.iter().filter(|shown| !**shown).count();
    let rest = wrapped(&left_out(page, hidden, minor, absent), Some(width));
    if !page.story {
        return text + &rest;
    }
    // As many sentences as the screen has room for.
    let with = |most: usize| format!("{text}{}{rest}", wrapped(&story(rows, &lines, &steps, page, most), Some(width)));
    let fits = |text: &String| text.lines().count() <= LINES;
    (LEAST_SENTENCES..=MOST_SENTENCES).rev().map(with).find(fits).unwrap_or_else(|| with(LEAST_SENTENCES))
}

/// The lines, and how many rungs run nowhere.
fn lines<'a>(rows: &'a [Row], backends: &[(String, String)]) -> (Vec<Line<'a>>, usize) {
    let mut all: Vec<&str> = rows.iter().map(|row| row.rung.as_str()).collect();
    all.sort_unstable();
    all.dedup();
    let apart = all.len() <= MOST_LINES;
    let family = |row: &Row| row.rung.split('@').next().filter(|_| !apart).unwrap_or(&row.rung).to_string();
    let mut families: Vec<(String, bool)> = Vec::new();
    for row in rows {
        let key = (family(row), row.library.is_some());
        if !families.contains(&key) {
            families.push(key);
        }
    }
    let (mut lines, mut absent) = (Vec::new(), 0);
    for (name, vendor) in families {
        let of = |row: &&Row| family(row) == name && row.library.is_some() == vendor;
        let here: Vec<&Row> = rows.iter().filter(of).filter(|row| row.cell.verdict() != "absent").collect();
        let mut ids: Vec<&str> = here.iter().map(|row| row.rung.as_str()).collect();
        ids.dedup();
        let cells: Vec<Option<&Row>> = backends
            .iter()
            .map(|(backend, device)| {
                let own = here.iter().copied().filter(|row| row.backend == *backend && row.device == *device);
                own.min_by(|a, b| rank(a).total_cmp(&rank(b)))
            })
            .collect();
        let mut best: Vec<&str> = cells.iter().flatten().map(|row| row.rung.as_str()).collect();
        best.dedup();
        if best.is_empty() {
            absent += 1;
            continue;
        }
        let variants: Vec<&str> = best.iter().filter_map(|id| id.split_once('@')).map(|(_, variant)| variant).collect();
        let label = if variants.is_empty() || apart { name } else { format!("{name}@{}", variants.join("/")) };
        ids.sort_unstable();
        ids.dedup();
        lines.push(Line { label, hidden: ids.len() - best.len().min(ids.len()), cells });
    }
    (lines, absent)
}

/// Less is better: the time, else what the simulator counts; what failed comes first, to be seen.
fn rank(row: &Row) -> f64 {
    if row.is_failure() {
        return -1.0;
    }
    let counted = row.counters.as_ref().map(|c| {
        let waste = 1.0 / c.global_efficiency.unwrap_or(1.0).max(1e-3);
        waste * c.conflict_degree.unwrap_or(1.0)
    });
    row.median_ms.or(counted).unwrap_or(f64::MAX)
}

/// The ratio of each line's rung to the line above it, on the backend that the story is told of.
fn steps(rows: &[Row], lines: &[Line<'_>]) -> Vec<Option<Step>> {
    let own = told(rows);
    let place = |line: &Line<'_>| {
        let row = line.cells.iter().flatten().find(|row| own.iter().any(|o| std::ptr::eq(*o, **row)))?;
        own.iter().position(|o| std::ptr::eq(*o, *row))
    };
    let mut before: Option<usize> = None;
    let mut steps = Vec::new();
    for line in lines {
        let at = place(line);
        steps.push(before.zip(at).and_then(|(a, b)| {
            let (old, new) = (own[a], own[b]);
            if a + 1 == b
                && let (Some(step), Some(low), Some(high)) = (new.step, new.step_low, new.step_high)
            {
                return Some((step, low, high));
            }
            // Not neighbours when they were timed: from the intervals of both medians.
            let ratio = old.median_ms? / new.median_ms?;
            Some((ratio, old.median_low_ms? / new.median_high_ms?, old.median_high_ms? / new.median_low_ms?))
        }));
        before = at.or(before);
    }
    steps
}

/// How much a step says: nothing where it is noise.
fn weight(step: Option<Step>) -> f64 {
    step.filter(|step| is_real(*step)).map_or(0.0, |(ratio, ..)| ratio.ln().abs())
}

/// Which lines to show: all, or without those that changed least. The first, the best of each backend, the
/// selected one, a vendor's and what failed always stay.
fn shown(lines: &[Line<'_>], steps: &[Option<Step>]) -> Vec<bool> {
    let backends = lines.first().map_or(0, |line| line.cells.len());
    let mut stays: Vec<bool> = lines
        .iter()
        .enumerate()
        .map(|(index, line)| {
            let must = |row: &&Row| row.is_failure() || row.selected == Some(true) || row.library.is_some();
            index == 0 || line.cells.iter().flatten().any(must)
        })
        .collect();
    for backend in 0..backends {
        let best = (0..lines.len())
            .filter_map(|i| Some((i, lines[i].cells[backend].filter(|r| r.library.is_none())?.median_ms?)))
            .min_by(|a, b| a.1.total_cmp(&b.1));
        best.into_iter().for_each(|(index, _)| stays[index] = true);
    }
    let mut others: Vec<usize> = (0..lines.len()).filter(|i| !stays[*i]).collect();
    others.sort_by(|a, b| weight(steps[*b]).total_cmp(&weight(steps[*a])));
    let room = MOST_LINES.saturating_sub(stays.iter().filter(|s| **s).count());
    others.into_iter().take(room).for_each(|index| stays[index] = true);
    stays
}

/// What holds for the whole table.
fn facts(rows: &[Row], page: &Page, width: usize) -> String {
    let language = page.background.language;
    let text = |said: Said| said.text(language);
    let mut facts = Vec::new();
    let is = |verdict: &'static str| move |row: &Row| row.cell.verdict() == verdict;
    if rows.iter().any(is("verified")) && rows.iter().all(|row| is("verified")(row) || is("absent")(row)) {
        facts.push(words::EVERY_OUTPUT.text(language).to_string());
    }
    let half = |row: &Row| Some((row.median_high_ms? - row.median_low_ms?) / (2.0 * row.median_ms?) * 100.0);
    let widest =
        told(rows).into_iter().filter_map(half).fold(None, |most: Option<f64>, h| Some(most.map_or(h, |m| m.max(h))));
    /// Per cent beyond which a median says nothing.
    const BADLY: f64 = 10.0;
    let apart = |half: f64| (2.0 * half).max(100.0 * NO_DIFFERENCE);
    facts.extend(widest.map(|half| match half > BADLY {
        true => text(words::KNOWN_BADLY.with([format!("{half:.0}")])),
        false => text(words::KNOWN_TO.with([half, apart(half)].map(|value| format!("{value:.1}")))),
    }));
    if let Some(peak) = rows.iter().filter_map(|row| row.device_peak_bytes).max() {
        let peak = bytes(peak);
        let mut leaks: Vec<&str> = rows.iter().flat_map(|row| &row.device_leaks).map(String::as_str).collect();
        leaks.dedup();
        facts.push(match leaks.is_empty() {
            true => text(words::AT_MOST.with([peak])),
            false => text(words::LEAKED.with([peak, leaks.join("; ")])),
        });
    }
    #[cfg(feature = "sim")]
    if let Some(counted) = page.background.counts.values().next().filter(|_| rows.iter().any(|r| r.backend != "sim")) {
        facts.push(text(words::COUNTED_AS.with([counted.machine.name.clone()])));
    }
    if rows.iter().any(|row| row.selected == Some(true)) {
        let tuned = rows.iter().any(|row| row.selected == Some(true) && row.tuned == Some(true));
        facts.push(if tuned { &words::STARRED_TUNED } else { &words::STARRED }.text(language).to_string());
    }
    let semicolon = if language == words::Language::Chinese { "；" } else { "; " };
    if facts.is_empty() { String::new() } else { wrapped(&format!("{}\n", facts.join(semicolon)), Some(width)) }
}

/// A number of bytes in the unit that suits it.
fn bytes(count: u64) -> String {
    let units = [(1u64 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let found = units.into_iter().find(|(size, _)| count >= *size);
    found.map_or(format!("{count} B"), |(size, unit)| format!("{:.1} {unit}", count as f64 / size as f64))
}

/// Times, the backends side by side.
fn times(lines: &[&Line<'_>], backends: &[(String, String)], notes: &mut Vec<String>) -> Columns {
    let rows = || lines.iter().flat_map(|line| line.cells.iter().flatten());
    let arithmetic = rows().any(|row| is_arithmetic(row));
    let vendor = rows().any(|row| row.share_of_vendor.is_some());
    let mut heads = vec![("rung".to_string(), 9)];
    for (backend, _) in backends {
        heads.push((format!("{backend} ms"), 9));
        heads.push((if arithmetic { "TFLOP/s".into() } else { "GB/s".into() }, 4));
        if !arithmetic {
            heads.push(("of copy".into(), 6));
        }
        if vendor {
            heads.push(("of vendor".into(), 5));
        }
        heads.push(("x first".into(), 3));
    }
    heads.push((String::new(), 1));
    let most = rows().filter_map(|row| Some(rate(row)?.0)).fold(0.0, f64::max);
    let number = |value: Option<f64>, digits: usize| value.map(|v| format!("{v:.digits$}")).unwrap_or_default();
    let mut table = Vec::new();
    for line in lines {
        let mut cells = vec![line.label.clone()];
        for row in &line.cells {
            let count = 3 + usize::from(!arithmetic) + usize::from(vendor);
            let Some(row) = row else {
                cells.extend((0..count).map(|i| if i == 0 { "-".into() } else { String::new() }));
                continue;
            };
            let mark = if row.selected == Some(true) { "*" } else { "" };
            let floor = if row.near_floor == Some(true) { "~" } else { "" };
            cells.push(match row.median_ms {
                Some(ms) => format!("{mark}{floor}{ms:.4}{}", note(row, notes)),
                None => format!("{}{}", row.cell.verdict(), note(row, notes)),
            });
            cells.push(rate(row).map(|(value, _)| significant(Some(value))).unwrap_or_default());
            if !arithmetic {
                cells.push(number(row.share_of_copy, 3));
            }
            if vendor {
                cells.push(number(row.share_of_vendor, 3));
            }
            cells.push(number(row.speedup_over_first, 2));
        }
        cells.push(bar(line.cells.iter().flatten().next().and_then(|row| Some(rate(row)?.0 / most)), 14));
        table.push(cells);
    }
    Columns { heads, lines: table }
}

/// The verdict of each backend, where nothing else is known.
fn verdicts(lines: &[&Line<'_>], backends: &[(String, String)], notes: &mut Vec<String>) -> Columns {
    let mut heads = vec![("rung".to_string(), 9)];
    heads.extend(backends.iter().map(|(backend, _)| (backend.clone(), 9)));
    let mut table = Vec::new();
    for line in lines {
        let mut cells = vec![line.label.clone()];
        cells.extend(line.cells.iter().map(|cell| match cell {
            None => "-".into(),
            Some(row) => {
                let mark = if row.selected == Some(true) { " *" } else { "" };
                format!("{}{mark}{}", row.cell.verdict(), note(row, notes))
            }
        }));
        table.push(cells);
    }
    Columns { heads, lines: table }
}

/// What the simulator counted.
fn counters(lines: &[&Line<'_>], notes: &mut Vec<String>) -> Columns {
    let heads = [("rung", 9), ("ld", 9), ("st", 9), ("used", 8), ("turns ld", 7), ("turns st", 7)];
    let more = [("lanes", 5), ("instructions", 6), ("warps", 4), ("", 9)];
    let heads = heads.iter().chain(&more).map(|(head, need)| (head.to_string(), *need)).collect();
    let number = |value: Option<f64>| value.map(|v| format!("{v:.1}")).unwrap_or_default();
    let of = |moved: Option<f64>, ideal: Option<f64>| {
        let digits = |value: f64| usize::from((value - value.round()).abs() > 0.05);
        let text = |(moved, ideal): (f64, f64)| format!("{moved:.0$} of {ideal:.1$}", digits(moved), digits(ideal));
        moved.zip(ideal).map(text).unwrap_or_default()
    };
    let mut table = Vec::new();
    for line in lines {
        let Some(row) = line.cells.iter().flatten().next() else { continue };
        let mut cells = vec![line.label.clone()];
        match &row.counters {
            None => cells.resize(9, String::new()),
            Some(c) => cells.extend([
                of(c.sectors_per_load, c.ideal_sectors_per_load),
                of(c.sectors_per_store, c.ideal_sectors_per_store),
                c.global_efficiency.map(|e| format!("{:.0} %", e * 100.0)).unwrap_or_default(),
                number(c.load_conflict_degree),
                number(c.store_conflict_degree),
                number(c.lanes_per_instruction),
                c.instructions.to_string(),
                c.resident_warps.to_string(),
            ]),
        }
        let hazards = row.counters.as_ref().map_or(0, |c| c.hazards.len());
        let verdict = if row.cell.verdict() == "verified" { "" } else { row.cell.verdict() };
        let hazards = if hazards > 0 { format!("{hazards} HAZARDS ") } else { String::new() };
        let mark = if row.selected == Some(true) { "*" } else { "" };
        cells.push(format!("{mark}{hazards}{verdict}{}", note(row, notes)));
        table.push(cells);
    }
    Columns { heads, lines: table }
}

/// The best, the steps that matter, and in one line each those that do not.
fn story(rows: &[Row], lines: &[Line<'_>], steps: &[Option<Step>], page: &Page, most: usize) -> String {
    let background = &page.background;
    let language = background.language;
    let own = told(rows);
    let mut text = String::new();
    for line in background.best(rows) {
        text += &format!("{line}\n");
    }
    if rows.iter().all(|row| row.median_ms.is_none()) {
        text.extend(background.best_counted(&own).map(|line| format!("{line}\n")));
    }
    // The told rungs among the lines, each with its line.
    let of = |line: &Line<'_>| own.iter().position(|o| line.cells.iter().flatten().any(|row| std::ptr::eq(*row, *o)));
    let rungs: Vec<(usize, usize)> = lines.iter().enumerate().filter_map(|(i, line)| Some((i, of(line)?))).collect();
    let fastest = rungs.iter().min_by(|a, b| rank(own[a.1]).total_cmp(&rank(own[b.1]))).map(|(line, _)| *line);
    let counted = rows.iter().all(|row| row.median_ms.is_none());
    let mut ranked: Vec<usize> = rungs.iter().map(|(line, _)| *line).collect();
    if !counted {
        ranked.retain(|line| steps[*line].is_some_and(|step| is_real(step) && (step.0 - 1.0).abs() > SMALL));
        ranked.sort_by(|a, b| weight(steps[*b]).total_cmp(&weight(steps[*a])));
    }
    let first = rungs.first().map(|(line, _)| *line);
    let mut told_of: Vec<usize> = first.into_iter().chain(fastest.filter(|_| !counted)).collect();
    ranked.into_iter().for_each(|line| {
        if !told_of.contains(&line) && told_of.len() < most {
            told_of.push(line)
        }
    });
    let (mut same, mut small) = (Vec::new(), Vec::new());
    for (index, &(line, place)) in rungs.iter().enumerate() {
        let row = own[place];
        let before = index.checked_sub(1).map(|i| own[rungs[i].1]);
        if !told_of.contains(&line) {
            match steps[line] {
                Some(step) if is_real(step) => small.push(format!("{} {:.2}x", row.rung, step.0)),
                Some(step) => same.push(format!("{} {:.2}x", row.rung, step.0)),
                None => {}
            }
            continue;
        }
        let step = steps[line].zip(before).and_then(|(step, before)| background.ratio(step, &before.rung));
        let changed = before.and_then(|before| background.changed(before, row));
        let parts: Vec<String> = [step, changed, background.glance(row)].into_iter().flatten().collect();
        let (semicolon, space) = if language == words::Language::Chinese { ("；", "") } else { ("; ", " ") };
        let sentence = format!("{}{space}{}", background.idea(row), parts.join(semicolon));
        text += &format!("  {}: {}\n", row.rung, sentence.trim());
    }
    let comma = if language == words::Language::Chinese { "，" } else { ", " };
    if !small.is_empty() {
        text += &format!("  {}\n", words::SMALLER_STEPS.with([small.join(comma)]).text(language));
    }
    if !same.is_empty() {
        text += &format!("  {}\n", words::NO_DIFFERENCE.with([same.join(comma)]).text(language));
    }
    /// The most warnings; the rows have the rest.
    const MOST_WARNINGS: usize = 3;
    for warning in background.warnings(rows).iter().take(MOST_WARNINGS) {
        text += &format!("! {warning}\n");
    }
    text
}

/// What the digest does not show.
fn left_out(page: &Page, variants: usize, minor: usize, absent: usize) -> String {
    let language = page.background.language;
    let counts = [(variants, &words::VARIANTS), (minor, &words::MINOR_RUNGS), (absent, &words::ABSENT_RUNGS)];
    let parts: Vec<String> = counts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, phrase)| phrase.with([count.to_string()]).text(language))
        .collect();
    let comma = if language == words::Language::Chinese { "，" } else { ", " };
    if parts.is_empty() { String::new() } else { words::NOT_SHOWN.with([parts.join(comma)]).text(language) + "\n" }
}
