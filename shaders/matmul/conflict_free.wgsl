// Idea. Choose places in shared memory so that the 8 threads which are served together touch all 32 banks.
// Changed from the rung below. A quad of rows is stored at its number exclusive-or twice the k-quad (stores of the turned tile: 4-way conflicts before); a thread's two quads lie half a block apart (loads: stride 32 bytes, 2-way, before).
// A thread owns. Two quads of rows x two quads of columns, 64 apart: 8 x 8 elements of C; it fetches 4 quads of one operand per step.
// Memory traffic. As below; a shared access takes as many cycles as its bytes need.
// Needs. f32, both operands as they lie (row-major), any shape and leading dimensions, alpha and beta; the three bindings a multiple of 16 bytes long.

const BLOCK_M: u32 = 128u;
const BLOCK_N: u32 = 128u;
const BLOCK_K: u32 = 16u;
const ROWS: u32 = 8u;
const COLS: u32 = 8u;
const THREADS: u32 = 256u;  // BLOCK_M * BLOCK_N / (ROWS * COLS)
const QUAD: u32 = 4u;       // elements in 16 bytes
const STEPS: u32 = 4u;      // quads of k in a tile: BLOCK_K / QUAD
const ACROSS: u32 = 32u;    // quads across a tile: BLOCK_M / QUAD = BLOCK_N / QUAD
const PART: u32 = 16u;      // half of them; and threads side by side
const HALF: u32 = 128u;     // THREADS / 2: the first half fetches a, 4 x 4 elements per thread, the second b

// 16 bytes of an operand: vec4<f32> where its leading dimension, offset and stride are multiples of 4 (VECTOR 1), else array<f32, 4> (VECTOR 0)
alias Chunk_a = vec4<f32>;
alias Chunk_b = vec4<f32>;
alias Chunk_c = vec4<f32>;
const VECTOR_A: u32 = 1u;
const VECTOR_B: u32 = 1u;
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

@group(0) @binding(0) var<storage, read> a: array<Chunk_a>;         // m x a_ld
@group(0) @binding(1) var<storage, read> b: array<Chunk_b>;         // k x b_ld
@group(0) @binding(2) var<storage, read_write> c: array<Chunk_c>;   // m x c_ld
@group(0) @binding(3) var<uniform> p: Params;
var<workgroup> a_tile: array<array<array<vec4<f32>, PART>, 2>, BLOCK_K>;   // BLOCK_K steps of k x 2 halves x PART quads of rows
var<workgroup> b_tile: array<array<array<vec4<f32>, PART>, 2>, BLOCK_K>;   // BLOCK_K steps of k x 2 halves x PART quads of columns
var<private> a_last: u32;  // last element of a and of b
var<private> b_last: u32;

// Element `index` of an operand, or its last one: what lies outside only reaches sums that are not stored.
fn element_a(index: u32) -> f32 {
    let i = min(index, a_last);
    return a[i / QUAD][i % QUAD];
}

fn element_b(index: u32) -> f32 {
    let i = min(index, b_last);
    return b[i / QUAD][i % QUAD];
}

// The same of QUAD neighbours.
fn quad_a(index: u32) -> vec4<f32> {
    if (VECTOR_A == 1u) {
        let chunk = a[min(index, a_last) / QUAD];
        return vec4<f32>(chunk[0], chunk[1], chunk[2], chunk[3]);
    }
    return vec4<f32>(element_a(index), element_a(index + 1u), element_a(index + 2u), element_a(index + 3u));
}

fn quad_b(index: u32) -> vec4<f32> {
    if (VECTOR_B == 1u) {
        let chunk = b[min(index, b_last) / QUAD];
        return vec4<f32>(chunk[0], chunk[1], chunk[2], chunk[3]);
    }
    return vec4<f32>(element_b(index), element_b(index + 1u), element_b(index + 2u), element_b(index + 3u));
}

fn store(row: u32, col: u32, sums: vec4<f32>) {
    if (row >= p.m || col >= p.n) {
        return;
    }
    let index = row * p.c_ld + col;
    let inside = min(p.n - col, QUAD);  // columns of this quad that c has
    if (VECTOR_C == 1u) {
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
    } else {
        for (var i = 0u; i < inside; i++) {
            let at = index + i;
            var element = p.alpha * sums[i];
            if (p.beta != 0.0) {
                element = fma(p.beta, c[at / QUAD][at % QUAD], element);
            }
            c[at / QUAD][at % QUAD] = element;
        }
    }
}

// QUAD elements of a row of a, 0 beyond the last k: they add nothing.
fn row_a(row: u32, k: u32) -> vec4<f32> {
    return select(vec4<f32>(), quad_a(row * p.a_ld + k), vec4<u32>(k) + vec4<u32>(0u, 1u, 2u, 3u) < vec4<u32>(p.k));
}

fn row_b(k: u32, col: u32) -> vec4<f32> {
    return select(vec4<f32>(), quad_b(k * p.b_ld + col), k < p.k);
}

@compute @workgroup_size(THREADS)
fn matmul_conflict_free(@builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let block_row = (block.y + p.block_y) * BLOCK_M;
    let block_col = (block.x + p.block_x) * BLOCK_N;
    a_last = (p.m - 1u) * p.a_ld + p.k - 1u;
    b_last = (p.k - 1u) * p.b_ld + p.n - 1u;
    let step = thread % HALF % STEPS;   // what this thread fetches of a: 4 rows x 4 steps of k
    let quad = thread % HALF / STEPS;
    let b_step = thread % HALF / ACROSS;  // and of b: 4 quads, 4 steps of k apart
    let b_quad = thread % HALF % ACROSS;
    let a_quad = thread / PART;  // this thread's quads of rows and columns in each half
    let b_quad_own = thread % PART;

    // sums: row r of this thread's 8, quad q of its 2
    var c0_0: vec4<f32>; var c0_1: vec4<f32>;
    var c1_0: vec4<f32>; var c1_1: vec4<f32>;
    var c2_0: vec4<f32>; var c2_1: vec4<f32>;
    var c3_0: vec4<f32>; var c3_1: vec4<f32>;
    var c4_0: vec4<f32>; var c4_1: vec4<f32>;
    var c5_0: vec4<f32>; var c5_1: vec4<f32>;
    var c6_0: vec4<f32>; var c6_1: vec4<f32>;
    var c7_0: vec4<f32>; var c7_1: vec4<f32>;
    for (var first = 0u; first < p.k; first += BLOCK_K) {
        var next0: vec4<f32>;
        var next1: vec4<f32>;
        var next2: vec4<f32>;
        var next3: vec4<f32>;
        if (thread < HALF) {
            next0 = row_a(block_row + QUAD * quad + 0u, first + QUAD * step);
            next1 = row_a(block_row + QUAD * quad + 1u, first + QUAD * step);
            next2 = row_a(block_row + QUAD * quad + 2u, first + QUAD * step);
            next3 = row_a(block_row + QUAD * quad + 3u, first + QUAD * step);
        } else {
            next0 = row_b(first + b_step, block_col + QUAD * b_quad);
            next1 = row_b(first + b_step + STEPS, block_col + QUAD * b_quad);
            next2 = row_b(first + b_step + 2u * STEPS, block_col + QUAD * b_quad);
            next3 = row_b(first + b_step + 3u * STEPS, block_col + QUAD * b_quad);
        }
        if (thread < HALF) {  // 4 x 4 elements of a, turned: neighbours in shared memory are rows, so that a quad of rows is one access
            a_tile[QUAD * step][quad / PART][quad % PART ^ 2u * step] = vec4<f32>(next0.x, next1.x, next2.x, next3.x);
            a_tile[QUAD * step + 1u][quad / PART][quad % PART ^ 2u * step] = vec4<f32>(next0.y, next1.y, next2.y, next3.y);
            a_tile[QUAD * step + 2u][quad / PART][quad % PART ^ 2u * step] = vec4<f32>(next0.z, next1.z, next2.z, next3.z);
            a_tile[QUAD * step + 3u][quad / PART][quad % PART ^ 2u * step] = vec4<f32>(next0.w, next1.w, next2.w, next3.w);
        } else {
            b_tile[b_step][b_quad / PART][b_quad % PART] = next0;
            b_tile[b_step + STEPS][b_quad / PART][b_quad % PART] = next1;
            b_tile[b_step + 2u * STEPS][b_quad / PART][b_quad % PART] = next2;
            b_tile[b_step + 3u * STEPS][b_quad / PART][b_quad % PART] = next3;
        }
        workgroupBarrier();  // waits for both tiles: an invocation reads what others fetched
        for (var k = 0u; k < BLOCK_K; k++) {
            let a_place = a_quad ^ k / QUAD * 2u;
            let a0 = a_tile[k][0][a_place];
            let a1 = a_tile[k][1][a_place];
            let b0 = b_tile[k][0][b_quad_own];
            let b1 = b_tile[k][1][b_quad_own];
            c0_0 = fma(vec4<f32>(a0.x), b0, c0_0); c0_1 = fma(vec4<f32>(a0.x), b1, c0_1);
            c1_1 = fma(vec4<f32>(a0.y), b1, c1_1); c1_0 = fma(vec4<f32>(a0.y), b0, c1_0);
            c2_0 = fma(vec4<f32>(a0.z), b0, c2_0); c2_1 = fma(vec4<f32>(a0.z), b1, c2_1);
            c3_1 = fma(vec4<f32>(a0.w), b1, c3_1); c3_0 = fma(vec4<f32>(a0.w), b0, c3_0);
            c4_0 = fma(vec4<f32>(a1.x), b0, c4_0); c4_1 = fma(vec4<f32>(a1.x), b1, c4_1);
            c5_1 = fma(vec4<f32>(a1.y), b1, c5_1); c5_0 = fma(vec4<f32>(a1.y), b0, c5_0);
            c6_0 = fma(vec4<f32>(a1.z), b0, c6_0); c6_1 = fma(vec4<f32>(a1.z), b1, c6_1);
            c7_1 = fma(vec4<f32>(a1.w), b1, c7_1); c7_0 = fma(vec4<f32>(a1.w), b0, c7_0);
        }
        workgroupBarrier();  // waits until all have read: the next step overwrites the tiles
    }

    store(block_row + QUAD * a_quad + 0u, block_col + QUAD * b_quad_own, c0_0);
    store(block_row + QUAD * a_quad + 0u, block_col + BLOCK_N / 2u + QUAD * b_quad_own, c0_1);
    store(block_row + QUAD * a_quad + 1u, block_col + QUAD * b_quad_own, c1_0);
    store(block_row + QUAD * a_quad + 1u, block_col + BLOCK_N / 2u + QUAD * b_quad_own, c1_1);
    store(block_row + QUAD * a_quad + 2u, block_col + QUAD * b_quad_own, c2_0);
    store(block_row + QUAD * a_quad + 2u, block_col + BLOCK_N / 2u + QUAD * b_quad_own, c2_1);
    store(block_row + QUAD * a_quad + 3u, block_col + QUAD * b_quad_own, c3_0);
    store(block_row + QUAD * a_quad + 3u, block_col + BLOCK_N / 2u + QUAD * b_quad_own, c3_1);
    store(block_row + BLOCK_M / 2u + QUAD * a_quad + 0u, block_col + QUAD * b_quad_own, c4_0);
    store(block_row + BLOCK_M / 2u + QUAD * a_quad + 0u, block_col + BLOCK_N / 2u + QUAD * b_quad_own, c4_1);
    store(block_row + BLOCK_M / 2u + QUAD * a_quad + 1u, block_col + QUAD * b_quad_own, c5_0);
    store(block_row + BLOCK_M / 2u + QUAD * a_quad + 1u, block_col + BLOCK_N / 2u + QUAD * b_quad_own, c5_1);
    store(block_row + BLOCK_M / 2u + QUAD * a_quad + 2u, block_col + QUAD * b_quad_own, c6_0);
    store(block_row + BLOCK_M / 2u + QUAD * a_quad + 2u, block_col + BLOCK_N / 2u + QUAD * b_quad_own, c6_1);
    store(block_row + BLOCK_M / 2u + QUAD * a_quad + 3u, block_col + QUAD * b_quad_own, c7_0);
    store(block_row + BLOCK_M / 2u + QUAD * a_quad + 3u, block_col + BLOCK_N / 2u + QUAD * b_quad_own, c7_1);
}
