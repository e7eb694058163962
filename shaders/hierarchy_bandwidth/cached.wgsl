// Idea. All threads read a working set again and again: bytes per time is the bandwidth of whatever level holds it.
// Changed from the rung below. The first rung: plain 16-byte loads.
// A thread owns. One vector of every turn in which all threads together advance through the set, over and over.
// Memory traffic. loads x 16 bytes per thread, coalesced; the set decides where from.
// Needs. At most 2^31 vectors.

const THREADS: u32 = 256u;

struct Params {
    block_x: u32, block_y: u32, block_z: u32,  // index of this launch's first block
    vectors: u32,                              // of the working set, 16 bytes each
    loads: u32,                                // of every thread
    threads: u32,                              // in all
}

@group(0) @binding(0) var<storage, read> input: array<vec4<u32>>;    // vectors
@group(0) @binding(1) var<storage, read_write> output: array<u32>;   // threads
@group(0) @binding(2) var<uniform> p: Params;

@compute @workgroup_size(THREADS)
fn hierarchy_bandwidth_cached(@builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_id) thread: vec3<u32>) {
    let index = (block.x + p.block_x) * THREADS + thread.x;
    let step = p.threads % p.vectors;  // what a turn of all threads advances in the set
    var at = index % p.vectors;
    var sum = 0u;
    for (var load = 0u; load < p.loads; load++) {
        let words = input[at];
        sum += words.x + words.y + words.z + words.w;
        at += step;
        at -= select(0u, p.vectors, at >= p.vectors);
    }
    output[index] = sum;
}
