// Kernels that test the CUDA backend and belong to no op; probe.ptx is compiled from this file (NVRTC 12.0, compute_70).
struct Params {
    unsigned int len;
    unsigned int shared_words;
    unsigned long long value;
};

// output = input + value
extern "C" __global__ void __launch_bounds__(256) add(const unsigned int* __restrict__ input, unsigned int* __restrict__ output, const Params p) {
    const unsigned int i = blockIdx.x * 256 + threadIdx.x;
    if (i < p.len) output[i] = input[i] + (unsigned int)p.value;
}

// Writes to the address `value`.
extern "C" __global__ void __launch_bounds__(256) stray(const unsigned int* __restrict__ input, unsigned int* __restrict__ output, const Params p) {
    *(unsigned int*)p.value = input[0];
}

// Reverses 256 words through the end of the dynamic shared memory.
extern "C" __global__ void __launch_bounds__(256) reverse(const unsigned int* __restrict__ input, unsigned int* __restrict__ output, const Params p) {
    extern __shared__ unsigned int words[];  // [shared_words]
    unsigned int* end = words + p.shared_words - 256;
    end[threadIdx.x] = input[threadIdx.x];
    __syncthreads();  // all 256 words are there
    output[threadIdx.x] = end[255 - threadIdx.x];
}
