// Idea. Copy from global to shared memory asynchronously, several tiles ahead, without passing through registers.
// Changed from the rung below. cp.async fills a ring of STAGES tiles: more loads in flight, fewer registers; fragments are read one k ahead. Every layout and alignment: the copy puts each element where the multiplication wants it.
// A thread owns. 8 x 8 results in registers.
// Memory traffic. Global: each element of a is read n/128 times, of b m/128 times. Shared: 4 reads of 16 bytes per 64 multiplications.
// Needs. Compute capability 8.0; all four layouts, any m, n, k, leading dimension, offset, alignment, batch (z); dynamic shared memory STAGES * BLOCK_K * 264 * 4 bytes.

#ifndef TRANSPOSE_A
#define TRANSPOSE_A 0  // 1: a is stored k x m
#endif
#ifndef TRANSPOSE_B
#define TRANSPOSE_B 0  // 1: b is stored n x k
#endif
#ifndef VECTOR_A
#define VECTOR_A 1  // 1: a, a_ld, a_stride are aligned to 16 bytes and m is a multiple of 4 (used with TRANSPOSE_A)
#endif
#ifndef VECTOR_B
#define VECTOR_B 1  // the same for b and n (used without TRANSPOSE_B)
#endif
#ifndef VECTOR_C
#define VECTOR_C 1
#endif
#ifndef STAGES
#define STAGES 4
#endif
#ifndef BLOCK_K
#define BLOCK_K 16
#endif

#define BLOCK_M 128
#define BLOCK_N 128
#define WARP_M 64    // a warp's part of C: WARP_M x WARP_N
#define WARP_N 32
#define WARPS_M 2    // BLOCK_M / WARP_M; 4 warps along n
#define LANES_M 8    // lanes along m; 4 along n
#define ROWS 8       // results per thread: ROWS x COLS, in blocks of 4 x 4
#define COLS 8
#define QUAD 4       // floats in a 16-byte access
#define THREADS 256
#define PAD 4        // floats: 8 k x 4 rows of a transposing copy hit 32 banks
#define A_LD (BLOCK_M + PAD)
#define B_LD (BLOCK_N + PAD)
#define STAGE (BLOCK_K * (A_LD + B_LD))  // floats; dynamic shared memory: STAGES * STAGE * 4 bytes

struct Params {
    unsigned int block_x, block_y, block_z;
    unsigned int m, n, k;
    unsigned int a_ld, b_ld, c_ld;
    unsigned int batch;
    float alpha, beta;
    unsigned long long a_offset, b_offset, c_offset;
    unsigned long long a_stride, b_stride, c_stride;
};

// Starts a copy of `bytes` (the rest of the 4 or 16 is zero) from global memory to a shared address.
__device__ __forceinline__ void copy_4(unsigned int target, const float* source, unsigned int bytes) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(target), "l"(source), "r"(bytes) : "memory");
}
__device__ __forceinline__ void copy_16(unsigned int target, const float* source, unsigned int bytes) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(target), "l"(source), "r"(bytes) : "memory");
}

// One operand's share of this thread: copies BLOCK_K x EXTENT elements to tile[k][i], wherever the operand keeps its k.
// Beyond the last k zeros are written; beyond the last i the last one is repeated, since those results are never stored.
template <bool K_CONTIGUOUS, bool VECTOR, unsigned int EXTENT>
struct Operand {
    static constexpr unsigned int WIDTH = !K_CONTIGUOUS && VECTOR ? QUAD : 1;        // elements per copy
    static constexpr unsigned int LANES_K = K_CONTIGUOUS ? 8 : THREADS * WIDTH / EXTENT;  // threads along k: 8 x 4 rows read 32 bytes of each row
    static constexpr unsigned int LANES_I = THREADS / LANES_K;                       // threads along i
    static constexpr unsigned int GROUPS = K_CONTIGUOUS ? EXTENT / LANES_I : 1;      // copies along i per thread
    const float* source[GROUPS];  // [GROUPS]
    size_t ld;
    unsigned int k_left, bytes, target;

    __device__ __forceinline__ Operand(const float* operand, unsigned int leading, unsigned int first, unsigned int extent, unsigned int k) {
        const unsigned int k_in = K_CONTIGUOUS ? threadIdx.x % LANES_K : threadIdx.x / LANES_I;
        const unsigned int i_in = K_CONTIGUOUS ? threadIdx.x / LANES_K : threadIdx.x % LANES_I * WIDTH;
        ld = leading;
        k_left = k > k_in ? k - k_in : 0;
        target = (k_in * (EXTENT + PAD) + i_in) * 4;
        const unsigned int quad = min(first + i_in, (extent - 1) / WIDTH * WIDTH);
        bytes = min(extent - quad, WIDTH) * 4;
#pragma unroll
        for (unsigned int g = 0; g < GROUPS; ++g)
            source[g] = K_CONTIGUOUS ? operand + min(first + i_in + g * LANES_I, extent - 1) * ld + k_in : operand + k_in * ld + quad;
    }

    __device__ __forceinline__ void copy(unsigned int tile) {  // and step to the next BLOCK_K
#pragma unroll
        for (unsigned int kk = 0; kk < BLOCK_K; kk += LANES_K) {
            const unsigned int rest = kk < k_left ? bytes : 0;
#pragma unroll
            for (unsigned int g = 0; g < GROUPS; ++g) {
                const unsigned int place = tile + target + (kk * (EXTENT + PAD) + g * LANES_I) * 4;
                const float* from = source[g] + (K_CONTIGUOUS ? kk : kk * ld);
                if (WIDTH == QUAD) copy_16(place, from, rest);
                else copy_4(place, from, rest);
            }
        }
#pragma unroll
        for (unsigned int g = 0; g < GROUPS; ++g) source[g] += K_CONTIGUOUS ? BLOCK_K : BLOCK_K * ld;
        k_left = k_left > BLOCK_K ? k_left - BLOCK_K : 0;
    }
};

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
matmul_pipelined(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, const Params p) {
    extern __shared__ __align__(16) float stages[];  // [STAGES][BLOCK_K][A_LD], each followed by [BLOCK_K][B_LD]

    const unsigned int block_row = (blockIdx.y + p.block_y) * BLOCK_M, block_col = (blockIdx.x + p.block_x) * BLOCK_N;
    const unsigned int batch = blockIdx.z + p.block_z;
    a += p.a_offset + batch * p.a_stride, b += p.b_offset + batch * p.b_stride, c += p.c_offset + batch * p.c_stride;

    const unsigned int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const unsigned int first_row = warp % WARPS_M * WARP_M + lane % LANES_M * QUAD, first_col = warp / WARPS_M * WARP_N + lane / LANES_M * QUAD;
    const unsigned int steps = (p.k + BLOCK_K - 1) / BLOCK_K;
    float sum[ROWS][COLS] = {};  // [ROWS][COLS]
    float a_fragment[2][ROWS], b_fragment[2][COLS];  // [buffer][ROWS], [buffer][COLS]

    Operand<!TRANSPOSE_A, VECTOR_A, BLOCK_M> a_operand(a, p.a_ld, block_row, p.m, p.k);
    Operand<TRANSPOSE_B, VECTOR_B, BLOCK_N> b_operand(b, p.b_ld, block_col, p.n, p.k);
    const unsigned int shared_stages = (unsigned int)__cvta_generic_to_shared(stages);
    const float* a_first = stages + first_row;  // of this thread, in stage 0
    const float* b_first = stages + BLOCK_K * A_LD + first_col;
    const auto fetch = [&](unsigned int step) {  // always one group of copies, an empty one past the end, so that counting groups counts stages
        if (step < steps) {
            const unsigned int stage = shared_stages + step % STAGES * (STAGE * 4);
            a_operand.copy(stage);
            b_operand.copy(stage + BLOCK_K * A_LD * 4);
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
    };
    const auto arrived = [&] {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
        __syncthreads();  // waits for every thread's copies of the next stage, and for every read of the stage before
    };
    const auto load = [&](unsigned int buffer, unsigned int step, unsigned int kk) {
        const float* a_row = a_first + step % STAGES * STAGE;
        const float* b_row = b_first + step % STAGES * STAGE;
#pragma unroll
        for (unsigned int i = 0; i < ROWS; i += QUAD) *reinterpret_cast<float4*>(a_fragment[buffer] + i) = *reinterpret_cast<const float4*>(a_row + kk * A_LD + i * LANES_M);
#pragma unroll
        for (unsigned int j = 0; j < COLS; j += QUAD) *reinterpret_cast<float4*>(b_fragment[buffer] + j) = *reinterpret_cast<const float4*>(b_row + kk * B_LD + j * (32 / LANES_M));
    };

    for (unsigned int step = 0; step < STAGES - 1; ++step) fetch(step);
    arrived();
    load(0, 0, 0);
    for (unsigned int step = 0; step < steps; ++step) {
#pragma unroll
        for (unsigned int kk = 0; kk < BLOCK_K; ++kk) {
            if (kk == BLOCK_K - 1) arrived();
            load((kk + 1) % 2, kk == BLOCK_K - 1 ? step + 1 : step, (kk + 1) % BLOCK_K);  // past the last step: zeros or an old stage, unused
            if (kk == 0) fetch(step + STAGES - 1);
#pragma unroll
            for (unsigned int j = 0; j < COLS; ++j)
#pragma unroll
                for (unsigned int i = 0; i < ROWS; ++i) {
                    const unsigned int row = j % 2 ? ROWS - 1 - i : i;  // back and forth: the register at the turn is reused
                    sum[row][j] = fmaf(a_fragment[kk % 2][row], b_fragment[kk % 2][j], sum[row][j]);
                }
        }
    }

#pragma unroll
    for (unsigned int i = 0; i < ROWS; ++i)
#pragma unroll
        for (unsigned int j = 0; j < COLS; j += QUAD)
            store(c, block_row + first_row + i / QUAD * (QUAD * LANES_M) + i % QUAD, block_col + first_col + j * (32 / LANES_M), sum[i] + j, p);
}
