//! Ceilings as a table, in markdown or as JSON.

use super::steps::size;
use super::{Ceiling, Ceilings, Kind, data_sheet, store};
use crate::error::{Error, Result};
use crate::report::{grid, significant};
use comfy_table::presets;

/// Prints the ceilings of devices.
///
/// # Errors
/// [`Error::Unknown`] for a format that is none of these.
pub fn print(format: &str, all: &[Ceilings], unicode: bool) -> Result<String> {
    let style = match format {
        "table" if unicode => presets::UTF8_FULL_CONDENSED,
        "table" => presets::ASCII_FULL_CONDENSED,
        "markdown" => presets::ASCII_MARKDOWN,
        "json" if all.len() == 1 => return Ok(store::json(&all[0])),
        "json" => {
            let list: Vec<serde_json::Value> =
                all.iter().filter_map(|one| serde_json::from_str(&store::json(one)).ok()).collect();
            return Ok(format!("{:#}\n", serde_json::Value::Array(list)));
        }
        other => {
            let known = ["table", "markdown", "json"].map(String::from).to_vec();
            return Err(Error::Unknown { kind: "format", word: other.into(), known });
        }
    };
    let mut text = String::new();
    for device in all {
        let software = if device.software_adapter { ", SOFTWARE ADAPTER: this says nothing about a GPU" } else { "" };
        text +=
            &format!("{}: {} ({}), {} clock{software}\n\n", device.backend, device.device, device.driver, device.clock);
        let header = ["ceiling", "measured", "95 % interval", "data sheet", "share", "SM MHz", "rung"];
        let lines = device.ceilings.iter().enumerate().map(|(index, ceiling)| {
            let before = index.checked_sub(1).map(|before| &device.ceilings[before]);
            // The best copy is above it.
            let driver = before.is_some_and(|before| before.kind == Kind::Copy && before.bytes == ceiling.bytes);
            line(ceiling, device, driver)
        });
        let lines = lines.collect();
        text += &format!("{}\n", grid(style, header.map(String::from).to_vec(), lines));
        if !device.complete {
            text += "not everything is measured yet: `gpu-ladder limits` goes on from here\n\n";
        }
        text += &fallen(device);
    }
    Ok(text)
}

/// A warning where the clock of some ceiling was far below that of others: an idle or throttled device.
fn fallen(device: &Ceilings) -> String {
    const FAR: f64 = 0.7;
    let clocks = || device.ceilings.iter().filter_map(|c| Some((c.sm_clock_mhz?, &c.rung)));
    let most = clocks().map(|(mhz, _)| mhz).max().unwrap_or(0);
    let low: Vec<String> = clocks()
        .filter(|(mhz, _)| f64::from(*mhz) < FAR * f64::from(most))
        .map(|(mhz, rung)| format!("{rung} at {mhz} MHz"))
        .collect();
    if low.is_empty() {
        return String::new();
    }
    format!("! the clock fell far below {most} MHz ({}): these are no ceilings; measure --again\n\n", low.join(", "))
}

fn line(ceiling: &Ceiling, device: &Ceilings, driver: bool) -> Vec<String> {
    let (scale, unit) = match ceiling.kind {
        Kind::Copy | Kind::Shared | Kind::Read => (1e9, "GB/s"),
        Kind::Latency => (1e-9, "ns"),
        Kind::Arithmetic | Kind::Tensor => (1e12, "TFLOP/s"),
        Kind::Launch => (1e-6, "us"),
    };
    let what = match ceiling.kind {
        Kind::Copy if driver => "the same by the driver itself".into(),
        Kind::Copy => format!("copy, {} in both buffers", size(ceiling.bytes.unwrap_or(0))),
        Kind::Shared => "shared memory, read".into(),
        Kind::Read => format!("reads of {}, all threads", size(ceiling.bytes.unwrap_or(0))),
        Kind::Latency if ceiling.rung.ends_with("/shared") => "latency of shared memory".into(),
        Kind::Latency => format!("latency in {}", size(ceiling.bytes.unwrap_or(0))),
        Kind::Arithmetic => format!("multiply-adds, {}", ceiling.element.as_deref().unwrap_or("")),
        Kind::Tensor => format!("best product, {}", ceiling.element.as_deref().unwrap_or("")),
        Kind::Launch if device.backend == "cuda" => "one launch of many, recorded".into(),
        Kind::Launch => "one launch of many".into(),
    };
    let sheet = data_sheet(&device.device).and_then(|sheet| match (ceiling.kind, ceiling.element.as_deref()) {
        // Only a copy that no cache holds is one of memory.
        (Kind::Copy, _) if ceiling.bytes >= Some(4 * sheet.l2_bytes) => Some(sheet.memory_bandwidth),
        (Kind::Arithmetic, Some("f32")) => Some(sheet.f32_flops),
        _ => None,
    });
    vec![
        what,
        format!("{} {unit}", significant(Some(ceiling.value / scale))),
        format!("{} to {}", significant(Some(ceiling.low / scale)), significant(Some(ceiling.high / scale))),
        sheet.map(|sheet| format!("{} {unit}", significant(Some(sheet / scale)))).unwrap_or_default(),
        sheet.map(|sheet| format!("{:.1} %", 100.0 * ceiling.value / sheet)).unwrap_or_default(),
        ceiling.sm_clock_mhz.map(|mhz| mhz.to_string()).unwrap_or_default(),
        ceiling.rung.clone(),
    ]
}
