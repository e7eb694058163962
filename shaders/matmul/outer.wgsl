// Idea. With a k of a few the work is writing C once: no tiles, no workgroup memory, nothing but long stores.
// Changed from the rung below. No second operand is worth keeping: a thread holds what its rows and columns have of one k in registers and is done with it.
// A thread owns. 16 rows of four columns of C; its warp's runs of a row are 512 bytes.
// Memory traffic. C once, 16 bytes per store; per k and thread four elements of B and 16 of A, mostly from a cache.
// Needs. f32, any shape, layout, leading dimensions, offsets, batch, alpha and beta; c a multiple of 16 bytes long; pays while k is small.

const TRANSPOSE_A: u32 = 0u;  // 1: a is stored k x m
const TRANSPOSE_B: u32 = 0u;  // 1: b is stored n x k
const THREADS: u32 = 256u;
const LANES: u32 = 32u;
const QUAD: u32 = 4u;         // columns per thread
const ROWS: u32 = 16u;        // rows of C per thread
const BLOCK_M: u32 = 128u;    // THREADS / LANES * ROWS
const BLOCK_N: u32 = 128u;    // LANES * QUAD

// 16 bytes of c: vec4<f32> where its leading dimension, offset and stride are multiples of 4 (VECTOR 1), else array<f32, 4> (VECTOR 0)
alias Chunk_c = vec4<f32>;
const VECTOR_C: u32 = 1u;

struct Params {
    block_x: u32, block_y: u32, block_z: u32,                          // index of this launch's first block
    m: u32, n: u32, k: u32,                                            // c is m x n, op(a) is m x k, op(b) is k x n
    a_ld: u32, b_ld: u32, c_ld: u32,                                   // elements from one row to the next
    batch: u32,
    alpha: f32, beta: f32,
    a_offset: vec2<u32>, b_offset: vec2<u32>, c_offset: vec2<u32>,     // elements: low word, high word (0 here)
    a_stride: vec2<u32>, b_stride: vec2<u32>, c_stride: vec2<u32>,     // elements between matrices of a batch
}

@group(0) @binding(0) var<storage, read> a: array<f32>;             // m x a_ld; k x a_ld with TRANSPOSE_A
@group(0) @binding(1) var<storage, read> b: array<f32>;             // k x b_ld; n x b_ld with TRANSPOSE_B
@group(0) @binding(2) var<storage, read_write> c: array<Chunk_c>;   // m x c_ld
@group(0) @binding(3) var<uniform> p: Params;

// Element (row, k) of op(a); outside C the last row's, whose results are not stored.
fn element_a(first: u32, row: u32, k: u32) -> f32 {
    let at = min(row, p.m - 1u);
    return a[first + select(at * p.a_ld + k, k * p.a_ld + at, TRANSPOSE_A == 1u)];
}

// Element (k, col) of op(b), likewise.
fn element_b(first: u32, k: u32, col: u32) -> f32 {
    let at = min(col, p.n - 1u);
    return b[first + select(k * p.b_ld + at, at * p.b_ld + k, TRANSPOSE_B == 1u)];
}

fn put(index: u32, sum: f32) {
    var element = p.alpha * sum;
    if (p.beta != 0.0) {  // beta == 0 must not read c: what lies there may be NaN
        element = fma(p.beta, c[index / QUAD][index % QUAD], element);
    }
    c[index / QUAD][index % QUAD] = element;
}

fn store(first: u32, row: u32, col: u32, sums: vec4<f32>) {
    if (row >= p.m || col >= p.n) {
        return;
    }
    let index = first + row * p.c_ld + col;
    if (VECTOR_C == 1u) {
        let inside = min(p.n - col, QUAD);  // columns of this quad that c has
        var quad = p.alpha * sums;
        if (p.beta != 0.0 || inside < QUAD) {  // with beta 0 the old c is only kept, never used
            let chunk = c[index / QUAD];
            let old = vec4<f32>(chunk[0], chunk[1], chunk[2], chunk[3]);
            if (p.beta != 0.0) {
                quad = fma(vec4<f32>(p.beta), old, quad);
            }
            quad = select(old, quad, vec4<u32>(0u, 1u, 2u, 3u) < vec4<u32>(inside));
        }
        c[index / QUAD] = Chunk_c(quad.x, quad.y, quad.z, quad.w);
    } else {  // columns 32 apart, so that a warp's stores stay whole
        put(index, sums.x);
        if (col + LANES < p.n) { put(index + LANES, sums.y); }
        if (col + 2u * LANES < p.n) { put(index + 2u * LANES, sums.z); }
        if (col + 3u * LANES < p.n) { put(index + 3u * LANES, sums.w); }
    }
}

@compute @workgroup_size(THREADS)
fn matmul_outer(@builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let lane = thread % LANES;
    let row = (block.y + p.block_y) * BLOCK_M + thread / LANES * ROWS;
    let col = (block.x + p.block_x) * BLOCK_N + lane * select(1u, QUAD, VECTOR_C == 1u);
    let apart = select(LANES, 1u, VECTOR_C == 1u);
    let batch = block.z + p.block_z;
    let a_first = p.a_offset.x + batch * p.a_stride.x;
    let b_first = p.b_offset.x + batch * p.b_stride.x;
    let c_first = p.c_offset.x + batch * p.c_stride.x;

    var c0 = vec4<f32>();  // sums of this thread's rows
    var c1 = vec4<f32>();
    var c2 = vec4<f32>();
    var c3 = vec4<f32>();
    var c4 = vec4<f32>();
    var c5 = vec4<f32>();
    var c6 = vec4<f32>();
    var c7 = vec4<f32>();
    var c8 = vec4<f32>();
    var c9 = vec4<f32>();
    var c10 = vec4<f32>();
    var c11 = vec4<f32>();
    var c12 = vec4<f32>();
    var c13 = vec4<f32>();
    var c14 = vec4<f32>();
    var c15 = vec4<f32>();
    for (var k = 0u; k < p.k; k++) {
        let quad = vec4<f32>(element_b(b_first, k, col), element_b(b_first, k, col + apart), element_b(b_first, k, col + 2u * apart), element_b(b_first, k, col + 3u * apart));
        c0 = fma(vec4<f32>(element_a(a_first, row, k)), quad, c0);
        c1 = fma(vec4<f32>(element_a(a_first, row + 1u, k)), quad, c1);
        c2 = fma(vec4<f32>(element_a(a_first, row + 2u, k)), quad, c2);
        c3 = fma(vec4<f32>(element_a(a_first, row + 3u, k)), quad, c3);
        c4 = fma(vec4<f32>(element_a(a_first, row + 4u, k)), quad, c4);
        c5 = fma(vec4<f32>(element_a(a_first, row + 5u, k)), quad, c5);
        c6 = fma(vec4<f32>(element_a(a_first, row + 6u, k)), quad, c6);
        c7 = fma(vec4<f32>(element_a(a_first, row + 7u, k)), quad, c7);
        c8 = fma(vec4<f32>(element_a(a_first, row + 8u, k)), quad, c8);
        c9 = fma(vec4<f32>(element_a(a_first, row + 9u, k)), quad, c9);
        c10 = fma(vec4<f32>(element_a(a_first, row + 10u, k)), quad, c10);
        c11 = fma(vec4<f32>(element_a(a_first, row + 11u, k)), quad, c11);
        c12 = fma(vec4<f32>(element_a(a_first, row + 12u, k)), quad, c12);
        c13 = fma(vec4<f32>(element_a(a_first, row + 13u, k)), quad, c13);
        c14 = fma(vec4<f32>(element_a(a_first, row + 14u, k)), quad, c14);
        c15 = fma(vec4<f32>(element_a(a_first, row + 15u, k)), quad, c15);
    }

    store(c_first, row, col, c0);
    store(c_first, row + 1u, col, c1);
    store(c_first, row + 2u, col, c2);
    store(c_first, row + 3u, col, c3);
    store(c_first, row + 4u, col, c4);
    store(c_first, row + 5u, col, c5);
    store(c_first, row + 6u, col, c6);
    store(c_first, row + 7u, col, c7);
    store(c_first, row + 8u, col, c8);
    store(c_first, row + 9u, col, c9);
    store(c_first, row + 10u, col, c10);
    store(c_first, row + 11u, col, c11);
    store(c_first, row + 12u, col, c12);
    store(c_first, row + 13u, col, c13);
    store(c_first, row + 14u, col, c14);
    store(c_first, row + 15u, col, c15);
}
