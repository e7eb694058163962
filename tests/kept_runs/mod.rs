//! The tables of the docs against the runs that they were printed from.

use libtest_mimic::Failed;
use serde_json::Value;

/// `docs/transpose.md` holds what the kept runs say, a line for each problem.
pub fn are_in_the_docs() -> Result<(), Failed> {
    let docs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    let page = std::fs::read_to_string(docs.join("transpose.md"))?;
    let mut lines = Vec::new();
    for file in ["h200-transpose.json", "h200-transpose-shapes.json"] {
        let kept: Value = serde_json::from_str(&std::fs::read_to_string(docs.join("results").join(file))?)?;
        lines.extend(lines_of(kept["rows"].as_array().ok_or("no rows")?));
    }
    let missing: Vec<_> = lines.iter().filter(|line| !page.contains(line.as_str())).cloned().collect();
    if missing.is_empty() { Ok(()) } else { Err(format!("docs/transpose.md lacks\n{}", missing.join("\n")).into()) }
}

/// The fastest rung of each language for each problem, in the order of the rows.
fn lines_of(rows: &[Value]) -> Vec<String> {
    let text = |row: &Value, field: &str| match &row[field] {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    };
    let problem = |row: &Value| {
        let shape = match row["cols"].as_u64() {
            Some(cols) => format!("{}x{cols}", text(row, "rows")),
            None => format!("{0}x{0} in place", text(row, "side")),
        };
        let batch = row["batch"].as_u64().filter(|&b| b > 1).map_or(String::new(), |b| format!("{b} of "));
        let layout = row["layout"].as_str().map_or(String::new(), |layout| format!(", {layout}"));
        format!("{} {batch}{shape}{layout}", text(row, "element"))
    };
    let mut problems: Vec<String> = Vec::new();
    rows.iter().map(problem).for_each(|p| {
        if !problems.contains(&p) {
            problems.push(p);
        }
    });
    let line = |of: &String| {
        let ms = |row: &Value| row["median_ms"].as_f64();
        let best = |backend: &str, vendor: bool| {
            let timed = rows.iter().filter(|r| problem(r) == *of && ms(r).is_some() && text(r, "backend") == backend);
            timed
                .filter(|r| r["library"].is_null() != vendor)
                .min_by(|a, b| ms(a).partial_cmp(&ms(b)).expect("numbers"))
        };
        let number = |row: &Value, field: &str| row[field].as_f64().unwrap_or(f64::NAN);
        let cells = |row: Option<&Value>| {
            row.map_or("– | – | –".into(), |r| {
                format!("`{}` | {:.0} | {:.3}", text(r, "rung"), number(r, "gbps"), number(r, "share_of_copy"))
            })
        };
        let ratio = |a: Option<&Value>, b: Option<&Value>| {
            a.and_then(ms).zip(b.and_then(ms)).map_or("–".into(), |(a, b)| format!("{:.3}", a / b))
        };
        let (cuda, wgpu, vendor) = (best("cuda", false), best("wgpu", false), best("cuda", true));
        format!("| {of} | {} | {} | {} | {} |", cells(cuda), ratio(vendor, cuda), cells(wgpu), ratio(cuda, wgpu))
    };
    problems.iter().map(line).collect()
}
