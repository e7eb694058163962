//! Statements: control flow, calls, atomics, barriers.

use super::facts::{gather_index, root};
use super::*;
use naga::{AtomicFunction, Block, Statement, SwitchValue};

impl<'a> Lowerer<'a> {
    /// Lowers a block and gives its temporaries back.
    pub(super) fn block(&mut self, block: &'a Block) -> Result<(), SimError> {
        let top = self.top;
        self.statements(block)?;
        self.top = top;
        Ok(())
    }

    pub(super) fn statements(&mut self, block: &'a Block) -> Result<(), SimError> {
        for (statement, span) in block.span_iter() {
            self.frame_mut()?.seq += 1;
            let span: Span = (*span).into();
            if span.is_known() {
                self.span = span;
            }
            let statement_span = self.span;
            self.statement(statement)?;
            self.span = statement_span;
        }
        Ok(())
    }

    fn statement(&mut self, statement: &'a Statement) -> Result<(), SimError> {
        match statement {
            Statement::Emit(range) => {
                for h in range.clone() {
                    self.emit(h)?;
                }
            }
            Statement::Block(b) => self.block(b)?,
            Statement::If { condition, accept, reject } => self.branch(*condition, accept, reject)?,
            Statement::Switch { selector, cases } => self.switch(*selector, cases)?,
            Statement::Loop { body, continuing, break_if } => self.lower_loop(body, continuing, *break_if)?,
            Statement::Break => {
                let slot = self.frame()?.break_slot;
                let pc = self.push(Op::Break { slot, skip: NONE }, Class::Free, 0);
                self.skip_from(pc);
            }
            Statement::Continue => {
                let slot = self.frame()?.continue_slot;
                let pc = self.push(Op::Continue { slot, skip: NONE }, Class::Free, 0);
                self.skip_from(pc);
            }
            Statement::Return { value } => self.lower_return(*value)?,
            Statement::ControlBarrier(b) => self.barrier(*b),
            // A memory barrier alone makes no lane wait; naga's WGSL front end does not produce it.
            Statement::MemoryBarrier(_) => {}
            Statement::Store { pointer, value } => self.lower_store(*pointer, *value)?,
            Statement::Atomic { pointer, fun, value, result } => self.lower_atomic(*pointer, fun, *value, *result)?,
            Statement::WorkGroupUniformLoad { pointer, result } => {
                self.push(Op::Barrier { what: 1 }, Class::Barrier, 0);
                let regs = self.load_pointer(*pointer)?;
                self.set(*result, Val::Regs(regs, NONE))?;
                self.push(Op::Barrier { what: 1 }, Class::Barrier, 0);
            }
            Statement::Call { function, arguments, result } => self.call(*function, arguments, *result)?,
            Statement::SubgroupBallot { result, predicate } => {
                let a = match predicate {
                    Some(p) => self.regs(*p)?[0],
                    None => self.constant(1),
                };
                let d = self.temps(4);
                let op = SubgroupOp { f: SubFn::Ballot, scan: Scan::Reduce, d, a, index: NONE, half: false };
                self.subgroup(op);
                // The warp has at most 32 lanes: the other three words of the ballot are zero.
                let zero = self.constant(0);
                self.set(*result, Val::Regs(vec![d, zero, zero, zero], NONE))?;
            }
            Statement::SubgroupGather { mode, argument, result } => self.gather(mode, *argument, *result)?,
            Statement::SubgroupCollectiveOperation { op, collective_op, argument, result } => {
                self.collective(*op, *collective_op, *argument, *result)?;
            }
            Statement::Kill => return self.unsupported("discard"),
            Statement::ImageStore { .. } | Statement::ImageAtomic { .. } => return self.unsupported("textures"),
            Statement::RayQuery { .. } | Statement::RayPipelineFunction(_) => return self.unsupported("ray queries"),
            Statement::CooperativeStore { target, data } => self.cooperative_store(*target, data)?,
        }
        Ok(())
    }

    fn barrier(&mut self, b: naga::Barrier) {
        let mut what = 0;
        if b.contains(naga::Barrier::WORK_GROUP) {
            what |= 1;
        }
        if b.contains(naga::Barrier::STORAGE) {
            what |= 2;
        }
        if b.contains(naga::Barrier::SUB_GROUP) {
            what |= 4;
        }
        self.push(Op::Barrier { what }, Class::Barrier, 0);
    }

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

    fn branch(&mut self, condition: Handle<Expression>, accept: &'a Block, reject: &'a Block) -> Result<(), SimError> {
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

    fn lower_loop(
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

    fn switch(&mut self, selector: Handle<Expression>, cases: &'a [naga::SwitchCase]) -> Result<(), SimError> {
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

    fn lower_return(&mut self, value: Option<Handle<Expression>>) -> Result<(), SimError> {
        let result = self.frame()?.result.clone();
        match result {
            Some((regs, slot)) => {
                if let Some(h) = value {
                    let from = self.regs(h)?;
                    for (d, a) in regs.into_iter().zip(from) {
                        self.push(Op::Set { d, a }, Class::Free, 0);
                    }
                }
                let pc = self.push(Op::Return { slot, skip: NONE }, Class::Free, 0);
                self.skip_from(pc);
            }
            None if self.frames.len() == 1 => {
                let pc = self.push(Op::Return { slot: NONE, skip: NONE }, Class::Free, 0);
                self.skip_from(pc);
            }
            None => {
                if let Some(h) = value {
                    let v = self.val(h)?;
                    self.frame_mut()?.tail = Some(v);
                }
            }
        }
        Ok(())
    }

    fn lower_store(&mut self, pointer: Handle<Expression>, value: Handle<Expression>) -> Result<(), SimError> {
        let (regs, mark) = self.regs_marked(value)?;
        if self.is_atomic(pointer) {
            if let Place::Mem { space: Space::Buffer(_), .. } = self.place(pointer)? {
                self.code.ordered_atomics = true;
            }
            self.atomic(pointer, Rmw::Store, regs[0], NONE)?;
            return Ok(());
        }
        self.store(pointer, regs, mark)
    }

    fn lower_atomic(
        &mut self,
        pointer: Handle<Expression>,
        fun: &AtomicFunction,
        value: Handle<Expression>,
        result: Option<Handle<Expression>>,
    ) -> Result<(), SimError> {
        let k = self.expr_kind(value)?;
        let v = self.regs(value)?[0];
        let mut compare = NONE;
        let f = match (*fun, k) {
            (AtomicFunction::Add, Kind::F32) => Rmw::AddF,
            (AtomicFunction::Subtract, Kind::F32) => Rmw::SubF,
            (AtomicFunction::Min, Kind::F32) => Rmw::MinF,
            (AtomicFunction::Max, Kind::F32) => Rmw::MaxF,
            (AtomicFunction::Add, _) => Rmw::Add,
            (AtomicFunction::Subtract, _) => Rmw::Sub,
            (AtomicFunction::And, _) => Rmw::And,
            (AtomicFunction::ExclusiveOr, _) => Rmw::Xor,
            (AtomicFunction::InclusiveOr, _) => Rmw::Or,
            (AtomicFunction::Min, Kind::I32) => Rmw::MinS,
            (AtomicFunction::Min, _) => Rmw::MinU,
            (AtomicFunction::Max, Kind::I32) => Rmw::MaxS,
            (AtomicFunction::Max, _) => Rmw::MaxU,
            (AtomicFunction::Exchange { compare: None }, _) => Rmw::Exchange,
            (AtomicFunction::Exchange { compare: Some(c) }, _) => {
                compare = self.regs(c)?[0];
                Rmw::CompareExchange
            }
        };
        let used = result.is_some_and(|r| self.frame().is_ok_and(|f| f.facts.last_use(r) > 0));
        let commutes =
            !matches!(f, Rmw::Exchange | Rmw::CompareExchange | Rmw::AddF | Rmw::SubF | Rmw::MinF | Rmw::MaxF);
        if let Place::Mem { space: Space::Buffer(_), .. } = self.place(pointer)?
            && (used || !commutes)
        {
            self.code.ordered_atomics = true;
        }
        let (old, exchanged) = self.atomic(pointer, f, v, compare)?;
        if let Some(r) = result {
            let regs = if f == Rmw::CompareExchange { vec![old, exchanged] } else { vec![old] };
            self.set(r, Val::Regs(regs, NONE))?;
        }
        Ok(())
    }

    fn call(
        &mut self,
        function: Handle<Function>,
        arguments: &[Handle<Expression>],
        result: Option<Handle<Expression>>,
    ) -> Result<(), SimError> {
        let callee = &self.module.functions[function];
        let wanted_result = match result {
            Some(r) => self.frame()?.wanted.expr(r),
            None => false,
        };
        let mut args = Vec::with_capacity(arguments.len());
        for a in arguments {
            args.push(self.val(*a)?);
        }
        let writes_ours = args.iter().any(|a| matches!(a, Val::Place(Place::Var { .. })))
            || self.globals.values().any(|p| matches!(p, Place::Var { .. }));
        if writes_ours {
            self.release_all();
            // Arguments taken above may just have been copied.
            args.clear();
            for a in arguments {
                args.push(match self.val(*a)? {
                    Val::Regs(regs, m) => {
                        let regs = regs.into_iter().map(|r| if self.holds_var(r) { self.copy(r) } else { r }).collect();
                        Val::Regs(regs, m)
                    }
                    place => place,
                });
            }
        }
        let facts = self.facts(callee);
        let slots_before = self.slot_top;
        let early = if facts.early_return {
            let n = match &callee.result {
                Some(r) => types::slots(self.module, &self.module.types[r.ty].inner)?,
                None => 0,
            };
            let (lo, hi) = self.variable(n);
            let slot = self.slots(2);
            self.push(Op::CallBegin { slot }, Class::Free, 0);
            Some(((lo..hi).collect::<Vec<_>>(), slot))
        } else {
            None
        };
        let call_span = self.span;
        self.push_frame(callee, &self.info[function], args, wanted_result)?;
        self.frame_mut()?.result = early.clone();
        if early.is_some() {
            self.joins.push(Vec::new());
        }
        self.statements(&callee.body)?;
        let frame = self.frames.pop();
        let depth = self.frames.len();
        self.aliases.retain(|(f, _)| *f < depth);
        self.span = call_span;
        let val = match early {
            Some((regs, slot)) => {
                self.join_here();
                let pc = self.push(Op::CallEnd { slot, skip: NONE }, Class::Free, 0);
                self.skip_from(pc);
                self.segment();
                self.slot_top = slots_before;
                Some(Val::Regs(regs, NONE))
            }
            None => frame.and_then(|f| f.tail),
        };
        if let (Some(r), Some(v)) = (result, val) {
            self.set(r, v)?;
        }
        Ok(())
    }

    fn subgroup(&mut self, op: SubgroupOp) {
        self.code.uses_subgroups = true;
        self.code.subgroups.push(op);
        self.push(Op::Subgroup { id: self.code.subgroups.len() as u32 - 1 }, Class::Subgroup, 0);
    }

    fn gather(
        &mut self,
        mode: &naga::GatherMode,
        argument: Handle<Expression>,
        result: Handle<Expression>,
    ) -> Result<(), SimError> {
        use naga::GatherMode as G;
        let f = match mode {
            G::BroadcastFirst => SubFn::BroadcastFirst,
            G::Broadcast(_) => SubFn::Broadcast,
            G::Shuffle(_) => SubFn::Shuffle,
            G::ShuffleDown(_) => SubFn::ShuffleDown,
            G::ShuffleUp(_) => SubFn::ShuffleUp,
            G::ShuffleXor(_) => SubFn::ShuffleXor,
            G::QuadBroadcast(_) => SubFn::QuadBroadcast,
            G::QuadSwap(naga::Direction::X) => SubFn::QuadX,
            G::QuadSwap(naga::Direction::Y) => SubFn::QuadY,
            G::QuadSwap(naga::Direction::Diagonal) => SubFn::QuadDiagonal,
        };
        let index = match gather_index(mode) {
            Some(h) => self.regs(h)?[0],
            None => NONE,
        };
        let mut out = Vec::new();
        for a in self.regs(argument)? {
            let d = self.temp();
            self.subgroup(SubgroupOp { f, scan: Scan::Reduce, d, a, index, half: false });
            out.push(d);
        }
        self.set(result, Val::Regs(out, NONE))
    }

    fn collective(
        &mut self,
        op: naga::SubgroupOperation,
        scan: naga::CollectiveOperation,
        argument: Handle<Expression>,
        result: Handle<Expression>,
    ) -> Result<(), SimError> {
        use naga::SubgroupOperation as O;
        let k = self.expr_kind(argument)?;
        let pick = |int, float| if k.is_float() { float } else { int };
        let f = match op {
            O::All => SubFn::All,
            O::Any => SubFn::Any,
            O::Add => pick(SubFn::AddI, SubFn::AddF),
            O::Mul => pick(SubFn::MulI, SubFn::MulF),
            O::Min if k == Kind::I32 => SubFn::MinS,
            O::Max if k == Kind::I32 => SubFn::MaxS,
            O::Min => pick(SubFn::MinU, SubFn::MinF),
            O::Max => pick(SubFn::MaxU, SubFn::MaxF),
            O::And => SubFn::And,
            O::Or => SubFn::Or,
            O::Xor => SubFn::Xor,
        };
        let scan = match scan {
            naga::CollectiveOperation::Reduce => Scan::Reduce,
            naga::CollectiveOperation::InclusiveScan => Scan::Inclusive,
            naga::CollectiveOperation::ExclusiveScan => Scan::Exclusive,
        };
        let mut out = Vec::new();
        for a in self.regs(argument)? {
            let d = self.temp();
            self.subgroup(SubgroupOp { f, scan, d, a, index: NONE, half: k == Kind::F16 });
            out.push(d);
        }
        self.set(result, Val::Regs(out, NONE))
    }
}

/// Registers of variables that a construct writes.
struct Written {
    ranges: Vec<(Reg, Reg)>,
    all: bool,
}
