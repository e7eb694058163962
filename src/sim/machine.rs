//! Machine models: the numbers of an architecture that the counters depend on.

use super::error::SimError;

/// One GPU architecture. All sizes in bytes unless said otherwise.
///
/// The models are small JSON files under `models/`; [`Machine::load`] finds them by name, and
/// [`Machine::from_json`] reads one of your own.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// The name that [`load`](Self::load) takes.
    pub name: String,
    /// Lanes per warp, 1 to 32.
    pub warp: u32,
    /// Unit of global memory traffic.
    pub sector: u32,
    /// Cache line.
    pub line: u32,
    /// Banks of workgroup memory.
    pub banks: u32,
    /// Width of a bank.
    pub bank_width: u32,
    /// Streaming multiprocessors (compute units).
    pub multiprocessors: u32,
    /// Workgroup memory per multiprocessor.
    pub shared_per_multiprocessor: u32,
    /// The most of it that one block may use.
    pub shared_per_block: u32,
    /// What the system takes of it per block.
    pub shared_reserved_per_block: u32,
    /// Workgroup memory is given in multiples of this.
    pub shared_granule: u32,
    /// 32-bit registers per multiprocessor.
    pub registers_per_multiprocessor: u32,
    /// The most threads that a multiprocessor holds at a time.
    pub threads_per_multiprocessor: u32,
    /// The most threads of a block.
    pub threads_per_block: u32,
    /// The most warps that a multiprocessor holds at a time.
    pub warps_per_multiprocessor: u32,
    /// The most blocks that a multiprocessor holds at a time.
    pub blocks_per_multiprocessor: u32,
}

macro_rules! models {
    ($($name:literal => $file:literal),* $(,)?) => {
        /// The built-in models by name.
        const MODELS: &[(&str, &str)] = &[$(($name, include_str!(concat!("../../models/", $file)))),*];
    };
}

models! {
    "nvidia-h200" => "nvidia-h200.json",
    "nvidia-a100" => "nvidia-a100.json",
    "nvidia-rtx4090" => "nvidia-rtx4090.json",
    "nvidia-t4" => "nvidia-t4.json",
    "lavapipe" => "lavapipe.json",
}

impl Machine {
    /// The model of that name.
    ///
    /// # Errors
    /// [`SimError::Machine`] for an unknown name; the message lists the known ones.
    pub fn load(name: &str) -> Result<Machine, SimError> {
        match MODELS.iter().find(|(n, _)| *n == name) {
            Some((_, text)) => Machine::from_json(text),
            None => {
                let known: Vec<&str> = Machine::names().collect();
                Err(SimError::Machine { message: format!("no model `{name}`; known: {}", known.join(", ")) })
            }
        }
    }

    /// Names of the built-in models.
    pub fn names() -> impl Iterator<Item = &'static str> {
        MODELS.iter().map(|(n, _)| *n)
    }

    /// Reads a model from JSON.
    ///
    /// # Errors
    /// [`SimError::Machine`] when the text is not a model or a number is out of range.
    pub fn from_json(text: &str) -> Result<Machine, SimError> {
        let m: Machine = serde_json::from_str(text).map_err(|e| SimError::Machine { message: e.to_string() })?;
        m.check()?;
        Ok(m)
    }

    pub(super) fn check(&self) -> Result<(), SimError> {
        let bad = |message: String| Err(SimError::Machine { message: format!("{}: {message}", self.name) });
        if !(1..=32).contains(&self.warp) {
            return bad(format!("warp must be 1 to 32, not {}", self.warp));
        }
        if !self.sector.is_power_of_two() || !self.line.is_power_of_two() || self.line < self.sector {
            return bad("sector and line must be powers of two, the line no smaller".into());
        }
        if !(1..=64).contains(&self.banks)
            || !self.banks.is_power_of_two()
            || !self.bank_width.is_power_of_two()
            || self.bank_width < 4
        {
            return bad("banks must be a power of two up to 64, at least 4 bytes wide".into());
        }
        if self.threads_per_block == 0 || self.threads_per_block > 1024 || self.shared_granule == 0 {
            return bad("threads_per_block must be 1 to 1024 and shared_granule not 0".into());
        }
        Ok(())
    }
}

/// The NVIDIA H200.
impl Default for Machine {
    fn default() -> Self {
        Machine {
            name: "nvidia-h200".into(),
            warp: 32,
            sector: 32,
            line: 128,
            banks: 32,
            bank_width: 4,
            multiprocessors: 132,
            shared_per_multiprocessor: 228 * 1024,
            shared_per_block: 227 * 1024,
            shared_reserved_per_block: 1024,
            shared_granule: 128,
            registers_per_multiprocessor: 65536,
            threads_per_multiprocessor: 2048,
            threads_per_block: 1024,
            warps_per_multiprocessor: 64,
            blocks_per_multiprocessor: 32,
        }
    }
}
