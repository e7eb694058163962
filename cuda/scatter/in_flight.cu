// Idea. LOADS independent elements per thread: all their reads first, then all their writes.
// Changed from the rung below. More reads under way per thread; writes were never waited for, so little changes.
// A thread owns. LOADS elements of the input, THREADS apart.
// Memory traffic. As below.
// Needs. u32, any length; indices that are a permutation.
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
scatter_in_flight(const unsigned int* __restrict__ input, const unsigned int* __restrict__ indices, unsigned int* __restrict__ output, const Params p)
{
    const size_t first = (size_t)(blockIdx.x + p.block_x) * THREADS * LOADS + threadIdx.x;
    unsigned int at[LOADS], value[LOADS];  // LOADS
    #pragma unroll
    for (unsigned int i = 0; i < LOADS; i++) {
        const bool inside = first + i * THREADS < p.len;
        at[i] = inside ? indices[first + i * THREADS] : 0;
        value[i] = inside ? input[first + i * THREADS] : 0;
    }
    #pragma unroll
    for (unsigned int i = 0; i < LOADS; i++)
        if (first + i * THREADS < p.len)
            output[at[i]] = value[i];
}
