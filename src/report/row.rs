//! One line of a report, with where every number comes from.

use crate::backend::{Any, Device};
use crate::op::{Op, Work};
use crate::problem::Problem;
use crate::rung::Rung;
use crate::session::Stage;
use crate::timing::Samples;

/// What became of a rung on a backend.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// It gave the right output.
    Verified {
        /// How much of the output was compared.
        coverage: String,
    },
    /// It gave a wrong output: what was wrong.
    Wrong(String),
    /// It is wrong by design, was run and is never timed: why, and in how many runs it was wrong.
    Flawed(String),
    /// It does not exist here: why.
    Absent(String),
    /// It could not be run: the error.
    Failed(String),
}

impl Cell {
    /// The word of the verdict.
    pub fn verdict(&self) -> &'static str {
        match self {
            Cell::Verified { .. } => "verified",
            Cell::Wrong(_) => "wrong",
            Cell::Flawed(_) => "flawed",
            Cell::Absent(_) => "absent",
            Cell::Failed(_) => "failed",
        }
    }

    /// The reason behind any other verdict than `verified`.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Cell::Verified { .. } => None,
            Cell::Wrong(reason) | Cell::Flawed(reason) | Cell::Absent(reason) | Cell::Failed(reason) => Some(reason),
        }
    }

    /// Whether it should have worked and did not.
    pub fn is_failure(&self) -> bool {
        matches!(self, Cell::Wrong(_) | Cell::Failed(_))
    }
}

/// One rung on one backend. `None` is «not known» or «does not apply», never zero.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)] // the names are those of the report, which docs/report.md explains
pub struct Row {
    pub op: String,
    pub rung: String,
    pub idea: String,
    /// The vendor's library, its version and what it chose; `None` for a rung of ours.
    pub library: Option<String>,
    pub backend: String,
    pub device: String,
    pub driver: String,
    pub api: String,
    pub software_adapter: bool,
    pub element: String,
    /// The dimensions by name.
    pub dims: Vec<(&'static str, u64)>,
    pub batch: u64,
    /// Which operands are stored transposed (`NN`, `NT`, `TN`, `TT`), where the op has a choice.
    pub layout: Option<String>,
    pub cell: Cell,
    /// Launches of one run, where it ran.
    pub launches: Option<usize>,
    /// Whether it is the rung that the library takes here; `None` where the op has no opinion.
    pub selected: Option<bool>,
    /// Whether that was found by tuning on this device, and not from the measurements that come with the crate.
    pub tuned: Option<bool>,
    pub input: Option<String>,
    pub seed: Option<u64>,
    pub commit: Option<String>,
    pub clock: Option<&'static str>,
    pub cache_policy: Option<String>,
    pub samples: Option<usize>,
    /// Runs of a sample, whose mean it is.
    pub runs_per_sample: Option<usize>,
    pub median_ms: Option<f64>,
    /// The fastest sample.
    pub least_ms: Option<f64>,
    pub p05_ms: Option<f64>,
    pub p95_ms: Option<f64>,
    /// A 95 % confidence interval of the median.
    pub median_low_ms: Option<f64>,
    pub median_high_ms: Option<f64>,
    pub gbps: Option<f64>,
    pub tflops: Option<f64>,
    pub share_of_copy: Option<f64>,
    pub speedup_over_first: Option<f64>,
    /// The time of the vendor's fastest row over its own, in the same rounds: above 1 is faster.
    pub share_of_vendor: Option<f64>,
    /// The time of the verified rung before it in the ladder over its own, round by round, with a
    /// 95 % interval: an interval that holds 1 is no difference.
    pub step: Option<f64>,
    pub step_low: Option<f64>,
    pub step_high: Option<f64>,
    /// Bandwidth as a share of the data sheet's.
    pub share_of_data_sheet: Option<f64>,
    pub sm_clock_mhz: Option<u32>,
    pub power_w: Option<f64>,
    pub throttled: Option<bool>,
    pub floor_us: Option<f64>,
    /// Whether the time is so short that launching is a large part of it.
    pub near_floor: Option<bool>,
    /// The median of the second half of the samples over that of the first.
    pub drift: Option<f64>,
    /// The most device memory that the climb of this problem took at a time.
    pub device_peak_bytes: Option<u64>,
    /// Device memory that was still there after it, by who asked for it: leaks.
    pub device_leaks: Vec<String>,
    /// What the simulator counted.
    pub counters: Option<Counters>,
}

/// What the simulator counted over all launches of a rung.
#[derive(Debug, Clone, PartialEq, Default)]
#[allow(missing_docs)] // the names are those of the report
pub struct Counters {
    /// 32-byte sectors of an average global load, and of a store.
    pub sectors_per_load: Option<f64>,
    pub sectors_per_store: Option<f64>,
    /// The sectors that would have been enough for the same bytes, side by side.
    pub ideal_sectors_per_load: Option<f64>,
    pub ideal_sectors_per_store: Option<f64>,
    /// Useful over moved bytes of global memory.
    pub global_efficiency: Option<f64>,
    /// Shared-memory wavefronts over the fewest possible: 1 is free of bank conflicts.
    pub conflict_degree: Option<f64>,
    /// The same for loads and stores by themselves.
    pub load_conflict_degree: Option<f64>,
    pub store_conflict_degree: Option<f64>,
    pub lanes_per_instruction: Option<f64>,
    pub instructions: u64,
    pub flops: u64,
    pub barriers: u64,
    /// Operations per byte moved, without caches.
    pub arithmetic_intensity: Option<f64>,
    /// Warps that a multiprocessor can hold, and what limits them.
    pub resident_warps: u32,
    pub occupancy_limiter: String,
    /// Errors and warnings found while running.
    pub hazards: Vec<String>,
}

impl Row {
    /// A row that knows its rung and device, and nothing measured.
    pub fn new(op: &dyn Op, rung: &Rung, problem: &Problem, device: &Device) -> Self {
        Row {
            op: op.name().into(),
            rung: rung.id(),
            idea: rung.idea.to_string(),
            library: None,
            backend: device.backend.into(),
            device: device.name.clone(),
            driver: device.driver.clone(),
            api: device.api.clone(),
            software_adapter: device.is_software(),
            element: problem.types(),
            dims: op.dims().iter().copied().zip(problem.dims.iter().copied()).collect(),
            batch: problem.batch,
            layout: op.layout(problem),
            cell: Cell::Absent("not run".into()),
            selected: op.select(device, problem).map(|chosen| chosen.id() == rung.id()),
            launches: None,
            tuned: None,
            input: None,
            seed: None,
            commit: option_env!("GPU_LADDER_COMMIT").map(str::to_string),
            clock: None,
            cache_policy: None,
            samples: None,
            runs_per_sample: None,
            median_ms: None,
            least_ms: None,
            p05_ms: None,
            p95_ms: None,
            median_low_ms: None,
            median_high_ms: None,
            gbps: None,
            tflops: None,
            share_of_copy: None,
            speedup_over_first: None,
            share_of_vendor: None,
            step: None,
            step_low: None,
            step_high: None,
            share_of_data_sheet: None,
            sm_clock_mhz: None,
            power_w: None,
            throttled: None,
            floor_us: None,
            near_floor: None,
            drift: None,
            device_peak_bytes: None,
            device_leaks: Vec::new(),
            counters: None,
        }
    }

    /// Whether it should have worked and did not, or was timed without a single valid sample.
    pub fn is_failure(&self) -> bool {
        self.cell.is_failure() || self.has_no_samples()
    }

    /// Whether it was timed, and no sample was valid.
    pub fn has_no_samples(&self) -> bool {
        self.samples == Some(0)
    }

    /// The dimensions in one word, such as `8192x8192`.
    pub fn shape(&self) -> String {
        self.dims.iter().map(|(_, value)| value.to_string()).collect::<Vec<_>>().join("x")
    }

    /// What it is about in one line: `transpose f32, rows 8192, cols 8192`.
    pub fn problem(&self) -> String {
        let dims: Vec<String> = self.dims.iter().map(|(name, value)| format!("{name} {value}")).collect();
        let batch = if self.batch == 1 { String::new() } else { format!(", batch {}", self.batch) };
        let layout = self.layout.as_ref().map(|layout| format!(", {layout}")).unwrap_or_default();
        format!("{} {}, {}{batch}{layout}", self.op, self.element, dims.join(", "))
    }

    /// Takes note of which rung the library takes, where tuning found one.
    pub(crate) fn set_choice(&mut self, tuned: Option<&str>) {
        if let Some(rung) = tuned {
            self.selected = Some(self.rung == rung);
        }
        self.tuned = self.selected.map(|_| tuned.is_some());
    }

    /// The ratio to the rung before it, with its interval.
    pub(crate) fn set_step(&mut self, (ratio, (low, high)): (f64, (f64, f64))) {
        let finite = |value: f64| value.is_finite().then_some(value);
        [self.step, self.step_low, self.step_high] = [ratio, low, high].map(finite);
    }

    pub(crate) fn set_stage(&mut self, stage: &Stage<Any>) {
        self.input = Some(stage.input_description.clone());
        self.seed = stage.seed;
    }

    /// Adds up what the simulator counted in each pass.
    #[cfg(feature = "sim")]
    pub(crate) fn set_profiles(&mut self, profiles: &[std::sync::Arc<crate::sim::Profile>]) {
        let Some(first) = profiles.first() else { return };
        let mut global = [crate::sim::GlobalTraffic::default(), crate::sim::GlobalTraffic::default()];
        let (mut wavefronts, mut ideal, mut lanes) = ([0; 3], [0; 3], 0);
        let mut sum = Counters {
            resident_warps: first.occupancy.warps,
            occupancy_limiter: format!("{:?}", first.occupancy.limiter),
            ..Counters::default()
        };
        for profile in profiles {
            let totals = &profile.totals;
            for (into, from) in global.iter_mut().zip([&totals.global_load, &totals.global_store]) {
                *into += *from;
            }
            for (index, shared) in [totals.shared(), totals.shared_load, totals.shared_store].iter().enumerate() {
                wavefronts[index] += shared.wavefronts;
                ideal[index] += shared.ideal_wavefronts;
            }
            lanes += totals.active_lanes;
            sum.instructions += totals.instructions;
            sum.flops += totals.flops.total();
            sum.barriers += totals.barriers;
            sum.hazards.extend(profile.hazards.iter().map(ToString::to_string));
        }
        let ratio = |a: u64, b: u64| (b > 0).then(|| a as f64 / b as f64);
        let moved = global[0].moved_bytes + global[1].moved_bytes;
        sum.sectors_per_load = global[0].sectors_per_request();
        sum.sectors_per_store = global[1].sectors_per_request();
        sum.ideal_sectors_per_load = ratio(global[0].ideal_sectors, global[0].requests);
        sum.ideal_sectors_per_store = ratio(global[1].ideal_sectors, global[1].requests);
        sum.global_efficiency = ratio(global[0].useful_bytes + global[1].useful_bytes, moved);
        [sum.conflict_degree, sum.load_conflict_degree, sum.store_conflict_degree] =
            [0, 1, 2].map(|index| ratio(wavefronts[index], ideal[index]));
        sum.lanes_per_instruction = ratio(lanes, sum.instructions);
        sum.arithmetic_intensity = ratio(sum.flops, moved).filter(|&i| i > 0.0);
        self.counters = Some(sum);
    }

    pub(crate) fn set_samples(&mut self, samples: &Samples, work: Work, floor_ns: Option<f64>) {
        /// Times below so many floors are marked.
        const FLOORS: f64 = 10.0;
        let finite = |value: f64| value.is_finite().then_some(value);
        let ms = |ns: f64| finite(ns / 1e6);
        let median = samples.median();
        let (low, high) = samples.median_interval();
        self.clock = Some(samples.clock.name());
        self.cache_policy = Some(samples.cache_policy.clone());
        self.samples = Some(samples.ns.len());
        self.runs_per_sample = Some(samples.in_a_row);
        self.median_ms = ms(median);
        self.least_ms = ms(samples.quantile(0.0));
        self.p05_ms = ms(samples.quantile(0.05));
        self.p95_ms = ms(samples.quantile(0.95));
        self.median_low_ms = ms(low);
        self.median_high_ms = ms(high);
        // Bytes per nanosecond are gigabytes per second.
        self.gbps = finite(work.bytes / median).filter(|_| median > 0.0);
        self.tflops = finite(work.flops / median / 1e3).filter(|&t| median > 0.0 && t > 0.0);
        let sheet = crate::limits::data_sheet(&self.device);
        self.share_of_data_sheet = self.gbps.zip(sheet).map(|(gbps, sheet)| gbps * 1e9 / sheet.memory_bandwidth);
        self.sm_clock_mhz = samples.telemetry.sm_clock_mhz;
        self.power_w = samples.telemetry.power_w;
        self.throttled = samples.telemetry.throttled;
        self.floor_us = floor_ns.and_then(finite).map(|ns| ns / 1e3);
        self.near_floor = floor_ns.map(|floor| median < FLOORS * floor);
        self.drift = finite(samples.drift());
    }
}

/// A device for tests of what is made of rows.
#[cfg(test)]
pub(crate) fn test_device(software: bool) -> crate::backend::Device {
    use crate::backend::{Clock, Device, DeviceKind, Limits};
    Device {
        backend: "test",
        name: "a device".into(),
        driver: "1".into(),
        api: "none".into(),
        kind: if software { DeviceKind::Software } else { DeviceKind::Discrete },
        limits: Limits {
            threads_per_block: 1024,
            block: [1024; 3],
            grid: [65_535; 3],
            shared_static: 48 << 10,
            shared_dynamic: 48 << 10,
            buffer: 1 << 30,
            binding: 1 << 30,
            binding_alignment: 256,
            bindings: 8,
        },
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::{Clock, Telemetry};
    use crate::op::{Matmul, Transpose};
    use crate::{Element, Problem};

    fn timed(op: &dyn Op, problem: &Problem, ns: &[f64]) -> Row {
        let mut row = Row::new(op, &op.ladder()[0], problem, &test_device(false));
        row.cell = Cell::Verified { coverage: "every bit".into() };
        let clock = Clock::Device { resolution_ns: 1.0 };
        let samples = Samples {
            ns: ns.to_vec(),
            in_a_row: 1,
            clock,
            cache_policy: "warm".into(),
            telemetry: Telemetry::default(),
        };
        row.set_samples(&samples, op.work(problem), Some(1000.0));
        row
    }

    #[test]
    fn tim_operations_count_each_dimension_once() {
        assert_eq!(Matmul.work(&Problem::new(Element::F32, [25, 9, 16])).flops, 7200.0);
    }

    #[test]
    fn tim_bytes_are_read_and_written_in_the_elements_own_size() {
        let problem = Problem::new(Element::F16, [1024, 1024]);
        assert_eq!(Transpose.work(&problem).bytes, 4_194_304.0);
        let row = timed(&Transpose, &problem, &[10_000.0; 5]);
        assert!((row.gbps.expect("a rate") - 419.4304).abs() < 1e-9);
    }

    #[test]
    fn env_no_valid_sample_is_null_and_a_failure() {
        let row = timed(&Transpose, &Problem::new(Element::F32, [64, 64]), &[]);
        assert!(row.has_no_samples() && row.is_failure());
        assert_eq!((row.median_ms, row.gbps, row.drift), (None, None, None));
    }

    #[test]
    fn out_a_time_of_zero_gives_no_rate() {
        let row = timed(&Transpose, &Problem::new(Element::F32, [64, 64]), &[0.0; 4]);
        assert_eq!((row.median_ms, row.gbps, row.tflops), (Some(0.0), None, None));
    }
}
