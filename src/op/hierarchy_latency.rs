//! `hierarchy_latency`: the time of one load, level by level.

use super::{Op, Place, Shape, Work};
use crate::element::Element;
use crate::error::{Error, Result};
use crate::problem::Problem;
use crate::random::permuted;
use crate::rung::{Grid, Need, Rung, rung};
use crate::verify::Expected;
use crate::words::{Phrase, Said};
use bytemuck::{Pod, Zeroable};
use std::sync::{Arc, LazyLock};

/// Follows a chain of `hops` indices through a working set of `words`, one word of every 128-byte line,
/// in a seeded order that visits every line. The time of a hop is the latency of the level that holds the
/// set; the difference of two numbers of hops leaves the launch out.
pub struct HierarchyLatency;

/// The params struct of every kernel.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
struct Params {
    block: [u32; 3],
    words: u32,
    hops: u32,
    pad: u32,
}

static PER_HOP: Phrase = Phrase { english: "{0} ns per hop", chinese: "每跳 {0} ns" };

/// Words of a line.
const LINE: u64 = 32;
/// Words that the rung `shared` has room for.
const SHARED: u64 = 3072;

static LADDER: LazyLock<Vec<Rung>> = LazyLock::new(|| {
    vec![
        rung!("hierarchy_latency", "cached", block [1, 1, 1], Grid::Fixed { blocks: 1 }, {
            idea: "Plain loads: the level that holds the set answers.".into(),
            chinese: "普通载入：由放得下这个集合的那一级回答。".into(),
            because: "The first rung.".into(),
            chinese_because: "第一级。".into(),
        }),
        rung!("hierarchy_latency", "second_level", no wgsl "WGSL cannot choose a cache", block [1, 1, 1], Grid::Fixed { blocks: 1 }, {
            idea: "Loads that pass the first-level cache by.".into(),
            chinese: "绕过一级缓存的载入。".into(),
            because: "Slower for sets that the first level would hold.".into(),
            chinese_because: "对第一级缓存装得下的集合来说更慢。".into(),
        }),
        rung!("hierarchy_latency", "shared", block [32, 1, 1], Grid::Fixed { blocks: 1 }, {
            idea: "The chain in shared memory.".into(),
            chinese: "链放在共享内存中。".into(),
            because: "No tag to look up, and no translation of addresses.".into(),
            chinese_because: "不用查标签，也不用转换地址。".into(),
            needs: vec![Need {
                language: None,
                fact: "FITS_SHARED".into(),
                value: 1,
                because: "this rung takes sets of at most 3072 words".into(),
            }]
            .into(),
            shared_elements: SHARED as u32,
        }),
    ]
});

/// Words of the set: those that were asked for, rounded up to whole lines.
fn set(problem: &Problem) -> u64 {
    problem.dim(0).next_multiple_of(LINE).max(LINE)
}

impl Op for HierarchyLatency {
    fn name(&self) -> &'static str {
        "hierarchy_latency"
    }

    fn about(&self) -> &'static str {
        "output = where a chain of hops through the set ends: a load per hop, each waiting for the one before"
    }

    fn dims(&self) -> &'static [&'static str] {
        &["words", "hops"]
    }

    fn ladder(&self) -> &'static [Rung] {
        &LADDER
    }

    fn elements(&self) -> &'static [Element] {
        &[Element::U32]
    }

    fn shapes(&self, problem: &Problem) -> Result<(Vec<Shape>, Shape)> {
        Ok((vec![Shape::packed(1, set(problem))], Shape::packed(1, 1)))
    }

    fn follows_indices(&self) -> bool {
        true
    }

    fn extent(&self, _problem: &Problem) -> [u64; 3] {
        [1, 1, 1]
    }

    fn work(&self, problem: &Problem) -> Work {
        Work { bytes: 4.0 * problem.dim(1) as f64 + 4.0, flops: 0.0 }
    }

    fn told(&self, dims: &[u64], ns: f64) -> Option<Said> {
        let hop = ns / *dims.get(1)? as f64;
        Some(PER_HOP.with([format!("{hop:.1}")]))
    }

    fn switch(&self, problem: &Problem, _name: &str) -> u32 {
        u32::from(set(problem) <= SHARED)
    }

    fn of_size(&self, size: u64) -> Vec<u64> {
        vec![size.saturating_mul(size), 1 << 14]
    }

    fn examples(&self) -> Vec<Vec<u64>> {
        [[32, 5], [1024, 100], [3072, 1000], [65_536, 3000]].map(|dims| dims.to_vec()).to_vec()
    }

    fn input(&self, _problem: &Problem, _index: usize, seed: u64, count: u64) -> Vec<u8> {
        let lines = count / LINE;
        let mut next = vec![0u8; count as usize * 4];
        // The chain must begin at line 0: all places are counted from wherever the permutation has it.
        let first = permuted(seed, 0, lines);
        let line = |place: u64| (permuted(seed, place % lines, lines) + lines - first) % lines;
        for place in 0..lines {
            let at = (line(place) * LINE * 4) as usize;
            next[at..at + 4].copy_from_slice(&((line(place + 1) * LINE) as u32).to_le_bytes());
        }
        next
    }

    fn generated(&self) -> &'static str {
        "one chain through every line"
    }

    fn params(&self, problem: &Problem, place: Place) -> Vec<u8> {
        let params = Params { block: place.origin, words: set(problem) as u32, hops: problem.dim(1) as u32, pad: 0 };
        bytemuck::bytes_of(&params).to_vec()
    }

    fn expected(&self, problem: &Problem, inputs: &[Arc<Vec<u8>>]) -> Result<Expected> {
        let mut at = 0u32;
        for _ in 0..problem.dim(1) {
            let place = at as usize * 4;
            let next = inputs[0].get(place..).and_then(<[u8]>::first_chunk::<4>);
            let outside = || Error::shape("hierarchy_latency", format!("the chain leaves the set at word {at}"));
            at = u32::from_le_bytes(*next.ok_or_else(outside)?);
        }
        Ok(Expected::bytes(Shape::packed(1, 1), Element::U32, Arc::new(at.to_le_bytes().to_vec())))
    }
}
