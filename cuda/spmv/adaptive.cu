// Idea. Blocks share out the nonzeros, CHUNK each, whatever the rows: products go to shared memory, and as many threads add up a row as the chunk's rows leave for each.
// Changed from the rung below. No block has more to do than another. A first pass notes the row at which every chunk begins; a row that a chunk's edge cuts leaves the rest of its sum behind, which a last pass adds to the row.
// A thread owns. CHUNK / THREADS products, then a part of a row of the chunk.
// Memory traffic. starts twice, columns and values once, coalesced; x from wherever the columns point; a row and a rest per chunk.
// Needs. f32, compressed sparse rows with 32-bit indices; 8 bytes of workspace per chunk.
//
// Each pass counts its bindings from 0; names that share a number are used by different entry points.

const unsigned int THREADS = 256;
const unsigned int CHUNK = 1024;            // nonzeros of a block
const unsigned int EACH = CHUNK / THREADS;  // products of a thread
const unsigned int WARP = 32;
const unsigned int WARPS = THREADS / WARP;
const unsigned int NOTERS = 1024;           // threads of a block of the first pass
const unsigned int ROWS = 8192;             // rows of a block of the first pass
const unsigned int MANY = 8;                // rests that one thread adds up; more of them take a warp

struct Params {
    unsigned int block_x, block_y, block_z;  // index of this launch's first block
    unsigned int rows;
    unsigned int cols;
    unsigned int nonzeros;
};

// Notes for every chunk the first row that starts in it or behind it.
extern "C" __global__ void __launch_bounds__(NOTERS)
spmv_adaptive_firsts(const unsigned int* __restrict__ starts, unsigned int* __restrict__ firsts, const Params p)
{
    const unsigned int block = blockIdx.x + p.block_x, thread = threadIdx.x;
    if (block == 0 && thread == 0)
        firsts[0] = 0;
    #pragma unroll
    for (unsigned int i = 0; i < ROWS / NOTERS; i++) {
        const unsigned int row = block * ROWS + i * NOTERS + thread;
        if (row < p.rows) {
            const unsigned int end = min(starts[row + 1], p.nonzeros - 1);
            for (unsigned int chunk = starts[row] / CHUNK + 1; chunk * CHUNK <= end; chunk++)
                firsts[chunk] = row + 1;
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
spmv_adaptive_chunks(const unsigned int* __restrict__ starts, const unsigned int* __restrict__ columns, const float* __restrict__ values, const float* __restrict__ x, const unsigned int* __restrict__ firsts, float* __restrict__ rests, float* __restrict__ output, const Params p)
{
    __shared__ float products[CHUNK];  // CHUNK
    __shared__ float sums[WARPS];      // of warps that share a row

    const unsigned int block = blockIdx.x + p.block_x, thread = threadIdx.x;
    const unsigned int from = block * CHUNK, to = min(from + CHUNK, p.nonzeros);
    if (block > 0 && from >= p.nonzeros)
        return;  // a block too many
    const unsigned int first = firsts[block], behind = to == p.nonzeros ? p.rows : firsts[block + 1];
    unsigned int column[EACH];  // EACH
    float value[EACH];          // EACH
    #pragma unroll
    for (unsigned int i = 0; i < EACH; i++) {
        const unsigned int place = from + i * THREADS + thread;
        column[i] = place < to ? __ldcs(columns + place) : 0;
        value[i] = place < to ? __ldcs(values + place) : 0;
    }
    #pragma unroll
    for (unsigned int i = 0; i < EACH; i++)
        products[i * THREADS + thread] = from + i * THREADS + thread < to ? value[i] * x[column[i]] : 0;

    const bool cut = first > 0 && starts[first] > from;  // whether the row before reaches into this chunk
    const unsigned int begin = cut ? first - 1 : first, rows = behind - begin;
    unsigned int lanes = 1;
    while (lanes < THREADS && lanes * 2 * rows <= THREADS)
        lanes *= 2;
    const unsigned int lane = thread % lanes, turn = THREADS / lanes;
    __syncthreads();  // waits for all products

    for (unsigned int done = 0; done < rows; done += turn) {
        const unsigned int row = begin + done + thread / lanes;
        float sum = 0;
        if (row < behind) {
            const unsigned int end = min(starts[row + 1], to);
            for (unsigned int i = max(starts[row], from) + lane; i < end; i += lanes)
                sum += products[i - from];
        }
        for (unsigned int half = min(lanes, WARP) / 2; half > 0; half /= 2)
            sum += __shfl_down_sync(~0u, sum, half);
        if (lanes > WARP) {
            if (thread % WARP == 0)
                sums[thread / WARP] = sum;
            __syncthreads();  // waits for the sum of every warp
            if (lane == 0)
                for (unsigned int warp = 1; warp < lanes / WARP; warp++)
                    sum += sums[thread / WARP + warp];
            __syncthreads();  // waits until the sums have been read
        }
        if (lane == 0 && row < behind) {
            if (row < first)
                rests[block] = sum;
            else
                output[row] = sum;
        }
    }
}

// A thread for every chunk: where a row is cut for the first time, it adds up all of its rests.
extern "C" __global__ void __launch_bounds__(THREADS)
spmv_adaptive_rests(const unsigned int* __restrict__ starts, const unsigned int* __restrict__ firsts, const float* __restrict__ rests, float* __restrict__ output, const Params p)
{
    const unsigned int chunk = (blockIdx.x + p.block_x) * THREADS + threadIdx.x, lane = threadIdx.x % WARP;
    unsigned int first = chunk * CHUNK < p.nonzeros ? firsts[chunk] : 0, end = 0;
    if (first > 0) {
        end = starts[first];
        if (end <= chunk * CHUNK || starts[first - 1] / CHUNK + 1 < chunk)
            first = 0;  // no row is cut here, or it was cut before
    }
    const unsigned int chunks = first > 0 ? (end - 1) / CHUNK + 1 - chunk : 0;  // that hold a rest
    if (chunks > 0 && chunks <= MANY) {
        float sum = output[first - 1];
        for (unsigned int i = 0; i < chunks; i++)
            sum += rests[chunk + i];
        output[first - 1] = sum;
    }
    // Rows with more rests than that: the whole warp takes one after the other.
    for (unsigned int left = __ballot_sync(~0u, chunks > MANY); left > 0; left &= left - 1) {
        const unsigned int owner = __ffs(left) - 1;
        const unsigned int from = __shfl_sync(~0u, chunk, owner), count = __shfl_sync(~0u, chunks, owner);
        float sum = 0;
        for (unsigned int i = lane; i < count; i += WARP)
            sum += rests[from + i];
        #pragma unroll
        for (unsigned int half = WARP / 2; half > 0; half /= 2)
            sum += __shfl_down_sync(~0u, sum, half);
        sum = __shfl_sync(~0u, sum, 0);
        if (lane == owner)
            output[first - 1] += sum;
    }
}
