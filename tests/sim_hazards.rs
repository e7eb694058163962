//! Planted faults, each found at its line; correct shaders raise no alarm.
#![cfg(feature = "sim")]

use gpu_ladder::sim::{Binding, BindingKind, Hazard, HazardKind, Machine, Options, Order, Program, Severity};

/// Runs with every storage buffer of `words` words of small numbers; a uniform holds `uniform`.
fn hazards(text: &str, words: usize, uniform: &[u32], groups: [u32; 3]) -> Vec<Hazard> {
    let program = Program::new(text, None, &[]).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let fill = |kind| -> Vec<u8> {
        match kind {
            BindingKind::Uniform => uniform.iter().flat_map(|w| w.to_le_bytes()).collect(),
            _ => (0..words as u32).flat_map(|w| (w % 7).to_le_bytes()).collect(),
        }
    };
    let make = || -> Vec<Binding> {
        program.bindings().iter().map(|b| Binding::new(b.group, b.binding, fill(b.kind))).collect()
    };
    let go = |threads| {
        let mut b = make();
        let p = program
            .run(&Machine::default(), &mut b, groups, &Options { threads, ..Options::default() })
            .unwrap_or_else(|e| panic!("{e}\n{text}"));
        (p, b)
    };
    let (one, many) = (go(1), go(3));
    assert_eq!(one, many, "the result depends on the number of threads");
    one.0.hazards
}

/// 1-based line of the text that carries the comment.
fn line_of(text: &str, comment: &str) -> u32 {
    let at = text.lines().position(|l| l.contains(comment));
    at.unwrap_or_else(|| panic!("no {comment} in {text}")) as u32 + 1
}

/// The fault is found at the line marked `HERE` (and its other side at `OTHER`, where marked), and
/// nothing else is, but for races of equal values and reads before the write, which follow from it.
fn planted(name: &str, text: &str, words: usize, uniform: &[u32], groups: [u32; 3], is: impl Fn(&HazardKind) -> bool) {
    let found = hazards(text, words, uniform, groups);
    let here = line_of(text, "HERE");
    let hit = found.iter().find(|h| is(&h.kind) && h.at.line == here);
    let hit = hit.unwrap_or_else(|| panic!("{name}: not found at line {here}; found {found:#?}"));
    if text.contains("OTHER") {
        assert_eq!(hit.other.as_ref().map(|o| o.line), Some(line_of(text, "OTHER")), "{name}: the other side");
    }
    let stray: Vec<String> = found
        .iter()
        .filter(|h| !is(&h.kind) && !h.is_benign() && h.kind != HazardKind::UninitializedShared)
        .map(|h| h.to_string())
        .collect();
    assert!(stray.is_empty(), "{name}: also reported {stray:#?}");
    assert!(hit.to_string().starts_with(&format!("line {here}: ")));
}

fn clean(name: &str, text: &str, words: usize, uniform: &[u32], groups: [u32; 3]) {
    let found: Vec<String> = hazards(text, words, uniform, groups).iter().map(|h| h.to_string()).collect();
    assert!(found.is_empty(), "{name}: {found:#?}");
}

fn shared_race(k: &HazardKind) -> bool {
    matches!(k, HazardKind::SharedRace { benign: false, .. })
}

const TRANSPOSE: &str = "
struct P { rows: u32, cols: u32 }
@group(0) @binding(0) var<storage, read> input: array<u32>;
@group(0) @binding(1) var<storage, read_write> output: array<u32>;
@group(0) @binding(2) var<uniform> p: P;
const TILE = 16u;
var<workgroup> tile: array<array<u32, 17>, 16>;
@compute @workgroup_size(16, 16)
fn main(@builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_id) t: vec3<u32>) {
    let c = block.x * TILE + t.x;
    let r = block.y * TILE + t.y;
    if (r < p.rows && c < p.cols) {
        tile[t.y][t.x] = input[r * p.cols + c]; // STORE
    }
    workgroupBarrier();
    let oc = block.y * TILE + t.x;
    let or = block.x * TILE + t.y;
    if (or < p.cols && oc < p.rows) {
        output[or * p.rows + oc] = tile[t.x][t.y]; // LOAD
    }
}";

const MATMUL: &str = "
struct P { m: u32, n: u32, k: u32 }
@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;
@group(0) @binding(3) var<uniform> p: P;
const TILE = 8u;
var<workgroup> at: array<array<f32, TILE>, TILE>;
var<workgroup> bt: array<array<f32, TILE>, TILE>;
@compute @workgroup_size(TILE, TILE)
fn main(@builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_id) t: vec3<u32>) {
    let col = block.x * TILE + t.x;
    let row = block.y * TILE + t.y;
    var sum = 0.0;
    for (var first = 0u; first < p.k; first += TILE) {
        var av = 0.0;
        if (row < p.m && first + t.x < p.k) { av = a[row * p.k + first + t.x]; }
        at[t.y][t.x] = av; // STORE
        var bv = 0.0;
        if (first + t.y < p.k && col < p.n) { bv = b[(first + t.y) * p.n + col]; }
        bt[t.y][t.x] = bv;
        workgroupBarrier(); // FIRST
        for (var i = 0u; i < TILE; i++) {
            sum += at[t.y][i]
                 * bt[i][t.x];
        }
        workgroupBarrier(); // SECOND
    }
    if (row < p.m && col < p.n) { c[row * p.n + col] = sum; }
}";

#[test]
fn correct_kernels_raise_no_alarm() {
    for (rows, cols) in [(1, 1), (16, 16), (17, 33), (40, 5)] {
        clean("transpose", TRANSPOSE, 1600, &[rows, cols], [cols.div_ceil(16), rows.div_ceil(16), 1]);
    }
    for (m, n, k) in [(1, 1, 1), (8, 8, 8), (17, 9, 21)] {
        clean("matmul", MATMUL, 600, &[m, n, k, 0], [n.div_ceil(8), m.div_ceil(8), 1]);
    }
}

#[test]
fn missing_barrier() {
    let text = TRANSPOSE
        .replace("    workgroupBarrier();\n", "\n")
        .replace("// LOAD", "// HERE")
        .replace("// STORE", "// OTHER");
    // Without the barrier a warp reads elements that another one has yet to write, or writes what another one has read.
    let found = hazards(&text, 1600, &[32, 32], [2, 2, 1]);
    let (here, other) = (line_of(&text, "HERE"), line_of(&text, "OTHER"));
    assert!(
        found.iter().any(|h| shared_race(&h.kind)
            && [h.at.line, h.other.as_ref().map_or(0, |o| o.line)].iter().all(|l| [here, other].contains(l))),
        "{found:#?}"
    );
    let text = MATMUL
        .replace("workgroupBarrier(); // SECOND", "")
        .replace("// STORE", "// HERE")
        .replace("sum += at[t.y][i]", "sum += at[t.y][i] // OTHER");
    planted("matmul without its second barrier", &text, 600, &[16, 16, 16, 0], [2, 2, 1], shared_race);
    let text = "
var<workgroup> s: array<u32, 64>;
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(local_invocation_index) k: u32) {
    s[k] = k;
    workgroupBarrier();
    for (var step = 32u; step > 0u; step /= 2u) {
        if (k < step) {
            s[k] += s[k + step]; // HERE
        }
    }
    out[k] = s[0];
}";
    let found = hazards(text, 64, &[], [1, 1, 1]);
    assert!(
        found.iter().any(|h| shared_race(&h.kind) && h.at.line == line_of(text, "HERE") && h.variable == "s"),
        "{found:#?}"
    );
}

const DOUBLE: &str = "
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> out: array<u32>;
var<workgroup> s: array<array<u32, 64>, 2>;
@compute @workgroup_size(64) fn main(@builtin(local_invocation_index) k: u32) {
    var sum = 0u;
    s[0][k] = x[k];
    for (var step = 0u; step < 8u; step++) {
        workgroupBarrier(); // the buffer of this step is full, the other one read
        if (step < 7u) {
            s[(step + 1u) % 2u][k] = x[(step + 1u) * 64u + k]; // STORE
        }
        sum += s[step % 2u][63u - k]; // LOAD
    }
    out[k] = sum;
}";

#[test]
fn barrier_too_few_in_double_buffering() {
    clean("double buffering", DOUBLE, 512, &[], [1, 1, 1]);
    let text = DOUBLE
        .replace("workgroupBarrier(); //", "if (step % 2u == 0u) { workgroupBarrier(); } //")
        .replace("// LOAD", "// HERE")
        .replace("// STORE", "// OTHER");
    planted("a barrier only every second step", &text, 512, &[], [1, 1, 1], shared_race);
    let text = "
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> out: array<u32>;
var<workgroup> even: array<u32, 64>;
var<workgroup> odd: array<u32, 64>;
@compute @workgroup_size(64) fn main(@builtin(local_invocation_index) k: u32) {
    var sum = 0u;
    even[k] = x[k];
    for (var step = 1u; step < 7u; step += 2u) {
        workgroupBarrier();
        odd[k] = x[step * 64u + k]; // OTHER
        sum += even[63u - k];
        // a barrier is missing here
        even[k] = x[(step + 1u) * 64u + k];
        sum += odd[63u - k]; // HERE
    }
    out[k] = sum;
}";
    planted("two named buffers, one barrier for both", text, 512, &[], [1, 1, 1], shared_race);
}

fn out_of_range(k: &HazardKind) -> bool {
    matches!(k, HazardKind::OutOfBounds { .. })
}

#[test]
fn off_by_one_in_the_tail() {
    let text = "
struct P { n: u32 }
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> y: array<u32>;
@group(0) @binding(2) var<uniform> p: P;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x <= p.n) {
        let v = x[id.x]; // HERE
        if (id.x < p.n) { y[id.x] = v; }
    }
}";
    planted("<= for <", text, 100, &[100], [2, 1, 1], out_of_range);
    let found = hazards(text, 100, &[100], [2, 1, 1]);
    assert_eq!(found[0].kind, HazardKind::OutOfBounds { index: 100, length: 100 });
    assert_eq!(
        (found[0].workgroup, found[0].invocation, found[0].count, found[0].variable.as_str()),
        ([1, 0, 0], 36, 1, "x")
    );
    let text = "
@group(0) @binding(0) var<storage, read> x: array<i32>;
@group(0) @binding(1) var<storage, read_write> y: array<i32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = i32(id.x);
    let n = i32(arrayLength(&x));
    if (i < n) {
        let left = x[i - 1]; // HERE
        y[i] = left + x[min(i + 1, n - 1)];
    }
}";
    planted("left neighbour of the first element", text, 100, &[], [2, 1, 1], out_of_range);
    assert_eq!(hazards(text, 100, &[], [2, 1, 1])[0].kind, HazardKind::OutOfBounds { index: -1, length: 100 });
    let text = "
@group(0) @binding(0) var<storage, read> x: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read_write> y: array<vec4<u32>>;
@compute @workgroup_size(16) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let chunks = (arrayLength(&x) * 4u + 7u) / 4u;
    if (id.x < chunks) {
        y[id.x] = vec4<u32>(1u); // HERE
    }
}";
    planted("chunks rounded up twice", text, 100, &[], [2, 1, 1], out_of_range);
}

#[test]
fn tile_one_too_narrow() {
    let text =
        TRANSPOSE.replace("array<array<u32, 17>, 16>", "array<array<u32, 15>, 16>").replace("// STORE", "// HERE");
    let found = hazards(&text, 1600, &[32, 32], [2, 2, 1]);
    assert!(
        found.iter().any(|h| h.kind == HazardKind::OutOfBounds { index: 15, length: 15 }
            && h.at.line == line_of(&text, "HERE")
            && h.variable == "tile"),
        "{found:#?}"
    );
    let text = "
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
var<workgroup> s: array<f32, 65>; // one too few for a halo on both sides
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_index) k: u32) {
    let n = arrayLength(&x);
    s[k + 1u] = x[min(id.x, n - 1u)];
    if (k == 0u) {
        s[0] = x[max(id.x, 1u) - 1u];
        s[k + 65u] = x[min(id.x + 64u, n - 1u)]; // HERE
    }
    workgroupBarrier();
    if (id.x < n) { y[id.x] = s[k] + s[k + 1u]; }
}";
    let found = hazards(text, 128, &[], [2, 1, 1]);
    assert!(found.iter().any(|h| out_of_range(&h.kind) && h.at.line == line_of(text, "HERE")), "{found:#?}");
}

#[test]
fn divergent_barrier() {
    let is = |k: &HazardKind| matches!(k, HazardKind::DivergentBarrier);
    let text = "
@group(0) @binding(0) var<storage, read_write> y: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(local_invocation_index) k: u32) {
    y[k] = k;
    if (k < 40u) {
        workgroupBarrier(); // HERE
    }
}";
    planted("in a branch", text, 64, &[], [1, 1, 1], is);
    let text = "
struct P { n: u32 }
@group(0) @binding(0) var<storage, read_write> y: array<u32>;
@group(0) @binding(1) var<uniform> p: P;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x >= p.n) { return; }
    y[id.x] = 1u;
    workgroupBarrier(); // HERE
}";
    planted("after an early return", text, 128, &[100], [2, 1, 1], is);
    clean("after an early return that nobody takes", text, 128, &[128], [2, 1, 1]);
    let text = "
@group(0) @binding(0) var<storage, read_write> y: array<u32>;
@compute @workgroup_size(32) fn main(@builtin(local_invocation_index) k: u32) {
    for (var i = 0u; i < k; i++) {
        workgroupBarrier(); // HERE
    }
    y[k] = k;
}";
    planted("in a loop of different lengths", text, 64, &[], [1, 1, 1], is);
    let text = "
@group(0) @binding(0) var<storage, read_write> y: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(local_invocation_index) k: u32) {
    if (k / 32u == 0u) {
        workgroupBarrier(); // HERE
    }
    y[k] = k;
}";
    planted("reached by one warp of two", text, 64, &[], [1, 1, 1], is);
}

#[test]
fn uninitialised_tile() {
    let is = |k: &HazardKind| matches!(k, HazardKind::UninitializedShared);
    let text = TRANSPOSE
        .replace("let oc = block.y * TILE + t.x;", "let oc = block.y * TILE + t.x; let j = (t.x + 1u) % 17u;")
        .replace("tile[t.x][t.y]; // LOAD", "tile[t.x][(t.y + 1u) % 17u]; // HERE");
    planted("the padding is read", &text, 1600, &[32, 32], [2, 2, 1], is);
    assert_eq!(hazards(&text, 1600, &[32, 32], [2, 2, 1])[0].severity, Severity::Warning);
    let text = "
var<workgroup> s: array<u32, 64>;
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(local_invocation_index) k: u32, @builtin(workgroup_id) g: vec3<u32>) {
    if (k < 60u) { s[k] = k; }
    workgroupBarrier();
    for (var step = 32u; step > 0u; step /= 2u) {
        var v = 0u;
        if (k < step) {
            v = s[k + step]; // HERE
        }
        if (k < step) { s[k] += v; }
        workgroupBarrier();
    }
    if (k == 0u) { out[g.x] = s[0]; }
}";
    planted("a sum over a tile that is not full", text, 64, &[], [3, 1, 1], is);
}

#[test]
fn cross_workgroup_race() {
    let is = |k: &HazardKind| matches!(k, HazardKind::CrossWorkgroupRace { benign: false, .. });
    let text = "
@group(0) @binding(0) var<storage, read_write> y: array<u32>;
@compute @workgroup_size(32) fn main(@builtin(local_invocation_index) k: u32, @builtin(workgroup_id) g: vec3<u32>) {
    y[k] = g.x; // HERE and OTHER
}";
    planted("all workgroups write the same place", text, 64, &[], [8, 1, 1], is);
    let text = "
@group(0) @binding(0) var<storage, read_write> y: array<u32>;
@compute @workgroup_size(32) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.x + 1u;
    let v = y[i - 1u] + y[i] + y[i + 1u]; // OTHER
    storageBarrier(); // orders nothing between workgroups
    y[i] = v; // HERE
}";
    let found = hazards(text, 300, &[], [8, 1, 1]);
    let hit = found.iter().find(|h| is(&h.kind)).unwrap();
    let lines = [hit.at.line, hit.other.as_ref().unwrap().line];
    assert!(lines.contains(&line_of(text, "HERE")) && lines.contains(&line_of(text, "OTHER")), "{found:#?}");
    assert!(hit.other_workgroup.is_some() && found.iter().all(|h| is(&h.kind)));
    // Two outputs that overlap by one element.
    let text = "
@group(0) @binding(0) var<storage, read_write> y: array<u32>;
@compute @workgroup_size(32) fn main(@builtin(local_invocation_index) k: u32, @builtin(workgroup_id) g: vec3<u32>) {
    y[g.x * 31u + k] = g.x; // HERE
}";
    planted("stride one too small", text, 300, &[], [8, 1, 1], is);
}

#[test]
fn same_value_writes_are_benign() {
    let text = "
@group(0) @binding(0) var<storage, read_write> found: array<u32>;
@compute @workgroup_size(32) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x % 3u == 0u) { found[0] = 1u; }
}";
    let h = hazards(text, 4, &[], [4, 1, 1]);
    // The first write of a workgroup changes 0 to 1; the others find 1 there.
    assert!(!h.is_empty() && h.iter().all(|h| h.is_benign() && h.severity == Severity::Warning), "{h:#?}");
}

#[test]
fn non_atomic_counter() {
    let is = |k: &HazardKind| {
        matches!(
            k,
            HazardKind::StorageRace { benign: false, .. } | HazardKind::CrossWorkgroupRace { benign: false, .. }
        )
    };
    let text = "
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> bins: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    bins[x[id.x]] += 1u; // HERE
}";
    planted("histogram in storage", text, 512, &[], [8, 1, 1], is);
    clean(
        "histogram with atomics",
        &text
            .replace("array<u32>;\n@compute", "array<atomic<u32>>;\n@compute")
            .replace("bins[x[id.x]] += 1u", "atomicAdd(&bins[x[id.x]], 1u)"),
        512,
        &[],
        [8, 1, 1],
    );
    let text = "
var<workgroup> n: u32;
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(local_invocation_index) k: u32) {
    if (k == 0u) { n = 0u; }
    workgroupBarrier();
    if (k % 3u == 0u) {
        n += 1u; // HERE
    }
    workgroupBarrier();
    out[k] = n;
}";
    planted("counter in workgroup memory", text, 64, &[], [1, 1, 1], shared_race);
}

#[test]
fn index_overflow() {
    let is = |k: &HazardKind| matches!(k, HazardKind::IndexOverflow | HazardKind::OutOfBounds { .. });
    let text = "
struct P { rows: u32, cols: u32 }
@group(0) @binding(0) var<storage, read_write> y: array<u32>;
@group(0) @binding(1) var<uniform> p: P;
@compute @workgroup_size(1) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let row = id.x + p.rows;
    let at = row * p.cols + 1u; // HERE
    y[at] = 1u;
}";
    // 65536 * 65536 wraps to 0: in range, and wrong.
    let found = hazards(text, 64, &[65536, 65536], [1, 1, 1]);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(
        found[0].kind == HazardKind::IndexOverflow
            && found[0].at.line == line_of(text, "HERE")
            && found[0].other.as_ref().unwrap().line == line_of(text, "HERE") + 1
    );
    clean("no overflow", text, 64, &[2, 3], [1, 1, 1]);
    let text = "
struct P { stride: u32 }
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> y: array<u32>;
@group(0) @binding(2) var<uniform> p: P;
fn offset(batch: u32, i: u32) -> u32 {
    return batch * p.stride // HERE
        + i;
}
@compute @workgroup_size(4) fn main(@builtin(workgroup_id) g: vec3<u32>, @builtin(local_invocation_index) k: u32) {
    var at = offset(g.x, k);
    at = at % 8u + g.x * 0u;
    y[g.x * 4u + k] = x[offset(g.x, k) ];
}";
    planted("stride times batch, in a function", text, 64, &[0x4000_0000], [5, 1, 1], is);
    assert!(hazards(text, 64, &[0x4000_0000], [5, 1, 1]).iter().any(|h| h.kind == HazardKind::IndexOverflow));
    let text = "
@group(0) @binding(0) var<storage, read_write> y: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(local_invocation_index) k: u32) {
    var at = 0u;
    for (var i = 0u; i < 3u; i++) {
        at += k * 0x2000000u; // HERE
    }
    y[at % 64u] = 1u;
    y[at] = k;
}";
    let found = hazards(text, 64, &[], [1, 1, 1]);
    assert!(
        found.iter().any(|h| h.kind == HazardKind::IndexOverflow && h.at.line == line_of(text, "HERE")),
        "{found:#?}"
    );
    // A generator of random numbers wraps on purpose.
    clean(
        "hash",
        "
@group(0) @binding(0) var<storage, read_write> y: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    var h = id.x * 747796405u + 2891336453u;
    h = ((h >> ((h >> 28u) + 4u)) ^ h) * 277803737u;
    y[id.x] = (h >> 22u) ^ h;
}",
        64,
        &[],
        [1, 1, 1],
    );
}

#[test]
fn division_and_nan() {
    let found = hazards(
        "
@group(0) @binding(0) var<storage, read> x: array<i32>;
@group(0) @binding(1) var<storage, read_write> y: array<i32>;
@compute @workgroup_size(64) fn main(@builtin(local_invocation_index) k: u32) {
    y[k] = 5 / x[k];
    if (x[k] != 0) { y[k] += 5 % x[k]; }
    y[k] += (x[0] - 2147483647 - 1) / (x[1] - 2);
}",
        64,
        &[],
        [1, 1, 1],
    );
    let got: Vec<_> = found.iter().map(|h| (h.at.line, h.kind.clone(), h.severity)).collect();
    assert_eq!(
        got,
        [(5, HazardKind::DivisionByZero, Severity::Warning), (7, HazardKind::DivisionOverflow, Severity::Warning)]
    );
    assert_eq!(found[0].lanes, (0..32).fold(0, |m, k| m | u32::from(k % 7 == 0) << k));
    let found = hazards(
        "
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(64) fn main(@builtin(local_invocation_index) k: u32) {
    let v = f32(x[k]);
    let r = v / v;
    let s = r + 1.0;
    y[k] = s * sqrt(2.0 - v);
}",
        64,
        &[],
        [1, 1, 1],
    );
    let got: Vec<_> = found.iter().map(|h| (h.at.line, h.kind.clone())).collect();
    assert_eq!(got, [(6, HazardKind::NanBorn), (8, HazardKind::NanBorn)], "born, not carried on");
}

#[test]
fn storage_between_invocations_of_a_workgroup() {
    let text = "
@group(0) @binding(0) var<storage, read_write> y: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(local_invocation_index) k: u32) {
    y[k] = k; // OTHER
    storageBarrier();
    let v = y[63u - k]; // HERE
    storageBarrier();
    y[k] = v;
}";
    clean("ordered by storageBarrier", text, 64, &[], [1, 1, 1]);
    let without = text.replacen("    storageBarrier();\n", "", 1);
    planted("without it", &without, 64, &[], [1, 1, 1], |k| {
        matches!(k, HazardKind::StorageRace { order: Order::WriteThenRead | Order::ReadThenWrite, benign: false })
    });
    // workgroupBarrier orders workgroup memory only.
    planted(
        "workgroupBarrier is not enough",
        &text.replacen("storageBarrier", "workgroupBarrier", 1),
        64,
        &[],
        [1, 1, 1],
        |k| matches!(k, HazardKind::StorageRace { .. }),
    );
}

#[test]
fn subgroup_barrier_orders_a_subgroup() {
    let text = "
var<workgroup> s: array<u32, 64>;
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(local_invocation_index) k: u32) {
    s[k] = k;
    subgroupBarrier();
    out[k] = s[k ^ 1u];
}";
    clean("within a subgroup", text, 64, &[], [1, 1, 1]);
    let across = text.replace("k ^ 1u", "k ^ 32u");
    assert!(
        hazards(&across, 64, &[], [1, 1, 1])
            .iter()
            .any(|h| shared_race(&h.kind) || matches!(h.kind, HazardKind::UninitializedShared))
    );
}
