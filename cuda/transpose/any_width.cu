// Idea. One kernel for elements of every width: memory sees 16-byte chunks, and inside a thread a square block of elements, as wide as one chunk, changes rows and columns.
// Changed from the rung below. The block has as many rows as a chunk has elements: 16x16 bytes, 8x8 halves, 4x4 words, 2x2 pairs of words, 1x1. Elements narrower than a word are put together by byte permutations.
// A thread owns. BLOCKS blocks of the input tile, or its part of the rows of a block that SHARE threads share, and as many chunks of the output tile as those hold.
// Memory traffic. Each element once, in runs of a tile row, 256 bytes with 16 chunks; shared memory is read and written without conflicts where a tile has 8 or more chunks in both directions.
// Needs. Both buffers a multiple of 16 bytes long; bases, offsets, leading dimensions and batch strides of both sides multiples of 16 bytes. TILE_ROWS and TILE_COLS multiples of VECTOR; TILE_ROWS * TILE_COLS / PHASES elements of dynamic shared memory.
#ifndef ELEMENT
#define ELEMENT unsigned short
#endif
#ifndef TILE_ROWS
#define TILE_ROWS 128
#endif
#ifndef TILE_COLS
#define TILE_COLS 128
#endif
#ifndef BLOCKS
#define BLOCKS 1      // of a thread
#endif
#ifndef SHARE
#define SHARE 1       // threads that share a block, each with as many of its rows
#endif
#ifndef PHASES
#define PHASES 1      // slices of the tile that pass through shared memory one after the other: some columns of every block
#endif
#ifndef STREAMS
#define STREAMS 1     // parts of the matrix that are walked at the same time
#endif
#ifndef INPUT_LAST
#define INPUT_LAST 0  // 1: what was read is marked as the last to leave the L2 (capability 8.0)
#endif
typedef ELEMENT T;    // 1, 2, 4, 8 or 16 bytes

const unsigned int CHUNK_WORDS = 4;
const unsigned int CHUNK_BYTES = CHUNK_WORDS * sizeof(unsigned int);
const unsigned int VECTOR = CHUNK_BYTES / sizeof(T);                                                    // elements of a chunk
const unsigned int PER_WORD = sizeof(T) < sizeof(unsigned int) ? sizeof(unsigned int) / sizeof(T) : 1;  // elements of a word,
const unsigned int WORDS = sizeof(T) < sizeof(unsigned int) ? 1 : sizeof(T) / sizeof(unsigned int);     // or words of an element
const unsigned int CHUNKS = TILE_ROWS / VECTOR;               // of a row of the output tile
const unsigned int LANES = TILE_COLS / VECTOR;                // chunks of a row of the input tile
const unsigned int THREADS = CHUNKS * LANES / BLOCKS * SHARE;
const unsigned int ROWS = VECTOR / SHARE;                     // of a block that a thread has
const unsigned int PIECE_WORDS = CHUNK_WORDS / SHARE;         // of a column of those rows
const unsigned int PART = VECTOR / PHASES;                    // columns of a block in a slice
const unsigned int SLICE = TILE_COLS / PHASES;                // rows of the output tile in shared memory at a time
const unsigned int BANKS = CHUNKS < 8 ? CHUNKS : 8;           // chunks that lie side by side: 8 fill the 32 banks of shared memory
const unsigned int LOW = 0x5410, HIGH = 0x7632;               // byte selectors: the low halves, the high halves of two words

struct __align__(16) Chunk {
    unsigned int word[CHUNK_WORDS];  // CHUNK_WORDS
};

struct __align__(16 / SHARE) Piece {
    unsigned int word[PIECE_WORDS];  // PIECE_WORDS
};

struct Params {
    unsigned int block_x, block_y, block_z;          // index of this launch's first block
    unsigned int rows, cols;                         // of the input
    unsigned int input_ld, output_ld;                // elements from one row to the next
    unsigned int batch;
    unsigned long long input_offset, output_offset;  // elements
    unsigned long long input_stride, output_stride;  // elements between matrices of a batch
};

extern __shared__ Chunk tile[];  // SLICE x CHUNKS, rows of the output tile

// Where chunk `chunk` of row `n` of a slice lies. Eight lanes that store to rows PART apart, or load along a row, meet all the banks.
__device__ __forceinline__ unsigned int chunk_at(unsigned int n, unsigned int chunk)
{
    return n * CHUNKS + (chunk ^ (n / PART % BANKS));
}

// The row of the output tile that is row `n` of a slice.
__device__ __forceinline__ unsigned int row_of(unsigned int phase, unsigned int n)
{
    return PHASES == 1 ? n : n / PART * VECTOR + phase * PART + n % PART;
}

// A chunk of the input.
__device__ __forceinline__ Chunk loaded(const T* from)
{
#if INPUT_LAST
    // Measured: memory moves the same bytes, 1.5 % faster. Likeliest, the written lines are the ones that leave, in longer runs.
    unsigned long long policy;
    asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    Chunk chunk;
    asm("ld.global.nc.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;" : "=r"(chunk.word[0]), "=r"(chunk.word[1]), "=r"(chunk.word[2]), "=r"(chunk.word[3]) : "l"(from), "l"(policy));
    return chunk;
#else
    return *reinterpret_cast<const Chunk*>(from);
#endif
}

// Byte `part` of two words.
__device__ __forceinline__ unsigned int byte_pair(unsigned int low, unsigned int high, unsigned int part)
{
    return __byte_perm(low, high, part | (part + sizeof(unsigned int)) << 4);
}

// Column `col` of a thread's rows of a block: a chunk, or its part of one.
__device__ __forceinline__ Piece column(const Chunk (&block)[ROWS], unsigned int col)
{
    Piece piece;
    #pragma unroll
    for (unsigned int w = 0; w < PIECE_WORDS; w++) {
        const unsigned int from = col / PER_WORD, part = col % PER_WORD;
        if constexpr (sizeof(T) == 1)
            piece.word[w] = __byte_perm(byte_pair(block[w * PER_WORD].word[from], block[w * PER_WORD + 1].word[from], part),
                                        byte_pair(block[w * PER_WORD + 2].word[from], block[w * PER_WORD + 3].word[from], part), LOW);
        else if constexpr (sizeof(T) == 2)
            piece.word[w] = __byte_perm(block[w * PER_WORD].word[from], block[w * PER_WORD + 1].word[from], part == 0 ? LOW : HIGH);
        else
            piece.word[w] = block[w / WORDS].word[col * WORDS + w % WORDS];
    }
    return piece;
}

extern "C" __global__ void __launch_bounds__(THREADS)
transpose_any_width(const T* __restrict__ input, T* __restrict__ output, const Params p)
{
    const unsigned int block_row = blockIdx.x + p.block_x;
    const unsigned int part = (p.cols - 1) / TILE_COLS / STREAMS + 1;   // columns of tiles of a stream
    // Consecutive blocks of a stream continue the same output rows. Long power-of-two input rows crowd a single stream's reads into few memory channels; two streams, half a row apart, spread them.
    const unsigned int tile_row = block_row / STREAMS * TILE_ROWS;
    const unsigned int tile_col = (blockIdx.y + p.block_y + block_row % STREAMS * part) * TILE_COLS;
    if (STREAMS > 1 && tile_col >= p.cols)
        return;  // the last stream has fewer columns of tiles
    const unsigned int matrix = blockIdx.z + p.block_z;
    const unsigned int rows = min(p.rows - tile_row, TILE_ROWS);   // of this tile
    const unsigned int cols = min(p.cols - tile_col, TILE_COLS);
    const bool whole = rows == TILE_ROWS && cols == TILE_COLS;
    const T* source = input + p.input_offset + matrix * p.input_stride + (size_t)tile_row * p.input_ld + tile_col;
    T* destination = output + p.output_offset + matrix * p.output_stride + (size_t)tile_col * p.output_ld + tile_row;

    const unsigned int x = threadIdx.x % LANES;
    const unsigned int y = threadIdx.x / LANES;
    Chunk block[BLOCKS][ROWS];  // BLOCKS x ROWS; outside the matrix a row stays unset and is never written out
    if (whole) {
        #pragma unroll
        for (unsigned int b = 0; b < BLOCKS; b++)
            #pragma unroll
            for (unsigned int i = 0; i < ROWS; i++)
                block[b][i] = loaded(source + (size_t)((y + b * (THREADS / LANES)) * ROWS + i) * p.input_ld + x * VECTOR);
    } else {
        #pragma unroll
        for (unsigned int b = 0; b < BLOCKS; b++)
            #pragma unroll
            for (unsigned int i = 0; i < ROWS; i++) {
                const unsigned int row = (y + b * (THREADS / LANES)) * ROWS + i;
                if (row < rows && x * VECTOR < cols)
                    block[b][i] = loaded(source + (size_t)row * p.input_ld + x * VECTOR);
            }
    }
    const unsigned int chunk = threadIdx.x % CHUNKS;
    #pragma unroll
    for (unsigned int phase = 0; phase < PHASES; phase++) {
        #pragma unroll
        for (unsigned int b = 0; b < BLOCKS; b++)
            #pragma unroll
            for (unsigned int i = 0; i < PART; i++) {
                const unsigned int piece = y + b * (THREADS / LANES);
                reinterpret_cast<Piece*>(&tile[chunk_at(x * PART + i, piece / SHARE)])[piece % SHARE] = column(block[b], phase * PART + i);
            }

        __syncthreads();  // waits for the slice: a thread reads what others wrote

        if (whole) {
            #pragma unroll
            for (unsigned int i = 0; i < BLOCKS * PART / SHARE; i++) {
                const unsigned int n = threadIdx.x / CHUNKS + i * (THREADS / CHUNKS);
                *(reinterpret_cast<Chunk*>(destination + (size_t)row_of(phase, n) * p.output_ld) + chunk) = tile[chunk_at(n, chunk)];
            }
        } else if (chunk * VECTOR < rows) {
            for (unsigned int n = threadIdx.x / CHUNKS; n < SLICE && row_of(phase, n) < cols; n += THREADS / CHUNKS) {
                T* place = destination + (size_t)row_of(phase, n) * p.output_ld + chunk * VECTOR;
                const Chunk* c = &tile[chunk_at(n, chunk)];
                if (rows - chunk * VECTOR >= VECTOR)
                    *reinterpret_cast<Chunk*>(place) = *c;
                else
                    for (unsigned int i = 0; i < rows - chunk * VECTOR; i++)  // the edge cuts this chunk
                        place[i] = reinterpret_cast<const T*>(c)[i];
            }
        }

        if (phase + 1 < PHASES)
            __syncthreads();  // waits until the slice has been read: the next one overwrites it
    }
}
