//! Places: variables, buffers and workgroup memory; loads, stores and indexing.

use super::types::{Leaf, array_len, byte_size, column_stride, grain, is_runtime_sized, kind, leaves, slots};
use super::*;
use naga::StorageAccess;

/// Workgroup variables start at multiples of this, as drivers place them.
const SHARED_ALIGN: u32 = 16;

impl<'a> Lowerer<'a> {
    /// Lays out every global that the entry point uses.
    pub(super) fn declare_globals(&mut self, entry: usize) -> Result<(), SimError> {
        let uses = self.info.get_entry_point(entry);
        for (h, var) in self.module.global_variables.iter() {
            if uses[h].is_empty() {
                continue;
            }
            self.span = self.module.global_variables.get_span(h).into();
            let inner = &self.module.types[var.ty].inner;
            let name = var.name.clone().unwrap_or_default();
            let place = match var.space {
                AddressSpace::Private => {
                    let n = slots(self.module, inner).map_err(|e| self.at_line(e))?;
                    let (base, end) = self.variable(n);
                    Place::Var { base, end, dynamic: NONE, checks: Vec::new() }
                }
                AddressSpace::WorkGroup => {
                    let bytes = byte_size(self.module, inner).map_err(|e| self.at_line(e))?;
                    let offset = self.code.shared_bytes.next_multiple_of(SHARED_ALIGN);
                    let end = u64::from(offset) + bytes;
                    let Ok(end) = u32::try_from(end) else { return self.unsupported("workgroup memory over 4 GiB") };
                    self.code.shared_bytes = end;
                    self.code.shared_grain = self.code.shared_grain.min(grain(self.module, inner));
                    self.code.shared.push(SharedVar { offset, bytes: end - offset });
                    Place::Mem {
                        space: Space::Workgroup,
                        offset,
                        dynamic: NONE,
                        checks: Vec::new(),
                        variable: name.into(),
                        uniform: false,
                        tracked: true,
                    }
                }
                AddressSpace::Storage { .. } | AddressSpace::Uniform | AddressSpace::Immediate => {
                    let (group, binding) = match (&var.binding, var.space) {
                        (Some(b), _) => (b.group, b.binding),
                        // Immediates have no binding: the caller gives them as this one.
                        (None, AddressSpace::Immediate) => (u32::MAX, 0),
                        (None, _) => return self.unsupported("a buffer without @group and @binding"),
                    };
                    let uniform = !matches!(var.space, AddressSpace::Storage { .. });
                    let writable = matches!(var.space, AddressSpace::Storage { access } if access.intersects(StorageAccess::STORE | StorageAccess::ATOMIC));
                    let min_size = byte_size(self.module, inner).map_err(|e| self.at_line(e))?;
                    let grain = grain(self.module, inner).max(1);
                    let slot = self.code.buffers.len() as u16;
                    self.code.buffers.push(BufferInfo {
                        name: name.clone(),
                        group,
                        binding,
                        uniform,
                        writable,
                        min_size,
                        grain,
                    });
                    Place::Mem {
                        space: Space::Buffer(slot),
                        offset: 0,
                        dynamic: NONE,
                        checks: Vec::new(),
                        variable: name.into(),
                        uniform,
                        tracked: writable,
                    }
                }
                AddressSpace::Handle => return self.unsupported("textures, samplers and other handles"),
                other => return self.unsupported(format!("address space {other:?}")),
            };
            self.globals.insert(h, place);
        }
        Ok(())
    }

    /// The place that a pointer expression designates.
    pub(super) fn place(&mut self, h: Handle<Expression>) -> Result<Place, SimError> {
        match self.val(h)? {
            Val::Place(p) => Ok(p),
            Val::Regs(..) => self.internal("a value where a pointer belongs"),
        }
    }

    /// Type that the pointer `h` points to, as (type, is it behind a handle).
    pub(super) fn pointee(&self, h: Handle<Expression>) -> Result<TypeInner, SimError> {
        let f = self.frame()?;
        let inner = f.info[h].ty.inner_with(&self.module.types);
        match *inner {
            TypeInner::Pointer { base, .. } => Ok(self.module.types[base].inner.clone()),
            TypeInner::ValuePointer { size: Some(size), scalar, .. } => Ok(TypeInner::Vector { size, scalar }),
            TypeInner::ValuePointer { size: None, scalar, .. } => Ok(TypeInner::Scalar(scalar)),
            _ => self.internal("not a pointer"),
        }
    }

    /// Number of elements of an indexable type, its element's slots, and the element's byte stride.
    fn element(&self, inner: &TypeInner) -> Result<(Option<u32>, u32, u32), SimError> {
        Ok(match *inner {
            TypeInner::Array { base, size, stride } => {
                let base = &self.module.types[base].inner;
                let each = if is_runtime_sized(self.module, base) { 0 } else { slots(self.module, base).unwrap_or(0) };
                (array_len(self.module, size)?, each, stride)
            }
            TypeInner::Vector { size, scalar } => (Some(size as u32), 1, u32::from(scalar.width)),
            TypeInner::Matrix { columns, rows, scalar } => {
                (Some(columns as u32), rows as u32, column_stride(rows, u32::from(scalar.width)))
            }
            _ => return self.internal("indexing a type without elements"),
        })
    }

    pub(super) fn access_index_place(
        &mut self,
        base: Handle<Expression>,
        place: Place,
        i: u32,
    ) -> Result<Place, SimError> {
        let inner = self.pointee(base)?;
        let (slot, byte) = match inner {
            TypeInner::Struct { ref members, .. } => {
                let mut slot = 0;
                for m in members.iter().take(i as usize) {
                    if let Place::Var { .. } = place {
                        slot += slots(self.module, &self.module.types[m.ty].inner)?;
                    }
                }
                (slot, members.get(i as usize).map_or(0, |m| m.offset))
            }
            _ => {
                let (len, each, stride) = self.element(&inner)?;
                if len.is_none() {
                    // A constant index into a runtime-sized array can be out of range too.
                    let index = self.constant(i);
                    return self.access_place(base, place, index, NONE, false);
                }
                (each * i, stride * i)
            }
        };
        Ok(match place {
            Place::Var { base, end, dynamic, checks } => Place::Var { base: base + slot, end, dynamic, checks },
            Place::Mem { space, offset, dynamic, checks, variable, uniform, tracked } => {
                Place::Mem { space, offset: offset + byte, dynamic, checks, variable, uniform, tracked }
            }
        })
    }

    pub(super) fn access_place(
        &mut self,
        base: Handle<Expression>,
        place: Place,
        index: Reg,
        mark: u32,
        signed: bool,
    ) -> Result<Place, SimError> {
        let inner = self.pointee(base)?;
        let (len, each, stride) = self.element(&inner)?;
        if let (Some(i), Some(n)) = (self.known(index), len)
            && i < n
        {
            return self.access_index_place(base, place, i);
        }
        match place {
            Place::Var { base, end, dynamic, mut checks } => {
                let Some(n) = len else { return self.internal("runtime-sized variable") };
                let (d, id) = self.index_op(dynamic, index, Len::Known(n), each, mark, signed);
                checks.push(id);
                Ok(Place::Var { base, end, dynamic: d, checks })
            }
            Place::Mem { space, offset, dynamic, mut checks, variable, uniform, tracked } => {
                let len = match (len, space) {
                    (Some(n), _) => Len::Known(n),
                    (None, Space::Buffer(buffer)) => Len::Runtime(self.length(LengthInfo { buffer, offset, stride })),
                    (None, Space::Workgroup) => return self.internal("runtime-sized workgroup array"),
                };
                let (d, id) = self.index_op(dynamic, index, len, stride, mark, signed);
                checks.push(id);
                Ok(Place::Mem { space, offset, dynamic: d, checks, variable, uniform, tracked })
            }
        }
    }

    pub(super) fn length(&mut self, info: LengthInfo) -> u32 {
        match self.code.lengths.iter().position(|l| *l == info) {
            Some(i) => i as u32,
            None => {
                self.code.lengths.push(info);
                self.code.lengths.len() as u32 - 1
            }
        }
    }

    pub(super) fn index_op(
        &mut self,
        base: Reg,
        index: Reg,
        len: Len,
        stride: u32,
        mark: u32,
        signed: bool,
    ) -> (Reg, u32) {
        let d = self.temp();
        let id = self.code.indexes.len() as u32;
        self.code.indexes.push(IndexOp { d, base, index, len, stride, mark, signed });
        // Address arithmetic is folded into the access on a GPU, or hoisted; it is not counted.
        self.push(Op::Index { id }, Class::Free, 0);
        (d, id)
    }

    fn guards(&mut self, checks: &[u32]) -> (u32, u32) {
        let start = self.code.guards.len() as u32;
        self.code.guards.extend_from_slice(checks);
        (start, self.code.guards.len() as u32)
    }

    /// Counter row of the current source place.
    fn counter(
        &mut self,
        op: AccessOp,
        space: Space,
        variable: &str,
        uniform: bool,
        width: u32,
    ) -> Result<u16, SimError> {
        let span = self.span;
        let found = self.code.accesses.iter().position(|a| a.span == span && a.op == op && a.space == space);
        let i = match found {
            Some(i) => i,
            None => {
                self.code.accesses.push(AccessInfo { span, space, op, variable: variable.to_string(), uniform, width });
                self.code.accesses.len() - 1
            }
        };
        self.code.accesses[i].width = self.code.accesses[i].width.max(width);
        match u16::try_from(i) {
            Ok(i) => Ok(i),
            Err(_) => self.unsupported("more than 65,535 memory accesses in one shader"),
        }
    }

    pub(super) fn mem_op(
        &mut self,
        place: &Place,
        leaf: Leaf,
        op: AccessOp,
        regs: [Reg; 4],
    ) -> Result<(MemOp, Class), SimError> {
        let Place::Mem { space, offset, dynamic, checks, variable, uniform, tracked } = place else {
            return self.internal("not memory");
        };
        let guards = self.guards(checks);
        let access = self.counter(op, *space, variable, *uniform, leaf.elem.bytes() * u32::from(leaf.count))?;
        let class = match (op, space, uniform) {
            (AccessOp::Load, _, true) => Class::LoadUniform,
            (AccessOp::Load, Space::Workgroup, _) => Class::LoadShared,
            (AccessOp::Load, ..) => Class::LoadGlobal,
            (AccessOp::Store, Space::Workgroup, _) => Class::StoreShared,
            (AccessOp::Store, ..) => Class::StoreGlobal,
            (AccessOp::Atomic, Space::Workgroup, _) => Class::AtomicShared,
            (AccessOp::Atomic, ..) => Class::AtomicGlobal,
        };
        let mem = MemOp {
            space: *space,
            offset: offset + leaf.offset,
            dynamic: *dynamic,
            elem: leaf.elem,
            count: leaf.count,
            regs,
            access,
            guards,
            tracked: *tracked,
        };
        Ok((mem, class))
    }

    /// Value of the type `inner` at a place.
    pub(super) fn load(&mut self, place: &Place, inner: &TypeInner) -> Result<Vec<Reg>, SimError> {
        match place {
            Place::Var { base, end, dynamic, checks } => {
                let n = slots(self.module, inner)?;
                if *dynamic == NONE {
                    return Ok((*base..base + n).collect());
                }
                self.guard(checks);
                let d = self.temps(n);
                for i in 0..n {
                    self.push(
                        Op::GetAt { d: d + i, base: base + i, len: end - base - i, index: *dynamic },
                        Class::LocalArray,
                        0,
                    );
                }
                Ok((d..d + n).collect())
            }
            Place::Mem { space, offset, dynamic, uniform, .. } => {
                let mut parts = Vec::new();
                leaves(self.module, inner, 0, &mut parts)?;
                let mut out = Vec::new();
                for leaf in parts {
                    if let (true, NONE, Space::Buffer(buffer)) = (*uniform, *dynamic, *space) {
                        for i in 0..u32::from(leaf.count) {
                            let offset = offset + leaf.offset + i * leaf.elem.bytes();
                            out.push(self.fixed(Fixed::Uniform { buffer, offset, elem: leaf.elem.bytes() as u8 }));
                        }
                        continue;
                    }
                    let d = self.temps(u32::from(leaf.count));
                    let (mem, class) = self.mem_op(place, leaf, AccessOp::Load, [d, NONE, NONE, NONE])?;
                    self.code.mems.push(mem);
                    self.push(Op::Load { id: self.code.mems.len() as u32 - 1 }, class, 0);
                    out.extend(d..d + u32::from(leaf.count));
                }
                Ok(out)
            }
        }
    }

    fn guard(&mut self, checks: &[u32]) {
        if !checks.is_empty() {
            let range = self.guards(checks);
            self.code.guard_ranges.push(range);
            self.push(Op::Guard { id: self.code.guard_ranges.len() as u32 - 1 }, Class::Free, 0);
        }
    }

    pub(super) fn store(
        &mut self,
        pointer: Handle<Expression>,
        mut value: Vec<Reg>,
        mark: u32,
    ) -> Result<(), SimError> {
        let inner = self.pointee(pointer)?;
        let place = self.place(pointer)?;
        match place {
            Place::Var { base, end, dynamic, checks } => {
                let n = value.len() as u32;
                let (lo, hi) = if dynamic == NONE { (base, base + n) } else { (base, end) };
                // `v = v.yx`: the value must not change while it is being written.
                if n > 1 || dynamic != NONE {
                    for r in &mut value {
                        if (lo..hi).contains(r) {
                            *r = self.copy(*r);
                        }
                    }
                }
                self.release(lo, hi);
                if dynamic != NONE {
                    self.guard(&checks);
                }
                for (i, a) in value.into_iter().enumerate() {
                    let i = i as u32;
                    if dynamic == NONE {
                        if base + i != a {
                            self.push(Op::Set { d: base + i, a }, Class::Free, 0);
                        }
                    } else {
                        self.push(
                            Op::SetAt { base: base + i, len: end - base - i, index: dynamic, a },
                            Class::LocalArray,
                            0,
                        );
                    }
                }
                if dynamic == NONE
                    && let Some(d) = self.var_mark(base)
                {
                    self.push(Op::MarkSet { d, a: mark }, Class::Free, 0);
                }
                Ok(())
            }
            Place::Mem { .. } => {
                let mut parts = Vec::new();
                leaves(self.module, &inner, 0, &mut parts)?;
                let mut at = 0;
                for leaf in parts {
                    let mut regs = [NONE; 4];
                    for r in regs.iter_mut().take(leaf.count as usize) {
                        *r = value.get(at).copied().unwrap_or(NONE);
                        at += 1;
                    }
                    let (mem, class) = self.mem_op(&place, leaf, AccessOp::Store, regs)?;
                    self.code.mems.push(mem);
                    self.push(Op::Store { id: self.code.mems.len() as u32 - 1 }, class, 0);
                }
                Ok(())
            }
        }
    }

    /// Overflow mark slot of the local variable whose first register is `base`.
    fn var_mark(&self, base: Reg) -> Option<u32> {
        for f in self.frames.iter().rev() {
            for (local, mark) in f.locals.iter().zip(&f.local_marks) {
                if let Some((lo, _)) = local
                    && *lo == base
                    && *mark != NONE
                {
                    return Some(*mark);
                }
            }
        }
        None
    }

    /// An atomic operation; returns the old value (and for compare exchange whether it was exchanged).
    pub(super) fn atomic(
        &mut self,
        pointer: Handle<Expression>,
        fun: Rmw,
        value: Reg,
        compare: Reg,
    ) -> Result<(Reg, Reg), SimError> {
        let inner = self.pointee(pointer)?;
        let TypeInner::Atomic(scalar) = inner else { return self.internal("atomic on a plain value") };
        kind(scalar)?;
        let place = self.place(pointer)?;
        let leaf = Leaf { offset: 0, elem: Elem::Word, count: 1 };
        let (d, exchanged) = (self.temp(), self.temp());
        let (mem, class) = self.mem_op(&place, leaf, AccessOp::Atomic, [NONE; 4])?;
        self.code.atomics.push(AtomicOp { mem, fun, value, compare, d, exchanged });
        self.push(Op::Atomic { id: self.code.atomics.len() as u32 - 1 }, class, 0);
        Ok((d, exchanged))
    }

    pub(super) fn is_atomic(&self, pointer: Handle<Expression>) -> bool {
        matches!(self.pointee(pointer), Ok(TypeInner::Atomic(_)))
    }

    pub(super) fn load_pointer(&mut self, pointer: Handle<Expression>) -> Result<Vec<Reg>, SimError> {
        let inner = self.pointee(pointer)?;
        let place = self.place(pointer)?;
        if let (TypeInner::Atomic(_), Place::Mem { space, .. }) = (&inner, &place) {
            if matches!(space, Space::Buffer(_)) {
                self.code.ordered_atomics = true;
            }
            let zero = self.constant(0);
            return Ok(vec![self.atomic(pointer, Rmw::Load, zero, NONE)?.0]);
        }
        self.load(&place, &inner)
    }
}
