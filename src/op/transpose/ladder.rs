//! The ladder of transposes, from two-line kernels to the ones that memory itself limits.

use crate::rung::{Accepts, Alias, Arch, CudaNeeds, Grid, Language, Need, Rung, Source, Switch, Tuning, rung};
use std::sync::LazyLock;

const ANY_WORD: &[u64] = &[1, 2, 4, 8, 16];
const WHOLE_WORDS: &[u64] = &[4, 8, 16];

/// Whether 16-byte accesses are possible, decided for each side on its own.
fn vector_switches() -> Vec<Switch> {
    ["VECTOR_INPUT", "VECTOR_OUTPUT"].map(|name| Switch::new(name, &[1, 0][..])).to_vec()
}

/// An output that cannot be stored in chunks is bound as their elements.
fn output_chunk() -> Vec<Alias> {
    vec![Alias { name: "OutputChunk".into(), switch: "VECTOR_OUTPUT".into(), value: 0, text: "array<u32, 4>".into() }]
}

pub(super) static LADDER: LazyLock<Vec<Rung>> = LazyLock::new(|| {
    let scalar = |rung: Rung| Rung {
        element_sizes: ANY_WORD.into(),
        wgsl_element_sizes: WHOLE_WORDS.into(),
        accepts: Accepts::PITCHED,
        ..rung
    };
    let padded = |tile: u32, variant: &'static str| {
        let mut rung = scalar(rung!("transpose", "tiled_padded", block [32, 32, 1], Grid::Tiles { x: 32, y: 32 }, {
            variant: variant.into(),
            idea: "One unused element at the end of each tile row.".into(),
            chinese: "分块每行末尾留一个不用的元素。".into(),
            because: "The elements of a tile column lie in different banks, so reading a column is one access, not 32.".into(),
            chinese_because: "分块一列的元素落在不同的存储体上，读一列只需一次访问，而不是 32 次。".into(),
            constants: vec![("TILE", tile)].into(),
            shared_elements: tile * (tile + 1),
        }));
        let pass = &mut rung.passes.to_mut()[0];
        pass.block = [tile, tile, 1];
        pass.grid = Grid::Tiles { x: tile, y: tile };
        rung
    };
    let mut ladder = vec![
        scalar(rung!("transpose", "naive", block [32, 8, 1], Grid::Tiles { x: 32, y: 8 }, {
            idea: "Threads of a warp lie along an input row: coalesced reads, strided writes.".into(),
            chinese: "线程束沿输入的行排列：读取合并，写入跨步。".into(),
            because: "The first rung.".into(),
            chinese_because: "第一级。".into(),
        })),
        scalar(rung!("transpose", "coalesced_write", block [32, 8, 1], Grid::Tiles { x: 8, y: 32 }, {
            idea: "The mirror: threads lie along an output row, so the reads are strided.".into(),
            chinese: "与上一级相反：线程沿输出的行排列，因此读取跨步。".into(),
            because: "A strided read is served by caches that hold its whole sector; a strided write is not.".into(),
            chinese_because: "跨步的读取由保存整个扇区的缓存供给；跨步的写入却不行。".into(),
        })),
        scalar(rung!("transpose", "tiled", block [32, 32, 1], Grid::Tiles { x: 32, y: 32 }, {
            idea: "A tile goes through shared memory, so that both sides are coalesced.".into(),
            chinese: "分块经由共享内存，使读写两侧都合并。".into(),
            because: "Every sector is read and written once and used whole; the tile's columns still meet in one bank.".into(),
            chinese_because: "每个扇区只读写一次，并且全部用到；但分块的列仍落在同一个存储体上。".into(),
            shared_elements: 32 * 32,
        })),
        padded(16, "16"),
        padded(32, "32"),
        scalar(rung!("transpose", "coarsened", block [32, 8, 1], Grid::Tiles { x: 32, y: 32 }, {
            idea: "A quarter of the threads, four elements each, all loads before the first store.".into(),
            chinese: "线程减为四分之一，每个线程四个元素，先读完再写。".into(),
            because: "More bytes in flight per thread and less index arithmetic per element.".into(),
            chinese_because: "每个线程在途的字节更多，每个元素的下标运算更少。".into(),
            shared_elements: 32 * 33,
        })),
        scalar(rung!("transpose", "swizzled", block [32, 8, 1], Grid::Tiles { x: 32, y: 32 }, {
            idea: "The column index is exclusive-or'ed with the row in place of padding.".into(),
            chinese: "以列号与行号的异或代替填充。".into(),
            because: "As free of conflicts as padding, without the unused column and with aligned rows for wider accesses.".into(),
            chinese_because: "与填充一样没有冲突，却不用多出的一列，并且行是对齐的，便于更宽的访问。".into(),
            shared_elements: 32 * 32,
        })),
        rung!("transpose", "register_blocked", block [256, 1, 1], Grid::Tiles { x: 64, y: 64 }, {
            idea: "A thread turns a 4x4 block in registers; 16-byte accesses to global and shared memory.".into(),
            chinese: "每个线程在寄存器中翻转一个 4x4 的块；对全局和共享内存都以 16 字节访问。".into(),
            because: "Runs of 256 bytes on both sides and a quarter of the memory instructions.".into(),
            chinese_because: "两侧都是 256 字节的连续段，访存指令只有四分之一。".into(),
            accepts: Accepts::ALL,
            switches: vector_switches().into(),
            aliases: output_chunk().into(),
            shared_elements: 64 * 64,
        }),
        rung!("transpose", "ordered", block [256, 1, 1], Grid::TilesLinear { x: 64, y: 64 }, {
            idea: "The tiles are walked so that blocks running together continue the same output rows.".into(),
            chinese: "安排分块的次序，使同时运行的线程块接着写相同的输出行。".into(),
            because: "Memory sees long runs of writes instead of a tile here and there.".into(),
            chinese_because: "内存看到的是长段的写入，而不是零散的分块。".into(),
            accepts: Accepts::ALL,
            switches: vector_switches().into(),
            aliases: output_chunk().into(),
            shared_elements: 64 * 64,
        }),
    ];
    ladder.extend(TILES.iter().map(any_width));
    ladder.push(kept(any_width(&TILES[0])));
    ladder.push(in_pairs(kept(any_width(&TILES[0])), "pairs", &[4]));
    for tile in &SMALL_TILES {
        ladder.push(for_small_matrices(in_pairs(kept(any_width(tile)), tile.variant, tile.widths)));
    }
    ladder.extend([
        sheared(WIDE, WGSL_WIDE, "wide"),
        sheared(NARROW, WGSL_NARROW, "narrow"),
        skinny(),
        kept(skinny()),
        gathered(),
        batched_small(),
    ]);
    ladder
});

/// A tile of `any_width`, in chunks of 16 bytes: `down` of them cover the rows of its input tile,
/// `across` the columns.
struct Tile {
    variant: &'static str,
    /// Widths in bytes that it is for, in CUDA and WGSL.
    widths: &'static [u64],
    /// Chunks down and across, and 16-byte square blocks of a thread, by width (1, 2, 4, 8, 16 bytes) in CUDA.
    cuda: [(u32, u32, u32); 5],
    /// The same in WGSL.
    wgsl: [(u32, u32, u32); 5],
}

/// One tile for every width.
const fn same(down: u32, across: u32) -> [(u32, u32, u32); 5] {
    [(down, across, 1); 5]
}

const fn tile(variant: &'static str, widths: &'static [u64], down: u32, across: u32) -> Tile {
    Tile { variant, widths, cuda: same(down, across), wgsl: same(down, across) }
}

const PARTS_OF_CHUNKS: &[u64] = &[1, 2, 4, 8];

/// Tiles for batches of matrices that a square tile of bytes or halves would mostly miss: 64x64 elements, 128x128 bytes.
static SMALL_TILES: [Tile; 2] = [
    Tile { cuda: [(4, 4, 1), (8, 8, 1), (8, 8, 1), (8, 8, 1), (8, 8, 1)], ..tile("small", &[1, 2], 8, 8) },
    tile("medium", &[1], 8, 8),
];

/// Square tiles, then tiles for matrices with few columns, then for matrices with few rows.
static TILES: [Tile; 10] = [
    Tile {
        variant: "square",
        widths: ANY_WORD,
        cuda: [(16, 16, 1), (16, 16, 1), (16, 16, 1), (16, 16, 1), (32, 32, 4)],
        wgsl: [(16, 16, 1), (16, 16, 1), (16, 16, 1), (16, 16, 1), (32, 32, 4)],
    },
    tile("tall", &[4], 32, 16),
    Tile { cuda: narrow(1, 128), wgsl: narrow(1, 64), ..tile("columns_1", &[1, 2, 4], 256, 1) },
    Tile { wgsl: narrow(2, 64), ..tile("columns_2", PARTS_OF_CHUNKS, 128, 2) },
    tile("columns_4", PARTS_OF_CHUNKS, 64, 4),
    tile("columns_8", PARTS_OF_CHUNKS, 16, 8),
    tile("rows_1", &[1, 2, 4], 1, 256),
    tile("rows_2", PARTS_OF_CHUNKS, 2, 128),
    tile("rows_4", PARTS_OF_CHUNKS, 4, 64),
    tile("rows_8", PARTS_OF_CHUNKS, 8, 16),
];

/// Tiles of a few columns, with `bytes` chunks down for the narrowest elements, whose tiles are the largest.
const fn narrow(across: u32, bytes: u32) -> [(u32, u32, u32); 5] {
    let down = 256 / across;
    let halves = if across == 1 { 128 } else { down };
    [(bytes, across, 1), (halves, across, 1), (down, across, 1), (down, across, 1), (down, across, 1)]
}

fn any_width(tile: &Tile) -> Rung {
    /// Shared memory that does not cost occupancy: in WGSL a workgroup of 32 KiB halves it.
    const SHARED: [(Language, u32); 2] = [(Language::Cuda, 32 << 10), (Language::Wgsl, 16 << 10)];
    const CHUNK: u32 = 16;
    const CHUNK_WORDS: u32 = 4;
    let mut tunings = Vec::new();
    for (language, most) in SHARED {
        for &width in tile.widths {
            let by_width = if language == Language::Cuda { &tile.cuda } else { &tile.wgsl };
            let (down, across, blocks) = by_width[width.ilog2() as usize];
            let vector = CHUNK / width as u32;
            let (rows, cols) = (down * vector, across * vector);
            let bytes = rows * cols * width as u32;
            // A slice has whole words and whole elements of every chunk.
            let phases = bytes.div_ceil(most).next_power_of_two().min(vector).min(CHUNK_WORDS);
            let shared = bytes / phases;
            let dynamic = language == Language::Cuda;
            tunings.push(Tuning {
                language,
                element_size: width,
                constants: vec![("TILE_ROWS", rows), ("TILE_COLS", cols), ("BLOCKS", blocks), ("PHASES", phases)]
                    .into(),
                block: [down * across / blocks, 1, 1],
                grid: Grid::TilesDown { x: cols, y: rows },
                static_shared: if dynamic { 0 } else { shared },
                dynamic_shared: if dynamic { shared } else { 0 },
            });
        }
    }
    let streams: &'static [u32] = if tile.variant == "square" { &[1, 2, 4] } else { &[1] };
    rung!("transpose", "any_width", block [256, 1, 1], Grid::TilesDown { x: 64, y: 64 }, {
        variant: tile.variant.into(),
        idea: "Every width: a thread turns a block of elements one chunk wide and as many rows high.".into(),
        chinese: "任意元素宽度：每个线程翻转一个小块，宽一个单元，行数相同。".into(),
        because: "Runs of 256 bytes on both sides and 16 bytes per instruction for bytes and halves too.".into(),
        chinese_because: "两侧都是 256 字节的连续段，单字节和半精度元素也是每条指令 16 字节。".into(),
        accepts: Accepts::ALL,
        element_sizes: tile.widths.into(),
        wgsl_element_sizes: tile.widths.into(),
        switches: vec![Switch::new("STREAMS", streams)].into(),
        needs: aligned("VECTOR_INPUT", "VECTOR_OUTPUT", None).into(),
        tunings: tunings.into(),
    })
}

/// A rung whose reads carry a cache policy: CUDA alone has one.
fn kept(mut rung: Rung) -> Rung {
    rung.variant = "kept".into();
    rung.idea = "What was read is marked as the last to leave the L2.".into();
    rung.chinese = "读过的数据标记为最后离开 L2。".into();
    rung.because =
        "Memory moves the same bytes 1 to 2 % faster: written lines leave in longer runs, as far as one can tell."
            .into();
    rung.chinese_because = "同样的字节，内存搬运快 1 至 2 %：就所能判断的，写出的行以更长的连续段离开。".into();
    rung.cuda_needs = CudaNeeds { arch: Arch::Compute80, ..rung.cuda_needs };
    rung.wgsl = Source::Absent { because: "WGSL has no cache policies".into() };
    rung.wgsl_element_sizes = (&[]).into();
    let mut tunings = rung.tunings.into_owned();
    tunings.retain(|t| t.language == Language::Cuda);
    tunings.iter_mut().for_each(|t| t.constants.to_mut().push(("INPUT_LAST", 1)));
    rung.tunings = tunings.into();
    rung
}

/// A rung whose blocks two threads share.
fn in_pairs(mut rung: Rung, variant: &'static str, widths: &'static [u64]) -> Rung {
    const SHARE: u32 = 2;
    rung.variant = variant.into();
    rung.idea = "Two threads share a block, each with half of its rows.".into();
    rung.chinese = "两个线程分担一个小块，各占一半的行。".into();
    rung.because =
        "Half the bytes per thread: a multiprocessor full of threads has fewer of them on the way at a time.".into();
    rung.chinese_because = "每个线程的字节减半：多处理器满载线程时，同时在途的字节更少。".into();
    rung.element_sizes = widths.into();
    let mut tunings = rung.tunings.into_owned();
    tunings.retain(|t| widths.contains(&t.element_size));
    for tuning in &mut tunings {
        tuning.constants.to_mut().push(("SHARE", SHARE));
        tuning.block[0] *= SHARE;
    }
    rung.tunings = tunings.into();
    rung
}

fn for_small_matrices(mut rung: Rung) -> Rung {
    rung.idea = "A tile of 64x64 or 128x128 elements, and two threads to a block.".into();
    rung.chinese = "分块为 64x64 或 128x128 个元素，两个线程分担一个小块。".into();
    rung.because = "A small matrix of bytes or halves fills its tile and leaves no thread idle.".into();
    rung.chinese_because = "单字节或半精度的小矩阵填满分块，没有线程闲置。".into();
    rung
}

/// Both sides in chunks of 16 bytes.
fn aligned(input: &'static str, output: &'static str, language: Option<Language>) -> Vec<Need> {
    [(input, "input"), (output, "output")]
        .map(|(fact, side)| Need {
            language,
            fact: fact.into(),
            value: 1,
            because: format!("this rung takes rows of the {side} that start at multiples of 16 bytes").into(),
        })
        .to_vec()
}

/// TILE_ROWS, RUN, DEPTH and MIN_BLOCKS of `sheared` for 1, 2, 4 and 8 bytes in CUDA.
const WIDE: [[u32; 4]; 4] = [[128, 64, 10, 4], [128, 64, 18, 4], [64, 128, 5, 1], [32, 64, 5, 1]];
/// The same for matrices of at most 32 words in a row.
const NARROW: [[u32; 4]; 4] = [[128, 32, 5, 4], [128, 32, 6, 6], [64, 32, 5, 1], [32, 32, 5, 1]];
/// TILE_ROWS, RUN and DEPTH in WGSL: all of a warp's staged rows in one turn, and within 16 KiB where more gains nothing.
const WGSL_WIDE: [[u32; 3]; 4] = [[128, 32, 20], [96, 32, 14], [64, 32, 9], [32, 128, 5]];
/// The same within the 16 KiB that every WebGPU device has.
const WGSL_NARROW: [[u32; 3]; 4] = [[64, 32, 12], [96, 32, 14], [64, 32, 9], [32, 64, 5]];

fn sheared(cuda: [[u32; 4]; 4], wgsl: [[u32; 3]; 4], variant: &'static str) -> Rung {
    const WORD: u32 = 4;
    const CHUNK: u32 = 16;
    const SECTOR: u32 = 32;
    let mut tunings = Vec::new();
    for (index, &width) in PARTS_OF_CHUNKS.iter().enumerate() {
        let width = width as u32;
        let per_word = (WORD / width).max(1);
        let mut push = |language, rows: u32, run: u32, word: u32, constants: Vec<(&'static str, u32)>| {
            let cols = run * word.min(WORD.max(width)) / WORD.max(width) * per_word - (per_word - 1);
            tunings.push(Tuning {
                language,
                element_size: width.into(),
                constants: constants.into(),
                block: [256, 1, 1],
                grid: Grid::TilesLinear { x: cols, y: rows },
                static_shared: (rows + SECTOR / width + CHUNK / width) * run * word,
                dynamic_shared: 0,
            });
        };
        let [rows, run, depth, blocks] = cuda[index];
        let constants = vec![("TILE_ROWS", rows), ("RUN", run), ("DEPTH", depth), ("MIN_BLOCKS", blocks)];
        // A word of the CUDA kernel holds at least one element; in WGSL it has 4 bytes.
        push(Language::Cuda, rows, run, WORD.max(width), constants);
        let [rows, run, depth] = wgsl[index];
        push(Language::Wgsl, rows, run, WORD, vec![("TILE_ROWS", rows), ("RUN", run), ("DEPTH", depth)]);
    }
    rung!("transpose", "sheared", block [256, 1, 1], Grid::TilesLinear { x: 64, y: 64 }, {
        variant: variant.into(),
        idea: "The tile follows the shift of each output row, so that all stores but the ends are whole aligned chunks.".into(),
        chinese: "分块跟随每个输出行的偏移，除两端外所有写入都是对齐的整块。".into(),
        because: "Odd leading dimensions no longer cost whole sectors and wide stores.".into(),
        chinese_because: "奇数的行距不再让整扇区和宽写入失效。".into(),
        accepts: Accepts::ALL,
        element_sizes: PARTS_OF_CHUNKS.into(),
        wgsl_element_sizes: PARTS_OF_CHUNKS.into(),
        tunings: tunings.into(),
    })
}

/// The same tuning for every width and in both languages.
fn every_width(block: u32, grid: Grid, static_shared: impl Fn(Language, u32) -> u32) -> Vec<Tuning> {
    let mut tunings = Vec::new();
    for language in [Language::Cuda, Language::Wgsl] {
        for &element_size in ANY_WORD {
            tunings.push(Tuning {
                language,
                element_size,
                constants: (&[]).into(),
                block: [block, 1, 1],
                grid,
                static_shared: static_shared(language, element_size as u32),
                dynamic_shared: 0,
            });
        }
    }
    tunings
}

fn skinny() -> Rung {
    const THREADS: u32 = 128;
    const MOST: u32 = 8;
    const CHUNK: u32 = 16;
    let switch = |name: &'static str, values: &'static [u32]| Switch::new(name, values);
    let mut needs = vec![Need {
        language: None,
        fact: "SKINNY".into(),
        value: 1,
        because: "this rung takes matrices with 1 to 8 columns (or rows) and no gaps between them".into(),
    }];
    needs.extend(aligned("CHUNKED_INPUT", "CHUNKED_OUTPUT", Some(Language::Wgsl)));
    rung!("transpose", "skinny", block [128, 1, 1], Grid::LongSideBytes { per_block: THREADS * CHUNK }, {
        idea: "A few columns are a list of records, taken apart and put together in registers.".into(),
        chinese: "只有几列的矩阵是一串记录，在寄存器中拆开再拼好。".into(),
        because: "A square tile would be mostly empty; here every access is a chunk of a contiguous run.".into(),
        chinese_because: "方形分块大部分会是空的；这里每次访问都是连续段中的一块。".into(),
        accepts: Accepts::ALL,
        element_sizes: ANY_WORD.into(),
        wgsl_element_sizes: ANY_WORD.into(),
        constants: vec![("THREADS", THREADS)].into(),
        switches: vec![
            switch("NARROW", &[1, 2, 3, 4, 5, 6, 7, 8]),
            switch("NARROW_INPUT", &[1, 0]),
        ]
        .into(),
        needs: needs.into(),
        tunings: every_width(THREADS, Grid::LongSideBytes { per_block: THREADS * CHUNK }, |_, _| THREADS * MOST * CHUNK)
            .into(),
    })
}

fn gathered() -> Rung {
    const THREADS: u32 = 256;
    const MOST: u32 = 8;
    const CHUNK: u32 = 16;
    // Half a chunk of every long row for a thread.
    const RUN_BYTES: u32 = THREADS / 2 * CHUNK;
    let grid = Grid::LongSideBytes { per_block: RUN_BYTES };
    let mut needs = vec![Need {
        language: None,
        fact: "SEVERAL".into(),
        value: 1,
        because: "this rung takes matrices with 3 to 8 columns (or rows) and no gaps between them".into(),
    }];
    needs.extend(aligned("CHUNKED_INPUT", "CHUNKED_OUTPUT", None));
    rung!("transpose", "gathered", no wgsl "the gain over skinny was measured with a cache policy, and WGSL has none", block [THREADS, 1, 1], Grid::LongSideBytes { per_block: RUN_BYTES }, {
        idea: "A thread moves half a chunk of every long row, gathered element by element from shared memory.".into(),
        chinese: "每个线程只搬运每个长行的半个单元，逐元素从共享内存中收集。".into(),
        because: "Less waits for a barrier at a time than where a thread owns whole records; what was read leaves the caches last.".into(),
        chinese_because: "与一个线程拥有整条记录相比，同时等待屏障的更少；读过的数据最后离开缓存。".into(),
        accepts: Accepts::ALL,
        element_sizes: WHOLE_WORDS.into(),
        wgsl_element_sizes: (&[]).into(),
        constants: vec![("THREADS", THREADS)].into(),
        switches: vec![Switch::new("NARROW", &[3, 4, 5, 6, 7, 8]), Switch::new("NARROW_INPUT", &[1, 0])].into(),
        needs: needs.into(),
        cuda_needs: CudaNeeds { arch: Arch::Compute80, dynamic_shared: 0, tensor_maps: (&[]).into() },
        tunings: every_width(THREADS, grid, |_, _| RUN_BYTES * MOST)
            .into_iter()
            .filter(|t| t.language == Language::Cuda && WHOLE_WORDS.contains(&t.element_size))
            .collect::<Vec<_>>()
            .into(),
    })
}

/// Bytes of the matrices of a block of `batched_small`: with the padding, WGSL stays within 16 KiB.
pub(super) const STAGE_BYTES: [(Language, u32); 2] = [(Language::Cuda, 16_384), (Language::Wgsl, 15_360)];

fn batched_small() -> Rung {
    const THREADS: u32 = 256;
    const BANKS: u32 = 128;
    const WORD: u32 = 4;
    const CHUNK: u32 = 16;
    let mut tunings = Vec::new();
    for (language, stage) in STAGE_BYTES {
        let grid = Grid::Matrices { per_block: stage };
        let shared = |_, width: u32| {
            // The CUDA kernel's words hold at least one element, and its runs may start inside a chunk.
            let (word, more) = if language == Language::Cuda { (WORD.max(width), 2 * CHUNK) } else { (WORD, 0) };
            let staged = (stage + more) / word;
            (staged + staged / (BANKS / word) + 1) * word
        };
        let of_language = every_width(THREADS, grid, shared).into_iter().filter(|t| t.language == language);
        tunings.extend(of_language.map(|t| Tuning { constants: vec![("STAGE_BYTES", stage)].into(), ..t }));
    }
    let need = |language, fact: &'static str, because: &'static str| Need {
        language,
        fact: fact.into(),
        value: 1,
        because: because.into(),
    };
    rung!("transpose", "batched_small", block [256, 1, 1], Grid::Matrices { per_block: 16_384 }, {
        idea: "Small matrices one behind the other are one long array; only shared memory knows their shape.".into(),
        chinese: "一个接一个的小矩阵就是一个长数组；只有共享内存知道它们的形状。".into(),
        because: "No tile is left mostly empty, and a block moves one contiguous run on both sides.".into(),
        chinese_because: "没有大部分空着的分块，一个线程块在两侧都搬运一个连续段。".into(),
        accepts: Accepts::ALL,
        element_sizes: ANY_WORD.into(),
        wgsl_element_sizes: ANY_WORD.into(),
        needs: vec![
            need(None, "GAP_FREE", "this rung takes matrices without gaps, one behind the other"),
            need(None, "SMALL", "this rung takes matrices of at most 15 KiB"),
            need(Some(Language::Wgsl), "WHOLE_CHUNKS", "this rung takes runs of matrices that start at multiples of 16 bytes"),
        ]
        .into(),
        tunings: tunings.into(),
    })
}
