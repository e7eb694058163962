//! Keeps a device at work while the host prepares the next works to be timed.
//!
//! A device that has nothing to do lowers its clocks, and works that follow begin at those. So behind
//! every batch of timed works one block is queued that only counts, about as long as the host took to
//! come back with the next batch. It ends by itself, so nothing can hang, and nobody waits for it.

use super::{Wgpu, lock};
use crate::backend::DeviceKind;
use std::sync::Mutex;
use std::time::{Duration, Instant};

const TEXT: &str = "
struct Turns { count: u32 }
@group(0) @binding(0) var<storage, read_write> last: array<u32>;
@group(0) @binding(1) var<uniform> turns: Turns;
@compute @workgroup_size(1)
fn stay_awake() {
    var x = turns.count;
    for (var i = 0u; i < turns.count; i++) {
        x ^= x << 13u;
        x ^= x >> 17u;
        x ^= x << 5u;
    }
    last[0] = x;
}
";
/// Nanoseconds that a turn takes at the clocks of a fast device; at others it takes longer, which harms nobody.
const TURN_NS: u64 = 14;
/// The least and the most that the host is given.
const LEAST: Duration = Duration::from_micros(500);
const MOST: Duration = Duration::from_millis(20);

/// The block that counts.
pub(super) struct Awake {
    pipeline: wgpu::ComputePipeline,
    group: wgpu::BindGroup,
    turns: wgpu::Buffer,
    pause: Mutex<Pause>,
}

/// How long the host is away between two batches.
struct Pause {
    since: Option<Instant>,
    expected: Duration,
}

impl Awake {
    /// The block, for a device whose clocks change; `None` for software.
    pub(super) fn new(wgpu: &Wgpu) -> Option<Self> {
        if wgpu.description.kind == DeviceKind::Software || cfg!(target_arch = "wasm32") {
            return None;
        }
        let device = &wgpu.device;
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some("stay_awake"),
            source: wgpu::ShaderSource::Wgsl(TEXT.into()),
        });
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some("stay_awake"),
            layout: None,
            module: &module,
            entry_point: None,
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        });
        let buffer = |label, usage| {
            device.create_buffer(&wgpu::BufferDescriptor {
                label: Some(label),
                size: 16,
                usage,
                mapped_at_creation: false,
            })
        };
        let last = buffer("last", wgpu::BufferUsages::STORAGE);
        let turns = buffer("turns", wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST);
        let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &pipeline.get_bind_group_layout(0),
            entries: &[
                wgpu::BindGroupEntry { binding: 0, resource: last.as_entire_binding() },
                wgpu::BindGroupEntry { binding: 1, resource: turns.as_entire_binding() },
            ],
        });
        Some(Awake { pipeline, group, turns, pause: Mutex::new(Pause { since: None, expected: LEAST }) })
    }

    /// The host is back with a batch.
    pub(super) fn back(&self) {
        let mut pause = lock(&self.pause);
        if let Some(since) = pause.since.take() {
            pause.expected = expected(pause.expected, since.elapsed());
        }
    }

    /// Queues the counting, as the host is about to leave.
    pub(super) fn queue(&self, wgpu: &Wgpu) {
        let turns = lock(&self.pause).expected.as_nanos() as u64 / TURN_NS;
        wgpu.queue.write_buffer(&self.turns, 0, &(turns as u32).to_le_bytes());
        let mut encoder = wgpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("awake") });
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, &self.group, &[]);
        pass.dispatch_workgroups(1, 1, 1);
        drop(pass);
        wgpu.queue.submit([encoder.finish()]);
    }

    /// The host has the times and goes.
    pub(super) fn away(&self) {
        lock(&self.pause).since = Some(Instant::now());
    }
}

/// How long to expect the next pause, after one of this length: half as long again, within bounds.
fn expected(before: Duration, away: Duration) -> Duration {
    // Longer than the most: the host did something else, and did not prepare the next batch.
    if away > MOST { before } else { (away * 3 / 2).clamp(LEAST, MOST) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_device_is_kept_longer_than_the_host_was_away() {
        let ms = Duration::from_millis;
        assert_eq!(expected(LEAST, ms(4)), ms(6));
        assert_eq!(expected(ms(6), ms(19)), MOST);
        assert_eq!(expected(ms(6), Duration::from_nanos(10)), LEAST);
    }

    #[test]
    fn an_absence_for_something_else_changes_nothing() {
        let ms = Duration::from_millis;
        assert_eq!(expected(ms(3), ms(500)), ms(3));
    }
}
