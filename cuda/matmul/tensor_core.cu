// Idea. The tensor cores multiply: one mma instruction of a warp is a 16 x 8 x 16 product of 16-bit inputs with f32 sums.
// Changed from the rung below. mma.sync instead of fused multiply-adds; the fragments come straight from shared memory with ordinary loads.
// A thread owns. 64 sums of a 64 x 32 warp tile, four per instruction; it copies 2 + 2 chunks of 16 bytes per step.
// Memory traffic. Each block reads (BLOCK_M + BLOCK_N) * k elements once; an operand is read n / BLOCK_N or m / BLOCK_M times.
// Needs. Compute capability 8.0; rows of a and b start at 16 bytes (leading dimensions and offsets multiples of 8).

#ifndef BF16
#define BF16 1  // 1: bf16 inputs, 0: f16 inputs
#endif
#ifndef OUTPUT_F32
#define OUTPUT_F32 0  // 1: c is f32, 0: c has the input type
#endif
#define BLOCK_M 128
#define BLOCK_N 128
#define BLOCK_K 32
#define WARP 32
#define WARPS_M 2
#define WARPS_N 4
#define THREADS (WARPS_M * WARPS_N * WARP)
#define MMA_M 16
#define MMA_N 8
#define MMA_K 16
#define WARP_M (BLOCK_M / WARPS_M)
#define WARP_N (BLOCK_N / WARPS_N)
#define CHUNK 8  // elements in 16 bytes
#define PAD 8    // keeps rows at 16 bytes and moves neighbouring rows to other banks

typedef unsigned short T;
#if OUTPUT_F32
typedef float Output;
#else
typedef unsigned short Output;
#endif
struct Params {
    unsigned int block_x, block_y, block_z;
    unsigned int m, n, k;
    unsigned int a_ld, b_ld, c_ld;
    unsigned int batch;
    float alpha, beta;
    unsigned long long a_offset, b_offset, c_offset;
    unsigned long long a_stride, b_stride, c_stride;
};

__device__ __forceinline__ void mma(float (&d)[4], const unsigned int (&a)[4], const unsigned int (&b)[2]) {
#if BF16
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
#else
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
#endif
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// Eight elements of a row; zeros outside the matrix.
__device__ __forceinline__ uint4 chunk_at(const T* __restrict__ matrix, unsigned int rows, unsigned int columns, unsigned int ld, unsigned int row, unsigned int column) {
    const T* from = matrix + (size_t)row * ld + column;
    if (row < rows && column + CHUNK <= columns) return *(const uint4*)from;
    unsigned int words[CHUNK / 2];
#pragma unroll
    for (unsigned int i = 0; i < CHUNK / 2; i++) {
        const unsigned int low = row < rows && column + 2 * i < columns ? from[2 * i] : 0;
        const unsigned int high = row < rows && column + 2 * i + 1 < columns ? from[2 * i + 1] : 0;
        words[i] = low | high << 16;
    }
    return make_uint4(words[0], words[1], words[2], words[3]);
}

__device__ __forceinline__ float widen(Output value) {
#if OUTPUT_F32
    return value;
#elif BF16
    return __uint_as_float((unsigned int)value << 16);
#else
    float wide;
    asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(value));
    return wide;
#endif
}
__device__ __forceinline__ Output narrow(float value) {
#if OUTPUT_F32
    return value;
#else
    Output half;
#if BF16
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(half) : "f"(value));
#else
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(value));
#endif
    return half;
#endif
}

extern "C" __global__ void __launch_bounds__(THREADS, 2)
matmul_tensor_core(const T* __restrict__ a, const T* __restrict__ b, Output* __restrict__ c, const Params p) {
    __shared__ __align__(16) T a_tile[BLOCK_M][BLOCK_K + PAD];  // [128][40]
    __shared__ __align__(16) T b_tile[BLOCK_K][BLOCK_N + PAD];  // [32][136]

    const unsigned int lane = threadIdx.x % WARP;
    const unsigned int warp_row = threadIdx.x / WARP / WARPS_N * WARP_M;
    const unsigned int warp_column = threadIdx.x / WARP % WARPS_N * WARP_N;
    const unsigned int block_row = (blockIdx.y + p.block_y) * BLOCK_M;
    const unsigned int block_column = (blockIdx.x + p.block_x) * BLOCK_N;
    float sums[WARP_M / MMA_M][WARP_N / MMA_N][4] = {};  // [4][4][4]

    for (unsigned int k = 0; k < p.k; k += BLOCK_K) {
#pragma unroll
        for (unsigned int i = threadIdx.x; i < BLOCK_M * BLOCK_K / CHUNK; i += THREADS) {
            const unsigned int row = i / (BLOCK_K / CHUNK), column = i % (BLOCK_K / CHUNK) * CHUNK;
            *(uint4*)&a_tile[row][column] = chunk_at(a, p.m, p.k, p.a_ld, block_row + row, k + column);
        }
#pragma unroll
        for (unsigned int i = threadIdx.x; i < BLOCK_K * BLOCK_N / CHUNK; i += THREADS) {
            const unsigned int row = i / (BLOCK_N / CHUNK), column = i % (BLOCK_N / CHUNK) * CHUNK;
            *(uint4*)&b_tile[row][column] = chunk_at(b, p.k, p.n, p.b_ld, k + row, block_column + column);
        }
        __syncthreads();  // both tiles are written
#pragma unroll
        for (unsigned int step = 0; step < BLOCK_K; step += MMA_K) {
            unsigned int a_part[WARP_M / MMA_M][4];  // [4][4]: rows lane / 4 and + 8, columns 2 (lane % 4) and + 8, two elements each
            unsigned int b_part[WARP_N / MMA_N][2];  // [4][2]: rows 2 (lane % 4) and + 8, two elements each, column lane / 4
#pragma unroll
            for (unsigned int i = 0; i < WARP_M / MMA_M; i++)
#pragma unroll
                for (unsigned int part = 0; part < 4; part++)
                    a_part[i][part] = *(const unsigned int*)&a_tile[warp_row + i * MMA_M + lane / 4 + part % 2 * 8][step + lane % 4 * 2 + part / 2 * 8];
#pragma unroll
            for (unsigned int j = 0; j < WARP_N / MMA_N; j++)
#pragma unroll
                for (unsigned int part = 0; part < 2; part++) {
                    const unsigned int row = step + lane % 4 * 2 + part * 8, column = warp_column + j * MMA_N + lane / 4;
                    b_part[j][part] = b_tile[row][column] | (unsigned int)b_tile[row + 1][column] << 16;
                }
#pragma unroll
            for (unsigned int i = 0; i < WARP_M / MMA_M; i++)
#pragma unroll
                for (unsigned int j = 0; j < WARP_N / MMA_N; j++) mma(sums[i][j], a_part[i], b_part[j]);
        }
        __syncthreads();  // everyone has read both tiles
    }

#pragma unroll
    for (unsigned int i = 0; i < WARP_M / MMA_M; i++)
#pragma unroll
        for (unsigned int j = 0; j < WARP_N / MMA_N; j++)
#pragma unroll
            for (unsigned int part = 0; part < 4; part++) {
                const unsigned int row = block_row + warp_row + i * MMA_M + lane / 4 + part / 2 * 8;
                const unsigned int column = block_column + warp_column + j * MMA_N + lane % 4 * 2 + part % 2;
                if (row < p.m && column < p.n) {
                    Output* to = c + (size_t)row * p.c_ld + column;
                    *to = narrow(p.alpha * sums[i][j][part] + (p.beta != 0 ? p.beta * widen(*to) : 0));
                }
            }
}
