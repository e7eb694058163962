//! `reduce`: the sum of all elements, in f32.

use super::{Distribution, Op, Place, Shape, Work, words};
use crate::element::Element;
use crate::error::{Error, Result};
use crate::problem::Problem;
use crate::rung::{Form, Grid, Operand, Pass, Promise, Rung, Workspace, rung};
use crate::verify::{Expected, rounding};
use bytemuck::{Pod, Zeroable};
use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

/// Sums `len` elements.
pub struct Reduce;

/// The params struct of every reduce kernel.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
struct Params {
    block: [u32; 3],
    blocks: u32,
    len: [u32; 2],
}

/// No element of any rung goes through more than `ceil(len / LANES) + LEVELS` additions: those of one
/// thread of `one_pass`, and two trees, four sums of a vector and a few partial sums. This chain, not
/// the length, bounds the error.
const LANES: u64 = 256;
const LEVELS: u64 = 64;

/// The launches of a rung whose blocks leave partial sums that a second launch adds.
fn two_passes(grid: Grid) -> Cow<'static, [Pass]> {
    let pass = |suffix: &'static str, grid, bindings: [Operand; 2]| Pass {
        suffix: suffix.into(),
        bindings: Some(bindings.to_vec().into()),
        ..Pass::new([256, 1, 1], grid)
    };
    vec![
        pass("partials", grid, [Operand::Input(0), Operand::WorkspaceOut(0)]),
        pass("total", Grid::Fixed { blocks: 1 }, [Operand::WorkspaceIn(0), Operand::Output(0)]),
    ]
    .into()
}

/// At most `max` blocks of so many elements a turn.
const fn grid(per_block: u32, max: u32) -> Grid {
    Grid::LinearAtMost { per_block, max }
}

static LADDER: LazyLock<Vec<Rung>> = LazyLock::new(|| {
    const PARTIALS: &[Workspace] = &[Workspace::PerBlock(4)];
    const FIRST: Grid = grid(256, 4096);
    let mut vectorized = rung!("reduce", "vectorized", block [256, 1, 1], FIRST, {
        idea: "16-byte loads, four in flight per thread.".into(),
        chinese: "16 字节载入，每个线程四个同时进行。".into(),
        because: "A quarter of the load instructions; as many blocks as the device holds at a time.".into(),
        chinese_because: "载入指令只有四分之一；线程块数与设备同时容纳的一样多。".into(),
        passes: two_passes(Grid::Persistent { per_sm: 4, x: 4096, y: 1 }),
        workspace: PARTIALS.into(),
        shared_elements: 8,
    });
    vectorized.wgsl_form = Some(Form {
        constants: (&[]).into(),
        switches: (&[]).into(),
        passes: two_passes(grid(4096, 1024)),
        workspace: PARTIALS.into(),
        shared_elements: 256,
    });
    // WGSL does not say how many subgroups a block has: room for one per thread.
    let subgroups = |rung: Rung| Rung {
        wgsl_form: Some(Form {
            constants: rung.constants.clone(),
            switches: rung.switches.clone(),
            passes: rung.passes.clone(),
            workspace: rung.workspace.clone(),
            shared_elements: 256,
        }),
        ..rung
    };
    vec![
        rung!("reduce", "one_pass", block [256, 1, 1], Grid::Fixed { blocks: 1 }, {
            idea: "One block walks over the array and adds its partial sums in a tree.".into(),
            chinese: "一个线程块走过数组，以树形相加部分和。".into(),
            because: "The first rung.".into(),
            chinese_because: "第一级。".into(),
            shared_elements: 256,
        }),
        rung!("reduce", "divergent", block [256, 1, 1], FIRST, {
            idea: "A tree for every 256 elements, in which every second, fourth, eighth … thread adds.".into(),
            chinese: "每 256 个元素一棵树，每隔二、四、八……个线程相加。".into(),
            because: "All multiprocessors read at once; but working and resting threads share every warp.".into(),
            chinese_because: "所有多处理器同时读取；但每个线程束里都混有工作和闲着的线程。".into(),
            passes: two_passes(FIRST),
            workspace: PARTIALS.into(),
            shared_elements: 256,
        }),
        rung!("reduce", "strided", block [256, 1, 1], FIRST, {
            idea: "The first threads do the work of a level.".into(),
            chinese: "每层由最前面的线程工作。".into(),
            because: "Warps work or rest as one; but their words lie up to 32 deep on one bank.".into(),
            chinese_because: "线程束整体工作或整体休息；但它们的字最多有 32 个落在同一存储体上。".into(),
            passes: two_passes(FIRST),
            workspace: PARTIALS.into(),
            shared_elements: 256,
        }),
        rung!("reduce", "sequential", block [256, 1, 1], FIRST, {
            idea: "Each level adds the upper half to the lower half.".into(),
            chinese: "每层把上半加到下半。".into(),
            because: "Neighbouring threads touch neighbouring words: no bank conflicts.".into(),
            chinese_because: "相邻线程访问相邻的字：没有存储体冲突。".into(),
            passes: two_passes(FIRST),
            workspace: PARTIALS.into(),
            shared_elements: 256,
        }),
        rung!("reduce", "first_add", block [256, 1, 1], FIRST, {
            idea: "A thread adds two elements on their way in.".into(),
            chinese: "线程在读入时就相加两个元素。".into(),
            because: "Half as many trees for the same elements.".into(),
            chinese_because: "同样的元素只需一半的树。".into(),
            passes: two_passes(grid(512, 4096)),
            workspace: PARTIALS.into(),
            shared_elements: 256,
        }),
        rung!("reduce", "two_pass", block [256, 1, 1], FIRST, {
            idea: "A thread adds all of its elements first; a block needs one tree.".into(),
            chinese: "许多线程块各留下一个部分和；第二次启动把它们相加。".into(),
            because: "Barriers and shared memory no longer grow with the length.".into(),
            chinese_because: "屏障和共享内存不再随长度增长。".into(),
            passes: two_passes(grid(256, 1024)),
            workspace: PARTIALS.into(),
            shared_elements: 256,
        }),
        rung!("reduce", "unrolled", block [256, 1, 1], FIRST, {
            idea: "Eight independent sums per thread.".into(),
            chinese: "每个线程八个独立的和。".into(),
            because: "Eight loads are under way before the first addition waits for one.".into(),
            chinese_because: "第一次加法还没开始等待时，八次载入已经在途。".into(),
            passes: two_passes(grid(2048, 1024)),
            workspace: PARTIALS.into(),
            shared_elements: 256,
        }),
        subgroups(rung!("reduce", "shuffle", block [256, 1, 1], FIRST, {
            idea: "Threads of a warp hand each other their sums in registers.".into(),
            chinese: "线程束内的线程在寄存器中互递部分和。".into(),
            because: "One barrier per block instead of nine.".into(),
            chinese_because: "每个线程块一个屏障，而不是九个。".into(),
            passes: two_passes(grid(2048, 1024)),
            workspace: PARTIALS.into(),
            shared_elements: 8,
        })),
        subgroups(rung!("reduce", "atomics", block [256, 1, 1], FIRST, {
            idea: "Every block adds its sum to the result itself.".into(),
            chinese: "每个线程块自己把和加到结果上。".into(),
            because: "No partial sums to write and read; the order, and so the last bits, change from run to run.".into(),
            chinese_because: "没有部分和要读写；但次序、因而最后几位，每次运行都可能不同。".into(),
            passes: vec![
                Pass {
                    suffix: "zero".into(),
                    bindings: Some(vec![Operand::Output(0)].into()),
                    ..Pass::new([256, 1, 1], Grid::Fixed { blocks: 1 })
                },
                Pass { suffix: "add".into(), ..Pass::new([256, 1, 1], grid(2048, 1024)) },
            ]
            .into(),
            shared_elements: 8,
            promise: Promise::WithinBound,
        })),
        vectorized,
        rung!("reduce", "compensated", block [256, 1, 1], FIRST, {
            idea: "Every addition keeps what it rounded away (Kahan's idea, Knuth's two-sum).".into(),
            chinese: "每次加法都保留被舍去的部分（Kahan 的想法，Knuth 的二数和）。".into(),
            because: "Accuracy: the error no longer grows with the length, behind the same memory traffic as two_pass.".into(),
            chinese_because: "精度：误差不再随长度增长，访存量与 two_pass 相同。".into(),
            passes: two_passes(grid(256, 1024)),
            workspace: (&[Workspace::PerBlock(8)]).into(),
            shared_elements: 512,
        }),
    ]
});

impl Op for Reduce {
    fn name(&self) -> &'static str {
        "reduce"
    }

    fn about(&self) -> &'static str {
        "output[0] = sum of input"
    }

    fn dims(&self) -> &'static [&'static str] {
        &["len"]
    }

    fn ladder(&self) -> &'static [Rung] {
        &LADDER
    }

    fn elements(&self) -> &'static [Element] {
        &[Element::F32]
    }

    fn element_words(&self, _element: Element) -> (&'static str, Option<&'static str>) {
        ("float", Some("f32"))
    }

    fn shapes(&self, problem: &Problem) -> Result<(Vec<Shape>, Shape)> {
        if problem.dim(0) == 0 {
            return Err(Error::shape("reduce", "0 elements have no sum to write; the least is 1"));
        }
        Ok((vec![Shape::packed(1, problem.dim(0))], Shape::packed(1, 1)))
    }

    fn extent(&self, problem: &Problem) -> [u64; 3] {
        [problem.dim(0), 1, 1]
    }

    fn work(&self, problem: &Problem) -> Work {
        let len = problem.dim(0) as f64;
        Work { bytes: 4.0 * len + 4.0, flops: (len - 1.0).max(0.0) }
    }

    fn distribution(&self) -> Distribution {
        Distribution::Uniform
    }

    fn params(&self, problem: &Problem, place: Place) -> Vec<u8> {
        let params = Params { block: place.origin, blocks: place.first_pass_blocks as u32, len: words(problem.dim(0)) };
        bytemuck::bytes_of(&params).to_vec()
    }

    fn expected(&self, problem: &Problem, inputs: &[Arc<Vec<u8>>]) -> Result<Expected> {
        let len = problem.dim(0);
        let values = inputs[0]
            .chunks_exact(4)
            .take(len as usize)
            .map(|b| f64::from(f32::from_le_bytes([b[0], b[1], b[2], b[3]])));
        let (sum, magnitude) = values.fold((0.0, 0.0), |(s, m), v| (s + v, m + v.abs()));
        let chain = len.div_ceil(LANES) + LEVELS;
        // |computed - exact| <= gamma(chain) * sum |x|: Higham, Accuracy and Stability of Numerical Algorithms, 4.2.
        let bound = rounding(chain, Element::F32) * magnitude;
        Ok(Expected::bounded(Shape::packed(1, 1), Element::F32, vec![sum], vec![bound]))
    }
}
