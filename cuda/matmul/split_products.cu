// Idea. f32 results from tensor cores of shorter numbers: both operands are sums of parts, the products of parts that matter are all computed, the smallest first.
// Changed from the rung below. A stage holds every part of both tiles; a step's products start a fresh sum, which is then added to the f32 sums in registers, because the tensor cores truncate when they add; what that addition rounds off is added with the next one, and what they cut off on average with it.
// A thread owns. As consumer BLOCK_N / 2 sums, what they lost to rounding, and as many of the current step; one producer thread owns the ring of operand tiles.
// Memory traffic. PARTS times that of the 16-bit kernel for 3 (PARTS 2) or 6 (PARTS 3) times its products.
// Needs. sm_90a, tensor maps of the parts of a and b (third dimension batch * PARTS + part, box 64 x 64, 128-byte swizzle), the two inverse scales, dynamic shared memory, a cluster of CLUSTER blocks.

#ifndef BF16
#define BF16 0  // 1: bf16 parts, 0: f16 parts
#endif
#ifndef TF32
#define TF32 0  // 1: TF32 parts, unscaled, both operands along k (TRANSPOSE_A 0, TRANSPOSE_B 1)
#endif
#ifndef PARTS
#define PARTS (BF16 ? 3 : 2)
#endif
#ifndef PROMOTE_K
#define PROMOTE_K (BF16 ? 64 : 32)  // products along k between two additions to the f32 sums: the tensor cores truncate, these additions round
#endif
#ifndef COMPENSATED
#define COMPENSATED 1  // 1: what an addition to the f32 sums rounds off is kept and added with the next one
#endif
#ifndef GIVEN_BACK
#define GIVEN_BACK 0x1p-24f  // of each of these sums: about what the tensor cores cut off it, always towards zero
#endif
#define OUTPUT_F32 1
#ifndef TRANSPOSE_A
#define TRANSPOSE_A 0  // 1: a is stored k x m
#endif
#ifndef TRANSPOSE_B
#define TRANSPOSE_B 0  // 1: b is stored n x k
#endif
#ifndef CONSUMERS
#define CONSUMERS 2  // warpgroups that multiply
#endif
#ifndef BLOCK_N
#define BLOCK_N 128
#endif
#ifndef STAGES
#define STAGES 2
#endif
#ifndef CLUSTER
#define CLUSTER 2  // blocks along m that share one tile of b
#endif
#ifndef RASTER
#define RASTER 8  // cluster rows per group: consecutive tiles form squares that fit in L2
#endif
#ifndef PRODUCER_REGISTERS
#define PRODUCER_REGISTERS 24
#endif
#ifndef CONSUMER_REGISTERS
#define CONSUMER_REGISTERS 240
#endif

#define STRIP_M 64  // rows of one wgmma
#define BLOCK_M (CONSUMERS * STRIP_M)
#define ELEMENT_BYTES (TF32 ? 4 : 2)
#define BLOCK_K (LINE_BYTES / ELEMENT_BYTES)  // the width of the swizzle
#define MMA_K (32 / ELEMENT_BYTES)
#define BOX 64  // lines of one swizzled box
#define WARP 32
#define WARPGROUP 128
#define THREADS ((CONSUMERS + 1) * WARPGROUP)
#define LINE_BYTES 128
#define ATOM_BYTES 1024  // 8 lines: the swizzle repeats
#define A_BYTES (BLOCK_M * BLOCK_K * ELEMENT_BYTES)  // one part
#define B_BYTES (BLOCK_N * BLOCK_K * ELEMENT_BYTES)
#define B_BOXES (BLOCK_N / BOX)
#define STAGE_BYTES (PARTS * (A_BYTES + B_BYTES))
#define BOX_BYTES (BOX * LINE_BYTES)
#define WARP_ROWS 16  // rows of C one warp holds
#define SHARED_BYTES (ATOM_BYTES + STAGES * STAGE_BYTES + 2 * STAGES * 8)

#if TF32
typedef float T;
#else
typedef unsigned short T;
#endif
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
#if TF32
#define TYPE "tf32"
#elif BF16
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
#if TF32
#define MAJOR ""  // TF32 is read along k only
#define MMA_SHAPE "k8.f32."
#else
#define MMA_SHAPE "k16.f32."
#endif
#if TF32
#elif TRANSPOSE_A && TRANSPOSE_B
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
        "wgmma.mma_async.sync.aligned.m64n" TEXT(BLOCK_N) MMA_SHAPE TYPE "." TYPE " {" REGISTERS "}, " INPUTS ", 1, 1" MAJOR ";\n}"
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
__device__ __forceinline__ void barrier_arrive(unsigned int barrier, unsigned int rank) {
    asm volatile(
        "{ .reg .b32 remote; mapa.shared::cluster.u32 remote, %0, %1;\n"
        "mbarrier.arrive.shared::cluster.b64 _, [remote]; }" ::"r"(barrier), "r"(rank) : "memory");
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
__device__ __forceinline__ void load_to_cluster(unsigned int target, const TensorMap& map, unsigned int barrier, unsigned int x, unsigned int y, unsigned int z) {
#if CLUSTER == 1
    load(target, map, barrier, x, y, z);
#else
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%3, %4, %5}], [%2], %6;"
        ::"r"(target), "l"(&map), "r"(barrier), "r"(x), "r"(y), "r"(z), "h"((unsigned short)((1 << CLUSTER) - 1)) : "memory");
#endif
}
__device__ __forceinline__ bool elect() {  // true in one lane of the warp; the compiler knows that it is one
    unsigned int chosen;
    asm volatile("{ .reg .pred p; elect.sync _|p, 0xFFFFFFFF; selp.u32 %0, 1, 0, p; }" : "=r"(chosen));
    return chosen;
}
__device__ __forceinline__ void cluster_start() {  // after fence.mbarrier_init, which orders the barriers' initialisation
    asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}
__device__ __forceinline__ void cluster_sync() {
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
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

struct Tile { unsigned int row, column, batch; };  // first row and column of C

// Tiles of a cluster's size go down RASTER rows, then one column to the right.
__device__ __forceinline__ Tile tile_at(unsigned int index, const Params& p, unsigned int rank) {
    const unsigned int tiles_m = (p.m + CLUSTER * BLOCK_M - 1) / (CLUSTER * BLOCK_M);
    const unsigned int tiles_n = (p.n + BLOCK_N - 1) / BLOCK_N;
    const unsigned int in_batch = index % (tiles_m * tiles_n);
    const unsigned int group = in_batch / (RASTER * tiles_n);
    const unsigned int first = group * RASTER;
    const unsigned int rows = min((unsigned int)RASTER, tiles_m - first);
    const unsigned int in_group = in_batch % (RASTER * tiles_n);
    return Tile{((first + in_group % rows) * CLUSTER + rank) * BLOCK_M, in_group / rows * BLOCK_N, index / (tiles_m * tiles_n)};
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
#if CLUSTER > 1
__cluster_dims__(CLUSTER, 1, 1)
#endif
matmul_split_products(const float* __restrict__ a_inverse, const float* __restrict__ b_inverse, const T* __restrict__ a, const T* __restrict__ b, float* __restrict__ c, const Params p,
                      const __grid_constant__ TensorMap a_map, const __grid_constant__ TensorMap b_map) {
    extern __shared__ unsigned char shared[];  // [STAGES][A | B], full[STAGES], empty[STAGES]
    const unsigned int base = ((unsigned int)__cvta_generic_to_shared(shared) + ATOM_BYTES - 1) / ATOM_BYTES * ATOM_BYTES;
    const unsigned int full = base + STAGES * STAGE_BYTES;
    const unsigned int empty = full + STAGES * 8;

    const unsigned int warpgroup = __shfl_sync(0xFFFFFFFF, threadIdx.x / WARPGROUP, 0);
    const unsigned int warp_of_block = __shfl_sync(0xFFFFFFFF, threadIdx.x / WARP, 0);
    const unsigned int rank = blockIdx.x % CLUSTER;
    const unsigned int clusters = gridDim.x / CLUSTER;
    const unsigned int tiles = (p.m + CLUSTER * BLOCK_M - 1) / (CLUSTER * BLOCK_M) * ((p.n + BLOCK_N - 1) / BLOCK_N) * p.batch;
    const unsigned int steps = (p.k + BLOCK_K - 1) / BLOCK_K;

    if (threadIdx.x == 0) {
        for (unsigned int stage = 0; stage < STAGES; stage++) {
            barrier_init(full + stage * 8, 1);
            barrier_init(empty + stage * 8, CONSUMERS * CLUSTER);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("prefetch.tensormap [%0];\nprefetch.tensormap [%1];" ::"l"(&a_map), "l"(&b_map) : "memory");
    }
    __syncwarp();
    cluster_start();  // the barriers of every block of the cluster are initialised

    if (warpgroup == 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 " TEXT(PRODUCER_REGISTERS) ";");
        if (warp_of_block == 0 && elect()) {
            unsigned int stage = 0, parity = 1;
            for (unsigned int index = blockIdx.x / CLUSTER; index < tiles; index += clusters) {
                const Tile tile = tile_at(index, p, rank);
                for (unsigned int step = 0; step < steps; step++) {
                    const unsigned int k = step * BLOCK_K;
                    const unsigned int a_tile = base + stage * STAGE_BYTES;
                    const unsigned int b_tile = a_tile + PARTS * A_BYTES;
                    barrier_wait(empty + stage * 8, parity);  // every consumer of the cluster has read this stage
                    barrier_expect(full + stage * 8, STAGE_BYTES);
#pragma unroll
                    for (unsigned int i = 0; i < PARTS * (BLOCK_M / BOX); i++) {
                        const unsigned int part = tile.batch * PARTS + i / (BLOCK_M / BOX), row = tile.row + i % (BLOCK_M / BOX) * BOX;
                        load(a_tile + i * BOX_BYTES, a_map, full + stage * 8, TRANSPOSE_A ? row : k, TRANSPOSE_A ? k : row, part);
                    }
#pragma unroll
                    for (unsigned int j = 0; j < PARTS * B_BOXES / CLUSTER; j++) {
                        const unsigned int i = rank * (PARTS * B_BOXES / CLUSTER) + j;
                        const unsigned int part = tile.batch * PARTS + i / B_BOXES, column = tile.column + i % B_BOXES * BOX;
                        load_to_cluster(b_tile + i * BOX_BYTES, b_map, full + stage * 8, TRANSPOSE_B ? k : column, TRANSPOSE_B ? column : k, part);
                    }
                    if (++stage == STAGES) { stage = 0; parity ^= 1; }
                }
            }
        }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 " TEXT(CONSUMER_REGISTERS) ";");
        const unsigned int consumer = warpgroup - 1;
        const unsigned int thread = threadIdx.x % WARPGROUP;
        const unsigned int lane = thread % WARP;
        unsigned int stage = 0, parity = 0;
        const float alpha = TF32 ? p.alpha : p.alpha * *a_inverse * *b_inverse;
        float sums[BLOCK_N / 2];  // columns 8 j + 2 (lane % 4) + {0, 1} of rows lane / 4 and lane / 4 + 8
        float step_sums[BLOCK_N / 2];
#if COMPENSATED
        float lost[BLOCK_N / 2];  // what rounding took from each sum
#endif

        for (unsigned int index = blockIdx.x / CLUSTER; index < tiles; index += clusters) {
            const Tile tile = tile_at(index, p, rank);
#pragma unroll
            for (int i = 0; i < BLOCK_N / 2; i++) sums[i] = 0;
#if COMPENSATED
#pragma unroll
            for (int i = 0; i < BLOCK_N / 2; i++) lost[i] = 0;
#endif
            for (unsigned int step = 0; step < steps; step++) {
                barrier_wait(full + stage * 8, parity);  // every part of both operand tiles has landed
                const unsigned int a_tile = base + stage * STAGE_BYTES + consumer * STRIP_M * LINE_BYTES;  // a strip is 64 lines either way
                const unsigned int b_tile = base + stage * STAGE_BYTES + PARTS * A_BYTES;
#pragma unroll
                for (int first = 0; first < BLOCK_K; first += PROMOTE_K) {
#pragma unroll
                    for (int i = 0; i < BLOCK_N / 2; i++) step_sums[i] = 0;
                    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
                    for (int order = PARTS - 1; order >= 0; order--)  // parts a and b with a + b == order: each order is 11 or 8 bits below the one before
#pragma unroll
                        for (int part = 0; part <= order; part++)
#pragma unroll
                            for (int i = first / MMA_K; i < (first + PROMOTE_K) / MMA_K; i++)
                                wgmma(step_sums, descriptor(a_tile + part * A_BYTES + i * A_STEP), descriptor(b_tile + (order - part) * B_BYTES + i * B_STEP), 1);
                    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
                    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");  // meanwhile the other consumers' products keep the tensor cores busy
                    if (first + PROMOTE_K == BLOCK_K && thread < CLUSTER) barrier_arrive(empty + stage * 8, thread);
#pragma unroll
                    for (int i = 0; i < BLOCK_N / 2; i++) {
#if COMPENSATED
                        const float more = __fadd_rn(step_sums[i], __fmaf_rn(step_sums[i], GIVEN_BACK, lost[i])), sum = __fadd_rn(sums[i], more);
                        lost[i] = __fsub_rn(more, __fsub_rn(sum, sums[i]));
                        sums[i] = sum;
#else
                        sums[i] += step_sums[i];
#endif
                    }
                }
                if (++stage == STAGES) { stage = 0; parity ^= 1; }
            }

            Output* __restrict__ to = c + p.c_offset + tile.batch * p.c_stride;
#pragma unroll
            for (int i = 0; i < BLOCK_N / 2; i += 2) {
                const unsigned int y = tile.row + consumer * STRIP_M + thread / WARP * WARP_ROWS + lane / 4 + i / 2 % 2 * 8;
                const unsigned int x = tile.column + i / 4 * 8 + lane % 4 * 2;
                if (y < p.m && x < p.n) store(to + (size_t)y * p.c_ld + x, p.n - x, sums[i], sums[i + 1], alpha, p.beta);
            }
        }
    }
    cluster_sync();  // no block leaves while another may still write to its shared memory or arrive at its barriers
}
