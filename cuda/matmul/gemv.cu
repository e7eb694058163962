// Idea. With one operand a few vectors thin the work is reading the other operand once: every thread keeps many 16-byte loads of it in flight and nothing of it goes through shared memory.
// Changed from the rung below. No tiles of C: a warp owns whole rows (or 128 columns) of the thick operand and all THIN results that belong to them.
// A thread owns. A share of k of ROWS x THIN results when the thick operand keeps k contiguous (the warp adds the shares by shuffles, the thin operand passes through shared memory); else a share of k of 4 x THIN results (the block adds its warps' shares in order).
// Memory traffic. The thick operand once, 16 bytes per load, past L1; the thin one from shared memory, or from L1 where it is a single vector.
// Needs. Compute capability 7.0; m or n at most THIN; all four layouts, any leading dimension, offset, alignment, batch (z); with SPLITS > 1 a workspace of batch * SPLITS * THIN * (n or m) floats and the second pass matmul_gemv_sum.

#ifndef THICK_K
#define THICK_K 1  // 1: the thick operand (a where n <= m, else b) keeps k contiguous
#endif
#ifndef THIN_K
#define THIN_K 0  // 1: the thin operand does
#endif
#ifndef THIN
#define THIN 1  // at least the small one of m and n
#endif
#ifndef VECTOR
#define VECTOR 1  // 1: the thick operand, its ld and stride are aligned to 16 bytes, and so is a thin one of one line that keeps k contiguous
#endif
#ifndef SPLITS
#define SPLITS 1  // parts of k, each its own block (y); more than 1 needs the second pass
#endif
#ifndef ROWS
#define ROWS 2  // rows of the thick operand per warp, where it keeps k contiguous
#endif
#ifndef DEPTH
#define DEPTH (THICK_K ? (THIN > 1 ? 2 : 4) : (THIN > 1 ? 4 : 8))  // loads of the thick operand in flight per thread and row
#endif
#ifndef PER_SM
#define PER_SM 2  // blocks per multiprocessor
#endif

#define THREADS 256
#define WARPS 8
#define QUAD 4        // elements per thread and load
#define CHUNK 256     // k of the thin operand in shared memory at a time, where the thick one does not keep k contiguous
#define SPAN (32 * QUAD * DEPTH)  // k per warp and step, where the thick operand keeps k contiguous
#define COLUMNS 128   // columns per block: 32 lanes * QUAD

struct Params {
    unsigned int block_x, block_y, block_z;
    unsigned int m, n, k;
    unsigned int a_ld, b_ld, c_ld;
    unsigned int batch;
    float alpha, beta;
    unsigned long long a_offset, b_offset, c_offset;
    unsigned long long a_stride, b_stride, c_stride;
};

__device__ __forceinline__ float4 stream_quad(const float* place) {  // read once: do not keep it in L1
    float4 value;
    asm("ld.global.nc.L1::no_allocate.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(value.x), "=f"(value.y), "=f"(value.z), "=f"(value.w) : "l"(place));
    return value;
}
__device__ __forceinline__ float stream(const float* place) {
    float value;
    asm("ld.global.nc.L1::no_allocate.f32 %0, [%1];" : "=f"(value) : "l"(place));
    return value;
}

// Four elements of a line of `count`, zero past its end (`whole`: it is known not to end here): side by side from `first`, or (not VECTOR) 32 apart, so that a warp's loads stay coalesced.
__device__ __forceinline__ void load_thick(float (&value)[QUAD], const float* line, unsigned int first, unsigned int count, bool whole) {
#if VECTOR
    if (whole || first + QUAD <= count) {
        const float4 quad = stream_quad(line + first);
        value[0] = quad.x, value[1] = quad.y, value[2] = quad.z, value[3] = quad.w;
        return;
    }
#endif
#pragma unroll
    for (unsigned int j = 0; j < QUAD; ++j) {
        const unsigned int at = first + j * (VECTOR ? 1 : 32);
        value[j] = whole || at < count ? stream(line + at) : 0.0f;
    }
}

// Where a result belongs: c, or its part's place in the workspace.
__device__ __forceinline__ void store(float* c, unsigned int line, unsigned int thin, float sum, const Params& p) {
    const unsigned int row = p.n <= p.m ? line : thin, col = p.n <= p.m ? thin : line;
    if (row >= p.m || col >= p.n) return;
    float* place = c + (size_t)row * p.c_ld + col;
    *place = p.beta != 0.0f ? fmaf(p.beta, *place, p.alpha * sum) : p.alpha * sum;
}

extern "C" __global__ void __launch_bounds__(THREADS, PER_SM)
matmul_gemv(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c,
#if SPLITS > 1
            float* __restrict__ workspace,  // [batch][SPLITS][THIN][lines]
#endif
            const Params p) {
    const unsigned int batch = blockIdx.z + p.block_z, part = blockIdx.y + p.block_y;
    const unsigned int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    a += p.a_offset + batch * p.a_stride, b += p.b_offset + batch * p.b_stride, c += p.c_offset + batch * p.c_stride;
    const bool thick_a = p.n <= p.m;
    const float* __restrict__ thick = thick_a ? a : b;
    const float* __restrict__ thin = thick_a ? b : a;
    const size_t thick_ld = thick_a ? p.a_ld : p.b_ld, thin_ld = thick_a ? p.b_ld : p.a_ld;
    const unsigned int lines = max(p.m, p.n), thins = min(p.m, p.n);
    const unsigned int part_k = ((p.k + SPLITS - 1) / SPLITS + CHUNK - 1) / CHUNK * CHUNK;  // k per part
    const unsigned int first_k = min(part * part_k, p.k), last_k = min(first_k + part_k, p.k);
#if SPLITS > 1
    workspace += ((size_t)batch * SPLITS + part) * THIN * lines;
#endif

#if THICK_K
    const unsigned int first_line = ((blockIdx.x + p.block_x) * WARPS + warp) * ROWS;
    float sum[ROWS][THIN] = {};      // [ROWS][THIN]
    float value[DEPTH][ROWS][QUAD];  // [DEPTH][ROWS][QUAD]
#if THIN > 1
    __shared__ __align__(16) float thin_tile[THIN][SPAN + QUAD];  // [THIN][SPAN + QUAD], the thin operand's share of a step
#endif
    for (unsigned int k = first_k; k < last_k; k += SPAN) {
        const bool whole = k + SPAN <= last_k;  // without the tests of the end
        const auto load = [&](bool whole) {
#pragma unroll
            for (unsigned int d = 0; d < DEPTH; ++d)
#pragma unroll
                for (unsigned int r = 0; r < ROWS; ++r)
                    load_thick(value[d][r], thick + min(first_line + r, lines - 1) * thick_ld, k + d * (32 * QUAD) + lane * (VECTOR ? QUAD : 1), last_k, whole);
        };
        if (whole) load(true);
        else load(false);
#if THIN > 1
        __syncthreads();  // waits for the last share to be read
#pragma unroll 4
        for (unsigned int i = threadIdx.x; i < SPAN * THIN; i += THREADS) {
            const unsigned int kk = THIN_K ? i % SPAN : i / THIN, s = THIN_K ? i / SPAN : i % THIN;
            thin_tile[s][kk] = k + kk < last_k && s < thins ? __ldg(thin + (THIN_K ? s * thin_ld + k + kk : (k + kk) * thin_ld + s)) : 0.0f;
        }
        __syncthreads();  // waits for this share to be written
#endif
#pragma unroll
        for (unsigned int d = 0; d < DEPTH; ++d) {
            const unsigned int at = d * (32 * QUAD) + lane * (VECTOR ? QUAD : 1);
#pragma unroll
            for (unsigned int s = 0; s < THIN; ++s) {
                float other[QUAD];  // [QUAD]
#if THIN > 1
                if (VECTOR) {
                    const float4 quad = *reinterpret_cast<const float4*>(&thin_tile[s][at]);
                    other[0] = quad.x, other[1] = quad.y, other[2] = quad.z, other[3] = quad.w;
                } else {
#pragma unroll
                    for (unsigned int j = 0; j < QUAD; ++j) other[j] = thin_tile[s][at + j * 32];
                }
#else
                if (VECTOR && THIN_K && k + at + QUAD <= last_k) {
                    const float4 quad = __ldg(reinterpret_cast<const float4*>(thin + k + at));
                    other[0] = quad.x, other[1] = quad.y, other[2] = quad.z, other[3] = quad.w;
                } else {
#pragma unroll
                    for (unsigned int j = 0; j < QUAD; ++j) {
                        const unsigned int kk = k + at + j * (VECTOR ? 1 : 32);
                        other[j] = whole || kk < last_k ? __ldg(thin + kk * (THIN_K ? 1 : thin_ld)) : 0.0f;
                    }
                }
#endif
#pragma unroll
                for (unsigned int r = 0; r < ROWS; ++r)
#pragma unroll
                    for (unsigned int j = 0; j < QUAD; ++j) sum[r][s] = fmaf(value[d][r][j], other[j], sum[r][s]);
            }
        }
    }
#pragma unroll
    for (unsigned int r = 0; r < ROWS; ++r)
#pragma unroll
        for (unsigned int s = 0; s < THIN; ++s) {
            float total = sum[r][s];
#pragma unroll
            for (unsigned int distance = 16; distance > 0; distance /= 2) total += __shfl_xor_sync(0xffffffffu, total, distance);
            const unsigned int line = first_line + r;
            if (lane == 0 && line < lines) {
#if SPLITS > 1
                workspace[(size_t)s * lines + line] = total;
#else
                store(c, line, s, total, p);
#endif
            }
        }
#else
    __shared__ __align__(16) float thin_tile[CHUNK][THIN];        // [CHUNK][THIN]
    __shared__ float shares[WARPS][COLUMNS];                      // [WARPS][COLUMNS], one thin result at a time
    const unsigned int first_line = (blockIdx.x + p.block_x) * COLUMNS;
    const unsigned int line = first_line + lane * (VECTOR ? QUAD : 1);
    float sum[THIN][QUAD] = {};       // [THIN][QUAD]
    float value[2][DEPTH][QUAD];      // [now, next][DEPTH][QUAD]: rows k + warp, k + warp + WARPS, ...
    const auto load_rows = [&](unsigned int buffer, unsigned int k, bool whole) {
#pragma unroll
        for (unsigned int d = 0; d < DEPTH; ++d) {
            const unsigned int at = k + d * WARPS + warp;
            load_thick(value[buffer][d], thick + (whole || at < last_k ? at : 0) * thick_ld, line, whole || at < last_k ? lines : 0, whole);
        }
    };
    const auto load = [&](unsigned int buffer, unsigned int k) {
        if (first_line + COLUMNS <= lines && k + DEPTH * WARPS <= last_k) load_rows(buffer, k, true);  // without the tests of the end
        else load_rows(buffer, k, false);
    };
    load(0, first_k);
    for (unsigned int chunk = first_k; chunk < last_k; chunk += CHUNK) {
        __syncthreads();  // waits for the last chunk to be read
#pragma unroll 4
        for (unsigned int i = threadIdx.x; i < CHUNK * THIN; i += THREADS) {
            const unsigned int kk = THIN_K ? i % CHUNK : i / THIN, s = THIN_K ? i / CHUNK : i % THIN;
            thin_tile[kk][s] = chunk + kk < last_k && s < thins ? __ldg(thin + (THIN_K ? s * thin_ld + chunk + kk : (chunk + kk) * thin_ld + s)) : 0.0f;
        }
        __syncthreads();  // waits for this chunk to be written
#pragma unroll 1
        for (unsigned int pair = 0; pair < CHUNK; pair += 2 * DEPTH * WARPS)
#pragma unroll
            for (unsigned int odd = 0; odd < 2; ++odd) {
                const unsigned int kk = pair + odd * (DEPTH * WARPS);
                load(1 - odd, chunk + kk + DEPTH * WARPS);  // past the end: zeros
#pragma unroll
                for (unsigned int d = 0; d < DEPTH; ++d)
#pragma unroll
                    for (unsigned int s = 0; s < THIN; ++s) {
                        const float other = thin_tile[kk + d * WARPS + warp][s];
#pragma unroll
                        for (unsigned int j = 0; j < QUAD; ++j) sum[s][j] = fmaf(value[odd][d][j], other, sum[s][j]);
                    }
            }
    }
#pragma unroll
    for (unsigned int s = 0; s < THIN; ++s) {
        __syncthreads();  // waits for the shares of the result before to be read
#pragma unroll
        for (unsigned int j = 0; j < QUAD; ++j) shares[warp][lane * (VECTOR ? QUAD : 1) + j * (VECTOR ? 1 : 32)] = sum[s][j];
        __syncthreads();  // waits for all shares
        if (threadIdx.x < COLUMNS && first_line + threadIdx.x < lines) {
            float total = 0.0f;
#pragma unroll
            for (unsigned int w = 0; w < WARPS; ++w) total += shares[w][threadIdx.x];
#if SPLITS > 1
            workspace[(size_t)s * lines + first_line + threadIdx.x] = total;
#else
            store(c, first_line + threadIdx.x, s, total, p);
#endif
        }
    }
#endif
}

#if SPLITS > 1
// Second pass: adds the parts in order. Grid: x over THREADS results of `lines`, y over THIN, z over the batch.
extern "C" __global__ void __launch_bounds__(THREADS)
matmul_gemv_sum(const float* __restrict__ workspace, float* __restrict__ c, const Params p) {
    const unsigned int batch = blockIdx.z + p.block_z, s = blockIdx.y + p.block_y, line = (blockIdx.x + p.block_x) * THREADS + threadIdx.x;
    const unsigned int lines = max(p.m, p.n);
    if (line >= lines) return;  // no barrier follows
    float total = 0.0f;
#pragma unroll
    for (unsigned int part = 0; part < SPLITS; ++part) total += workspace[(((size_t)batch * SPLITS + part) * THIN + s) * lines + line];
    store(c + p.c_offset + batch * p.c_stride, line, s, total, p);
}
#endif
