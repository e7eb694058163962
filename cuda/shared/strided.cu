// Idea. Neighbouring threads read words PITCH apart in shared memory; PITCH modulo the 32 banks decides how many turns a request takes.
// Changed from the rung below. The first rung: nothing below it. PITCH 32 puts all lanes on one bank, 34 (2 modulo 32) puts two on each.
// A thread owns. One row's place in each round: thread t adds up row t + round of the tile, cyclically, word by word.
// Memory traffic. Global memory once, 33 words per row; shared memory 32 reads per row and round, each in gcd(PITCH, 32) wavefronts.
// Needs. u32, any number of rows and rounds; ROWS x PITCH words of shared memory.
#ifndef PITCH
#define PITCH 32
#endif

const unsigned int ROWS = 64;   // of a block, one per thread
const unsigned int COLS = 32;

struct Params {
    unsigned int block_x, block_y, block_z;  // index of this launch's first block
    unsigned int rows;
    unsigned int rounds;
    unsigned int pad;                        // reserved, 0
};

extern "C" __global__ void __launch_bounds__(ROWS)
shared_strided(const unsigned int* __restrict__ input, unsigned int* __restrict__ output, const Params p)
{
    __shared__ unsigned int tile[ROWS * PITCH];  // ROWS x COLS, PITCH words between rows

    const unsigned int first = (blockIdx.x + p.block_x) * ROWS;
    const unsigned int thread = threadIdx.x;
    for (unsigned int i = thread; i < ROWS * COLS; i += ROWS) {
        const unsigned int row = i / COLS, col = i % COLS;
        tile[row * PITCH + col] = first + row < p.rows ? input[(size_t)(first + row) * COLS + col] : 0;
    }
    __syncthreads();  // waits for the whole tile

    // Volatile: otherwise the compiler reads neighbouring words of a row as 8 or 16 bytes, in fewer turns.
    const volatile unsigned int* words = tile;
    unsigned int sum = 0;
    for (unsigned int round = 0; round < p.rounds; round++) {
        const unsigned int row = (thread + round) % ROWS;
        #pragma unroll
        for (unsigned int col = 0; col < COLS; col++)
            sum += words[row * PITCH + col];
    }
    if (first + thread < p.rows)
        output[first + thread] = sum;
}
