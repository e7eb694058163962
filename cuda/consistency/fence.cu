// Idea. A device-wide fence on both sides: data before flag, flag before data.
// Changed from the rung below. `__threadfence` orders what its thread wrote (and, after the barrier, what its block wrote) before the flag, and the reader's loads after it.
// A thread owns. One word of its pair of blocks, (pair, 0) and (pair, 1): the first hands it to the second.
// Memory traffic. Input, data and output once; the flag as often as it is polled.
// Needs. u32, any length. Both blocks of a pair running at a time, or the first one first; the first pass lowers all flags. CUDA: WGSL has no fence that reaches other workgroups.

const unsigned int THREADS = 256;

struct Params {
    unsigned int block_x, block_y, block_z;  // index of this launch's first block
    unsigned int spins;                      // at most, so that a flag that never comes ends
    unsigned long long len;                  // elements
};

extern "C" __global__ void __launch_bounds__(THREADS)
consistency_fence_lower(unsigned int* __restrict__ flags, const Params p)
{
    if (threadIdx.x == 0)
        flags[blockIdx.x + p.block_x] = 0;
}

extern "C" __global__ void __launch_bounds__(THREADS)
consistency_fence_hand_over(const unsigned int* __restrict__ input, unsigned int* data, unsigned int* flags, unsigned int* __restrict__ output, const Params p)
{
    __shared__ unsigned int seen;  // 1: whether the flag was raised

    const unsigned int pair = blockIdx.x + p.block_x, role = blockIdx.y + p.block_y, thread = threadIdx.x;
    const size_t index = (size_t)pair * THREADS + thread;
    if (role == 0) {
        if (index < p.len)
            data[index] = input[index];
        __syncthreads();  // waits until the block has written all of its data
        __threadfence();  // orders the block's data, seen by this thread at the barrier, before the flag
        if (thread == 0)
            atomicExch(&flags[pair], 1);
        return;
    }
    if (thread == 0) {
        seen = 0;
        for (unsigned int spin = 0; spin < p.spins && seen == 0; spin++)
            seen = atomicAdd(&flags[pair], 0);
        __threadfence();  // orders the flag before the data that the block reads behind the barrier
    }
    __syncthreads();  // waits for the flag, or for the end of patience
    if (index < p.len)
        output[index] = data[index];
}
