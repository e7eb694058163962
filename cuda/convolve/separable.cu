// Idea. A filter that is a product of a column and a row is applied one direction after the other: 2 TAPS products per output instead of TAPS².
// Changed from the rung below. First every row of the staged region is filtered into a second array, then its columns; a block of 32 columns reads one row per warp, so no padding is needed.
// A thread owns. ROWS / 8 outputs of one column, and its share of the rows between.
// Memory traffic. Each input (1 + 2 RADIUS / 32)² times from global memory; 2 TAPS + 1 shared reads per output and one write.
// Needs. f32, any size; a filter that is a product; outside the image the input counts as 0.
#ifndef RADIUS
#define RADIUS 4
#endif

const unsigned int TAPS = 2 * RADIUS + 1;
const unsigned int TILE = 32;
const unsigned int BLOCK_ROWS = 8;
const unsigned int THREADS = TILE * BLOCK_ROWS;
const unsigned int REGION = TILE + 2 * RADIUS;  // rows and columns that a tile's outputs need

struct Params {
    unsigned int block_x, block_y, block_z;  // index of this launch's first block
    unsigned int rows;
    unsigned int cols;
    unsigned int pad;                        // reserved, 0
};

extern "C" __global__ void __launch_bounds__(THREADS)
convolve_separable(const float* __restrict__ input, const float* __restrict__ weights, float* __restrict__ output, const Params p)
{
    __shared__ float tile[REGION * REGION];  // REGION x REGION
    __shared__ float rows[REGION * TILE];    // REGION x TILE: the tile with its rows filtered

    const unsigned int first_col = (blockIdx.x + p.block_x) * TILE;
    const unsigned int first_row = (blockIdx.y + p.block_y) * TILE;
    const unsigned int thread = threadIdx.y * TILE + threadIdx.x;

    for (unsigned int i = thread; i < REGION * REGION; i += THREADS) {
        const unsigned int y = first_row + i / REGION, x = first_col + i % REGION;  // RADIUS below and right of the element meant
        const bool inside = y >= RADIUS && y < p.rows + RADIUS && x >= RADIUS && x < p.cols + RADIUS;
        tile[i] = inside ? input[(size_t)(y - RADIUS) * p.cols + (x - RADIUS)] : 0;
    }
    __syncthreads();  // waits for the whole region

    for (unsigned int y = threadIdx.y; y < REGION; y += BLOCK_ROWS) {
        float sum = 0;
        #pragma unroll
        for (unsigned int v = 0; v < TAPS; v++)
            sum += weights[v] * tile[y * REGION + threadIdx.x + v];
        rows[y * TILE + threadIdx.x] = sum;
    }
    __syncthreads();  // waits for all filtered rows

    const unsigned int col = first_col + threadIdx.x;
    for (unsigned int y = threadIdx.y; y < TILE; y += BLOCK_ROWS) {
        float sum = 0;
        #pragma unroll
        for (unsigned int u = 0; u < TAPS; u++)
            sum += weights[u] * rows[(y + u) * TILE + threadIdx.x];
        if (first_row + y < p.rows && col < p.cols)
            output[(size_t)(first_row + y) * p.cols + col] = sum;
    }
}
