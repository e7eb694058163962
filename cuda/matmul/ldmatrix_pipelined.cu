// Idea. While the tensor cores work on one step, the copies of the next STAGES - 1 steps are under way; ldmatrix hands four 8 x 8 blocks to a warp at once.
// Changed from the rung below. cp.async writes shared memory without registers, a ring of stages hides its latency, ldmatrix replaces the 2- and 4-byte loads (.trans where k is not contiguous), an XOR swizzle replaces the padding.
// A thread owns. WARP_M x WARP_N / 32 sums of its warp's tile.
// Memory traffic. As below per block; shared memory is read in whole 128-byte wavefronts, with no bank conflicts.
// Needs. Compute capability 8.0; rows of a and b start at 16 bytes (leading dimensions, offsets and batch strides multiples of 8); dynamic shared memory.

#ifndef BF16
#define BF16 1  // 1: bf16 inputs, 0: f16 inputs
#endif
#ifndef OUTPUT_F32
#define OUTPUT_F32 0  // 1: c is f32, 0: c has the input type
#endif
#ifndef TRANSPOSE_A
#define TRANSPOSE_A 0  // 1: a is stored k x m
#endif
#ifndef TRANSPOSE_B
#define TRANSPOSE_B 0  // 1: b is stored n x k
#endif
#ifndef BLOCK_M
#define BLOCK_M 128
#endif
#ifndef BLOCK_N
#define BLOCK_N 128
#endif
#ifndef BLOCK_K
#define BLOCK_K 32
#endif
#ifndef STAGES
#define STAGES 4
#endif
#ifndef WARPS_M
#define WARPS_M 2
#endif
#ifndef WARPS_N
#define WARPS_N 2
#endif
#ifndef BLOCKS_PER_SM
#define BLOCKS_PER_SM 2
#endif
#ifndef RASTER
#define RASTER 8  // tile rows per group: consecutive blocks form squares that fit in L2
#endif

#define WARP 32
#define THREADS (WARPS_M * WARPS_N * WARP)
#define MMA_M 16
#define MMA_N 8
#define MMA_K 16
#define WARP_M (BLOCK_M / WARPS_M)
#define WARP_N (BLOCK_N / WARPS_N)
#define CHUNK 8  // elements in 16 bytes
#define CHUNK_BYTES 16
#define A_LINES (TRANSPOSE_A ? BLOCK_K : BLOCK_M)  // a line is contiguous in the matrix
#define A_CHUNKS ((TRANSPOSE_A ? BLOCK_M : BLOCK_K) / CHUNK)
#define B_LINES (TRANSPOSE_B ? BLOCK_N : BLOCK_K)
#define B_CHUNKS ((TRANSPOSE_B ? BLOCK_K : BLOCK_N) / CHUNK)
#define A_BYTES (BLOCK_M * BLOCK_K * 2)
#define B_BYTES (BLOCK_N * BLOCK_K * 2)
#define STAGE_BYTES (A_BYTES + B_BYTES)
#define SHARED_BYTES (STAGES * STAGE_BYTES)

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
// Four 8 x 8 blocks; lane i gives the address of line i % 8 of block i / 8.
__device__ __forceinline__ void ldmatrix(unsigned int& d0, unsigned int& d1, unsigned int& d2, unsigned int& d3, unsigned int address, bool transpose) {
    if (transpose)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(d0), "=r"(d1), "=r"(d2), "=r"(d3) : "r"(address) : "memory");
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(d0), "=r"(d1), "=r"(d2), "=r"(d3) : "r"(address) : "memory");
}

// Byte offset of a chunk in a tile whose lines hold `chunks` chunks. Eight lines at the same chunk fall into eight different 16-byte columns of the banks.
__device__ __forceinline__ unsigned int swizzled(unsigned int line, unsigned int chunk, unsigned int chunks) {
    const unsigned int turn = chunks >= 8 ? line % 8 : line / (8 / chunks) % chunks;
    return (line * chunks + (chunk ^ turn)) * CHUNK_BYTES;
}

// Copies a tile of `lines` lines; what lies outside the matrix becomes zero.
template <unsigned int lines, unsigned int chunks>
__device__ __forceinline__ void copy_tile(unsigned int tile, const T* matrix, unsigned int rows, unsigned int columns, unsigned int ld, unsigned int first_row, unsigned int first_column) {
#pragma unroll
    for (unsigned int i = threadIdx.x; i < lines * chunks; i += THREADS) {
        const unsigned int line = i / chunks, chunk = i % chunks;
        const unsigned int row = first_row + line, column = first_column + chunk * CHUNK;
        const bool inside = row < rows && column < columns;
        const unsigned int bytes = inside ? min(columns - column, (unsigned int)CHUNK) * 2 : 0;
        const T* from = inside ? matrix + (size_t)row * ld + column : matrix;
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(tile + swizzled(line, chunk, chunks)), "l"(from), "r"(bytes) : "memory");
    }
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

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
matmul_ldmatrix_pipelined(const T* __restrict__ a, const T* __restrict__ b, Output* __restrict__ c, const Params p) {
    extern __shared__ __align__(128) unsigned char shared[];  // [STAGES][A | B]
    const unsigned int base = (unsigned int)__cvta_generic_to_shared(shared);
    const unsigned int lane = threadIdx.x % WARP;
    const unsigned int warp_row = threadIdx.x / WARP / WARPS_N * WARP_M;
    const unsigned int warp_column = threadIdx.x / WARP % WARPS_N * WARP_N;
    const unsigned int batch = blockIdx.z + p.block_z;

    const unsigned int tiles_m = (p.m + BLOCK_M - 1) / BLOCK_M, tiles_n = (p.n + BLOCK_N - 1) / BLOCK_N;
    const unsigned int index = blockIdx.x + p.block_x;
    const unsigned int first = index / (RASTER * tiles_n) * RASTER;
    const unsigned int rows = min((unsigned int)RASTER, tiles_m - first);
    const unsigned int block_row = (first + index % (RASTER * tiles_n) % rows) * BLOCK_M;
    const unsigned int block_column = index % (RASTER * tiles_n) / rows * BLOCK_N;

    a += p.a_offset + batch * p.a_stride;
    b += p.b_offset + batch * p.b_stride;
    c += p.c_offset + batch * p.c_stride;
    const auto copy_stage = [&](unsigned int stage, unsigned int k) {
        const unsigned int a_tile = base + stage * STAGE_BYTES, b_tile = a_tile + A_BYTES;
        if (TRANSPOSE_A) copy_tile<A_LINES, A_CHUNKS>(a_tile, a, p.k, p.m, p.a_ld, k, block_row);
        else copy_tile<A_LINES, A_CHUNKS>(a_tile, a, p.m, p.k, p.a_ld, block_row, k);
        if (TRANSPOSE_B) copy_tile<B_LINES, B_CHUNKS>(b_tile, b, p.n, p.k, p.b_ld, block_column, k);
        else copy_tile<B_LINES, B_CHUNKS>(b_tile, b, p.k, p.n, p.b_ld, k, block_column);
    };

    float sums[WARP_M / MMA_M][WARP_N / MMA_N][4] = {};
    const unsigned int steps = (p.k + BLOCK_K - 1) / BLOCK_K;
#pragma unroll
    for (unsigned int stage = 0; stage < STAGES - 1; stage++) {
        if (stage < steps) copy_stage(stage, stage * BLOCK_K);
        asm volatile("cp.async.commit_group;" ::: "memory");
    }
    unsigned int stage = 0;
    for (unsigned int step = 0; step < steps; step++) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
        __syncthreads();  // every thread's copies of this step have landed, and everyone has read the stage that is refilled next
        const unsigned int a_tile = base + stage * STAGE_BYTES, b_tile = a_tile + A_BYTES;
        if (step + STAGES - 1 < steps) copy_stage((stage + STAGES - 1) % STAGES, (step + STAGES - 1) * BLOCK_K);
        asm volatile("cp.async.commit_group;" ::: "memory");
#pragma unroll
        for (unsigned int k = 0; k < BLOCK_K; k += MMA_K) {
            unsigned int a_part[WARP_M / MMA_M][4], b_part[WARP_N / MMA_N][2];
#pragma unroll
            for (unsigned int i = 0; i < WARP_M / MMA_M; i++) {
                const unsigned int m = warp_row + i * MMA_M;
                const unsigned int address = TRANSPOSE_A ? swizzled(k + lane / 16 * 8 + lane % 8, m / CHUNK + lane / 8 % 2, A_CHUNKS)
                                                         : swizzled(m + lane % 16, k / CHUNK + lane / 16, A_CHUNKS);
                ldmatrix(a_part[i][0], a_part[i][1], a_part[i][2], a_part[i][3], a_tile + address, TRANSPOSE_A);
            }
#pragma unroll
            for (unsigned int j = 0; j < WARP_N / MMA_N; j += 2) {
                const unsigned int n = warp_column + j * MMA_N;
                const unsigned int address = TRANSPOSE_B ? swizzled(n + lane / 16 * 8 + lane % 8, k / CHUNK + lane / 8 % 2, B_CHUNKS)
                                                         : swizzled(k + lane % 16, n / CHUNK + lane / 16, B_CHUNKS);
                ldmatrix(b_part[j][0], b_part[j][1], b_part[j + 1][0], b_part[j + 1][1], b_tile + address, !TRANSPOSE_B);
            }
#pragma unroll
            for (unsigned int i = 0; i < WARP_M / MMA_M; i++)
#pragma unroll
                for (unsigned int j = 0; j < WARP_N / MMA_N; j++) mma(sums[i][j], a_part[i], b_part[j]);
        }
        stage = stage + 1 == STAGES ? 0 : stage + 1;
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
