// Idea. One block writes data and raises a flag, another waits for the flag and reads the data: with plain accesses.
// Changed from the rung below. The first rung, wrong: nothing orders the data before the flag, and nothing makes the compiler read the flag twice.
// A thread owns. One word of its pair of blocks, (pair, 0) and (pair, 1): the first hands it to the second.
// Memory traffic. Input, data and output once; the flag as often as it is polled.
// Needs. u32, any length. Both blocks of a pair running at a time, or the first one first; the first pass lowers all flags.

const unsigned int THREADS = 256;

struct Params {
    unsigned int block_x, block_y, block_z;  // index of this launch's first block
    unsigned int spins;                      // at most, so that a flag that never comes ends
    unsigned long long len;                  // elements
};

extern "C" __global__ void __launch_bounds__(THREADS)
consistency_nothing_lower(unsigned int* __restrict__ flags, const Params p)
{
    if (threadIdx.x == 0)
        flags[blockIdx.x + p.block_x] = 0;
}

extern "C" __global__ void __launch_bounds__(THREADS)
consistency_nothing_hand_over(const unsigned int* __restrict__ input, unsigned int* data, unsigned int* flags, unsigned int* __restrict__ output, const Params p)
{
    __shared__ unsigned int seen;  // 1: whether the flag was raised

    const unsigned int pair = blockIdx.x + p.block_x, role = blockIdx.y + p.block_y, thread = threadIdx.x;
    const size_t index = (size_t)pair * THREADS + thread;
    if (role == 0) {
        if (index < p.len)
            data[index] = input[index];
        __syncthreads();  // waits until the block has written all of its data
        if (thread == 0)
            flags[pair] = 1;
        return;
    }
    if (thread == 0) {
        seen = 0;
        for (unsigned int spin = 0; spin < p.spins && seen == 0; spin++)
            seen = flags[pair];
    }
    __syncthreads();  // waits for the flag, or for the end of patience
    if (index < p.len)
        output[index] = data[index];
}
