//! A report as one HTML file: it loads nothing, reads in print, by night, by keyboard and on a phone.

use super::charts::{self, Chart, bar_label, ceiling, colour, copy_rate, series};
use super::story::{self, is_arithmetic, rate};
use super::svg::{STYLE, escape};
use super::table::by_problem;
use super::{Page, Row};
use crate::words::{self, Phrase};
use std::fmt::Write;

/// The look. Everything is text or SVG; colours follow the reader's scheme, print is black on white.
const LOOK: &str = "\
:root{color-scheme:light dark;--paper:#fff;--ink:#1b1f24;--dim:#57606a;--grid:#d8dee4;--soft:#f6f8fa;--s0:#0b6bcb;--s1:#b45309;--s2:#0f7b55;--s3:#8250df}\
@media screen and (prefers-color-scheme:dark){:root{--paper:#0d1117;--ink:#e6edf3;--dim:#9198a1;--grid:#30363d;--soft:#161b22;--s0:#58a6ff;--s1:#f0a04b;--s2:#3fb68b;--s3:#bc8cff}}\
*{box-sizing:border-box}body{margin:0 auto;max-width:70rem;padding:1rem;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif}\
h1{font-size:1.5rem;margin:.2rem 0}h2{font-size:1.2rem;margin:2rem 0 .4rem;border-bottom:1px solid var(--grid)}h3{font-size:1rem;margin:1.2rem 0 .3rem}\
a{color:var(--s0)}a:focus-visible,summary:focus-visible,.scroll:focus-visible{outline:3px solid var(--s1);outline-offset:2px}\
nav ul{columns:16rem;padding-left:1.2rem}p,ul{margin:.4rem 0}.dim{color:var(--dim);font-size:.875rem}\
.ladder{display:grid;grid-template-columns:minmax(6rem,max-content) 1fr;gap:.15rem .7rem;align-items:center;font-size:.875rem}\
.ladder .name{text-align:right;overflow-wrap:anywhere}.ladder .bars{display:flex;flex-direction:column;gap:2px;padding:2px 0}\
.track{position:relative;background:var(--soft);min-height:1.35em}.bar{position:absolute;inset:0 auto 0 0;opacity:.32}\
.mark{position:absolute;top:0;bottom:0;width:2px;background:var(--dim)}.value{position:relative;display:block;padding:0 .4rem;overflow-wrap:anywhere}\
.b0{background:var(--s0)}.b1{background:var(--s1)}.b2{background:var(--s2)}.b3{background:var(--s3)}\
.key i{display:inline-block;width:.8em;height:.8em;margin:0 .35em 0 .9em}.bar,.mark,.key i{print-color-adjust:exact;-webkit-print-color-adjust:exact}\
.charts{display:flex;flex-wrap:wrap;gap:1rem}.charts figure{margin:0;flex:1 1 20rem;min-width:0;max-width:40rem}figcaption{font-size:.875rem;color:var(--dim)}svg{width:100%;min-width:28rem;height:auto}\
.scroll{overflow-x:auto}table{border-collapse:collapse;font-size:.875rem;font-variant-numeric:tabular-nums}th,td{padding:.2rem .6rem;border-bottom:1px solid var(--grid);text-align:right;vertical-align:top}\
th:first-child,td:first-child,th:last-child,td:last-child{text-align:left}.rows td:not(:last-child){white-space:nowrap}td.code{text-align:left;white-space:pre;font:12px/1.4 ui-monospace,monospace;border:0;padding:0 .6rem}\
td.n{border:0;padding:0 .5rem;font:12px/1.4 ui-monospace,monospace;color:var(--dim)}.hot{color:var(--s1);font-weight:600}details{margin:.4rem 0}summary{cursor:pointer}\
.warning{border-left:4px solid var(--s1);padding-left:.6rem}\
@media print{:root{--paper:#fff;--ink:#000;--dim:#444;--grid:#bbb;--soft:#eee}body{max-width:none;font-size:11pt}nav{display:none}h2,h3{break-after:avoid}figure,tr,.ladder>*{break-inside:avoid}\
svg{min-width:0}.scroll{overflow:visible}table{font-size:8.5pt}td.code{white-space:pre-wrap}}";

struct Writer<'a> {
    out: String,
    page: &'a Page,
}

/// The page of all rows.
pub fn html(rows: &[Row], page: &Page) -> String {
    let mut writer = Writer { out: String::new(), page };
    writer.document(rows);
    writer.out
}

impl Writer<'_> {
    fn say(&self, phrase: &'static Phrase) -> &'static str {
        phrase.text(self.page.background.language)
    }

    fn document(&mut self, rows: &[Row]) {
        let problems = by_problem(rows);
        let title = self.say(&words::TITLE);
        let _ = write!(
            self.out,
            "<!DOCTYPE html>\n<html lang=\"{}\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none';style-src 'unsafe-inline';img-src data:\">\n\
             <link rel=\"icon\" href=\"data:,\">\n<title>{title}</title>\n<style>{LOOK}{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n",
            self.page.background.language.tag()
        );
        self.devices(rows);
        self.contents(&problems);
        for (index, problem) in problems.iter().enumerate() {
            self.problem(index, problem);
        }
        self.size_charts(rows);
        #[cfg(feature = "sim")]
        self.listings();
        self.provenance(rows);
        let printed = words::PRINTED_BY.with([env!("CARGO_PKG_VERSION").into()]).text(self.page.background.language);
        let _ = write!(self.out, "<p class=\"dim\">{}</p>\n</body>\n</html>\n", escape(&printed));
    }

    fn devices(&mut self, rows: &[Row]) {
        let mut seen: Vec<String> = Vec::new();
        for row in rows {
            let line = format!("{}: {} ({}, {})", row.backend, row.device, row.api, row.driver);
            if !seen.contains(&line) {
                let _ = writeln!(self.out, "<p class=\"dim\">{}</p>", escape(&line));
                seen.push(line);
            }
        }
        if rows.iter().any(|row| row.software_adapter && row.median_ms.is_some()) {
            let _ = writeln!(self.out, "<p class=\"warning\">{}</p>", escape(self.say(&words::SOFTWARE)));
        }
    }

    fn contents(&mut self, problems: &[Vec<Row>]) {
        let _ = writeln!(self.out, "<nav aria-label=\"{0}\"><h2>{0}</h2><ul>", self.say(&words::CONTENTS));
        for (index, rows) in problems.iter().enumerate() {
            let _ = writeln!(self.out, "<li><a href=\"#p{index}\">{}</a></li>", escape(&rows[0].problem()));
        }
        let more = [("sizes", &words::SIZES), ("lines", &words::LINES), ("provenance", &words::PROVENANCE)];
        for (anchor, phrase) in more {
            let _ = writeln!(self.out, "<li><a href=\"#{anchor}\">{}</a></li>", self.say(phrase));
        }
        self.out += "</ul></nav>\n";
    }

    fn problem(&mut self, index: usize, rows: &[Row]) {
        let background = &self.page.background;
        let _ = writeln!(self.out, "<section id=\"p{index}\">\n<h2>{}</h2>", escape(&rows[0].problem()));
        for line in background.best(rows) {
            let _ = writeln!(self.out, "<p><strong>{}</strong></p>", escape(&line));
        }
        for line in background.warnings(rows) {
            let _ = writeln!(self.out, "<p class=\"warning\">{}</p>", escape(&line));
        }
        self.ladder(rows);
        self.out += "<div class=\"charts\">\n";
        if let Some(chart) = charts::roofline(rows, background) {
            self.chart(&chart, self.say(&words::ROOFLINE));
        }
        self.out += "</div>\n";
        let sentences = story::rungs(rows, background);
        if !sentences.is_empty() {
            let _ = writeln!(self.out, "<h3>{}</h3>\n<ul>", self.say(&words::WHY));
            for (rung, sentence) in sentences {
                let _ = writeln!(self.out, "<li><strong>{}</strong>: {}</li>", escape(&rung), escape(&sentence));
            }
            self.out += "</ul>\n";
        }
        // A rung that is nowhere has only a reason, for those who ask.
        let here = |rung: &str| rows.iter().any(|r| r.rung == rung && r.cell.verdict() != "absent");
        let (present, absent): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(|row| here(&row.rung));
        self.table(&present);
        if !absent.is_empty() {
            let mut rungs: Vec<&str> = absent.iter().map(|row| row.rung.as_str()).collect();
            rungs.sort_unstable();
            rungs.dedup();
            let count = words::ABSENT_RUNGS.with([rungs.len().to_string()]).text(background.language);
            let _ = writeln!(self.out, "<details><summary>{}</summary>", escape(&count));
            self.table(&absent);
            self.out += "</details>\n";
        }
        self.out += "</section>\n";
    }

    /// A drawing, which keeps its size where the page is narrower, and what it shows.
    fn chart(&mut self, chart: &Chart, caption: &str) {
        let _ = writeln!(
            self.out,
            "<figure><div class=\"scroll\" tabindex=\"0\">{}</div><figcaption>{}</figcaption></figure>",
            chart.inline(),
            escape(caption)
        );
    }

    /// Bars as text on coloured tracks, so that they wrap on a narrow page and can be selected.
    fn ladder(&mut self, rows: &[Row]) {
        let series = series(rows);
        let top = ceiling(rows);
        let percent = |value: f64| (100.0 * value / top).clamp(0.0, 100.0);
        self.out += "<p class=\"key dim\">";
        for (index, (backend, device)) in series.iter().enumerate() {
            let _ = write!(self.out, "<i class=\"b{}\"></i>{}", index % 4, escape(&format!("{backend}: {device}")));
        }
        self.out += "</p>\n<div class=\"ladder\">\n";
        for rung in charts::rungs(rows) {
            let _ = write!(self.out, "<div class=\"name\">{}</div><div class=\"bars\">", escape(rung));
            for row in rows.iter().filter(|row| row.rung == rung) {
                let Some((value, unit)) = rate(row) else { continue };
                let mark = copy_rate(row).filter(|_| !is_arithmetic(row)).map_or(String::new(), |copy| {
                    format!(
                        "<span class=\"mark\" style=\"left:calc({:.2}% - 2px)\" title=\"{}\"></span>",
                        percent(copy),
                        self.say(&words::COPY_CEILING)
                    )
                });
                let _ = write!(
                    self.out,
                    "<div class=\"track\"><span class=\"bar b{}\" style=\"width:{:.2}%\"></span>{mark}<span class=\"value\">{}</span></div>",
                    colour(&series, row),
                    percent(value),
                    escape(&bar_label(row, value, unit))
                );
            }
            self.out += "</div>\n";
        }
        self.out += "</div>\n";
    }

    fn table(&mut self, rows: &[&Row]) {
        let heads = [&words::RUNG, &words::BACKEND, &words::TIME, &words::INTERVAL, &words::RATE, &words::VERDICT];
        self.out += "<div class=\"scroll\" tabindex=\"0\"><table class=\"rows\"><thead><tr>";
        for head in heads {
            let _ = write!(self.out, "<th scope=\"col\">{}</th>", self.say(head));
        }
        self.out += "</tr></thead><tbody>\n";
        for row in rows {
            let interval =
                row.median_low_ms.zip(row.median_high_ms).map(|(low, high)| format!("{low:.4} to {high:.4}"));
            let verdict = row
                .cell
                .reason()
                .map_or(row.cell.verdict().to_string(), |why| format!("{}: {why}", row.cell.verdict()));
            let cells = [
                row.rung.clone() + if row.selected == Some(true) { " *" } else { "" },
                row.backend.clone(),
                row.median_ms.map(|ms| format!("{ms:.4}")).unwrap_or_default(),
                interval.unwrap_or_default(),
                rate(row).map(|(value, unit)| bar_label(row, value, unit)).unwrap_or_default(),
                verdict,
            ];
            self.out += "<tr>";
            for cell in cells {
                let _ = write!(self.out, "<td>{}</td>", escape(&cell));
            }
            self.out += "</tr>\n";
        }
        self.out += "</tbody></table></div>\n";
    }

    /// One chart for each op, element type, layout and device that was run at several sizes.
    fn size_charts(&mut self, rows: &[Row]) {
        let kind = |row: &Row| {
            (row.op.clone(), row.element.clone(), row.layout.clone(), row.backend.clone(), row.device.clone())
        };
        let mut kinds = Vec::new();
        for row in rows {
            if !kinds.contains(&kind(row)) {
                kinds.push(kind(row));
            }
        }
        let _ =
            writeln!(self.out, "<section id=\"sizes\"><h2>{}</h2>\n<div class=\"charts\">", self.say(&words::SIZES));
        for wanted in kinds {
            let own: Vec<Row> = rows.iter().filter(|row| kind(row) == wanted).cloned().collect();
            let Some(chart) = charts::sizes(&own, &self.page.background) else { continue };
            let caption = format!(
                "{} {} {}, {}: {}",
                wanted.0,
                wanted.1,
                wanted.2.clone().unwrap_or_default(),
                wanted.3,
                wanted.4
            );
            self.chart(&chart, &caption);
        }
        self.out += "</div></section>\n";
    }

    fn provenance(&mut self, rows: &[Row]) {
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        let mut lines: Vec<[String; 2]> = Vec::new();
        for row in rows.iter().filter(|row| row.samples.is_some()) {
            let clock = row.sm_clock_mhz.map(|mhz| format!("SM clock {mhz} MHz")).unwrap_or_default();
            let floor = row.floor_us.map(|us| format!("launch floor {us:.2} us")).unwrap_or_default();
            let facts = [
                format!("{} clock", row.clock.unwrap_or("no")),
                text(&row.cache_policy),
                text(&row.input),
                row.seed.map(|seed| format!("seed {seed}")).unwrap_or_default(),
                clock,
                row.power_w.map(|watts| format!("{watts:.0} W")).unwrap_or_default(),
                if row.throttled == Some(true) { "throttled".into() } else { String::new() },
                floor,
                format!("commit {}", row.commit.as_deref().unwrap_or("unknown")),
                row.driver.clone(),
            ];
            let facts: Vec<String> = facts.into_iter().filter(|fact| !fact.is_empty()).collect();
            let line = [format!("{} on {} ({})", row.problem(), row.backend, row.device), facts.join("; ")];
            if !lines.iter().any(|l| l[0] == line[0]) {
                lines.push(line);
            }
        }
        let _ = writeln!(self.out, "<section id=\"provenance\"><h2>{}</h2>\n<ul>", self.say(&words::PROVENANCE));
        for [what, facts] in lines {
            let _ = writeln!(self.out, "<li>{}: <span class=\"dim\">{}</span></li>", escape(&what), escape(&facts));
        }
        self.out += "</ul></section>\n";
    }
}

#[cfg(feature = "sim")]
impl Writer<'_> {
    /// The source of each counted rung with what its lines did, closed until asked for.
    fn listings(&mut self) {
        let page = self.page;
        let _ = writeln!(
            self.out,
            "<section id=\"lines\"><h2>{}</h2>\n<p class=\"dim\">{}</p>",
            self.say(&words::LINES),
            self.say(&words::LINE_HEAD)
        );
        for (name, counted) in &page.background.counts {
            let (profile, Some(source)) = (&counted.whole, counted.source()) else { continue };
            let idea = words::idea(&counted.rung, page.background.language);
            let dims: Vec<String> = counted.problem.dims.iter().map(u64::to_string).collect();
            let at = words::COUNTED_AT.with([dims.join("x"), profile.machine.clone()]).text(page.background.language);
            let _ = writeln!(
                self.out,
                "<details><summary><strong>{}</strong>: {}</summary>\n<p class=\"dim\">{}</p>\n<div class=\"scroll\" tabindex=\"0\"><table>",
                escape(name),
                escape(&idea),
                escape(&at)
            );
            for (index, line) in source.lines().enumerate() {
                self.line(profile.line(index as u32 + 1), index + 1, line);
            }
            self.out += "</table></div></details>\n";
        }
        self.out += "</section>\n";
    }

    fn line(&mut self, counters: Option<&crate::sim::Counters>, number: usize, code: &str) {
        let figure = |value: Option<f64>| value.map(|v| format!("{v:.1}")).unwrap_or_default();
        let mut cells: [(String, bool); 4] = Default::default();
        if let Some(c) = counters {
            let (global, shared) = (c.global(), c.shared());
            let waves = (shared.requests > 0).then(|| shared.wavefronts as f64 / shared.requests as f64);
            cells = [
                (if c.instructions > 0 { c.instructions.to_string() } else { String::new() }, false),
                (figure(c.lanes_per_instruction()), c.lanes_per_instruction().is_some_and(|l| l < 24.0)),
                (figure(global.sectors_per_request()), global.sectors as f64 > 1.25 * global.ideal_sectors as f64),
                (figure(waves), shared.wavefronts as f64 > 1.25 * shared.ideal_wavefronts as f64),
            ];
        }
        self.out += "<tr>";
        for (text, hot) in cells {
            let _ = write!(self.out, "<td class=\"n{}\">{text}</td>", if hot { " hot" } else { "" });
        }
        let _ = writeln!(self.out, "<td class=\"n\">{number}</td><td class=\"code\">{}</td></tr>", escape(code));
    }
}

/// The ladder bars of every problem, one under the other, as one picture that stands alone.
pub fn svg(rows: &[Row], page: &Page) -> String {
    let mut all = super::svg::Drawing::default();
    let (mut down, mut width) = (0.0, 320.0f64);
    for problem in by_problem(rows) {
        let Some(chart) = charts::bars(&problem, &page.background) else { continue };
        all.push(&chart.drawing, down);
        down += chart.height;
        width = width.max(chart.width);
    }
    if down == 0.0 {
        all.text((8.0, 20.0), super::svg::Anchor::Start, "", "nothing was timed");
        down = 32.0;
    }
    all.finish(width, down, "the ladder", true)
}
