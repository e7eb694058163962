//! Devices: which one to open, and what is known of it.

use crate::element::Element;
use crate::rung::Language;

/// Which device to open.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Select {
    /// An index into the backend's devices, or part of a name; `None` for the best one.
    pub device: Option<String>,
    /// Compile WGSL with everything that a browser enforces.
    pub browser_checks: bool,
    /// Lowers the largest binding of a `wgpu` or simulated device, in bytes, to try what a smaller device would do.
    pub max_binding: Option<u64>,
}

impl Select {
    /// The index of the device that `asked` means among these: an index, or part of a name.
    #[cfg(any(feature = "cuda", feature = "wgpu", feature = "sim"))]
    pub(crate) fn find(names: &[String], asked: &str) -> Option<usize> {
        if let Some(index) = asked.parse().ok().filter(|&index: &usize| index < names.len()) {
            return Some(index);
        }
        let asked = asked.to_lowercase();
        // A number that is no index may still be part of a name («3090»), a single digit hardly.
        let is_name = !asked.is_empty() && (asked.len() > 1 || asked.parse::<usize>().is_err());
        names.iter().position(|name| is_name && name.to_lowercase().contains(&asked))
    }
}

/// The kind of processor behind a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum DeviceKind {
    Discrete,
    Integrated,
    Virtual,
    /// A processor that only imitates a GPU: its times say nothing about one.
    Software,
    Unknown,
}

/// The clock behind a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Clock {
    /// The device's own (events, timestamp queries), with its resolution in nanoseconds.
    Device {
        /// Nanoseconds of one tick.
        resolution_ns: f64,
    },
    /// The host's, around work that has been waited for.
    Host {
        /// Nanoseconds of one tick.
        resolution_ns: f64,
    },
    /// None: this backend counts and does not time.
    None,
}

impl Clock {
    /// The word in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Clock::Device { .. } => "device",
            Clock::Host { .. } => "host",
            Clock::None => "none",
        }
    }
}

/// What a device allows.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// Threads of a block, in all.
    pub threads_per_block: u32,
    /// Threads of a block, in each direction.
    pub block: [u32; 3],
    /// Blocks of a launch, in each direction.
    pub grid: [u32; 3],
    /// Shared (workgroup) memory of a block, in bytes, declared in the kernel.
    pub shared_static: u32,
    /// Shared memory of a block, in bytes, when asked for at launch.
    pub shared_dynamic: u32,
    /// The largest buffer, in bytes.
    pub buffer: u64,
    /// The largest binding of a buffer, in bytes.
    pub binding: u64,
    /// The alignment of a binding's first byte.
    pub binding_alignment: u64,
    /// Bindings of a kernel, without its params.
    pub bindings: u32,
}

/// A product of cooperative matrices (tensor cores, simdgroup matrices) that a subgroup computes in
/// one operation: m x k times k x n, added to m x n.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cooperative {
    /// Rows of the left operand and of the sums.
    pub m: u32,
    /// Columns of the right operand and of the sums.
    pub n: u32,
    /// Columns of the left operand.
    pub k: u32,
    /// The element type of both operands.
    pub inputs: Element,
    /// The element type of the sums.
    pub sums: Element,
}

impl Cooperative {
    /// Square matrices.
    pub const fn square(side: u32, inputs: Element, sums: Element) -> Self {
        Cooperative { m: side, n: side, k: side, inputs, sums }
    }
}

impl std::fmt::Display for Cooperative {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} x {} x {} of {} with sums in {}", self.m, self.n, self.k, self.inputs, self.sums)
    }
}

/// A device, as far as its driver describes it.
#[derive(Debug, Clone, PartialEq)]
pub struct Device {
    /// The name of the backend that opened it.
    pub backend: &'static str,
    /// The name its driver gives.
    pub name: String,
    /// Driver and version.
    pub driver: String,
    /// The interface underneath: `CUDA 13.0`, `Vulkan`, `Metal`.
    pub api: String,
    /// The kind of processor.
    pub kind: DeviceKind,
    /// What it allows.
    pub limits: Limits,
    /// Bytes of device memory.
    pub memory: Option<u64>,
    /// Bytes of the last-level cache.
    pub l2: Option<u64>,
    /// Multiprocessors.
    pub multiprocessors: Option<u32>,
    /// CUDA compute capability.
    pub compute_capability: Option<(u32, u32)>,
    /// Threads that run in lockstep.
    pub warp: u32,
    /// Whether shaders may use f16 arithmetic and storage.
    pub f16: bool,
    /// The products of cooperative matrices that its shaders may ask for; none where the size of its
    /// subgroups is not fixed.
    pub cooperative: Vec<Cooperative>,
    /// Whether its shaders keep every check that a browser makes.
    pub browser_checks: bool,
    /// The clock that [`Backend::time`](super::Backend::time) reads.
    pub clock: Clock,
}

impl Device {
    /// A device of which nothing but this is known. Backends outside this crate fill in what they know
    /// (`Device { warp: 1, ..Device::new(…) }`), and so keep compiling when there is more to know.
    pub fn new(backend: &'static str, name: impl Into<String>, limits: Limits) -> Self {
        Device {
            backend,
            name: name.into(),
            driver: String::new(),
            api: String::new(),
            kind: DeviceKind::Unknown,
            limits,
            memory: None,
            l2: None,
            multiprocessors: None,
            compute_capability: None,
            warp: 32,
            f16: false,
            cooperative: Vec::new(),
            browser_checks: false,
            clock: Clock::None,
        }
    }

    /// Whether it is a processor that imitates a GPU.
    pub fn is_software(&self) -> bool {
        self.kind == DeviceKind::Software
    }

    /// Whether kernels are compiled for the host's processor, which takes longer for a long one than running a
    /// short one. (The simulator compiles nothing.)
    pub(crate) fn compiles_for_the_host(&self) -> bool {
        self.is_software() && self.clock != Clock::None
    }

    /// The language of its kernels.
    pub fn language(&self) -> Language {
        if self.compute_capability.is_some() { Language::Cuda } else { Language::Wgsl }
    }

    /// The last-level cache to assume where the driver does not tell: larger than most.
    pub fn l2_or_guess(&self) -> u64 {
        self.l2.unwrap_or(if self.is_software() { 16 << 20 } else { 64 << 20 })
    }
}

/// Clocks and power at one moment; `None` where nothing on this machine tells.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Telemetry {
    /// Clock of the multiprocessors, in MHz.
    pub sm_clock_mhz: Option<u32>,
    /// Power of the board, in watts.
    pub power_w: Option<f64>,
    /// Whether the clocks are held down for power or heat.
    pub throttled: Option<bool>,
}

#[cfg(all(test, any(feature = "cuda", feature = "wgpu", feature = "sim")))]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_found_by_index_or_part_of_its_name() {
        let names = ["NVIDIA H200".to_string(), "NVIDIA GeForce RTX 3090".to_string()];
        for (asked, expected) in [
            ("1", Some(1)),
            ("2", None),
            ("99", None),
            ("3090", Some(1)),
            ("h200", Some(0)),
            ("geforce", Some(1)),
            ("", None),
            ("A100", None),
            ("99999999999999999999", None),
        ] {
            assert_eq!(Select::find(&names, asked), expected, "{asked:?}");
        }
    }
}
