// Idea. The plain copy, shifted: the first thread of every warp meets the second element of a 128-byte line.
// Changed from the rung below. Only which element a thread takes: SHIFT further on; thread 0 takes the first ones as well.
// A thread owns. One element; thread 0 also the first SHIFT elements.
// Memory traffic. Reads and writes every element once; a warp's 128 bytes lie in 5 sectors instead of 4, two of them cut, which its neighbours find in the cache.
// Needs. 4-byte elements, any length.
#ifndef SHIFT
#define SHIFT 1
#endif
#ifndef ELEMENT
#define ELEMENT unsigned int
#endif
typedef ELEMENT T;

const unsigned int THREADS = 256;

struct Params {
    unsigned int block_x, block_y, block_z;  // index of this launch's first block
    unsigned int tail;                       // reserved, 0
    unsigned long long len;                  // elements
};

extern "C" __global__ void __launch_bounds__(THREADS)
copy_misaligned(const T* __restrict__ input, T* __restrict__ output, const Params p)
{
    const size_t index = (size_t)(blockIdx.x + p.block_x) * THREADS + threadIdx.x;
    if (index == 0)
        for (size_t i = 0; i < SHIFT && i < p.len; i++)
            output[i] = input[i];
    if (index + SHIFT < p.len)
        output[index + SHIFT] = input[index + SHIFT];
}
