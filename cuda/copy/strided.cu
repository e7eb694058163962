// Idea. Neighbouring threads copy elements STRIDE apart; the elements between are left to later blocks, which come when the caches have forgotten the lines.
// Changed from the rung below. Only the order: the grid runs over the array STRIDE times, each time for another remainder.
// A thread owns. One element.
// Memory traffic. Every line moves STRIDE times up to one element per 32-byte sector (STRIDE 8 for 4-byte elements), for reads and writes alike.
// Needs. 4-byte elements, any length; an array larger than the cache, or the cache hides it.
#ifndef STRIDE
#define STRIDE 2
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
copy_strided(const T* __restrict__ input, T* __restrict__ output, const Params p)
{
    const size_t position = ((size_t)(blockIdx.x + p.block_x) * THREADS + threadIdx.x) * STRIDE + blockIdx.y + p.block_y;
    if (position < p.len)
        output[position] = input[position];
}
