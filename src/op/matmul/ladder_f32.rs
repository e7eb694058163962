//! The ladder of f32 products, from two-line kernels to the ones that the arithmetic units limit.

use crate::rung::{
    Accepts, Alias, Arch, CudaNeeds, Form, Grid, Language, Need, Operand, Pass, Rung, Source, Switch, TensorMapRow,
    Workspace, rung,
};

/// What kernels take that keep their operands where a textbook would.
const TEACHING: Accepts = Accepts { leading_dimension: true, scaling: true, ..Accepts::PACKED };

/// The rungs, from the first to the top.
pub(super) fn rungs() -> Vec<Rung> {
    let mut rungs = scalar();
    rungs.extend(blocked());
    rungs.extend(whole());
    rungs.push(tma_specialised());
    rungs.extend([slice_k("64x128", 64, 128, 8), slice_k("128x64", 128, 64, 8)]);
    rungs.extend([split_workspace("4", 4), split_workspace("16", 16)]);
    rungs.extend(gemv());
    rungs.push(outer());
    rungs
}

/// One result per thread.
fn scalar() -> Vec<Rung> {
    let tiled = |tile: u32, variant: &'static str| {
        let mut rung = rung!("matmul", "tiled", block [32, 32, 1], Grid::Tiles { x: 32, y: 32 }, {
            variant: variant.into(),
            idea: "Tiles of A and B go through shared memory and are used by the whole block.".into(),
            chinese: "A 和 B 的分块经由共享内存，供整个线程块使用。".into(),
            because: "Each element is read from global memory once per tile instead of once per result.".into(),
            chinese_because: "每个元素每个分块只从全局内存读一次，而不是每个结果读一次。".into(),
            constants: vec![("TILE", tile)].into(),
            accepts: TEACHING,
            shared_elements: 2 * tile * tile,
        });
        rung.passes = vec![Pass::new([tile, tile, 1], Grid::Tiles { x: tile, y: tile })].into();
        rung
    };
    vec![
        rung!("matmul", "naive", block [32, 8, 1], Grid::Tiles { x: 8, y: 32 }, {
            idea: "One result per thread; consecutive threads walk down a column, uncoalesced on purpose.".into(),
            chinese: "每个线程一个结果；相邻线程沿列向下走，故意不合并。".into(),
            because: "The first rung.".into(),
            chinese_because: "第一级。".into(),
            accepts: TEACHING,
        }),
        rung!("matmul", "coalesced", block [32, 8, 1], Grid::Tiles { x: 32, y: 8 }, {
            idea: "Consecutive threads walk along a row of C and B.".into(),
            chinese: "相邻线程沿 C 和 B 的行走。".into(),
            because: "A warp reads one run of B and one broadcast element of A, not 32 separate sectors.".into(),
            chinese_because: "一个线程束读 B 的一个连续段和 A 的一个广播元素，而不是 32 个分散的扇区。".into(),
            accepts: TEACHING,
        }),
        tiled(16, "16"),
        tiled(32, "32"),
    ]
}

/// Whether 16-byte accesses are possible, decided for each operand on its own.
fn vectors() -> Vec<Switch> {
    ["VECTOR_A", "VECTOR_B", "VECTOR_C"].map(|name| Switch::new(name, &[1, 0][..])).to_vec()
}

/// The same decided for all operands together: CUDA kernels are compiled ahead of time, and one that
/// stands alone is rare.
fn all_vectors(question: &'static str) -> Vec<Switch> {
    vec![Switch::new("VECTOR_A", &[1, 0][..]).with(&["VECTOR_B", "VECTOR_C"]).asking(question)]
}

pub(super) fn transposes() -> Vec<Switch> {
    ["TRANSPOSE_A", "TRANSPOSE_B"].map(|name| Switch::new(name, &[0, 1][..])).to_vec()
}

/// The switches of kernels that take every layout by asynchronous copies: those of 16 bytes serve what
/// runs along m or n, and may not reach past the end of a row.
fn copied() -> Vec<Switch> {
    transposes().into_iter().chain(all_vectors("WHOLE_ACROSS")).collect()
}

/// An operand without 16-byte accesses is bound as their elements.
fn chunks(operands: &'static [(&'static str, &'static str)]) -> Vec<Alias> {
    let alias = |&(name, switch): &(&'static str, &'static str)| Alias {
        name: name.into(),
        switch: switch.into(),
        value: 0,
        text: "array<f32, 4>".into(),
    };
    operands.iter().map(alias).collect()
}

const ALL_CHUNKS: &[(&str, &str)] = &[("Chunk_a", "VECTOR_A"), ("Chunk_b", "VECTOR_B"), ("Chunk_c", "VECTOR_C")];

/// A WGSL twin of one pass with its own switches and workgroup memory.
fn form(switches: Vec<Switch>, pass: Pass, shared_elements: u32) -> Form {
    Form {
        constants: (&[]).into(),
        switches: switches.into(),
        passes: vec![pass].into(),
        workspace: (&[]).into(),
        shared_elements,
    }
}

/// A block of results per thread; operands as they lie.
fn blocked() -> Vec<Rung> {
    const TILE: Grid = Grid::Tiles { x: 128, y: 128 };
    const BLOCK: [u32; 3] = [256, 1, 1];
    /// Two tiles of 16 x 128: WGSL turns 4 x 4 elements in registers, which makes its step twice as long.
    const WGSL_TILES: u32 = 2 * 16 * 128;
    let quads = |rung: Rung, shared_elements: u32, wgsl_elements: u32| Rung {
        accepts: TEACHING,
        switches: all_vectors("VECTOR_ALL").into(),
        aliases: chunks(ALL_CHUNKS).into(),
        shared_elements,
        wgsl_form: Some(form(vectors(), Pass::new(BLOCK, TILE), wgsl_elements)),
        ..rung
    };
    vec![
        rung!("matmul", "tiled_1d", block [512, 1, 1], Grid::Tiles { x: 64, y: 64 }, {
            idea: "A thread computes a column of eight results.".into(),
            chinese: "每个线程计算一列八个结果。".into(),
            because: "One element of B in a register serves eight multiplications: 9 shared reads instead of 16.".into(),
            chinese_because: "寄存器中 B 的一个元素供八次乘法使用：共享内存读取从 16 次减到 9 次。".into(),
            accepts: TEACHING,
            shared_elements: 2 * 8 * 64,
        }),
        rung!("matmul", "tiled_2d", block [256, 1, 1], Grid::Tiles { x: 128, y: 128 }, {
            idea: "A thread computes a square of 8 x 8 results.".into(),
            chinese: "每个线程计算 8 x 8 个结果。".into(),
            because: "16 shared reads serve 64 multiplications instead of 8.".into(),
            chinese_because: "16 次共享内存读取供 64 次乘法，而不是 8 次。".into(),
            accepts: TEACHING,
            shared_elements: 2 * 8 * 128,
        }),
        quads(
            rung!("matmul", "vectorized", block [256, 1, 1], Grid::Tiles { x: 128, y: 128 }, {
                idea: "16 bytes per access everywhere; A lies transposed in shared memory.".into(),
                chinese: "处处以 16 字节访问；A 在共享内存中转置存放。".into(),
                because: "A quarter of the memory instructions: 4 shared reads per 64 multiplications.".into(),
                chinese_because: "访存指令只有四分之一：64 次乘法只需 4 次共享内存读取。".into(),
            }),
            2 * 8 * 128,
            WGSL_TILES,
        ),
        quads(
            rung!("matmul", "conflict_free", block [256, 1, 1], Grid::Tiles { x: 128, y: 128 }, {
                idea: "A thread's rows and columns are quads half a tile apart; transposed rows are padded or permuted.".into(),
                chinese: "每个线程的行和列各为两组四个，相隔半个分块；转置的行加填充或重新排列。".into(),
                because: "The lanes of an access use all 32 banks once instead of every other one twice.".into(),
                chinese_because: "一次访问的各线程把 32 个存储体各用一次，而不是隔一个用两次。".into(),
            }),
            8 * 132 + 8 * 128,
            WGSL_TILES,
        ),
        quads(
            rung!("matmul", "warp_tiled", block [256, 1, 1], Grid::Tiles { x: 128, y: 128 }, {
                idea: "A warp's results form a compact tile of 64 x 32.".into(),
                chinese: "一个线程束的结果组成 64 x 32 的紧凑分块。".into(),
                because: "Fewer different rows and columns per warp; no gain on an H200, where lanes that share a word share a wavefront in both.".into(),
                chinese_because: "一个线程束涉及的行和列更少；在 H200 上没有好处，因为两种排法中共用一个字的线程本来就共用一次波前。".into(),
            }),
            8 * 132 + 8 * 128,
            WGSL_TILES,
        ),
        quads(
            rung!("matmul", "double_buffered", block [256, 1, 1], Grid::Tiles { x: 128, y: 128 }, {
                idea: "The next tiles are fetched to registers while the present ones are multiplied.".into(),
                chinese: "计算当前分块时，把下一个分块取到寄存器。".into(),
                because: "The latency of memory passes during arithmetic, and one barrier per step is enough.".into(),
                chinese_because: "内存的延迟在运算期间度过，每步一个屏障就够。".into(),
            }),
            2 * (8 * 132 + 8 * 128),
            2 * WGSL_TILES,
        ),
    ]
}

const fn needs(arch: Arch, dynamic_shared: u32) -> CudaNeeds {
    CudaNeeds { arch, dynamic_shared, tensor_maps: std::borrow::Cow::Borrowed(&[]) }
}

/// Bytes of a ring of stages of `block_k` steps of k, both operands with 4 elements of padding.
const fn ring(stages: u32, block_k: u32, block_m: u32, block_n: u32) -> u32 {
    stages * block_k * (block_m + 4 + block_n + 4) * 4
}

/// Its CUDA twin takes an operand as it lies: kernels for the other layouts are large, and others are faster.
fn as_it_lies(fact: &'static str) -> Need {
    let because = "pipelined takes the other layouts";
    Need { language: Some(Language::Cuda), fact: fact.into(), value: 0, because: because.into() }
}

/// Everything is accepted: any layout, leading dimension, offset, batch and scaling.
fn whole() -> Vec<Rung> {
    let loaded = || -> Vec<Switch> { transposes().into_iter().chain(vectors()).collect() };
    vec![
        rung!("matmul", "pipelined", no wgsl "WGSL has no asynchronous copy", block [256, 1, 1], Grid::Tiles { x: 128, y: 128 }, {
            idea: "Asynchronous copies fill a ring of four stages, past the registers.".into(),
            chinese: "异步复制绕过寄存器，填充四级的环。".into(),
            because: "More loads in flight and fewer registers; each element lands where the multiplication wants it.".into(),
            chinese_because: "在途的载入更多，占用的寄存器更少；每个元素直接落在乘法需要的位置。".into(),
            accepts: Accepts::ALL,
            switches: copied().into(),
            cuda_needs: needs(Arch::Compute80, ring(4, 16, 128, 128)),
        }),
        rung!("matmul", "wide", block [256, 1, 1], Grid::Tiles { x: 256, y: 128 }, {
            idea: "8 x 16 results per thread and a tile of 128 x 256.".into(),
            chinese: "每个线程 8 x 16 个结果，分块 128 x 256。".into(),
            because: "6 shared reads serve 128 multiplications instead of 4 serving 64; but 8 warps instead of 16 hide less, so that it is slower than pipelined.".into(),
            chinese_because: "6 次共享内存读取供 128 次乘法，而不是 4 次供 64 次；但 8 个线程束比 16 个能隐藏的延迟少，因此比 pipelined 慢。".into(),
            // The rung above takes the other layouts.
            accepts: Accepts { transposed: false, ..Accepts::ALL },
            switches: all_vectors("WHOLE_ALL").into(),
            aliases: chunks(ALL_CHUNKS).into(),
            cuda_needs: needs(Arch::Compute80, ring(4, 16, 128, 256)),
            wgsl_form: Some(form(vectors(), Pass::new([256, 1, 1], Grid::Tiles { x: 256, y: 128 }), 2 * 16 * (128 + 256))),
        }),
        rung!("matmul", "raster", block [256, 1, 1], Grid::TilesLinear { x: 256, y: 128 }, {
            idea: "Tiles are walked eight rows at a time, column by column.".into(),
            chinese: "每次八行、逐列地走过分块。".into(),
            because: "Blocks that run together ask for fewer different rows and columns; at 4096 L2 reads are the same, and what it gains comes from earlier loads.".into(),
            chinese_because: "同时运行的线程块需要的不同的行和列更少；在 4096 时 L2 读取量相同，好处来自更早的载入。".into(),
            accepts: Accepts::ALL,
            needs: ["TRANSPOSE_A", "TRANSPOSE_B"].map(as_it_lies).to_vec().into(),
            constants: vec![("GROUP", 8)].into(),
            switches: copied().into(),
            aliases: chunks(ALL_CHUNKS).into(),
            cuda_needs: needs(Arch::Compute80, ring(4, 16, 128, 256)),
            wgsl_form: Some(Form {
                constants: vec![("GROUP", 8)].into(),
                ..form(loaded(), Pass::new([256, 1, 1], Grid::TilesLinear { x: 256, y: 128 }), 2 * 16 * (128 + 256))
            }),
        }),
        rung!("matmul", "compact", no cuda "CUDA's ring of stages (pipelined) already lets two blocks share a multiprocessor", block [128, 1, 1], Grid::TilesLinear { x: 128, y: 128 }, {
            idea: "128 threads, a tile of 128 x 128 and one buffer of 16 KiB.".into(),
            chinese: "128 个线程，128 x 128 的分块，一个 16 KiB 的缓冲区。".into(),
            because: "Two blocks share a multiprocessor, and one multiplies while the other waits; fits every device.".into(),
            chinese_because: "两个线程块共用一个多处理器，一个等待时另一个做乘法；适用于所有设备。".into(),
            accepts: Accepts::ALL,
            constants: vec![("GROUP", 8)].into(),
            switches: loaded().into(),
            aliases: chunks(ALL_CHUNKS).into(),
            shared_elements: 16 * (128 + 128),
            // With naga's loop counters the driver keeps the loop as it stands, and it runs 4 % faster
            // (one H200 through Vulkan: 45.1 against 43.1 TFLOP/s at 4096).
            trusted: false,
        }),
    ]
}

/// Switches of kernels whose producer warps fetch by TMA what runs along m or n, where all is aligned.
fn fetched() -> Vec<Switch> {
    let mut switches = transposes();
    switches.push(Switch::new("VECTOR_C", &[1, 0][..]).asking("TMA_ACROSS"));
    let fetch = |name: &'static str| Switch::new(name, &[1][..]).asking("TMA_ACROSS");
    switches.push(fetch("TMA_A").mattering_with(&[&[("VECTOR_C", 1), ("TRANSPOSE_A", 1)]]));
    switches.push(fetch("TMA_B").mattering_with(&[&[("VECTOR_C", 1), ("TRANSPOSE_B", 0)]]));
    switches
}

/// Tensor maps of boxes of 32 steps of k.
fn boxes(block_m: u32, block_n: u32) -> Vec<TensorMapRow> {
    let row = |input, side, switch| TensorMapRow {
        operand: Operand::Input(input),
        block: [side, 32],
        swizzle: 0,
        when: Some((switch, 1)),
        tf32: false,
    };
    vec![row(0, block_m, "TMA_A"), row(1, block_n, "TMA_B")]
}

/// Bytes of a ring of stages of 32 steps of k and its barriers, for the larger case: without TMA.
const fn fetched_ring(stages: u32, block_m: u32, block_n: u32) -> u32 {
    const BARRIERS: u32 = 16;
    ring(stages, 32, block_m, block_n) + stages * BARRIERS
}

fn tma_specialised() -> Rung {
    rung!("matmul", "tma_specialised", no wgsl "WGSL has no bulk copies, no barriers between parts of a block and no share of registers", block [384, 1, 1], Grid::Persistent { per_sm: 1, x: 256, y: 128 }, {
        idea: "A producer warpgroup keeps a ring of stages filled by TMA; the other warps only multiply.".into(),
        chinese: "一个生产者线程束组用 TMA 不断填满环；其他线程束只做乘法。".into(),
        because: "No copies, addresses or block-wide barriers beside the multiplications; a block fetches its next tile while it ends this one.".into(),
        chinese_because: "乘法之外没有复制、地址运算和整块的屏障；线程块在结束当前分块时已在取下一块。".into(),
        accepts: Accepts::ALL,
        constants: vec![("STAGES", 4), ("GROUP", 8), ("UNROLL", 8)].into(),
        switches: fetched().into(),
        cuda_needs: CudaNeeds {
            arch: Arch::Sm90a,
            dynamic_shared: fetched_ring(4, 128, 256),
            tensor_maps: boxes(128, 256).into(),
        },
    })
}

/// `stages` is a multiple of the slices that share a tile.
fn slice_k(variant: &'static str, block_m: u32, block_n: u32, stages: u32) -> Rung {
    let mut rung = rung!("matmul", "slice_k", no wgsl "WGSL has no bulk copies, no barriers between parts of a block and no share of registers", block [384, 1, 1], Grid::Fixed { blocks: 0 }, {
        variant: variant.into(),
        idea: "The warps of a block share one smaller tile and divide k among them.".into(),
        chinese: "一个线程块的各线程束共用较小的分块，分担 k。".into(),
        because: "Few tiles still fill the machine, with as many results per thread as before.".into(),
        chinese_because: "分块很少时也能填满设备，而每个线程的结果与以前一样多。".into(),
        accepts: Accepts::ALL,
        constants: vec![("BLOCK_M", block_m), ("BLOCK_N", block_n), ("STAGES", stages), ("GROUP", 8), ("UNROLL", 8)].into(),
        switches: fetched().into(),
        cuda_needs: CudaNeeds {
            arch: Arch::Sm90a,
            dynamic_shared: fetched_ring(stages, block_m, block_n),
            tensor_maps: boxes(block_m, block_n).into(),
        },
    });
    rung.passes = vec![Pass::new([384, 1, 1], Grid::TilesLinear { x: block_n, y: block_m })].into();
    rung
}

/// One pass over the parts of a divided sum, and one that adds them.
fn two_passes(first: Pass, bindings: Vec<Operand>, sum: Pass) -> Vec<Pass> {
    vec![
        Pass { bindings: Some(bindings.into()), ..first },
        Pass {
            suffix: "sum".into(),
            bindings: Some(vec![Operand::WorkspaceIn(0), Operand::Output(0)].into()),
            dynamic_shared: Some(0),
            ..sum
        },
    ]
}

/// As [`copied`]; the sums go to the workspace one by one.
fn split_copied() -> Vec<Switch> {
    let vectors = Switch::new("VECTOR_A", &[1, 0][..]).with(&["VECTOR_B"]).asking("WHOLE_ACROSS");
    transposes().into_iter().chain([vectors]).collect()
}

fn split_workspace(variant: &'static str, splits: u32) -> Rung {
    /// Blocks of the second WGSL pass on each tile.
    const SLICES: u32 = 16;
    const TILE_BYTES: u32 = 128 * 128 * 4;
    let parts = Grid::TilesLinearParts { x: 128, y: 128, parts: splits };
    let bindings = || vec![Operand::Input(0), Operand::Input(1), Operand::WorkspaceOut(0)];
    let sum = Pass::new([256, 1, 1], Grid::Tiles { x: 256, y: 1 });
    let wgsl_sum = Pass::new([256, 1, 1], Grid::TilesLinearParts { x: 128, y: 128, parts: SLICES });
    rung!("matmul", "split_workspace", block [256, 1, 1], Grid::Fixed { blocks: 0 }, {
        variant: variant.into(),
        idea: "Several blocks divide the k of one tile; a second pass adds their sums in order.".into(),
        chinese: "几个线程块分担一个分块的 k；第二遍按次序相加。".into(),
        because: "One or two tiles with a long k fill the machine too, and the same bits come out every time.".into(),
        chinese_because: "一两个 k 很长的分块也能填满设备，并且每次得到同样的位。".into(),
        accepts: Accepts::ALL,
        constants: vec![("SPLITS", splits), ("GROUP", 8)].into(),
        switches: split_copied().into(),
        aliases: chunks(ALL_CHUNKS).into(),
        passes: two_passes(Pass::new([256, 1, 1], parts), bindings(), sum).into(),
        workspace: vec![Workspace::PerOutput(splits)].into(),
        cuda_needs: needs(Arch::Compute80, ring(4, 16, 128, 128)),
        wgsl_form: Some(Form {
            constants: vec![("SPLITS", splits)].into(),
            switches: transposes().into_iter().chain(vectors()).collect(),
            passes: two_passes(Pass::new([128, 1, 1], parts), bindings(), wgsl_sum).into(),
            workspace: vec![Workspace::PerBlock(TILE_BYTES)].into(),
            shared_elements: 16 * (128 + 128),
        }),
    })
}

/// The largest k that [`outer`] takes: with more, reading the operands costs more than writing C.
pub(super) const MOST_SHALLOW: u64 = 8;

fn outer() -> Rung {
    let mut switches = transposes();
    switches.push(Switch::new("VECTOR_C", &[1, 0][..]));
    rung!("matmul", "outer", block [256, 1, 1], Grid::Tiles { x: 128, y: 128 }, {
        idea: "A k of a few: every thread holds what its rows and columns have of one k and stores 16 bytes at a time.".into(),
        chinese: "k 很小：每个线程把自己的行和列在一个 k 上的值放在寄存器里，每次存 16 字节。".into(),
        because: "The work is writing C once; tiles and shared memory would only delay the stores.".into(),
        chinese_because: "工作就是把 C 写一次；分块和共享内存只会耽误写入。".into(),
        accepts: Accepts::ALL,
        needs: vec![Need {
            language: None,
            fact: "SHALLOW".into(),
            value: 1,
            because: "this rung takes k of at most 8".into(),
        }]
        .into(),
        switches: switches.into(),
        aliases: chunks(&ALL_CHUNKS[2..]).into(),
    })
}

/// Cases of a grid by switches.
type Cases<const N: usize> = [(&'static [(&'static str, u32)], Grid); N];

/// Blocks of `gemv`: of whole lines where the thick operand runs along k, else of 128 lines.
const fn gemv_grid(lines: u32, parts: u32) -> Cases<2> {
    const COLUMNS: u32 = 128;
    [
        (&[("THICK_K", 1)], Grid::LongSide { per_block: lines, parts }),
        (&[("THICK_K", 0)], Grid::LongSide { per_block: COLUMNS, parts }),
    ]
}

/// The second pass: every thin line on its own.
const GEMV_SUM: Cases<3> = [
    (&[("THIN", 1)], Grid::LongSide { per_block: 256, parts: 1 }),
    (&[("THIN", 4)], Grid::LongSide { per_block: 256, parts: 4 }),
    (&[("THIN", 16)], Grid::LongSide { per_block: 256, parts: 16 }),
];

/// The WGSL twin's: a block has all of the thin side and 4 * 256 / K_THREADS of the thick one.
const GEMV_WGSL: Cases<4> = [
    (&[("FEW_ROWS", 1), ("K_THREADS", 16)], Grid::Tiles { x: 64, y: 16 }),
    (&[("FEW_ROWS", 1), ("K_THREADS", 32)], Grid::Tiles { x: 32, y: 16 }),
    (&[("FEW_ROWS", 0), ("K_THREADS", 16)], Grid::Tiles { x: 16, y: 64 }),
    (&[("FEW_ROWS", 0), ("K_THREADS", 32)], Grid::Tiles { x: 16, y: 32 }),
];

/// The most lines of the thin side.
pub(super) const MOST_THIN: u64 = 16;

fn gemv() -> [Rung; 2] {
    const WARPS: u32 = 8;
    const WHOLE: &[(&[(&str, u32)], Grid)] = &gemv_grid(WARPS, 1);
    const SPLIT: &[(&[(&str, u32)], Grid)] = &gemv_grid(WARPS * 4, 4);
    const BLOCK: [u32; 3] = [256, 1, 1];
    let switches = vec![
        Switch::new("THICK_K", &[1, 0][..]),
        Switch::new("THIN_K", &[0, 1][..]),
        Switch::new("THIN", &[1, 4, 16][..]),
        Switch::new("VECTOR", &[1, 0][..]).asking("STREAMED"),
    ];
    let mut wgsl_switches = transposes();
    wgsl_switches.extend([
        Switch::new("FEW_ROWS", &[0, 1][..]).asking("THICK_B"),
        Switch::new("FEW", &[1, 4, 16][..]).asking("THIN"),
        Switch::new("K_THREADS", &[16, 32][..]),
        Switch::new("VECTOR_A", &[1, 0][..]),
        Switch::new("VECTOR_B", &[1, 0][..]),
    ]);
    let row = |variant: &'static str, splits: u32, rows: u32, passes: Vec<Pass>| {
        rung!("matmul", "gemv", block [256, 1, 1], Grid::Fixed { blocks: 0 }, {
            variant: variant.into(),
            idea: "Few rows or columns: the other operand is streamed once, without tiles of C.".into(),
            chinese: "行或列很少：另一个操作数只流过一次，不分 C 的块。".into(),
            because: "The work is reading one operand; nothing of it goes through shared memory.".into(),
            chinese_because: "工作就是读取一个操作数；其中没有什么要经过共享内存。".into(),
            accepts: Accepts::ALL,
            needs: vec![Need {
                language: None,
                fact: "SLIM".into(),
                value: 1,
                because: "this rung takes m or n of at most 16".into(),
            }]
            .into(),
            constants: vec![("SPLITS", splits), ("ROWS", rows)].into(),
            switches: switches.clone().into(),
            aliases: chunks(&ALL_CHUNKS[..2]).into(),
            passes: passes.into(),
            wgsl_form: Some(form(wgsl_switches.clone(), Pass::new(BLOCK, Grid::BySwitch(&GEMV_WGSL)), 4 * 256)),
        })
    };
    let mut whole = row("1", 1, 1, vec![Pass::new(BLOCK, Grid::BySwitch(WHOLE))]);
    whole.needs.to_mut().push(Need {
        language: Some(Language::Cuda),
        fact: "THIN".into(),
        value: 1,
        because: "this rung takes a matrix and one vector; gemv@4 takes up to 16".into(),
    });
    let parts = vec![Operand::Input(0), Operand::Input(1), Operand::Output(0), Operand::WorkspaceOut(0)];
    let sum = Pass::new(BLOCK, Grid::BySwitch(&GEMV_SUM));
    let mut split = row("4", 4, 4, two_passes(Pass::new(BLOCK, Grid::BySwitch(SPLIT)), parts, sum));
    // A part has THIN lines where as many as a quarter of them may be there.
    split.workspace = vec![Workspace::PerOutput(4 * 4)].into();
    split.wgsl = Source::Absent { because: "the WGSL kernel divides k among the threads of a block (gemv@1)".into() };
    [whole, split]
}
