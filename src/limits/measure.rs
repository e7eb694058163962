//! Measuring what a device can do at most, through the same rungs, verification and clocks as
//! everything else: the fastest verified rung of each op is the ceiling.

use super::{Ceiling, Ceilings, Kind};
use crate::backend::{Any, Clock};
use crate::element::Element;
use crate::error::{Error, Result};
use crate::op::{Copy, Matmul, MultiplyAdd, Op, SharedRead};
use crate::problem::Problem;
use crate::rung::Rung;
use crate::session::{Inputs, Session, Verdict, Verified};
use crate::timing::{Samples, Timing};

/// How large the problems are.
struct Sizes {
    /// Bytes of both buffers of each copy.
    copies: Vec<u64>,
    /// Elements that go through multiply-adds, and words of shared memory.
    elements: u64,
    /// Rows and columns of a product.
    side: u64,
}

impl Sizes {
    fn of(session: &Session<Any>) -> Sizes {
        let device = session.device();
        if device.is_software() {
            return Sizes { copies: vec![64 << 10, 1 << 20, 16 << 20], elements: 1 << 14, side: 256 };
        }
        // From what every cache holds to what none does, within what the device has.
        let most = device.memory.map_or(1 << 30, |memory| memory / 8).min(device.limits.buffer).min(1 << 30);
        let copies = (0..).map(|i| (1u64 << 20) << (2 * i)).take_while(|bytes| *bytes <= most).chain([most]);
        let mut copies: Vec<u64> = copies.collect();
        copies.dedup();
        Sizes { copies, elements: 1 << 23, side: 4096 }
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
    let floor = session.floor().await?;
    ceilings.push(Ceiling {
        kind: Kind::Launch,
        rung: "copy/scalar".into(),
        element: None,
        bytes: None,
        value: floor / 1e9,
        low: floor / 1e9,
        high: floor / 1e9,
        sm_clock_mhz: None,
    });
    for bytes in sizes.copies {
        progress(&format!("copy of {bytes} bytes"));
        let problem = Problem::new(Element::U32, [bytes / 8]);
        // What fits a cache is measured from there; the largest rotates like everything else.
        let timing = Timing { warm_cache: true, ..timing.clone() };
        if let Some(best) = best(session, &Copy, &problem, &timing).await? {
            let moved = Copy.work(&problem).bytes;
            ceilings.push(best.ceiling(Kind::Copy, None, Some(bytes), moved));
        }
    }
    for element in [Element::F32, Element::F16, Element::F64] {
        progress(&format!("multiply-adds of {element}"));
        let problem = Problem::new(element, [sizes.elements]);
        if let Some(best) = best(session, &MultiplyAdd, &problem, timing).await? {
            let flops = MultiplyAdd.work(&problem).flops;
            ceilings.push(best.ceiling(Kind::Arithmetic, Some(element), None, flops));
        }
    }
    progress("shared memory");
    let problem = Problem::new(Element::U32, [sizes.elements]);
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

/// The fastest rung of a ladder and its samples.
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
    let stage = match session.stage(op, problem, Inputs::Seeded(1)).await {
        Ok(stage) => stage,
        Err(Error::Limit { .. } | Error::OutOfMemory { .. } | Error::Unsupported { .. }) => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut proofs: Vec<Verified<Any>> = Vec::new();
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
    if proofs.is_empty() {
        return Ok(None);
    }
    let contenders: Vec<&Verified<Any>> = proofs.iter().collect();
    let samples = session.time(&contenders, timing).await?;
    let fastest = samples.into_iter().zip(&proofs).min_by(|a, b| a.0.median().total_cmp(&b.0.median()));
    Ok(fastest.map(|(samples, proof)| Best { rung: proof.label(), samples }))
}
