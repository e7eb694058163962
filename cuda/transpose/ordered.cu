// Idea. Blocks that run together should write memory that lies together, so the tiles are numbered along the rows of the output.
// Changed from the rung below. Tiles are numbered in one dimension. With DOWN 1 consecutive blocks go down the input, which continues the same output rows; with DOWN 0 they go along the input's rows, as below.
// A thread owns. One 4x4 block of the input tile and four chunks of the output tile; on a side without 16-byte access, 16 single elements.
// Memory traffic. Each element once, in runs of 256 bytes on both sides; shared memory is read and written without conflicts.
// Needs. 4-byte elements. VECTOR_INPUT (VECTOR_OUTPUT): base, offset, leading dimension and batch stride of that side are multiples of 16 bytes. Tiles that the edge cuts take the single-element paths.
#ifndef VECTOR_INPUT
#define VECTOR_INPUT 1
#endif
#ifndef VECTOR_OUTPUT
#define VECTOR_OUTPUT 1
#endif
#ifndef DOWN
#define DOWN 1
#endif
#ifndef ELEMENT
#define ELEMENT unsigned int
#endif
typedef ELEMENT T;

const unsigned int TILE = 64;
const unsigned int VECTOR = 4;                 // elements of a 16-byte chunk
const unsigned int CHUNKS = TILE / VECTOR;     // of a tile row
const unsigned int THREADS = CHUNKS * CHUNKS;  // one for each 4x4 block of the tile
const unsigned int GROUPS = THREADS / TILE;    // rows of threads, where a thread moves single elements
const unsigned int BLOCKS = CHUNKS / GROUPS;   // 4x1 blocks of a thread there
const unsigned int BANKS = 8;                  // chunks side by side in the 32 banks of shared memory

static_assert(sizeof(T) * VECTOR == sizeof(uint4), "the register blocks are made of 4-byte elements");

struct __align__(sizeof(uint4)) Chunk {
    T word[VECTOR];  // VECTOR
};

struct Params {
    unsigned int block_x, block_y, block_z;          // index of this launch's first block
    unsigned int rows, cols;                         // of the input
    unsigned int input_ld, output_ld;                // elements from one row to the next
    unsigned int batch;
    unsigned long long input_offset, output_offset;  // elements
    unsigned long long input_stride, output_stride;  // elements between matrices of a batch
};

// Where chunk `chunk` of tile row `row` lies. Eight lanes that store to rows four apart, or one apart, or load along a row, meet all the banks.
__device__ __forceinline__ unsigned int chunk_at(unsigned int row, unsigned int chunk)
{
    return row * CHUNKS + (chunk ^ (((row / VECTOR) ^ (row * 2)) % BANKS));
}

extern "C" __global__ void __launch_bounds__(THREADS)
transpose_ordered(const T* __restrict__ input, T* __restrict__ output, const Params p)
{
    __shared__ Chunk tile[TILE * CHUNKS];  // TILE x CHUNKS, rows of the output tile

    const unsigned int index = blockIdx.x + p.block_x;
    const unsigned int tiles_down = (p.rows - 1) / TILE + 1;
    const unsigned int tiles_across = (p.cols - 1) / TILE + 1;
    const unsigned int tile_row = (DOWN ? index % tiles_down : index / tiles_across) * TILE;
    const unsigned int tile_col = (DOWN ? index / tiles_down : index % tiles_across) * TILE;
    const unsigned int matrix = blockIdx.z + p.block_z;
    const unsigned int rows = min(p.rows - tile_row, TILE);  // of this tile
    const unsigned int cols = min(p.cols - tile_col, TILE);
    const bool whole = rows == TILE && cols == TILE;
    const T* source = input + p.input_offset + matrix * p.input_stride + (size_t)tile_row * p.input_ld + tile_col;
    T* destination = output + p.output_offset + matrix * p.output_stride + (size_t)tile_col * p.output_ld + tile_row;

    if (VECTOR_INPUT && whole) {
        const unsigned int x = threadIdx.x % CHUNKS;
        const unsigned int y = threadIdx.x / CHUNKS;
        Chunk row[VECTOR];  // VECTOR rows of the 4x4 block
        #pragma unroll
        for (unsigned int i = 0; i < VECTOR; i++)
            row[i] = *reinterpret_cast<const Chunk*>(source + (size_t)(y * VECTOR + i) * p.input_ld + x * VECTOR);
        #pragma unroll
        for (unsigned int j = 0; j < VECTOR; j++) {
            Chunk column;
            #pragma unroll
            for (unsigned int i = 0; i < VECTOR; i++)
                column.word[i] = row[i].word[j];
            tile[chunk_at(x * VECTOR + j, y)] = column;
        }
    } else {
        const unsigned int x = threadIdx.x % TILE;
        const unsigned int y = threadIdx.x / TILE;
        Chunk column[BLOCKS];  // BLOCKS; outside the matrix a word stays unset and is never written out
        #pragma unroll
        for (unsigned int b = 0; b < BLOCKS; b++) {
            #pragma unroll
            for (unsigned int i = 0; i < VECTOR; i++) {
                const unsigned int row = (y + b * GROUPS) * VECTOR + i;
                if (row < rows && x < cols)
                    column[b].word[i] = source[(size_t)row * p.input_ld + x];
            }
        }
        #pragma unroll
        for (unsigned int b = 0; b < BLOCKS; b++)
            tile[chunk_at(x, y + b * GROUPS)] = column[b];
    }

    __syncthreads();  // waits for the whole tile: a thread reads what others wrote

    if (VECTOR_OUTPUT && whole) {
        const unsigned int x = threadIdx.x % CHUNKS;
        #pragma unroll
        for (unsigned int row = threadIdx.x / CHUNKS; row < TILE; row += CHUNKS)
            *reinterpret_cast<Chunk*>(destination + (size_t)row * p.output_ld + x * VECTOR) = tile[chunk_at(row, x)];
    } else {
        const unsigned int x = threadIdx.x % TILE;
        #pragma unroll
        for (unsigned int row = threadIdx.x / TILE; row < TILE; row += GROUPS)
            if (row < cols && x < rows)
                destination[(size_t)row * p.output_ld + x] = tile[chunk_at(row, x / VECTOR)].word[x % VECTOR];
    }
}
