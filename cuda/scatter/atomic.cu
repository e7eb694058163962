// Idea. The same by atomic exchanges, as it must be where two elements may want one place.
// Changed from the rung below. Every write is an atomic, done where the second-level cache keeps the word; nobody else wants it, so this is what an atomic costs by itself.
// A thread owns. One element of the input.
// Memory traffic. Input and indices once, coalesced; of the output one cut 32-byte sector for every element that no neighbour shares it with, which the cache has to merge.
// Needs. u32, any length; indices that are a permutation.

const unsigned int THREADS = 256;

struct Params {
    unsigned int block_x, block_y, block_z;  // index of this launch's first block
    unsigned int pad;                        // reserved, 0
    unsigned long long len;                  // elements
};

extern "C" __global__ void __launch_bounds__(THREADS)
scatter_atomic(const unsigned int* __restrict__ input, const unsigned int* __restrict__ indices, unsigned int* __restrict__ output, const Params p)
{
    const size_t index = (size_t)(blockIdx.x + p.block_x) * THREADS + threadIdx.x;
    if (index < p.len)
        atomicExch(&output[indices[index]], input[index]);
}
