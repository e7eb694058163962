// Idea. The same sum by blocks that claim shared memory they do not need, so that fewer of them fit a multiprocessor.
// Changed from the rung below. Only the ballast: BALLAST words per block.
// A thread owns. One element.
// Memory traffic. Three words per element, coalesced; shared memory once in and out.
// Needs. u32, any length; BALLAST words of shared memory.
#ifndef THREADS
#define THREADS 64
#endif
#ifndef BALLAST
#define BALLAST 3328
#endif

struct Params {
    unsigned int block_x, block_y, block_z;  // index of this launch's first block
    unsigned int pad;                        // reserved, 0
    unsigned long long len;                  // elements
};

extern "C" __global__ void __launch_bounds__(THREADS)
occupancy_ballast(const unsigned int* __restrict__ a, const unsigned int* __restrict__ b, unsigned int* __restrict__ output, const Params p)
{
    __shared__ unsigned int ballast[BALLAST];  // BALLAST, the first THREADS of them used

    const size_t index = (size_t)(blockIdx.x + p.block_x) * THREADS + threadIdx.x;
    if (index < p.len) {
        ballast[threadIdx.x] = a[index];
        output[index] = *(volatile unsigned int*)&ballast[threadIdx.x] + b[index];
    }
}
