//! Hazards: what they are, and the collector that keeps one example and a count of each.

use super::source::{Source, Span};
use std::collections::HashMap;

/// How bad a hazard is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Defined by WGSL and possibly meant: same-value races, NaN, division by zero.
    Warning,
    /// The result is not what the text says, or depends on timing.
    Error,
}

/// A place in the source; line and column are 1-based, 0 when unknown.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Site {
    /// The line.
    pub line: u32,
    /// The column, in characters.
    pub column: u32,
    /// The text of the expression or statement.
    pub code: String,
}

/// Which two kinds of access race, in the order in which the simulator saw them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Two writes.
    WriteThenWrite,
    /// A write, then a read.
    WriteThenRead,
    /// A read, then a write.
    ReadThenWrite,
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum HazardKind {
    /// Two invocations of one workgroup touch the same workgroup memory between two barriers.
    SharedRace {
        /// Which access came first.
        order: Order,
        /// Whether both wrote the same value.
        benign: bool,
    },
    /// Two invocations of one workgroup touch the same storage without a `storageBarrier` between.
    StorageRace {
        /// Which access came first.
        order: Order,
        /// Whether both wrote the same value.
        benign: bool,
    },
    /// Two workgroups touch the same storage; nothing orders workgroups.
    CrossWorkgroupRace {
        /// Which access came first.
        order: Order,
        /// Whether both wrote the same value.
        benign: bool,
    },
    /// An index that is not below the length; it was clamped to the last element.
    OutOfBounds {
        /// The index.
        index: i64,
        /// The elements there are.
        length: u64,
    },
    /// Workgroup memory read before any write: zero in WGSL, garbage in CUDA.
    UninitializedShared,
    /// A barrier that not all invocations of the workgroup reach.
    DivergentBarrier,
    /// A cooperative matrix operation that not all lanes of a subgroup reach, or with several pointers.
    PartialSubgroup,
    /// An integer divided by zero: WGSL gives the dividend (remainder: 0).
    DivisionByZero,
    /// The most negative integer divided by -1.
    DivisionOverflow,
    /// An index computation wrapped around 32 bits.
    IndexOverflow,
    /// An operation made a NaN out of numbers.
    NanBorn,
}

/// One hazard with an example and how often it happened.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Hazard {
    /// What is wrong.
    #[serde(flatten)]
    pub kind: HazardKind,
    /// How bad it is.
    pub severity: Severity,
    /// Where it was noticed: for a race, the later access.
    pub at: Site,
    /// The other side: the earlier access of a race, the arithmetic that wrapped, another barrier.
    pub other: Option<Site>,
    /// Variable or buffer concerned; empty when there is none.
    pub variable: String,
    /// Byte offset in that variable.
    pub address: Option<u64>,
    /// The example's workgroup.
    pub workgroup: [u32; 3],
    /// Its invocation, by local index.
    pub invocation: u32,
    /// All lanes of its warp that are concerned, a bit each.
    pub lanes: u32,
    /// The other access's workgroup, where known.
    pub other_workgroup: Option<[u32; 3]>,
    /// The other access's invocation, where known.
    pub other_invocation: Option<u32>,
    /// Occurrences, counted per warp instruction (races: per lane).
    pub count: u64,
}

impl Hazard {
    /// Is it a race between writes of equal values, which changes no result.
    pub fn is_benign(&self) -> bool {
        matches!(
            self.kind,
            HazardKind::SharedRace { benign: true, .. }
                | HazardKind::StorageRace { benign: true, .. }
                | HazardKind::CrossWorkgroupRace { benign: true, .. }
        )
    }
}

impl std::fmt::Display for Hazard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let order = |o: &Order| match o {
            Order::WriteThenWrite => "two writes",
            Order::WriteThenRead => "a write, then a read",
            Order::ReadThenWrite => "a read, then a write",
        };
        let same = |b: &bool| if *b { " (same value: benign)" } else { "" };
        write!(f, "line {}: ", self.at.line)?;
        match &self.kind {
            HazardKind::SharedRace { order: o, benign } => {
                write!(f, "race in workgroup memory: {} without a barrier between{}", order(o), same(benign))?
            }
            HazardKind::StorageRace { order: o, benign } => write!(
                f,
                "race in storage within a workgroup: {} without a storageBarrier between{}",
                order(o),
                same(benign)
            )?,
            HazardKind::CrossWorkgroupRace { order: o, benign } => {
                write!(f, "race in storage between workgroups: {}{}", order(o), same(benign))?
            }
            HazardKind::OutOfBounds { index, length } => write!(f, "index {index} out of range, length {length}")?,
            HazardKind::UninitializedShared => write!(f, "workgroup memory read before it is written")?,
            HazardKind::DivergentBarrier => write!(f, "barrier not reached by all invocations")?,
            HazardKind::PartialSubgroup => {
                write!(f, "cooperative operation not reached by the whole subgroup with one pointer and stride")?
            }
            HazardKind::DivisionByZero => write!(f, "integer division by zero")?,
            HazardKind::DivisionOverflow => write!(f, "integer division overflow")?,
            HazardKind::IndexOverflow => write!(f, "index arithmetic wraps around")?,
            HazardKind::NanBorn => write!(f, "NaN made from numbers")?,
        }
        if !self.variable.is_empty() {
            write!(f, ", `{}`", self.variable)?;
        }
        if let Some(a) = self.address {
            write!(f, " byte {a}")?;
        }
        write!(f, ", workgroup {:?} invocation {}", self.workgroup, self.invocation)?;
        if let Some(o) = &self.other {
            write!(f, "; the other side: line {}", o.line)?;
        }
        if self.count > 1 {
            write!(f, " ({} times)", self.count)?;
        }
        Ok(())
    }
}

/// Kinds inside the executor, where they are part of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum RawKind {
    SharedRace(Order, bool),
    StorageRace(Order, bool),
    CrossRace(Order, bool),
    OutOfBounds,
    Uninitialized,
    Divergent,
    PartialSubgroup,
    DivisionByZero,
    DivisionOverflow,
    IndexOverflow,
    NanBorn,
}

/// One occurrence.
#[derive(Debug, Clone, Copy)]
pub(super) struct Event {
    pub kind: RawKind,
    pub at: Span,
    pub other: Span,
    /// Access row that names the variable; `u16::MAX` for none.
    pub access: u16,
    pub address: Option<u64>,
    pub workgroup: u32,
    pub invocation: u32,
    pub lanes: u32,
    pub other_workgroup: Option<u32>,
    pub other_invocation: Option<u32>,
    pub index: i64,
    pub length: u64,
}

/// Occurrences by kind and place: the example of the lowest workgroup, and the number.
#[derive(Debug, Default)]
pub(super) struct Collector {
    found: HashMap<(RawKind, Span, Span), (Event, u64)>,
}

impl Collector {
    pub fn report(&mut self, e: Event) {
        self.found
            .entry((e.kind, e.at, e.other))
            .and_modify(|(first, n)| {
                *n += 1;
                if e.workgroup < first.workgroup {
                    *first = e;
                }
            })
            .or_insert((e, 1));
    }

    pub fn merge(&mut self, other: Collector) {
        for (key, (e, n)) in other.found {
            match self.found.get_mut(&key) {
                Some((first, m)) => {
                    *m += n;
                    if e.workgroup < first.workgroup {
                        *first = e;
                    }
                }
                None => {
                    self.found.insert(key, (e, n));
                }
            }
        }
    }

    pub fn any_cross_race(&self) -> bool {
        self.found.keys().any(|(k, ..)| matches!(k, RawKind::CrossRace(..)))
    }

    /// The hazards in the order of their lines.
    pub fn finish(self, source: &Source, variables: &[String], workgroups: [u32; 3]) -> Vec<Hazard> {
        let site = |s: Span| {
            let (line, column) = source.locate(s);
            Site { line, column, code: source.snippet(s).to_string() }
        };
        let place = |linear: u32| {
            let (x, y) = (workgroups[0].max(1), workgroups[1].max(1));
            [linear % x, linear / x % y, linear / x / y]
        };
        let mut all: Vec<_> = self.found.into_iter().collect();
        all.sort_by_key(|((kind, at, other), _)| (*at, *other, *kind));
        all.into_iter()
            .map(|((kind, at, other), (e, count))| {
                let kind_out = match kind {
                    RawKind::SharedRace(order, benign) => HazardKind::SharedRace { order, benign },
                    RawKind::StorageRace(order, benign) => HazardKind::StorageRace { order, benign },
                    RawKind::CrossRace(order, benign) => HazardKind::CrossWorkgroupRace { order, benign },
                    RawKind::OutOfBounds => HazardKind::OutOfBounds { index: e.index, length: e.length },
                    RawKind::Uninitialized => HazardKind::UninitializedShared,
                    RawKind::Divergent => HazardKind::DivergentBarrier,
                    RawKind::PartialSubgroup => HazardKind::PartialSubgroup,
                    RawKind::DivisionByZero => HazardKind::DivisionByZero,
                    RawKind::DivisionOverflow => HazardKind::DivisionOverflow,
                    RawKind::IndexOverflow => HazardKind::IndexOverflow,
                    RawKind::NanBorn => HazardKind::NanBorn,
                };
                let severity = match kind {
                    RawKind::SharedRace(_, benign)
                    | RawKind::StorageRace(_, benign)
                    | RawKind::CrossRace(_, benign)
                        if benign =>
                    {
                        Severity::Warning
                    }
                    RawKind::Uninitialized | RawKind::DivisionByZero | RawKind::DivisionOverflow | RawKind::NanBorn => {
                        Severity::Warning
                    }
                    _ => Severity::Error,
                };
                Hazard {
                    kind: kind_out,
                    severity,
                    at: site(at),
                    other: other.is_known().then(|| site(other)),
                    variable: variables.get(usize::from(e.access)).cloned().unwrap_or_default(),
                    address: e.address,
                    workgroup: place(e.workgroup),
                    invocation: e.invocation,
                    lanes: e.lanes,
                    other_workgroup: e.other_workgroup.map(place),
                    other_invocation: e.other_invocation,
                    count,
                }
            })
            .collect()
    }
}
