//! `shared`: the banks of shared memory, in isolation.

use super::{Op, Place, Shape, Work, word};
use crate::element::Element;
use crate::error::Result;
use crate::problem::Problem;
use crate::rung::{Grid, Rung, rung};
use crate::verify::Expected;
use crate::words::{Phrase, Said};
use bytemuck::{Pod, Zeroable};
use std::sync::{Arc, LazyLock};

/// Adds up `rounds` consecutive rows of 32 words, cyclically inside groups of 64 rows, from a copy
/// of the group in shared memory, modulo 2^32. With many rounds nothing but the reads of shared
/// memory counts.
pub struct Shared;

/// The params struct of every kernel.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
struct Params {
    block: [u32; 3],
    rows: u32,
    rounds: u32,
    pad: u32,
}

/// Words of a row, and rows of a group, as in every kernel.
const COLS: u64 = 32;
const ROWS: u64 = 64;

static FROM_SHARED: Phrase =
    Phrase { english: "{0} GB/s out of shared memory", chinese: "从共享内存读取 {0} GB/s" };

static LADDER: LazyLock<Vec<Rung>> = LazyLock::new(|| {
    const GRID: Grid = Grid::Linear { per_block: 64 };
    let strided = |variant: &'static str, pitch: u32, [because, chinese_because]: [&'static str; 2]| {
        rung!("shared", "strided", block [64, 1, 1], GRID, {
            variant: variant.into(),
            idea: "Neighbouring threads read words that lie some banks apart: the variant says how many.".into(),
            chinese: "相邻线程读取相隔若干存储体的字：变体说明相隔多少。".into(),
            because: because.into(),
            chinese_because: chinese_because.into(),
            constants: vec![("PITCH", pitch)].into(),
            shared_elements: 64 * pitch,
        })
    };
    let vectorized = |variant: &'static str, pitch: u32, [because, chinese_because]: [&'static str; 2]| {
        rung!("shared", "vectorized", block [64, 1, 1], GRID, {
            variant: variant.into(),
            idea: "16-byte accesses to rows PITCH vectors apart.".into(),
            chinese: "以 16 字节访问相隔 PITCH 个向量的行。".into(),
            because: because.into(),
            chinese_because: chinese_because.into(),
            constants: vec![("PITCH", pitch)].into(),
            shared_elements: 64 * 4 * pitch,
        })
    };
    vec![
        strided(
            "32",
            32,
            [
                "The first rung: all lanes of a warp on one bank, 32 turns per request.",
                "第一级：线程束的所有线程都在同一存储体上，每次请求 32 次服务。",
            ],
        ),
        strided(
            "2",
            34,
            [
                "Rows are 34 words apart: two lanes on every second bank, 2 turns.",
                "行距 34 个字：隔一个存储体有两个线程，2 次服务。",
            ],
        ),
        rung!("shared", "padded", block [64, 1, 1], GRID, {
            idea: "One word of padding per row.".into(),
            chinese: "每行填充一个字。".into(),
            because: "Rows are 33 words apart: every lane on a bank of its own, 1 turn.".into(),
            chinese_because: "行距 33 个字：每个线程各用一个存储体，1 次服务。".into(),
            shared_elements: 64 * 33,
        }),
        rung!("shared", "swizzled", block [64, 1, 1], GRID, {
            idea: "Word c of row r lies at c XOR r.".into(),
            chinese: "第 r 行第 c 个字存放在 c XOR r。".into(),
            because: "No conflict and no padding, for one operation more per access.".into(),
            chinese_because: "没有冲突也没有填充，代价是每次访问多一次运算。".into(),
            shared_elements: 64 * 32,
        }),
        rung!("shared", "consecutive", block [64, 1, 1], GRID, {
            idea: "Stored column by column: neighbouring threads read neighbouring words (stride 1).".into(),
            chinese: "按列存放：相邻线程读取相邻的字（步长 1）。".into(),
            because: "No conflict and no extra operation; the one write that turns the tile pays.".into(),
            chinese_because: "没有冲突也没有多余运算；代价由翻转分块的那次写入承担。".into(),
            shared_elements: 64 * 32,
        }),
        vectorized(
            "aligned",
            8,
            [
                "A quarter of the instructions, but rows at multiples of 128 bytes put eight lanes on one bank.",
                "指令只有四分之一，但行距为 128 字节的倍数使八个线程落在同一存储体上。",
            ],
        ),
        vectorized(
            "padded",
            9,
            [
                "Rows are 36 words apart: a quarter of a warp covers all banks.",
                "行距 36 个字：四分之一个线程束就覆盖所有存储体。",
            ],
        ),
        rung!("shared", "vectorized_consecutive", block [64, 1, 1], GRID, {
            idea: "16-byte accesses by neighbouring threads to neighbouring vectors.".into(),
            chinese: "相邻线程以 16 字节访问相邻的向量。".into(),
            because: "The fewest turns for 512 bytes without padding: 16-byte accesses do not conflict by themselves.".into(),
            chinese_because: "不用填充，512 字节所需的服务次数最少：16 字节的访问本身不会冲突。".into(),
            shared_elements: 64 * 32,
        }),
    ]
});

impl Op for Shared {
    fn name(&self) -> &'static str {
        "shared"
    }

    fn about(&self) -> &'static str {
        "output[r] = sum of rounds rows from row r on, out of shared memory"
    }

    fn dims(&self) -> &'static [&'static str] {
        &["rows", "rounds"]
    }

    fn ladder(&self) -> &'static [Rung] {
        &LADDER
    }

    fn elements(&self) -> &'static [Element] {
        &[Element::U32]
    }

    fn shapes(&self, problem: &Problem) -> Result<(Vec<Shape>, Shape)> {
        Ok((vec![Shape::packed(problem.dim(0), COLS)], Shape::packed(1, problem.dim(0))))
    }

    fn extent(&self, problem: &Problem) -> [u64; 3] {
        [problem.dim(0), 1, 1]
    }

    fn work(&self, problem: &Problem) -> Work {
        Work { bytes: 4.0 * (COLS + 1) as f64 * problem.dim(0) as f64, flops: 0.0 }
    }

    fn told(&self, dims: &[u64], ns: f64) -> Option<Said> {
        let [rows, rounds] = dims else { return None };
        Some(FROM_SHARED.with([format!("{:.1}", 4.0 * COLS as f64 * *rows as f64 * *rounds as f64 / ns)]))
    }

    fn examples(&self) -> Vec<Vec<u64>> {
        [[1, 1], [63, 2], [64, 64], [65, 3], [200, 70], [4096, 1]].map(|dims| dims.to_vec()).to_vec()
    }

    fn params(&self, problem: &Problem, place: Place) -> Vec<u8> {
        let params = Params { block: place.origin, rows: problem.dim(0) as u32, rounds: problem.dim(1) as u32, pad: 0 };
        bytemuck::bytes_of(&params).to_vec()
    }

    fn expected(&self, problem: &Problem, inputs: &[Arc<Vec<u8>>]) -> Result<Expected> {
        let rounds = problem.dim(1);
        let mut output = Vec::with_capacity(problem.dim(0) as usize * 4);
        for group in inputs[0].chunks((ROWS * COLS * 4) as usize) {
            let sum = |row: &[u8]| row.chunks_exact(4).fold(0u32, |s, b| s.wrapping_add(word(b)));
            let mut sums: Vec<u32> = group.chunks(COLS as usize * 4).map(sum).collect();
            let rows = sums.len();
            sums.resize(ROWS as usize, 0); // rows that are not there count as 0
            let all = sums.iter().fold(0u32, |s, v| s.wrapping_add(*v)).wrapping_mul((rounds / ROWS) as u32);
            for row in 0..rows {
                let rest = (0..(rounds % ROWS) as usize).map(|i| sums[(row + i) % ROWS as usize]);
                output.extend(rest.fold(all, u32::wrapping_add).to_le_bytes());
            }
        }
        Ok(Expected::bytes(Shape::packed(1, problem.dim(0)), Element::U32, Arc::new(output)))
    }
}
