// Idea. A thread computes a column of ROWS results: it reads an element of B once and uses it ROWS times from a register.
// Changed from the rung below. ROWS results per thread, and a block of BLOCK_M x BLOCK_N results with a short step of k.
// A thread owns. ROWS elements of C in one column; it fetches one element of each tile per step.
// Memory traffic. 2 k / BLOCK_K global loads per thread for ROWS results; ROWS + 1 shared loads per ROWS multiply-adds instead of 2 per multiply-add.
// Needs. f32, both operands as they lie (row-major), any shape and leading dimensions, alpha and beta; 512 threads per block.

const BLOCK_M: u32 = 64u;
const BLOCK_N: u32 = 64u;
const BLOCK_K: u32 = 8u;
const ROWS: u32 = 8u;
const THREADS: u32 = 512u;  // BLOCK_M * BLOCK_N / ROWS = BLOCK_M * BLOCK_K = BLOCK_K * BLOCK_N

struct Params {
    block_x: u32, block_y: u32, block_z: u32,                          // index of this launch's first block
    m: u32, n: u32, k: u32,                                            // c is m x n, op(a) is m x k, op(b) is k x n
    a_ld: u32, b_ld: u32, c_ld: u32,                                   // elements from one row to the next
    batch: u32,
    alpha: f32, beta: f32,
    a_offset: vec2<u32>, b_offset: vec2<u32>, c_offset: vec2<u32>,     // elements: low word, high word (0 here)
    a_stride: vec2<u32>, b_stride: vec2<u32>, c_stride: vec2<u32>,     // elements between matrices of a batch
}

@group(0) @binding(0) var<storage, read> a: array<f32>;         // m x a_ld
@group(0) @binding(1) var<storage, read> b: array<f32>;         // k x b_ld
@group(0) @binding(2) var<storage, read_write> c: array<f32>;   // m x c_ld
@group(0) @binding(3) var<uniform> p: Params;
var<workgroup> a_tile: array<array<f32, BLOCK_K>, BLOCK_M>;   // BLOCK_M rows of c x BLOCK_K steps of k
var<workgroup> b_tile: array<array<f32, BLOCK_N>, BLOCK_K>;   // BLOCK_K steps of k x BLOCK_N columns of c

fn element_a(row: u32, k: u32) -> f32 {
    if (row < p.m && k < p.k) {
        return a[row * p.a_ld + k];
    }
    return 0.0;  // outside the matrices the tiles hold 0, which adds nothing
}

fn element_b(k: u32, col: u32) -> f32 {
    if (k < p.k && col < p.n) {
        return b[k * p.b_ld + col];
    }
    return 0.0;
}

fn store(row: u32, col: u32, sum: f32) {
    if (row < p.m && col < p.n) {
        let index = row * p.c_ld + col;
        let product = p.alpha * sum;
        if (p.beta == 0.0) {
            c[index] = product;  // with beta 0 the old c is not read
        } else {
            c[index] = fma(p.beta, c[index], product);
        }
    }
}

@compute @workgroup_size(THREADS)
fn matmul_tiled_1d(@builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let block_row = (block.y + p.block_y) * BLOCK_M;
    let block_col = (block.x + p.block_x) * BLOCK_N;
    let row = thread / BLOCK_N * ROWS;  // first of this thread's rows, within the block
    let col = thread % BLOCK_N;

    var sums: array<f32, ROWS>;  // ROWS rows of one column
    for (var first = 0u; first < p.k; first += BLOCK_K) {
        a_tile[thread / BLOCK_K][thread % BLOCK_K] = element_a(block_row + thread / BLOCK_K, first + thread % BLOCK_K);
        b_tile[thread / BLOCK_N][col] = element_b(first + thread / BLOCK_N, block_col + col);
        workgroupBarrier();  // waits for both tiles: an invocation reads what others fetched
        for (var k = 0u; k < BLOCK_K; k++) {
            let b_element = b_tile[k][col];
            for (var i = 0u; i < ROWS; i++) {
                sums[i] = fma(a_tile[row + i][k], b_element, sums[i]);
            }
        }
        workgroupBarrier();  // waits until all have read: the next step overwrites the tiles
    }

    for (var i = 0u; i < ROWS; i++) {
        store(block_row + row + i, block_col + col, sums[i]);
    }
}
