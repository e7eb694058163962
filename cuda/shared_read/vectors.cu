// Idea. Lanes read 16 bytes each from shared memory, side by side, again and again: its bandwidth and nothing else.
// Changed from the rung below. The first rung.
// A thread owns. Four words of the output: the sum of STEPS vectors of its block's tile, from its own place on, around the ring of THREADS.
// Memory traffic. Reads and writes every word of global memory once; between the two every thread reads 16 * STEPS bytes of shared memory.
// Needs. 4-byte words, any length; beyond the end the tile holds zeros.
#ifndef STEPS
#define STEPS 1040
#endif
#ifndef ELEMENT
#define ELEMENT unsigned int
#endif
typedef ELEMENT T;

const unsigned int THREADS = 256;
const unsigned int VECTOR = 4;                // words of one vector
const unsigned int BLOCK = THREADS * VECTOR;  // words of one block
const unsigned int UNROLL = 16;               // vectors without a branch

struct Params {
    unsigned int block_x, block_y, block_z;  // index of this launch's first block
    unsigned int tail;                       // reserved, 0
    unsigned long long len;                  // words
};

extern "C" __global__ void __launch_bounds__(THREADS)
shared_read_vectors(const T* __restrict__ input, T* __restrict__ output, const Params p)
{
    __shared__ uint4 tile[2 * THREADS];  // 2 x THREADS: the ring twice, so that no index wraps
    const size_t first = (size_t)(blockIdx.x + p.block_x) * BLOCK + threadIdx.x * VECTOR;
    uint4 own;
    own.x = first < p.len ? input[first] : 0;
    own.y = first + 1 < p.len ? input[first + 1] : 0;
    own.z = first + 2 < p.len ? input[first + 2] : 0;
    own.w = first + VECTOR - 1 < p.len ? input[first + VECTOR - 1] : 0;
    tile[threadIdx.x] = own;
    tile[threadIdx.x + THREADS] = own;
    __syncthreads();  // waits for the tile

    uint4 sum = make_uint4(0, 0, 0, 0);
    #pragma unroll 1
    for (unsigned int step = 0; step < STEPS; step += UNROLL) {
        const uint4* from = tile + threadIdx.x + step % THREADS;
        #pragma unroll
        for (unsigned int i = 0; i < UNROLL; i++) {
            const uint4 vector = from[i];
            sum.x += vector.x;
            sum.y += vector.y;
            sum.z += vector.z;
            sum.w += vector.w;
        }
    }
    if (first < p.len)
        output[first] = sum.x;
    if (first + 1 < p.len)
        output[first + 1] = sum.y;
    if (first + 2 < p.len)
        output[first + 2] = sum.z;
    if (first + VECTOR - 1 < p.len)
        output[first + VECTOR - 1] = sum.w;
}
