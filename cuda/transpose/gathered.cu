// Idea. A matrix with a few columns (or rows) is a list of small records, which shared memory holds one after the other; a chunk of a long row is gathered from it (or scattered into it) element by element.
// Changed from the rung below. A thread moves half a chunk of every long row instead of a whole one: less waits for the barrier at a time, and what was read is marked as the last to leave the caches.
// A thread owns. NARROW / 2 chunks, rounded up, on each side.
// Memory traffic. Each element once, on both sides in runs of 512 bytes per warp.
// Needs. Capability 8.0. Elements of a word or more; bases, offsets and batch strides of both sides, and the long rows, at multiples of 16 bytes. NARROW_INPUT: cols == input_ld == NARROW, otherwise rows == output_ld == NARROW. A last block that is not full moves element by element.
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
#define THREADS 256
#endif
typedef ELEMENT T;         // 4, 8 or 16 bytes

const unsigned int CHUNK_WORDS = 4;
const unsigned int CHUNK_BYTES = CHUNK_WORDS * sizeof(unsigned int);
const unsigned int VECTOR = CHUNK_BYTES / sizeof(T);          // elements of a chunk
const unsigned int RUN = THREADS / 2;                         // chunks of a long row in a block
const unsigned int LONG = RUN * VECTOR;                       // records of a block
const unsigned int OWN = (NARROW + 1) / 2;                    // chunks of a thread; where NARROW is odd, half of the threads have one less
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

__shared__ Chunk stage[RUN * NARROW];  // LONG x NARROW elements, record after record

// Where chunk n of the records lies: threads that access every NARROW-th chunk meet all the banks, of themselves where NARROW is odd.
__device__ __forceinline__ unsigned int place(unsigned int n)
{
    return NARROW % 2 == 1 ? n : n ^ (n / BANKS % BANKS);
}

// A chunk of the input.
__device__ __forceinline__ Chunk loaded(const Chunk* from)
{
    // Measured: memory moves the same bytes 2 % faster, see `any_width`.
    unsigned long long policy;
    asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    Chunk chunk;
    asm("ld.global.L1::evict_last.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;" : "=r"(chunk.word[0]), "=r"(chunk.word[1]), "=r"(chunk.word[2]), "=r"(chunk.word[3]) : "l"(from), "l"(policy));
    return chunk;
}

// Element n of the records.
__device__ __forceinline__ T& element(unsigned int n)
{
    return reinterpret_cast<T*>(stage + place(n / VECTOR))[n % VECTOR];
}

extern "C" __global__ void __launch_bounds__(THREADS)
transpose_gathered(const T* __restrict__ input, T* __restrict__ output, const Params p)
{
    const unsigned int t = threadIdx.x;
    const unsigned int matrix = blockIdx.z + p.block_z;
    const size_t first = (size_t)(blockIdx.x + p.block_x) * LONG;   // record
    const size_t records = (NARROW_INPUT ? p.rows : p.cols) - first;   // from this block on
    const T* source = input + p.input_offset + matrix * p.input_stride + first * (NARROW_INPUT ? NARROW : 1);
    T* destination = output + p.output_offset + matrix * p.output_stride + first * (NARROW_INPUT ? 1 : NARROW);
    if (records < LONG) {   // the whole block
        for (unsigned int record = t; record < records; record += THREADS)
            for (unsigned int k = 0; k < NARROW; k++)
                destination[NARROW_INPUT ? k * (size_t)p.output_ld + record : record * NARROW + k] = source[NARROW_INPUT ? record * NARROW + k : k * (size_t)p.input_ld + record];
        return;
    }

    Chunk chunk[OWN];  // OWN
    #pragma unroll
    for (unsigned int k = 0; k < OWN; k++) {
        const unsigned int n = t + k * THREADS;
        if (n < RUN * NARROW)
            chunk[k] = loaded(NARROW_INPUT ? reinterpret_cast<const Chunk*>(source) + n : reinterpret_cast<const Chunk*>(source + (size_t)(n / RUN) * p.input_ld) + n % RUN);
    }
    #pragma unroll
    for (unsigned int k = 0; k < OWN; k++) {
        const unsigned int n = t + k * THREADS;
        if (n < RUN * NARROW) {
            if (NARROW_INPUT)
                stage[place(n)] = chunk[k];
            else
                #pragma unroll
                for (unsigned int i = 0; i < VECTOR; i++)
                    element((n % RUN * VECTOR + i) * NARROW + n / RUN) = reinterpret_cast<const T*>(&chunk[k])[i];
        }
    }

    __syncthreads();  // waits for all records of the block: a thread reads what others wrote

    #pragma unroll
    for (unsigned int k = 0; k < OWN; k++) {
        const unsigned int n = t + k * THREADS;
        if (n < RUN * NARROW) {
            Chunk c;
            if (NARROW_INPUT)
                #pragma unroll
                for (unsigned int i = 0; i < VECTOR; i++)
                    reinterpret_cast<T*>(&c)[i] = element((n % RUN * VECTOR + i) * NARROW + n / RUN);
            else
                c = stage[place(n)];
            *(NARROW_INPUT ? reinterpret_cast<Chunk*>(destination + (size_t)(n / RUN) * p.output_ld) + n % RUN : reinterpret_cast<Chunk*>(destination) + n) = c;
        }
    }
}
