//! `fields`: an array of structs against a struct of arrays.

use super::{Op, Place, Shape, Work, words};
use crate::element::Element;
use crate::error::Result;
use crate::problem::Problem;
use crate::random;
use crate::rung::{Grid, Operand, Rung, rung};
use crate::verify::Expected;
use bytemuck::{Pod, Zeroable};
use std::sync::{Arc, LazyLock};

/// Adds up the first three of eight words of every record, modulo 2^32. Both inputs hold the same
/// records: input 0 one after the other, input 1 field by field.
pub struct Fields;

/// The params struct of every kernel.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
struct Params {
    block: [u32; 3],
    pad: u32,
    len: [u32; 2],
}

/// Words of a record, as in every kernel.
const WORDS: u64 = 8;

static LADDER: LazyLock<Vec<Rung>> = LazyLock::new(|| {
    let array_of_structs = || Some(vec![Operand::Input(0), Operand::Output(0)].into());
    let mut ladder = vec![
        rung!("fields", "array_of_structs", block [256, 1, 1], Grid::Linear { per_block: 256 }, {
            idea: "Records lie one after the other.".into(),
            chinese: "记录一条接一条。".into(),
            because: "The first rung: 32 bytes move for the 12 that are used.".into(),
            chinese_because: "第一级：为用到的 12 字节搬运 32 字节。".into(),
        }),
        rung!("fields", "array_of_structs_vectorized", block [256, 1, 1], Grid::Linear { per_block: 256 }, {
            idea: "One 16-byte read per record.".into(),
            chinese: "每条记录一次 16 字节读取。".into(),
            because: "A third of the requests; the bytes that move stay the same.".into(),
            chinese_because: "请求数为三分之一；搬运的字节不变。".into(),
        }),
        rung!("fields", "struct_of_arrays", block [256, 1, 1], Grid::Linear { per_block: 256 }, {
            idea: "Each field has an array of its own.".into(),
            chinese: "每个字段各有自己的数组。".into(),
            because: "Only the fields that are used move.".into(),
            chinese_because: "只搬运用到的字段。".into(),
        }),
    ];
    for rung in &mut ladder {
        rung.passes.to_mut()[0].bindings = array_of_structs();
    }
    ladder[2].passes.to_mut()[0].bindings = Some(vec![Operand::Input(1), Operand::Output(0)].into());
    ladder
});

impl Op for Fields {
    fn name(&self) -> &'static str {
        "fields"
    }

    fn about(&self) -> &'static str {
        "output[i] = x[i] + y[i] + z[i] of records of eight words"
    }

    fn dims(&self) -> &'static [&'static str] {
        &["len"]
    }

    fn ladder(&self) -> &'static [Rung] {
        &LADDER
    }

    fn elements(&self) -> &'static [Element] {
        &[Element::U32]
    }

    fn shapes(&self, problem: &Problem) -> Result<(Vec<Shape>, Shape)> {
        let vector = Shape::packed(1, problem.dim(0));
        Ok((vec![Shape::packed(problem.dim(0), WORDS), Shape::packed(WORDS, problem.dim(0))], vector))
    }

    fn extent(&self, problem: &Problem) -> [u64; 3] {
        [problem.dim(0), 1, 1]
    }

    fn work(&self, problem: &Problem) -> Work {
        Work { bytes: 16.0 * problem.dim(0) as f64, flops: 0.0 }
    }

    fn input(&self, problem: &Problem, index: usize, seed: u64, count: u64) -> Vec<u8> {
        let records = random::elements(seed, 0, Element::U32, count, self.distribution());
        if index == 0 {
            return records;
        }
        let (len, words) = (problem.dim(0) as usize, WORDS as usize);
        let mut fields = vec![0u8; records.len()];
        for (place, word) in records.chunks_exact(4).enumerate() {
            let to = (place % words * len + place / words) * 4;
            fields[to..to + 4].copy_from_slice(word);
        }
        fields
    }

    fn generated(&self) -> &'static str {
        "random bits, in both layouts"
    }

    fn examples(&self) -> Vec<Vec<u64>> {
        [1, 257, 4096, 70_001].map(|len| vec![len]).to_vec()
    }

    fn params(&self, problem: &Problem, place: Place) -> Vec<u8> {
        let params = Params { block: place.origin, pad: 0, len: words(problem.dim(0)) };
        bytemuck::bytes_of(&params).to_vec()
    }

    fn expected(&self, problem: &Problem, inputs: &[Arc<Vec<u8>>]) -> Result<Expected> {
        let records = bytemuck::pod_collect_to_vec::<u8, u32>(&inputs[0]);
        let sum = |record: &[u32]| record[0].wrapping_add(record[1]).wrapping_add(record[2]);
        let output: Vec<u8> =
            records.chunks_exact(WORDS as usize).flat_map(|record| sum(record).to_le_bytes()).collect();
        Ok(Expected::bytes(Shape::packed(1, problem.dim(0)), Element::U32, Arc::new(output)))
    }
}
