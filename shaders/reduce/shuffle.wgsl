// Idea. The tree of a block runs in registers: threads of a warp hand each other their sums, and shared memory holds one word per warp.
// Changed from the rung below. Eight levels through shared memory, each with a barrier, become ten register exchanges and one barrier.
// A thread owns. As below; then a lane's place in the exchange.
// Memory traffic. As below.
// Needs. f32, any length; blocks partial sums of workspace. Longest chain of additions: ceil(len / (blocks LOADS THREADS)) + ceil(blocks / THREADS) + log2(LOADS) + 2 log2(THREADS).
//
// Each pass counts its bindings from 0; two names share a number, and no entry point uses both.

const THREADS: u32 = 256u;
const LOADS: u32 = 8u;                  // of a thread, in flight at a time
const CHUNK: u32 = LOADS * THREADS;  // elements of a turn

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
var<workgroup> sums: array<f32, THREADS>;   // at most one subgroup per invocation

// The sum of one value per invocation, for invocation 0: one operation per subgroup, whatever its size, then invocation 0 adds
// the subgroups' sums.
fn block_sum(value: f32, thread: u32, lane: u32, subgroup: u32, subgroups: u32) -> f32 {
    let part = subgroupAdd(value);
    if (lane == 0u) {
        sums[subgroup] = part;
    }
    workgroupBarrier();  // waits for the sum of every subgroup
    var total = 0.0;
    if (thread == 0u) {
        for (var i = 0u; i < subgroups; i++) {
            total += sums[i];
        }
    }
    return total;
}

@compute @workgroup_size(THREADS)
fn reduce_shuffle_partials(@builtin(workgroup_id) block_id: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>, @builtin(subgroup_invocation_id) lane: u32, @builtin(subgroup_id) subgroup: u32, @builtin(num_subgroups) subgroups: u32) {
    let thread = local.x;
    let block = block_id.x + p.block_x;
    var sum: array<f32, LOADS>;  // LOADS
    var i = block * CHUNK + thread;
    for (; i + (LOADS - 1u) * THREADS < p.len.x; i += p.blocks * CHUNK) {
        for (var j = 0u; j < LOADS; j++) {
            sum[j] += input[i + j * THREADS];
        }
    }
    // The last chunk: each element is checked.
    for (var j = 0u; j < LOADS; j++) {
        if (i + j * THREADS < p.len.x) {
            sum[j] += input[i + j * THREADS];
        }
    }
    for (var half = LOADS / 2u; half > 0u; half /= 2u) {
        for (var j = 0u; j < half; j++) {
            sum[j] += sum[j + half];
        }
    }
    let total = block_sum(sum[0], thread, lane, subgroup, subgroups);
    if (thread == 0u) {
        workspace[block] = total;
    }
}

@compute @workgroup_size(THREADS)
fn reduce_shuffle_total(@builtin(local_invocation_id) thread: vec3<u32>, @builtin(subgroup_invocation_id) lane: u32, @builtin(subgroup_id) subgroup: u32, @builtin(num_subgroups) subgroups: u32) {
    var sum = 0.0;
    for (var i = thread.x; i < p.blocks; i += THREADS) {
        sum += partials[i];
    }
    sum = block_sum(sum, thread.x, lane, subgroup, subgroups);
    if (thread.x == 0u) {
        output[0] = sum;
    }
}
