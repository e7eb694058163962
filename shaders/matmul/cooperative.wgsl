// Idea. Let the tensor cores multiply: a subgroup holds matrices of 16 x 16 together and one instruction multiplies two of them.
// Changed from the rung below. The first rung on cooperative matrices: fragments come straight from the operands, products of halves are added in f32.
// A thread owns. With the 31 others of its subgroup 4 x 4 fragments: 64 x 64 elements of C.
// Memory traffic. Per 16 steps of k 64 x 16 halves of each operand through the caches for 64 x 64 x 16 multiply-adds; no reuse between subgroups but by the caches.
// Needs. Cooperative matrices of 16 x 16 x 16 (SIDE 16) or 8 x 8 x 8 (SIDE 8, PART 32), f16 with f32 sums; both operands as they lie (row-major), any shape and leading dimensions, alpha and beta; a subgroup size of 32.

enable f16;
enable wgpu_cooperative_matrix;

const PART: u32 = 64u;        // rows and columns of C per subgroup, which is the block
const THREADS: u32 = 32u;
const SIDE: u32 = 16u;        // rows, columns and steps of k of a fragment
const OUTPUT_F32: u32 = 1u;   // 1: c is f32, 0: f16
const ALIGNED: u32 = 1u;      // 1: a_ld and b_ld are multiples of 8, so fragments may be read in place

alias Output = f32;           // f16 with OUTPUT_F32 0
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

@group(0) @binding(0) var<storage, read> a: array<f16>;            // m x a_ld
@group(0) @binding(1) var<storage, read> b: array<f16>;            // k x b_ld
@group(0) @binding(2) var<storage, read_write> c: array<Output>;   // m x c_ld
@group(0) @binding(3) var<uniform> p: Params;
var<workgroup> a_edge: array<f16, PART * SIDE>;    // PART rows x SIDE steps of k, where fragments reach beyond the matrix
var<workgroup> b_edge: array<f16, SIDE * PART>;    // SIDE steps of k x PART columns
var<workgroup> leaving: array<f32, SIDE * SIDE>;   // a fragment of C

// sums: fragment row i, fragment column j of 4 x 4
var<private> c00: Sums; var<private> c01: Sums; var<private> c02: Sums; var<private> c03: Sums;
var<private> c10: Sums; var<private> c11: Sums; var<private> c12: Sums; var<private> c13: Sums;
var<private> c20: Sums; var<private> c21: Sums; var<private> c22: Sums; var<private> c23: Sums;
var<private> c30: Sums; var<private> c31: Sums; var<private> c32: Sums; var<private> c33: Sums;

fn multiply(a0: Fragment_a, a1: Fragment_a, a2: Fragment_a, a3: Fragment_a, b0: Fragment_b, b1: Fragment_b, b2: Fragment_b, b3: Fragment_b) {
    c00 = coopMultiplyAdd(a0, b0, c00);
    c01 = coopMultiplyAdd(a0, b1, c01);
    c02 = coopMultiplyAdd(a0, b2, c02);
    c03 = coopMultiplyAdd(a0, b3, c03);
    c10 = coopMultiplyAdd(a1, b0, c10);
    c11 = coopMultiplyAdd(a1, b1, c11);
    c12 = coopMultiplyAdd(a1, b2, c12);
    c13 = coopMultiplyAdd(a1, b3, c13);
    c20 = coopMultiplyAdd(a2, b0, c20);
    c21 = coopMultiplyAdd(a2, b1, c21);
    c22 = coopMultiplyAdd(a2, b2, c22);
    c23 = coopMultiplyAdd(a2, b3, c23);
    c30 = coopMultiplyAdd(a3, b0, c30);
    c31 = coopMultiplyAdd(a3, b1, c31);
    c32 = coopMultiplyAdd(a3, b2, c32);
    c33 = coopMultiplyAdd(a3, b3, c33);
}

// SIDE steps of k, all of them inside: fragments straight from the operands.
fn multiply_inside(row: u32, col: u32, k: u32) {
    let a_ld = p.a_ld;
    let b_ld = p.b_ld;
    let a0_at = (row) * a_ld + k;
    let a1_at = (row + SIDE) * a_ld + k;
    let a2_at = (row + 2u * SIDE) * a_ld + k;
    let a3_at = (row + 3u * SIDE) * a_ld + k;
    let b0_at = k * b_ld + col;
    let b1_at = k * b_ld + col + SIDE;
    let b2_at = k * b_ld + col + 2u * SIDE;
    let b3_at = k * b_ld + col + 3u * SIDE;
    multiply(
        coopLoadT<Fragment_a>(&a[a0_at], a_ld),
        coopLoadT<Fragment_a>(&a[a1_at], a_ld),
        coopLoadT<Fragment_a>(&a[a2_at], a_ld),
        coopLoadT<Fragment_a>(&a[a3_at], a_ld),
        coopLoadT<Fragment_b>(&b[b0_at], b_ld),
        coopLoadT<Fragment_b>(&b[b1_at], b_ld),
        coopLoadT<Fragment_b>(&b[b2_at], b_ld),
        coopLoadT<Fragment_b>(&b[b3_at], b_ld),
    );
}

// The same at an edge: copied first, with 0 outside, which adds nothing.
fn multiply_edge(row: u32, col: u32, k: u32, thread: u32) {
    for (var i = thread; i < PART * SIDE; i += THREADS) {
        let a_row = row + i / SIDE;
        let a_k = k + i % SIDE;
        var element = f16();
        if (a_row < p.m && a_k < p.k) {
            element = a[a_row * p.a_ld + a_k];
        }
        a_edge[i] = element;
        let b_k = k + i / PART;
        let b_col = col + i % PART;
        element = f16();
        if (b_k < p.k && b_col < p.n) {
            element = b[b_k * p.b_ld + b_col];
        }
        b_edge[i] = element;
    }
    workgroupBarrier();  // waits for the copies
    multiply(
        coopLoadT<Fragment_a>(&a_edge[0u * SIDE * SIDE], SIDE),
        coopLoadT<Fragment_a>(&a_edge[1u * SIDE * SIDE], SIDE),
        coopLoadT<Fragment_a>(&a_edge[2u * SIDE * SIDE], SIDE),
        coopLoadT<Fragment_a>(&a_edge[3u * SIDE * SIDE], SIDE),
        coopLoadT<Fragment_b>(&b_edge[0u * SIDE], PART),
        coopLoadT<Fragment_b>(&b_edge[1u * SIDE], PART),
        coopLoadT<Fragment_b>(&b_edge[2u * SIDE], PART),
        coopLoadT<Fragment_b>(&b_edge[3u * SIDE], PART),
    );
    workgroupBarrier();  // waits until all have read: the next step overwrites the copies
}

// Brings one fragment of sums to c, through shared memory, where edges, alpha, beta and the type of c are seen to.
fn finish(sums: Sums, row: u32, col: u32, thread: u32) {
    coopStoreT(sums, &leaving[0], SIDE);
    workgroupBarrier();  // waits for the fragment
    for (var i = thread; i < SIDE * SIDE; i += THREADS) {
        let c_row = row + i / SIDE;
        let c_col = col + i % SIDE;
        if (c_row < p.m && c_col < p.n) {
            let index = c_row * p.c_ld + c_col;
            var element = p.alpha * leaving[i];
            if (p.beta != 0.0) {  // with beta 0 the old c is not read
                element = fma(p.beta, f32(c[index]), element);
            }
            c[index] = Output(element);
        }
    }
    workgroupBarrier();  // waits until all have read: the next fragment overwrites it
}

@compute @workgroup_size(THREADS)
fn matmul_cooperative(@builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let row = (block.y + p.block_y) * PART;
    let col = (block.x + p.block_x) * PART;
    let inside = ALIGNED == 1u && row + PART <= p.m && col + PART <= p.n;
    let whole = select(0u, p.k / SIDE * SIDE, inside);  // steps of k whose fragments lie inside
    for (var k = 0u; k < whole; k += SIDE) {
        multiply_inside(row, col, k);
    }
    for (var k = whole; k < p.k; k += SIDE) {
        multiply_edge(row, col, k, thread);
    }

    finish(c00, row, col, thread);
    finish(c01, row, col + SIDE, thread);
    finish(c02, row, col + 2u * SIDE, thread);
    finish(c03, row, col + 3u * SIDE, thread);
    finish(c10, row + SIDE, col, thread);
    finish(c11, row + SIDE, col + SIDE, thread);
    finish(c12, row + SIDE, col + 2u * SIDE, thread);
    finish(c13, row + SIDE, col + 3u * SIDE, thread);
    finish(c20, row + 2u * SIDE, col, thread);
    finish(c21, row + 2u * SIDE, col + SIDE, thread);
    finish(c22, row + 2u * SIDE, col + 2u * SIDE, thread);
    finish(c23, row + 2u * SIDE, col + 3u * SIDE, thread);
    finish(c30, row + 3u * SIDE, col, thread);
    finish(c31, row + 3u * SIDE, col + SIDE, thread);
    finish(c32, row + 3u * SIDE, col + 2u * SIDE, thread);
    finish(c33, row + 3u * SIDE, col + 3u * SIDE, thread);
}
