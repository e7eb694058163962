// Idea. One block walks over the whole array and adds its partial sums in a tree: no second launch, no atomics, the same bits every time.
// Changed from the rung below. The first rung: nothing below it.
// A thread owns. Elements t, t + THREADS, t + 2 THREADS … for thread t, added in this order; then its place in the tree.
// Memory traffic. Reads every element once, coalesced, but with the loads of a single block in flight: one multiprocessor works and the rest of the device waits.
// Needs. f32, any length. Longest chain of additions: ceil(len / THREADS) + log2(THREADS).
//
// Blocks that hand over with an atomic counter ("the last one done adds up") would use the whole device in one launch, but WGSL has no memory
// ordering between workgroups of a launch, so the twin could not be written.

const THREADS: u32 = 256u;

struct Params {
    block_x: u32, block_y: u32, block_z: u32,  // index of this launch's first block
    blocks: u32,                               // of the first pass
    len: vec2<u32>,                            // elements: low word, high word (0 here)
}

@group(0) @binding(0) var<storage, read> input: array<f32>;          // len
@group(0) @binding(1) var<storage, read_write> output: array<f32>;   // 1
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
fn reduce_one_pass(@builtin(local_invocation_id) thread: vec3<u32>) {
    var sum = 0.0;
    for (var i = thread.x; i < p.len.x; i += THREADS) {
        sum += input[i];
    }
    sum = block_sum(sum, thread.x);
    if (thread.x == 0u) {
        output[0] = sum;
    }
}
