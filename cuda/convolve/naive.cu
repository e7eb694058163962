// Idea. One output per thread: the TAPS x TAPS neighbours, each from global memory, each times two weights.
// Changed from the rung below. The first rung: nothing below it.
// A thread owns. One output element.
// Memory traffic. TAPS² reads per output, coalesced; nearly all of them are answered by the L1 cache, which is what limits.
// Needs. f32, any size; outside the image the input counts as 0.
#ifndef RADIUS
#define RADIUS 4
#endif

const unsigned int TAPS = 2 * RADIUS + 1;
const unsigned int BLOCK_COLS = 32;
const unsigned int BLOCK_ROWS = 8;

struct Params {
    unsigned int block_x, block_y, block_z;  // index of this launch's first block
    unsigned int rows;
    unsigned int cols;
    unsigned int pad;                        // reserved, 0
};

extern "C" __global__ void __launch_bounds__(BLOCK_COLS * BLOCK_ROWS)
convolve_naive(const float* __restrict__ input, const float* __restrict__ weights, float* __restrict__ output, const Params p)
{
    const unsigned int col = (blockIdx.x + p.block_x) * BLOCK_COLS + threadIdx.x;
    const unsigned int row = (blockIdx.y + p.block_y) * BLOCK_ROWS + threadIdx.y;
    if (row >= p.rows || col >= p.cols)
        return;
    float sum = 0;
    #pragma unroll
    for (unsigned int u = 0; u < TAPS; u++) {
        #pragma unroll
        for (unsigned int v = 0; v < TAPS; v++) {
            const unsigned int y = row + u, x = col + v;  // RADIUS below and right of the element meant
            if (y >= RADIUS && y < p.rows + RADIUS && x >= RADIUS && x < p.cols + RADIUS)
                sum += weights[u] * weights[v] * input[(size_t)(y - RADIUS) * p.cols + (x - RADIUS)];
        }
    }
    output[(size_t)row * p.cols + col] = sum;
}
