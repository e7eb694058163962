// Idea. A producer warpgroup keeps a ring of shared-memory stages filled; the other warps do nothing but read fragments and multiply.
// Changed from the rung below. No copies, no address arithmetic and no block-wide barrier in the multiplying warps: stages change hands by mbarriers, TMA moves whole boxes, registers move from the producer to the consumers (setmaxnreg), and a persistent block fetches its next tile while it finishes this one.
// A thread owns. 8 x 16 results in registers; a warp 64 x 64; eight warps a 128 x 256 tile.
// Memory traffic. Per tile and k: 128 + 256 elements once from L2 to shared memory, then 6 reads of 16 bytes per thread for 128 multiplications.
// Needs. Compute capability exactly 9.0 (sm_90a: setmaxnreg); all four layouts, any m, n, k, leading dimension, offset, alignment, batch; dynamic shared memory SHARED_BYTES; a tensor map for each operand with TMA_x 1.

#ifndef TRANSPOSE_A
#define TRANSPOSE_A 0  // 1: a is stored k x m
#endif
#ifndef TRANSPOSE_B
#define TRANSPOSE_B 0  // 1: b is stored n x k
#endif
#ifndef TMA_A
#define TMA_A TRANSPOSE_A  // 1: TMA fetches a: it keeps m contiguous, and a, a_ld, a_stride are aligned to 16 bytes; 0: copies of 4 bytes, which also transpose
#endif
#ifndef TMA_B
#define TMA_B (!TRANSPOSE_B)  // the same for b and n
#endif
#ifndef VECTOR_C
#define VECTOR_C 1  // 1: c, c_ld, c_stride are aligned to 16 bytes
#endif
#ifndef STAGES
#define STAGES 4
#endif
#ifndef GROUP
#define GROUP 8  // tile rows that share their columns of b in L2
#endif
#ifndef UNROLL
#define UNROLL 8  // k per step of the unrolled loop: even, divides BLOCK_K
#endif
#ifndef PRODUCER_REGISTERS
#define PRODUCER_REGISTERS 40   // a thread's share after the hand-over:
#define CONSUMER_REGISTERS 232  // 128 * 40 + 256 * 232 = 384 * 168, what the block was started with
#endif

#define BLOCK_M 128
#define BLOCK_N 256
#define BLOCK_K 32
#define WARP_TILE 64     // rows and columns of C per warp
#define WARPS_M 2        // BLOCK_M / WARP_TILE
#define LANES_M 8        // lanes along m; 4 along n
#define LANES_N 4
#define ROWS 8           // results per thread: ROWS x COLS, in blocks of 4 x 4
#define COLS 16
#define QUAD 4           // floats in a 16-byte access
#define CONSUMERS 8      // warps that multiply: two warpgroups
#define ARRIVALS (TMA_A && TMA_B ? 1 : 32)  // lanes of a warp that say a stage is read: one, behind __syncwarp, is enough; where copies fill it all do, since tools that look for races follow each thread alone
#define PRODUCERS 128    // threads that fetch: one warpgroup
#define THREADS 384
#define PAD 4            // floats: 8 k x 4 rows of a transposing copy hit 32 banks
#define A_LD (BLOCK_M + (TMA_A ? 0 : PAD))
#define B_LD (BLOCK_N + (TMA_B ? 0 : PAD))
#define STAGE_A (BLOCK_K * A_LD)  // floats
#define STAGE_B (BLOCK_K * B_LD)  // floats
#define FLOAT 4          // bytes
#define BARRIER 8        // bytes
#define STAGE_BYTES ((STAGE_A + STAGE_B) * FLOAT)
#define SHARED_BYTES (STAGES * (STAGE_BYTES + 2 * BARRIER))

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

__device__ __forceinline__ void barrier_init(unsigned int barrier, unsigned int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
__device__ __forceinline__ void barrier_arrive(unsigned int barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
__device__ __forceinline__ void barrier_expect(unsigned int barrier, unsigned int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
__device__ __forceinline__ void barrier_arrive_after_copies(unsigned int barrier) {  // when this thread's copies so far have landed
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}
__device__ __forceinline__ void barrier_wait(unsigned int barrier, unsigned int parity) {  // until the phase of this parity has completed
    asm volatile(
        "{\n"
        ".reg .pred done;\n"
        "again:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@!done bra again;\n"
        "}" ::"r"(barrier), "r"(parity) : "memory");
}

// Copies the box at (x, y, z) to shared memory; elements outside the tensor arrive as zero. x must be a multiple of 4 elements.
__device__ __forceinline__ void tma_load(unsigned int target, const TensorMap* map, unsigned int barrier, unsigned int x, unsigned int y, unsigned int z) {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];" ::
            "r"(target), "l"(map), "r"(barrier), "r"(x), "r"(y), "r"(z) : "memory");
}
__device__ __forceinline__ void copy_4(unsigned int target, const float* source, unsigned int bytes) {  // bytes 0: a zero arrives
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(target), "l"(source), "r"(bytes) : "memory");
}

// A producer thread's share of the copies of one operand without TMA: BLOCK_K x EXTENT elements to stage[k][i], wherever the operand keeps its k.
// Beyond the last k zeros arrive; beyond the last i the last one is repeated, since those results are never stored.
template <bool K_CONTIGUOUS, unsigned int EXTENT>
__device__ __forceinline__ void copy_tile(unsigned int stage, const float* operand, unsigned int ld, unsigned int first, unsigned int extent, unsigned int first_k, unsigned int k_extent, unsigned int thread) {
    constexpr unsigned int LANES_K = K_CONTIGUOUS ? 8 : EXTENT < PRODUCERS ? PRODUCERS / EXTENT : 1;  // 8 k x 4 rows per warp read 32 bytes of each row
    constexpr unsigned int LANES_I = PRODUCERS / LANES_K;
    const unsigned int k_in = K_CONTIGUOUS ? thread % LANES_K : thread / LANES_I, i_in = K_CONTIGUOUS ? thread / LANES_K : thread % LANES_I;
    const unsigned int target = stage + (k_in * (EXTENT + PAD) + i_in) * FLOAT;
    const unsigned int k_left = k_extent - first_k > k_in ? k_extent - first_k - k_in : 0;
#pragma unroll 4
    for (unsigned int g = 0; g < EXTENT; g += LANES_I) {
        const size_t i = min(first + i_in + g, extent - 1);
        const float* source = operand + (K_CONTIGUOUS ? i * ld + first_k + k_in : (size_t)(first_k + k_in) * ld + i);
#pragma unroll
        for (unsigned int kk = 0; kk < BLOCK_K; kk += LANES_K) {
            copy_4(target + (kk * (EXTENT + PAD) + g) * FLOAT, source, kk < k_left ? FLOAT : 0);
            source += K_CONTIGUOUS ? LANES_K : (size_t)LANES_K * ld;
        }
    }
}

struct Tile { unsigned int row, col, batch; };

// GROUP rows of tiles are walked column by column, so that tiles in flight together share operands in L2.
__device__ __forceinline__ Tile tile_at(unsigned int index, unsigned int tiles_m, unsigned int tiles_n) {
    const unsigned int batch = index / (tiles_m * tiles_n), linear = index % (tiles_m * tiles_n);
    const unsigned int first = linear / (GROUP * tiles_n) * GROUP, within = linear % (GROUP * tiles_n);
    const unsigned int height = min(GROUP, tiles_m - first);
    return {(first + within % height) * BLOCK_M, within / height * BLOCK_N, batch};
}

// Shared memory is addressed by 32-bit numbers here, so that constant offsets become part of the instruction.
__device__ __forceinline__ void load_quad(float* fragment, unsigned int address) {
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(fragment[0]), "=f"(fragment[1]), "=f"(fragment[2]), "=f"(fragment[3]) : "r"(address));
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
matmul_tma_specialised(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, const Params p
#if TMA_A
                       , const __grid_constant__ TensorMap a_map
#endif
#if TMA_B
                       , const __grid_constant__ TensorMap b_map
#endif
) {
    extern __shared__ __align__(1024) float shared[];  // [STAGES][STAGE_A + STAGE_B], then 2 * STAGES barriers
    unsigned int stages = (unsigned int)__cvta_generic_to_shared(shared);
    asm volatile("" : "+r"(stages));  // keeps the address in a register instead of computing it again at every use
    const unsigned int full = stages + STAGES * STAGE_BYTES;  // barrier [STAGES]: the stage has been filled
    const unsigned int empty = full + STAGES * BARRIER;       // barrier [STAGES]: the consumers have read it

    if (threadIdx.x == 0) {
        for (unsigned int stage = 0; stage < STAGES; ++stage) {
            barrier_init(full + stage * BARRIER, (TMA_A || TMA_B ? 1 : 0) + (TMA_A && TMA_B ? 0 : PRODUCERS));
            barrier_init(empty + stage * BARRIER, CONSUMERS * ARRIVALS);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");  // TMA must see them too
    }
    __syncthreads();  // waits for the barriers to exist

    const unsigned int tiles_m = (p.m + BLOCK_M - 1) / BLOCK_M, tiles_n = (p.n + BLOCK_N - 1) / BLOCK_N;
    const unsigned int tiles = tiles_m * tiles_n * p.batch;
    const unsigned int steps = (p.k + BLOCK_K - 1) / BLOCK_K;
    const unsigned int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    unsigned int stage = 0, parity = 0;  // the ring's position: parity flips at every wrap

    if (warp >= CONSUMERS) {  // the producers
        asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(PRODUCER_REGISTERS));
        const unsigned int thread = threadIdx.x - CONSUMERS * 32;
        if (TMA_A && TMA_B && thread != 0) return;  // one thread asks TMA for everything; no barrier of the whole block follows
        for (unsigned int index = blockIdx.x; index < tiles; index += gridDim.x) {
            const Tile tile = tile_at(index, tiles_m, tiles_n);
            for (unsigned int step = 0; step < steps; ++step) {
                const unsigned int stage_a = stages + stage * STAGE_BYTES, stage_b = stage_a + STAGE_A * FLOAT;
                const unsigned int k = step * BLOCK_K, ready = full + stage * BARRIER;
                barrier_wait(empty + stage * BARRIER, parity ^ 1);  // a fresh barrier counts as the phase before: passes
#if TMA_A || TMA_B
                if (thread == 0) {
                    barrier_expect(ready, (TMA_A * STAGE_A + TMA_B * STAGE_B) * FLOAT);
#if TMA_A
                    tma_load(stage_a, &a_map, ready, tile.row, k, tile.batch);
#endif
#if TMA_B
                    tma_load(stage_b, &b_map, ready, tile.col, k, tile.batch);
#endif
                }
#endif
                if (!TMA_A) copy_tile<!TRANSPOSE_A, BLOCK_M>(stage_a, a + p.a_offset + tile.batch * p.a_stride, p.a_ld, tile.row, p.m, k, p.k, thread);
                if (!TMA_B) copy_tile<TRANSPOSE_B, BLOCK_N>(stage_b, b + p.b_offset + tile.batch * p.b_stride, p.b_ld, tile.col, p.n, k, p.k, thread);
                if (!TMA_A || !TMA_B) barrier_arrive_after_copies(ready);
                if (++stage == STAGES) stage = 0, parity ^= 1;
            }
        }
        return;
    }
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(CONSUMER_REGISTERS));

    const unsigned int warp_row = warp % WARPS_M * WARP_TILE, warp_col = warp / WARPS_M * WARP_TILE;
    const unsigned int a_first = stages + (warp_row + lane % LANES_M * QUAD) * FLOAT;            // this thread's rows in stage 0 at k 0
    const unsigned int b_first = stages + (STAGE_A + warp_col + lane / LANES_M * QUAD) * FLOAT;  // and its columns

    for (unsigned int index = blockIdx.x; index < tiles; index += gridDim.x) {
        const Tile tile = tile_at(index, tiles_m, tiles_n);
        const bool inside = tile.row + warp_row < p.m && tile.col + warp_col < p.n;  // a warp wholly outside C only keeps the ring turning
        float sum[ROWS][COLS] = {};                      // [ROWS][COLS]
        float a_fragment[2][ROWS], b_fragment[2][COLS];  // [buffer][ROWS], [buffer][COLS]: this k and the next

        if (inside && steps) {
            barrier_wait(full + stage * BARRIER, parity);
#pragma unroll
            for (unsigned int i = 0; i < ROWS; i += QUAD) load_quad(a_fragment[0] + i, a_first + stage * STAGE_BYTES + i * LANES_M * FLOAT);
#pragma unroll
            for (unsigned int j = 0; j < COLS; j += QUAD) load_quad(b_fragment[0] + j, b_first + stage * STAGE_BYTES + j * LANES_N * FLOAT);
        }
        for (unsigned int step = 0; step < steps; ++step) {
            const unsigned int read = empty + stage * BARRIER, now = stage * STAGE_BYTES;
            if (!inside) barrier_wait(full + stage * BARRIER, parity);
            if (++stage == STAGES) stage = 0, parity ^= 1;
            if (inside) {
                const unsigned int next = step + 1 < steps ? stage * STAGE_BYTES : now;  // after the last step: read anything, use nothing
#pragma unroll 1
                for (unsigned int k = 0; k < BLOCK_K; k += UNROLL) {
#pragma unroll
                    for (unsigned int kk = 0; kk < UNROLL; ++kk) {
                        const bool last = kk == UNROLL - 1 && k == BLOCK_K - UNROLL;
                        if (last && step + 1 < steps) barrier_wait(full + stage * BARRIER, parity);
                        const unsigned int from = last ? next : now, row = last ? 0 : k + kk + 1;
                        const unsigned int buffer = kk % 2;
#pragma unroll
                        for (unsigned int j = 0; j < COLS; j += QUAD) {
                            if (j < ROWS) load_quad(a_fragment[1 - buffer] + j, a_first + from + (row * A_LD + j * LANES_M) * FLOAT);
                            load_quad(b_fragment[1 - buffer] + j, b_first + from + (row * B_LD + j * LANES_N) * FLOAT);
#pragma unroll
                            for (unsigned int x = 0; x < QUAD; ++x)
#pragma unroll
                                for (unsigned int y = 0; y < ROWS; ++y) {
                                    const unsigned int i = x % 2 ? ROWS - 1 - y : y;  // back and forth: the register at the turn is reused
                                    sum[i][j + x] = fmaf(a_fragment[buffer][i], b_fragment[buffer][j + x], sum[i][j + x]);
                                }
                        }
                    }
                }
            }
            __syncwarp();  // waits for all lanes' reads of this stage
            if (ARRIVALS > 1 || lane == 0) barrier_arrive(read);
        }

        if (inside) {
            unsigned int thread;  // read again, so that no address of the epilogue occupies a register during the loop
            asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
            const unsigned int first_row = tile.row + thread / 32 % WARPS_M * WARP_TILE + thread % LANES_M * QUAD;
            const unsigned int first_col = tile.col + thread / 32 / WARPS_M * WARP_TILE + thread / LANES_M % LANES_N * QUAD;
            float* c_tile = c + p.c_offset + tile.batch * p.c_stride;
#pragma unroll
            for (unsigned int i = 0; i < ROWS; ++i) {
                const unsigned int row = first_row + i / QUAD * (QUAD * LANES_M) + i % QUAD;
                if (row >= p.m) continue;
                float* c_row = c_tile + (size_t)row * p.c_ld;
#pragma unroll
                for (unsigned int j = 0; j < COLS; j += QUAD) {
                    const unsigned int col = first_col + j * LANES_N;
                    float* place = c_row + col;
                    if (VECTOR_C && col + QUAD <= p.n) {
                        float4 value = {p.alpha * sum[i][j], p.alpha * sum[i][j + 1], p.alpha * sum[i][j + 2], p.alpha * sum[i][j + 3]};
                        if (p.beta != 0.0f) {  // beta == 0 must not read c: what lies there may be NaN
                            const float4 old = *reinterpret_cast<const float4*>(place);
                            value = {fmaf(p.beta, old.x, value.x), fmaf(p.beta, old.y, value.y), fmaf(p.beta, old.z, value.z), fmaf(p.beta, old.w, value.w)};
                        }
                        *reinterpret_cast<float4*>(place) = value;
                        continue;
                    }
#pragma unroll
                    for (unsigned int x = 0; x < QUAD; ++x)
                        if (col + x < p.n) place[x] = p.beta != 0.0f ? fmaf(p.beta, place[x], p.alpha * sum[i][j + x]) : p.alpha * sum[i][j + x];
                }
            }
        }
    }
}
