// Idea. A block sorts its elements by kind first: all of one kind go to its front threads, all of the other to its back threads.
// Changed from the rung below. At most one warp of a block still has both kinds; the price is a list in shared memory and one barrier.
// A thread owns. One place of the block's list, whichever element that is.
// Memory traffic. Input and output once, in an order that stays inside the block's 1 KiB.
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
branch_grouped(const unsigned int* __restrict__ input, const unsigned int* __restrict__ kinds, unsigned int* __restrict__ output, const Params p)
{
    __shared__ unsigned int order[THREADS];  // THREADS
    __shared__ unsigned int counts[2];       // 2 kinds

    const size_t first = (size_t)(blockIdx.x + p.block_x) * THREADS;
    const unsigned int thread = threadIdx.x;
    if (thread < 2)
        counts[thread] = 0;
    order[thread] = THREADS;  // nobody
    __syncthreads();  // waits for the empty list
    if (first + thread < p.len) {
        if (kinds[first + thread] == 0)
            order[atomicAdd(&counts[0], 1)] = thread;
        else
            order[THREADS - 1 - atomicAdd(&counts[1], 1)] = thread;
    }
    __syncthreads();  // waits for the whole list
    if (order[thread] == THREADS)
        return;
    const size_t index = first + order[thread];
    unsigned int x = input[index];
    if (thread < counts[0])
        x = even_side(x, p.steps);
    else
        x = odd_side(x, p.steps);
    output[index] = x;
}
