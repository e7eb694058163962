// Idea. A row that starts anywhere is cut where its memory is aligned: the tile follows the shift of each output row, so that all stores but those at the two ends of a row are whole 16-byte chunks of whole sectors.
// Changed from the rung below. Alignment may differ from row to row, on both sides. The input is staged as it lies, in aligned words; elements are picked out of shared memory when a chunk of the output is put together.
// A thread owns. Several words of the staged input, then several chunks of the output.
// Memory traffic. The output once; of the input at most two more sectors per staged row, and LINE rows of the tile above, which the cache still holds. Shared memory is read and written without conflicts.
// Needs. Elements of 1, 2, 4 or 8 bytes; any shape, leading dimension, offset and batch stride. Narrow elements are loaded in the 4-byte words that hold them.
#ifndef ELEMENT
#define ELEMENT unsigned int
#endif
#ifndef TILE_ROWS
#define TILE_ROWS 64
#endif
#ifndef RUN
#define RUN 64           // words of a staged row
#endif
#ifndef DEPTH
#define DEPTH 5          // staged rows that a warp loads before it stores them
#endif
#ifndef MIN_BLOCKS
#define MIN_BLOCKS 6     // per multiprocessor
#endif
typedef ELEMENT T;       // 1, 2, 4 or 8 bytes

template <bool NARROW> struct WordOf { typedef T type; };
template <> struct WordOf<true> { typedef unsigned int type; };
typedef WordOf<(sizeof(T) < sizeof(unsigned int))>::type Word;   // what is loaded at once: an element, or the word that holds it

const unsigned int THREADS = 256;
const unsigned int WARP = 32;
const unsigned int WARPS = THREADS / WARP;
const unsigned int CHUNK_BYTES = 16;
const unsigned int SECTOR_BYTES = 32;
const unsigned int VECTOR = CHUNK_BYTES / sizeof(T);           // elements of a chunk
const unsigned int LINE = SECTOR_BYTES / sizeof(T);            // elements of a sector: output rows are cut at multiples of it
const unsigned int PER_WORD = sizeof(Word) / sizeof(T);        // elements of a word
const unsigned int TILE_COLS = RUN * PER_WORD - (PER_WORD - 1);   // a row may start at the last element of a word
const unsigned int STAGED = TILE_ROWS + LINE;                  // input rows of a tile
const unsigned int LANES = 8;                                  // neighbouring chunks of an output row in a warp,
const unsigned int COLUMNS = WARP / LANES;                     // and output rows of a warp at a time

struct Params {
    unsigned int block_x, block_y, block_z;          // index of this launch's first block
    unsigned int rows, cols;                         // of the input
    unsigned int input_ld, output_ld;                // elements from one row to the next
    unsigned int batch;
    unsigned long long input_offset, output_offset;  // elements
    unsigned long long input_stride, output_stride;  // elements between matrices of a batch
};

__shared__ Word stage[(STAGED + VECTOR) * RUN];  // STAGED x RUN, and room to read past the end

// What the word index in staged row q is XORed with: the rows of the LANES chunks of a warp, VECTOR apart, lie in different banks.
__device__ __forceinline__ unsigned int swizzle(unsigned int q)
{
    return q / VECTOR % LANES * COLUMNS;
}

// Where in its word the element at address a lies.
__device__ __forceinline__ unsigned int part_of(const T* a)
{
    return (unsigned int)((size_t)a / sizeof(T)) % PER_WORD;
}

__device__ __forceinline__ unsigned int four(const unsigned char* e)
{
    return e[0] | e[1] << 8 | e[2] << 16 | (unsigned int)e[3] << 24;
}
// A chunk of the elements of one output row.
__device__ __forceinline__ uint4 packed(const unsigned char (&e)[16]) { return make_uint4(four(e), four(e + 4), four(e + 8), four(e + 12)); }
__device__ __forceinline__ uint4 packed(const unsigned short (&e)[8]) { return make_uint4(e[0] | (unsigned int)e[1] << 16, e[2] | (unsigned int)e[3] << 16, e[4] | (unsigned int)e[5] << 16, e[6] | (unsigned int)e[7] << 16); }
__device__ __forceinline__ uint4 packed(const unsigned int (&e)[4]) { return make_uint4(e[0], e[1], e[2], e[3]); }
__device__ __forceinline__ uint4 packed(const uint2 (&e)[2]) { return make_uint4(e[0].x, e[0].y, e[1].x, e[1].y); }

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
transpose_sheared(const T* __restrict__ input, T* __restrict__ output, const Params p)
{
    const unsigned int index = blockIdx.x + p.block_x;
    const unsigned int tiles_down = (p.rows - 1) / TILE_ROWS + 1;
    const unsigned int tile_row = index % tiles_down * TILE_ROWS;
    const unsigned int tile_col = index / tiles_down * TILE_COLS;
    const unsigned int matrix = blockIdx.z + p.block_z;
    const unsigned int cols = min(p.cols - tile_col, TILE_COLS);   // of this tile
    const T* source = input + p.input_offset + matrix * p.input_stride + tile_col;   // of row 0
    T* destination = output + p.output_offset + matrix * p.output_stride + (size_t)tile_col * p.output_ld;
    const unsigned int warp = threadIdx.x / WARP;
    const unsigned int lane = threadIdx.x % WARP;

    // Staged row q is input row tile_row + q - LINE; rows and words outside the matrix are replaced by the nearest inside and never written out.
    #pragma unroll 1
    for (unsigned int q0 = warp; q0 < STAGED; q0 += WARPS * DEPTH) {
        Word word[DEPTH][RUN / WARP];  // DEPTH x RUN / WARP
        #pragma unroll
        for (unsigned int d = 0; d < DEPTH; d++) {
            const unsigned int row = min(max(tile_row + q0 + d * WARPS, LINE) - LINE, p.rows - 1);
            const T* run = source + (size_t)row * p.input_ld;
            const unsigned int last = (part_of(run) + cols - 1) / PER_WORD;
            #pragma unroll
            for (unsigned int h = 0; h < RUN / WARP; h++)
                word[d][h] = reinterpret_cast<const Word*>(run - part_of(run))[min(lane + h * WARP, last)];
        }
        #pragma unroll
        for (unsigned int d = 0; d < DEPTH; d++) {
            const unsigned int q = q0 + d * WARPS;
            #pragma unroll
            for (unsigned int h = 0; h < RUN / WARP; h++)
                if (q < STAGED)
                    stage[q * RUN + ((lane + h * WARP) ^ swizzle(q))] = word[d][h];
        }
    }

    __syncthreads();  // waits for the whole staged input

    const unsigned int chunks = (p.rows - tile_row <= TILE_ROWS ? STAGED : TILE_ROWS) / VECTOR;   // the last tile of an output row runs to its end
    // The columns of a warp lie in different words: group g takes every PER_WORD-th column of COLUMNS * PER_WORD.
    for (unsigned int g = warp; g < TILE_COLS / COLUMNS + PER_WORD; g += WARPS) {
        const unsigned int col = (g / PER_WORD * COLUMNS + lane / LANES) * PER_WORD + g % PER_WORD;
        if (col >= cols)
            continue;
        T* start = destination + (size_t)col * p.output_ld;     // of the output row
        const unsigned int shift = (unsigned int)((size_t)start / sizeof(T)) % LINE;
        const unsigned int first = LINE - shift + lane % LANES * VECTOR;   // staged row of the first element of this thread's first chunk
        unsigned int place[VECTOR];  // VECTOR, of the chunk's elements in `stage`; later chunks lie whole turns of the swizzle further down
        #pragma unroll
        for (unsigned int m = 0; m < VECTOR; m++) {
            const unsigned int q = first + m;
            const unsigned int n = part_of(source + (tile_row + q - LINE) * (size_t)p.input_ld) + col;
            place[m] = (q * RUN + (n / PER_WORD ^ (m < VECTOR - first % VECTOR ? swizzle(first) : swizzle(first + VECTOR)))) * PER_WORD + n % PER_WORD;
        }
        for (unsigned int k = lane % LANES, turn = 0; k < chunks && first + turn < STAGED; k += LANES, turn += LANES * VECTOR) {
            T e[VECTOR];  // VECTOR
            #pragma unroll
            for (unsigned int m = 0; m < VECTOR; m++)
                e[m] = reinterpret_cast<const T*>(stage)[place[m] + turn * RUN * PER_WORD];
            const unsigned int row = tile_row + first + turn - LINE;   // of the first element; wraps below 0
            if (row < p.rows && p.rows - row >= VECTOR) {
                __stcs(reinterpret_cast<uint4*>(start + row), packed(e));   // streaming: nothing here reads the output again
            } else {
                #pragma unroll
                for (unsigned int m = 0; m < VECTOR; m++)
                    if (row + m < p.rows)
                        start[row + m] = e[m];
            }
        }
    }
}
