//! Statements and functions.

use super::{Gen, Ty, spelling};
use std::fmt::Write;

impl Gen {
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

    pub(super) fn statement(&mut self, depth: u32) {
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

    pub(super) fn function(&mut self) {
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
}
