// Idea. One unused element at the end of each tile row moves the elements of a column into different banks.
// Changed from the rung below. The rows of the tile are TILE + 1 elements apart, so that reading a column is free of bank conflicts.
// A thread owns. One element of the input tile and one of the output tile.
// Memory traffic. Each element once, in runs of TILE elements on both sides; shared memory is read and written without conflicts (4-byte elements, TILE 32).
// Needs. Nothing: any shape and leading dimensions, any element width of 4, 8 or 16 bytes (whole 32-bit words).
alias T = u32;

const TILE: u32 = 32u;
const PITCH: u32 = TILE + 1u;  // elements from one tile row to the next

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

@compute @workgroup_size(TILE, TILE)
fn transpose_tiled_padded(@builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_id) thread: vec3<u32>) {
    let x = thread.x;
    let y = thread.y;
    let tile_col = (block.x + p.block_x) * TILE;
    let tile_row = (block.y + p.block_y) * TILE;

    let input_col = tile_col + x;
    let input_row = tile_row + y;
    let output_col = tile_row + x;
    let output_row = tile_col + y;
    let source = input_row * p.input_ld + input_col;
    let destination = output_row * p.output_ld + output_col;

    var element = T();
    if (input_row < p.rows && input_col < p.cols) {
        element = input[source];
    }
    tile[y][x] = element;
    workgroupBarrier();  // waits for the whole tile: an invocation reads what another one wrote
    if (output_row < p.cols && output_col < p.rows) {
        output[destination] = tile[x][y];
    }
}
