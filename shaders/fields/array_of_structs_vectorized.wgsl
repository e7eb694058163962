// Idea. The same records, read with one 16-byte access.
// Changed from the rung below. One request per warp for all three words; the bytes that move stay the same.
// A thread owns. One record.
// Memory traffic. One request of 32 sectors, half of each of which is asked for.
// Needs. u32 fields, any number of records of 8 words.

const THREADS: u32 = 256u;
const WORDS: u32 = 8u;  // of a record; the first three are added up
const VECTOR: u32 = 4u;

struct Params {
    block_x: u32, block_y: u32, block_z: u32,  // index of this launch's first block
    pad: u32,                                  // reserved, 0
    len: vec2<u32>,                            // elements
}

@group(0) @binding(0) var<storage, read> records: array<vec4<u32>>;   // len x WORDS / VECTOR: array of structs
@group(0) @binding(1) var<storage, read_write> output: array<u32>;    // len
@group(0) @binding(2) var<uniform> p: Params;

@compute @workgroup_size(THREADS)
fn fields_array_of_structs_vectorized(@builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_id) thread: vec3<u32>) {
    let index = (block.x + p.block_x) * THREADS + thread.x;
    if (index < p.len.x) {
        let head = records[index * WORDS / VECTOR];
        output[index] = head.x + head.y + head.z;
    }
}
