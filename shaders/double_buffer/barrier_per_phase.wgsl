// Idea. Two buffers and one barrier per phase: the barrier that ends this phase's writes also ends the reads of the phase before.
// Changed from the rung below. One barrier per phase; with a single buffer it would take two.
// A thread owns. One element of each of PHASES tiles.
// Memory traffic. Every element once in and once out.
// Needs. u32, any length.

const THREADS: u32 = 256u;
const PHASES: u32 = 8u;

struct Params {
    block_x: u32, block_y: u32, block_z: u32,  // index of this launch's first block
    pad: u32,                                  // reserved, 0
    len: vec2<u32>,                            // elements
}

@group(0) @binding(0) var<storage, read> input: array<u32>;          // len
@group(0) @binding(1) var<storage, read_write> output: array<u32>;   // len
@group(0) @binding(2) var<uniform> p: Params;
var<workgroup> tile: array<u32, 2 * THREADS>;   // 2 phases x THREADS

@compute @workgroup_size(THREADS)
fn double_buffer_barrier_per_phase(@builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_id) thread: vec3<u32>) {
    let first = (block.x + p.block_x) * THREADS * PHASES;
    for (var phase = 0u; phase < PHASES; phase++) {
        let index = first + phase * THREADS + thread.x;
        var word = 0u;
        if (index < p.len.x) {
            word = input[index];
        }
        tile[phase % 2u * THREADS + thread.x] = word;
        workgroupBarrier();  // waits for this phase's tile, and for the readers of the one before
        let other = tile[phase % 2u * THREADS + THREADS - 1u - thread.x];
        if (index < p.len.x) {
            output[index] = word - other;
        }
    }
}
