// B25: does blockIdx tell the multiprocessor? nvcc smid.cu && ./a.out
#include <cstdio>
#include <vector>

__global__ void where(unsigned* numbers)
{
    unsigned number;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(number));
    if (threadIdx.x == 0)
        numbers[blockIdx.x] = number;
}

int main()
{
    const int blocks = 4096;
    int count = 0;
    cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0);
    unsigned* numbers;
    cudaMalloc(&numbers, blocks * sizeof(unsigned));
    std::vector<unsigned> runs[2];
    for (auto& run : runs) {
        run.resize(blocks);
        where<<<blocks, 256>>>(numbers);
        cudaMemcpy(run.data(), numbers, blocks * sizeof(unsigned), cudaMemcpyDeviceToHost);
    }
    int same = 0, again = 0;
    for (int block = 0; block < blocks; block++) {
        same += runs[0][block] == unsigned(block % count);
        again += runs[0][block] == runs[1][block];
    }
    printf("%d of %d blocks ran on multiprocessor blockIdx %% %d, %d on the same in the next run\n", same, blocks, count, again);
}
