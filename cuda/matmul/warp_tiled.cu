// Idea. Give each warp its own near-square part of the tile, so that its 32 lanes ask shared memory for few different words.
// Changed from the rung below. A warp covers 64 x 32 results with 8 x 4 lanes instead of 16 x 128 with 2 x 16: per k it reads 64 + 32 different values instead of 16 + 128.
// A thread owns. 2 x 2 blocks of 4 x 4 results in registers, half a warp tile apart.
// Memory traffic. Global: as before. Shared: the same number of reads, of two thirds the different words; lanes that want the same word get it in one broadcast.
// Needs. Compute capability 7.0; layout NN; any m, n, k, leading dimensions and alignment (VECTOR_x 0 where not 16 bytes).

#ifndef VECTOR_A
#define VECTOR_A 1  // 1: a and a_ld are aligned to 16 bytes
#endif
#ifndef VECTOR_B
#define VECTOR_B 1
#endif
#ifndef VECTOR_C
#define VECTOR_C 1
#endif
#define BLOCK_M 128
#define BLOCK_N 128
#define BLOCK_K 8
#define ROWS 8       // results per thread: ROWS x COLS
#define COLS 8
#define QUAD 4       // floats in a 16-byte access
#define THREADS 256  // BLOCK_M * BLOCK_K / QUAD: one 16-byte load of a and of b each
#define PAD 4        // floats: (4 rows) * (BLOCK_M + PAD) is 16 banks further, where the other half of the warp stores
#define WARP_M 64    // a warp's part of C: WARP_M x WARP_N
#define WARP_N 32
#define WARPS_M 2    // BLOCK_M / WARP_M
#define LANES_M 8    // lanes along m; 4 along n

struct Params {
    unsigned int block_x, block_y, block_z;
    unsigned int m, n, k;
    unsigned int a_ld, b_ld, c_ld;
    unsigned int batch;
    float alpha, beta;
    unsigned long long a_offset, b_offset, c_offset;
    unsigned long long a_stride, b_stride, c_stride;
};

// Four consecutive elements of a row, zero beyond its end.
template <bool VECTOR>
__device__ __forceinline__ float4 load(const float* row, unsigned int col, unsigned int cols) {
    if (VECTOR && col + QUAD <= cols) return *reinterpret_cast<const float4*>(row + col);
    return {col < cols ? row[col] : 0.0f, col + 1 < cols ? row[col + 1] : 0.0f, col + 2 < cols ? row[col + 2] : 0.0f, col + 3 < cols ? row[col + 3] : 0.0f};
}

// Four results of one row of c. beta == 0 must not read c: what lies there may be NaN.
__device__ __forceinline__ void store(float* c, unsigned int row, unsigned int col, const float* sum, const Params& p) {
    if (row >= p.m) return;
    float* place = c + (size_t)row * p.c_ld + col;
    if (VECTOR_C && col + QUAD <= p.n) {
        float4 value = {p.alpha * sum[0], p.alpha * sum[1], p.alpha * sum[2], p.alpha * sum[3]};
        if (p.beta != 0.0f) {
            const float4 old = *reinterpret_cast<const float4*>(place);
            value = {fmaf(p.beta, old.x, value.x), fmaf(p.beta, old.y, value.y), fmaf(p.beta, old.z, value.z), fmaf(p.beta, old.w, value.w)};
        }
        *reinterpret_cast<float4*>(place) = value;
        return;
    }
#pragma unroll
    for (unsigned int j = 0; j < QUAD; ++j)
        if (col + j < p.n) place[j] = p.beta != 0.0f ? fmaf(p.beta, place[j], p.alpha * sum[j]) : p.alpha * sum[j];
}

extern "C" __global__ void __launch_bounds__(THREADS, 2)
matmul_warp_tiled(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, const Params p) {
    __shared__ __align__(16) float a_tile[BLOCK_K][BLOCK_M + PAD];  // [BLOCK_K][BLOCK_M + PAD]
    __shared__ __align__(16) float b_tile[BLOCK_K][BLOCK_N];        // [BLOCK_K][BLOCK_N]

    const unsigned int block_row = (blockIdx.y + p.block_y) * BLOCK_M, block_col = (blockIdx.x + p.block_x) * BLOCK_N;
    const unsigned int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const unsigned int first_row = warp % WARPS_M * WARP_M + lane % LANES_M * QUAD, first_col = warp / WARPS_M * WARP_N + lane / LANES_M * QUAD;
    const unsigned int a_row = threadIdx.x / (BLOCK_K / QUAD), a_k = threadIdx.x % (BLOCK_K / QUAD) * QUAD;  // what this thread loads
    const unsigned int b_k = threadIdx.x / (BLOCK_N / QUAD), b_col = threadIdx.x % (BLOCK_N / QUAD) * QUAD;
    float sum[ROWS][COLS] = {};  // [ROWS][COLS]

    for (unsigned int k = 0; k < p.k; k += BLOCK_K) {
        float4 a_value = {}, b_value = {};
        if (block_row + a_row < p.m) a_value = load<VECTOR_A>(a + (size_t)(block_row + a_row) * p.a_ld, k + a_k, p.k);
        if (k + b_k < p.k) b_value = load<VECTOR_B>(b + (size_t)(k + b_k) * p.b_ld, block_col + b_col, p.n);
        a_tile[a_k + 0][a_row] = a_value.x, a_tile[a_k + 1][a_row] = a_value.y, a_tile[a_k + 2][a_row] = a_value.z, a_tile[a_k + 3][a_row] = a_value.w;
        *reinterpret_cast<float4*>(&b_tile[b_k][b_col]) = b_value;
        __syncthreads();  // waits for the tiles to be written
#pragma unroll
        for (unsigned int kk = 0; kk < BLOCK_K; ++kk) {
            float a_fragment[ROWS], b_fragment[COLS];  // [ROWS], [COLS]
#pragma unroll
            for (unsigned int h = 0; h < 2; ++h) {
                *reinterpret_cast<float4*>(a_fragment + h * QUAD) = *reinterpret_cast<const float4*>(&a_tile[kk][first_row + h * (WARP_M / 2)]);
                *reinterpret_cast<float4*>(b_fragment + h * QUAD) = *reinterpret_cast<const float4*>(&b_tile[kk][first_col + h * (WARP_N / 2)]);
            }
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
        for (unsigned int h = 0; h < 2; ++h)
            store(c, block_row + first_row + i / QUAD * (WARP_M / 2) + i % QUAD, block_col + first_col + h * (WARP_N / 2), sum[i] + h * QUAD, p);
}
