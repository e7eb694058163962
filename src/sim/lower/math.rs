//! Built-in functions.

use super::*;
use naga::MathFunction as M;

type Arg = Option<Handle<Expression>>;

impl<'a> Lowerer<'a> {
    pub(super) fn math(
        &mut self,
        h: Handle<Expression>,
        fun: M,
        arg: Handle<Expression>,
        arg1: Arg,
        arg2: Arg,
        arg3: Arg,
    ) -> Result<Vec<Reg>, SimError> {
        let k = self.expr_kind(arg)?;
        let a = self.regs(arg)?;
        let mut optional = |x: Arg| -> Result<Vec<Reg>, SimError> {
            match x {
                Some(h) => self.regs(h),
                None => Ok(Vec::new()),
            }
        };
        let (b, c, e) = (optional(arg1)?, optional(arg2)?, optional(arg3)?);
        let signed = k == Kind::I32;
        let float = k.is_float();
        if let Some(f) = unary(fun, k) {
            return Ok(a.into_iter().map(|r| self.un(f, r, k)).collect());
        }
        let at = |v: &Vec<Reg>, i: usize| v[if v.len() == 1 { 0 } else { i }];
        let n = a.len();
        Ok(match fun {
            // Unsigned: already so.
            M::Abs | M::Sign => a,
            M::Min | M::Max => {
                let f = match (fun, float, signed) {
                    (M::Min, true, _) => Bin::MinF,
                    (M::Min, _, true) => Bin::MinS,
                    (M::Min, ..) => Bin::MinU,
                    (_, true, _) => Bin::MaxF,
                    (_, _, true) => Bin::MaxS,
                    _ => Bin::MaxU,
                };
                (0..n).map(|i| self.bin(f, a[i], at(&b, i), k)).collect()
            }
            M::Clamp if float => (0..n).map(|i| self.tern(Tern::ClampF, a[i], at(&b, i), at(&c, i), k)).collect(),
            M::Clamp => {
                let (max, min) = if signed { (Bin::MaxS, Bin::MinS) } else { (Bin::MaxU, Bin::MinU) };
                (0..n)
                    .map(|i| {
                        let m = self.bin(max, a[i], at(&b, i), k);
                        self.bin(min, m, at(&c, i), k)
                    })
                    .collect()
            }
            M::Atan2 => (0..n).map(|i| self.bin(Bin::Atan2, a[i], b[i], k)).collect(),
            M::Pow => (0..n).map(|i| self.bin(Bin::Pow, a[i], b[i], k)).collect(),
            M::Step => (0..n).map(|i| self.bin(Bin::Step, a[i], b[i], k)).collect(),
            M::Ldexp => (0..n).map(|i| self.bin(Bin::Ldexp, a[i], at(&b, i), k)).collect(),
            M::Fma => (0..n).map(|i| self.tern(Tern::FmaF, a[i], b[i], c[i], k)).collect(),
            M::Mix => (0..n).map(|i| self.tern(Tern::MixF, a[i], at(&b, i), at(&c, i), k)).collect(),
            M::SmoothStep => (0..n).map(|i| self.tern(Tern::SmoothStep, at(&a, i), at(&b, i), at(&c, i), k)).collect(),
            M::Modf => {
                let mut out: Vec<Reg> = Vec::new();
                let whole: Vec<Reg> = a.iter().map(|r| self.un(Un::Trunc, *r, k)).collect();
                for i in 0..n {
                    out.push(self.bin(Bin::SubF, a[i], whole[i], k));
                }
                out.extend(whole);
                out
            }
            M::Frexp => {
                let mut out: Vec<Reg> = a.iter().map(|r| self.un(Un::FrexpFract, *r, k)).collect();
                out.extend(a.iter().map(|r| self.un(Un::FrexpExp, *r, Kind::I32)).collect::<Vec<_>>());
                out
            }
            M::Dot if float => vec![self.dot(&a, &b, k)],
            M::Dot => {
                let mut acc = self.bin(Bin::MulI, a[0], b[0], k);
                for i in 1..n {
                    let p = self.bin(Bin::MulI, a[i], b[i], k);
                    acc = self.bin(Bin::AddI, acc, p, k);
                }
                vec![acc]
            }
            M::Dot4I8Packed => vec![self.bin(Bin::Dot4I8, a[0], b[0], Kind::I32)],
            M::Dot4U8Packed => vec![self.bin(Bin::Dot4U8, a[0], b[0], Kind::U32)],
            M::Cross => {
                let mut part = |i: usize, j: usize| {
                    let p = self.bin(Bin::MulF, a[i], b[j], k);
                    let q = self.bin(Bin::MulF, a[j], b[i], k);
                    self.bin(Bin::SubF, p, q, k)
                };
                vec![part(1, 2), part(2, 0), part(0, 1)]
            }
            M::Distance => {
                let d: Vec<Reg> = (0..n).map(|i| self.bin(Bin::SubF, a[i], b[i], k)).collect();
                vec![self.magnitude(&d, k)]
            }
            M::Length => vec![self.magnitude(&a, k)],
            M::Normalize => {
                let m = self.magnitude(&a, k);
                a.into_iter().map(|r| self.bin(Bin::DivF, r, m, k)).collect()
            }
            M::FaceForward => {
                let d = self.dot(&b, &c, k);
                let zero = self.constant(0);
                let less = self.bin(Bin::LtF, d, zero, k);
                a.into_iter()
                    .map(|r| {
                        let neg = self.un(Un::NegF, r, k);
                        self.tern(Tern::Select, r, neg, less, k)
                    })
                    .collect()
            }
            M::Reflect => {
                let d = self.dot(&b, &a, k);
                let d2 = self.bin(Bin::AddF, d, d, k);
                (0..n)
                    .map(|i| {
                        let p = self.bin(Bin::MulF, d2, b[i], k);
                        self.bin(Bin::SubF, a[i], p, k)
                    })
                    .collect()
            }
            M::Refract => self.refract(&a, &b, c[0], k),
            M::Outer => {
                let mut out = Vec::new();
                for y in &b {
                    for x in &a {
                        out.push(self.bin(Bin::MulF, *x, *y, k));
                    }
                }
                out
            }
            M::Transpose => {
                let TypeInner::Matrix { columns, rows, .. } = self.ty(arg)? else { return self.internal("transpose") };
                let (columns, rows) = (columns as usize, rows as usize);
                (0..rows).flat_map(|r| (0..columns).map(move |c| c * rows + r)).map(|i| a[i]).collect()
            }
            M::Determinant => {
                let n = (a.len() as f64).sqrt() as usize;
                let all: Vec<usize> = (0..n).collect();
                vec![self.determinant(&a, n, &all, 0, k)]
            }
            M::ExtractBits => {
                let f = if signed { Tern::ExtractS } else { Tern::ExtractU };
                (0..n).map(|i| self.tern(f, a[i], at(&b, i), at(&c, i), k)).collect()
            }
            M::InsertBits => (0..n)
                .map(|i| {
                    let d = self.temp();
                    self.push(Op::InsertBits { d, a: a[i], b: b[i], c: at(&c, i), n: at(&e, i) }, Class::Integer, 0);
                    d
                })
                .collect(),
            M::QuantizeToF16 => a
                .into_iter()
                .map(|r| {
                    let d = self.temp();
                    self.push(Op::Un { f: Un::RoundF16, d, a: r }, Class::Convert, 0);
                    d
                })
                .collect(),
            M::Pack2x16snorm => vec![self.bin(Bin::Pack2x16Snorm, a[0], a[1], Kind::U32)],
            M::Pack2x16unorm => vec![self.bin(Bin::Pack2x16Unorm, a[0], a[1], Kind::U32)],
            M::Pack2x16float => vec![self.bin(Bin::Pack2x16Float, a[0], a[1], Kind::U32)],
            M::Pack4x8snorm => self.pack4(&a, Un::PackSnorm8),
            M::Pack4x8unorm => self.pack4(&a, Un::PackUnorm8),
            M::Pack4xI8 => self.pack4(&a, Un::PackI8),
            M::Pack4xU8 => self.pack4(&a, Un::PackU8),
            M::Pack4xI8Clamp => self.pack4(&a, Un::PackI8Clamp),
            M::Pack4xU8Clamp => self.pack4(&a, Un::PackU8Clamp),
            M::Unpack4x8snorm => (0..4).map(|i| self.un(Un::UnpackSnorm8(i), a[0], Kind::F32)).collect(),
            M::Unpack4x8unorm => (0..4).map(|i| self.un(Un::UnpackUnorm8(i), a[0], Kind::F32)).collect(),
            M::Unpack4xI8 => (0..4).map(|i| self.un(Un::UnpackI8(i), a[0], Kind::I32)).collect(),
            M::Unpack4xU8 => (0..4).map(|i| self.un(Un::UnpackU8(i), a[0], Kind::U32)).collect(),
            M::Unpack2x16snorm => (0..2).map(|i| self.un(Un::UnpackSnorm16(i), a[0], Kind::F32)).collect(),
            M::Unpack2x16unorm => (0..2).map(|i| self.un(Un::UnpackUnorm16(i), a[0], Kind::F32)).collect(),
            M::Unpack2x16float => (0..2).map(|i| self.un(Un::UnpackHalf(i), a[0], Kind::F32)).collect(),
            other => {
                let _ = h;
                return self.unsupported(format!("built-in function {other:?}"));
            }
        })
    }

    fn dot(&mut self, a: &[Reg], b: &[Reg], k: Kind) -> Reg {
        let mut acc = self.bin(Bin::MulF, a[0], b[0], k);
        for i in 1..a.len() {
            let p = self.bin(Bin::MulF, a[i], b[i], k);
            acc = self.bin(Bin::AddF, acc, p, k);
        }
        acc
    }

    fn magnitude(&mut self, a: &[Reg], k: Kind) -> Reg {
        if let [x] = a {
            return self.un(Un::AbsF, *x, k);
        }
        let d = self.dot(a, a, k);
        self.un(Un::Sqrt, d, k)
    }

    fn refract(&mut self, i: &[Reg], n: &[Reg], eta: Reg, k: Kind) -> Vec<Reg> {
        // k = 1 - eta^2 (1 - dot(n, i)^2); 0 if k < 0, else eta i - (eta dot(n, i) + sqrt(k)) n
        let one = self.float(1.0);
        let zero = self.constant(0);
        let d = self.dot(n, i, k);
        let dd = self.bin(Bin::MulF, d, d, k);
        let s = self.bin(Bin::SubF, one, dd, k);
        let ee = self.bin(Bin::MulF, eta, eta, k);
        let p = self.bin(Bin::MulF, ee, s, k);
        let kk = self.bin(Bin::SubF, one, p, k);
        let negative = self.bin(Bin::LtF, kk, zero, k);
        // The root of a negative number would be a NaN that nobody sees: use 0 there.
        let clamped = self.bin(Bin::MaxF, kk, zero, k);
        let root = self.un(Un::Sqrt, clamped, k);
        let ed = self.bin(Bin::MulF, eta, d, k);
        let t = self.bin(Bin::AddF, ed, root, k);
        (0..i.len())
            .map(|j| {
                let x = self.bin(Bin::MulF, eta, i[j], k);
                let y = self.bin(Bin::MulF, t, n[j], k);
                let v = self.bin(Bin::SubF, x, y, k);
                self.tern(Tern::Select, zero, v, negative, k)
            })
            .collect()
    }

    /// Determinant by expansion along column `column` over the rows left.
    fn determinant(&mut self, m: &[Reg], n: usize, rows: &[usize], column: usize, k: Kind) -> Reg {
        if let [row] = rows {
            return m[column * n + row];
        }
        let mut acc = NONE;
        for (i, row) in rows.iter().enumerate() {
            let rest: Vec<usize> = rows.iter().copied().filter(|r| r != row).collect();
            let minor = self.determinant(m, n, &rest, column + 1, k);
            let term = self.bin(Bin::MulF, m[column * n + row], minor, k);
            acc = match (acc, i % 2) {
                (NONE, _) => term,
                (acc, 0) => self.bin(Bin::AddF, acc, term, k),
                (acc, _) => self.bin(Bin::SubF, acc, term, k),
            };
        }
        acc
    }

    fn pack4(&mut self, a: &[Reg], f: fn(u8) -> Un) -> Vec<Reg> {
        let mut acc = self.constant(0);
        for (i, r) in a.iter().take(4).enumerate() {
            let part = self.un(f(i as u8), *r, Kind::U32);
            acc = self.bin(Bin::Or, acc, part, Kind::U32);
        }
        vec![acc]
    }
}

fn unary(fun: M, k: Kind) -> Option<Un> {
    let float = k.is_float();
    let signed = k == Kind::I32;
    Some(match fun {
        M::Abs if float => Un::AbsF,
        M::Abs if signed => Un::AbsS,
        M::Sign if float => Un::SignF,
        M::Sign if signed => Un::SignS,
        M::Saturate => Un::Saturate,
        M::Cos => Un::Cos,
        M::Cosh => Un::Cosh,
        M::Sin => Un::Sin,
        M::Sinh => Un::Sinh,
        M::Tan => Un::Tan,
        M::Tanh => Un::Tanh,
        M::Acos => Un::Acos,
        M::Asin => Un::Asin,
        M::Atan => Un::Atan,
        M::Asinh => Un::Asinh,
        M::Acosh => Un::Acosh,
        M::Atanh => Un::Atanh,
        M::Radians => Un::Radians,
        M::Degrees => Un::Degrees,
        M::Ceil => Un::Ceil,
        M::Floor => Un::Floor,
        M::Round => Un::Round,
        M::Fract => Un::Fract,
        M::Trunc => Un::Trunc,
        M::Exp => Un::Exp,
        M::Exp2 => Un::Exp2,
        M::Log => Un::Log,
        M::Log2 => Un::Log2,
        M::Sqrt => Un::Sqrt,
        M::InverseSqrt => Un::InverseSqrt,
        M::CountTrailingZeros => Un::TrailingZeros,
        M::CountLeadingZeros => Un::LeadingZeros,
        M::CountOneBits => Un::CountOnes,
        M::ReverseBits => Un::ReverseBits,
        M::FirstTrailingBit => Un::FirstTrailing,
        M::FirstLeadingBit if signed => Un::FirstLeadingS,
        M::FirstLeadingBit => Un::FirstLeadingU,
        _ => return None,
    })
}
