// Idea. LOADS independent elements per thread: all their indices first, then all their reads, then the writes.
// Changed from the rung below. Several random reads of a thread are under way at a time instead of one; the sectors stay as many.
// A thread owns. LOADS elements of the output, THREADS apart.
// Memory traffic. As below, with LOADS random sectors in flight per thread.
// Needs. u32, any length; indices below len.
#ifndef LOADS
#define LOADS 4
#endif

const unsigned int THREADS = 256;

struct Params {
    unsigned int block_x, block_y, block_z;  // index of this launch's first block
    unsigned int pad;                        // reserved, 0
    unsigned long long len;                  // elements
};

extern "C" __global__ void __launch_bounds__(THREADS)
gather_in_flight(const unsigned int* __restrict__ input, const unsigned int* __restrict__ indices, unsigned int* __restrict__ output, const Params p)
{
    const size_t first = (size_t)(blockIdx.x + p.block_x) * THREADS * LOADS + threadIdx.x;
    unsigned int at[LOADS], value[LOADS];  // LOADS
    #pragma unroll
    for (unsigned int i = 0; i < LOADS; i++)
        at[i] = first + i * THREADS < p.len ? indices[first + i * THREADS] : 0;
    #pragma unroll
    for (unsigned int i = 0; i < LOADS; i++)
        value[i] = input[at[i]];
    #pragma unroll
    for (unsigned int i = 0; i < LOADS; i++)
        if (first + i * THREADS < p.len)
            output[first + i * THREADS] = value[i];
}
