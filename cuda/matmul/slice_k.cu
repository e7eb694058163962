// Idea. When C has too few tiles to fill the machine, the warps of a block share one small tile and divide k: each slice of warps multiplies every SLICES-th stage of the ring.
// Changed from the rung below. A block's tile is 128 x 64 (or 64 x 64, 128 x 128) instead of 128 x 256, with the same 8 x 16 sums per thread; the slices' sums are added in shared memory, in order, so the bits are the same every time.
// A thread owns. 8 rows x 16 columns of sums over its slice of k, then four columns of C at a time of the finished tile.
// Memory traffic. Per tile and k: BLOCK_M + BLOCK_N elements from L2; 6 LDS.128 per thread for 128 FFMA; once per tile SLICES * BLOCK_M * BLOCK_N sums through shared memory.
// Needs. Compute capability exactly 9.0 (sm_90a: setmaxnreg); dynamic shared memory STAGES * (BLOCK_M + BLOCK_N) * 128 + STAGES * 16 bytes; tensor maps of a and b; any m, n, k, leading dimension, offset; batch strides that are multiples of 4 elements.

#ifndef TRANSPOSE_A
#define TRANSPOSE_A 0  // 1: a is stored k x m
#endif
#ifndef TRANSPOSE_B
#define TRANSPOSE_B 0  // 1: b is stored n x k
#endif
#ifndef CLASSES_A
#define CLASSES_A 1  // 1: a_ld is a multiple of 4; 4: it is not, and every 4th stored row is a tensor of its own
#endif
#ifndef CLASSES_B
#define CLASSES_B 1
#endif
#ifndef VECTOR_C
#define VECTOR_C 1  // 1: c may be written 16 bytes at a time (c, c_ld, c_stride aligned; not with TRANSPOSE_B and CLASSES_B 4)
#endif
#ifndef STAGES
#define STAGES 8  // a multiple of SLICES and at least twice as many
#endif
#ifndef GROUP
#define GROUP 8  // tile rows that share their columns of b in L2
#endif
#ifndef UNROLL
#define UNROLL 4  // pairs of k-quads per unrolled step: 1, 2 or 4 of the 4 in a stage
#endif

#ifndef BLOCK_M
#define BLOCK_M 128
#endif
#ifndef BLOCK_N
#define BLOCK_N 64
#endif
#define BLOCK_K 32       // 32 floats = 128 bytes: one swizzle row
#define WARP_TILE 64     // rows and columns of C per warp
#define WARPS_M (BLOCK_M / WARP_TILE)
#define SLICE_WARPS (WARPS_M * (BLOCK_N / WARP_TILE))  // warps that cover the tile once
#define SLICES (CONSUMERS / SLICE_WARPS)
#define CONSUMERS 8      // warps that multiply: two warpgroups
#define CONSUMER_THREADS 256
#define THREADS 384      // the consumers and one warpgroup whose first thread is the producer
#define PRODUCER_REGISTERS 24   // a thread's share after the hand-over:
#define CONSUMER_REGISTERS 240  // 128 * 24 + 256 * 240 = 384 * 168, what the block was started with
#define ROWS 8           // rows of C per thread
#define COLS 16          // columns of C per thread
#define QUAD 4           // floats in a 16-byte access
#define QUADS 8          // k-quads per stage: BLOCK_K / QUAD
#define ENTRIES 16       // b fragments of 4 floats per k-quad
#ifndef AHEAD
#define AHEAD 3          // b fragments loaded before their use: 1 to 3
#endif
#define FLOAT 4          // bytes
#define VECTOR 16        // bytes
#define ROW_BYTES 128    // one row of a stage whose k is contiguous
#define STEP_A (CLASSES_A == 4 ? QUADS : 1)  // rows of a stage from one k to the next within a quad
#define STEP_B (CLASSES_B == 4 ? QUADS : 1)
#define SUM_LD (BLOCK_N + QUAD)      // floats; the pad spreads 8 rows over all banks
#define STAGE_A (BLOCK_M * BLOCK_K)  // floats
#define STAGE_B (BLOCK_K * BLOCK_N)  // floats
#define STAGE_BYTES ((STAGE_A + STAGE_B) * FLOAT)
#define BARRIER 8        // bytes

struct Params {
    unsigned int block_x, block_y, block_z;
    unsigned int m, n, k;
    unsigned int a_ld, b_ld, c_ld;
    unsigned int batch;
    float alpha, beta;
    unsigned long long a_offset, b_offset, c_offset;
    unsigned long long a_stride, b_stride, c_stride;
};

struct alignas(64) TensorMap { unsigned long long words[16]; };

// Shared memory is addressed by 32-bit numbers here, so that constant offsets become part of the instruction.
__device__ __forceinline__ float4 load_shared(unsigned int address) {
    float4 value;
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(value.x), "=f"(value.y), "=f"(value.z), "=f"(value.w) : "r"(address));
    return value;
}

__device__ __forceinline__ void barrier_init(unsigned int barrier, unsigned int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

__device__ __forceinline__ void barrier_arrive(unsigned int barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

__device__ __forceinline__ void barrier_expect(unsigned int barrier, unsigned int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

// Returns once the phase of this parity has completed.
__device__ __forceinline__ void barrier_wait(unsigned int barrier, unsigned int parity) {
    asm volatile(
        "{\n"
        ".reg .pred done;\n"
        "again:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@!done bra again;\n"
        "}" ::"r"(barrier), "r"(parity) : "memory");
}

// Copies the box at (x, y, z) to shared memory; elements outside the tensor arrive as zero.
__device__ __forceinline__ void tma_load(unsigned int destination, const TensorMap* map, unsigned int barrier,
                                         unsigned int x, unsigned int y, unsigned int z) {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];" ::
            "r"(destination), "l"(map), "r"(barrier), "r"(x), "r"(y), "r"(z) : "memory");
}

// The matrix element is this many floats into its 16-byte word: a tensor map starts at the word.
__device__ __forceinline__ unsigned int shift(const float* element) {
    return (unsigned int)((unsigned long long)element / sizeof(float)) % QUAD;
}

// Where TMA put stored row `row` of a box of `rows` rows that `classes` tensors share, and back.
__device__ __forceinline__ constexpr unsigned int slot_of(unsigned int row, unsigned int rows, unsigned int classes) {
    return row % classes * (rows / classes) + row / classes;
}
__device__ __forceinline__ constexpr unsigned int row_of(unsigned int slot, unsigned int rows, unsigned int classes) {
    return slot % (rows / classes) * classes + slot / (rows / classes);
}

struct Tile { unsigned int row, col; };

// GROUP rows of tiles are walked column by column, so that tiles in flight together share operands in L2.
__device__ __forceinline__ Tile tile_at(unsigned int linear, unsigned int tiles_m, unsigned int tiles_n) {
    const unsigned int first = linear / (GROUP * tiles_n) * GROUP, within = linear % (GROUP * tiles_n);
    const unsigned int height = min(GROUP, tiles_m - first);
    return {(first + within % height) * BLOCK_M, within / height * BLOCK_N};
}

// Where this thread reads k-quad `quad` of a stage of a, and load i of 8: four consecutive k of its 8 rows, fragment[row][k].
__device__ __forceinline__ unsigned int quad_of_a(unsigned int stage, unsigned int quad, unsigned int warp_row, unsigned int lane_m) {
#if TRANSPOSE_A  // the stage is BLOCK_K x BLOCK_M
    return stage + (warp_row + lane_m * QUAD + quad * (QUAD / CLASSES_A) * BLOCK_M) * FLOAT;
#else  // BLOCK_M x BLOCK_K, swizzled: 16-byte word w of row r lies at w ^ (r % 8); row % 8 is lane_m, so the 8 lanes of a phase read 8 different words
    return stage + (warp_row + lane_m) * ROW_BYTES + (quad ^ lane_m) * VECTOR;
#endif
}
__device__ __forceinline__ void load_a(float (&fragment)[ROWS][QUAD], unsigned int address, unsigned int i) {
#if TRANSPOSE_A  // four rows at one k
    const unsigned int half = i / QUAD * QUAD, step = i % QUAD;
    const float4 value = load_shared(address + (step * STEP_A * BLOCK_M + half * 8) * FLOAT);
    fragment[half + 0][step] = value.x, fragment[half + 1][step] = value.y, fragment[half + 2][step] = value.z, fragment[half + 3][step] = value.w;
#else  // one row at four k
    const float4 value = load_shared(address + i * 8 * ROW_BYTES);
    fragment[i][0] = value.x, fragment[i][1] = value.y, fragment[i][2] = value.z, fragment[i][3] = value.w;
#endif
}

// Fragment `entry` of k-quad `quad` of b: four columns at one k, or (TRANSPOSE_B) one column at four k.
__device__ __forceinline__ float4 load_b(unsigned int stage, unsigned int quad, unsigned int entry, unsigned int warp_col, unsigned int lane_n) {
    const unsigned int major = entry / QUAD, minor = entry % QUAD;
    stage += STAGE_A * FLOAT;
#if TRANSPOSE_B  // the stage is BLOCK_N x BLOCK_K, swizzled: row % 8 is minor, plus 4 for odd lane_n; the 8 lanes of a phase read the same word
    const unsigned int word = quad ^ minor, flip = lane_n % 2 * QUAD * VECTOR;  // word ^ 4 is word + 4 or word - 4
    return load_shared(stage + (warp_col + lane_n * QUAD) * ROW_BYTES + (word < QUAD ? flip : 0 - flip) + (major * 16 + minor) * ROW_BYTES + word * VECTOR);
#else  // BLOCK_K x BLOCK_N
    return load_shared(stage + (warp_col + lane_n * QUAD + quad * (QUAD / CLASSES_B) * BLOCK_N) * FLOAT + (major * STEP_B * BLOCK_N + minor * 16) * FLOAT);
#endif
}

__device__ __forceinline__ void multiply(float (&sum)[ROWS][COLS], const float (&a)[ROWS][QUAD], const float4 value, unsigned int entry) {
    const float b[QUAD] = {value.x, value.y, value.z, value.w};
#pragma unroll
    for (unsigned int step = 0; step < QUAD; ++step) {
#pragma unroll
        for (unsigned int i = 0; i < ROWS; ++i) {
            const unsigned int row = step % 2 ? ROWS - 1 - i : i;  // back and forth: the register at the turn is reused
#if TRANSPOSE_B
            sum[row][entry] = fmaf(a[row][step], b[step], sum[row][entry]);
#else
            const unsigned int col = entry % QUAD * QUAD + step;
            sum[row][col] = fmaf(a[row][entry / QUAD], b[step], sum[row][col]);
#endif
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
matmul_slice_k(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, const Params p,
                       const __grid_constant__ TensorMap a_map
#if CLASSES_A == 4
                       , const __grid_constant__ TensorMap a_map_1, const __grid_constant__ TensorMap a_map_2, const __grid_constant__ TensorMap a_map_3
#endif
                       , const __grid_constant__ TensorMap b_map
#if CLASSES_B == 4
                       , const __grid_constant__ TensorMap b_map_1, const __grid_constant__ TensorMap b_map_2, const __grid_constant__ TensorMap b_map_3
#endif
) {
    extern __shared__ __align__(1024) float shared[];  // [STAGES][STAGE_A + STAGE_B], then 2 * STAGES barriers of 8 bytes
    unsigned int stages = (unsigned int)__cvta_generic_to_shared(shared);
    asm volatile("" : "+r"(stages));  // keeps the address in a register instead of computing it again at every use
    const unsigned int full = stages + STAGES * STAGE_BYTES;  // barrier [STAGES]: TMA has filled the stage
    const unsigned int empty = full + STAGES * BARRIER;       // barrier [STAGES]: the consumers have read it

    if (threadIdx.x == 0) {
        for (unsigned int stage = 0; stage < STAGES; ++stage) {
            barrier_init(full + stage * BARRIER, 1);
            barrier_init(empty + stage * BARRIER, SLICE_WARPS);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");  // TMA must see them too
    }
    __syncthreads();  // waits for the barriers to exist

    const unsigned int tiles_m = (p.m + BLOCK_M - 1) / BLOCK_M, tiles_n = (p.n + BLOCK_N - 1) / BLOCK_N;
    const Tile tile = tile_at(blockIdx.x + p.block_x, tiles_m, tiles_n);
    const unsigned int batch = blockIdx.z + p.block_z;
    const unsigned int steps = (p.k + BLOCK_K - 1) / BLOCK_K;
    const unsigned int warp = threadIdx.x / 32, lane = threadIdx.x % 32;

    if (warp >= CONSUMERS) {  // the producer: one thread asks TMA for every stage of every tile
        asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(PRODUCER_REGISTERS));
        if (warp == CONSUMERS && lane == 0) {
#if CLASSES_A == 4
            const TensorMap* a_maps[CLASSES_A] = {&a_map, &a_map_1, &a_map_2, &a_map_3};  // [CLASSES_A]
#else
            const TensorMap* a_maps[CLASSES_A] = {&a_map};  // [CLASSES_A]
#endif
#if CLASSES_B == 4
            const TensorMap* b_maps[CLASSES_B] = {&b_map, &b_map_1, &b_map_2, &b_map_3};  // [CLASSES_B]
#else
            const TensorMap* b_maps[CLASSES_B] = {&b_map};  // [CLASSES_B]
#endif
            for (unsigned int step = 0; step < steps; ++step) {
                const unsigned int stage = step % STAGES, parity = step / STAGES % 2;
                const unsigned int stage_a = stages + stage * STAGE_BYTES, stage_b = stage_a + STAGE_A * FLOAT;
                const unsigned int k = step * BLOCK_K, ready = full + stage * BARRIER;
                barrier_wait(empty + stage * BARRIER, parity ^ 1);  // a fresh barrier counts as the phase before: passes
                barrier_expect(ready, STAGE_BYTES);
#pragma unroll
                for (unsigned int s = 0; s < CLASSES_A; ++s) {
                    const unsigned int x = shift(a + p.a_offset + (unsigned long long)s * p.a_ld);
                    if (TRANSPOSE_A) tma_load(stage_a + s * (STAGE_A / CLASSES_A) * FLOAT, a_maps[s], ready, x + tile.row, k / CLASSES_A, batch);
                    else             tma_load(stage_a + s * (STAGE_A / CLASSES_A) * FLOAT, a_maps[s], ready, x + k, tile.row / CLASSES_A, batch);
                }
#pragma unroll
                for (unsigned int s = 0; s < CLASSES_B; ++s) {
                    const unsigned int x = shift(b + p.b_offset + (unsigned long long)s * p.b_ld);
                    if (TRANSPOSE_B) tma_load(stage_b + s * (STAGE_B / CLASSES_B) * FLOAT, b_maps[s], ready, x + k, tile.col / CLASSES_B, batch);
                    else             tma_load(stage_b + s * (STAGE_B / CLASSES_B) * FLOAT, b_maps[s], ready, x + tile.col, k / CLASSES_B, batch);
                }
            }
        }
        return;  // no barrier of the whole block follows
    }
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(CONSUMER_REGISTERS));

    const unsigned int slice = warp / SLICE_WARPS;
    const unsigned int warp_row = warp % WARPS_M * WARP_TILE, warp_col = warp % SLICE_WARPS / WARPS_M * WARP_TILE;
    const unsigned int lane_m = lane % 8, lane_n = lane / 8;
    // A warp wholly outside C only keeps the ring turning.
    const bool inside = (CLASSES_A == 4 && !TRANSPOSE_A || tile.row + warp_row < p.m) && (CLASSES_B == 4 && TRANSPOSE_B || tile.col + warp_col < p.n);
    float sum[ROWS][COLS] = {};       // [ROWS][COLS]
    float a_fragment[2][ROWS][QUAD];  // [buffer][row][k]
    float4 b_fragment[QUAD];          // [ring] of 4 columns at one k, or 4 k of one column

    if (inside && slice < steps) {
        const unsigned int now = stages + slice % STAGES * STAGE_BYTES;
        barrier_wait(full + slice % STAGES * BARRIER, 0);
#pragma unroll
        for (unsigned int i = 0; i < ROWS; ++i) load_a(a_fragment[0], quad_of_a(now, 0, warp_row, lane_m), i);
#pragma unroll
        for (unsigned int entry = 0; entry < AHEAD; ++entry) b_fragment[entry] = load_b(now, 0, entry, warp_col, lane_n);
    }
    for (unsigned int step = slice; step < steps; step += SLICES) {
        const unsigned int stage = step % STAGES, next_stage = (step + SLICES) % STAGES;
        const unsigned int now = stages + stage * STAGE_BYTES;
        if (!inside) {
            barrier_wait(full + stage * BARRIER, step / STAGES % 2);
        } else {
            const unsigned int next = step + SLICES < steps ? stages + next_stage * STAGE_BYTES : now;  // after the last step: read anything, use nothing
#pragma unroll UNROLL
            for (unsigned int pair = 0; pair < QUADS / 2; ++pair) {
#pragma unroll
                for (unsigned int odd = 0; odd < 2; ++odd) {
                    const bool last = odd == 1 && pair == QUADS / 2 - 1;
                    if (last && step + SLICES < steps) barrier_wait(full + next_stage * BARRIER, (step + SLICES) / STAGES % 2);
                    const unsigned int quad = pair * 2 + odd;
                    const unsigned int from = last ? next : now, next_quad = (quad + 1) % QUADS;
                    const unsigned int next_a = quad_of_a(from, next_quad, warp_row, lane_m);
#pragma unroll
                    for (unsigned int entry = 0; entry < ENTRIES; ++entry) {
                        const unsigned int ahead = entry + AHEAD;
                        if (entry < ROWS) load_a(a_fragment[1 - odd], next_a, entry);
                        b_fragment[ahead % QUAD] = ahead < ENTRIES ? load_b(now, quad, ahead, warp_col, lane_n)
                                                                   : load_b(from, next_quad, ahead - ENTRIES, warp_col, lane_n);
                        multiply(sum, a_fragment[odd], b_fragment[entry % QUAD], entry);
                    }
                }
            }
        }
        __syncwarp();  // waits for all lanes' reads of this stage
        if (lane == 0) barrier_arrive(empty + stage * BARRIER);
    }

    // The ring is free now: it takes the slices' sums.
    asm volatile("bar.sync 1, %0;" ::"n"(CONSUMER_THREADS) : "memory");  // waits for every consumer's last read of the ring
    unsigned int thread;  // read again, so that no address of the epilogue occupies a register during the loop
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
    const unsigned int first_row = thread / 32 % WARPS_M * WARP_TILE + thread % 8 * (TRANSPOSE_A ? QUAD : 1);
    const unsigned int first_col = thread / 32 % SLICE_WARPS / WARPS_M * WARP_TILE + thread / 8 % 4 * QUAD;
    float* sums = shared + thread / 32 / SLICE_WARPS * BLOCK_M * SUM_LD;  // [BLOCK_M][SUM_LD] of this slice
#pragma unroll
    for (unsigned int i = 0; i < ROWS; ++i) {
        const unsigned int row = TRANSPOSE_A ? first_row + i / QUAD * 32 + i % QUAD : first_row + i * 8;
#pragma unroll
        for (unsigned int q = 0; q < COLS / QUAD; ++q)
            *reinterpret_cast<float4*>(sums + row * SUM_LD + first_col + q * 16) = {sum[i][q * QUAD], sum[i][q * QUAD + 1], sum[i][q * QUAD + 2], sum[i][q * QUAD + 3]};
    }
    asm volatile("bar.sync 1, %0;" ::"n"(CONSUMER_THREADS) : "memory");  // waits for the sums of all slices

    float* c_tile = c + p.c_offset + batch * p.c_stride;
    for (unsigned int place = thread; place < BLOCK_M * BLOCK_N / QUAD; place += CONSUMER_THREADS) {
        const unsigned int slot_row = place / (BLOCK_N / QUAD), slot_col = place % (BLOCK_N / QUAD) * QUAD;
        const unsigned int row = tile.row + (TRANSPOSE_A ? slot_row : row_of(slot_row, BLOCK_M, CLASSES_A));
        if (row >= p.m) continue;
        float4 total = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
        for (unsigned int s = 0; s < SLICES; ++s) {
            const float4 part = *reinterpret_cast<const float4*>(shared + (s * BLOCK_M + slot_row) * SUM_LD + slot_col);
            total = {total.x + part.x, total.y + part.y, total.z + part.z, total.w + part.w};
        }
        float* c_row = c_tile + (unsigned long long)row * p.c_ld;
#if VECTOR_C
        if (tile.col + slot_col + QUAD <= p.n) {
            float4* target = reinterpret_cast<float4*>(c_row + tile.col + slot_col);
            float4 value = {p.alpha * total.x, p.alpha * total.y, p.alpha * total.z, p.alpha * total.w};
            if (p.beta != 0.0f) {
                const float4 old = *target;
                value = {fmaf(p.beta, old.x, value.x), fmaf(p.beta, old.y, value.y), fmaf(p.beta, old.z, value.z), fmaf(p.beta, old.w, value.w)};
            }
            *target = value;
            continue;
        }
#endif
        const float totals[QUAD] = {total.x, total.y, total.z, total.w};  // [QUAD]
#pragma unroll
        for (unsigned int j = 0; j < QUAD; ++j) {
            const unsigned int col = tile.col + (TRANSPOSE_B ? row_of(slot_col + j, BLOCK_N, CLASSES_B) : slot_col + j);
            if (col >= p.n) continue;
            const float value = p.alpha * totals[j];
            c_row[col] = p.beta != 0.0f ? fmaf(p.beta, c_row[col], value) : value;
        }
    }
}
