//! The clock of the portable backend: timestamp queries, or the host's clock where there are none.

use super::awake::Awake;
use super::{Code, Wgpu, lock};
use crate::backend::{Backend, Clock, Launch};
use crate::error::{Error, Result};

/// Timestamps of the query set: the most that WebGPU allows in one.
const TIMESTAMPS: usize = 4096;

/// Timestamps and where they are read from, kept for the next works: making them may take a driver
/// longer than the works, and a device that waits lowers its clocks.
pub(super) struct Stopwatch {
    set: wgpu::QuerySet,
    resolved: wgpu::Buffer,
    staging: wgpu::Buffer,
    awake: Option<Awake>,
}

impl Stopwatch {
    fn new(wgpu: &Wgpu) -> Self {
        let device = &wgpu.device;
        let buffer = |usage| wgpu::BufferDescriptor {
            label: Some("times"),
            size: TIMESTAMPS as u64 * 8,
            usage,
            mapped_at_creation: false,
        };
        let resolved = wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC;
        let staging = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
        Stopwatch {
            set: device.create_query_set(&wgpu::QuerySetDescriptor {
                label: Some("times"),
                ty: wgpu::QueryType::Timestamp,
                count: TIMESTAMPS as u32,
            }),
            resolved: device.create_buffer(&buffer(resolved)),
            staging: device.create_buffer(&buffer(staging)),
            awake: Awake::new(wgpu),
        }
    }
}

pub(super) async fn time(wgpu: &Wgpu, works: &[&[Launch<'_, Wgpu>]]) -> Result<Vec<f64>> {
    let mut all = Vec::with_capacity(works.len());
    match wgpu.device().clock {
        Clock::Device { resolution_ns } => {
            for chunk in works.chunks(TIMESTAMPS / 2) {
                all.extend(by_timestamps(wgpu, chunk, resolution_ns).await?);
            }
        }
        _ => {
            for work in works {
                all.push(by_host(wgpu, work)?);
            }
        }
    }
    Ok(all)
}

async fn by_timestamps(wgpu: &Wgpu, works: &[&[Launch<'_, Wgpu>]], period_ns: f64) -> Result<Vec<f64>> {
    // Taken out while it is used, so that another thread makes its own.
    let kept = lock(&wgpu.stopwatch).take();
    let watch = kept.unwrap_or_else(|| Box::new(Stopwatch::new(wgpu)));
    let count = works.len() as u32 * 2;
    let bytes = u64::from(count) * 8;
    watch.awake.iter().for_each(Awake::back);
    for (index, work) in works.iter().enumerate() {
        // One submission per work: those follow one another, while works within one could overlap; long
        // works must not add up to a watchdog's limit; and the device starts on the first while the host
        // records the next.
        let mut encoder = wgpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("time") });
        record(wgpu, &mut encoder, work, &watch.set, index as u32 * 2)?;
        wgpu.queue.submit([encoder.finish()]);
    }
    let mut encoder = wgpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("times") });
    encoder.resolve_query_set(&watch.set, 0..count, &watch.resolved, 0);
    encoder.copy_buffer_to_buffer(&watch.resolved, 0, &watch.staging, 0, bytes);
    let times = wgpu.queue.submit([encoder.finish()]);
    watch.awake.iter().for_each(|awake| awake.queue(wgpu));
    wgpu.map(&watch.staging, bytes, Some(times)).await?;
    let view = watch.staging.get_mapped_range(..bytes).map_err(|error| Error::device("get_mapped_range", error))?;
    let ticks: Vec<u64> =
        view.chunks_exact(8).map(|b| u64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]])).collect();
    drop(view);
    watch.staging.unmap();
    wgpu.check()?;
    watch.awake.iter().for_each(Awake::away);
    lock(&wgpu.stopwatch).replace(watch);
    Ok(ticks.chunks_exact(2).map(|t| t[1].saturating_sub(t[0]) as f64 * period_ns).collect())
}

/// The timestamps of a work: one before its first launch, one after its last.
pub(super) struct Marks<'a> {
    set: &'a wgpu::QuerySet,
    first: u32,
    /// Whether there may be one between the launches of a pass.
    inside: bool,
}

impl<'a> Marks<'a> {
    /// Those that a pass takes itself.
    pub fn of_pass(&self) -> wgpu::ComputePassTimestampWrites<'a> {
        wgpu::ComputePassTimestampWrites {
            query_set: self.set,
            beginning_of_pass_write_index: (!self.inside).then_some(self.first),
            end_of_pass_write_index: Some(self.first + 1),
        }
    }

    /// Takes the first, if the pass has not, behind one block of each kernel: a pass begins with empty instruction
    /// caches, and the first run of a kernel waits for its code (1 us of a transpose on an H200). A launch in CUDA
    /// finds it there, and so does a kernel of a longer pass.
    pub fn begin(&self, wgpu: &Wgpu, pass: &mut wgpu::ComputePass<'_>, work: &[Launch<'_, Wgpu>]) {
        if !self.inside {
            return;
        }
        for (number, launch) in work.iter().enumerate() {
            let Code::Pipeline { pipeline, counts_blocks: false, .. } = &launch.kernel.0 else { continue };
            let is_same = |earlier: &Launch<'_, Wgpu>| matches!(&earlier.kernel.0, Code::Pipeline { pipeline: other, .. } if other == pipeline);
            if !work[..number].iter().any(is_same) {
                wgpu.dispatch(pass, launch, launch.grid.map(|blocks| blocks.min(1)));
            }
        }
        pass.write_timestamp(self.set, self.first);
    }
}

/// Lets the second of two launches wait for the first: `wgpu` does so only where they share a buffer.
pub(super) fn keep_apart(pass: &mut wgpu::ComputePass<'_>, first: &Launch<'_, Wgpu>, second: &Launch<'_, Wgpu>) {
    let before: Vec<_> = first.bindings.iter().map(|view| &view.buffer.buffer).collect();
    if !second.bindings.iter().any(|view| before.contains(&&view.buffer.buffer)) {
        let read = |buffer| wgpu::BufferTransition { buffer, state: wgpu::BufferUses::STORAGE_READ_ONLY };
        pass.transition_resources(before.into_iter().map(read), std::iter::empty());
    }
}

/// Records a work with a timestamp before its first and after its last launch.
fn record(
    wgpu: &Wgpu,
    encoder: &mut wgpu::CommandEncoder,
    work: &[Launch<'_, Wgpu>],
    set: &wgpu::QuerySet,
    first: u32,
) -> Result<()> {
    let features = wgpu.device.features();
    let only_kernels = work.iter().all(|launch| matches!(launch.kernel.0, Code::Pipeline { .. }));
    if only_kernels && !work.is_empty() {
        let inside = features.contains(wgpu::Features::TIMESTAMP_QUERY_INSIDE_PASSES);
        wgpu.record(encoder, work, Some(&Marks { set, first, inside }));
        return Ok(());
    }
    if !features.contains(wgpu::Features::TIMESTAMP_QUERY_INSIDE_ENCODERS) {
        return Err(Error::unsupported("timing a buffer copy", "this adapter has no timestamps between commands"));
    }
    encoder.write_timestamp(set, first);
    wgpu.record(encoder, work, None);
    encoder.write_timestamp(set, first + 1);
    Ok(())
}

/// The host's clock around a batch that is long against the cost of waiting for it.
fn by_host(wgpu: &Wgpu, work: &[Launch<'_, Wgpu>]) -> Result<f64> {
    #[cfg(target_arch = "wasm32")]
    let _ = (wgpu, work);
    #[cfg(target_arch = "wasm32")]
    return Err(Error::unsupported("timing", "this browser gives no timestamp queries, and nothing may wait here"));
    #[cfg(not(target_arch = "wasm32"))]
    {
        const LONG_ENOUGH_NS: f64 = 2e6;
        const MOST_REPEATS: u32 = 256;
        let mut repeats = 1;
        loop {
            wgpu.wait()?;
            let start = std::time::Instant::now();
            for _ in 0..repeats {
                wgpu.launch(work)?;
            }
            wgpu.wait()?;
            let elapsed = start.elapsed().as_nanos() as f64;
            if elapsed >= LONG_ENOUGH_NS || repeats >= MOST_REPEATS {
                return Ok(elapsed / f64::from(repeats));
            }
            repeats *= 2;
        }
    }
}

/// Whether what a block of a kernel does may depend on how many there are: it asks, or it can wait for others, which
/// takes atomics. No such block runs ahead of a sample, alone.
pub(super) fn counts_blocks(wgsl: &str) -> bool {
    ["num_workgroups", "atomic"].iter().any(|word| wgsl.contains(word))
}

#[cfg(test)]
mod tests {
    use super::counts_blocks;

    #[test]
    fn a_block_that_can_wait_for_others_never_runs_alone() {
        assert!(counts_blocks("fn main(@builtin(num_workgroups) blocks: vec3<u32>) {}"));
        assert!(counts_blocks(include_str!("../../../shaders/reduce/atomics.wgsl")));
        assert!(!counts_blocks(include_str!("../../../shaders/transpose/tiled.wgsl")));
    }
}
