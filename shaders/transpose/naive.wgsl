// Idea. The textbook transpose: threads of a warp lie along an input row, so reads are coalesced and writes are output_ld elements apart.
// Changed from the rung below. The first rung: nothing below it.
// A thread owns. One element.
// Memory traffic. A warp reads 32 consecutive elements and writes 32 separate sectors, of which it fills 4 (4-byte elements) of 32 bytes; L2 merges what neighbouring rows add in time.
// Needs. Nothing: any shape and leading dimensions, any element width of 4, 8 or 16 bytes (whole 32-bit words).
alias T = u32;

const BLOCK_COLS: u32 = 32u;
const BLOCK_ROWS: u32 = 8u;

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

@compute @workgroup_size(BLOCK_COLS, BLOCK_ROWS)
fn transpose_naive(@builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_id) thread: vec3<u32>) {
    let col = (block.x + p.block_x) * BLOCK_COLS + thread.x;
    let row = (block.y + p.block_y) * BLOCK_ROWS + thread.y;
    if (row < p.rows && col < p.cols) {
        output[col * p.output_ld + row] = input[row * p.input_ld + col];
    }
}
