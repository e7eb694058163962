// Idea. TF32 wgmma reads shared memory only where k is contiguous; the other operand goes through registers, whose layout is free. Rows of the product may be permuted, so each thread loads pairs without bank conflicts.
// Changed from the rung below. X is the operand stored k x rows (b, or a if TRANSPOSE_A), Y the one with k contiguous (a, or b if TRANSPOSE_B): the tensor cores compute X^T Y^T, which is C^T for plain layouts and C for two transposed ones.
// A thread owns. As consumer BLOCK_Y / 2 sums: two neighbouring rows of X, a quarter of the columns; one producer thread owns the ring of operand tiles.
// Memory traffic. From L2 per block and step: its tile of X and 1 / CLUSTER of the tile of Y. X is read once per step from shared memory by 8-byte loads, Y by wgmma.
// Needs. sm_90a, tensor maps of a and b (element type tf32: the copy rounds; inner dimension contiguous, 16-byte base and strides, 128-byte swizzle), TRANSPOSE_A == TRANSPOSE_B, dynamic shared memory, a cluster of CLUSTER blocks.

#ifndef TRANSPOSE_A
#define TRANSPOSE_A 0  // 1: a is stored k x m
#endif
#ifndef TRANSPOSE_B
#define TRANSPOSE_B 0  // 1: b is stored n x k
#endif
#ifndef CONSUMERS
#define CONSUMERS 2  // warpgroups that multiply
#endif
#ifndef BLOCK_Y
#define BLOCK_Y 256
#endif
#ifndef STAGES
#define STAGES 4
#endif
#ifndef CLUSTER
#define CLUSTER 2  // blocks along X that share one tile of Y
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

#define STRIP 64  // rows of one wgmma
#define BLOCK_X (CONSUMERS * STRIP)
#define BLOCK_K 32  // 128 bytes: the width of the swizzle
#define MMA_K 8
#define BOX 32  // contiguous elements of one swizzled box
#define WARP 32
#define WARPGROUP 128
#define THREADS ((CONSUMERS + 1) * WARPGROUP)
#define ELEMENT_BYTES 4
#define LINE_BYTES 128
#define CHUNK_BYTES 16
#define ATOM_BYTES 1024  // 8 lines: the swizzle repeats
#define X_BYTES (BLOCK_X * BLOCK_K * ELEMENT_BYTES)
#define Y_BYTES (BLOCK_Y * BLOCK_K * ELEMENT_BYTES)
#define STAGE_BYTES (X_BYTES + Y_BYTES)
#define BOX_BYTES (BOX * BLOCK_K * ELEMENT_BYTES)
#define PARTS (BLOCK_K / MMA_K * 4)  // registers of X per step
#define SHARED_BYTES (ATOM_BYTES + STAGES * STAGE_BYTES + 2 * STAGES * 8)

typedef float T;
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
// The operand lists of one wgmma: BLOCK_Y / 2 sums, then four registers of X and a descriptor of Y.
#define SUMS_8(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
#define SUMS_32(d, i) SUMS_8(d, i), SUMS_8(d, i + 8), SUMS_8(d, i + 16), SUMS_8(d, i + 24)
#define R_0 "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
#define R_32 "%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
#define R_64 "%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95"
#define R_96 "%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111,%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127"
#if BLOCK_Y == 256
#define REGISTERS R_0 "," R_32 "," R_64 "," R_96
#define SUMS(d) SUMS_32(d, 0), SUMS_32(d, 32), SUMS_32(d, 64), SUMS_32(d, 96)
#define INPUTS "{%128, %129, %130, %131}, %132"
#elif BLOCK_Y == 192
#define REGISTERS R_0 "," R_32 "," R_64
#define SUMS(d) SUMS_32(d, 0), SUMS_32(d, 32), SUMS_32(d, 64)
#define INPUTS "{%96, %97, %98, %99}, %100"
#elif BLOCK_Y == 128
#define REGISTERS R_0 "," R_32
#define SUMS(d) SUMS_32(d, 0), SUMS_32(d, 32)
#define INPUTS "{%64, %65, %66, %67}, %68"
#endif

__device__ __forceinline__ void wgmma(float (&d)[BLOCK_Y / 2], const unsigned int* x, unsigned long long y) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n" TEXT(BLOCK_Y) "k8.f32.tf32.tf32 {" REGISTERS "}, " INPUTS ", 1, 1, 1;"
                 : SUMS(d)
                 : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "l"(y));
}

// A wgmma descriptor of a 128-byte swizzled tile with k contiguous. Eight lines (1024 bytes) are one atom; atoms follow each other down the rows.
#define DESCRIPTOR_SWIZZLE (1ull << 62)
#define DESCRIPTOR_ATOMS ((unsigned long long)(ATOM_BYTES >> 4) << 32)
__device__ __forceinline__ unsigned long long descriptor(unsigned int address) {
    return DESCRIPTOR_SWIZZLE | DESCRIPTOR_ATOMS | (1ull << 16) | (unsigned long long)((address & 0x3FFFF) >> 4);
}

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

struct Tile { unsigned int x, y, batch; };  // first row of X and of Y

// Tiles of a cluster's size go down RASTER rows, then one column to the right.
__device__ __forceinline__ Tile tile_at(unsigned int index, const Params& p, unsigned int rank) {
    const unsigned int tiles_x = ((TRANSPOSE_A ? p.m : p.n) + CLUSTER * BLOCK_X - 1) / (CLUSTER * BLOCK_X);
    const unsigned int tiles_y = ((TRANSPOSE_A ? p.n : p.m) + BLOCK_Y - 1) / BLOCK_Y;
    const unsigned int in_batch = index % (tiles_x * tiles_y);
    const unsigned int first = in_batch / (RASTER * tiles_y) * RASTER;
    const unsigned int rows = min((unsigned int)RASTER, tiles_x - first);
    const unsigned int in_group = in_batch % (RASTER * tiles_y);
    return Tile{((first + in_group % rows) * CLUSTER + rank) * BLOCK_X, in_group / rows * BLOCK_Y, index / (tiles_x * tiles_y)};
}

// Two sums that are neighbours in C, in one access where the address allows it.
__device__ __forceinline__ void store(float* to, unsigned int left, float low, float high, float alpha, float beta) {
    low *= alpha;
    high *= alpha;
    if (beta != 0) {
        low += beta * to[0];
        if (left > 1) high += beta * to[1];
    }
    if (left > 1 && (size_t)to % sizeof(float2) == 0) {
        *(float2*)to = make_float2(low, high);
    } else {
        to[0] = low;
        if (left > 1) to[1] = high;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
#if CLUSTER > 1
__cluster_dims__(CLUSTER, 1, 1)
#endif
matmul_register_operand(const T* __restrict__ a, const T* __restrict__ b, float* __restrict__ c, const Params p,
                        const __grid_constant__ TensorMap a_map, const __grid_constant__ TensorMap b_map) {
    extern __shared__ unsigned char shared[];  // [STAGES][X | Y], full[STAGES], empty[STAGES]
    const unsigned int base = ((unsigned int)__cvta_generic_to_shared(shared) + ATOM_BYTES - 1) / ATOM_BYTES * ATOM_BYTES;
    const unsigned int full = base + STAGES * STAGE_BYTES;
    const unsigned int empty = full + STAGES * 8;
    const TensorMap& x_map = TRANSPOSE_A ? a_map : b_map;
    const TensorMap& y_map = TRANSPOSE_A ? b_map : a_map;

    const unsigned int warpgroup = __shfl_sync(0xFFFFFFFF, threadIdx.x / WARPGROUP, 0);
    const unsigned int warp_of_block = __shfl_sync(0xFFFFFFFF, threadIdx.x / WARP, 0);
    const unsigned int rank = blockIdx.x % CLUSTER;
    const unsigned int clusters = gridDim.x / CLUSTER;
    const unsigned int size_x = TRANSPOSE_A ? p.m : p.n, size_y = TRANSPOSE_A ? p.n : p.m;
    const unsigned int tiles = (size_x + CLUSTER * BLOCK_X - 1) / (CLUSTER * BLOCK_X) * ((size_y + BLOCK_Y - 1) / BLOCK_Y) * p.batch;
    const unsigned int steps = (p.k + BLOCK_K - 1) / BLOCK_K;

    if (threadIdx.x == 0) {
        for (unsigned int stage = 0; stage < STAGES; stage++) {
            barrier_init(full + stage * 8, 1);
            barrier_init(empty + stage * 8, CONSUMERS * (WARPGROUP / WARP) * CLUSTER);
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
                    const unsigned int x_tile = base + stage * STAGE_BYTES;
                    const unsigned int y_tile = x_tile + X_BYTES;
                    barrier_wait(empty + stage * 8, parity);  // every consumer of the cluster has read this stage
                    barrier_expect(full + stage * 8, STAGE_BYTES);
#pragma unroll
                    for (unsigned int box = 0; box < BLOCK_X / BOX; box++)
                        load(x_tile + box * BOX_BYTES, x_map, full + stage * 8, tile.x + box * BOX, k, tile.batch);
                    load_to_cluster(y_tile + rank * (Y_BYTES / CLUSTER), y_map, full + stage * 8, k, tile.y + rank * (BLOCK_Y / CLUSTER), tile.batch);
                    if (++stage == STAGES) { stage = 0; parity ^= 1; }
                }
            }
        }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 " TEXT(CONSUMER_REGISTERS) ";");
        const unsigned int consumer = warpgroup - 1;
        const unsigned int warp = threadIdx.x % WARPGROUP / WARP;
        const unsigned int lane = threadIdx.x % WARP;
        // The product's rows lane / 4 and lane / 4 + 8 of this warp are two neighbouring rows of X. Their 16-byte chunk in the box's lines is chosen so that 16 lanes,
        // four rows of X times four values of k, fall into eight different chunks after the swizzle.
        const unsigned int chunk = warp % 2 * 2 + lane / 16 + lane / 8 % 2 * 4;
        const unsigned int box = consumer * (STRIP / BOX) + warp / 2;
        const unsigned int x_in_tile = box * BOX + chunk * 4 + lane / 4 % 2 * 2;
        const unsigned int low = lane % 4, high = lane % 4 + 4;  // this lane's two values of k in a step of 8
        const unsigned int low_offset = box * BOX_BYTES + low * LINE_BYTES + (chunk ^ low) * CHUNK_BYTES + lane / 4 % 2 * 8;
        const unsigned int high_offset = box * BOX_BYTES + high * LINE_BYTES + (chunk ^ high) * CHUNK_BYTES + lane / 4 % 2 * 8;

        unsigned int stage = 0, parity = 0;
        float sums[BLOCK_Y / 2];  // columns 8 j + 2 (lane % 4) + {0, 1} of two rows

        for (unsigned int index = blockIdx.x / CLUSTER; index < tiles; index += clusters) {
            const Tile tile = tile_at(index, p, rank);
#pragma unroll
            for (int i = 0; i < BLOCK_Y / 2; i++) sums[i] = 0;
            for (unsigned int step = 0; step < steps; step++) {
                barrier_wait(full + stage * 8, parity);  // both operand tiles have landed
                const unsigned int x_tile = base + stage * STAGE_BYTES;
                const unsigned int y_tile = x_tile + X_BYTES;
                unsigned int x[PARTS];
#pragma unroll
                for (int i = 0; i < BLOCK_K / MMA_K; i++) {
                    asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(x[i * 4]), "=r"(x[i * 4 + 1]) : "r"(x_tile + low_offset + i * ATOM_BYTES) : "memory");
                    asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(x[i * 4 + 2]), "=r"(x[i * 4 + 3]) : "r"(x_tile + high_offset + i * ATOM_BYTES) : "memory");
                }
                asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
                for (int i = 0; i < BLOCK_K / MMA_K; i++) wgmma(sums, &x[i * 4], descriptor(y_tile + i * MMA_K * ELEMENT_BYTES));
                asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
                asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");  // meanwhile the other consumers' products keep the tensor cores busy
                if (lane < CLUSTER) barrier_arrive(empty + stage * 8, lane);
                if (++stage == STAGES) { stage = 0; parity ^= 1; }
            }

            float* __restrict__ to = c + p.c_offset + tile.batch * p.c_stride;
            const unsigned int x = tile.x + x_in_tile;
#pragma unroll
            for (int i = 0; i < BLOCK_Y / 2; i += 4) {
                const unsigned int y = tile.y + i / 4 * 8 + lane % 4 * 2;
#pragma unroll
                for (unsigned int j = 0; j < 2; j++)
                    if (TRANSPOSE_A) {
                        if (x + j < size_x && y < size_y) store(to + (size_t)(x + j) * p.c_ld + y, size_y - y, sums[i + 2 * j], sums[i + 2 * j + 1], p.alpha, p.beta);
                    } else {
                        if (x < size_x && y + j < size_y) store(to + (size_t)(y + j) * p.c_ld + x, size_x - x, sums[i + j], sums[i + j + 2], p.alpha, p.beta);
                    }
            }
        }
    }
    cluster_sync();  // no block leaves while another may still write to its shared memory or arrive at its barriers
}
