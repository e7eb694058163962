// Idea. The same through the read-only path (`ld.global.nc`).
// Changed from the rung below. Only the load instruction, which plain loads of `const __restrict__` inputs become by themselves.
// A thread owns. One vector of every turn in which all threads together advance through the set, over and over.
// Memory traffic. As below.
// Needs. At most 2^31 vectors. CUDA: WGSL has no load of its own for it.

const unsigned int THREADS = 256;

struct Params {
    unsigned int block_x, block_y, block_z;  // index of this launch's first block
    unsigned int vectors;                    // of the working set, 16 bytes each
    unsigned int loads;                      // of every thread
    unsigned int threads;                    // in all
};

extern "C" __global__ void __launch_bounds__(THREADS)
hierarchy_bandwidth_read_only(const uint4* __restrict__ input, unsigned int* __restrict__ output, const Params p)
{
    const unsigned int thread = (blockIdx.x + p.block_x) * THREADS + threadIdx.x;
    const unsigned int step = p.threads % p.vectors;  // what a turn of all threads advances in the set
    unsigned int at = thread % p.vectors, sum = 0;
    #pragma unroll 8
    for (unsigned int load = 0; load < p.loads; load++) {
        const uint4 words = __ldg(input + at);
        sum += words.x + words.y + words.z + words.w;
        at += step;
        at -= at >= p.vectors ? p.vectors : 0;
    }
    output[thread] = sum;
}
