// Idea. Divide k among SPLITS blocks per tile, so that few tiles still fill the device; a second pass adds the parts in order.
// Changed from the rung below. A block sums only its share of k and leaves its sums in the workspace; matmul_split_workspace_sum adds them, always in the same order: the same inputs give the same bits.
// A thread owns. Two quads of rows x four quads of columns of one part; in the second pass 1 quad of C.
// Memory traffic. As below, and SPLITS * 4 bytes written and read per element of C.
// Needs. f32, any shape, layout, leading dimensions, offsets, batch, alpha and beta; the three bindings a multiple of 16 bytes long; a workspace of SPLITS * batch * tiles * BLOCK_M * BLOCK_N * 4 bytes.

const TRANSPOSE_A: u32 = 0u;  // 1: a is stored k x m
const TRANSPOSE_B: u32 = 0u;  // 1: b is stored n x k
const SPLITS: u32 = 4u;       // parts of k per tile
const BLOCK_M: u32 = 128u;
const BLOCK_N: u32 = 128u;
const BLOCK_K: u32 = 16u;
const ROWS: u32 = 8u;
const COLS: u32 = 16u;
const THREADS: u32 = 128u;    // BLOCK_M * BLOCK_N / (ROWS * COLS)
const WARP: u32 = 32u;
const WARP_LANES_M: u32 = 8u; // a warp's threads lie 8 x 4 over its tile of 64 x 64
const WARP_LANES_N: u32 = 4u;
const WARPS_N: u32 = 2u;      // the block's warps lie 2 x 2
const QUAD: u32 = 4u;         // elements in 16 bytes
const STEPS: u32 = 4u;        // quads of k in a tile: BLOCK_K / QUAD
const A_ACROSS: u32 = 32u;    // quads across a tile of a: BLOCK_M / QUAD
const B_ACROSS: u32 = 32u;    // quads across a tile of b: BLOCK_N / QUAD
const A_PART: u32 = 16u;      // quads in a half of the rows
const B_PART: u32 = 8u;      // quads in a quarter of the columns
const A_THREADS: u32 = 128u;  // threads that fetch a, 4 quads each
const PARTS: u32 = 32u;       // quads of C per thread: ROWS * COLS / QUAD
const SUM_THREADS: u32 = 256u;
const SLICES: u32 = 16u;      // PARTS * THREADS / SUM_THREADS

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

@group(0) @binding(0) var<storage, read> a: array<Chunk_a>;                       // m x a_ld; k x a_ld with TRANSPOSE_A
@group(0) @binding(1) var<storage, read> b: array<Chunk_b>;                       // k x b_ld; n x b_ld with TRANSPOSE_B
@group(0) @binding(2) var<storage, read_write> workspace: array<vec4<f32>>;       // batch x SPLITS x tiles x PARTS x THREADS
@group(0) @binding(3) var<uniform> p: Params;
// the second pass
@group(0) @binding(0) var<storage, read> parts: array<vec4<f32>>;                 // batch x SPLITS x tiles x PARTS x THREADS
@group(0) @binding(1) var<storage, read_write> c: array<Chunk_c>;                 // m x c_ld
@group(0) @binding(2) var<uniform> q: Params;
var<workgroup> a_tile: array<array<array<vec4<f32>, A_PART>, 2>, BLOCK_K>;   // BLOCK_K steps of k x 2 halves x A_PART quads of rows
var<workgroup> b_tile: array<array<array<vec4<f32>, B_PART>, 4>, BLOCK_K>;    // BLOCK_K steps of k x 4 quarters x B_PART quads of columns

// sums: row r of this thread's 8, quad q of its 4
var<private> c00: vec4<f32>; var<private> c01: vec4<f32>; var<private> c02: vec4<f32>; var<private> c03: vec4<f32>;
var<private> c10: vec4<f32>; var<private> c11: vec4<f32>; var<private> c12: vec4<f32>; var<private> c13: vec4<f32>;
var<private> c20: vec4<f32>; var<private> c21: vec4<f32>; var<private> c22: vec4<f32>; var<private> c23: vec4<f32>;
var<private> c30: vec4<f32>; var<private> c31: vec4<f32>; var<private> c32: vec4<f32>; var<private> c33: vec4<f32>;
var<private> c40: vec4<f32>; var<private> c41: vec4<f32>; var<private> c42: vec4<f32>; var<private> c43: vec4<f32>;
var<private> c50: vec4<f32>; var<private> c51: vec4<f32>; var<private> c52: vec4<f32>; var<private> c53: vec4<f32>;
var<private> c60: vec4<f32>; var<private> c61: vec4<f32>; var<private> c62: vec4<f32>; var<private> c63: vec4<f32>;
var<private> c70: vec4<f32>; var<private> c71: vec4<f32>; var<private> c72: vec4<f32>; var<private> c73: vec4<f32>;
// what is on its way for the next tiles
var<private> next_a0: vec4<f32>; var<private> next_a1: vec4<f32>; var<private> next_a2: vec4<f32>; var<private> next_a3: vec4<f32>;
var<private> next_b0: vec4<f32>; var<private> next_b1: vec4<f32>; var<private> next_b2: vec4<f32>; var<private> next_b3: vec4<f32>;
var<private> thread: u32;
var<private> a_index: u32;  // of this thread's next element of a, of its last element, and from one of its quads to the next
var<private> a_last: u32;
var<private> a_apart: u32;
var<private> b_index: u32;  // the same of b
var<private> b_last: u32;
var<private> b_apart: u32;
var<private> a_lane: u32;   // this thread's quad in each half of the rows, and in each quarter of the columns
var<private> b_lane: u32;
var<private> k_end: u32;    // end of this block's share of k
var<private> c_first: u32;  // first element of this batch's c

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

// Fetches the next tiles: of an operand that runs along k, 4 x 4 elements per thread; of one that runs across, 4 quads, 4 steps of k apart.
fn fetch() {
    next_a0 = quad_a(a_index);
    next_a1 = quad_a(a_index + a_apart);
    next_a2 = quad_a(a_index + 2u * a_apart);
    next_a3 = quad_a(a_index + 3u * a_apart);
    next_b0 = quad_b(b_index);
    next_b1 = quad_b(b_index + b_apart);
    next_b2 = quad_b(b_index + 2u * b_apart);
    next_b3 = quad_b(b_index + 3u * b_apart);
    a_index += select(BLOCK_K, BLOCK_K * p.a_ld, TRANSPOSE_A == 1u);
    b_index += select(BLOCK_K * p.b_ld, BLOCK_K, TRANSPOSE_B == 1u);
}

// Stores them into a buffer, as (k, across): what ran along k is turned, and its quads are placed by an exclusive-or that keeps the stores free of conflicts. `first` is their first step of k.
fn put(first: u32) {
    if (first + BLOCK_K > k_end) {  // beyond the last k: 0, which adds nothing
        let along = vec4<u32>(first + thread % STEPS * QUAD) + vec4<u32>(0u, 1u, 2u, 3u) < vec4<u32>(k_end);
        let across_a = vec4<u32>(first + thread / A_ACROSS) + vec4<u32>(0u, STEPS, 2u * STEPS, 3u * STEPS) < vec4<u32>(k_end);
        let across_b = vec4<u32>(first + thread / B_ACROSS) + vec4<u32>(0u, STEPS, 2u * STEPS, 3u * STEPS) < vec4<u32>(k_end);
        let zero = vec4<f32>();
        if (TRANSPOSE_A == 0u) {
            next_a0 = select(zero, next_a0, along);
            next_a1 = select(zero, next_a1, along);
            next_a2 = select(zero, next_a2, along);
            next_a3 = select(zero, next_a3, along);
        } else {
            next_a0 = select(zero, next_a0, across_a.x);
            next_a1 = select(zero, next_a1, across_a.y);
            next_a2 = select(zero, next_a2, across_a.z);
            next_a3 = select(zero, next_a3, across_a.w);
        }
        if (TRANSPOSE_B == 1u) {
            next_b0 = select(zero, next_b0, along);
            next_b1 = select(zero, next_b1, along);
            next_b2 = select(zero, next_b2, along);
            next_b3 = select(zero, next_b3, along);
        } else {
            next_b0 = select(zero, next_b0, across_b.x);
            next_b1 = select(zero, next_b1, across_b.y);
            next_b2 = select(zero, next_b2, across_b.z);
            next_b3 = select(zero, next_b3, across_b.w);
        }
    }
    let step = thread % STEPS;
    let turned = thread / STEPS;
    if (TRANSPOSE_A == 0u) {
        let place = turned % A_PART ^ 2u * step;
        a_tile[QUAD * step][turned / A_PART][place] = vec4<f32>(next_a0.x, next_a1.x, next_a2.x, next_a3.x);
        a_tile[QUAD * step + 1u][turned / A_PART][place] = vec4<f32>(next_a0.y, next_a1.y, next_a2.y, next_a3.y);
        a_tile[QUAD * step + 2u][turned / A_PART][place] = vec4<f32>(next_a0.z, next_a1.z, next_a2.z, next_a3.z);
        a_tile[QUAD * step + 3u][turned / A_PART][place] = vec4<f32>(next_a0.w, next_a1.w, next_a2.w, next_a3.w);
    } else {
        let row = thread / A_ACROSS;
        let quad = thread % A_ACROSS;
        a_tile[row][quad / A_PART][quad % A_PART] = next_a0;
        a_tile[row + STEPS][quad / A_PART][quad % A_PART] = next_a1;
        a_tile[row + 2u * STEPS][quad / A_PART][quad % A_PART] = next_a2;
        a_tile[row + 3u * STEPS][quad / A_PART][quad % A_PART] = next_a3;
    }
    if (TRANSPOSE_B == 1u) {
        let place = turned % B_PART ^ 2u * step;
        b_tile[QUAD * step][turned / B_PART][place] = vec4<f32>(next_b0.x, next_b1.x, next_b2.x, next_b3.x);
        b_tile[QUAD * step + 1u][turned / B_PART][place] = vec4<f32>(next_b0.y, next_b1.y, next_b2.y, next_b3.y);
        b_tile[QUAD * step + 2u][turned / B_PART][place] = vec4<f32>(next_b0.z, next_b1.z, next_b2.z, next_b3.z);
        b_tile[QUAD * step + 3u][turned / B_PART][place] = vec4<f32>(next_b0.w, next_b1.w, next_b2.w, next_b3.w);
    } else {
        let row = thread / B_ACROSS;
        let quad = thread % B_ACROSS;
        b_tile[row][quad / B_PART][quad % B_PART] = next_b0;
        b_tile[row + STEPS][quad / B_PART][quad % B_PART] = next_b1;
        b_tile[row + 2u * STEPS][quad / B_PART][quad % B_PART] = next_b2;
        b_tile[row + 3u * STEPS][quad / B_PART][quad % B_PART] = next_b3;
    }
}

// One step of k: 6 quads from shared memory, 8 x 16 multiply-adds. k is a literal at every call.
fn multiply_step(k: u32) {
    let a_place = a_lane ^ (1u - TRANSPOSE_A) * (k / QUAD * 2u);
    let b_place = b_lane ^ TRANSPOSE_B * (k / QUAD * 2u);
    let a0 = a_tile[k][0][a_place];
    let a1 = a_tile[k][1][a_place];
    let b0 = b_tile[k][0][b_place];
    let b1 = b_tile[k][1][b_place];
    let b2 = b_tile[k][2][b_place];
    let b3 = b_tile[k][3][b_place];
    c00 = fma(vec4<f32>(a0.x), b0, c00); c01 = fma(vec4<f32>(a0.x), b1, c01); c02 = fma(vec4<f32>(a0.x), b2, c02); c03 = fma(vec4<f32>(a0.x), b3, c03);
    c13 = fma(vec4<f32>(a0.y), b3, c13); c12 = fma(vec4<f32>(a0.y), b2, c12); c11 = fma(vec4<f32>(a0.y), b1, c11); c10 = fma(vec4<f32>(a0.y), b0, c10);
    c20 = fma(vec4<f32>(a0.z), b0, c20); c21 = fma(vec4<f32>(a0.z), b1, c21); c22 = fma(vec4<f32>(a0.z), b2, c22); c23 = fma(vec4<f32>(a0.z), b3, c23);
    c33 = fma(vec4<f32>(a0.w), b3, c33); c32 = fma(vec4<f32>(a0.w), b2, c32); c31 = fma(vec4<f32>(a0.w), b1, c31); c30 = fma(vec4<f32>(a0.w), b0, c30);
    c40 = fma(vec4<f32>(a1.x), b0, c40); c41 = fma(vec4<f32>(a1.x), b1, c41); c42 = fma(vec4<f32>(a1.x), b2, c42); c43 = fma(vec4<f32>(a1.x), b3, c43);
    c53 = fma(vec4<f32>(a1.y), b3, c53); c52 = fma(vec4<f32>(a1.y), b2, c52); c51 = fma(vec4<f32>(a1.y), b1, c51); c50 = fma(vec4<f32>(a1.y), b0, c50);
    c60 = fma(vec4<f32>(a1.z), b0, c60); c61 = fma(vec4<f32>(a1.z), b1, c61); c62 = fma(vec4<f32>(a1.z), b2, c62); c63 = fma(vec4<f32>(a1.z), b3, c63);
    c73 = fma(vec4<f32>(a1.w), b3, c73); c72 = fma(vec4<f32>(a1.w), b2, c72); c71 = fma(vec4<f32>(a1.w), b1, c71); c70 = fma(vec4<f32>(a1.w), b0, c70);
}

fn multiply() {
    multiply_step(0u);
    multiply_step(1u);
    multiply_step(2u);
    multiply_step(3u);
    multiply_step(4u);
    multiply_step(5u);
    multiply_step(6u);
    multiply_step(7u);
    multiply_step(8u);
    multiply_step(9u);
    multiply_step(10u);
    multiply_step(11u);
    multiply_step(12u);
    multiply_step(13u);
    multiply_step(14u);
    multiply_step(15u);
}

fn store(row: u32, col: u32, sums: vec4<f32>) {
    if (row >= q.m || col >= q.n) {
        return;
    }
    let index = c_first + row * q.c_ld + col;
    let inside = min(q.n - col, QUAD);  // columns of this quad that c has
    if (VECTOR_C == 1u) {
        var quad = q.alpha * sums;
        if (q.beta != 0.0 || inside < QUAD) {  // with beta 0 the old c is only kept, never used
            let chunk = c[index / QUAD];
            let old = vec4<f32>(chunk[0], chunk[1], chunk[2], chunk[3]);
            if (q.beta != 0.0) {
                quad = fma(vec4<f32>(q.beta), old, quad);
            }
            quad = select(old, quad, vec4<u32>(0u, 1u, 2u, 3u) < vec4<u32>(inside));
        }
        c[index / QUAD] = Chunk_c(quad.x, quad.y, quad.z, quad.w);
    } else {
        for (var i = 0u; i < inside; i++) {
            let at = index + i;
            var element = q.alpha * sums[i];
            if (q.beta != 0.0) {
                element = fma(q.beta, c[at / QUAD][at % QUAD], element);
            }
            c[at / QUAD][at % QUAD] = element;
        }
    }
}

@compute @workgroup_size(THREADS)
fn matmul_split_workspace(@builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_index) index: u32) {
    thread = index;
    let tiles_n = (p.n + BLOCK_N - 1u) / BLOCK_N;
    let tile = block.x + p.block_x;
    let block_row = tile / tiles_n * BLOCK_M;
    let block_col = tile % tiles_n * BLOCK_N;
    let part = block.y + p.block_y;
    let batch = block.z + p.block_z;
    let share = ((p.k + BLOCK_K - 1u) / BLOCK_K + SPLITS - 1u) / SPLITS * BLOCK_K;  // of k, whole tiles
    let k_first = min(part * share, p.k);
    k_end = min(k_first + share, p.k);
    let a_first = p.a_offset.x + batch * p.a_stride.x;
    let b_first = p.b_offset.x + batch * p.b_stride.x;
    let turned = thread / STEPS * QUAD;
    if (TRANSPOSE_A == 0u) {
        a_index = a_first + (block_row + turned) * p.a_ld + k_first + thread % STEPS * QUAD;
        a_last = a_first + (p.m - 1u) * p.a_ld + p.k - 1u;
        a_apart = p.a_ld;
    } else {
        a_index = a_first + (k_first + thread / A_ACROSS) * p.a_ld + block_row + thread % A_ACROSS * QUAD;
        a_last = a_first + (p.k - 1u) * p.a_ld + p.m - 1u;
        a_apart = STEPS * p.a_ld;
    }
    if (TRANSPOSE_B == 1u) {
        b_index = b_first + (block_col + turned) * p.b_ld + k_first + thread % STEPS * QUAD;
        b_last = b_first + (p.n - 1u) * p.b_ld + p.k - 1u;
        b_apart = p.b_ld;
    } else {
        b_index = b_first + (k_first + thread / B_ACROSS) * p.b_ld + block_col + thread % B_ACROSS * QUAD;
        b_last = b_first + (p.k - 1u) * p.b_ld + p.n - 1u;
        b_apart = STEPS * p.b_ld;
    }
    let warp = thread / WARP;
    let lane = thread % WARP;
    a_lane = warp / WARPS_N * WARP_LANES_M + lane % WARP_LANES_M;
    b_lane = warp % WARPS_N * WARP_LANES_N + lane / WARP_LANES_M;

    let tiles_k = (k_end - k_first + BLOCK_K - 1u) / BLOCK_K;
    if (tiles_k > 0u) {
        fetch();
    }
    for (var t = 0u; t < tiles_k; t++) {
        put(k_first + t * BLOCK_K);
        workgroupBarrier();  // waits for the tiles
        fetch();
        multiply();
        workgroupBarrier();  // waits until all have read: the next tiles overwrite them
    }

    let tiles = (p.m + BLOCK_M - 1u) / BLOCK_M * tiles_n;
    let place = ((batch * SPLITS + part) * tiles + tile) * PARTS * THREADS + thread;
    workspace[place + 0u * THREADS] = c00;
    workspace[place + 1u * THREADS] = c01;
    workspace[place + 2u * THREADS] = c02;
    workspace[place + 3u * THREADS] = c03;
    workspace[place + 4u * THREADS] = c10;
    workspace[place + 5u * THREADS] = c11;
    workspace[place + 6u * THREADS] = c12;
    workspace[place + 7u * THREADS] = c13;
    workspace[place + 8u * THREADS] = c20;
    workspace[place + 9u * THREADS] = c21;
    workspace[place + 10u * THREADS] = c22;
    workspace[place + 11u * THREADS] = c23;
    workspace[place + 12u * THREADS] = c30;
    workspace[place + 13u * THREADS] = c31;
    workspace[place + 14u * THREADS] = c32;
    workspace[place + 15u * THREADS] = c33;
    workspace[place + 16u * THREADS] = c40;
    workspace[place + 17u * THREADS] = c41;
    workspace[place + 18u * THREADS] = c42;
    workspace[place + 19u * THREADS] = c43;
    workspace[place + 20u * THREADS] = c50;
    workspace[place + 21u * THREADS] = c51;
    workspace[place + 22u * THREADS] = c52;
    workspace[place + 23u * THREADS] = c53;
    workspace[place + 24u * THREADS] = c60;
    workspace[place + 25u * THREADS] = c61;
    workspace[place + 26u * THREADS] = c62;
    workspace[place + 27u * THREADS] = c63;
    workspace[place + 28u * THREADS] = c70;
    workspace[place + 29u * THREADS] = c71;
    workspace[place + 30u * THREADS] = c72;
    workspace[place + 31u * THREADS] = c73;
}

// Second pass: a thread adds the SPLITS parts of one quad of C, in order. A block adds one of SLICES slices of a tile.
@compute @workgroup_size(SUM_THREADS)
fn matmul_split_workspace_sum(@builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_index) index: u32) {
    let tiles_n = (q.n + BLOCK_N - 1u) / BLOCK_N;
    let tiles = (q.m + BLOCK_M - 1u) / BLOCK_M * tiles_n;
    let tile = block.x + q.block_x;
    let batch = block.z + q.block_z;
    let place = (block.y + q.block_y) * SUM_THREADS + index;  // (part, owner) within the tile
    var sum = vec4<f32>();
    for (var split = 0u; split < SPLITS; split++) {
        sum += parts[((batch * SPLITS + split) * tiles + tile) * PARTS * THREADS + place];
    }
    let part = place / THREADS;
    let owner = place % THREADS;
    let warp = owner / WARP;
    let lane = owner % WARP;
    let row = (warp / WARPS_N * WARP_LANES_M + lane % WARP_LANES_M) * QUAD;
    let col = (warp % WARPS_N * WARP_LANES_N + lane / WARP_LANES_M) * QUAD;
    let r = part / (COLS / QUAD);  // this quad's row of the owner's 8, and its number of 4
    let number = part % (COLS / QUAD);
    c_first = q.c_offset.x + batch * q.c_stride.x;
    store(tile / tiles_n * BLOCK_M + r / QUAD * (A_PART * QUAD) + row + r % QUAD, tile % tiles_n * BLOCK_N + number * (B_PART * QUAD) + col, sum);
}
