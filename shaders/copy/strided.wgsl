// Idea. Neighbouring threads copy elements STRIDE apart; the elements between are left to later blocks, which come when the caches have forgotten the lines.
// Changed from the rung below. Only the order: the grid runs over the array STRIDE times, each time for another remainder.
// A thread owns. One element.
// Memory traffic. Every line moves STRIDE times up to one element per 32-byte sector (STRIDE 8 for 4-byte elements), for reads and writes alike.
// Needs. 4-byte elements, any length; an array larger than the cache, or the cache hides it.
alias T = u32;
const STRIDE: u32 = 2u;

const THREADS: u32 = 256u;

struct Params {
    block_x: u32, block_y: u32, block_z: u32,  // index of this launch's first block
    tail: u32,                                 // reserved, 0
    len: vec2<u32>,                            // elements
}

@group(0) @binding(0) var<storage, read> input: array<T>;          // len
@group(0) @binding(1) var<storage, read_write> output: array<T>;   // len
@group(0) @binding(2) var<uniform> p: Params;

@compute @workgroup_size(THREADS)
fn copy_strided(@builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_id) thread: vec3<u32>) {
    let position = ((block.x + p.block_x) * THREADS + thread.x) * STRIDE + block.y + p.block_y;
    if (position < p.len.x) {
        output[position] = input[position];
    }
}
