// Idea. Bulk copies want rows that start at multiples of 16 bytes, and TF32 products an operand along k: where the caller's has neither, it is copied once.
// Changed from the rung below. A pass of its own over one operand; TURN 1 stores it transposed.
// A thread owns. TILE / THREADS_Y elements of the tile its block takes next.
// Memory traffic. Reads and writes the operand once, in whole rows of a tile either way.
// Needs. A workspace of [batch][rows][columns rounded up to 16 bytes], rows and columns as they are stored there.

#ifndef ELEMENT
#define ELEMENT unsigned short
#endif
#ifndef OPERAND
#define OPERAND 0  // 0: a, 1: b
#endif
#ifndef TRANSPOSED
#define TRANSPOSED 0  // 1: the operand is stored transposed
#endif
#ifndef TURN
#define TURN 0  // 1: the copy is stored the other way round
#endif
#define TILE 32
#define THREADS_Y 8
#define VECTOR_BYTES 16

typedef ELEMENT T;
struct Params {
    unsigned int block_x, block_y, block_z;
    unsigned int m, n, k;
    unsigned int a_ld, b_ld, c_ld;
    unsigned int batch;
    float alpha, beta;
    unsigned long long a_offset, b_offset, c_offset;
    unsigned long long a_stride, b_stride, c_stride;
};

extern "C" __global__ void __launch_bounds__(TILE * THREADS_Y)
matmul_copy_operand(const T* __restrict__ input, T* __restrict__ copy, const Params p) {
    __shared__ T tile[TILE][TILE + 1];  // [32][33]
    const unsigned int rows = OPERAND ? (TRANSPOSED ? p.n : p.k) : (TRANSPOSED ? p.k : p.m);
    const unsigned int columns = OPERAND ? (TRANSPOSED ? p.k : p.n) : (TRANSPOSED ? p.m : p.k);
    const unsigned int ld = OPERAND ? p.b_ld : p.a_ld;
    const unsigned long long stride = OPERAND ? p.b_stride : p.a_stride;
    input += OPERAND ? p.b_offset : p.a_offset;
    const unsigned int copy_rows = TURN ? columns : rows, copy_columns = TURN ? rows : columns;
    const unsigned int vector = VECTOR_BYTES / sizeof(T);
    const unsigned int copy_ld = (copy_columns + vector - 1) / vector * vector;
    const unsigned int tiles_x = (columns + TILE - 1) / TILE, tiles_y = (rows + TILE - 1) / TILE;
    const unsigned long long tiles = (unsigned long long)tiles_x * tiles_y * p.batch;

    for (unsigned long long index = blockIdx.x; index < tiles; index += gridDim.x) {
        const unsigned int column = index % tiles_x * TILE, row = index / tiles_x % tiles_y * TILE;
        const unsigned long long batch = index / tiles_x / tiles_y;
        const T* from = input + batch * stride;
        T* to = copy + batch * copy_rows * copy_ld;
#pragma unroll
        for (unsigned int y = threadIdx.y; y < TILE; y += THREADS_Y)
            if (row + y < rows && column + threadIdx.x < columns) {
                const T value = from[(unsigned long long)(row + y) * ld + column + threadIdx.x];
                if (TURN) tile[y][threadIdx.x] = value;
                else to[(unsigned long long)(row + y) * copy_ld + column + threadIdx.x] = value;
            }
        if (TURN) {
            __syncthreads();  // the tile is filled
#pragma unroll
            for (unsigned int y = threadIdx.y; y < TILE; y += THREADS_Y)
                if (column + y < columns && row + threadIdx.x < rows)
                    to[(unsigned long long)(column + y) * copy_ld + row + threadIdx.x] = tile[threadIdx.x][y];
            __syncthreads();  // and read, before the next one comes
        }
    }
}
