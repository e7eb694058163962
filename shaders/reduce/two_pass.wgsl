// Idea. A thread adds all of its elements in a register first; its block then needs one tree, and a second launch adds the blocks' sums.
// Changed from the rung below. One tree per block instead of one per chunk of elements: its barriers and shared-memory traffic no longer grow with the length.
// A thread owns. Every stride-th element from its own index on, added in this order, where stride = blocks * THREADS; then its place in the tree. The second pass does the same with the partial sums and one block.
// Memory traffic. Reads every element once, coalesced, with the loads of the whole device in flight; writes and reads one partial sum per block.
// Needs. f32, any length; blocks partial sums of workspace. Longest chain of additions: ceil(len / stride) + ceil(blocks / THREADS) + 2 log2(THREADS).
//
// Each pass counts its bindings from 0; two names share a number, and no entry point uses both.

const THREADS: u32 = 256u;

struct Params {
    block_x: u32, block_y: u32, block_z: u32,  // index of this launch's first block
    blocks: u32,                               // of the first pass
    len: vec2<u32>,                            // elements: low word, high word (0 here)
}

@group(0) @binding(0) var<storage, read> input: array<f32>;             // len (first pass)
@group(0) @binding(1) var<storage, read_write> workspace: array<f32>;   // blocks (first pass)
@group(0) @binding(0) var<storage, read> partials: array<f32>;          // blocks: the workspace (second pass)
@group(0) @binding(1) var<storage, read_write> output: array<f32>;      // 1 (second pass)
@group(0) @binding(2) var<uniform> p: Params;
var<workgroup> sums: array<f32, THREADS>;   // THREADS

// The sum of one value per invocation, for every invocation: a balanced tree of log2(THREADS) levels, the same for every run.
fn block_sum(value: f32, thread: u32) -> f32 {
    sums[thread] = value;
    for (var half = THREADS / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();  // waits for the sums of the level before
        if (thread < half) {
            sums[thread] += sums[thread + half];
        }
    }
    workgroupBarrier();  // waits for the last addition
    return sums[0];
}

@compute @workgroup_size(THREADS)
fn reduce_two_pass_partials(@builtin(workgroup_id) block_id: vec3<u32>, @builtin(local_invocation_id) thread: vec3<u32>) {
    let block = block_id.x + p.block_x;
    let stride = p.blocks * THREADS;
    var sum = 0.0;
    for (var i = block * THREADS + thread.x; i < p.len.x; i += stride) {
        sum += input[i];
    }
    sum = block_sum(sum, thread.x);
    if (thread.x == 0u) {
        workspace[block] = sum;
    }
}

@compute @workgroup_size(THREADS)
fn reduce_two_pass_total(@builtin(local_invocation_id) thread: vec3<u32>) {
    var sum = 0.0;
    for (var i = thread.x; i < p.blocks; i += THREADS) {
        sum += partials[i];
    }
    sum = block_sum(sum, thread.x);
    if (thread.x == 0u) {
        output[0] = sum;
    }
}
