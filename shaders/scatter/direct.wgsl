// Idea. One element per thread, to wherever its index points.
// Changed from the rung below. The first rung: nothing below it.
// A thread owns. One element of the input.
// Memory traffic. Input and indices once, coalesced; of the output one cut 32-byte sector for every element that no neighbour shares it with, which the cache has to merge.
// Needs. u32, any length; indices that are a permutation.

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
fn scatter_direct(@builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_id) thread: vec3<u32>) {
    let index = (block.x + p.block_x) * THREADS + thread.x;
    if (index < p.len.x) {
        output[indices[index]] = input[index];
    }
}
