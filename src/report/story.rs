//! The story of a ladder in sentences: which rung is best and how far from the limit, what bounds each,
//! what each step changed, whether a difference is real, and what is suspicious about the times.

use super::table::significant;
use super::{Counters, Row};
use crate::limits::{Ceilings, data_sheet};
use crate::words::{self, Language, Said};

#[cfg(feature = "sim")]
use crate::counted::{Counted, Counts};
#[cfg(feature = "sim")]
use crate::diagnose::{Finding, Measured, diagnose};

/// The time of the rung before over a rung's own, with a 95 % interval.
pub type Step = (f64, f64, f64);

/// What no two runs of one build agree within, as a share.
pub const NO_DIFFERENCE: f64 = 0.005;

/// Whether a step is a difference: beyond its own noise, and beyond what runs of one build differ by.
pub fn is_real((ratio, low, high): Step) -> bool {
    (low > 1.0 || high < 1.0) && (ratio - 1.0).abs() >= NO_DIFFERENCE
}

/// What the sentences may draw on besides the rows.
#[derive(Debug, Clone, Default)]
pub struct Background {
    /// The language.
    pub language: Language,
    /// What the simulator counted of each rung.
    #[cfg(feature = "sim")]
    pub counts: Counts,
    /// Measured ceilings of the devices.
    pub ceilings: Vec<Ceilings>,
}

/// A time's rate in its unit: operations where the op does arithmetic in earnest, else bytes.
pub fn rate(row: &Row) -> Option<(f64, &'static str)> {
    match is_arithmetic(row) {
        true => row.tflops.map(|tflops| (tflops, "TFLOP/s")),
        false => row.gbps.map(|gbps| (gbps, "GB/s")),
    }
}

/// Whether operations, not bytes, are what the op is about: more than a few for each byte.
pub fn is_arithmetic(row: &Row) -> bool {
    const FEW: f64 = 4.0;
    row.op == "matmul" || row.tflops.zip(row.gbps).is_some_and(|(tflops, gbps)| tflops * 1e3 > FEW * gbps)
}

impl Background {
    /// The most operations per second of a row's device and element type: measured, or by its data sheet.
    pub fn peak(&self, row: &Row) -> Option<f64> {
        let sheet = || (row.element == "f32").then(|| data_sheet(&row.device).map(|sheet| sheet.f32_flops))?;
        self.measured_peak(row).or_else(sheet)
    }

    fn measured_peak(&self, row: &Row) -> Option<f64> {
        self.measured(row, |ceilings| ceilings.flops(&row.element))
    }

    /// What `limits` measured of a row's device: through the row's own backend, or else through another one.
    pub fn measured(&self, row: &Row, what: impl Fn(&Ceilings) -> Option<f64>) -> Option<f64> {
        let of = |own: bool| {
            let mut devices = self.ceilings.iter().filter(|c| c.device == row.device);
            what(devices.find(|c| (c.backend == row.backend) == own)?)
        };
        of(true).or_else(|| of(false))
    }

    /// The idea of a row's rung, in its ladder's words; empty where no ladder has it.
    pub fn idea(&self, row: &Row) -> String {
        let op = crate::op::find(&row.op).ok();
        let rung = op.and_then(|op| op.ladder().iter().find(|rung| rung.id() == row.rung));
        rung.map_or_else(|| row.idea.clone(), |rung| words::idea(rung, self.language))
    }

    /// Operations per byte that went through memory, as the simulator counted them.
    pub fn intensity(&self, row: &Row) -> Option<f64> {
        #[cfg(feature = "sim")]
        {
            let counted = self.counts.get(&format!("{}/{}", row.op, row.rung))?;
            counted.whole.totals.arithmetic_intensity()
        }
        #[cfg(not(feature = "sim"))]
        {
            let _ = row;
            None
        }
    }

    /// The best row of each backend, with how far it is from each limit.
    pub fn best(&self, rows: &[Row]) -> Vec<String> {
        let mut backends: Vec<(&str, &str)> = Vec::new();
        for row in rows.iter().filter(|row| row.median_ms.is_some()) {
            let key = (row.backend.as_str(), row.device.as_str());
            if !backends.contains(&key) {
                backends.push(key);
            }
        }
        let best = |(backend, device): &(&str, &str)| {
            let own = rows.iter().filter(|r| r.backend == *backend && r.device == *device);
            own.filter(|r| r.cell.verdict() == "verified" && r.median_ms.is_some() && r.library.is_none())
                .min_by(|a, b| a.median_ms.unwrap_or(f64::MAX).total_cmp(&b.median_ms.unwrap_or(f64::MAX)))
        };
        backends.iter().filter_map(best).map(|row| self.headline(row)).collect()
    }

    /// Which rungs the counters alone favour, where nothing was timed.
    pub fn best_counted(&self, rows: &[&Row]) -> Option<String> {
        /// Shares of the bytes moved that are used, and turns of a shared access, that are as good as best.
        const USED: f64 = 0.95;
        const TURNS: f64 = 1.05;
        let first = *rows.first()?;
        let counted = || rows.iter().filter_map(|row| Some((*row, row.counters.as_ref()?)));
        if is_arithmetic(first) {
            // Of the operations that the product takes, not of those in parts of tiles that it does not fill.
            let product = 2.0 * (first.batch as f64) * first.dims.iter().map(|(_, dim)| *dim as f64).product::<f64>();
            let moved = |c: &Counters| Some(c.flops as f64 / c.arithmetic_intensity?);
            let reuse = |row: &Row| Some(product / moved(row.counters.as_ref()?)?);
            let (row, most) =
                counted().filter_map(|(row, _)| Some((row, reuse(row)?))).max_by(|a, b| a.1.total_cmp(&b.1))?;
            let values = [format!("{most:.1}"), format!("{:.1}", reuse(first)?)];
            let [most, least] = values;
            return Some(
                words::BEST_REUSE.with([row.backend.clone(), row.rung.clone(), most, least]).text(self.language),
            );
        }
        let (row, counters) = counted().find(|(_, counters)| {
            counters.global_efficiency.is_some_and(|used| used >= USED)
                && counters.conflict_degree.is_none_or(|turns| turns <= TURNS)
        })?;
        let used = format!("{:.0}", counters.global_efficiency? * 100.0);
        Some(words::BEST_COUNTED.with([row.backend.clone(), row.rung.clone(), used]).text(self.language))
    }

    fn headline(&self, row: &Row) -> String {
        let text = |said: Said| said.text(self.language);
        let mut parts = Vec::new();
        let dims: Vec<u64> = row.dims.iter().map(|(_, value)| *value).collect();
        let told = |op: &dyn crate::op::Op| op.told(&dims, row.median_ms? * 1e6);
        if let Some(told) = crate::op::find(&row.op).ok().and_then(told) {
            return text(words::BEST.with([row.backend.clone(), row.rung.clone(), text(told)]));
        }
        if let Some((value, unit)) = rate(row) {
            parts.push(format!("{} {unit}", significant(Some(value))));
        }
        let percent = |share: f64| format!("{:.0}", share * 100.0);
        if is_arithmetic(row) {
            if let Some((peak, tflops)) = self.peak(row).zip(row.tflops) {
                let peak_text = format!("{:.1} TFLOP/s", peak / 1e12);
                let share = percent(tflops * 1e12 / peak);
                let phrase = if self.measured_peak(row).is_some() { &words::OF_MEASURED } else { &words::OF_SHEET };
                parts.push(text(phrase.with([share, peak_text])));
            }
        } else {
            parts.extend(row.share_of_copy.map(|share| text(words::OF_COPY.with([percent(share)]))));
            let sheet = data_sheet(&row.device).map(|sheet| format!("{:.0} GB/s", sheet.memory_bandwidth / 1e9));
            parts.extend(
                row.share_of_data_sheet
                    .zip(sheet)
                    .map(|(share, sheet)| text(words::OF_SHEET.with([percent(share), sheet]))),
            );
        }
        parts.extend(row.share_of_vendor.map(|share| text(words::OF_VENDOR.with([format!("{share:.3}")]))));
        let separator = if self.language == Language::Chinese { "，" } else { ", " };
        text(words::BEST.with([row.backend.clone(), row.rung.clone(), parts.join(separator)]))
    }

    /// How a rung's time stands to that of the rung before it, which is named.
    pub fn step(&self, row: &Row, before: &str) -> Option<String> {
        self.ratio((row.step?, row.step_low?, row.step_high?), before)
    }

    /// A ratio of times with its interval, to the rung `before`, and whether it is a real difference.
    pub fn ratio(&self, step: Step, before: &str) -> Option<String> {
        let (ratio, low, high) = step;
        // Two digits would call a small difference none, and a small share 0.
        let digits = if (ratio - 1.0).abs() < 0.05 || ratio < 0.1 { 3 } else { 2 };
        let number = |value: f64| format!("{value:.digits$}");
        let values = [number(ratio), before.to_string(), number(low), number(high)];
        let phrase = match is_real(step) {
            false => &words::STEP_SAME,
            true if ratio > 1.0 => &words::STEP_FASTER,
            true => &words::STEP_SLOWER,
        };
        Some(phrase.with(values).text(self.language))
    }

    /// What is suspicious about the times, with advice.
    pub fn warnings(&self, rows: &[Row]) -> Vec<String> {
        let mut warnings: Vec<String> = Vec::new();
        let mut seen: Vec<(&'static words::Phrase, String)> = Vec::new();
        for row in rows {
            for (phrase, value) in suspicions(row, self.peak(row)) {
                // One warning of a kind for each backend; the row's own columns have the rest.
                if seen.contains(&(phrase, row.backend.clone())) {
                    continue;
                }
                seen.push((phrase, row.backend.clone()));
                let name = format!("{} {}", row.backend, row.rung);
                warnings.push(phrase.with([name, value]).text(self.language));
            }
        }
        warnings
    }
}

/// Shares beyond which a time is suspicious.
const DRIFT: f64 = 0.03;
const SCATTER: f64 = 0.15;
const UNSETTLED: f64 = 0.01;
/// Shares of the data sheet that a true time cannot have.
const IMPOSSIBLE: f64 = 1.1;

/// What is suspicious about one row, each with its figure.
pub fn suspicions(row: &Row, peak: Option<f64>) -> Vec<(&'static words::Phrase, String)> {
    let mut found: Vec<(&'static words::Phrase, String)> = Vec::new();
    if row.has_no_samples() {
        found.push((&words::NO_SAMPLES, String::new()));
    }
    let Some(median) = row.median_ms.filter(|_| !row.software_adapter) else { return found };
    let percent = |share: f64| format!("{:.1}", share * 100.0);
    match row.drift.map(|drift| drift - 1.0) {
        Some(drift) if drift > DRIFT => found.push((&words::DRIFTED, percent(drift))),
        Some(drift) if drift < -DRIFT => found.push((&words::FELL, percent(-drift))),
        _ => {}
    }
    if let Some(slow) = row.p95_ms.map(|p95| p95 / median - 1.0).filter(|slow| *slow > SCATTER) {
        found.push((&words::SCATTERED, percent(slow)));
    }
    let width = row.median_low_ms.zip(row.median_high_ms).map(|(low, high)| (high - low) / (2.0 * median));
    if let Some(width) = width.filter(|width| *width > UNSETTLED) {
        found.push((&words::UNSETTLED, percent(width)));
    }
    if row.throttled == Some(true) {
        found.push((&words::THROTTLED, String::new()));
    }
    if row.near_floor == Some(true) {
        found.push((&words::NEAR_FLOOR, row.floor_us.map(|us| format!("{us:.1}")).unwrap_or_default()));
    }
    // A problem that fits the cache may be faster than memory; rotating over it may not.
    let cached = row.cache_policy.as_deref() == Some("warm");
    if let Some(share) = row.share_of_data_sheet.filter(|share| *share > IMPOSSIBLE && !cached && !is_arithmetic(row)) {
        found.push((&words::ABOVE_PEAK, format!("{} % of the data sheet", percent(share))));
    }
    if let Some((tflops, peak)) = row.tflops.zip(peak).filter(|(tflops, peak)| tflops * 1e12 > IMPOSSIBLE * peak) {
        found.push((&words::ABOVE_PEAK, format!("{tflops:.1} of {:.1} TFLOP/s", peak / 1e12)));
    }
    found
}

/// Without the simulator nothing was counted.
#[cfg(not(feature = "sim"))]
impl Background {
    pub fn bound(&self, _row: &Row) -> Option<String> {
        None
    }

    pub fn glance(&self, _row: &Row) -> Option<String> {
        None
    }

    pub fn changed(&self, _before: &Row, _after: &Row) -> Option<String> {
        None
    }
}

#[cfg(feature = "sim")]
impl Background {
    /// What bounds a rung, and the evidence with the text of the line.
    pub fn bound(&self, row: &Row) -> Option<String> {
        self.finding(row, |finding| finding.brief(self.language))
    }

    /// The same with the number of the line alone.
    pub fn glance(&self, row: &Row) -> Option<String> {
        self.finding(row, |finding| finding.glance(self.language))
    }

    fn finding(&self, row: &Row, say: impl Fn(&Finding) -> String) -> Option<String> {
        let counted = self.counts.get(&format!("{}/{}", row.op, row.rung));
        let peak = self.peak(row);
        // A device that nobody described is judged like the machine that was simulated for it.
        let machine = counted.map(|counted| counted.machine.name.to_uppercase());
        let sheet = data_sheet(&row.device).or_else(|| data_sheet(&machine?));
        let arithmetic = is_arithmetic(row);
        let measured = Measured {
            share_of_copy: row.share_of_copy.filter(|_| !arithmetic),
            near_floor: row.near_floor.filter(|_| !row.software_adapter),
            share_of_peak: row.tflops.zip(peak).filter(|_| arithmetic).map(|(t, peak)| (t * 1e12 / peak, peak / 1e12)),
            balance: sheet.filter(|_| arithmetic).map(|sheet| sheet.f32_flops / sheet.memory_bandwidth),
        };
        let findings = match counted.map(|c| (&c.whole, &c.machine)) {
            Some((profile, machine)) => diagnose(profile, machine, measured),
            None => crate::diagnose::measured(measured),
        };
        // Few blocks are the small simulated problem's doing, not the rung's.
        let telling = findings.iter().find(|f| !f.symptom.is(&words::FEW_BLOCKS) && !f.symptom.is(&words::WARPS_FIT));
        match telling {
            Some(finding) => Some(say(finding)),
            None => counted.map(|_| words::NOTHING_FOUND.say().text(self.language)),
        }
    }

    /// The counters that changed from one rung to the next.
    pub fn changed(&self, before: &Row, after: &Row) -> Option<String> {
        let of = |row: &Row| self.counts.get(&format!("{}/{}", row.op, row.rung));
        let parts = changes(of(before)?, of(after)?);
        let separator = if self.language == Language::Chinese { "，" } else { ", " };
        let parts: Vec<String> = parts.iter().map(|part| part.text(self.language)).collect();
        (!parts.is_empty()).then(|| words::CHANGED.with([parts.join(separator)]).text(self.language))
    }
}

/// Counters that differ by a tenth or more, the most telling first.
#[cfg(feature = "sim")]
fn changes(before: &Counted, after: &Counted) -> Vec<Said> {
    const WORTH_A_WORD: f64 = 0.1;
    const MOST: usize = 3;
    let (a, b) = (&before.whole, &after.whole);
    let (a, b) = (&a.totals, &b.totals);
    let mut said = Vec::new();
    let mut compare = |phrase: &'static words::Phrase, old: Option<f64>, new: Option<f64>, digits: usize| {
        let (Some(old), Some(new)) = (old, new) else { return };
        if (new / old - 1.0).abs() >= WORTH_A_WORD && said.len() < MOST {
            said.push(phrase.with([format!("{old:.digits$}"), format!("{new:.digits$}")]));
        }
    };
    let load = |c: &crate::sim::Counters| c.global_load.sectors_per_request();
    let store = |c: &crate::sim::Counters| c.global_store.sectors_per_request();
    compare(&words::CHANGED_SECTORS_LOAD, load(a), load(b), 1);
    compare(&words::CHANGED_SECTORS_STORE, store(a), store(b), 1);
    compare(&words::CHANGED_CONFLICTS, a.shared().conflict_degree(), b.shared().conflict_degree(), 1);
    // Totals grow with the problem that is counted, which is not the one of the row: their ratio tells more.
    let same_problem = before.problem == after.problem;
    let mut times = |phrase: &'static words::Phrase, old: f64, new: f64| {
        if same_problem && (new / old - 1.0).abs() >= WORTH_A_WORD && said.len() < MOST {
            said.push(phrase.with([format!("{:.2}", new / old)]));
        }
    };
    times(&words::CHANGED_MOVED, a.global().moved_bytes as f64, b.global().moved_bytes as f64);
    times(&words::CHANGED_INSTRUCTIONS, a.instructions as f64, b.instructions as f64);
    let mut compare = |phrase: &'static words::Phrase, old: Option<f64>, new: Option<f64>, digits: usize| {
        let (Some(old), Some(new)) = (old, new) else { return };
        if (new / old - 1.0).abs() >= WORTH_A_WORD && said.len() < MOST {
            said.push(phrase.with([format!("{old:.digits$}"), format!("{new:.digits$}")]));
        }
    };
    compare(&words::CHANGED_LANES, a.lanes_per_instruction(), b.lanes_per_instruction(), 1);
    said
}

/// The sentences of one problem: the best, then each rung, then warnings.
pub fn story(rows: &[Row], background: &Background) -> String {
    let mut text = String::new();
    for line in background.best(rows) {
        text += &format!("{line}\n");
    }
    for (name, sentence) in rungs(rows, background) {
        text += &format!("  {name}: {sentence}\n");
    }
    for warning in background.warnings(rows) {
        text += &format!("! {warning}\n");
    }
    text
}

/// The verified rungs of the first backend that timed any (or of the simulator), in ladder order; a
/// vendor's rows are no rungs.
pub fn told(rows: &[Row]) -> Vec<&Row> {
    let Some(first) = rows.iter().find(|row| row.median_ms.is_some()).or_else(|| rows.first()) else {
        return Vec::new();
    };
    let own = |row: &&Row| row.backend == first.backend && row.device == first.device && row.library.is_none();
    rows.iter().filter(own).filter(|row| row.cell.verdict() == "verified").collect()
}

/// One sentence for each rung of [`told`].
pub fn rungs(rows: &[Row], background: &Background) -> Vec<(String, String)> {
    let own = told(rows);
    let mut sentences = Vec::new();
    for (index, row) in own.iter().enumerate() {
        let before = index.checked_sub(1).map(|i| own[i]);
        let step = before.and_then(|before| background.step(row, &before.rung));
        let changed = before.and_then(|before| background.changed(before, row));
        let parts: Vec<String> = [step, changed, background.bound(row)].into_iter().flatten().collect();
        let idea = background.idea(row);
        if parts.is_empty() && idea.is_empty() {
            continue;
        }
        let separator = if background.language == Language::Chinese { "；" } else { "; " };
        let sentence = [idea, parts.join(separator)].into_iter().filter(|part| !part.is_empty());
        let space = if background.language == Language::Chinese { "" } else { " " };
        sentences.push((row.rung.clone(), sentence.collect::<Vec<_>>().join(space)));
    }
    sentences
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::{Op, Transpose};
    use crate::report::{Cell, row::test_device};
    use crate::{Element, Problem};

    fn row() -> Row {
        let problem = Problem::new(Element::F32, [8192, 8192]);
        let mut row = Row::new(&Transpose, &Transpose.ladder()[1], &problem, &test_device(false));
        row.cell = Cell::Verified { coverage: "every bit".into() };
        (row.samples, row.median_ms, row.drift) = (Some(100), Some(1.0), Some(1.0));
        (row.median_low_ms, row.median_high_ms, row.p95_ms) = (Some(0.999), Some(1.001), Some(1.01));
        (row.gbps, row.share_of_copy) = (Some(536.0), Some(0.13));
        row
    }

    fn kinds(row: &Row, peak: Option<f64>) -> Vec<&'static words::Phrase> {
        suspicions(row, peak).into_iter().map(|(phrase, _)| phrase).collect()
    }

    #[test]
    fn env_falling_clocks_and_outliers_are_warned_of_with_advice() {
        assert!(kinds(&row(), None).is_empty());
        assert_eq!(kinds(&Row { drift: Some(1.15), ..row() }, None), [&words::DRIFTED]);
        assert_eq!(kinds(&Row { p95_ms: Some(1.9), ..row() }, None), [&words::SCATTERED]);
        assert_eq!(kinds(&Row { throttled: Some(true), ..row() }, None), [&words::THROTTLED]);
        assert_eq!(kinds(&Row { median_high_ms: Some(1.1), ..row() }, None), [&words::UNSETTLED]);
        let warnings = Background::default().warnings(&[Row { drift: Some(1.15), ..row() }]);
        assert!(warnings[0].contains("15.0 %") && warnings[0].contains("--warmup"), "{warnings:?}");
    }

    #[test]
    fn tim_a_rate_above_what_the_device_can_do_is_flagged() {
        let impossible = Row { share_of_data_sheet: Some(3.0), ..row() };
        assert_eq!(kinds(&impossible, None), [&words::ABOVE_PEAK]);
        assert_eq!(kinds(&Row { tflops: Some(100.0), ..row() }, Some(67e12)), [&words::ABOVE_PEAK]);
    }

    #[test]
    fn a_step_says_whether_it_is_real() {
        let with = |step: f64, low: f64, high: f64| Row {
            step: Some(step),
            step_low: Some(low),
            step_high: Some(high),
            ..row()
        };
        let said = |row: &Row| Background::default().step(row, "naive").expect("a step");
        assert_eq!(said(&with(3.17, 3.16, 3.18)), "3.17x as fast as naive (3.16 to 3.18)");
        assert!(said(&with(1.001, 0.998, 1.004)).starts_with("no real difference from naive"));
        // Beyond its own noise, and still nothing to speak of.
        assert_eq!(said(&with(0.997, 0.996, 0.998)), "no real difference from naive: 0.997x (0.996 to 0.998)");
        assert_eq!(said(&with(0.99, 0.989, 0.991)), "SLOWER, 0.990x as fast as naive (0.989 to 0.991)");
        assert!(said(&with(0.6, 0.59, 0.61)).starts_with("SLOWER"));
        assert_eq!(Background::default().step(&row(), "naive"), None);
    }
}
