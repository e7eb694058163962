//! The ladder of products on matrix units in CUDA: f16 and bf16, and TF32. f32 results from shorter parts are in
//! [`ladder_split`](super::ladder_split).
//!
//! No rung has a WGSL twin under its name: what WGSL can say of matrix units is in rungs of its own.

use super::ladder_f32::transposes;
use crate::problem::Precision;
use crate::rung::{
    Accepts, Arch, CudaNeeds, Grid, Matrices, Need, Operand, Pass, PassKernel, Rung, Source, Stored, Switch,
    TensorMapRow, Workspace, rung,
};
use std::borrow::Cow;

pub(super) const NO_WGSL: &str = "WGSL reaches matrix units only through its cooperative matrices";

/// The rungs, from the first to the top, for 16-bit elements and for TF32.
pub(super) fn rungs() -> Vec<Rung> {
    let mut rungs = vec![tensor_core(), ldmatrix_pipelined(), wgmma(), warp_specialised(), persistent()];
    rungs.extend([async_store("", 256, 4), async_store("128", 128, 6), async_store("64", 64, 8)]);
    rungs.extend([even_shares(), swapped_shares("swapped", 256, 4, STORE_BUFFERS)]);
    rungs.extend([narrower_shares("224", 224, 4, STORE_BUFFERS), narrower_shares("192", 192, 5, 1)]);
    rungs.extend([narrower_shares("160", 160, 5, 1), narrower_shares("144", 144, 5, 1)]);
    rungs.extend([swapped_shares("swapped160", 160, 5, 1), swapped_shares("swapped144", 144, 5, 1)]);
    rungs.extend([split_k("128x256", 2, 256, 4), split_k("192x192", 3, 192, 4), split_k("128x128", 2, 128, 5)]);
    rungs.extend([as_inputs(split_k("128x192", 2, 192, 5)), undivided(), undivided_224()]);
    rungs.extend([small_split_k("64x64"), few_rows("32x64", SOME), few_rows("16x64", FEW)]);
    rungs.extend([copied_ldmatrix(), copied_persistent()]);
    rungs.extend([tf32_async_store(), register_operand(), copied_register_operand()]);
    rungs
}

/// Which 16-bit type the inputs have, and whether the output is f32.
fn types() -> Vec<Switch> {
    vec![Switch::new("BF16", &[1, 0][..]), Switch::new("OUTPUT_F32", &[0, 1][..])]
}

fn types_and_layouts() -> Vec<Switch> {
    types().into_iter().chain(transposes()).collect()
}

fn need(fact: &'static str, value: u32, because: &'static str) -> Need {
    Need { language: None, fact: fact.into(), value, because: because.into() }
}

const ROWS_ALIGNED: &str = "the rows of a and b must start at multiples of 16 bytes; a @copied rung takes others";
const FILLED: &str =
    "a and b must have elements, in rows that start at multiples of 16 bytes; a @copied rung takes others";

/// What kernels ask whose copies are of 16 bytes.
fn aligned_inputs() -> Vec<Need> {
    vec![need("VECTOR_A", 1, ROWS_ALIGNED), need("VECTOR_B", 1, ROWS_ALIGNED)]
}

/// What kernels ask that have no loop for an empty sum.
fn filled_inputs() -> Vec<Need> {
    vec![need("TMA_A", 1, FILLED), need("TMA_B", 1, FILLED)]
}

/// Elements along a line of a swizzled box: 128 bytes of them.
pub(super) const LINE_16: u32 = 64;
pub(super) const LINE_32: u32 = 32;
const SWIZZLE: u32 = 128;
pub(super) const LINE_BYTES: u32 = 128;
/// What the kernels align their first stage to.
pub(super) const ALIGNMENT: u32 = 1024;
/// Two barriers of a stage.
pub(super) const BARRIER_BYTES: u32 = 16;

/// Bytes of a ring of stages of a line's width along k.
const fn ring(stages: u32, block_m: u32, block_n: u32) -> u32 {
    ALIGNMENT + stages * ((block_m + block_n) * LINE_BYTES + BARRIER_BYTES)
}

pub(super) const fn map(operand: Operand, block: [u32; 2], when: Option<(&'static str, u32)>) -> TensorMapRow {
    TensorMapRow { operand, block, swizzle: SWIZZLE, when, tf32: false }
}

/// The maps of both operands: along k a line of the whole tile, else square boxes.
fn input_maps(operands: [Operand; 2], block_m: u32, block_n: u32) -> Vec<TensorMapRow> {
    let [a, b] = operands;
    vec![
        map(a, [LINE_16, block_m], Some(("TRANSPOSE_A", 0))),
        map(a, [LINE_16, LINE_16], Some(("TRANSPOSE_A", 1))),
        map(b, [LINE_16, block_n], Some(("TRANSPOSE_B", 1))),
        map(b, [LINE_16, LINE_16], Some(("TRANSPOSE_B", 0))),
    ]
}

const INPUTS: [Operand; 2] = [Operand::Input(0), Operand::Input(1)];
/// Copies of both operands.
const COPIES: [Operand; 2] = [Operand::WorkspaceIn(0), Operand::WorkspaceIn(1)];

pub(super) fn cuda_needs(arch: Arch, dynamic_shared: u32, tensor_maps: Vec<TensorMapRow>) -> CudaNeeds {
    CudaNeeds { arch, dynamic_shared, tensor_maps: tensor_maps.into() }
}

fn sixteen(rung: Rung) -> Rung {
    Rung { element_sizes: (&[2]).into(), wgsl: Source::Absent { because: NO_WGSL.into() }, ..rung }
}

fn tensor_core() -> Rung {
    sixteen(rung!("matmul", "tensor_core", no wgsl "", block [256, 1, 1], Grid::Tiles { x: 128, y: 128 }, {
        idea: "Tensor cores multiply: a warp hands over 16 x 16 and 16 x 8 elements at a time.".into(),
        chinese: "张量核做乘法：线程束每次交出 16 x 16 和 16 x 8 个元素。".into(),
        because: "One instruction does what 64 multiply-adds of a warp did, and 16-bit elements halve the traffic.".into(),
        chinese_because: "一条指令完成线程束 64 次乘加的工作，16 位元素又使访存量减半。".into(),
        accepts: Accepts { leading_dimension: true, offset: true, scaling: true, ..Accepts::PACKED },
        needs: aligned_inputs().into(),
        switches: types().into(),
        cuda_needs: cuda_needs(Arch::Compute80, 0, Vec::new()),
    }))
}

fn ldmatrix_pipelined() -> Rung {
    const STAGES: u32 = 3;
    const BLOCK_K: u32 = 64;
    sixteen(
        rung!("matmul", "ldmatrix_pipelined", no wgsl "", block [128, 1, 1], Grid::TilesLinear { x: 128, y: 128 }, {
            idea: "Asynchronous copies fill a ring of stages; ldmatrix hands four 8 x 8 blocks to a warp at once.".into(),
            chinese: "异步复制填充多级的环；ldmatrix 一次交给线程束四个 8 x 8 块。".into(),
            because: "The latency of memory passes during the products, and shared memory is read in whole wavefronts.".into(),
            chinese_because: "内存的延迟在乘法期间度过，共享内存以整个波前读取。".into(),
            accepts: Accepts::ALL,
            needs: aligned_inputs().into(),
            constants: vec![("BLOCK_K", BLOCK_K), ("STAGES", STAGES)].into(),
            switches: types_and_layouts().into(),
            cuda_needs: cuda_needs(Arch::Compute80, STAGES * (128 + 128) * BLOCK_K * 2, Vec::new()),
        }),
    )
}

fn wgmma() -> Rung {
    sixteen(rung!("matmul", "wgmma", no wgsl "", block [128, 1, 1], Grid::Tiles { x: 128, y: 128 }, {
        idea: "Four warps multiply together, straight from shared memory, which bulk copies fill.".into(),
        chinese: "四个线程束共同相乘，直接取自由批量复制填充的共享内存。".into(),
        because: "No operand passes through registers; tensor cores reach their full rate only so.".into(),
        chinese_because: "操作数不经过寄存器；张量核只有这样才能达到全速。".into(),
        accepts: Accepts { transposed: false, ..Accepts::ALL },
        needs: filled_inputs().into(),
        switches: fixed_layout().into(),
        cuda_needs: cuda_needs(Arch::Sm90a, 0, input_maps(INPUTS, 128, 128)),
    }))
}

/// The types of a kernel that takes operands as they lie; the rungs above it take the other layouts.
fn fixed_layout() -> Vec<Switch> {
    types().into_iter().chain(["TRANSPOSE_A", "TRANSPOSE_B"].map(|name| Switch::new(name, &[0][..]))).collect()
}

fn warp_specialised() -> Rung {
    sixteen(rung!("matmul", "warp_specialised", no wgsl "", block [384, 1, 1], Grid::Tiles { x: 256, y: 128 }, {
        idea: "One warp keeps a ring of stages filled; two groups of four warps only multiply.".into(),
        chinese: "一个线程束不断填满环；两组各四个线程束只做乘法。".into(),
        because: "Copies run ahead without stopping the products, and a larger tile reads less.".into(),
        chinese_because: "复制提前进行而不打断乘法，更大的分块读取更少。".into(),
        accepts: Accepts { transposed: false, ..Accepts::ALL },
        needs: filled_inputs().into(),
        switches: fixed_layout().into(),
        cuda_needs: cuda_needs(Arch::Sm90a, ring(4, 128, 256), input_maps(INPUTS, 128, 256)),
    }))
}

/// Blocks of `persistent` that share a tile of b.
pub(super) const PAIR: u32 = 2;
const PERSISTENT: Grid = Grid::PersistentClusters { cluster: PAIR, x: 256, y: 128 * PAIR };

fn persistent() -> Rung {
    sixteen(rung!("matmul", "persistent", no wgsl "", block [384, 1, 1], PERSISTENT, {
        idea: "Blocks stay and take tile after tile; two neighbours share what they read of b.".into(),
        chinese: "线程块常驻，逐个取分块；两个相邻者共用读到的 b。".into(),
        because: "The next tile's copies begin while this one ends, and half of b's copies are saved.".into(),
        chinese_because: "当前分块结束时下一块的复制已经开始，并且省去 b 的一半复制。".into(),
        accepts: Accepts::ALL,
        needs: aligned_inputs().into(),
        switches: types_and_layouts().into(),
        cuda_needs: cuda_needs(Arch::Sm90a, ring(4, 128, 256), input_maps(INPUTS, 128, 256 / PAIR)),
    }))
}

/// Bytes of a warp's buffer on the way out.
const STORE_BYTES: u32 = 2048;
/// Buffers of a warp.
const STORE_BUFFERS: u32 = 2;
/// Warps that multiply.
const CONSUMER_WARPS: u32 = 8;
const STORES: u32 = CONSUMER_WARPS * STORE_BUFFERS * STORE_BYTES;
/// Rows of C in a box of a bulk store.
const STORE_ROWS: u32 = 16;

/// The maps of c for bulk stores of 16 rows.
fn output_maps() -> [TensorMapRow; 2] {
    [(LINE_16, 0), (LINE_32, 1)]
        .map(|(line, is_f32)| map(Operand::Output(0), [line, STORE_ROWS], Some(("OUTPUT_F32", is_f32))))
}

const C_ALIGNED: &str = "the rows of c must start at multiples of 16 bytes; persistent takes others";

fn async_store(variant: &'static str, block_n: u32, stages: u32) -> Rung {
    let mut maps = input_maps(INPUTS, 128, block_n);
    maps.extend(output_maps());
    let mut rung = sixteen(rung!("matmul", "async_store", no wgsl "", block [384, 1, 1], Grid::Fixed { blocks: 0 }, {
        variant: variant.into(),
        idea: "C leaves through shared memory by bulk stores.".into(),
        chinese: "C 经共享内存由批量存储写出。".into(),
        because: "Stores are whole lines and run beside the next tile's products; smaller tiles fill the machine for smaller C.".into(),
        chinese_because: "写入是整行，并与下一块的乘法同时进行；C 较小时用更小的分块填满设备。".into(),
        accepts: Accepts::ALL,
        constants: vec![("BLOCK_N", block_n), ("STAGES", stages), ("CLUSTER", 1)].into(),
        switches: types_and_layouts().into(),
        cuda_needs: cuda_needs(Arch::Sm90a, ring(stages, 128, block_n) + STORES, maps),
    }));
    rung.needs = filled_inputs().into_iter().chain([need("VECTOR_C", 1, C_ALIGNED)]).collect();
    rung.passes = vec![Pass::new([384, 1, 1], Grid::PersistentClusters { cluster: 1, x: block_n, y: 128 })].into();
    rung
}

/// Every block takes its share of the tiles; the kernel cuts them so that the shares are even.
const fn shares(x: u32, y: u32) -> Grid {
    Grid::Persistent { per_sm: 1, x, y }
}

/// Bytes that tell the consumers of `even_shares` their tiles.
const TOLD_BYTES: u32 = 128;

/// A ring of whole boxes, a warp's buffers and the tiles.
const fn shared_for_shares(block_n: u32, stages: u32, buffers: u32) -> u32 {
    ring(stages, 128, block_n.next_multiple_of(LINE_16)) + CONSUMER_WARPS * buffers * STORE_BYTES + TOLD_BYTES
}

/// Tiles of `block_n` columns and some narrower ones; how many stages and buffers of a warp fit into shared memory.
fn shared_out(variant: &'static str, block_n: u32, stages: u32, buffers: u32) -> Rung {
    let mut maps = input_maps(INPUTS, 128, block_n);
    maps.extend(output_maps());
    let shared = shared_for_shares(block_n, stages, buffers);
    let mut rung = sixteen(rung!("matmul", "even_shares", no wgsl "", block [384, 1, 1], Grid::Fixed { blocks: 0 }, {
        variant: variant.into(),
        idea: "Tiles of two widths, so that every multiprocessor has the same to do.".into(),
        chinese: "分块有两种宽度，使每个多处理器的工作量相同。".into(),
        because: "The last round of equal tiles leaves multiprocessors idle, at 4096 four of 132 in every round; a column of tiles more, some a little narrower, gives them their share.".into(),
        chinese_because: "大小相同的分块在最后一轮会让多处理器闲置，在 4096 时每轮 132 个中有 4 个；多分一列、其中一些稍窄，就让它们也有份。".into(),
        accepts: Accepts::ALL,
        constants: vec![("BLOCK_N", block_n)].into(),
        switches: types_and_layouts().into(),
        cuda_needs: cuda_needs(Arch::Sm90a, shared, maps),
    }));
    rung.needs = filled_inputs().into_iter().chain([need("VECTOR_C", 1, C_ALIGNED)]).collect();
    rung.passes = vec![Pass::new([384, 1, 1], shares(block_n, 128))].into();
    rung
}

fn even_shares() -> Rung {
    shared_out("", 256, 4, STORE_BUFFERS)
}

/// For C of so few tiles that the widths of the others cannot be even. Where the ring has a place for one more stage it
/// is worth more than a second buffer.
fn narrower_shares(variant: &'static str, block_n: u32, stages: u32, buffers: u32) -> Rung {
    let mut rung = shared_out(variant, block_n, stages, buffers);
    buffered(&mut rung, stages, buffers);
    as_inputs(rung)
}

/// Says how shared memory is divided, where that is not as in `even_shares`.
fn buffered(rung: &mut Rung, stages: u32, buffers: u32) {
    if buffers != STORE_BUFFERS {
        rung.constants.to_mut().extend([("STAGES", stages), ("STORE_BUFFERS", buffers)]);
    }
}

/// For outputs of the inputs' type only.
fn as_inputs(mut rung: Rung) -> Rung {
    const TYPE: &str = "this rung stores c in the type of a and b";
    rung.constants.to_mut().push(("OUTPUT_F32", 0));
    rung.switches.to_mut().retain(|switch| switch.name != "OUTPUT_F32");
    rung.needs.to_mut().push(need("OUTPUT_F32", 0, TYPE));
    rung
}

/// NN with the product turned: its columns, whose number the widths divide, are rows of a and lie along k.
fn swapped_shares(variant: &'static str, block_n: u32, stages: u32, buffers: u32) -> Rung {
    const NN: &str = "this rung takes a and b as they are stored for NN, and stores c in their type";
    let maps = vec![
        map(INPUTS[0], [LINE_16, block_n], None),
        map(INPUTS[1], [LINE_16, LINE_16], None),
        map(Operand::Output(0), [LINE_16, STORE_ROWS], None),
    ];
    let mut rung = sixteen(rung!("matmul", "even_shares", no wgsl "", block [384, 1, 1], Grid::Fixed { blocks: 0 }, {
        variant: variant.into(),
        idea: "The operands change places: the transposed product, stored turned.".into(),
        chinese: "两个操作数互换位置：计算转置的积，并转置存放。".into(),
        because: "Widths lie along m then, where a tile of a may start at any row; along n tiles of b must start at multiples of 32 bytes.".into(),
        chinese_because: "这时宽度沿 m 方向，a 的分块可以从任意行开始；沿 n 方向时 b 的分块必须从 32 字节的倍数开始。".into(),
        accepts: Accepts::ALL,
        constants: vec![("SWAPPED", 1), ("OUTPUT_F32", 0), ("TRANSPOSE_A", 0), ("TRANSPOSE_B", 0)].into(),
        switches: vec![Switch::new("BF16", &[1, 0][..])].into(),
        cuda_needs: cuda_needs(Arch::Sm90a, shared_for_shares(block_n, stages, buffers), maps),
    }));
    rung.passes = vec![Pass::new([384, 1, 1], shares(128, block_n))].into();
    if block_n != 256 {
        rung.constants.to_mut().push(("BLOCK_N", block_n));
    }
    buffered(&mut rung, stages, buffers);
    let plain = ["OUTPUT_F32", "TRANSPOSE_A", "TRANSPOSE_B"].map(|fact| need(fact, 0, NN));
    rung.needs = filled_inputs().into_iter().chain([need("VECTOR_C", 1, C_ALIGNED)]).chain(plain).collect();
    rung
}

fn split_k(variant: &'static str, consumers: u32, block_n: u32, stages: u32) -> Rung {
    const SPLIT: u32 = 2;
    let (block_m, threads) = (consumers * 64, (consumers + 1) * 128);
    let registers = if consumers == 3 { [32, 160] } else { [24, 240] };
    let mut rung = sixteen(rung!("matmul", "split_k", no wgsl "", block [384, 1, 1], Grid::Fixed { blocks: 0 }, {
        variant: variant.into(),
        idea: "The blocks of a cluster divide the k of one tile and add their sums in each other's shared memory.".into(),
        chinese: "一个集群的线程块分担一个分块的 k，在彼此的共享内存中相加。".into(),
        because: "Few tiles with a long k fill the machine, without a workspace and with the same bits every time.".into(),
        chinese_because: "k 很长的少数分块也能填满设备，不需要工作区，并且每次得到同样的位。".into(),
        accepts: Accepts::ALL,
        needs: filled_inputs().into(),
        constants: vec![
            ("CONSUMERS", consumers), ("BLOCK_N", block_n), ("STAGES", stages), ("SPLIT", SPLIT),
            ("PRODUCER_REGISTERS", registers[0]), ("CONSUMER_REGISTERS", registers[1]),
        ].into(),
        switches: types_and_layouts().into(),
        cuda_needs: cuda_needs(Arch::Sm90a, ring(stages, block_m, block_n), input_maps(INPUTS, block_m, block_n)),
    }));
    let grid = Grid::TileClusters { cluster: SPLIT, x: block_n, y: block_m };
    rung.passes = vec![Pass::new([threads, 1, 1], grid)].into();
    rung
}

/// A constant's other value.
fn set(rung: &mut Rung, name: &str, value: u32) {
    for constant in rung.constants.to_mut().iter_mut().filter(|constant| constant.0 == name) {
        constant.1 = value;
    }
}

/// For about as many tiles as multiprocessors: the largest that three groups of warps hold, with nothing to add.
fn undivided() -> Rung {
    let mut rung = as_inputs(split_k("undivided", 3, 192, 4));
    set(&mut rung, "SPLIT", 1);
    rung.idea = "One block takes the whole k of a tile of 192 x 192.".into();
    rung.chinese = "一个线程块负责 192 x 192 分块的全部 k。".into();
    rung.because = "C of at most as many such tiles as there are multiprocessors has one round of them; of smaller tiles it would have two, the last with little to do.".into();
    rung.chinese_because =
        "C 的这种分块不多于多处理器时只需一轮；更小的分块则需要两轮，而最后一轮几乎没有工作。".into();
    rung.passes = vec![Pass::new([512, 1, 1], Grid::TileClusters { cluster: 1, x: 192, y: 192 })].into();
    rung
}

/// The same with two groups of warps, for a long b that runs along k.
fn undivided_224() -> Rung {
    const ALONG_K: &str = "this rung takes b that runs along k";
    let mut rung = as_inputs(split_k("128x224", 2, 224, 5));
    set(&mut rung, "SPLIT", 1);
    rung.idea = "One block takes the whole k of a tile of 128 x 224.".into();
    rung.chinese = "一个线程块负责 128 x 224 分块的全部 k。".into();
    rung.because =
        "Few rows of a and a long b are one round of such tiles, and what is read once leaves L2 first.".into();
    rung.chinese_because = "a 的行数少而 b 很长时只需一轮这种分块，只读一次的数据先离开 L2。".into();
    rung.constants.to_mut().push(("TRANSPOSE_B", 1));
    rung.switches.to_mut().retain(|switch| switch.name != "TRANSPOSE_B");
    rung.needs.to_mut().push(need("TRANSPOSE_B", 1, ALONG_K));
    let maps = rung.cuda_needs.tensor_maps.to_mut();
    maps.retain(|row| row.operand != INPUTS[1]);
    maps.push(map(INPUTS[1], [LINE_16, 224], None));
    rung.passes = vec![Pass::new([384, 1, 1], Grid::TileClusters { cluster: 1, x: 224, y: 128 })].into();
    rung
}

/// For a of at most 64 rows: two blocks on a multiprocessor keep more of b on its way.
fn small_split_k(variant: &'static str) -> Rung {
    let mut rung = split_k(variant, 1, 64, 6);
    set(&mut rung, "CONSUMER_REGISTERS", 232);
    rung.constants.to_mut().push(("BLOCKS_PER_SM", 2));
    rung
}

/// A fact about problems and the most rows of a that it allows.
type Rows = (&'static str, u32);
/// What `split_k@16x64` and `split_k@32x64` take.
pub(super) const FEW: Rows = ("FEW_ROWS", 16);
pub(super) const SOME: Rows = ("SOME_ROWS", 32);

/// For a of fewer rows, as they lie: copies bring no more than those, since rows outside a take them as long as others.
fn few_rows(variant: &'static str, (fact, rows): Rows) -> Rung {
    const TOO_MANY: &str = "this rung takes no more rows of a than its name says";
    const AS_IT_LIES: &str = "this rung takes a that runs along k";
    let mut rung = small_split_k(variant);
    rung.constants.to_mut().extend([("A_ROWS", rows), ("TRANSPOSE_A", 0)]);
    rung.switches.to_mut().retain(|switch| switch.name != "TRANSPOSE_A");
    rung.needs.to_mut().extend([need(fact, 1, TOO_MANY), need("TRANSPOSE_A", 0, AS_IT_LIES)]);
    let maps = rung.cuda_needs.tensor_maps.to_mut();
    maps.retain(|map| map.when != Some(("TRANSPOSE_A", 1)));
    maps[0] = map(INPUTS[0], [LINE_16, rows], None);
    rung
}

/// Blocks of a pass over an operand: each takes several turns.
pub(super) const OPERAND_BLOCKS: Grid = Grid::Fixed { blocks: 1056 };

/// The pass that copies an operand to the workspace of its number.
fn copy(operand: usize, turn: Switch) -> Pass {
    let stored = Switch::new("TRANSPOSED", &[0, 1][..]).asking(["TRANSPOSE_A", "TRANSPOSE_B"][operand]);
    Pass {
        suffix: ["copy_a", "copy_b"][operand].into(),
        bindings: Some(vec![Operand::Input(operand), Operand::WorkspaceOut(operand)].into()),
        dynamic_shared: Some(0),
        kernel: Some(PassKernel {
            name: "copy_operand".into(),
            cuda: Source::Text(Cow::Borrowed(rung!(@cuda "matmul", "copy_operand"))),
            arch: Arch::Compute70,
            wgsl: Source::Absent { because: NO_WGSL.into() },
            trusted: true,
            constants: vec![("OPERAND", operand as u32)].into(),
            switches: vec![stored, turn].into(),
        }),
        ..Pass::new([32, 8, 1], OPERAND_BLOCKS)
    }
}

/// A copy that is stored as its operand is.
fn as_it_lies() -> Switch {
    Switch::new("TURN", &[0][..])
}

fn matrices(input: usize, stored: Stored) -> Workspace {
    Workspace::Matrices(Matrices { input, element: None, parts: 1, stored })
}

/// A rung that copies both operands and then is the one given, compiled as that is.
fn copied(rung: Rung, turn_b: Switch, b_stored: Stored, maps: Vec<TensorMapRow>) -> Rung {
    let kernel = PassKernel {
        name: rung.name.clone(),
        cuda: rung.cuda.clone(),
        arch: rung.cuda_needs.arch,
        wgsl: rung.wgsl.clone(),
        trusted: true,
        constants: rung.constants.clone(),
        switches: rung.switches.clone(),
    };
    let product = Pass {
        bindings: Some(vec![COPIES[0], COPIES[1], Operand::Output(0)].into()),
        kernel: Some(kernel),
        ..rung.passes[0].clone()
    };
    Rung {
        variant: "copied".into(),
        idea: "Operands whose rows start anywhere are copied to where they do not.".into(),
        chinese: "起点任意的行先复制到对齐之处。".into(),
        because: "A copy costs a share of m or n of the product; slow loads would cost all of it.".into(),
        chinese_because: "复制的代价只占乘积的 m 或 n 分之一；慢的载入则会拖累全部。".into(),
        accepts: Accepts::ALL,
        needs: (&[]).into(),
        passes: vec![copy(0, as_it_lies()), copy(1, turn_b), product].into(),
        workspace: vec![matrices(0, Stored::AsInput), matrices(1, b_stored)].into(),
        cuda_needs: CudaNeeds { tensor_maps: maps.into(), ..rung.cuda_needs },
        ..rung
    }
}

fn copied_ldmatrix() -> Rung {
    copied(ldmatrix_pipelined(), as_it_lies(), Stored::AsInput, Vec::new())
}

fn copied_persistent() -> Rung {
    copied(persistent(), as_it_lies(), Stored::AsInput, input_maps(COPIES, 128, 256 / PAIR))
}

fn tf32(rung: Rung) -> Rung {
    Rung {
        precisions: (&[Precision::Tf32]).into(),
        wgsl: Source::Absent { because: NO_WGSL.into() },
        wgsl_element_sizes: (&[]).into(),
        ..rung
    }
}

const fn tf32_map(operand: Operand, rows: u32, when: Option<(&'static str, u32)>) -> TensorMapRow {
    TensorMapRow { tf32: true, ..map(operand, [LINE_32, rows], when) }
}

fn tf32_async_store() -> Rung {
    const ALONG_K: &str = "this rung takes operands that both run along k (NT)";
    let mut rung = tf32(rung!("matmul", "async_store", no wgsl "", block [384, 1, 1], PERSISTENT, {
        variant: "tf32".into(),
        idea: "The same for f32 that bulk copies round to TF32.".into(),
        chinese: "同样的做法，用于由批量复制舍入为 TF32 的 f32。".into(),
        because: "TF32 keeps the range of f32 and runs at half the rate of 16 bits: eight times that of f32.".into(),
        chinese_because: "TF32 保持 f32 的范围，速度是 16 位的一半：f32 的八倍。".into(),
        accepts: Accepts::ALL,
        constants: vec![("TF32", 1), ("OUTPUT_F32", 1), ("TRANSPOSE_A", 0), ("TRANSPOSE_B", 1), ("CLUSTER", PAIR)].into(),
        cuda_needs: cuda_needs(Arch::Sm90a, ring(4, 128, 256) + STORES, vec![
            tf32_map(INPUTS[0], 128, None),
            tf32_map(INPUTS[1], 256 / PAIR, None),
            map(Operand::Output(0), [LINE_32, STORE_ROWS], None),
        ]),
    }));
    let layout = [need("TRANSPOSE_A", 0, ALONG_K), need("TRANSPOSE_B", 1, ALONG_K)];
    rung.needs = filled_inputs().into_iter().chain([need("VECTOR_C", 1, C_ALIGNED)]).chain(layout).collect();
    rung
}

/// The tile of a cluster lies along the operand that goes through registers.
static REGISTER_OPERAND: &[(&[(&str, u32)], Grid)] = &[
    (&[("TRANSPOSE_A", 0)], Grid::PersistentClusters { cluster: PAIR, x: 128 * PAIR, y: 256 }),
    (&[("TRANSPOSE_A", 1)], Grid::PersistentClusters { cluster: PAIR, x: 256, y: 128 * PAIR }),
];

/// The maps of `register_operand`: boxes of the operand that goes through registers, lines of the other.
fn register_maps([a, b]: [Operand; 2]) -> Vec<TensorMapRow> {
    vec![
        tf32_map(a, 256 / PAIR, Some(("TRANSPOSE_A", 0))),
        tf32_map(a, LINE_32, Some(("TRANSPOSE_A", 1))),
        tf32_map(b, LINE_32, Some(("TRANSPOSE_A", 0))),
        tf32_map(b, 256 / PAIR, Some(("TRANSPOSE_A", 1))),
    ]
}

fn register_operand() -> Rung {
    const ONE_ALONG_K: &str = "this rung takes operands of which one runs along k (NN and TT)";
    let mut rung =
        tf32(rung!("matmul", "register_operand", no wgsl "", block [384, 1, 1], Grid::BySwitch(REGISTER_OPERAND), {
            idea: "The operand that does not run along k goes through registers.".into(),
            chinese: "不沿 k 存放的操作数经寄存器送入。".into(),
            because: "TF32 products read shared memory only along k; registers take any order.".into(),
            chinese_because: "TF32 乘积只能沿 k 读共享内存；寄存器则可用任意次序。".into(),
            accepts: Accepts::ALL,
            switches: vec![Switch::new("TRANSPOSE_A", &[0, 1][..]).with(&["TRANSPOSE_B"])].into(),
            cuda_needs: cuda_needs(Arch::Sm90a, ring(4, 128, 256), register_maps(INPUTS)),
        }));
    rung.needs = aligned_inputs().into_iter().chain([need("SAME_LAYOUT", 1, ONE_ALONG_K)]).collect();
    rung
}

/// Any layout and alignment: b is stored transposed where a is.
fn copied_register_operand() -> Rung {
    let turn = Switch::new("TURN", &[0, 1][..]).asking("MIXED_LAYOUT");
    copied(register_operand(), turn, Stored::As(0), register_maps(COPIES))
}
