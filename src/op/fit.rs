//! Whether a rung takes a problem on a device, and in which parts it gets it.

use super::{Op, Shape};
use crate::backend::Device;
use crate::element::Element;
use crate::error::{Error, Result, product};
use crate::problem::Problem;
use crate::rung::{Language, Pass, Rung, Source};

/// Part of an operand, in bytes from its first one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// The first byte, a multiple of the device's binding alignment.
    pub offset: u64,
    /// Bytes, a multiple of 16.
    pub len: u64,
}

/// A part of a problem that is a problem of the same op on windows of the operands.
#[derive(Debug, Clone, PartialEq)]
pub struct Band {
    /// The part; its offsets count from the windows' first elements.
    pub problem: Problem,
    /// A window of every operand, inputs and then the output; empty for whole operands.
    pub windows: Vec<Window>,
}

/// Refuses what a rung's row does not say it takes, with the reason.
///
/// # Errors
/// [`Error::Unsupported`]; whatever is wrong with the problem itself.
pub fn accepts(op: &dyn Op, rung: &Rung, language: Language, problem: &Problem) -> Result<()> {
    let refuse = |because: String| Err(Error::unsupported(format!("{}/{}", op.name(), rung.id()), because));
    let size = problem.element.size();
    let source = match language {
        Language::Cuda => &rung.cuda,
        Language::Wgsl => &rung.wgsl,
    };
    if let Source::Absent { because } = source {
        return refuse(because.to_string());
    }
    if !rung.sizes(language).contains(&size) {
        return refuse(match (language, size) {
            (Language::Wgsl, 1 | 2) if rung.element_sizes.contains(&size) => {
                "WGSL cannot store 1 or 2 bytes without racing the neighbour".into()
            }
            _ => format!("this rung does not move elements of {size} bytes"),
        });
    }
    if !rung.precisions.contains(&problem.precision) {
        let own = rung.precisions.iter().map(|precision| precision.name()).collect::<Vec<_>>().join(", ");
        return refuse(format!("this rung's precision is {own}, not {}", problem.precision));
    }
    let (inputs, output) = op.shapes(problem)?;
    let shapes = || inputs.iter().chain([&output]);
    let takes = rung.accepts;
    if !takes.leading_dimension && shapes().any(|s| s.rows > 1 && s.leading_dimension() != s.cols) {
        return refuse("this rung takes packed rows only".into());
    }
    if !takes.offset && shapes().any(|s| s.layout.offset != 0) {
        return refuse("this rung starts at the first element of a buffer".into());
    }
    if !takes.batch && problem.batch != 1 && op.extent(problem)[2] != 1 {
        return refuse(format!("this rung takes one matrix, not {}", problem.batch));
    }
    if !takes.transposed && shapes().any(|s| s.layout.transposed) {
        return refuse("this rung takes operands that are not transposed".into());
    }
    if !takes.scaling && (problem.alpha != 1.0 || problem.beta != 0.0) {
        return refuse("this rung does not scale".into());
    }
    let unmet = rung.needs_in(language).find(|need| op.switch(problem, &need.fact) != need.value);
    match unmet {
        Some(need) => refuse(need.because.to_string()),
        None => Ok(()),
    }
}

/// The parts in which a problem is given to kernels of a device: itself, or its [bands](Op::bands)
/// where an operand is larger than a binding may be.
///
/// # Errors
/// [`Error::Limit`] where it is and cannot be cut.
pub fn parts(op: &dyn Op, device: &Device, problem: &Problem) -> Result<Vec<Band>> {
    let (inputs, output) = op.shapes(problem)?;
    let bytes = |shape: &Shape, element: Element| {
        Ok(product(op.name(), &[shape.span(op.name())?, element.size()])?.next_multiple_of(16))
    };
    let mut needed = bytes(&output, op.output_element(problem))?;
    for (index, input) in inputs.iter().enumerate() {
        needed = needed.max(bytes(input, op.input_element(index, problem.element))?);
    }
    let (limit, alignment) = (device.limits.binding, device.limits.binding_alignment);
    if needed <= limit {
        return Ok(vec![Band { problem: problem.clone(), windows: Vec::new() }]);
    }
    op.bands(problem, limit, alignment).ok_or_else(|| Error::Limit {
        what: format!("a binding of {}", op.name()),
        needed,
        limit,
        unit: "bytes",
        device: device.name.clone(),
    })
}

/// Whether a rung takes a problem on a device, whole or in bands, as far as rows tell: what a plan of it
/// asks, so that nothing is selected which a plan then refuses.
pub fn runs(op: &dyn Op, rung: &Rung, device: &Device, problem: &Problem) -> bool {
    let language = device.language();
    let takes = |problem: &Problem| accepts(op, rung, language, problem).is_ok();
    takes(problem)
        && parts(op, device, problem).is_ok_and(|parts| parts.iter().all(|part| takes(&part.problem)))
        && fits_device(rung, device, problem)
}

fn fits_device(rung: &Rung, device: &Device, problem: &Problem) -> bool {
    let (language, size) = (device.language(), problem.element.size());
    let tuned = rung.tuned(language, size);
    let threads = |pass: &Pass| pass.block.iter().map(|&n| u64::from(n)).product::<u64>();
    let capability = device.compute_capability.is_none_or(|c| rung.cuda_needs.arch.runs_on(c));
    let multiplies = |shape| language == Language::Cuda || device.cooperative.contains(shape);
    capability
        && rung.cooperative.as_ref().is_none_or(multiplies)
        && tuned.passes.iter().all(|pass| threads(pass) <= device.limits.threads_per_block.into())
        && rung.static_shared(language, size) <= device.limits.shared_static.into()
        // WGSL has no dynamic shared memory: what the row says of it is about the CUDA kernel.
        && (language == Language::Wgsl || tuned.cuda_needs.dynamic_shared <= device.limits.shared_dynamic)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::Transpose;

    #[cfg(feature = "sim")]
    #[test]
    fn what_the_cuda_kernel_needs_keeps_no_wgsl_kernel_away() {
        use crate::backend::{Backend, Select, sim::Sim};
        let sim = pollster::block_on(Sim::open(&Select::default())).expect("the simulator opens anywhere");
        let mut device = sim.device().clone();
        device.limits.shared_dynamic = 0;
        let problem = Problem::new(Element::F32, [512, 512, 8192]);
        for word in ["split_workspace@16", "compact"] {
            let rung = crate::op::Matmul.ladder().iter().find(|rung| rung.id() == word).expect("a rung");
            assert!(runs(&crate::op::Matmul, rung, &device, &problem), "{word}");
        }
    }

    #[test]
    fn a_rung_of_one_matrix_does_not_run_a_batch_whose_bands_are_single() {
        let mut device = crate::op::test_device((9, 0));
        device.limits.binding = 16 << 10;
        let problem = Problem::new(Element::F32, [64, 100]).with_batch(2);
        let bands = parts(&Transpose, &device, &problem).expect("it can be cut");
        assert!(bands.len() > 1 && bands.iter().all(|band| band.problem.batch == 1));
        let naive = &Transpose.ladder()[0];
        assert!(!runs(&Transpose, naive, &device, &problem));
        // A plan of it would be refused for the same reason.
        assert!(accepts(&Transpose, naive, Language::Cuda, &problem).is_err());
    }
}
