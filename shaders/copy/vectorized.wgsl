// Idea. Move 16 bytes per access. With VECTORS above 1 a thread also starts that many independent loads before its first store.
// Changed from the rung below. A thread moves 16-byte vectors instead of single elements: a quarter of the instructions for 4-byte elements, and 16 bytes in flight per thread instead of 4.
// A thread owns. VECTORS vectors, one block width apart, so that the accesses of a warp cover 512 consecutive bytes.
// Memory traffic. Reads and writes every byte once; the vector that the end of the array cuts is read, merged and written by one thread, so the bytes behind the end keep their value.
// Needs. Both bindings a multiple of 16 bytes long (the array itself may have any length); any element width, by ELEMENT_BYTES.

const ELEMENT_BYTES: u32 = 4u;
const VECTOR_BYTES: u32 = 16u;
const WORD_BYTES: u32 = 4u;
const BYTE_BITS: u32 = 8u;
const WORD_START: vec4<u32> = vec4<u32>(0u, 4u, 8u, 12u);  // first byte of each word of a vector
const THREADS: u32 = 256u;
const VECTORS: u32 = 4u;                     // vectors of one thread
const BLOCK: u32 = THREADS * VECTORS;        // vectors of one block

struct Params {
    block_x: u32, block_y: u32, block_z: u32,  // index of this launch's first block
    tail: u32,                                 // reserved, 0
    len: vec2<u32>,                            // elements: low word, high word (0 here)
}

@group(0) @binding(0) var<storage, read> input: array<vec4<u32>>;          // len elements, rounded up to vectors
@group(0) @binding(1) var<storage, read_write> output: array<vec4<u32>>;   // len elements, rounded up to vectors
@group(0) @binding(2) var<uniform> p: Params;

// The bits of a vector that lie among its first `bytes` bytes.
fn kept_bits(bytes: u32) -> vec4<u32> {
    let inside = clamp(vec4<u32>(bytes), WORD_START, WORD_START + WORD_BYTES) - WORD_START;   // bytes kept of each word
    return select((vec4<u32>(1u) << (inside * BYTE_BITS)) - 1u, ~vec4<u32>(0u), inside == vec4<u32>(WORD_BYTES));
}

@compute @workgroup_size(THREADS)
fn copy_vectorized(@builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_id) thread: vec3<u32>) {
    let bytes = p.len.x * ELEMENT_BYTES;
    let whole = bytes / VECTOR_BYTES;                      // vectors that lie in the array entirely
    let first = (block.x + p.block_x) * BLOCK;             // this block's first vector
    let mine = first + thread.x;

    if (first + BLOCK <= whole) {
        var vector: array<vec4<u32>, VECTORS>;  // VECTORS
        for (var i = 0u; i < VECTORS; i++) {
            vector[i] = input[mine + i * THREADS];
        }
        for (var i = 0u; i < VECTORS; i++) {
            output[mine + i * THREADS] = vector[i];
        }
        return;
    }
    // The last block: each vector is checked, and the one thread that meets the cut vector merges it.
    for (var i = 0u; i < VECTORS; i++) {
        let index = mine + i * THREADS;
        if (index < whole) {
            output[index] = input[index];
        }
        let cut = bytes % VECTOR_BYTES;
        if (index == whole && cut != 0u) {
            let keep = kept_bits(cut);
            output[index] = (input[index] & keep) | (output[index] & ~keep);
        }
    }
}
