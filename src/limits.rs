//! What a device can do at most: data-sheet figures where they are known.

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
}

/// Known devices; the first whose name is part of the driver's wins.
const SHEETS: &[DataSheet] = &[
    DataSheet { name: "H200", memory_bandwidth: 4.8e12, f32_flops: 67e12, l2_bytes: 60 << 20 },
    DataSheet { name: "H100 PCIe", memory_bandwidth: 2.0e12, f32_flops: 51e12, l2_bytes: 50 << 20 },
    DataSheet { name: "H100", memory_bandwidth: 3.35e12, f32_flops: 67e12, l2_bytes: 50 << 20 },
    DataSheet { name: "A100-SXM4-80GB", memory_bandwidth: 2.039e12, f32_flops: 19.5e12, l2_bytes: 40 << 20 },
    DataSheet { name: "A100", memory_bandwidth: 1.555e12, f32_flops: 19.5e12, l2_bytes: 40 << 20 },
    DataSheet { name: "L4", memory_bandwidth: 0.3e12, f32_flops: 30.3e12, l2_bytes: 48 << 20 },
    DataSheet { name: "RTX 4090", memory_bandwidth: 1.008e12, f32_flops: 82.6e12, l2_bytes: 72 << 20 },
    DataSheet { name: "RTX 3090", memory_bandwidth: 0.936e12, f32_flops: 35.6e12, l2_bytes: 6 << 20 },
];

/// The data sheet of a device, by the name its driver gives.
pub fn data_sheet(name: &str) -> Option<&'static DataSheet> {
    SHEETS.iter().find(|sheet| name.contains(sheet.name))
}
