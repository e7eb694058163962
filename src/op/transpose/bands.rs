//! Bands: a transpose larger than a binding may be, as transposes of rectangles of it.
//!
//! Rows `r..r + R` and columns `c..c + C` of the input are a view that starts at `(r, c)`, and rows
//! `c..c + C` of the output one that starts at `(c, r)`, each with the leading dimension of the
//! whole. A window starts at the last aligned byte before its view; what lies between becomes the
//! view's offset.

use crate::op::{Band, Shape, Window};
use crate::problem::{Layout, Problem};

/// More launches than anyone wants to wait for.
const MOST_BANDS: u64 = 1 << 16;
/// What bindings are rounded up to.
const CHUNK: u64 = 16;

pub(super) fn cut(sides: &(Shape, Shape), problem: &Problem, limit: u64, alignment: u64) -> Option<Vec<Band>> {
    let (input, output) = sides;
    let width = problem.element.size();
    // A window begins up to one alignment before its view, and ends up to one chunk behind it.
    let room = limit.checked_sub(alignment + CHUNK)? / width;
    let one = |side: &Shape| Shape { batch: 1, layout: Layout { offset: 0, ..side.layout }, ..*side };
    let (span_in, span_out) = (one(input).span("a band").ok()?, one(output).span("a band").ok()?);
    if span_in <= room && span_out <= room {
        // Whole matrices, as many as fit.
        let more = |side: &Shape, span: u64| (room - span) / side.batch_stride().max(1);
        let per_band = more(input, span_in).min(more(output, span_out)) + 1;
        let count = input.batch.div_ceil(per_band);
        let bands = (0..count).map(|band| {
            let first = band * per_band;
            view(sides, problem, [first, 0, 0], [per_band.min(input.batch - first), input.rows, input.cols], alignment)
        });
        return (count <= MOST_BANDS).then(|| bands.collect());
    }
    // Each side alone says how many of its rows fit; a row that does not fit is itself cut, and the
    // other side is then one row at a time.
    let fits = |side: &Shape, rows: u64, cols: u64| (rows - 1).saturating_mul(side.leading_dimension()) + cols <= room;
    let rows = fitting(input, room, span_in).unwrap_or(1);
    // Part of its columns may be what an output is too large by.
    let whole = fits(output, output.rows, rows).then_some(output.rows);
    let cols = whole.or_else(|| fitting(output, room, span_out)).unwrap_or(1);
    let rows = if cols == 1 { rows.min(room) } else { rows };
    let cols = if rows == 1 { cols.min(room) } else { cols };
    if !fits(input, rows, cols) || !fits(output, cols, rows) {
        return None;
    }
    let count = input.rows.div_ceil(rows).saturating_mul(input.cols.div_ceil(cols)).saturating_mul(input.batch);
    if count > MOST_BANDS {
        return None;
    }
    let mut bands = Vec::new();
    for matrix in 0..input.batch {
        for r in (0..input.rows).step_by(rows as usize) {
            for c in (0..input.cols).step_by(cols as usize) {
                let size = [1, rows.min(input.rows - r), cols.min(input.cols - c)];
                bands.push(view(sides, problem, [matrix, r, c], size, alignment));
            }
        }
    }
    Some(bands)
}

/// Rows of a side that fit: all, or equal parts of them that start at whole tiles or chunks.
fn fitting(side: &Shape, room: u64, span: u64) -> Option<u64> {
    if span <= room {
        return Some(side.rows);
    }
    let rows = room / side.leading_dimension().max(1);
    let step = [256, 64, CHUNK, 1].into_iter().find(|step| rows >= *step)?;
    let most = rows - rows % step;
    Some(side.rows.div_ceil(side.rows.div_ceil(most)).next_multiple_of(step))
}

/// Matrices, rows and columns `size` from `[matrix, row, col]` on.
fn view(
    (input, output): &(Shape, Shape),
    problem: &Problem,
    [matrix, row, col]: [u64; 3],
    [batch, rows, cols]: [u64; 3],
    alignment: u64,
) -> Band {
    let width = problem.element.size();
    let mut windows = Vec::new();
    let mut layouts = Vec::new();
    for (side, first, rows, cols) in
        [(input, input.index(matrix, row, col), rows, cols), (output, output.index(matrix, col, row), cols, rows)]
    {
        let start = first * width;
        let offset = start / alignment * alignment;
        let elements = (batch - 1) * side.batch_stride() + (rows - 1) * side.leading_dimension() + cols;
        windows.push(Window { offset, len: (start + elements * width - offset).next_multiple_of(CHUNK) });
        layouts.push(Layout {
            leading_dimension: Some(side.leading_dimension()),
            offset: (start - offset) / width,
            batch_stride: Some(side.batch_stride()),
            transposed: false,
        });
    }
    Band { problem: Problem { dims: vec![rows, cols], batch, layouts, ..problem.clone() }, windows }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::Element;
    use crate::op::transpose::sides;

    #[test]
    fn bands_cover_every_element_once_within_the_limit() {
        for (rows, cols, batch, limit) in [
            (300, 500, 1, 65_536),
            (1, 100_000, 1, 65_536),
            (100_000, 1, 1, 65_536),
            (100, 90, 9, 65_536),
            (3, 40_000, 1, 65_536),
        ] {
            let problem = Problem::new(Element::F32, [rows, cols]).with_batch(batch);
            let sides = sides(&problem);
            let bands = cut(&sides, &problem, limit, 256).unwrap_or_else(|| panic!("{rows}x{cols}"));
            let covered: u64 = bands.iter().map(|b| b.problem.batch * b.problem.dim(0) * b.problem.dim(1)).sum();
            assert_eq!(covered, rows * cols * batch);
            for window in bands.iter().flat_map(|b| &b.windows) {
                assert!(window.len <= limit && window.offset % 256 == 0, "{window:?}");
            }
        }
    }

    #[test]
    fn a_matrix_as_large_as_the_limit_is_halved() {
        let problem = Problem::new(Element::F64, [16_384, 16_384]);
        let bands = cut(&sides(&problem), &problem, (1 << 31) - 4, 256).expect("it can be cut");
        assert_eq!(bands.iter().map(|band| band.problem.dims.clone()).collect::<Vec<_>>(), [[8192, 16_384]; 2]);
    }

    #[test]
    fn what_cannot_be_cut_is_not() {
        // Rows of both sides are longer than the limit.
        let problem = Problem::new(Element::F32, [100_000, 100_000]);
        assert_eq!(cut(&sides(&problem), &problem, 65_536, 256), None);
    }
}
