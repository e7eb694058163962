//! Claims of a textbook chapter on hardware, hierarchy and a matrix product.

use super::figure::{counted, ns};
use super::judge::{CUBE, both, levels, min, word};
use super::{Claim, Figure, Judgement, Test, Verdict, What, at_least, between, met};

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "C1",
        claim: "4 partitions of 32 FP32 cores per SM and 6,912 cores on 108 SMs",
        gpu: "A100",
        predicate: "arithmetic (they contradict)",
        test: Test::Settled { verdict: Verdict::Fails, figure: "4 x 32 x 108 = 13,824" },
        because: "6,912 cores on 108 multiprocessors are 64 each, 16 to a partition.",
    },
    Claim {
        id: "C2",
        claim: "register 0, shared 20-30, L2 about 200, global 400-800 cycles",
        gpu: "A100",
        predicate: "with B3",
        test: Test::Measured {
            figures: &[
                Figure::new(What::HopNs, "hierarchy_latency", "shared", &[1 << 10, 1 << 13], &[1 << 10, 1 << 12]),
                Figure::new(What::HopNs, "hierarchy_latency", "cached", &[1 << 12, 1 << 13], &[1 << 12, 1 << 12]),
                Figure::new(What::HopNs, "hierarchy_latency", "cached", &[1 << 21, 1 << 17], &[1 << 15, 1 << 12]),
                Figure::new(What::HopNs, "hierarchy_latency", "cached", &[1 << 27, 1 << 20], &[1 << 20, 1 << 12]),
                Figure::new(What::ClockMhz, "copy", "scalar", &[1 << 20], &[1 << 16]),
            ],
            judge: |v| levels(v, &[(20.0, 30.0), (0.0, f64::INFINITY), (180.0, 240.0), (400.0, 800.0)]),
        },
        because: "A hop costs one load and the address made from it.",
    },
    Claim {
        id: "C3",
        claim: "threads of a warp share one program counter and synchronise implicitly",
        gpu: "all",
        predicate: "doc (independent thread scheduling); a warp-synchronous reduction without a warp barrier under racecheck",
        test: Test::Settled {
            verdict: Verdict::Fails,
            figure: "CUDA C++ Programming Guide, independent thread scheduling; docs/claims/warp_synchronous.cu on an H200: racecheck finds a hazard at every level, and the sum came out as 0 instead of 496",
        },
        because: "Since capability 7.0 every thread has its own program counter, and lanes meet where `__syncwarp` or a `_sync` exchange says so.",
    },
    Claim {
        id: "C4",
        claim: "64 registers per thread allow 4,096 threads, 128 warps, per SM",
        gpu: "A100",
        predicate: "arithmetic (65,536 / 64 = 1,024 threads)",
        test: Test::Settled { verdict: Verdict::Fails, figure: "65,536 / 64 = 1,024 threads" },
        because: "32 warps, half of the 64 that a multiprocessor has places for.",
    },
    Claim {
        id: "C5",
        claim: "naive matmul at N = 1024 does 210 million global accesses",
        gpu: "?",
        predicate: "arithmetic and counters (2N³ = 2.1 billion)",
        test: Test::Measured {
            figures: &[counted(What::Loads, "matmul", "naive", &[64, 64, 64])],
            judge: |v| {
                // Loads per N³ in what was counted, times 1024³.
                let billions = v[0] / (CUBE / 2.0) * 1.073741824;
                met(
                    v[0],
                    (0.19..0.23).contains(&billions),
                    format!("{:.2} N³ loads counted: {billions:.2} billion at 1024", v[0] / (CUBE / 2.0)),
                )
            },
        },
        because: "Each of N² outputs reads 2N values; the claim lost a factor of ten.",
    },
    Claim {
        id: "C6",
        claim: "the compute is 1 billion operations there and bandwidth is the limit",
        gpu: "?",
        predicate: "roofline of the naive rung",
        test: Test::Measured {
            figures: &[
                ns("matmul", "naive", &[1024, 1024, 1024], &[128, 128, 128]),
                ns("copy", "vectorized@4", &[3 << 19], &[3 << 13]),
            ],
            judge: |v| {
                met(v[0], v[1] / v[0] > 0.5, format!("moving its 12 MB once takes {:.3} of its time", v[1] / v[0]))
            },
        },
        because: "It is 2.1 billion operations, and three matrices of 4 MB live in the cache: the loads of the first level limit it, not the memory.",
    },
    Claim {
        id: "C7",
        claim: "naive about 1.5, tiled about 19 TFLOP/s in FP32, over 10x",
        gpu: "A100",
        predicate: "ratio on our device (19 is the part's FP32 peak; see A12)",
        test: Test::Measured {
            figures: &[
                ns("matmul", "naive", &[4096, 4096, 4096], &[128, 128, 128]),
                ns("matmul", "tiled@32", &[4096, 4096, 4096], &[128, 128, 128]),
            ],
            judge: |v| at_least(v[0] / v[1], 10.0),
        },
        because: "A plain tiled kernel still loads two shared words for every multiply-add, which keeps it far from the peak.",
    },
    Claim {
        id: "C8",
        claim: "more threads than an SM can hold bring nothing",
        gpu: "all",
        predicate: "sweep of grid and block",
        test: Test::Measured {
            figures: &[
                ns("reduce", "unrolled", &[1 << 25], &[1 << 16]).with_blocks(264),
                ns("reduce", "unrolled", &[1 << 25], &[1 << 16]).with_blocks(528),
                ns("reduce", "unrolled", &[1 << 25], &[1 << 16]).with_blocks(1056),
                ns("reduce", "unrolled", &[1 << 25], &[1 << 16]).with_blocks(4224),
                ns("reduce", "unrolled", &[1 << 25], &[1 << 16]).with_blocks(16896),
            ],
            judge: |v| {
                // 1056 blocks of 256 threads fill 132 multiprocessors of 2048 threads.
                let parts = [v[0], v[1], v[3], v[4]].map(|time| format!("{:.2}", time / v[2]));
                met(
                    v[2],
                    min(&v[3..]) >= 0.98 * v[2],
                    format!(
                        "time of 264, 528, 4224 and 16896 blocks over that of 1056, which fill 132 multiprocessors: {}",
                        parts.join(", ")
                    ),
                )
            },
        },
        because: "Blocks beyond the resident ones wait for a place: they can even out the end, and add no parallelism.",
    },
    Claim {
        id: "C9",
        claim: "reading by columns: change the order or transpose",
        gpu: "all",
        predicate: "three variants measured",
        test: Test::Measured {
            figures: &[
                ns("transpose", "naive", &[8192, 4096], &[512, 512]),
                ns("transpose", "coalesced_write", &[8192, 4096], &[512, 512]),
                ns("transpose", "register_blocked", &[8192, 4096], &[512, 512]),
            ],
            judge: |v| {
                met(
                    v[0],
                    v[2] < v[0] && v[2] < v[1],
                    format!("strided write {:.2}, strided read {:.2}, staged 1", v[0] / v[2], v[1] / v[2]),
                )
            },
        },
        because: "One side of a transpose is always strided in memory; staging through shared memory moves the stride to where it is cheap.",
    },
    Claim {
        id: "C10",
        claim: "too much shared memory without care for banks loses",
        gpu: "all",
        predicate: "with A15, B4",
        test: Test::Measured {
            figures: &[
                ns("shared", "strided@32", &[1 << 19, 512], &[1 << 12, 64]),
                ns("shared", "padded", &[1 << 19, 512], &[1 << 12, 64]),
            ],
            judge: |v| Judgement { figure: format!("{:.1} times as long", v[0] / v[1]), ..at_least(v[0] / v[1], 1.5) },
        },
        because: "All lanes on one bank take 32 turns where one would do.",
    },
    Claim {
        id: "C11",
        claim: "checklist: occupancy >= 50 %, coalesced, reuse, no conflicts, no divergence, registers",
        gpu: "all",
        predicate: "which items our best rungs break, and still are best",
        test: Test::Measured {
            figures: &[
                Figure::new(What::ResidentWarps, "matmul", "", &[4096, 4096, 4096], &[128, 128, 128]),
                Figure::new(What::ResidentWarps, "reduce", "vectorized", &[1 << 25], &[1 << 16]),
            ],
            judge: |v| {
                // Half of the 64 places that a multiprocessor of 2048 threads has for warps.
                met(
                    v[0],
                    min(v) >= 32.0,
                    format!("resident warps: best f32 matmul {}, best reduce {}", word(v[0]), word(v[1])),
                )
            },
        },
        because: "The fastest product holds few warps with all the registers they want: occupancy is a means to hide latency, and independent work inside a thread is another.",
    },
    Claim {
        id: "C12",
        claim: "tiling turns O(N³) global accesses into O(N³/B)",
        gpu: "all",
        predicate: "with A11",
        test: Test::Measured {
            figures: &[
                counted(What::Loads, "matmul", "naive", &[64, 64, 64]),
                counted(What::Loads, "matmul", "tiled@16", &[64, 64, 64]),
                counted(What::Loads, "matmul", "tiled@32", &[64, 64, 64]),
            ],
            judge: |v| both(&[between(v[0] / v[1], 16.0, 16.0), between(v[0] / v[2], 32.0, 32.0)]),
        },
        because: "Every value that a block stages is used by a whole tile's row or column.",
    },
];
