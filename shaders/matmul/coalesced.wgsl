// Idea. The threads of a warp lie along a row of C, so that they read neighbouring elements of B and share the element of A.
// Changed from the rung below. The two directions of the block change places; nothing else.
// A thread owns. One element of C; it adds k products in ascending order, each with one fused multiply-add.
// Memory traffic. 2 k loads per thread. Each load of B is 32 consecutive elements, four sectors; the load of A is one element for the whole warp; C is written in whole sectors.
// Needs. f32, both operands as they lie (row-major), any shape and leading dimensions, alpha and beta.

const BLOCK_COLS: u32 = 32u;
const BLOCK_ROWS: u32 = 8u;

struct Params {
    block_x: u32, block_y: u32, block_z: u32,                        // index of this launch's first block
    m: u32, n: u32, k: u32,                                          // c is m x n, a is m x k, b is k x n
    a_ld: u32, b_ld: u32, c_ld: u32,                                 // elements from one row to the next
    batch: u32,
    alpha: f32, beta: f32,
    a_offset: vec2<u32>, b_offset: vec2<u32>, c_offset: vec2<u32>,   // elements: low word, high word (0 here)
    a_stride: vec2<u32>, b_stride: vec2<u32>, c_stride: vec2<u32>,   // elements between matrices of a batch
}

@group(0) @binding(0) var<storage, read> a: array<f32>;         // m x a_ld
@group(0) @binding(1) var<storage, read> b: array<f32>;         // k x b_ld
@group(0) @binding(2) var<storage, read_write> c: array<f32>;   // m x c_ld
@group(0) @binding(3) var<uniform> p: Params;

@compute @workgroup_size(BLOCK_COLS, BLOCK_ROWS)
fn matmul_coalesced(@builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_id) thread: vec3<u32>) {
    let col = (block.x + p.block_x) * BLOCK_COLS + thread.x;
    let row = (block.y + p.block_y) * BLOCK_ROWS + thread.y;
    if (row >= p.m || col >= p.n) {
        return;
    }

    var sum = 0.0;
    for (var i = 0u; i < p.k; i++) {
        sum = fma(a[row * p.a_ld + i], b[i * p.b_ld + col], sum);
    }

    let index = row * p.c_ld + col;
    let product = p.alpha * sum;
    if (p.beta == 0.0) {
        c[index] = product;  // with beta 0 the old c is not read
    } else {
        c[index] = fma(p.beta, c[index], product);
    }
}
