// Idea. The tile is stored column by column, so that neighbouring threads read neighbouring words (stride 1).
// Changed from the rung below. Reads need no trick any more; the one write that turns the tile pays instead, 32 wavefronts per request, once.
// A thread owns. One row's place in each round: thread t adds up row t + round of the tile, cyclically, word by word.
// Memory traffic. Global memory once, 33 words per row; shared memory 32 reads per row and round, each in 1 wavefront.
// Needs. u32, any number of rows and rounds; ROWS x COLS words of shared memory.

const ROWS: u32 = 64u;   // of a block, one per thread
const COLS: u32 = 32u;

struct Params {
    block_x: u32, block_y: u32, block_z: u32,  // index of this launch's first block
    rows: u32,
    rounds: u32,
    pad: u32,                                  // reserved, 0
}

@group(0) @binding(0) var<storage, read> input: array<u32>;          // rows x COLS
@group(0) @binding(1) var<storage, read_write> output: array<u32>;   // rows
@group(0) @binding(2) var<uniform> p: Params;
var<workgroup> tile: array<u32, ROWS * COLS>;   // COLS x ROWS

@compute @workgroup_size(ROWS)
fn shared_consecutive(@builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let first = (block.x + p.block_x) * ROWS;
    let thread = local.x;
    for (var i = thread; i < ROWS * COLS; i += ROWS) {
        let row = i / COLS;
        let col = i % COLS;
        var word = 0u;
        if (first + row < p.rows) {
            word = input[(first + row) * COLS + col];
        }
        tile[col * ROWS + row] = word;
    }
    workgroupBarrier();  // waits for the whole tile

    var sum = 0u;
    for (var round = 0u; round < p.rounds; round++) {
        let row = (thread + round) % ROWS;
        for (var col = 0u; col < COLS; col++) {
            sum += tile[col * ROWS + row];
        }
    }
    if (first + thread < p.rows) {
        output[first + thread] = sum;
    }
}
