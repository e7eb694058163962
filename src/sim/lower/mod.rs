//! From naga's IR to the flat form of [`super::code`].
//!
//! Values become lists of registers, one per scalar. Reading a variable costs nothing: the
//! expression names the variable's own registers until the variable is written, and only then are
//! they copied ([`Lowerer::release`]). Temporaries are given back at the end of the block that
//! made them, since naga's expressions are visible only there.

mod access;
mod expr;
mod facts;
mod index;
mod math;
mod stmt;
pub mod types;

use super::code::*;
use super::error::SimError;
use super::exec::lanes;
use super::source::{Source, Span};
use facts::Facts;
use naga::{AddressSpace, Expression, Function, Handle, TypeInner};
use std::collections::HashMap;
use std::rc::Rc;

/// High bit of a register that is fixed for a run; renumbered behind the temporaries at the end.
const FIXED: u32 = 1 << 31;

/// A buffer that the shader declares.
#[derive(Debug, Clone)]
pub struct BufferInfo {
    pub name: String,
    pub group: u32,
    pub binding: u32,
    pub uniform: bool,
    pub writable: bool,
    /// Fewest bytes that a view must have.
    pub min_size: u64,
    /// Granule of race detection, as a shift: 1 for types with f16, else 2.
    pub grain: u32,
}

/// Where a runtime-sized array starts in its buffer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LengthInfo {
    pub buffer: u16,
    pub offset: u32,
    pub stride: u32,
}

/// A variable in workgroup memory.
#[derive(Debug, Clone)]
pub struct SharedVar {
    pub offset: u32,
}

/// One place in the source that touches memory.
#[derive(Debug, Clone, PartialEq)]
pub struct AccessInfo {
    pub span: Span,
    pub space: Space,
    pub op: AccessOp,
    pub variable: String,
    pub uniform: bool,
    /// Bytes per lane, the most of any instruction at this place.
    pub width: u32,
}

/// What an access does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AccessOp {
    Load,
    Store,
    Atomic,
}

/// The compiled shader.
#[derive(Debug, Clone, Default)]
pub struct Code {
    pub ops: Vec<Op>,
    pub meta: Vec<Meta>,
    pub mems: Vec<MemOp>,
    pub atomics: Vec<AtomicOp>,
    pub indexes: Vec<IndexOp>,
    pub guards: Vec<u32>,
    pub guard_ranges: Vec<(u32, u32)>,
    pub overflows: Vec<OverflowOp>,
    pub subgroups: Vec<SubgroupOp>,
    pub cases: Vec<CaseOp>,
    /// Register contents fixed for a run, first at register `fixed_base`.
    pub fixed: Vec<Fixed>,
    pub fixed_base: u32,
    pub registers: u32,
    pub mask_slots: u32,
    pub marks: u32,
    pub segments: u32,
    pub accesses: Vec<AccessInfo>,
    pub lengths: Vec<LengthInfo>,
    pub buffers: Vec<BufferInfo>,
    pub shared: Vec<SharedVar>,
    pub shared_bytes: u32,
    pub shared_grain: u32,
    /// A storage atomic whose result is used, or that does not commute: order shows in the result.
    pub ordered_atomics: bool,
    pub uses_subgroups: bool,
}

/// A place that a pointer designates.
#[derive(Debug, Clone)]
pub enum Place {
    /// Registers from `base`; `dynamic` adds a run-time number of registers.
    Var {
        base: Reg,
        end: Reg,
        dynamic: Reg,
        checks: Vec<u32>,
    },
    Mem {
        space: Space,
        offset: u32,
        dynamic: Reg,
        checks: Vec<u32>,
        variable: Rc<str>,
        uniform: bool,
        tracked: bool,
    },
}

/// What an expression has become.
#[derive(Debug, Clone)]
pub enum Val {
    /// One register per scalar, and the overflow mark slot of an index value.
    Regs(Vec<Reg>, u32),
    Place(Place),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Target {
    Expr(Handle<Expression>),
    Arg(u32),
}

/// One function being inlined.
struct Frame<'a> {
    function: &'a Function,
    info: &'a naga::valid::FunctionInfo,
    facts: Rc<Facts>,
    wanted: Rc<index::Wanted>,
    vals: Vec<Option<Val>>,
    args: Vec<Val>,
    locals: Vec<Option<(Reg, Reg)>>,
    /// Overflow mark slot of each local, where it feeds an index.
    local_marks: Vec<u32>,
    seq: u32,
    /// Result registers of a function that returns early, and its mask slot.
    result: Option<(Vec<Reg>, u32)>,
    /// Result of a function that returns only at its end.
    tail: Option<Val>,
    /// Mask slots to break from and to continue.
    break_slot: u32,
    continue_slot: u32,
}

pub struct Lowerer<'a> {
    module: &'a naga::Module,
    info: &'a naga::valid::ModuleInfo,
    source: &'a Source,
    code: Code,
    frames: Vec<Frame<'a>>,
    facts: HashMap<*const Function, Rc<Facts>>,
    fixed: HashMap<Fixed, u32>,
    globals: HashMap<Handle<naga::GlobalVariable>, Place>,
    is_var: Vec<bool>,
    aliases: Vec<(usize, Target)>,
    top: u32,
    slot_top: u32,
    span: Span,
    /// Jumps to patch when the enclosing construct joins.
    joins: Vec<Vec<usize>>,
    /// Mask slot that counts lanes inside a predicated branch.
    under: Option<u32>,
    workgroup_size: [u32; 3],
}

/// Compiles `entry` (index into the module's entry points).
pub fn lower(
    module: &naga::Module,
    info: &naga::valid::ModuleInfo,
    source: &Source,
    entry: usize,
) -> Result<Code, SimError> {
    let ep = module
        .entry_points
        .get(entry)
        .ok_or_else(|| SimError::NoEntryPoint { name: String::new(), available: Vec::new() })?;
    let mut l = Lowerer {
        module,
        info,
        source,
        code: Code { shared_grain: 2, ..Code::default() },
        frames: Vec::new(),
        facts: HashMap::new(),
        fixed: HashMap::new(),
        globals: HashMap::new(),
        is_var: Vec::new(),
        aliases: Vec::new(),
        top: 0,
        slot_top: 0,
        span: Span::default(),
        joins: vec![Vec::new()],
        under: None,
        workgroup_size: ep.workgroup_size,
    };
    l.declare_globals(entry)?;
    let result = l.entry(ep, info.get_entry_point(entry));
    match result {
        Ok(()) => Ok(l.finish()),
        Err(e) => Err(l.at_line(e)),
    }
}

impl<'a> Lowerer<'a> {
    fn at_line(&self, e: SimError) -> SimError {
        let here = self.source.locate(self.span).0;
        match e {
            SimError::Unsupported { line: 0, what } => SimError::Unsupported { line: here, what },
            SimError::Internal { line: 0, what } => SimError::Internal { line: here, what },
            other => other,
        }
    }

    fn unsupported<T>(&self, what: impl Into<String>) -> Result<T, SimError> {
        Err(SimError::Unsupported { line: self.source.locate(self.span).0, what: what.into() })
    }

    fn internal<T>(&self, what: impl Into<String>) -> Result<T, SimError> {
        Err(SimError::Internal { line: self.source.locate(self.span).0, what: what.into() })
    }

    // ---- registers ------------------------------------------------------------------------

    fn temp(&mut self) -> Reg {
        self.temps(1)
    }

    /// `n` consecutive temporaries.
    fn temps(&mut self, n: u32) -> Reg {
        let base = self.top;
        self.top += n;
        self.code.registers = self.code.registers.max(self.top);
        if self.is_var.len() < self.top as usize {
            self.is_var.resize(self.top as usize, false);
        }
        for r in base..self.top {
            if let Some(v) = self.is_var.get_mut(r as usize) {
                *v = false;
            }
        }
        base
    }

    fn variable(&mut self, n: u32) -> (Reg, Reg) {
        let base = self.temps(n);
        for r in base..base + n {
            if let Some(v) = self.is_var.get_mut(r as usize) {
                *v = true;
            }
        }
        (base, base + n)
    }

    fn holds_var(&self, r: Reg) -> bool {
        r & FIXED == 0 && self.is_var.get(r as usize).copied().unwrap_or(false)
    }

    fn fixed(&mut self, f: Fixed) -> Reg {
        let next = self.code.fixed.len() as u32;
        let i = *self.fixed.entry(f).or_insert(next);
        if i == next {
            self.code.fixed.push(f);
        }
        FIXED | i
    }

    fn constant(&mut self, bits: u32) -> Reg {
        self.fixed(Fixed::Const(bits))
    }

    fn float(&mut self, x: f32) -> Reg {
        self.constant(x.to_bits())
    }

    /// The constant that a register holds in all lanes, if it is one.
    fn known(&self, r: Reg) -> Option<u32> {
        if r == NONE || r & FIXED == 0 {
            return None;
        }
        match self.code.fixed.get((r & !FIXED) as usize) {
            Some(Fixed::Const(c)) => Some(*c),
            _ => None,
        }
    }

    // ---- operations -----------------------------------------------------------------------

    fn push(&mut self, op: Op, class: Class, flops: u8) -> usize {
        let segment = self.code.segments.saturating_sub(1);
        self.code.ops.push(op);
        self.code.meta.push(Meta { span: self.span, class, flops, segment });
        self.code.ops.len() - 1
    }

    fn here(&self) -> u32 {
        self.code.ops.len() as u32
    }

    /// Starts a new straight run: everything up to the next one executes under the same mask.
    fn segment(&mut self) {
        let id = self.code.segments;
        self.code.segments += 1;
        let op = match self.under {
            Some(slot) => Op::SegmentUnder { id, slot },
            None => Op::Segment { id },
        };
        self.push(op, Class::Free, 0);
    }

    fn bin(&mut self, f: Bin, a: Reg, b: Reg, kind: Kind) -> Reg {
        if let (Some(x), Some(y)) = (self.known(a), self.known(b)) {
            let r = lanes::bin(f, &[x; LANES], &[y; LANES]);
            let r = if half_result(f, kind) { lanes::un(Un::RoundF16, &r) } else { r };
            // A constant NaN or division by zero stays an operation, so that it is reported.
            if !(f32::from_bits(r[0]).is_nan() && kind.is_float())
                && !(y == 0 && matches!(f, Bin::DivU | Bin::DivS | Bin::ModU | Bin::ModS))
            {
                return self.constant(r[0]);
            }
        }
        match (f, self.known(a), self.known(b)) {
            (Bin::AddI | Bin::Or | Bin::Xor, Some(0), _) => return b,
            (Bin::AddI | Bin::SubI | Bin::Or | Bin::Xor | Bin::Shl | Bin::ShrU | Bin::ShrS, _, Some(0)) => return a,
            (Bin::MulI, Some(1), _) => return b,
            (Bin::MulI | Bin::DivU, _, Some(1)) => return a,
            _ => {}
        }
        let d = self.temp();
        let (class, flops) = bin_class(f, kind);
        self.push(Op::Bin { f, d, a, b }, class, flops);
        if half_result(f, kind) {
            self.push(Op::Un { f: Un::RoundF16, d, a: d }, Class::Free, 0);
        }
        d
    }

    fn un(&mut self, f: Un, a: Reg, kind: Kind) -> Reg {
        if let Some(x) = self.known(a) {
            let r = lanes::un(f, &[x; LANES]);
            if !(f32::from_bits(r[0]).is_nan() && kind.is_float()) {
                let r = if kind == Kind::F16 && float_result(f) { lanes::un(Un::RoundF16, &r) } else { r };
                return self.constant(r[0]);
            }
        }
        let d = self.temp();
        let (class, flops) = un_class(f, kind);
        self.push(Op::Un { f, d, a }, class, flops);
        if kind == Kind::F16 && rounds(f) {
            self.push(Op::Un { f: Un::RoundF16, d, a: d }, Class::Free, 0);
        }
        d
    }

    fn tern(&mut self, f: Tern, a: Reg, b: Reg, c: Reg, kind: Kind) -> Reg {
        let d = self.temp();
        let (class, flops) = match f {
            Tern::Select => (Class::Integer, 0),
            Tern::FmaF => (float_class(kind), 2),
            Tern::ClampF => (float_class(kind), 0),
            Tern::MixF => (float_class(kind), 3),
            Tern::SmoothStep => (float_class(kind), 7),
            Tern::ExtractU | Tern::ExtractS => (Class::Integer, 0),
        };
        self.push(Op::Tern { f, d, a, b, c }, class, flops);
        if kind == Kind::F16 && f != Tern::Select {
            self.push(Op::Un { f: Un::RoundF16, d, a: d }, Class::Free, 0);
        }
        d
    }

    fn copy(&mut self, a: Reg) -> Reg {
        let d = self.temp();
        self.push(Op::Copy { d, a }, Class::Free, 0);
        d
    }

    // ---- names for variables' registers ---------------------------------------------------

    /// Variables in `lo..hi` are about to change: expressions that still name them get copies.
    fn release(&mut self, lo: Reg, hi: Reg) {
        let aliases = std::mem::take(&mut self.aliases);
        for (frame, target) in aliases {
            let Some(f) = self.frames.get(frame) else { continue };
            let live = match target {
                Target::Expr(h) => f.facts.last_use(h) > f.seq,
                Target::Arg(_) => true,
            };
            if !live {
                continue;
            }
            let held = match target {
                Target::Expr(h) => f.vals.get(h.index()).cloned().flatten(),
                Target::Arg(i) => f.args.get(i as usize).cloned(),
            };
            let Some(Val::Regs(mut regs, mark)) = held else { continue };
            let mut changed = false;
            for i in 0..regs.len() {
                if regs[i] & FIXED == 0 && (lo..hi).contains(&regs[i]) {
                    let old = regs[i];
                    let new = self.copy(old);
                    regs.iter_mut().filter(|r| **r == old).for_each(|r| *r = new);
                    changed = true;
                }
            }
            if regs.iter().any(|r| self.holds_var(*r)) {
                self.aliases.push((frame, target));
            }
            if changed {
                let f = &mut self.frames[frame];
                match target {
                    Target::Expr(h) => f.vals[h.index()] = Some(Val::Regs(regs, mark)),
                    Target::Arg(i) => f.args[i as usize] = Val::Regs(regs, mark),
                }
            }
        }
    }

    fn release_all(&mut self) {
        self.release(0, FIXED);
    }

    fn note_alias(&mut self, target: Target, val: &Val) {
        if let Val::Regs(regs, _) = val
            && regs.iter().any(|r| self.holds_var(*r))
        {
            self.aliases.push((self.frames.len() - 1, target));
        }
    }

    // ---- joins ------------------------------------------------------------------------------

    /// Remembers that the operation at `pc` jumps to the join of the enclosing construct.
    fn skip_from(&mut self, pc: usize) {
        if let Some(list) = self.joins.last_mut() {
            list.push(pc);
        }
    }

    /// Ends the construct opened by the last `joins.push`: its pending jumps land here.
    fn join_here(&mut self) {
        let here = self.here();
        for pc in self.joins.pop().unwrap_or_default() {
            self.patch(pc, here);
        }
    }

    fn patch(&mut self, pc: usize, target: u32) {
        match &mut self.code.ops[pc] {
            Op::EndIf { skip, .. }
            | Op::LoopEnd { skip, .. }
            | Op::SwitchEnd { skip, .. }
            | Op::Break { skip, .. }
            | Op::Continue { skip, .. }
            | Op::Return { skip, .. }
            | Op::CallEnd { skip, .. } => *skip = target,
            Op::If { else_pc, .. } => *else_pc = target,
            Op::Else { end_pc, .. } | Op::Continuing { end_pc, .. } => *end_pc = target,
            Op::Case { next, .. } => *next = target,
            _ => {}
        }
    }

    fn slots(&mut self, n: u32) -> u32 {
        let s = self.slot_top;
        self.slot_top += n;
        self.code.mask_slots = self.code.mask_slots.max(self.slot_top);
        s
    }

    fn mark(&mut self) -> u32 {
        self.code.marks += 1;
        self.code.marks - 1
    }

    // ---- functions ------------------------------------------------------------------------

    fn frame(&self) -> Result<&Frame<'a>, SimError> {
        self.frames.last().ok_or(SimError::Internal { line: 0, what: "no function".into() })
    }

    fn frame_mut(&mut self) -> Result<&mut Frame<'a>, SimError> {
        self.frames.last_mut().ok_or(SimError::Internal { line: 0, what: "no function".into() })
    }

    fn facts(&mut self, f: &'a Function) -> Rc<Facts> {
        self.facts.entry(f as *const Function).or_insert_with(|| Rc::new(Facts::of(f))).clone()
    }

    fn push_frame(
        &mut self,
        function: &'a Function,
        info: &'a naga::valid::FunctionInfo,
        args: Vec<Val>,
        result_is_index: bool,
    ) -> Result<(), SimError> {
        let facts = self.facts(function);
        let wanted = Rc::new(index::Wanted::of(self.module, function, result_is_index));
        let mut local_marks = vec![NONE; function.local_variables.len()];
        for (h, _) in function.local_variables.iter() {
            if wanted.local(h) {
                local_marks[h.index()] = self.mark();
            }
        }
        self.frames.push(Frame {
            function,
            info,
            facts,
            wanted,
            vals: vec![None; function.expressions.len()],
            args,
            locals: vec![None; function.local_variables.len()],
            local_marks,
            seq: 0,
            result: None,
            tail: None,
            break_slot: NONE,
            continue_slot: NONE,
        });
        // Arguments that name a variable of the caller are copied when that variable changes.
        for i in 0..self.frame()?.args.len() {
            let val = self.frame()?.args[i].clone();
            self.note_alias(Target::Arg(i as u32), &val);
        }
        let call_span = self.span;
        for (h, local) in function.local_variables.iter() {
            let span: Span = function.local_variables.get_span(h).into();
            self.span = if span.is_known() { span } else { call_span };
            let n = types::slots(self.module, &self.module.types[local.ty].inner)?;
            let var = self.variable(n);
            self.frame_mut()?.locals[h.index()] = Some(var);
            let init = match local.init {
                Some(e) => self.regs(e)?,
                None => vec![self.constant(0); n as usize],
            };
            for (r, a) in (var.0..var.1).zip(init) {
                self.push(Op::Set { d: r, a }, Class::Free, 0);
            }
        }
        self.span = call_span;
        Ok(())
    }

    fn entry(&mut self, ep: &'a naga::EntryPoint, info: &'a naga::valid::FunctionInfo) -> Result<(), SimError> {
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

    fn finish(mut self) -> Code {
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

fn float_class(kind: Kind) -> Class {
    if kind == Kind::F16 { Class::F16 } else { Class::F32 }
}

fn half_result(f: Bin, kind: Kind) -> bool {
    use Bin::*;
    kind == Kind::F16 && matches!(f, AddF | SubF | MulF | DivF | RemF | Atan2 | Pow | Step | Ldexp)
}

/// Does the result of an f16 operation need rounding (is it not exact).
fn rounds(f: Un) -> bool {
    use Un::*;
    matches!(
        f,
        Fract
            | Sqrt
            | InverseSqrt
            | Exp
            | Exp2
            | Log
            | Log2
            | Sin
            | Cos
            | Tan
            | Sinh
            | Cosh
            | Tanh
            | Asin
            | Acos
            | Atan
            | Asinh
            | Acosh
            | Atanh
            | Radians
            | Degrees
            | U32ToF32
            | I32ToF32
    )
}

fn float_result(f: Un) -> bool {
    rounds(f)
}

fn bin_class(f: Bin, kind: Kind) -> (Class, u8) {
    use Bin::*;
    match f {
        AddF | SubF | MulF => (float_class(kind), 1),
        DivF | RemF => (Class::Special, 1),
        Atan2 | Pow => (Class::Special, 1),
        EqF | NeF | LtF | LeF | MinF | MaxF | Step | Ldexp => (float_class(kind), 0),
        Pack2x16Snorm | Pack2x16Unorm | Pack2x16Float => (Class::Convert, 0),
        _ => (Class::Integer, 0),
    }
}

fn un_class(f: Un, kind: Kind) -> (Class, u8) {
    use Un::*;
    match f {
        NegF | AbsF | SignF | Saturate | IsNan | IsInf => (float_class(kind), 0),
        Ceil | Floor | Round | Trunc => (float_class(kind), 0),
        Fract => (float_class(kind), 1),
        Sqrt | InverseSqrt | Exp | Exp2 | Log | Log2 | Sin | Cos | Tan | Sinh | Cosh | Tanh | Asin | Acos | Atan
        | Asinh | Acosh | Atanh => (Class::Special, 1),
        Radians | Degrees => (float_class(kind), 1),
        NegI | NotI | NotB | AbsS | SignS | CountOnes | LeadingZeros | TrailingZeros | ReverseBits | FirstTrailing
        | FirstLeadingU | FirstLeadingS => (Class::Integer, 0),
        RoundF16 => (Class::Free, 0),
        _ => (Class::Convert, 0),
    }
}
