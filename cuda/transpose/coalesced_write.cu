// Idea. The mirror image: threads of a warp lie along an output row, so writes are coalesced and reads are input_ld elements apart.
// Changed from the rung below. The scattered side is now the read: the caches keep the rest of a fetched sector for the neighbouring threads, while a scattered write has to leave the multiprocessor sector by sector.
// A thread owns. One element.
// Memory traffic. A warp reads 32 separate sectors; a block uses 8 columns of each, a whole 32-byte sector of 4-byte elements, through L1. It writes 32 consecutive elements.
// Needs. Nothing: any shape and leading dimensions, any element width of 1, 2, 4, 8 or 16 bytes.
#ifndef ELEMENT
#define ELEMENT unsigned int
#endif
typedef ELEMENT T;

const unsigned int BLOCK_COLS = 8;
const unsigned int BLOCK_ROWS = 32;

struct Params {
    unsigned int block_x, block_y, block_z;          // index of this launch's first block
    unsigned int rows, cols;                         // of the input
    unsigned int input_ld, output_ld;                // elements from one row to the next
    unsigned int batch;
    unsigned long long input_offset, output_offset;  // elements
    unsigned long long input_stride, output_stride;  // elements between matrices of a batch
};

extern "C" __global__ void __launch_bounds__(BLOCK_COLS * BLOCK_ROWS)
transpose_coalesced_write(const T* __restrict__ input, T* __restrict__ output, const Params p)
{
    const unsigned int col = (blockIdx.x + p.block_x) * BLOCK_COLS + threadIdx.y;
    const unsigned int row = (blockIdx.y + p.block_y) * BLOCK_ROWS + threadIdx.x;
    if (row < p.rows && col < p.cols)
        output[(size_t)col * p.output_ld + row] = input[(size_t)row * p.input_ld + col];
}
