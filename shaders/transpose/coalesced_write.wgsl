// Idea. The mirror image: threads of a warp lie along an output row, so writes are coalesced and reads are input_ld elements apart.
// Changed from the rung below. The scattered side is now the read: the caches keep the rest of a fetched sector for the neighbouring threads, while a scattered write has to leave the multiprocessor sector by sector.
// A thread owns. One element.
// Memory traffic. A warp reads 32 separate sectors; a block uses 8 columns of each, a whole 32-byte sector of 4-byte elements, through L1. It writes 32 consecutive elements.
// Needs. Nothing: any shape and leading dimensions, any element width of 4, 8 or 16 bytes (whole 32-bit words).
alias T = u32;

const BLOCK_COLS: u32 = 8u;
const BLOCK_ROWS: u32 = 32u;

struct Params {
    block_x: u32, block_y: u32, block_z: u32,              // index of this launch's first block
    rows: u32, cols: u32,                                  // of the input
    input_ld: u32, output_ld: u32,                         // elements from one row to the next
    batch: u32,
    input_offset: vec2<u32>, output_offset: vec2<u32>,     // elements: low word, high word (0 here)
    input_stride: vec2<u32>, output_stride: vec2<u32>,     // elements between matrices of a batch
}

@group(0) @binding(0) var<storage, read> input: array<T>;          // rows x input_ld
@group(0) @binding(1) var<storage, read_write> output: array<T>;   // cols x output_ld
@group(0) @binding(2) var<uniform> p: Params;

@compute @workgroup_size(BLOCK_ROWS, BLOCK_COLS)
fn transpose_coalesced_write(@builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_id) thread: vec3<u32>) {
    let col = (block.x + p.block_x) * BLOCK_COLS + thread.y;
    let row = (block.y + p.block_y) * BLOCK_ROWS + thread.x;
    if (row < p.rows && col < p.cols) {
        output[col * p.output_ld + row] = input[row * p.input_ld + col];
    }
}
