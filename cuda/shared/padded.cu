// Idea. One word of padding per row: neighbouring threads read words 33 apart, each on a bank of its own.
// Changed from the rung below. Only the distance of two rows: 33 words.
// A thread owns. One row's place in each round: thread t adds up row t + round of the tile, cyclically, word by word.
// Memory traffic. Global memory once, 33 words per row; shared memory 32 reads per row and round, each in 1 wavefront.
// Needs. u32, any number of rows and rounds; ROWS x PITCH words of shared memory.

const unsigned int ROWS = 64;   // of a block, one per thread
const unsigned int COLS = 32;
const unsigned int PITCH = COLS + 1;

struct Params {
    unsigned int block_x, block_y, block_z;  // index of this launch's first block
    unsigned int rows;
    unsigned int rounds;
    unsigned int pad;                        // reserved, 0
};

extern "C" __global__ void __launch_bounds__(ROWS)
shared_padded(const unsigned int* __restrict__ input, unsigned int* __restrict__ output, const Params p)
{
    __shared__ unsigned int tile[ROWS * PITCH];  // ROWS x COLS, PITCH words between rows

    const unsigned int first = (blockIdx.x + p.block_x) * ROWS;
    const unsigned int thread = threadIdx.x;
    for (unsigned int i = thread; i < ROWS * COLS; i += ROWS) {
        const unsigned int row = i / COLS, col = i % COLS;
        tile[row * PITCH + col] = first + row < p.rows ? input[(size_t)(first + row) * COLS + col] : 0;
    }
    __syncthreads();  // waits for the whole tile

    unsigned int sum = 0;
    for (unsigned int round = 0; round < p.rounds; round++) {
        const unsigned int row = (thread + round) % ROWS;
        #pragma unroll
        for (unsigned int col = 0; col < COLS; col++)
            sum += tile[row * PITCH + col];
    }
    if (first + thread < p.rows)
        output[first + thread] = sum;
}
