// Idea. 16-byte loads, LOADS of them in flight per thread.
// Changed from the rung below. A quarter of the load instructions, and 16 LOADS bytes per thread under way; CUDA blocks are as many as the device holds at a time.
// A thread owns. Vectors THREADS apart, LOADS of every turn, each into its own four sums; then a lane's place in the exchange.
// Memory traffic. Reads every element once, 512 bytes per warp and load; one partial sum per block.
// Needs. f32, any length, an input that starts at a multiple of 16 bytes; blocks partial sums of workspace. Longest chain of additions: ceil(len / (blocks 4 LOADS THREADS)) + ceil(blocks / THREADS) + LOADS + 3 + 2 log2(THREADS).

const unsigned int THREADS = 256;
const unsigned int LOADS = 4;                   // of a thread, in flight at a time
const unsigned int VECTOR = 4;                  // elements
const unsigned int CHUNK = LOADS * THREADS;      // vectors of a turn

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
reduce_vectorized_partials(const float* __restrict__ input, float* __restrict__ workspace, const Params p)
{
    __shared__ float sums[WARPS];  // WARPS

    const unsigned int thread = threadIdx.x, block = blockIdx.x + p.block_x;
    float4 sum[LOADS] = {};  // LOADS
    const float4* vectors = reinterpret_cast<const float4*>(input);
    const size_t whole = p.len / VECTOR;  // vectors that lie in the array entirely
    const size_t turn = (size_t)p.blocks * CHUNK;
    size_t i = (size_t)block * CHUNK + thread;
    for (; i + (LOADS - 1) * THREADS < whole; i += turn) {
        float4 value[LOADS];  // LOADS
        #pragma unroll
        for (unsigned int j = 0; j < LOADS; j++)
            value[j] = __ldcs(vectors + i + j * THREADS);
        #pragma unroll
        for (unsigned int j = 0; j < LOADS; j++) {
            sum[j].x += value[j].x;
            sum[j].y += value[j].y;
            sum[j].z += value[j].z;
            sum[j].w += value[j].w;
        }
    }
    // The last chunk: each vector is checked, and the elements behind the last vector go one by one.
    #pragma unroll
    for (unsigned int j = 0; j < LOADS; j++) {
        const size_t at = i + j * THREADS;
        if (at < whole) {
            sum[j].x += vectors[at].x;
            sum[j].y += vectors[at].y;
            sum[j].z += vectors[at].z;
            sum[j].w += vectors[at].w;
        } else if (at == whole) {
            for (size_t element = whole * VECTOR; element < p.len; element++)
                sum[j].x += input[element];
        }
    }
    float own = 0;
    #pragma unroll
    for (unsigned int j = 0; j < LOADS; j++)
        own += (sum[j].x + sum[j].y) + (sum[j].z + sum[j].w);
    const float total = block_sum(own, sums);
    if (thread == 0)
        workspace[block] = total;
}

extern "C" __global__ void __launch_bounds__(THREADS)
reduce_vectorized_total(const float* __restrict__ workspace, float* __restrict__ output, const Params p)
{
    __shared__ float sums[WARPS];  // WARPS

    float sum = 0;
    for (unsigned int i = threadIdx.x; i < p.blocks; i += THREADS)
        sum += workspace[i];
    sum = block_sum(sum, sums);
    if (threadIdx.x == 0)
        output[0] = sum;
}
