// Idea. LANES neighbouring threads share a row and add their sums up in a tree.
// Changed from the rung below. A row's elements are read side by side, so accesses coalesce, and a long row no longer holds up 31 short ones. LANES follows the average row: EACH turns of a thread are under way at a time.
// A thread owns. Every LANES-th element of its row, then a place in the row's tree.
// Memory traffic. columns and values once, coalesced; x from wherever the columns point.
// Needs. f32, compressed sparse rows with 32-bit indices; LANES a power of two up to 32.
const LANES: u32 = 32u;

const THREADS: u32 = 128u;
const ROWS: u32 = THREADS / LANES;  // of a block
const EACH: u32 = 4u;               // elements of a thread, in flight at a time

struct Params {
    block_x: u32, block_y: u32, block_z: u32,  // index of this launch's first block
    rows: u32,
    cols: u32,
    nonzeros: u32,
}

@group(0) @binding(0) var<storage, read> starts: array<u32>;         // rows + 1: where each row starts in the two arrays below
@group(0) @binding(1) var<storage, read> columns: array<u32>;        // nonzeros
@group(0) @binding(2) var<storage, read> values: array<f32>;         // nonzeros
@group(0) @binding(3) var<storage, read> x: array<f32>;              // cols
@group(0) @binding(4) var<storage, read_write> output: array<f32>;   // rows
@group(0) @binding(5) var<uniform> p: Params;
var<workgroup> sums: array<f32, THREADS>;   // ROWS x LANES

@compute @workgroup_size(THREADS)
fn spmv_warp_per_row(@builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let thread = local.x;
    let lane = thread % LANES;
    let row = (block.x + p.block_x) * ROWS + thread / LANES;
    var sum = 0.0;
    if (row < p.rows) {
        let end = starts[row + 1u];
        for (var i = starts[row] + lane; i < end; i += EACH * LANES) {
            var column: array<u32, EACH>;  // EACH
            var value: array<f32, EACH>;   // EACH
            for (var j = 0u; j < EACH; j++) {
                if (i + j * LANES < end) {
                    column[j] = columns[i + j * LANES];
                    value[j] = values[i + j * LANES];
                }
            }
            for (var j = 0u; j < EACH; j++) {
                if (i + j * LANES < end) {
                    sum += value[j] * x[column[j]];
                }
            }
        }
    }
    sums[thread] = sum;
    for (var half = LANES / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();  // waits for the sums of the level before
        if (lane < half) {
            sums[thread] += sums[thread + half];
        }
    }
    if (lane == 0u && row < p.rows) {
        output[row] = sums[thread];
    }
}
