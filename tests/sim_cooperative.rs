//! Cooperative matrices in the simulator, against the same arithmetic on the CPU.
#![cfg(feature = "sim")]

use gpu_ladder::backend::sim::Sim;
use gpu_ladder::backend::{Backend, Select};
use gpu_ladder::op::{Matmul, Op};
use gpu_ladder::sim::{Binding, HazardKind, Machine, Options, Profile, Program, SimError};
use gpu_ladder::{Element, Inputs, Layout, Problem, Session, Verdict};
use half::f16;

/// Small whole numbers and halves, so that products and sums are exact.
fn value(seed: usize, i: usize) -> f32 {
    ((i * 7 + seed * 13) % 23) as f32 / 2.0 - 5.0
}

fn encode(values: &[f32], half: bool) -> Vec<u8> {
    let bytes = |x: &f32| if half { f16::from_f32(*x).to_le_bytes().to_vec() } else { x.to_le_bytes().to_vec() };
    values.iter().flat_map(bytes).collect()
}

fn decode(bytes: &[u8], half: bool) -> Vec<f32> {
    if half {
        bytes.chunks_exact(2).map(|b| f16::from_le_bytes([b[0], b[1]]).to_f32()).collect()
    } else {
        bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
    }
}

fn run_on(machine: &str, text: &str, buffers: &mut [Binding]) -> Result<Profile, SimError> {
    let machine = Machine::load(machine)?;
    Program::new(text, None, &[])?.run(&machine, buffers, [1, 1, 1], &Options { threads: 1, ..Options::default() })
}

/// One product of `side` x `side` matrices with every line `stride` elements after the last.
struct Case {
    side: usize,
    stride: usize,
    half_in: bool,
    half_out: bool,
    /// Which matrices lie row by row.
    rows: [bool; 3],
    /// Whether operands pass through workgroup memory.
    shared: bool,
}

fn text(c: &Case) -> String {
    let (side, stride) = (c.side, c.stride);
    let (t, s) = (if c.half_in { "f16" } else { "f32" }, if c.half_out { "f16" } else { "f32" });
    let suffix = |i: usize| if c.rows[i] { "T" } else { "" };
    let (from_a, from_b) = if c.shared { ("a_tile", "b_tile") } else { ("a", "b") };
    format!(
        "enable f16;
enable wgpu_cooperative_matrix;
@group(0) @binding(0) var<storage, read> a: array<{t}>;
@group(0) @binding(1) var<storage, read> b: array<{t}>;
@group(0) @binding(2) var<storage, read_write> c: array<{s}>;
var<workgroup> a_tile: array<{t}, {len}>;
var<workgroup> b_tile: array<{t}, {len}>;
@compute @workgroup_size(32) fn main(@builtin(local_invocation_index) thread: u32) {{
    for (var i = thread; i < {len}u; i += 32u) {{ a_tile[i] = a[i]; b_tile[i] = b[i]; }}
    workgroupBarrier();
    let left = coopLoad{ta}<coop_mat{side}x{side}<{t}, A>>(&{from_a}[0], {stride}u);
    let right = coopLoad{tb}<coop_mat{side}x{side}<{t}, B>>(&{from_b}[0], {stride}u);
    var sums = coopLoad{tc}<coop_mat{side}x{side}<{s}, C>>(&c[0], {stride}u);
    sums = coopMultiplyAdd(left, right, sums);
    coopStore{tc}(sums, &c[0], {stride}u);
}}",
        len = side * stride,
        ta = suffix(0),
        tb = suffix(1),
        tc = suffix(2),
    )
}

#[test]
fn every_layout_element_and_space() {
    let booleans = [false, true];
    let mut runs = 0;
    for (side, half_in, half_out) in
        [(16, true, false), (16, true, true), (16, false, false), (8, true, true), (8, false, false)]
    {
        for bits in 0..16 {
            let [ra, rb, rc, shared] = [0, 1, 2, 3].map(|b| booleans[bits >> b & 1]);
            let c = Case { side, stride: side + 4, half_in, half_out, rows: [ra, rb, rc], shared };
            let len = side * c.stride;
            let [a, b, old]: [Vec<f32>; 3] = [0, 1, 2].map(|m| (0..len).map(|i| value(m, i)).collect());
            let mut buffers = [
                Binding::new(0, 0, encode(&a, half_in)),
                Binding::new(0, 1, encode(&b, half_in)),
                Binding::new(0, 2, encode(&old, half_out)),
            ];
            let profile = run_on("nvidia-h200", &text(&c), &mut buffers).unwrap();
            assert_eq!(profile.hazards, [], "{side} {bits:#b}");
            let got = decode(&buffers[2].data, half_out);
            let at = |m: usize, row: usize, col: usize| {
                if c.rows[m] { row * c.stride + col } else { col * c.stride + row }
            };
            let mut want = old.clone();
            for i in 0..side {
                for j in 0..side {
                    for k in 0..side {
                        want[at(2, i, j)] += a[at(0, i, k)] * b[at(1, k, j)];
                    }
                }
            }
            let want: Vec<f32> = want.iter().map(|x| if half_out { f16::from_f32(*x).to_f32() } else { *x }).collect();
            assert_eq!(got, want, "side {side}, f16 {half_in} to {half_out}, rows {:?}, shared {shared}", c.rows);
            let flops = profile.totals.flops;
            let operations = 2 * (side * side * side) as u64;
            assert_eq!(if half_in { flops.matrix_f16 } else { flops.matrix_f32 }, operations);
            assert_eq!(flops.total(), operations);
            runs += 1;
        }
    }
    assert_eq!(runs, 80);
}

/// A kernel with an array of quads of halves in workgroup memory and an output of 256 elements.
fn tile(threads: u32, len: usize, body: &str) -> (String, [Binding; 1]) {
    let text = format!(
        "enable f16;
enable wgpu_cooperative_matrix;
alias Left = coop_mat16x16<f16, A>;
alias Sums = coop_mat16x16<f32, C>;
@group(0) @binding(0) var<storage, read_write> c: array<f32>;
var<workgroup> halves: array<vec4<f16>, {len}>;
@compute @workgroup_size({threads}) fn main(@builtin(local_invocation_index) thread: u32) {{
    for (var i = thread; i < {len}u; i += {threads}u) {{ halves[i] = vec4<f16>(f16(i)); }}
    workgroupBarrier();
    {body}
}}"
    );
    (text, [Binding::new(0, 0, vec![0; 1024])])
}

fn tile_run(len: usize, body: &str) -> Profile {
    let (text, mut buffers) = tile(32, len, body);
    run_on("nvidia-h200", &text, &mut buffers).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// Uses a loaded matrix, so that it is not dropped.
const USE: &str = "coopStoreT(coopMultiplyAdd(left, coop_mat16x16<f16, B>(), Sums()), &c[0], 16u);";

#[test]
fn wavefronts_and_sectors() {
    // Rows of 4 quads are 32 bytes: 8 of them share 4 groups of banks, a conflict of 2. With 6 quads each has its own.
    for (quads, degree) in [(4, 2.0), (6, 1.0), (34, 1.0), (16, 8.0)] {
        let body = format!("let left = coopLoadT<Left>(&halves[0], {quads}u); {USE}");
        let profile = tile_run(16 * quads, &body);
        let load = profile.totals.shared_load;
        assert_eq!((load.requests, load.ideal_wavefronts), (1, 4), "32 pieces of 16 bytes");
        assert_eq!(load.conflict_degree(), Some(degree), "rows of {quads} quads");
        // 16 rows of 64 bytes in blocks of 8 x 32 bytes.
        let store = profile.totals.global_store;
        assert_eq!((store.requests, store.sectors, store.useful_bytes), (4, 32, 1024));
        assert_eq!(profile.totals.flops.matrix_f16, 2 * 16 * 16 * 16);
    }
}

fn one(profile: &Profile, is: impl Fn(&HazardKind) -> bool) {
    let found: Vec<_> = profile.hazards.iter().filter(|h| is(&h.kind)).collect();
    assert_eq!(found.len(), 1, "{:?}", profile.hazards);
}

#[test]
fn hazards() {
    let beyond = tile_run(16 * 4 - 1, &format!("let left = coopLoadT<Left>(&halves[0], 4u); {USE}"));
    one(&beyond, |k| matches!(k, HazardKind::OutOfBounds { index: 252, length: 252 }));

    let race =
        tile_run(64, &format!("halves[63u - thread] = vec4<f16>(); let left = coopLoadT<Left>(&halves[0], 4u); {USE}"));
    assert!(race.hazards.iter().any(|h| matches!(h.kind, HazardKind::SharedRace { benign: false, .. })));

    let (text, mut buffers) = tile(16, 64, "coopStoreT(Sums(), &c[0], 16u);");
    let partial = run_on("nvidia-h200", &text, &mut buffers).unwrap();
    one(&partial, |k| *k == HazardKind::PartialSubgroup);
    assert!(partial.has_errors());

    let pointers = tile_run(68, &format!("let at = thread % 2u; let left = coopLoadT<Left>(&halves[at], 4u); {USE}"));
    one(&pointers, |k| *k == HazardKind::PartialSubgroup);

    let fine = tile_run(64, &format!("let left = coopLoad<Left>(&halves[0], 4u); {USE}"));
    assert_eq!(fine.hazards, []);
}

#[test]
fn sums_scale_and_add() {
    let body = "
        let left = coopLoadT<Left>(&halves[0], 4u);
        var sums = coopMultiplyAdd(left, coop_mat16x16<f16, B>(), Sums());
        coopStoreT(sums, &c[0], 16u);
        storageBarrier();
        let ones = coopLoadT<Sums>(&c[0], 16u);
        coopStoreT((ones + ones) * 0.5 - ones, &c[0], 16u);";
    let (text, mut buffers) = tile(32, 64, body);
    buffers[0].data = encode(&[3.0; 256], false);
    run_on("nvidia-h200", &text, &mut buffers).unwrap();
    assert_eq!(decode(&buffers[0].data, false), [0.0; 256]);
}

#[test]
fn needs_warps_of_32_lanes() {
    let (text, mut buffers) = tile(32, 64, "coopStoreT(Sums(), &c[0], 16u);");
    let error = run_on("lavapipe", &text, &mut buffers).unwrap_err();
    assert!(matches!(&error, SimError::Unsupported { what, .. } if what.contains("cooperative matrices")), "{error}");
    assert!(Program::new(&text, None, &[]).unwrap().uses_cooperative_matrices());
}

/// What the top rungs take, with tiles that reach over both edges.
#[test]
fn the_top_rungs_are_right_at_edges_with_everything_a_problem_can_have() {
    let layout = |leading_dimension, offset, transposed| Layout {
        leading_dimension: Some(leading_dimension),
        offset,
        transposed,
        ..Layout::default()
    };
    // A k of whole rounds, and one that leaves steps and a part of one; in place, turned, and copied from anywhere.
    let operands: [(&str, [Layout; 2]); 4] = [
        ("", [layout(136, 8, true), layout(272, 16, false)]),
        ("@turned", [layout(152, 8, false), layout(272, 16, false)]),
        ("@copied", [layout(149, 3, false), layout(151, 5, true)]),
        ("@copied", [layout(133, 1, true), layout(263, 7, false)]),
    ];
    for (name, (form, [a, b])) in
        ["cooperative_ahead", "cooperative_tall"].into_iter().flat_map(|name| operands.map(|o| (name, o)))
    {
        let rung = Matmul.ladder().iter().find(|rung| rung.id() == format!("{name}{form}")).unwrap();
        for (c_ld, output, k, batch) in [(270, Element::F32, 128, 1), (264, Element::F16, 147, 2)] {
            let mut problem = Problem::new(Element::F16, [130, 261, k])
                .with_layout(0, a)
                .with_layout(1, b)
                .with_layout(2, layout(c_ld, 4, false))
                .with_output(output)
                .with_batch(batch);
            (problem.alpha, problem.beta) = (-0.5, 2.0);
            pollster::block_on(async {
                let session = Session::new(Sim::open(&Select::default()).await.unwrap());
                let stage = session.stage(&Matmul, &problem, Inputs::Seeded(3)).await.unwrap();
                let prepared = session.prepare(&stage, rung).await.unwrap();
                match session.verify(prepared).await.unwrap() {
                    Verdict::Pass(_) => {}
                    Verdict::Fail(mismatch) => panic!("{name}{form}: {mismatch}"),
                }
            });
        }
    }
}
