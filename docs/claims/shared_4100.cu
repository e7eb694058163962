// B14: may all of 4,100 bytes of dynamic shared memory be used? nvcc shared_4100.cu && compute-sanitizer ./a.out
#include <cstdio>

__global__ void sum_all(int words, int* output)
{
    extern __shared__ int tile[];  // words
    for (int i = threadIdx.x; i < words; i += blockDim.x)
        tile[i] = i;
    __syncthreads();  // waits for all words
    if (threadIdx.x == 0) {
        int sum = 0;
        for (int i = 0; i < words; i++)
            sum += tile[i];
        *output = sum;
    }
}

int main()
{
    const int bytes = 4100, words = bytes / 4;
    int *output, sum = 0;
    cudaMalloc(&output, sizeof(int));
    sum_all<<<1, 256, bytes>>>(words, output);
    cudaMemcpy(&sum, output, sizeof(int), cudaMemcpyDeviceToHost);
    printf("sum of %d words %d, expected %d (%s)\n", words, sum, words * (words - 1) / 2, cudaGetErrorString(cudaGetLastError()));
}
