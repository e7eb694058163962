// Idea. The textbook transpose: threads of a warp lie along an input row, so reads are coalesced and writes are output_ld elements apart.
// Changed from the rung below. The first rung: nothing below it.
// A thread owns. One element.
// Memory traffic. A warp reads 32 consecutive elements and writes 32 separate sectors, of which it fills 4 (4-byte elements) of 32 bytes; L2 merges what neighbouring rows add in time.
// Needs. Nothing: any shape and leading dimensions, any element width of 1, 2, 4, 8 or 16 bytes.
#ifndef ELEMENT
#define ELEMENT unsigned int
#endif
typedef ELEMENT T;

const unsigned int BLOCK_COLS = 32;
const unsigned int BLOCK_ROWS = 8;

struct Params {
    unsigned int block_x, block_y, block_z;          // index of this launch's first block
    unsigned int rows, cols;                         // of the input
    unsigned int input_ld, output_ld;                // elements from one row to the next
    unsigned int batch;
    unsigned long long input_offset, output_offset;  // elements
    unsigned long long input_stride, output_stride;  // elements between matrices of a batch
};

extern "C" __global__ void __launch_bounds__(BLOCK_COLS * BLOCK_ROWS)
transpose_naive(const T* __restrict__ input, T* __restrict__ output, const Params p)
{
    const unsigned int col = (blockIdx.x + p.block_x) * BLOCK_COLS + threadIdx.x;
    const unsigned int row = (blockIdx.y + p.block_y) * BLOCK_ROWS + threadIdx.y;
    if (row < p.rows && col < p.cols)
        output[(size_t)col * p.output_ld + row] = input[(size_t)row * p.input_ld + col];
}
