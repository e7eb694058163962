// Idea. TF32 keeps 11 bits of an f32 and all of its range: a number is its TF32 and that of the rest, which keeps 22, and needs no scale.
// Changed from the rung below. A pass of its own over each operand, which also turns it so that it runs along k: TF32 products read nothing else.
// A thread owns. TILE / THREADS_Y elements of the tile its block takes next.
// Memory traffic. Reads the operand once, writes 8 bytes for each element, in whole rows of a tile.
// Needs. Compute capability 8.0; a workspace for the parts, [batch][PARTS][rows][columns rounded up to 4], rows of a and columns of b first.

#ifndef OPERAND
#define OPERAND 0  // 0: a, 1: b
#endif
#ifndef TRANSPOSED
#define TRANSPOSED 0  // 1: the operand is stored transposed
#endif
#define TURN (OPERAND ? !TRANSPOSED : TRANSPOSED)  // 1: the parts are stored the other way round
#define PARTS 2
#define TILE 32
#define THREADS_Y 8
#define VECTOR_BYTES 16

typedef float T;
struct Params {
    unsigned int block_x, block_y, block_z;
    unsigned int m, n, k;
    unsigned int a_ld, b_ld, c_ld;
    unsigned int batch;
    float alpha, beta;
    unsigned long long a_offset, b_offset, c_offset;
    unsigned long long a_stride, b_stride, c_stride;
};

__device__ __forceinline__ float narrow(float value) {
    unsigned int bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
    return __uint_as_float(bits);
}

extern "C" __global__ void __launch_bounds__(TILE * THREADS_Y)
matmul_split_tf32(const T* __restrict__ input, T* __restrict__ parts, const Params p) {
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
        const unsigned long long part = (unsigned long long)copy_rows * copy_ld;
        T* to = parts + batch * PARTS * part;
#pragma unroll
        for (unsigned int y = threadIdx.y; y < TILE; y += THREADS_Y)
            if (row + y < rows && column + threadIdx.x < columns) {
                const T value = from[(unsigned long long)(row + y) * ld + column + threadIdx.x];
                if (TURN) {
                    tile[y][threadIdx.x] = value;
                } else {
                    T* at = to + (unsigned long long)(row + y) * copy_ld + column + threadIdx.x;
                    at[0] = narrow(value);
                    at[part] = narrow(value - narrow(value));
                }
            }
        if (TURN) {
            __syncthreads();  // the tile is filled
#pragma unroll
            for (unsigned int y = threadIdx.y; y < TILE; y += THREADS_Y)
                if (column + y < columns && row + threadIdx.x < rows) {
                    const T value = tile[threadIdx.x][y];
                    T* at = to + (unsigned long long)(column + y) * copy_ld + row + threadIdx.x;
                    at[0] = narrow(value);
                    at[part] = narrow(value - narrow(value));
                }
            __syncthreads();  // and read, before the next one comes
        }
    }
}
