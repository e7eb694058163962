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

    var sums: array<array<f32, COLS>, ROWS>;  // ROWS x COLS
    for (var first = 0u; first < p.k; first += BLOCK_K) {
        for (var i = thread; i < BLOCK_M * BLOCK_K; i += THREADS) {
            a_tile[i / BLOCK_K][i % BLOCK_K] = element_a(block_row + i / BLOCK_K, first + i % BLOCK_K);
        }
        for (var i = thread; i < BLOCK_K * BLOCK_N; i += THREADS) {
            b_tile[i / BLOCK_N][i % BLOCK_N] = element_b(first + i / BLOCK_N, block_col + i % BLOCK_N);
        }
        workgroupBarrier();  // waits for both tiles: an invocation reads what others fetched
        for (var k = 0u; k < BLOCK_K; k++) {
            var a_part: array<f32, ROWS>;  // ROWS rows of one k
            var b_part: array<f32, COLS>;  // COLS columns of one k
            for (var i = 0u; i < ROWS; i++) {
                a_part[i] = a_tile[row + i][k];
            }
            for (var j = 0u; j < COLS; j++) {
                b_part[j] = b_tile[k][col + j];
            }
            for (var i = 0u; i < ROWS; i++) {
                for (var j = 0u; j < COLS; j++) {
                    sums[i][j] = fma(a_part[i], b_part[j], sums[i][j]);
                }
            }
        }
        workgroupBarrier();  // waits until all have read: the next step overwrites the tiles
    }

    for (var i = 0u; i < ROWS; i++) {
        for (var j = 0u; j < COLS; j++) {
            store(block_row + row + i, block_col + col + j, sums[i][j]);
        }
    }
}
