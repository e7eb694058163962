//! What a function's body tells before it is lowered: the last use of each expression, whether it
//! returns early, and which values end up in an index.

use naga::{Block, Expression, Function, Handle, Statement};

/// Facts about one function.
pub struct Facts {
    /// Number of the last statement that uses an expression; 0 when none does.
    pub last_use: Vec<u32>,
    /// A return that is not the last statement of the body.
    pub early_return: bool,
}

impl Facts {
    pub fn of(function: &Function) -> Facts {
        let mut walk = Walk { function, last_use: vec![0; function.expressions.len()], seq: 0, returns: 0 };
        walk.block(&function.body);
        let tail = matches!(function.body.last(), Some(Statement::Return { .. }));
        Facts { last_use: walk.last_use, early_return: walk.returns > u32::from(tail) }
    }

    pub fn last_use(&self, h: Handle<Expression>) -> u32 {
        self.last_use.get(h.index()).copied().unwrap_or(0)
    }
}

struct Walk<'a> {
    function: &'a Function,
    last_use: Vec<u32>,
    seq: u32,
    returns: u32,
}

impl Walk<'_> {
    fn touch(&mut self, h: Handle<Expression>) {
        if let Some(l) = self.last_use.get_mut(h.index()) {
            *l = self.seq;
        }
        // Expressions that need no Emit are evaluated where they are used, so their operands are used there too.
        if matches!(self.function.expressions[h], Expression::Compose { .. } | Expression::Splat { .. }) {
            operands(&self.function.expressions[h], &mut |o| {
                if let Some(l) = self.last_use.get_mut(o.index()) {
                    *l = self.seq;
                }
            });
        }
    }

    // Statements are numbered in the order in which `lower::stmt` visits them.
    fn block(&mut self, block: &Block) {
        for statement in block {
            self.seq += 1;
            let seq = self.seq;
            if let Statement::Emit(range) = statement {
                for h in range.clone() {
                    let mut used = Vec::new();
                    operands(&self.function.expressions[h], &mut |o| used.push(o));
                    used.into_iter().for_each(|o| self.touch(o));
                }
                continue;
            }
            let mut used = Vec::new();
            statement_operands(statement, &mut |o| used.push(o));
            used.into_iter().for_each(|o| self.touch(o));
            match statement {
                Statement::Block(b) => self.block(b),
                Statement::If { accept, reject, .. } => {
                    self.block(accept);
                    self.block(reject);
                }
                Statement::Switch { cases, .. } => cases.iter().for_each(|c| self.block(&c.body)),
                Statement::Loop { body, continuing, break_if } => {
                    self.block(body);
                    self.block(continuing);
                    self.seq += 1;
                    if let Some(h) = break_if {
                        self.touch(*h);
                    }
                }
                Statement::Return { .. } => self.returns += 1,
                _ => {}
            }
            debug_assert!(self.seq >= seq);
        }
    }
}

/// Calls `f` with each expression that `e` reads.
pub fn operands(e: &Expression, f: &mut dyn FnMut(Handle<Expression>)) {
    match *e {
        Expression::Compose { ref components, .. } => components.iter().for_each(|c| f(*c)),
        Expression::Access { base, index } => {
            f(base);
            f(index);
        }
        Expression::AccessIndex { base, .. } => f(base),
        Expression::Splat { value, .. } => f(value),
        Expression::Swizzle { vector, .. } => f(vector),
        Expression::Load { pointer } => f(pointer),
        Expression::Unary { expr, .. } | Expression::As { expr, .. } => f(expr),
        Expression::Binary { left, right, .. } => {
            f(left);
            f(right);
        }
        Expression::Select { condition, accept, reject } => {
            f(condition);
            f(accept);
            f(reject);
        }
        Expression::Relational { argument, .. } => f(argument),
        Expression::Math { arg, arg1, arg2, arg3, .. } => {
            f(arg);
            [arg1, arg2, arg3].into_iter().flatten().for_each(f);
        }
        Expression::ArrayLength(h) => f(h),
        Expression::CooperativeLoad { ref data, .. } => {
            f(data.pointer);
            f(data.stride);
        }
        Expression::CooperativeMultiplyAdd { a, b, c } => [a, b, c].into_iter().for_each(f),
        _ => {}
    }
}

/// Calls `f` with each expression that a statement other than `Emit` reads itself (not its blocks).
pub fn statement_operands(s: &Statement, f: &mut dyn FnMut(Handle<Expression>)) {
    match *s {
        Statement::If { condition, .. } => f(condition),
        Statement::Switch { selector, .. } => f(selector),
        Statement::Return { value } => value.into_iter().for_each(f),
        Statement::Store { pointer, value } => {
            f(pointer);
            f(value);
        }
        Statement::Atomic { pointer, ref fun, value, .. } => {
            f(pointer);
            f(value);
            if let naga::AtomicFunction::Exchange { compare: Some(c) } = *fun {
                f(c);
            }
        }
        Statement::WorkGroupUniformLoad { pointer, .. } => f(pointer),
        Statement::Call { ref arguments, .. } => arguments.iter().for_each(|a| f(*a)),
        Statement::SubgroupBallot { predicate, .. } => predicate.into_iter().for_each(f),
        Statement::SubgroupGather { ref mode, argument, .. } => {
            f(argument);
            if let Some(h) = gather_index(mode) {
                f(h);
            }
        }
        Statement::SubgroupCollectiveOperation { argument, .. } => f(argument),
        Statement::CooperativeStore { target, ref data } => [target, data.pointer, data.stride].into_iter().for_each(f),
        _ => {}
    }
}

pub fn gather_index(mode: &naga::GatherMode) -> Option<Handle<Expression>> {
    use naga::GatherMode as G;
    match *mode {
        G::Broadcast(h)
        | G::Shuffle(h)
        | G::ShuffleDown(h)
        | G::ShuffleUp(h)
        | G::ShuffleXor(h)
        | G::QuadBroadcast(h) => Some(h),
        G::BroadcastFirst | G::QuadSwap(_) => None,
    }
}

/// The variable or argument that a pointer expression starts from.
pub fn root(function: &Function, mut h: Handle<Expression>) -> &Expression {
    loop {
        match function.expressions[h] {
            Expression::Access { base, .. } | Expression::AccessIndex { base, .. } => h = base,
            ref other => return other,
        }
    }
}
