// Idea. A matrix with a few columns (or rows) is a list of small records: they are taken apart (or put together) in registers, like interleaved samples or pixels.
// Changed from the rung below. No square tile, which would be mostly empty: a warp covers all NARROW columns (rows), a compile-time constant, of LONG consecutive records, and waits for no other warp.
// A thread owns. NARROW chunks: VECTOR whole records on one side, a chunk of every long row on the other.
// Memory traffic. Each element once; the narrow side is one contiguous run, the wide side has runs of 16 bytes per thread. Shared memory turns chunks of a thread into consecutive chunks.
// Needs. NARROW_INPUT: cols == input_ld == NARROW, otherwise rows == output_ld == NARROW. A side whose rows do not all start at multiples of 16 bytes, and a last warp that is not full, are moved element by element.
#ifndef ELEMENT
#define ELEMENT unsigned int
#endif
#ifndef NARROW
#define NARROW 3
#endif
#ifndef NARROW_INPUT
#define NARROW_INPUT 1     // 1: the input has NARROW columns, 0: it has NARROW rows
#endif
#ifndef THREADS
#define THREADS 128
#endif
#ifndef INPUT_LAST
#define INPUT_LAST 0       // 1: what was read is marked as the last to leave the L2 (capability 8.0)
#endif
typedef ELEMENT T;         // 1, 2, 4, 8 or 16 bytes

const unsigned int CHUNK_WORDS = 4;
const unsigned int CHUNK_BYTES = CHUNK_WORDS * sizeof(unsigned int);
const unsigned int VECTOR = CHUNK_BYTES / sizeof(T);                                                    // elements of a chunk
const unsigned int PER_WORD = sizeof(T) < sizeof(unsigned int) ? sizeof(unsigned int) / sizeof(T) : 1;  // elements of a word,
const unsigned int WORDS = sizeof(T) < sizeof(unsigned int) ? 1 : sizeof(T) / sizeof(unsigned int);     // or words of an element
const unsigned int BITS = 32 / PER_WORD;                      // of an element in its word
const unsigned int MASK = 0xffffffff >> (32 - BITS);
const unsigned int WARP = 32;
const unsigned int LONG = WARP * VECTOR;                      // records of a warp
const unsigned int BANKS = 8;                                 // chunks side by side in the 32 banks of shared memory

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

__shared__ Chunk stages[THREADS * NARROW];  // of each warp LONG x NARROW elements, record after record

// Where chunk n of the records lies: threads that access every second, fourth or eighth chunk still meet all the banks.
__device__ __forceinline__ unsigned int place(unsigned int n)
{
    return n ^ (n / BANKS % BANKS);
}

// A chunk of the input.
__device__ __forceinline__ Chunk loaded(const Chunk* from)
{
#if INPUT_LAST
    // Measured: memory moves the same bytes 2 % faster, see `any_width`.
    unsigned long long policy;
    asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    Chunk chunk;
    asm("ld.global.nc.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;" : "=r"(chunk.word[0]), "=r"(chunk.word[1]), "=r"(chunk.word[2]), "=r"(chunk.word[3]) : "l"(from), "l"(policy));
    return chunk;
#else
    return *from;
#endif
}

// Element n of a warp's records.
__device__ __forceinline__ T& element(Chunk* stage, unsigned int n)
{
    return reinterpret_cast<T*>(stage + place(n / VECTOR))[n % VECTOR];
}

// Chunk k of the result: of NARROW chunks of records, column k; of a chunk of each long row, the k-th chunk of the records.
__device__ __forceinline__ Chunk regrouped(const Chunk (&from)[NARROW], unsigned int k)
{
    Chunk chunk = {};
    #pragma unroll
    for (unsigned int w = 0; w < CHUNK_WORDS; w++)
        #pragma unroll
        for (unsigned int i = 0; i < PER_WORD; i++) {
            const unsigned int m = w * PER_WORD / WORDS + i;    // element of the result
            const unsigned int record = (k * VECTOR + m) / NARROW, field = (k * VECTOR + m) % NARROW;
            const unsigned int n = NARROW_INPUT ? m * NARROW + k : field * VECTOR + record;   // its place in `from`
            const unsigned int word = from[n / VECTOR].word[n % VECTOR / PER_WORD * WORDS + w % WORDS];
            chunk.word[w] |= (word >> (n % PER_WORD * BITS) & MASK) << (i * BITS);
        }
    return chunk;
}

// Whether NARROW rows, `ld` elements apart, or one of them, start at multiples of a chunk.
__device__ __forceinline__ bool in_chunks(const T* first, unsigned int ld)
{
    return ((size_t)first | (NARROW > 1 ? ld * sizeof(T) : 0)) % CHUNK_BYTES == 0;
}

extern "C" __global__ void __launch_bounds__(THREADS)
transpose_skinny(const T* __restrict__ input, T* __restrict__ output, const Params p)
{
    const unsigned int lane = threadIdx.x % WARP;
    const unsigned int warp = threadIdx.x / WARP;
    const unsigned int matrix = blockIdx.z + p.block_z;
    const size_t first = ((size_t)(blockIdx.x + p.block_x) * (THREADS / WARP) + warp) * LONG;   // record
    const size_t all = NARROW_INPUT ? p.rows : p.cols;
    const unsigned int records = first < all ? (unsigned int)min(all - first, (size_t)LONG) : 0;   // of this warp
    const bool whole = records == LONG;
    const T* source = input + p.input_offset + matrix * p.input_stride + first * (NARROW_INPUT ? NARROW : 1);
    T* destination = output + p.output_offset + matrix * p.output_stride + first * (NARROW_INPUT ? 1 : NARROW);
    Chunk* stage = stages + warp * WARP * NARROW;

    if (whole && in_chunks(source, NARROW_INPUT ? 0 : p.input_ld)) {
        Chunk chunk[NARROW];  // NARROW
        #pragma unroll
        for (unsigned int k = 0; k < NARROW; k++)
            chunk[k] = loaded(NARROW_INPUT ? reinterpret_cast<const Chunk*>(source) + lane + k * WARP : reinterpret_cast<const Chunk*>(source + (size_t)k * p.input_ld) + lane);
        #pragma unroll
        for (unsigned int k = 0; k < NARROW; k++)
            stage[place(NARROW_INPUT ? lane + k * WARP : lane * NARROW + k)] = NARROW_INPUT ? chunk[k] : regrouped(chunk, k);
    } else if (NARROW_INPUT) {
        #pragma unroll 4
        for (unsigned int n = lane; n < records * NARROW; n += WARP)
            element(stage, n) = source[n];
    } else {
        #pragma unroll
        for (unsigned int k = 0; k < NARROW; k++)
            for (unsigned int record = lane; record < records; record += WARP)
                element(stage, record * NARROW + k) = source[(size_t)k * p.input_ld + record];
    }

    __syncwarp();  // waits for all records of the warp: a thread reads what others wrote

    if (whole && in_chunks(destination, NARROW_INPUT ? p.output_ld : 0)) {
        Chunk chunk[NARROW];  // NARROW
        #pragma unroll
        for (unsigned int k = 0; k < NARROW; k++)
            chunk[k] = stage[place(NARROW_INPUT ? lane * NARROW + k : lane + k * WARP)];
        #pragma unroll
        for (unsigned int k = 0; k < NARROW; k++)
            *(NARROW_INPUT ? reinterpret_cast<Chunk*>(destination + (size_t)k * p.output_ld) + lane : reinterpret_cast<Chunk*>(destination) + lane + k * WARP) = NARROW_INPUT ? regrouped(chunk, k) : chunk[k];
    } else if (NARROW_INPUT) {
        #pragma unroll
        for (unsigned int k = 0; k < NARROW; k++)
            for (unsigned int record = lane; record < records; record += WARP)
                destination[(size_t)k * p.output_ld + record] = element(stage, record * NARROW + k);
    } else {
        #pragma unroll 4
        for (unsigned int n = lane; n < records * NARROW; n += WARP)
            destination[n] = element(stage, n);
    }
}
