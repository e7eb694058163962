// Idea. Each load's address is the result of the load before: time per hop is the latency of whatever level holds the set.
// Changed from the rung below. The first rung of global memory: plain loads.
// A thread owns. The one chain: there is one thread.
// Memory traffic. One 128-byte line per hop, in an order that no prefetcher guesses.
// Needs. A chain inside the set, words below 2^32; a set that fits the level meant.

const unsigned int THREADS = 1;

struct Params {
    unsigned int block_x, block_y, block_z;  // index of this launch's first block
    unsigned int words;                      // of the working set
    unsigned int hops;
    unsigned int pad;                        // reserved, 0
};

extern "C" __global__ void __launch_bounds__(THREADS)
hierarchy_latency_cached(const unsigned int* __restrict__ next, unsigned int* __restrict__ output, const Params p)
{
    unsigned int at = 0;
    #pragma unroll 16
    for (unsigned int hop = 0; hop < p.hops; hop++)
        at = next[at];
    output[0] = at;
}
