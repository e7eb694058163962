// Idea. Fewer threads with more work each: four independent loads are under way before any of them is waited for.
// Changed from the rung below. A thread moves four elements, eight rows apart, and loads all of them before it stores the first.
// A thread owns. Four elements of one tile column on the way in, four of one tile column on the way out.
// Memory traffic. Each element once, in runs of 32 elements on both sides; 16 bytes in flight per thread instead of 4 (4-byte elements).
// Needs. Nothing: any shape and leading dimensions, any element width of 4, 8 or 16 bytes (whole 32-bit words).
alias T = u32;

const TILE: u32 = 32u;
const BLOCK_ROWS: u32 = 8u;                // rows of threads; a block is TILE x BLOCK_ROWS threads
const ELEMENTS: u32 = TILE / BLOCK_ROWS;   // of one thread
const PITCH: u32 = TILE + 1u;              // elements from one tile row to the next

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
var<workgroup> tile: array<array<T, PITCH>, TILE>;   // TILE x PITCH, the last column unused

@compute @workgroup_size(TILE, BLOCK_ROWS)
fn transpose_coarsened(@builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_id) thread: vec3<u32>) {
    let x = thread.x;
    let tile_col = (block.x + p.block_x) * TILE;
    let tile_row = (block.y + p.block_y) * TILE;

    let input_col = tile_col + x;
    var element: array<T, ELEMENTS>;  // ELEMENTS; outside the matrix an element stays 0 and is never written out
    for (var i = 0u; i < ELEMENTS; i++) {
        let input_row = tile_row + thread.y + i * BLOCK_ROWS;
        if (input_row < p.rows && input_col < p.cols) {
            element[i] = input[input_row * p.input_ld + input_col];
        }
    }
    for (var i = 0u; i < ELEMENTS; i++) {
        let y = thread.y + i * BLOCK_ROWS;
        tile[y][x] = element[i];
    }

    workgroupBarrier();  // waits for the whole tile: an invocation reads what others wrote

    let output_col = tile_row + x;
    for (var i = 0u; i < ELEMENTS; i++) {
        let y = thread.y + i * BLOCK_ROWS;
        let output_row = tile_col + y;
        if (output_row < p.cols && output_col < p.rows) {
            output[output_row * p.output_ld + output_col] = tile[x][y];
        }
    }
}
