// C3: a reduction that trusts a warp to run in lockstep. nvcc -lineinfo warp_synchronous.cu && compute-sanitizer --tool racecheck ./a.out
#include <cstdio>

__global__ void sum_of_warp(const int* input, int* output)
{
    __shared__ int sums[32];  // one per lane
    const int lane = threadIdx.x;
    sums[lane] = input[lane];
    for (int half = 16; half > 0; half /= 2)
        if (lane < half)
            sums[lane] += sums[lane + half];  // no __syncwarp() between a lane's write and another's read
    if (lane == 0)
        *output = sums[0];
}

int main()
{
    int host[32], *input, *output, sum = 0;
    for (int i = 0; i < 32; i++)
        host[i] = i;
    cudaMalloc(&input, sizeof host);
    cudaMalloc(&output, sizeof(int));
    cudaMemcpy(input, host, sizeof host, cudaMemcpyHostToDevice);
    sum_of_warp<<<1, 32>>>(input, output);
    cudaMemcpy(&sum, output, sizeof(int), cudaMemcpyDeviceToHost);
    printf("sum %d, expected 496 (%s)\n", sum, cudaGetErrorString(cudaGetLastError()));
}
