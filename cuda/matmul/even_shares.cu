// Idea. Tiles of two widths: where the last round of tiles would leave multiprocessors without one, rows of tiles are divided into one tile more, some of them a little narrower, so that every multiprocessor has the same to do.
// Changed from the rung below. The list of tiles has the wide ones first, then the narrow ones, which have products of their own; in one of two neighbours the first consumer has 8 columns less, in the next the second. The producer tells the consumers their tiles. What a tile has of a part that it does not fill is stored by threads, not in bulk. The parts of a finished tile leave several steps apart and the consumers take turns, so that shared memory never has much of C to carry beside the operands.
// A thread owns. As consumer 1/128 of a 64 x BLOCK_N strip of C (BLOCK_N / 2 sums); one producer thread owns the ring of operand tiles.
// Memory traffic. As below.
// Needs. sm_90a, tensor maps of a, b and c (inner dimension contiguous, 16-byte base and strides, 128-byte swizzle), dynamic shared memory.

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
#ifndef SWAPPED
#define SWAPPED 0  // 1: computes b^T a^T and stores it turned: the widths of tiles lie along m (OUTPUT_F32 0)
#endif
#ifndef BLOCK_N
#define BLOCK_N 256  // columns of a wide tile: 256, 224, 192, 160 or 144
#endif
#ifndef STAGES
#define STAGES 4
#endif
#ifndef STORE_BUFFERS
#define STORE_BUFFERS 2  // of a warp, each for one part of C
#endif
#ifndef RASTER
#define RASTER 8  // rows of tiles per group: consecutive tiles form squares that fit in L2
#endif
#ifndef PRODUCER_REGISTERS
#define PRODUCER_REGISTERS 24
#endif
#ifndef CONSUMER_REGISTERS
#define CONSUMER_REGISTERS 240
#endif

#define CONSUMERS 2  // warpgroups that multiply
#define STRIP_M 64   // rows of one wgmma
#define BLOCK_M (CONSUMERS * STRIP_M)
// The left operand has the rows of a product, the right one its columns: a and b, or b and a.
#if SWAPPED
#define LEFT_ALONG_K TRANSPOSE_B
#define RIGHT_ALONG_K (!TRANSPOSE_A)
#else
#define LEFT_ALONG_K (!TRANSPOSE_A)
#define RIGHT_ALONG_K TRANSPOSE_B
#endif
// Columns of a narrow tile. Copies along the columns must start at multiples of 32 bytes: with 232 all is a tenth slower.
#if BLOCK_N == 256
#define NARROW (RIGHT_ALONG_K ? 232 : 240)
#else
#define NARROW (BLOCK_N - (RIGHT_ALONG_K ? 24 : 16))
#endif
// Columns that one consumer has less of a narrow tile; of the next one in the row the other consumer has them less.
#define UNEVEN (RIGHT_ALONG_K ? 8 : 0)
#define LESS (NARROW - UNEVEN)
#define BLOCK_K 64  // the width of the swizzle
#define BOX 64      // contiguous elements of one swizzled box
#define MMA_K 16
#define WARP 32
#define WARPGROUP 128
#define WARPS 4  // of a warpgroup
#define THREADS ((CONSUMERS + 1) * WARPGROUP)
#define LINE_BYTES 128
#define ATOM_BYTES 1024  // 8 lines: the swizzle repeats
#define A_BYTES (BLOCK_M * BLOCK_K * 2)  // of the left tile
#define BOX_BYTES (BOX * BLOCK_K * 2)
#define BOXES_N ((BLOCK_N + BOX - 1) / BOX)
#define B_BYTES (RIGHT_ALONG_K ? BLOCK_N * LINE_BYTES : BOXES_N * BOX_BYTES)  // of the right tile, in whole boxes where they lie along its columns
#define STAGE_BYTES (A_BYTES + B_BYTES)
#define WARP_ROWS 16                          // rows of C in one bulk store
#define STORE_BYTES (WARP_ROWS * LINE_BYTES)  // one bulk store
#define STORE_COLUMNS (OUTPUT_F32 ? 32 : 64)  // of a product: 128 bytes of C, or 64 rows of it
#define CHUNK (OUTPUT_F32 ? 4 : 8)            // elements of C in 16 bytes
#define PARTS ((BLOCK_N + STORE_COLUMNS - 1) / STORE_COLUMNS)  // of a strip
#define SUMS (PARTS * STORE_COLUMNS / 2)      // of a thread; those beyond the tile are zeros
#define LEAST_SPACING 2                       // steps from one part of a finished tile that leaves to the next; the consumers take turns
#define MOST_SPACING 8                        // where a tile has enough of them: C takes turns with the operands in shared memory
#define CUT_OF_WIDE (BLOCK_N % STORE_COLUMNS ? BLOCK_N % STORE_COLUMNS : CHUNK)   // columns of a tile's last part, where it is cut
#define CUT_OF_NARROW (NARROW % STORE_COLUMNS ? NARROW % STORE_COLUMNS : CHUNK)
#define CUT_OF_LESS (LESS % STORE_COLUMNS ? LESS % STORE_COLUMNS : CHUNK)
#define WORDS 16                              // of 32 bits that a thread holds of one part
#define HOLD (!OUTPUT_F32)                    // a thread has registers for a finished tile beside the sums of the next
#define TURNS 8  // tiles of a block that shared memory knows: more than the ring has stages for, and two
#define SHARED_BYTES (ATOM_BYTES + STAGES * STAGE_BYTES + CONSUMERS * WARPS * STORE_BUFFERS * STORE_BYTES + 2 * STAGES * 8 + TURNS * 16)

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
// Rows and columns of the product.
__device__ __forceinline__ unsigned int rows_of(const Params& p) { return SWAPPED ? p.n : p.m; }
__device__ __forceinline__ unsigned int columns_of(const Params& p) { return SWAPPED ? p.m : p.n; }

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#if BF16
#define TYPE "bf16"
#else
#define TYPE "f16"
#endif
#if LEFT_ALONG_K && RIGHT_ALONG_K
#define MAJOR ", 0, 0"
#elif LEFT_ALONG_K
#define MAJOR ", 0, 1"
#elif RIGHT_ALONG_K
#define MAJOR ", 1, 0"
#else
#define MAJOR ", 1, 1"
#endif

// The operand lists of one wgmma: half as many sums as it has columns, then two descriptors and the scale.
#define SUMS_4(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define SUMS_8(d, i) SUMS_4(d, i), SUMS_4(d, i + 4)
#define SUMS_32(d, i) SUMS_8(d, i), SUMS_8(d, i + 8), SUMS_8(d, i + 16), SUMS_8(d, i + 24)
#define SUMS_56(d) SUMS_32(d, 0), SUMS_8(d, 32), SUMS_8(d, 40), SUMS_8(d, 48)
#define SUMS_60(d) SUMS_56(d), SUMS_4(d, 56)
#define SUMS_64(d) SUMS_60(d), SUMS_4(d, 60)
#define SUMS_68(d) SUMS_64(d), SUMS_4(d, 64)
#define SUMS_72(d) SUMS_68(d), SUMS_4(d, 68)
#define SUMS_76(d) SUMS_72(d), SUMS_4(d, 72)
#define SUMS_80(d) SUMS_76(d), SUMS_4(d, 76)
#define SUMS_84(d) SUMS_80(d), SUMS_4(d, 80)
#define SUMS_88(d) SUMS_84(d), SUMS_4(d, 84)
#define SUMS_96(d) SUMS_88(d), SUMS_8(d, 88)
#define SUMS_100(d) SUMS_96(d), SUMS_4(d, 96)
#define SUMS_104(d) SUMS_100(d), SUMS_4(d, 100)
#define SUMS_112(d) SUMS_104(d), SUMS_8(d, 104)
#define SUMS_116(d) SUMS_112(d), SUMS_4(d, 112)
#define SUMS_120(d) SUMS_116(d), SUMS_4(d, 116)
#define SUMS_128(d) SUMS_120(d), SUMS_8(d, 120)
#define R_56 "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55"
#define R_60 R_56 ",%56,%57,%58,%59"
#define R_64 R_60 ",%60,%61,%62,%63"
#define R_68 R_64 ",%64,%65,%66,%67"
#define R_72 R_68 ",%68,%69,%70,%71"
#define R_76 R_72 ",%72,%73,%74,%75"
#define R_80 R_76 ",%76,%77,%78,%79"
#define R_84 R_80 ",%80,%81,%82,%83"
#define R_88 R_84 ",%84,%85,%86,%87"
#define R_96 R_88 ",%88,%89,%90,%91,%92,%93,%94,%95"
#define R_100 R_96 ",%96,%97,%98,%99"
#define R_104 R_100 ",%100,%101,%102,%103"
#define R_112 R_104 ",%104,%105,%106,%107,%108,%109,%110,%111"
#define R_116 R_112 ",%112,%113,%114,%115"
#define R_120 R_116 ",%116,%117,%118,%119"
#define R_128 R_120 ",%120,%121,%122,%123,%124,%125,%126,%127"
#define WGMMA(columns, sums, a, b, scale)                                                                         \
    asm volatile("{ .reg .pred p; setp.ne.b32 p, " scale ", 0;\n"                                                   \
                 "wgmma.mma_async.sync.aligned.m64n" #columns "k16.f32." TYPE "." TYPE " {" R_##sums "}, " a ", " b ", p, 1, 1" MAJOR ";\n}" \
                 : SUMS_##sums(d) : "l"(left), "l"(right), "r"(more))
template <int COLUMNS>
struct Columns { enum { value = COLUMNS }; };
template <int COLUMNS>
__device__ __forceinline__ void wgmma(float (&d)[SUMS], unsigned long long left, unsigned long long right, int more) {
    if constexpr (COLUMNS == 256) WGMMA(256, 128, "%128", "%129", "%130");
    else if constexpr (COLUMNS == 240) WGMMA(240, 120, "%120", "%121", "%122");
    else if constexpr (COLUMNS == 232) WGMMA(232, 116, "%116", "%117", "%118");
    else if constexpr (COLUMNS == 224) WGMMA(224, 112, "%112", "%113", "%114");
    else if constexpr (COLUMNS == 208) WGMMA(208, 104, "%104", "%105", "%106");
    else if constexpr (COLUMNS == 200) WGMMA(200, 100, "%100", "%101", "%102");
    else if constexpr (COLUMNS == 192) WGMMA(192, 96, "%96", "%97", "%98");
    else if constexpr (COLUMNS == 176) WGMMA(176, 88, "%88", "%89", "%90");
    else if constexpr (COLUMNS == 168) WGMMA(168, 84, "%84", "%85", "%86");
    else if constexpr (COLUMNS == 160) WGMMA(160, 80, "%80", "%81", "%82");
    else if constexpr (COLUMNS == 152) WGMMA(152, 76, "%76", "%77", "%78");
    else if constexpr (COLUMNS == 144) WGMMA(144, 72, "%72", "%73", "%74");
    else if constexpr (COLUMNS == 136) WGMMA(136, 68, "%68", "%69", "%70");
    else if constexpr (COLUMNS == 128) WGMMA(128, 64, "%64", "%65", "%66");
    else if constexpr (COLUMNS == 120) WGMMA(120, 60, "%60", "%61", "%62");
    else if constexpr (COLUMNS == 112) WGMMA(112, 56, "%56", "%57", "%58");
}

// A wgmma descriptor of a 128-byte swizzled tile. Eight lines (1024 bytes) are one atom.
// Along k contiguous: atoms follow each other down the rows. Along rows or columns contiguous: atoms follow each other along k, boxes of 64 along those.
// The high word is the same for all: the swizzle and the distance of atoms. The low word has the distance of boxes and the address in the block, in units of 16 bytes.
#define DESCRIPTOR_HIGH (1u << 30 | ATOM_BYTES / 16)
#define DESCRIPTOR_BOXES ((unsigned int)(BOX_BYTES / 16) << 16)
__device__ __forceinline__ unsigned long long descriptor(unsigned int low) {
    return (unsigned long long)DESCRIPTOR_HIGH << 32 | low;
}
__device__ __forceinline__ unsigned int descriptor_low(unsigned int address) {  // its upper bits are the block's rank in the cluster
    return DESCRIPTOR_BOXES | (address & 0x3FFFF) / 16;
}
#define STEP_CONTIGUOUS_K (MMA_K * 2)  // bytes from one 16-wide step along k to the next
#define STEP_CONTIGUOUS_MN (MMA_K * LINE_BYTES)
#define LEFT_STEP (LEFT_ALONG_K ? STEP_CONTIGUOUS_K : STEP_CONTIGUOUS_MN)
#define RIGHT_STEP (RIGHT_ALONG_K ? STEP_CONTIGUOUS_K : STEP_CONTIGUOUS_MN)

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

// How many of a row's tiles can be narrow: of NARROW columns, or of NARROW for one consumer and LESS for the other, in turns.
__device__ __forceinline__ unsigned int narrow_among(unsigned int tiles, unsigned int columns, bool uneven) {
    const unsigned int excess = tiles * BLOCK_N - columns, pair = 2 * BLOCK_N - NARROW - LESS;
    if (!uneven) return min(tiles, excess / (BLOCK_N - NARROW));
    const unsigned int pairs = excess / pair;
    return min(tiles, 2 * pairs + (excess - pairs * pair >= BLOCK_N - LESS));
}
// Rounds that the tiles need, divided quickly: one more would be slower, not wrong.
__device__ __forceinline__ unsigned int rounds_of(unsigned int tiles, unsigned int blocks) {
    const unsigned int rounds = __fdividef(tiles + blocks - 0.5f, blocks);
    return rounds * blocks < tiles ? rounds + 1 : rounds;
}
// The tiles of C: of the rows of tiles, `longer` have one column of tiles more than the others. The rounds stay as many as with wide tiles alone.
struct Plan {
    unsigned int tiles_m, shorter, longer;  // rows of tiles: in one matrix, in all of either kind
    unsigned int columns;                   // of tiles in a shorter row
    unsigned int narrow, longer_narrow;     // narrow ones among them, and in a longer row
    bool uneven;                            // a consumer has fewer columns of a narrow tile than the other
    __device__ __forceinline__ unsigned int wide_shorter() const { return shorter * (columns - narrow); }
    __device__ __forceinline__ unsigned int wide_longer() const { return longer * (columns + 1 - longer_narrow); }
    __device__ __forceinline__ unsigned int wide() const { return wide_shorter() + wide_longer(); }
    __device__ __forceinline__ unsigned int tiles() const { return shorter * columns + longer * (columns + 1); }
};
__device__ __forceinline__ Plan plan_of(const Params& p) {
    const unsigned int blocks = gridDim.x, columns = columns_of(p);
    const unsigned int tiles_m = (rows_of(p) + BLOCK_M - 1) / BLOCK_M, rows = tiles_m * p.batch;
    const unsigned int at_least = (columns + BLOCK_N - 1) / BLOCK_N, at_most = (columns + NARROW - 1) / NARROW;
    const unsigned int tiles = rows * at_least;
    const unsigned int spare = rounds_of(tiles, blocks) * blocks - tiles;  // turns without a tile
    unsigned int more = 0, longer = spare;
    if (spare >= rows) more = spare / rows, longer = spare - more * rows;
    if (at_least + more >= at_most) more = at_most - at_least, longer = 0;
    const unsigned int across = at_least + more;
    const Plan even = {tiles_m, rows - longer, longer, across, narrow_among(across, columns, false), narrow_among(across + 1, columns, false), false};
    if (UNEVEN == 0) return even;
    const Plan uneven = {tiles_m, rows - longer, longer, across, narrow_among(across, columns, true), narrow_among(across + 1, columns, true), true};
    return rounds_of(uneven.wide(), blocks) > rounds_of(even.wide(), blocks) ? even : uneven;  // fewer tiles are narrow there: enough of them?
}

enum Kind { WIDE, FIRST_NARROW, SECOND_NARROW, EVEN_NARROW };  // the first of two neighbours has LESS columns for the second consumer, the second for the first
struct Tile { unsigned int row, column, kind, batch; };  // of the product: first row, first column of either consumer

// Tiles of one width and kind of row go down RASTER rows, then one column to the right. The branches save divisions, which are long, where they are not needed.
__device__ __forceinline__ Tile tile_at(unsigned int index, const Params& p) {
    const Plan plan = plan_of(p);
    unsigned int first_row = 0, rows = plan.shorter, first_column = 0, columns = plan.columns - plan.narrow, kind = WIDE;
    if (index >= plan.wide_shorter()) {
        index -= plan.wide_shorter();
        first_row = plan.shorter, rows = plan.longer, columns = plan.columns + 1 - plan.longer_narrow;
        if (index >= plan.wide_longer()) {
            index -= plan.wide_longer();
            first_column = columns * BLOCK_N, columns = plan.longer_narrow, kind = FIRST_NARROW;
            if (index >= plan.longer * columns) {
                index -= plan.longer * columns;
                first_row = 0, rows = plan.shorter, first_column = (plan.columns - plan.narrow) * BLOCK_N, columns = plan.narrow;
            }
        }
    }
    const unsigned int per_group = RASTER * columns;
    const unsigned int group = index < per_group ? 0 : index / per_group;
    const unsigned int in_group = index - group * per_group;
    const unsigned int height = min((unsigned int)RASTER, rows - group * RASTER);
    const unsigned int column = height == RASTER ? in_group / RASTER : in_group / height;
    const unsigned int row = first_row + group * RASTER + in_group - column * height;
    const unsigned int batch = row < plan.tiles_m ? 0 : row / plan.tiles_m;
    if (kind == WIDE) first_column += column * BLOCK_N;
    else if (!plan.uneven) first_column += column * NARROW, kind = EVEN_NARROW;
    else first_column += column / 2 * (NARROW + LESS) + column % 2 * LESS, kind += column % 2;
    return Tile{(row - batch * plan.tiles_m) * BLOCK_M, first_column, kind, batch};
}

// The first tile of a block: without most of the plan, whose instructions nobody has fetched yet, where it is a wide one of the first rows.
__device__ __forceinline__ Tile first_tile(const Params& p) {
    const unsigned int blocks = gridDim.x, columns = columns_of(p), index = blockIdx.x;
    const unsigned int rows = (rows_of(p) + BLOCK_M - 1) / BLOCK_M, across = (columns + BLOCK_N - 1) / BLOCK_N, tiles = rows * across;
    const unsigned int longer = rounds_of(tiles, blocks) * blocks - tiles;
    const unsigned int wide = across - narrow_among(across, columns, false);  // or more
    if (__builtin_expect(p.batch == 1 && rows >= longer + RASTER && index < RASTER * wide, 1)) return Tile{index % RASTER * BLOCK_M, index / RASTER * BLOCK_N, WIDE, 0};
    return tile_at(index, p);
}

// One part of a strip in the words of c, without and with beta times c. Where c is f32 a word is one sum, else two neighbours in a row of the product.
__device__ __forceinline__ void finish(const float (&sums)[SUMS], int part, unsigned int (&words)[WORDS], float alpha) {
#pragma unroll
    for (int i = 0; i < WORDS; i++) {
#if OUTPUT_F32
        words[i] = __float_as_uint(alpha * sums[part * WORDS + i]);
#else
        words[i] = pack(alpha * sums[(part * WORDS + i) * 2], alpha * sums[(part * WORDS + i) * 2 + 1]);
#endif
    }
}
// An element of the product in c, and how far it is to the next one in its column and in its row.
__device__ __forceinline__ size_t place_of(unsigned int y, unsigned int x, const Params& p) { return SWAPPED ? (size_t)x * p.c_ld + y : (size_t)y * p.c_ld + x; }
__device__ __forceinline__ size_t down_of(const Params& p) { return SWAPPED ? 1 : p.c_ld; }
__device__ __forceinline__ size_t right_of(const Params& p) { return SWAPPED ? p.c_ld : 1; }
__device__ __forceinline__ void finish_onto(const float (&sums)[SUMS], int part, unsigned int (&words)[WORDS], const Output* c, const Params& p, unsigned int row, unsigned int column, unsigned int end, unsigned int lane) {
    asm volatile("" : "+r"(lane));  // all is computed here: registers are full
    const unsigned int y = row + lane / 4, x = column + lane % 4 * 2;
    const Output* old = c + place_of(y, x, p);
#pragma unroll
    for (int i = 0; i < STORE_COLUMNS / 4; i++) {
        const unsigned int down = i % 2 * 8, right = x + i / 2 * 8;
        const Output* at = old + down * down_of(p);
        float low = p.alpha * sums[part * (STORE_COLUMNS / 2) + i * 2], high = p.alpha * sums[part * (STORE_COLUMNS / 2) + i * 2 + 1];
        if (y + down < rows_of(p) && right < end) low += p.beta * widen(at[0]);
        if (y + down < rows_of(p) && right + 1 < end) high += p.beta * widen(at[right_of(p)]);
#if OUTPUT_F32
        words[i * 2] = __float_as_uint(low);
        words[i * 2 + 1] = __float_as_uint(high);
#else
        words[i] = pack(low, high);
#endif
        if (i % 2 == 1) old += 8 * right_of(p);
        asm volatile("" : "+l"(old) :: "memory");  // a few loads at a time: registers are full
    }
}

// Writes one part to shared memory, in lines of 128 bytes, swizzled: the 16 rows of a warp, or (SWAPPED) its 32 bytes of each column.
__device__ __forceinline__ void place(unsigned int target, const unsigned int (&words)[WORDS], unsigned int warp, unsigned int lane) {
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
#elif SWAPPED
    const unsigned int line = lane / 16 * 8 + lane % 8;
    const unsigned int chunk = (2 * warp + lane / 8 % 2) ^ (lane % 8);
    const unsigned int at = target + line * LINE_BYTES + chunk * 16;
#pragma unroll
    for (int j = 0; j < STORE_COLUMNS / 16; j++)
        asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(at + j * 16 * LINE_BYTES),
                     "r"(words[j * 4]), "r"(words[j * 4 + 1]), "r"(words[j * 4 + 2]), "r"(words[j * 4 + 3]) : "memory");
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

// Writes one part straight to c: where c's rows do not end on 16 bytes, which a bulk store would fill.
__device__ __forceinline__ void scatter(Output* c, const unsigned int (&words)[WORDS], const Params& p, unsigned int row, unsigned int column, unsigned int end, unsigned int lane) {
    asm volatile("" : "+r"(lane));  // all is computed here: registers are full
    const unsigned int y = row + lane / 4, x = column + lane % 4 * 2;
    Output* to = c + place_of(y, x, p);
#pragma unroll
    for (int i = 0; i < STORE_COLUMNS / 4; i++) {
        const unsigned int down = i % 2 * 8, right = x + i / 2 * 8;
#if OUTPUT_F32
        const Output low = __uint_as_float(words[i * 2]), high = __uint_as_float(words[i * 2 + 1]);
#else
        const Output low = words[i], high = words[i] >> 16;
#endif
        Output* at = to + down * down_of(p);
        if (y + down < rows_of(p) && right < end) at[0] = low;
        if (y + down < rows_of(p) && right + 1 < end) at[right_of(p)] = high;
        if (i % 2 == 1) to += 8 * right_of(p);
    }
}

// Copies lines of a buffer to c, 16 bytes at a time: what a narrow tile has of its last part. `chunks` of each line, which are of row `y` and on of c, from column `x`.
__device__ __forceinline__ void store_cut(Output* c, unsigned int buffer, const Params& p, unsigned int y, unsigned int x, unsigned int lines, unsigned int chunks, unsigned int lane) {
    asm volatile("" : "+r"(lane));  // all is computed here: registers are full
#pragma unroll
    for (unsigned int first = 0; first < lines * chunks; first += WARP) {
        const unsigned int i = first + lane, line = i / chunks, chunk = i % chunks;
        if (i < lines * chunks && y + line < p.m && x + chunk * CHUNK < p.n) {
            unsigned int w[4];
            asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3]) : "r"(buffer + line * LINE_BYTES + (chunk ^ line % 8) * 16) : "memory");
            asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(c + (size_t)(y + line) * p.c_ld + x + chunk * CHUNK), "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]) : "memory");
        }
    }
}

// What the producer tells the consumers of a tile: before it arrives at the barrier of the tile's first stage.
__device__ __forceinline__ void tell(unsigned int told, unsigned int turn, const Tile& tile) {
    asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(told + turn % TURNS * 16), "r"(tile.row), "r"(tile.column), "r"(tile.kind), "r"(tile.batch) : "memory");
}
__device__ __forceinline__ Tile told_of(unsigned int told, unsigned int turn) {
    Tile tile;
    asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(tile.row), "=r"(tile.column), "=r"(tile.kind), "=r"(tile.batch) : "r"(told + turn % TURNS * 16) : "memory");
    return tile;
}

// Asks for the operand tiles of one step. A narrow tile gets the columns beside it too: copies have one size.
__device__ __forceinline__ void load_stage(unsigned int base, unsigned int full, unsigned int stage, const Tile& tile, unsigned int k, const TensorMap& left_map, const TensorMap& right_map) {
    const unsigned int left = base + stage * STAGE_BYTES, right = left + A_BYTES, barrier = full + stage * 8;
    barrier_expect(barrier, STAGE_BYTES);
    if (LEFT_ALONG_K) {
        load(left, left_map, barrier, k, tile.row, tile.batch);
    } else {
#pragma unroll
        for (unsigned int box = 0; box < BLOCK_M / BOX; box++) load(left + box * BOX_BYTES, left_map, barrier, tile.row + box * BOX, k, tile.batch);
    }
    if (RIGHT_ALONG_K) {
        load(right, right_map, barrier, k, tile.column, tile.batch);
    } else {
#pragma unroll
        for (unsigned int box = 0; box < BOXES_N; box++) load(right + box * BOX_BYTES, right_map, barrier, tile.column + box * BOX, k, tile.batch);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
matmul_even_shares(const T* __restrict__ a, const T* __restrict__ b, Output* __restrict__ c, const Params p,
                   const __grid_constant__ TensorMap a_map, const __grid_constant__ TensorMap b_map, const __grid_constant__ TensorMap c_map) {
    extern __shared__ unsigned char shared[];  // [STAGES][left | right], [CONSUMERS][STORE_BUFFERS][WARPS] or [CONSUMERS][WARPS][STORE_BUFFERS] of [STORE_BYTES], full[STAGES], empty[STAGES], told[TURNS] of 16 bytes
    const unsigned int base = ((unsigned int)__cvta_generic_to_shared(shared) + ATOM_BYTES - 1) / ATOM_BYTES * ATOM_BYTES;
    const unsigned int stores = base + STAGES * STAGE_BYTES;
    const unsigned int full = stores + CONSUMERS * WARPS * STORE_BUFFERS * STORE_BYTES;
    const unsigned int empty = full + STAGES * 8;
    const unsigned int told = empty + STAGES * 8;
    const unsigned int warpgroup = __shfl_sync(0xFFFFFFFF, threadIdx.x / WARPGROUP, 0);
    const unsigned int warp_of_block = __shfl_sync(0xFFFFFFFF, threadIdx.x / WARP, 0);
    const unsigned int steps = (p.k + BLOCK_K - 1) / BLOCK_K;
    const TensorMap& left_map = SWAPPED ? b_map : a_map;
    const TensorMap& right_map = SWAPPED ? a_map : b_map;

    if (threadIdx.x == WARP) asm volatile("prefetch.tensormap [%0];\nprefetch.tensormap [%1];\nprefetch.tensormap [%2];" ::"l"(&a_map), "l"(&b_map), "l"(&c_map) : "memory");
    if (threadIdx.x == 0) {
        for (unsigned int stage = 0; stage < STAGES; stage++) {
            barrier_init(full + stage * 8, 1);
            barrier_init(empty + stage * 8, CONSUMERS);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        const Tile tile = first_tile(p);  // there is one for every block
        tell(told, 0, tile);
        for (unsigned int stage = 0; stage < STAGES && stage < steps; stage++) load_stage(base, full, stage, tile, stage * BLOCK_K, left_map, right_map);
    }
    __syncwarp();

    if (warpgroup == 0) {
        asm volatile("bar.arrive 0, %0;" ::"n"(THREADS) : "memory");  // the barriers are initialised
        asm volatile("setmaxnreg.dec.sync.aligned.u32 " TEXT(PRODUCER_REGISTERS) ";");
        if (warp_of_block == 0 && elect()) {
            unsigned int step = min((unsigned int)STAGES, steps);  // the first steps have been asked for
            unsigned int stage = step % STAGES, parity = step == STAGES ? 0 : 1;
            const unsigned int tiles = plan_of(p).tiles();
            for (unsigned int index = blockIdx.x, turn = 0; index < tiles; index += gridDim.x, turn++) {
                const Tile tile = tile_at(index, p);
                if (turn > 0) tell(told, turn, tile);
                for (; step < steps; step++) {
                    barrier_wait(empty + stage * 8, parity);  // every consumer has read this stage
                    load_stage(base, full, stage, tile, step * BLOCK_K, left_map, right_map);
                    if (++stage == STAGES) { stage = 0; parity ^= 1; }
                }
                step = 0;
            }
        }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 " TEXT(CONSUMER_REGISTERS) ";");
        asm volatile("bar.sync 0, %0;" ::"n"(THREADS) : "memory");  // the barriers are initialised
        const unsigned int consumer = warpgroup - 1;
        const unsigned int thread = threadIdx.x % WARPGROUP;
        const unsigned int warp = thread / WARP;
        const unsigned int lane = thread % WARP;
        // Where the warp's stores come from: the first buffer, and the distance to the next. Where the product is turned, a warpgroup fills a buffer together.
        const unsigned int store = stores + (SWAPPED ? consumer * STORE_BUFFERS * WARPS + warp : (consumer * WARPS + warp) * STORE_BUFFERS) * STORE_BYTES;
        const unsigned int next_store = (SWAPPED ? WARPS : 1) * STORE_BYTES;
        unsigned int stage = 0, parity = 0;
        float sums[SUMS];  // columns 8 j + 2 (lane % 4) + {0, 1} of rows lane / 4 and lane / 4 + 8
#if HOLD
        unsigned int held[PARTS][WORDS];  // the previous tile, in c's type
        unsigned int leaving = 1 << PARTS;  // the bit of its part that leaves next: none
#endif
        Tile last;  // the tile that leaves
        unsigned int width;  // its columns for this consumer
#pragma unroll
        for (int i = 0; i < SUMS; i++) sums[i] = 0;

        unsigned int left = descriptor_low(base + consumer * STRIP_M * LINE_BYTES);  // a strip is 64 lines either way
        unsigned int right = descriptor_low(base + A_BYTES);
        auto advance = [&]() {
            stage++;
            left += STAGE_BYTES / 16;
            right += STAGE_BYTES / 16;
            if (stage == STAGES) { stage = 0; parity ^= 1; left -= STAGES * STAGE_BYTES / 16; right -= STAGES * STAGE_BYTES / 16; }
        };
        auto multiply = [&](unsigned int step, unsigned int from, auto columns) {
            asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
            for (int i = 0; i < BLOCK_K / MMA_K; i++) wgmma<decltype(columns)::value>(sums, descriptor(left + i * LEFT_STEP / 16), descriptor(from + i * RIGHT_STEP / 16), i > 0 || step > 0);
            asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        };
        // What a consumer has of a tile: the columns and where they begin.
        auto width_of = [&](unsigned int kind) { return kind == WIDE ? BLOCK_N : kind == SECOND_NARROW - consumer ? LESS : NARROW; };
        auto first_of = [&](unsigned int kind) { return kind == SECOND_NARROW && consumer == 0 ? UNEVEN : 0; };
        auto start = [&](unsigned int step, unsigned int kind) {  // the products of one step, left running
            const unsigned int columns = width_of(kind), from = right + first_of(kind) * LINE_BYTES / 16;
            if (columns == BLOCK_N) multiply(step, right, Columns<BLOCK_N>{});
            else if (UNEVEN == 0 || columns == NARROW) multiply(step, from, Columns<NARROW>{});
            else multiply(step, from, Columns<LESS>{});
        };
        // After the products of a step have started: wait for the next operands, then for the products of the step before. Its stage is free again.
        auto follow = [&](unsigned int step, bool next) {
            const unsigned int before = stage == 0 ? STAGES - 1 : stage - 1;
            advance();
            if (next) barrier_wait(full + stage * 8, parity);  // the next operand tiles have landed
            if (step > 0) {
                asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
                if (thread == 0) barrier_arrive(empty + before * 8);
            }
        };
        auto recall = [&](unsigned int turn) {
            last = told_of(told, turn);
            width = width_of(last.kind);
            last.column += first_of(last.kind);
        };
        auto row_of = [&]() { return last.row + consumer * STRIP_M + warp * WARP_ROWS; };
        auto column_of = [&](int part) { return last.column + part * STORE_COLUMNS; };
        auto to = [&]() { return c + p.c_offset + last.batch * p.c_stride; };
        auto end = [&]() { return min(columns_of(p), last.column + width); };
        auto sync_writers = [&]() {  // of a buffer
            if (SWAPPED) asm volatile("bar.sync %0, %1;" ::"r"(2 + consumer), "n"(WARPGROUP) : "memory");
            else __syncwarp();
        };
        auto await_buffers = [&](bool all) {  // or all but the last one
            if (lane == 0 && all) asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
            if (lane == 0 && !all) asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(STORE_BUFFERS - 1) : "memory");
            sync_writers();  // the stores that last used them have read them
        };
        auto fill = [&](const unsigned int (&words)[WORDS], unsigned int buffer, unsigned int id) {
            const unsigned int warp = id / WARP % WARPS;
            place(SWAPPED ? buffer - warp * STORE_BYTES : buffer, words, warp, id % WARP);
        };
        auto send = [&](int part, unsigned int buffer) {
            asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
            sync_writers();  // the lines of the buffer have been written
            const unsigned int y = SWAPPED ? column_of(part) + warp * WARP_ROWS : row_of();
            const unsigned int x = SWAPPED ? last.row + consumer * STRIP_M : column_of(part);
            // Columns that the tile still has, from the part's first on; a warp's lines are columns where the product is turned.
            const int columns = width - part * STORE_COLUMNS - (SWAPPED ? warp * WARP_ROWS : 0);
            if (part < LESS / STORE_COLUMNS || columns >= (SWAPPED ? WARP_ROWS : STORE_COLUMNS)) {
                if (lane == 0)
                    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%2, %3, %4}], [%1];"
                                 ::"l"(&c_map), "r"(buffer), "r"(x), "r"(y), "r"(last.batch) : "memory");
            } else if (columns > 0) {
                if (SWAPPED) store_cut(to(), buffer, p, y, x, WARP_ROWS / 2, LINE_BYTES / 16, lane);
                else if (width == BLOCK_N) store_cut(to(), buffer, p, y, x, WARP_ROWS, CUT_OF_WIDE / CHUNK, lane);
                else if (UNEVEN > 0 && width == LESS) store_cut(to(), buffer, p, y, x, WARP_ROWS, CUT_OF_LESS / CHUNK, lane);
                else store_cut(to(), buffer, p, y, x, WARP_ROWS, CUT_OF_NARROW / CHUNK, lane);
            }
            if (lane == 0) asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        };

        const unsigned int turns = (plan_of(p).tiles() - blockIdx.x + gridDim.x - 1) / gridDim.x;  // tiles of this block
        if (steps > 0) barrier_wait(full, 0);  // the first operand tiles have landed
        for (unsigned int turn = 0; turn < turns; turn++) {
            unsigned int step = 0;
            const unsigned int kind = told_of(told, turn).kind;
            const bool more = turn + 1 < turns;
            for (; step < steps; step++) {
                start(step, kind);
#if HOLD
                const unsigned int spacing = steps > MOST_SPACING * PARTS ? MOST_SPACING : LEAST_SPACING;
                if (leaving < 1u << PARTS && step % spacing == consumer * (spacing / CONSUMERS)) {  // a part of the previous tile leaves behind these products
                    recall(turn - 1);
                    await_buffers(true);
#pragma unroll
                    for (int part = 0; part < PARTS; part++)
                        if (leaving >> part & 1) {  // a number of the part in its place would move all parts to memory
                            fill(held[part], store, thread);
                            send(part, store);
                        }
                    leaving *= 2;
                }
#endif
                follow(step, step + 1 < steps || more);
            }
            recall(turn);
            asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
            if (thread == 0 && steps > 0) barrier_arrive(empty + (stage == 0 ? STAGES - 1 : stage - 1) * 8);
            auto edge = [&]() { return (SWAPPED ? last.row + BLOCK_M : last.column + BLOCK_N) > p.n && p.n % CHUNK != 0; };  // a bulk store would fill the last 16 bytes of a row of c
#if HOLD
            if (__builtin_expect(p.beta == 0 && !edge() && (!more || steps > LEAST_SPACING * PARTS), 1)) {
                if (!more && p.alpha == 1) {
                } else if (__builtin_expect(p.alpha == 1, 1)) {
#pragma unroll
                    for (int part = 0; part < PARTS; part++) finish(sums, part, held[part], 1);
                } else {
#pragma unroll
                    for (int part = 0; part < PARTS; part++) finish(sums, part, held[part], p.alpha);
                }
                leaving = more ? 1 : 1 << PARTS;
                if (!more) {  // the last tile leaves at once: through the buffers, then through the ring
                    await_buffers(true);
                    unsigned int id;
                    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(id));  // once more: registers are full
                    const unsigned int ring = base + (SWAPPED ? (id / WARPGROUP - 1) * PARTS * WARPS + id / WARP % WARPS : (id / WARP - WARPS) * PARTS) * STORE_BYTES;
#pragma unroll
                    for (int part = 0; part < PARTS; part++) {
                        if (part == STORE_BUFFERS) asm volatile("bar.sync 1, %0;" ::"n"(CONSUMERS * WARPGROUP) : "memory");  // all products are done: the ring is free
                        const unsigned int from = (part < STORE_BUFFERS ? store : ring) + part * next_store;
                        if (p.alpha == 1) finish(sums, part, held[part], 1);
                        fill(held[part], from, id);
                        send(part, from);
                    }
                }
                continue;
            }
            leaving = 1 << PARTS;
#endif
            // The other ways: f32, beta, a ragged edge, too few steps.
#pragma unroll
            for (int part = 0; part < PARTS; part++) {
                unsigned int words[WORDS];
                recall(turn);  // for each part again: registers are full
                if (p.beta == 0) finish(sums, part, words, p.alpha);
                else finish_onto(sums, part, words, to(), p, row_of(), column_of(part), end(), lane);
                recall(turn);
                if (edge()) {
                    scatter(to(), words, p, row_of(), column_of(part), end(), lane);
                } else {
                    const unsigned int buffer = store + part % STORE_BUFFERS * next_store;
                    await_buffers(part == 0);
                    fill(words, buffer, thread);
                    send(part, buffer);
                }
            }
        }
        if (lane == 0) asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    }
}
