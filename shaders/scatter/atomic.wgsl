// Idea. The same by atomic exchanges, as it must be where two elements may want one place.
// Changed from the rung below. Every write is an atomic, done where the second-level cache keeps the word; nobody else wants it, so this is what an atomic costs by itself.
// A thread owns. One element of the input.
// Memory traffic. Input and indices once, coalesced; of the output one cut 32-byte sector for every element that no neighbour shares it with, which the cache has to merge.
// Needs. u32, any length; indices that are a permutation.

const THREADS: u32 = 256u;

struct Params {
    block_x: u32, block_y: u32, block_z: u32,  // index of this launch's first block
    pad: u32,                                  // reserved, 0
    len: vec2<u32>,                            // elements
}

@group(0) @binding(0) var<storage, read> input: array<u32>;          // len
@group(0) @binding(1) var<storage, read> indices: array<u32>;        // len
@group(0) @binding(2) var<storage, read_write> output: array<atomic<u32>>;   // len
@group(0) @binding(3) var<uniform> p: Params;

@compute @workgroup_size(THREADS)
fn scatter_atomic(@builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_id) thread: vec3<u32>) {
    let index = (block.x + p.block_x) * THREADS + thread.x;
    if (index < p.len.x) {
        let old = atomicExchange(&output[indices[index]], input[index]);
    }
}
