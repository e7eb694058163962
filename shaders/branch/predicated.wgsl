// Idea. Every thread walks both ways and keeps one result: no branch, no divergence, and always the price of both.
// Changed from the rung below. The branch becomes a selection, which is what a compiler does by itself with sides of a few instructions.
// A thread owns. One element.
// Memory traffic. Input, kinds and output once, coalesced.
// Needs. u32, any length, kinds 0 or 1.

const THREADS: u32 = 256u;
const FACTOR: u32 = 1664525u;      // of a linear congruential generator
const ADDEND: u32 = 1013904223u;
const HIGH: u32 = 15u;             // bits of the shifts
const LOW: u32 = 13u;

struct Params {
    block_x: u32, block_y: u32, block_z: u32,  // index of this launch's first block
    steps: u32,                                // of either side
    len: vec2<u32>,                            // elements
}

@group(0) @binding(0) var<storage, read> input: array<u32>;          // len
@group(0) @binding(1) var<storage, read> kinds: array<u32>;          // len, 0 or 1
@group(0) @binding(2) var<storage, read_write> output: array<u32>;   // len
@group(0) @binding(3) var<uniform> p: Params;

// The two sides: about as long, and too different to be merged into one.
fn even_side(first: u32, steps: u32) -> u32 {
    var x = first;
    for (var step = 0u; step < steps; step++) {
        x = x * FACTOR + (x >> HIGH);
    }
    return x;
}

fn odd_side(first: u32, steps: u32) -> u32 {
    var x = first;
    for (var step = 0u; step < steps; step++) {
        x = (x ^ (x << LOW)) + ADDEND;
    }
    return x;
}

@compute @workgroup_size(THREADS)
fn branch_predicated(@builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_id) thread: vec3<u32>) {
    let index = (block.x + p.block_x) * THREADS + thread.x;
    if (index >= p.len.x) {
        return;
    }
    let x = input[index];
    let even = even_side(x, p.steps);
    let odd = odd_side(x, p.steps);
    output[index] = select(odd, even, kinds[index] == 0u);
}
