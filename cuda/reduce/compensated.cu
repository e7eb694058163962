// Idea. Every addition keeps what it rounded away (Kahan's idea, with Knuth's two-sum), in a second number that is added at the end.
// Changed from the rung below. Accuracy, not speed: six more operations per element, hidden behind the memory traffic of two_pass.
// A thread owns. As in two_pass: every stride-th element, then its place in the tree.
// Memory traffic. As in two_pass, with 8 bytes per partial sum.
// Needs. f32, any length; 8 bytes of workspace per block. A compiler that reassociates undoes it, which WGSL allows: its accuracy is measured, never assumed.

const unsigned int THREADS = 256;

struct Params {
    unsigned int block_x, block_y, block_z;  // index of this launch's first block
    unsigned int blocks;                     // of the first pass
    unsigned long long len;                  // elements
};

// A sum and the part of it that its 24 bits could not hold.
struct Sum {
    float value, rest;
};

// Adds exactly: value + rest is what a + b is without rounding (Knuth's two-sum).
__device__ __forceinline__ Sum two_sum(float a, float b)
{
    const float value = a + b;
    const float from_b = value - a;
    return Sum{value, (a - (value - from_b)) + (b - from_b)};
}

__device__ __forceinline__ Sum plus(Sum a, Sum b)
{
    Sum sum = two_sum(a.value, b.value);
    sum.rest += a.rest + b.rest;
    return sum;
}

// The sum of one value per thread, for every thread: a balanced tree of log2(THREADS) levels, the same for every run.
__device__ __forceinline__ Sum block_sum(Sum sum, Sum* sums)
{
    sums[threadIdx.x] = sum;
    for (unsigned int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();  // waits for the sums of the level before
        if (threadIdx.x < half)
            sums[threadIdx.x] = plus(sums[threadIdx.x], sums[threadIdx.x + half]);
    }
    __syncthreads();  // waits for the last addition
    return sums[0];
}

extern "C" __global__ void __launch_bounds__(THREADS)
reduce_compensated_partials(const float* __restrict__ input, Sum* __restrict__ workspace, const Params p)
{
    __shared__ Sum sums[THREADS];  // THREADS

    const unsigned int block = blockIdx.x + p.block_x;
    const size_t stride = (size_t)p.blocks * THREADS;
    Sum sum = {0, 0};
    for (size_t i = (size_t)block * THREADS + threadIdx.x; i < p.len; i += stride)
        sum = plus(sum, Sum{input[i], 0});
    sum = block_sum(sum, sums);
    if (threadIdx.x == 0)
        workspace[block] = sum;
}

extern "C" __global__ void __launch_bounds__(THREADS)
reduce_compensated_total(const Sum* __restrict__ workspace, float* __restrict__ output, const Params p)
{
    __shared__ Sum sums[THREADS];  // THREADS

    Sum sum = {0, 0};
    for (unsigned int i = threadIdx.x; i < p.blocks; i += THREADS)
        sum = plus(sum, workspace[i]);
    sum = block_sum(sum, sums);
    if (threadIdx.x == 0)
        output[0] = sum.value + sum.rest;
}
