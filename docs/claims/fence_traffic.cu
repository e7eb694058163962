// B20: does __threadfence write the second level back to memory?
// nvcc fence_traffic.cu && ncu --metrics dram__bytes_write.sum,lts__t_sectors_op_write.sum ./a.out
template <bool FENCE>
__global__ void store(volatile int* data, int times)
{
    for (int i = 0; i < times; i++) {
        data[blockIdx.x * blockDim.x + threadIdx.x] = i;
        if (FENCE)
            __threadfence();
    }
}

int main()
{
    const int blocks = 132, threads = 256, times = 1000;
    int* data;
    cudaMalloc(&data, blocks * threads * sizeof(int));
    store<false><<<blocks, threads>>>(data, times);
    store<true><<<blocks, threads>>>(data, times);
    return cudaDeviceSynchronize();
}
