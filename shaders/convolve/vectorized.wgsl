// Idea. Four neighbouring outputs per thread from 16-byte shared accesses: the row filter's 12 inputs come in 3 of them and serve 36 products.
// Changed from the rung below. Shared memory holds vectors of four columns; the halo of RADIUS = 4 columns is exactly one vector on each side.
// A thread owns. One vector of four outputs, and its share of the staging and of the filtered rows.
// Memory traffic. Each input (1 + 8 / 64)(1 + 8 / 16) times from global memory; 3 + TAPS 16-byte shared reads for four outputs.
// Needs. f32, any size; a filter that is a product, RADIUS 4; outside the image the input counts as 0.
const RADIUS: u32 = 4u;

const TAPS: u32 = 2u * RADIUS + 1u;
const VECTOR: u32 = 4u;                                 // columns of a vector, and RADIUS
const TILE_COLS: u32 = 64u;
const TILE_ROWS: u32 = 16u;
const TILE_VECTORS: u32 = TILE_COLS / VECTOR;           // vectors of a row of outputs
const REGION_VECTORS: u32 = TILE_VECTORS + 2u;          // with one of halo on each side
const REGION_ROWS: u32 = TILE_ROWS + 2u * RADIUS;
const THREADS: u32 = TILE_VECTORS * TILE_ROWS;

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
var<workgroup> tile: array<vec4<f32>, REGION_ROWS * REGION_VECTORS>;   // REGION_ROWS x REGION_VECTORS
var<workgroup> rows: array<vec4<f32>, REGION_ROWS * TILE_VECTORS>;     // REGION_ROWS x TILE_VECTORS: the tile with its rows filtered

// The input RADIUS above and left of (y, x), 0 outside.
fn shifted(y: u32, x: u32) -> f32 {
    if (y >= RADIUS && y < p.rows + RADIUS && x >= RADIUS && x < p.cols + RADIUS) {
        return input[(y - RADIUS) * p.cols + (x - RADIUS)];
    }
    return 0.0;
}

@compute @workgroup_size(THREADS)
fn convolve_vectorized(@builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let first_col = (block.x + p.block_x) * TILE_COLS;
    let first_row = (block.y + p.block_y) * TILE_ROWS;
    let thread = local.x;

    for (var i = thread; i < REGION_ROWS * REGION_VECTORS; i += THREADS) {
        let y = first_row + i / REGION_VECTORS;
        let x = first_col + i % REGION_VECTORS * VECTOR;
        tile[i] = vec4<f32>(shifted(y, x), shifted(y, x + 1u), shifted(y, x + 2u), shifted(y, x + VECTOR - 1u));
    }
    workgroupBarrier();  // waits for the whole region

    for (var i = thread; i < REGION_ROWS * TILE_VECTORS; i += THREADS) {
        let first = i / TILE_VECTORS * REGION_VECTORS + i % TILE_VECTORS;
        let left = tile[first];
        let middle = tile[first + 1u];
        let right = tile[first + 2u];
        // Four neighbouring sums: weight v meets the vector that starts v columns to the right.
        rows[i] = weights[0] * left
            + weights[1] * vec4<f32>(left.yzw, middle.x)
            + weights[2] * vec4<f32>(left.zw, middle.xy)
            + weights[VECTOR - 1u] * vec4<f32>(left.w, middle.xyz)
            + weights[VECTOR] * middle
            + weights[VECTOR + 1u] * vec4<f32>(middle.yzw, right.x)
            + weights[VECTOR + 2u] * vec4<f32>(middle.zw, right.xy)
            + weights[2u * VECTOR - 1u] * vec4<f32>(middle.w, right.xyz)
            + weights[2u * VECTOR] * right;
    }
    workgroupBarrier();  // waits for all filtered rows

    var sum = vec4<f32>(0.0);
    for (var u = 0u; u < TAPS; u++) {
        sum += weights[u] * rows[thread + u * TILE_VECTORS];
    }
    let row = first_row + thread / TILE_VECTORS;
    let col = first_col + thread % TILE_VECTORS * VECTOR;
    if (row >= p.rows) {
        return;
    }
    for (var j = 0u; j < VECTOR; j++) {
        if (col + j < p.cols) {
            output[row * p.cols + col + j] = sum[j];
        }
    }
}
