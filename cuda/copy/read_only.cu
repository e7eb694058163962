// Idea. Loads through the read-only data path, asked for by name (`__ldg`).
// Changed from the rung below. Only the load instruction. For data that is read once there is nothing to gain, and `const __restrict__` inputs take this path without being asked.
// A thread owns. One element.
// Memory traffic. Reads and writes every element once, fully coalesced.
// Needs. 4-byte elements, any length; CUDA: WGSL says `var<storage, read>` of the whole binding and has no load of its own for it.
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
copy_read_only(const T* __restrict__ input, T* __restrict__ output, const Params p)
{
    const size_t index = (size_t)(blockIdx.x + p.block_x) * THREADS + threadIdx.x;
    if (index < p.len)
        output[index] = __ldg(input + index);
}
