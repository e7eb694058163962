//! Claims of a practical article, its second half: the transpose, products, launches, and method.

use super::figure::{counted, ns};
use super::judge::{both, min};
use super::{Claim, Figure, Test, Verdict, What, at_least, beside, between, met};
use crate::element::Element;

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "A19",
        claim: "naive transpose 1024²: 1.8 ms and just under 200 GB/s",
        gpu: "A100",
        predicate: "the two figures against each other (8.4 MB in 1.8 ms is 4.7 GB/s)",
        test: Test::Settled { verdict: Verdict::Fails, figure: "8.4 MB / 1.8 ms = 4.7 GB/s" },
        because: "The time and the bandwidth differ by a factor of 40: one of them is not of this kernel.",
    },
    Claim {
        id: "A20",
        claim: "tiled, 1024²: about 0.3 ms, over 1 TB/s, nearly 6x",
        gpu: "A100",
        predicate: "same; and the ratio on our device",
        test: Test::Measured {
            figures: &[
                ns("transpose", "naive", &[1024, 1024], &[512, 512]),
                ns("transpose", "tiled_padded@32", &[1024, 1024], &[512, 512]),
            ],
            judge: |v| {
                beside(Verdict::Fails, v[0] / v[1], format!("8.4 MB / 0.3 ms = 28 GB/s; ratio here {:.2}", v[0] / v[1]))
            },
        },
        because: "Again the time and the bandwidth exclude each other.",
    },
    Claim {
        id: "A21",
        claim: "4096²: naive 28.5, tile 16 6.2, tile 32 4.8, tile+float4 4.1 ms = 1 : 4.6 : 5.9 : 7.0",
        gpu: "A100",
        predicate: "each ratio within 30 %; the table's own GB/s against bytes/time",
        test: Test::Measured {
            figures: &[
                ns("transpose", "naive", &[4096, 4096], &[512, 512]),
                ns("transpose", "tiled_padded@16", &[4096, 4096], &[512, 512]),
                ns("transpose", "tiled_padded@32", &[4096, 4096], &[512, 512]),
                ns("transpose", "register_blocked", &[4096, 4096], &[512, 512]),
            ],
            judge: |v| {
                both(&[between(v[0] / v[1], 3.2, 6.0), between(v[0] / v[2], 4.1, 7.7), between(v[0] / v[3], 4.9, 9.1)])
            },
        },
        because: "134 MB in 28.5 ms would be 4.7 GB/s; larger caches also give the naive kernel back much of what it wastes.",
    },
    Claim {
        id: "A22",
        claim: "a 1024-thread block limits an SM of 2048 threads to 2 blocks",
        gpu: "A100",
        predicate: "occupancy arithmetic",
        test: Test::Settled { verdict: Verdict::Holds, figure: "2048 / 1024 = 2" },
        because: "Places for threads are one of the limits of residency.",
    },
    Claim {
        id: "A23",
        claim: "tile 32 slightly better than 16 on A100, the other way on older parts",
        gpu: "A100",
        predicate: "ratio on our devices",
        test: Test::Measured {
            figures: &[
                ns("transpose", "tiled_padded@16", &[4096, 4096], &[512, 512]),
                ns("transpose", "tiled_padded@32", &[4096, 4096], &[512, 512]),
            ],
            judge: |v| met(v[0] / v[1], v[0] >= v[1], format!("time of tile 16 over that of 32: {:.2}", v[0] / v[1])),
        },
        because: "Rows of 16 words are half a line but whole sectors, and small blocks wait less at their barrier: the device decides.",
    },
    Claim {
        id: "A24",
        claim: "pitched rows help even without shared memory",
        gpu: "?",
        predicate: "naive with ld = 2^k against 2^k + 32",
        test: Test::Measured {
            figures: &[
                ns("transpose", "naive", &[4096, 4096], &[512, 512]),
                ns("transpose", "naive", &[4096, 4096], &[512, 512]).padded(32),
            ],
            judge: |v| at_least(v[0] / v[1], 1.02),
        },
        because: "Rows a power of two apart meet in the same sets and channels; a hashed address, as newer parts have, does not care.",
    },
    Claim {
        id: "A25",
        claim: "near 100 % memory and low SM throughput means memory-bound, and the reverse",
        gpu: "all",
        predicate: "classification of our rungs by counters agrees with the roofline",
        test: Test::Measured {
            figures: &[
                ns("copy", "vectorized@4", &[1 << 25], &[1 << 20]),
                ns("transpose", "register_blocked", &[8192, 4096], &[1024, 1024]),
            ],
            judge: |v| {
                met(
                    v[0] / v[1],
                    v[0] / v[1] > 0.8,
                    format!("register_blocked transpose at {:.2} of the copy's rate", v[0] / v[1]),
                )
            },
        },
        because: "A kernel without arithmetic that moves bytes as fast as a copy is bound by memory, and its roofline (0 operations per byte) says the same.",
    },
    Claim {
        id: "A26",
        claim: "use fused multiply-add rather than separate multiply and add",
        gpu: "all",
        predicate: "ratio of the two (contraction off)",
        test: Test::Settled {
            verdict: Verdict::Holds,
            figure: "docs/claims/fused.cu on an H200: with -fmad=false 1.99 times as long",
        },
        because: "One instruction does both and rounds once; compilers contract by themselves (`-fmad=true` is nvcc's default), so it rarely has to be written.",
    },
    Claim {
        id: "A27",
        claim: "FP16 tensor rate over 8x FP32; mixed-precision matmul 3-4x FP32 in practice",
        gpu: "A100",
        predicate: "our best f16 / best f32 at 4096",
        test: Test::Measured {
            figures: &[
                ns("matmul", "", &[4096, 4096, 4096], &[128, 128, 128]),
                ns("matmul", "", &[4096, 4096, 4096], &[128, 128, 128]).of(Element::F16),
            ],
            judge: |v| at_least(v[0] / v[1], 3.0),
        },
        because: "Tensor cores multiply f16 an order of magnitude faster than the f32 units; feeding them is the rest of the story.",
    },
    Claim {
        id: "A28",
        claim: "tensor cores need a special layout (WMMA)",
        gpu: "?",
        predicate: "doc + which layouts our kernels take",
        test: Test::Settled { verdict: Verdict::Fails, figure: "PTX ISA, matrix multiply-accumulate" },
        because: "Registers of a warp hold fragments in a fixed order, which the load instructions make from row-major or column-major memory: our kernels take all four layouts.",
    },
    Claim {
        id: "A29",
        claim: "half-precision rounding accumulates; f32 accumulation or Kahan keeps it",
        gpu: "?",
        predicate: "error table, K to 65,536",
        test: Test::Measured {
            figures: &[
                Figure::new(What::HalfChain, "reduce", "", &[1 << 10], &[1 << 10]),
                Figure::new(What::HalfChain, "reduce", "", &[1 << 12], &[1 << 12]),
                Figure::new(What::HalfChain, "reduce", "", &[1 << 14], &[1 << 14]),
                Figure::new(What::HalfChain, "reduce", "", &[1 << 16], &[1 << 16]),
                Figure::new(What::HalfCompensated, "reduce", "", &[1 << 16], &[1 << 16]),
                Figure::new(What::SumError, "reduce", "one_pass", &[1 << 16], &[1 << 16]),
                Figure::new(What::SumError, "reduce", "compensated", &[1 << 16], &[1 << 16]),
            ],
            judge: |v| {
                // Half a unit of the last place of f16; the sums in f32 are in units of its own.
                const KEPT: f64 = 1.0 / 2048.0;
                let single = |units: f64| units * f64::from(f32::EPSILON) / 2.0;
                met(
                    v[5],
                    v[3] > 4.0 * v[0] && v[4] <= KEPT && single(v[5]) <= KEPT,
                    format!(
                        "error over sum, K = 1,024 / 4,096 / 16,384 / 65,536: in f16 {:.0e} / {:.0e} / {:.2} / {:.2}; at 65,536 in f16 with Kahan {:.0e}, in f32 {:.0e}, in f32 compensated {:.0e}",
                        v[0],
                        v[1],
                        v[2],
                        v[3],
                        v[4],
                        single(v[5]),
                        single(v[6])
                    ),
                )
            },
        },
        because: "A chain in f16 stands still once its sum is 2,048 times the next term; f32 has 8,192 times finer steps, and compensation adds up what was rounded away.",
    },
    Claim {
        id: "A30",
        claim: "100 small kernels: 8 ms to 5 ms with a graph",
        gpu: "?",
        predicate: "stream / graph time >= 1.6",
        test: Test::Later,
        because: "Launches and graphs have no rungs yet.",
    },
    Claim {
        id: "A31",
        claim: "dynamic parallelism costs more per launch than a host launch",
        gpu: "?",
        predicate: "device launch / host launch > 1",
        test: Test::Later,
        because: "Launches from the device have no rungs yet.",
    },
    Claim {
        id: "A32",
        claim: "copy in its own stream: total is the longer of the two, not the sum",
        gpu: "all",
        predicate: "overlapped / max(copy, compute) <= 1.15",
        test: Test::Later,
        because: "Streams have no rungs yet.",
    },
    Claim {
        id: "A33",
        claim: "NVLink an order of magnitude over PCIe; P2P far under local memory",
        gpu: "?",
        predicate: "peer rate / host-link rate; peer / local",
        test: Test::Later,
        because: "Several devices have no rungs yet.",
    },
    Claim {
        id: "A34",
        claim: "blocks above 256 threads rarely pay",
        gpu: "?",
        predicate: "per-rung block sweep",
        test: Test::Measured {
            figures: &[
                ns("occupancy", "block@64", &[1 << 25], &[1 << 16]),
                ns("occupancy", "block@128", &[1 << 25], &[1 << 16]),
                ns("occupancy", "block@256", &[1 << 25], &[1 << 16]),
                ns("occupancy", "block@512", &[1 << 25], &[1 << 16]),
                ns("occupancy", "block@1024", &[1 << 25], &[1 << 16]),
            ],
            judge: |v| at_least(min(&v[3..]) / min(&v[..3]), 0.98),
        },
        because: "A larger block gives a streaming kernel nothing that several smaller ones do not.",
    },
    Claim {
        id: "A35",
        claim: "a missing barrier fails only sometimes",
        gpu: "all",
        predicate: "race found by tool; wrong results in k of n runs",
        test: Test::Measured {
            figures: &[
                counted(What::Hazards, "double_buffer", "barrier_missing", &[4096]),
                Figure::new(What::WrongRuns, "double_buffer", "barrier_missing", &[1 << 20], &[4096]),
            ],
            judge: |v| {
                met(v[0], v[0] > 0.0 && v[1] < 100.0, format!("hazards found {}; wrong in {} of 100 runs", v[0], v[1]))
            },
        },
        because: "What a race does depends on the schedule; the simulator's race check finds it in one run.",
    },
    Claim {
        id: "A36",
        claim: "allocation inside the loop is very slow; allocate once or pool",
        gpu: "all",
        predicate: "per-iteration time malloc+free / pooled / once",
        test: Test::Later,
        because: "Allocation has no rungs yet.",
    },
    Claim {
        id: "A37",
        claim: "debug builds (-G) say nothing about speed",
        gpu: "all",
        predicate: "-G / -O3 time ratio",
        test: Test::Settled {
            verdict: Verdict::Holds,
            figure: "nvcc documentation, --device-debug; docs/claims/tiled_time.cu on an H200: with -G 27.7 times as long",
        },
        because: "`-G` turns off all optimisation of device code.",
    },
];
