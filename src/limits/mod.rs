//! What a device can do at most: measured ceilings, and data-sheet figures where they are known.

mod measure;
#[cfg(feature = "report")]
mod print;
mod steps;
#[cfg(feature = "report")]
pub mod store;

use crate::backend::Device;
pub use measure::measure;
#[cfg(feature = "report")]
pub use print::print;

/// What a ceiling is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "report", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum Kind {
    /// Bytes per second of copying a buffer, counted in and out.
    Copy,
    /// Multiply-adds of the ordinary units, two operations each, per second.
    Arithmetic,
    /// Operations of matrix units per second.
    Tensor,
    /// Bytes per second read from shared memory by all multiprocessors together.
    Shared,
    /// Bytes per second of a set that all threads read again and again: of the level that holds it.
    Read,
    /// Seconds of one load after the other from a set: of the level that holds it.
    Latency,
    /// Seconds of the smallest launch, one of many in a row.
    Launch,
}

/// One measured ceiling.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "report", derive(serde::Serialize, serde::Deserialize))]
pub struct Ceiling {
    /// What it is of.
    pub kind: Kind,
    /// The rung that reached it.
    pub rung: String,
    /// The element type, where it matters.
    pub element: Option<String>,
    /// Bytes of both buffers of a copy, or of a set.
    pub bytes: Option<u64>,
    /// The ceiling, in bytes, operations or seconds as its kind says.
    pub value: f64,
    /// A 95 % interval of it.
    pub low: f64,
    /// A 95 % interval of it.
    pub high: f64,
    /// The clock of the multiprocessors right after, in MHz.
    pub sm_clock_mhz: Option<u32>,
}

/// The measured ceilings of one device.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "report", derive(serde::Serialize, serde::Deserialize))]
pub struct Ceilings {
    /// The device.
    pub device: String,
    /// Its driver.
    pub driver: String,
    /// The backend they were measured through.
    pub backend: String,
    /// Whether the device only imitates a GPU.
    pub software_adapter: bool,
    /// The clock they were read from.
    pub clock: String,
    /// The commit that measured them.
    pub commit: Option<String>,
    /// Whether every one that this device has is there; measuring goes on from there where not.
    #[cfg_attr(feature = "report", serde(default))]
    pub complete: bool,
    /// The ceilings.
    pub ceilings: Vec<Ceiling>,
}

impl Ceilings {
    /// None yet of a device.
    pub(crate) fn none_of(device: &Device) -> Self {
        Ceilings {
            device: device.name.clone(),
            driver: device.driver.clone(),
            backend: device.backend.into(),
            software_adapter: device.is_software(),
            clock: device.clock.name().into(),
            commit: option_env!("GPU_LADDER_COMMIT").map(str::to_string),
            complete: false,
            ceilings: Vec::new(),
        }
    }

    /// The most multiply-adds of an element type, in operations per second.
    pub fn flops(&self, element: &str) -> Option<f64> {
        let of = |c: &&Ceiling| c.kind == Kind::Arithmetic && c.element.as_deref() == Some(element);
        self.ceilings.iter().filter(of).map(|c| c.value).reduce(f64::max)
    }

    /// The bandwidth of the largest copy, in bytes per second: that of device memory.
    pub fn memory(&self) -> Option<f64> {
        let copies = || self.ceilings.iter().filter(|c| c.kind == Kind::Copy);
        let largest = copies().filter_map(|c| c.bytes).max();
        copies().filter(|c| c.bytes == largest).map(|c| c.value).reduce(f64::max)
    }
}

/// Figures from a vendor's data sheet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DataSheet {
    /// Part of the device's name.
    pub name: &'static str,
    /// Memory bandwidth in bytes per second.
    pub memory_bandwidth: f64,
    /// f32 operations per second, without tensor cores (a multiply-add counts two).
    pub f32_flops: f64,
    /// Bytes of the last-level cache.
    pub l2_bytes: u64,
    /// Multiprocessors.
    pub multiprocessors: u32,
}

/// Known devices; the first whose name is part of the driver's wins.
const SHEETS: &[DataSheet] = &[
    DataSheet { name: "H200", memory_bandwidth: 4.8e12, f32_flops: 67e12, l2_bytes: 60 << 20, multiprocessors: 132 },
    DataSheet {
        name: "H100 PCIe",
        memory_bandwidth: 2.0e12,
        f32_flops: 51e12,
        l2_bytes: 50 << 20,
        multiprocessors: 114,
    },
    DataSheet { name: "H100", memory_bandwidth: 3.35e12, f32_flops: 67e12, l2_bytes: 50 << 20, multiprocessors: 132 },
    DataSheet {
        name: "A100-SXM4-80GB",
        memory_bandwidth: 2.039e12,
        f32_flops: 19.5e12,
        l2_bytes: 40 << 20,
        multiprocessors: 108,
    },
    DataSheet {
        name: "A100",
        memory_bandwidth: 1.555e12,
        f32_flops: 19.5e12,
        l2_bytes: 40 << 20,
        multiprocessors: 108,
    },
    DataSheet { name: "L4", memory_bandwidth: 0.3e12, f32_flops: 30.3e12, l2_bytes: 48 << 20, multiprocessors: 58 },
    DataSheet {
        name: "RTX 4090",
        memory_bandwidth: 1.008e12,
        f32_flops: 82.6e12,
        l2_bytes: 72 << 20,
        multiprocessors: 128,
    },
    DataSheet {
        name: "RTX 3090",
        memory_bandwidth: 0.936e12,
        f32_flops: 35.6e12,
        l2_bytes: 6 << 20,
        multiprocessors: 82,
    },
];

/// The data sheet of a device, by the name its driver gives.
pub fn data_sheet(name: &str) -> Option<&'static DataSheet> {
    SHEETS.iter().find(|sheet| name.contains(sheet.name))
}
