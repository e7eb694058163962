// Idea. Four neighbouring outputs per thread from 16-byte shared accesses: the row filter's 12 inputs come in 3 of them and serve 36 products.
// Changed from the rung below. Shared memory holds vectors of four columns; the halo of RADIUS = 4 columns is exactly one vector on each side.
// A thread owns. One vector of four outputs, and its share of the staging and of the filtered rows.
// Memory traffic. Each input (1 + 8 / 64)(1 + 8 / 16) times from global memory; 3 + TAPS 16-byte shared reads for four outputs.
// Needs. f32, any size; a filter that is a product, RADIUS 4; outside the image the input counts as 0.
#ifndef RADIUS
#define RADIUS 4
#endif

const unsigned int TAPS = 2 * RADIUS + 1;
const unsigned int VECTOR = 4;                            // columns of a vector, and RADIUS
const unsigned int TILE_COLS = 64;
const unsigned int TILE_ROWS = 16;
const unsigned int TILE_VECTORS = TILE_COLS / VECTOR;     // vectors of a row of outputs
const unsigned int REGION_VECTORS = TILE_VECTORS + 2;     // with one of halo on each side
const unsigned int REGION_ROWS = TILE_ROWS + 2 * RADIUS;
const unsigned int THREADS = TILE_VECTORS * TILE_ROWS;

struct Params {
    unsigned int block_x, block_y, block_z;  // index of this launch's first block
    unsigned int rows;
    unsigned int cols;
    unsigned int pad;                        // reserved, 0
};

extern "C" __global__ void __launch_bounds__(THREADS)
convolve_vectorized(const float* __restrict__ input, const float* __restrict__ weights, float* __restrict__ output, const Params p)
{
    __shared__ float4 tile[REGION_ROWS * REGION_VECTORS];  // REGION_ROWS x REGION_VECTORS
    __shared__ float4 rows[REGION_ROWS * TILE_VECTORS];    // REGION_ROWS x TILE_VECTORS: the tile with its rows filtered

    const unsigned int first_col = (blockIdx.x + p.block_x) * TILE_COLS;
    const unsigned int first_row = (blockIdx.y + p.block_y) * TILE_ROWS;
    const unsigned int thread = threadIdx.x;
    const bool aligned = p.cols % VECTOR == 0;  // whether rows start at multiples of 16 bytes

    for (unsigned int i = thread; i < REGION_ROWS * REGION_VECTORS; i += THREADS) {
        const unsigned int y = first_row + i / REGION_VECTORS, x = first_col + i % REGION_VECTORS * VECTOR;  // RADIUS too far
        float4 value = make_float4(0, 0, 0, 0);
        if (y >= RADIUS && y < p.rows + RADIUS) {
            const float* row = input + (size_t)(y - RADIUS) * p.cols;
            if (aligned && x >= RADIUS && x < p.cols + RADIUS) {
                value = *reinterpret_cast<const float4*>(row + (x - RADIUS));
            } else if (x >= RADIUS) {
                if (x < p.cols + RADIUS) value.x = row[x - RADIUS];
                if (x + 1 < p.cols + RADIUS) value.y = row[x + 1 - RADIUS];
                if (x + 2 < p.cols + RADIUS) value.z = row[x + 2 - RADIUS];
                if (x + VECTOR - 1 < p.cols + RADIUS) value.w = row[x + VECTOR - 1 - RADIUS];
            }
        }
        tile[i] = value;
    }
    __syncthreads();  // waits for the whole region

    for (unsigned int i = thread; i < REGION_ROWS * TILE_VECTORS; i += THREADS) {
        const unsigned int first = i / TILE_VECTORS * REGION_VECTORS + i % TILE_VECTORS;
        const float4 left = tile[first], middle = tile[first + 1], right = tile[first + 2];
        const float values[3 * VECTOR] = {left.x, left.y, left.z, left.w, middle.x, middle.y, middle.z, middle.w,
                                          right.x, right.y, right.z, right.w};  // 3 x VECTOR
        float sums[VECTOR] = {0, 0, 0, 0};  // VECTOR
        #pragma unroll
        for (unsigned int v = 0; v < TAPS; v++) {
            #pragma unroll
            for (unsigned int j = 0; j < VECTOR; j++)
                sums[j] += weights[v] * values[j + v];
        }
        rows[i] = make_float4(sums[0], sums[1], sums[2], sums[VECTOR - 1]);
    }
    __syncthreads();  // waits for all filtered rows

    float4 sum = make_float4(0, 0, 0, 0);
    #pragma unroll
    for (unsigned int u = 0; u < TAPS; u++) {
        const float4 value = rows[thread + u * TILE_VECTORS];
        sum.x += weights[u] * value.x;
        sum.y += weights[u] * value.y;
        sum.z += weights[u] * value.z;
        sum.w += weights[u] * value.w;
    }
    const unsigned int row = first_row + thread / TILE_VECTORS, col = first_col + thread % TILE_VECTORS * VECTOR;
    if (row >= p.rows || col >= p.cols)
        return;
    float* place = output + (size_t)row * p.cols + col;
    if (aligned) {
        *reinterpret_cast<float4*>(place) = sum;
        return;
    }
    place[0] = sum.x;
    if (col + 1 < p.cols) place[1] = sum.y;
    if (col + 2 < p.cols) place[2] = sum.z;
    if (col + VECTOR - 1 < p.cols) place[VECTOR - 1] = sum.w;
}
