// Idea. Every block adds its sum to the result itself: no workspace and no second pass over partial sums.
// Changed from the rung below. The second launch adds nothing any more; a first, tiny one sets the result to 0. The order of the additions, and so the last bits, change from run to run.
// A thread owns. As below; thread 0 of each block, one atomic addition.
// Memory traffic. As below; one atomic per block on a single word.
// Needs. f32, any length, a grid that needs no cutting. Longest chain of additions: ceil(len / (blocks LOADS THREADS)) + log2(LOADS) + log2(THREADS) + blocks.
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

@group(0) @binding(0) var<storage, read_write> zeroed: array<atomic<u32>>;   // 1: the output (first pass)
@group(0) @binding(0) var<storage, read> input: array<f32>;                  // len (second pass)
@group(0) @binding(1) var<storage, read_write> output: array<atomic<u32>>;   // 1, the bits of an f32 (second pass)
@group(0) @binding(1) var<uniform> zero_p: Params;                           // (first pass)
@group(0) @binding(2) var<uniform> p: Params;                                // (second pass)
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
fn reduce_atomics_zero(@builtin(local_invocation_id) local: vec3<u32>) {
    if (local.x == 0u && zero_p.len.x > 0u) {
        atomicStore(&zeroed[0], 0u);
    }
}

@compute @workgroup_size(THREADS)
fn reduce_atomics_add(@builtin(workgroup_id) block_id: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>,
    @builtin(num_workgroups) blocks: vec3<u32>, @builtin(subgroup_invocation_id) lane: u32, @builtin(subgroup_id) subgroup: u32, @builtin(num_subgroups) subgroups: u32) {
    let thread = local.x;
    let block = block_id.x + p.block_x;
    var sum: array<f32, LOADS>;  // LOADS
    var i = block * CHUNK + thread;
    for (; i + (LOADS - 1u) * THREADS < p.len.x; i += blocks.x * CHUNK) {
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
        // WGSL has no atomic addition of f32: the bits are exchanged until nobody came between.
        var seen = atomicLoad(&output[0]);
        loop {
            let exchanged = atomicCompareExchangeWeak(&output[0], seen, bitcast<u32>(bitcast<f32>(seen) + total));
            if (exchanged.exchanged) {
                break;
            }
            seen = exchanged.old_value;
        }
    }
}
