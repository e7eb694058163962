// Idea. The plain copy, shifted: the first thread of every warp meets the second element of a 128-byte line.
// Changed from the rung below. Only which element a thread takes: SHIFT further on; thread 0 takes the first ones as well.
// A thread owns. One element; thread 0 also the first SHIFT elements.
// Memory traffic. Reads and writes every element once; a warp's 128 bytes lie in 5 sectors instead of 4, two of them cut, which its neighbours find in the cache.
// Needs. 4-byte elements, any length.
alias T = u32;
const SHIFT: u32 = 1u;

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
fn copy_misaligned(@builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_id) thread: vec3<u32>) {
    let index = (block.x + p.block_x) * THREADS + thread.x;
    if (index == 0u) {
        for (var i = 0u; i < min(SHIFT, p.len.x); i++) {
            output[i] = input[i];
        }
    }
    if (index + SHIFT < p.len.x) {
        output[index + SHIFT] = input[index + SHIFT];
    }
}
