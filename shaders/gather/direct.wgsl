// Idea. One element per thread, from wherever its index points.
// Changed from the rung below. The first rung: nothing below it.
// A thread owns. One element of the output.
// Memory traffic. Indices and output once, coalesced; of the input one 32-byte sector for every element that no neighbour shares it with, up to 8 times its bytes.
// Needs. u32, any length; indices below len.

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
fn gather_direct(@builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_id) thread: vec3<u32>) {
    let index = (block.x + p.block_x) * THREADS + thread.x;
    if (index < p.len.x) {
        output[index] = input[indices[index]];
    }
}
