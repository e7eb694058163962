// Idea. 16-byte accesses by neighbouring threads to neighbouring vectors: no padding and no conflict.
// Changed from the rung below. The tile is stored vector column by vector column.
// A thread owns. One row's place in each round: thread t adds up row t + round of the tile, cyclically, in 16-byte vectors.
// Memory traffic. Global memory once, 33 words per row; shared memory 8 reads of 16 bytes per row and round, served a quarter of a warp at a time, each in 4 wavefronts, the fewest for 512 bytes.
// Needs. u32, any number of rows and rounds; ROWS x VECTORS vectors of shared memory.

const unsigned int ROWS = 64;   // of a block, one per thread
const unsigned int VECTORS = 8;  // of 4 words, of a row

struct Params {
    unsigned int block_x, block_y, block_z;  // index of this launch's first block
    unsigned int rows;
    unsigned int rounds;
    unsigned int pad;                        // reserved, 0
};

extern "C" __global__ void __launch_bounds__(ROWS)
shared_vectorized_consecutive(const unsigned int* __restrict__ input, unsigned int* __restrict__ output, const Params p)
{
    __shared__ uint4 tile[ROWS * VECTORS];  // VECTORS x ROWS

    const unsigned int first = (blockIdx.x + p.block_x) * ROWS;
    const unsigned int thread = threadIdx.x;
    for (unsigned int i = thread; i < ROWS * VECTORS; i += ROWS) {
        const unsigned int row = i / VECTORS, vector = i % VECTORS;
        const uint4* source = reinterpret_cast<const uint4*>(input) + (size_t)(first + row) * VECTORS;
        tile[vector * ROWS + row] = first + row < p.rows ? source[vector] : make_uint4(0, 0, 0, 0);
    }
    __syncthreads();  // waits for the whole tile

    unsigned int sum = 0;
    for (unsigned int round = 0; round < p.rounds; round++) {
        const unsigned int row = (thread + round) % ROWS;
        #pragma unroll
        for (unsigned int vector = 0; vector < VECTORS; vector++) {
            const uint4 words = tile[vector * ROWS + row];
            sum += words.x + words.y + words.z + words.w;
        }
    }
    if (first + thread < p.rows)
        output[first + thread] = sum;
}
