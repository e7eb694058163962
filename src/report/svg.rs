//! A few shapes of SVG, written by hand: text stays text, colours come from the style below.

use std::fmt::Write;

/// Text that may stand between tags or in an attribute.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // Characters that XML does not allow at all.
            c if c < ' ' && c != '\n' && c != '\t' => {}
            c => out.push(c),
        }
    }
    out
}

/// Where a text begins, ends or has its middle.
#[derive(Clone, Copy)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

impl Anchor {
    fn name(self) -> &'static str {
        match self {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        }
    }
}

/// A drawing that grows.
#[derive(Default)]
pub struct Drawing {
    body: String,
}

impl Drawing {
    /// A filled rectangle with a text that shows on pointing at it.
    pub fn bar(&mut self, [x, y, width, height]: [f64; 4], class: &str, title: &str) {
        let _ = writeln!(
            self.body,
            "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{height:.1}\"><title>{}</title></rect>",
            width.max(0.0),
            escape(title)
        );
    }

    /// A straight line.
    pub fn line(&mut self, [x1, y1, x2, y2]: [f64; 4], class: &str) {
        let _ = writeln!(
            self.body,
            "<line class=\"{class}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>"
        );
    }

    /// Lines from point to point.
    pub fn path(&mut self, points: &[(f64, f64)], class: &str) {
        let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let _ = writeln!(self.body, "<polyline class=\"{class}\" points=\"{}\"/>", points.join(" "));
    }

    /// A dot with a text that shows on pointing at it.
    pub fn dot(&mut self, (x, y): (f64, f64), class: &str, title: &str) {
        let _ = writeln!(
            self.body,
            "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\"><title>{}</title></circle>",
            escape(title)
        );
    }

    /// A text.
    pub fn text(&mut self, (x, y): (f64, f64), anchor: Anchor, class: &str, text: &str) {
        let _ = writeln!(
            self.body,
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{}\">{}</text>",
            anchor.name(),
            escape(text)
        );
    }

    /// What has been drawn, moved down, as part of another drawing.
    pub fn push(&mut self, other: &Drawing, down: f64) {
        let _ = writeln!(self.body, "<g transform=\"translate(0 {down:.1})\">\n{}</g>", other.body);
    }

    /// The element, for a page that has [`STYLE`] already, or with it, to stand alone.
    pub fn finish(&self, width: f64, height: f64, label: &str, alone: bool) -> String {
        let style = if alone {
            format!("<style>{STYLE}</style>\n<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n")
        } else {
            String::new()
        };
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\"{} role=\"img\" aria-label=\"{}\">\n{style}{}</svg>\n",
            if alone { format!(" width=\"{width:.0}\" height=\"{height:.0}\"") } else { String::new() },
            escape(label),
            self.body
        )
    }
}

/// Colours and strokes of all drawings, by day and by night. The series' colours are told apart by
/// people with any kind of colour vision.
pub const STYLE: &str = "\
svg{--paper:#fff;--ink:#1b1f24;--dim:#57606a;--grid:#d8dee4;--s0:#0b6bcb;--s1:#b45309;--s2:#0f7b55;--s3:#8250df;font-family:system-ui,sans-serif}\
@media screen and (prefers-color-scheme:dark){svg{--paper:#0d1117;--ink:#e6edf3;--dim:#9198a1;--grid:#30363d;--s0:#58a6ff;--s1:#f0a04b;--s2:#3fb68b;--s3:#bc8cff}}\
.paper{fill:var(--paper)}text{fill:var(--ink);font-size:12px}.dim{fill:var(--dim);font-size:11px}.head{font-weight:600;font-size:13px}\
.grid{stroke:var(--grid);stroke-width:1}.axis{stroke:var(--dim);stroke-width:1}.whisker{stroke:var(--ink);stroke-width:1.2}\
.s0{fill:var(--s0)}.s1{fill:var(--s1)}.s2{fill:var(--s2)}.s3{fill:var(--s3)}\
.l0,.l1,.l2,.l3{fill:none;stroke-width:1.8}.l0{stroke:var(--s0)}.l1{stroke:var(--s1)}.l2{stroke:var(--s2)}.l3{stroke:var(--s3)}\
.roof{stroke:var(--dim);stroke-width:1.4;stroke-dasharray:5 3;fill:none}";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_an_apostrophe_or_a_tag_is_only_text() {
        assert_eq!(escape("it's <b> & \"x\""), "it&#39;s &lt;b&gt; &amp; &quot;x&quot;");
        let mut drawing = Drawing::default();
        drawing.text((0.0, 0.0), Anchor::Start, "", "it's </text><script>");
        assert!(!drawing.finish(1.0, 1.0, "it's", true).contains("<script>"));
    }
}
