//! The programs of rungs: what a backend compiles, and everything that is compiled ahead of time.

use super::{OPS, Op, Place};
use crate::element::Element;
use crate::problem::Problem;
use crate::rung::{CudaNeeds, Language, Operand, Pass, Program, Rung, Source, Switch, TensorMapRow, has_all, settings};

/// The operands of a pass, in binding order.
pub(crate) fn pass_operands(pass: &Pass, inputs: usize) -> Vec<Operand> {
    match &pass.bindings {
        Some(list) => list.to_vec(),
        None => (0..inputs).map(Operand::Input).chain([Operand::Output(0)]).collect(),
    }
}

/// The program of one pass of a rung as it is [tuned](Rung::tuned), for one element type and
/// setting of the [pass's switches](pass_switches).
pub fn program(
    op: &dyn Op,
    rung: &Rung,
    pass: &Pass,
    element: Element,
    setting: &[(String, u32)],
    params_bytes: u32,
    inputs: usize,
) -> Program {
    let suffix = if pass.suffix.is_empty() { String::new() } else { format!("_{}", pass.suffix) };
    let operands = pass_operands(pass, inputs);
    let (constants, cuda, arch, wgsl) = match &pass.kernel {
        Some(kernel) => (&kernel.constants, &kernel.cuda, kernel.arch, &kernel.wgsl),
        None => (&rung.constants, &rung.cuda, rung.cuda_needs.arch, &rung.wgsl),
    };
    let constants: Vec<(String, u32)> =
        constants.iter().map(|(n, v)| (n.to_string(), *v)).chain(setting.iter().cloned()).collect();
    let taken = |map: &&TensorMapRow| {
        operands.contains(&map.operand) && map.when.is_none_or(|when| has_all(&constants, &[when]))
    };
    let (unit, entry) = match &pass.kernel {
        Some(kernel) => (kernel.name.to_string(), kernel.name.as_ref()),
        None => (rung.id(), rung.name.as_ref()),
    };
    Program {
        label: format!("{}/{}{}", op.name(), rung.id(), suffix),
        unit: format!("{}/{unit}", op.name()),
        entry: format!("{}_{entry}{}", op.name(), if pass.kernel.is_some() { "" } else { &suffix }),
        cuda: cuda.clone(),
        cuda_needs: CudaNeeds {
            arch,
            dynamic_shared: pass.dynamic_shared.unwrap_or(rung.cuda_needs.dynamic_shared),
            tensor_maps: rung.cuda_needs.tensor_maps.iter().filter(taken).copied().collect(),
        },
        wgsl: wgsl.clone(),
        trusted: rung.trusted && pass.kernel.as_ref().is_none_or(|kernel| kernel.trusted),
        constants,
        aliases: rung.aliases.to_vec(),
        element_words: op.element_words(element),
        element,
        block: pass.block,
        written: operands.into_iter().map(Operand::is_written).collect(),
        params_bytes,
    }
}

/// The switches that a pass is compiled with.
pub fn pass_switches<'a>(rung: &'a Rung, pass: &'a Pass) -> &'a [Switch] {
    pass.kernel.as_ref().map_or(&rung.switches, |kernel| &kernel.switches)
}

/// Every program that is shipped: each op, rung, language, element word and switch setting, once.
/// A program of one language has no source in the other.
pub fn shipped_programs() -> Vec<Program> {
    let mut all: Vec<Program> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    let other = || Source::Absent { because: "this program is of the other language".into() };
    for op in OPS {
        for (rung, language) in op.ladder().iter().flat_map(|r| [(r, Language::Cuda), (r, Language::Wgsl)]) {
            for &element in op.elements().iter().filter(|e| rung.sizes(language).contains(&e.size())) {
                let mut rung = rung.tuned(language, element.size());
                match language {
                    Language::Cuda => rung.wgsl = other(),
                    Language::Wgsl => rung.cuda = other(),
                }
                let problem = Problem::new(element, vec![1; op.dims().len()]);
                let place = Place { origin: [0; 3], first_pass_blocks: 1 };
                let params_bytes = op.params(&problem, place).len() as u32;
                let inputs = op.shapes(&problem).map(|(i, _)| i.len()).unwrap_or(0);
                for pass in rung.passes.iter() {
                    let settings = settings(pass_switches(&rung, pass)).into_iter();
                    let own = pass.kernel.is_some();
                    for setting in settings.filter(|s| (own || rung.allows(language, s)) && op.occurs(element, s)) {
                        let program = program(*op, &rung, pass, element, &setting, params_bytes, inputs);
                        if seen.insert((language, program.artefact_key(), program.entry.clone())) {
                            all.push(program);
                        }
                    }
                }
            }
        }
    }
    all
}
