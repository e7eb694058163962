// Idea. A block sorts its elements by kind first: all of one kind go to its front threads, all of the other to its back threads.
// Changed from the rung below. At most one warp of a block still has both kinds; the price is a list in shared memory and one barrier.
// A thread owns. One place of the block's list, whichever element that is.
// Memory traffic. Input and output once, in an order that stays inside the block's 1 KiB.
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
var<workgroup> order: array<u32, THREADS>;        // THREADS
var<workgroup> counts: array<atomic<u32>, 2>;     // 2 kinds

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
fn branch_grouped(@builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_id) thread: vec3<u32>) {
    let first = (block.x + p.block_x) * THREADS;
    if (thread.x < 2u) {
        atomicStore(&counts[thread.x], 0u);
    }
    order[thread.x] = THREADS;  // nobody
    workgroupBarrier();  // waits for the empty list
    if (first + thread.x < p.len.x) {
        if (kinds[first + thread.x] == 0u) {
            order[atomicAdd(&counts[0], 1u)] = thread.x;
        } else {
            order[THREADS - 1u - atomicAdd(&counts[1], 1u)] = thread.x;
        }
    }
    workgroupBarrier();  // waits for the whole list
    if (order[thread.x] == THREADS) {
        return;
    }
    let index = first + order[thread.x];
    var x = input[index];
    if (thread.x < atomicLoad(&counts[0])) {
        x = even_side(x, p.steps);
    } else {
        x = odd_side(x, p.steps);
    }
    output[index] = x;
}
