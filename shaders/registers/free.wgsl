// Idea. 64 values per thread that must all be kept: the compiler takes the registers it needs.
// Changed from the rung below. The first rung: nothing below it.
// A thread owns. One group of VALUES elements, all of which stay alive until the last of them has been read.
// Memory traffic. Every element once in and once out, coalesced.
// Needs. u32, any number of groups of 64.

const THREADS: u32 = 256u;
const VALUES: u32 = 64u;
const FACTOR: u32 = 16777619u;  // of the FNV hash

struct Params {
    block_x: u32, block_y: u32, block_z: u32,  // index of this launch's first block
    pad: u32,                                  // reserved, 0
    groups: vec2<u32>,
}

@group(0) @binding(0) var<storage, read> input: array<u32>;          // VALUES x groups
@group(0) @binding(1) var<storage, read_write> output: array<u32>;   // VALUES x groups
@group(0) @binding(2) var<uniform> p: Params;

@compute @workgroup_size(THREADS)
fn registers_free(@builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_id) thread: vec3<u32>) {
    let group = (block.x + p.block_x) * THREADS + thread.x;
    if (group >= p.groups.x) {
        return;
    }
    var value: array<u32, VALUES>;  // VALUES
    var total = 0u;
    for (var i = 0u; i < VALUES; i++) {
        value[i] = input[i * p.groups.x + group];
    }
    for (var i = 0u; i < VALUES; i++) {
        total = (total ^ value[i]) * FACTOR;
    }
    for (var i = 0u; i < VALUES; i++) {
        output[i * p.groups.x + group] = value[i] + total;
    }
}
