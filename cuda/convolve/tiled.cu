// Idea. A block stages the region that its outputs share in shared memory and works from there.
// Changed from the rung below. The TAPS² reads per output go to shared memory; global memory is read (1 + 2 RADIUS / TILE)² times instead of TAPS².
// A thread owns. One output element, and REGION² / THREADS elements of the staging.
// Memory traffic. Each input about 2.3 times in all (the regions of neighbours overlap); shared memory in 2 wavefronts per request, since the two rows that a warp of 16 x 2 threads reads lie 24 words apart and share 8 banks.
// Needs. f32, any size; outside the image the input counts as 0.
#ifndef RADIUS
#define RADIUS 4
#endif

const unsigned int TAPS = 2 * RADIUS + 1;
const unsigned int TILE = 16;
const unsigned int THREADS = TILE * TILE;
const unsigned int REGION = TILE + 2 * RADIUS;  // rows and columns that a tile's outputs need
const unsigned int PITCH = REGION;

struct Params {
    unsigned int block_x, block_y, block_z;  // index of this launch's first block
    unsigned int rows;
    unsigned int cols;
    unsigned int pad;                        // reserved, 0
};

extern "C" __global__ void __launch_bounds__(THREADS)
convolve_tiled(const float* __restrict__ input, const float* __restrict__ weights, float* __restrict__ output, const Params p)
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
