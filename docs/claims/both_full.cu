// B1: the most shared memory and the most registers in one block. nvcc -arch=native both_full.cu && ./a.out
#include <cstdio>

const int THREADS = 256;  // of 255 registers each: 65,280 of 65,536

__global__ void __launch_bounds__(THREADS, 1) hold(float* data, int words, int rounds)
{
    extern __shared__ float shared[];  // words
    float value[200];                  // stay in registers, all of them alive at a time
    #pragma unroll
    for (int i = 0; i < 200; i++)
        value[i] = data[i * THREADS + threadIdx.x];
    for (int i = threadIdx.x; i < words; i += THREADS)
        shared[i] = i;
    __syncthreads();  // waits for all words
    for (int round = 0; round < rounds; round++) {
        #pragma unroll
        for (int i = 0; i < 200; i++)
            value[i] = value[i] * value[(i + 1) % 200] + shared[(round * THREADS + threadIdx.x) % words];
    }
    #pragma unroll
    for (int i = 0; i < 200; i++)
        data[i * THREADS + threadIdx.x] = value[i];
}

int main()
{
    int bytes = 0, multiprocessors = 0;
    cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0);
    cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0);
    cudaFuncSetAttribute(hold, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    cudaFuncAttributes facts;
    cudaFuncGetAttributes(&facts, hold);
    float* data;
    cudaMalloc(&data, 200 * THREADS * sizeof(float));
    cudaMemset(data, 0, 200 * THREADS * sizeof(float));
    hold<<<1, THREADS, bytes>>>(data, bytes / 4, 4);
    printf("one block: %d registers x %d threads = %d KiB, and %d KiB of shared memory (%s)\n", facts.numRegs, THREADS,
           facts.numRegs * THREADS * 4 >> 10, bytes >> 10, cudaGetErrorString(cudaDeviceSynchronize()));
}
