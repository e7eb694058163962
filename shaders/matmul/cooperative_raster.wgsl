// Idea. Walk the tiles of C in groups of GROUP tile rows, so that the blocks that run together share rows of A and columns of B in the L2 cache.
// Changed from the rung below. The order of the tiles; every layout, offset and batch.
// A thread owns. With the 31 others of its subgroup 4 x 4 fragments: 64 x 64 elements of C; 8 quads of each of the next tiles.
// Memory traffic. As below, but what the tiles in flight touch is a near square of C instead of whole rows of tiles.
// Needs. Cooperative matrices of 16 x 16 x 16, f16 with f32 sums; a subgroup size of 32; every layout, any shape, leading dimensions, offsets, batch, alpha and beta, c in f32 or f16; the three bindings a multiple of 16 bytes long.

enable f16;
enable wgpu_cooperative_matrix;

const TRANSPOSE_A: u32 = 0u;  // 1: a is stored k x m
const TRANSPOSE_B: u32 = 0u;  // 1: b is stored n x k
const GROUP: u32 = 8u;        // tile rows that are walked together
const BLOCK_M: u32 = 128u;
const BLOCK_N: u32 = 128u;
const BLOCK_K: u32 = 32u;
const PART: u32 = 64u;        // rows and columns of C per subgroup
const PARTS_N: u32 = 2u;      // the block's subgroups lie 2 x 2
const THREADS: u32 = 128u;
const SUBGROUP: u32 = 32u;    // threads; the subgroup size must be this
const SIDE: u32 = 16u;        // rows, columns and steps of k of a fragment
const QUAD: u32 = 4u;         // halves in 8 bytes
const STEPS: u32 = 4u;        // quads of k in a fragment: SIDE / QUAD
const A_ACROSS: u32 = 32u;    // quads across a tile of a: BLOCK_M / QUAD
const B_ACROSS: u32 = 32u;    // quads across a tile of b: BLOCK_N / QUAD
const A_ROW: u32 = 34u;       // quads from one step of k to the next in shared memory: 8 halves more than the tile is wide,
const B_ROW: u32 = 34u;       // so that 8 rows of a fragment lie in different banks
const FRAGMENT: u32 = 80u;    // quads of f32 per fragment on its way out: SIDE rows of
const FRAGMENT_ROW: u32 = 5u; // SIDE / 4 + 1 quads

// 8 bytes of a or b: vec4<f16> where its leading dimension, offset and stride are multiples of 4 (VECTOR 1), else array<f16, 4> (VECTOR 0); the same of c with its own type
alias Chunk_a = vec4<f16>;
alias Chunk_b = vec4<f16>;
alias Chunk_c = vec4<Output>;
alias Output = f32;           // f16 with OUTPUT_F32 0
const OUTPUT_F32: u32 = 1u;   // 1: c is f32, 0: f16
const VECTOR_A: u32 = 1u;
const VECTOR_B: u32 = 1u;
const VECTOR_C: u32 = 1u;

alias Fragment_a = coop_mat16x16<f16, A>;
alias Fragment_b = coop_mat16x16<f16, B>;
alias Sums = coop_mat16x16<f32, C>;

struct Params {
    block_x: u32, block_y: u32, block_z: u32,                          // index of this launch's first block
    m: u32, n: u32, k: u32,                                            // c is m x n, op(a) is m x k, op(b) is k x n
    a_ld: u32, b_ld: u32, c_ld: u32,                                   // elements from one row to the next
    batch: u32,
    alpha: f32, beta: f32,
    a_offset: vec2<u32>, b_offset: vec2<u32>, c_offset: vec2<u32>,     // elements: low word, high word (0 here)
    a_stride: vec2<u32>, b_stride: vec2<u32>, c_stride: vec2<u32>,     // elements between matrices of a batch
}

@group(0) @binding(0) var<storage, read> a: array<Chunk_a>;         // m x a_ld; k x a_ld with TRANSPOSE_A
@group(0) @binding(1) var<storage, read> b: array<Chunk_b>;         // k x b_ld; n x b_ld with TRANSPOSE_B
@group(0) @binding(2) var<storage, read_write> c: array<Chunk_c>;   // m x c_ld
@group(0) @binding(3) var<uniform> p: Params;
var<workgroup> a_tile: array<vec4<f16>, BLOCK_K * A_ROW>;   // BLOCK_K steps of k x A_ROW quads of rows
var<workgroup> b_tile: array<vec4<f16>, BLOCK_K * B_ROW>;   // BLOCK_K steps of k x B_ROW quads of columns
var<workgroup> leaving: array<vec4<f32>, THREADS / SUBGROUP * FRAGMENT>;   // a fragment of C per subgroup, SIDE rows of FRAGMENT_ROW quads

// sums: fragment row i, fragment column j of the subgroup's 4 x 4
var<private> c00: Sums; var<private> c01: Sums; var<private> c02: Sums; var<private> c03: Sums;
var<private> c10: Sums; var<private> c11: Sums; var<private> c12: Sums; var<private> c13: Sums;
var<private> c20: Sums; var<private> c21: Sums; var<private> c22: Sums; var<private> c23: Sums;
var<private> c30: Sums; var<private> c31: Sums; var<private> c32: Sums; var<private> c33: Sums;
// what is on its way for the next tiles
var<private> coming_a0: vec4<f16>; var<private> coming_a1: vec4<f16>; var<private> coming_a2: vec4<f16>; var<private> coming_a3: vec4<f16>;
var<private> coming_a4: vec4<f16>; var<private> coming_a5: vec4<f16>; var<private> coming_a6: vec4<f16>; var<private> coming_a7: vec4<f16>;
var<private> coming_b0: vec4<f16>; var<private> coming_b1: vec4<f16>; var<private> coming_b2: vec4<f16>; var<private> coming_b3: vec4<f16>;
var<private> coming_b4: vec4<f16>; var<private> coming_b5: vec4<f16>; var<private> coming_b6: vec4<f16>; var<private> coming_b7: vec4<f16>;
var<private> thread: u32;
var<private> a_index: u32;  // of this thread's next element of a, of its last element, and from one of its quads to the next
var<private> a_last: u32;
var<private> a_apart: u32;
var<private> b_index: u32;  // the same of b
var<private> b_last: u32;
var<private> b_apart: u32;
var<private> a_place: u32;  // quad of the subgroup's first row, and of its first column
var<private> b_place: u32;
var<private> c_first: u32;  // first element of this batch's c

// Element `index` of an operand, or its last one: what lies outside only reaches sums that are not stored.
fn element_a(index: u32) -> f16 {
    let i = min(index, a_last);
    return a[i / QUAD][i % QUAD];
}

fn element_b(index: u32) -> f16 {
    let i = min(index, b_last);
    return b[i / QUAD][i % QUAD];
}

// The same of QUAD neighbours.
fn quad_a(index: u32) -> vec4<f16> {
    if (VECTOR_A == 1u) {
        let chunk = a[min(index, a_last) / QUAD];
        return vec4<f16>(chunk[0], chunk[1], chunk[2], chunk[3]);
    }
    return vec4<f16>(element_a(index), element_a(index + 1u), element_a(index + 2u), element_a(index + 3u));
}

fn quad_b(index: u32) -> vec4<f16> {
    if (VECTOR_B == 1u) {
        let chunk = b[min(index, b_last) / QUAD];
        return vec4<f16>(chunk[0], chunk[1], chunk[2], chunk[3]);
    }
    return vec4<f16>(element_b(index), element_b(index + 1u), element_b(index + 2u), element_b(index + 3u));
}

// Fetches the next tiles: of an operand that runs along k, 4 x 4 elements per thread and 16 steps of k; of one that runs across, 4 quads, 4 steps of k apart.
fn fetch() {
    let a_block = select(SIDE, SIDE * p.a_ld, TRANSPOSE_A == 1u);
    let b_block = select(SIDE * p.b_ld, SIDE, TRANSPOSE_B == 1u);
    coming_a0 = quad_a(a_index);
    coming_a1 = quad_a(a_index + a_apart);
    coming_a2 = quad_a(a_index + 2u * a_apart);
    coming_a3 = quad_a(a_index + 3u * a_apart);
    coming_a4 = quad_a(a_index + a_block);
    coming_a5 = quad_a(a_index + a_block + a_apart);
    coming_a6 = quad_a(a_index + a_block + 2u * a_apart);
    coming_a7 = quad_a(a_index + a_block + 3u * a_apart);
    coming_b0 = quad_b(b_index);
    coming_b1 = quad_b(b_index + b_apart);
    coming_b2 = quad_b(b_index + 2u * b_apart);
    coming_b3 = quad_b(b_index + 3u * b_apart);
    coming_b4 = quad_b(b_index + b_block);
    coming_b5 = quad_b(b_index + b_block + b_apart);
    coming_b6 = quad_b(b_index + b_block + 2u * b_apart);
    coming_b7 = quad_b(b_index + b_block + 3u * b_apart);
    a_index += select(BLOCK_K, BLOCK_K * p.a_ld, TRANSPOSE_A == 1u);
    b_index += select(BLOCK_K * p.b_ld, BLOCK_K, TRANSPOSE_B == 1u);
}

// Stores them into the tiles, as (k, across): what ran along k is turned.
fn put(first: u32) {
    if (first + BLOCK_K > p.k) {  // beyond the last k: 0, which adds nothing
        let zero = vec4<f16>();
        let quad = vec4<u32>(0u, 1u, 2u, 3u);
        let along0 = vec4<u32>(first + thread % STEPS * QUAD) + quad < vec4<u32>(p.k);
        let a_across0 = vec4<u32>(first + thread / A_ACROSS) + STEPS * quad < vec4<u32>(p.k);
        let b_across0 = vec4<u32>(first + thread / B_ACROSS) + STEPS * quad < vec4<u32>(p.k);
        let along1 = vec4<u32>(first + SIDE + thread % STEPS * QUAD) + quad < vec4<u32>(p.k);
        let a_across1 = vec4<u32>(first + SIDE + thread / A_ACROSS) + STEPS * quad < vec4<u32>(p.k);
        let b_across1 = vec4<u32>(first + SIDE + thread / B_ACROSS) + STEPS * quad < vec4<u32>(p.k);
        if (TRANSPOSE_A == 0u) {
            coming_a0 = select(zero, coming_a0, along0);
            coming_a1 = select(zero, coming_a1, along0);
            coming_a2 = select(zero, coming_a2, along0);
            coming_a3 = select(zero, coming_a3, along0);
            coming_a4 = select(zero, coming_a4, along1);
            coming_a5 = select(zero, coming_a5, along1);
            coming_a6 = select(zero, coming_a6, along1);
            coming_a7 = select(zero, coming_a7, along1);
        } else {
            coming_a0 = select(zero, coming_a0, a_across0.x);
            coming_a1 = select(zero, coming_a1, a_across0.y);
            coming_a2 = select(zero, coming_a2, a_across0.z);
            coming_a3 = select(zero, coming_a3, a_across0.w);
            coming_a4 = select(zero, coming_a4, a_across1.x);
            coming_a5 = select(zero, coming_a5, a_across1.y);
            coming_a6 = select(zero, coming_a6, a_across1.z);
            coming_a7 = select(zero, coming_a7, a_across1.w);
        }
        if (TRANSPOSE_B == 1u) {
            coming_b0 = select(zero, coming_b0, along0);
            coming_b1 = select(zero, coming_b1, along0);
            coming_b2 = select(zero, coming_b2, along0);
            coming_b3 = select(zero, coming_b3, along0);
            coming_b4 = select(zero, coming_b4, along1);
            coming_b5 = select(zero, coming_b5, along1);
            coming_b6 = select(zero, coming_b6, along1);
            coming_b7 = select(zero, coming_b7, along1);
        } else {
            coming_b0 = select(zero, coming_b0, b_across0.x);
            coming_b1 = select(zero, coming_b1, b_across0.y);
            coming_b2 = select(zero, coming_b2, b_across0.z);
            coming_b3 = select(zero, coming_b3, b_across0.w);
            coming_b4 = select(zero, coming_b4, b_across1.x);
            coming_b5 = select(zero, coming_b5, b_across1.y);
            coming_b6 = select(zero, coming_b6, b_across1.z);
            coming_b7 = select(zero, coming_b7, b_across1.w);
        }
    }
    let step = thread % STEPS * QUAD;
    let turned = thread / STEPS;
    if (TRANSPOSE_A == 0u) {
        a_tile[(step) * A_ROW + turned] = vec4<f16>(coming_a0.x, coming_a1.x, coming_a2.x, coming_a3.x);
        a_tile[(step + 1u) * A_ROW + turned] = vec4<f16>(coming_a0.y, coming_a1.y, coming_a2.y, coming_a3.y);
        a_tile[(step + 2u) * A_ROW + turned] = vec4<f16>(coming_a0.z, coming_a1.z, coming_a2.z, coming_a3.z);
        a_tile[(step + 3u) * A_ROW + turned] = vec4<f16>(coming_a0.w, coming_a1.w, coming_a2.w, coming_a3.w);
        a_tile[(step + SIDE) * A_ROW + turned] = vec4<f16>(coming_a4.x, coming_a5.x, coming_a6.x, coming_a7.x);
        a_tile[(step + SIDE + 1u) * A_ROW + turned] = vec4<f16>(coming_a4.y, coming_a5.y, coming_a6.y, coming_a7.y);
        a_tile[(step + SIDE + 2u) * A_ROW + turned] = vec4<f16>(coming_a4.z, coming_a5.z, coming_a6.z, coming_a7.z);
        a_tile[(step + SIDE + 3u) * A_ROW + turned] = vec4<f16>(coming_a4.w, coming_a5.w, coming_a6.w, coming_a7.w);
    } else {
        let a_put = thread / A_ACROSS * A_ROW + thread % A_ACROSS;
        a_tile[a_put] = coming_a0;
        a_tile[a_put + (STEPS) * A_ROW] = coming_a1;
        a_tile[a_put + (2u * STEPS) * A_ROW] = coming_a2;
        a_tile[a_put + (3u * STEPS) * A_ROW] = coming_a3;
        a_tile[a_put + (SIDE) * A_ROW] = coming_a4;
        a_tile[a_put + (SIDE + STEPS) * A_ROW] = coming_a5;
        a_tile[a_put + (SIDE + 2u * STEPS) * A_ROW] = coming_a6;
        a_tile[a_put + (SIDE + 3u * STEPS) * A_ROW] = coming_a7;
    }
    if (TRANSPOSE_B == 1u) {
        b_tile[(step) * B_ROW + turned] = vec4<f16>(coming_b0.x, coming_b1.x, coming_b2.x, coming_b3.x);
        b_tile[(step + 1u) * B_ROW + turned] = vec4<f16>(coming_b0.y, coming_b1.y, coming_b2.y, coming_b3.y);
        b_tile[(step + 2u) * B_ROW + turned] = vec4<f16>(coming_b0.z, coming_b1.z, coming_b2.z, coming_b3.z);
        b_tile[(step + 3u) * B_ROW + turned] = vec4<f16>(coming_b0.w, coming_b1.w, coming_b2.w, coming_b3.w);
        b_tile[(step + SIDE) * B_ROW + turned] = vec4<f16>(coming_b4.x, coming_b5.x, coming_b6.x, coming_b7.x);
        b_tile[(step + SIDE + 1u) * B_ROW + turned] = vec4<f16>(coming_b4.y, coming_b5.y, coming_b6.y, coming_b7.y);
        b_tile[(step + SIDE + 2u) * B_ROW + turned] = vec4<f16>(coming_b4.z, coming_b5.z, coming_b6.z, coming_b7.z);
        b_tile[(step + SIDE + 3u) * B_ROW + turned] = vec4<f16>(coming_b4.w, coming_b5.w, coming_b6.w, coming_b7.w);
    } else {
        let b_put = thread / B_ACROSS * B_ROW + thread % B_ACROSS;
        b_tile[b_put] = coming_b0;
        b_tile[b_put + (STEPS) * B_ROW] = coming_b1;
        b_tile[b_put + (2u * STEPS) * B_ROW] = coming_b2;
        b_tile[b_put + (3u * STEPS) * B_ROW] = coming_b3;
        b_tile[b_put + (SIDE) * B_ROW] = coming_b4;
        b_tile[b_put + (SIDE + STEPS) * B_ROW] = coming_b5;
        b_tile[b_put + (SIDE + 2u * STEPS) * B_ROW] = coming_b6;
        b_tile[b_put + (SIDE + 3u * STEPS) * B_ROW] = coming_b7;
    }
}

// SIDE steps of k from the `first` on: 8 fragments from shared memory, 16 products. first is a literal at every call.
fn multiply_step(first: u32) {
    let a0_at = a_place + first * A_ROW;
    let a0 = coopLoad<Fragment_a>(&a_tile[a0_at], A_ROW);
    let a1_at = a_place + first * A_ROW + STEPS;
    let a1 = coopLoad<Fragment_a>(&a_tile[a1_at], A_ROW);
    let a2_at = a_place + first * A_ROW + 2u * STEPS;
    let a2 = coopLoad<Fragment_a>(&a_tile[a2_at], A_ROW);
    let a3_at = a_place + first * A_ROW + 3u * STEPS;
    let a3 = coopLoad<Fragment_a>(&a_tile[a3_at], A_ROW);
    let b0_at = b_place + first * B_ROW;
    let b0 = coopLoadT<Fragment_b>(&b_tile[b0_at], B_ROW);
    let b1_at = b_place + first * B_ROW + STEPS;
    let b1 = coopLoadT<Fragment_b>(&b_tile[b1_at], B_ROW);
    let b2_at = b_place + first * B_ROW + 2u * STEPS;
    let b2 = coopLoadT<Fragment_b>(&b_tile[b2_at], B_ROW);
    let b3_at = b_place + first * B_ROW + 3u * STEPS;
    let b3 = coopLoadT<Fragment_b>(&b_tile[b3_at], B_ROW);
    c00 = coopMultiplyAdd(a0, b0, c00);
    c01 = coopMultiplyAdd(a0, b1, c01);
    c02 = coopMultiplyAdd(a0, b2, c02);
    c03 = coopMultiplyAdd(a0, b3, c03);
    c13 = coopMultiplyAdd(a1, b3, c13);
    c12 = coopMultiplyAdd(a1, b2, c12);
    c11 = coopMultiplyAdd(a1, b1, c11);
    c10 = coopMultiplyAdd(a1, b0, c10);
    c20 = coopMultiplyAdd(a2, b0, c20);
    c21 = coopMultiplyAdd(a2, b1, c21);
    c22 = coopMultiplyAdd(a2, b2, c22);
    c23 = coopMultiplyAdd(a2, b3, c23);
    c33 = coopMultiplyAdd(a3, b3, c33);
    c32 = coopMultiplyAdd(a3, b2, c32);
    c31 = coopMultiplyAdd(a3, b1, c31);
    c30 = coopMultiplyAdd(a3, b0, c30);
}

fn store(row: u32, col: u32, sums: vec4<f32>) {
    if (row >= p.m || col >= p.n) {
        return;
    }
    let index = c_first + row * p.c_ld + col;
    let inside = min(p.n - col, QUAD);  // columns of this quad that c has
    if (VECTOR_C == 1u && inside == QUAD) {
        var quad = p.alpha * sums;
        if (p.beta != 0.0) {  // with beta 0 the old c is not read
            let chunk = c[index / QUAD];
            quad = fma(vec4<f32>(p.beta), vec4<f32>(f32(chunk[0]), f32(chunk[1]), f32(chunk[2]), f32(chunk[3])), quad);
        }
        c[index / QUAD] = Chunk_c(Output(quad.x), Output(quad.y), Output(quad.z), Output(quad.w));
    } else {
        for (var i = 0u; i < inside; i++) {
            let at = index + i;
            var element = p.alpha * sums[i];
            if (p.beta != 0.0) {
                element = fma(p.beta, f32(c[at / QUAD][at % QUAD]), element);
            }
            c[at / QUAD][at % QUAD] = Output(element);
        }
    }
}

// Brings one fragment of sums to c, through shared memory, where edges, alpha, beta and the type of c are seen to.
fn finish(sums: Sums, row: u32, col: u32) {
    let place = thread / SUBGROUP * FRAGMENT;
    coopStoreT(sums, &leaving[place], FRAGMENT_ROW);
    workgroupBarrier();  // waits for the fragment
    let own_row = thread % SUBGROUP / 2u;
    let own_quad = thread % 2u * 2u;
    let at = place + own_row * FRAGMENT_ROW + own_quad;
    store(row + own_row, col + own_quad * QUAD, leaving[at]);
    store(row + own_row, col + (own_quad + 1u) * QUAD, leaving[at + 1u]);
    workgroupBarrier();  // waits until all have read: the next fragment overwrites it
}

@compute @workgroup_size(THREADS)
fn matmul_cooperative_raster(@builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_index) index: u32) {
    thread = index;
    let tiles_m = (p.m + BLOCK_M - 1u) / BLOCK_M;
    let tiles_n = (p.n + BLOCK_N - 1u) / BLOCK_N;
    let tile = block.x + p.block_x;
    let group = tile / (GROUP * tiles_n);
    let group_rows = min(GROUP, tiles_m - group * GROUP);  // the last group may be lower
    let within = tile % (GROUP * tiles_n);                 // within the group, column by column
    let block_row = (group * GROUP + within % group_rows) * BLOCK_M;
    let block_col = within / group_rows * BLOCK_N;
    let batch = block.z + p.block_z;
    let a_first = p.a_offset.x + batch * p.a_stride.x;
    let b_first = p.b_offset.x + batch * p.b_stride.x;
    c_first = p.c_offset.x + batch * p.c_stride.x;
    let turned = thread / STEPS * QUAD;
    if (TRANSPOSE_A == 0u) {
        a_index = a_first + (block_row + turned) * p.a_ld + thread % STEPS * QUAD;
        a_last = a_first + (p.m - 1u) * p.a_ld + p.k - 1u;
        a_apart = p.a_ld;
    } else {
        a_index = a_first + thread / A_ACROSS * p.a_ld + block_row + thread % A_ACROSS * QUAD;
        a_last = a_first + (p.k - 1u) * p.a_ld + p.m - 1u;
        a_apart = STEPS * p.a_ld;
    }
    if (TRANSPOSE_B == 1u) {
        b_index = b_first + (block_col + turned) * p.b_ld + thread % STEPS * QUAD;
        b_last = b_first + (p.n - 1u) * p.b_ld + p.k - 1u;
        b_apart = p.b_ld;
    } else {
        b_index = b_first + thread / B_ACROSS * p.b_ld + block_col + thread % B_ACROSS * QUAD;
        b_last = b_first + (p.k - 1u) * p.b_ld + p.n - 1u;
        b_apart = STEPS * p.b_ld;
    }
    let part_row = thread / SUBGROUP / PARTS_N * PART;
    let part_col = thread / SUBGROUP % PARTS_N * PART;
    a_place = part_row / QUAD;
    b_place = part_col / QUAD;

    let tiles_k = (p.k + BLOCK_K - 1u) / BLOCK_K;
    if (tiles_k > 0u) {
        fetch();
    }
    for (var t = 0u; t < tiles_k; t++) {
        put(t * BLOCK_K);
        workgroupBarrier();  // waits for the tiles
        fetch();
        multiply_step(0u);
        multiply_step(SIDE);
        workgroupBarrier();  // waits until all have read: the next tiles overwrite them
    }

    let row = block_row + part_row;
    let col = block_col + part_col;
    finish(c00, row, col);
    finish(c01, row, col + SIDE);
    finish(c02, row, col + 2u * SIDE);
    finish(c03, row, col + 3u * SIDE);
    finish(c10, row + SIDE, col);
    finish(c11, row + SIDE, col + SIDE);
    finish(c12, row + SIDE, col + 2u * SIDE);
    finish(c13, row + SIDE, col + 3u * SIDE);
    finish(c20, row + 2u * SIDE, col);
    finish(c21, row + 2u * SIDE, col + SIDE);
    finish(c22, row + 2u * SIDE, col + 2u * SIDE);
    finish(c23, row + 2u * SIDE, col + 3u * SIDE);
    finish(c30, row + 3u * SIDE, col);
    finish(c31, row + 3u * SIDE, col + SIDE);
    finish(c32, row + 3u * SIDE, col + 2u * SIDE);
    finish(c33, row + 3u * SIDE, col + 3u * SIDE);
}
