//! Expressions other than built-in functions.

use super::types::{kind, scalar_kind, slots};
use super::*;
use naga::{BinaryOperator as B, Literal, ScalarKind, UnaryOperator};

impl<'a> Lowerer<'a> {
    /// Evaluates an expression where naga emits it.
    pub(super) fn emit(&mut self, h: Handle<Expression>) -> Result<(), SimError> {
        let f = self.frame()?;
        // Nothing reads it: no code, as in any compiler.
        if f.facts.last_use(h) == 0 {
            return Ok(());
        }
        let outer = self.span;
        let span: Span = f.function.expressions.get_span(h).into();
        if span.is_known() {
            self.span = span;
        }
        let val = self.evaluate(h)?;
        self.set(h, val)?;
        self.span = outer;
        Ok(())
    }

    pub(super) fn set(&mut self, h: Handle<Expression>, val: Val) -> Result<(), SimError> {
        self.note_alias(Target::Expr(h), &val);
        self.frame_mut()?.vals[h.index()] = Some(val);
        Ok(())
    }

    pub(super) fn val(&mut self, h: Handle<Expression>) -> Result<Val, SimError> {
        let f = self.frame()?;
        match &f.function.expressions[h] {
            // Arguments can be copied behind our back, so they are always asked anew.
            Expression::FunctionArgument(i) => match f.args.get(*i as usize) {
                Some(v) => Ok(v.clone()),
                None => self.internal("missing argument"),
            },
            _ => match f.vals.get(h.index()).cloned().flatten() {
                Some(v) => Ok(v),
                // Literals, constants and variables are not emitted.
                None => {
                    let v = self.evaluate(h)?;
                    self.set(h, v.clone())?;
                    Ok(v)
                }
            },
        }
    }

    pub(super) fn regs(&mut self, h: Handle<Expression>) -> Result<Vec<Reg>, SimError> {
        Ok(self.regs_marked(h)?.0)
    }

    pub(super) fn regs_marked(&mut self, h: Handle<Expression>) -> Result<(Vec<Reg>, u32), SimError> {
        match self.val(h)? {
            Val::Regs(r, m) => Ok((r, m)),
            Val::Place(_) => self.internal("a pointer where a value belongs"),
        }
    }

    pub(super) fn ty(&self, h: Handle<Expression>) -> Result<TypeInner, SimError> {
        Ok(self.frame()?.info[h].ty.inner_with(&self.module.types).clone())
    }

    pub(super) fn expr_kind(&self, h: Handle<Expression>) -> Result<Kind, SimError> {
        scalar_kind(&self.ty(h)?).map_err(|e| self.at_line(e))
    }

    fn evaluate(&mut self, h: Handle<Expression>) -> Result<Val, SimError> {
        let function = self.frame()?.function;
        let plain = |regs| Ok(Val::Regs(regs, NONE));
        match function.expressions[h] {
            Expression::Literal(l) => {
                let r = self.literal(l)?;
                plain(vec![r])
            }
            Expression::Constant(c) => {
                let init = self.module.constants[c].init;
                plain(self.global_value(init)?)
            }
            Expression::Override(_) => self.internal("unresolved override"),
            Expression::ZeroValue(ty) => {
                let n = slots(self.module, &self.module.types[ty].inner)?;
                let zero = self.constant(0);
                plain(vec![zero; n as usize])
            }
            Expression::Compose { ref components, .. } => {
                let mut out = Vec::new();
                for c in components {
                    out.extend(self.regs(*c)?);
                }
                plain(out)
            }
            Expression::Splat { size, value } => {
                let r = self.regs(value)?[0];
                plain(vec![r; size as usize])
            }
            Expression::Swizzle { size, vector, pattern } => {
                let v = self.regs(vector)?;
                plain(pattern.iter().take(size as usize).map(|p| v[*p as usize]).collect())
            }
            Expression::Access { base, index } => self.access(base, index),
            Expression::AccessIndex { base, index } => match self.val(base)? {
                Val::Place(p) => Ok(Val::Place(self.access_index_place(base, p, index)?)),
                Val::Regs(regs, _) => {
                    let (at, n) = self.member(&self.ty(base)?, index)?;
                    plain(regs[at as usize..(at + n) as usize].to_vec())
                }
            },
            Expression::GlobalVariable(g) => match self.globals.get(&g) {
                Some(p) => Ok(Val::Place(p.clone())),
                None => self.unsupported("this kind of global variable"),
            },
            Expression::LocalVariable(l) => match self.frame()?.locals[l.index()] {
                Some((base, end)) => Ok(Val::Place(Place::Var { base, end, dynamic: NONE, checks: Vec::new() })),
                None => self.internal("a local variable before its place"),
            },
            Expression::Load { pointer } => {
                let mark = match function.expressions[pointer] {
                    Expression::LocalVariable(l) => self.frame()?.local_marks[l.index()],
                    _ => NONE,
                };
                let regs = self.load_pointer(pointer)?;
                Ok(Val::Regs(regs, mark))
            }
            Expression::Unary { op, expr } => {
                let k = self.expr_kind(expr)?;
                let f = match (op, k) {
                    (UnaryOperator::Negate, k) if k.is_float() => Un::NegF,
                    (UnaryOperator::Negate, _) => Un::NegI,
                    (UnaryOperator::LogicalNot, _) => Un::NotB,
                    (UnaryOperator::BitwiseNot, _) => Un::NotI,
                };
                let a = self.regs(expr)?;
                plain(a.into_iter().map(|r| self.un(f, r, k)).collect())
            }
            Expression::Binary { op, left, right } => self.binary(h, op, left, right),
            Expression::Select { condition, accept, reject } => {
                let k = self.expr_kind(accept)?;
                let (c, a, b) = (self.regs(condition)?, self.regs(accept)?, self.regs(reject)?);
                let out = a.iter().zip(&b).enumerate().map(|(i, (a, b))| {
                    let c = if c.len() == 1 { c[0] } else { c[i] };
                    match self.known(c) {
                        Some(0) => *b,
                        Some(_) => *a,
                        None => self.tern(Tern::Select, *a, *b, c, k),
                    }
                });
                plain(out.collect())
            }
            Expression::Relational { fun, argument } => {
                use naga::RelationalFunction as R;
                let k = self.expr_kind(argument)?;
                let a = self.regs(argument)?;
                plain(match fun {
                    R::All | R::Any => {
                        let f = if fun == R::All { Bin::And } else { Bin::Or };
                        let mut acc = a[0];
                        for r in &a[1..] {
                            acc = self.bin(f, acc, *r, Kind::Bool);
                        }
                        vec![acc]
                    }
                    R::IsNan => a.into_iter().map(|r| self.un(Un::IsNan, r, k)).collect(),
                    R::IsInf => a.into_iter().map(|r| self.un(Un::IsInf, r, k)).collect(),
                })
            }
            Expression::Math { fun, arg, arg1, arg2, arg3 } => {
                let regs = self.math(h, fun, arg, arg1, arg2, arg3)?;
                plain(regs)
            }
            Expression::As { expr, kind: to, convert } => {
                let from = self.expr_kind(expr)?;
                let (a, mark) = self.regs_marked(expr)?;
                let out = self.convert(&a, from, to, convert)?;
                Ok(Val::Regs(out, mark))
            }
            Expression::ArrayLength(p) => match self.place(p)? {
                Place::Mem { space: Space::Buffer(buffer), offset, .. } => {
                    let stride = match self.ty(p)? {
                        TypeInner::Pointer { base, .. } => match self.module.types[base].inner {
                            TypeInner::Array { stride, .. } => stride,
                            _ => 1,
                        },
                        _ => 1,
                    };
                    let id = self.length(LengthInfo { buffer, offset, stride });
                    plain(vec![self.fixed(Fixed::ArrayLength(id))])
                }
                _ => self.internal("arrayLength of something else than a buffer"),
            },
            Expression::CooperativeLoad { ref data, .. } => self.cooperative_load(h, data),
            Expression::CooperativeMultiplyAdd { a, b, c } => self.cooperative_multiply_add(a, b, c),
            Expression::ImageSample { .. } | Expression::ImageLoad { .. } | Expression::ImageQuery { .. } => {
                self.unsupported("textures")
            }
            Expression::Derivative { .. } => self.unsupported("derivatives"),
            Expression::RayQueryVertexPositions { .. }
            | Expression::RayQueryProceedResult
            | Expression::RayQueryGetIntersection { .. } => self.unsupported("ray queries"),
            ref other => self.internal(format!("{other:?} before its statement")),
        }
    }

    /// First scalar and number of scalars of part `i` of a composite.
    fn member(&self, ty: &TypeInner, i: u32) -> Result<(u32, u32), SimError> {
        let n = |t: Handle<naga::Type>| slots(self.module, &self.module.types[t].inner);
        Ok(match *ty {
            TypeInner::Vector { .. } => (i, 1),
            TypeInner::Matrix { rows, .. } => (i * rows as u32, rows as u32),
            TypeInner::Array { base, .. } => (i * n(base)?, n(base)?),
            TypeInner::Struct { ref members, .. } => {
                let mut at = 0;
                for m in members.iter().take(i as usize) {
                    at += n(m.ty)?;
                }
                (at, members.get(i as usize).map_or(Ok(0), |m| n(m.ty))?)
            }
            _ => return self.internal("part of a value without parts"),
        })
    }

    fn access(&mut self, base: Handle<Expression>, index: Handle<Expression>) -> Result<Val, SimError> {
        let signed = self.expr_kind(index)? == Kind::I32;
        let (index_regs, mark) = self.regs_marked(index)?;
        let i = index_regs[0];
        match self.val(base)? {
            Val::Place(p) => Ok(Val::Place(self.access_place(base, p, i, mark, signed)?)),
            Val::Regs(regs, _) => {
                let ty = self.ty(base)?;
                let (_, each) = self.member(&ty, 0)?;
                let n = regs.len() as u32 / each.max(1);
                if let Some(c) = self.known(i)
                    && c < n
                {
                    return Ok(Val::Regs(regs[(c * each) as usize..((c + 1) * each) as usize].to_vec(), NONE));
                }
                // The parts must lie in a row for a run-time index to choose among them.
                let at = self.temps(regs.len() as u32);
                for (k, r) in regs.iter().enumerate() {
                    self.push(Op::Copy { d: at + k as u32, a: *r }, Class::Free, 0);
                }
                let (d, id) = self.index_op(NONE, i, Len::Known(n), each, mark, signed);
                let place = Place::Var { base: at, end: at + regs.len() as u32, dynamic: d, checks: vec![id] };
                let part = match ty {
                    TypeInner::Array { base, .. } => self.module.types[base].inner.clone(),
                    TypeInner::Matrix { rows, scalar, .. } => TypeInner::Vector { size: rows, scalar },
                    TypeInner::Vector { scalar, .. } => TypeInner::Scalar(scalar),
                    _ => return self.internal("index into a value without elements"),
                };
                Ok(Val::Regs(self.load(&place, &part)?, NONE))
            }
        }
    }

    fn literal(&mut self, l: Literal) -> Result<Reg, SimError> {
        Ok(match l {
            Literal::F32(x) => self.float(x),
            Literal::F16(x) => self.float(x.to_f32()),
            Literal::U32(x) => self.constant(x),
            Literal::I32(x) => self.constant(x as u32),
            Literal::Bool(x) => self.constant(u32::from(x)),
            other => return self.unsupported(format!("literal {other:?}")),
        })
    }

    /// Value of a constant expression of the module.
    pub(super) fn global_value(&mut self, h: Handle<Expression>) -> Result<Vec<Reg>, SimError> {
        match self.module.global_expressions[h] {
            Expression::Literal(l) => Ok(vec![self.literal(l)?]),
            Expression::Constant(c) => {
                let init = self.module.constants[c].init;
                self.global_value(init)
            }
            Expression::ZeroValue(ty) => {
                let n = slots(self.module, &self.module.types[ty].inner)?;
                Ok(vec![self.constant(0); n as usize])
            }
            Expression::Compose { ref components, .. } => {
                let mut out = Vec::new();
                for c in components {
                    out.extend(self.global_value(*c)?);
                }
                Ok(out)
            }
            Expression::Splat { size, value } => {
                let r = self.global_value(value)?[0];
                Ok(vec![r; size as usize])
            }
            ref other => self.internal(format!("constant expression {other:?}")),
        }
    }

    fn binary(
        &mut self,
        h: Handle<Expression>,
        op: B,
        left: Handle<Expression>,
        right: Handle<Expression>,
    ) -> Result<Val, SimError> {
        let k = self.expr_kind(left)?;
        let (lt, rt) = (self.ty(left)?, self.ty(right)?);
        let ((a, ma), (b, mb)) = (self.regs_marked(left)?, self.regs_marked(right)?);
        if op == B::Multiply && (matches!(lt, TypeInner::Matrix { .. }) || matches!(rt, TypeInner::Matrix { .. })) {
            return Ok(Val::Regs(self.matrix_multiply(&lt, &a, &rt, &b, k)?, NONE));
        }
        let n = a.len().max(b.len());
        let mut out = Vec::with_capacity(n);
        for i in 0..n {
            let (x, y) = (a[if a.len() == 1 { 0 } else { i }], b[if b.len() == 1 { 0 } else { i }]);
            let r = self.binary_scalar(op, x, y, k)?;
            out.push(r);
        }
        let mut mark = NONE;
        if n == 1
            && self.frame()?.wanted.expr(h)
            && matches!(op, B::Add | B::Multiply | B::Subtract)
            && matches!(k, Kind::U32 | Kind::I32)
            && (self.known(a[0]).is_none() || self.known(b[0]).is_none())
        {
            mark = self.overflow(op, a[0], b[0], k, ma, mb);
        }
        Ok(Val::Regs(out, mark))
    }

    /// Follows an index computation for wrapped lanes. A subtraction only passes its operands'
    /// marks on: `i - 1` at zero shows as an index out of range anyway.
    fn overflow(&mut self, op: B, a: Reg, b: Reg, k: Kind, in_a: u32, in_b: u32) -> u32 {
        if op == B::Subtract && in_a == NONE && in_b == NONE {
            return NONE;
        }
        let out = self.mark();
        let (a, b) = if op == B::Subtract { (NONE, NONE) } else { (a, b) };
        self.code.overflows.push(OverflowOp {
            multiply: op == B::Multiply,
            signed: k == Kind::I32,
            a,
            b,
            out,
            in_a,
            in_b,
            span: self.span,
        });
        self.push(Op::Overflow { id: self.code.overflows.len() as u32 - 1 }, Class::Free, 0);
        out
    }

    fn binary_scalar(&mut self, op: B, x: Reg, y: Reg, k: Kind) -> Result<Reg, SimError> {
        let float = k.is_float();
        let signed = k == Kind::I32;
        let pick = |f, s, u| {
            if float {
                f
            } else if signed {
                s
            } else {
                u
            }
        };
        let f = match op {
            B::Add => pick(Bin::AddF, Bin::AddI, Bin::AddI),
            B::Subtract => pick(Bin::SubF, Bin::SubI, Bin::SubI),
            B::Multiply => pick(Bin::MulF, Bin::MulI, Bin::MulI),
            B::Divide => pick(Bin::DivF, Bin::DivS, Bin::DivU),
            B::Modulo => pick(Bin::RemF, Bin::ModS, Bin::ModU),
            B::Equal => pick(Bin::EqF, Bin::EqI, Bin::EqI),
            B::NotEqual => pick(Bin::NeF, Bin::NeI, Bin::NeI),
            B::Less => pick(Bin::LtF, Bin::LtS, Bin::LtU),
            B::LessEqual => pick(Bin::LeF, Bin::LeS, Bin::LeU),
            B::Greater => return Ok(self.bin(pick(Bin::LtF, Bin::LtS, Bin::LtU), y, x, k)),
            B::GreaterEqual => return Ok(self.bin(pick(Bin::LeF, Bin::LeS, Bin::LeU), y, x, k)),
            B::And | B::LogicalAnd => Bin::And,
            B::InclusiveOr | B::LogicalOr => Bin::Or,
            B::ExclusiveOr => Bin::Xor,
            B::ShiftLeft => Bin::Shl,
            B::ShiftRight => pick(Bin::ShrS, Bin::ShrS, Bin::ShrU),
        };
        Ok(self.bin(f, x, y, k))
    }

    fn matrix_multiply(
        &mut self,
        lt: &TypeInner,
        a: &[Reg],
        rt: &TypeInner,
        b: &[Reg],
        k: Kind,
    ) -> Result<Vec<Reg>, SimError> {
        // Rows of the left operand, columns of the right one; a vector on the left is a row.
        let (rows, inner) = match *lt {
            TypeInner::Matrix { columns, rows, .. } => (rows as usize, columns as usize),
            TypeInner::Vector { size, .. } => (1, size as usize),
            _ => (0, 0),
        };
        let columns = match *rt {
            TypeInner::Matrix { columns, .. } => columns as usize,
            TypeInner::Vector { .. } => 1,
            _ => 0,
        };
        if rows == 0 || columns == 0 {
            let (m, s) = if rows == 0 { (b, a[0]) } else { (a, b[0]) };
            return Ok(m.iter().map(|r| self.bin(Bin::MulF, *r, s, k)).collect());
        }
        let mut out = Vec::with_capacity(rows * columns);
        for c in 0..columns {
            for r in 0..rows {
                let mut acc = self.bin(Bin::MulF, a[r], b[c * inner], k);
                for i in 1..inner {
                    let p = self.bin(Bin::MulF, a[i * rows + r], b[c * inner + i], k);
                    acc = self.bin(Bin::AddF, acc, p, k);
                }
                out.push(acc);
            }
        }
        Ok(out)
    }

    fn convert(&mut self, a: &[Reg], from: Kind, to: ScalarKind, width: Option<u8>) -> Result<Vec<Reg>, SimError> {
        let Some(width) = width else { return self.bitcast(a, from, to) };
        let to = kind(naga::Scalar { kind: to, width }).map_err(|e| self.at_line(e))?;
        let f = match (from, to) {
            (f, t) if f == t => None,
            (Kind::U32, Kind::I32) | (Kind::I32, Kind::U32) | (Kind::Bool, Kind::U32 | Kind::I32) => None,
            (Kind::U32, Kind::F32 | Kind::F16) => Some(Un::U32ToF32),
            (Kind::I32, Kind::F32 | Kind::F16) => Some(Un::I32ToF32),
            (Kind::F32 | Kind::F16, Kind::U32) => Some(Un::F32ToU32),
            (Kind::F32 | Kind::F16, Kind::I32) => Some(Un::F32ToI32),
            (Kind::F16, Kind::F32) => None,
            (Kind::F32, Kind::F16) => Some(Un::RoundF16),
            (Kind::U32 | Kind::I32, Kind::Bool) => Some(Un::IntToBool),
            (Kind::F32 | Kind::F16, Kind::Bool) => Some(Un::FloatToBool),
            (Kind::Bool, Kind::F32 | Kind::F16) => Some(Un::BoolToF32),
            _ => return self.unsupported(format!("conversion from {from:?} to {to:?}")),
        };
        Ok(match f {
            None => a.to_vec(),
            Some(f) => a.iter().map(|r| self.un(f, *r, to)).collect(),
        })
    }

    fn bitcast(&mut self, a: &[Reg], from: Kind, to: ScalarKind) -> Result<Vec<Reg>, SimError> {
        // naga keeps the width in a bitcast, so f16 stays f16 and the 32-bit kinds keep their bits.
        if from == Kind::F16 && to != ScalarKind::Float {
            return self.unsupported("bitcast of f16");
        }
        Ok(a.to_vec())
    }
}
