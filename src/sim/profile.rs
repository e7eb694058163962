//! The result of a run: counters in total, per line and per access, occupancy, hazards.

use super::code::{Class, Space};
use super::counters::Tally;
use super::exec::Gathered;
use super::hazard::{Hazard, Severity};
use super::lower::{AccessOp, Code};
use super::machine::Machine;
use super::occupancy::{Occupancy, occupancy};
use super::source::Source;
use std::collections::BTreeMap;
use std::ops::AddAssign;

/// Floating-point operations, counted per active lane; a fused multiply-add is two.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Flops {
    /// In f32.
    pub f32: u64,
    /// In f16.
    pub f16: u64,
    /// Divisions, square roots, exponentials and the like, one each.
    pub special: u64,
    /// Of products of cooperative matrices of f16.
    pub matrix_f16: u64,
    /// Of products of cooperative matrices of f32.
    pub matrix_f32: u64,
}

impl AddAssign for Flops {
    fn add_assign(&mut self, other: Self) {
        self.f32 += other.f32;
        self.f16 += other.f16;
        self.special += other.special;
        self.matrix_f16 += other.matrix_f16;
        self.matrix_f32 += other.matrix_f32;
    }
}

impl Flops {
    /// All together.
    pub fn total(&self) -> u64 {
        self.f32 + self.f16 + self.special + self.matrix_f16 + self.matrix_f32
    }
}

/// Traffic to storage buffers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct GlobalTraffic {
    /// Warp-wide requests.
    pub requests: u64,
    /// Sectors moved for them (before any cache).
    pub sectors: u64,
    /// Fewest sectors that the distinct bytes of each request need.
    pub ideal_sectors: u64,
    /// Distinct bytes asked for, per request.
    pub useful_bytes: u64,
    /// Sectors times the sector size.
    pub moved_bytes: u64,
}

impl AddAssign for GlobalTraffic {
    fn add_assign(&mut self, other: Self) {
        self.requests += other.requests;
        self.sectors += other.sectors;
        self.ideal_sectors += other.ideal_sectors;
        self.useful_bytes += other.useful_bytes;
        self.moved_bytes += other.moved_bytes;
    }
}

impl GlobalTraffic {
    /// Sectors of an average request; `None` without requests.
    pub fn sectors_per_request(&self) -> Option<f64> {
        ratio(self.sectors, self.requests)
    }

    /// Useful over moved bytes, 0 to 1; `None` without traffic.
    pub fn efficiency(&self) -> Option<f64> {
        ratio(self.useful_bytes, self.moved_bytes)
    }
}

/// Traffic to workgroup memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SharedTraffic {
    /// Warp-wide requests.
    pub requests: u64,
    /// Passes over the banks.
    pub wavefronts: u64,
    /// Passes without bank conflicts.
    pub ideal_wavefronts: u64,
}

impl AddAssign for SharedTraffic {
    fn add_assign(&mut self, other: Self) {
        self.requests += other.requests;
        self.wavefronts += other.wavefronts;
        self.ideal_wavefronts += other.ideal_wavefronts;
    }
}

impl SharedTraffic {
    /// Wavefronts over their ideal: 1 is free of conflicts, 32 the worst; `None` without requests.
    pub fn conflict_degree(&self) -> Option<f64> {
        ratio(self.wavefronts, self.ideal_wavefronts)
    }

    /// Extra passes due to bank conflicts.
    pub fn conflicts(&self) -> u64 {
        self.wavefronts.saturating_sub(self.ideal_wavefronts)
    }
}

fn ratio(a: u64, b: u64) -> Option<f64> {
    (b > 0).then(|| a as f64 / b as f64)
}

/// Counters of a run or of one source line.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Counters {
    /// Warp instructions, as the simulator sees them: address arithmetic, moves and conversions
    /// that a GPU compiler removes are left out, fused multiply-adds are two unless written `fma`.
    pub instructions: u64,
    /// Sum of active lanes over these instructions.
    pub active_lanes: u64,
    /// The instructions by what they are.
    pub mix: BTreeMap<Class, u64>,
    /// Floating-point operations.
    pub flops: Flops,
    /// Barriers, once for each warp that came to one.
    pub barriers: u64,
    /// Loads from storage buffers.
    pub global_load: GlobalTraffic,
    /// Stores to storage buffers.
    pub global_store: GlobalTraffic,
    /// Atomics on storage buffers.
    pub global_atomic: GlobalTraffic,
    /// Loads from workgroup memory.
    pub shared_load: SharedTraffic,
    /// Stores to workgroup memory.
    pub shared_store: SharedTraffic,
    /// Atomics on workgroup memory.
    pub shared_atomic: SharedTraffic,
}

impl AddAssign<&Counters> for Counters {
    fn add_assign(&mut self, other: &Counters) {
        self.instructions += other.instructions;
        self.active_lanes += other.active_lanes;
        for (class, count) in &other.mix {
            *self.mix.entry(*class).or_default() += count;
        }
        self.flops += other.flops;
        self.barriers += other.barriers;
        self.global_load += other.global_load;
        self.global_store += other.global_store;
        self.global_atomic += other.global_atomic;
        self.shared_load += other.shared_load;
        self.shared_store += other.shared_store;
        self.shared_atomic += other.shared_atomic;
    }
}

impl Counters {
    /// Active lanes of an average instruction (threads per instruction); `None` if there was none.
    pub fn lanes_per_instruction(&self) -> Option<f64> {
        ratio(self.active_lanes, self.instructions)
    }

    /// Loads, stores and atomics of storage together.
    pub fn global(&self) -> GlobalTraffic {
        let mut sum = self.global_load;
        sum += self.global_store;
        sum += self.global_atomic;
        sum
    }

    /// Loads, stores and atomics of workgroup memory together.
    pub fn shared(&self) -> SharedTraffic {
        let mut sum = self.shared_load;
        sum += self.shared_store;
        sum += self.shared_atomic;
        sum
    }

    /// Floating-point operations per byte moved to and from storage (no cache); `None` without traffic.
    pub fn arithmetic_intensity(&self) -> Option<f64> {
        ratio(self.flops.total(), self.global().moved_bytes)
    }

    fn add_access(&mut self, op: AccessOp, space: Space, t: &Tally, sector: u32) {
        match space {
            Space::Buffer(_) => {
                let to = match op {
                    AccessOp::Load => &mut self.global_load,
                    AccessOp::Store => &mut self.global_store,
                    AccessOp::Atomic => &mut self.global_atomic,
                };
                to.requests += t.requests;
                to.sectors += t.sectors;
                to.ideal_sectors += t.ideal_sectors;
                to.useful_bytes += t.useful;
                to.moved_bytes += t.sectors * u64::from(sector);
            }
            Space::Workgroup => {
                let to = match op {
                    AccessOp::Load => &mut self.shared_load,
                    AccessOp::Store => &mut self.shared_store,
                    AccessOp::Atomic => &mut self.shared_atomic,
                };
                to.requests += t.requests;
                to.wavefronts += t.wavefronts;
                to.ideal_wavefronts += t.ideal_wavefronts;
            }
        }
    }
}

/// Counters of one source line.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct LineProfile {
    /// 1-based.
    pub line: u32,
    /// What it did.
    #[serde(flatten)]
    pub counters: Counters,
}

/// Which memory an access is to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Memory {
    /// Storage buffers.
    Storage,
    /// Uniform buffers.
    Uniform,
    /// Workgroup memory.
    Workgroup,
}

/// One place in the source that touches memory.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct AccessProfile {
    /// Its line, 1-based.
    pub line: u32,
    /// Its column, 1-based.
    pub column: u32,
    /// Text of the expression or statement.
    pub code: String,
    /// The variable or buffer.
    pub variable: String,
    /// The memory it is in.
    pub memory: Memory,
    /// What is done there.
    pub op: AccessOp,
    /// Bytes per lane.
    pub width: u32,
    /// Warp-wide requests.
    pub requests: u64,
    /// Active lanes over all requests.
    pub lanes: u64,
    /// Sectors moved; of storage, 0 for the rest.
    pub sectors: u64,
    /// Fewest sectors for the distinct bytes; of storage, 0 for the rest.
    pub ideal_sectors: u64,
    /// Distinct bytes asked for; of storage, 0 for the rest.
    pub useful_bytes: u64,
    /// Sectors times the sector size; of storage, 0 for the rest.
    pub moved_bytes: u64,
    /// Most sectors of a single request.
    pub worst_sectors: u32,
    /// Passes over the banks; of workgroup memory, 0 for the rest.
    pub wavefronts: u64,
    /// Passes without bank conflicts; of workgroup memory, 0 for the rest.
    pub ideal_wavefronts: u64,
    /// Most wavefronts of a single request.
    pub worst_wavefronts: u32,
    /// Most wavefronts of a single request relative to its ideal.
    pub worst_conflict_degree: u32,
}

impl AccessProfile {
    /// Sectors of an average request; `None` for workgroup memory or without requests.
    pub fn sectors_per_request(&self) -> Option<f64> {
        if self.memory == Memory::Storage { ratio(self.sectors, self.requests) } else { None }
    }

    /// Useful over moved bytes, 0 to 1.
    pub fn efficiency(&self) -> Option<f64> {
        ratio(self.useful_bytes, self.moved_bytes)
    }

    /// Average wavefronts over their ideal; `None` for storage.
    pub fn conflict_degree(&self) -> Option<f64> {
        ratio(self.wavefronts, self.ideal_wavefronts)
    }
}

/// What a run counted and found.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Profile {
    /// The machine model's name.
    pub machine: String,
    /// The entry point.
    pub entry: String,
    /// Invocations of a workgroup in each direction.
    pub workgroup_size: [u32; 3],
    /// Workgroups in each direction.
    pub workgroups: [u32; 3],
    /// Warps that ran.
    pub warps: u64,
    /// What the whole run did.
    pub totals: Counters,
    /// Lines that did something, in order.
    pub lines: Vec<LineProfile>,
    /// Memory accesses in the order of the source.
    pub accesses: Vec<AccessProfile>,
    /// How many workgroups a multiprocessor of the machine holds.
    pub occupancy: Occupancy,
    /// What is wrong with the shader, one example of each.
    pub hazards: Vec<Hazard>,
}

impl Profile {
    pub(super) fn new(
        code: &Code,
        source: &Source,
        entry: &str,
        size: [u32; 3],
        workgroups: [u32; 3],
        machine: &Machine,
        g: Gathered,
    ) -> Profile {
        let mut totals = Counters::default();
        let mut lines: BTreeMap<u32, Counters> = BTreeMap::new();
        for meta in &code.meta {
            let n = g.executions.get(meta.segment as usize).copied().unwrap_or(0);
            if meta.class == Class::Free || n == 0 {
                continue;
            }
            let lanes = g.lanes.get(meta.segment as usize).copied().unwrap_or(0);
            let (line, _) = source.locate(meta.span);
            for c in [&mut totals, lines.entry(line).or_default()] {
                c.instructions += n;
                c.active_lanes += lanes;
                *c.mix.entry(meta.class).or_default() += n;
                let flops = lanes * u64::from(meta.flops);
                match meta.class {
                    Class::F16 => c.flops.f16 += flops,
                    Class::Special => c.flops.special += flops,
                    Class::MatrixF16 => c.flops.matrix_f16 += flops,
                    Class::MatrixF32 => c.flops.matrix_f32 += flops,
                    _ => c.flops.f32 += flops,
                }
                if meta.class == Class::Barrier {
                    c.barriers += n;
                }
            }
        }
        let mut accesses = Vec::new();
        for (info, t) in code.accesses.iter().zip(&g.tallies) {
            let (line, column) = source.locate(info.span);
            if !info.uniform && t.requests > 0 {
                totals.add_access(info.op, info.space, t, machine.sector);
                lines.entry(line).or_default().add_access(info.op, info.space, t, machine.sector);
            }
            let memory = match info.space {
                Space::Workgroup => Memory::Workgroup,
                Space::Buffer(_) if info.uniform => Memory::Uniform,
                Space::Buffer(_) => Memory::Storage,
            };
            accesses.push((
                info.span,
                AccessProfile {
                    line,
                    column,
                    code: source.snippet(info.span).to_string(),
                    variable: info.variable.clone(),
                    memory,
                    op: info.op,
                    width: info.width,
                    requests: t.requests,
                    lanes: t.lanes,
                    sectors: t.sectors,
                    ideal_sectors: t.ideal_sectors,
                    useful_bytes: t.useful,
                    moved_bytes: t.sectors * u64::from(machine.sector),
                    worst_sectors: t.worst_sectors,
                    wavefronts: t.wavefronts,
                    ideal_wavefronts: t.ideal_wavefronts,
                    worst_wavefronts: t.worst_wavefronts,
                    worst_conflict_degree: t.worst_degree,
                },
            ));
        }
        accesses.sort_by_key(|(span, _)| *span);
        let variables: Vec<String> = code.accesses.iter().map(|a| a.variable.clone()).collect();
        Profile {
            machine: machine.name.clone(),
            entry: entry.to_string(),
            workgroup_size: size,
            workgroups,
            warps: g.warps,
            totals,
            lines: lines.into_iter().map(|(line, counters)| LineProfile { line, counters }).collect(),
            accesses: accesses.into_iter().map(|(_, a)| a).collect(),
            occupancy: occupancy(machine, size.iter().product(), code.shared_bytes, None),
            hazards: g.hazards.finish(source, &variables, workgroups),
        }
    }

    /// Several launches as one: all counters added, lines, accesses and hazards of those whose flag says that they
    /// ran the same source. The rest is of the launch with the most instructions, which is returned if it is alone.
    pub fn together(launches: &[(&Profile, bool)]) -> Option<Profile> {
        let (most, _) = launches.iter().filter(|(_, same)| *same).max_by_key(|(p, _)| p.totals.instructions)?;
        let mut whole = (*most).clone();
        for (other, same) in launches.iter().filter(|(other, _)| !std::ptr::eq(*other, *most)) {
            whole.warps += other.warps;
            whole.totals += &other.totals;
            if !*same {
                continue;
            }
            for line in &other.lines {
                match whole.lines.binary_search_by_key(&line.line, |own| own.line) {
                    Ok(place) => whole.lines[place].counters += &line.counters,
                    Err(place) => whole.lines.insert(place, line.clone()),
                }
            }
            whole.accesses.extend(other.accesses.iter().cloned());
            whole.hazards.extend(other.hazards.iter().cloned());
        }
        whole.accesses.sort_by_key(|access| (access.line, access.column));
        Some(whole)
    }

    /// Is there a hazard that makes the result wrong or a matter of timing.
    pub fn has_errors(&self) -> bool {
        self.hazards.iter().any(|h| h.severity == Severity::Error)
    }

    /// The storage access with the most sectors beyond its ideal (the first of equals), if any has.
    pub fn worst_coalescing(&self) -> Option<&AccessProfile> {
        self.accesses.iter().rev().filter(|a| a.sectors > a.ideal_sectors).max_by_key(|a| a.sectors - a.ideal_sectors)
    }

    /// The workgroup-memory access with the most wavefronts beyond its ideal (the first of equals), if any has.
    pub fn worst_conflict(&self) -> Option<&AccessProfile> {
        self.accesses
            .iter()
            .rev()
            .filter(|a| a.wavefronts > a.ideal_wavefronts)
            .max_by_key(|a| a.wavefronts - a.ideal_wavefronts)
    }

    /// Counters of a line; `None` when nothing was executed there.
    pub fn line(&self, line: u32) -> Option<&Counters> {
        self.lines.iter().find(|l| l.line == line).map(|l| &l.counters)
    }
}
