//! A table of text without lines between, which leaves out columns until it fits.

use super::table::columns_of;

/// A table in columns: the head, and how much each is needed (the least are dropped first).
pub(super) struct Columns {
    pub heads: Vec<(String, u8)>,
    pub lines: Vec<Vec<String>>,
}

impl Columns {
    /// The columns as text, those that are needed least left out until the rest fits.
    pub(super) fn text(&self, width: usize) -> String {
        const GAP: usize = 2;
        let widths: Vec<usize> = (0..self.heads.len())
            .map(|i| {
                self.lines.iter().map(|l| columns_of(&l[i])).chain([columns_of(&self.heads[i].0)]).max().unwrap_or(0)
            })
            .collect();
        let mut kept: Vec<usize> = (0..widths.len()).filter(|i| widths[*i] > 0).collect();
        while kept.iter().map(|i| widths[*i] + GAP).sum::<usize>() > width + GAP {
            let Some(least) = kept.iter().map(|i| self.heads[*i].1).min().filter(|need| *need < 9) else { break };
            kept.retain(|i| self.heads[*i].1 != least);
        }
        let line = |cells: &dyn Fn(usize) -> String| {
            let mut out = String::new();
            for (place, &i) in kept.iter().enumerate() {
                let cell = cells(i);
                let space = " ".repeat(widths[i] - columns_of(&cell).min(widths[i]));
                out += &if place == 0 { format!("{cell}{space}") } else { format!("{}{space}{cell}", " ".repeat(GAP)) };
            }
            format!("{}\n", out.trim_end())
        };
        let head = line(&|i| self.heads[i].0.clone());
        let body: String = self.lines.iter().map(|cells| line(&|i| cells[i].clone())).collect();
        format!("{head}{body}")
    }
}

/// A share as a bar of text.
pub(super) fn bar(share: Option<f64>, columns: usize) -> String {
    let filled = (share.unwrap_or(0.0).clamp(0.0, 1.0) * columns as f64).round() as usize;
    format!(" {}{}", "#".repeat(filled), ".".repeat(columns - filled))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_needed_least_goes_first() {
        let heads =
            [("rung", 9), ("ms", 9), ("GB/s", 4), ("", 1)].map(|(head, need)| (head.to_string(), need)).to_vec();
        let lines = vec![["naive", "0.9936", "540", bar(Some(0.5), 4).as_str()].map(String::from).to_vec()];
        let table = Columns { heads, lines };
        assert_eq!(table.text(40), "rung       ms  GB/s\nnaive  0.9936   540   ##..\n");
        assert_eq!(table.text(20), "rung       ms  GB/s\nnaive  0.9936   540\n");
        assert_eq!(table.text(10), "rung       ms\nnaive  0.9936\n");
    }
}
