//! Cooperative matrices: values that the lanes of a warp hold together.
//!
//! A matrix is cut into blocks of 8 x 8 elements, row by row, and each lane holds two elements of
//! every block: two registers per block. Which ones is [`super::super::exec`]'s business; here a
//! matrix is a list of registers like any value, so variables, arguments and sums need nothing more.

use super::types::{byte_size, kind};
use super::*;

/// Rows and columns of a block.
const BLOCK: u32 = 8;

/// Registers of a cooperative matrix.
pub fn registers(columns: naga::CooperativeSize, rows: naga::CooperativeSize) -> u32 {
    2 * (columns as u32 / BLOCK) * (rows as u32 / BLOCK)
}

/// Shape and element of a cooperative matrix.
struct Matrix {
    rows: u32,
    columns: u32,
    elem: Elem,
    kind: Kind,
    by_columns: bool,
}

impl<'a> Lowerer<'a> {
    fn cooperative(&mut self, inner: &TypeInner) -> Result<Matrix, SimError> {
        let TypeInner::CooperativeMatrix { columns, rows, scalar, role } = *inner else {
            return self.internal("a cooperative operation on another type");
        };
        let kind = kind(scalar).map_err(|e| self.at_line(e))?;
        let elem = if kind == Kind::F16 { Elem::Half } else { Elem::Word };
        let by_columns = role == naga::CooperativeRole::B;
        Ok(Matrix { rows: rows as u32, columns: columns as u32, elem, kind, by_columns })
    }

    fn transfer(
        &mut self,
        matrix: &Matrix,
        data: &naga::CooperativeData,
        op: AccessOp,
        regs: Vec<Reg>,
    ) -> Result<(), SimError> {
        // The stride counts elements of what the pointer points to, which may be vectors.
        let unit = byte_size(self.module, &self.pointee(data.pointer)?).map_err(|e| self.at_line(e))? as u32;
        let place = self.place(data.pointer)?;
        let Place::Mem { space, offset, .. } = place else {
            return self.unsupported("cooperative matrices in private memory");
        };
        let leaf = types::Leaf { offset: 0, elem: matrix.elem, count: 2 };
        let scratch = self.temps(2);
        let (mem, class) = self.mem_op(&place, leaf, op, [scratch, scratch + 1, NONE, NONE])?;
        let bounds = match space {
            Space::Workgroup => self.code.shared.iter().rfind(|v| v.offset <= offset).map(|v| (v.offset, v.bytes)),
            Space::Buffer(_) => None,
        };
        let stride = self.regs(data.stride)?[0];
        self.code.uses_cooperative = true;
        self.code.transfers.push(Transfer {
            mem,
            bounds,
            stride,
            unit,
            rows: matrix.rows,
            columns: matrix.columns,
            row_major: data.row_major,
            by_columns: matrix.by_columns,
            regs,
        });
        let id = self.code.transfers.len() as u32 - 1;
        let op = if op == AccessOp::Load { Op::CoopLoad { id } } else { Op::CoopStore { id } };
        self.push(op, class, 0);
        Ok(())
    }

    pub(super) fn cooperative_load(
        &mut self,
        h: Handle<Expression>,
        data: &naga::CooperativeData,
    ) -> Result<Val, SimError> {
        let ty = self.ty(h)?;
        let matrix = self.cooperative(&ty)?;
        let n = types::slots(self.module, &ty)?;
        let d = self.temps(n);
        self.transfer(&matrix, data, AccessOp::Load, (d..d + n).collect())?;
        Ok(Val::Regs((d..d + n).collect(), NONE))
    }

    pub(super) fn cooperative_store(
        &mut self,
        target: Handle<Expression>,
        data: &naga::CooperativeData,
    ) -> Result<(), SimError> {
        let ty = self.ty(target)?;
        let matrix = self.cooperative(&ty)?;
        let regs = self.regs(target)?;
        self.transfer(&matrix, data, AccessOp::Store, regs)
    }

    pub(super) fn cooperative_multiply_add(
        &mut self,
        a: Handle<Expression>,
        b: Handle<Expression>,
        c: Handle<Expression>,
    ) -> Result<Val, SimError> {
        let [left, right, sum] = [self.ty(a)?, self.ty(b)?, self.ty(c)?];
        let [left, right, sum] = [self.cooperative(&left)?, self.cooperative(&right)?, self.cooperative(&sum)?];
        if left.columns != right.rows || left.rows != sum.rows || right.columns != sum.columns {
            return self.internal("cooperative matrices of shapes that do not fit");
        }
        let (ra, rb, rc) = (self.regs(a)?, self.regs(b)?, self.regs(c)?);
        let n = rc.len() as u32;
        let d = self.temps(n);
        let shape = [sum.rows, sum.columns, left.columns];
        let half = sum.kind == Kind::F16;
        self.code.products.push(Product { shape, a: ra, b: rb, c: rc, d, half });
        // The warp's operations over its 32 lanes.
        let flops = 2 * shape.iter().product::<u32>() / LANES as u32;
        let class = if left.kind == Kind::F16 { Class::MatrixF16 } else { Class::MatrixF32 };
        self.push(Op::CoopMultiply { id: self.code.products.len() as u32 - 1 }, class, flops as u16);
        Ok(Val::Regs((d..d + n).collect(), NONE))
    }
}
