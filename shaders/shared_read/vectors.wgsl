// Idea. Lanes read 16 bytes each from shared memory, side by side, again and again: its bandwidth and nothing else.
// Changed from the rung below. The first rung.
// A thread owns. Four words of the output: the sum of STEPS vectors of its block's tile, from its own place on, around the ring of THREADS.
// Memory traffic. Reads and writes every word of global memory once; between the two every thread reads 16 * STEPS bytes of shared memory.
// Needs. 4-byte words, any length; beyond the end the tile holds zeros.

alias T = u32;
const STEPS: u32 = 1040u;
const THREADS: u32 = 256u;
const VECTOR: u32 = 4u;                // words of one vector
const BLOCK: u32 = THREADS * VECTOR;   // words of one block
const UNROLL: u32 = 16u;               // vectors without a branch

struct Params {
    block_x: u32, block_y: u32, block_z: u32,  // index of this launch's first block
    tail: u32,                                 // reserved, 0
    len: vec2<u32>,                            // words: low word, high word (0 here)
}

@group(0) @binding(0) var<storage, read> input: array<T>;          // len
@group(0) @binding(1) var<storage, read_write> output: array<T>;   // len
@group(0) @binding(2) var<uniform> p: Params;
var<workgroup> tile: array<vec4<u32>, 2u * THREADS>;   // 2 x THREADS: the ring twice, so that no index wraps

@compute @workgroup_size(THREADS)
fn shared_read_vectors(@builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_id) thread: vec3<u32>) {
    let first = (block.x + p.block_x) * BLOCK + thread.x * VECTOR;
    var own = vec4<u32>(0u);
    for (var i = 0u; i < VECTOR; i++) {
        if (first + i < p.len.x) {
            own[i] = input[first + i];
        }
    }
    tile[thread.x] = own;
    tile[thread.x + THREADS] = own;
    workgroupBarrier();  // waits for the tile

    var sum = vec4<u32>(0u);
    for (var step = 0u; step < STEPS; step += UNROLL) {
        let start = thread.x + step % THREADS;
        for (var i = 0u; i < UNROLL; i++) {
            sum += tile[start + i];
        }
    }
    for (var i = 0u; i < VECTOR; i++) {
        if (first + i < p.len.x) {
            output[first + i] = sum[i];
        }
    }
}
