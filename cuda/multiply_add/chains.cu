// Idea. A thread runs CHAINS chains of multiply-adds that do not depend on each other.
// Changed from the rung below. Twice the chains of the variant below: while one waits for its result, the others issue.
// A thread owns. CHAINS elements, one block width apart; each goes through ROUNDS multiply-adds, x = x * factor + summand.
// Memory traffic. Reads and writes every element once; between the two lie 2 * ROUNDS operations per element, so arithmetic alone decides.
// Needs. f32 or f64, any length.
#ifndef CHAINS
#define CHAINS 8
#endif
#ifndef ROUNDS
#define ROUNDS 2048
#endif
#ifndef ELEMENT
#define ELEMENT float
#endif
typedef ELEMENT T;

const unsigned int THREADS = 256;
const unsigned int BLOCK = THREADS * CHAINS;  // elements of one block
const unsigned int UNROLL = 32;               // rounds without a branch

struct Params {
    unsigned int block_x, block_y, block_z;  // index of this launch's first block
    float factor, summand;                   // of every multiply-add
    unsigned int reserved;                   // 0
    unsigned long long len;                  // elements
};

extern "C" __global__ void __launch_bounds__(THREADS)
multiply_add_chains(const T* __restrict__ input, T* __restrict__ output, const Params p)
{
    const size_t first = (size_t)(blockIdx.x + p.block_x) * BLOCK + threadIdx.x;
    const T factor = p.factor, summand = p.summand;
    T x[CHAINS];  // CHAINS
    #pragma unroll
    for (unsigned int i = 0; i < CHAINS; i++)
        x[i] = first + i * THREADS < p.len ? input[first + i * THREADS] : T(0);
    #pragma unroll 1
    for (unsigned int round = 0; round < ROUNDS; round += UNROLL) {
        #pragma unroll
        for (unsigned int step = 0; step < UNROLL; step++) {
            #pragma unroll
            for (unsigned int i = 0; i < CHAINS; i++)
                x[i] = x[i] * factor + summand;
        }
    }
    #pragma unroll
    for (unsigned int i = 0; i < CHAINS; i++)
        if (first + i * THREADS < p.len)
            output[first + i * THREADS] = x[i];
}
