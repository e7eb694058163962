//! From naga's IR to the flat form of [`super::code`].
//!
//! Values become lists of registers, one per scalar. Reading a variable costs nothing: the
//! expression names the variable's own registers until the variable is written, and only then are
//! they copied ([`Lowerer::release`]). Temporaries are given back at the end of the block that
//! made them, since naga's expressions are visible only there.

mod access;
mod call;
mod class;
mod compiled;
mod control;
mod cooperative;
mod entry;
mod expr;
mod facts;
mod index;
mod math;
mod stmt;
mod subgroup;
pub mod types;

use super::code::*;
use super::error::SimError;
use super::exec::lanes;
use super::source::{Source, Span};
use class::{bin_class, float_class, half_result, rounds, un_class};
pub use compiled::{AccessInfo, AccessOp, BufferInfo, Code, LengthInfo, SharedVar};
use facts::Facts;
use naga::{AddressSpace, Expression, Function, Handle, TypeInner};
use std::collections::HashMap;
use std::rc::Rc;

/// High bit of a register that is fixed for a run; renumbered behind the temporaries at the end.
const FIXED: u32 = 1 << 31;

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

    fn push(&mut self, op: Op, class: Class, flops: u16) -> usize {
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
            let nan = f32::from_bits(r[0]).is_nan() && kind.is_float();
            let by_zero = y == 0 && matches!(f, Bin::DivU | Bin::DivS | Bin::ModU | Bin::ModS);
            if !nan && !by_zero {
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
                let r = if kind == Kind::F16 && rounds(f) { lanes::un(Un::RoundF16, &r) } else { r };
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
}
