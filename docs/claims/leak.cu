// B24: `new` in a kernel, and a leak each way. nvcc leak.cu && compute-sanitizer --leak-check full ./a.out
#include <cstdio>

__global__ void forget()
{
    int* word = new int(42);  // from the device's heap, never deleted
    if (threadIdx.x == 0)
        printf("new on the device: %d\n", *word);
}

int main()
{
    int* buffer;
    cudaMalloc(&buffer, 1024);  // never freed
    forget<<<1, 1>>>();
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaDeviceReset();
}
