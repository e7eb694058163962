//! `check FILE.wgsl`: any compute shader on the simulator, no GPU needed.

use super::explain::{annotated, summary, text_or_json};
use super::output::{bad, whole};
use super::terminal::{complain, print};
use clap::Args;
use gpu_ladder::diagnose::{Finding, Measured, diagnose};
use gpu_ladder::op::Distribution;
use gpu_ladder::sim::{Binding, BindingKind, Machine, Options, Program, SimError};
use gpu_ladder::{Element, Error, Result, npy, random};
use std::path::{Path, PathBuf};

/// The flags of `check`; a TOML file may give the same by the same names.
#[derive(Args)]
pub struct CheckArguments {
    /// The shader.
    file: PathBuf,
    /// The entry point; not needed where there is only one.
    #[arg(long)]
    entry: Option<String>,
    /// Workgroups, as X or X,Y or X,Y,Z.
    #[arg(long, value_delimiter = ',', value_parser = whole::<u32>)]
    groups: Vec<u32>,
    /// A buffer, as BINDING=DATA or GROUP.BINDING=DATA. DATA is 1024xf32 (seeded random), 4096 (bytes of
    /// zeros), u32:1,2,3 (values) or a path of a .npy file of f32.
    #[arg(long)]
    buffer: Vec<String>,
    /// The value of a pipeline-overridable constant, as NAME=VALUE.
    #[arg(long = "override")]
    overrides: Vec<String>,
    /// entry, groups, buffer, override, machine and seed from a TOML file; flags win.
    #[arg(long)]
    config: Option<PathBuf>,
    /// The machine model.
    #[arg(long)]
    machine: Option<String>,
    /// The seed of random buffers.
    #[arg(long, value_parser = whole::<u64>)]
    seed: Option<u64>,
    /// text or json.
    #[arg(long, default_value = "text")]
    format: String,
    /// en or zh (default: the locale's).
    #[arg(long)]
    lang: Option<String>,
}

/// What a TOML file may hold.
#[derive(serde::Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct Config {
    entry: Option<String>,
    groups: Vec<u32>,
    buffer: std::collections::BTreeMap<String, String>,
    #[serde(rename = "override")]
    overrides: std::collections::BTreeMap<String, f64>,
    machine: Option<String>,
    seed: Option<u64>,
}

fn file_error(path: &Path, problem: impl std::fmt::Display) -> Error {
    Error::File { path: path.display().to_string(), problem: problem.to_string() }
}

/// Runs the shader and prints what was found; false for a hazard.
pub fn check(arguments: &CheckArguments) -> Result<bool> {
    let json = text_or_json(&arguments.format)?;
    let language = super::output::language(arguments.lang.as_deref())?;
    let source = std::fs::read_to_string(&arguments.file).map_err(|e| file_error(&arguments.file, e))?;
    let config = match &arguments.config {
        None => Config::default(),
        Some(path) => {
            let text = std::fs::read_to_string(path).map_err(|e| file_error(path, e))?;
            toml::from_str(&text).map_err(|e| file_error(path, e))?
        }
    };
    let name = arguments.machine.clone().or(config.machine).unwrap_or("nvidia-h200".into());
    let machine = Machine::load(&name).map_err(|e| bad("--machine", &name, e.to_string()))?;
    let mut overrides: Vec<(String, f64)> = config.overrides.into_iter().collect();
    for text in &arguments.overrides {
        let (name, value) = text.split_once('=').ok_or_else(|| bad("--override", text, "it is given as NAME=VALUE"))?;
        let value = value.parse().map_err(|_| bad("--override", text, "the value is a number"))?;
        overrides.retain(|(n, _)| n != name);
        overrides.push((name.into(), value));
    }
    let overrides: Vec<(&str, f64)> = overrides.iter().map(|(n, v)| (n.as_str(), *v)).collect();
    let entry = arguments.entry.as_deref().or(config.entry.as_deref());
    let in_file = |error: SimError| file_error(&arguments.file, error);
    let program = Program::new(&source, entry, &overrides).map_err(in_file)?;
    let groups = if arguments.groups.is_empty() { config.groups } else { arguments.groups.clone() };
    let groups = workgroups(&groups)?;
    let mut given: Vec<(String, String)> = config.buffer.into_iter().collect();
    for text in &arguments.buffer {
        let (place, data) = text.split_once('=').ok_or_else(|| bad("--buffer", text, "it is given as BINDING=DATA"))?;
        given.retain(|(p, _)| p != place);
        given.push((place.into(), data.into()));
    }
    let mut bindings = buffers(&given, arguments.seed.or(config.seed).unwrap_or(1))?;
    tell_of_strays(&program, &bindings);
    zeroed_uniforms(&program, &mut bindings);
    let needed = |error: SimError| match error.to_string() {
        text if text.starts_with("no buffer") => {
            file_error(&arguments.file, format!("{text}; give it by --buffer, such as --buffer 0=1024xf32"))
        }
        text => file_error(&arguments.file, text),
    };
    let profile = program.run(&machine, &mut bindings, groups, &Options::default()).map_err(needed)?;
    let findings = diagnose(&profile, &machine, Measured::default());
    if json {
        let document = serde_json::json!({
            "file": arguments.file.display().to_string(),
            "passed": !profile.has_errors(),
            "findings": findings.iter().map(Finding::to_string).collect::<Vec<_>>(),
            "profile": profile,
        });
        print(&format!("{document:#}\n"));
    } else {
        let [x, y, z] = groups;
        let head = format!(
            "{}, entry {}, {x}x{y}x{z} workgroups, simulated {name}\n",
            arguments.file.display(),
            program.entry()
        );
        print(&format!(
            "{head}{}{}",
            annotated(&source, &profile, language),
            summary(&profile, &machine, &findings, language)
        ));
    }
    Ok(!profile.has_errors())
}

fn workgroups(groups: &[u32]) -> Result<[u32; 3]> {
    /// What every WebGPU device takes in each direction.
    const MOST: u32 = 65_535;
    let refused = |problem: String| bad("--groups", format!("{groups:?}"), problem);
    if groups.len() > 3 {
        return Err(refused("at most three numbers".into()));
    }
    if groups.iter().any(|count| !(1..=MOST).contains(count)) {
        return Err(refused(format!("each is from 1 to {MOST}")));
    }
    Ok([0, 1, 2].map(|axis| groups.get(axis).copied().unwrap_or(1)))
}

/// Tells of buffers for bindings that the entry point does not use: a slip of the number, perhaps.
fn tell_of_strays(program: &Program, bindings: &[Binding]) {
    let used: Vec<(u32, u32)> = program.bindings().iter().map(|info| (info.group, info.binding)).collect();
    for stray in bindings.iter().filter(|given| !used.contains(&(given.group, given.binding))) {
        let used: Vec<String> = used.iter().map(|(group, binding)| format!("{group}.{binding}")).collect();
        let used = if used.is_empty() { "none".into() } else { used.join(", ") };
        complain(&format!("--buffer {}.{} is left out: the entry point uses {used}", stray.group, stray.binding));
    }
}

fn buffers(given: &[(String, String)], seed: u64) -> Result<Vec<Binding>> {
    let mut bindings = Vec::new();
    for (number, (place, data)) in given.iter().enumerate() {
        let (group, binding) = place.split_once('.').unwrap_or(("0", place));
        let index = |text: &str| {
            text.trim().parse::<u32>().map_err(|_| bad("--buffer", place, "BINDING or GROUP.BINDING, whole numbers"))
        };
        bindings.push(Binding::new(index(group)?, index(binding)?, contents(data, seed, number as u64)?));
    }
    Ok(bindings)
}

/// The bytes that a description of a buffer stands for.
fn contents(data: &str, seed: u64, number: u64) -> Result<Vec<u8>> {
    if data.ends_with(".npy") {
        return Ok(npy::read(Path::new(data))?.bytes);
    }
    if let Some((kind, values)) = data.split_once(':') {
        let value = |text: &str| -> Result<[u8; 4]> {
            let text = text.trim();
            let bytes = match kind {
                "u32" => text.parse::<u32>().ok().map(u32::to_le_bytes),
                "i32" => text.parse::<i32>().ok().map(i32::to_le_bytes),
                "f32" => text.parse::<f32>().ok().map(f32::to_le_bytes),
                _ => None,
            };
            bytes.ok_or_else(|| bad("--buffer", data, "values are given as u32:…, i32:… or f32:…"))
        };
        return Ok(values.split(',').map(value).collect::<Result<Vec<_>>>()?.concat());
    }
    if let Some((count, kind)) = data.split_once('x') {
        let count: u64 = count.parse().map_err(|_| bad("--buffer", data, "a count before x"))?;
        let element: Element = kind.parse()?;
        let float = element.unit_roundoff().is_some();
        let distribution = if float { Distribution::Uniform } else { Distribution::Bits };
        check_size(data, count.saturating_mul(element.size()))?;
        return Ok(random::elements(seed, number, element, count, distribution));
    }
    let bytes: u64 =
        data.parse().map_err(|_| bad("--buffer", data, "1024xf32, a number of bytes, u32:1,2,3, or a .npy file"))?;
    check_size(data, bytes)?;
    Ok(vec![0; bytes as usize])
}

fn check_size(data: &str, bytes: u64) -> Result<()> {
    const MOST: u64 = 1 << 32;
    if bytes < MOST { Ok(()) } else { Err(bad("--buffer", data, format!("{bytes} bytes; the most is {}", MOST - 1))) }
}

/// A uniform that was not given is zero; a storage buffer must be given, since its size is the problem's.
fn zeroed_uniforms(program: &Program, bindings: &mut Vec<Binding>) {
    for info in program.bindings() {
        let given = bindings.iter().any(|b| (b.group, b.binding) == (info.group, info.binding));
        if !given && info.kind == BindingKind::Uniform {
            bindings.push(Binding::new(info.group, info.binding, vec![0; info.min_size as usize]));
        }
    }
}
