// A3: what becomes of a short branch. nvcc -arch=sm_90 -cubin short_branch.cu && cuobjdump -sass short_branch.cubin
extern "C" __global__ void short_branch(const int* input, int* output, int len)
{
    const int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= len)
        return;
    int x = input[index];
    if (x % 2 == 0)
        x = x * 3 + 1;
    else
        x = x ^ 0x5555;
    output[index] = x;
}
