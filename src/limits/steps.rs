//! What there is to measure on a device, and at which sizes.

use super::{Ceiling, Ceilings, Kind};
use crate::backend::{Any, Device};
use crate::element::Element;
use crate::problem::Problem;
use crate::session::Session;

/// Bytes of a set that is walked through in shared memory.
const SHARED_SET: u64 = 8 << 10;

/// Elements of a multiprocessor full of threads that run eight chains each, and how many times over.
const WAVE: u64 = 2048 * 8;
const WAVES: u64 = 8;

/// One thing to measure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Step {
    /// The smallest launch.
    Launch,
    /// Copies, of so many bytes in both buffers.
    Copy { bytes: u64, largest: bool },
    /// All threads reading a set again and again.
    Read { bytes: u64, loads: u64 },
    /// One thread walking through a set, that no cache holds where it is `beyond` them.
    Latency { bytes: u64, hops: u64, shared: bool, beyond: bool },
    /// Multiply-adds.
    Arithmetic { element: Element, count: u64 },
    /// Words read in shared memory.
    Shared { words: u64 },
    /// A product by what the library selects.
    Product { side: u64 },
}

impl Step {
    /// What is measured, for those who wait.
    pub fn about(&self) -> String {
        match self {
            Step::Launch => "launches".into(),
            Step::Copy { bytes, .. } => format!("copy of {}", size(*bytes)),
            Step::Read { bytes, .. } => format!("reads of {}", size(*bytes)),
            Step::Latency { shared: true, .. } => "latency of shared memory".into(),
            Step::Latency { bytes, .. } => format!("latency in {}", size(*bytes)),
            Step::Arithmetic { element, .. } => format!("multiply-adds of {element}"),
            Step::Shared { .. } => "shared memory".into(),
            Step::Product { .. } => "products of f16".into(),
        }
    }

    /// Whether a ceiling came from this.
    pub fn made(&self, ceiling: &Ceiling) -> bool {
        let of = |kind, element: Option<Element>, bytes| {
            ceiling.kind == kind && ceiling.element.as_deref() == element.map(Element::name) && ceiling.bytes == bytes
        };
        match *self {
            Step::Launch => of(Kind::Launch, None, None),
            Step::Copy { bytes, .. } => of(Kind::Copy, None, Some(bytes)),
            Step::Read { bytes, .. } => of(Kind::Read, None, Some(bytes)),
            Step::Latency { bytes, .. } => of(Kind::Latency, None, Some(bytes)),
            Step::Arithmetic { element, .. } => of(Kind::Arithmetic, Some(element), None),
            Step::Shared { .. } => of(Kind::Shared, None, None),
            Step::Product { .. } => of(Kind::Tensor, Some(Element::F16), None),
        }
    }

    /// Whether it is measured already.
    pub fn is_in(&self, ceilings: &Ceilings) -> bool {
        ceilings.ceilings.iter().any(|ceiling| self.made(ceiling))
    }

    /// The same problem as the op sees it, where it is one.
    pub fn problem(&self) -> Problem {
        match *self {
            Step::Launch => Problem::new(Element::F32, [1]),
            Step::Copy { bytes, .. } => Problem::new(Element::U32, [bytes / 8]),
            Step::Read { bytes, loads } => Problem::new(Element::U32, [bytes / 4, loads]),
            Step::Latency { bytes, hops, .. } => Problem::new(Element::U32, [bytes / 4, hops]),
            Step::Arithmetic { element, count } => Problem::new(element, [count]),
            Step::Shared { words } => Problem::new(Element::U32, [words]),
            Step::Product { side } => Problem::new(Element::F16, [side; 3]),
        }
    }
}

/// Everything to measure on a device, in the order of the table.
pub(super) fn of(session: &Session<Any>) -> Vec<Step> {
    let device = session.device();
    let software = device.is_software();
    let (copies, sets) = if software { imitated() } else { sizes(device) };
    let loads = if software { 1 } else { 256 };
    let hops = if software { 1 << 10 } else { 1 << 13 };
    // Whole waves of blocks, so that no multiprocessor idles while others finish the last one.
    let count = if software { 1 << 14 } else { u64::from(device.multiprocessors.unwrap_or(128)) * WAVE * WAVES };
    let largest = copies.last().copied();
    let last = sets.len() - 1;
    let mut steps = vec![Step::Launch];
    steps.extend(copies.iter().map(|&bytes| Step::Copy { bytes, largest: Some(bytes) == largest }));
    steps.extend(sets.iter().map(|&bytes| Step::Read { bytes, loads }));
    steps.extend(sets.iter().enumerate().map(|(index, &bytes)| {
        let beyond = index == last && index > 0;
        Step::Latency { bytes, hops, shared: false, beyond }
    }));
    steps.push(Step::Latency { bytes: SHARED_SET, hops, shared: true, beyond: false });
    let elements = [Element::F32, Element::F16, Element::F64];
    steps.extend(elements.map(|element| Step::Arithmetic { element, count }));
    steps.push(Step::Shared { words: count / 4 });
    steps.push(Step::Product { side: if software { 256 } else { 4096 } });
    steps
}

/// Bytes of both buffers of each copy, and of the sets: what the first level holds, what the last one
/// does, and what none does.
fn sizes(device: &Device) -> (Vec<u64>, Vec<u64>) {
    // From what every cache holds to what none does, within what the device has.
    let most = device.memory.map_or(1 << 30, |memory| memory / 8).min(device.limits.buffer).min(1 << 30);
    let copies = (0..).map(|i| (1u64 << 20) << (2 * i)).take_while(|bytes| *bytes <= most).chain([most]);
    let mut copies: Vec<u64> = copies.collect();
    copies.dedup();
    // Half of the last level: nobody shares it out evenly. Its size is a guess where no driver tells.
    let last = (device.l2_or_guess() / 2).max(1 << 20);
    (copies, vec![16 << 10, last, (8 * last).min(most)])
}

/// The same for a processor that imitates a GPU.
fn imitated() -> (Vec<u64>, Vec<u64>) {
    (vec![64 << 10, 1 << 20, 16 << 20], vec![16 << 10])
}

/// A number of bytes in the largest unit that it fills.
pub(super) fn size(bytes: u64) -> String {
    let units = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let (size, unit) = units.into_iter().find(|(size, _)| bytes >= *size).unwrap_or((1, "B"));
    format!("{} {unit}", bytes / size)
}
