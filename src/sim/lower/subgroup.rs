//! Operations of a subgroup: shuffles, reductions, scans.

use super::facts::gather_index;
use super::*;

impl<'a> Lowerer<'a> {
    pub(super) fn subgroup(&mut self, op: SubgroupOp) {
        self.code.uses_subgroups = true;
        self.code.subgroups.push(op);
        self.push(Op::Subgroup { id: self.code.subgroups.len() as u32 - 1 }, Class::Subgroup, 0);
    }

    pub(super) fn gather(
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

    pub(super) fn collective(
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
