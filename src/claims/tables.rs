//! Two tables beside the claims: the levels of a device's memory, and what occupancy does to a time.

use super::figure::ns;
use super::{Figure, Lab, What};
use crate::error::Result;
use serde::{Deserialize, Serialize};

/// One level of the memory hierarchy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Level {
    /// Its name.
    pub level: String,
    /// Bytes of the set that was read.
    pub set_bytes: u64,
    /// Nanoseconds of a dependent load.
    pub latency_ns: Option<f64>,
    /// The same in cycles, where the clock is known.
    pub latency_cycles: Option<f64>,
    /// Gigabytes per second of all threads together.
    pub gbps: Option<f64>,
}

/// A rung of `occupancy`, `registers` or `matmul` under a limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Resident {
    /// `op/rung`, and the ballast.
    pub rung: String,
    /// Warps that a multiprocessor holds.
    pub warps: Option<f64>,
    /// Bytes of local memory of a thread.
    pub local_bytes: Option<f64>,
    /// Milliseconds.
    pub ms: Option<f64>,
}

const fn hop(rung: &'static str, full: &'static [u64], small: &'static [u64]) -> Figure {
    Figure::new(What::HopNs, "hierarchy_latency", rung, full, small)
}

const fn sweep(rung: &'static str, full: &'static [u64], small: &'static [u64]) -> Figure {
    Figure::new(What::WarmNs, "hierarchy_bandwidth", rung, full, small)
}

/// Name, latency, bandwidth of each level. A set of shared memory has no sweep: the op `shared` reads it.
const LEVELS: &[(&str, Figure, Option<Figure>)] = &[
    ("shared memory", hop("shared", &[1 << 10, 1 << 13], &[1 << 10, 1 << 12]), None),
    (
        "first level, 16 KiB",
        hop("cached", &[1 << 12, 1 << 13], &[1 << 12, 1 << 12]),
        Some(sweep("cached", &[1 << 12, 512], &[1 << 12, 4])),
    ),
    (
        "first level, 128 KiB",
        hop("cached", &[1 << 15, 1 << 14], &[1 << 13, 1 << 12]),
        Some(sweep("cached", &[1 << 15, 512], &[1 << 13, 4])),
    ),
    (
        "second level, 1 MiB",
        hop("second_level", &[1 << 18, 1 << 16], &[1 << 14, 1 << 12]),
        Some(sweep("cached", &[1 << 18, 256], &[1 << 14, 4])),
    ),
    (
        "second level, 8 MiB",
        hop("cached", &[1 << 21, 1 << 17], &[1 << 15, 1 << 12]),
        Some(sweep("cached", &[1 << 21, 256], &[1 << 15, 4])),
    ),
    (
        "second level, 32 MiB",
        hop("cached", &[1 << 23, 1 << 18], &[1 << 16, 1 << 12]),
        Some(sweep("cached", &[1 << 23, 256], &[1 << 16, 4])),
    ),
    (
        "memory, 128 MiB",
        hop("cached", &[1 << 25, 1 << 17], &[1 << 18, 1 << 12]),
        Some(sweep("cached", &[1 << 25, 128], &[1 << 18, 4])),
    ),
    (
        "memory, 512 MiB",
        hop("cached", &[1 << 27, 1 << 17], &[1 << 20, 1 << 12]),
        Some(sweep("cached", &[1 << 27, 256], &[1 << 20, 4])),
    ),
];

/// The table of the levels.
///
/// # Errors
/// What the device reports.
pub async fn levels(lab: &Lab, progress: &mut dyn FnMut(&str)) -> Result<Vec<Level>> {
    /// Threads of the sweep, and bytes of a load.
    const THREADS: f64 = 1056.0 * 256.0;
    const LOAD: f64 = 16.0;
    let clock = Figure::new(What::ClockMhz, "copy", "scalar", &[1 << 20], &[1 << 16]);
    let mut rows = Vec::new();
    for (level, hop, sweep) in LEVELS {
        let figures: Vec<Figure> = [Some(*hop), *sweep, Some(clock)].into_iter().flatten().collect();
        let values = lab.measure(&figures, progress).await?;
        let known = |value: f64| value.is_finite().then_some(value);
        let (latency, clock) = (known(values[0]), values.last().copied().and_then(known));
        let loads = sweep.map_or(0, |s| lab.dims(&figures[1]).get(1).copied().unwrap_or(s.full[1]));
        rows.push(Level {
            level: level.to_string(),
            set_bytes: lab.dims(hop)[0] * 4,
            latency_ns: latency,
            latency_cycles: latency.zip(clock).map(|(ns, mhz)| ns * mhz / 1e3),
            gbps: sweep.and_then(|_| known(THREADS * LOAD * loads as f64 / values[1])),
        });
    }
    Ok(rows)
}

/// The table of residency.
///
/// # Errors
/// What the device reports.
pub async fn resident(lab: &Lab, progress: &mut dyn FnMut(&str)) -> Result<Vec<Resident>> {
    let mut runs: Vec<(String, Figure)> = Vec::new();
    for op in ["occupancy", "registers"] {
        let (full, small): (&[u64], &[u64]) =
            if op == "occupancy" { (&[1 << 26], &[1 << 16]) } else { (&[1 << 20], &[1 << 10]) };
        for rung in crate::op::find(op)?.ladder() {
            // Ids of a ladder live as long as the program; a figure borrows them for good.
            let Some(id) = super::lab::id_of(op, &rung.id()) else { continue };
            runs.push((format!("{op}/{id}"), ns(op, id, full, small)));
        }
    }
    for (rung, ballast) in [("tiled@16", 0), ("tiled@16", 50 << 10), ("tiled@16", 100 << 10), ("tiled@16", 200 << 10)] {
        let figure = ns("matmul", rung, &[4096, 4096, 4096], &[128, 128, 128]).with_ballast(ballast);
        runs.push((format!("matmul/{rung} with {} KiB of ballast", ballast >> 10), figure));
    }
    let mut figures = Vec::new();
    for what in [What::Ns, What::ResidentWarps, What::LocalBytes] {
        figures.extend(runs.iter().map(|(_, figure)| Figure { what, ..*figure }));
    }
    let values = lab.measure(&figures, progress).await?;
    let known = |value: f64| value.is_finite().then_some(value);
    let row = |(index, (rung, _)): (usize, &(String, Figure))| Resident {
        rung: rung.clone(),
        ms: known(values[index] / 1e6),
        warps: known(values[runs.len() + index]),
        local_bytes: known(values[2 * runs.len() + index]),
    };
    Ok(runs.iter().enumerate().map(row).collect())
}
