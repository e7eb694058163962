// Idea. Exclusive-or of column and row spreads a column over all banks without any padding.
// Changed from the rung below. Element (y, x) of the tile lies at column x ^ y instead of x; the tile needs no unused column, so its rows stay aligned.
// A thread owns. Four elements of one tile column on the way in, four of one tile column on the way out.
// Memory traffic. As below; a row of the tile is a permutation of the banks, and so is a column (4-byte elements). Shared memory shrinks by 1/33.
// Needs. Nothing: any shape and leading dimensions, any element width of 1, 2, 4, 8 or 16 bytes.
#ifndef ELEMENT
#define ELEMENT unsigned int
#endif
typedef ELEMENT T;

const unsigned int TILE = 32;
const unsigned int BLOCK_ROWS = 8;                // rows of threads; a block is TILE x BLOCK_ROWS threads
const unsigned int ELEMENTS = TILE / BLOCK_ROWS;  // of one thread

struct Params {
    unsigned int block_x, block_y, block_z;          // index of this launch's first block
    unsigned int rows, cols;                         // of the input
    unsigned int input_ld, output_ld;                // elements from one row to the next
    unsigned int batch;
    unsigned long long input_offset, output_offset;  // elements
    unsigned long long input_stride, output_stride;  // elements between matrices of a batch
};

extern "C" __global__ void __launch_bounds__(TILE * BLOCK_ROWS)
transpose_swizzled(const T* __restrict__ input, T* __restrict__ output, const Params p)
{
    __shared__ T tile[TILE][TILE];  // TILE x TILE, element (y, x) at column x ^ y

    const unsigned int x = threadIdx.x;
    const unsigned int tile_col = (blockIdx.x + p.block_x) * TILE;
    const unsigned int tile_row = (blockIdx.y + p.block_y) * TILE;

    const unsigned int input_col = tile_col + x;
    T element[ELEMENTS];  // ELEMENTS; outside the matrix an element stays unset and is never written out
    #pragma unroll
    for (unsigned int i = 0; i < ELEMENTS; i++) {
        const unsigned int input_row = tile_row + threadIdx.y + i * BLOCK_ROWS;
        if (input_row < p.rows && input_col < p.cols)
            element[i] = input[(size_t)input_row * p.input_ld + input_col];
    }
    #pragma unroll
    for (unsigned int i = 0; i < ELEMENTS; i++) {
        const unsigned int y = threadIdx.y + i * BLOCK_ROWS;
        tile[y][x ^ y] = element[i];
    }

    __syncthreads();  // waits for the whole tile: a thread reads what others wrote

    const unsigned int output_col = tile_row + x;
    #pragma unroll
    for (unsigned int i = 0; i < ELEMENTS; i++) {
        const unsigned int y = threadIdx.y + i * BLOCK_ROWS;
        const unsigned int output_row = tile_col + y;
        if (output_row < p.cols && output_col < p.rows)
            output[(size_t)output_row * p.output_ld + output_col] = tile[x][y ^ x];
    }
}
