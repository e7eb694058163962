// Idea. Turn the tile in shared memory: rows go in, columns come out, and both global sides are coalesced.
// Changed from the rung below. Both sides of global memory see whole rows of a tile; the scattered access moves into shared memory.
// A thread owns. One element of the input tile and one of the output tile.
// Memory traffic. Each element once, in runs of TILE elements on both sides. A column of the tile lies in one bank (4-byte elements, TILE 32): its read takes 32 turns.
// Needs. Nothing: any shape and leading dimensions, any element width of 1, 2, 4, 8 or 16 bytes.
#ifndef ELEMENT
#define ELEMENT unsigned int
#endif
typedef ELEMENT T;
#ifndef TILE
#define TILE 32
#endif


struct Params {
    unsigned int block_x, block_y, block_z;          // index of this launch's first block
    unsigned int rows, cols;                         // of the input
    unsigned int input_ld, output_ld;                // elements from one row to the next
    unsigned int batch;
    unsigned long long input_offset, output_offset;  // elements
    unsigned long long input_stride, output_stride;  // elements between matrices of a batch
};

extern "C" __global__ void __launch_bounds__(TILE * TILE)
transpose_tiled(const T* __restrict__ input, T* __restrict__ output, const Params p)
{
    __shared__ T tile[TILE][TILE];  // TILE x TILE

    const unsigned int x = threadIdx.x;
    const unsigned int y = threadIdx.y;
    const unsigned int tile_col = (blockIdx.x + p.block_x) * TILE;
    const unsigned int tile_row = (blockIdx.y + p.block_y) * TILE;

    const unsigned int input_col = tile_col + x;
    const unsigned int input_row = tile_row + y;
    const unsigned int output_col = tile_row + x;
    const unsigned int output_row = tile_col + y;
    const T* source = input + (size_t)input_row * p.input_ld + input_col;
    T* destination = output + (size_t)output_row * p.output_ld + output_col;

    tile[y][x] = input_row < p.rows && input_col < p.cols ? *source : T();
    __syncthreads();  // waits for the whole tile: a thread reads what another one wrote
    if (output_row < p.cols && output_col < p.rows)
        *destination = tile[x][y];
}
