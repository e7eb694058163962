//! What products are measured against: a vendor's library.

use super::ladder_f32::transposes;
use crate::problem::Precision;
use crate::rung::{Accepts, Grid, Library, Operand, Rung, Source, Switch, Workspace};
use crate::vendor::{GEMM, GEMM_LT, WORKSPACE_BYTES, compute};
use std::sync::LazyLock;

pub(super) static ROWS: LazyLock<Vec<Rung>> = LazyLock::new(|| {
    let f32 = vec![("COMPUTE", compute::F32_PEDANTIC)];
    let mut rows = vec![
        default(f32.clone()).with_idea("cuBLAS as it comes, in f32 without TF32."),
        best(f32).with_idea("The fastest of the algorithms that cublasLt recommends, in f32 without TF32."),
    ];
    for row in &mut rows {
        // True f32 is what split products are measured against.
        row.precisions = (&[Precision::Full, Precision::SplitTf32, Precision::SplitF16, Precision::SplitBf16]).into();
    }
    let sixteen = vec![("COMPUTE", compute::F32)];
    for row in [default(sixteen.clone()), best(sixteen)] {
        let output = Switch::new("OUTPUT_F32", &[0, 1][..]);
        let row = row.with_idea("Its product of 16-bit elements with sums in f32.");
        let switches = row.switches.iter().cloned().chain([output]).collect();
        rows.push(Rung { variant: "16".into(), element_sizes: (&[2]).into(), switches, ..row });
    }
    let tf32 = vec![("COMPUTE", compute::TF32)];
    for row in [default(tf32.clone()), best(tf32)] {
        let row = row.with_idea("Its product of f32 elements rounded to TF32.");
        rows.push(Rung { variant: "tf32".into(), precisions: (&[Precision::Tf32]).into(), ..row });
    }
    rows
});

/// The library's own choice. `constants`: see [`GEMM`].
fn default(constants: Vec<(&'static str, u32)>) -> Rung {
    row("cublas", GEMM, constants)
}

/// The best of its recommendations.
fn best(constants: Vec<(&'static str, u32)>) -> Rung {
    let mut row = row("cublaslt", GEMM_LT, constants);
    row.passes.to_mut()[0].bindings =
        Some(vec![Operand::Input(0), Operand::Input(1), Operand::Output(0), Operand::WorkspaceOut(0)].into());
    row.workspace = vec![Workspace::PerBlock(WORKSPACE_BYTES)].into();
    row
}

fn row(name: &'static str, library: Library, constants: Vec<(&'static str, u32)>) -> Rung {
    let mut row =
        Rung::new(name, [1, 1, 1], Grid::Fixed { blocks: 1 }).with_constants(constants).with_accepts(Accepts::ALL);
    row.switches = transposes().into();
    row.cuda = Source::Library(library);
    row.wgsl = Source::Absent { because: "the library calls CUDA".into() };
    row
}
