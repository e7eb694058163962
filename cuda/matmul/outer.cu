// Idea. With a k of a few the work is writing C once: no tiles, no shared memory, nothing but long stores.
// Changed from the rung below. No second operand is worth keeping: a thread holds what its rows and columns have of one k in registers and is done with it.
// A thread owns. ROWS rows of four columns of C; its warp's runs of a row are 512 bytes.
// Memory traffic. C once, 16 bytes per store; per k and thread four elements of B and ROWS of A, mostly from L1.
// Needs. Compute capability 7.0; all four layouts, any m, n, k, leading dimension, offset, alignment, batch (z); pays while k is small.

#ifndef TRANSPOSE_A
#define TRANSPOSE_A 0  // 1: a is stored k x m
#endif
#ifndef TRANSPOSE_B
#define TRANSPOSE_B 0  // 1: b is stored n x k
#endif
#ifndef VECTOR_C
#define VECTOR_C 1  // 1: c, c_ld, c_stride are aligned to 16 bytes
#endif
#ifndef ROWS
#define ROWS 16  // rows of C per thread
#endif
#ifndef WARPS_N
#define WARPS_N 1  // warps of a block side by side; the others lie below
#endif

#define THREADS 256
#define WARPS 8
#define LANES 32
#define QUAD 4    // columns per thread
#define BLOCK_M (WARPS / WARPS_N * ROWS)
#define BLOCK_N (WARPS_N * LANES * QUAD)

struct Params {
    unsigned int block_x, block_y, block_z;
    unsigned int m, n, k;
    unsigned int a_ld, b_ld, c_ld;
    unsigned int batch;
    float alpha, beta;
    unsigned long long a_offset, b_offset, c_offset;
    unsigned long long a_stride, b_stride, c_stride;
};

extern "C" __global__ void __launch_bounds__(THREADS)
matmul_outer(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, const Params p) {
    const unsigned int warp = threadIdx.x / LANES, lane = threadIdx.x % LANES;
    const unsigned int row = (blockIdx.y + p.block_y) * BLOCK_M + warp / WARPS_N * ROWS;
    const unsigned int first = (blockIdx.x + p.block_x) * BLOCK_N + warp % WARPS_N * (LANES * QUAD);
    const unsigned int col = first + lane * (VECTOR_C ? QUAD : 1);  // its columns lie side by side, or (not VECTOR_C) 32 apart, so that a warp's stores stay whole
    const unsigned int apart = VECTOR_C ? 1 : LANES;
    const size_t batch = blockIdx.z + p.block_z;
    a += p.a_offset + batch * p.a_stride, b += p.b_offset + batch * p.b_stride, c += p.c_offset + batch * p.c_stride;

    float sum[ROWS][QUAD] = {};  // [ROWS][QUAD]
    for (unsigned int k = 0; k < p.k; ++k) {
        float a_value[ROWS], b_value[QUAD];  // [ROWS], [QUAD]
#pragma unroll
        for (unsigned int j = 0; j < QUAD; ++j) {  // outside C: the last one, whose results are not stored
            const size_t at = min(col + j * apart, p.n - 1);
            b_value[j] = __ldg(b + (TRANSPOSE_B ? at * p.b_ld + k : (size_t)k * p.b_ld + at));
        }
#pragma unroll
        for (unsigned int i = 0; i < ROWS; ++i) {
            const size_t at = min(row + i, p.m - 1);
            a_value[i] = __ldg(a + (TRANSPOSE_A ? (size_t)k * p.a_ld + at : at * p.a_ld + k));
        }
#pragma unroll
        for (unsigned int i = 0; i < ROWS; ++i)
#pragma unroll
            for (unsigned int j = 0; j < QUAD; ++j) sum[i][j] = fmaf(a_value[i], b_value[j], sum[i][j]);
    }

#pragma unroll
    for (unsigned int i = 0; i < ROWS; ++i) {
        if (row + i >= p.m) return;  // no barrier follows
        float* place = c + (size_t)(row + i) * p.c_ld + col;
        if (VECTOR_C && col + QUAD <= p.n) {
            float4 value = {p.alpha * sum[i][0], p.alpha * sum[i][1], p.alpha * sum[i][2], p.alpha * sum[i][3]};
            if (p.beta != 0.0f) {  // beta == 0 must not read c: what lies there may be NaN
                const float4 old = *reinterpret_cast<const float4*>(place);
                value = {fmaf(p.beta, old.x, value.x), fmaf(p.beta, old.y, value.y), fmaf(p.beta, old.z, value.z), fmaf(p.beta, old.w, value.w)};
            }
            *reinterpret_cast<float4*>(place) = value;
            continue;
        }
#pragma unroll
        for (unsigned int j = 0; j < QUAD; ++j)
            if (col + j * apart < p.n) place[j * apart] = p.beta != 0.0f ? fmaf(p.beta, place[j * apart], p.alpha * sum[i][j]) : p.alpha * sum[i][j];
    }
}
