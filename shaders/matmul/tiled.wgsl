// Idea. Fetch a tile of A and a tile of B into shared memory once and use every element TILE times from there.
// Changed from the rung below. The operands of TILE steps of the sum come from shared memory instead of the caches.
// A thread owns. One element of C; it adds k products in ascending order, each with one fused multiply-add. It fetches one element of each tile.
// Memory traffic. 2 k / TILE global loads per thread instead of 2 k, all coalesced in runs of TILE; two shared loads per multiply-add, one of them the same element for all threads of a row.
// Needs. f32, both operands as they lie (row-major), any shape and leading dimensions, alpha and beta.

const TILE: u32 = 32u;

struct Params {
    block_x: u32, block_y: u32, block_z: u32,                        // index of this launch's first block
    m: u32, n: u32, k: u32,                                          // c is m x n, a is m x k, b is k x n
    a_ld: u32, b_ld: u32, c_ld: u32,                                 // elements from one row to the next
    batch: u32,
    alpha: f32, beta: f32,
    a_offset: vec2<u32>, b_offset: vec2<u32>, c_offset: vec2<u32>,   // elements: low word, high word (0 here)
    a_stride: vec2<u32>, b_stride: vec2<u32>, c_stride: vec2<u32>,   // elements between matrices of a batch
}

@group(0) @binding(0) var<storage, read> a: array<f32>;         // m x a_ld
@group(0) @binding(1) var<storage, read> b: array<f32>;         // k x b_ld
@group(0) @binding(2) var<storage, read_write> c: array<f32>;   // m x c_ld
@group(0) @binding(3) var<uniform> p: Params;
var<workgroup> a_tile: array<array<f32, TILE>, TILE>;   // TILE rows of c x TILE steps of k
var<workgroup> b_tile: array<array<f32, TILE>, TILE>;   // TILE steps of k x TILE columns of c

@compute @workgroup_size(TILE, TILE)
fn matmul_tiled(@builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_id) thread: vec3<u32>) {
    let x = thread.x;
    let y = thread.y;
    let col = (block.x + p.block_x) * TILE + x;
    let row = (block.y + p.block_y) * TILE + y;

    var sum = 0.0;
    let steps = p.k / TILE + u32(p.k % TILE != 0u);
    for (var step = 0u; step < steps; step++) {
        let first = step * TILE;
        // Outside the matrices the tiles hold 0, which adds nothing.
        var a_element = 0.0;
        if (row < p.m && first + x < p.k) {
            a_element = a[row * p.a_ld + first + x];
        }
        a_tile[y][x] = a_element;
        var b_element = 0.0;
        if (first + y < p.k && col < p.n) {
            b_element = b[(first + y) * p.b_ld + col];
        }
        b_tile[y][x] = b_element;
        workgroupBarrier();  // waits for both tiles: an invocation reads what others fetched
        for (var i = 0u; i < TILE; i++) {
            sum = fma(a_tile[y][i], b_tile[i][x], sum);
        }
        workgroupBarrier();  // waits until all have read: the next step overwrites the tiles
    }

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
