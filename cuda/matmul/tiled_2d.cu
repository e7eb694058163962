// Idea. Each thread computes a ROWS x COLS block of results: ROWS + COLS values in registers feed ROWS * COLS multiplications.
// Changed from the rung below. Columns are shared as well as rows; the tile of C grows to 128 x 128, so global traffic halves.
// A thread owns. 8 x 8 results in registers, 8 rows apart from the next thread's and next to its columns.
// Memory traffic. Global: each element of a is read n/128 times, of b m/128 times. Shared: 16 reads per 64 multiplications.
// Needs. Compute capability 7.0; layout NN; any m, n, k and leading dimensions.

#ifndef BLOCK_M
#define BLOCK_M 128
#endif
#ifndef BLOCK_N
#define BLOCK_N 128
#endif
#ifndef BLOCK_K
#define BLOCK_K 8
#endif
#ifndef ROWS
#define ROWS 8  // results per thread: ROWS x COLS
#endif
#ifndef COLS
#define COLS 8
#endif
#define THREADS (BLOCK_M / ROWS * (BLOCK_N / COLS))

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
matmul_tiled_2d(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, const Params p) {
    __shared__ float a_tile[BLOCK_M][BLOCK_K];  // [BLOCK_M][BLOCK_K]
    __shared__ float b_tile[BLOCK_K][BLOCK_N];  // [BLOCK_K][BLOCK_N]

    const unsigned int block_row = (blockIdx.y + p.block_y) * BLOCK_M, block_col = (blockIdx.x + p.block_x) * BLOCK_N;
    const unsigned int first_row = threadIdx.x / (BLOCK_N / COLS) * ROWS, first_col = threadIdx.x % (BLOCK_N / COLS) * COLS;
    float sum[ROWS][COLS] = {};  // [ROWS][COLS]

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
            float a_fragment[ROWS], b_fragment[COLS];  // [ROWS], [COLS]
#pragma unroll
            for (unsigned int i = 0; i < ROWS; ++i) a_fragment[i] = a_tile[first_row + i][kk];
#pragma unroll
            for (unsigned int j = 0; j < COLS; ++j) b_fragment[j] = b_tile[kk][first_col + j];
#pragma unroll
            for (unsigned int i = 0; i < ROWS; ++i)
#pragma unroll
                for (unsigned int j = 0; j < COLS; ++j) sum[i][j] = fmaf(a_fragment[i], b_fragment[j], sum[i][j]);
        }
        __syncthreads();  // waits for the tiles to be read before the next ones replace them
    }

#pragma unroll
    for (unsigned int i = 0; i < ROWS; ++i)
#pragma unroll
        for (unsigned int j = 0; j < COLS; ++j) {
            const unsigned int row = block_row + first_row + i, col = block_col + first_col + j;
            if (row < p.m && col < p.n) store(c + (size_t)row * p.c_ld + col, sum[i][j], p);
        }
}
