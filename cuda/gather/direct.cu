// Idea. One element per thread, from wherever its index points.
// Changed from the rung below. The first rung: nothing below it.
// A thread owns. One element of the output.
// Memory traffic. Indices and output once, coalesced; of the input one 32-byte sector for every element that no neighbour shares it with, up to 8 times its bytes.
// Needs. u32, any length; indices below len.

const unsigned int THREADS = 256;

struct Params {
    unsigned int block_x, block_y, block_z;  // index of this launch's first block
    unsigned int pad;                        // reserved, 0
    unsigned long long len;                  // elements
};

extern "C" __global__ void __launch_bounds__(THREADS)
gather_direct(const unsigned int* __restrict__ input, const unsigned int* __restrict__ indices, unsigned int* __restrict__ output, const Params p)
{
    const size_t index = (size_t)(blockIdx.x + p.block_x) * THREADS + threadIdx.x;
    if (index < p.len)
        output[index] = input[indices[index]];
}
