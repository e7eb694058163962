// B3, C2: chains of dependent loads as four published microbenchmarks follow them, on one device.
// nvcc -O3 -std=c++17 -arch=native latency.cu -o latency && ./latency
// Cycles are counted in the kernel by clock64 unless a line says otherwise.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

typedef unsigned int u32;
typedef unsigned long long u64;

#define CHECK(call)                                                                    \
    do {                                                                               \
        const cudaError_t error = (call);                                              \
        if (error != cudaSuccess) {                                                    \
            printf("line %d: %s\n", __LINE__, cudaGetErrorString(error));              \
            exit(1);                                                                   \
        }                                                                              \
    } while (0)

const u32 LINE = 32;     // words of 128 bytes
const u64 KIB = 1024;
const u32 LONG = 1 << 20;  // hops, beyond any second level so far

__device__ u32 sink;

// Plain loads, or past the first level.
template <bool PAST_FIRST>
__global__ void chase(const u32* __restrict__ next, u32 hops, u32 at, long long* cycles, u32* end)
{
    const long long from = clock64();
    #pragma unroll 16
    for (u32 hop = 0; hop < hops; hop++)
        at = PAST_FIRST ? __ldcg(next + at) : next[at];
    *end = at;
    *cycles = clock64() - from;
}

__global__ void chase_shared(const u32* next, u32 words, u32 hops, long long* cycles)
{
    __shared__ u32 table[2048];
    for (u32 i = threadIdx.x; i < words; i += blockDim.x)
        table[i] = next[i];
    __syncthreads();
    u32 at = 0;
    const long long from = clock64();
    #pragma unroll 16
    for (u32 hop = 0; hop < hops; hop++)
        at = table[at];
    *cycles = clock64() - from;
    sink = at;
}

// On one multiprocessor, after a pass of the same.
__global__ void chase_on(u32 wanted, const u32* __restrict__ next, u32 hops, long long* cycles)
{
    u32 multiprocessor;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(multiprocessor));
    if (multiprocessor != wanted)
        return;
    u32 at = 0;
    for (u32 hop = 0; hop < hops; hop++)
        at = __ldcg(next + at);
    const long long from = clock64();
    #pragma unroll 16
    for (u32 hop = 0; hop < hops; hop++)
        at = __ldcg(next + at);
    *cycles = clock64() - from;
    sink = at;
}

// Pointers of 8 bytes, both warps the same.
__global__ void chase_pointers(u64* at, long long hops)
{
    for (long long hop = 0; hop < hops; hop += 32) {
        #pragma unroll
        for (int i = 0; i < 32; i++)
            at = (u64*)*at;
    }
    if (threadIdx.x > 1000)
        sink = (u32)(u64)at;
}

__global__ void touch(u32* words, u64 count)
{
    for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < count; i += (u64)gridDim.x * blockDim.x)
        words[i] += 1;
}

static std::mt19937 generator(7);

// One cycle through `count` places `step` words apart; in random order, or in random order page by page.
static std::vector<u32> cycle(u64 count, u64 step, u64 per_page)
{
    std::vector<u32> order(count), next(count * step);
    for (u64 i = 0; i < count; i++)
        order[i] = (u32)i;
    for (u64 i = 0; i < count; i += per_page)
        std::shuffle(order.begin() + i, order.begin() + std::min(count, i + per_page), generator);
    std::rotate(order.begin(), std::find(order.begin(), order.end(), 0u), order.end());
    for (u64 i = 0; i < count; i++)
        next[order[i] * step] = order[(i + 1) % count] * (u32)step;
    return next;
}

static u32* words;
static long long* cycles;
static u32* end;

static void upload(const std::vector<u32>& next)
{
    CHECK(cudaMemcpy(words, next.data(), next.size() * sizeof(u32), cudaMemcpyHostToDevice));
}

// Cycles of a hop, after a pass of the same hops; where the chain is longer than those, it goes on.
static double warm(u32 hops, bool on)
{
    chase<false><<<1, 1>>>(words, hops, 0, cycles, end);
    CHECK(cudaDeviceSynchronize());
    chase<false><<<1, 1>>>(words, hops, on ? *end : 0, cycles, end);
    CHECK(cudaDeviceSynchronize());
    return (double)*cycles / hops;
}

int main()
{
    cudaDeviceProp device;
    CHECK(cudaGetDeviceProperties(&device, 0));
    CHECK(cudaMalloc(&words, 1 << 30));
    CHECK(cudaMallocManaged(&cycles, sizeof *cycles));
    CHECK(cudaMallocManaged(&end, sizeof *end));
    printf("%s, %d multiprocessors, %d MiB of second level\n", device.name, device.multiProcessorCount, device.l2CacheSize >> 20);

    printf("A. One thread, plain loads, one word of each 128-byte line, random order, after a pass: KiB, cycles\n");
    for (u64 kib : {4, 16, 64, 128, 192, 512, 1024, 4096, 8192, 16384, 24576, 32768, 45056, 61440, 86016, 131072, 262144, 524288}) {
        const u64 lines = kib * KIB / 128;
        upload(cycle(lines, LINE, lines));
        const bool beyond = kib >= 61440;
        printf("%8llu %8.2f\n", kib, warm(beyond ? LONG : (u32)std::max<u64>(1 << 15, std::min<u64>(2 * lines, 1 << 18)), beyond));
    }
    printf("   The same, one 2 MiB page after the other: KiB, cycles\n");
    for (u64 kib : {131072, 524288}) {
        upload(cycle(kib * KIB / 128, LINE, (2 << 20) / 128));
        printf("%8llu %8.2f\n", kib, warm(LONG, true));
    }

    printf("B. Neighbouring words in random order: shared memory and first level 8 KiB, second level 4 MiB (past the first)\n");
    upload(cycle(2048, 1, 2048));
    chase_shared<<<1, 32>>>(words, 2048, 100000, cycles);
    CHECK(cudaDeviceSynchronize());
    printf("  shared %8.2f\n", *cycles / 1e5);
    printf("   first %8.2f\n", warm(100000, false));
    upload(cycle(1 << 20, 1, 1 << 20));
    for (int pass = 0; pass < 2; pass++)
        chase<true><<<1, 1>>>(words, 1000000, 0, cycles, end);
    CHECK(cudaDeviceSynchronize());
    printf("  second %8.2f\n   Lines of 256 MiB, past the first level, after 68 MiB of other data, no pass before: hops, cycles\n", *cycles / 1e6);
    u32* others;
    CHECK(cudaMalloc(&others, 68 << 20));
    CHECK(cudaMemset(others, 0, 68 << 20));
    const std::vector<u32> far = cycle(1 << 21, LINE, 1 << 21);
    for (u32 hops : {2048, 50000}) {
        upload(far);
        touch<<<device.multiProcessorCount, 256>>>(others, (68 << 20) / sizeof(u32));
        chase<true><<<1, 1>>>(words, hops, 0, cycles, end);
        CHECK(cudaDeviceSynchronize());
        printf("%8u %8.2f\n", hops, (double)*cycles / hops);
    }

    int mhz;
    CHECK(cudaDeviceGetAttribute(&mhz, cudaDevAttrClockRate, 0));
    mhz /= 1000;
    printf("C. Two warps, 8-byte pointers 64 bytes apart, random order, least of a few runs by events: KiB, cycles of %d MHz\n", mhz);
    cudaEvent_t from, to;
    CHECK(cudaEventCreate(&from));
    CHECK(cudaEventCreate(&to));
    for (u64 kib : {16, 128, 1024, 16384, 131072}) {
        const std::vector<u32> next = cycle(kib * KIB / 64, 1, kib * KIB / 64);
        std::vector<u64> pointers(next.size() * 8);
        for (u64 i = 0; i < next.size(); i++)
            pointers[i * 8] = (u64)words + next[i] * 64ull;
        CHECK(cudaMemcpy(words, pointers.data(), pointers.size() * 8, cudaMemcpyHostToDevice));
        const u32 hops = kib > 100000 ? 2 * LONG : LONG;
        float best = 1e9, ms;
        for (int run = 0; run < (kib > 100000 ? 2 : 4); run++) {
            CHECK(cudaEventRecord(from));
            chase_pointers<<<1, 64>>>((u64*)words, hops);
            CHECK(cudaEventRecord(to));
            CHECK(cudaEventSynchronize(to));
            CHECK(cudaEventElapsedTime(&ms, from, to));
            best = std::min(best, ms);
        }
        printf("%8llu %8.2f\n", kib, best * mhz * 1e3 / hops);
    }

    printf("D. 1 MiB of lines in the second level, from each multiprocessor: least, mean, most cycles\n");
    upload(cycle(1 << 13, LINE, 1 << 13));
    double least = 1e9, most = 0, sum = 0;
    int count = 0;
    for (int multiprocessor = 0; multiprocessor < device.multiProcessorCount; multiprocessor++) {
        *cycles = 0;
        chase_on<<<8 * device.multiProcessorCount, 1>>>(multiprocessor, words, 1 << 13, cycles);
        CHECK(cudaDeviceSynchronize());
        if (*cycles == 0)
            continue;
        const double hop = *cycles / 8192.0;
        least = std::min(least, hop);
        most = std::max(most, hop);
        sum += hop;
        count++;
    }
    printf("%8.2f %8.2f %8.2f (%d multiprocessors)\n", least, sum / count, most, count);
}
