// Idea. With few rows or few columns of C the large operand is used once: stream it at the speed of memory, and keep a sum per element of C in registers.
// Changed from the rung below. No shared tiles: a thread multiplies 4 x 4 elements of the large operand, straight from memory, with FEW vectors.
// A thread owns. FEW x 4 partial sums over its share of k; the block adds them through shared memory, in order.
// Memory traffic. The large operand once; the small one once per block, from the caches.
// Needs. f32, any shape, layout, leading dimensions, offsets, batch, alpha and beta; a and b a multiple of 16 bytes long. Meant for m or n up to 16.

const TRANSPOSE_A: u32 = 0u;  // 1: a is stored k x m
const TRANSPOSE_B: u32 = 0u;  // 1: b is stored n x k
const FEW_ROWS: u32 = 0u;     // 1: c has few rows, b is large; 0: c has few columns, a is large
const FEW: u32 = 1u;          // vectors per block: 1, 4, 8, 12 or 16
const K_THREADS: u32 = 32u;   // threads that share k: 32 where the large operand runs along k (a as it lies, b transposed), else 16
const THREADS: u32 = 256u;
const QUAD: u32 = 4u;         // elements in 16 bytes
const LONG_THREADS: u32 = THREADS / K_THREADS;  // threads that share the long side of c, a quad each

// 16 bytes of an operand: vec4<f32> where its leading dimension, offset and stride are multiples of 4 (VECTOR 1), else array<f32, 4> (VECTOR 0)
alias Chunk_a = vec4<f32>;
alias Chunk_b = vec4<f32>;
const VECTOR_A: u32 = 1u;
const VECTOR_B: u32 = 1u;

struct Params {
    block_x: u32, block_y: u32, block_z: u32,                          // index of this launch's first block
    m: u32, n: u32, k: u32,                                            // c is m x n, op(a) is m x k, op(b) is k x n
    a_ld: u32, b_ld: u32, c_ld: u32,                                   // elements from one row to the next
    batch: u32,
    alpha: f32, beta: f32,
    a_offset: vec2<u32>, b_offset: vec2<u32>, c_offset: vec2<u32>,     // elements: low word, high word (0 here)
    a_stride: vec2<u32>, b_stride: vec2<u32>, c_stride: vec2<u32>,     // elements between matrices of a batch
}

@group(0) @binding(0) var<storage, read> a: array<Chunk_a>;     // m x a_ld; k x a_ld with TRANSPOSE_A
@group(0) @binding(1) var<storage, read> b: array<Chunk_b>;     // k x b_ld; n x b_ld with TRANSPOSE_B
@group(0) @binding(2) var<storage, read_write> c: array<f32>;   // m x c_ld
@group(0) @binding(3) var<uniform> p: Params;
var<workgroup> sums: array<array<vec4<f32>, LONG_THREADS>, K_THREADS>;   // K_THREADS shares of k x LONG_THREADS quads

var<private> a_first: u32;  // first and last element of this batch's a and b
var<private> a_last: u32;
var<private> b_first: u32;
var<private> b_last: u32;
var<private> large0: vec4<f32>;  // 4 steps of k x 4 elements along the long side
var<private> large1: vec4<f32>;
var<private> large2: vec4<f32>;
var<private> large3: vec4<f32>;
var<private> small0: vec4<f32>;  // 4 steps of k of a vector, or of four
var<private> small1: vec4<f32>;
var<private> small2: vec4<f32>;
var<private> small3: vec4<f32>;

// sums: this thread's share of vector 0 to FEW - 1, a quad along the long side each
var<private> sum0: vec4<f32>; var<private> sum1: vec4<f32>; var<private> sum2: vec4<f32>; var<private> sum3: vec4<f32>;
var<private> sum4: vec4<f32>; var<private> sum5: vec4<f32>; var<private> sum6: vec4<f32>; var<private> sum7: vec4<f32>;
var<private> sum8: vec4<f32>; var<private> sum9: vec4<f32>; var<private> sum10: vec4<f32>; var<private> sum11: vec4<f32>;
var<private> sum12: vec4<f32>; var<private> sum13: vec4<f32>; var<private> sum14: vec4<f32>; var<private> sum15: vec4<f32>;

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

// 4 steps of k of 4 elements along the long side, whichever way they lie.
fn fetch(k: u32, position: u32) {
    if (FEW_ROWS == 0u && TRANSPOSE_A == 0u) {
        let index = a_first + position * p.a_ld + k;
        turn(quad_a(index), quad_a(index + p.a_ld), quad_a(index + 2u * p.a_ld), quad_a(index + 3u * p.a_ld));
    } else if (FEW_ROWS == 0u) {
        let index = a_first + k * p.a_ld + position;
        large0 = quad_a(index);
        large1 = quad_a(index + p.a_ld);
        large2 = quad_a(index + 2u * p.a_ld);
        large3 = quad_a(index + 3u * p.a_ld);
    } else if (TRANSPOSE_B == 1u) {
        let index = b_first + position * p.b_ld + k;
        turn(quad_b(index), quad_b(index + p.b_ld), quad_b(index + 2u * p.b_ld), quad_b(index + 3u * p.b_ld));
    } else {
        let index = b_first + k * p.b_ld + position;
        large0 = quad_b(index);
        large1 = quad_b(index + p.b_ld);
        large2 = quad_b(index + 2u * p.b_ld);
        large3 = quad_b(index + 3u * p.b_ld);
    }
    if (k + QUAD > p.k) {  // beyond the last k: 0, which adds nothing
        let zero = vec4<f32>();
        large1 = select(zero, large1, k + 1u < p.k);
        large2 = select(zero, large2, k + 2u < p.k);
        large3 = select(zero, large3, k + 3u < p.k);
    }
}

fn turn(x: vec4<f32>, y: vec4<f32>, z: vec4<f32>, w: vec4<f32>) {
    large0 = vec4<f32>(x.x, y.x, z.x, w.x);
    large1 = vec4<f32>(x.y, y.y, z.y, w.y);
    large2 = vec4<f32>(x.z, y.z, z.z, w.z);
    large3 = vec4<f32>(x.w, y.w, z.w, w.w);
}

// 4 steps of k of vector v.
fn one(k: u32, v: u32) {
    if (FEW_ROWS == 0u && TRANSPOSE_B == 1u) {
        small0 = quad_b(b_first + v * p.b_ld + k);
    } else if (FEW_ROWS == 0u) {
        let index = b_first + k * p.b_ld + v;
        small0 = vec4<f32>(element_b(index), element_b(index + p.b_ld), element_b(index + 2u * p.b_ld), element_b(index + 3u * p.b_ld));
    } else if (TRANSPOSE_A == 0u) {
        small0 = quad_a(a_first + v * p.a_ld + k);
    } else {
        let index = a_first + k * p.a_ld + v;
        small0 = vec4<f32>(element_a(index), element_a(index + p.a_ld), element_a(index + 2u * p.a_ld), element_a(index + 3u * p.a_ld));
    }
    small0 = masked(small0, k);
}

// The same of vectors v to v + 3: where they lie side by side, 16 bytes hold one step of all four.
fn four(k: u32, v: u32) {
    if (FEW_ROWS == 0u && TRANSPOSE_B == 1u) {
        let index = b_first + v * p.b_ld + k;
        small0 = quad_b(index);
        small1 = quad_b(index + p.b_ld);
        small2 = quad_b(index + 2u * p.b_ld);
        small3 = quad_b(index + 3u * p.b_ld);
    } else if (FEW_ROWS == 0u) {
        let index = b_first + k * p.b_ld + v;
        turn_small(quad_b(index), quad_b(index + p.b_ld), quad_b(index + 2u * p.b_ld), quad_b(index + 3u * p.b_ld));
    } else if (TRANSPOSE_A == 0u) {
        let index = a_first + v * p.a_ld + k;
        small0 = quad_a(index);
        small1 = quad_a(index + p.a_ld);
        small2 = quad_a(index + 2u * p.a_ld);
        small3 = quad_a(index + 3u * p.a_ld);
    } else {
        let index = a_first + k * p.a_ld + v;
        turn_small(quad_a(index), quad_a(index + p.a_ld), quad_a(index + 2u * p.a_ld), quad_a(index + 3u * p.a_ld));
    }
    small0 = masked(small0, k);
    small1 = masked(small1, k);
    small2 = masked(small2, k);
    small3 = masked(small3, k);
}

fn turn_small(x: vec4<f32>, y: vec4<f32>, z: vec4<f32>, w: vec4<f32>) {
    small0 = vec4<f32>(x.x, y.x, z.x, w.x);
    small1 = vec4<f32>(x.y, y.y, z.y, w.y);
    small2 = vec4<f32>(x.z, y.z, z.z, w.z);
    small3 = vec4<f32>(x.w, y.w, z.w, w.w);
}

// Beyond the last k: 0, since 0 times what lies there could be NaN.
fn masked(small: vec4<f32>, k: u32) -> vec4<f32> {
    return select(vec4<f32>(), small, vec4<u32>(k) + vec4<u32>(0u, 1u, 2u, 3u) < vec4<u32>(p.k));
}

// sum + 4 steps of k of the large operand times the same of a vector
fn multiply(sum: vec4<f32>, small: vec4<f32>) -> vec4<f32> {
    return fma(vec4<f32>(small.w), large3, fma(vec4<f32>(small.z), large2, fma(vec4<f32>(small.y), large1, fma(vec4<f32>(small.x), large0, sum))));
}

// The share of vector v.
fn share(v: u32) -> vec4<f32> {
    switch (v) {
        case 0u: {
            return sum0;
        }
        case 1u: {
            return sum1;
        }
        case 2u: {
            return sum2;
        }
        case 3u: {
            return sum3;
        }
        case 4u: {
            return sum4;
        }
        case 5u: {
            return sum5;
        }
        case 6u: {
            return sum6;
        }
        case 7u: {
            return sum7;
        }
        case 8u: {
            return sum8;
        }
        case 9u: {
            return sum9;
        }
        case 10u: {
            return sum10;
        }
        case 11u: {
            return sum11;
        }
        case 12u: {
            return sum12;
        }
        case 13u: {
            return sum13;
        }
        case 14u: {
            return sum14;
        }
        default: {
            return sum15;
        }
    }
}

// Stores a quad of vector v.
fn store(total: vec4<f32>, position: u32, v: u32, c_first: u32) {
    let length = select(p.n, p.m, FEW_ROWS == 0u);  // of the long side
    let few = select(p.m, p.n, FEW_ROWS == 0u);
    for (var i = 0u; i < QUAD; i++) {
        if (v < few && position + i < length) {
            let index = c_first + select(v * p.c_ld + position + i, (position + i) * p.c_ld + v, FEW_ROWS == 0u);
            let product = p.alpha * total[i];
            if (p.beta == 0.0) {
                c[index] = product;  // with beta 0 the old c is not read
            } else {
                c[index] = fma(p.beta, c[index], product);
            }
        }
    }
}

@compute @workgroup_size(THREADS)
fn matmul_gemv(@builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let batch = block.z + p.block_z;
    let long_block = select(block.x + p.block_x, block.y + p.block_y, FEW_ROWS == 0u);
    let few_block = select(block.y + p.block_y, block.x + p.block_x, FEW_ROWS == 0u);
    a_first = p.a_offset.x + batch * p.a_stride.x;
    b_first = p.b_offset.x + batch * p.b_stride.x;
    let c_first = p.c_offset.x + batch * p.c_stride.x;
    a_last = a_first + select((p.m - 1u) * p.a_ld + p.k - 1u, (p.k - 1u) * p.a_ld + p.m - 1u, TRANSPOSE_A == 1u);
    b_last = b_first + select((p.k - 1u) * p.b_ld + p.n - 1u, (p.n - 1u) * p.b_ld + p.k - 1u, TRANSPOSE_B == 1u);

    // Neighbouring threads lie along the large operand's rows.
    let runs_along_k = (FEW_ROWS == 0u && TRANSPOSE_A == 0u) || (FEW_ROWS == 1u && TRANSPOSE_B == 1u);
    let k_thread = select(thread / LONG_THREADS, thread % K_THREADS, runs_along_k);
    let long_thread = select(thread % LONG_THREADS, thread / K_THREADS, runs_along_k);
    let position = (long_block * LONG_THREADS + long_thread) * QUAD;
    let v = few_block * FEW;

    for (var k = k_thread * QUAD; k < p.k; k += K_THREADS * QUAD) {
        fetch(k, position);
        if (FEW == 1u) {
            one(k, v);
            sum0 = multiply(sum0, small0);
        }
        if (FEW > 1u) {
            four(k, v);
            sum0 = multiply(sum0, small0);
            sum1 = multiply(sum1, small1);
            sum2 = multiply(sum2, small2);
            sum3 = multiply(sum3, small3);
        }
        if (FEW > 4u) {
            four(k, v + 4u);
            sum4 = multiply(sum4, small0);
            sum5 = multiply(sum5, small1);
            sum6 = multiply(sum6, small2);
            sum7 = multiply(sum7, small3);
        }
        if (FEW > 8u) {
            four(k, v + 8u);
            sum8 = multiply(sum8, small0);
            sum9 = multiply(sum9, small1);
            sum10 = multiply(sum10, small2);
            sum11 = multiply(sum11, small3);
        }
        if (FEW > 12u) {
            four(k, v + 12u);
            sum12 = multiply(sum12, small0);
            sum13 = multiply(sum13, small1);
            sum14 = multiply(sum14, small2);
            sum15 = multiply(sum15, small3);
        }
    }

    // The shares of k of one vector after the other are added: a loop, not a call each, which takes some compilers minutes.
    for (var i = 0u; i < FEW; i++) {
        sums[k_thread][long_thread] = share(i);
        workgroupBarrier();  // waits for all shares
        if (k_thread == 0u) {
            var total = sums[0][long_thread];
            for (var other = 1u; other < K_THREADS; other++) {
                total += sums[other][long_thread];
            }
            store(total, position, v + i, c_first);
        }
        workgroupBarrier();  // waits until all have read: the next vector overwrites the shares
    }
}
