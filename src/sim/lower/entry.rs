//! The entry point: private variables, built-in values, and the final numbering of registers.

use super::*;

impl<'a> Lowerer<'a> {
    pub(super) fn entry(
        &mut self,
        ep: &'a naga::EntryPoint,
        info: &'a naga::valid::FunctionInfo,
    ) -> Result<(), SimError> {
        self.segment();
        // Private variables belong to each invocation: registers, set at the start.
        for (h, var) in self.module.global_variables.iter() {
            if var.space != AddressSpace::Private || !self.globals.contains_key(&h) {
                continue;
            }
            let Some(Place::Var { base, end, .. }) = self.globals.get(&h).cloned() else { continue };
            let init = match var.init {
                Some(e) => self.global_value(e)?,
                None => vec![self.constant(0); (end - base) as usize],
            };
            for (d, a) in (base..end).zip(init) {
                self.push(Op::Set { d, a }, Class::Free, 0);
            }
        }
        let mut args = Vec::new();
        for arg in &ep.function.arguments {
            let mut regs = Vec::new();
            match (&arg.binding, &self.module.types[arg.ty].inner) {
                (Some(b), _) => self.builtin(b, &mut regs)?,
                (None, TypeInner::Struct { members, .. }) => {
                    for m in members {
                        match &m.binding {
                            Some(b) => self.builtin(b, &mut regs)?,
                            None => return self.unsupported("an entry point argument without @builtin"),
                        }
                    }
                }
                _ => return self.unsupported("an entry point argument without @builtin"),
            }
            args.push(Val::Regs(regs, NONE));
        }
        self.push_frame(&ep.function, info, args, false)?;
        self.block(&ep.function.body)?;
        self.join_here();
        self.push(Op::End, Class::Free, 0);
        Ok(())
    }

    fn builtin(&mut self, binding: &naga::Binding, regs: &mut Vec<Reg>) -> Result<(), SimError> {
        let naga::Binding::BuiltIn(b) = binding else {
            return self.unsupported("@location on a compute entry point");
        };
        use naga::BuiltIn as B;
        let size = self.workgroup_size;
        match b {
            B::GlobalInvocationId => regs.extend((0..3).map(|i| self.fixed(Fixed::GlobalId(i)))),
            B::LocalInvocationId => regs.extend((0..3).map(|i| self.fixed(Fixed::LocalId(i)))),
            B::WorkGroupId => regs.extend((0..3).map(|i| self.fixed(Fixed::WorkgroupId(i)))),
            B::NumWorkGroups => regs.extend((0..3).map(|i| self.fixed(Fixed::NumWorkgroups(i)))),
            B::WorkGroupSize => regs.extend(size.map(|s| self.constant(s))),
            B::LocalInvocationIndex => regs.push(self.fixed(Fixed::LocalIndex)),
            B::NumSubgroups => regs.push(self.fixed(Fixed::NumSubgroups)),
            B::SubgroupId => regs.push(self.fixed(Fixed::SubgroupId)),
            B::SubgroupSize => regs.push(self.fixed(Fixed::SubgroupSize)),
            B::SubgroupInvocationId => regs.push(self.fixed(Fixed::SubgroupLane)),
            other => return self.unsupported(format!("@builtin {other:?}")),
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> Code {
        let base = self.code.registers;
        self.code.fixed_base = base;
        self.code.registers = base + self.code.fixed.len() as u32;
        let fix = |r: &mut Reg| {
            if *r != NONE && *r & FIXED != 0 {
                *r = base + (*r & !FIXED);
            }
        };
        for op in &mut self.code.ops {
            visit(op, &fix);
        }
        let mems = self.code.mems.iter_mut().chain(self.code.atomics.iter_mut().map(|a| &mut a.mem));
        for m in mems {
            fix(&mut m.dynamic);
            m.regs.iter_mut().for_each(fix);
        }
        for a in &mut self.code.atomics {
            [&mut a.value, &mut a.compare, &mut a.d, &mut a.exchanged].into_iter().for_each(fix);
        }
        for i in &mut self.code.indexes {
            [&mut i.d, &mut i.base, &mut i.index].into_iter().for_each(fix);
        }
        for o in &mut self.code.overflows {
            fix(&mut o.a);
            fix(&mut o.b);
        }
        for s in &mut self.code.subgroups {
            [&mut s.d, &mut s.a, &mut s.index].into_iter().for_each(fix);
        }
        for t in &mut self.code.transfers {
            [&mut t.stride, &mut t.mem.dynamic].into_iter().chain(&mut t.regs).for_each(fix);
        }
        for p in &mut self.code.products {
            p.a.iter_mut().chain(&mut p.b).chain(&mut p.c).for_each(fix);
        }
        self.code
    }
}

fn visit(op: &mut Op, f: &impl Fn(&mut Reg)) {
    match op {
        Op::Bin { d, a, b, .. } => [d, a, b].into_iter().for_each(f),
        Op::Un { d, a, .. } | Op::Copy { d, a } | Op::Set { d, a } => [d, a].into_iter().for_each(f),
        Op::Tern { d, a, b, c, .. } => [d, a, b, c].into_iter().for_each(f),
        Op::InsertBits { d, a, b, c, n } => [d, a, b, c, n].into_iter().for_each(f),
        Op::GetAt { d, base, index, .. } => [d, base, index].into_iter().for_each(f),
        Op::SetAt { base, index, a, .. } => [base, index, a].into_iter().for_each(f),
        Op::If { cond, .. } | Op::BreakIf { cond, .. } => f(cond),
        Op::Case { sel, .. } => f(sel),
        _ => {}
    }
}
