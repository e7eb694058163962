//! What products are measured against: a vendor's library.

use super::ladder_f32::transposes;
use crate::rung::{Accepts, Grid, Library, Operand, Rung, Source, Workspace};
use crate::vendor::{GEMM, GEMM_LT, WORKSPACE_BYTES, compute};
use std::sync::LazyLock;

pub(super) static ROWS: LazyLock<Vec<Rung>> = LazyLock::new(|| {
    let f32 = vec![("COMPUTE", compute::F32_PEDANTIC)];
    vec![
        default(f32.clone()).with_idea("cuBLAS as it comes, in f32 without TF32."),
        best(f32).with_idea("The fastest of the algorithms that cublasLt recommends, in f32 without TF32."),
    ]
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
