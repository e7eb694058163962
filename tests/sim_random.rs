//! Random shaders compile, run, and raise no false alarm; the comparison with a driver uses the
//! same generator.
#![cfg(feature = "sim")]

mod cores;
mod sim_generator;

use cores::on_every_core;
use gpu_ladder::sim::{Binding, HazardKind, Machine, Options, Program};
use sim_generator::{Case, generate};

fn run(program: &Program, case: &Case, threads: usize, machine: &Machine) -> (Vec<Binding>, Vec<String>) {
    let mut b: Vec<Binding> =
        case.buffers.iter().enumerate().map(|(i, d)| Binding::new(0, i as u32, d.clone())).collect();
    let p = program
        .run(machine, &mut b, case.workgroups, &Options { threads, ..Options::default() })
        .unwrap_or_else(|e| panic!("{e}\n{}", case.wgsl));
    // Division by zero is part of the game; anything else would be a false alarm.
    let alarms = p
        .hazards
        .iter()
        .filter(|h| !matches!(h.kind, HazardKind::DivisionByZero | HazardKind::DivisionOverflow))
        .map(|h| h.to_string())
        .collect();
    (b, alarms)
}

fn runs_without_a_false_alarm(seed: u64, narrow: &Machine) {
    let case = generate(seed);
    let program = Program::new(&case.wgsl, None, &[]).unwrap_or_else(|e| panic!("{e}\n{}", case.wgsl));
    let (a, alarms) = run(&program, &case, 1, &Machine::default());
    assert!(alarms.is_empty(), "seed {seed}: {alarms:#?}\n{}", case.wgsl);
    // Neither the number of threads nor the width of a warp shows in the result.
    let (b, _) = run(&program, &case, 3, narrow);
    assert_eq!(a, b, "seed {seed}\n{}", case.wgsl);
}

#[test]
fn random_shaders_run_without_false_alarms() {
    const SEEDS: u64 = 300;
    let narrow = &Machine::load("lavapipe").unwrap();
    let seeds: Vec<u64> = (0..SEEDS).collect();
    on_every_core(&seeds, |seed| runs_without_a_false_alarm(*seed, narrow));
}

#[test]
fn the_generator_is_deterministic() {
    assert_eq!(generate(7).wgsl, generate(7).wgsl);
    assert_ne!(generate(7).wgsl, generate(8).wgsl);
}
