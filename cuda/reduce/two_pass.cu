// Idea. A thread adds all of its elements in a register first; its block then needs one tree, and a second launch adds the blocks' sums.
// Changed from the rung below. One tree per block instead of one per chunk of elements: its barriers and shared-memory traffic no longer grow with the length.
// A thread owns. Every stride-th element from its own index on, added in this order, where stride = blocks * THREADS; then its place in the tree. The second pass does the same with the partial sums and one block.
// Memory traffic. Reads every element once, coalesced, with the loads of the whole device in flight; writes and reads one partial sum per block.
// Needs. f32, any length; blocks partial sums of workspace. Longest chain of additions: ceil(len / stride) + ceil(blocks / THREADS) + 2 log2(THREADS).

const unsigned int THREADS = 256;

struct Params {
    unsigned int block_x, block_y, block_z;  // index of this launch's first block
    unsigned int blocks;                     // of the first pass
    unsigned long long len;                  // elements
};

// The sum of one value per thread, for every thread: a balanced tree of log2(THREADS) levels, the same for every run.
__device__ __forceinline__ float block_sum(float value, float* sums)
{
    sums[threadIdx.x] = value;
    for (unsigned int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();  // waits for the sums of the level before
        if (threadIdx.x < half)
            sums[threadIdx.x] += sums[threadIdx.x + half];
    }
    __syncthreads();  // waits for the last addition
    return sums[0];
}

extern "C" __global__ void __launch_bounds__(THREADS)
reduce_two_pass_partials(const float* __restrict__ input, float* __restrict__ workspace, const Params p)
{
    __shared__ float sums[THREADS];  // THREADS

    const unsigned int block = blockIdx.x + p.block_x;
    const size_t stride = (size_t)p.blocks * THREADS;
    float sum = 0;
    for (size_t i = (size_t)block * THREADS + threadIdx.x; i < p.len; i += stride)
        sum += input[i];
    sum = block_sum(sum, sums);
    if (threadIdx.x == 0)
        workspace[block] = sum;
}

extern "C" __global__ void __launch_bounds__(THREADS)
reduce_two_pass_total(const float* __restrict__ workspace, float* __restrict__ output, const Params p)
{
    __shared__ float sums[THREADS];  // THREADS

    float sum = 0;
    for (unsigned int i = threadIdx.x; i < p.blocks; i += THREADS)
        sum += workspace[i];
    sum = block_sum(sum, sums);
    if (threadIdx.x == 0)
        output[0] = sum;
}
