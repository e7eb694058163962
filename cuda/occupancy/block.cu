// Idea. A sum of two vectors, by blocks of THREADS threads: the size of a block decides how many warps a multiprocessor holds.
// Changed from the rung below. The first rung: nothing below it. 32 threads: the limit of blocks leaves half of the warps empty on many devices.
// A thread owns. One element.
// Memory traffic. Three words per element, coalesced.
// Needs. u32, any length; a device that takes blocks of THREADS threads.
#ifndef THREADS
#define THREADS 256
#endif

struct Params {
    unsigned int block_x, block_y, block_z;  // index of this launch's first block
    unsigned int pad;                        // reserved, 0
    unsigned long long len;                  // elements
};

extern "C" __global__ void __launch_bounds__(THREADS)
occupancy_block(const unsigned int* __restrict__ a, const unsigned int* __restrict__ b, unsigned int* __restrict__ output, const Params p)
{
    const size_t index = (size_t)(blockIdx.x + p.block_x) * THREADS + threadIdx.x;
    if (index < p.len)
        output[index] = a[index] + b[index];
}
