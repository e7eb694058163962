// Idea. Each load's address is the result of the load before: time per hop is the latency of whatever level holds the set.
// Changed from the rung below. The first rung of global memory: plain loads.
// A thread owns. The one chain: there is one thread.
// Memory traffic. One 128-byte line per hop, in an order that no prefetcher guesses.
// Needs. A chain inside the set, words below 2^32; a set that fits the level meant.

const THREADS: u32 = 1u;

struct Params {
    block_x: u32, block_y: u32, block_z: u32,  // index of this launch's first block
    words: u32,                                // of the working set
    hops: u32,
    pad: u32,                                  // reserved, 0
}

@group(0) @binding(0) var<storage, read> next: array<u32>;           // words: at every 32nd, where to go from there
@group(0) @binding(1) var<storage, read_write> output: array<u32>;   // 1
@group(0) @binding(2) var<uniform> p: Params;

@compute @workgroup_size(THREADS)
fn hierarchy_latency_cached(@builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_id) thread: vec3<u32>) {
    var at = 0u;
    for (var hop = 0u; hop < p.hops; hop++) {
        at = next[at];
    }
    output[0] = at;
}
