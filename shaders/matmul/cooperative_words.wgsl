// Idea. Read the operands in words of 16 bytes, 8 halves at a time, and take halves out of them where they go to shared memory.
// Changed from the rung below. 16-byte loads and stores in place of 8-byte ones; each operand lies in shared memory in its own order, so that nothing is turned in registers.
// A thread owns. With the 31 others of its subgroup 4 x 4 fragments: 64 x 64 elements of C; 4 chunks of each of the next tiles.
// Memory traffic. As below in half as many requests; shared memory is written 16 bytes per thread.
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
const PARTS_N: u32 = 2u;      // subgroups along n
const THREADS: u32 = 128u;
const SUBGROUP: u32 = 32u;    // threads; the subgroup size must be this
const SIDE: u32 = 16u;        // rows, columns and steps of k of a fragment
const CHUNK: u32 = 8u;        // halves in 16 bytes
const QUAD: u32 = 4u;         // halves in 8 bytes, of which a tile is made
const K_CHUNKS: u32 = 4u;     // chunks of a line that are fetched together where the operand runs along k: BLOCK_K / CHUNK
const FRAGMENT: u32 = 64u;    // quads of f32 per fragment on its way out: SIDE rows of
const FRAGMENT_ROW: u32 = 4u; // quads: SIDE / 4
// A tile lies as its operand does: lines of BLOCK_K steps of k, or a line for each step of k; in quads, with 8 halves more
// than a line has, so that 8 lines of a fragment lie in different banks.
const A_ALONG: u32 = 1u - TRANSPOSE_A;
const A_ROW: u32 = (A_ALONG * BLOCK_K + (1u - A_ALONG) * BLOCK_M + CHUNK) / QUAD;
const A_LINES: u32 = A_ALONG * BLOCK_M + (1u - A_ALONG) * BLOCK_K;
const A_PASS: u32 = THREADS / (A_ALONG * K_CHUNKS + (1u - A_ALONG) * BLOCK_M / CHUNK);  // lines that one chunk per thread fills
const B_ALONG: u32 = TRANSPOSE_B;
const B_ROW: u32 = (B_ALONG * BLOCK_K + (1u - B_ALONG) * BLOCK_N + CHUNK) / QUAD;
const B_LINES: u32 = B_ALONG * BLOCK_N + (1u - B_ALONG) * BLOCK_K;
const B_PASS: u32 = THREADS / (B_ALONG * K_CHUNKS + (1u - B_ALONG) * BLOCK_N / CHUNK);

// 16 bytes of a or b: vec4<u32> where its leading dimension, offset and stride are multiples of 8 (VECTOR 1), else array<u32, 4> (VECTOR 0); 4 elements of c in the same way
alias Chunk_a = vec4<u32>;
alias Chunk_b = vec4<u32>;
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
var<workgroup> a_tile: array<vec4<f16>, A_LINES * A_ROW>;   // A_LINES lines of A_ROW quads
var<workgroup> b_tile: array<vec4<f16>, B_LINES * B_ROW>;   // B_LINES lines of B_ROW quads
var<workgroup> leaving: array<vec4<f32>, THREADS / SUBGROUP * FRAGMENT>;   // a fragment of C per subgroup, SIDE rows of FRAGMENT_ROW quads

// sums: fragment row i, fragment column j of the subgroup's 4 x 4
var<private> c00: Sums; var<private> c01: Sums; var<private> c02: Sums; var<private> c03: Sums;
var<private> c10: Sums; var<private> c11: Sums; var<private> c12: Sums; var<private> c13: Sums;
var<private> c20: Sums; var<private> c21: Sums; var<private> c22: Sums; var<private> c23: Sums;
var<private> c30: Sums; var<private> c31: Sums; var<private> c32: Sums; var<private> c33: Sums;
// what is on its way for the next tiles
var<private> coming_a0: vec4<u32>; var<private> coming_a1: vec4<u32>; var<private> coming_a2: vec4<u32>; var<private> coming_a3: vec4<u32>; var<private> coming_b0: vec4<u32>; var<private> coming_b1: vec4<u32>; var<private> coming_b2: vec4<u32>; var<private> coming_b3: vec4<u32>;
var<private> thread: u32;
var<private> a_index: u32;  // of this thread's next element of a, of its last element, from one of its chunks to the next, and to the next tile
var<private> a_last: u32;
var<private> a_apart: u32;
var<private> a_step: u32;
var<private> b_index: u32;  // the same of b
var<private> b_last: u32;
var<private> b_apart: u32;
var<private> b_step: u32;
var<private> a_place: u32;  // quad of this thread's first chunk in a tile of a, its step of k there where the operand runs along k, or else its line
var<private> a_k: u32;
var<private> b_place: u32;
var<private> b_k: u32;
var<private> a_part: u32;   // quad of the subgroup's first row in a tile of a, and of its first column in one of b
var<private> b_part: u32;
var<private> c_first: u32;  // first element of this batch's c

fn word_a(index: u32) -> u32 {
    let i = min(index, a_last / 2u);
    return a[i / QUAD][i % QUAD];
}

// CHUNK neighbours of a from element `index` on, or from its last one: what lies outside reaches only sums that are not stored, or is masked.
fn chunk_a(index: u32) -> vec4<u32> {
    let i = min(index, a_last);
    if (VECTOR_A == 1u) {
        let chunk = a[i / CHUNK];
        return vec4<u32>(chunk[0], chunk[1], chunk[2], chunk[3]);
    }
    let first = i / 2u;
    let low = vec4<u32>(word_a(first), word_a(first + 1u), word_a(first + 2u), word_a(first + 3u));
    let high = vec4<u32>(low.yzw, word_a(first + 4u));
    let between = low >> vec4<u32>(16u) | high << vec4<u32>(16u);  // an odd index starts in the middle of a word
    return select(low, between, i % 2u == 1u);
}

fn word_b(index: u32) -> u32 {
    let i = min(index, b_last / 2u);
    return b[i / QUAD][i % QUAD];
}

// CHUNK neighbours of b from element `index` on, or from its last one: what lies outside reaches only sums that are not stored, or is masked.
fn chunk_b(index: u32) -> vec4<u32> {
    let i = min(index, b_last);
    if (VECTOR_B == 1u) {
        let chunk = b[i / CHUNK];
        return vec4<u32>(chunk[0], chunk[1], chunk[2], chunk[3]);
    }
    let first = i / 2u;
    let low = vec4<u32>(word_b(first), word_b(first + 1u), word_b(first + 2u), word_b(first + 3u));
    let high = vec4<u32>(low.yzw, word_b(first + 4u));
    let between = low >> vec4<u32>(16u) | high << vec4<u32>(16u);  // an odd index starts in the middle of a word
    return select(low, between, i % 2u == 1u);
}

// Fetches what this thread brings to the next tiles.
fn fetch() {
    coming_a0 = chunk_a(a_index);
    coming_a1 = chunk_a(a_index + a_apart);
    coming_a2 = chunk_a(a_index + 2u * a_apart);
    coming_a3 = chunk_a(a_index + 3u * a_apart);
    coming_b0 = chunk_b(b_index);
    coming_b1 = chunk_b(b_index + b_apart);
    coming_b2 = chunk_b(b_index + 2u * b_apart);
    coming_b3 = chunk_b(b_index + 3u * b_apart);
    a_index += a_step;
    b_index += b_step;
}

// The first `count` of 8 halves, and 0 for the others.
fn first_halves(chunk: vec4<u32>, count: i32) -> vec4<u32> {
    let even = select(vec4<u32>(), vec4<u32>(0xffffu), vec4<i32>(0, 2, 4, 6) < vec4<i32>(count));
    let odd = select(vec4<u32>(), vec4<u32>(0xffff0000u), vec4<i32>(1, 3, 5, 7) < vec4<i32>(count));
    return chunk & (even | odd);
}

// What of a chunk of a lies before the last k; `line` counts the thread's lines.
fn inside_a(chunk: vec4<u32>, first: u32, line: u32) -> vec4<u32> {
    if (A_ALONG == 1u) {
        return first_halves(chunk, i32(p.k) - i32(first + a_k));
    }
    return first_halves(chunk, select(0, i32(CHUNK), first + a_k + line * A_PASS < p.k));
}

// What of a chunk of b lies before the last k; `line` counts the thread's lines.
fn inside_b(chunk: vec4<u32>, first: u32, line: u32) -> vec4<u32> {
    if (B_ALONG == 1u) {
        return first_halves(chunk, i32(p.k) - i32(first + b_k));
    }
    return first_halves(chunk, select(0, i32(CHUNK), first + b_k + line * B_PASS < p.k));
}

fn halves(low: u32, high: u32) -> vec4<f16> {
    return vec4<f16>(vec2<f16>(unpack2x16float(low)), vec2<f16>(unpack2x16float(high)));
}

// Stores what came into the tiles, with 0 beyond the last k, which adds nothing. first: the tiles' first step of k.
fn put(first: u32) {
    var a0 = coming_a0;
    var a1 = coming_a1;
    var a2 = coming_a2;
    var a3 = coming_a3;
    var b0 = coming_b0;
    var b1 = coming_b1;
    var b2 = coming_b2;
    var b3 = coming_b3;
    if (first + BLOCK_K > p.k) {
        a0 = inside_a(a0, first, 0u);
        a1 = inside_a(a1, first, 1u);
        a2 = inside_a(a2, first, 2u);
        a3 = inside_a(a3, first, 3u);
        b0 = inside_b(b0, first, 0u);
        b1 = inside_b(b1, first, 1u);
        b2 = inside_b(b2, first, 2u);
        b3 = inside_b(b3, first, 3u);
    }
    a_tile[a_place] = halves(a0.x, a0.y);
    a_tile[a_place + 1u] = halves(a0.z, a0.w);
    a_tile[a_place + A_PASS * A_ROW] = halves(a1.x, a1.y);
    a_tile[a_place + A_PASS * A_ROW + 1u] = halves(a1.z, a1.w);
    a_tile[a_place + 2u * A_PASS * A_ROW] = halves(a2.x, a2.y);
    a_tile[a_place + 2u * A_PASS * A_ROW + 1u] = halves(a2.z, a2.w);
    a_tile[a_place + 3u * A_PASS * A_ROW] = halves(a3.x, a3.y);
    a_tile[a_place + 3u * A_PASS * A_ROW + 1u] = halves(a3.z, a3.w);
    b_tile[b_place] = halves(b0.x, b0.y);
    b_tile[b_place + 1u] = halves(b0.z, b0.w);
    b_tile[b_place + B_PASS * B_ROW] = halves(b1.x, b1.y);
    b_tile[b_place + B_PASS * B_ROW + 1u] = halves(b1.z, b1.w);
    b_tile[b_place + 2u * B_PASS * B_ROW] = halves(b2.x, b2.y);
    b_tile[b_place + 2u * B_PASS * B_ROW + 1u] = halves(b2.z, b2.w);
    b_tile[b_place + 3u * B_PASS * B_ROW] = halves(b3.x, b3.y);
    b_tile[b_place + 3u * B_PASS * B_ROW + 1u] = halves(b3.z, b3.w);
}

// SIDE steps of k from the `first` on: 8 fragments from shared memory, 16 products. first is a literal at every call.
fn multiply_step(first: u32) {
    var a0: Fragment_a;
    var a1: Fragment_a;
    var a2: Fragment_a;
    var a3: Fragment_a;
    var b0: Fragment_b;
    var b1: Fragment_b;
    var b2: Fragment_b;
    var b3: Fragment_b;
    if (A_ALONG == 1u) {
        let a0_at = a_part + 0u * SIDE * A_ROW + first / QUAD;
        a0 = coopLoadT<Fragment_a>(&a_tile[a0_at], A_ROW);
        let a1_at = a_part + 1u * SIDE * A_ROW + first / QUAD;
        a1 = coopLoadT<Fragment_a>(&a_tile[a1_at], A_ROW);
        let a2_at = a_part + 2u * SIDE * A_ROW + first / QUAD;
        a2 = coopLoadT<Fragment_a>(&a_tile[a2_at], A_ROW);
        let a3_at = a_part + 3u * SIDE * A_ROW + first / QUAD;
        a3 = coopLoadT<Fragment_a>(&a_tile[a3_at], A_ROW);
    } else {
        let a0_at = a_part + 0u * SIDE / QUAD + first * A_ROW;
        a0 = coopLoad<Fragment_a>(&a_tile[a0_at], A_ROW);
        let a1_at = a_part + 1u * SIDE / QUAD + first * A_ROW;
        a1 = coopLoad<Fragment_a>(&a_tile[a1_at], A_ROW);
        let a2_at = a_part + 2u * SIDE / QUAD + first * A_ROW;
        a2 = coopLoad<Fragment_a>(&a_tile[a2_at], A_ROW);
        let a3_at = a_part + 3u * SIDE / QUAD + first * A_ROW;
        a3 = coopLoad<Fragment_a>(&a_tile[a3_at], A_ROW);
    }
    if (B_ALONG == 1u) {
        let b0_at = b_part + 0u * SIDE * B_ROW + first / QUAD;
        b0 = coopLoad<Fragment_b>(&b_tile[b0_at], B_ROW);
        let b1_at = b_part + 1u * SIDE * B_ROW + first / QUAD;
        b1 = coopLoad<Fragment_b>(&b_tile[b1_at], B_ROW);
        let b2_at = b_part + 2u * SIDE * B_ROW + first / QUAD;
        b2 = coopLoad<Fragment_b>(&b_tile[b2_at], B_ROW);
        let b3_at = b_part + 3u * SIDE * B_ROW + first / QUAD;
        b3 = coopLoad<Fragment_b>(&b_tile[b3_at], B_ROW);
    } else {
        let b0_at = b_part + 0u * SIDE / QUAD + first * B_ROW;
        b0 = coopLoadT<Fragment_b>(&b_tile[b0_at], B_ROW);
        let b1_at = b_part + 1u * SIDE / QUAD + first * B_ROW;
        b1 = coopLoadT<Fragment_b>(&b_tile[b1_at], B_ROW);
        let b2_at = b_part + 2u * SIDE / QUAD + first * B_ROW;
        b2 = coopLoadT<Fragment_b>(&b_tile[b2_at], B_ROW);
        let b3_at = b_part + 3u * SIDE / QUAD + first * B_ROW;
        b3 = coopLoadT<Fragment_b>(&b_tile[b3_at], B_ROW);
    }
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
fn matmul_cooperative_words(@builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_index) index: u32) {
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
    let part_row = thread / SUBGROUP / PARTS_N * PART;
    let part_col = thread / SUBGROUP % PARTS_N * PART;
    // Along k the lines of neighbouring threads are those whose places lie in different banks.
    let line = thread / 32u * 8u + thread % 8u / 4u * 4u + thread % 32u / 8u;
    let chunk = thread % K_CHUNKS;
    if (A_ALONG == 1u) {
        a_index = a_first + (block_row + line) * p.a_ld + chunk * CHUNK;
        a_last = a_first + (p.m - 1u) * p.a_ld + p.k - 1u;
        a_step = BLOCK_K;
        a_place = line * A_ROW + chunk * 2u;
        a_k = chunk * CHUNK;
        a_part = part_row * A_ROW;
    } else {
        let a_line = thread / (BLOCK_M / CHUNK);
        let a_chunk = thread % (BLOCK_M / CHUNK);
        a_index = a_first + a_line * p.a_ld + block_row + a_chunk * CHUNK;
        a_last = a_first + (p.k - 1u) * p.a_ld + p.m - 1u;
        a_step = BLOCK_K * p.a_ld;
        a_place = a_line * A_ROW + a_chunk * 2u;
        a_k = a_line;
        a_part = part_row / QUAD;
    }
    a_apart = A_PASS * p.a_ld;
    if (B_ALONG == 1u) {
        b_index = b_first + (block_col + line) * p.b_ld + chunk * CHUNK;
        b_last = b_first + (p.n - 1u) * p.b_ld + p.k - 1u;
        b_step = BLOCK_K;
        b_place = line * B_ROW + chunk * 2u;
        b_k = chunk * CHUNK;
        b_part = part_col * B_ROW;
    } else {
        let b_line = thread / (BLOCK_N / CHUNK);
        let b_chunk = thread % (BLOCK_N / CHUNK);
        b_index = b_first + b_line * p.b_ld + block_col + b_chunk * CHUNK;
        b_last = b_first + (p.k - 1u) * p.b_ld + p.n - 1u;
        b_step = BLOCK_K * p.b_ld;
        b_place = b_line * B_ROW + b_chunk * 2u;
        b_k = b_line;
        b_part = part_col / QUAD;
    }
    b_apart = B_PASS * p.b_ld;

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
