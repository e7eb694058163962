// Idea. The definition, one element of C per thread, with the threads of a warp along a column: the layout that a first attempt often has.
// Changed from the rung below. The first rung: nothing below it.
// A thread owns. One element of C; it adds k products in ascending order, each with one fused multiply-add.
// Memory traffic. 2 k loads per thread. Each load of A meets 32 rows, that is 32 sectors for 32 elements; the load of B is one element for the whole warp; C is written in 32 sectors.
// Needs. f32, both operands as they lie (row-major), any shape and leading dimensions, alpha and beta.

const unsigned int BLOCK_COLS = 8;
const unsigned int BLOCK_ROWS = 32;

struct Params {
    unsigned int block_x, block_y, block_z;            // index of this launch's first block
    unsigned int m, n, k;                              // c is m x n, a is m x k, b is k x n
    unsigned int a_ld, b_ld, c_ld;                     // elements from one row to the next
    unsigned int batch;
    float alpha, beta;
    unsigned long long a_offset, b_offset, c_offset;   // elements
    unsigned long long a_stride, b_stride, c_stride;   // elements between matrices of a batch
};

extern "C" __global__ void __launch_bounds__(BLOCK_COLS * BLOCK_ROWS)
matmul_naive(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, const Params p)
{
    const unsigned int col = (blockIdx.x + p.block_x) * BLOCK_COLS + threadIdx.y;
    const unsigned int row = (blockIdx.y + p.block_y) * BLOCK_ROWS + threadIdx.x;
    if (row >= p.m || col >= p.n)
        return;

    float sum = 0;
    for (unsigned int i = 0; i < p.k; i++)
        sum = fmaf(a[(size_t)row * p.a_ld + i], b[(size_t)i * p.b_ld + col], sum);

    const size_t index = (size_t)row * p.c_ld + col;
    const float product = p.alpha * sum;
    c[index] = p.beta == 0 ? product : fmaf(p.beta, c[index], product);  // with beta 0 the old c is not read
}
