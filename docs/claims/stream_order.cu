// B2: does a kernel that is launched right after cudaMemcpy read stale data? nvcc stream_order.cu && ./a.out
#include <cstdio>

__global__ void count_stale(const int* data, int expected, int* stale)
{
    if (data[threadIdx.x] != expected)
        atomicAdd(stale, 1);
}

int main()
{
    const int words = 1024, trials = 10000;
    int host[words], *data, *stale, found = 0;
    cudaMalloc(&data, sizeof host);
    cudaMalloc(&stale, sizeof(int));
    cudaMemset(stale, 0, sizeof(int));
    for (int trial = 0; trial < trials; trial++) {
        for (int& word : host)
            word = trial;
        cudaMemcpy(data, host, sizeof host, cudaMemcpyHostToDevice);
        count_stale<<<1, words>>>(data, trial, stale);  // no synchronisation in between
    }
    cudaMemcpy(&found, stale, sizeof(int), cudaMemcpyDeviceToHost);
    printf("%d stale words in %d trials of %d words (%s)\n", found, trials, words, cudaGetErrorString(cudaGetLastError()));
}
