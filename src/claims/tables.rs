//! Two tables beside the claims: the levels of a device's memory, and what occupancy does to a time.

use super::figure::ns;
use super::{Figure, Lab, What};
use crate::backend::Device;
use crate::error::Result;
use serde::{Deserialize, Serialize};

/// One level of the memory hierarchy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Level {
    /// Its name.
    pub level: String,
    /// What it holds, in words; empty where the driver does not tell.
    #[serde(default)]
    pub capacity: String,
    /// The cycles of a dependent load that texts claim, with the ids of the claims.
    #[serde(default)]
    pub claimed: String,
    /// Bytes of the set that was read.
    pub set_bytes: Option<u64>,
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

/// What is measured of a level.
struct Row {
    name: &'static str,
    capacity: fn(&Device) -> Option<String>,
    claimed: &'static str,
    /// A dependent load; the first dimension is the words of its set.
    hop: Option<Figure>,
    /// A sweep of all threads, and the bytes that it reads.
    rate: Rate,
}

const fn hop(rung: &'static str, full: &'static [u64], small: &'static [u64]) -> Option<Figure> {
    Some(Figure::new(What::HopNs, "hierarchy_latency", rung, full, small))
}

type Rate = Option<(Figure, fn(&[u64]) -> u64)>;

/// All threads of `hierarchy_bandwidth` load 16 bytes so many times.
const fn sweep(rung: &'static str, full: &'static [u64], small: &'static [u64]) -> Rate {
    const BYTES: u64 = 1056 * 256 * 16;
    Some((Figure::new(What::WarmNs, "hierarchy_bandwidth", rung, full, small), |dims| BYTES * dims[1]))
}

/// All threads of `hierarchy_constant` look up 64 words.
const fn look_ups(full: &'static [u64], small: &'static [u64]) -> Rate {
    Some((ns("hierarchy_constant", "constant", full, small), |dims| 64 * 4 * dims[0]))
}

fn size(bytes: u64) -> String {
    match bytes {
        _ if bytes >= 1 << 30 => format!("{} GiB", bytes >> 30),
        _ if bytes >= 1 << 20 => format!("{} MiB", bytes >> 20),
        _ => format!("{} KiB", bytes >> 10),
    }
}

/// Constant memory and registers are the same on every CUDA device since capability 5.0.
const CONSTANT: fn(&Device) -> Option<String> = |device| device.compute_capability.map(|_| "64 KiB".into());
const REGISTERS: fn(&Device) -> Option<String> =
    |device| device.compute_capability.map(|_| "256 KiB per multiprocessor".into());
const SHARED: fn(&Device) -> Option<String> =
    |device| Some(format!("{} per block", size(device.limits.shared_dynamic.into())));
const FIRST: fn(&Device) -> Option<String> =
    |device| device.compute_capability.map(|_| "what shared memory leaves".into());
const SECOND: fn(&Device) -> Option<String> = |device| device.l2.map(size);
const MEMORY: fn(&Device) -> Option<String> = |device| device.memory.map(size);

const OF_FIRST: &str = "40-60 (B3)";
const OF_SECOND: &str = "200-300 (B3), 200 (C2)";
const OF_MEMORY: &str = "800-1200 (B3), 400-800 (C2)";

const LEVELS: &[Row] = &[
    Row { name: "registers", capacity: REGISTERS, claimed: "0 (C2)", hop: None, rate: None },
    Row {
        name: "shared memory",
        capacity: SHARED,
        claimed: "20-30 (B3, C2)",
        hop: hop("shared", &[1 << 10, 1 << 13], &[1 << 10, 1 << 12]),
        rate: Some((ns("shared", "vectorized_consecutive", &[1 << 19, 512], &[1 << 12, 64]), |dims| {
            32 * 4 * dims[0] * dims[1]
        })),
    },
    Row {
        name: "first level",
        capacity: FIRST,
        claimed: OF_FIRST,
        hop: hop("cached", &[1 << 12, 1 << 13], &[1 << 12, 1 << 12]),
        rate: sweep("cached", &[1 << 12, 512], &[1 << 12, 4]),
    },
    Row {
        name: "first level",
        capacity: FIRST,
        claimed: OF_FIRST,
        hop: hop("cached", &[1 << 15, 1 << 14], &[1 << 13, 1 << 12]),
        rate: sweep("cached", &[1 << 15, 512], &[1 << 13, 4]),
    },
    Row {
        name: "read-only path",
        capacity: FIRST,
        claimed: "",
        hop: None,
        rate: sweep("read_only", &[1 << 12, 512], &[1 << 12, 4]),
    },
    Row {
        name: "constant, one word per warp",
        capacity: CONSTANT,
        claimed: "",
        hop: None,
        rate: look_ups(&[1 << 24, 1], &[1 << 14, 1]),
    },
    Row {
        name: "constant, 32 words per warp",
        capacity: CONSTANT,
        claimed: "",
        hop: None,
        rate: look_ups(&[1 << 24, 32], &[1 << 14, 32]),
    },
    Row {
        name: "second level",
        capacity: SECOND,
        claimed: OF_SECOND,
        hop: hop("second_level", &[1 << 18, 1 << 16], &[1 << 14, 1 << 12]),
        rate: sweep("second_level", &[1 << 18, 256], &[1 << 14, 4]),
    },
    Row {
        name: "second level",
        capacity: SECOND,
        claimed: OF_SECOND,
        hop: hop("cached", &[1 << 21, 1 << 17], &[1 << 15, 1 << 12]),
        rate: sweep("cached", &[1 << 21, 256], &[1 << 15, 4]),
    },
    Row {
        name: "second level",
        capacity: SECOND,
        claimed: OF_SECOND,
        hop: hop("cached", &[1 << 23, 1 << 18], &[1 << 16, 1 << 12]),
        rate: sweep("cached", &[1 << 23, 256], &[1 << 16, 4]),
    },
    Row {
        name: "memory",
        capacity: MEMORY,
        claimed: OF_MEMORY,
        hop: hop("cached", &[1 << 25, 1 << 19], &[1 << 18, 1 << 12]),
        rate: sweep("cached", &[1 << 25, 128], &[1 << 18, 4]),
    },
    Row {
        name: "memory",
        capacity: MEMORY,
        claimed: OF_MEMORY,
        hop: hop("cached", &[1 << 27, 1 << 19], &[1 << 20, 1 << 12]),
        rate: sweep("cached", &[1 << 27, 256], &[1 << 20, 4]),
    },
];

/// The table of the levels.
///
/// # Errors
/// What the device reports.
pub async fn levels(lab: &Lab, progress: &mut dyn FnMut(&str)) -> Result<Vec<Level>> {
    let clock = Figure::new(What::ClockMhz, "copy", "scalar", &[1 << 20], &[1 << 16]);
    let known = |value: f64| value.is_finite().then_some(value);
    let mut rows = Vec::new();
    for row in LEVELS {
        let rate = row.rate.map(|(figure, _)| figure);
        let figures: Vec<Figure> = row.hop.into_iter().chain(rate).chain([clock]).collect();
        let mut values = lab.measure(&figures, progress).await?.into_iter();
        let latency = row.hop.and_then(|_| values.next()).and_then(known);
        let gbps = row.rate.and_then(|(figure, bytes)| known(bytes(lab.dims(&figure)) as f64 / values.next()?));
        let clock = values.next().and_then(known);
        rows.push(Level {
            level: row.name.into(),
            capacity: (row.capacity)(lab.device()).unwrap_or_default(),
            claimed: row.claimed.into(),
            set_bytes: row.hop.or(rate.filter(|f| f.op == "hierarchy_bandwidth")).map(|f| lab.dims(&f)[0] * 4),
            latency_ns: latency,
            latency_cycles: latency.zip(clock).map(|(ns, mhz)| ns * mhz / 1e3),
            gbps,
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
            if op == "occupancy" { (&[1 << 25], &[1 << 16]) } else { (&[1 << 20], &[1 << 10]) };
        for rung in crate::op::find(op)?.ladder() {
            // Ids of a ladder live as long as the program; a figure borrows them for good.
            let Some(id) = super::lab::id_of(op, &rung.id()) else { continue };
            runs.push((format!("{op}/{id}"), ns(op, id, full, small)));
        }
    }
    runs.push(("matmul/tiled@32".into(), ns("matmul", "tiled@32", &[4096, 4096, 4096], &[128, 128, 128])));
    for ballast in [0, 50 << 10, 100 << 10, 200 << 10] {
        let figure = ns("matmul", "tiled@16", &[4096, 4096, 4096], &[128, 128, 128]).with_ballast(ballast);
        runs.push((format!("matmul/tiled@16 with {} KiB of ballast", ballast >> 10), figure));
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
