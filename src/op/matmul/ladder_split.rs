//! f32 results from products of shorter numbers on matrix units, in CUDA: f32 as sums of f16, bf16 or TF32 parts.

use super::ladder_f32::transposes;
use super::ladder_tensor::{
    ALIGNMENT, BARRIER_BYTES, LINE_16, LINE_32, LINE_BYTES, NO_WGSL, OPERAND_BLOCKS, PAIR, cuda_needs, map,
};
use crate::element::Element;
use crate::problem::Precision;
use crate::rung::{
    Accepts, Arch, Grid, Matrices, Operand, Pass, PassKernel, Rung, Source, Stored, Switch, TensorMapRow, Workspace,
    rung,
};
use std::borrow::Cow;

/// The rungs, by their parts.
pub(super) fn rungs() -> Vec<Rung> {
    vec![split_products("f16", Precision::SplitF16), split_products("bf16", Precision::SplitBf16), split_tf32()]
}

/// Words of the pass that finds the scale, one for each of its blocks.
const SCALE_BLOCKS: u32 = 264;

/// Workspaces of a split product: for a and for b the scale's words, its inverse, and the parts.
const WORDS: [usize; 2] = [0, 1];
const INVERSE: [usize; 2] = [2, 3];
const PARTS: [usize; 2] = [4, 5];

/// A pass over one operand before the products.
fn split_pass(
    name: &'static str,
    text: &'static str,
    operand: usize,
    bf16: Option<u32>,
    bindings: Vec<Operand>,
) -> Pass {
    let constants = [("OPERAND", operand as u32)].into_iter().chain(bf16.map(|bf16| ("BF16", bf16)));
    let blocks = if bf16.is_some() { OPERAND_BLOCKS } else { Grid::Fixed { blocks: SCALE_BLOCKS } };
    // One of them is not the operand's and makes no difference.
    let stored = [["TRANSPOSE_A"], ["TRANSPOSE_B"]][operand].map(|name| Switch::new(name, &[0, 1][..]));
    Pass {
        suffix: format!("{name}_{}", ["a", "b"][operand]).into(),
        bindings: Some(bindings.into()),
        dynamic_shared: Some(0),
        kernel: Some(PassKernel {
            name: name.into(),
            cuda: Source::Text(Cow::Borrowed(text)),
            arch: Arch::Compute80,
            wgsl: Source::Absent { because: NO_WGSL.into() },
            trusted: true,
            constants: constants.collect(),
            switches: stored.to_vec().into(),
        }),
        ..Pass::new([256, 1, 1], blocks)
    }
}

fn scale(operand: usize) -> Pass {
    let bindings = vec![Operand::Input(operand), Operand::WorkspaceOut(WORDS[operand])];
    split_pass("split_scale", rung!(@cuda "matmul", "split_scale"), operand, None, bindings)
}

fn split(operand: usize, bf16: u32) -> Pass {
    let bindings = vec![
        Operand::Input(operand),
        Operand::WorkspaceOut(PARTS[operand]),
        Operand::WorkspaceIn(WORDS[operand]),
        Operand::WorkspaceOut(INVERSE[operand]),
    ];
    split_pass("split_operand", rung!(@cuda "matmul", "split_operand"), operand, Some(bf16), bindings)
}

fn split_products(variant: &'static str, precision: Precision) -> Rung {
    const BLOCK_N: u32 = 128;
    const STAGES: u32 = 2;
    let (bf16, parts, element) =
        if precision == Precision::SplitBf16 { (1, 3, Element::Bf16) } else { (0, 2, Element::F16) };
    let mut passes = Vec::new();
    if precision == Precision::SplitF16 {
        passes.extend([scale(0), scale(1)]);
    }
    passes.extend([split(0, bf16), split(1, bf16)]);
    let products = Grid::PersistentClusters { cluster: PAIR, x: BLOCK_N, y: 128 * PAIR };
    let read = INVERSE.into_iter().chain(PARTS).map(Operand::WorkspaceIn);
    let bindings: Vec<Operand> = read.chain([Operand::Output(0)]).collect();
    passes.push(Pass { bindings: Some(bindings.into()), ..Pass::new([384, 1, 1], products) });
    let form = |input| Workspace::Matrices(Matrices { input, element: Some(element), parts, stored: Stored::AsInput });
    let words = Workspace::Bytes(SCALE_BLOCKS * 4);
    let inverse = Workspace::Bytes(4);
    let mut rung = rung!("matmul", "split_products", no wgsl "", block [384, 1, 1], Grid::Fixed { blocks: 0 }, {
        variant: variant.into(),
        idea: "f32 elements are sums of shorter parts, whose products that matter are all computed, the smallest first.".into(),
        chinese: "f32 元素是较短部分之和，计算所有要紧的乘积，最小的在先。".into(),
        because: "Three or six products at the rate of 16 bits take less time than one of f32, and sums that keep what rounding takes are as exact.".into(),
        chinese_because: "以 16 位速度做三或六次乘积，仍比一次 f32 快；保留舍入部分的和同样精确。".into(),
        accepts: Accepts::ALL,
        constants: vec![("BF16", bf16)].into(),
        switches: transposes().into(),
    });
    rung.precisions = vec![precision].into();
    rung.wgsl = Source::Absent { because: NO_WGSL.into() };
    rung.wgsl_element_sizes = (&[]).into();
    rung.passes = passes.into();
    rung.workspace = vec![words, words, inverse, inverse, form(0), form(1)].into();
    let maps = PARTS.map(|index| map(Operand::WorkspaceIn(index), [LINE_16, LINE_16], None)).to_vec();
    let shared = ALIGNMENT + STAGES * (parts * (128 + BLOCK_N) * LINE_BYTES + BARRIER_BYTES);
    rung.cuda_needs = cuda_needs(Arch::Sm90a, shared, maps);
    rung
}

/// The same of two TF32, which are read along k only: the pass that makes them turns the operand.
fn split_tf32() -> Rung {
    let pass = |operand: usize| {
        let stored = Switch::new("TRANSPOSED", &[0, 1][..]).asking(["TRANSPOSE_A", "TRANSPOSE_B"][operand]);
        Pass {
            suffix: ["split_tf32_a", "split_tf32_b"][operand].into(),
            bindings: Some(vec![Operand::Input(operand), Operand::WorkspaceOut(PARTS[operand])].into()),
            dynamic_shared: Some(0),
            kernel: Some(PassKernel {
                name: "split_tf32".into(),
                cuda: Source::Text(Cow::Borrowed(rung!(@cuda "matmul", "split_tf32"))),
                arch: Arch::Compute80,
                wgsl: Source::Absent { because: NO_WGSL.into() },
                trusted: true,
                constants: vec![("OPERAND", operand as u32)].into(),
                switches: vec![stored].into(),
            }),
            ..Pass::new([32, 8, 1], OPERAND_BLOCKS)
        }
    };
    let mut rung = split_products("tf32", Precision::SplitTf32);
    let products = rung.passes.last().cloned();
    rung.passes = [pass(0), pass(1)].into_iter().chain(products).collect();
    rung.constants = vec![("TF32", 1), ("TRANSPOSE_A", 0), ("TRANSPOSE_B", 1)].into();
    rung.switches = (&[]).into();
    for (operand, index) in PARTS.into_iter().enumerate() {
        let stored = Stored::Transposed(operand == 1);
        rung.workspace.to_mut()[index] =
            Workspace::Matrices(Matrices { input: operand, element: None, parts: 2, stored });
    }
    let maps =
        PARTS.map(|index| TensorMapRow { tf32: true, ..map(Operand::WorkspaceIn(index), [LINE_32, LINE_16], None) });
    rung.cuda_needs.tensor_maps = maps.to_vec().into();
    rung
}
