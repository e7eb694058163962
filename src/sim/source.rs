//! Source text: byte spans, line numbers, and the directives that naga does not accept.

/// A byte range of the source. `start == end` means unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct Span {
    pub start: u32,
    pub end: u32,
}

impl Span {
    pub fn is_known(self) -> bool {
        self.end > self.start
    }
}

impl From<naga::Span> for Span {
    fn from(span: naga::Span) -> Self {
        match span.to_range() {
            Some(range) => Span { start: range.start as u32, end: range.end as u32 },
            None => Span::default(),
        }
    }
}

/// The text and where its lines start.
#[derive(Debug, Clone, Default)]
pub struct Source {
    text: String,
    starts: Vec<u32>,
}

impl Source {
    pub fn new(text: &str) -> Self {
        let starts = std::iter::once(0)
            .chain(text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(i, _)| i as u32 + 1))
            .collect();
        Source { text: text.to_string(), starts }
    }

    /// 1-based line and column of a span's start; (0, 0) when unknown.
    pub fn locate(&self, span: Span) -> (u32, u32) {
        if !span.is_known() || span.start as usize > self.text.len() {
            return (0, 0);
        }
        let line = self.starts.partition_point(|s| *s <= span.start);
        let start = self.starts.get(line.saturating_sub(1)).copied().unwrap_or(0);
        (line as u32, span.start - start + 1)
    }

    /// The text of a span, or an empty string.
    pub fn snippet(&self, span: Span) -> &str {
        self.text.get(span.start as usize..span.end as usize).unwrap_or("")
    }

    /// The whole text; empty when the program was made from a module without its source.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// Blanks `enable subgroups;`, which browsers require and naga 30 rejects, with spaces so that
/// every span stays where it was.
pub fn blank_subgroup_directive(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let code = line.split("//").next().unwrap_or("");
        let words = code.trim();
        let names = words.strip_prefix("enable").filter(|r| r.starts_with(char::is_whitespace));
        match names.and_then(|r| r.trim().strip_suffix(';')) {
            Some(list) if list.split(',').any(|n| n.trim() == "subgroups") => {
                let rest: Vec<&str> = list.split(',').map(str::trim).filter(|n| *n != "subgroups").collect();
                let kept = if rest.is_empty() { String::new() } else { format!("enable {};", rest.join(", ")) };
                out.push_str(&kept);
                // Same number of bytes as before, so that later spans do not move.
                out.extend(std::iter::repeat_n(' ', code.trim_end_matches('\n').len().saturating_sub(kept.len())));
                out.push_str(&line[code.trim_end_matches('\n').len()..]);
            }
            _ => out.push_str(line),
        }
    }
    out
}
