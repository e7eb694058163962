// Idea. Two buffers and one barrier per phase: the barrier that ends this phase's writes also ends the reads of the phase before.
// Changed from the rung below. One barrier per phase; with a single buffer it would take two.
// A thread owns. One element of each of PHASES tiles.
// Memory traffic. Every element once in and once out.
// Needs. u32, any length.

const unsigned int THREADS = 256;
const unsigned int PHASES = 8;

struct Params {
    unsigned int block_x, block_y, block_z;  // index of this launch's first block
    unsigned int pad;                        // reserved, 0
    unsigned long long len;                  // elements
};

extern "C" __global__ void __launch_bounds__(THREADS)
double_buffer_barrier_per_phase(const unsigned int* __restrict__ input, unsigned int* __restrict__ output, const Params p)
{
    __shared__ unsigned int tile[2][THREADS];  // 2 phases x THREADS

    const unsigned int thread = threadIdx.x;
    const size_t first = (size_t)(blockIdx.x + p.block_x) * THREADS * PHASES;
    for (unsigned int phase = 0; phase < PHASES; phase++) {
        const size_t index = first + phase * THREADS + thread;
        tile[phase % 2][thread] = index < p.len ? input[index] : 0;
        __syncthreads();  // waits for this phase's tile, and for the readers of the one before
        const unsigned int other = tile[phase % 2][THREADS - 1 - thread];
        if (index < p.len)
            output[index] = input[index] - other;
    }
}
