// Idea. 16-byte accesses: a quarter of the instructions. PITCH, in vectors, decides the conflicts: a quarter of a warp must cover all 32 banks.
// Changed from the rung below. A thread reads vectors. PITCH 8 (rows at multiples of 128 bytes) puts eight lanes on the same four banks; 9 spreads them.
// A thread owns. One row's place in each round: thread t adds up row t + round of the tile, cyclically, in 16-byte vectors.
// Memory traffic. Global memory once, 33 words per row; shared memory 8 reads of 16 bytes per row and round, served a quarter of a warp at a time, each in 4 wavefronts with PITCH 9 (the fewest for 512 bytes) and 32 with PITCH 8.
// Needs. u32, any number of rows and rounds; ROWS x PITCH vectors of shared memory.
const PITCH: u32 = 9u;

const ROWS: u32 = 64u;   // of a block, one per thread
const VECTORS: u32 = 8u;  // of 4 words, of a row

struct Params {
    block_x: u32, block_y: u32, block_z: u32,  // index of this launch's first block
    rows: u32,
    rounds: u32,
    pad: u32,                                  // reserved, 0
}

@group(0) @binding(0) var<storage, read> input: array<vec4<u32>>;    // rows x VECTORS
@group(0) @binding(1) var<storage, read_write> output: array<u32>;   // rows
@group(0) @binding(2) var<uniform> p: Params;
var<workgroup> tile: array<vec4<u32>, ROWS * PITCH>;   // ROWS x VECTORS, PITCH vectors between rows

@compute @workgroup_size(ROWS)
fn shared_vectorized(@builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let first = (block.x + p.block_x) * ROWS;
    let thread = local.x;
    for (var i = thread; i < ROWS * VECTORS; i += ROWS) {
        let row = i / VECTORS;
        let vector = i % VECTORS;
        var words = vec4<u32>(0u);
        if (first + row < p.rows) {
            words = input[(first + row) * VECTORS + vector];
        }
        tile[row * PITCH + vector] = words;
    }
    workgroupBarrier();  // waits for the whole tile

    var sum = 0u;
    for (var round = 0u; round < p.rounds; round++) {
        let row = (thread + round) % ROWS;
        for (var vector = 0u; vector < VECTORS; vector++) {
            let words = tile[row * PITCH + vector];
            sum += words.x + words.y + words.z + words.w;
        }
    }
    if (first + thread < p.rows) {
        output[first + thread] = sum;
    }
}
