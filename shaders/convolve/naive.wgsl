// Idea. One output per thread: the TAPS x TAPS neighbours, each from global memory, each times two weights.
// Changed from the rung below. The first rung: nothing below it.
// A thread owns. One output element.
// Memory traffic. TAPS² reads per output, coalesced; nearly all of them are answered by the L1 cache, which is what limits.
// Needs. f32, any size; outside the image the input counts as 0.
const RADIUS: u32 = 4u;

const TAPS: u32 = 2u * RADIUS + 1u;
const BLOCK_COLS: u32 = 32u;
const BLOCK_ROWS: u32 = 8u;

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

@compute @workgroup_size(BLOCK_COLS, BLOCK_ROWS)
fn convolve_naive(@builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_id) thread: vec3<u32>) {
    let col = (block.x + p.block_x) * BLOCK_COLS + thread.x;
    let row = (block.y + p.block_y) * BLOCK_ROWS + thread.y;
    if (row >= p.rows || col >= p.cols) {
        return;
    }
    var sum = 0.0;
    for (var u = 0u; u < TAPS; u++) {
        for (var v = 0u; v < TAPS; v++) {
            let y = row + u;  // RADIUS below and right of the element meant
            let x = col + v;
            if (y >= RADIUS && y < p.rows + RADIUS && x >= RADIUS && x < p.cols + RADIUS) {
                sum += weights[u] * weights[v] * input[(y - RADIUS) * p.cols + (x - RADIUS)];
            }
        }
    }
    output[row * p.cols + col] = sum;
}
