//! From counters to sentences: what limits a kernel, the evidence, and what to do about it.
//!
//! The counters come from the simulator; a time and its share of the best copy, where there is one,
//! decide between «is wasteful» and «is at the limit all the same». Symptoms are looked for in the
//! order in which they usually pay.

use crate::sim::{AccessProfile, Class, HazardKind, Limiter, Machine, Memory, Occupancy, Profile, Severity};
use crate::words::{self, Language, Said};
use std::fmt;

/// A place in the source and the figure found there.
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    /// 1-based source line; 0 for the whole kernel.
    pub line: u32,
    /// The text there.
    pub code: String,
    /// What was counted.
    pub figure: Said,
}

/// One thing that is wrong or worth knowing, in the order symptom, cause, evidence, remedy.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// What is seen.
    pub symptom: Said,
    /// Why it is likely so.
    pub cause: Said,
    /// Where.
    pub evidence: Option<Evidence>,
    /// What to do.
    pub remedy: Said,
}

impl Finding {
    /// The whole finding in a language.
    pub fn text(&self, language: Language) -> String {
        let (symptom, cause, remedy) =
            (self.symptom.text(language), self.cause.text(language), self.remedy.text(language));
        // A hazard says itself where it is.
        let evidence = self.evidence.as_ref().filter(|_| !self.symptom.is(&words::NOT_TRUSTED));
        let evidence = evidence.map(|evidence| evidence.text(language)).unwrap_or_default();
        match language {
            Language::English => format!("{symptom}: {cause}{evidence}. {remedy}."),
            Language::Chinese => format!("{symptom}：{cause}{evidence}。{remedy}。"),
        }
    }

    /// What bounds the kernel and the evidence, without cause and remedy.
    pub fn brief(&self, language: Language) -> String {
        let evidence = self.evidence.as_ref().map_or_else(|| self.cause.text(language), |e| e.short(language));
        words::BOUND_BY.with([self.symptom.text(language), evidence]).text(language)
    }

    /// The same with the number of the line, not its text.
    pub fn glance(&self, language: Language) -> String {
        let evidence = self.evidence.as_ref().map_or_else(
            || self.cause.text(language),
            |evidence| match evidence.line {
                0 => evidence.figure.text(language),
                line => words::AT_LINE.with([line.to_string(), evidence.figure.text(language)]).text(language),
            },
        );
        words::BOUND_BY.with([self.symptom.text(language), evidence]).text(language)
    }
}

impl Evidence {
    fn text(&self, language: Language) -> String {
        match language {
            Language::English => format!(" ({})", self.short(language)),
            Language::Chinese => format!("（{}）", self.short(language)),
        }
    }

    fn short(&self, language: Language) -> String {
        let figure = self.figure.text(language);
        match (self.line, language) {
            (0, _) => figure,
            (line, Language::English) => format!("line {line}, `{}`: {figure}", self.code),
            (line, Language::Chinese) => format!("第 {line} 行 `{}`：{figure}", self.code),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(Language::English))
    }
}

/// What was measured elsewhere about the kernel that was counted here.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Measured {
    /// The best copy's time over the kernel's.
    pub share_of_copy: Option<f64>,
    /// Whether the time is within ten launch floors.
    pub near_floor: Option<bool>,
    /// Operations per byte at which the device's arithmetic and its memory take equally long.
    pub balance: Option<f64>,
    /// The rate of arithmetic as a share of the device's most, and that in TFLOP/s.
    pub share_of_peak: Option<(f64, f64)>,
}

/// Answers to the four questions to ask of every kernel; `None` where nothing was counted.
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
}

/// Sectors beyond this share of the fewest possible are worth a word.
const WASTE: f64 = 1.2;
/// Bank conflicts beyond this degree are worth a word.
const CONFLICT: f64 = 1.25;
/// Warps with less than this share of their lanes active are worth a word.
const LANES: f64 = 0.75;
/// A time at this share of the copy's leaves nothing to gain.
const AT_THE_LIMIT: f64 = 0.9;

/// A rate at this share of the device's arithmetic leaves little to gain.
const AT_THE_PEAK: f64 = 0.75;

fn percent(share: f64) -> String {
    format!("{:.0}", share * 100.0)
}

/// The four questions, answered from a profile.
pub fn checklist(profile: &Profile, machine: &Machine) -> Checklist {
    let totals = &profile.totals;
    Checklist {
        occupancy: profile.occupancy.fraction >= 0.5,
        coalesced: totals.global().efficiency().map(|e| e * WASTE >= 1.0),
        conflict_free: totals.shared().conflict_degree().map(|d| d <= CONFLICT),
        uniform: totals.lanes_per_instruction().map(|l| l >= LANES * f64::from(machine.warp)),
    }
}

/// Everything worth saying about a kernel, the most costly first.
pub fn diagnose(profile: &Profile, machine: &Machine, measured: Measured) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(hazards(profile));
    findings.extend(self::measured(measured));
    findings.extend(uncoalesced(profile));
    findings.extend(conflicts(profile));
    findings.extend(divergence(profile, machine));
    findings.extend(reuse(profile, measured));
    findings.extend(issue(profile, measured));
    findings.extend(occupancy(profile));
    findings.extend(parallelism(profile, machine));
    findings
}

/// What the time alone says.
pub fn measured(measured: Measured) -> Vec<Finding> {
    let mut findings = Vec::new();
    if measured.near_floor == Some(true) {
        findings.push(Finding {
            symptom: words::MOSTLY_OVERHEAD.say(),
            cause: words::LAUNCH_COSTS.say(),
            evidence: None,
            remedy: words::MORE_PER_LAUNCH.say(),
        });
    }
    if let Some(share) = measured.share_of_copy.filter(|s| *s >= AT_THE_LIMIT) {
        findings.push(Finding {
            symptom: words::AT_THE_LIMIT.say(),
            cause: words::COPY_RATE.with([percent(share)]),
            evidence: None,
            remedy: words::FEWER_BYTES.say(),
        });
    }
    if let Some((share, peak)) = measured.share_of_peak.filter(|(share, _)| *share >= AT_THE_PEAK) {
        findings.push(Finding {
            symptom: words::AT_THE_PEAK.say(),
            cause: words::PEAK_RATE.with([percent(share), format!("{peak:.1}")]),
            evidence: None,
            remedy: words::OTHER_UNITS.say(),
        });
    }
    findings
}

fn hazards(profile: &Profile) -> impl Iterator<Item = Finding> + '_ {
    profile.hazards.iter().filter(|h| h.severity == Severity::Error).map(|hazard| Finding {
        symptom: words::NOT_TRUSTED.say(),
        cause: words::HAZARD.with([hazard.to_string()]),
        evidence: Some(Evidence {
            line: hazard.at.line,
            code: hazard.at.code.clone(),
            figure: words::SEEN_TIMES.with([hazard.count.to_string()]),
        }),
        remedy: match hazard.kind {
            HazardKind::SharedRace { .. } => &words::BARRIER_SHARED,
            HazardKind::StorageRace { .. } => &words::BARRIER_STORAGE,
            HazardKind::CrossWorkgroupRace { .. } => &words::CROSS_BLOCK,
            HazardKind::OutOfBounds { .. } => &words::GUARD_INDEX,
            HazardKind::DivergentBarrier => &words::UNIFORM_BARRIER,
            HazardKind::IndexOverflow => &words::NARROW_INDEX,
            _ => &words::LOOK_AT_LINE,
        }
        .say(),
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
        symptom: words::BYTES_USED.with([percent(efficiency)]),
        cause: words::LANES_FAR_APART.say(),
        evidence: Some(Evidence {
            line: worst.line,
            code: worst.code.clone(),
            figure: words::SECTORS.with([
                format!("{per_request:.1}"),
                format!("{:.1}", worst.ideal_sectors as f64 / worst.requests.max(1) as f64),
            ]),
        }),
        remedy: words::REORDER.say(),
    })
}

fn conflicts(profile: &Profile) -> Option<Finding> {
    let wasted = |a: &&AccessProfile| a.wavefronts.saturating_sub(a.ideal_wavefronts);
    let worst = profile.accesses.iter().filter(|a| a.memory == Memory::Workgroup).max_by_key(wasted)?;
    let degree = worst.conflict_degree().filter(|d| *d > CONFLICT)?;
    Some(Finding {
        symptom: words::IN_TURNS.say(),
        cause: words::ONE_BANK.say(),
        evidence: Some(Evidence {
            line: worst.line,
            code: worst.code.clone(),
            figure: words::WAVEFRONTS.with([format!("{degree:.1}")]),
        }),
        remedy: words::PAD.say(),
    })
}

fn divergence(profile: &Profile, machine: &Machine) -> Option<Finding> {
    let full = f64::from(machine.warp);
    let lanes = profile.totals.lanes_per_instruction().filter(|l| *l < LANES * full)?;
    let lost = |c: &crate::sim::Counters| c.instructions * u64::from(machine.warp) - c.active_lanes;
    let worst = profile.lines.iter().max_by_key(|l| lost(&l.counters))?;
    Some(Finding {
        symptom: words::LANES_ACTIVE.with([format!("{lanes:.1}"), machine.warp.to_string()]),
        cause: words::DIVERGE.say(),
        evidence: Some(Evidence {
            line: worst.line,
            code: String::new(),
            figure: words::LANES_FIGURE.with([format!("{:.1}", worst.counters.lanes_per_instruction().unwrap_or(0.0))]),
        }),
        remedy: words::BRANCH_ON_WARP.say(),
    })
}

/// Too few operations for what is loaded.
fn reuse(profile: &Profile, measured: Measured) -> Option<Finding> {
    let balance = measured.balance?;
    let intensity = profile.totals.arithmetic_intensity().filter(|i| *i > 0.0 && *i < balance)?;
    Some(Finding {
        symptom: words::REUSE_LOW.say(),
        cause: words::FEW_OPERATIONS.with([format!("{intensity:.1}"), format!("{balance:.0}")]),
        evidence: None,
        remedy: words::MORE_REUSE.say(),
    })
}

/// Too few of the instructions are the arithmetic itself.
fn issue(profile: &Profile, measured: Measured) -> Option<Finding> {
    /// Above this share of arithmetic, the rest hides behind it.
    const ENOUGH: f64 = 0.6;
    measured.balance?;
    let totals = &profile.totals;
    let of = |classes: &[Class]| classes.iter().filter_map(|class| totals.mix.get(class)).sum::<u64>();
    let arithmetic = of(&[Class::F32, Class::F16]);
    let share = arithmetic as f64 / totals.instructions.max(1) as f64;
    (arithmetic > 0 && share < ENOUGH).then(|| Finding {
        symptom: words::ISSUE_LOW.with([percent(share)]),
        cause: words::ISSUE_REST
            .with([of(&[Class::LoadShared, Class::LoadGlobal]).to_string(), arithmetic.to_string()]),
        evidence: None,
        remedy: words::MORE_RESULTS.say(),
    })
}

fn occupancy(profile: &Profile) -> Option<Finding> {
    let occupancy = &profile.occupancy;
    (occupancy.fraction < 0.5).then(|| Finding {
        symptom: words::WARPS_FIT.with([occupancy.warps.to_string()]),
        cause: limiter(occupancy),
        evidence: Some(Evidence {
            line: 0,
            code: String::new(),
            figure: words::OCCUPANCY.with([percent(occupancy.fraction)]),
        }),
        remedy: words::ONLY_IF_WAITING.say(),
    })
}

/// What limits the resident blocks, in a sentence.
pub fn limiter(occupancy: &Occupancy) -> Said {
    let phrase = match occupancy.limiter {
        Limiter::Threads => &words::THREADS_LIMIT,
        Limiter::Warps => &words::WARPS_LIMIT,
        Limiter::Blocks => &words::BLOCKS_LIMIT,
        Limiter::SharedMemory => &words::SHARED_LIMITS,
        Limiter::Registers => &words::REGISTERS_LIMIT,
    };
    phrase.with([occupancy.blocks.to_string()])
}

fn parallelism(profile: &Profile, machine: &Machine) -> Option<Finding> {
    let blocks: u64 = profile.workgroups.iter().map(|n| u64::from(*n)).product();
    (blocks < u64::from(machine.multiprocessors)).then(|| Finding {
        symptom: words::FEW_BLOCKS.with([blocks.to_string(), machine.multiprocessors.to_string()]),
        cause: words::NOTHING_TO_DO.say(),
        evidence: None,
        remedy: words::SMALLER_TILES.say(),
    })
}
