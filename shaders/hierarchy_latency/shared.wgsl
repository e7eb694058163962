// Idea. The same chain through shared memory.
// Changed from the rung below. The chain is copied to shared memory first; hops cost no tag look-up.
// A thread owns. Thread 0 owns the chain; the others help to copy it.
// Memory traffic. The set once; then one shared word per hop.
// Needs. A chain inside the set, at most WORDS words.

const THREADS: u32 = 32u;
const WORDS: u32 = 3072u;

struct Params {
    block_x: u32, block_y: u32, block_z: u32,  // index of this launch's first block
    words: u32,                                // of the working set
    hops: u32,
    pad: u32,                                  // reserved, 0
}

@group(0) @binding(0) var<storage, read> next: array<u32>;           // words: at every 32nd, where to go from there
@group(0) @binding(1) var<storage, read_write> output: array<u32>;   // 1
@group(0) @binding(2) var<uniform> p: Params;
var<workgroup> table: array<u32, WORDS>;   // WORDS, the first p.words of them used

@compute @workgroup_size(THREADS)
fn hierarchy_latency_shared(@builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_id) thread: vec3<u32>) {
    for (var i = thread.x; i < p.words; i += THREADS) {
        table[i] = next[i];
    }
    workgroupBarrier();  // waits for the whole table
    if (thread.x > 0u) {
        return;
    }
    var at = 0u;
    for (var hop = 0u; hop < p.hops; hop++) {
        at = table[at];
    }
    output[0] = at;
}
