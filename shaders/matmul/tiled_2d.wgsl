// Idea. A thread computes ROWS x COLS results: per step of k it reads ROWS elements of A and COLS of B into registers and multiplies all pairs.
// Changed from the rung below. Results in two directions per thread, so that shared memory is read (ROWS + COLS) / (ROWS * COLS) times per multiply-add.
// A thread owns. ROWS x COLS neighbouring elements of C; it fetches 4 elements of each tile per step.
// Memory traffic. 16 shared loads of 4 bytes per 64 multiply-adds (the rung below: 9 per 8); global traffic falls with the block, k (1 / BLOCK_M + 1 / BLOCK_N) elements per result.
// Needs. f32, both operands as they lie (row-major), any shape and leading dimensions, alpha and beta.

const BLOCK_M: u32 = 128u;
const BLOCK_N: u32 = 128u;
const BLOCK_K: u32 = 8u;
const ROWS: u32 = 8u;
const COLS: u32 = 8u;
const THREADS: u32 = 256u;  // BLOCK_M * BLOCK_N / (ROWS * COLS)

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
fn matmul_tiled_2d(@builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let block_row = (block.y + p.block_y) * BLOCK_M;
    let block_col = (block.x + p.block_x) * BLOCK_N;
    let row = thread / (BLOCK_N / COLS) * ROWS;  // first of this thread's rows and columns, within the block
    let col = thread % (BLOCK_N / COLS) * COLS;

    // sums: row r of this thread's 8, columns 0-3 and 4-7. Named, since an array that a loop indexes may end up in memory.
    var c0_0: vec4<f32>; var c0_1: vec4<f32>;
    var c1_0: vec4<f32>; var c1_1: vec4<f32>;
    var c2_0: vec4<f32>; var c2_1: vec4<f32>;
    var c3_0: vec4<f32>; var c3_1: vec4<f32>;
    var c4_0: vec4<f32>; var c4_1: vec4<f32>;
    var c5_0: vec4<f32>; var c5_1: vec4<f32>;
    var c6_0: vec4<f32>; var c6_1: vec4<f32>;
    var c7_0: vec4<f32>; var c7_1: vec4<f32>;
    for (var first = 0u; first < p.k; first += BLOCK_K) {
        for (var i = thread; i < BLOCK_M * BLOCK_K; i += THREADS) {
            a_tile[i / BLOCK_K][i % BLOCK_K] = element_a(block_row + i / BLOCK_K, first + i % BLOCK_K);
        }
        for (var i = thread; i < BLOCK_K * BLOCK_N; i += THREADS) {
            b_tile[i / BLOCK_N][i % BLOCK_N] = element_b(first + i / BLOCK_N, block_col + i % BLOCK_N);
        }
        workgroupBarrier();  // waits for both tiles: an invocation reads what others fetched
        for (var k = 0u; k < BLOCK_K; k++) {
            let b0 = vec4<f32>(b_tile[k][col], b_tile[k][col + 1u], b_tile[k][col + 2u], b_tile[k][col + 3u]);
            let b1 = vec4<f32>(b_tile[k][col + 4u], b_tile[k][col + 5u], b_tile[k][col + 6u], b_tile[k][col + 7u]);
            let a0 = a_tile[row][k];
            c0_0 = fma(vec4<f32>(a0), b0, c0_0); c0_1 = fma(vec4<f32>(a0), b1, c0_1);
            let a1 = a_tile[row + 1u][k];
            c1_0 = fma(vec4<f32>(a1), b0, c1_0); c1_1 = fma(vec4<f32>(a1), b1, c1_1);
            let a2 = a_tile[row + 2u][k];
            c2_0 = fma(vec4<f32>(a2), b0, c2_0); c2_1 = fma(vec4<f32>(a2), b1, c2_1);
            let a3 = a_tile[row + 3u][k];
            c3_0 = fma(vec4<f32>(a3), b0, c3_0); c3_1 = fma(vec4<f32>(a3), b1, c3_1);
            let a4 = a_tile[row + 4u][k];
            c4_0 = fma(vec4<f32>(a4), b0, c4_0); c4_1 = fma(vec4<f32>(a4), b1, c4_1);
            let a5 = a_tile[row + 5u][k];
            c5_0 = fma(vec4<f32>(a5), b0, c5_0); c5_1 = fma(vec4<f32>(a5), b1, c5_1);
            let a6 = a_tile[row + 6u][k];
            c6_0 = fma(vec4<f32>(a6), b0, c6_0); c6_1 = fma(vec4<f32>(a6), b1, c6_1);
            let a7 = a_tile[row + 7u][k];
            c7_0 = fma(vec4<f32>(a7), b0, c7_0); c7_1 = fma(vec4<f32>(a7), b1, c7_1);
        }
        workgroupBarrier();  // waits until all have read: the next step overwrites the tiles
    }

    store_quad(block_row + row, block_col + col, c0_0);
    store_quad(block_row + row, block_col + col + COLS / 2u, c0_1);
    store_quad(block_row + row + 1u, block_col + col, c1_0);
    store_quad(block_row + row + 1u, block_col + col + COLS / 2u, c1_1);
    store_quad(block_row + row + 2u, block_col + col, c2_0);
    store_quad(block_row + row + 2u, block_col + col + COLS / 2u, c2_1);
    store_quad(block_row + row + 3u, block_col + col, c3_0);
    store_quad(block_row + row + 3u, block_col + col + COLS / 2u, c3_1);
    store_quad(block_row + row + 4u, block_col + col, c4_0);
    store_quad(block_row + row + 4u, block_col + col + COLS / 2u, c4_1);
    store_quad(block_row + row + 5u, block_col + col, c5_0);
    store_quad(block_row + row + 5u, block_col + col + COLS / 2u, c5_1);
    store_quad(block_row + row + 6u, block_col + col, c6_0);
    store_quad(block_row + row + 6u, block_col + col + COLS / 2u, c6_1);
    store_quad(block_row + row + 7u, block_col + col, c7_0);
    store_quad(block_row + row + 7u, block_col + col + COLS / 2u, c7_1);
}

fn store_quad(row: u32, col: u32, sums: vec4<f32>) {
    store(row, col, sums.x);
    store(row, col + 1u, sums.y);
    store(row, col + 2u, sums.z);
    store(row, col + 3u, sums.w);
}
