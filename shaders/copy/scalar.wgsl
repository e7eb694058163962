// Idea. The plainest copy: one element per thread, neighbouring threads on neighbouring elements.
// Changed from the rung below. The first rung: nothing below it.
// A thread owns. One element.
// Memory traffic. Reads and writes every element once, fully coalesced; 4 bytes in flight per thread for a 4-byte element.
// Needs. Nothing: any length, any element of whole 32-bit words (4, 8 or 16 bytes).
alias T = u32;

const THREADS: u32 = 256u;

struct Params {
    block_x: u32, block_y: u32, block_z: u32,  // index of this launch's first block
    tail: u32,                                 // reserved, 0
    len: vec2<u32>,                            // elements: low word, high word (0 here)
}

@group(0) @binding(0) var<storage, read> input: array<T>;          // len
@group(0) @binding(1) var<storage, read_write> output: array<T>;   // len
@group(0) @binding(2) var<uniform> p: Params;

@compute @workgroup_size(THREADS)
fn copy_scalar(@builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_id) thread: vec3<u32>) {
    let index = (block.x + p.block_x) * THREADS + thread.x;
    if (index < p.len.x) {
        output[index] = input[index];
    }
}
