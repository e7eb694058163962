// Idea. The table is copied to shared memory first.
// Changed from the rung below. Lanes that disagree cost bank conflicts at most, not a tag look-up each.
// A thread owns. ROUNDS look-ups, from an entry of its own on.
// Memory traffic. Indices and output once; the table once per block.
// Needs. u32, any length, indices below ENTRIES.

const THREADS: u32 = 256u;
const ENTRIES: u32 = 256u;
const ROUNDS: u32 = 64u;
const STEP: u32 = 37u;  // odd, so that all entries are met

struct Params {
    block_x: u32, block_y: u32, block_z: u32,  // index of this launch's first block
    pad: u32,                                  // reserved, 0
    len: vec2<u32>,                            // elements
    reserved: vec2<u32>,                       // 0
    constants: array<vec4<u32>, 64>,           // the table once more, in a uniform
}

@group(0) @binding(0) var<storage, read> table: array<u32>;          // ENTRIES
@group(0) @binding(1) var<storage, read> indices: array<u32>;        // len, below ENTRIES
@group(0) @binding(2) var<storage, read_write> output: array<u32>;   // len
@group(0) @binding(3) var<uniform> p: Params;
var<workgroup> copied: array<u32, ENTRIES>;   // ENTRIES

@compute @workgroup_size(THREADS)
fn hierarchy_constant_shared(@builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_id) thread: vec3<u32>) {
    let index = (block.x + p.block_x) * THREADS + thread.x;
    for (var i = thread.x; i < ENTRIES; i += THREADS) {
        copied[i] = table[i];
    }
    workgroupBarrier();  // waits for the whole table
    if (index >= p.len.x) {
        return;
    }
    var at = indices[index];
    var sum = 0u;
    for (var round = 0u; round < ROUNDS; round++) {
        sum += copied[at];
        at = (at + STEP) % ENTRIES;
    }
    output[index] = sum;
}
