// Idea. One block walks over the whole array and adds its partial sums in a tree: no second launch, no atomics, the same bits every time.
// Changed from the rung below. The first rung: nothing below it.
// A thread owns. Elements t, t + THREADS, t + 2 THREADS … for thread t, added in this order; then its place in the tree.
// Memory traffic. Reads every element once, coalesced, but with the loads of a single block in flight: one multiprocessor works and the rest of the device waits.
// Needs. f32, any length. Longest chain of additions: ceil(len / THREADS) + log2(THREADS).
//
// Blocks that hand over with an atomic counter ("the last one done adds up") would use the whole device in one launch, but WGSL has no memory
// ordering between workgroups of a launch, so the twin could not be written.

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
reduce_one_pass(const float* __restrict__ input, float* __restrict__ output, const Params p)
{
    __shared__ float sums[THREADS];  // THREADS

    float sum = 0;
    for (size_t i = threadIdx.x; i < p.len; i += THREADS)
        sum += input[i];
    sum = block_sum(sum, sums);
    if (threadIdx.x == 0)
        output[0] = sum;
}
