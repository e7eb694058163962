// Copies boxes of 32 x 8 words of a tensor map, one per block, to the output one after the other; probe_tensor_map.ptx is compiled from this file (NVRTC 12.0, compute_90).
struct Params {
    unsigned int len;
    unsigned int shared_words;
    unsigned long long value;
};

struct alignas(64) TensorMap {
    unsigned long long words[16];
};

extern "C" __global__ void __launch_bounds__(256) boxes(const unsigned int* __restrict__ input, unsigned int* __restrict__ output, const Params p, const __grid_constant__ TensorMap map) {
    __shared__ alignas(128) unsigned int box[8 * 32];  // [row][col]
    __shared__ alignas(8) unsigned long long arrived;
    const unsigned int barrier = (unsigned int)__cvta_generic_to_shared(&arrived);
    const unsigned int target = (unsigned int)__cvta_generic_to_shared(box);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\nfence.mbarrier_init.release.cluster;" ::"r"(barrier) : "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 1024;" ::"r"(barrier) : "memory");
        asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];" ::"r"(target),
                     "l"(&map), "r"(barrier), "r"(blockIdx.x * 32), "r"(blockIdx.y * 8), "r"(blockIdx.z)
                     : "memory");
    }
    __syncthreads();  // the barrier is initialised
    unsigned int done = 0;
    while (!done) {
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(barrier) : "memory");
    }
    output[((blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x) * 256 + threadIdx.x] = box[threadIdx.x];
}
