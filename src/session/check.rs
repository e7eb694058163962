//! What a row must be before anything is made of it: rows of this crate are tested to be, a caller's
//! own may not.

use crate::error::{Error, Result};
use crate::op::{Op, pass_operands};
use crate::rung::{Language, Operand, Rung, Source, Stored, Workspace};

/// Refuses a row with a pass of no threads or an empty tile, or one that is bound to an operand that
/// is not there.
pub(super) fn check_row(label: &str, rung: &Rung, inputs: usize) -> Result<()> {
    let refuse = |problem: String| Err(Error::shape(label, problem));
    if rung.passes.is_empty() {
        return refuse("it has no pass".into());
    }
    let workspaces = rung.workspace.len();
    let there = |operand: &Operand| match *operand {
        Operand::Input(index) => index < inputs,
        Operand::Output(index) => index == 0,
        Operand::WorkspaceIn(index) | Operand::WorkspaceOut(index) => index < workspaces,
    };
    for (number, pass) in rung.passes.iter().enumerate() {
        if pass.block.contains(&0) {
            return refuse(format!("a block of pass {number} is {:?}; the least is 1 in each direction", pass.block));
        }
        if pass.grid.has_empty_tile() {
            return refuse(format!("a block of pass {number} takes no element: {:?}", pass.grid));
        }
        if let Some(operand) = pass_operands(pass, inputs).iter().find(|operand| !there(operand)) {
            return refuse(format!(
                "pass {number} is bound to {operand:?}; there are {inputs} inputs, 1 output and {workspaces} workspaces"
            ));
        }
    }
    for size in rung.workspace.iter() {
        let Workspace::Matrices(form) = size else { continue };
        let as_stored = match form.stored {
            Stored::As(other) => other,
            Stored::AsInput | Stored::Transposed(_) => form.input,
        };
        if let Some(missing) = [form.input, as_stored].into_iter().find(|&input| input >= inputs) {
            return refuse(format!("a workspace has the form of input {missing}; there are {inputs} inputs"));
        }
    }
    Ok(())
}

/// Refuses CUDA kernels and calls of a library in a row that neither ships with the op nor is vouched for with it: they
/// reach as far as row, params and grid let them, so safe code may change none of those.
pub(super) fn check_vouched(label: &str, op: &dyn Op, rung: &Rung) -> Result<()> {
    let is_harmless = |source: &Source| matches!(source, Source::Native(_) | Source::Absent { .. });
    let mut sources =
        rung.passes.iter().filter_map(|pass| pass.kernel.as_ref()).map(|own| &own.cuda).chain([&rung.cuda]);
    if sources.all(is_harmless) || rung.is_vouched_for(Language::Cuda, op) {
        return Ok(());
    }
    let because = match rung.vouched.cuda {
        Some(_) => "its CUDA kernel was vouched for with another op or before the row was changed",
        None => {
            "a CUDA kernel of this crate runs with the row and the op that it ships with; `Rung::vouched_for` lets another run"
        }
    };
    Err(Error::unsupported(label, because))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::{self, OPS};
    use crate::rung::{Grid, Matrices, Pass};

    fn problem(change: impl FnOnce(&mut Rung)) -> String {
        let mut rung = Rung::new("mine", [64, 1, 1], Grid::Linear { per_block: 256 });
        change(&mut rung);
        check_row("op/mine", &rung, 1).expect_err("it is wrong").to_string()
    }

    #[test]
    fn a_row_that_makes_no_sense_is_refused_with_its_value() {
        let rung = Rung::new("mine", [64, 1, 1], Grid::Linear { per_block: 256 });
        assert_eq!(check_row("op/mine", &rung, 1), Ok(()));
        let bound = |operand| move |rung: &mut Rung| rung.passes.to_mut()[0].bindings = Some(vec![operand].into());
        let form = |input, stored| {
            let form = Matrices { input, element: None, parts: 1, stored };
            move |rung: &mut Rung| rung.workspace = vec![Workspace::Matrices(form)].into()
        };
        for (text, expected) in [
            (problem(|rung| rung.passes = Vec::new().into()), "no pass"),
            (problem(|rung| rung.passes = vec![Pass::new([8, 0, 1], Grid::Fixed { blocks: 1 })].into()), "[8, 0, 1]"),
            (problem(|rung| rung.passes.to_mut()[0].grid = Grid::Tiles { x: 32, y: 0 }), "y: 0"),
            (
                problem(|rung| rung.passes.to_mut()[0].grid = Grid::BySwitch(&[(&[], Grid::Triangle { tile: 0 })])),
                "tile: 0",
            ),
            (problem(bound(Operand::Input(1))), "Input(1)"),
            (problem(bound(Operand::Output(1))), "Output(1)"),
            (problem(bound(Operand::WorkspaceIn(0))), "0 workspaces"),
            (problem(form(2, Stored::AsInput)), "input 2"),
            (problem(form(0, Stored::As(3))), "input 3"),
        ] {
            assert!(text.starts_with("op/mine: ") && text.contains(expected), "{text} should tell of {expected}");
        }
    }

    #[test]
    fn a_row_ships_as_it_is_and_with_its_own_op() {
        for (op, rung) in OPS.iter().flat_map(|op| op.ladder().iter().chain(op.vendor()).map(move |rung| (*op, rung))) {
            assert!(op::ships(op, &rung.clone()), "{}/{}", op.name(), rung.id());
            let others = OPS.iter().filter(|other| other.name() != op.name());
            assert!(others.clone().all(|other| !op::ships(*other, rung)), "{}/{}", op.name(), rung.id());
        }
        let mut wider = OPS[0].ladder()[0].clone();
        wider.passes.to_mut()[0].block[0] *= 2;
        assert!(!op::ships(OPS[0], &wider));
    }
}
