//! `limits`: the measured ceilings of a device, kept with it and used by the reports.

use super::output::{OutputArguments, TABLES};
use super::selectors::{DeviceArguments, missing};
use super::terminal::{Watched, complain, unicode};
use clap::Args;
use gpu_ladder::backend::{Any, BACKENDS, Backend, Clock, Device};
use gpu_ladder::limits::{Ceilings, measure, print, store};
use gpu_ladder::{Error, Result, Session, Timing};
use std::path::Path;
use std::time::Duration;

/// The flags of `limits`.
#[derive(Args)]
pub struct LimitsArguments {
    #[command(flatten)]
    device: DeviceArguments,
    /// Forget what is kept and measure everything again.
    #[arg(long)]
    again: bool,
    #[command(flatten)]
    timing: super::run::TimingArguments,
    #[command(flatten)]
    output: OutputArguments,
}

/// Measures or remembers, and prints.
pub fn limits(arguments: &LimitsArguments) -> Result<bool> {
    let asked_timing = arguments.timing.timing()?;
    let format = arguments.output.one_of(TABLES)?;
    let named = arguments.device.backend.as_slice();
    let asked: Vec<&str> = match named {
        [] => BACKENDS.iter().filter(|(name, built)| *built && *name != "sim").map(|(name, _)| *name).collect(),
        names => names.iter().map(String::as_str).collect(),
    };
    let mut open: Vec<Any> = Vec::new();
    let mut reasons = Vec::new();
    for name in asked {
        match pollster::block_on(Any::open_named(name, &arguments.device.select())) {
            Ok(any) if any.device().clock == Clock::None => {
                reasons.push(format!("{name}: it counts and does not time"))
            }
            // A device has its limits once, by the backend that opens it first; nobody asks for those of a
            // processor that imitates one beside it.
            Ok(any) if named.is_empty() && open.iter().any(|first| stands_for(first.device(), any.device())) => {}
            Ok(any) => open.push(any),
            Err(error @ Error::Unknown { .. }) => return Err(error),
            Err(error) => reasons.push(missing(name, &error)),
        }
    }
    for reason in &reasons {
        complain(reason);
    }
    if open.is_empty() {
        let because =
            if reasons.is_empty() { "this build has no backend with a clock".into() } else { reasons.join("; ") };
        return Err(Error::Unsupported { what: "limits".into(), because });
    }
    let devices = open.len() as u32;
    let (mut all, mut stopped) = (Vec::new(), None);
    for any in open {
        let mut timing = asked_timing.clone().unwrap_or_else(|| timing_for(any.device()));
        // One budget for all of them.
        timing.budget /= devices;
        let (ceilings, ended) = of_device(any, arguments.again, &timing);
        all.extend(ceilings);
        if ended.is_some() {
            stopped = ended;
            break;
        }
    }
    if !all.is_empty() {
        let unicode = arguments.output.output.is_none() && unicode();
        arguments.output.text(&print(format, &all, unicode)?)?;
    }
    stopped.map_or(Ok(true), Err)
}

/// Whether the limits of one device do for another that the caller did not name.
fn stands_for(one: &Device, other: &Device) -> bool {
    one.name == other.name || (!one.is_software() && other.is_software())
}

/// How to time where the caller has no wish; the budget is for all ceilings together.
fn timing_for(device: &Device) -> Timing {
    match device.is_software() {
        true => Timing { budget: Duration::from_secs(2), ..Timing::brief() },
        false => Timing { budget: Duration::from_secs(5), warmup: Duration::from_millis(50), ..Timing::default() },
    }
}

/// The ceilings of a device as far as they are known in the end, and what ended it before.
fn of_device(any: Any, again: bool, timing: &Timing) -> (Option<Ceilings>, Option<Error>) {
    let device = any.device().clone();
    let folder = store::folder();
    let mut known = if again { None } else { folder.as_ref().and_then(|folder| kept(folder, &device)) };
    if known.as_ref().is_some_and(|known| known.complete) {
        return (known, None);
    }
    let mut unkept = match folder {
        Some(_) => None,
        None => Some("GPU_LADDER_STATE: there is no folder for state".to_string()),
    };
    let before = known.clone();
    let mut keep = |ceilings: &Ceilings| {
        known = Some(ceilings.clone());
        if let Some(folder) = folder.as_ref().filter(|_| unkept.is_none()) {
            unkept = store::save(folder, ceilings).err().map(|error| error.to_string());
        }
    };
    let session = Session::new(any);
    let measured = pollster::block_on(measure(&session, timing, before, &mut Watched::new(), &mut keep));
    if let Some(because) = unkept {
        complain(&format!("the ceilings are not kept: {because}"));
    }
    (known, measured.err())
}

/// What is kept of a device and may be used or continued.
fn kept(folder: &Path, device: &Device) -> Option<Ceilings> {
    let known = store::load(folder, device).unwrap_or_else(|error| {
        complain(&format!("{error}; measuring again"));
        None
    })?;
    let about = format!("{} {}", device.backend, device.name);
    if known.complete {
        complain(&format!("{about}: kept from an earlier run; --again measures anew"));
        return Some(known);
    }
    // Half by one build and half by another would be neither's.
    if known.commit.as_deref() != option_env!("GPU_LADDER_COMMIT") {
        return None;
    }
    complain(&format!("{about}: {} ceilings are kept from an earlier run; measuring the others", known.ceilings.len()));
    Some(known)
}
