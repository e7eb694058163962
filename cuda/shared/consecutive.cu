// Idea. The tile is stored column by column, so that neighbouring threads read neighbouring words (stride 1).
// Changed from the rung below. Reads need no trick any more; the one write that turns the tile pays instead, 32 wavefronts per request, once.
// A thread owns. One row's place in each round: thread t adds up row t + round of the tile, cyclically, word by word.
// Memory traffic. Global memory once, 33 words per row; shared memory 32 reads per row and round, each in 1 wavefront.
// Needs. u32, any number of rows and rounds; ROWS x COLS words of shared memory.

const unsigned int ROWS = 64;   // of a block, one per thread
const unsigned int COLS = 32;

struct Params {
    unsigned int block_x, block_y, block_z;  // index of this launch's first block
    unsigned int rows;
    unsigned int rounds;
    unsigned int pad;                        // reserved, 0
};

extern "C" __global__ void __launch_bounds__(ROWS)
shared_consecutive(const unsigned int* __restrict__ input, unsigned int* __restrict__ output, const Params p)
{
    __shared__ unsigned int tile[ROWS * COLS];  // COLS x ROWS

    const unsigned int first = (blockIdx.x + p.block_x) * ROWS;
    const unsigned int thread = threadIdx.x;
    for (unsigned int i = thread; i < ROWS * COLS; i += ROWS) {
        const unsigned int row = i / COLS, col = i % COLS;
        tile[col * ROWS + row] = first + row < p.rows ? input[(size_t)(first + row) * COLS + col] : 0;
    }
    __syncthreads();  // waits for the whole tile

    unsigned int sum = 0;
    for (unsigned int round = 0; round < p.rounds; round++) {
        const unsigned int row = (thread + round) % ROWS;
        #pragma unroll
        for (unsigned int col = 0; col < COLS; col++)
            sum += tile[col * ROWS + row];
    }
    if (first + thread < p.rows)
        output[first + thread] = sum;
}
