// A37: what -G does to a time. nvcc -O3 tiled_time.cu -o fast && nvcc -G tiled_time.cu -o debug && ./fast && ./debug
#include <cstdio>

const int TILE = 32, SIDE = 1024;

__global__ void multiply(const float* a, const float* b, float* c)
{
    __shared__ float tile_a[TILE][TILE], tile_b[TILE][TILE];
    const int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < SIDE; k += TILE) {
        tile_a[threadIdx.y][threadIdx.x] = a[row * SIDE + k + threadIdx.x];
        tile_b[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * SIDE + col];
        __syncthreads();  // waits for both tiles
        for (int i = 0; i < TILE; i++)
            sum += tile_a[threadIdx.y][i] * tile_b[i][threadIdx.x];
        __syncthreads();  // waits until the tiles have been read
    }
    c[row * SIDE + col] = sum;
}

int main()
{
    float* matrix[3];
    for (float*& m : matrix) {
        cudaMalloc(&m, SIDE * SIDE * sizeof(float));
        cudaMemset(m, 0x3c, SIDE * SIDE * sizeof(float));
    }
    cudaEvent_t from, to;
    cudaEventCreate(&from);
    cudaEventCreate(&to);
    float best = 1e9, ms;
    for (int run = 0; run < 20; run++) {
        cudaEventRecord(from);
        multiply<<<dim3(SIDE / TILE, SIDE / TILE), dim3(TILE, TILE)>>>(matrix[0], matrix[1], matrix[2]);
        cudaEventRecord(to);
        cudaEventSynchronize(to);
        cudaEventElapsedTime(&ms, from, to);
        best = ms < best ? ms : best;
    }
    printf("%.4f ms (%s)\n", best, cudaGetErrorString(cudaGetLastError()));
}
