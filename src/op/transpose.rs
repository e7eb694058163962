//! `transpose`: output[c][r] = input[r][c], the main ladder of data movement.

use super::{Op, Place, Shape, Work, words};
use crate::element::Element;
use crate::error::Result;
use crate::problem::Problem;
use crate::rung::{Accepts, Alias, Grid, Rung, Switch, rung};
use crate::verify::Expected;
use bytemuck::{Pod, Zeroable};
use std::sync::{Arc, LazyLock};

/// Transposes matrices of `rows` x `cols`.
pub struct Transpose;

/// The params struct of every transpose kernel.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
struct Params {
    block: [u32; 3],
    rows: u32,
    cols: u32,
    input_ld: u32,
    output_ld: u32,
    batch: u32,
    input_offset: [u32; 2],
    output_offset: [u32; 2],
    input_stride: [u32; 2],
    output_stride: [u32; 2],
}

const ANY_WORD: &[u64] = &[1, 2, 4, 8, 16];
const WHOLE_WORDS: &[u64] = &[4, 8, 16];

/// Whether 16-byte accesses are possible, decided for each side on its own.
fn vector_switches() -> Vec<Switch> {
    ["VECTOR_INPUT", "VECTOR_OUTPUT"].map(|name| Switch { name: name.into(), values: (&[1, 0]).into() }).to_vec()
}

/// An output that cannot be stored in chunks is bound as their elements.
fn output_chunk() -> Vec<Alias> {
    vec![Alias { name: "OutputChunk".into(), switch: "VECTOR_OUTPUT".into(), value: 0, text: "array<u32, 4>".into() }]
}

static LADDER: LazyLock<Vec<Rung>> = LazyLock::new(|| {
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
            because: "The elements of a tile column lie in different banks, so reading a column is one access, not 32.".into(),
            constants: vec![("TILE", tile)].into(),
            shared_elements: tile * (tile + 1),
        }));
        let pass = &mut rung.passes.to_mut()[0];
        pass.block = [tile, tile, 1];
        pass.grid = Grid::Tiles { x: tile, y: tile };
        rung
    };
    vec![
        scalar(rung!("transpose", "naive", block [32, 8, 1], Grid::Tiles { x: 32, y: 8 }, {
            idea: "Threads of a warp lie along an input row: coalesced reads, strided writes.".into(),
            because: "The first rung.".into(),
        })),
        scalar(rung!("transpose", "coalesced_write", block [32, 8, 1], Grid::Tiles { x: 8, y: 32 }, {
            idea: "The mirror: threads lie along an output row, so the reads are strided.".into(),
            because: "A strided read is served by caches that hold its whole sector; a strided write is not.".into(),
        })),
        scalar(rung!("transpose", "tiled", block [32, 32, 1], Grid::Tiles { x: 32, y: 32 }, {
            idea: "A tile goes through shared memory, so that both sides are coalesced.".into(),
            because: "Every sector is read and written once and used whole; the tile's columns still meet in one bank.".into(),
            shared_elements: 32 * 32,
        })),
        padded(16, "16"),
        padded(32, "32"),
        scalar(rung!("transpose", "coarsened", block [32, 8, 1], Grid::Tiles { x: 32, y: 32 }, {
            idea: "A quarter of the threads, four elements each, all loads before the first store.".into(),
            because: "More bytes in flight per thread and less index arithmetic per element.".into(),
            shared_elements: 32 * 33,
        })),
        scalar(rung!("transpose", "swizzled", block [32, 8, 1], Grid::Tiles { x: 32, y: 32 }, {
            idea: "The column index is exclusive-or'ed with the row in place of padding.".into(),
            because: "As free of conflicts as padding, without the unused column and with aligned rows for wider accesses.".into(),
            shared_elements: 32 * 32,
        })),
        rung!("transpose", "register_blocked", block [256, 1, 1], Grid::Tiles { x: 64, y: 64 }, {
            idea: "A thread turns a 4x4 block in registers; 16-byte accesses to global and shared memory.".into(),
            because: "Runs of 256 bytes on both sides and a quarter of the memory instructions.".into(),
            accepts: Accepts::ALL,
            switches: vector_switches().into(),
            aliases: output_chunk().into(),
            shared_elements: 64 * 64,
        }),
        rung!("transpose", "ordered", block [256, 1, 1], Grid::TilesLinear { x: 64, y: 64 }, {
            idea: "The tiles are walked so that blocks running together continue the same output rows.".into(),
            because: "Memory sees long runs of writes instead of a tile here and there.".into(),
            accepts: Accepts::ALL,
            switches: vector_switches().into(),
            aliases: output_chunk().into(),
            shared_elements: 64 * 64,
        }),
    ]
});

impl Op for Transpose {
    fn name(&self) -> &'static str {
        "transpose"
    }

    fn about(&self) -> &'static str {
        "output[c][r] = input[r][c]"
    }

    fn dims(&self) -> &'static [&'static str] {
        &["rows", "cols"]
    }

    fn ladder(&self) -> &'static [Rung] {
        &LADDER
    }

    fn elements(&self) -> &'static [Element] {
        Element::ALL
    }

    fn shapes(&self, problem: &Problem) -> Result<(Vec<Shape>, Shape)> {
        let (rows, cols, batch) = (problem.dim(0), problem.dim(1), problem.batch);
        let input = Shape { batch, rows, cols, layout: problem.layout(0) };
        let output = Shape { batch, rows: cols, cols: rows, layout: problem.layout(1) };
        Ok((vec![input], output))
    }

    fn extent(&self, problem: &Problem) -> [u64; 3] {
        [problem.dim(1), problem.dim(0), problem.batch]
    }

    fn work(&self, problem: &Problem) -> Work {
        let elements = problem.dim(0) as f64 * problem.dim(1) as f64 * problem.batch as f64;
        Work { bytes: 2.0 * elements * problem.element.size() as f64, flops: 0.0 }
    }

    fn params(&self, problem: &Problem, place: Place) -> Vec<u8> {
        let (input, output) = sides(problem);
        let params = Params {
            block: place.origin,
            rows: problem.dim(0) as u32,
            cols: problem.dim(1) as u32,
            input_ld: input.leading_dimension() as u32,
            output_ld: output.leading_dimension() as u32,
            batch: problem.batch as u32,
            input_offset: words(input.layout.offset),
            output_offset: words(output.layout.offset),
            input_stride: words(input.batch_stride()),
            output_stride: words(output.batch_stride()),
        };
        bytemuck::bytes_of(&params).to_vec()
    }

    fn switch(&self, problem: &Problem, name: &str) -> u32 {
        let (input, output) = sides(problem);
        let side = if name == "VECTOR_INPUT" { input } else { output };
        let aligned = |elements: u64| (elements * problem.element.size()).is_multiple_of(16);
        let strides = side.rows <= 1 || aligned(side.leading_dimension());
        let batches = side.batch <= 1 || aligned(side.batch_stride());
        u32::from(aligned(side.layout.offset) && strides && batches)
    }

    fn expected(&self, problem: &Problem, inputs: &[Arc<Vec<u8>>]) -> Result<Expected> {
        let input = Arc::clone(&inputs[0]);
        let (from, to) = sides(problem);
        let size = problem.element.size() as usize;
        Ok(Expected::bits(to, problem.element, move |matrix, rows, out| {
            let row_bytes = from.rows as usize * size;
            for col in 0..from.rows {
                let first = from.index(matrix, col, rows.start) as usize * size;
                let run = &input[first..first + (rows.end - rows.start) as usize * size];
                for (row, element) in run.chunks_exact(size).enumerate() {
                    let at = row * row_bytes + col as usize * size;
                    out[at..at + size].copy_from_slice(element);
                }
            }
        }))
    }
}

fn sides(problem: &Problem) -> (Shape, Shape) {
    let (rows, cols, batch) = (problem.dim(0), problem.dim(1), problem.batch);
    (
        Shape { batch, rows, cols, layout: problem.layout(0) },
        Shape { batch, rows: cols, cols: rows, layout: problem.layout(1) },
    )
}
