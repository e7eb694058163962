// Idea. Every addition keeps what it rounded away (Kahan's idea, with Knuth's two-sum), in a second number that is added at the end.
// Changed from the rung below. Accuracy, not speed: six more operations per element, hidden behind the memory traffic of two_pass.
// A thread owns. As in two_pass: every stride-th element, then its place in the tree.
// Memory traffic. As in two_pass, with 8 bytes per partial sum.
// Needs. f32, any length; 8 bytes of workspace per block. A compiler that reassociates undoes it, which WGSL allows: its accuracy is measured, never assumed.
//
// Each pass counts its bindings from 0; two names share a number, and no entry point uses both.

const THREADS: u32 = 256u;

struct Params {
    block_x: u32, block_y: u32, block_z: u32,  // index of this launch's first block
    blocks: u32,                               // of the first pass
    len: vec2<u32>,                            // elements: low word, high word (0 here)
}

// A sum and the part of it that its 24 bits could not hold.
struct Sum {
    value: f32, rest: f32,
}

@group(0) @binding(0) var<storage, read> input: array<f32>;             // len (first pass)
@group(0) @binding(1) var<storage, read_write> workspace: array<Sum>;   // blocks (first pass)
@group(0) @binding(0) var<storage, read> partials: array<Sum>;          // blocks: the workspace (second pass)
@group(0) @binding(1) var<storage, read_write> output: array<f32>;      // 1 (second pass)
@group(0) @binding(2) var<uniform> p: Params;
var<workgroup> sums: array<Sum, THREADS>;   // THREADS

// Adds exactly: value + rest is what a + b is without rounding (Knuth's two-sum).
fn two_sum(a: f32, b: f32) -> Sum {
    let value = a + b;
    let from_b = value - a;
    return Sum(value, (a - (value - from_b)) + (b - from_b));
}

fn plus(a: Sum, b: Sum) -> Sum {
    var sum = two_sum(a.value, b.value);
    sum.rest += a.rest + b.rest;
    return sum;
}

// The sum of one value per invocation, for every invocation: a balanced tree of log2(THREADS) levels, the same for every run.
fn block_sum(sum: Sum, thread: u32) -> Sum {
    sums[thread] = sum;
    for (var half = THREADS / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();  // waits for the sums of the level before
        if (thread < half) {
            sums[thread] = plus(sums[thread], sums[thread + half]);
        }
    }
    workgroupBarrier();  // waits for the last addition
    return sums[0];
}

@compute @workgroup_size(THREADS)
fn reduce_compensated_partials(@builtin(workgroup_id) block_id: vec3<u32>, @builtin(local_invocation_id) thread: vec3<u32>) {
    let block = block_id.x + p.block_x;
    let stride = p.blocks * THREADS;
    var sum = Sum(0.0, 0.0);
    for (var i = block * THREADS + thread.x; i < p.len.x; i += stride) {
        sum = plus(sum, Sum(input[i], 0.0));
    }
    sum = block_sum(sum, thread.x);
    if (thread.x == 0u) {
        workspace[block] = sum;
    }
}

@compute @workgroup_size(THREADS)
fn reduce_compensated_total(@builtin(local_invocation_id) thread: vec3<u32>) {
    var sum = Sum(0.0, 0.0);
    for (var i = thread.x; i < p.blocks; i += THREADS) {
        sum = plus(sum, partials[i]);
    }
    sum = block_sum(sum, thread.x);
    if (thread.x == 0u) {
        output[0] = sum.value + sum.rest;
    }
}
