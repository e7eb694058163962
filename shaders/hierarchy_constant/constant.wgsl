// Idea. The table lies in constant memory (CUDA: the params; WGSL: the uniform).
// Changed from the rung below. One entry for all lanes is read in one go; as many go one after the other as lanes disagree.
// A thread owns. ROUNDS look-ups, from an entry of its own on.
// Memory traffic. Indices and output once; the table stays in the constant cache.
// Needs. u32, any length, indices below ENTRIES.

const THREADS: u32 = 256u;
const ENTRIES: u32 = 256u;
const ROUNDS: u32 = 64u;
const VECTOR: u32 = 4u;  // entries of a vector, the element of a uniform's array
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

@compute @workgroup_size(THREADS)
fn hierarchy_constant_constant(@builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_id) thread: vec3<u32>) {
    let index = (block.x + p.block_x) * THREADS + thread.x;
    if (index >= p.len.x) {
        return;
    }
    var at = indices[index];
    var sum = 0u;
    for (var round = 0u; round < ROUNDS; round++) {
        sum += p.constants[at / VECTOR][at % VECTOR];
        at = (at + STEP) % ENTRIES;
    }
    output[index] = sum;
}
