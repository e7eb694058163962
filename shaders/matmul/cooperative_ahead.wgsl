// Idea. Load the fragments of the next step while the tensor cores multiply those of this one.
// Changed from the rung below. Two buffers of 16 steps of k and two sets of fragments, so that one barrier per step is enough; four steps are on their way in registers; 8 subgroups share 128 x 256 results; no branch, mask or clamp in the loop, which is what the driver can move loads in: the last steps come behind it.
// A thread owns. With the 31 others of its subgroup 4 x 4 fragments: 64 x 64 elements of C; the 3 chunks of each of four steps on their way.
// Memory traffic. Global: a quarter less than below for the larger tile. Shared: per 16 steps of k a subgroup reads 128 x 16 halves for 64 x 64 x 16 multiply-adds, while it multiplies.
// Needs. Cooperative matrices of 16 x 16 x 16, f16 with f32 sums; a subgroup size of 32; a stored k x m and b k x n, in rows that start at multiples of 16 bytes; any m, n and k, offsets, batch, alpha and beta, c in f32 or f16; the three bindings a multiple of 16 bytes long.

enable f16;
enable wgpu_cooperative_matrix;

const GROUP: u32 = 8u;        // tile rows that are walked together
const BLOCK_M: u32 = 128u;
const BLOCK_N: u32 = 256u;
const BLOCK_K: u32 = 16u;
const PART: u32 = 64u;        // rows and columns of C per subgroup
const PARTS_N: u32 = 4u;      // subgroups along n
const THREADS: u32 = 256u;
const SUBGROUP: u32 = 32u;    // threads; the subgroup size must be this
const SIDE: u32 = 16u;        // rows, columns and steps of k of a fragment
const CHUNK: u32 = 8u;        // halves in 16 bytes
const QUAD: u32 = 4u;         // halves in 8 bytes, of which a tile is made
const STEPS: u32 = 4u;        // quads of rows in a fragment: SIDE / QUAD
const A_ACROSS: u32 = 16u;    // chunks across a tile of a: BLOCK_M / CHUNK
const B_ACROSS: u32 = 32u;    // chunks across a tile of b: BLOCK_N / CHUNK
const B_PASS: u32 = 8u;       // steps of k that one chunk per thread fills in a tile of b: THREADS / B_ACROSS
const A_ROW: u32 = 34u;       // quads from one step of k to the next in shared memory: 8 halves more than the tile is wide,
const B_ROW: u32 = 66u;       // so that 8 rows of a fragment lie in different banks
const LEAVING: u32 = 160u;    // quads of f32 in two fragments on their way out, side by side: SIDE rows of
const LEAVING_ROW: u32 = 10u; // 2 * SIDE / QUAD + 2 quads
const ACROSS: u32 = 8u;       // quads of such a row that are stored, by as many threads
const ROWS: u32 = 4u;         // rows of it that a subgroup stores at a time: whole sectors of c

// 4 elements of c: vec4 where its leading dimension, offset and stride are multiples of 4 (VECTOR_C 1), else array<Output, 4>
alias Chunk_c = vec4<Output>;
alias Output = f32;           // f16 with OUTPUT_F32 0
const OUTPUT_F32: u32 = 1u;   // 1: c is f32, 0: f16
const VECTOR_C: u32 = 1u;

alias Fragment_a = coop_mat16x16<f16, A>;
alias Fragment_b = coop_mat16x16<f16, B>;
alias Sums = coop_mat16x16<f32, C>;

// What a thread brings to a step of k: chunks of a and b.
struct Coming { a0: vec4<u32>, b0: vec4<u32>, b1: vec4<u32> }

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
var<workgroup> a_tile_even: array<vec4<f16>, BLOCK_K * A_ROW>;   // BLOCK_K steps of k x A_ROW quads of rows
var<workgroup> b_tile_even: array<vec4<f16>, BLOCK_K * B_ROW>;   // BLOCK_K steps of k x B_ROW quads of columns
var<workgroup> a_tile_odd: array<vec4<f16>, BLOCK_K * A_ROW>;    // the same
var<workgroup> b_tile_odd: array<vec4<f16>, BLOCK_K * B_ROW>;    // the same
var<workgroup> leaving: array<vec4<f32>, THREADS / SUBGROUP * LEAVING>;   // two fragments of C per subgroup, SIDE rows of LEAVING_ROW quads

// sums: fragment row i, fragment column j of the subgroup's 4 x 4
var<private> c00: Sums; var<private> c01: Sums; var<private> c02: Sums; var<private> c03: Sums;
var<private> c10: Sums; var<private> c11: Sums; var<private> c12: Sums; var<private> c13: Sums;
var<private> c20: Sums; var<private> c21: Sums; var<private> c22: Sums; var<private> c23: Sums;
var<private> c30: Sums; var<private> c31: Sums; var<private> c32: Sums; var<private> c33: Sums;
// fragments of even and of odd steps
var<private> a0_even: Fragment_a; var<private> a1_even: Fragment_a; var<private> a2_even: Fragment_a; var<private> a3_even: Fragment_a; var<private> b0_even: Fragment_b; var<private> b1_even: Fragment_b; var<private> b2_even: Fragment_b; var<private> b3_even: Fragment_b;
var<private> a0_odd: Fragment_a; var<private> a1_odd: Fragment_a; var<private> a2_odd: Fragment_a; var<private> a3_odd: Fragment_a; var<private> b0_odd: Fragment_b; var<private> b1_odd: Fragment_b; var<private> b2_odd: Fragment_b; var<private> b3_odd: Fragment_b;
// what is on its way, of four steps
var<private> coming0: Coming; var<private> coming1: Coming; var<private> coming2: Coming; var<private> coming3: Coming;
var<private> thread: u32;
var<private> a_index: u32;  // chunk of a that this thread fetches next, and chunks from one step of k to the next
var<private> a_apart: u32;
var<private> b_index: u32;  // the same of b
var<private> b_apart: u32;
var<private> a_place: u32;  // quad of this thread's first chunk in a tile
var<private> b_place: u32;
var<private> a_part: u32;   // quad of the subgroup's first row, and of its first column
var<private> b_part: u32;
var<private> c_first: u32;  // first element of this batch's c

// Fetches what this thread brings to a step of k.
fn fetch(a_step: u32, b_step: u32) -> Coming {
    let chunks = Coming(a[a_index], b[b_index], b[b_index + B_PASS * b_apart]);
    a_index += a_step;
    b_index += b_step;
    return chunks;
}

fn halves(low: u32, high: u32) -> vec4<f16> {
    return vec4<f16>(vec2<f16>(unpack2x16float(low)), vec2<f16>(unpack2x16float(high)));
}

// Stores what came into the tiles of an even step. The order of these lines, and of those below, is the fastest of 34 that were timed.
fn put_even(chunks: Coming) {
    b_tile_even[b_place] = halves(chunks.b0.x, chunks.b0.y);
    b_tile_even[b_place + 1u] = halves(chunks.b0.z, chunks.b0.w);
    b_tile_even[b_place + B_PASS * B_ROW] = halves(chunks.b1.x, chunks.b1.y);
    b_tile_even[b_place + B_PASS * B_ROW + 1u] = halves(chunks.b1.z, chunks.b1.w);
    a_tile_even[a_place] = halves(chunks.a0.x, chunks.a0.y);
    a_tile_even[a_place + 1u] = halves(chunks.a0.z, chunks.a0.w);
}

// The same of an odd step.
fn put_odd(chunks: Coming) {
    b_tile_odd[b_place] = halves(chunks.b0.x, chunks.b0.y);
    b_tile_odd[b_place + 1u] = halves(chunks.b0.z, chunks.b0.w);
    b_tile_odd[b_place + B_PASS * B_ROW] = halves(chunks.b1.x, chunks.b1.y);
    b_tile_odd[b_place + B_PASS * B_ROW + 1u] = halves(chunks.b1.z, chunks.b1.w);
    a_tile_odd[a_place] = halves(chunks.a0.x, chunks.a0.y);
    a_tile_odd[a_place + 1u] = halves(chunks.a0.z, chunks.a0.w);
}

// The fragments of an even step.
fn load_even() {
    let a0_at = a_part;
    a0_even = coopLoad<Fragment_a>(&a_tile_even[a0_at], A_ROW);
    let b0_at = b_part;
    b0_even = coopLoadT<Fragment_b>(&b_tile_even[b0_at], B_ROW);
    let b1_at = b_part + STEPS;
    b1_even = coopLoadT<Fragment_b>(&b_tile_even[b1_at], B_ROW);
    let b2_at = b_part + 2u * STEPS;
    b2_even = coopLoadT<Fragment_b>(&b_tile_even[b2_at], B_ROW);
    let b3_at = b_part + 3u * STEPS;
    b3_even = coopLoadT<Fragment_b>(&b_tile_even[b3_at], B_ROW);
    let a1_at = a_part + STEPS;
    a1_even = coopLoad<Fragment_a>(&a_tile_even[a1_at], A_ROW);
    let a2_at = a_part + 2u * STEPS;
    a2_even = coopLoad<Fragment_a>(&a_tile_even[a2_at], A_ROW);
    let a3_at = a_part + 3u * STEPS;
    a3_even = coopLoad<Fragment_a>(&a_tile_even[a3_at], A_ROW);
}

// The same of an odd step.
fn load_odd() {
    let a0_at = a_part;
    a0_odd = coopLoad<Fragment_a>(&a_tile_odd[a0_at], A_ROW);
    let b0_at = b_part;
    b0_odd = coopLoadT<Fragment_b>(&b_tile_odd[b0_at], B_ROW);
    let b1_at = b_part + STEPS;
    b1_odd = coopLoadT<Fragment_b>(&b_tile_odd[b1_at], B_ROW);
    let b2_at = b_part + 2u * STEPS;
    b2_odd = coopLoadT<Fragment_b>(&b_tile_odd[b2_at], B_ROW);
    let b3_at = b_part + 3u * STEPS;
    b3_odd = coopLoadT<Fragment_b>(&b_tile_odd[b3_at], B_ROW);
    let a1_at = a_part + STEPS;
    a1_odd = coopLoad<Fragment_a>(&a_tile_odd[a1_at], A_ROW);
    let a2_at = a_part + 2u * STEPS;
    a2_odd = coopLoad<Fragment_a>(&a_tile_odd[a2_at], A_ROW);
    let a3_at = a_part + 3u * STEPS;
    a3_odd = coopLoad<Fragment_a>(&a_tile_odd[a3_at], A_ROW);
}

// Multiplies the fragments of an even step.
fn multiply_even() {
    c30 = coopMultiplyAdd(a3_even, b0_even, c30);
    c31 = coopMultiplyAdd(a3_even, b1_even, c31);
    c32 = coopMultiplyAdd(a3_even, b2_even, c32);
    c33 = coopMultiplyAdd(a3_even, b3_even, c33);
    c23 = coopMultiplyAdd(a2_even, b3_even, c23);
    c22 = coopMultiplyAdd(a2_even, b2_even, c22);
    c21 = coopMultiplyAdd(a2_even, b1_even, c21);
    c20 = coopMultiplyAdd(a2_even, b0_even, c20);
    c10 = coopMultiplyAdd(a1_even, b0_even, c10);
    c11 = coopMultiplyAdd(a1_even, b1_even, c11);
    c12 = coopMultiplyAdd(a1_even, b2_even, c12);
    c13 = coopMultiplyAdd(a1_even, b3_even, c13);
    c03 = coopMultiplyAdd(a0_even, b3_even, c03);
    c02 = coopMultiplyAdd(a0_even, b2_even, c02);
    c01 = coopMultiplyAdd(a0_even, b1_even, c01);
    c00 = coopMultiplyAdd(a0_even, b0_even, c00);
}

// The same of an odd step.
fn multiply_odd() {
    c30 = coopMultiplyAdd(a3_odd, b0_odd, c30);
    c31 = coopMultiplyAdd(a3_odd, b1_odd, c31);
    c32 = coopMultiplyAdd(a3_odd, b2_odd, c32);
    c33 = coopMultiplyAdd(a3_odd, b3_odd, c33);
    c23 = coopMultiplyAdd(a2_odd, b3_odd, c23);
    c22 = coopMultiplyAdd(a2_odd, b2_odd, c22);
    c21 = coopMultiplyAdd(a2_odd, b1_odd, c21);
    c20 = coopMultiplyAdd(a2_odd, b0_odd, c20);
    c10 = coopMultiplyAdd(a1_odd, b0_odd, c10);
    c11 = coopMultiplyAdd(a1_odd, b1_odd, c11);
    c12 = coopMultiplyAdd(a1_odd, b2_odd, c12);
    c13 = coopMultiplyAdd(a1_odd, b3_odd, c13);
    c03 = coopMultiplyAdd(a0_odd, b3_odd, c03);
    c02 = coopMultiplyAdd(a0_odd, b2_odd, c02);
    c01 = coopMultiplyAdd(a0_odd, b1_odd, c01);
    c00 = coopMultiplyAdd(a0_odd, b0_odd, c00);
}

// A chunk of a row of k, 0 where there is no such row.
fn rest_a(column: u32, k: u32) -> vec4<u32> {
    return select(vec4<u32>(), a[column + min(k, p.k - 1u) * a_apart], k < p.k);
}

fn rest_b(column: u32, k: u32) -> vec4<u32> {
    return select(vec4<u32>(), b[column + min(k, p.k - 1u) * b_apart], k < p.k);
}

// Fetches the steps of k from `first` on, 0 for those that are missing. Columns of k are counted in chunks.
fn fetch_rest(first: u32, a_column: u32, b_column: u32) -> Coming {
    let k = first + thread / B_ACROSS;
    return Coming(rest_a(a_column, first + thread / A_ACROSS), rest_b(b_column, k), rest_b(b_column, k + B_PASS));
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

// Brings two fragments of sums to shared memory, side by side.
fn leave(left: Sums, right: Sums) {
    let place = thread / SUBGROUP * LEAVING;
    let right_place = place + STEPS;
    coopStoreT(right, &leaving[right_place], LEAVING_ROW);
    coopStoreT(left, &leaving[place], LEAVING_ROW);
}

@compute @workgroup_size(THREADS)
fn matmul_cooperative_ahead(@builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_index) index: u32) {
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
    let a_column = a_first + min(block_row / CHUNK + thread % A_ACROSS, (p.m - 1u) / CHUNK);
    a_index = a_column + thread / A_ACROSS * a_apart;
    a_place = thread / A_ACROSS * A_ROW + thread % A_ACROSS * 2u;
    let b_column = b_first + min(block_col / CHUNK + thread % B_ACROSS, (p.n - 1u) / CHUNK);
    b_index = b_column + thread / B_ACROSS * b_apart;
    b_place = thread / B_ACROSS * B_ROW + thread % B_ACROSS * 2u;
    let part_row = thread / SUBGROUP / PARTS_N * PART;
    let part_col = thread / SUBGROUP % PARTS_N * PART;
    a_part = part_row / QUAD;
    b_part = part_col / QUAD;

    let rounds = p.k / (4u * BLOCK_K);  // of four steps
    let a_step = BLOCK_K * a_apart;
    let b_step = BLOCK_K * b_apart;
    coming0 = fetch(a_step, b_step);
    coming1 = fetch(a_step, b_step);
    coming2 = fetch(a_step, b_step);
    coming3 = fetch(a_step, b_step);
    put_even(coming0);
    coming0 = fetch(a_step, b_step);
    workgroupBarrier();  // waits for the first even tiles
    load_even();
    put_odd(coming1);
    coming1 = fetch(a_step, b_step);
    for (var round = 0u; round < rounds; round++) {
        // Six steps ahead: in the last two rounds the last step is fetched again.
        let first = round + 2u <= rounds;
        let others = round + 3u <= rounds;
        let a_first_step = select(0u, a_step, first);
        let b_first_step = select(0u, b_step, first);
        let a_other_step = select(0u, a_step, others);
        let b_other_step = select(0u, b_step, others);
        workgroupBarrier();  // waits for the odd tiles, and until all have the fragments of the even ones
        put_even(coming2);
        load_odd();
        coming2 = fetch(a_first_step, b_first_step);
        multiply_even();
        workgroupBarrier();  // waits for the even tiles, and until all have the fragments of the odd ones
        put_odd(coming3);
        load_even();
        coming3 = fetch(a_other_step, b_other_step);
        multiply_odd();
        workgroupBarrier();
        put_even(coming0);
        load_odd();
        coming0 = fetch(a_other_step, b_other_step);
        multiply_even();
        workgroupBarrier();
        put_odd(coming1);
        load_even();
        coming1 = fetch(a_other_step, b_other_step);
        multiply_odd();
    }
    // The steps that fill no round; a loop, not a branch, since sums that come on two paths cost registers.
    for (var first = rounds * 4u * BLOCK_K; first < p.k; first += BLOCK_K) {
        coming0 = fetch_rest(first, a_column, b_column);
        workgroupBarrier();  // waits until all have the fragments before
        put_even(coming0);
        workgroupBarrier();  // waits for the tiles
        load_even();
        multiply_even();
    }

    // The sums leave two fragments at a time, through shared memory, where edges, alpha, beta and the type of c are seen to.
    // A count that the driver does not know: it would write the loop out, and then has no registers left for the loop above.
    let own_row = thread % SUBGROUP / ACROSS;
    let own_quad = thread % ACROSS;
    // Tiles that lie in c as a whole are stored without branches where nothing is added: the others wait for each store.
    let plain = VECTOR_C == 1u && p.beta == 0.0 && block_row + BLOCK_M <= p.m && block_col + BLOCK_N <= p.n;
    let pairs = 8u * min(p.batch, 1u);
    for (var pair = 0u; pair < pairs; pair++) {
        switch (pair) {
            case 0u: { leave(c00, c01); }
            case 1u: { leave(c02, c03); }
            case 2u: { leave(c10, c11); }
            case 3u: { leave(c12, c13); }
            case 4u: { leave(c20, c21); }
            case 5u: { leave(c22, c23); }
            case 6u: { leave(c30, c31); }
            default: { leave(c32, c33); }
        }
        workgroupBarrier();  // waits for the fragments
        let row = block_row + part_row + pair / 2u * SIDE + own_row;
        let col = block_col + part_col + (pair % 2u * 2u * SIDE + own_quad * QUAD);
        let at = thread / SUBGROUP * LEAVING + own_row * LEAVING_ROW + own_quad;
        if (plain) {
            let first = (c_first + row * p.c_ld + col) / QUAD;
            let q0 = p.alpha * leaving[at];
            let q1 = p.alpha * leaving[at + ROWS * LEAVING_ROW];
            let q2 = p.alpha * leaving[at + 2u * ROWS * LEAVING_ROW];
            let q3 = p.alpha * leaving[at + 3u * ROWS * LEAVING_ROW];
            c[first] = Chunk_c(Output(q0.x), Output(q0.y), Output(q0.z), Output(q0.w));
            c[first + ROWS * (p.c_ld / QUAD)] = Chunk_c(Output(q1.x), Output(q1.y), Output(q1.z), Output(q1.w));
            c[first + 2u * ROWS * (p.c_ld / QUAD)] = Chunk_c(Output(q2.x), Output(q2.y), Output(q2.z), Output(q2.w));
            c[first + 3u * ROWS * (p.c_ld / QUAD)] = Chunk_c(Output(q3.x), Output(q3.y), Output(q3.z), Output(q3.w));
        } else {
            store(row, col, leaving[at]);
            store(row + ROWS, col, leaving[at + ROWS * LEAVING_ROW]);
            store(row + 2u * ROWS, col, leaving[at + 2u * ROWS * LEAVING_ROW]);
            store(row + 3u * ROWS, col, leaving[at + 3u * ROWS * LEAVING_ROW]);
        }
        workgroupBarrier();  // waits until all have read: the next fragments overwrite them
    }
}
