// Idea. Rows of the staged region lie 48 words apart, so that the two rows a warp reads fall on different banks.
// Changed from the rung below. Only the distance of two rows in shared memory: 48 words (16 modulo 32 banks) in place of 24.
// A thread owns. One output element, and REGION² / THREADS elements of the staging.
// Memory traffic. As below; shared memory in 1 wavefront per request.
// Needs. f32, any size; outside the image the input counts as 0.
#ifndef RADIUS
#define RADIUS 4
#endif

const unsigned int TAPS = 2 * RADIUS + 1;
const unsigned int TILE = 16;
const unsigned int THREADS = TILE * TILE;
const unsigned int REGION = TILE + 2 * RADIUS;  // rows and columns that a tile's outputs need
const unsigned int PITCH = 2 * REGION;

struct Params {
    unsigned int block_x, block_y, block_z;  // index of this launch's first block
    unsigned int rows;
    unsigned int cols;
    unsigned int pad;                        // reserved, 0
};

extern "C" __global__ void __launch_bounds__(THREADS)
convolve_padded(const float* __restrict__ input, const float* __restrict__ weights, float* __restrict__ output, const Params p)
{
    __shared__ float tile[REGION * PITCH];  // REGION x REGION, PITCH words between rows
    const unsigned int first_col = (blockIdx.x + p.block_x) * TILE;
    const unsigned int first_row = (blockIdx.y + p.block_y) * TILE;
    const unsigned int thread = threadIdx.y * TILE + threadIdx.x;

    for (unsigned int i = thread; i < REGION * REGION; i += THREADS) {
        const unsigned int y = first_row + i / REGION, x = first_col + i % REGION;  // RADIUS below and right of the element meant
        const bool inside = y >= RADIUS && y < p.rows + RADIUS && x >= RADIUS && x < p.cols + RADIUS;
        tile[i / REGION * PITCH + i % REGION] = inside ? input[(size_t)(y - RADIUS) * p.cols + (x - RADIUS)] : 0;
    }
    __syncthreads();  // waits for the whole region

    const unsigned int row = first_row + threadIdx.y, col = first_col + threadIdx.x;
    if (row >= p.rows || col >= p.cols)
        return;
    float sum = 0;
    #pragma unroll
    for (unsigned int u = 0; u < TAPS; u++) {
        #pragma unroll
        for (unsigned int v = 0; v < TAPS; v++)
            sum += weights[u] * weights[v] * tile[(threadIdx.y + u) * PITCH + threadIdx.x + v];
    }
    output[(size_t)row * p.cols + col] = sum;
}
