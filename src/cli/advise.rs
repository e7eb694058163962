//! `advise`: where should this data go?

use super::output::{OutputArguments, TEXTS, bad};
use super::selectors::DeviceArguments;
use clap::Args;
use gpu_ladder::advise::{ACCESSES, Data, SHARINGS, advise as place};
use gpu_ladder::backend::{Any, Backend, Clock};
use gpu_ladder::limits::store;
use gpu_ladder::{Error, Result, words};

/// The flags of `advise`.
#[derive(Args)]
pub struct AdviseArguments {
    /// Bytes that one user of the data has (a thread, a block, or all of them), such as 4096, 16K or 1G.
    #[arg(long)]
    bytes: String,
    /// How the lanes of a warp touch it: sequential, strided, random or broadcast.
    #[arg(long, default_value = "sequential")]
    access: String,
    /// How often each byte is used.
    #[arg(long, default_value_t = 1.0)]
    reuse: f64,
    /// Who uses the same data: thread, warp, block or device.
    #[arg(long, default_value = "device")]
    shared_by: String,
    #[command(flatten)]
    device: DeviceArguments,
    #[command(flatten)]
    output: OutputArguments,
}

/// Advises.
pub fn advise(arguments: &AdviseArguments) -> Result<bool> {
    let find = |kind, word: &str, known: Vec<&str>| {
        let place = known.iter().position(|k| *k == word);
        place.ok_or_else(|| Error::Unknown {
            kind,
            word: word.into(),
            known: known.iter().map(|k| k.to_string()).collect(),
        })
    };
    if !arguments.reuse.is_finite() || arguments.reuse < 1.0 {
        return Err(bad("--reuse", arguments.reuse.to_string(), "data that is used is used at least once"));
    }
    let access = find("access", &arguments.access, ACCESSES.iter().map(|a| a.0).collect())?;
    let sharing = find("sharing", &arguments.shared_by, SHARINGS.iter().map(|s| s.0).collect())?;
    let data = Data {
        bytes: bytes(&arguments.bytes)?,
        access: ACCESSES[access].1,
        reuse: arguments.reuse,
        sharing: SHARINGS[sharing].1,
    };
    let language = arguments.output.language()?;
    let json = arguments.output.one_of(TEXTS)? == "json";
    let select = arguments.device.select();
    let any = pollster::block_on(async {
        match arguments.device.backend.first() {
            Some(name) if name != "auto" => Any::open_named(name, &select).await,
            _ => Any::open(&select).await,
        }
    })?;
    let device = any.device();
    let kept = store::folder().and_then(|folder| store::load(&folder, device).ok().flatten());
    let advice = place(data, device, kept.as_ref());
    let hint = kept.is_none().then(|| words::NOT_MEASURED.text(language).to_string());
    let reasons: Vec<String> = advice.reasons.iter().map(|reason| reason.text(language)).collect();
    let place = advice.place.text(language);
    let text = if json {
        let document = serde_json::json!({
            "schema": "gpu-ladder/advice", "version": 1, "device": device.name, "place": place, "reasons": reasons,
            "limits_measured": kept.is_some(),
        });
        format!("{document:#}\n")
    } else {
        let reasons: String = reasons.iter().map(|reason| format!("- {reason}\n")).collect();
        let hint = hint.filter(|_| device.clock != Clock::None).map(|hint| format!("{hint}\n")).unwrap_or_default();
        format!("{}: {place}\n{reasons}{hint}", device.name)
    };
    arguments.output.text(&text)?;
    Ok(true)
}

/// A number of bytes as people write it.
fn bytes(text: &str) -> Result<u64> {
    let (digits, shift) = match text.trim_end_matches("iB").trim_end_matches('B').to_uppercase() {
        t if t.ends_with('K') => (t.trim_end_matches('K').to_string(), 10),
        t if t.ends_with('M') => (t.trim_end_matches('M').to_string(), 20),
        t if t.ends_with('G') => (t.trim_end_matches('G').to_string(), 30),
        t => (t, 0),
    };
    let number = digits.trim().parse::<u64>().ok().and_then(|n| n.checked_mul(1 << shift)).filter(|n| *n > 0);
    number.ok_or_else(|| bad("--bytes", text, "a number of bytes from 1 to 2^64 - 1, such as 4096, 16K or 1G"))
}
