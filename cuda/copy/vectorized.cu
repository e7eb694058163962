// Idea. Move 16 bytes per access. With VECTORS above 1 a thread also starts that many independent loads before its first store.
// Changed from the rung below. A thread moves 16-byte vectors instead of single elements: a quarter of the instructions for 4-byte elements, and 16 bytes in flight per thread instead of 4.
// A thread owns. VECTORS vectors, one block width apart, so that every access of a warp covers 512 consecutive bytes.
// Memory traffic. Reads and writes every byte once; the last len * ELEMENT_BYTES % 16 bytes go element by element, so nothing behind the end is touched.
// Needs. Input and output that start at a multiple of 16 bytes; any length, any element width of 1, 2, 4, 8 or 16 bytes.
#ifndef VECTORS
#define VECTORS 4
#endif
#ifndef ELEMENT
#define ELEMENT unsigned int
#endif
typedef ELEMENT T;

const unsigned int ELEMENT_BYTES = sizeof(T);
const unsigned int VECTOR_BYTES = 16;
const unsigned int VECTOR = VECTOR_BYTES / ELEMENT_BYTES;  // elements of one vector
const unsigned int THREADS = 256;
const unsigned int BLOCK = THREADS * VECTORS;              // vectors of one block

struct Params {
    unsigned int block_x, block_y, block_z;  // index of this launch's first block
    unsigned int tail;                       // reserved, 0
    unsigned long long len;                  // elements
};

extern "C" __global__ void __launch_bounds__(THREADS)
copy_vectorized(const T* __restrict__ input, T* __restrict__ output, const Params p)
{
    const uint4* source = reinterpret_cast<const uint4*>(input);
    uint4* destination = reinterpret_cast<uint4*>(output);
    const size_t whole = p.len / VECTOR;                                  // vectors that lie in the array entirely
    const size_t first = (size_t)(blockIdx.x + p.block_x) * BLOCK;        // this block's first vector
    const size_t mine = first + threadIdx.x;

    if (first + BLOCK <= whole) {
        uint4 vector[VECTORS];  // VECTORS
        #pragma unroll
        for (unsigned int i = 0; i < VECTORS; i++)
            vector[i] = source[mine + i * THREADS];
        #pragma unroll
        for (unsigned int i = 0; i < VECTORS; i++)
            destination[mine + i * THREADS] = vector[i];
        return;
    }
    // The last block: each vector is checked, and the one thread that meets the cut vector copies its elements.
    for (unsigned int i = 0; i < VECTORS; i++) {
        const size_t index = mine + i * THREADS;
        if (index < whole)
            destination[index] = source[index];
        if (index == whole)
            for (size_t element = whole * VECTOR; element < p.len; element++)
                output[element] = input[element];
    }
}
