//! Two sets of runs compared row by row: the ratio of the times with its interval, and what became
//! of each row. Made to stay silent where only noise differs.
//!
//! The samples of one run say how well that run's median is known; they cannot say how much another
//! run of the same build would differ (clocks, memory layout, neighbours). Where a side has several
//! runs, that spread is taken from them; where it has few, an allowance by the kind of clock stands in for it.

use super::Row;
use crate::error::{Error, Result};
use std::collections::BTreeMap;

/// Standard deviations to either side of a 95 % interval.
const Z: f64 = 1.96;

/// How to compare.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// A row is slower where the ratio is beyond 1 plus this share, and its interval beyond 1.
    pub threshold: f64,
    /// Compare rows of different devices.
    pub across_devices: bool,
    /// Compare rows whose inputs, seeds, cache policies or clocks differ.
    pub across_inputs: bool,
    /// Compare times as multiples of the best copy in the same rounds, which cancels the pace of the
    /// whole machine. `None` compares medians, and of a device that only imitates a GPU the fastest samples:
    /// whatever else a processor does only ever adds to a time.
    pub against_copy: Option<bool>,
}

impl Default for Options {
    fn default() -> Self {
        Options { threshold: 0.03, across_devices: false, across_inputs: false, against_copy: None }
    }
}

/// What became of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// No difference beyond noise and threshold.
    Same,
    /// Faster, beyond both.
    Faster,
    /// Slower, beyond both.
    Slower,
    /// It was verified before and is not any more.
    Broken,
    /// Verified now, and not before.
    Mended,
    /// Only before.
    Gone,
    /// Only after.
    New,
    /// Not timed on at least one side.
    Untimed,
    /// The interval reaches beyond the threshold both ways, or the ratio does while the interval holds 1; or a device that only imitates a GPU has too few
    /// runs to know how much they differ by themselves.
    Unclear,
}

impl Change {
    /// The word in reports.
    pub fn name(self) -> &'static str {
        match self {
            Change::Same => "same",
            Change::Faster => "faster",
            Change::Slower => "SLOWER",
            Change::Broken => "BROKEN",
            Change::Mended => "mended",
            Change::Gone => "gone",
            Change::New => "new",
            Change::Untimed => "not timed",
            Change::Unclear => "cannot tell",
        }
    }

    /// Whether a gate should close on it.
    pub fn is_regression(self) -> bool {
        matches!(self, Change::Slower | Change::Broken)
    }
}

/// One row of the comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// What was run, in a line.
    pub problem: String,
    /// The rung.
    pub rung: String,
    /// The backend.
    pub backend: String,
    /// The middle of the runs' medians, in milliseconds.
    pub before_ms: Option<f64>,
    /// The middle of the runs' medians, in milliseconds.
    pub after_ms: Option<f64>,
    /// Whether both are of the fastest samples instead.
    pub fastest: bool,
    /// After over before: above 1 is slower.
    pub ratio: Option<f64>,
    /// A 95 % interval of the ratio.
    pub interval: Option<(f64, f64)>,
    /// What became of it.
    pub change: Change,
}

/// The spread from run to run, as a share, to expect of a row where only one run is there to tell:
/// device clocks repeat to within a per cent, launches of microseconds and host clocks less well.
fn allowance(row: &Row) -> f64 {
    match (row.clock, row.near_floor) {
        (Some("device"), Some(true)) => 0.02,
        (Some("device"), _) => 0.006,
        _ => 0.05,
    }
}

type Key = (String, String, String);

/// The rows of one side, by what they are of, in the order of the first run.
fn keyed(runs: &[Vec<Row>]) -> (Vec<Key>, BTreeMap<Key, Vec<&Row>>) {
    let (mut order, mut rows) = (Vec::new(), BTreeMap::<Key, Vec<&Row>>::new());
    for row in runs.iter().flatten() {
        let key = (row.problem(), row.rung.clone(), row.backend.clone());
        let entry = rows.entry(key.clone()).or_default();
        if entry.is_empty() {
            order.push(key);
        }
        entry.push(row);
    }
    (order, rows)
}

/// Compares the runs `after` with those `before`.
///
/// # Errors
/// [`Error::Option`] where rows of the same name come from different devices or inputs and the
/// options do not allow it.
pub fn compare(before: &[Vec<Row>], after: &[Vec<Row>], options: &Options) -> Result<Vec<Comparison>> {
    let ((order, old), (more, new)) = (keyed(before), keyed(after));
    let keys = order.iter().chain(more.iter().filter(|key| !old.contains_key(*key)));
    keys.map(|key| {
        let (a, b) = (old.get(key).cloned().unwrap_or_default(), new.get(key).cloned().unwrap_or_default());
        comparable(&a, &b, options)?;
        Ok(one(key, &a, &b, options))
    })
    .collect()
}

/// Refuses to compare what differs in more than the build.
fn comparable(a: &[&Row], b: &[&Row], options: &Options) -> Result<()> {
    let Some(first) = a.first() else { return Ok(()) };
    let differ = |what: &str, of: fn(&Row) -> String, allowed: bool, flag: &str| -> Result<()> {
        let other = a.iter().chain(b).find(|row| of(row) != of(first) && row.median_ms.is_some());
        match other.filter(|_| !allowed && first.median_ms.is_some()) {
            None => Ok(()),
            Some(other) => Err(Error::Option {
                option: "the two sides",
                value: format!("{} {} on {}", first.op, first.rung, first.backend),
                problem: format!("the {what} differs: {} and {}; {flag} compares all the same", of(first), of(other)),
            }),
        }
    };
    differ("device", |row| row.device.clone(), options.across_devices, "--across-devices")?;
    differ(
        "input",
        |row| format!("{}, seed {:?}", row.input.as_deref().unwrap_or("unknown"), row.seed),
        options.across_inputs,
        "--across-inputs",
    )?;
    differ(
        "cache policy",
        |row| row.cache_policy.clone().unwrap_or_default(),
        options.across_inputs,
        "--across-inputs",
    )?;
    differ("clock", |row| row.clock.unwrap_or("none").to_string(), options.across_inputs, "--across-inputs")
}

/// What stands for a run's time.
#[derive(Clone, Copy, PartialEq)]
enum Time {
    Median,
    /// The median as a multiple of the best copy's.
    OverCopy,
    Fastest,
}

impl Time {
    fn of(self, row: &Row) -> Option<f64> {
        match self {
            Time::Median => row.median_ms,
            Time::OverCopy => row.share_of_copy.map(|share| 1.0 / share),
            Time::Fastest => row.least_ms,
        }
    }
}

/// The logarithms of each run's time, and the variance of one run's median from its own samples.
fn logs(rows: &[&Row], time: Time) -> (Vec<f64>, f64) {
    let mut within = 0.0;
    let mut logs = Vec::new();
    for row in rows {
        let Some(value) = time.of(row).filter(|v| *v > 0.0) else { continue };
        logs.push(value.ln());
        if let (Some(low), Some(high), false) = (row.median_low_ms, row.median_high_ms, time == Time::Fastest) {
            within += ((high / low).ln() / (2.0 * Z)).powi(2);
        }
    }
    let runs = logs.len().max(1) as f64;
    (logs, within / runs)
}

fn middle(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let half = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n.is_multiple_of(2) => Some((sorted[half - 1] + sorted[half]) / 2.0),
        _ => Some(sorted[half]),
    }
}

/// From so many runs on, their own spread is taken in place of the allowance.
const RUNS: usize = 4;

/// The variance of a side's middle: from its own samples, and from run to run.
fn variance(logs: &[f64], within: f64, allowed: f64) -> f64 {
    /// The median's variance over the mean's, for samples of a bell curve.
    const OF_A_MEDIAN: f64 = 1.57;
    let n = logs.len().max(1) as f64;
    let between = if logs.len() < RUNS {
        allowed * allowed
    } else {
        let mean = logs.iter().sum::<f64>() / n;
        OF_A_MEDIAN * logs.iter().map(|l| (l - mean).powi(2)).sum::<f64>() / (n - 1.0)
    };
    (within + between) / n
}

/// Whether the runs of one side lie so often below those of the other that chance hardly does it: the test of Mann and
/// Whitney, by its normal approximation. Unlike an interval it does not ask how runs are spread: a processor that some
/// runs meet at another clock has two middles.
fn apart(a: &[f64], b: &[f64]) -> bool {
    let (m, n) = (a.len() as f64, b.len() as f64);
    let pairs = a.iter().flat_map(|a| b.iter().map(move |b| a.total_cmp(b)));
    let below = pairs.map(|order| [1.0, 0.5, 0.0][(order as i8 + 1) as usize]).sum::<f64>();
    (below - m * n / 2.0).abs() > Z * (m * n * (m + n + 1.0) / 12.0).sqrt()
}

fn one((problem, rung, backend): &Key, a: &[&Row], b: &[&Row], options: &Options) -> Comparison {
    let software = a.iter().chain(b).any(|row| row.software_adapter);
    let all = |time: Time| a.iter().chain(b).all(|row| time.of(row).is_some() || row.median_ms.is_none());
    let time = match options.against_copy {
        Some(true) if all(Time::OverCopy) => Time::OverCopy,
        None if software && all(Time::Fastest) => Time::Fastest,
        None if software && all(Time::OverCopy) => Time::OverCopy,
        _ => Time::Median,
    };
    let fastest = time == Time::Fastest;
    let shown = |row: &&Row| if fastest { row.least_ms } else { row.median_ms };
    let middle_of = |rows: &[&Row]| middle(&rows.iter().filter_map(shown).collect::<Vec<_>>());
    let verified = |rows: &[&Row]| rows.iter().all(|row| row.cell.verdict() == "verified");
    let mut result = Comparison {
        problem: problem.clone(),
        rung: rung.clone(),
        backend: backend.clone(),
        before_ms: middle_of(a),
        after_ms: middle_of(b),
        fastest,
        ratio: None,
        interval: None,
        change: Change::Untimed,
    };
    result.change = match (a.is_empty(), b.is_empty()) {
        (true, _) => Change::New,
        (_, true) => Change::Gone,
        _ if verified(a) && !verified(b) => Change::Broken,
        _ if !verified(a) && verified(b) => Change::Mended,
        _ => Change::Untimed,
    };
    if result.change != Change::Untimed {
        return result;
    }
    let ((old, old_within), (new, new_within)) = (logs(a, time), logs(b, time));
    let (Some(before), Some(after)) = (middle(&old), middle(&new)) else { return result };
    let allowed = a.iter().chain(b).map(|row| allowance(row)).fold(0.0, f64::max);
    let deviation = (variance(&old, old_within, allowed) + variance(&new, new_within, allowed)).sqrt();
    let log = after - before;
    let (ratio, low, high) = (log.exp(), (log - Z * deviation).exp(), (log + Z * deviation).exp());
    result.ratio = Some(ratio);
    result.interval = Some((low, high));
    let few = old.len().min(new.len()) < RUNS;
    let edge = 1.0 + options.threshold;
    let (beyond, real) =
        (!(1.0 / edge..=edge).contains(&ratio), (low > 1.0 || high < 1.0) && (few || apart(&old, &new)));
    result.change = if software && few || (low < 1.0 / edge && high > edge) || (beyond && !real) {
        Change::Unclear
    } else if !beyond {
        Change::Same
    } else if ratio > 1.0 {
        Change::Slower
    } else {
        Change::Faster
    };
    result
}

/// The comparison as a table, markdown or JSON: the rows `shown`, with a summary of `all`.
///
/// # Errors
/// [`Error::Unknown`] for another format.
pub fn print(
    format: &str,
    all: &[Comparison],
    shown: &[Comparison],
    options: &Options,
    unicode: bool,
) -> Result<String> {
    use super::table::grid;
    use comfy_table::presets;
    let style = match format {
        "table" if unicode => presets::UTF8_FULL_CONDENSED,
        "table" => presets::ASCII_FULL_CONDENSED,
        "markdown" => presets::ASCII_MARKDOWN,
        "json" => return Ok(json(all, options)),
        other => {
            let known = ["table", "markdown", "json"].map(String::from).to_vec();
            return Err(Error::Unknown { kind: "format", word: other.into(), known });
        }
    };
    let number = |value: Option<f64>, digits: usize| value.map(|v| format!("{v:.digits$}")).unwrap_or_default();
    let header = ["rung", "backend", "before ms", "after ms", "ratio", "95 % interval", "change"];
    let mut text = String::new();
    let mut problems: Vec<&str> = shown.iter().map(|c| c.problem.as_str()).collect();
    problems.dedup();
    for problem in problems {
        let lines = shown.iter().filter(|c| c.problem == problem).map(|c| {
            let interval = c.interval.map(|(low, high)| format!("{low:.3} to {high:.3}")).unwrap_or_default();
            let times = [number(c.before_ms, 4), number(c.after_ms, 4), number(c.ratio, 3), interval];
            [vec![c.rung.clone(), c.backend.clone()], times.to_vec(), vec![c.change.name().into()]].concat()
        });
        text += &format!("{problem}\n\n{}\n", grid(style, header.map(String::from).to_vec(), lines.collect()));
    }
    if shown.iter().any(|c| c.fastest) {
        text += "fastest samples, not medians: the device only imitates a GPU, and a busy processor only adds to a time\n\n";
    }
    Ok(text + &summary(all, options))
}

/// How many rows went which way.
fn summary(all: &[Comparison], options: &Options) -> String {
    let changes = [
        Change::Same,
        Change::Faster,
        Change::Slower,
        Change::Broken,
        Change::Mended,
        Change::Gone,
        Change::New,
        Change::Untimed,
        Change::Unclear,
    ];
    let counts = changes.iter().filter_map(|change| {
        let count = all.iter().filter(|c| c.change == *change).count();
        (count > 0).then(|| format!("{count} {}", change.name()))
    });
    let counts: Vec<String> = counts.collect();
    let verdict = if all.iter().any(|c| c.change.is_regression()) { "regression" } else { "no regression" };
    let unclear = all.iter().any(|c| c.change == Change::Unclear);
    let advice = match unclear {
        true => format!(
            "where it cannot tell, runs differ by more than the threshold: give {RUNS} or more on each side, on a quiet machine\n"
        ),
        false => String::new(),
    };
    format!("{verdict}: {} (threshold {:.1} %)\n{advice}", counts.join(", "), options.threshold * 100.0)
}

fn json(all: &[Comparison], options: &Options) -> String {
    use serde_json::json;
    let rows: Vec<_> = all
        .iter()
        .map(|c| {
            json!({
                "problem": c.problem, "rung": c.rung, "backend": c.backend, "before_ms": c.before_ms, "after_ms": c.after_ms, "fastest_samples": c.fastest,
                "ratio": c.ratio, "ratio_low": c.interval.map(|i| i.0), "ratio_high": c.interval.map(|i| i.1),
                "change": c.change.name().to_lowercase(), "regression": c.change.is_regression(),
            })
        })
        .collect();
    let regression = all.iter().any(|c| c.change.is_regression());
    let document = json!({
        "schema": "gpu-ladder/comparison", "version": 1, "threshold": options.threshold, "regression": regression, "rows": rows,
    });
    format!("{document:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::{Op, Transpose};
    use crate::report::Cell;

    /// A run of one rung that took `ms`, on a GPU or on what imitates one.
    fn run(ms: f64, software: bool) -> Vec<Row> {
        let device = crate::report::row::test_device(software);
        let problem = crate::Problem::new(crate::Element::F32, [64, 64]);
        let mut row = Row::new(&Transpose, &Transpose.ladder()[0], &problem, &device);
        row.cell = Cell::Verified { coverage: "every bit".into() };
        row.clock = Some("device");
        (row.samples, row.median_ms, row.least_ms) = (Some(100), Some(ms), Some(ms * 0.9));
        (row.median_low_ms, row.median_high_ms) = (Some(ms * 0.999), Some(ms * 1.001));
        row.share_of_copy = Some(0.5 / ms);
        vec![row]
    }

    fn change(before: &[Vec<Row>], after: &[Vec<Row>]) -> Change {
        compare(before, after, &Options::default()).expect("comparable")[0].change
    }

    #[test]
    fn a_planted_slowdown_of_five_per_cent_is_found_and_a_repeat_is_silent() {
        assert_eq!(change(&[run(1.0, false)], &[run(1.05, false)]), Change::Slower);
        assert_eq!(change(&[run(1.0, false)], &[run(0.95, false)]), Change::Faster);
        assert_eq!(change(&[run(1.0, false)], &[run(1.008, false)]), Change::Same);
    }

    #[test]
    fn a_software_adapter_is_judged_by_its_own_spread() {
        assert_eq!(change(&[run(1.0, true)], &[run(2.0, true)]), Change::Unclear);
        let noisy = |scale: f64| [1.0, 1.1, 0.9, 1.05, 0.95].map(|ms| run(ms * scale, true)).to_vec();
        assert_eq!(change(&noisy(1.0), &noisy(1.05)), Change::Unclear);
        let quiet = |scale: f64| [1.0, 1.01, 0.99, 1.005, 0.995].map(|ms| run(ms * scale, true)).to_vec();
        assert_eq!(change(&quiet(1.0), &quiet(1.05)), Change::Slower);
        // Ten runs of one build, of which some met the processor at a higher clock.
        let fastest = |least: [f64; 5]| least.map(|ms| run(ms, true)).to_vec();
        let slow = fastest([3.80, 3.81, 3.79, 2.61, 3.80]);
        assert_eq!(change(&slow, &fastest([3.80, 3.82, 2.55, 2.51, 2.50])), Change::Unclear);
    }

    #[test]
    fn a_wrong_result_breaks_and_other_devices_are_refused() {
        let mut wrong = run(0.5, false);
        wrong[0].cell = Cell::Wrong("one element".into());
        assert_eq!(change(&[run(1.0, false)], &[wrong]), Change::Broken);
        let mut other = run(1.0, false);
        other[0].device = "another".into();
        assert!(compare(&[run(1.0, false)], &[other.clone()], &Options::default()).is_err());
        let across = Options { across_devices: true, ..Options::default() };
        assert!(compare(&[run(1.0, false)], &[other], &across).is_ok());
        let mut seeded = run(1.0, false);
        seeded[0].seed = Some(2);
        assert!(compare(&[run(1.0, false)], &[seeded], &Options::default()).is_err());
    }
}
