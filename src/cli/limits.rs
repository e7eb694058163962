//! `limits`: the measured ceilings of a device, kept with it and used by the reports.

use super::output::OutputArguments;
use super::selectors::DeviceArguments;
use super::terminal::{Spinner, complain, unicode};
use clap::Args;
use gpu_ladder::backend::{Any, BACKENDS, Backend, Clock};
use gpu_ladder::climb::timing_for;
use gpu_ladder::limits::{Ceilings, measure, print, store};
use gpu_ladder::{Error, Result, Session, Timing};

/// The flags of `limits`.
#[derive(Args)]
pub struct LimitsArguments {
    #[command(flatten)]
    device: DeviceArguments,
    /// Measure again even where kept ceilings are there.
    #[arg(long)]
    again: bool,
    #[command(flatten)]
    timing: super::run::TimingArguments,
    #[command(flatten)]
    output: OutputArguments,
}

/// Measures or remembers, and prints.
pub fn limits(arguments: &LimitsArguments) -> Result<bool> {
    let timing = arguments.timing.timing()?;
    let format = arguments.output.format.as_deref().unwrap_or("table");
    print(format, &[], false)?;
    let named = arguments.device.backend.as_slice();
    let asked: Vec<&str> = match named {
        [] => BACKENDS.iter().filter(|(name, built)| *built && *name != "sim").map(|(name, _)| *name).collect(),
        names => names.iter().map(String::as_str).collect(),
    };
    let mut all = Vec::new();
    let mut reasons = Vec::new();
    for name in asked {
        match pollster::block_on(Any::open_named(name, &arguments.device.select())) {
            Ok(any) if any.device().clock == Clock::None => {
                reasons.push(format!("{name}: it counts and does not time"))
            }
            Ok(any) => all.push(of_device(any, arguments.again, timing.clone())?),
            Err(error @ Error::Unknown { .. }) => return Err(error),
            Err(error) => reasons.push(format!("{name}: {error}")),
        }
    }
    for reason in &reasons {
        complain(reason);
    }
    if all.is_empty() {
        let because =
            if reasons.is_empty() { "this build has no backend with a clock".into() } else { reasons.join("; ") };
        return Err(Error::Unsupported { what: "limits".into(), because });
    }
    let unicode = arguments.output.output.is_none() && unicode();
    arguments.output.text(&print(format, &all, unicode)?)?;
    Ok(true)
}

fn of_device(any: Any, again: bool, timing: Option<Timing>) -> Result<Ceilings> {
    let device = any.device().clone();
    let folder = store::folder();
    if !again && let Some(folder) = &folder {
        match store::load(folder, &device) {
            Ok(Some(kept)) => {
                complain(&format!(
                    "{} {}: kept from an earlier run; --again measures anew",
                    device.backend, device.name
                ));
                return Ok(kept);
            }
            Ok(None) => {}
            Err(error) => complain(&format!("{error}; measuring again")),
        }
    }
    let timing = timing.unwrap_or_else(|| timing_for(&device));
    let spinner = Spinner::new();
    let say = |what: &str| spinner.say(&format!("{}: {what}", device.backend));
    let session = Session::new(any);
    let ceilings = pollster::block_on(measure(&session, &timing, &mut |what: &str| say(what)))?;
    drop(spinner);
    match folder
        .ok_or_else(|| Error::File { path: "GPU_LADDER_STATE".into(), problem: "there is no folder for state".into() })
        .and_then(|folder| store::save(&folder, &ceilings))
    {
        Ok(_) => {}
        Err(error) => complain(&format!("the ceilings are not kept: {error}")),
    }
    Ok(ceilings)
}
