//! Where data should go: registers, shared memory, constant memory, or which layout in global memory,
//! from its size, access pattern, reuse and sharing, and from the limits of a device.

use crate::backend::Device;
use crate::limits::{Ceilings, Kind, data_sheet};
use crate::words::{self, Said};

/// How the lanes of a warp touch the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Neighbouring lanes, neighbouring elements.
    Sequential,
    /// Neighbouring lanes, elements a row or a struct apart.
    Strided,
    /// Anywhere.
    Random,
    /// All lanes the same element.
    Broadcast,
}

/// Who uses the same data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// One thread.
    Thread,
    /// The threads of a warp.
    Warp,
    /// The threads of a block.
    Block,
    /// Everybody.
    Device,
}

/// The words of each, for the command line.
pub const ACCESSES: &[(&str, Access)] = &[
    ("sequential", Access::Sequential),
    ("strided", Access::Strided),
    ("random", Access::Random),
    ("broadcast", Access::Broadcast),
];
/// The words of each, for the command line.
pub const SHARINGS: &[(&str, Sharing)] =
    &[("thread", Sharing::Thread), ("warp", Sharing::Warp), ("block", Sharing::Block), ("device", Sharing::Device)];

/// What is known of the data.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Data {
    /// Bytes of one user's part: a thread's, a block's, or all.
    pub bytes: u64,
    /// How it is touched.
    pub access: Access,
    /// How often each byte is used.
    pub reuse: f64,
    /// Who shares it.
    pub sharing: Sharing,
}

/// A place and the reasons for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Advice {
    /// Where to put it.
    pub place: Said,
    /// Why, and what to mind.
    pub reasons: Vec<Said>,
}

/// Bytes of registers that a thread may hold before the compiler spills them (of 255 registers, with
/// room for addresses).
const REGISTERS: u64 = 512;
/// Constant memory of a CUDA module, and the least a uniform binding may hold in WebGPU.
const CONSTANT: u64 = 64 << 10;

/// Where data should go on a device; measured ceilings give the reasons their figures.
pub fn advise(data: Data, device: &Device, ceilings: Option<&Ceilings>) -> Advice {
    let shared = u64::from(device.limits.shared_dynamic.max(device.limits.shared_static));
    let mut reasons = Vec::new();
    let place = match data.sharing {
        Sharing::Thread if data.bytes <= REGISTERS => {
            reasons.push(words::REGISTERS_WHY.with([data.bytes.to_string(), REGISTERS.to_string()]));
            &words::IN_REGISTERS
        }
        Sharing::Warp if data.bytes <= REGISTERS * u64::from(device.warp) => {
            reasons.push(words::SHUFFLE_WHY.with([device.warp.to_string()]));
            &words::IN_SHUFFLES
        }
        _ if data.access == Access::Broadcast && data.bytes <= CONSTANT => {
            reasons.push(words::CONSTANT_WHY.with([kib(CONSTANT)]));
            &words::IN_CONSTANT
        }
        Sharing::Block if data.bytes <= shared && worth_staging(data) => {
            reasons.push(staging(data, ceilings));
            let blocks = shared / data.bytes.max(1);
            if blocks < 2 {
                reasons.push(words::SHARED_ALONE.with([kib(data.bytes), kib(shared)]));
            }
            if data.access == Access::Strided {
                reasons.push(words::PAD.say());
            }
            &words::IN_SHARED
        }
        _ => {
            if data.sharing == Sharing::Block && data.bytes > shared && worth_staging(data) {
                reasons.push(words::SHARED_TOO_SMALL.with([kib(data.bytes), kib(shared)]));
            }
            global(data, device, ceilings, &mut reasons)
        }
    };
    Advice { place: place.say(), reasons }
}

/// Whether shared memory saves anything: a second use, or an order that global memory dislikes.
fn worth_staging(data: Data) -> bool {
    data.reuse > 1.0 || data.access == Access::Strided
}

fn staging(data: Data, ceilings: Option<&Ceilings>) -> Said {
    let shared = ceilings.and_then(|c| c.ceilings.iter().find(|c| c.kind == Kind::Shared).map(|c| c.value));
    let reuse = format!("{:.1}", data.reuse);
    match shared.zip(ceilings.and_then(Ceilings::memory)) {
        Some((shared, memory)) => {
            words::SHARED_MEASURED.with([reuse, format!("{:.1}", shared / 1e12), format!("{:.1}", memory / 1e12)])
        }
        None => words::SHARED_WHY.with([reuse]),
    }
}

/// Bytes that all of those who run at a time have together: the caches see all parts, not one.
fn together(data: Data, device: &Device) -> u64 {
    const THREADS: u64 = 2048;
    const BLOCKS: u64 = 2;
    let multiprocessors = u64::from(device.multiprocessors.unwrap_or(1));
    let users = match data.sharing {
        Sharing::Thread => multiprocessors * THREADS,
        Sharing::Warp => multiprocessors * THREADS / u64::from(device.warp.max(1)),
        Sharing::Block => multiprocessors * BLOCKS,
        Sharing::Device => 1,
    };
    data.bytes.saturating_mul(users)
}

fn global(data: Data, device: &Device, ceilings: Option<&Ceilings>, reasons: &mut Vec<Said>) -> &'static words::Phrase {
    // A simulated machine is named like the device that it stands for.
    let sheet = || data_sheet(&device.name.to_uppercase()).map(|sheet| sheet.l2_bytes);
    let l2 = device.l2.or_else(sheet).unwrap_or_else(|| device.l2_or_guess());
    let parts = data;
    let data = Data { bytes: together(data, device), ..data };
    if data.bytes > parts.bytes {
        reasons.push(words::ALL_PARTS.with([kib(parts.bytes), kib(data.bytes)]));
    }
    if parts.sharing == Sharing::Thread {
        reasons.push(words::INTERLEAVE.say());
    }
    if data.reuse > 1.0 && data.bytes <= l2 {
        let rate = ceilings.and_then(|c| near(c, data.bytes)).map(|rate| format!("{:.1}", rate / 1e12));
        reasons.push(match rate {
            Some(rate) => words::CACHED_MEASURED.with([kib(data.bytes), kib(l2), rate]),
            None => words::CACHED.with([kib(data.bytes), kib(l2)]),
        });
    } else if data.reuse > 1.0 {
        reasons.push(words::TILE_FOR_CACHE.with([kib(data.bytes), kib(l2)]));
    }
    match data.access {
        Access::Sequential => {
            reasons.push(words::VECTORS_WHY.say());
            &words::IN_GLOBAL_AS_IS
        }
        Access::Broadcast => {
            reasons.push(words::BROADCAST_WHY.say());
            &words::IN_GLOBAL_AS_IS
        }
        Access::Strided => {
            reasons.push(words::STRIDED_WHY.say());
            &words::IN_GLOBAL_TURNED
        }
        Access::Random => {
            reasons.push(words::RANDOM_WHY.say());
            &words::IN_GLOBAL_SORTED
        }
    }
}

/// The copy whose size is nearest.
fn near(ceilings: &Ceilings, bytes: u64) -> Option<f64> {
    let copies = ceilings.ceilings.iter().filter(|c| c.kind == Kind::Copy);
    copies.min_by_key(|c| c.bytes.unwrap_or(0).abs_diff(bytes)).map(|c| c.value)
}

fn kib(bytes: u64) -> String {
    let units = [(1u64 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let Some((size, unit)) = units.into_iter().find(|(size, _)| bytes >= *size) else { return format!("{bytes} B") };
    let digits = usize::from(!bytes.is_multiple_of(size));
    format!("{:.digits$} {unit}", bytes as f64 / size as f64)
}
