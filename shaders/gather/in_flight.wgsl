// Idea. LOADS independent elements per thread: all their indices first, then all their reads, then the writes.
// Changed from the rung below. Several random reads of a thread are under way at a time instead of one; the sectors stay as many.
// A thread owns. LOADS elements of the output, THREADS apart.
// Memory traffic. As below, with LOADS random sectors in flight per thread.
// Needs. u32, any length; indices below len.
const LOADS: u32 = 4u;

const THREADS: u32 = 256u;

struct Params {
    block_x: u32, block_y: u32, block_z: u32,  // index of this launch's first block
    pad: u32,                                  // reserved, 0
    len: vec2<u32>,                            // elements
}

@group(0) @binding(0) var<storage, read> input: array<u32>;          // len
@group(0) @binding(1) var<storage, read> indices: array<u32>;        // len
@group(0) @binding(2) var<storage, read_write> output: array<u32>;   // len
@group(0) @binding(3) var<uniform> p: Params;

@compute @workgroup_size(THREADS)
fn gather_in_flight(@builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_id) thread: vec3<u32>) {
    let first = (block.x + p.block_x) * THREADS * LOADS + thread.x;
    var at: array<u32, LOADS>;      // LOADS
    var value: array<u32, LOADS>;   // LOADS
    for (var i = 0u; i < LOADS; i++) {
        if (first + i * THREADS < p.len.x) {
            at[i] = indices[first + i * THREADS];
        }
    }
    for (var i = 0u; i < LOADS; i++) {
        value[i] = input[at[i]];
    }
    for (var i = 0u; i < LOADS; i++) {
        if (first + i * THREADS < p.len.x) {
            output[first + i * THREADS] = value[i];
        }
    }
}
