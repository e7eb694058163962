// Idea. LOADS independent sums per thread: so many loads are under way before the first addition waits for one.
// Changed from the rung below. Memory latency is hidden by the thread's own loads instead of by more warps only; the loop's overhead is paid once for LOADS elements.
// A thread owns. Elements THREADS apart, LOADS of every turn, each into its own sum; then a place in the one tree of its block.
// Memory traffic. Reads every element once, coalesced, with LOADS loads per thread in flight; one partial sum per block.
// Needs. f32, any length; blocks partial sums of workspace. Longest chain of additions: ceil(len / (blocks LOADS THREADS)) + ceil(blocks / THREADS) + log2(LOADS) + 2 log2(THREADS).

const unsigned int THREADS = 256;
const unsigned int LOADS = 8;                   // of a thread, in flight at a time
const unsigned int CHUNK = LOADS * THREADS;  // elements of a turn

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
reduce_unrolled_partials(const float* __restrict__ input, float* __restrict__ workspace, const Params p)
{
    __shared__ float sums[THREADS];  // THREADS

    const unsigned int thread = threadIdx.x, block = blockIdx.x + p.block_x;
    float sum[LOADS] = {};  // LOADS
    const size_t turn = (size_t)p.blocks * CHUNK;
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
        workspace[block] = total;
}

extern "C" __global__ void __launch_bounds__(THREADS)
reduce_unrolled_total(const float* __restrict__ workspace, float* __restrict__ output, const Params p)
{
    __shared__ float sums[THREADS];  // THREADS

    float sum = 0;
    for (unsigned int i = threadIdx.x; i < p.blocks; i += THREADS)
        sum += workspace[i];
    sum = block_sum(sum, sums);
    if (threadIdx.x == 0)
        output[0] = sum;
}
