// Idea. A sum of two vectors, by blocks of THREADS threads: the size of a block decides how many warps a multiprocessor holds.
// Changed from the rung below. The first rung: nothing below it. 32 threads: the limit of blocks leaves half of the warps empty on many devices.
// A thread owns. One element.
// Memory traffic. Three words per element, coalesced.
// Needs. u32, any length; a device that takes blocks of THREADS threads.
const THREADS: u32 = 256u;

struct Params {
    block_x: u32, block_y: u32, block_z: u32,  // index of this launch's first block
    pad: u32,                                  // reserved, 0
    len: vec2<u32>,                            // elements
}

@group(0) @binding(0) var<storage, read> a: array<u32>;              // len
@group(0) @binding(1) var<storage, read> b: array<u32>;              // len
@group(0) @binding(2) var<storage, read_write> output: array<u32>;   // len
@group(0) @binding(3) var<uniform> p: Params;

@compute @workgroup_size(THREADS)
fn occupancy_block(@builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_id) thread: vec3<u32>) {
    let index = (block.x + p.block_x) * THREADS + thread.x;
    if (index < p.len.x) {
        output[index] = a[index] + b[index];
    }
}
