// Idea. The same chain through shared memory.
// Changed from the rung below. The chain is copied to shared memory first; hops cost no tag look-up.
// A thread owns. Thread 0 owns the chain; the others help to copy it.
// Memory traffic. The set once; then one shared word per hop.
// Needs. A chain inside the set, at most WORDS words.

const unsigned int THREADS = 32;
const unsigned int WORDS = 3072;

struct Params {
    unsigned int block_x, block_y, block_z;  // index of this launch's first block
    unsigned int words;                      // of the working set
    unsigned int hops;
    unsigned int pad;                        // reserved, 0
};

extern "C" __global__ void __launch_bounds__(THREADS)
hierarchy_latency_shared(const unsigned int* __restrict__ next, unsigned int* __restrict__ output, const Params p)
{
    __shared__ unsigned int table[WORDS];  // WORDS, the first p.words of them used

    for (unsigned int i = threadIdx.x; i < p.words; i += THREADS)
        table[i] = next[i];
    __syncthreads();  // waits for the whole table
    if (threadIdx.x > 0)
        return;
    unsigned int at = 0;
    #pragma unroll 16
    for (unsigned int hop = 0; hop < p.hops; hop++)
        at = table[at];
    output[0] = at;
}
