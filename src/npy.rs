//! Matrices as NumPy files (`.npy`), two-dimensional, in row-major order.
//!
//! A file is a magic number, a version, the length of a header, the header (a Python dictionary of
//! three keys), and the elements:
//! <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>.

use crate::element::Element;
use crate::error::{Error, Result, product};
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::Path;

const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// Elements begin at a multiple of this.
const ALIGNMENT: usize = 64;
/// The only element type that is read and written: little-endian f32.
const F32: &str = "<f4";

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
/// [`Error::File`] for a file that cannot be read, is no `.npy` file, is not two-dimensional, holds
/// another element type or order, or ends before its shape does; [`Error::Overflow`] for a shape
/// beyond 64 bits.
pub fn read(path: &Path) -> Result<Matrix> {
    let mut file = BufReader::new(std::fs::File::open(path).map_err(|e| file_error(path, e))?);
    let text = header_text(&mut file).map_err(|e| match e.kind() {
        std::io::ErrorKind::UnexpectedEof => file_error(path, "not a .npy file: it ends before its header does"),
        _ => file_error(path, format!("not a .npy file: {e}")),
    })?;
    let header =
        Header::of(&text).ok_or_else(|| file_error(path, format!("not a .npy file: its header is {text:?}")))?;
    let &[rows, cols] = header.shape.as_slice() else {
        let shape = header.shape;
        return Err(file_error(path, format!("its shape {shape:?} has {} dimensions, a matrix has 2", shape.len())));
    };
    if header.fortran_order && rows > 1 && cols > 1 {
        return Err(file_error(
            path,
            "its elements are in column order (fortran_order); save it with np.ascontiguousarray",
        ));
    }
    if header.descr != F32 {
        return Err(file_error(path, format!("its elements are {}, not f32 ('{F32}')", header.descr)));
    }
    let needed = product("the matrix", &[rows, cols, Element::F32.size()])?;
    let mut bytes = Vec::new();
    file.take(needed).read_to_end(&mut bytes).map_err(|e| file_error(path, e))?;
    if bytes.len() as u64 != needed {
        return Err(file_error(
            path,
            format!("its shape {rows} x {cols} takes {needed} bytes, it has {}", bytes.len()),
        ));
    }
    Ok(Matrix { element: Element::F32, rows, cols, bytes })
}

/// The dictionary in front of the elements.
fn header_text(file: &mut impl Read) -> std::io::Result<String> {
    let invalid = |what: String| std::io::Error::new(std::io::ErrorKind::InvalidData, what);
    let mut start = [0; 8];
    file.read_exact(&mut start)?;
    let [magic @ .., major, _minor] = &start;
    if magic != MAGIC {
        return Err(invalid("it does not begin with «\\x93NUMPY»".into()));
    }
    // Version 1 counts in 16 bits, 2 and 3 in 32.
    let mut len = [0; 4];
    match major {
        1 => file.read_exact(&mut len[..2])?,
        2 | 3 => file.read_exact(&mut len)?,
        other => return Err(invalid(format!("its version is {other}, known are 1 to 3"))),
    }
    let len = u32::from_le_bytes(len);
    let mut text = String::new();
    match file.take(len.into()).read_to_string(&mut text)? {
        read if read == len as usize => Ok(text),
        read => Err(invalid(format!("its header ends after {read} of {len} bytes"))),
    }
}

/// What a file says of its elements.
#[derive(Debug, PartialEq)]
struct Header {
    descr: String,
    fortran_order: bool,
    shape: Vec<u64>,
}

impl Header {
    /// `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`, keys in any order.
    fn of(text: &str) -> Option<Self> {
        let value = |key: &str| {
            let behind = |quote: char| text.split_once(&format!("{quote}{key}{quote}")).map(|(_, rest)| rest);
            Some(behind('\'').or_else(|| behind('"'))?.trim_start().strip_prefix(':')?.trim_start())
        };
        let descr = value("descr")?;
        let descr = match descr.chars().next()? {
            quote @ ('\'' | '"') => descr[1..].split_once(quote)?.0.to_string(),
            // A record: its fields are only ever shown.
            _ => descr.split_inclusive(']').next()?.to_string(),
        };
        let fortran_order = match value("fortran_order")? {
            text if text.starts_with("True") => true,
            text if text.starts_with("False") => false,
            _ => return None,
        };
        let (shape, _) = value("shape")?.strip_prefix('(')?.split_once(')')?;
        // Python 2 wrote `3L`.
        let sides = shape.split(',').map(|side| side.trim().trim_end_matches('L')).filter(|side| !side.is_empty());
        let shape = sides.map(|side| side.parse().ok()).collect::<Option<_>>()?;
        Some(Header { descr, fortran_order, shape })
    }
}

/// Writes a matrix of f32 beside its final place and moves it there, so that no half file remains.
///
/// # Errors
/// [`Error::File`]; [`Error::Unsupported`] for other element types; [`Error::Shape`] where the bytes
/// are not as many as the shape takes.
pub fn write(path: &Path, matrix: &Matrix) -> Result<()> {
    if matrix.element != Element::F32 {
        return Err(Error::unsupported(format!("a .npy file of {}", matrix.element), "only f32 is written"));
    }
    let needed = product("the matrix", &[matrix.rows, matrix.cols, Element::F32.size()])?;
    if matrix.bytes.len() as u64 != needed {
        let Matrix { rows, cols, bytes, .. } = matrix;
        let problem = format!("{} bytes given, its shape {rows} x {cols} takes {needed}", bytes.len());
        return Err(Error::shape("the matrix", problem));
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
    let Matrix { rows, cols, bytes, .. } = matrix;
    let mut header = format!("{{'descr': '{F32}', 'fortran_order': False, 'shape': ({rows}, {cols}), }}");
    // Magic, version, 16 bits of length and the closing end of line stand beside it.
    let around = MAGIC.len() + 2 + 2 + 1;
    let padded = (header.len() + around).next_multiple_of(ALIGNMENT) - around;
    header.extend(std::iter::repeat_n(' ', padded - header.len()));
    header.push('\n');
    let mut file = BufWriter::new(std::fs::File::create(part)?);
    file.write_all(MAGIC)?;
    file.write_all(&[1, 0])?;
    // At most 128 bytes: two sides of 20 digits each.
    file.write_all(&(header.len() as u16).to_le_bytes())?;
    file.write_all(header.as_bytes())?;
    file.write_all(bytes)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_every_writer_are_read() {
        let header = |descr: &str, fortran_order, shape: &[u64]| {
            Some(Header { descr: descr.into(), fortran_order, shape: shape.to_vec() })
        };
        for (text, expected) in [
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }  \n", header("<f4", false, &[3, 4])),
            ("{\"shape\":(3L,),\"descr\":\"<f8\",\"fortran_order\":True}", header("<f8", true, &[3])),
            ("{'descr': '|u1', 'fortran_order': False, 'shape': ()}", header("|u1", false, &[])),
            (
                "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2, 2), }",
                header("[('a', '<f4')]", false, &[2, 2]),
            ),
            ("{'descr': '<f4', 'fortran_order': False, }", None),
            ("{'descr': '<f4', 'fortran_order': 0, 'shape': (1, 1)}", None),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (-1, 1)}", None),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (18446744073709551616, 1)}", None),
            ("{'descr': '', 'fortran_order': False, 'shape': (1, 1", None),
            ("{'descr':", None),
            (&"{".repeat(1000), None),
            ("", None),
        ] {
            assert_eq!(Header::of(text), expected, "{text}");
        }
    }

    #[test]
    fn a_matrix_comes_back_and_a_broken_file_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("matrix.npy");
        let matrix = Matrix { element: Element::F32, rows: 2, cols: 3, bytes: (0..24).collect() };
        write(&path, &matrix).expect("written");
        assert_eq!(read(&path).expect("read"), matrix);
        let whole = std::fs::read(&path).expect("bytes");
        assert_eq!(whole.len(), ALIGNMENT * 2 + 24);
        for kept in [0, 5, 7, 9, 20, whole.len() - 1] {
            std::fs::write(&path, &whole[..kept]).expect("written");
            assert!(matches!(read(&path), Err(Error::File { .. })), "{kept} bytes");
        }
        let with_shape = |shape: &str| {
            let text = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}}}");
            let bytes = [&MAGIC[..], &[2, 0], &(text.len() as u32).to_le_bytes(), text.as_bytes()].concat();
            std::fs::write(&path, bytes).expect("written");
            read(&path)
        };
        assert!(matches!(with_shape("(18446744073709551615, 2)"), Err(Error::Overflow { .. })));
        assert!(matches!(with_shape("(1000000, 1000000)"), Err(Error::File { .. })));
        assert_eq!(with_shape("(0, 5)").map(|m| (m.rows, m.cols, m.bytes.len())), Ok((0, 5, 0)));
        let short = Matrix { bytes: vec![0; 23], ..matrix };
        assert!(matches!(write(&path, &short), Err(Error::Shape { .. })));
    }
}
