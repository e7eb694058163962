// Idea. Every block adds its sum to the result itself: no workspace and no second pass over partial sums.
// Changed from the rung below. The second launch adds nothing any more; a first, tiny one sets the result to 0. The order of the additions, and so the last bits, change from run to run.
// A thread owns. As below; thread 0 of each block, one atomic addition.
// Memory traffic. As below; one atomic per block on a single word.
// Needs. f32, any length, a grid that needs no cutting. Longest chain of additions: ceil(len / (blocks LOADS THREADS)) + log2(LOADS) + log2(THREADS) + blocks.

const unsigned int THREADS = 256;
const unsigned int LOADS = 8;                   // of a thread, in flight at a time
const unsigned int CHUNK = LOADS * THREADS;  // elements of a turn

struct Params {
    unsigned int block_x, block_y, block_z;  // index of this launch's first block
    unsigned int blocks;                     // of the first pass
    unsigned long long len;                  // elements
};

const unsigned int WARP = 32;
const unsigned int WARPS = THREADS / WARP;

// The sum of one value per thread, for thread 0: five exchanges inside each warp, then one warp adds the warps' sums.
__device__ __forceinline__ float block_sum(float value, float* sums)
{
    #pragma unroll
    for (unsigned int lanes = WARP / 2; lanes > 0; lanes /= 2)
        value += __shfl_down_sync(~0u, value, lanes);
    if (threadIdx.x % WARP == 0)
        sums[threadIdx.x / WARP] = value;
    __syncthreads();  // waits for the sum of every warp
    value = threadIdx.x < WARPS ? sums[threadIdx.x] : 0;
    #pragma unroll
    for (unsigned int lanes = WARPS / 2; lanes > 0; lanes /= 2)
        value += __shfl_down_sync(~0u, value, lanes);
    return value;
}

extern "C" __global__ void __launch_bounds__(THREADS)
reduce_atomics_zero(float* __restrict__ output, const Params p)
{
    if (threadIdx.x == 0)
        output[0] = 0;
}

extern "C" __global__ void __launch_bounds__(THREADS)
reduce_atomics_add(const float* __restrict__ input, float* __restrict__ output, const Params p)
{
    __shared__ float sums[WARPS];  // WARPS

    const unsigned int thread = threadIdx.x, block = blockIdx.x + p.block_x;
    float sum[LOADS] = {};  // LOADS
    const size_t turn = (size_t)gridDim.x * CHUNK;
    size_t i = (size_t)block * CHUNK + thread;
    for (; i + (LOADS - 1) * THREADS < p.len; i += turn) {
        #pragma unroll
        for (unsigned int j = 0; j < LOADS; j++)
            sum[j] += input[i + j * THREADS];
    }
    // The last chunk: each element is checked.
    #pragma unroll
    for (unsigned int j = 0; j < LOADS; j++)
        if (i + j * THREADS < p.len)
            sum[j] += input[i + j * THREADS];
    #pragma unroll
    for (unsigned int half = LOADS / 2; half > 0; half /= 2) {
        #pragma unroll
        for (unsigned int j = 0; j < half; j++)
            sum[j] += sum[j + half];
    }
    const float total = block_sum(sum[0], sums);
    if (thread == 0)
        atomicAdd(output, total);
}
