//! From counters to sentences: what limits a kernel, the evidence, and what to do about it.
//!
//! The counters come from the simulator; a time and its share of the best copy, where there is one,
//! decide between «is wasteful» and «is at the limit all the same». Symptoms are looked for in the
//! order in which they usually pay.

use crate::sim::{AccessProfile, HazardKind, Machine, Memory, Profile, Severity};
use std::fmt;

/// A place in the source and the figure found there.
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    /// 1-based source line; 0 for the whole kernel.
    pub line: u32,
    /// The text there.
    pub code: String,
    /// What was counted.
    pub figure: String,
}

/// One thing that is wrong or worth knowing, in the order symptom, cause, evidence, remedy.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// What is seen.
    pub symptom: String,
    /// Why it is likely so.
    pub cause: String,
    /// Where.
    pub evidence: Option<Evidence>,
    /// What to do.
    pub remedy: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.symptom, self.cause)?;
        if let Some(evidence) = &self.evidence {
            match evidence.line {
                0 => write!(f, " ({})", evidence.figure)?,
                line => write!(f, " (line {line}, `{}`: {})", evidence.code, evidence.figure)?,
            }
        }
        write!(f, ". {}.", self.remedy)
    }
}

/// What was measured elsewhere about the kernel that was counted here.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Measured {
    /// The best copy's time over the kernel's.
    pub share_of_copy: Option<f64>,
    /// Whether the time is within ten launch floors.
    pub near_floor: Option<bool>,
}

/// Answers to the five questions to ask of every kernel; `None` where nothing was counted.
#[derive(Debug, Clone, PartialEq)]
pub struct Checklist {
    /// At least half of a multiprocessor's warps are resident.
    pub occupancy: bool,
    /// Global accesses move little more than they use.
    pub coalesced: Option<bool>,
    /// Shared memory is used without bank conflicts.
    pub conflict_free: Option<bool>,
    /// Warps run with nearly all lanes.
    pub uniform: Option<bool>,
    /// What limits the resident warps.
    pub limiter: String,
}

/// Sectors beyond this share of the fewest possible are worth a word.
const WASTE: f64 = 1.25;
/// Bank conflicts beyond this degree are worth a word.
const CONFLICT: f64 = 1.25;
/// Warps with less than this share of their lanes active are worth a word.
const LANES: f64 = 0.75;
/// A time at this share of the copy's leaves nothing to gain.
const AT_THE_LIMIT: f64 = 0.9;

/// The five questions, answered from a profile.
pub fn checklist(profile: &Profile, machine: &Machine) -> Checklist {
    let totals = &profile.totals;
    Checklist {
        occupancy: profile.occupancy.fraction >= 0.5,
        coalesced: totals.global().efficiency().map(|e| e * WASTE >= 1.0),
        conflict_free: totals.shared().conflict_degree().map(|d| d <= CONFLICT),
        uniform: totals.lanes_per_instruction().map(|l| l >= LANES * f64::from(machine.warp)),
        limiter: format!("{:?}", profile.occupancy.limiter),
    }
}

/// Everything worth saying about a kernel, the most costly first.
pub fn diagnose(profile: &Profile, machine: &Machine, measured: Measured) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(hazards(profile));
    if measured.near_floor == Some(true) {
        findings.push(Finding {
            symptom: "the time is mostly overhead".into(),
            cause: "a launch costs more than this kernel's work".into(),
            evidence: None,
            remedy: "Give a launch more work: fuse, batch, or record a graph".into(),
        });
    }
    if let Some(share) = measured.share_of_copy.filter(|s| *s >= AT_THE_LIMIT) {
        findings.push(Finding {
            symptom: "at the limit".into(),
            cause: format!("it moves its bytes at {:.0} % of the best copy's rate", share * 100.0),
            evidence: None,
            remedy: "Nothing is left to gain from memory; only fewer bytes would help".into(),
        });
    }
    findings.extend(uncoalesced(profile));
    findings.extend(conflicts(profile));
    findings.extend(divergence(profile, machine));
    findings.extend(occupancy(profile));
    findings.extend(parallelism(profile, machine));
    findings
}

fn hazards(profile: &Profile) -> impl Iterator<Item = Finding> + '_ {
    profile.hazards.iter().filter(|h| h.severity == Severity::Error).map(|hazard| Finding {
        symptom: "the result is not to be trusted".into(),
        cause: hazard.to_string(),
        evidence: Some(Evidence {
            line: hazard.at.line,
            code: hazard.at.code.clone(),
            figure: format!("seen {} times", hazard.count),
        }),
        remedy: match hazard.kind {
            HazardKind::SharedRace { .. } => "Put a workgroupBarrier() between the two accesses",
            HazardKind::StorageRace { .. } => "Put a storageBarrier() between the two accesses",
            HazardKind::CrossWorkgroupRace { .. } => {
                "Nothing orders workgroups of one dispatch: use atomics, or a second dispatch"
            }
            HazardKind::OutOfBounds { .. } => "Guard the index",
            HazardKind::DivergentBarrier => "Take the barrier out of the branch; no invocation may return before it",
            HazardKind::IndexOverflow => "Compute the index in parts that fit 32 bits",
            _ => "Look at the line",
        }
        .into(),
    })
}

/// The access that wastes the most sectors.
fn uncoalesced(profile: &Profile) -> Option<Finding> {
    let wasted = |a: &&AccessProfile| a.sectors.saturating_sub(a.ideal_sectors);
    let worst = profile.accesses.iter().filter(|a| a.memory == Memory::Storage).max_by_key(wasted)?;
    if (worst.sectors as f64) < WASTE * worst.ideal_sectors as f64 {
        return None;
    }
    let per_request = worst.sectors_per_request()?;
    let efficiency = profile.totals.global().efficiency().unwrap_or(1.0);
    Some(Finding {
        symptom: format!("{:.0} % of the bytes moved are used", efficiency * 100.0),
        cause: "the lanes of a warp touch memory far apart, and each touch moves a whole sector".into(),
        evidence: Some(Evidence {
            line: worst.line,
            code: worst.code.clone(),
            figure: format!(
                "{per_request:.1} sectors per request, {:.1} would do",
                worst.ideal_sectors as f64 / worst.requests.max(1) as f64
            ),
        }),
        remedy: "Let neighbouring threads touch neighbouring elements: reorder, or stage through shared memory".into(),
    })
}

fn conflicts(profile: &Profile) -> Option<Finding> {
    let wasted = |a: &&AccessProfile| a.wavefronts.saturating_sub(a.ideal_wavefronts);
    let worst = profile.accesses.iter().filter(|a| a.memory == Memory::Workgroup).max_by_key(wasted)?;
    let degree = worst.conflict_degree().filter(|d| *d > CONFLICT)?;
    Some(Finding {
        symptom: "shared memory is served in turns".into(),
        cause: "lanes of a warp meet in one bank at different addresses".into(),
        evidence: Some(Evidence {
            line: worst.line,
            code: worst.code.clone(),
            figure: format!("{degree:.1} wavefronts where 1 would do"),
        }),
        remedy: "Pad each row by one element, or exclusive-or the column with the row".into(),
    })
}

fn divergence(profile: &Profile, machine: &Machine) -> Option<Finding> {
    let full = f64::from(machine.warp);
    let lanes = profile.totals.lanes_per_instruction().filter(|l| *l < LANES * full)?;
    let lost = |c: &crate::sim::Counters| c.instructions * u64::from(machine.warp) - c.active_lanes;
    let worst = profile.lines.iter().max_by_key(|l| lost(&l.counters))?;
    Some(Finding {
        symptom: format!("{lanes:.1} of {} lanes are active on average", machine.warp),
        cause: "lanes of a warp take different branches, or the problem does not fill its blocks".into(),
        evidence: Some(Evidence {
            line: worst.line,
            code: String::new(),
            figure: format!("{:.1} lanes", worst.counters.lanes_per_instruction().unwrap_or(0.0)),
        }),
        remedy: "Branch on the warp rather than the thread, sort the work, or use smaller blocks at the edges".into(),
    })
}

fn occupancy(profile: &Profile) -> Option<Finding> {
    let occupancy = &profile.occupancy;
    (occupancy.fraction < 0.5).then(|| Finding {
        symptom: format!("{} warps fit a multiprocessor", occupancy.warps),
        cause: format!("{:?} limits the resident blocks to {}", occupancy.limiter, occupancy.blocks),
        evidence: Some(Evidence {
            line: 0,
            code: String::new(),
            figure: format!("{:.0} % occupancy", occupancy.fraction * 100.0),
        }),
        remedy: "Act only if the kernel waits for memory: few warps with much independent work each are as good".into(),
    })
}

fn parallelism(profile: &Profile, machine: &Machine) -> Option<Finding> {
    let blocks: u64 = profile.workgroups.iter().map(|n| u64::from(*n)).product();
    (blocks < u64::from(machine.multiprocessors)).then(|| Finding {
        symptom: format!("{blocks} blocks for {} multiprocessors", machine.multiprocessors),
        cause: "most of the device has nothing to do".into(),
        evidence: None,
        remedy: "Use smaller tiles, or split the long dimension over blocks and add up in a second pass".into(),
    })
}
