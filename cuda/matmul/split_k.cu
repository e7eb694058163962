// Idea. The SPLIT blocks of a cluster share one tile of C and split its k: enough blocks when C has few tiles and k is long.
// Changed from the rung below. Each block keeps a 1 / SPLIT share of the columns, writes its partial sums of the others into their owners' shared memory, and adds what it gets, always in the same order. No workspace, no second pass, no atomics.
// A thread owns. As consumer BLOCK_N / 2 partial sums per strip; after the exchange BLOCK_N / 2 / SPLIT finished ones.
// Memory traffic. Operands as below, without multicast, the larger one marked to leave L2 first; (SPLIT - 1) / SPLIT of the f32 tile per block crosses between shared memories once; C is written in rows of 16-byte pieces.
// Needs. sm_90a, tensor maps of a and b (as below), dynamic shared memory, a cluster of SPLIT blocks.

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
#ifndef SPLIT
#define SPLIT 2  // blocks that share the k of one tile
#endif
#ifndef BLOCKS_PER_SM
#define BLOCKS_PER_SM 1  // on a multiprocessor at a time
#endif
#ifndef PRODUCER_REGISTERS
#define PRODUCER_REGISTERS 24
#endif
#ifndef CONSUMER_REGISTERS
#define CONSUMER_REGISTERS 240
#endif

#define STRIP_M 64  // rows of one wgmma
#define BLOCK_M (CONSUMERS * STRIPS * STRIP_M)
#ifndef A_ROWS
#define A_ROWS BLOCK_M  // of a that are copied: no more than that where c has few (TRANSPOSE_A 0)
#endif
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
#define PART (BLOCK_N / 2 / SPLIT)  // sums per strip that one block finishes
#define VECTOR 4                    // f32 in 16 bytes
#define WARP_ROWS 16  // rows of C one warp holds
#define PIECE (OUTPUT_F32 ? 4 : 8)        // elements of C in 16 bytes
#define PIECES (BLOCK_N / SPLIT / PIECE)  // of a row that one block finishes
#define ROW_BYTES (PIECES * 16 + 16)      // of finished rows in shared memory; 16 bytes more keep them off each other's banks
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
#elif BLOCK_N == 224
#define REGISTERS R_0 "," R_32 "," R_64 ",%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111"
#define SUMS(d) SUMS_32(d, 0), SUMS_32(d, 32), SUMS_32(d, 64), SUMS_8(d, 96), SUMS_8(d, 104)
#define INPUTS "%112, %113, p"
#define SCALE "%114"
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
#define EVICT_NORMAL 0x1000000000000000ull  // cache policies, as createpolicy makes them
#define EVICT_FIRST 0x12F0000000000000ull
__device__ __forceinline__ void load(unsigned int target, const TensorMap& map, unsigned int barrier, unsigned int x, unsigned int y, unsigned int z, unsigned long long policy) {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1, {%3, %4, %5}], [%2], %6;"
        ::"r"(target), "l"(&map), "r"(barrier), "r"(x), "r"(y), "r"(z), "l"(policy) : "memory");
}
__device__ __forceinline__ unsigned int remote_address(unsigned int address, unsigned int rank) {
    unsigned int remote;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(address), "r"(rank));
    return remote;
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

__device__ __forceinline__ unsigned int pack(float low, float high) {
    unsigned int pair;
#if BF16
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
#else
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
#endif
    return pair;
}

struct Tile { unsigned int row, column, batch; };  // first row and column of C

// Asks for the operand tiles of one step. The larger operand is read once or a few times, at once: it makes room in L2 first.
__device__ __forceinline__ void load_stage(unsigned int base, unsigned int full, unsigned int stage, const Tile& tile, unsigned int k, const Params& p, const TensorMap& a_map, const TensorMap& b_map) {
    const unsigned long long a_policy = p.m > p.n ? EVICT_FIRST : EVICT_NORMAL;
    const unsigned long long b_policy = p.m > p.n ? EVICT_NORMAL : EVICT_FIRST;
    const unsigned int a_tile = base + stage * STAGE_BYTES;
    const unsigned int b_tile = a_tile + A_BYTES;
    barrier_expect(full + stage * 8, STAGE_BYTES - (BLOCK_M - A_ROWS) * LINE_BYTES);
    if (TRANSPOSE_A) {
#pragma unroll
        for (unsigned int box = 0; box < BLOCK_M / BOX; box++)
            load(a_tile + box * BOX_BYTES, a_map, full + stage * 8, tile.row + box * BOX, k, tile.batch, a_policy);
    } else {
        load(a_tile, a_map, full + stage * 8, k, tile.row, tile.batch, a_policy);
    }
    if (TRANSPOSE_B) {
        load(b_tile, b_map, full + stage * 8, k, tile.column, tile.batch, b_policy);
    } else {
#pragma unroll
        for (unsigned int box = 0; box < BLOCK_N / BOX; box++)
            load(b_tile + box * BOX_BYTES, b_map, full + stage * 8, tile.column + box * BOX, k, tile.batch, b_policy);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM) __cluster_dims__(SPLIT, 1, 1)
matmul_split_k(const T* __restrict__ a, const T* __restrict__ b, Output* __restrict__ c, const Params p,
               const __grid_constant__ TensorMap a_map, const __grid_constant__ TensorMap b_map) {
    extern __shared__ unsigned char shared[];  // [STAGES][A | B], full[STAGES], empty[STAGES]; at last partial sums [SPLIT - 1][STRIPS][PART / VECTOR][CONSUMERS * WARPGROUP][VECTOR], finished rows [CONSUMERS][4][WARP_ROWS][ROW_BYTES]
    const unsigned int base = ((unsigned int)__cvta_generic_to_shared(shared) + ATOM_BYTES - 1) / ATOM_BYTES * ATOM_BYTES;
    const unsigned int full = base + STAGES * STAGE_BYTES;
    const unsigned int empty = full + STAGES * 8;

    const unsigned int warpgroup = __shfl_sync(0xFFFFFFFF, threadIdx.x / WARPGROUP, 0);
    const unsigned int warp_of_block = __shfl_sync(0xFFFFFFFF, threadIdx.x / WARP, 0);
    const unsigned int rank = blockIdx.x % SPLIT;
    const unsigned int index = (blockIdx.x + p.block_x) / SPLIT;
    const unsigned int tiles_m = (p.m + BLOCK_M - 1) / BLOCK_M;
    const Tile tile = {index % tiles_m * BLOCK_M, index / tiles_m * BLOCK_N, blockIdx.z + p.block_z};
    const unsigned int all_steps = (p.k + BLOCK_K - 1) / BLOCK_K;
    const unsigned int first_step = (unsigned long long)all_steps * rank / SPLIT;
    const unsigned int steps = (unsigned long long)all_steps * (rank + 1) / SPLIT - first_step;

    if (threadIdx.x == WARP) asm volatile("prefetch.tensormap [%0];\nprefetch.tensormap [%1];" ::"l"(&a_map), "l"(&b_map) : "memory");
    if (threadIdx.x == 0) {
        for (unsigned int stage = 0; stage < STAGES; stage++) {
            barrier_init(full + stage * 8, 1);
            barrier_init(empty + stage * 8, CONSUMERS);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        for (unsigned int stage = 0; stage < STAGES && stage < steps; stage++)
            load_stage(base, full, stage, tile, (first_step + stage) * BLOCK_K, p, a_map, b_map);
    }
    __syncwarp();

    if (warpgroup == 0) {
        asm volatile("bar.arrive 0, %0;" ::"n"(THREADS) : "memory");  // the barriers are initialised
        asm volatile("setmaxnreg.dec.sync.aligned.u32 " TEXT(PRODUCER_REGISTERS) ";");
        if (warp_of_block == 0 && elect()) {
            unsigned int stage = 0, parity = 0;
            for (unsigned int step = STAGES; step < steps; step++) {  // the first have been asked for
                barrier_wait(empty + stage * 8, parity);  // every consumer has read this stage
                load_stage(base, full, stage, tile, (first_step + step) * BLOCK_K, p, a_map, b_map);
                if (++stage == STAGES) { stage = 0; parity ^= 1; }
            }
        }
        __syncwarp();
        cluster_start();  // every block of the cluster has read its operands: the rings may take partial sums
        cluster_sync();  // the partial sums have arrived
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 " TEXT(CONSUMER_REGISTERS) ";");
        asm volatile("bar.sync 0, %0;" ::"n"(THREADS) : "memory");  // the barriers are initialised
        const unsigned int consumer = warpgroup - 1;
        const unsigned int thread = threadIdx.x % WARPGROUP;
        const unsigned int warp = thread / WARP;
        const unsigned int lane = thread % WARP;
        float sums[STRIPS][BLOCK_N / 2];  // per strip: columns 8 j + 2 (lane % 4) + {0, 1} of rows lane / 4 and lane / 4 + 8
#pragma unroll
        for (int strip = 0; strip < STRIPS; strip++)
#pragma unroll
            for (int i = 0; i < BLOCK_N / 2; i++) sums[strip][i] = 0;
        const unsigned int a_first = descriptor_low(base + consumer * STRIPS * STRIP_M * LINE_BYTES);  // a strip is 64 lines either way
        const unsigned int b_first = descriptor_low(base + A_BYTES);
        unsigned int stage = 0, parity = 0, a_tile = a_first, b_tile = b_first;
        if (steps > 0) barrier_wait(full, 0);  // the first operand tiles have landed
        for (unsigned int step = 0; step < steps; step++) {
            asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
            for (int i = 0; i < BLOCK_K / MMA_K; i++)
#pragma unroll
                for (int strip = 0; strip < STRIPS; strip++)
                    wgmma(sums[strip], descriptor(a_tile + (strip * STRIP_M * LINE_BYTES + i * A_STEP) / 16), descriptor(b_tile + i * B_STEP / 16), 1);
            asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
            const unsigned int used = stage++;
            a_tile += STAGE_BYTES / 16;
            b_tile += STAGE_BYTES / 16;
            if (stage == STAGES) { stage = 0; parity ^= 1; a_tile = a_first; b_tile = b_first; }
            if (step + 1 < steps) barrier_wait(full + stage * 8, parity);  // the next operand tiles have landed
            asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");  // meanwhile the other consumers' products keep the tensor cores busy
            if (thread == 0) barrier_arrive(empty + used * 8);
        }
        cluster_start();  // every block of the cluster has read its operands: the rings may take partial sums
        const unsigned int slot = (consumer * WARPGROUP + thread) * VECTOR * 4;
        const unsigned int slots = CONSUMERS * WARPGROUP * VECTOR * 4;  // bytes
#pragma unroll
        for (unsigned int owner = 0; owner < SPLIT; owner++)
            if (owner != rank) {
                const unsigned int to = remote_address(base, owner) + slot;
#pragma unroll
                for (int strip = 0; strip < STRIPS; strip++)
#pragma unroll
                    for (int i = 0; i < PART / VECTOR; i++) {
                        const float* from = &sums[strip][owner * PART + i * VECTOR];
                        asm volatile("st.shared::cluster.v4.f32 [%0], {%1, %2, %3, %4};"
                                     ::"r"(to + (((rank - (rank > owner)) * STRIPS + strip) * (PART / VECTOR) + i) * slots), "f"(from[0]), "f"(from[1]), "f"(from[2]), "f"(from[3]) : "memory");
                    }
            }
        cluster_sync();  // the partial sums have arrived

        const unsigned int rows = base + (SPLIT - 1) * STRIPS * (PART / VECTOR) * slots + (consumer * 4 + warp) * WARP_ROWS * ROW_BYTES;
        const unsigned int column = tile.column + rank * (BLOCK_N / SPLIT);
        Output* to = c + p.c_offset + tile.batch * p.c_stride;
        const bool whole = (size_t)to % 16 == 0 && p.c_ld % PIECE == 0;  // pieces of C are aligned
#pragma unroll
        for (int strip = 0; strip < STRIPS; strip++) {
            const unsigned int row = tile.row + (consumer * STRIPS + strip) * STRIP_M + warp * WARP_ROWS;
            float total[PART] = {};
#pragma unroll
            for (unsigned int owner = 0; owner < SPLIT; owner++)
                if (owner == rank) {
#pragma unroll
                    for (unsigned int source = 0; source < SPLIT; source++)
#pragma unroll
                        for (int i = 0; i < PART; i += VECTOR) {
                            float part[VECTOR];
                            if (source == owner) {
#pragma unroll
                                for (int j = 0; j < VECTOR; j++) part[j] = sums[strip][owner * PART + i + j];
                            } else {
                                asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(part[0]), "=f"(part[1]), "=f"(part[2]), "=f"(part[3])
                                             : "r"(base + slot + (((source - (source > owner)) * STRIPS + strip) * (PART / VECTOR) + i / VECTOR) * slots) : "memory");
                            }
#pragma unroll
                            for (int j = 0; j < VECTOR; j++) total[i + j] += part[j];
                        }
                }
#pragma unroll
            for (int i = 0; i < PART; i++) total[i] *= p.alpha;
            if (p.beta != 0) {
                const unsigned int y = row + lane / 4, x = column + lane % 4 * 2;
                const Output* old = to + (size_t)y * p.c_ld + x;
#pragma unroll
                for (int i = 0; i < PART; i++) {
                    const int down = i / 2 % 2 * 8, right = i / 4 * 8 + i % 2;
                    if (y + down < p.m && x + right < p.n) total[i] += p.beta * widen(old[(size_t)down * p.c_ld + right]);
                }
            }
            if (strip > 0) __syncwarp();  // the rows of the strip before have been read
#pragma unroll
            for (int i = 0; i < PART; i += VECTOR) {
#if OUTPUT_F32
#pragma unroll
                for (int half = 0; half < 2; half++)
                    asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(rows + (lane / 4 + half * 8) * ROW_BYTES + i / VECTOR * 32 + lane % 4 * 8), "f"(total[i + half * 2]), "f"(total[i + half * 2 + 1]) : "memory");
#else
                asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};"
                             ::"r"(rows + lane % WARP_ROWS * ROW_BYTES + i / VECTOR * 16), "r"(pack(total[i], total[i + 1])), "r"(pack(total[i + 2], total[i + 3])) : "memory");
#endif
            }
            __syncwarp();  // the warp's finished rows lie in shared memory
#pragma unroll
            for (int i = 0; i < (WARP_ROWS * PIECES + WARP - 1) / WARP; i++) {
                const unsigned int piece = i * WARP + lane;
                const unsigned int y = row + piece / PIECES, x = column + piece % PIECES * PIECE;
                if (piece < WARP_ROWS * PIECES && y < p.m && x < p.n) {
                    union { uint4 all; Output each[PIECE]; } values;
                    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(values.all.x), "=r"(values.all.y), "=r"(values.all.z), "=r"(values.all.w)
                                 : "r"(rows + piece / PIECES * ROW_BYTES + piece % PIECES * 16) : "memory");
                    Output* target = to + (size_t)y * p.c_ld + x;
                    if (whole && x + PIECE <= p.n) {
                        *(uint4*)target = values.all;
                    } else {
#pragma unroll
                        for (int j = 0; j < PIECE; j++)
                            if (x + j < p.n) target[j] = values.each[j];
                    }
                }
            }
        }
    }
}
