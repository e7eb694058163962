// Idea. One thread adds up one row of a compressed sparse matrix times a vector.
// Changed from the rung below. The first rung: nothing below it.
// A thread owns. One row.
// Memory traffic. Neighbouring threads read places a row apart: uncoalesced unless rows are very short, and a warp lasts as long as its longest row; x from wherever the columns point.
// Needs. f32, compressed sparse rows with 32-bit indices.

const unsigned int THREADS = 256;

struct Params {
    unsigned int block_x, block_y, block_z;  // index of this launch's first block
    unsigned int rows;
    unsigned int cols;
    unsigned int nonzeros;
};

extern "C" __global__ void __launch_bounds__(THREADS)
spmv_thread_per_row(const unsigned int* __restrict__ starts, const unsigned int* __restrict__ columns, const float* __restrict__ values, const float* __restrict__ x, float* __restrict__ output, const Params p)
{
    const unsigned int row = (blockIdx.x + p.block_x) * THREADS + threadIdx.x;
    if (row >= p.rows)
        return;
    float sum = 0;
    for (unsigned int i = starts[row]; i < starts[row + 1]; i++)
        sum += values[i] * x[columns[i]];
    output[row] = sum;
}
