//! Shapes of naga types: how many scalars a value has, and where its parts lie in memory.

use super::super::code::{Elem, Kind};
use super::super::error::SimError;
use naga::{ArraySize, Scalar, ScalarKind, TypeInner, VectorSize};

/// Largest value (in scalars) that may live in registers; a bigger one is surely a mistake.
const MAX_SLOTS: u32 = 1 << 16;

/// A run of equal components that one memory instruction moves.
#[derive(Debug, Clone, Copy)]
pub struct Leaf {
    pub offset: u32,
    pub elem: Elem,
    pub count: u8,
}

pub fn kind(scalar: Scalar) -> Result<Kind, SimError> {
    let kind = match (scalar.kind, scalar.width) {
        (ScalarKind::Uint, 4) => Kind::U32,
        (ScalarKind::Sint, 4) => Kind::I32,
        (ScalarKind::Float, 4) => Kind::F32,
        (ScalarKind::Float, 2) => Kind::F16,
        (ScalarKind::Bool, _) => Kind::Bool,
        (other, width) => return Err(unsupported(&format!("{}-bit {other:?} values", u32::from(width) * 8))),
    };
    Ok(kind)
}

fn unsupported(what: &str) -> SimError {
    SimError::Unsupported { line: 0, what: what.to_string() }
}

fn elem(kind: Kind) -> Elem {
    match kind {
        Kind::F16 => Elem::Half,
        Kind::Bool => Elem::Byte,
        _ => Elem::Word,
    }
}

/// Scalar kind of a scalar, vector, matrix or atomic (or pointer to a value of one).
pub fn scalar_kind(inner: &TypeInner) -> Result<Kind, SimError> {
    match *inner {
        TypeInner::Scalar(s) | TypeInner::Atomic(s) => kind(s),
        TypeInner::Vector { scalar, .. }
        | TypeInner::Matrix { scalar, .. }
        | TypeInner::CooperativeMatrix { scalar, .. }
        | TypeInner::ValuePointer { scalar, .. } => kind(scalar),
        _ => Err(unsupported("arithmetic on this type")),
    }
}

/// Length of an array type; `None` for a runtime-sized one.
pub fn array_len(module: &naga::Module, size: ArraySize) -> Result<Option<u32>, SimError> {
    match size {
        ArraySize::Constant(n) => Ok(Some(n.get())),
        ArraySize::Dynamic => Ok(None),
        ArraySize::Pending(_) => match size.resolve(module.to_ctx()) {
            Ok(naga::proc::IndexableLength::Known(n)) => Ok(Some(n)),
            Ok(naga::proc::IndexableLength::Dynamic) => Ok(None),
            Err(e) => Err(SimError::Override { message: e.to_string() }),
        },
    }
}

/// Number of scalars in a value of this type.
pub fn slots(module: &naga::Module, inner: &TypeInner) -> Result<u32, SimError> {
    let n = match *inner {
        TypeInner::Scalar(s) | TypeInner::Atomic(s) => {
            kind(s)?;
            1
        }
        TypeInner::Vector { size, scalar } => {
            kind(scalar)?;
            size as u32
        }
        TypeInner::Matrix { columns, rows, scalar } => {
            kind(scalar)?;
            columns as u32 * rows as u32
        }
        TypeInner::Array { base, size, .. } => {
            let each = slots(module, &module.types[base].inner)?;
            let n = array_len(module, size)?.ok_or_else(|| unsupported("a runtime-sized array as a value"))?;
            each.saturating_mul(n)
        }
        TypeInner::Struct { ref members, .. } => {
            let mut n = 0u32;
            for m in members {
                n = n.saturating_add(slots(module, &module.types[m.ty].inner)?);
            }
            n
        }
        TypeInner::CooperativeMatrix { columns, rows, scalar, .. } => {
            kind(scalar)?;
            super::cooperative::registers(columns, rows)
        }
        TypeInner::Image { .. } | TypeInner::Sampler { .. } => return Err(unsupported("textures and samplers")),
        _ => return Err(unsupported(&format!("values of type {inner:?}"))),
    };
    if n > MAX_SLOTS {
        return Err(unsupported(&format!("a value of {n} scalars in registers")));
    }
    Ok(n)
}

/// Bytes from one column of a matrix to the next.
pub fn column_stride(rows: VectorSize, width: u32) -> u32 {
    match rows {
        VectorSize::Bi => 2 * width,
        VectorSize::Tri | VectorSize::Quad => 4 * width,
    }
}

/// The memory instructions that move a value of this type, in the order of its scalars.
pub fn leaves(module: &naga::Module, inner: &TypeInner, offset: u32, out: &mut Vec<Leaf>) -> Result<(), SimError> {
    match *inner {
        TypeInner::Scalar(s) | TypeInner::Atomic(s) => {
            let kind = kind(s)?;
            out.push(Leaf { offset, elem: elem(kind), count: 1 });
        }
        TypeInner::Vector { size, scalar } => {
            let kind = kind(scalar)?;
            out.push(Leaf { offset, elem: elem(kind), count: size as u8 });
        }
        TypeInner::Matrix { columns, rows, scalar } => {
            let kind = kind(scalar)?;
            let stride = column_stride(rows, u32::from(scalar.width));
            for c in 0..columns as u32 {
                out.push(Leaf { offset: offset + c * stride, elem: elem(kind), count: rows as u8 });
            }
        }
        TypeInner::Array { base, size, stride } => {
            slots(module, inner)?;
            for i in 0..array_len(module, size)?.unwrap_or(0) {
                leaves(module, &module.types[base].inner, offset + i * stride, out)?;
            }
        }
        TypeInner::Struct { ref members, .. } => {
            for m in members {
                leaves(module, &module.types[m.ty].inner, offset + m.offset, out)?;
            }
        }
        _ => return Err(unsupported(&format!("memory access of type {inner:?}"))),
    }
    Ok(())
}

/// Bytes that a type takes; a runtime-sized array counts as one element.
pub fn byte_size(module: &naga::Module, inner: &TypeInner) -> Result<u64, SimError> {
    Ok(match *inner {
        TypeInner::Array { size, stride, .. } => u64::from(stride) * u64::from(array_len(module, size)?.unwrap_or(1)),
        TypeInner::Struct { ref members, span } => match members.last() {
            Some(last) if is_runtime_sized(module, &module.types[last.ty].inner) => {
                u64::from(last.offset) + byte_size(module, &module.types[last.ty].inner)?
            }
            _ => u64::from(span),
        },
        TypeInner::Scalar(s) | TypeInner::Atomic(s) => u64::from(s.width),
        TypeInner::Vector { size, scalar } => size as u64 * u64::from(scalar.width),
        TypeInner::Matrix { columns, rows, scalar } => {
            columns as u64 * u64::from(column_stride(rows, u32::from(scalar.width)))
        }
        _ => return Err(unsupported(&format!("memory of type {inner:?}"))),
    })
}

pub fn is_runtime_sized(module: &naga::Module, inner: &TypeInner) -> bool {
    match *inner {
        TypeInner::Array { size: ArraySize::Dynamic, .. } => true,
        TypeInner::Struct { ref members, .. } => {
            members.last().is_some_and(|m| is_runtime_sized(module, &module.types[m.ty].inner))
        }
        _ => false,
    }
}

/// Smallest scalar width (as a shift: 0, 1 or 2) in a type: the grain of race detection.
pub fn grain(module: &naga::Module, inner: &TypeInner) -> u32 {
    match *inner {
        TypeInner::Scalar(s) | TypeInner::Atomic(s) => match s.width {
            1 => 0,
            2 => 1,
            _ => 2,
        },
        TypeInner::Vector { scalar, .. } | TypeInner::Matrix { scalar, .. } => {
            grain(module, &TypeInner::Scalar(scalar))
        }
        TypeInner::Array { base, .. } => grain(module, &module.types[base].inner),
        TypeInner::Struct { ref members, .. } => {
            members.iter().map(|m| grain(module, &module.types[m.ty].inner)).min().unwrap_or(2)
        }
        _ => 2,
    }
}
