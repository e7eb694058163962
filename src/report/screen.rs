//! A digest as a picture of a terminal, for a README.

use super::svg::escape;
use super::table::{by_problem, columns_of};
use super::{Page, Row, digest};
use std::fmt::Write;

/// The digest of every problem as one picture that stands alone.
pub(super) fn screen(rows: &[Row], page: &Page) -> String {
    const CHARACTER: f64 = 7.25;
    const LINE: f64 = 17.0;
    const EDGE: f64 = 14.0;
    let page = Page { width: None, unicode: true, ..page.clone() };
    let text = by_problem(rows).iter().map(|rows| digest::digest(rows, &page)).collect::<Vec<_>>().join("\n");
    let lines: Vec<&str> = text.lines().collect();
    let columns = lines.iter().map(|line| columns_of(line)).max().unwrap_or(0);
    let (width, height) = (2.0 * EDGE + CHARACTER * columns as f64, 2.0 * EDGE + LINE * lines.len() as f64);
    let label = rows.first().map(Row::problem).unwrap_or_default();
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" height=\"{height:.0}\" role=\"img\" aria-label=\"{}\">\n\
         <style>rect{{fill:#fff;stroke:#d8dee4}}text{{fill:#1b1f24;font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;white-space:pre}}\
         @media screen and (prefers-color-scheme:dark){{rect{{fill:#0d1117;stroke:#30363d}}text{{fill:#e6edf3}}}}</style>\n\
         <rect x=\".5\" y=\".5\" width=\"{:.0}\" height=\"{:.0}\" rx=\"6\"/>\n",
        escape(&label),
        width - 1.0,
        height - 1.0,
    );
    for (index, line) in lines.iter().enumerate().filter(|(_, line)| !line.is_empty()) {
        // Each line is as long as its characters, whatever font a reader has, so that columns stay columns.
        let _ = writeln!(
            out,
            "<text x=\"{EDGE}\" y=\"{:.1}\" xml:space=\"preserve\" textLength=\"{:.1}\">{}</text>",
            EDGE + LINE * (index as f64 + 0.75),
            CHARACTER * columns_of(line) as f64,
            escape(line)
        );
    }
    out + "</svg>\n"
}
