//! `list` and `info`: what there is.

use super::selectors::DeviceArguments;
use super::terminal::print;
use clap::Args;
use gpu_ladder::backend::{Any, BACKENDS, Backend};
use gpu_ladder::op::{self, Op};
use gpu_ladder::{Error, Result};

/// The flags of `list`.
#[derive(Args)]
pub struct ListArguments {
    /// Only this op.
    op: Option<String>,
    /// As JSON.
    #[arg(long)]
    json: bool,
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
        for op in ops {
            text.push_str(&format!("{}: {} ({})\n", op.name(), op.about(), op.dims().join(", ")));
            for rung in op.ladder() {
                text.push_str(&format!("  {:<20} {}\n", rung.id(), rung.idea));
            }
        }
    }
    print(&text);
    Ok(true)
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
            Err(error) => text.push_str(&format!("{name}: unavailable: {error}\n")),
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

fn describe(device: &gpu_ladder::backend::Device) -> String {
    let unknown = || "unknown".to_string();
    let count = |value: Option<u64>| value.map_or_else(unknown, |v| v.to_string());
    let limits = &device.limits;
    let software = if device.is_software() { "  software adapter: its times say nothing about a GPU\n" } else { "" };
    format!(
        "{}: {}\n{software}  driver {}, {}\n  memory {} bytes, last-level cache {} bytes, multiprocessors {}, warp {}{}\n  block {} threads, shared memory {} bytes ({} on request), buffer {} bytes, binding {} bytes\n  clock {}\n",
        device.backend,
        device.name,
        device.driver,
        device.api,
        count(device.memory),
        count(device.l2),
        count(device.multiprocessors.map(u64::from)),
        device.warp,
        device
            .compute_capability
            .map_or(String::new(), |(major, minor)| format!(", compute capability {major}.{minor}")),
        limits.threads_per_block,
        limits.shared_static,
        limits.shared_dynamic,
        limits.buffer,
        limits.binding,
        device.clock.name(),
    )
}
