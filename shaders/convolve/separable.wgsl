// Idea. A filter that is a product of a column and a row is applied one direction after the other: 2 TAPS products per output instead of TAPS².
// Changed from the rung below. First every row of the staged region is filtered into a second array, then its columns; a block of 32 columns reads one row per warp, so no padding is needed.
// A thread owns. ROWS / 8 outputs of one column, and its share of the rows between.
// Memory traffic. Each input (1 + 2 RADIUS / 32)² times from global memory; 2 TAPS + 1 shared reads per output and one write.
// Needs. f32, any size; a filter that is a product; outside the image the input counts as 0.
const RADIUS: u32 = 4u;

const TAPS: u32 = 2u * RADIUS + 1u;
const TILE: u32 = 32u;
const BLOCK_ROWS: u32 = 8u;
const THREADS: u32 = TILE * BLOCK_ROWS;
const REGION: u32 = TILE + 2u * RADIUS;  // rows and columns that a tile's outputs need

struct Params {
    block_x: u32, block_y: u32, block_z: u32,  // index of this launch's first block
    rows: u32,
    cols: u32,
    pad: u32,                                  // reserved, 0
}

@group(0) @binding(0) var<storage, read> input: array<f32>;          // rows x cols
@group(0) @binding(1) var<storage, read> weights: array<f32>;        // TAPS
@group(0) @binding(2) var<storage, read_write> output: array<f32>;   // rows x cols
@group(0) @binding(3) var<uniform> p: Params;
var<workgroup> tile: array<f32, REGION * REGION>;   // REGION x REGION
var<workgroup> rows: array<f32, REGION * TILE>;     // REGION x TILE: the tile with its rows filtered

@compute @workgroup_size(TILE, BLOCK_ROWS)
fn convolve_separable(@builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_id) thread: vec3<u32>) {
    let first_col = (block.x + p.block_x) * TILE;
    let first_row = (block.y + p.block_y) * TILE;
    let index = thread.y * TILE + thread.x;

    for (var i = index; i < REGION * REGION; i += THREADS) {
        let y = first_row + i / REGION;  // RADIUS below and right of the element meant
        let x = first_col + i % REGION;
        var value = 0.0;
        if (y >= RADIUS && y < p.rows + RADIUS && x >= RADIUS && x < p.cols + RADIUS) {
            value = input[(y - RADIUS) * p.cols + (x - RADIUS)];
        }
        tile[i] = value;
    }
    workgroupBarrier();  // waits for the whole region

    for (var y = thread.y; y < REGION; y += BLOCK_ROWS) {
        var sum = 0.0;
        for (var v = 0u; v < TAPS; v++) {
            sum += weights[v] * tile[y * REGION + thread.x + v];
        }
        rows[y * TILE + thread.x] = sum;
    }
    workgroupBarrier();  // waits for all filtered rows

    let col = first_col + thread.x;
    for (var y = thread.y; y < TILE; y += BLOCK_ROWS) {
        var sum = 0.0;
        for (var u = 0u; u < TAPS; u++) {
            sum += weights[u] * rows[(y + u) * TILE + thread.x];
        }
        if (first_row + y < p.rows && col < p.cols) {
            output[(first_row + y) * p.cols + col] = sum;
        }
    }
}
