//! Which values end up in an index, so that only their arithmetic is checked for overflow.
//!
//! Hashes and random number generators wrap on purpose; `row * width + col` that wraps is a bug.
//! Followed are additions, multiplications, conversions, variables and results of calls.

use super::facts::root;
use naga::{BinaryOperator, Block, Expression, Function, Handle, LocalVariable, Module, Statement};

/// The expressions and variables of one function that feed an index.
pub struct Wanted {
    exprs: Vec<bool>,
    locals: Vec<bool>,
}

impl Wanted {
    pub fn of(module: &Module, function: &Function, result_is_index: bool) -> Wanted {
        let mut w = Wanted {
            exprs: vec![false; function.expressions.len()],
            locals: vec![false; function.local_variables.len()],
        };
        for (_, e) in function.expressions.iter() {
            if let Expression::Access { index, .. } = *e {
                w.want(function, index);
            }
        }
        if result_is_index {
            w.returns(function, &function.body);
        }
        // Arguments of callees may be indices there; which ones is rarely worth an analysis of its
        // own, so every integer argument counts.
        w.arguments(module, function, &function.body);
        // A variable that feeds an index makes what is stored to it feed one; repeat until stable.
        loop {
            let before = w.locals.iter().filter(|l| **l).count();
            w.stores(function, &function.body);
            if w.locals.iter().filter(|l| **l).count() == before {
                break;
            }
        }
        w
    }

    pub fn expr(&self, h: Handle<Expression>) -> bool {
        self.exprs.get(h.index()).copied().unwrap_or(false)
    }

    pub fn local(&self, h: Handle<LocalVariable>) -> bool {
        self.locals.get(h.index()).copied().unwrap_or(false)
    }

    fn want(&mut self, function: &Function, h: Handle<Expression>) {
        match self.exprs.get_mut(h.index()) {
            Some(e) if !*e => *e = true,
            _ => return,
        }
        match function.expressions[h] {
            Expression::Binary {
                op: BinaryOperator::Add | BinaryOperator::Multiply | BinaryOperator::Subtract,
                left,
                right,
            } => {
                self.want(function, left);
                self.want(function, right);
            }
            Expression::As { expr, .. } => self.want(function, expr),
            Expression::Load { pointer } => {
                if let Expression::LocalVariable(v) = function.expressions[pointer]
                    && let Some(l) = self.locals.get_mut(v.index())
                {
                    *l = true;
                }
            }
            _ => {}
        }
    }

    fn returns(&mut self, function: &Function, block: &Block) {
        each(block, &mut |s| {
            if let Statement::Return { value: Some(h) } = *s {
                self.want(function, h);
            }
        });
    }

    fn arguments(&mut self, module: &Module, function: &Function, block: &Block) {
        each(block, &mut |s| {
            if let Statement::Call { function: callee, ref arguments, .. } = *s {
                let declared = &module.functions[callee].arguments;
                for (a, d) in arguments.iter().zip(declared) {
                    let kind = module.types[d.ty].inner.scalar_kind();
                    let scalar = matches!(module.types[d.ty].inner, naga::TypeInner::Scalar(_));
                    if scalar
                        && matches!(kind, Some(naga::ScalarKind::Uint | naga::ScalarKind::Sint))
                        && has_index(&module.functions[callee])
                    {
                        self.want(function, *a);
                    }
                }
            }
        });
    }

    fn stores(&mut self, function: &Function, block: &Block) {
        each(block, &mut |s| {
            if let Statement::Store { pointer, value } = *s
                && let Expression::LocalVariable(v) = *root(function, pointer)
                && self.local(v)
            {
                self.want(function, value);
            }
        });
    }
}

/// Does the function index anything by a run-time value?
fn has_index(function: &Function) -> bool {
    function.expressions.iter().any(|(_, e)| matches!(e, Expression::Access { .. }))
}

fn each(block: &Block, f: &mut dyn FnMut(&Statement)) {
    for s in block {
        f(s);
        match s {
            Statement::Block(b) => each(b, f),
            Statement::If { accept, reject, .. } => {
                each(accept, f);
                each(reject, f);
            }
            Statement::Switch { cases, .. } => cases.iter().for_each(|c| each(&c.body, f)),
            Statement::Loop { body, continuing, .. } => {
                each(body, f);
                each(continuing, f);
            }
            _ => {}
        }
    }
}
