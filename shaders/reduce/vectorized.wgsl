// Idea. 16-byte loads, LOADS of them in flight per thread.
// Changed from the rung below. A quarter of the load instructions, and 16 LOADS bytes per thread under way; CUDA blocks are as many as the device holds at a time.
// A thread owns. Vectors THREADS apart, LOADS of every turn, each into its own four sums; then a lane's place in the exchange.
// Memory traffic. Reads every element once, 512 bytes per warp and load; one partial sum per block.
// Needs. f32, any length, an input that starts at a multiple of 16 bytes; blocks partial sums of workspace. Longest chain of additions: ceil(len / (blocks 4 LOADS THREADS)) + ceil(blocks / THREADS) + LOADS + 3 + 2 log2(THREADS).
//
// Each pass counts its bindings from 0; two names share a number, and no entry point uses both.

const THREADS: u32 = 256u;
const LOADS: u32 = 4u;                  // of a thread, in flight at a time
const VECTOR: u32 = 4u;                 // elements
const CHUNK: u32 = LOADS * THREADS;     // vectors of a turn

struct Params {
    block_x: u32, block_y: u32, block_z: u32,  // index of this launch's first block
    blocks: u32,                               // of the first pass
    len: vec2<u32>,                            // elements: low word, high word (0 here)
}

@group(0) @binding(0) var<storage, read> input: array<vec4<f32>>;             // len (first pass)
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
fn reduce_vectorized_partials(@builtin(workgroup_id) block_id: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>, @builtin(subgroup_invocation_id) lane: u32, @builtin(subgroup_id) subgroup: u32, @builtin(num_subgroups) subgroups: u32) {
    let thread = local.x;
    let block = block_id.x + p.block_x;
    var sum: array<vec4<f32>, LOADS>;  // LOADS
    let whole = p.len.x / VECTOR;  // vectors that lie in the array entirely
    var i = block * CHUNK + thread;
    for (; i + (LOADS - 1u) * THREADS < whole; i += p.blocks * CHUNK) {
        for (var j = 0u; j < LOADS; j++) {
            sum[j] += input[i + j * THREADS];
        }
    }
    // The last chunk: each vector is checked, and the elements behind the last whole vector go one by one.
    for (var j = 0u; j < LOADS; j++) {
        let at = i + j * THREADS;
        if (at < whole) {
            sum[j] += input[at];
        } else if (at == whole) {
            for (var element = 0u; element < p.len.x % VECTOR; element++) {
                sum[j].x += input[at][element];
            }
        }
    }
    var own = 0.0;
    for (var j = 0u; j < LOADS; j++) {
        own += (sum[j].x + sum[j].y) + (sum[j].z + sum[j].w);
    }
    let total = block_sum(own, thread, lane, subgroup, subgroups);
    if (thread == 0u) {
        workspace[block] = total;
    }
}

@compute @workgroup_size(THREADS)
fn reduce_vectorized_total(@builtin(local_invocation_id) thread: vec3<u32>, @builtin(subgroup_invocation_id) lane: u32, @builtin(subgroup_id) subgroup: u32, @builtin(num_subgroups) subgroups: u32) {
    var sum = 0.0;
    for (var i = thread.x; i < p.blocks; i += THREADS) {
        sum += partials[i];
    }
    sum = block_sum(sum, thread.x, lane, subgroup, subgroups);
    if (thread.x == 0u) {
        output[0] = sum;
    }
}
