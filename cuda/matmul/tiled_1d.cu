// Idea. Each thread computes a column of ROWS results, so one value of b, once in a register, serves ROWS multiplications.
// Changed from the rung below. The tile of C is 64 x 64 instead of one element per thread; per multiplication a thread reads 1 + 1/ROWS values from shared memory instead of 2.
// A thread owns. ROWS x 1 results: a column of 8, in registers.
// Memory traffic. Global: each element of a is read n/64 times, of b m/64 times. Shared: 9 reads per 8 multiplications.
// Needs. Compute capability 7.0; layout NN; any m, n, k and leading dimensions.

#ifndef BLOCK_M
#define BLOCK_M 64
#endif
#ifndef BLOCK_N
#define BLOCK_N 64
#endif
#ifndef BLOCK_K
#define BLOCK_K 8
#endif
#ifndef ROWS
#define ROWS 8  // results per thread
#endif
#define THREADS (BLOCK_M / ROWS * BLOCK_N)

struct Params {
    unsigned int block_x, block_y, block_z;
    unsigned int m, n, k;
    unsigned int a_ld, b_ld, c_ld;
    unsigned int batch;
    float alpha, beta;
    unsigned long long a_offset, b_offset, c_offset;
    unsigned long long a_stride, b_stride, c_stride;
};

// beta == 0 must not read c: what lies there may be NaN.
__device__ __forceinline__ void store(float* place, float sum, const Params& p) {
    *place = p.beta != 0.0f ? fmaf(p.beta, *place, p.alpha * sum) : p.alpha * sum;
}

extern "C" __global__ void __launch_bounds__(THREADS)
matmul_tiled_1d(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, const Params p) {
    __shared__ float a_tile[BLOCK_M][BLOCK_K];  // [BLOCK_M][BLOCK_K]
    __shared__ float b_tile[BLOCK_K][BLOCK_N];  // [BLOCK_K][BLOCK_N]

    const unsigned int block_row = (blockIdx.y + p.block_y) * BLOCK_M, block_col = (blockIdx.x + p.block_x) * BLOCK_N;
    const unsigned int first_row = threadIdx.x / BLOCK_N * ROWS, thread_col = threadIdx.x % BLOCK_N;
    float sum[ROWS] = {};  // [ROWS]

    for (unsigned int k = 0; k < p.k; k += BLOCK_K) {
        for (unsigned int i = threadIdx.x; i < BLOCK_M * BLOCK_K; i += THREADS) {
            const unsigned int row = i / BLOCK_K, kk = i % BLOCK_K;
            a_tile[row][kk] = block_row + row < p.m && k + kk < p.k ? a[(size_t)(block_row + row) * p.a_ld + k + kk] : 0.0f;
        }
        for (unsigned int i = threadIdx.x; i < BLOCK_K * BLOCK_N; i += THREADS) {
            const unsigned int kk = i / BLOCK_N, col = i % BLOCK_N;
            b_tile[kk][col] = k + kk < p.k && block_col + col < p.n ? b[(size_t)(k + kk) * p.b_ld + block_col + col] : 0.0f;
        }
        __syncthreads();  // waits for the tiles to be written
#pragma unroll
        for (unsigned int kk = 0; kk < BLOCK_K; ++kk) {
            const float b_value = b_tile[kk][thread_col];
#pragma unroll
            for (unsigned int i = 0; i < ROWS; ++i) sum[i] = fmaf(a_tile[first_row + i][kk], b_value, sum[i]);
        }
        __syncthreads();  // waits for the tiles to be read before the next ones replace them
    }

    const unsigned int col = block_col + thread_col;
#pragma unroll
    for (unsigned int i = 0; i < ROWS; ++i) {
        const unsigned int row = block_row + first_row + i;
        if (row < p.m && col < p.n) store(c + (size_t)row * p.c_ld + col, sum[i], p);
    }
}
