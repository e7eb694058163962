// Idea. One block writes data and raises a flag, another waits for the flag and reads the data: with plain accesses.
// Changed from the rung below. The first rung, wrong: nothing orders the data before the flag, and nothing makes the compiler read the flag twice.
// A thread owns. One word of its pair of blocks, (pair, 0) and (pair, 1): the first hands it to the second.
// Memory traffic. Input, data and output once; the flag as often as it is polled.
// Needs. u32, any length. Both blocks of a pair running at a time, or the first one first; the first pass lowers all flags.

const THREADS: u32 = 256u;

struct Params {
    block_x: u32, block_y: u32, block_z: u32,  // index of this launch's first block
    spins: u32,                                // at most, so that a flag that never comes ends
    len: vec2<u32>,                            // elements
}

@group(0) @binding(0) var<storage, read_write> lowered: array<u32>;   // pairs: the flags (first pass)
@group(0) @binding(0) var<storage, read> input: array<u32>;               // len (second pass)
@group(0) @binding(1) var<storage, read_write> data: array<u32>;          // len (second pass)
@group(0) @binding(2) var<storage, read_write> flags: array<u32>;     // pairs (second pass)
@group(0) @binding(3) var<storage, read_write> output: array<u32>;        // len (second pass)
@group(0) @binding(1) var<uniform> lower_p: Params;                       // (first pass)
@group(0) @binding(4) var<uniform> p: Params;                             // (second pass)
var<workgroup> seen: u32;   // 1: whether the flag was raised

@compute @workgroup_size(THREADS)
fn consistency_nothing_lower(@builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_id) thread: vec3<u32>) {
    if (thread.x == 0u) {
        lowered[block.x + lower_p.block_x] = 0u;
    }
}

@compute @workgroup_size(THREADS)
fn consistency_nothing_hand_over(@builtin(workgroup_id) block_id: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let pair = block_id.x + p.block_x;
    let role = block_id.y + p.block_y;
    let thread = local.x;
    let index = pair * THREADS + thread;
    if (role == 0u) {
        if (index < p.len.x) {
            data[index] = input[index];
        }
        workgroupBarrier();  // waits until the block has written all of its data
        if (thread == 0u) {
            flags[pair] = 1u;
        }
        return;
    }
    if (thread == 0u) {
        seen = 0u;
        for (var spin = 0u; spin < p.spins && seen == 0u; spin++) {
            seen = flags[pair];
        }
    }
    workgroupBarrier();  // waits for the flag, or for the end of patience
    if (index < p.len.x) {
        output[index] = data[index];
    }
}
