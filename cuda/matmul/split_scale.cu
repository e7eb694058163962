// Idea. f16 holds 11 bits but few exponents: before a matrix of f32 is split into halves, its largest magnitude decides a power of two that makes it fit.
// Changed from the rung below. A pass of its own over each operand.
// A thread owns. Every THREADS-th element of the rows its block takes.
// Memory traffic. Reads the operand once; writes one word per block, no atomics, nothing to clear.
// Needs. Grid Fixed{SCALE_BLOCKS}.

#ifndef OPERAND
#define OPERAND 0  // 0: a, 1: b
#endif
#ifndef TRANSPOSE_A
#define TRANSPOSE_A 0  // 1: a is stored k x m
#endif
#ifndef TRANSPOSE_B
#define TRANSPOSE_B 0  // 1: b is stored n x k
#endif
#define SCALE_BLOCKS 264  // the pass that splits reads as many words
#define THREADS 256
#define WARP 32
#define MAGNITUDE 0x7FFFFFFF  // an f32 without its sign: larger words are larger magnitudes
#define INFINITE 0x7F800000   // no number from here on

struct Params {
    unsigned int block_x, block_y, block_z;
    unsigned int m, n, k;
    unsigned int a_ld, b_ld, c_ld;
    unsigned int batch;
    float alpha, beta;
    unsigned long long a_offset, b_offset, c_offset;
    unsigned long long a_stride, b_stride, c_stride;
};

extern "C" __global__ void __launch_bounds__(THREADS)
matmul_split_scale(const float* __restrict__ input, unsigned int* __restrict__ largest, const Params p) {
    __shared__ unsigned int warp_largest[THREADS / WARP];  // [8]
    const unsigned int rows = OPERAND ? (TRANSPOSE_B ? p.n : p.k) : (TRANSPOSE_A ? p.k : p.m);
    const unsigned int columns = OPERAND ? (TRANSPOSE_B ? p.k : p.n) : (TRANSPOSE_A ? p.m : p.k);
    const unsigned int ld = OPERAND ? p.b_ld : p.a_ld;
    const unsigned long long stride = OPERAND ? p.b_stride : p.a_stride;
    input += OPERAND ? p.b_offset : p.a_offset;

    unsigned int most = 0;
    for (unsigned long long line = blockIdx.x; line < (unsigned long long)rows * p.batch; line += gridDim.x) {
        const float* from = input + line / rows * stride + line % rows * ld;
        for (unsigned int column = threadIdx.x; column < columns; column += THREADS) {
            const unsigned int magnitude = __float_as_uint(from[column]) & MAGNITUDE;
            if (magnitude < INFINITE) most = max(most, magnitude);  // an infinity or NaN spoils its own sums, not the scale of the others
        }
    }
    most = __reduce_max_sync(0xFFFFFFFF, most);
    if (threadIdx.x % WARP == 0) warp_largest[threadIdx.x / WARP] = most;
    __syncthreads();  // every warp has written its largest
    if (threadIdx.x == 0) {
        for (unsigned int warp = 1; warp < THREADS / WARP; warp++) most = max(most, warp_largest[warp]);
        largest[blockIdx.x] = most;
    }
}
