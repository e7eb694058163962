// Idea. Every thread walks both ways and keeps one result: no branch, no divergence, and always the price of both.
// Changed from the rung below. The branch becomes a selection, which is what a compiler does by itself with sides of a few instructions.
// A thread owns. One element.
// Memory traffic. Input, kinds and output once, coalesced.
// Needs. u32, any length, kinds 0 or 1.

const unsigned int THREADS = 256;
const unsigned int FACTOR = 1664525, ADDEND = 1013904223;  // of a linear congruential generator
const unsigned int HIGH = 15, LOW = 13;                      // bits of the shifts

struct Params {
    unsigned int block_x, block_y, block_z;  // index of this launch's first block
    unsigned int steps;                      // of either side
    unsigned long long len;                  // elements
};

// The two sides: about as long, and too different to be merged into one.
__device__ __forceinline__ unsigned int even_side(unsigned int x, unsigned int steps)
{
    for (unsigned int step = 0; step < steps; step++)
        x = x * FACTOR + (x >> HIGH);
    return x;
}

__device__ __forceinline__ unsigned int odd_side(unsigned int x, unsigned int steps)
{
    for (unsigned int step = 0; step < steps; step++)
        x = (x ^ (x << LOW)) + ADDEND;
    return x;
}

extern "C" __global__ void __launch_bounds__(THREADS)
branch_predicated(const unsigned int* __restrict__ input, const unsigned int* __restrict__ kinds, unsigned int* __restrict__ output, const Params p)
{
    const size_t index = (size_t)(blockIdx.x + p.block_x) * THREADS + threadIdx.x;
    if (index >= p.len)
        return;
    const unsigned int x = input[index];
    const unsigned int even = even_side(x, p.steps), odd = odd_side(x, p.steps);
    output[index] = kinds[index] == 0 ? even : odd;
}
