//! Statements: which lowers what; barriers, stores and atomics.

use super::*;
use naga::{AtomicFunction, Block, Statement};

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
}
