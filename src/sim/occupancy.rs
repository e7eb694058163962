//! How many workgroups a multiprocessor holds at once, and what stops it from holding more.

use super::machine::Machine;

/// What limits the number of resident workgroups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limiter {
    /// Threads that a multiprocessor holds.
    Threads,
    /// Warps that it holds.
    Warps,
    /// Blocks that it holds.
    Blocks,
    /// Its workgroup memory.
    SharedMemory,
    /// Its registers.
    Registers,
}

/// Residency of a workgroup shape on a machine.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Occupancy {
    /// Resident workgroups per multiprocessor; 0 when not even one fits.
    pub blocks: u32,
    /// Resident warps per multiprocessor.
    pub warps: u32,
    /// Resident warps over the most that the machine holds, 0 to 1.
    pub fraction: f64,
    /// What stops a multiprocessor from holding more.
    pub limiter: Limiter,
    /// Bytes of workgroup memory that one workgroup takes, with the system's share and rounding.
    pub shared_per_block: u32,
}

/// Occupancy of workgroups of `threads` invocations and `shared` bytes of workgroup memory.
///
/// `registers` per thread are known only to a compiler: `None` leaves them out.
pub fn occupancy(machine: &Machine, threads: u32, shared: u32, registers: Option<u32>) -> Occupancy {
    let warps_per_block = threads.div_ceil(machine.warp).max(1);
    let granule = machine.shared_granule.max(1);
    let shared_per_block = (shared + machine.shared_reserved_per_block).div_ceil(granule) * granule;
    let mut limits = vec![
        (machine.warps_per_multiprocessor / warps_per_block, Limiter::Warps),
        (machine.threads_per_multiprocessor / (warps_per_block * machine.warp), Limiter::Threads),
        (machine.blocks_per_multiprocessor, Limiter::Blocks),
    ];
    if shared > 0 && shared_per_block > 0 {
        limits.push((machine.shared_per_multiprocessor / shared_per_block, Limiter::SharedMemory));
    }
    if let Some(r) = registers.filter(|r| *r > 0) {
        // Registers are handed out to warps in units of 256.
        let per_warp = (r * machine.warp).div_ceil(256) * 256;
        limits.push((machine.registers_per_multiprocessor / per_warp / warps_per_block, Limiter::Registers));
    }
    let (blocks, limiter) = limits.into_iter().min_by_key(|(n, _)| *n).unwrap_or((0, Limiter::Blocks));
    let warps = blocks * warps_per_block;
    Occupancy {
        blocks,
        warps,
        fraction: f64::from(warps) / f64::from(machine.warps_per_multiprocessor.max(1)),
        limiter,
        shared_per_block,
    }
}
