//! How this crate writes its own rows.

use super::{Accepts, Arch, CudaNeeds, Pass, Promise, Rung, Source, Vouched};
use crate::problem::Precision;
use std::borrow::Cow;

/// A row of a ladder: `rung!("transpose", "naive", block [32, 8, 1], grid …, { field: value, … })`, or
/// `rung!("matmul", "pipelined", no wgsl "because", block …)` where a language has no kernel.
macro_rules! rung {
    ($op:literal, $name:literal, no wgsl $because:literal, $($row:tt)*) => {
        $crate::rung::rung!(@row $name,
            $crate::rung::Source::Text(std::borrow::Cow::Borrowed($crate::rung::rung!(@cuda $op, $name))),
            $crate::rung::Source::Absent { because: std::borrow::Cow::Borrowed($because) },
            $($row)*)
    };
    ($op:literal, $name:literal, no cuda $because:literal, $($row:tt)*) => {
        $crate::rung::rung!(@row $name,
            $crate::rung::Source::Absent { because: std::borrow::Cow::Borrowed($because) },
            $crate::rung::Source::Text(std::borrow::Cow::Borrowed($crate::rung::rung!(@wgsl $op, $name))),
            $($row)*)
    };
    ($op:literal, $name:literal, block $($row:tt)*) => {
        $crate::rung::rung!(@row $name,
            $crate::rung::Source::Text(std::borrow::Cow::Borrowed($crate::rung::rung!(@cuda $op, $name))),
            $crate::rung::Source::Text(std::borrow::Cow::Borrowed($crate::rung::rung!(@wgsl $op, $name))),
            block $($row)*)
    };
    (@cuda $op:literal, $name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/cuda/", $op, "/", $name, ".cu"))
    };
    (@wgsl $op:literal, $name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/shaders/", $op, "/", $name, ".wgsl"))
    };
    (@row $name:literal, $cuda:expr, $wgsl:expr, block $block:expr, $grid:expr, { $($field:ident : $value:expr),* $(,)? }) => {
        $crate::rung::Rung {
            $($field: $value,)*
            ..$crate::rung::shipped($name, const { &[$crate::rung::Pass::new($block, $grid)] }, $cuda, $wgsl)
        }
    };
}
pub(crate) use rung;

/// A shipped rung with its twins and the commonest values of everything else.
pub(crate) const fn shipped(name: &'static str, passes: &'static [Pass], cuda: Source, wgsl: Source) -> Rung {
    Rung {
        name: Cow::Borrowed(name),
        variant: Cow::Borrowed(""),
        idea: Cow::Borrowed(""),
        chinese: Cow::Borrowed(""),
        because: Cow::Borrowed(""),
        chinese_because: Cow::Borrowed(""),
        constants: Cow::Borrowed(&[]),
        switches: Cow::Borrowed(&[]),
        aliases: Cow::Borrowed(&[]),
        passes: Cow::Borrowed(passes),
        workspace: Cow::Borrowed(&[]),
        wgsl_form: None,
        element_sizes: Cow::Borrowed(&[4]),
        wgsl_element_sizes: Cow::Borrowed(&[4]),
        precisions: Cow::Borrowed(&[Precision::Full]),
        accepts: Accepts::PACKED,
        needs: Cow::Borrowed(&[]),
        tunings: Cow::Borrowed(&[]),
        cuda,
        cuda_needs: CudaNeeds { arch: Arch::Compute70, dynamic_shared: 0, tensor_maps: Cow::Borrowed(&[]) },
        wgsl,
        cooperative: None,
        shared_elements: 0,
        promise: Promise::SameBits,
        trusted: true,
        vouched: Vouched { cuda: None, wgsl: None },
    }
}
