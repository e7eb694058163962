//! The simulator's counters against values worked out by hand.
#![cfg(feature = "sim")]

use gpu_ladder::sim::{AccessProfile, Binding, Class, Limiter, Machine, Memory, Options, Profile, Program, occupancy};

fn run_on(machine: &Machine, text: &str, words: usize, offset: u64, groups: u32) -> Profile {
    let program = Program::new(text, None, &[]).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let mut b: Vec<Binding> = program
        .bindings()
        .iter()
        .map(|i| Binding { offset, ..Binding::new(i.group, i.binding, vec![0; 4 * words + offset as usize]) })
        .collect();
    program.run(machine, &mut b, [groups, 1, 1], &Options { threads: 2, ..Options::default() }).unwrap()
}

fn run(text: &str) -> Profile {
    run_on(&Machine::default(), text, 1 << 14, 0, 1)
}

fn access<'a>(p: &'a Profile, variable: &str) -> &'a AccessProfile {
    p.accesses.iter().find(|a| a.variable == variable).unwrap_or_else(|| panic!("no access to {variable}"))
}

/// Sectors of one warp that reads `element` at index `index` of lane `k`.
fn sectors(element: &str, index: &str, offset: u64) -> (u64, u64) {
    let text = format!(
        "@group(0) @binding(0) var<storage, read> x: array<{element}>;
@group(0) @binding(1) var<storage, read_write> sink: array<{element}>;
@compute @workgroup_size(32) fn main(@builtin(local_invocation_index) k: u32) {{
    let v = x[{index}];
    sink[k] = v;
}}"
    );
    let p = run_on(&Machine::default(), &text, 1 << 14, offset, 1);
    let a = access(&p, "x");
    assert_eq!((a.memory, a.line), (Memory::Storage, 4));
    (a.requests, a.sectors)
}

#[test]
fn sectors_by_stride() {
    // 32 lanes of 4 bytes are 128 bytes: 4 sectors; each doubling of the stride doubles them, up to one per lane.
    for (stride, want) in [(1, 4), (2, 8), (3, 12), (4, 16), (8, 32), (16, 32), (33, 32)] {
        assert_eq!(sectors("u32", &format!("k * {stride}u"), 0), (1, want), "stride {stride}");
    }
    assert_eq!(sectors("u32", "0u", 0), (1, 1), "all lanes the same word");
    assert_eq!(sectors("u32", "k / 2u", 0), (1, 2), "pairs of lanes the same word");
    assert_eq!(sectors("u32", "31u - k", 0), (1, 4), "backwards");
    assert_eq!(sectors("u32", "k + 1u", 0), (1, 5), "one word off");
    assert_eq!(sectors("u32", "k", 16), (1, 5), "view that starts in the middle of a sector");
    assert_eq!(sectors("u32", "k", 32), (1, 4), "view that starts at a sector");
}

#[test]
fn sectors_by_width() {
    assert_eq!(sectors("vec2<u32>", "k", 0), (1, 8));
    assert_eq!(sectors("vec4<u32>", "k", 0), (1, 16));
    assert_eq!(sectors("vec4<u32>", "k * 2u", 0), (1, 32));
    // A vec3 takes 16 bytes of which 12 are moved, as 8 and 4: two requests, each to all 16 sectors.
    assert_eq!(sectors("vec3<u32>", "k", 0), (2, 32));
    // A struct is moved member by member.
    let text = "struct S { a: u32, b: u32 }
@group(0) @binding(0) var<storage, read> x: array<S>;
@group(0) @binding(1) var<storage, read_write> sink: array<u32>;
@compute @workgroup_size(32) fn main(@builtin(local_invocation_index) k: u32) { sink[k] = x[k].a; }";
    assert_eq!(access(&run(text), "x").sectors, 8);
}

/// Wavefronts and ideal of one warp that reads `element` of workgroup memory at `index`.
fn wavefronts(element: &str, index: &str) -> (u64, u64) {
    let text = format!(
        "var<workgroup> tile: array<{element}, 2048>;
@group(0) @binding(1) var<storage, read_write> sink: array<{element}>;
@compute @workgroup_size(32) fn main(@builtin(local_invocation_index) k: u32) {{
    sink[k] = tile[{index}];
}}"
    );
    let p = run(&text);
    let a = access(&p, "tile");
    (a.wavefronts, a.ideal_wavefronts)
}

#[test]
fn bank_conflicts() {
    assert_eq!(wavefronts("f32", "k"), (1, 1), "a row");
    assert_eq!(wavefronts("f32", "k * 32u"), (32, 1), "a column of a 32x32 tile");
    assert_eq!(wavefronts("f32", "k * 33u"), (1, 1), "a column of a padded tile");
    assert_eq!(wavefronts("f32", "k * 2u"), (2, 1), "stride 2");
    assert_eq!(wavefronts("f32", "k * 16u"), (16, 1), "stride 16");
    assert_eq!(wavefronts("f32", "k * 3u"), (1, 1), "an odd stride");
    assert_eq!(wavefronts("f32", "5u"), (1, 1), "one word for all");
    assert_eq!(wavefronts("f32", "k / 16u * 32u"), (2, 1), "two words of one bank");
    assert_eq!(wavefronts("f32", "(k ^ (k * 32u)) % 1024u"), (1, 1), "a swizzled column");
    assert_eq!(wavefronts("vec2<f32>", "k"), (2, 2), "8 bytes: half warps");
    assert_eq!(wavefronts("vec2<f32>", "k * 2u"), (4, 2), "8 bytes, stride 2");
    assert_eq!(wavefronts("vec4<f32>", "k"), (4, 4), "16 bytes: quarter warps");
    assert_eq!(wavefronts("vec4<f32>", "k * 8u"), (32, 4), "16 bytes, each quarter in the same four banks");
    assert_eq!(wavefronts("vec4<f32>", "0u"), (4, 4), "16 bytes, one for all");
}

#[test]
fn shared_store_and_atomic_conflicts() {
    let text = "var<workgroup> tile: array<array<u32, 32>, 32>;
var<workgroup> n: array<atomic<u32>, 64>;
@compute @workgroup_size(32) fn main(@builtin(local_invocation_index) k: u32) {
    tile[k][3] = k;
    atomicAdd(&n[0], 1u);
    atomicAdd(&n[k], 1u);
}";
    let p = run(text);
    assert_eq!((p.totals.shared_store.wavefronts, p.totals.shared_store.conflicts()), (32, 31));
    assert_eq!((p.line(5).unwrap().shared_atomic.wavefronts, p.line(6).unwrap().shared_atomic.wavefronts), (32, 1));
    let a = access(&p, "tile");
    assert_eq!((a.worst_wavefronts, a.worst_conflict_degree, a.line, a.column), (32, 32, 4, 5));
    assert_eq!(p.worst_conflict().map(|a| a.line), Some(4));
}

#[test]
fn useful_and_moved_bytes() {
    let text = "@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> y: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x < 100u) { y[id.x] = x[id.x * 4u]; }
}";
    let p = run_on(&Machine::default(), text, 1024, 0, 2);
    // 100 of 128 lanes: three whole warps, and one of four lanes.
    let l = p.totals.global_load;
    assert_eq!((l.requests, l.sectors, l.useful_bytes, l.moved_bytes), (4, 3 * 16 + 2, 400, 50 * 32));
    let s = p.totals.global_store;
    assert_eq!((s.requests, s.sectors, s.useful_bytes), (4, 3 * 4 + 1, 400));
    assert_eq!(p.worst_coalescing().map(|a| a.variable.as_str()), Some("x"));
    assert_eq!(p.warps, 4);
}

#[test]
fn active_lanes() {
    let text = "@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(32) fn main(@builtin(local_invocation_index) k: u32) {
    var v = f32(k);
    if (k % 2u == 0u) {
        v = v * 2.0;
    } else {
        v = v * 3.0;
    }
    y[k] = v;
}";
    let p = run(text);
    for line in [5, 7] {
        let c = p.line(line).unwrap();
        assert_eq!((c.instructions, c.active_lanes, c.flops.f32), (1, 16, 16), "line {line}");
    }
    assert_eq!(p.line(9).unwrap().lanes_per_instruction(), Some(32.0));
    // The same condition by warp diverges nowhere.
    let text = text.replace("@workgroup_size(32)", "@workgroup_size(64)").replace("k % 2u", "k / 32u");
    let p = run(&text);
    assert_eq!(p.totals.lanes_per_instruction(), Some(32.0));
}

#[test]
fn loops_with_different_counts() {
    // Lane k runs k rounds: 31 rounds of the warp, 0 + 1 + … + 31 lanes.
    let text = "@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(32) fn main(@builtin(local_invocation_index) k: u32) {
    var v = 1.0;
    for (var i = 0u; i < k; i++) {
        v = v * 1.5;
    }
    y[k] = v;
}";
    let p = run(text);
    let c = p.line(5).unwrap();
    assert_eq!((c.instructions, c.active_lanes, c.flops.f32), (31, 496, 496));
}

#[test]
fn short_circuits_are_predicated() {
    let text = "@group(0) @binding(1) var<storage, read_write> y: array<u32>;
@compute @workgroup_size(32) fn main(@builtin(local_invocation_index) k: u32) {
    let both =
        k < 4u &&
        k * 3u < 9u;
    y[k] = u32(both);
}";
    let p = run(text);
    assert_eq!(p.totals.lanes_per_instruction(), Some(32.0));
    assert_eq!(p.totals.mix.get(&Class::Branch), None);
}

#[test]
fn flops_mix_and_intensity() {
    let text = "enable f16;
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(32) fn main(@builtin(local_invocation_index) k: u32) {
    let a = x[k];
    let c = fma(a, a, 1.0);
    let d = c * 2.0 + a;
    let e = sqrt(d) / c;
    let h = f16(e) * 2.0h;
    y[k] = f32(h);
}";
    let p = run(text);
    let t = &p.totals;
    assert_eq!((t.flops.f32, t.flops.special, t.flops.f16), (32 * 4, 32 * 2, 32));
    assert_eq!(t.mix[&Class::F32], 3);
    assert_eq!(t.mix[&Class::Special], 2);
    assert_eq!((t.mix[&Class::LoadGlobal], t.mix[&Class::StoreGlobal]), (1, 1));
    assert_eq!(t.arithmetic_intensity(), Some((32.0 * 7.0) / 256.0));
    let json = serde_json::to_string(&p).unwrap();
    assert_eq!(serde_json::from_str::<Profile>(&json).unwrap(), p);
}

#[test]
fn barriers_are_counted_per_warp() {
    let text = "@compute @workgroup_size(128) fn main() {\n  workgroupBarrier();\n  storageBarrier(); }";
    let p = run_on(&Machine::default(), text, 0, 0, 3);
    assert_eq!(p.totals.barriers, 2 * 4 * 3);
    assert_eq!(p.line(2).unwrap().barriers, 12);
}

#[test]
fn occupancy_and_its_limiter() {
    let m = Machine::default();
    let o = |threads, shared, registers| {
        let o = occupancy(&m, threads, shared, registers);
        (o.blocks, o.warps, o.limiter)
    };
    assert_eq!(o(256, 0, None), (8, 64, Limiter::Warps));
    assert_eq!(o(32, 0, None), (32, 32, Limiter::Blocks));
    // 48 KiB and the reserved 1 KiB: four times 49 KiB fit 228 KiB.
    assert_eq!(o(256, 48 * 1024, None), (4, 32, Limiter::SharedMemory));
    assert_eq!(o(1024, 0, Some(64)), (1, 32, Limiter::Registers));
    assert_eq!(o(256, 0, Some(128)), (2, 16, Limiter::Registers));
    let p = run(
        "var<workgroup> t: array<u32, 12288>;\n@compute @workgroup_size(256) fn main(@builtin(local_invocation_index) k: u32) { t[k] = k; }",
    );
    assert_eq!((p.occupancy.warps, p.occupancy.fraction, p.occupancy.limiter), (32, 0.5, Limiter::SharedMemory));
}

#[test]
fn models_load_and_change_the_counts() {
    for name in Machine::names() {
        assert_eq!(Machine::load(name).unwrap().name, name);
    }
    assert_eq!(Machine::load("nvidia-h200").unwrap(), Machine::default());
    assert!(Machine::load("abacus").is_err());
    assert!(Machine::from_json("{}").is_err());
    let text = "@group(0) @binding(1) var<storage, read_write> y: array<u32>;
@compute @workgroup_size(32) fn main(@builtin(local_invocation_index) k: u32, @builtin(subgroup_size) s: u32) { y[k] = s; }";
    let p = run_on(&Machine::load("lavapipe").unwrap(), text, 64, 0, 1);
    assert_eq!((p.warps, p.totals.global_store.requests, p.totals.global_store.sectors), (4, 4, 4));
}

#[test]
fn result_does_not_depend_on_threads() {
    let text = "@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> y: array<u32>;
@group(0) @binding(2) var<storage, read_write> n: array<atomic<u32>>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    y[id.x] = x[id.x] + atomicAdd(&n[0], 1u);
    y[0] = id.x;
}";
    let program = Program::new(text, None, &[]).unwrap();
    let go = |threads| {
        let mut b: Vec<Binding> = (0..3).map(|i| Binding::new(0, i, vec![0; 4096])).collect();
        let p =
            program.run(&Machine::default(), &mut b, [16, 1, 1], &Options { threads, ..Options::default() }).unwrap();
        (p, b)
    };
    assert_eq!(go(1), go(4));
}
