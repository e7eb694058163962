// Idea. A square matrix needs no second buffer: two tiles that mirror each other at the diagonal change places, each turned on the way.
// Changed from the rung below. The first rung. A block holds two tiles in shared memory, and numbers the tiles of the lower triangle only; a tile on the diagonal is its own mirror.
// A thread owns. One block of elements in both tiles, a chunk wide and as many rows high, and as many chunks of both turned tiles.
// Memory traffic. Each element once in and once out, in runs of a tile row (256 bytes with 16 chunks); shared memory is read and written without conflicts.
// Needs. rows == cols, one leading dimension (output_ld); the matrix is the only binding. ALIGNED: base, offset, leading dimension and batch stride multiples of 16 bytes. Two tiles of dynamic shared memory. Grid: n (n + 1) / 2 blocks for n tile rows.
#ifndef ELEMENT
#define ELEMENT unsigned int
#endif
#ifndef TILE
#define TILE 64
#endif
#ifndef ALIGNED
#define ALIGNED 1     // 0: single elements everywhere, as in tiles that the edge cuts
#endif
typedef ELEMENT T;    // 1, 2, 4, 8 or 16 bytes

const unsigned int CHUNK_WORDS = 4;
const unsigned int CHUNK_BYTES = CHUNK_WORDS * sizeof(unsigned int);
const unsigned int VECTOR = CHUNK_BYTES / sizeof(T);                                                    // elements of a chunk
const unsigned int PER_WORD = sizeof(T) < sizeof(unsigned int) ? sizeof(unsigned int) / sizeof(T) : 1;  // elements of a word,
const unsigned int WORDS = sizeof(T) < sizeof(unsigned int) ? 1 : sizeof(T) / sizeof(unsigned int);     // or words of an element
const unsigned int CHUNKS = TILE / VECTOR;                    // of a tile row
const unsigned int THREADS = CHUNKS * CHUNKS;                 // one for each block of a tile
const unsigned int BANKS = CHUNKS < 8 ? CHUNKS : 8;           // chunks that lie side by side: 8 fill the 32 banks of shared memory
const unsigned int LOW = 0x5410, HIGH = 0x7632;               // byte selectors: the low halves, the high halves of two words

struct __align__(16) Chunk {
    unsigned int word[CHUNK_WORDS];  // CHUNK_WORDS
};

struct Params {
    unsigned int block_x, block_y, block_z;          // index of this launch's first block
    unsigned int rows, cols;                         // of the input
    unsigned int input_ld, output_ld;                // elements from one row to the next
    unsigned int batch;
    unsigned long long input_offset, output_offset;  // elements
    unsigned long long input_stride, output_stride;  // elements between matrices of a batch
};

extern __shared__ Chunk tiles[];  // 2 x TILE x CHUNKS, the turned tiles: of the lower triangle, of the upper

// Where chunk `chunk` of tile row `row` lies. Eight lanes that store to rows VECTOR apart, or load along a row, meet all the banks.
__device__ __forceinline__ unsigned int chunk_at(unsigned int row, unsigned int chunk)
{
    return row * CHUNKS + (chunk ^ (row / VECTOR % BANKS));
}

// Byte `part` of two words.
__device__ __forceinline__ unsigned int byte_pair(unsigned int low, unsigned int high, unsigned int part)
{
    return __byte_perm(low, high, part | (part + sizeof(unsigned int)) << 4);
}

// Column `col` of a block, as a chunk.
__device__ __forceinline__ Chunk column(const Chunk (&block)[VECTOR], unsigned int col)
{
    Chunk chunk;
    #pragma unroll
    for (unsigned int w = 0; w < CHUNK_WORDS; w++) {
        const unsigned int from = col / PER_WORD, part = col % PER_WORD;
        if constexpr (sizeof(T) == 1)
            chunk.word[w] = __byte_perm(byte_pair(block[w * PER_WORD].word[from], block[w * PER_WORD + 1].word[from], part),
                                        byte_pair(block[w * PER_WORD + 2].word[from], block[w * PER_WORD + 3].word[from], part), LOW);
        else if constexpr (sizeof(T) == 2)
            chunk.word[w] = __byte_perm(block[w * PER_WORD].word[from], block[w * PER_WORD + 1].word[from], part == 0 ? LOW : HIGH);
        else
            chunk.word[w] = block[w / WORDS].word[col * WORDS + w % WORDS];
    }
    return chunk;
}

// Element (row, col) of a turned tile.
__device__ __forceinline__ T& element(Chunk* tile, unsigned int row, unsigned int col)
{
    return reinterpret_cast<T*>(tile + chunk_at(row, col / VECTOR))[col % VECTOR];
}

// Loads the tile at `source`, rows x cols of the matrix from there on, and stores it turned.
__device__ __forceinline__ void take(Chunk* tile, const T* source, unsigned int ld, unsigned int rows, unsigned int cols)
{
    if (ALIGNED && rows >= TILE && cols >= TILE) {
        const unsigned int x = threadIdx.x % CHUNKS;
        const unsigned int y = threadIdx.x / CHUNKS;
        Chunk block[VECTOR];  // VECTOR rows
        #pragma unroll
        for (unsigned int i = 0; i < VECTOR; i++)
            block[i] = *reinterpret_cast<const Chunk*>(source + (size_t)(y * VECTOR + i) * ld + x * VECTOR);
        #pragma unroll
        for (unsigned int col = 0; col < VECTOR; col++)
            tile[chunk_at(x * VECTOR + col, y)] = column(block, col);
    } else {
        #pragma unroll 4
        for (unsigned int n = threadIdx.x; n < TILE * TILE; n += THREADS) {
            const unsigned int row = n / TILE, col = n % TILE;
            if (row < rows && col < cols)
                element(tile, col, row) = source[(size_t)row * ld + col];
        }
    }
}

// Stores a turned tile to `destination`, rows x cols of the matrix from there on.
__device__ __forceinline__ void put(T* destination, Chunk* tile, unsigned int ld, unsigned int rows, unsigned int cols)
{
    if (ALIGNED && rows >= TILE && cols >= TILE) {
        const unsigned int x = threadIdx.x % CHUNKS;
        #pragma unroll
        for (unsigned int i = 0; i < VECTOR; i++) {
            const unsigned int row = threadIdx.x / CHUNKS + i * CHUNKS;
            const Chunk c = tile[chunk_at(row, x)];
            __stcs(reinterpret_cast<uint4*>(destination + (size_t)row * ld) + x, make_uint4(c.word[0], c.word[1], c.word[2], c.word[3]));
        }
    } else {
        #pragma unroll 4
        for (unsigned int n = threadIdx.x; n < TILE * TILE; n += THREADS) {
            const unsigned int row = n / TILE, col = n % TILE;
            if (row < rows && col < cols)
                destination[(size_t)row * ld + col] = element(tile, row, col);
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
transpose_in_place_mirrored(T* matrix, const Params p)
{
    // Row i of the lower triangle holds tiles i (i + 1) / 2 … of the numbering; the square root may be off by one.
    const unsigned int index = blockIdx.x + p.block_x;
    unsigned int i = (unsigned int)((sqrt(8.0 * index + 1.0) - 1.0) / 2.0);
    if ((unsigned long long)i * (i + 1) / 2 > index)
        i--;
    if ((unsigned long long)(i + 1) * (i + 2) / 2 <= index)
        i++;
    const unsigned int j = index - (unsigned int)((unsigned long long)i * (i + 1) / 2);
    const unsigned int y = i * TILE, x = j * TILE;    // of the lower tile
    const unsigned int down = p.rows - y, across = p.rows - x;   // from there to the end of the matrix
    T* const origin = matrix + p.output_offset + (blockIdx.z + p.block_z) * p.output_stride;
    T* const lower = origin + (size_t)y * p.output_ld + x;
    T* const upper = origin + (size_t)x * p.output_ld + y;

    take(tiles, lower, p.output_ld, down, across);
    if (i != j)
        take(tiles + TILE * CHUNKS, upper, p.output_ld, across, down);

    __syncthreads();  // waits for both tiles: from here on the matrix may be overwritten, and a thread reads what others turned

    put(upper, tiles, p.output_ld, across, down);
    if (i != j)
        put(lower, tiles + TILE * CHUNKS, p.output_ld, down, across);
}
