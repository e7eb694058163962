// Idea. The result leaves through shared memory behind the products of the next tile: a finished tile of 16 bits stays in registers, half as large as its sums; while the next products run, a warp packs 16 rows with stmatrix and a bulk tensor store writes them.
// Changed from the rung below. Registers no longer store to global memory; the row edges are clipped by the tensor map instead of by predicates. Whoever waits for products has waited for the next operands before. The last tile leaves through the ring, and the first copies start before the block has met.
// A thread owns. As consumer 1/128 of a 64 x BLOCK_N strip of C (BLOCK_N / 2 sums per strip); one producer thread owns the ring of operand tiles.
// Memory traffic. As below; C is written once, in full 128-byte lines.
// Needs. sm_90a, tensor maps of a, b and c (inner dimension contiguous, 16-byte base and strides, 128-byte swizzle), dynamic shared memory, a cluster of CLUSTER blocks.

#ifndef TF32
#define TF32 0  // 1: f32 inputs, rounded to tf32 by the copy (TRANSPOSE_A 0, TRANSPOSE_B 1, OUTPUT_F32 1)
#endif
#ifndef BF16
#define BF16 1  // 1: bf16 inputs, 0: f16 inputs
#endif
#ifndef OUTPUT_F32
#define OUTPUT_F32 TF32  // 1: c is f32, 0: c has the input type
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
#ifndef CLUSTER
#define CLUSTER 2  // blocks along m that share one tile of b
#endif
#ifndef RASTER
#define RASTER 8  // cluster rows per group: consecutive tiles form squares that fit in L2
#endif
#ifndef STORE_BUFFERS
#define STORE_BUFFERS 2  // 128-byte wide parts of C that a warp packs before it asks for their stores
#endif
#ifndef PRODUCER_REGISTERS
#define PRODUCER_REGISTERS 24
#endif
#ifndef CONSUMER_REGISTERS
#define CONSUMER_REGISTERS 240
#endif

#define STRIP_M 64  // rows of one wgmma
#define BLOCK_M (CONSUMERS * STRIPS * STRIP_M)
#define ELEMENT_BYTES (TF32 ? 4 : 2)
#define BLOCK_K (128 / ELEMENT_BYTES)  // the width of the swizzle
#define BOX BLOCK_K                    // contiguous elements of one swizzled box
#define MMA_K (32 / ELEMENT_BYTES)
#define WARP 32
#define WARPGROUP 128
#define THREADS ((CONSUMERS + 1) * WARPGROUP)
#define LINE_BYTES 128
#define ATOM_BYTES 1024  // 8 lines: the swizzle repeats
#define A_BYTES (BLOCK_M * BLOCK_K * ELEMENT_BYTES)
#define B_BYTES (BLOCK_N * BLOCK_K * ELEMENT_BYTES)
#define STAGE_BYTES (A_BYTES + B_BYTES)
#define BOX_BYTES (BOX * BLOCK_K * ELEMENT_BYTES)
#define WARP_ROWS 16                              // rows of C one warp holds
#define STORE_BYTES (WARP_ROWS * LINE_BYTES)      // one bulk store
#define STORE_COLUMNS (OUTPUT_F32 ? 32 : 64)      // 128 bytes of C
#define STORE_ALIGNMENT (OUTPUT_F32 ? 4 : 8)      // 16 bytes of C
#define PARTS (BLOCK_N / STORE_COLUMNS)           // of a strip
#define WORDS 16                                  // of 32 bits that a thread holds of one part
#define HOLD (!OUTPUT_F32)                         // a thread has registers for a finished tile beside the sums of the next
#define TURNS ((STRIPS * PARTS + STORE_BUFFERS - 1) / STORE_BUFFERS)  // to empty a tile through the buffers
#define SHARED_BYTES (ATOM_BYTES + STAGES * STAGE_BYTES + CONSUMERS * 4 * STORE_BUFFERS * STORE_BYTES + 2 * STAGES * 8)

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
#define SHAPE_K "k8"
#define TYPE "tf32"
#elif BF16
#define SHAPE_K "k16"
#define TYPE "bf16"
#else
#define SHAPE_K "k16"
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
#define MAJOR ""  // k contiguous, always
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
        "wgmma.mma_async.sync.aligned.m64n" TEXT(BLOCK_N) SHAPE_K ".f32." TYPE "." TYPE " {" REGISTERS "}, " INPUTS ", 1, 1" MAJOR ";\n}"
        : SUMS(d)
        : "l"(a), "l"(b), "r"(scale));
}

// A wgmma descriptor of a 128-byte swizzled tile. Eight lines (1024 bytes) are one atom.
// Along k contiguous: atoms follow each other down the rows. Along m or n contiguous: atoms follow each other along k, boxes of 64 along m or n.
// The high word is the same for all: the swizzle and the distance of atoms. The low word has the distance of boxes and the address in the block, in units of 16 bytes.
#define DESCRIPTOR_HIGH (1u << 30 | ATOM_BYTES / 16)
#define DESCRIPTOR_BOXES ((unsigned int)(BOX_BYTES / 16) << 16)
__device__ __forceinline__ unsigned long long descriptor(unsigned int low) {
    return (unsigned long long)DESCRIPTOR_HIGH << 32 | low;
}
__device__ __forceinline__ unsigned int descriptor_low(unsigned int address) {  // its upper bits are the block's rank in the cluster
    return DESCRIPTOR_BOXES | (address & 0x3FFFF) / 16;
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
#if CLUSTER == 1
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
#else
    asm volatile(
        "{ .reg .b32 remote; mapa.shared::cluster.u32 remote, %0, %1;\n"
        "mbarrier.arrive.shared::cluster.b64 _, [remote]; }" ::"r"(barrier), "r"(rank) : "memory");
#endif
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

__device__ __forceinline__ unsigned int pack(float low, float high) {
    unsigned int pair;
#if BF16
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
#else
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
#endif
    return pair;
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

struct Tile { unsigned int row, column, batch; };  // first row and column of C

// Tiles of a cluster's size go down RASTER rows, then one column to the right. The branches save divisions, which are long, where they are not needed.
__device__ __forceinline__ Tile tile_at(unsigned int index, const Params& p, unsigned int rank) {
    const unsigned int tiles_m = (p.m + CLUSTER * BLOCK_M - 1) / (CLUSTER * BLOCK_M);
    const unsigned int tiles_n = (p.n + BLOCK_N - 1) / BLOCK_N;
    const unsigned int per_batch = tiles_m * tiles_n, per_group = RASTER * tiles_n;
    const unsigned int batch = index < per_batch ? 0 : index / per_batch;
    const unsigned int in_batch = index - batch * per_batch;
    const unsigned int group = in_batch < per_group ? 0 : in_batch / per_group;
    const unsigned int in_group = in_batch - group * per_group;
    const unsigned int rows = min((unsigned int)RASTER, tiles_m - group * RASTER);
    const unsigned int column = rows == RASTER ? in_group / RASTER : in_group / rows;
    const unsigned int row = group * RASTER + in_group - column * rows;
    return Tile{(row * CLUSTER + rank) * BLOCK_M, column * BLOCK_N, batch};
}

// One part of a strip in the words of c, without and with beta times c.
__device__ __forceinline__ unsigned int word(const float* sums, int i, float alpha) {
#if OUTPUT_F32
    return __float_as_uint(alpha * sums[i]);
#else
    return pack(alpha * sums[2 * i], alpha * sums[2 * i + 1]);
#endif
}
__device__ __forceinline__ void finish(const float (&sums)[BLOCK_N / 2], int part, unsigned int (&words)[WORDS], float alpha) {
#pragma unroll
    for (int i = 0; i < WORDS; i++) words[i] = word(sums + part * (STORE_COLUMNS / 2), i, alpha);
}
__device__ __forceinline__ void finish_onto(const float (&sums)[BLOCK_N / 2], int part, unsigned int (&words)[WORDS], const Output* c, const Params& p, unsigned int row, unsigned int column, unsigned int lane) {
    const unsigned int y = row + lane / 4, x = column + lane % 4 * 2;
    const Output* old = c + (size_t)y * p.c_ld + x;
#pragma unroll
    for (int i = 0; i < STORE_COLUMNS / 4; i++) {
        const int down = i % 2 * 8, right = i / 2 * 8;
        float low = p.alpha * sums[part * (STORE_COLUMNS / 2) + i * 2], high = p.alpha * sums[part * (STORE_COLUMNS / 2) + i * 2 + 1];
        if (y + down < p.m && x + right < p.n) low += p.beta * widen(old[(size_t)down * p.c_ld + right]);
        if (y + down < p.m && x + right + 1 < p.n) high += p.beta * widen(old[(size_t)down * p.c_ld + right + 1]);
#if OUTPUT_F32
        words[i * 2] = __float_as_uint(low);
        words[i * 2 + 1] = __float_as_uint(high);
#else
        words[i] = pack(low, high);
#endif
        asm volatile("" ::: "memory");  // a few loads at a time: registers are full
    }
}

// Writes one part to shared memory, 16 lines of 128 bytes, swizzled.
__device__ __forceinline__ void place(unsigned int target, const unsigned int (&words)[WORDS], unsigned int lane) {
#if OUTPUT_F32
#pragma unroll
    for (int j = 0; j < STORE_COLUMNS / 8; j++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const unsigned int line = lane / 4 + half * 8;
            const unsigned int chunk = (2 * j + lane % 4 / 2) ^ (line % 8);
            const int i = j * 4 + half * 2;
            asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(target + line * LINE_BYTES + chunk * 16 + lane % 2 * 8), "r"(words[i]), "r"(words[i + 1]) : "memory");
        }
#else
#pragma unroll
    for (int j = 0; j < STORE_COLUMNS / 16; j++) {
        const unsigned int line = lane % WARP_ROWS;
        const unsigned int chunk = (2 * j) ^ (lane / 16) ^ (line % 8);
        asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(target + line * LINE_BYTES + chunk * 16),
                     "r"(words[j * 4]), "r"(words[j * 4 + 1]), "r"(words[j * 4 + 2]), "r"(words[j * 4 + 3]) : "memory");
    }
#endif
}

// Writes one part straight to c: the right edge of rows that do not end on 16 bytes, which a bulk store would fill.
__device__ __forceinline__ void scatter(Output* c, const unsigned int (&words)[WORDS], const Params& p, unsigned int row, unsigned int column, unsigned int lane) {
    const unsigned int y = row + lane / 4, x = column + lane % 4 * 2;
    Output* to = c + (size_t)y * p.c_ld + x;
#pragma unroll
    for (int i = 0; i < STORE_COLUMNS / 4; i++) {
        const int down = i % 2 * 8, right = i / 2 * 8;
#if OUTPUT_F32
        const Output low = __uint_as_float(words[i * 2]), high = __uint_as_float(words[i * 2 + 1]);
#else
        const Output low = words[i], high = words[i] >> 16;
#endif
        if (y + down < p.m && x + right < p.n) to[(size_t)down * p.c_ld + right] = low;
        if (y + down < p.m && x + right + 1 < p.n) to[(size_t)down * p.c_ld + right + 1] = high;
    }
}

// Asks for the operand tiles of one step.
__device__ __forceinline__ void load_stage(unsigned int base, unsigned int full, unsigned int stage, const Tile& tile, unsigned int k, unsigned int rank, const TensorMap& a_map, const TensorMap& b_map) {
    const unsigned int a_tile = base + stage * STAGE_BYTES;
    const unsigned int b_tile = a_tile + A_BYTES;
    barrier_expect(full + stage * 8, STAGE_BYTES);
    if (TRANSPOSE_A) {
#pragma unroll
        for (unsigned int box = 0; box < BLOCK_M / BOX; box++)
            load(a_tile + box * BOX_BYTES, a_map, full + stage * 8, tile.row + box * BOX, k, tile.batch);
    } else {
        load(a_tile, a_map, full + stage * 8, k, tile.row, tile.batch);
    }
    if (TRANSPOSE_B) {
        load_to_cluster(b_tile + rank * (B_BYTES / CLUSTER), b_map, full + stage * 8, k, tile.column + rank * (BLOCK_N / CLUSTER), tile.batch);
    } else {
#pragma unroll
        for (unsigned int i = 0; i < BLOCK_N / BOX / CLUSTER; i++) {
            const unsigned int box = rank * (BLOCK_N / BOX / CLUSTER) + i;
            load_to_cluster(b_tile + box * BOX_BYTES, b_map, full + stage * 8, tile.column + box * BOX, k, tile.batch);
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
#if CLUSTER > 1
__cluster_dims__(CLUSTER, 1, 1)
#endif
matmul_async_store(const T* __restrict__ a, const T* __restrict__ b, Output* __restrict__ c, const Params p,
                   const __grid_constant__ TensorMap a_map, const __grid_constant__ TensorMap b_map, const __grid_constant__ TensorMap c_map) {
    extern __shared__ unsigned char shared[];  // [STAGES][A | B], [CONSUMERS][4][STORE_BUFFERS][STORE_BYTES], full[STAGES], empty[STAGES]
    const unsigned int base = ((unsigned int)__cvta_generic_to_shared(shared) + ATOM_BYTES - 1) / ATOM_BYTES * ATOM_BYTES;
    const unsigned int stores = base + STAGES * STAGE_BYTES;
    const unsigned int full = stores + CONSUMERS * 4 * STORE_BUFFERS * STORE_BYTES;
    const unsigned int empty = full + STAGES * 8;
    const unsigned int warpgroup = __shfl_sync(0xFFFFFFFF, threadIdx.x / WARPGROUP, 0);
    const unsigned int warp_of_block = __shfl_sync(0xFFFFFFFF, threadIdx.x / WARP, 0);
    const unsigned int rank = blockIdx.x % CLUSTER;
    const unsigned int clusters = gridDim.x / CLUSTER;
    const unsigned int tiles = (p.m + CLUSTER * BLOCK_M - 1) / (CLUSTER * BLOCK_M) * ((p.n + BLOCK_N - 1) / BLOCK_N) * p.batch;
    const unsigned int steps = (p.k + BLOCK_K - 1) / BLOCK_K;

    if (threadIdx.x == WARP) asm volatile("prefetch.tensormap [%0];\nprefetch.tensormap [%1];\nprefetch.tensormap [%2];" ::"l"(&a_map), "l"(&b_map), "l"(&c_map) : "memory");
    if (threadIdx.x == 0) {
        for (unsigned int stage = 0; stage < STAGES; stage++) {
            barrier_init(full + stage * 8, 1);
            barrier_init(empty + stage * 8, CONSUMERS * CLUSTER);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#if CLUSTER == 1
        const Tile tile = tile_at(blockIdx.x, p, 0);  // no other block writes here: the first copies need not wait for one
        for (unsigned int stage = 0; blockIdx.x < tiles && stage < STAGES && stage < steps; stage++)
            load_stage(base, full, stage, tile, stage * BLOCK_K, 0, a_map, b_map);
#endif
    }
    __syncwarp();
#if CLUSTER > 1
    cluster_start();  // the barriers of every block of the cluster are initialised
#endif

    if (warpgroup == 0) {
#if CLUSTER == 1
        asm volatile("bar.arrive 0, %0;" ::"n"(THREADS) : "memory");  // the barriers are initialised
#endif
        asm volatile("setmaxnreg.dec.sync.aligned.u32 " TEXT(PRODUCER_REGISTERS) ";");
        if (warp_of_block == 0 && elect()) {
            unsigned int stage = 0, parity = 1;
#if CLUSTER == 1
            unsigned int step = min((unsigned int)STAGES, steps);  // the first steps have been asked for
            stage = step % STAGES;
            parity = step == STAGES ? 0 : 1;
#else
            unsigned int step = 0;
#endif
            for (unsigned int index = blockIdx.x / CLUSTER; index < tiles; index += clusters) {
                const Tile tile = tile_at(index, p, rank);
                for (; step < steps; step++) {
                    const unsigned int k = step * BLOCK_K;
                    barrier_wait(empty + stage * 8, parity);  // every consumer of the cluster has read this stage
                    load_stage(base, full, stage, tile, k, rank, a_map, b_map);
                    if (++stage == STAGES) { stage = 0; parity ^= 1; }
                }
                step = 0;
            }
        }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 " TEXT(CONSUMER_REGISTERS) ";");
#if CLUSTER == 1
        asm volatile("bar.sync 0, %0;" ::"n"(THREADS) : "memory");  // the barriers are initialised
#endif
        const unsigned int consumer = warpgroup - 1;
        const unsigned int thread = threadIdx.x % WARPGROUP;
        const unsigned int warp = thread / WARP;
        const unsigned int lane = thread % WARP;
        const unsigned int store = stores + (consumer * 4 + warp) * STORE_BUFFERS * STORE_BYTES;
        unsigned int stage = 0, parity = 0;
        float sums[STRIPS][BLOCK_N / 2];  // per strip: columns 8 j + 2 (lane % 4) + {0, 1} of rows lane / 4 and lane / 4 + 8
#if HOLD
        unsigned int held[STRIPS * PARTS][WORDS];  // the previous tile, in c's type
        bool pending = false;                      // it has not left yet
#endif
        Tile last = {};  // the tile that was finished last
#pragma unroll
        for (int strip = 0; strip < STRIPS; strip++)
#pragma unroll
            for (int i = 0; i < BLOCK_N / 2; i++) sums[strip][i] = 0;

        const unsigned int a_first = descriptor_low(base + consumer * STRIPS * STRIP_M * LINE_BYTES);  // a strip is 64 lines either way
        const unsigned int b_first = descriptor_low(base + A_BYTES);
        unsigned int a_tile = a_first, b_tile = b_first;
        auto advance = [&]() {
            stage++;
            a_tile += STAGE_BYTES / 16;
            b_tile += STAGE_BYTES / 16;
            if (stage == STAGES) { stage = 0; parity ^= 1; a_tile = a_first; b_tile = b_first; }
        };
        auto start = [&](unsigned int step) {  // the products of one step, left running
            asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
            for (int i = 0; i < BLOCK_K / MMA_K; i++)
#pragma unroll
                for (int strip = 0; strip < STRIPS; strip++)
                    wgmma(sums[strip], descriptor(a_tile + (strip * STRIP_M * LINE_BYTES + i * A_STEP) / 16), descriptor(b_tile + i * B_STEP / 16), i > 0 || step > 0);
            asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        };
        // After the products of a step have started: wait for the next operands, then for the products of the step before. Its stage is free again.
        auto follow = [&](unsigned int step, bool next) {
            const unsigned int before = stage == 0 ? STAGES - 1 : stage - 1;
            advance();
            if (next) barrier_wait(full + stage * 8, parity);  // the next operand tiles have landed
            if (step > 0) {
                asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
                if (thread < CLUSTER) barrier_arrive(empty + before * 8, thread);
            }
        };
        auto row_of = [&](int strip) { return last.row + (consumer * STRIPS + strip) * STRIP_M + warp * WARP_ROWS; };
        auto column_of = [&](int part) { return last.column + part % PARTS * STORE_COLUMNS; };
        auto await_buffers = [&]() {
            if (lane == 0) asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
            __syncwarp();  // the stores that last used the buffers have read them
        };
        auto send = [&](int from, int to, unsigned int buffers) {
            asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
            __syncwarp();  // the whole warp has written its 16 lines of every buffer
            if (lane == 0) {
#pragma unroll
                for (int part = from; part < STRIPS * PARTS && part < to; part++)
                    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%2, %3, %4}], [%1];"
                                 ::"l"(&c_map), "r"(buffers + (part - from) * STORE_BYTES), "r"(column_of(part)), "r"(row_of(part / PARTS)), "r"(last.batch) : "memory");
                asm volatile("cp.async.bulk.commit_group;" ::: "memory");
            }
        };

        if (steps > 0 && blockIdx.x / CLUSTER < tiles) barrier_wait(full, 0);  // the first operand tiles have landed
        for (unsigned int index = blockIdx.x / CLUSTER; index < tiles; index += clusters) {
            unsigned int step = 0;
            const bool more = index + clusters < tiles;
#if HOLD
            if (pending) {  // the previous tile leaves behind the first products of this one
#pragma unroll
                for (int turn = 0; turn < TURNS; turn++) {
                    start(step);
                    await_buffers();
#pragma unroll
                    for (int part = turn * STORE_BUFFERS; part < STRIPS * PARTS && part < (turn + 1) * STORE_BUFFERS; part++)
                        place(store + part % STORE_BUFFERS * STORE_BYTES, held[part], lane);
                    send(turn * STORE_BUFFERS, (turn + 1) * STORE_BUFFERS, store);
                    follow(step, step + 1 < steps || more);
                    step++;
                }
            }
#endif
            for (; step < steps; step++) {
                start(step);
                if (step + 1 == steps) {
                    last = tile_at(index, p, rank);
                    asm volatile("" : "+r"(last.row), "+r"(last.column), "+r"(last.batch));  // here, while products run
                }
                follow(step, step + 1 < steps || more);
            }
            asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
            if (thread < CLUSTER && steps > 0) barrier_arrive(empty + (stage == 0 ? STAGES - 1 : stage - 1) * 8, thread);
            const bool edge = last.column + BLOCK_N > p.n && p.n % STORE_ALIGNMENT != 0;  // a bulk store would fill the last 16 bytes of a row
#if HOLD
            if (__builtin_expect(p.beta == 0 && !edge && (!more || steps > TURNS), 1)) {
                if (__builtin_expect(p.alpha == 1, 1)) {
#pragma unroll
                    for (int part = 0; part < STRIPS * PARTS; part++) finish(sums[part / PARTS], part % PARTS, held[part], 1);
                } else {
#pragma unroll
                    for (int part = 0; part < STRIPS * PARTS; part++) finish(sums[part / PARTS], part % PARTS, held[part], p.alpha);
                }
                pending = more;
                if (!more) {  // the last tile leaves at once: through the buffers, then through the ring
                    await_buffers();
                    const unsigned int ring = base + (consumer * 4 + warp) * STRIPS * PARTS * STORE_BYTES;
#pragma unroll
                    for (int part = 0; part < STRIPS * PARTS; part++) {
                        if (part == STORE_BUFFERS) asm volatile("bar.sync 1, %0;" ::"n"(CONSUMERS * WARPGROUP) : "memory");  // all products are done: the ring is free
                        const unsigned int buffer = part < STORE_BUFFERS ? store + part * STORE_BYTES : ring + part * STORE_BYTES;
                        place(buffer, held[part], lane);
                        send(part, part + 1, buffer);
                    }
                }
                continue;
            }
            pending = false;
#endif
            // The other ways: f32, beta, a ragged edge, too few steps.
            Output* to = c + p.c_offset + last.batch * p.c_stride;
#pragma unroll
            for (int turn = 0; turn < TURNS; turn++) {
                await_buffers();
#pragma unroll
                for (int part = turn * STORE_BUFFERS; part < STRIPS * PARTS && part < (turn + 1) * STORE_BUFFERS; part++) {
                    unsigned int words[WORDS];
                    if (p.beta == 0) finish(sums[part / PARTS], part % PARTS, words, p.alpha);
                    else finish_onto(sums[part / PARTS], part % PARTS, words, to, p, row_of(part / PARTS), column_of(part), lane);
                    if (edge) scatter(to, words, p, row_of(part / PARTS), column_of(part), lane);
                    else place(store + part % STORE_BUFFERS * STORE_BYTES, words, lane);
                }
                if (!edge) send(turn * STORE_BUFFERS, (turn + 1) * STORE_BUFFERS, store);
            }
        }
        if (lane == 0) asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    }
#if CLUSTER > 1
    cluster_sync();  // no block leaves while another may still write to its shared memory or arrive at its barriers
#endif
}
