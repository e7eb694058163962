//! `consistency`: what it takes to hand data from one block to another.

use super::{Op, Place, Shape, Work, words};
use crate::element::Element;
use crate::error::Result;
use crate::problem::Problem;
use crate::rung::{Grid, Operand, Pass, Promise, Rung, Workspace, rung};
use crate::verify::Expected;
use bytemuck::{Pod, Zeroable};
use std::sync::{Arc, LazyLock};

/// Copies `len` words, 256 per pair of blocks: one of them writes them to a workspace and raises a
/// flag, the other waits for the flag, at most `spins` times, and reads them.
pub struct Consistency;

/// The params struct of every kernel.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
struct Params {
    block: [u32; 3],
    spins: u32,
    len: [u32; 2],
}

static LADDER: LazyLock<Vec<Rung>> = LazyLock::new(|| {
    let wrong = |because: &'static str| Promise::Nothing { because: because.into() };
    let passes = || {
        let lower = Pass {
            suffix: "lower".into(),
            bindings: Some(vec![Operand::WorkspaceOut(1)].into()),
            ..Pass::new([256, 1, 1], Grid::Linear { per_block: 256 })
        };
        let operands = [Operand::Input(0), Operand::WorkspaceOut(0), Operand::WorkspaceOut(1), Operand::Output(0)];
        let hand_over = Pass {
            suffix: "hand_over".into(),
            bindings: Some(operands.to_vec().into()),
            ..Pass::new([256, 1, 1], Grid::LongSide { per_block: 256, parts: 2 })
        };
        vec![lower, hand_over].into()
    };
    // 256 words of data and one flag for each pair, of which the first pass has a block.
    const ROOM: &[Workspace] = &[Workspace::PerBlock(1024), Workspace::PerBlock(4)];
    vec![
        rung!("consistency", "nothing", block [256, 1, 1], Grid::Linear { per_block: 256 }, {
            idea: "A plain flag and plain data.".into(),
            chinese: "普通的标志和普通的数据。".into(),
            because: "The first rung, wrong: no order, and a flag that need be read only once.".into(),
            chinese_because: "第一级，是错的：没有次序，标志也可能只读一次。".into(),
            passes: passes(),
            workspace: ROOM.into(),
            promise: wrong("nothing orders the data before the flag, or makes the flag be read again"),
            shared_elements: 1,
        }),
        rung!("consistency", "volatile_flag", no wgsl "WGSL has no volatile", block [256, 1, 1], Grid::Linear { per_block: 256 }, {
            idea: "A volatile flag.".into(),
            chinese: "volatile 标志。".into(),
            because: "The flag is read every time; wrong all the same: the data has no order.".into(),
            chinese_because: "标志每次都读；仍然是错的：数据没有次序。".into(),
            passes: passes(),
            workspace: ROOM.into(),
            promise: wrong("volatile does not order the data before the flag"),
            shared_elements: 1,
        }),
        rung!("consistency", "atomic_flag", block [256, 1, 1], Grid::Linear { per_block: 256 }, {
            idea: "An atomic flag.".into(),
            chinese: "原子标志。".into(),
            because: "The flag is seen by every block; wrong all the same: an atomic orders nothing but itself.".into(),
            chinese_because: "每个线程块都能看到标志；仍然是错的：原子操作只给自己排序。".into(),
            passes: passes(),
            workspace: ROOM.into(),
            promise: wrong("a relaxed atomic does not order the data before the flag"),
            shared_elements: 1,
        }),
        rung!("consistency", "fence", no wgsl "WGSL has no fence that reaches other workgroups", block [256, 1, 1], Grid::Linear { per_block: 256 }, {
            idea: "A device-wide fence on both sides.".into(),
            chinese: "两侧各有一个设备范围的栅栏。".into(),
            because: "Right: data before flag where it is written, flag before data where it is read.".into(),
            chinese_because: "正确：写入处先数据后标志，读取处先标志后数据。".into(),
            passes: passes(),
            workspace: ROOM.into(),
            shared_elements: 1,
        }),
        rung!("consistency", "release_acquire", no wgsl "WGSL's atomics are relaxed: there is no release and no acquire", block [256, 1, 1], Grid::Linear { per_block: 256 }, {
            idea: "A releasing store and an acquiring load of the flag.".into(),
            chinese: "标志以释放方式存储、以获取方式载入。".into(),
            because: "Right, and one instruction on each side in place of a fence and an atomic.".into(),
            chinese_because: "正确，每侧一条指令代替栅栏和原子操作。".into(),
            passes: passes(),
            workspace: ROOM.into(),
            shared_elements: 1,
        }),
    ]
});

impl Op for Consistency {
    fn name(&self) -> &'static str {
        "consistency"
    }

    fn about(&self) -> &'static str {
        "output = input, handed from one block to another, which looks for it at most `spins` times"
    }

    fn dims(&self) -> &'static [&'static str] {
        &["len", "spins"]
    }

    fn ladder(&self) -> &'static [Rung] {
        &LADDER
    }

    fn elements(&self) -> &'static [Element] {
        &[Element::U32]
    }

    fn shapes(&self, problem: &Problem) -> Result<(Vec<Shape>, Shape)> {
        let vector = Shape::packed(1, problem.dim(0));
        Ok((vec![vector], vector))
    }

    fn extent(&self, problem: &Problem) -> [u64; 3] {
        [problem.dim(0), 1, 1]
    }

    fn work(&self, problem: &Problem) -> Work {
        Work { bytes: 8.0 * problem.dim(0) as f64, flops: 0.0 }
    }

    fn of_size(&self, size: u64) -> Vec<u64> {
        vec![size.saturating_mul(size) / 16, 1 << 16]
    }

    fn examples(&self) -> Vec<Vec<u64>> {
        [1, 255, 256, 257, 5000].map(|len| vec![len, 1 << 20]).to_vec()
    }

    fn params(&self, problem: &Problem, place: Place) -> Vec<u8> {
        let params = Params {
            block: place.origin,
            spins: problem.dim(1).min(u32::MAX.into()) as u32,
            len: words(problem.dim(0)),
        };
        bytemuck::bytes_of(&params).to_vec()
    }

    fn expected(&self, problem: &Problem, inputs: &[Arc<Vec<u8>>]) -> Result<Expected> {
        Ok(Expected::bytes(Shape::packed(1, problem.dim(0)), Element::U32, Arc::clone(&inputs[0])))
    }
}
