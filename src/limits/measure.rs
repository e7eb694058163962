//! Measuring what a device can do at most, through the same rungs, verification and clocks as
//! everything else: the fastest verified rung of each op is the ceiling.

use super::{Ceiling, Ceilings, Kind};
use crate::backend::{Any, Clock};
use crate::element::Element;
use crate::error::{Error, Result};
use crate::op::{Copy, HierarchyBandwidth, HierarchyLatency, Matmul, MultiplyAdd, Op, SharedRead};
use crate::problem::Problem;
use crate::rung::Rung;
use crate::session::{Inputs, Session, Verdict, Verified};
use crate::timing::{Samples, Timing};

/// Bytes of a set that is walked through in shared memory.
const SHARED_SET: u64 = 8 << 10;

/// Elements of a multiprocessor full of threads that run eight chains each, and how many times over.
const WAVE: u64 = 2048 * 8;
const WAVES: u64 = 8;

/// How large the problems are.
struct Sizes {
    /// Bytes of both buffers of each copy.
    copies: Vec<u64>,
    /// Elements that go through multiply-adds; a quarter as many words are read in shared memory.
    elements: u64,
    /// Rows and columns of a product.
    side: u64,
    /// Bytes of the sets that all threads read, and that one thread walks through: what the first level
    /// holds, what the last one holds, and what none does.
    sets: Vec<u64>,
    /// Loads of each thread that reads a set, and of the one that walks.
    loads: u64,
    hops: u64,
}

impl Sizes {
    fn of(session: &Session<Any>) -> Sizes {
        let device = session.device();
        if device.is_software() {
            let copies = vec![64 << 10, 1 << 20, 16 << 20];
            return Sizes { copies, elements: 1 << 14, side: 256, sets: vec![16 << 10], loads: 1, hops: 1 << 10 };
        }
        // From what every cache holds to what none does, within what the device has.
        let most = device.memory.map_or(1 << 30, |memory| memory / 8).min(device.limits.buffer).min(1 << 30);
        let copies = (0..).map(|i| (1u64 << 20) << (2 * i)).take_while(|bytes| *bytes <= most).chain([most]);
        let mut copies: Vec<u64> = copies.collect();
        copies.dedup();
        // Half of the last level: nobody shares it out evenly. Its size is a guess where no driver tells.
        let last = (device.l2_or_guess() / 2).max(1 << 20);
        let sets = vec![16 << 10, last, (8 * last).min(most)];
        // Whole waves of blocks, so that no multiprocessor idles while others finish the last one.
        let elements = u64::from(device.multiprocessors.unwrap_or(128)) * WAVE * WAVES;
        Sizes { copies, elements, side: 4096, sets, loads: 256, hops: 1 << 13 }
    }
}

/// Measures all ceilings of a device.
///
/// # Errors
/// [`Error::Unsupported`] where the backend has no clock; what the device reports. What this device
/// or language cannot do is left out.
pub async fn measure(session: &Session<Any>, timing: &Timing, progress: &mut dyn FnMut(&str)) -> Result<Ceilings> {
    let device = session.device().clone();
    if device.clock == Clock::None {
        return Err(Error::unsupported(format!("limits of {}", device.backend), "it counts and does not time"));
    }
    let sizes = Sizes::of(session);
    let mut ceilings = Vec::new();
    progress("launch");
    let one = Problem::new(Element::F32, [1]);
    if let Some(best) = best_of(session, &Copy, &Copy.ladder()[..1], &one, timing).await? {
        ceilings.push(best.time(Kind::Launch));
    }
    let yardsticks: Vec<Rung> = Copy::yardsticks().cloned().collect();
    for &bytes in &sizes.copies {
        progress(&format!("copy of {bytes} bytes"));
        let problem = Problem::new(Element::U32, [bytes / 8]);
        // What fits a cache is measured from there; the largest rotates like everything else.
        let timing = Timing { warm_cache: true, ..timing.clone() };
        let (moved, mut all) =
            (Copy.work(&problem).bytes, each_of(session, &Copy, &yardsticks, &problem, &timing).await?);
        all.sort_by(|a, b| a.samples.median().total_cmp(&b.samples.median()));
        ceilings.extend(all.first().map(|best| best.ceiling(Kind::Copy, None, Some(bytes), moved)));
        if Some(&bytes) == sizes.copies.last() {
            // What the driver itself does, beside what kernels can.
            let driver = all.iter().skip(1).find(|one| one.rung.ends_with("/buffer_copy"));
            ceilings.extend(driver.map(|one| one.ceiling(Kind::Copy, None, Some(bytes), moved)));
        }
    }
    levels(session, &sizes, timing, progress, &mut ceilings).await?;
    for element in [Element::F32, Element::F16, Element::F64] {
        progress(&format!("multiply-adds of {element}"));
        let problem = Problem::new(element, [sizes.elements]);
        if let Some(best) = best(session, &MultiplyAdd, &problem, timing).await? {
            let flops = MultiplyAdd.work(&problem).flops;
            ceilings.push(best.ceiling(Kind::Arithmetic, Some(element), None, flops));
        }
    }
    progress("shared memory");
    let problem = Problem::new(Element::U32, [sizes.elements / 4]);
    if let Some(best) = best(session, &SharedRead, &problem, timing).await? {
        // Each addition reads one word.
        let bytes = 4.0 * SharedRead.work(&problem).flops;
        ceilings.push(best.ceiling(Kind::Shared, None, None, bytes));
    }
    let problem = Problem::new(Element::F16, [sizes.side; 3]);
    // The ladder of matrix units is long, and its choice for this problem is measured already.
    if let Some(chosen) = Matmul.select(&device, &problem).filter(|_| Matmul.check(&problem).is_ok()) {
        progress("products of f16");
        if let Some(best) = best_of(session, &Matmul, std::slice::from_ref(chosen), &problem, timing).await? {
            let flops = Matmul.work(&problem).flops;
            ceilings.push(best.ceiling(Kind::Tensor, Some(problem.element), None, flops));
        }
    }
    Ok(Ceilings {
        device: device.name.clone(),
        driver: device.driver.clone(),
        backend: device.backend.into(),
        software_adapter: device.is_software(),
        clock: device.clock.name().into(),
        commit: option_env!("GPU_LADDER_COMMIT").map(str::to_string),
        ceilings,
    })
}

/// How fast each level of memory is read by all, and how long one load from it takes.
async fn levels(
    session: &Session<Any>,
    sizes: &Sizes,
    timing: &Timing,
    progress: &mut dyn FnMut(&str),
    ceilings: &mut Vec<Ceiling>,
) -> Result<()> {
    // A set is read again and again by each launch; what it displaces between launches does not count.
    let timing = Timing { warm_cache: true, ..timing.clone() };
    for &bytes in &sizes.sets {
        progress(&format!("reads of a set of {bytes} bytes"));
        let problem = Problem::new(Element::U32, [bytes / 4, sizes.loads]);
        let plain = &HierarchyBandwidth.ladder()[..1];
        if let Some(best) = best_of(session, &HierarchyBandwidth, plain, &problem, &timing).await? {
            ceilings.push(best.ceiling(Kind::Read, None, Some(bytes), HierarchyBandwidth.work(&problem).bytes));
        }
    }
    // A copy of more than the last level holds leaves nothing of a set in any cache.
    let flush = Problem::new(Element::U32, [session.device().l2_or_guess() / 4]);
    let flush = all_of(session, &Copy, &Copy.ladder()[..1], &flush).await?;
    for (index, &bytes) in sizes.sets.iter().chain([&SHARED_SET]).enumerate() {
        progress(&format!("latency in a set of {bytes} bytes"));
        let rung = if index == sizes.sets.len() { "shared" } else { "cached" };
        let beyond = index == sizes.sets.len() - 1 && index > 0;
        let rungs: Vec<Rung> = HierarchyLatency.ladder().iter().filter(|r| r.name == rung).cloned().collect();
        let mut proofs = Vec::new();
        // Two numbers of loads: their difference leaves the launch out.
        for hops in [sizes.hops, 2 * sizes.hops] {
            let problem = Problem::new(Element::U32, [bytes / 4, hops]);
            proofs.append(&mut all_of(session, &HierarchyLatency, &rungs, &problem).await?);
        }
        let [short, long] = proofs.as_slice() else { continue };
        // Whatever order a round takes, most walks come after a flush, and the median is of those.
        const FLUSHES: usize = 4;
        let flushes = flush.iter().filter(|_| beyond).flat_map(|flush| [flush; FLUSHES]);
        let contenders: Vec<&Verified<Any>> = [short, long].into_iter().chain(flushes).collect();
        let mut walks = session.time(&contenders, &timing).await?.into_iter();
        let (Some(less), Some(more)) = (walks.next(), walks.next()) else { continue };
        let of = |samples: Samples| Best { rung: long.label(), samples };
        ceilings.push(of(more).latency(&of(less), bytes, sizes.hops));
    }
    Ok(())
}

/// A rung and its samples.
struct Best {
    rung: String,
    samples: Samples,
}

impl Best {
    /// The ceiling that it sets, for so much work in its time.
    fn ceiling(&self, kind: Kind, element: Option<Element>, bytes: Option<u64>, work: f64) -> Ceiling {
        let (low, high) = self.samples.median_interval();
        Ceiling {
            kind,
            rung: self.rung.clone(),
            element: element.map(|e| e.name().to_string()),
            bytes,
            value: work / self.samples.median() * 1e9,
            low: work / high * 1e9,
            high: work / low * 1e9,
            sm_clock_mhz: self.samples.telemetry.sm_clock_mhz,
        }
    }

    /// Its time itself, in seconds.
    fn time(&self, kind: Kind) -> Ceiling {
        let (low, high) = self.samples.median_interval();
        let [value, low, high] = [self.samples.median(), low, high].map(|ns| ns / 1e9);
        Ceiling { value, low, high, ..self.ceiling(kind, None, None, 0.0) }
    }

    /// The seconds of each of the `hops` loads that it did more than `short`.
    fn latency(&self, short: &Best, bytes: u64, hops: u64) -> Ceiling {
        let (less, more) = (short.time(Kind::Latency), self.time(Kind::Latency));
        let each = |seconds: f64| seconds / hops as f64;
        Ceiling {
            value: each(more.value - less.value).max(0.0),
            // The medians' intervals may overlap where a clock is coarse.
            low: each(more.low - less.high).max(0.0),
            high: each(more.high - less.low),
            bytes: Some(bytes),
            ..more
        }
    }
}

/// The fastest verified rung of a ladder for a problem; `None` where none can run here.
async fn best(session: &Session<Any>, op: &'static dyn Op, problem: &Problem, timing: &Timing) -> Result<Option<Best>> {
    best_of(session, op, op.ladder(), problem, timing).await
}

/// The same among some rungs.
async fn best_of(
    session: &Session<Any>,
    op: &'static dyn Op,
    rungs: &[Rung],
    problem: &Problem,
    timing: &Timing,
) -> Result<Option<Best>> {
    let all = each_of(session, op, rungs, problem, timing).await?;
    Ok(all.into_iter().min_by(|a, b| a.samples.median().total_cmp(&b.samples.median())))
}

/// The samples of each of some rungs that run here, timed side by side.
async fn each_of(
    session: &Session<Any>,
    op: &'static dyn Op,
    rungs: &[Rung],
    problem: &Problem,
    timing: &Timing,
) -> Result<Vec<Best>> {
    let proofs = all_of(session, op, rungs, problem).await?;
    if proofs.is_empty() {
        return Ok(Vec::new());
    }
    let contenders: Vec<&Verified<Any>> = proofs.iter().collect();
    let samples = session.time(&contenders, timing).await?;
    Ok(samples.into_iter().zip(&proofs).map(|(samples, proof)| Best { rung: proof.label(), samples }).collect())
}

/// Those of some rungs that run here, verified.
async fn all_of(
    session: &Session<Any>,
    op: &'static dyn Op,
    rungs: &[Rung],
    problem: &Problem,
) -> Result<Vec<Verified<Any>>> {
    let mut proofs = Vec::new();
    let stage = match session.stage(op, problem, Inputs::Seeded(1)).await {
        Ok(stage) => stage,
        Err(Error::Limit { .. } | Error::OutOfMemory { .. } | Error::Unsupported { .. }) => return Ok(proofs),
        Err(error) => return Err(error),
    };
    for rung in rungs {
        let prepared = match session.prepare(&stage, rung).await {
            Ok(prepared) => prepared,
            Err(Error::Limit { .. } | Error::Unsupported { .. } | Error::OutOfMemory { .. }) => continue,
            Err(error) => return Err(error),
        };
        match session.verify(prepared).await? {
            Verdict::Pass(proof) => proofs.push(proof),
            Verdict::Fail(mismatch) => return Err(Error::device(format!("{}/{}", op.name(), rung.id()), mismatch)),
        }
    }
    Ok(proofs)
}
