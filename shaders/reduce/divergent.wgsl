// Idea. A tree in shared memory for every chunk of 256 elements, in which every second, fourth, eighth … thread adds its neighbour.
// Changed from the rung below. Many blocks read at once and leave a partial sum each; a second launch adds those. Inside, threads that work and threads that rest share every warp, so all eight warps stay busy to the last level.
// A thread owns. One element of every chunk of THREADS elements that its block takes, and a place in the chunk's tree; thread 0 adds the chunks up.
// Memory traffic. Reads every element once, coalesced; one load per thread between two trees. One partial sum per block.
// Needs. f32, any length; blocks partial sums of workspace. Longest chain of additions: ceil(chunks / blocks) + ceil(blocks / THREADS) + 2 log2(THREADS).
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
fn reduce_divergent_partials(@builtin(workgroup_id) block_id: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let thread = local.x;
    let block = block_id.x + p.block_x;
    var total = 0.0;  // of the block's chunks
    for (var first = block * THREADS; first < p.len.x; first += p.blocks * THREADS) {
        let i = first + thread;
        var value = 0.0;
        if (i < p.len.x) {
            value = input[i];
        }
        sums[thread] = value;
        for (var step = 1u; step < THREADS; step *= 2u) {
            workgroupBarrier();  // waits for the sums of the level before
            if (thread % (2u * step) == 0u) {
                sums[thread] += sums[thread + step];
            }
        }
        workgroupBarrier();  // waits for the last addition
        total += sums[0];
        workgroupBarrier();  // waits until the chunk's sum has been read
    }
    if (thread == 0u) {
        workspace[block] = total;
    }
}

@compute @workgroup_size(THREADS)
fn reduce_divergent_total(@builtin(local_invocation_id) thread: vec3<u32>) {
    var sum = 0.0;
    for (var i = thread.x; i < p.blocks; i += THREADS) {
        sum += partials[i];
    }
    sum = block_sum(sum, thread.x);
    if (thread.x == 0u) {
        output[0] = sum;
    }
}
