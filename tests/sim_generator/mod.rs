//! Random compute shaders whose results every correct executor must agree on, bit by bit.
//!
//! Integers are used without restraint (wrapping, division by zero, any shift count). Floats hold
//! small integers and halves only, so that sums and products are exact whether or not a driver
//! fuses them. No constant expressions that a compiler could reject, no index out of range, no
//! races, no subgroup operations.

use std::fmt::Write;

/// Invocations of a workgroup, workgroups, and words that each invocation writes.
pub const THREADS: u32 = 64;
pub const GROUPS: u32 = 3;
pub const WORDS: u32 = 8;
const INPUT: u32 = 256;
const ATOMICS: u32 = 16;

/// A shader and what to bind: 0 read-only storage, 1 uniform, 2 and 3 read-write storage.
pub struct Case {
    pub wgsl: String,
    pub buffers: [Vec<u8>; 4],
    pub workgroups: [u32; 3],
}

/// The case of a seed; the same on every machine.
pub fn generate(seed: u64) -> Case {
    let mut g = Gen {
        rng: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678,
        out: String::new(),
        scope: Vec::new(),
        names: 0,
        indent: 0,
        functions: Vec::new(),
        loops: 0,
    };
    let wgsl = g.module();
    let mut input = Vec::new();
    for i in 0..INPUT {
        // Small numbers, large ones, and the edges.
        let w = match g.below(6) {
            0 => g.next() as u32,
            1 => [0, 1, u32::MAX, 1 << 31, (1 << 31) - 1, 31, 32, 33][g.below(8) as usize],
            2 => (g.below(64) as i32 - 32) as u32,
            _ => g.below(300) as u32 + i % 3,
        };
        input.extend(w.to_le_bytes());
    }
    let uniform = (0..8).flat_map(|_| (g.below(40) as u32).to_le_bytes()).collect();
    Case {
        wgsl,
        buffers: [input, uniform, vec![0; (THREADS * GROUPS * WORDS * 4) as usize], vec![0; (ATOMICS * 4) as usize]],
        workgroups: [GROUPS, 1, 1],
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Ty {
    U,
    I,
    B,
    /// Vector of `u32` or `i32`.
    V(u8, bool),
    /// `array<u32, 8>`.
    A,
    /// The struct `S`.
    S,
}

#[derive(Clone)]
struct Name {
    text: String,
    ty: Ty,
    mutable: bool,
}

struct Gen {
    rng: u64,
    out: String,
    scope: Vec<Name>,
    names: u32,
    indent: usize,
    /// Name, parameter types, result, whether the first parameter is a pointer to u32.
    functions: Vec<(String, Vec<Ty>, Ty, bool)>,
    loops: u32,
}

impl Gen {
    fn next(&mut self) -> u64 {
        self.rng = self.rng.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.rng;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    fn pick<T: Clone>(&mut self, items: &[T]) -> T {
        items[self.below(items.len() as u64) as usize].clone()
    }

    fn line(&mut self, text: &str) {
        for _ in 0..self.indent {
            self.out.push_str("    ");
        }
        self.out.push_str(text);
        self.out.push('\n');
    }

    fn fresh(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}_{}", self.names)
    }

    fn declare(&mut self, text: &str, ty: Ty, mutable: bool) {
        self.scope.push(Name { text: text.to_string(), ty, mutable });
    }

    fn variable(&mut self, ty: Ty, mutable: bool) -> Option<String> {
        let all: Vec<String> =
            self.scope.iter().filter(|n| n.ty == ty && (!mutable || n.mutable)).map(|n| n.text.clone()).collect();
        (!all.is_empty()).then(|| self.pick(&all))
    }

    // ---- expressions --------------------------------------------------------------------------

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

    fn index(&mut self, depth: u32, mask: u32) -> String {
        let e = self.u(depth.saturating_sub(1));
        if self.one_in(3) { format!("({e}) % {}u", mask + 1) } else { format!("({e}) & {mask}u") }
    }

    fn u(&mut self, depth: u32) -> String {
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

    fn i(&mut self, depth: u32) -> String {
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

    fn b(&mut self, depth: u32) -> String {
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

    fn v(&mut self, n: u8, signed: bool, depth: u32) -> String {
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

    fn value(&mut self, ty: Ty, depth: u32) -> String {
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

    fn ty(&mut self) -> Ty {
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

    // ---- statements ---------------------------------------------------------------------------

    fn statements(&mut self, n: u64, depth: u32) {
        let known = self.scope.len();
        for _ in 0..n {
            self.statement(depth);
        }
        self.scope.truncate(known);
    }

    fn braces(&mut self, head: &str, n: u64, depth: u32) {
        self.line(&format!("{head} {{"));
        self.indent += 1;
        self.statements(n, depth);
        self.indent -= 1;
        self.line("}");
    }

    fn statement(&mut self, depth: u32) {
        match self.below(if depth == 0 { 10 } else { 16 }) {
            0 | 1 => {
                let ty = self.ty();
                let name = self.fresh("x");
                let value = self.value(ty, 2);
                self.line(&format!("var {name} = {value};"));
                self.declare(&name, ty, true);
            }
            2 => {
                let ty = if self.one_in(2) { Ty::U } else { Ty::V(4, false) };
                let name = self.fresh("k");
                let value = self.value(ty, 2);
                self.line(&format!("let {name} = {value};"));
                self.declare(&name, ty, false);
            }
            3 | 4 => {
                let ty = self.ty();
                if let Some(v) = self.variable(ty, true) {
                    let value = self.value(ty, 2);
                    self.line(&format!("{v} = {value};"));
                }
            }
            5 => {
                if let Some(v) = self.variable(Ty::U, true) {
                    let op = self.pick(&["+=", "-=", "*=", "^=", "|=", "&=", "/=", "%=", "<<=", ">>="]);
                    let value = self.u(1);
                    self.line(&format!("{v} {op} {value};"));
                }
            }
            6 => {
                if let Some(a) = self.variable(Ty::A, true) {
                    let (i, value) = (self.index(1, 7), self.u(2));
                    let op = self.pick(&["=", "+=", "^="]);
                    self.line(&format!("{a}[{i}] {op} {value};"));
                }
            }
            7 => {
                if let Some(v) = self.variable(Ty::V(4, false), true) {
                    let value = self.u(2);
                    let part = if self.one_in(2) {
                        format!("[{}]", self.index(1, 3))
                    } else {
                        self.pick(&[".x", ".y", ".z", ".w"]).to_string()
                    };
                    self.line(&format!("{v}{part} = {value};"));
                }
            }
            8 => {
                if let Some(s) = self.variable(Ty::S, true) {
                    let value = self.u(2);
                    let part = self.pick(&["n", "v.x", "v.z", "v[p.a % 3u]"]);
                    self.line(&format!("{s}.{part} = {value};"));
                }
            }
            9 => {
                let fit: Vec<_> = self.functions.iter().filter(|f| f.3).cloned().collect();
                if let (false, Some(target)) = (fit.is_empty(), self.variable(Ty::U, true).filter(|v| v != "mine")) {
                    let (name, params, ..) = self.pick(&fit);
                    let args: Vec<String> = params.iter().map(|t| self.value(*t, 1)).collect();
                    self.line(&format!("{name}(&{target}, {});", args.join(", ")));
                }
            }
            10 | 11 => {
                let c = self.b(2);
                let n = self.below(3) + 1;
                if self.one_in(2) {
                    self.braces(&format!("if ({c})"), n, depth - 1);
                } else {
                    self.line(&format!("if ({c}) {{"));
                    self.indent += 1;
                    self.statements(n, depth - 1);
                    self.indent -= 1;
                    self.braces("} else", n, depth - 1);
                }
            }
            12 => {
                let (name, bound) = (self.fresh("i"), self.u(1));
                self.line(&format!("for (var {name} = 0u; {name} < ({bound}) % 7u; {name}++) {{"));
                self.declare(&name, Ty::U, false);
                self.body(depth);
                self.scope.pop();
            }
            13 => {
                let name = self.fresh("w");
                self.line(&format!("var {name} = p.b % 5u;"));
                self.line(&format!("while ({name} > 0u) {{"));
                self.indent += 1;
                self.line(&format!("{name} -= 1u;"));
                self.indent -= 1;
                self.declare(&name, Ty::U, false);
                self.body(depth);
            }
            14 => {
                let (name, c) = (self.fresh("l"), self.b(1));
                self.line(&format!("var {name} = 0u;"));
                self.declare(&name, Ty::U, false);
                self.line("loop {");
                self.indent += 1;
                let n = self.below(2) + 1;
                self.loops += 1;
                self.statements(n, depth - 1);
                if self.one_in(2) {
                    let c = self.b(1);
                    self.line(&format!("if ({c}) {{ continue; }}"));
                    self.statements(1, 0);
                }
                self.loops -= 1;
                self.line(&format!("continuing {{ {name} += 1u; break if {c} || {name} >= 4u; }}"));
                self.indent -= 1;
                self.line("}");
            }
            _ => {
                let sel = self.u(1);
                self.line(&format!("switch ({sel}) % 6u {{"));
                self.indent += 1;
                let outer = std::mem::take(&mut self.loops);
                self.braces("case 0u:", 1, depth - 1);
                self.braces("case 1u, 4u:", 2, depth - 1);
                if self.one_in(2) {
                    self.line("case 2u: {");
                    self.indent += 1;
                    let c = self.b(1);
                    self.line(&format!("if ({c}) {{ break; }}"));
                    self.statements(1, depth - 1);
                    self.indent -= 1;
                    self.line("}");
                }
                self.braces("default:", 1, depth - 1);
                self.loops = outer;
                self.indent -= 1;
                self.line("}");
            }
        }
    }

    /// The rest of a loop whose head has been written.
    fn body(&mut self, depth: u32) {
        self.indent += 1;
        self.loops += 1;
        let n = self.below(3) + 1;
        self.statements(n, depth - 1);
        if self.one_in(2) {
            let (c, leave) = (self.b(1), self.pick(&["break", "continue"]));
            self.line(&format!("if ({c}) {{ {leave}; }}"));
            self.statements(1, 0);
        }
        self.loops -= 1;
        self.indent -= 1;
        self.line("}");
    }

    fn function(&mut self) {
        let pointer = self.one_in(3);
        let name = self.fresh("f");
        let result = if pointer || self.one_in(2) { Ty::U } else { Ty::I };
        let params: Vec<Ty> =
            (0..self.below(3) + 1).map(|_| self.pick(&[Ty::U, Ty::I, Ty::B, Ty::V(4, false), Ty::S])).collect();
        let mut text = String::new();
        if pointer {
            text.push_str("s: ptr<function, u32>, ");
        }
        let known = self.scope.len();
        for (k, t) in params.iter().enumerate() {
            let n = format!("a{k}");
            let _ = write!(text, "{n}: {}, ", spelling(*t));
            self.declare(&n, *t, false);
        }
        let arrow = if pointer { String::new() } else { format!(" -> {}", spelling(result)) };
        self.line(&format!("fn {name}({text}){arrow} {{"));
        self.indent += 1;
        self.line("var r0 = p.a;");
        self.declare("r0", Ty::U, true);
        let n = self.below(3) + 1;
        self.statements(n, 1);
        if self.one_in(2) {
            // An early return, sometimes out of a loop.
            let c = self.b(1);
            let early =
                if pointer { "*s += 1u; return;".to_string() } else { format!("return {};", self.value(result, 1)) };
            if self.one_in(2) {
                self.line(&format!("if ({c}) {{ {early} }}"));
            } else {
                self.line("for (var q = 0u; q < 4u; q++) {");
                self.line(&format!("    if ({c} && q > 1u) {{ {early} }}"));
                self.line("    r0 += q;");
                self.line("}");
            }
            self.statements(1, 1);
        }
        if pointer {
            let e = self.u(1);
            self.line(&format!("*s = *s * 3u + r0 + {e};"));
        } else {
            let e = self.value(result, 2);
            self.line(&format!("return {e};"));
        }
        self.indent -= 1;
        self.line("}");
        self.scope.truncate(known);
        self.functions.push((name, params, result, pointer));
    }

    fn module(&mut self) -> String {
        self.line("struct P { a: u32, b: u32, c: i32, d: u32, v: vec4<u32> }");
        self.line("struct S { n: u32, v: vec3<u32>, m: i32 }");
        self.line("@group(0) @binding(0) var<storage, read> input: array<u32>;");
        self.line("@group(0) @binding(1) var<uniform> p: P;");
        self.line("@group(0) @binding(2) var<storage, read_write> output: array<u32>;");
        self.line(&format!("@group(0) @binding(3) var<storage, read_write> count: array<atomic<u32>, {ATOMICS}>;"));
        self.line(&format!("var<workgroup> shared_words: array<u32, {THREADS}>;"));
        self.line("var<workgroup> shared_vectors: array<vec4<u32>, 64>;");
        self.line("var<workgroup> tally: array<atomic<i32>, 8>;");
        self.line("var<private> mine: u32 = 5u;");
        self.scope.push(Name { text: "mine".into(), ty: Ty::U, mutable: true });
        for _ in 0..self.below(4) {
            self.function();
        }
        self.line(&format!("@compute @workgroup_size({THREADS})"));
        self.line("fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>) {");
        self.indent += 1;
        for (name, ty) in [("id.x", Ty::U), ("lane", Ty::U), ("group.x", Ty::U)] {
            self.declare(name, ty, false);
        }
        for ty in [Ty::U, Ty::U, Ty::A, Ty::S, Ty::V(4, false)] {
            let name = self.fresh("m");
            let value = self.value(ty, 1);
            self.line(&format!("var {name} = {value};"));
            self.declare(&name, ty, true);
        }
        for k in 0..WORDS {
            let n = self.below(3) + 1;
            for _ in 0..n {
                self.statement(2);
            }
            if self.one_in(3) {
                self.exchange();
            }
            let e = self.u(3);
            self.line(&format!("output[id.x * {WORDS}u + {k}u] = {e};"));
        }
        self.indent -= 1;
        self.line("}");
        std::mem::take(&mut self.out)
    }

    /// A round through workgroup memory, with barriers around it.
    fn exchange(&mut self) {
        let k = self.fresh("k");
        match self.below(4) {
            0 => {
                let (e, i) = (self.u(2), self.index(1, THREADS - 1));
                self.line(&format!("shared_words[lane] = {e};"));
                self.line("workgroupBarrier();");
                self.line(&format!("let {k} = shared_words[{i}];"));
            }
            1 => {
                let (e, i) = (self.v(4, false, 2), self.index(1, THREADS - 1));
                self.line(&format!("shared_vectors[lane ^ 5u] = {e};"));
                self.line("workgroupBarrier();");
                let part = self.pick(&["x", "y", "z", "w"]);
                self.line(&format!("let {k} = shared_vectors[{i}].{part};"));
            }
            2 => {
                let (e, c, i, j) = (self.i(2), self.b(1), self.index(1, 7), self.index(1, 7));
                let f = self.pick(&[
                    "atomicAdd",
                    "atomicSub",
                    "atomicMax",
                    "atomicMin",
                    "atomicOr",
                    "atomicAnd",
                    "atomicXor",
                ]);
                self.line("if (lane < 8u) { atomicStore(&tally[lane], i32(lane) * 3i - 7i); }");
                self.line("workgroupBarrier();");
                self.line(&format!("if ({c}) {{ {f}(&tally[{i}], {e}); }}"));
                self.line("workgroupBarrier();");
                self.line(&format!("let {k} = u32(atomicLoad(&tally[{j}]));"));
            }
            _ => {
                let (e, i) = (self.u(2), self.index(1, ATOMICS / 2 - 1));
                // One function per half of the counters, so that the order does not show.
                self.line(&format!("atomicAdd(&count[{i}], {e});"));
                self.line(&format!("atomicXor(&count[8u + ({i})], {e});"));
                self.line(&format!("let {k} = input[lane];"));
            }
        }
        self.line("workgroupBarrier();");
        self.declare(&k, Ty::U, false);
    }
}

fn spelling(ty: Ty) -> String {
    match ty {
        Ty::U => "u32".into(),
        Ty::I => "i32".into(),
        Ty::B => "bool".into(),
        Ty::V(n, s) => format!("vec{n}<{}>", if s { "i32" } else { "u32" }),
        Ty::A => "array<u32, 8>".into(),
        Ty::S => "S".into(),
    }
}
