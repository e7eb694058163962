//! `transpose_in_place`: a square matrix becomes its transpose where it lies.

use super::{Op, Place, Shape, Work, transpose};
use crate::element::Element;
use crate::error::Result;
use crate::problem::Problem;
use crate::rung::{Accepts, Grid, Language, Need, Rung, Switch, Tuning, rung};
use crate::verify::Expected;
use std::sync::{Arc, LazyLock};

/// Transposes square matrices of `side` rows and columns in their own buffer, which is the only
/// operand: its layout is [layout](Problem::layouts) 0.
pub struct TransposeInPlace;

/// Rows of a tile for 1, 2, 4, 8 and 16 bytes; in WGSL both tiles take at most 16 KiB.
const TILES: [(Language, [u32; 5]); 2] =
    [(Language::Cuda, [128, 128, 64, 32, 16]), (Language::Wgsl, [64, 64, 32, 32, 16])];

static LADDER: LazyLock<Vec<Rung>> = LazyLock::new(|| {
    const CHUNK: u32 = 16;
    const WIDTHS: &[u64] = &[1, 2, 4, 8, 16];
    let mut tunings = Vec::new();
    for (language, tiles) in TILES {
        for (&element_size, &tile) in WIDTHS.iter().zip(&tiles) {
            let chunks = tile * element_size as u32 / CHUNK;
            let shared = 2 * tile * tile * element_size as u32;
            let dynamic = language == Language::Cuda;
            tunings.push(Tuning {
                language,
                element_size,
                constants: vec![("TILE", tile)].into(),
                block: [chunks * chunks, 1, 1],
                grid: Grid::Triangle { tile },
                static_shared: if dynamic { 0 } else { shared },
                dynamic_shared: if dynamic { shared } else { 0 },
            });
        }
    }
    vec![rung!("transpose_in_place", "mirrored", block [256, 1, 1], Grid::Triangle { tile: 64 }, {
        idea: "Two tiles that mirror each other at the diagonal change places, each turned on the way.".into(),
        chinese: "以对角线互为镜像的两个分块互换位置，途中各自翻转。".into(),
        because: "The first rung: no second buffer, and still runs of 256 bytes on both sides.".into(),
        chinese_because: "第一级：不需要第二个缓冲区，两侧仍是 256 字节的连续段。".into(),
        accepts: Accepts::ALL,
        element_sizes: WIDTHS.into(),
        wgsl_element_sizes: WIDTHS.into(),
        switches: vec![Switch::new("ALIGNED", &[1, 0][..])].into(),
        needs: vec![Need {
            language: Some(Language::Wgsl),
            fact: "ALIGNED".into(),
            value: 1,
            because: "this rung takes rows that start at multiples of 16 bytes".into(),
        }]
        .into(),
        tunings: tunings.into(),
    })]
});

impl Op for TransposeInPlace {
    fn name(&self) -> &'static str {
        "transpose_in_place"
    }

    fn about(&self) -> &'static str {
        "matrix[c][r] and matrix[r][c] change places"
    }

    fn dims(&self) -> &'static [&'static str] {
        &["side"]
    }

    fn ladder(&self) -> &'static [Rung] {
        &LADDER
    }

    fn elements(&self) -> &'static [Element] {
        Element::ALL
    }

    fn shapes(&self, problem: &Problem) -> Result<(Vec<Shape>, Shape)> {
        Ok((Vec::new(), matrix(problem)))
    }

    fn extent(&self, problem: &Problem) -> [u64; 3] {
        [problem.dim(0), problem.dim(0), problem.batch]
    }

    fn work(&self, problem: &Problem) -> Work {
        let elements = problem.dim(0) as f64 * problem.dim(0) as f64 * problem.batch as f64;
        Work { bytes: 2.0 * elements * problem.element.size() as f64, flops: 0.0 }
    }

    fn params(&self, problem: &Problem, place: Place) -> Vec<u8> {
        transpose::params(&(matrix(problem), matrix(problem)), place)
    }

    fn switch(&self, problem: &Problem, name: &str) -> u32 {
        let fact = if name == "ALIGNED" { "VECTOR_OUTPUT" } else { name };
        transpose::facts::value(&(matrix(problem), matrix(problem)), problem.element, fact)
    }

    fn layout(&self, problem: &Problem) -> Option<String> {
        transpose::pitches(&(matrix(problem), matrix(problem)))
    }

    fn occurs(&self, element: Element, setting: &[(String, u32)]) -> bool {
        element.size() < 16 || setting.iter().all(|(name, value)| name != "ALIGNED" || *value == 1)
    }

    fn examples(&self) -> Vec<Vec<u64>> {
        [1, 16, 63, 64, 130].map(|side| vec![side]).to_vec()
    }

    fn reads_output(&self, _problem: &Problem) -> bool {
        true
    }

    fn expected(&self, problem: &Problem, operands: &[Arc<Vec<u8>>]) -> Result<Expected> {
        transpose::expected(&(matrix(problem), matrix(problem)), problem.element, Arc::clone(&operands[0]))
    }
}

fn matrix(problem: &Problem) -> Shape {
    let side = problem.dim(0);
    Shape { batch: problem.batch, rows: side, cols: side, layout: problem.layout(0) }
}
