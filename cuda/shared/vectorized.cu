// Idea. 16-byte accesses: a quarter of the instructions. PITCH, in vectors, decides the conflicts: a quarter of a warp must cover all 32 banks.
// Changed from the rung below. A thread reads vectors. PITCH 8 (rows at multiples of 128 bytes) puts eight lanes on the same four banks; 9 spreads them.
// A thread owns. One row's place in each round: thread t adds up row t + round of the tile, cyclically, in 16-byte vectors.
// Memory traffic. Global memory once, 33 words per row; shared memory 8 reads of 16 bytes per row and round, served a quarter of a warp at a time, each in 4 wavefronts with PITCH 9 (the fewest for 512 bytes) and 32 with PITCH 8.
// Needs. u32, any number of rows and rounds; ROWS x PITCH vectors of shared memory.
#ifndef PITCH
#define PITCH 9
#endif

const unsigned int ROWS = 64;   // of a block, one per thread
const unsigned int VECTORS = 8;  // of 4 words, of a row

struct Params {
    unsigned int block_x, block_y, block_z;  // index of this launch's first block
    unsigned int rows;
    unsigned int rounds;
    unsigned int pad;                        // reserved, 0
};

extern "C" __global__ void __launch_bounds__(ROWS)
shared_vectorized(const unsigned int* __restrict__ input, unsigned int* __restrict__ output, const Params p)
{
    __shared__ uint4 tile[ROWS * PITCH];  // ROWS x VECTORS, PITCH vectors between rows

    const unsigned int first = (blockIdx.x + p.block_x) * ROWS;
    const unsigned int thread = threadIdx.x;
    for (unsigned int i = thread; i < ROWS * VECTORS; i += ROWS) {
        const unsigned int row = i / VECTORS, vector = i % VECTORS;
        const uint4* source = reinterpret_cast<const uint4*>(input) + (size_t)(first + row) * VECTORS;
        tile[row * PITCH + vector] = first + row < p.rows ? source[vector] : make_uint4(0, 0, 0, 0);
    }
    __syncthreads();  // waits for the whole tile

    unsigned int sum = 0;
    for (unsigned int round = 0; round < p.rounds; round++) {
        const unsigned int row = (thread + round) % ROWS;
        #pragma unroll
        for (unsigned int vector = 0; vector < VECTORS; vector++) {
            const uint4 words = tile[row * PITCH + vector];
            sum += words.x + words.y + words.z + words.w;
        }
    }
    if (first + thread < p.rows)
        output[first + thread] = sum;
}
