//! Matrices in Matrix Market's coordinate format.

use crate::error::{Error, Result};
use crate::problem::Problem;
use crate::random::{self};
use crate::session::Inputs;
use crate::{Element, op::Distribution};
use std::sync::Arc;

/// A sparse matrix as compressed rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Sparse {
    /// Rows.
    pub rows: u64,
    /// Columns.
    pub cols: u64,
    /// The place of the first entry of every row, and the number of all.
    pub starts: Vec<u32>,
    /// The column of every entry.
    pub columns: Vec<u32>,
    /// The value of every entry.
    pub values: Vec<f32>,
}

impl Sparse {
    /// The problem of this matrix times a vector.
    pub fn problem(&self) -> Problem {
        Problem::new(Element::F32, [self.rows, self.cols, self.values.len() as u64, 0])
    }

    /// Its operands, with a seeded vector: row starts, columns, values and vector, in bytes.
    pub fn operands(&self, seed: u64) -> Vec<Arc<Vec<u8>>> {
        let x = random::elements(seed, 3, Element::F32, self.cols, Distribution::Uniform);
        let bytes = |words: &[u32]| Arc::new(bytemuck::cast_slice(words).to_vec());
        let values = Arc::new(bytemuck::cast_slice(&self.values).to_vec());
        vec![bytes(&self.starts), bytes(&self.columns), values, Arc::new(x)]
    }

    /// The same as inputs of a stage.
    pub fn inputs(&self, seed: u64, description: impl Into<String>) -> Inputs {
        Inputs::Given { operands: self.operands(seed), description: description.into() }
    }
}

/// Reads a matrix in coordinate format: real, integer or pattern (whose values count as 1); general,
/// symmetric or skew-symmetric (whose other half is added).
///
/// # Errors
/// [`Error::Shape`] with the line that is wrong.
pub fn read(text: &str) -> Result<Sparse> {
    let wrong = |line: usize, what: &str| Error::shape(format!("line {} of a Matrix Market file", line + 1), what);
    let mut lines = text.lines().enumerate();
    let (_, banner) = lines.next().ok_or_else(|| wrong(0, "there is none"))?;
    let words: Vec<String> = banner.split_whitespace().map(str::to_lowercase).collect();
    let [first, object, format, field, symmetry] = words.as_slice() else {
        return Err(wrong(0, "a banner has five words"));
    };
    if first != "%%matrixmarket" || object != "matrix" || format != "coordinate" {
        return Err(wrong(0, "only `%%MatrixMarket matrix coordinate` is read"));
    }
    if !["real", "integer", "pattern"].contains(&field.as_str()) {
        return Err(wrong(0, "only real, integer and pattern values are read"));
    }
    let mirrored = match symmetry.as_str() {
        "general" => None,
        "symmetric" => Some(1.0),
        "skew-symmetric" => Some(-1.0),
        _ => return Err(wrong(0, "only general, symmetric and skew-symmetric matrices are read")),
    };
    let mut lines = lines.filter(|(_, line)| !line.starts_with('%') && !line.trim().is_empty());
    let (number, sizes) = lines.next().ok_or_else(|| wrong(1, "the sizes are missing"))?;
    let size =
        |word: &str| word.parse::<u64>().map_err(|error| wrong(number, &format!("`{word}` is no size: {error}")));
    let sizes: Vec<u64> = sizes.split_whitespace().map(size).collect::<Result<_>>()?;
    let [rows, cols, count] = sizes[..] else {
        return Err(wrong(number, &format!("three sizes are due: rows, columns and entries; it has {}", sizes.len())));
    };
    super::generate::check(rows, cols, count)?;
    let mut entries: Vec<(u32, u32, f32)> = Vec::new();
    let mut read = 0;
    for (number, line) in lines {
        let mut words = line.split_whitespace();
        let mut place =
            |most: u64| words.next()?.parse::<u64>().ok().filter(|n| (1..=most).contains(n)).map(|n| n as u32 - 1);
        let (Some(row), Some(col)) = (place(rows), place(cols)) else {
            return Err(wrong(number, "a row and a column inside the matrix are due"));
        };
        let value = match field.as_str() {
            "pattern" => Some(1.0),
            _ => words.next().and_then(|word| word.parse::<f32>().ok()),
        };
        let value = value.ok_or_else(|| wrong(number, "a value is due"))?;
        entries.push((row, col, value));
        if let Some(sign) = mirrored.filter(|_| row != col) {
            if u64::from(col) >= rows || u64::from(row) >= cols {
                return Err(wrong(number, "a symmetric matrix is square"));
            }
            entries.push((col, row, sign * value));
        }
        read += 1;
    }
    if read != count {
        return Err(wrong(number, &format!("{count} entries are announced, {read} follow")));
    }
    super::generate::check(rows, cols, entries.len() as u64)?;
    entries.sort_by_key(|&(row, col, _)| (row, col));
    let mut starts = vec![0u32; rows as usize + 1];
    for &(row, _, _) in &entries {
        starts[row as usize + 1] += 1;
    }
    for row in 0..rows as usize {
        starts[row + 1] += starts[row];
    }
    let (columns, values) = entries.iter().map(|&(_, col, value)| (col, value)).unzip();
    Ok(Sparse { rows, cols, starts, columns, values })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_symmetric_matrix_is_completed() {
        let text = "%%MatrixMarket matrix coordinate real symmetric\n% a comment\n3 3 3\n1 1 2.0\n3 1 -1.5\n3 3 4\n";
        let sparse = read(text).expect("a valid file");
        assert_eq!(sparse.starts, [0, 2, 2, 4]);
        assert_eq!(sparse.columns, [0, 2, 0, 2]);
        assert_eq!(sparse.values, [2.0, -1.5, -1.5, 4.0]);
    }

    #[test]
    fn mistakes_name_their_line() {
        let banner = "%%MatrixMarket matrix coordinate pattern general\n";
        for (text, line) in [("2 2 1\n3 1\n", "line 3"), ("2 2 2\n1 1\n", "line 2"), ("2 2\n", "it has 2")] {
            let error = read(&format!("{banner}{text}")).expect_err("a wrong file").to_string();
            assert!(error.contains(line), "{error}");
        }
        let error = read(&format!("{banner}2 -1 1\n")).expect_err("a negative size").to_string();
        assert!(error.contains("line 2") && error.contains("`-1`"), "{error}");
        assert!(read("").is_err() && read("%%MatrixMarket matrix array real general\n1 1\n1\n").is_err());
    }
}
