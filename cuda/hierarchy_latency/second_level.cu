// Idea. The same chain past the first-level cache (`ld.global.cg`): a set that would fit there is answered by the second level.
// Changed from the rung below. Only the load instruction.
// A thread owns. The one chain: there is one thread.
// Memory traffic. One 32-byte sector per hop.
// Needs. A chain inside the set, words below 2^32; a set that fits the level meant. CUDA: WGSL cannot choose a cache.

const unsigned int THREADS = 1;

struct Params {
    unsigned int block_x, block_y, block_z;  // index of this launch's first block
    unsigned int words;                      // of the working set
    unsigned int hops;
    unsigned int pad;                        // reserved, 0
};

extern "C" __global__ void __launch_bounds__(THREADS)
hierarchy_latency_second_level(const unsigned int* __restrict__ next, unsigned int* __restrict__ output, const Params p)
{
    unsigned int at = 0;
    #pragma unroll 16
    for (unsigned int hop = 0; hop < p.hops; hop++)
        at = __ldcg(next + at);
    output[0] = at;
}
