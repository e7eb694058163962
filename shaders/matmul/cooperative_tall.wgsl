// Idea. Let two blocks share a multiprocessor: while one waits for its tiles, the other multiplies.
// Changed from the rung below. One buffer, 4 subgroups and tiles of 160 x 128 x 32 take half of the registers and a tenth of the shared memory; 80 x 64 results per subgroup.
// A thread owns. With the 31 others of its subgroup 5 x 4 fragments: 80 x 64 elements of C; the 9 chunks it brings to the next tiles.
// Memory traffic. Shared: per 16 steps of k a subgroup reads 144 x 16 halves for 80 x 64 x 16 multiply-adds.
// Needs. Cooperative matrices of 16 x 16 x 16, f16 with f32 sums; a subgroup size of 32; a stored k x m and b k x n, in rows that start at multiples of 16 bytes; any m, n and k, offsets, batch, alpha and beta, c in f32 or f16; the three bindings a multiple of 16 bytes long.

enable f16;
enable wgpu_cooperative_matrix;

const GROUP: u32 = 8u;        // tile rows that are walked together
const BLOCK_M: u32 = 160u;
const BLOCK_N: u32 = 128u;
const BLOCK_K: u32 = 32u;
const PART_M: u32 = 80u;     // rows and columns of C per subgroup
const PART_N: u32 = 64u;
const PARTS_N: u32 = 2u;      // subgroups along n
const THREADS: u32 = 128u;
const SUBGROUP: u32 = 32u;    // threads; the subgroup size must be this
const SIDE: u32 = 16u;        // rows, columns and steps of k of a fragment
const CHUNK: u32 = 8u;        // halves in 16 bytes
const QUAD: u32 = 4u;         // halves in 8 bytes, of which a tile is made
const STEPS: u32 = 4u;        // quads of rows in a fragment: SIDE / QUAD
const A_ACROSS: u32 = 20u;    // chunks across a tile of a: BLOCK_M / CHUNK
const B_ACROSS: u32 = 16u;    // chunks across a tile of b: BLOCK_N / CHUNK
const B_PASS: u32 = 8u;       // steps of k that one chunk per thread fills in a tile of b: THREADS / B_ACROSS
const A_ROW: u32 = 42u;       // quads from one step of k to the next in shared memory: 8 halves more than the tile is wide,
const B_ROW: u32 = 34u;       // so that 8 rows of a fragment lie in different banks
const LEAVING: u32 = 80u;     // quads of f32 in a fragment on its way out: SIDE rows of
const LEAVING_ROW: u32 = 5u;  // SIDE / QUAD + 1 quads
const ROWS: u32 = 8u;         // rows of it that a subgroup stores at a time

// 4 elements of c: vec4 where its leading dimension, offset and stride are multiples of 4 (VECTOR_C 1), else array<Output, 4>
alias Chunk_c = vec4<Output>;
alias Output = f32;           // f16 with OUTPUT_F32 0
const OUTPUT_F32: u32 = 1u;   // 1: c is f32, 0: f16
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

@group(0) @binding(0) var<storage, read> a: array<vec4<u32>>;       // k x a_ld, 8 halves at a time
@group(0) @binding(1) var<storage, read> b: array<vec4<u32>>;       // k x b_ld
@group(0) @binding(2) var<storage, read_write> c: array<Chunk_c>;   // m x c_ld
@group(0) @binding(3) var<uniform> p: Params;
var<workgroup> a_tile: array<vec4<f16>, BLOCK_K * A_ROW>;   // BLOCK_K steps of k x A_ROW quads of rows
var<workgroup> b_tile: array<vec4<f16>, BLOCK_K * B_ROW>;   // BLOCK_K steps of k x B_ROW quads of columns
var<workgroup> leaving: array<vec4<f32>, THREADS / SUBGROUP * LEAVING>;   // a fragment of C per subgroup, SIDE rows of LEAVING_ROW quads

// sums: fragment row i, fragment column j of the subgroup's 5 x 4
var<private> c00: Sums; var<private> c01: Sums; var<private> c02: Sums; var<private> c03: Sums;
var<private> c10: Sums; var<private> c11: Sums; var<private> c12: Sums; var<private> c13: Sums;
var<private> c20: Sums; var<private> c21: Sums; var<private> c22: Sums; var<private> c23: Sums;
var<private> c30: Sums; var<private> c31: Sums; var<private> c32: Sums; var<private> c33: Sums;
var<private> c40: Sums; var<private> c41: Sums; var<private> c42: Sums; var<private> c43: Sums;
// what is on its way for the next tiles
var<private> coming_a0: vec4<u32>; var<private> coming_a1: vec4<u32>; var<private> coming_a2: vec4<u32>; var<private> coming_a3: vec4<u32>; var<private> coming_a4: vec4<u32>; var<private> coming_b0: vec4<u32>; var<private> coming_b1: vec4<u32>; var<private> coming_b2: vec4<u32>; var<private> coming_b3: vec4<u32>;
var<private> thread: u32;
var<private> a_index: u32;  // chunk of a that this thread fetches next, and chunks from one step of k to the next
var<private> a_apart: u32;
var<private> b_index: u32;  // the same of b
var<private> b_apart: u32;
var<private> a_away0: u32; var<private> a_away1: u32; var<private> a_away2: u32; var<private> a_away3: u32; var<private> a_away4: u32;  // from there to each of its chunks
var<private> a_place0: u32; var<private> a_place1: u32; var<private> a_place2: u32; var<private> a_place3: u32; var<private> a_place4: u32;  // their quads in a tile
var<private> b_place: u32;
var<private> a_part: u32;   // quad of the subgroup's first row, and of its first column
var<private> b_part: u32;
var<private> c_first: u32;  // first element of this batch's c

// Fetches what this thread brings to the next tiles.
fn fetch() {
    coming_a0 = a[a_index + a_away0];
    coming_a1 = a[a_index + a_away1];
    coming_a2 = a[a_index + a_away2];
    coming_a3 = a[a_index + a_away3];
    coming_a4 = a[a_index + a_away4];
    coming_b0 = b[b_index];
    coming_b1 = b[b_index + B_PASS * b_apart];
    coming_b2 = b[b_index + 2u * B_PASS * b_apart];
    coming_b3 = b[b_index + 3u * B_PASS * b_apart];
    a_index += BLOCK_K * a_apart;
    b_index += BLOCK_K * b_apart;
}

// The column of chunk number `index` of a tile, or the operand's last one, which then reaches only sums that are not stored.
fn tile_column(block_column: u32, index: u32) -> u32 {
    return min(block_column + index % A_ACROSS, (p.m - 1u) / CHUNK);
}

fn halves(low: u32, high: u32) -> vec4<f16> {
    return vec4<f16>(vec2<f16>(unpack2x16float(low)), vec2<f16>(unpack2x16float(high)));
}

// Stores what came into the tiles. b before a: the other way round the driver copies more registers.
fn put() {
    b_tile[b_place] = halves(coming_b0.x, coming_b0.y);
    b_tile[b_place + 1u] = halves(coming_b0.z, coming_b0.w);
    b_tile[b_place + B_PASS * B_ROW] = halves(coming_b1.x, coming_b1.y);
    b_tile[b_place + B_PASS * B_ROW + 1u] = halves(coming_b1.z, coming_b1.w);
    b_tile[b_place + 2u * B_PASS * B_ROW] = halves(coming_b2.x, coming_b2.y);
    b_tile[b_place + 2u * B_PASS * B_ROW + 1u] = halves(coming_b2.z, coming_b2.w);
    b_tile[b_place + 3u * B_PASS * B_ROW] = halves(coming_b3.x, coming_b3.y);
    b_tile[b_place + 3u * B_PASS * B_ROW + 1u] = halves(coming_b3.z, coming_b3.w);
    a_tile[a_place0] = halves(coming_a0.x, coming_a0.y);
    a_tile[a_place0 + 1u] = halves(coming_a0.z, coming_a0.w);
    a_tile[a_place1] = halves(coming_a1.x, coming_a1.y);
    a_tile[a_place1 + 1u] = halves(coming_a1.z, coming_a1.w);
    a_tile[a_place2] = halves(coming_a2.x, coming_a2.y);
    a_tile[a_place2 + 1u] = halves(coming_a2.z, coming_a2.w);
    a_tile[a_place3] = halves(coming_a3.x, coming_a3.y);
    a_tile[a_place3 + 1u] = halves(coming_a3.z, coming_a3.w);
    a_tile[a_place4] = halves(coming_a4.x, coming_a4.y);
    a_tile[a_place4 + 1u] = halves(coming_a4.z, coming_a4.w);
}

// SIDE steps of k from the `first` on: 9 fragments from shared memory, 20 products. first is a literal at every call.
fn multiply_step(first: u32) {
    let a0_at = a_part + first * A_ROW;
    let a0 = coopLoad<Fragment_a>(&a_tile[a0_at], A_ROW);
    let a1_at = a_part + first * A_ROW + STEPS;
    let a1 = coopLoad<Fragment_a>(&a_tile[a1_at], A_ROW);
    let a2_at = a_part + first * A_ROW + 2u * STEPS;
    let a2 = coopLoad<Fragment_a>(&a_tile[a2_at], A_ROW);
    let a3_at = a_part + first * A_ROW + 3u * STEPS;
    let a3 = coopLoad<Fragment_a>(&a_tile[a3_at], A_ROW);
    let a4_at = a_part + first * A_ROW + 4u * STEPS;
    let a4 = coopLoad<Fragment_a>(&a_tile[a4_at], A_ROW);
    let b0_at = b_part + first * B_ROW;
    let b0 = coopLoadT<Fragment_b>(&b_tile[b0_at], B_ROW);
    let b1_at = b_part + first * B_ROW + STEPS;
    let b1 = coopLoadT<Fragment_b>(&b_tile[b1_at], B_ROW);
    let b2_at = b_part + first * B_ROW + 2u * STEPS;
    let b2 = coopLoadT<Fragment_b>(&b_tile[b2_at], B_ROW);
    let b3_at = b_part + first * B_ROW + 3u * STEPS;
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
    c40 = coopMultiplyAdd(a4, b0, c40);
    c41 = coopMultiplyAdd(a4, b1, c41);
    c42 = coopMultiplyAdd(a4, b2, c42);
    c43 = coopMultiplyAdd(a4, b3, c43);
}

// A chunk of a row of k, 0 where there is no such row.
fn rest_a(column: u32, k: u32) -> vec4<u32> {
    return select(vec4<u32>(), a[column + min(k, p.k - 1u) * a_apart], k < p.k);
}

fn rest_b(column: u32, k: u32) -> vec4<u32> {
    return select(vec4<u32>(), b[column + min(k, p.k - 1u) * b_apart], k < p.k);
}

// Fetches the steps of k from `first` on, 0 for those that are missing. Columns of k are counted in chunks.
fn fetch_rest(first: u32, a_first: u32, block_column: u32, b_column: u32) {
    coming_a0 = rest_a(a_first + tile_column(block_column, thread), first + thread / A_ACROSS);
    coming_a1 = rest_a(a_first + tile_column(block_column, thread + THREADS), first + (thread + THREADS) / A_ACROSS);
    coming_a2 = rest_a(a_first + tile_column(block_column, thread + 2u * THREADS), first + (thread + 2u * THREADS) / A_ACROSS);
    coming_a3 = rest_a(a_first + tile_column(block_column, thread + 3u * THREADS), first + (thread + 3u * THREADS) / A_ACROSS);
    coming_a4 = rest_a(a_first + tile_column(block_column, thread + 4u * THREADS), first + (thread + 4u * THREADS) / A_ACROSS);
    coming_b0 = rest_b(b_column, first + thread / B_ACROSS);
    coming_b1 = rest_b(b_column, first + thread / B_ACROSS + B_PASS);
    coming_b2 = rest_b(b_column, first + thread / B_ACROSS + 2u * B_PASS);
    coming_b3 = rest_b(b_column, first + thread / B_ACROSS + 3u * B_PASS);
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

// Brings a fragment of sums to shared memory.
fn leave(sums: Sums) {
    let place = thread / SUBGROUP * LEAVING;
    coopStoreT(sums, &leaving[place], LEAVING_ROW);
}

@compute @workgroup_size(THREADS)
fn matmul_cooperative_tall(@builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_index) index: u32) {
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
    c_first = p.c_offset.x + batch * p.c_stride.x;
    a_apart = p.a_ld / CHUNK;
    b_apart = p.b_ld / CHUNK;
    // Beyond the operand a thread fetches the last chunk of a row again, which reaches only sums that are not stored.
    let a_first = (p.a_offset.x + batch * p.a_stride.x) / CHUNK;
    let b_first = (p.b_offset.x + batch * p.b_stride.x) / CHUNK;
    a_index = a_first;
    a_away0 = tile_column(block_row / CHUNK, thread) + thread / A_ACROSS * a_apart;
    a_place0 = thread / A_ACROSS * A_ROW + thread % A_ACROSS * 2u;
    a_away1 = tile_column(block_row / CHUNK, thread + THREADS) + (thread + THREADS) / A_ACROSS * a_apart;
    a_place1 = (thread + THREADS) / A_ACROSS * A_ROW + (thread + THREADS) % A_ACROSS * 2u;
    a_away2 = tile_column(block_row / CHUNK, thread + 2u * THREADS) + (thread + 2u * THREADS) / A_ACROSS * a_apart;
    a_place2 = (thread + 2u * THREADS) / A_ACROSS * A_ROW + (thread + 2u * THREADS) % A_ACROSS * 2u;
    a_away3 = tile_column(block_row / CHUNK, thread + 3u * THREADS) + (thread + 3u * THREADS) / A_ACROSS * a_apart;
    a_place3 = (thread + 3u * THREADS) / A_ACROSS * A_ROW + (thread + 3u * THREADS) % A_ACROSS * 2u;
    a_away4 = tile_column(block_row / CHUNK, thread + 4u * THREADS) + (thread + 4u * THREADS) / A_ACROSS * a_apart;
    a_place4 = (thread + 4u * THREADS) / A_ACROSS * A_ROW + (thread + 4u * THREADS) % A_ACROSS * 2u;
    let b_column = b_first + min(block_col / CHUNK + thread % B_ACROSS, (p.n - 1u) / CHUNK);
    b_index = b_column + thread / B_ACROSS * b_apart;
    b_place = thread / B_ACROSS * B_ROW + thread % B_ACROSS * 2u;
    let part_row = thread / SUBGROUP / PARTS_N * PART_M;
    let part_col = thread / SUBGROUP % PARTS_N * PART_N;
    a_part = part_row / QUAD;
    b_part = part_col / QUAD;

    let whole = p.k / BLOCK_K;
    fetch();
    for (var tiles = 1u; tiles < whole; tiles++) {
        put();
        workgroupBarrier();  // waits for the tiles
        fetch();
        multiply_step(0u);
        multiply_step(SIDE);
        workgroupBarrier();  // waits until all have read: the next tiles overwrite them
    }
    put();
    workgroupBarrier();
    multiply_step(0u);
    multiply_step(SIDE);
    // What is left of k; a loop, not a branch, since sums that come on two paths cost registers.
    for (var first = whole * BLOCK_K; first < p.k; first += BLOCK_K) {
        fetch_rest(first, a_first, block_row / CHUNK, b_column);
        workgroupBarrier();  // waits until all have read the tiles before
        put();
        workgroupBarrier();
        multiply_step(0u);
        multiply_step(SIDE);
    }

    // The sums leave a fragment at a time, through shared memory, where edges, alpha, beta and the type of c are seen to.
    // A count that the driver does not know: it would write the loop out, and then has no registers left for the loop above.
    let own_row = thread % SUBGROUP / STEPS;  // ROWS whole rows at a time: whole sectors of c
    let own_quad = thread % STEPS;
    // Tiles that lie in c as a whole are stored without branches where nothing is added: the others wait for each store.
    let plain = VECTOR_C == 1u && p.beta == 0.0 && block_row + BLOCK_M <= p.m && block_col + BLOCK_N <= p.n;
    let fragments = 20u * min(p.batch, 1u);
    for (var fragment = 0u; fragment < fragments; fragment++) {
        switch (fragment) {
            case 0u: { leave(c00); }
            case 1u: { leave(c01); }
            case 2u: { leave(c02); }
            case 3u: { leave(c03); }
            case 4u: { leave(c10); }
            case 5u: { leave(c11); }
            case 6u: { leave(c12); }
            case 7u: { leave(c13); }
            case 8u: { leave(c20); }
            case 9u: { leave(c21); }
            case 10u: { leave(c22); }
            case 11u: { leave(c23); }
            case 12u: { leave(c30); }
            case 13u: { leave(c31); }
            case 14u: { leave(c32); }
            case 15u: { leave(c33); }
            case 16u: { leave(c40); }
            case 17u: { leave(c41); }
            case 18u: { leave(c42); }
            default: { leave(c43); }
        }
        workgroupBarrier();  // waits for the fragments
        let row = block_row + part_row + fragment / 4u * SIDE + own_row;
        let col = block_col + part_col + (fragment % 4u * SIDE + own_quad * QUAD);
        let at = thread / SUBGROUP * LEAVING + own_row * LEAVING_ROW + own_quad;
        if (plain) {
            let first = (c_first + row * p.c_ld + col) / QUAD;
            let q0 = p.alpha * leaving[at];
            let q1 = p.alpha * leaving[at + ROWS * LEAVING_ROW];
            c[first] = Chunk_c(Output(q0.x), Output(q0.y), Output(q0.z), Output(q0.w));
            c[first + ROWS * (p.c_ld / QUAD)] = Chunk_c(Output(q1.x), Output(q1.y), Output(q1.z), Output(q1.w));
        } else {
            store(row, col, leaving[at]);
            store(row + ROWS, col, leaving[at + ROWS * LEAVING_ROW]);
        }
        workgroupBarrier();  // waits until all have read: the next fragments overwrite them
    }
}
