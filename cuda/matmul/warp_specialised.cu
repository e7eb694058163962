// Idea. One warp only copies, two warpgroups only multiply: a ring of stages between them, with a full and an empty barrier per stage, replaces the barrier of the whole block.
// Changed from the rung below. A producer thread keeps STAGES tiles in flight; registers move from the producer to the consumers (setmaxnreg), so that a consumer holds 128 sums per strip of 256 columns.
// A thread owns. As consumer 1/128 of a 64 x BLOCK_N strip of C (BLOCK_N / 2 sums per strip); one producer thread owns the ring of operand tiles.
// Memory traffic. Per block and step one tile of a and one of b from L2; a wgmma of 256 columns reads 80 bytes of shared memory per clock, one of 128 columns 96.
// Needs. sm_90a, tensor maps of a and b (inner dimension contiguous, 16-byte base and strides, 128-byte swizzle), dynamic shared memory.

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
#ifndef CONSUMERS
#define CONSUMERS 2  // warpgroups that multiply
#endif
#ifndef STRIPS
#define STRIPS 1  // strips of 64 rows per consumer
#endif
#ifndef BLOCK_N
#define BLOCK_N 256
#endif
#ifndef STAGES
#define STAGES 4
#endif
#ifndef PRODUCER_REGISTERS
#define PRODUCER_REGISTERS 24
#endif
#ifndef CONSUMER_REGISTERS
#define CONSUMER_REGISTERS 240
#endif

#define STRIP_M 64  // rows of one wgmma
#define BLOCK_M (CONSUMERS * STRIPS * STRIP_M)
#define BLOCK_K 64  // 128 bytes: the width of the swizzle
#define MMA_K 16
#define BOX 64  // contiguous elements of one swizzled box
#define ELEMENT_BYTES 2
#define WARP 32
#define WARPGROUP 128
#define THREADS ((CONSUMERS + 1) * WARPGROUP)
#define LINE_BYTES 128
#define ATOM_BYTES 1024  // 8 lines: the swizzle repeats
#define A_BYTES (BLOCK_M * BLOCK_K * ELEMENT_BYTES)
#define B_BYTES (BLOCK_N * BLOCK_K * ELEMENT_BYTES)
#define STAGE_BYTES (A_BYTES + B_BYTES)
#define BOX_BYTES (BOX * BLOCK_K * ELEMENT_BYTES)
#define WARP_ROWS 16  // rows of C one warp holds
#define SHARED_BYTES (ATOM_BYTES + STAGES * STAGE_BYTES + 2 * STAGES * 8)

typedef unsigned short T;
#if OUTPUT_F32
typedef float Output;
#else
typedef unsigned short Output;
#endif
struct alignas(64) TensorMap { unsigned long long words[16]; };
struct Params {
    unsigned int block_x, block_y, block_z;
    unsigned int m, n, k;
    unsigned int a_ld, b_ld, c_ld;
    unsigned int batch;
    float alpha, beta;
    unsigned long long a_offset, b_offset, c_offset;
    unsigned long long a_stride, b_stride, c_stride;
};

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#if BF16
#define TYPE "bf16"
#else
#define TYPE "f16"
#endif

// The operand lists of one wgmma: BLOCK_N / 2 sums, then two descriptors and the scale.
#define SUMS_8(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
#define SUMS_32(d, i) SUMS_8(d, i), SUMS_8(d, i + 8), SUMS_8(d, i + 16), SUMS_8(d, i + 24)
#define R_0 "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
#define R_32 "%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
#define R_64 "%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95"
#define R_96 "%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111,%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127"
#if BLOCK_N == 256
#define REGISTERS R_0 "," R_32 "," R_64 "," R_96
#define SUMS(d) SUMS_32(d, 0), SUMS_32(d, 32), SUMS_32(d, 64), SUMS_32(d, 96)
#define INPUTS "%128, %129, p"
#define SCALE "%130"
#elif BLOCK_N == 192
#define REGISTERS R_0 "," R_32 "," R_64
#define SUMS(d) SUMS_32(d, 0), SUMS_32(d, 32), SUMS_32(d, 64)
#define INPUTS "%96, %97, p"
#define SCALE "%98"
#elif BLOCK_N == 128
#define REGISTERS R_0 "," R_32
#define SUMS(d) SUMS_32(d, 0), SUMS_32(d, 32)
#define INPUTS "%64, %65, p"
#define SCALE "%66"
#elif BLOCK_N == 64
#define REGISTERS R_0
#define SUMS(d) SUMS_32(d, 0)
#define INPUTS "%32, %33, p"
#define SCALE "%34"
#endif
#if TRANSPOSE_A && TRANSPOSE_B
#define MAJOR ", 1, 0"
#elif TRANSPOSE_A
#define MAJOR ", 1, 1"
#elif TRANSPOSE_B
#define MAJOR ", 0, 0"
#else
#define MAJOR ", 0, 1"
#endif

__device__ __forceinline__ void wgmma(float (&d)[BLOCK_N / 2], unsigned long long a, unsigned long long b, int scale) {
    asm volatile(
        "{ .reg .pred p; setp.ne.b32 p, " SCALE ", 0;\n"
        "wgmma.mma_async.sync.aligned.m64n" TEXT(BLOCK_N) "k16.f32." TYPE "." TYPE " {" REGISTERS "}, " INPUTS ", 1, 1" MAJOR ";\n}"
        : SUMS(d)
        : "l"(a), "l"(b), "r"(scale));
}

// A wgmma descriptor of a 128-byte swizzled tile. Eight lines (1024 bytes) are one atom.
// Along k contiguous: atoms follow each other down the rows. Along m or n contiguous: atoms follow each other along k, boxes of 64 along m or n.
#define DESCRIPTOR_SWIZZLE (1ull << 62)
#define DESCRIPTOR_ATOMS ((unsigned long long)(ATOM_BYTES >> 4) << 32)
#define DESCRIPTOR_BOXES ((unsigned long long)(BOX_BYTES >> 4) << 16)
__device__ __forceinline__ unsigned long long descriptor(unsigned int address) {
    return DESCRIPTOR_SWIZZLE | DESCRIPTOR_ATOMS | DESCRIPTOR_BOXES | (unsigned long long)((address & 0x3FFFF) >> 4);
}
#define STEP_CONTIGUOUS_K (MMA_K * ELEMENT_BYTES)  // bytes from one 16-wide step along k to the next
#define STEP_CONTIGUOUS_MN (MMA_K * LINE_BYTES)
#define A_STEP (TRANSPOSE_A ? STEP_CONTIGUOUS_MN : STEP_CONTIGUOUS_K)
#define B_STEP (TRANSPOSE_B ? STEP_CONTIGUOUS_K : STEP_CONTIGUOUS_MN)

__device__ __forceinline__ void barrier_init(unsigned int barrier, unsigned int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
__device__ __forceinline__ void barrier_expect(unsigned int barrier, unsigned int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
__device__ __forceinline__ void barrier_arrive(unsigned int barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
__device__ __forceinline__ void barrier_wait(unsigned int barrier, unsigned int parity) {
    unsigned int done = 0;
#ifdef SPIN_LIMIT
    unsigned int tries = 0;
#endif
    while (!done) {
        asm volatile(
            "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
            : "=r"(done) : "r"(barrier), "r"(parity) : "memory");
#ifdef SPIN_LIMIT
        if (++tries > SPIN_LIMIT) asm volatile("trap;");
#endif
    }
}
__device__ __forceinline__ void load(unsigned int target, const TensorMap& map, unsigned int barrier, unsigned int x, unsigned int y, unsigned int z) {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];"
        ::"r"(target), "l"(&map), "r"(barrier), "r"(x), "r"(y), "r"(z) : "memory");
}
__device__ __forceinline__ bool elect() {  // true in one lane of the warp; the compiler knows that it is one
    unsigned int chosen;
    asm volatile("{ .reg .pred p; elect.sync _|p, 0xFFFFFFFF; selp.u32 %0, 1, 0, p; }" : "=r"(chosen));
    return chosen;
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
struct alignas(2 * sizeof(Output)) Pair { Output low, high; };
// Two neighbouring elements of C, in one access where the address allows it.
__device__ __forceinline__ void store(Output* to, unsigned int left, float low, float high, float alpha, float beta) {
    low *= alpha;
    high *= alpha;
    if (beta != 0) {
        low += beta * widen(to[0]);
        if (left > 1) high += beta * widen(to[1]);
    }
    if (left > 1 && (size_t)to % sizeof(Pair) == 0) {
        *(Pair*)to = Pair{narrow(low), narrow(high)};
    } else {
        to[0] = narrow(low);
        if (left > 1) to[1] = narrow(high);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
matmul_warp_specialised(const T* __restrict__ a, const T* __restrict__ b, Output* __restrict__ c, const Params p,
                        const __grid_constant__ TensorMap a_map, const __grid_constant__ TensorMap b_map) {
    extern __shared__ unsigned char shared[];  // [STAGES][A | B], full[STAGES], empty[STAGES]
    const unsigned int base = ((unsigned int)__cvta_generic_to_shared(shared) + ATOM_BYTES - 1) / ATOM_BYTES * ATOM_BYTES;
    const unsigned int full = base + STAGES * STAGE_BYTES;
    const unsigned int empty = full + STAGES * 8;

    const unsigned int warpgroup = __shfl_sync(0xFFFFFFFF, threadIdx.x / WARPGROUP, 0);
    const unsigned int warp_of_block = __shfl_sync(0xFFFFFFFF, threadIdx.x / WARP, 0);
    const unsigned int tile_row = (blockIdx.y + p.block_y) * BLOCK_M;
    const unsigned int tile_column = (blockIdx.x + p.block_x) * BLOCK_N;
    const unsigned int batch = blockIdx.z + p.block_z;
    const unsigned int steps = (p.k + BLOCK_K - 1) / BLOCK_K;

    if (threadIdx.x == 0) {
        for (unsigned int stage = 0; stage < STAGES; stage++) {
            barrier_init(full + stage * 8, 1);
            barrier_init(empty + stage * 8, CONSUMERS);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("prefetch.tensormap [%0];\nprefetch.tensormap [%1];" ::"l"(&a_map), "l"(&b_map) : "memory");
    }
    __syncthreads();  // the barriers are initialised

    if (warpgroup == 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 " TEXT(PRODUCER_REGISTERS) ";");
        if (warp_of_block == 0 && elect()) {
            unsigned int stage = 0, parity = 1;
            for (unsigned int step = 0; step < steps; step++) {
                const unsigned int k = step * BLOCK_K;
                const unsigned int a_tile = base + stage * STAGE_BYTES;
                const unsigned int b_tile = a_tile + A_BYTES;
                barrier_wait(empty + stage * 8, parity);  // every consumer has read this stage
                barrier_expect(full + stage * 8, STAGE_BYTES);
                if (TRANSPOSE_A) {
#pragma unroll
                    for (unsigned int box = 0; box < BLOCK_M / BOX; box++)
                        load(a_tile + box * BOX_BYTES, a_map, full + stage * 8, tile_row + box * BOX, k, batch);
                } else {
                    load(a_tile, a_map, full + stage * 8, k, tile_row, batch);
                }
                if (TRANSPOSE_B) {
                    load(b_tile, b_map, full + stage * 8, k, tile_column, batch);
                } else {
#pragma unroll
                    for (unsigned int box = 0; box < BLOCK_N / BOX; box++)
                        load(b_tile + box * BOX_BYTES, b_map, full + stage * 8, tile_column + box * BOX, k, batch);
                }
                if (++stage == STAGES) { stage = 0; parity ^= 1; }
            }
        }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 " TEXT(CONSUMER_REGISTERS) ";");
        const unsigned int consumer = warpgroup - 1;
        const unsigned int thread = threadIdx.x % WARPGROUP;
        const unsigned int lane = thread % WARP;
        unsigned int stage = 0, parity = 0;
        float sums[STRIPS][BLOCK_N / 2];  // per strip: columns 8 j + 2 (lane % 4) + {0, 1} of rows lane / 4 and lane / 4 + 8
#pragma unroll
        for (int strip = 0; strip < STRIPS; strip++)
#pragma unroll
            for (int i = 0; i < BLOCK_N / 2; i++) sums[strip][i] = 0;
        for (unsigned int step = 0; step < steps; step++) {
            barrier_wait(full + stage * 8, parity);  // both operand tiles have landed
            const unsigned int a_tile = base + stage * STAGE_BYTES + consumer * STRIPS * STRIP_M * LINE_BYTES;  // a strip is 64 lines either way
            const unsigned int b_tile = base + stage * STAGE_BYTES + A_BYTES;
            asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
            for (int i = 0; i < BLOCK_K / MMA_K; i++)
#pragma unroll
                for (int strip = 0; strip < STRIPS; strip++)
                    wgmma(sums[strip], descriptor(a_tile + strip * STRIP_M * LINE_BYTES + i * A_STEP), descriptor(b_tile + i * B_STEP), 1);
            asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
            asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");  // meanwhile the other consumers' products keep the tensor cores busy
            if (thread == 0) barrier_arrive(empty + stage * 8);
            if (++stage == STAGES) { stage = 0; parity ^= 1; }
        }

        c += p.c_offset + batch * p.c_stride;
#pragma unroll
        for (int strip = 0; strip < STRIPS; strip++)
#pragma unroll
            for (int i = 0; i < BLOCK_N / 2; i += 2) {
                const unsigned int y = tile_row + consumer * STRIPS * STRIP_M + strip * STRIP_M + thread / WARP * WARP_ROWS + lane / 4 + i / 2 % 2 * 8;
                const unsigned int x = tile_column + i / 4 * 8 + lane % 4 * 2;
                if (y < p.m && x < p.n) store(c + (size_t)y * p.c_ld + x, p.n - x, sums[strip][i], sums[strip][i + 1], p.alpha, p.beta);
            }
    }
}
