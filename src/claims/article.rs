//! Claims of a practical article, its first half: divergence, occupancy, memory accesses and tiles.

use super::figure::{counted, ns};
use super::judge::{CUBE, both, max, min, word};
use super::{Claim, Figure, Judgement, Test, Verdict, What, at_least, at_most, between, met};

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "A1",
        claim: "divergent halves of a warp run one after the other",
        gpu: "?",
        predicate: "parity branch with two equal long sides / uniform branch >= 1.7",
        test: Test::Measured {
            figures: &[
                ns("branch", "branched", &[1 << 24, 256, 0], &[1 << 14, 32, 0]),
                ns("branch", "branched", &[1 << 24, 256, 4], &[1 << 14, 32, 4]),
                ns("branch", "branched", &[1 << 24, 256, 5], &[1 << 14, 32, 5]),
            ],
            judge: |v| at_least(2.0 * v[0] / (v[1] + v[2]), 1.7),
        },
        because: "A warp has one stream of instructions, so it walks both sides, each with half of its lanes.",
    },
    Claim {
        id: "A2",
        claim: "branching on thread/32 instead of thread%2 removes the cost",
        gpu: "?",
        predicate: "<= 1.05 of uniform",
        test: Test::Measured {
            figures: &[
                ns("branch", "branched", &[1 << 24, 256, 1], &[1 << 14, 32, 1]),
                ns("branch", "branched", &[1 << 24, 256, 4], &[1 << 14, 32, 4]),
                ns("branch", "branched", &[1 << 24, 256, 5], &[1 << 14, 32, 5]),
            ],
            judge: |v| at_most(2.0 * v[0] / (v[1] + v[2]), 1.05),
        },
        because: "Each warp then walks one side only; which side differs from warp to warp, and that is free.",
    },
    Claim {
        id: "A3",
        claim: "short branches become predicated and cost little",
        gpu: "?",
        predicate: "short if/else / straight code <= 1.2; SASS shows predicates",
        test: Test::Measured {
            figures: &[
                ns("branch", "branched", &[1 << 24, 1, 0], &[1 << 14, 1, 0]),
                ns("branch", "branched", &[1 << 24, 1, 4], &[1 << 14, 1, 4]),
            ],
            judge: |v| at_most(v[0] / v[1], 1.2),
        },
        because: "Sides of one or two instructions hide behind the memory traffic; NVRTC 12.0 makes no branch of docs/claims/short_branch.cu for sm_90, but both sides in a row and one of them under a predicate (`@!P0 LOP3`).",
    },
    Claim {
        id: "A4",
        claim: "vector add, block 128 to 1024: occupancy 50 to 100 %, gain under 5 %",
        gpu: "?",
        predicate: "best/worst over block sizes >= 128 below 1.05, and the stated occupancies recomputed",
        test: Test::Measured {
            figures: &[
                ns("occupancy", "block@128", &[1 << 25], &[1 << 16]),
                ns("occupancy", "block@256", &[1 << 25], &[1 << 16]),
                ns("occupancy", "block@512", &[1 << 25], &[1 << 16]),
                ns("occupancy", "block@1024", &[1 << 25], &[1 << 16]),
                Figure::new(What::ResidentWarps, "occupancy", "block@128", &[1 << 20], &[1 << 16]),
                Figure::new(What::ResidentWarps, "occupancy", "block@1024", &[1 << 20], &[1 << 16]),
            ],
            judge: |v| Judgement {
                figure: format!(
                    "{:.2}; resident warps {} with 128 threads, {} with 1024",
                    max(&v[..4]) / min(&v[..4]),
                    word(v[4]),
                    word(v[5])
                ),
                ..at_most(max(&v[..4]) / min(&v[..4]), 1.05)
            },
        },
        because: "The warps in residence are the same; but a device starts only so many blocks in a microsecond (some 1,600 on an H200), and blocks of 128 threads with one element each come too slowly for its memory. Where they fill every place, the stated 50 % belongs to a device with half as many block slots.",
    },
    Claim {
        id: "A5",
        claim: "tiled matmul: occupancy 25 to 50 % through tiling, nearly 2x",
        gpu: "?",
        predicate: "same kernel at 25 and 50 % by shared-memory ballast: ratio >= 1.7",
        test: Test::Measured {
            figures: &[
                ns("matmul", "tiled@16", &[4096, 4096, 4096], &[128, 128, 128]).with_ballast(100 << 10),
                ns("matmul", "tiled@16", &[4096, 4096, 4096], &[128, 128, 128]).with_ballast(50 << 10),
            ],
            judge: |v| at_least(v[0] / v[1], 1.7),
        },
        because: "Ballast halves the resident warps and changes nothing else; how much that costs depends on how much latency the warps had to hide.",
    },
    Claim {
        id: "A6",
        claim: "a warp reading 32 consecutive floats moves 4 sectors of 32 bytes",
        gpu: "all",
        predicate: "sectors/request = 4",
        test: Test::Measured {
            figures: &[counted(What::LoadSectors, "copy", "scalar", &[1 << 14])],
            judge: |v| between(v[0], 4.0, 4.0),
        },
        because: "32 lanes of 4 bytes are 128 bytes, four sectors.",
    },
    Claim {
        id: "A7",
        claim: "stride 2 wastes half: bandwidth halves",
        gpu: "all",
        predicate: "useful bytes/moved = 0.5; rate 0.45-0.55 of unit stride",
        test: Test::Measured {
            figures: &[
                counted(What::Efficiency, "copy", "strided@2", &[1 << 14]),
                ns("copy", "scalar", &[1 << 25], &[1 << 20]),
                ns("copy", "strided@2", &[1 << 25], &[1 << 20]),
            ],
            judge: |v| both(&[between(v[0], 0.49, 0.51), between(v[1] / v[2], 0.45, 0.55)]),
        },
        because: "Every sector comes for half of its words; writes of half sectors also have to be merged.",
    },
    Claim {
        id: "A8",
        claim: "column-order code on row-major data gets 20-30 % of bandwidth",
        gpu: "?",
        predicate: "useful rate / copy in [0.2, 0.3]",
        test: Test::Measured {
            figures: &[
                ns("transpose", "naive", &[8192, 4096], &[512, 512]),
                ns("copy", "vectorized@4", &[1 << 25], &[1 << 18]),
            ],
            judge: |v| between(v[1] / v[0], 0.2, 0.3),
        },
        because: "Neighbouring lanes write a row apart; how much of each sector survives in the cache until its neighbours come decides the rest.",
    },
    Claim {
        id: "A9",
        claim: "float4 copy is 25 % faster than scalar copy (1.5 against 1.2 TB/s)",
        gpu: "A100",
        predicate: "ratio >= 1.15",
        test: Test::Measured {
            figures: &[
                ns("copy", "scalar", &[1 << 25], &[1 << 20]),
                ns("copy", "vectorized@1", &[1 << 25], &[1 << 20]),
            ],
            judge: |v| at_least(v[0] / v[1], 1.15),
        },
        because: "Both keep enough bytes in flight for the memory to be the limit, or the wider one needs fewer warps for it.",
    },
    Claim {
        id: "A10",
        claim: "float4 needs 16-byte alignment; allocations are 256-byte aligned",
        gpu: "all",
        predicate: "doc + the offset case refused or slower",
        test: Test::Settled { verdict: Verdict::Holds, figure: "CUDA C++ Programming Guide, device memory accesses" },
        because: "A 16-byte access to another address is an error; our vectorised rungs refuse such operands and say so.",
    },
    Claim {
        id: "A11",
        claim: "naive matmul reads 2N³ values, intensity 0.5; tiles cut reads to 2N³/TILE",
        gpu: "all",
        predicate: "counted global loads equal the formula",
        test: Test::Measured {
            figures: &[
                counted(What::Loads, "matmul", "naive", &[64, 64, 64]),
                counted(What::Loads, "matmul", "tiled@16", &[64, 64, 64]),
            ],
            judge: |v| both(&[between(v[0] / CUBE, 1.0, 1.0), between(v[1] / (CUBE / 16.0), 1.0, 1.0)]),
        },
        because: "The counts are exact; the intensity is 2N³ operations over 8N³ bytes, 0.25 per byte (0.5 per pair of values).",
    },
    Claim {
        id: "A12",
        claim: "1024³: naive 2.5 ms, tile 16 0.8 ms, tile 32 0.5 ms",
        gpu: "?",
        predicate: "ratios 3.1 and 5.0 within 30% (the times mean 0.86, 2.7, 4.3 TFLOP/s: compare C12)",
        test: Test::Measured {
            figures: &[
                ns("matmul", "naive", &[1024, 1024, 1024], &[128, 128, 128]),
                ns("matmul", "tiled@16", &[1024, 1024, 1024], &[128, 128, 128]),
                ns("matmul", "tiled@32", &[1024, 1024, 1024], &[128, 128, 128]),
            ],
            judge: |v| both(&[between(v[0] / v[1], 2.17, 4.03), between(v[0] / v[2], 3.5, 6.5)]),
        },
        because: "Caches already give the naive kernel most of the reuse that tiles make explicit.",
    },
    Claim {
        id: "A13",
        claim: "larger tiles give less and less because shared memory lowers occupancy",
        gpu: "?",
        predicate: "sweep; name the true limiter",
        test: Test::Measured {
            figures: &[
                ns("matmul", "tiled@16", &[4096, 4096, 4096], &[128, 128, 128]),
                ns("matmul", "tiled@32", &[4096, 4096, 4096], &[128, 128, 128]),
                Figure::new(What::ResidentWarps, "matmul", "tiled@16", &[1024, 1024, 1024], &[64, 64, 64]),
                Figure::new(What::ResidentWarps, "matmul", "tiled@32", &[1024, 1024, 1024], &[64, 64, 64]),
            ],
            judge: |v| {
                met(
                    v[3],
                    v[3] < v[2],
                    format!(
                        "time of tile 16 over 32: {:.2}; resident warps {} and {}",
                        v[0] / v[1],
                        word(v[2]),
                        word(v[3])
                    ),
                )
            },
        },
        because: "A tile of 32 takes 8 KiB of 100 or more, which limits nothing; its 1024 threads are the limit, two blocks to a multiprocessor that wait at every barrier.",
    },
    Claim {
        id: "A14",
        claim: "in the tiled matmul `As[ty][k]` conflicts 32-way; padding cures it",
        gpu: "?",
        predicate: "conflicts counted with and without padding (lanes share ty: is it a broadcast?)",
        test: Test::Measured {
            figures: &[counted(What::ConflictDegree, "matmul", "tiled@32", &[64, 64, 64])],
            judge: |v| met(v[0], v[0] >= 2.0, format!("{:.2} turns per needed one", v[0])),
        },
        because: "All lanes of a warp have the same ty and read the same word, which is broadcast; there is nothing to cure.",
    },
    Claim {
        id: "A15",
        claim: "column reads of a 32x32 float tile conflict 32-way; 33 columns cure it",
        gpu: "all",
        predicate: "wavefronts/request 32 against 1",
        test: Test::Measured {
            figures: &[
                counted(What::Wavefronts, "shared", "strided@32", &[256, 2]),
                counted(What::Wavefronts, "shared", "padded", &[256, 2]),
            ],
            judge: |v| both(&[between(v[0], 32.0, 32.0), between(v[1], 1.0, 1.0)]),
        },
        because: "Words 32 apart lie on one bank, words 33 apart on 32.",
    },
    Claim {
        id: "A16",
        claim: "padding gave about 3x shared throughput in an image convolution",
        gpu: "?",
        predicate: "padded/unpadded >= 2.5",
        test: Test::Measured {
            figures: &[
                ns("convolve", "tiled", &[4096, 4096], &[256, 256]),
                ns("convolve", "padded", &[4096, 4096], &[256, 256]),
            ],
            judge: |v| at_least(v[0] / v[1], 2.5),
        },
        because: "A filter reads rows, so a block of 16 columns conflicts twofold at most, and arithmetic hides part of that.",
    },
    Claim {
        id: "A17",
        claim: "sorting particles by state gave +40 %",
        gpu: "?",
        predicate: "sorted/unsorted >= 1.4 on the stated example kernel",
        test: Test::Measured {
            figures: &[
                ns("branch", "branched", &[1 << 24, 256, 2], &[1 << 14, 32, 2]),
                ns("branch", "branched", &[1 << 24, 256, 3], &[1 << 14, 32, 3]),
            ],
            judge: |v| at_least(v[0] / v[1], 1.4),
        },
        because: "Random states make every warp walk both sides; sorted ones leave one mixed warp in all. The sort itself is not in this figure.",
    },
    Claim {
        id: "A18",
        claim: "sparse rows by warp reduce divergence",
        gpu: "?",
        predicate: "warp-per-row / thread-per-row time on three patterns",
        test: Test::Measured {
            figures: &[
                ns("spmv", "thread_per_row", &[1 << 20, 1 << 20, 27 << 20, 0], &[1 << 12, 1 << 12, 27 << 12, 0]),
                ns("spmv", "warp_per_row", &[1 << 20, 1 << 20, 27 << 20, 0], &[1 << 12, 1 << 12, 27 << 12, 0]),
                ns("spmv", "thread_per_row", &[1 << 21, 1 << 21, 1 << 24, 1], &[1 << 13, 1 << 13, 1 << 16, 1]),
                ns("spmv", "warp_per_row", &[1 << 21, 1 << 21, 1 << 24, 1], &[1 << 13, 1 << 13, 1 << 16, 1]),
                ns("spmv", "thread_per_row", &[1 << 20, 1 << 20, 1 << 24, 2], &[1 << 12, 1 << 12, 1 << 16, 2]),
                ns("spmv", "warp_per_row", &[1 << 20, 1 << 20, 1 << 24, 2], &[1 << 12, 1 << 12, 1 << 16, 2]),
            ],
            judge: |v| Judgement {
                figure: format!(
                    "thread / warp: band {:.2}, scattered {:.2}, skewed {:.2}",
                    v[0] / v[1],
                    v[2] / v[3],
                    v[4] / v[5]
                ),
                ..at_least(min(&[v[0] / v[1], v[2] / v[3], v[4] / v[5]]), 1.0)
            },
        },
        because: "What a warp per row gains is coalescing first and even loads second, most where a few rows are long.",
    },
];
