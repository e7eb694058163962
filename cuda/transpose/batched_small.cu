// Idea. Many small matrices, one behind the other, are one long array on both sides: a block moves a run of whole matrices, and only shared memory knows their shape.
// Changed from the rung below. No tile: the block's matrices are read in consecutive chunks, and consecutive chunks of the result are put together from single elements.
// A thread owns. Several chunks of the input, then several chunks of the output.
// Memory traffic. Each element once, in one contiguous run per block on both sides.
// Needs. Matrices without gaps: input_ld == cols, output_ld == rows, both batch strides rows * cols. One matrix fits STAGE_BYTES. Both buffers a multiple of 16 bytes long; any offsets. Grid: one block for as many whole matrices as STAGE_BYTES hold.
#ifndef ELEMENT
#define ELEMENT unsigned int
#endif
#ifndef STAGE_BYTES
#define STAGE_BYTES 16384    // of a block's matrices, at most
#endif
typedef ELEMENT T;           // 1, 2, 4, 8 or 16 bytes

template <bool NARROW> struct WordOf { typedef T type; };
template <> struct WordOf<true> { typedef unsigned int type; };
typedef WordOf<(sizeof(T) < sizeof(unsigned int))>::type Word;   // an element, or the word that holds it

const unsigned int THREADS = 256;
const unsigned int CHUNK_BYTES = 16;
const unsigned int BANK_BYTES = 128;                           // of all banks of shared memory side by side
const unsigned int VECTOR = CHUNK_BYTES / sizeof(T);           // elements of a chunk
const unsigned int WORDS = CHUNK_BYTES / sizeof(Word);         // words of a chunk
const unsigned int PER_WORD = sizeof(Word) / sizeof(T);        // elements of a word
const unsigned int LINE = BANK_BYTES / sizeof(Word);           // words side by side in the banks
const unsigned int STAGED = (STAGE_BYTES + 2 * CHUNK_BYTES) / sizeof(Word);   // words

struct Params {
    unsigned int block_x, block_y, block_z;          // index of this launch's first block
    unsigned int rows, cols;                         // of the input
    unsigned int input_ld, output_ld;                // elements from one row to the next
    unsigned int batch;
    unsigned long long input_offset, output_offset;  // elements
    unsigned long long input_stride, output_stride;  // elements between matrices of a batch
};

union Chunk {
    uint4 all;
    Word word[WORDS];   // WORDS
    T element[VECTOR];  // VECTOR
};

__shared__ Word stage[STAGED + STAGED / LINE + 1];  // STAGED, and one word of padding behind every LINE

// Where word n lies: the padding keeps apart elements of one column, whose distance is often a power of two.
__device__ __forceinline__ unsigned int place(unsigned int n)
{
    return n + n / LINE;
}

extern "C" __global__ void __launch_bounds__(THREADS)
transpose_batched_small(const T* __restrict__ input, T* __restrict__ output, const Params p)
{
    const unsigned int size = p.rows * p.cols;
    const unsigned int fit = STAGE_BYTES / (size * (unsigned int)sizeof(T));
    const unsigned int matrices = fit >= VECTOR ? fit - fit % VECTOR : fit;         // of a block
    const unsigned int first = (blockIdx.x + p.block_x) * matrices;
    const unsigned int len = min(p.batch - first, matrices) * size;                 // elements of this block
    const T* source = input + p.input_offset + (size_t)first * size;
    T* destination = output + p.output_offset + (size_t)first * size;

    const unsigned int skip = (unsigned int)((size_t)source / sizeof(T)) % VECTOR;  // elements of the first chunk that lie before the run
    #pragma unroll 4
    for (unsigned int n = threadIdx.x; n * VECTOR < skip + len; n += THREADS) {
        Chunk chunk;
        chunk.all = reinterpret_cast<const uint4*>(source - skip)[n];
        #pragma unroll
        for (unsigned int w = 0; w < WORDS; w++)
            stage[place(n * WORDS + w)] = chunk.word[w];
    }

    __syncthreads();  // waits for all matrices of the block

    const unsigned int shift = (unsigned int)((size_t)destination / sizeof(T)) % VECTOR;
    for (unsigned int n = threadIdx.x; n * VECTOR < shift + len; n += THREADS) {
        const unsigned int start = n * VECTOR - shift;   // of the chunk in the run; wraps below 0
        const unsigned int begin = n == 0 ? 0 : start;
        unsigned int matrix = begin / size, col = begin % size / p.rows, row = begin % p.rows;
        Chunk chunk;
        #pragma unroll
        for (unsigned int m = 0; m < VECTOR; m++)
            if (start + m < len) {
                const unsigned int from = skip + matrix * size + row * p.cols + col;
                chunk.element[m] = reinterpret_cast<const T*>(stage + place(from / PER_WORD))[from % PER_WORD];
                if (++row == p.rows) {
                    row = 0;
                    if (++col == p.cols) {
                        col = 0;
                        matrix++;
                    }
                }
            }
        if (start < len && len - start >= VECTOR) {
            *reinterpret_cast<uint4*>(destination + start) = chunk.all;
        } else {
            #pragma unroll
            for (unsigned int m = 0; m < VECTOR; m++)
                if (start + m < len)
                    destination[start + m] = chunk.element[m];
        }
    }
}
