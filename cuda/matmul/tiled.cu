// Idea. Fetch a tile of A and a tile of B into shared memory once and use every element TILE times from there.
// Changed from the rung below. The operands of TILE steps of the sum come from shared memory instead of the caches.
// A thread owns. One element of C; it adds k products in ascending order, each with one fused multiply-add. It fetches one element of each tile.
// Memory traffic. 2 k / TILE global loads per thread instead of 2 k, all coalesced in runs of TILE; two shared loads per multiply-add, one of them the same element for all threads of a row.
// Needs. f32, both operands as they lie (row-major), any shape and leading dimensions, alpha and beta.
#ifndef TILE
#define TILE 32
#endif

struct Params {
    unsigned int block_x, block_y, block_z;            // index of this launch's first block
    unsigned int m, n, k;                              // c is m x n, a is m x k, b is k x n
    unsigned int a_ld, b_ld, c_ld;                     // elements from one row to the next
    unsigned int batch;
    float alpha, beta;
    unsigned long long a_offset, b_offset, c_offset;   // elements
    unsigned long long a_stride, b_stride, c_stride;   // elements between matrices of a batch
};

extern "C" __global__ void __launch_bounds__(TILE * TILE)
matmul_tiled(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, const Params p)
{
    __shared__ float a_tile[TILE][TILE];  // TILE rows of c x TILE steps of k
    __shared__ float b_tile[TILE][TILE];  // TILE steps of k x TILE columns of c

    const unsigned int x = threadIdx.x;
    const unsigned int y = threadIdx.y;
    const unsigned int col = (blockIdx.x + p.block_x) * TILE + x;
    const unsigned int row = (blockIdx.y + p.block_y) * TILE + y;

    float sum = 0;
    const unsigned int steps = p.k / TILE + (p.k % TILE != 0);
    for (unsigned int step = 0; step < steps; step++) {
        const unsigned int first = step * TILE;
        // Outside the matrices the tiles hold 0, which adds nothing.
        a_tile[y][x] = row < p.m && first + x < p.k ? a[(size_t)row * p.a_ld + first + x] : 0;
        b_tile[y][x] = first + y < p.k && col < p.n ? b[(size_t)(first + y) * p.b_ld + col] : 0;
        __syncthreads();  // waits for both tiles: a thread reads what others fetched
        #pragma unroll
        for (unsigned int i = 0; i < TILE; i++)
            sum = fmaf(a_tile[y][i], b_tile[i][x], sum);
        __syncthreads();  // waits until all have read: the next step overwrites the tiles
    }

    if (row < p.m && col < p.n) {
        const size_t index = (size_t)row * p.c_ld + col;
        const float product = p.alpha * sum;
        c[index] = p.beta == 0 ? product : fmaf(p.beta, c[index], product);  // with beta 0 the old c is not read
    }
}
