// Idea. Blocks share out the nonzeros, CHUNK each, whatever the rows: products go to shared memory, and as many threads add up a row as the chunk's rows leave for each.
// Changed from the rung below. No block has more to do than another. A row that a chunk's edge cuts leaves the rest of its sum behind, which a second pass adds to the row.
// A thread owns. CHUNK / THREADS products, then a part of a row of the chunk.
// Memory traffic. columns and values once, coalesced; x from wherever the columns point; one rest per chunk.
// Needs. f32, compressed sparse rows with 32-bit indices; 4 bytes of workspace per chunk.
//
// Each pass counts its bindings from 0; names that share a number are used by different entry points.

const unsigned int THREADS = 256;
const unsigned int CHUNK = 2048;      // nonzeros of a block
const unsigned int MOST_LANES = 256;  // threads that add up one row

struct Params {
    unsigned int block_x, block_y, block_z;  // index of this launch's first block
    unsigned int rows;
    unsigned int cols;
    unsigned int nonzeros;
};

// The first row that starts at or behind `place`.
__device__ __forceinline__ unsigned int first_row_from(const unsigned int* __restrict__ starts, unsigned int rows, unsigned int place)
{
    unsigned int low = 0, high = rows;
    while (low < high) {
        const unsigned int middle = (low + high) / 2;
        if (starts[middle] < place)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

extern "C" __global__ void __launch_bounds__(THREADS)
spmv_adaptive_chunks(const unsigned int* __restrict__ starts, const unsigned int* __restrict__ columns, const float* __restrict__ values, const float* __restrict__ x, float* __restrict__ rests, float* __restrict__ output, const Params p)
{
    __shared__ float products[CHUNK];   // CHUNK
    __shared__ float sums[THREADS];     // rows of a turn x lanes
    __shared__ unsigned int bounds[2];  // the rows that start in the chunk: first, and one behind the last

    const unsigned int block = blockIdx.x + p.block_x, thread = threadIdx.x;
    const unsigned int from = block * CHUNK, to = min(from + CHUNK, p.nonzeros);
    const bool last = to == p.nonzeros;
    const bool behind_all = block > 0 && from >= p.nonzeros;  // a block too many: no row is its own
    if (thread < 2)
        bounds[thread] = behind_all || (thread == 1 && last) ? p.rows : first_row_from(starts, p.rows, thread == 0 ? from : to);
    #pragma unroll
    for (unsigned int i = thread; i < CHUNK; i += THREADS)
        products[i] = from + i < to ? values[from + i] * x[columns[from + i]] : 0;
    __syncthreads();  // waits for all products and both bounds

    const unsigned int first = bounds[0], behind = bounds[1];
    const bool cut = first > 0 && starts[first] > from;  // whether the row before reaches into this chunk
    const unsigned int begin = cut ? first - 1 : first, rows = behind - begin;
    unsigned int lanes = 1;
    while (lanes < MOST_LANES && lanes * 2 * rows <= THREADS)
        lanes *= 2;
    const unsigned int lane = thread % lanes, turn = THREADS / lanes;
    for (unsigned int done = 0; done < rows; done += turn) {
        const unsigned int row = begin + done + thread / lanes;
        float sum = 0;
        if (row < behind) {
            const unsigned int end = min(starts[row + 1], to);
            for (unsigned int i = max(starts[row], from) + lane; i < end; i += lanes)
                sum += products[i - from];
        }
        if (lanes > 1) {
            sums[thread] = sum;
            for (unsigned int half = lanes / 2; half > 0; half /= 2) {
                __syncthreads();  // waits for the sums of the level before
                if (lane < half)
                    sums[thread] += sums[thread + half];
            }
            sum = sums[thread];
        }
        if (lane == 0 && row < behind) {
            if (row < first)
                rests[block] = sum;
            else
                output[row] = sum;
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
spmv_adaptive_rests(const unsigned int* __restrict__ starts, const float* __restrict__ rests, float* __restrict__ output, const Params p)
{
    const unsigned int chunk = (blockIdx.x + p.block_x) * THREADS + threadIdx.x;
    if (chunk * CHUNK >= p.nonzeros)
        return;
    const unsigned int row = first_row_from(starts, p.rows, chunk * CHUNK);
    if (row == 0 || starts[row] <= chunk * CHUNK)
        return;  // no row is cut here
    // Only the first chunk that continues a row adds up all of its rests.
    if (starts[row - 1] / CHUNK + 1 < chunk)
        return;
    float sum = output[row - 1];
    for (unsigned int next = chunk; next * CHUNK < starts[row]; next++)
        sum += rests[next];
    output[row - 1] = sum;
}
