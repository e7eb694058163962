//! Matrices as NumPy files (`.npy`), two-dimensional, in row-major order.

use crate::element::Element;
use crate::error::{Error, Result};
use npyz::{Order, TypeStr, WriterBuilder};
use std::io::{BufReader, BufWriter, Write};
use std::path::Path;

/// A matrix as it lies in a file: packed rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Matrix {
    /// The element type.
    pub element: Element,
    /// Rows.
    pub rows: u64,
    /// Columns.
    pub cols: u64,
    /// The elements' bytes, little-endian, row by row.
    pub bytes: Vec<u8>,
}

fn file_error(path: &Path, problem: impl std::fmt::Display) -> Error {
    Error::File { path: path.display().to_string(), problem: problem.to_string() }
}

/// Reads a matrix of f32.
///
/// # Errors
/// [`Error::File`] for a file that cannot be read, is no `.npy` file, is not two-dimensional, or
/// holds another element type or order.
pub fn read(path: &Path) -> Result<Matrix> {
    let file = std::fs::File::open(path).map_err(|e| file_error(path, e))?;
    let npy =
        npyz::NpyFile::new(BufReader::new(file)).map_err(|e| file_error(path, format!("not a .npy file: {e}")))?;
    let shape = npy.shape().to_vec();
    let &[rows, cols] = shape.as_slice() else {
        return Err(file_error(path, format!("its shape {shape:?} has {} dimensions, a matrix has 2", shape.len())));
    };
    if npy.order() != Order::C && rows > 1 && cols > 1 {
        return Err(file_error(
            path,
            "its elements are in column order (fortran_order); save it with np.ascontiguousarray",
        ));
    }
    let expected: TypeStr = "<f4".parse().map_err(|e| file_error(path, e))?;
    match npy.dtype() {
        npyz::DType::Plain(found) if found == expected => {}
        other => return Err(file_error(path, format!("its elements are {}, not f32 ('<f4')", other.descr()))),
    }
    let count = crate::error::product("the matrix", &[rows, cols])?;
    let values: Vec<f32> = npy.into_vec().map_err(|e| file_error(path, e))?;
    if values.len() as u64 != count {
        return Err(file_error(path, format!("it holds {} elements, its shape {count}", values.len())));
    }
    Ok(Matrix { element: Element::F32, rows, cols, bytes: bytemuck::cast_slice(&values).to_vec() })
}

/// Writes a matrix of f32 beside its final place and moves it there, so that no half file remains.
///
/// # Errors
/// [`Error::File`]; [`Error::Unsupported`] for other element types.
pub fn write(path: &Path, matrix: &Matrix) -> Result<()> {
    if matrix.element != Element::F32 {
        return Err(Error::unsupported(format!("a .npy file of {}", matrix.element), "only f32 is written"));
    }
    let part = part_path(path);
    let written = write_part(&part, matrix).map_err(|e| file_error(path, e));
    let moved = written.and_then(|()| std::fs::rename(&part, path).map_err(|e| file_error(path, e)));
    if moved.is_err() {
        // The error that counts is the one above.
        let _ = std::fs::remove_file(&part);
    }
    moved
}

fn write_part(part: &Path, matrix: &Matrix) -> std::io::Result<()> {
    let mut file = BufWriter::new(std::fs::File::create(part)?);
    let mut writer =
        npyz::WriteOptions::new().default_dtype().shape(&[matrix.rows, matrix.cols]).writer(&mut file).begin_nd()?;
    writer.extend(matrix.bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])))?;
    writer.finish()?;
    file.flush()
}

fn part_path(path: &Path) -> std::path::PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}.part", std::process::id()));
    path.with_file_name(name)
}

/// Refuses a path that [`write()`] could not write, before any work is done.
///
/// # Errors
/// [`Error::File`].
pub fn check_writable(path: &Path) -> Result<()> {
    if path.is_dir() {
        return Err(file_error(path, "it is a folder"));
    }
    let part = part_path(path);
    std::fs::File::create(&part).map_err(|e| file_error(path, format!("it cannot be written: {e}")))?;
    std::fs::remove_file(&part).map_err(|e| file_error(path, e))
}
