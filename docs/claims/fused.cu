// A26: a fused multiply-add against a multiplication and an addition.
// nvcc -O3 fused.cu -o fused && nvcc -O3 -fmad=false fused.cu -o separate && ./fused && ./separate
#include <cstdio>

const int CHAINS = 8, ROUNDS = 4096;

__global__ void chains(float* data, float factor, float summand)
{
    float value[CHAINS];
    #pragma unroll
    for (int i = 0; i < CHAINS; i++)
        value[i] = data[blockIdx.x * blockDim.x + threadIdx.x] + i;
    for (int round = 0; round < ROUNDS; round++) {
        #pragma unroll
        for (int i = 0; i < CHAINS; i++)
            value[i] = value[i] * factor + summand;
    }
    float sum = 0;
    #pragma unroll
    for (int i = 0; i < CHAINS; i++)
        sum += value[i];
    data[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

int main()
{
    const int blocks = 132 * 8, threads = 256;
    float* data;
    cudaMalloc(&data, blocks * threads * sizeof(float));
    cudaMemset(data, 0, blocks * threads * sizeof(float));
    cudaEvent_t from, to;
    cudaEventCreate(&from);
    cudaEventCreate(&to);
    float best = 1e9, ms;
    for (int run = 0; run < 20; run++) {
        cudaEventRecord(from);
        chains<<<blocks, threads>>>(data, 0.999f, 0.001f);
        cudaEventRecord(to);
        cudaEventSynchronize(to);
        cudaEventElapsedTime(&ms, from, to);
        best = ms < best ? ms : best;
    }
    printf("%.4f ms (%s)\n", best, cudaGetErrorString(cudaGetLastError()));
}
