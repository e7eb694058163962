// Idea. Rows of the staged region lie 48 words apart, so that the two rows a warp reads fall on different banks.
// Changed from the rung below. Only the distance of two rows in shared memory: 48 words (16 modulo 32 banks) in place of 24.
// A thread owns. One output element, and REGION² / THREADS elements of the staging.
// Memory traffic. As below; shared memory in 1 wavefront per request.
// Needs. f32, any size; outside the image the input counts as 0.
const RADIUS: u32 = 4u;

const TAPS: u32 = 2u * RADIUS + 1u;
const TILE: u32 = 16u;
const THREADS: u32 = TILE * TILE;
const REGION: u32 = TILE + 2u * RADIUS;  // rows and columns that a tile's outputs need
const PITCH: u32 = 2u * REGION;

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
var<workgroup> tile: array<f32, REGION * PITCH>;   // REGION x REGION, PITCH words between rows

@compute @workgroup_size(TILE, TILE)
fn convolve_padded(@builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_id) thread: vec3<u32>) {
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
        tile[i / REGION * PITCH + i % REGION] = value;
    }
    workgroupBarrier();  // waits for the whole region

    let row = first_row + thread.y;
    let col = first_col + thread.x;
    if (row >= p.rows || col >= p.cols) {
        return;
    }
    var sum = 0.0;
    for (var u = 0u; u < TAPS; u++) {
        for (var v = 0u; v < TAPS; v++) {
            sum += weights[u] * weights[v] * tile[(thread.y + u) * PITCH + thread.x + v];
        }
    }
    output[row * p.cols + col] = sum;
}
