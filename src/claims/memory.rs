//! Claims of an article on the memory system.

use super::figure::{counted, ns};
use super::judge::{COPY_BYTES, SHARED_BYTES, both, levels, max, word};
use super::{Claim, Figure, Judgement, Test, Verdict, What, at_least, at_most, between, met};
use crate::advise::{Access, Data, Sharing};

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "B1",
        claim: "register file and shared memory share one SRAM; 256 KB of shared leaves 64 KB of registers",
        gpu: "4090",
        predicate: "doc (shared shares with L1); occupancy with maximal shared memory and 255 registers",
        test: Test::Settled {
            verdict: Verdict::Fails,
            figure: "CUDA C++ Programming Guide, compute capabilities; docs/claims/both_full.cu on an H200: one block holds 222 KiB of registers and 227 KiB of shared memory",
        },
        because: "Shared memory shares its SRAM with the first-level cache; the 64 Ki registers are their own, whatever a kernel shares.",
    },
    Claim {
        id: "B2",
        claim: "a kernel launched right after cudaMemcpy may read stale data without a device synchronise",
        gpu: "all",
        predicate: "doc (stream order); 10,000 trials",
        test: Test::Settled {
            verdict: Verdict::Fails,
            figure: "CUDA C++ Programming Guide, streams; docs/claims/stream_order.cu on an H200: 0 stale words in 10,000 trials of 1,024",
        },
        because: "Work of one stream runs in order; every verification here launches straight after an upload and finds its data.",
    },
    Claim {
        id: "B3",
        claim: "latencies in cycles: shared 20-30, L1 40-60, L2 200-300, global 800-1200",
        gpu: "4090, A100",
        predicate: "pointer chase per level inside the range",
        test: Test::Measured {
            figures: &[
                Figure::new(What::HopNs, "hierarchy_latency", "shared", &[1 << 10, 1 << 13], &[1 << 10, 1 << 12]),
                Figure::new(What::HopNs, "hierarchy_latency", "cached", &[1 << 12, 1 << 13], &[1 << 12, 1 << 12]),
                Figure::new(What::HopNs, "hierarchy_latency", "cached", &[1 << 21, 1 << 17], &[1 << 15, 1 << 12]),
                Figure::new(What::HopNs, "hierarchy_latency", "cached", &[1 << 27, 1 << 20], &[1 << 20, 1 << 12]),
                Figure::new(What::ClockMhz, "copy", "scalar", &[1 << 20], &[1 << 16]),
            ],
            judge: |v| levels(v, &[(20.0, 30.0), (40.0, 60.0), (200.0, 300.0), (800.0, 1200.0)]),
        },
        because: "A hop costs one load and the address made from it.",
    },
    Claim {
        id: "B4",
        claim: "conflict-heavy shared memory is slower than global memory: 1.8 to 0.42 TB/s against 1 TB/s",
        gpu: "4090",
        predicate: "32-way conflicted shared rate / copy rate < 1",
        test: Test::Measured {
            figures: &[
                ns("shared", "strided@32", &[1 << 19, 512], &[1 << 12, 64]),
                ns("copy", "vectorized@4", &[1 << 25], &[1 << 20]),
            ],
            judge: |v| {
                met(
                    v[0],
                    SHARED_BYTES / v[0] < COPY_BYTES / v[1],
                    format!("{:.0} against {:.0} GB/s", SHARED_BYTES / v[0], COPY_BYTES / v[1]),
                )
            },
        },
        because: "A 32-way conflict leaves a thirty-second of 128 bytes a cycle and multiprocessor: near the memory's rate, above or below it as the device goes.",
    },
    Claim {
        id: "B5",
        claim: "global loads bypass L1 by default; only texture reads use it",
        gpu: "Ampere+",
        predicate: "L1 hit rate of a plain repeated load",
        test: Test::Measured {
            figures: &[
                Figure::new(What::WarmNs, "hierarchy_bandwidth", "cached", &[1 << 12, 256], &[1 << 12, 4]),
                Figure::new(What::WarmNs, "hierarchy_bandwidth", "second_level", &[1 << 12, 256], &[1 << 12, 4]),
            ],
            judge: |v| {
                met(v[1] / v[0], v[1] / v[0] < 1.1, format!("past the first level {:.2} times as long", v[1] / v[0]))
            },
        },
        because: "Plain loads are cached in the first level: a set of 16 KiB is read faster than the second level could deliver.",
    },
    Claim {
        id: "B6",
        claim: "`__ldg` raises the L2 hit rate from 32 to 89 % and cuts latency 47 %",
        gpu: "A100",
        predicate: "ratio of the two loads on the same loop",
        test: Test::Measured {
            figures: &[
                Figure::new(What::WarmNs, "hierarchy_bandwidth", "cached", &[1 << 21, 256], &[1 << 14, 4]),
                Figure::new(What::WarmNs, "hierarchy_bandwidth", "read_only", &[1 << 21, 256], &[1 << 14, 4]),
            ],
            judge: |v| at_least(v[0] / v[1], 1.1),
        },
        because: "Both loads go through the same first-level cache to the same second level.",
    },
    Claim {
        id: "B7",
        claim: "a misaligned 4-byte access is two fetches and doubles latency; 2.3x slower kernel",
        gpu: "V100",
        predicate: "doc (a misaligned scalar access is an error on CUDA); what a byte-shifted *warp* access costs",
        test: Test::Measured {
            figures: &[ns("copy", "scalar", &[1 << 25], &[1 << 20]), ns("copy", "misaligned", &[1 << 25], &[1 << 20])],
            judge: |v| at_least(v[1] / v[0], 2.0),
        },
        because: "A misaligned scalar access is an error; a warp shifted by a word touches five sectors instead of four, and its neighbour finds the fifth in the cache.",
    },
    Claim {
        id: "B8",
        claim: "random scatter/gather drops L2 rate from 2 TB/s to 680 GB/s",
        gpu: "?",
        predicate: "ratio <= 0.4",
        test: Test::Measured {
            figures: &[
                Figure::new(What::WarmNs, "gather", "in_flight", &[1 << 21, 1], &[1 << 16, 1]),
                Figure::new(What::WarmNs, "gather", "in_flight", &[1 << 21, 1 << 21], &[1 << 16, 1 << 16]),
            ],
            judge: |v| at_most(v[0] / v[1], 0.4),
        },
        because: "Every element takes a sector of its own from the second level, eight times its bytes; the index and the output stay coalesced.",
    },
    Claim {
        id: "B9",
        claim: "a warp can hold about 3.2 KB of registers",
        gpu: "4090",
        predicate: "arithmetic: 255 x 4 bytes x 32 lanes",
        test: Test::Settled { verdict: Verdict::Fails, figure: "255 x 4 x 32 = 32,640 bytes" },
        because: "The claim is ten times too small.",
    },
    Claim {
        id: "B10",
        claim: "a spilled register costs as much as global memory (1 to 800 cycles)",
        gpu: "4090",
        predicate: "spilled / unspilled kernel; where the spills hit (L1?)",
        test: Test::Measured {
            figures: &[
                ns("registers", "free", &[1 << 20], &[1 << 10]),
                ns("registers", "capped@32", &[1 << 20], &[1 << 10]),
                Figure::new(What::LocalBytes, "registers", "capped@32", &[1 << 20], &[1 << 10]),
            ],
            judge: |v| {
                met(
                    v[1],
                    v[1] / v[0] > 5.0,
                    format!("{:.2} times as long with {} bytes of local memory per thread", v[1] / v[0], v[2]),
                )
            },
        },
        because: "Spills go to local memory, which the first-level cache answers while it fits.",
    },
    Claim {
        id: "B11",
        claim: "index tid*2 conflicts 2-way",
        gpu: "all",
        predicate: "wavefronts/request = 2",
        test: Test::Measured {
            figures: &[counted(What::Wavefronts, "shared", "strided@2", &[256, 2])],
            judge: |v| between(v[0], 2.0, 2.0),
        },
        because: "Words two apart lie two to a bank.",
    },
    Claim {
        id: "B12",
        claim: "float4 in shared memory conflicts and drops 1.8 to 0.52 TB/s, kernel 0.8 to 3.2 ms",
        gpu: "4090",
        predicate: "consecutive float4 accesses: wavefronts against the ideal of 4",
        test: Test::Measured {
            figures: &[
                counted(What::Wavefronts, "shared", "vectorized_consecutive", &[256, 2]),
                ns("shared", "vectorized_consecutive", &[1 << 19, 512], &[1 << 12, 64]),
                ns("shared", "consecutive", &[1 << 19, 512], &[1 << 12, 64]),
            ],
            judge: |v| {
                met(v[0], v[0] > 4.0, format!("{:.2} wavefronts; time {:.2} of 4-byte accesses", v[0], v[1] / v[2]))
            },
        },
        because: "16-byte accesses are served a quarter of a warp at a time: four turns for 512 bytes, the fewest there can be.",
    },
    Claim {
        id: "B13",
        claim: "its cures: a fifth float of padding, or 128-byte alignment; best pad is 128 bytes",
        gpu: "?",
        predicate: "the three layouts measured",
        test: Test::Measured {
            figures: &[
                ns("shared", "vectorized@aligned", &[1 << 19, 512], &[1 << 12, 64]),
                ns("shared", "vectorized@padded", &[1 << 19, 512], &[1 << 12, 64]),
                ns("shared", "vectorized_consecutive", &[1 << 19, 512], &[1 << 12, 64]),
            ],
            judge: |v| {
                met(
                    v[0],
                    v[0] <= 1.02 * v[1],
                    format!(
                        "rows at 128 bytes {:.2}, 16 bytes of padding {:.2}, of consecutive vectors",
                        v[0] / v[2],
                        v[1] / v[2]
                    ),
                )
            },
        },
        because: "A row at every 128 bytes puts all rows on the same banks; 16 bytes of padding spread them, and consecutive vectors need neither.",
    },
    Claim {
        id: "B14",
        claim: "dynamic shared memory must be a multiple of 256 bytes; 4100 is rounded *down* to 4096",
        gpu: "?",
        predicate: "doc; a kernel that uses all 4100 bytes under memcheck",
        test: Test::Settled {
            verdict: Verdict::Fails,
            figure: "CUDA C++ Programming Guide, shared memory; docs/claims/shared_4100.cu on an H200: all 4,100 bytes used, memcheck without an error",
        },
        because: "Any size may be asked for and all of it may be used; only the accounting of occupancy rounds, and it rounds up.",
    },
    Claim {
        id: "B15",
        claim: "double buffering needs a barrier per phase; the omitted one is a race",
        gpu: "all",
        predicate: "race check finds it, the corrected one is clean",
        test: Test::Measured {
            figures: &[
                counted(What::Hazards, "double_buffer", "barrier_missing", &[4096]),
                counted(What::Hazards, "double_buffer", "barrier_per_phase", &[4096]),
            ],
            judge: |v| {
                met(v[0], v[0] > 0.0 && v[1] == 0.0, format!("hazards: {} without, {} with the barrier", v[0], v[1]))
            },
        },
        because: "Two buffers keep a phase from being overwritten; only the barrier makes it complete before it is read.",
    },
    Claim {
        id: "B16",
        claim: "stride 4: 12.5 % of the bandwidth is used; 1.05 TB/s to 180 GB/s",
        gpu: "4090",
        predicate: "useful/moved (sectors say 25 %); rate ratio",
        test: Test::Measured {
            figures: &[
                counted(What::Efficiency, "copy", "strided@4", &[1 << 14]),
                ns("copy", "scalar", &[1 << 25], &[1 << 20]),
                ns("copy", "strided@4", &[1 << 25], &[1 << 20]),
            ],
            judge: |v| both(&[between(v[0], 0.12, 0.13), between(v[1] / v[2], 0.12, 0.22)]),
        },
        because: "A sector holds 8 words, of which stride 4 uses 2: a quarter.",
    },
    Claim {
        id: "B17",
        claim: "writes of two arrays into one line by a warp raise L2 traffic 3.2x",
        gpu: "?",
        predicate: "L2 write sectors padded / unpadded",
        test: Test::Measured {
            figures: &[counted(What::Efficiency, "copy", "strided@2", &[1 << 14])],
            judge: |v| met(v[0], 1.0 / v[0] >= 3.0, format!("{:.1} times the sectors", 1.0 / v[0])),
        },
        because: "Two interleaved arrays are stride 2: twice the sectors per request, and the cache merges the halves before they leave it.",
    },
    Claim {
        id: "B18",
        claim: "random access: L2 hits 90 to 12 %, under 20 % of bandwidth, no cure but another algorithm",
        gpu: "?",
        predicate: "rate ratio; sort-first total time against it",
        test: Test::Measured {
            figures: &[
                ns("gather", "in_flight", &[1 << 25, 1], &[1 << 18, 1]),
                ns("gather", "in_flight", &[1 << 25, 1 << 25], &[1 << 18, 1 << 18]),
                ns("copy", "vectorized@4", &[1 << 25], &[1 << 18]),
            ],
            judge: |v| Judgement {
                figure: format!(
                    "{:.2} of the sorted rate; sorting first would add at least {:.1} times the random gather",
                    v[0] / v[1],
                    8.0 * v[2] / v[1]
                ),
                ..at_most(v[0] / v[1], 0.2)
            },
        },
        because: "Each element moves a sector for 4 bytes; a radix sort of keys and values moves both at least four times, so it pays when the order is used again.",
    },
    Claim {
        id: "B19",
        claim: "a block barrier does not publish to other blocks; a polled flag may never be seen without a fence",
        gpu: "all",
        predicate: "k of n runs (bounded spin) per variant: nothing, volatile, atomic, fence, release/acquire",
        test: Test::Measured {
            figures: &[
                Figure::new(What::WrongRuns, "consistency", "nothing", &[1 << 16, 1 << 16], &[4096, 1 << 12]),
                Figure::new(What::WrongRuns, "consistency", "volatile_flag", &[1 << 16, 1 << 16], &[4096, 1 << 12]),
                Figure::new(What::WrongRuns, "consistency", "atomic_flag", &[1 << 16, 1 << 16], &[4096, 1 << 12]),
                Figure::new(What::WrongRuns, "consistency", "fence", &[1 << 16, 1 << 16], &[4096, 1 << 12]),
                Figure::new(What::WrongRuns, "consistency", "release_acquire", &[1 << 16, 1 << 16], &[4096, 1 << 12]),
            ],
            judge: |v| {
                // It holds where the ordered variants are right in every run and others are not; a device on
                // which nothing goes wrong, or that has no fence, does not show it.
                let verdict = match () {
                    () if max(&v[3..]) > 0.0 => Verdict::Fails,
                    () if max(&v[..3]) > 0.0 && max(&v[3..]) == 0.0 => Verdict::Holds,
                    () => Verdict::Depends,
                };
                let words: Vec<String> = v.iter().map(|runs| word(*runs)).collect();
                let [nothing, volatile, atomic, fence, release] = &words[..] else {
                    return met(f64::NAN, false, String::new());
                };
                Judgement {
                    verdict,
                    figure: format!(
                        "wrong of 100 runs: nothing {nothing}, volatile {volatile}, atomic {atomic}, fence {fence}, release/acquire {release}"
                    ),
                }
            },
        },
        because: "Only a fence or a release and an acquire order data before a flag; what happens without is the compiler's and the schedule's choice, and no run proves it right.",
    },
    Claim {
        id: "B20",
        claim: "`__threadfence` flushes L2 to DRAM; three scopes flush three levels",
        gpu: "?",
        predicate: "doc (it orders, it does not flush); DRAM write counters",
        test: Test::Settled {
            verdict: Verdict::Fails,
            figure: "PTX ISA, membar and fence; docs/claims/fence_traffic.cu on an H200: 0 bytes written to memory with 33.8 million fences as without",
        },
        because: "A fence orders the accesses of its thread for observers in its scope; the second level is where all multiprocessors meet, and nothing has to leave it.",
    },
    Claim {
        id: "B21",
        claim: "volatile only stops compiler caching and still hangs",
        gpu: "?",
        predicate: "with B19",
        test: Test::Measured {
            figures: &[
                Figure::new(What::WrongRuns, "consistency", "nothing", &[1 << 16, 1 << 16], &[4096, 1 << 12]),
                Figure::new(What::WrongRuns, "consistency", "volatile_flag", &[1 << 16, 1 << 16], &[4096, 1 << 12]),
            ],
            judge: |v| {
                // A wait that hangs ends by its bound, with a wrong result, in every run.
                let verdict = match v[1] {
                    runs if runs >= 100.0 => Verdict::Holds,
                    0.0 => Verdict::Fails,
                    _ => Verdict::Depends,
                };
                let figure = format!("wrong of 100 runs: plain {}, volatile {}", word(v[0]), word(v[1]));
                Judgement { verdict, figure }
            },
        },
        because: "Volatile makes the flag be read again, so the wait ends once the writer has run; it promises no order of the data, which is the part that is wrong.",
    },
    Claim {
        id: "B22",
        claim: "an atomic add implies a system-wide fence",
        gpu: "?",
        predicate: "doc; message-passing litmus test, k of n",
        test: Test::Measured {
            figures: &[Figure::new(
                What::WrongRuns,
                "consistency",
                "atomic_flag",
                &[1 << 16, 1 << 16],
                &[4096, 1 << 12],
            )],
            judge: |v| Judgement {
                verdict: Verdict::Fails,
                figure: format!(
                    "PTX ISA, memory consistency model; a message behind an atomic flag alone was wrong in {} of 100 runs",
                    word(v[0])
                ),
            },
        },
        because: "`atomicAdd` is relaxed: it is one access that cannot be divided, and orders nothing else, even where no run shows it.",
    },
    Claim {
        id: "B23",
        claim: "an atomic costs 10-20 times a store",
        gpu: "?",
        predicate: "ratio, contended and not",
        test: Test::Measured {
            figures: &[
                ns("scatter", "direct", &[1 << 25, 1], &[1 << 16, 1]),
                ns("scatter", "atomic", &[1 << 25, 1], &[1 << 16, 1]),
                ns("scatter", "direct", &[1 << 25, 1 << 25], &[1 << 16, 1 << 16]),
                ns("scatter", "atomic", &[1 << 25, 1 << 25], &[1 << 16, 1 << 16]),
                ns("reduce", "atomics", &[1 << 25], &[1 << 16]).with_blocks(1024),
                ns("reduce", "atomics", &[1 << 25], &[1 << 16]).with_blocks(16384),
            ],
            judge: |v| Judgement {
                figure: format!(
                    "time of atomics over stores, side by side {:.2}, anywhere {:.2}; 16,384 in place of 1,024 on one word {:.2} of the time",
                    v[1] / v[0],
                    v[3] / v[2],
                    v[5] / v[4]
                ),
                ..between(v[1] / v[0], 10.0, 20.0)
            },
        },
        because: "An atomic whose result is not used is sent off like a store and done in the second level, which stores have to reach as well; on one word they queue.",
    },
    Claim {
        id: "B24",
        claim: "no `new` on the device; leak checking sees host allocations only",
        gpu: "?",
        predicate: "doc; a leak each way under the tools",
        test: Test::Settled {
            verdict: Verdict::Fails,
            figure: "CUDA C++ Programming Guide, dynamic global memory allocation; docs/claims/leak.cu on an H200: `new` works, and the leak check lists 4 bytes of the device's heap and 1,024 of cudaMalloc",
        },
        because: "`new` and `malloc` work in kernels, from a heap of their own; compute-sanitizer's leak check lists device allocations of the host and of that heap.",
    },
    Claim {
        id: "B25",
        claim: "printing blockIdx tells the SM number",
        gpu: "?",
        predicate: "blockIdx against `%smid`",
        test: Test::Settled {
            verdict: Verdict::Fails,
            figure: "PTX ISA, special register %smid; docs/claims/smid.cu on an H200: 40 of 4,096 blocks ran on multiprocessor blockIdx % 132, and 27 on the same one in the next run",
        },
        because: "blockIdx numbers the work; which multiprocessor a block runs on only `%smid` tells, and it may change from run to run.",
    },
    Claim {
        id: "B26",
        claim: "choosing where data goes: 4 MB table not in constant memory (64 KB), shuffle or shared for reductions …",
        gpu: "all",
        predicate: "the `advise` answers agree with measurement on six cases",
        test: Test::Measured {
            figures: &[
                ns("hierarchy_constant", "constant", &[1 << 24, 1], &[1 << 14, 1]),
                ns("hierarchy_constant", "global", &[1 << 24, 1], &[1 << 14, 1]),
                ns("hierarchy_constant", "shared", &[1 << 24, 32], &[1 << 14, 32]),
                ns("hierarchy_constant", "constant", &[1 << 24, 32], &[1 << 14, 32]),
                ns("reduce", "shuffle", &[1 << 25], &[1 << 16]),
                ns("reduce", "unrolled", &[1 << 25], &[1 << 16]),
                ns("registers", "free", &[1 << 20], &[1 << 10]),
                ns("registers", "capped@32", &[1 << 20], &[1 << 10]),
                ns("transpose", "tiled_padded@32", &[4096, 4096], &[512, 512]),
                ns("transpose", "naive", &[4096, 4096], &[512, 512]),
                ns("gather", "in_flight", &[1 << 25, 1], &[1 << 18, 1]),
                ns("gather", "in_flight", &[1 << 25, 1 << 25], &[1 << 18, 1 << 18]),
            ],
            judge: |v| {
                // The advised place first, the other behind it; that `advise` says so is a test below.
                let ratios: Vec<f64> = v.chunks_exact(2).map(|pair| pair[0] / pair[1]).collect();
                let parts: Vec<String> =
                    ADVISED.iter().zip(&ratios).map(|((case, _), ratio)| format!("{case} {ratio:.2}")).collect();
                met(
                    ratios.iter().sum(),
                    ratios.iter().all(|ratio| *ratio <= 1.02),
                    format!("time where `advise` puts it over elsewhere: {}", parts.join(", ")),
                )
            },
        },
        because: "Shared memory pays for what a block reads in any order, registers for what nobody else needs, sorting for a gather; constant memory answers one address at a time, and for one that a warp shares the first-level cache has caught up.",
    },
];

/// The cases of B26, and what `advise` must say to each for its predicate to mean something.
const ADVISED: [(&str, Data); 6] = [
    (
        "constant for one entry per warp",
        Data { bytes: 1 << 10, access: Access::Broadcast, reuse: 64.0, sharing: Sharing::Device },
    ),
    ("shared for 32 entries", Data { bytes: 1 << 10, access: Access::Random, reuse: 64.0, sharing: Sharing::Block }),
    (
        "shuffle for the sum of a warp",
        Data { bytes: 128, access: Access::Sequential, reuse: 2.0, sharing: Sharing::Warp },
    ),
    (
        "registers for 64 words of a thread",
        Data { bytes: 256, access: Access::Sequential, reuse: 2.0, sharing: Sharing::Thread },
    ),
    (
        "shared for a tile that is turned",
        Data { bytes: 4 << 10, access: Access::Strided, reuse: 1.0, sharing: Sharing::Block },
    ),
    ("sorted for a gather", Data { bytes: 1 << 27, access: Access::Random, reuse: 1.0, sharing: Sharing::Device }),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::{Any, Backend, Select};
    use crate::words;

    #[test]
    fn advice_is_what_the_cases_assume() {
        let sim = pollster::block_on(Any::open_named("sim", &Select::default())).expect("the simulator");
        let places = [
            &words::IN_CONSTANT,
            &words::IN_SHARED,
            &words::IN_SHUFFLES,
            &words::IN_REGISTERS,
            &words::IN_SHARED,
            &words::IN_GLOBAL_SORTED,
        ];
        for ((case, data), place) in ADVISED.iter().zip(places) {
            assert!(crate::advise::advise(*data, sim.device(), None).place.is(place), "{case}");
        }
    }
}
