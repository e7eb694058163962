// The rungs of `reduce` as the crate launches them, beside cub::DeviceReduce::Sum and copies, in the same rounds.
// nvcc -O3 -std=c++17 -arch=native reduce_against_cub.cu -o reduce_against_cub -lcuda
// ./reduce_against_cub ../../cuda/ptx
// 2^28 f32 values, uniform in [-1, 1). Every run is on the next of three buffer sets, then all on one. The order of
// a round is random; every sum is compared with one in f64.
#include <cub/device/device_reduce.cuh>
#include <cuda.h>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <vector>

typedef unsigned long long u64;

#define CHECK(call)                                                       \
    do {                                                                  \
        const int error = (int)(call);                                    \
        if (error) {                                                      \
            printf("line %d: error %d\n", __LINE__, error);               \
            exit(1);                                                      \
        }                                                                 \
    } while (0)

const u64 LEN = 1ull << 28;
const int SETS = 3, ROUNDS = 100, FIRST = 5;  // FIRST rounds are not counted

struct Params {
    unsigned block_x, block_y, block_z, blocks;
    u64 len;
};

struct Contender {
    std::string name;
    double bytes;
    bool adds;
    std::function<void(const float*)> run;
};

__global__ void fill(float* values, u64 seed)
{
    for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < LEN; i += (u64)gridDim.x * blockDim.x) {
        u64 z = seed + i * 0x9E3779B97F4A7C15ull;
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
        values[i] = (float)((double)((z ^ (z >> 31)) >> 11) * 0x1p-52 - 1.0);
    }
}

__global__ void add_up(const float* values, double* sum)
{
    double own = 0;
    for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < LEN; i += (u64)gridDim.x * blockDim.x)
        own += values[i];
    atomicAdd(sum, own);
}

static double median(std::vector<double> values)
{
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

static CUfunction function(const std::string& file, const char* entry)
{
    CUmodule module;
    CUfunction found;
    CHECK(cuModuleLoad(&module, file.c_str()));
    CHECK(cuModuleGetFunction(&found, module, entry));
    return found;
}

int main(int count, char** words)
{
    const std::string ptx = count > 1 ? words[1] : "cuda/ptx";
    CHECK(cudaFree(0));
    cudaDeviceProp device;
    CHECK(cudaGetDeviceProperties(&device, 0));
    float *input[SETS], *copy, *workspace, *sum;
    double* exact;
    CHECK(cudaMalloc(&copy, LEN * 4));
    CHECK(cudaMalloc(&workspace, 1 << 20));
    CHECK(cudaMalloc(&sum, 4));
    CHECK(cudaMallocManaged(&exact, SETS * sizeof(double)));
    for (int set = 0; set < SETS; set++) {
        CHECK(cudaMalloc(&input[set], LEN * 4));
        exact[set] = 0;
        fill<<<4096, 256>>>(input[set], 77 + set);
        add_up<<<2048, 256>>>(input[set], exact + set);
    }
    CHECK(cudaDeviceSynchronize());

    size_t bytes = 0;
    void* temporary;
    CHECK(cub::DeviceReduce::Sum(nullptr, bytes, input[0], sum, LEN));
    CHECK(cudaMalloc(&temporary, bytes));
    std::vector<Contender> contenders;
    contenders.push_back({"cub::DeviceReduce::Sum", LEN * 4.0, true, [&](const float* from) {
        CHECK(cub::DeviceReduce::Sum(temporary, bytes, from, sum, LEN));
    }});
    const auto rung = [&](const std::string& name, unsigned blocks) {
        const std::string file = ptx + "/reduce." + name + ".float.compute_70.ptx";
        const CUfunction first = function(file, ("reduce_" + name + "_partials").c_str());
        const CUfunction second = function(file, ("reduce_" + name + "_total").c_str());
        contenders.push_back({"reduce/" + name, LEN * 4.0, true, [=](const float* from) {
            Params params = {0, 0, 0, blocks, LEN};
            float *partials = workspace, *result = sum;
            void* one[] = {&from, &partials, &params};
            void* two[] = {&partials, &result, &params};
            CHECK(cuLaunchKernel(first, blocks, 1, 1, 256, 1, 1, 0, 0, one, 0));
            CHECK(cuLaunchKernel(second, 1, 1, 1, 256, 1, 1, 0, 0, two, 0));
        }});
    };
    rung("vectorized", 4 * device.multiProcessorCount);
    rung("shuffle", 1024);
    const CUfunction copier = function(ptx + "/copy.vectorized@1.unsigned_int.VECTORS=1.compute_70.ptx", "copy_vectorized");
    contenders.push_back({"copy/vectorized@1", LEN * 8.0, false, [&](const float* from) {
        Params params = {0, 0, 0, 0, LEN};
        void* arguments[] = {&from, &copy, &params};
        CHECK(cuLaunchKernel(copier, LEN * 4 / 4096, 1, 1, 256, 1, 1, 0, 0, arguments, 0));
    }});
    contenders.push_back({"cudaMemcpyAsync", LEN * 8.0, false, [&](const float* from) {
        CHECK(cudaMemcpyAsync(copy, from, LEN * 4, cudaMemcpyDeviceToDevice));
    }});

    for (const Contender& contender : contenders) {
        for (int set = 0; set < SETS && contender.adds; set++) {
            float got = NAN;
            CHECK(cudaMemset(sum, 0xff, 4));
            contender.run(input[set]);
            CHECK(cudaMemcpy(&got, sum, 4, cudaMemcpyDeviceToHost));
            if (!(fabs(got - exact[set]) < 0.5))
                printf("WRONG: %s %g instead of %g\n", contender.name.c_str(), got, exact[set]);
        }
    }

    cudaEvent_t from, to;
    CHECK(cudaEventCreate(&from));
    CHECK(cudaEventCreate(&to));
    std::mt19937 generator(1);
    std::vector<int> order(contenders.size());
    for (size_t i = 0; i < order.size(); i++)
        order[i] = (int)i;
    printf("%s, 2^28 f32, %d rounds. Medians: ms, GB/s moved, time of CUB over it in the same round\n", device.name, ROUNDS);
    for (int sets : {SETS, 1}) {
        std::vector<std::vector<double>> times(contenders.size()), ratios(contenders.size());
        int set = 0;
        for (int round = -FIRST; round < ROUNDS; round++) {
            std::shuffle(order.begin(), order.end(), generator);
            std::vector<double> now(contenders.size());
            for (int index : order) {
                float ms;
                set = (set + 1) % sets;
                if (sets == 1)  // so that each finds what a run of its own left in the cache
                    contenders[index].run(input[set]);
                CHECK(cudaEventRecord(from));
                contenders[index].run(input[set]);
                CHECK(cudaEventRecord(to));
                CHECK(cudaEventSynchronize(to));
                CHECK(cudaEventElapsedTime(&ms, from, to));
                now[index] = ms;
            }
            for (size_t i = 0; i < now.size() && round >= 0; i++) {
                times[i].push_back(now[i]);
                ratios[i].push_back(now[0] / now[i]);
            }
        }
        printf("%d buffer set%s\n", sets, sets > 1 ? "s in turn" : ", after a run of the same");
        for (size_t i = 0; i < contenders.size(); i++)
            printf("  %-24s %.4f %6.0f %.4f\n", contenders[i].name.c_str(), median(times[i]),
                   contenders[i].bytes / median(times[i]) / 1e6, median(ratios[i]));
    }
}
