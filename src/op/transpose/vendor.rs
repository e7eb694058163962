//! What transposes are measured against: a vendor's library.

use crate::rung::{Accepts, Grid, Rung, Source};
use crate::vendor::GEAM;
use std::sync::LazyLock;

pub(super) static ROWS: LazyLock<Vec<Rung>> = LazyLock::new(|| {
    let mut row = Rung::new("cublas_geam", [1, 1, 1], Grid::Fixed { blocks: 1 })
        .with_idea("cuBLAS: one times the transpose plus zero times the output.")
        .with_accepts(Accepts::ALL);
    row.element_sizes = vec![4, 8].into();
    row.cuda = Source::Library(GEAM);
    row.wgsl = Source::Absent { because: "the library calls CUDA".into() };
    vec![row]
});
