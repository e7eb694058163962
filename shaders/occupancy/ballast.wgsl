// Idea. The same sum by blocks that claim shared memory they do not need, so that fewer of them fit a multiprocessor.
// Changed from the rung below. Only the ballast: BALLAST words per block.
// A thread owns. One element.
// Memory traffic. Three words per element, coalesced; shared memory once in and out.
// Needs. u32, any length; BALLAST words of shared memory.
const THREADS: u32 = 64u;
const BALLAST: u32 = 3328u;

struct Params {
    block_x: u32, block_y: u32, block_z: u32,  // index of this launch's first block
    pad: u32,                                  // reserved, 0
    len: vec2<u32>,                            // elements
}

@group(0) @binding(0) var<storage, read> a: array<u32>;              // len
@group(0) @binding(1) var<storage, read> b: array<u32>;              // len
@group(0) @binding(2) var<storage, read_write> output: array<u32>;   // len
@group(0) @binding(3) var<uniform> p: Params;
var<workgroup> ballast: array<u32, BALLAST>;   // BALLAST, the first THREADS of them used

@compute @workgroup_size(THREADS)
fn occupancy_ballast(@builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_id) thread: vec3<u32>) {
    let index = (block.x + p.block_x) * THREADS + thread.x;
    if (index < p.len.x) {
        ballast[thread.x] = a[index];
        output[index] = ballast[thread.x] + b[index];
    }
}
