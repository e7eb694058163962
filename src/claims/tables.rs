//! Two tables beside the claims: the levels of a device's memory, and what occupancy does to a time.

use super::figure::ns;
use super::{Figure, Lab, What};
use crate::backend::Device;
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
        hop: hop("cached", &[1 << 25, 1 << 20], &[1 << 18, 1 << 12]),
        rate: sweep("cached", &[1 << 25, 128], &[1 << 18, 4]),
    },
    Row {
        name: "memory",
        capacity: MEMORY,
        claimed: OF_MEMORY,
        hop: hop("cached", &[1 << 27, 1 << 20], &[1 << 20, 1 << 12]),
        rate: sweep("cached", &[1 << 27, 256], &[1 << 20, 4]),
    },
];

/// Rungs under limits of residency, on one problem.
struct Limited {
    op: &'static str,
    rungs: &'static [&'static str],
    full: &'static [u64],
    small: &'static [u64],
    /// Shared memory that a block claims beyond its need, in KiB.
    ballast: &'static [u32],
}

const LIMITED: &[Limited] = &[
    Limited {
        op: "occupancy",
        rungs: &[
            "block@32",
            "block@64",
            "block@128",
            "block@256",
            "block@512",
            "block@1024",
            "ballast@13k",
            "ballast@27k",
            "ballast@47k",
        ],
        full: &[1 << 25],
        small: &[1 << 16],
        ballast: &[0],
    },
    Limited {
        op: "registers",
        rungs: &["free", "capped@128", "capped@64", "capped@40", "capped@32"],
        full: &[1 << 20],
        small: &[1 << 10],
        ballast: &[0],
    },
    Limited { op: "matmul", rungs: &["tiled@32"], full: &[4096, 4096, 4096], small: &[128, 128, 128], ballast: &[0] },
    Limited {
        op: "matmul",
        rungs: &["tiled@16"],
        full: &[4096, 4096, 4096],
        small: &[128, 128, 128],
        ballast: &[0, 50, 100, 200],
    },
];

/// The times of the table of residency.
fn runs() -> impl Iterator<Item = Figure> {
    LIMITED.iter().flat_map(|row| {
        let time = |rung: &'static str| ns(row.op, rung, row.full, row.small);
        row.rungs.iter().flat_map(move |rung| row.ballast.iter().map(move |kib| time(rung).with_ballast(kib << 10)))
    })
}

/// What both tables need.
pub(super) fn figures() -> impl Iterator<Item = Figure> {
    let of_level = |row: &Row| row.hop.into_iter().chain(row.rate.map(|(figure, _)| figure));
    let readings = [What::Ns, What::ResidentWarps, What::LocalBytes];
    let of_run = move |run: Figure| readings.into_iter().map(move |what| Figure { what, ..run });
    LEVELS.iter().flat_map(of_level).chain(runs().flat_map(of_run))
}

/// The table of the levels, of what was measured.
pub(super) fn levels(lab: &Lab) -> Vec<Level> {
    let known = |figure: &Figure| lab.value(figure).filter(|value| value.is_finite());
    let clock = known(&Figure::new(What::ClockMhz, "copy", "scalar", &[1 << 20], &[1 << 16]));
    let level = |row: &Row| {
        let rate = row.rate.map(|(figure, _)| figure);
        row.hop.iter().chain(&rate).all(|figure| lab.value(figure).is_some()).then(|| {
            let latency = row.hop.as_ref().and_then(known);
            let gbps = row.rate.and_then(|(figure, bytes)| Some(bytes(lab.dims(&figure)) as f64 / known(&figure)?));
            Level {
                level: row.name.into(),
                capacity: (row.capacity)(lab.device()).unwrap_or_default(),
                claimed: row.claimed.into(),
                set_bytes: row.hop.or(rate.filter(|f| f.op == "hierarchy_bandwidth")).map(|f| lab.dims(&f)[0] * 4),
                latency_ns: latency,
                latency_cycles: latency.zip(clock).map(|(ns, mhz)| ns * mhz / 1e3),
                gbps,
            }
        })
    };
    LEVELS.iter().filter_map(level).collect()
}

/// The table of residency, of what was measured.
pub(super) fn resident(lab: &Lab) -> Vec<Resident> {
    let row = |run: Figure| {
        let read = |what| lab.value(&Figure { what, ..run }).map(|value| Some(value).filter(|v| v.is_finite()));
        let ballast = if run.ballast > 0 { format!(" with {} KiB of ballast", run.ballast >> 10) } else { "".into() };
        Some(Resident {
            rung: format!("{}/{}{}", run.op, run.rung, ballast),
            ms: read(What::Ns)?.map(|ns| ns / 1e6),
            warps: read(What::ResidentWarps)?,
            local_bytes: read(What::LocalBytes)?,
        })
    };
    runs().filter_map(row).collect()
}
