//! What transposes ask about a problem: the values of switches and of needs, by name.

use super::ladder::STAGE_BYTES;
use crate::element::Element;
use crate::op::Shape;
use crate::rung::{Language, whole_matrices};

/// Bytes of a chunk, the widest access.
const CHUNK: u64 = 16;
/// The most columns (or rows) of a skinny matrix.
const SKINNY: u64 = 8;

/// The value of a fact about an input and an output.
pub(crate) fn value((input, output): &(Shape, Shape), element: Element, name: &str) -> u32 {
    let narrow = Narrow::of(input, output);
    let yes = match name {
        "VECTOR_INPUT" => aligned(input, element),
        "VECTOR_OUTPUT" => aligned(output, element),
        "STREAMS" => return streams(input, element),
        "SKINNY" => narrow.is_some(),
        "SEVERAL" => narrow.is_some_and(|n| n.count() > 2),
        "NARROW" => return narrow.map_or(0, |n| n.count() as u32),
        "NARROW_INPUT" => !matches!(narrow, Some(Narrow::Output(_))),
        "CHUNKED_INPUT" | "CHUNKED_OUTPUT" => {
            let input_is_narrow = !matches!(narrow, Some(Narrow::Output(_)));
            let (few, many) = if input_is_narrow { (input, output) } else { (output, input) };
            // The narrow side is one run, whatever its rows. Where it cannot be moved in chunks, nothing is.
            placed(few, element) && ((name == "CHUNKED_INPUT") == input_is_narrow || aligned(many, element))
        }
        "GAP_FREE" => gap_free(input) && gap_free(output),
        "SMALL" => STAGE_BYTES.iter().all(|(_, bytes)| matrix_bytes(input, element) <= u64::from(*bytes)),
        "WHOLE_CHUNKS" => [input, output].iter().all(|s| chunk(s.layout.offset, element)) && whole_runs(input, element),
        _ => false,
    };
    u32::from(yes)
}

/// The side of a skinny problem that is one run of short rows, with their length.
#[derive(Clone, Copy)]
enum Narrow {
    Input(u64),
    Output(u64),
}

impl Narrow {
    fn of(input: &Shape, output: &Shape) -> Option<Self> {
        let one_run = |s: &Shape| s.rows <= 1 || s.leading_dimension() == s.cols;
        let fits = |s: &Shape| (1..=SKINNY).contains(&s.cols) && s.cols <= s.rows && one_run(s);
        if fits(input) {
            return Some(Narrow::Input(input.cols));
        }
        fits(output).then_some(Narrow::Output(output.cols))
    }

    fn count(self) -> u64 {
        let (Narrow::Input(count) | Narrow::Output(count)) = self;
        count
    }
}

/// Parts of the matrix that are walked at the same time: input rows a long power of two apart crowd
/// the reads of a single stream (measured for 4 and 8 bytes; 512 KiB and more is the nearest guess).
fn streams(input: &Shape, element: Element) -> u32 {
    const CROWDED: u64 = 128 << 10;
    match input.leading_dimension() * element.size() {
        0 => 1,
        bytes if bytes.is_multiple_of(2 * CROWDED) => 4,
        bytes if bytes.is_multiple_of(CROWDED) => 2,
        _ => 1,
    }
}

fn chunk(elements: u64, element: Element) -> bool {
    (elements.wrapping_mul(element.size())).is_multiple_of(CHUNK)
}

/// Whether every matrix starts at a multiple of a chunk.
fn placed(side: &Shape, element: Element) -> bool {
    chunk(side.layout.offset, element) && (side.batch <= 1 || chunk(side.batch_stride(), element))
}

/// Whether every row starts at a multiple of a chunk.
pub(super) fn aligned(side: &Shape, element: Element) -> bool {
    placed(side, element) && (side.rows <= 1 || chunk(side.leading_dimension(), element))
}

fn gap_free(side: &Shape) -> bool {
    (side.rows <= 1 || side.leading_dimension() == side.cols)
        && (side.batch <= 1 || side.batch_stride() == side.rows * side.cols)
}

fn matrix_bytes(side: &Shape, element: Element) -> u64 {
    side.rows.saturating_mul(side.cols).saturating_mul(element.size())
}

/// Whether the runs of whole matrices that blocks of the WGSL kernel take start at multiples of a chunk.
fn whole_runs(input: &Shape, element: Element) -> bool {
    STAGE_BYTES.iter().filter(|(language, _)| *language == Language::Wgsl).all(|&(_, bytes)| {
        let run = whole_matrices(bytes, input.rows * input.cols, element.size());
        run >= input.batch || chunk(run * input.rows * input.cols, element)
    })
}
