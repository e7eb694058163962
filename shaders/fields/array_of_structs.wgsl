// Idea. Records lie one after the other; a thread reads three words of its own.
// Changed from the rung below. The first rung: nothing below it.
// A thread owns. One record.
// Memory traffic. Each of the three reads of a warp touches 32 sectors for 128 bytes; the sectors come once, with five words of eight for nothing.
// Needs. u32 fields, any number of records of 8 words.

const THREADS: u32 = 256u;
const WORDS: u32 = 8u;  // of a record; the first three are added up

struct Params {
    block_x: u32, block_y: u32, block_z: u32,  // index of this launch's first block
    pad: u32,                                  // reserved, 0
    len: vec2<u32>,                            // elements
}

@group(0) @binding(0) var<storage, read> records: array<u32>;        // len x WORDS: array of structs
@group(0) @binding(1) var<storage, read_write> output: array<u32>;   // len
@group(0) @binding(2) var<uniform> p: Params;

@compute @workgroup_size(THREADS)
fn fields_array_of_structs(@builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_id) thread: vec3<u32>) {
    let index = (block.x + p.block_x) * THREADS + thread.x;
    if (index < p.len.x) {
        let record = index * WORDS;
        output[index] = records[record] + records[record + 1u] + records[record + 2u];
    }
}
