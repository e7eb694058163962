//! Expressions of every type.

use super::{Gen, INPUT, Ty};

impl Gen {
    /// An expression that no compiler can evaluate, so that it cannot be rejected for its value.
    fn leaf_u(&mut self) -> String {
        match self.below(8) {
            0..=3 => match self.variable(Ty::U, false) {
                Some(v) => v,
                None => "p.a".into(),
            },
            4 => {
                let v = self.pick(&["p.a", "p.b", "p.v.x", "p.v.w"]);
                v.into()
            }
            5 => match self.variable(Ty::S, false) {
                Some(s) => format!("{s}.{}", self.pick(&["n", "v.y"])),
                None => "p.b".into(),
            },
            6 => {
                let n = self.below(4) + 1;
                match self.variable(Ty::V(4, false), false) {
                    Some(v) => format!("{v}.{}", ["x", "y", "z", "w"][n as usize - 1]),
                    None => "p.v.y".into(),
                }
            }
            _ => format!("input[{} & {}u]", self.variable(Ty::U, false).unwrap_or("p.a".into()), INPUT - 1),
        }
    }

    pub(super) fn index(&mut self, depth: u32, mask: u32) -> String {
        let e = self.u(depth.saturating_sub(1));
        if self.one_in(3) { format!("({e}) % {}u", mask + 1) } else { format!("({e}) & {mask}u") }
    }

    pub(super) fn u(&mut self, depth: u32) -> String {
        if depth == 0 {
            return self.leaf_u();
        }
        let d = depth - 1;
        match self.below(24) {
            0..=7 => {
                let a = self.u(d);
                let op = self.pick(&["+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>"]);
                let b = if self.one_in(3) {
                    match op {
                        "<<" | ">>" => format!("{}u", self.below(32)),
                        _ => format!(
                            "{}u",
                            self.pick(&[1u32, 2, 3, 5, 7, 16, 31, 255, 1000, 0xffff, 0x7fff_ffff, u32::MAX])
                        ),
                    }
                } else {
                    self.u(d)
                };
                format!("({a} {op} {b})")
            }
            8 => format!("(~{})", self.u(d)),
            9 => {
                let f = self.pick(&[
                    "countOneBits",
                    "reverseBits",
                    "firstLeadingBit",
                    "firstTrailingBit",
                    "countLeadingZeros",
                    "countTrailingZeros",
                    "abs",
                ]);
                format!("{f}({})", self.u(d))
            }
            10 => format!("{}({}, {})", self.pick(&["min", "max"]), self.u(d), self.u(d)),
            11 => format!("select({}, {}, {})", self.u(d), self.u(d), self.b(d)),
            12 => format!("u32({})", self.i(d)),
            13 => format!("bitcast<u32>({})", self.i(d)),
            14 => format!("u32({})", self.b(d)),
            15 => match self.variable(Ty::A, false) {
                Some(a) => format!("{a}[{}]", self.index(d, 7)),
                None => self.leaf_u(),
            },
            16 => format!("input[{}]", self.index(d, INPUT - 1)),
            17 => {
                let n = self.below(3) as u8 + 2;
                let i = self.u(d);
                format!("({})[({i}) % {n}u]", self.v(n, false, d))
            }
            18 => {
                let n = self.below(3) as u8 + 2;
                format!("dot({}, {})", self.v(n, false, d), self.v(n, false, d))
            }
            19 => format!("extractBits({}, {}, {})", self.u(d), self.u(d), self.u(d)),
            20 => format!("insertBits({}, {}, {}, {})", self.u(d), self.u(d), self.u(d), self.u(d)),
            21 => format!("u32({})", self.f()),
            22 => self.call(Ty::U, d).unwrap_or_else(|| self.leaf_u()),
            _ => format!("clamp({}, {}u, {}u)", self.u(d), 3, 1000),
        }
    }

    pub(super) fn i(&mut self, depth: u32) -> String {
        if depth == 0 {
            return match self.below(3) {
                0 => self.variable(Ty::I, false).unwrap_or("p.c".into()),
                1 => "p.c".into(),
                _ => format!("bitcast<i32>({})", self.leaf_u()),
            };
        }
        let d = depth - 1;
        match self.below(15) {
            0..=5 => {
                let a = self.i(d);
                let op = self.pick(&["+", "-", "*", "/", "%", "&", "|", "^"]);
                let b = if self.one_in(3) {
                    format!("{}i", self.pick(&[1, 2, 3, 7, 100, 65535, 2_147_483_647]))
                } else {
                    self.i(d)
                };
                format!("({a} {op} {b})")
            }
            6 => format!("({} {} {})", self.i(d), self.pick(&["<<", ">>"]), self.u(d)),
            7 => format!("(-{})", self.i(d)),
            8 => format!("{}({})", self.pick(&["abs", "sign", "firstLeadingBit", "countOneBits"]), self.i(d)),
            9 => format!("{}({}, {})", self.pick(&["min", "max"]), self.i(d), self.i(d)),
            10 => format!("select({}, {}, {})", self.i(d), self.i(d), self.b(d)),
            11 => format!("i32({})", self.f()),
            12 => format!("extractBits({}, {}, {})", self.i(d), self.u(d), self.u(d)),
            13 => format!("({}).{}", self.v(3, true, d), self.pick(&["x", "y", "z"])),
            _ => self.call(Ty::I, d).unwrap_or_else(|| "p.c".into()),
        }
    }

    pub(super) fn b(&mut self, depth: u32) -> String {
        let d = depth.saturating_sub(1);
        match self.below(if depth == 0 { 3 } else { 9 }) {
            0 => format!("({} {} {})", self.u(d), self.pick(&["==", "!=", "<", "<=", ">", ">="]), self.u(d)),
            1 => format!("({} {} {})", self.i(d), self.pick(&["==", "!=", "<", "<=", ">", ">="]), self.i(d)),
            2 => self.variable(Ty::B, false).unwrap_or("(p.a > 7u)".into()),
            3 => format!("({} && {})", self.b(d), self.b(d)),
            4 => format!("({} || {})", self.b(d), self.b(d)),
            5 => format!("(!{})", self.b(d)),
            6 => format!("({} {} {})", self.f(), self.pick(&["==", "<", ">="]), self.f()),
            7 => format!(
                "{}({} {} {})",
                self.pick(&["any", "all"]),
                self.v(3, false, d),
                self.pick(&["<", "==", ">"]),
                self.v(3, false, d)
            ),
            _ => format!("({} {} {})", self.b(d), self.pick(&["==", "!=", "&", "|"]), self.b(d)),
        }
    }

    pub(super) fn v(&mut self, n: u8, signed: bool, depth: u32) -> String {
        let d = depth.saturating_sub(1);
        let t = if signed { "i32" } else { "u32" };
        match self.below(if depth == 0 { 2 } else { 7 }) {
            0 => self
                .variable(Ty::V(n, signed), false)
                .unwrap_or_else(|| if signed { format!("vec{n}<i32>(p.c)") } else { format!("vec{n}<u32>(p.a)") }),
            1 => {
                let parts: Vec<String> = (0..n).map(|_| if signed { self.i(0) } else { self.leaf_u() }).collect();
                format!("vec{n}<{t}>({})", parts.join(", "))
            }
            2 | 3 => {
                let op = self.pick(&["+", "-", "*", "/", "%", "&", "^"]);
                format!("({} {op} {})", self.v(n, signed, d), self.v(n, signed, d))
            }
            4 => {
                let m = self.below(3) as u8 + 2;
                let letters: String = (0..n).map(|_| ["x", "y", "z", "w"][self.below(u64::from(m)) as usize]).collect();
                format!("({}).{letters}", self.v(m, signed, d))
            }
            5 => format!("{}({}, {})", self.pick(&["min", "max"]), self.v(n, signed, d), self.v(n, signed, d)),
            _ => format!(
                "select({}, {}, ({} < {}))",
                self.v(n, signed, d),
                self.v(n, signed, d),
                self.v(n, false, 0),
                self.v(n, false, 0)
            ),
        }
    }

    /// A float that is a small multiple of one half, however it is computed.
    fn f(&mut self) -> String {
        let mut part = || -> String {
            let x = self.leaf_u();
            match self.below(3) {
                0 => format!("f32({x} & 63u)"),
                1 => format!("(f32({x} & 31u) - 16.0)"),
                _ => format!("(f32(bitcast<i32>({x}) % 32i) * 0.5)"),
            }
        };
        let (a, b, c, d) = (part(), part(), part(), part());
        match self.below(11) {
            0 => format!("({a} + {b})"),
            1 => format!("({a} * {b} + {c})"),
            2 => format!("fma({a}, {b}, {c})"),
            3 => format!("{}({a}, {b})", self.pick(&["min", "max"])),
            4 => format!("{}({a} * {b})", self.pick(&["floor", "ceil", "round", "trunc", "abs"])),
            5 => format!("dot(vec2<f32>({a}, {b}), vec2<f32>({c}, {d}))"),
            6 => format!("(mat2x2<f32>({a}, {b}, {c}, {d}) * vec2<f32>({b}, {c})).{}", self.pick(&["x", "y"])),
            7 => format!("select({a}, {b}, {c} < {d})"),
            8 => format!("clamp({a}, -8.0, 8.0)"),
            9 => format!("sign({a} - {b})"),
            _ => format!("step({a}, {b})"),
        }
    }

    fn call(&mut self, ty: Ty, depth: u32) -> Option<String> {
        let fit: Vec<_> = self.functions.iter().filter(|f| f.2 == ty && !f.3).cloned().collect();
        if fit.is_empty() {
            return None;
        }
        let (name, params, ..) = self.pick(&fit);
        let args: Vec<String> = params.iter().map(|t| self.value(*t, depth.min(1))).collect();
        Some(format!("{name}({})", args.join(", ")))
    }

    pub(super) fn value(&mut self, ty: Ty, depth: u32) -> String {
        match ty {
            Ty::U => self.u(depth),
            Ty::I => self.i(depth),
            Ty::B => self.b(depth),
            Ty::V(n, s) => self.v(n, s, depth),
            Ty::A => {
                let parts: Vec<String> = (0..8).map(|_| self.leaf_u()).collect();
                format!("array<u32, 8>({})", parts.join(", "))
            }
            Ty::S => format!("S({}, {}, {})", self.u(depth), self.v(3, false, depth), self.i(depth)),
        }
    }

    pub(super) fn ty(&mut self) -> Ty {
        match self.below(9) {
            0..=2 => Ty::U,
            3 => Ty::I,
            4 => Ty::B,
            5 => Ty::V(4, false),
            6 => Ty::V(self.below(2) as u8 + 2, self.one_in(2)),
            7 => Ty::A,
            _ => Ty::S,
        }
    }
}
