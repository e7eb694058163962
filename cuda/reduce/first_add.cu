// Idea. A thread adds two elements on their way in: half of the threads would only have loaded.
// Changed from the rung below. A tree covers twice as many elements, and two loads per thread are in flight between two trees.
// A thread owns. Two elements of every chunk of CHUNK elements that its block takes, and a place in the chunk's tree; thread 0 adds the chunks up.
// Memory traffic. Reads every element once, coalesced; two loads per thread between two trees. One partial sum per block.
// Needs. f32, any length; blocks partial sums of workspace. Longest chain of additions: ceil(chunks / blocks) + ceil(blocks / THREADS) + 2 log2(THREADS).

const unsigned int THREADS = 256;
const unsigned int CHUNK = 2 * THREADS;  // elements of a tree

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
reduce_first_add_partials(const float* __restrict__ input, float* __restrict__ workspace, const Params p)
{
    __shared__ float sums[THREADS];  // THREADS

    const unsigned int thread = threadIdx.x, block = blockIdx.x + p.block_x;
    float total = 0;  // of the block's chunks
    for (size_t first = (size_t)block * CHUNK; first < p.len; first += (size_t)p.blocks * CHUNK) {
        const size_t i = first + thread;
        const float low = i < p.len ? input[i] : 0;
        const float high = i + THREADS < p.len ? input[i + THREADS] : 0;
        sums[thread] = low + high;
        for (unsigned int half = THREADS / 2; half > 0; half /= 2) {
            __syncthreads();  // waits for the sums of the level before
            if (thread < half)
                sums[thread] += sums[thread + half];
        }
        __syncthreads();  // waits for the last addition
        total += sums[0];
        __syncthreads();  // waits until the chunk's sum has been read
    }
    if (thread == 0)
        workspace[block] = total;
}

extern "C" __global__ void __launch_bounds__(THREADS)
reduce_first_add_total(const float* __restrict__ workspace, float* __restrict__ output, const Params p)
{
    __shared__ float sums[THREADS];  // THREADS

    float sum = 0;
    for (unsigned int i = threadIdx.x; i < p.blocks; i += THREADS)
        sum += workspace[i];
    sum = block_sum(sum, sums);
    if (threadIdx.x == 0)
        output[0] = sum;
}
