//! Calls, whose functions are lowered in place, and returns from them.

use super::*;

impl<'a> Lowerer<'a> {
    pub(super) fn lower_return(&mut self, value: Option<Handle<Expression>>) -> Result<(), SimError> {
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

    pub(super) fn call(
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
}
