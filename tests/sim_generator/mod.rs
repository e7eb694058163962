//! Random compute shaders whose results every correct executor must agree on, bit by bit.
//!
//! Integers are used without restraint (wrapping, division by zero, any shift count). Floats hold
//! small integers and halves only, so that sums and products are exact whether or not a driver
//! fuses them. No constant expressions that a compiler could reject, no index out of range, no
//! races, no subgroup operations.

mod expressions;
mod statements;

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

    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    pub(super) fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    pub(super) fn pick<T: Clone>(&mut self, items: &[T]) -> T {
        items[self.below(items.len() as u64) as usize].clone()
    }

    pub(super) fn line(&mut self, text: &str) {
        for _ in 0..self.indent {
            self.out.push_str("    ");
        }
        self.out.push_str(text);
        self.out.push('\n');
    }

    pub(super) fn fresh(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}_{}", self.names)
    }

    pub(super) fn declare(&mut self, text: &str, ty: Ty, mutable: bool) {
        self.scope.push(Name { text: text.to_string(), ty, mutable });
    }

    pub(super) fn variable(&mut self, ty: Ty, mutable: bool) -> Option<String> {
        let all: Vec<String> =
            self.scope.iter().filter(|n| n.ty == ty && (!mutable || n.mutable)).map(|n| n.text.clone()).collect();
        (!all.is_empty()).then(|| self.pick(&all))
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
