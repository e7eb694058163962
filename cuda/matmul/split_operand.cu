// Idea. An f32 is the sum of PARTS shorter numbers: round to 16 bits, subtract, round the rest. Two f16 keep 22 bits and the sign of the rest, three bf16 keep 24.
// Changed from the rung below. A pass of its own over each operand, in the layout it has.
// A thread owns. 8 neighbouring elements: 16 bytes of every part.
// Memory traffic. Reads the operand once, writes PARTS * 2 bytes for each element.
// Needs. Compute capability 8.0; a workspace for the parts, [batch][PARTS][rows][columns rounded up to 8], and, for f16, the words of the scale pass.

#ifndef OPERAND
#define OPERAND 0  // 0: a, 1: b
#endif
#ifndef TRANSPOSE_A
#define TRANSPOSE_A 0  // 1: a is stored k x m
#endif
#ifndef TRANSPOSE_B
#define TRANSPOSE_B 0  // 1: b is stored n x k
#endif
#ifndef BF16
#define BF16 0  // 1: bf16 parts, unscaled, 0: f16 parts, scaled
#endif
#ifndef PARTS
#define PARTS (BF16 ? 3 : 2)
#endif
#define SCALE_BLOCKS 264  // words of the scale pass
#define THREADS 256
#define WARP 32
#define CHUNK 8            // elements in 16 bytes
#define MANTISSA_BITS 23
#define EXPONENT_BIAS 127
#define TARGET_EXPONENT 14  // the largest magnitude becomes 2^14 to 2^15, f16 ends just below 2^16
#define EXPONENT_LIMIT 60   // keeps the scales' product and its inverse finite

typedef unsigned short T;
struct Params {
    unsigned int block_x, block_y, block_z;
    unsigned int m, n, k;
    unsigned int a_ld, b_ld, c_ld;
    unsigned int batch;
    float alpha, beta;
    unsigned long long a_offset, b_offset, c_offset;
    unsigned long long a_stride, b_stride, c_stride;
};

__device__ __forceinline__ T narrow(float value) {
    T half;
#if BF16
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(half) : "f"(value));
#else
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(value));
#endif
    return half;
}
__device__ __forceinline__ float widen(T value) {
#if BF16
    return __uint_as_float((unsigned int)value << 16);
#else
    float wide;
    asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(value));
    return wide;
#endif
}

extern "C" __global__ void __launch_bounds__(THREADS)
matmul_split_operand(const float* __restrict__ input, T* __restrict__ parts, const unsigned int* __restrict__ largest, float* __restrict__ inverse, const Params p) {
    const unsigned int rows = OPERAND ? (TRANSPOSE_B ? p.n : p.k) : (TRANSPOSE_A ? p.k : p.m);
    const unsigned int columns = OPERAND ? (TRANSPOSE_B ? p.k : p.n) : (TRANSPOSE_A ? p.m : p.k);
    const unsigned int ld = OPERAND ? p.b_ld : p.a_ld;
    const unsigned long long stride = OPERAND ? p.b_stride : p.a_stride;
    input += OPERAND ? p.b_offset : p.a_offset;
    const unsigned int parts_ld = (columns + CHUNK - 1) / CHUNK * CHUNK;
    float scale = 1;
#if !BF16
    __shared__ unsigned int warp_largest[THREADS / WARP];  // [8]
    unsigned int most = 0;
    for (unsigned int block = threadIdx.x; block < SCALE_BLOCKS; block += THREADS) most = max(most, largest[block]);
    most = __reduce_max_sync(0xFFFFFFFF, most);
    if (threadIdx.x % WARP == 0) warp_largest[threadIdx.x / WARP] = most;
    __syncthreads();  // every warp has written its largest
    for (unsigned int warp = 0; warp < THREADS / WARP; warp++) most = max(most, warp_largest[warp]);
    const int exponent = min(max(TARGET_EXPONENT + EXPONENT_BIAS - (int)(most >> MANTISSA_BITS), -EXPONENT_LIMIT), EXPONENT_LIMIT);
    scale = __int_as_float((EXPONENT_BIAS + exponent) << MANTISSA_BITS);
    if (blockIdx.x == 0 && threadIdx.x == 0) *inverse = __int_as_float((EXPONENT_BIAS - exponent) << MANTISSA_BITS);
#else
    if (blockIdx.x == 0 && threadIdx.x == 0) *inverse = 1;
#endif

    const unsigned long long chunks = (unsigned long long)rows * p.batch * (parts_ld / CHUNK);
    for (unsigned long long i = blockIdx.x * THREADS + threadIdx.x; i < chunks; i += (unsigned long long)gridDim.x * THREADS) {
        const unsigned long long line = i / (parts_ld / CHUNK);
        const unsigned int column = i % (parts_ld / CHUNK) * CHUNK;
        const unsigned long long batch = line / rows, row = line % rows;
        const float* from = input + batch * stride + row * ld + column;
        float rest[CHUNK];
#pragma unroll
        for (unsigned int j = 0; j < CHUNK; j++) rest[j] = column + j < columns ? from[j] * scale : 0;
#pragma unroll
        for (unsigned int part = 0; part < PARTS; part++) {
            unsigned int words[CHUNK / 2];
#pragma unroll
            for (unsigned int j = 0; j < CHUNK; j += 2) {
                const T low = narrow(rest[j]), high = narrow(rest[j + 1]);
                words[j / 2] = low | (unsigned int)high << 16;
                rest[j] -= widen(low);
                rest[j + 1] -= widen(high);
            }
            *(uint4*)(parts + ((batch * PARTS + part) * rows + row) * parts_ld + column) = make_uint4(words[0], words[1], words[2], words[3]);
        }
    }
}
