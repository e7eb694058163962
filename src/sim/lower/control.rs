//! Control flow: branches, loops, switches, and which variables they write.

use super::facts::root;
use super::*;
use naga::{Block, Statement, SwitchValue};

impl<'a> Lowerer<'a> {
    /// Gives copies to expressions that name variables written inside a construct: inside it the
    /// copy might not be executed, or only once for several rounds.
    fn release_for(&mut self, blocks: &[&'a Block]) -> Result<(), SimError> {
        let mut written = Written { ranges: Vec::new(), all: false };
        for b in blocks {
            self.written(b, &mut written)?;
        }
        if written.all {
            self.release_all();
        }
        for (lo, hi) in written.ranges {
            self.release(lo, hi);
        }
        Ok(())
    }

    fn written(&self, block: &'a Block, out: &mut Written) -> Result<(), SimError> {
        let f = self.frame()?;
        for s in block {
            match s {
                Statement::Store { pointer, .. } => match root(f.function, *pointer) {
                    Expression::LocalVariable(h) => out.ranges.extend(f.locals[h.index()]),
                    Expression::FunctionArgument(i) => match f.args.get(*i as usize) {
                        Some(Val::Place(Place::Mem { .. })) => {}
                        _ => out.all = true,
                    },
                    Expression::GlobalVariable(h) => {
                        if let Some(Place::Var { base, end, .. }) = self.globals.get(h) {
                            out.ranges.push((*base, *end));
                        }
                    }
                    _ => out.all = true,
                },
                Statement::Call { .. } => out.all = true,
                Statement::Block(b) => self.written(b, out)?,
                Statement::If { accept, reject, .. } => {
                    self.written(accept, out)?;
                    self.written(reject, out)?;
                }
                Statement::Switch { cases, .. } => {
                    for c in cases {
                        self.written(&c.body, out)?;
                    }
                }
                Statement::Loop { body, continuing, .. } => {
                    self.written(body, out)?;
                    self.written(continuing, out)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Is the branch only there to guard the second operand of `&&` or `||`, or as cheap: no effect
    /// but setting a boolean variable. A GPU compiler predicates it.
    fn predicable(&self, block: &Block) -> bool {
        let Ok(f) = self.frame() else { return false };
        block.iter().all(|s| match s {
            Statement::Emit(_) => true,
            Statement::Store { pointer, .. } => matches!(
                f.function.expressions[*pointer],
                Expression::LocalVariable(h)
                    if matches!(self.module.types[f.function.local_variables[h].ty].inner,
                        TypeInner::Scalar(naga::Scalar { kind: naga::ScalarKind::Bool, .. }))
            ),
            Statement::Block(b) => self.predicable(b),
            Statement::If { accept, reject, .. } => self.predicable(accept) && self.predicable(reject),
            _ => false,
        })
    }

    pub(super) fn branch(
        &mut self,
        condition: Handle<Expression>,
        accept: &'a Block,
        reject: &'a Block,
    ) -> Result<(), SimError> {
        let cond = self.regs(condition)?[0];
        // A branch on a constant is no branch.
        if let Some(c) = self.known(cond)
            && !matches!(self.frame()?.function.expressions[condition], Expression::Load { .. })
        {
            let (taken, other) = if c != 0 { (accept, reject) } else { (reject, accept) };
            if c == 0 {
                self.count_statements(other)?;
                self.block(taken)?;
            } else {
                self.block(taken)?;
                self.count_statements(other)?;
            }
            return Ok(());
        }
        self.release_for(&[accept, reject])?;
        let predicated = self.predicable(accept) && self.predicable(reject);
        let slot = self.slots(2);
        let outer_under = self.under;
        if predicated && self.under.is_none() {
            self.under = Some(slot);
        }
        let class = if predicated { Class::Free } else { Class::Branch };
        let begin = self.push(Op::If { cond, slot, else_pc: NONE }, class, 0);
        self.joins.push(vec![begin]);
        self.segment();
        self.block(accept)?;
        self.join_here();
        if !reject.is_empty() {
            let pc = self.push(Op::Else { slot, end_pc: NONE }, Class::Free, 0);
            self.joins.push(vec![pc]);
            self.segment();
            self.block(reject)?;
            self.join_here();
        }
        self.under = outer_under;
        let pc = self.push(Op::EndIf { slot, skip: NONE }, Class::Free, 0);
        self.skip_from(pc);
        self.segment();
        self.slot_top = slot;
        Ok(())
    }

    /// Advances the statement number over a block that is not lowered.
    fn count_statements(&mut self, block: &Block) -> Result<(), SimError> {
        for s in block {
            self.frame_mut()?.seq += 1;
            match s {
                Statement::Block(b) => self.count_statements(b)?,
                Statement::If { accept, reject, .. } => {
                    self.count_statements(accept)?;
                    self.count_statements(reject)?;
                }
                Statement::Switch { cases, .. } => {
                    for c in cases {
                        self.count_statements(&c.body)?;
                    }
                }
                Statement::Loop { body, continuing, .. } => {
                    self.count_statements(body)?;
                    self.count_statements(continuing)?;
                    self.frame_mut()?.seq += 1;
                }
                _ => {}
            }
        }
        Ok(())
    }

    pub(super) fn lower_loop(
        &mut self,
        body: &'a Block,
        continuing: &'a Block,
        break_if: Option<Handle<Expression>>,
    ) -> Result<(), SimError> {
        self.release_for(&[body, continuing])?;
        let slot = self.slots(3);
        let f = self.frame_mut()?;
        let outer = (f.break_slot, f.continue_slot);
        f.break_slot = slot;
        f.continue_slot = slot;
        let loop_span = self.span;
        self.push(Op::LoopBegin { slot }, Class::Free, 0);
        let start = self.here();
        // The body's values are visible in the continuing block, so both share one set of temporaries.
        let top = self.top;
        self.segment();
        self.joins.push(Vec::new());
        self.statements(body)?;
        self.join_here();
        let pc = self.push(Op::Continuing { slot, end_pc: NONE }, Class::Free, 0);
        self.joins.push(vec![pc]);
        self.segment();
        self.statements(continuing)?;
        self.frame_mut()?.seq += 1;
        if let Some(h) = break_if {
            let cond = self.regs(h)?[0];
            self.push(Op::BreakIf { cond, slot }, Class::Branch, 0);
        }
        self.span = loop_span;
        self.push(Op::LoopBack { slot, start }, Class::Branch, 0);
        self.join_here();
        self.top = top;
        let pc = self.push(Op::LoopEnd { slot, skip: NONE }, Class::Free, 0);
        self.skip_from(pc);
        self.segment();
        let f = self.frame_mut()?;
        (f.break_slot, f.continue_slot) = outer;
        self.slot_top = slot;
        Ok(())
    }

    pub(super) fn switch(
        &mut self,
        selector: Handle<Expression>,
        cases: &'a [naga::SwitchCase],
    ) -> Result<(), SimError> {
        let mut sel = self.regs(selector)?[0];
        if self.holds_var(sel) {
            sel = self.copy(sel);
        }
        let blocks: Vec<&Block> = cases.iter().map(|c| &c.body).collect();
        self.release_for(&blocks)?;
        let slot = self.slots(2);
        let outer = std::mem::replace(&mut self.frame_mut()?.break_slot, slot);
        let value = |v: &SwitchValue| match v {
            SwitchValue::I32(x) => Some(*x as u32),
            SwitchValue::U32(x) => Some(*x),
            SwitchValue::Default => None,
        };
        let all: Vec<u32> = cases.iter().filter_map(|c| value(&c.value)).collect();
        self.push(Op::SwitchBegin { slot }, Class::Branch, 0);
        let mut group: Vec<u32> = Vec::new();
        let mut default = false;
        for case in cases {
            match value(&case.value) {
                Some(v) => group.push(v),
                None => default = true,
            }
            if case.fall_through {
                if !case.body.is_empty() {
                    return self.unsupported("fallthrough out of a case with statements");
                }
                continue;
            }
            let mut values = std::mem::take(&mut group);
            let invert = std::mem::take(&mut default);
            if invert {
                values = all.iter().copied().filter(|v| !values.contains(v)).collect();
            }
            let id = self.code.cases.len() as u32;
            self.code.cases.push(CaseOp { values, invert });
            let pc = self.push(Op::Case { id, sel, slot, next: NONE }, Class::Free, 0);
            self.joins.push(vec![pc]);
            self.segment();
            self.block(&case.body)?;
            self.join_here();
        }
        let pc = self.push(Op::SwitchEnd { slot, skip: NONE }, Class::Free, 0);
        self.skip_from(pc);
        self.segment();
        self.frame_mut()?.break_slot = outer;
        self.slot_top = slot;
        Ok(())
    }
}

/// Registers of variables that a construct writes.
struct Written {
    ranges: Vec<(Reg, Reg)>,
    all: bool,
}
