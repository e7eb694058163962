//! `list` and `info`: what there is.

use super::selectors::{DeviceArguments, missing};
use super::terminal::print;
use clap::Args;
use gpu_ladder::backend::{Any, BACKENDS, Backend, Clock, Device};
use gpu_ladder::op::{self, Op};
use gpu_ladder::rung::Rung;
use gpu_ladder::words::{self, Language};
use gpu_ladder::{Error, Result};

/// The flags of `list`.
#[derive(Args)]
pub struct ListArguments {
    /// Only this op.
    op: Option<String>,
    /// As JSON.
    #[arg(long)]
    json: bool,
    /// en or zh (default: the locale's).
    #[arg(long)]
    lang: Option<String>,
}

/// The flags of `info`.
#[derive(Args)]
pub struct InfoArguments {
    #[command(flatten)]
    device: DeviceArguments,
}

/// Lists ops and rungs.
pub fn list(arguments: &ListArguments) -> Result<bool> {
    let ops: Vec<&dyn Op> = match &arguments.op {
        Some(name) => vec![op::find(name)?],
        None => op::OPS.to_vec(),
    };
    let mut text = String::new();
    if arguments.json {
        let ladder = |op: &dyn Op| -> Vec<_> {
            let rung = |r: &gpu_ladder::rung::Rung| serde_json::json!({ "rung": r.id(), "idea": r.idea, "because": r.because });
            op.ladder().iter().map(rung).collect()
        };
        let ops: Vec<_> = ops
            .iter()
            .map(|op| serde_json::json!({ "op": op.name(), "about": op.about(), "dims": op.dims(), "ladder": ladder(*op) }))
            .collect();
        text.push_str(&format!("{:#}\n", serde_json::json!({ "ops": ops })));
    } else {
        let language = super::output::language(arguments.lang.as_deref())?;
        for op in ops {
            text.push_str(&format!("{}: {} ({})\n", op.name(), op.about(), op.dims().join(", ")));
            text += &if arguments.op.is_some() { reasons(op, language) } else { ideas(op, language) };
        }
        if arguments.op.is_none() {
            text += "`list OP` tells why each rung pays, `explain OP/RUNG` what each of its lines does\n";
        }
    }
    print(&text);
    Ok(true)
}

/// A line for each rung; variants that share their idea share a line.
fn ideas(op: &dyn Op, language: Language) -> String {
    let mut text = String::new();
    for (place, rung) in op.ladder().iter().enumerate() {
        let same = |r: &&Rung| r.name == rung.name && r.idea == rung.idea;
        if op.ladder()[..place].iter().any(|r| same(&r)) {
            continue;
        }
        let variants = op.ladder().iter().filter(same).count();
        let label = if variants > 1 { format!("{} ({variants})", rung.name) } else { rung.id() };
        text += &format!("  {label:<26} {}\n", words::idea(rung, language));
    }
    text
}

/// Every rung with its idea and why that pays.
fn reasons(op: &dyn Op, language: Language) -> String {
    let line = |rung: &Rung| {
        let idea = words::idea(rung, language);
        format!("  {:<22} {idea}\n  {:<22} -> {}\n", rung.id(), "", words::because(rung, language))
    };
    op.ladder().iter().map(line).collect()
}

/// Describes devices.
pub fn info(arguments: &InfoArguments) -> Result<bool> {
    let arguments = &arguments.device;
    let select = arguments.select();
    let asked: Vec<&str> = match arguments.backend.as_slice() {
        [] => BACKENDS.iter().map(|(name, _)| *name).collect(),
        names => names.iter().map(String::as_str).collect(),
    };
    let mut text = String::new();
    let mut opened = 0;
    for name in asked {
        match pollster::block_on(Any::open_named(name, &select)) {
            Ok(any) => {
                opened += 1;
                text.push_str(&describe(any.device()));
            }
            Err(error @ Error::Unknown { .. }) => return Err(error),
            Err(error) => text += &format!("{}\n", missing(name, &error)),
        }
    }
    print(&text);
    // Looking is no failure; asking for one backend by name and not getting it is.
    if opened == 0 && !arguments.backend.is_empty() {
        return Err(Error::Option {
            option: "--backend",
            value: arguments.backend.join(", "),
            problem: "none of them opened".into(),
        });
    }
    Ok(true)
}

fn describe(device: &Device) -> String {
    let known = |what: &str, value: Option<String>| value.map(|value| format!("{what} {value}"));
    let limits = &device.limits;
    let parts = [
        known("memory", device.memory.map(bytes)),
        known("last-level cache", device.l2.map(bytes)),
        known("multiprocessors", device.multiprocessors.map(|count| count.to_string())),
        known("warp", Some(device.warp.to_string())),
        known("compute capability", device.compute_capability.map(|(major, minor)| format!("{major}.{minor}"))),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let counts = device.clock == Clock::None;
    let software = match (device.is_software(), counts) {
        (true, true) => "  a simulator: it counts, and has no times\n",
        (true, false) => "  software adapter: its times say nothing about a GPU\n",
        _ => "",
    };
    let clock = if counts { String::new() } else { format!("  times by the {} clock\n", device.clock.name()) };
    format!(
        "{}: {}\n{software}  driver {}, {}\n  {}\n  block of {} threads, shared memory {} ({} on request), buffer {}, binding {}\n{clock}",
        device.backend,
        device.name,
        device.driver,
        device.api,
        parts.join(", "),
        limits.threads_per_block,
        bytes(limits.shared_static.into()),
        bytes(limits.shared_dynamic.into()),
        bytes(limits.buffer),
        bytes(limits.binding),
    )
}

/// Bytes in the largest unit, with as many digits as tell them apart.
fn bytes(count: u64) -> String {
    let units = [(1u64 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let Some((size, unit)) = units.into_iter().find(|(size, _)| count >= *size) else { return format!("{count} B") };
    let digits = usize::from(!count.is_multiple_of(size));
    format!("{:.digits$} {unit}", count as f64 / size as f64)
}
