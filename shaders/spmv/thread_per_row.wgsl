// Idea. One thread adds up one row of a compressed sparse matrix times a vector.
// Changed from the rung below. The first rung: nothing below it.
// A thread owns. One row.
// Memory traffic. Neighbouring threads read places a row apart: uncoalesced unless rows are very short, and a warp lasts as long as its longest row; x from wherever the columns point.
// Needs. f32, compressed sparse rows with 32-bit indices.

const THREADS: u32 = 256u;

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

@compute @workgroup_size(THREADS)
fn spmv_thread_per_row(@builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_id) thread: vec3<u32>) {
    let row = (block.x + p.block_x) * THREADS + thread.x;
    if (row >= p.rows) {
        return;
    }
    var sum = 0.0;
    for (var i = starts[row]; i < starts[row + 1u]; i++) {
        sum += values[i] * x[columns[i]];
    }
    output[row] = sum;
}
