// Idea. LANES neighbouring threads share a row and add their sums up in a tree.
// Changed from the rung below. A row's elements are read side by side, so accesses coalesce, and a long row no longer holds up 31 short ones. LANES follows the average row: EACH turns of a thread are under way at a time.
// A thread owns. Every LANES-th element of its row, then a place in the row's tree.
// Memory traffic. columns and values once, coalesced; x from wherever the columns point.
// Needs. f32, compressed sparse rows with 32-bit indices; LANES a power of two up to 32.
#ifndef LANES
#define LANES 32
#endif

const unsigned int THREADS = 128;
const unsigned int ROWS = THREADS / LANES;  // of a block
const unsigned int EACH = 4;                // elements of a thread, in flight at a time

struct Params {
    unsigned int block_x, block_y, block_z;  // index of this launch's first block
    unsigned int rows;
    unsigned int cols;
    unsigned int nonzeros;
};

extern "C" __global__ void __launch_bounds__(THREADS)
spmv_warp_per_row(const unsigned int* __restrict__ starts, const unsigned int* __restrict__ columns, const float* __restrict__ values, const float* __restrict__ x, float* __restrict__ output, const Params p)
{
    const unsigned int lane = threadIdx.x % LANES;
    const unsigned int row = (blockIdx.x + p.block_x) * ROWS + threadIdx.x / LANES;
    float sum = 0;
    if (row < p.rows) {
        const unsigned int end = starts[row + 1];
        for (unsigned int i = starts[row] + lane; i < end; i += EACH * LANES) {
            unsigned int column[EACH];  // EACH
            float value[EACH];          // EACH
            #pragma unroll
            for (unsigned int j = 0; j < EACH; j++) {
                const bool inside = i + j * LANES < end;
                column[j] = inside ? columns[i + j * LANES] : 0;
                value[j] = inside ? values[i + j * LANES] : 0;
            }
            #pragma unroll
            for (unsigned int j = 0; j < EACH; j++)
                sum += i + j * LANES < end ? value[j] * x[column[j]] : 0;
        }
    }
    #pragma unroll
    for (unsigned int half = LANES / 2; half > 0; half /= 2)
        sum += __shfl_down_sync(~0u, sum, half, LANES);
    if (lane == 0 && row < p.rows)
        output[row] = sum;
}
