//! WGSL's operators and constructs in the simulator, as tables of inputs and results.
#![cfg(feature = "sim")]

use gpu_ladder::sim::{Binding, Machine, Options, Profile, Program, SimError};

fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|w| w.to_le_bytes()).collect()
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect()
}

fn f(x: f32) -> u32 {
    x.to_bits()
}

fn i(x: i32) -> u32 {
    x as u32
}

/// Runs a whole shader with bindings x, y (read) and out (read_write) of u32.
fn run(text: &str, x: &[u32], y: &[u32], out: usize, groups: u32) -> (Vec<u32>, Profile) {
    let program = Program::new(text, None, &[]).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let mut b = [Binding::new(0, 0, bytes(x)), Binding::new(0, 1, bytes(y)), Binding::new(0, 2, vec![0; 4 * out])];
    let profile = program
        .run(&Machine::default(), &mut b, [groups, 1, 1], &Options { threads: 1, ..Options::default() })
        .unwrap_or_else(|e| panic!("{e}\n{text}"));
    (words(&b[2].data), profile)
}

const HEAD: &str = "
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read> y: array<u32>;
@group(0) @binding(2) var<storage, read_write> out: array<u32>;
fn i(v: u32) -> i32 { return bitcast<i32>(v); }
fn f(v: u32) -> f32 { return bitcast<f32>(v); }
fn u(v: i32) -> u32 { return bitcast<u32>(v); }
fn b(v: f32) -> u32 { return bitcast<u32>(v); }
";

/// The value of `expression` (a u32) of `p` and `q` for each pair.
fn table(name: &str, expression: &str, rows: &[(u32, u32, u32)]) {
    let text = format!(
        "enable f16;\n{HEAD}
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {{
    let p = x[id.x]; let q = y[id.x];
    out[id.x] = {expression};
}}"
    );
    let mut xs: Vec<u32> = rows.iter().map(|r| r.0).collect();
    let mut ys: Vec<u32> = rows.iter().map(|r| r.1).collect();
    xs.resize(64, 1);
    ys.resize(64, 1);
    let (out, _) = run(&text, &xs, &ys, 64, 1);
    for (k, (p, q, want)) in rows.iter().enumerate() {
        assert_eq!(
            out[k],
            *want,
            "{name}: {expression} for p = {p:#x} ({}), q = {q:#x} ({}): {:#x} ({}), should be {want:#x} ({})",
            f32::from_bits(*p),
            f32::from_bits(*q),
            out[k],
            f32::from_bits(out[k]),
            f32::from_bits(*want)
        );
    }
}

const MIN: u32 = 0x8000_0000;
const NAN: f32 = f32::NAN;
const INF: f32 = f32::INFINITY;

#[test]
fn integer_operators() {
    table("add wraps", "p + q", &[(u32::MAX, 1, 0), (3, 4, 7)]);
    table("subtract wraps", "p - q", &[(0, 1, u32::MAX)]);
    table("multiply wraps", "p * q", &[(0x10000, 0x10000, 0), (3, 5, 15)]);
    table("divide by zero is the dividend", "p / q", &[(7, 0, 7), (7, 2, 3), (u32::MAX, 2, 0x7fff_ffff)]);
    table("remainder by zero is zero", "p % q", &[(7, 0, 0), (7, 4, 3)]);
    table(
        "signed division",
        "u(i(p) / i(q))",
        &[(i(-7), 2, i(-3)), (i(-7), 0, i(-7)), (MIN, i(-1), MIN), (7, i(-2), i(-3))],
    );
    table(
        "signed remainder has the dividend's sign",
        "u(i(p) % i(q))",
        &[(i(-7), 2, i(-1)), (7, i(-2), 1), (5, 0, 0), (MIN, i(-1), 0)],
    );
    table("negation wraps", "u(-i(p))", &[(MIN, 0, MIN), (5, 0, i(-5))]);
    table("abs of the most negative", "u(abs(i(p)))", &[(MIN, 0, MIN), (i(-5), 0, 5)]);
    table("sign", "u(sign(i(p)))", &[(i(-5), 0, i(-1)), (0, 0, 0), (9, 0, 1)]);
    table("shift left takes the count modulo 32", "p << q", &[(1, 33, 2), (1, 31, MIN), (3, 32, 3)]);
    table("shift right", "p >> q", &[(MIN, 31, 1), (MIN, 32, MIN)]);
    table("arithmetic shift right", "u(i(p) >> q)", &[(MIN, 31, u32::MAX), (i(-8), 1, i(-4)), (i(-8), 33, i(-4))]);
    table("signed comparison", "select(0u, 1u, i(p) < i(q))", &[(i(-1), 0, 1), (0, i(-1), 0)]);
    table("unsigned comparison", "select(0u, 1u, p < q)", &[(u32::MAX, 0, 0), (0, u32::MAX, 1), (2, 2, 0)]);
    table("min, max", "u(min(i(p), i(q))) ^ max(p, q)", &[(i(-1), 1, u32::MAX ^ u32::MAX), (3, 5, 3 ^ 5)]);
    table(
        "integer clamp with low > high is min(max(x, low), high)",
        "clamp(p, 10u, q)",
        &[(5, 3, 3), (50, 20, 20), (5, 20, 10)],
    );
    table("bitwise", "(p & q) ^ (p | q) ^ ~p", &[(12, 10, (12 & 10) ^ (12 | 10) ^ !12)]);
}

#[test]
fn bit_functions() {
    table("countOneBits", "countOneBits(p)", &[(0, 0, 0), (u32::MAX, 0, 32), (0x101, 0, 2)]);
    table("countLeadingZeros", "countLeadingZeros(p)", &[(0, 0, 32), (1, 0, 31), (MIN, 0, 0)]);
    table("countTrailingZeros", "countTrailingZeros(p)", &[(0, 0, 32), (8, 0, 3)]);
    table("reverseBits", "reverseBits(p)", &[(1, 0, MIN), (0x0f, 0, 0xf000_0000)]);
    table("firstLeadingBit u32", "firstLeadingBit(p)", &[(0, 0, u32::MAX), (1, 0, 0), (MIN, 0, 31)]);
    table(
        "firstLeadingBit i32",
        "u(firstLeadingBit(i(p)))",
        &[(0, 0, u32::MAX), (u32::MAX, 0, u32::MAX), (i(-2), 0, 0), (5, 0, 2)],
    );
    table("firstTrailingBit", "firstTrailingBit(p)", &[(0, 0, u32::MAX), (12, 0, 2)]);
    table(
        "extractBits u32",
        "extractBits(p, q, 8u)",
        &[(0x1234_5678, 8, 0x56), (0x1234_5678, 28, 0x1), (0x1234_5678, 40, 0)],
    );
    table("extractBits i32", "u(extractBits(i(p), q, 8u))", &[(0xff00, 8, u32::MAX), (0x7f00, 8, 0x7f)]);
    table("extractBits of nothing", "extractBits(p, 3u, q)", &[(u32::MAX, 0, 0), (u32::MAX, 32, 0x1fff_ffff)]);
    table(
        "insertBits",
        "insertBits(p, 0xabu, q, 8u)",
        &[(0, 4, 0xab0), (u32::MAX, 0, 0xffff_ffab), (0, 28, 0xb000_0000), (7, 32, 7)],
    );
    table("dot4U8Packed", "dot4U8Packed(p, q)", &[(0x0102_0304, 0x0506_0708, 5 + 12 + 21 + 32)]);
    table("dot4I8Packed", "u(dot4I8Packed(p, q))", &[(0xff01_0101, 0x0201_0101, 1)]);
    table("pack4xU8", "pack4xU8(vec4<u32>(p, q, 3u, 260u))", &[(1, 2, 0x0403_0201)]);
    table("pack4xI8Clamp", "pack4xI8Clamp(vec4<i32>(i(p), i(q), 0, 0))", &[(300, i(-300), 0x0000_807f)]);
    table("unpack4xI8", "u(unpack4xI8(p).w)", &[(0xff00_0000, 0, u32::MAX)]);
    table("pack2x16float", "pack2x16float(vec2<f32>(f(p), f(q)))", &[(f(1.0), f(-2.0), 0xc000_3c00)]);
    table("unpack2x16float", "b(unpack2x16float(p).y)", &[(0xc000_3c00, 0, f(-2.0))]);
    table("pack4x8unorm", "pack4x8unorm(vec4<f32>(f(p), f(q), 2.0, -1.0))", &[(f(1.0), f(0.5), 0x00ff_80ff)]);
    table("pack4x8snorm", "pack4x8snorm(vec4<f32>(f(p), f(q), 0.0, 0.0))", &[(f(1.0), f(-1.0), 0x0000_817f)]);
    table("unpack4x8snorm", "b(unpack4x8snorm(p).x)", &[(0x80, 0, f(-1.0)), (0x7f, 0, f(1.0))]);
}

#[test]
fn float_operators() {
    table("add", "b(f(p) + f(q))", &[(f(1.5), f(2.25), f(3.75)), (f(INF), f(1.0), f(INF))]);
    table("multiply rounds once", "b(f(p) * f(q))", &[(f(0.1), f(3.0), f(0.1f32 * 3.0))]);
    table(
        "multiply and add are not fused",
        "b(f(p) * f(p) + f(q))",
        &[(f(1.0 + f32::EPSILON), f(-1.0), f((1.0 + f32::EPSILON) * (1.0 + f32::EPSILON) - 1.0))],
    );
    table(
        "fma is",
        "b(fma(f(p), f(p), f(q)))",
        &[(f(1.0 + f32::EPSILON), f(-1.0), f((1.0 + f32::EPSILON).mul_add(1.0 + f32::EPSILON, -1.0)))],
    );
    table(
        "divide",
        "b(f(p) / f(q))",
        &[(f(1.0), f(3.0), f(1.0 / 3.0)), (f(1.0), f(0.0), f(INF)), (f(-1.0), f(0.0), f(-INF))],
    );
    table("remainder", "b(f(p) % f(q))", &[(f(-7.5), f(2.0), f(-1.5)), (f(7.5), f(-2.0), f(1.5))]);
    table(
        "comparisons with NaN are false",
        "select(0u, 1u, f(p) < f(q)) + select(0u, 2u, f(p) >= f(q)) + select(0u, 4u, f(p) != f(q))",
        &[(f(NAN), f(1.0), 4), (f(1.0), f(2.0), 5), (f(2.0), f(2.0), 2)],
    );
    table(
        "min and max of a NaN",
        "b(min(f(p), f(q))) ^ b(max(f(q), f(p)))",
        &[(f(NAN), f(3.0), 0), (f(3.0), f(NAN), 0)],
    );
    table("negative zero equals zero", "select(0u, 1u, f(p) == f(q))", &[(f(-0.0), f(0.0), 1)]);
    table("clamp", "b(clamp(f(p), 0.0, 1.0))", &[(f(2.0), 0, f(1.0)), (f(-2.0), 0, f(0.0)), (f(0.5), 0, f(0.5))]);
    table("saturate of NaN", "b(saturate(f(p)))", &[(f(NAN), 0, 0), (f(7.0), 0, f(1.0))]);
    table(
        "round half to even",
        "b(round(f(p)))",
        &[(f(0.5), 0, f(0.0)), (f(1.5), 0, f(2.0)), (f(2.5), 0, f(2.0)), (f(-0.5), 0, f(-0.0)), (f(-1.5), 0, f(-2.0))],
    );
    table(
        "floor, ceil, trunc",
        "b(floor(f(p)) + 10.0 * ceil(f(p)) + 100.0 * trunc(f(p)))",
        &[(f(-1.5), 0, f(-2.0 - 10.0 - 100.0))],
    );
    table("fract of a negative", "b(fract(f(p)))", &[(f(-1.25), 0, f(0.75))]);
    table("sign", "b(sign(f(p)))", &[(f(-3.0), 0, f(-1.0)), (f(0.0), 0, f(0.0))]);
    table("step", "b(step(f(p), f(q)))", &[(f(1.0), f(1.0), f(1.0)), (f(1.0), f(0.5), f(0.0))]);
    table("mix", "b(mix(f(p), f(q), 0.25))", &[(f(0.0), f(4.0), f(1.0))]);
    table("smoothstep", "b(smoothstep(f(p), f(q), 0.5))", &[(f(0.0), f(1.0), f(0.5))]);
    table("sqrt, inverseSqrt", "b(sqrt(f(p)) + inverseSqrt(f(p)))", &[(f(4.0), 0, f(2.5))]);
    table("ldexp", "b(ldexp(f(p), i(q)))", &[(f(1.5), 4, f(24.0)), (f(1.0), i(-1), f(0.5))]);
    table("frexp", "b(frexp(f(p)).fract) ^ u(frexp(f(p)).exp)", &[(f(12.0), 0, f(0.75) ^ 4)]);
    table("modf", "b(modf(f(p)).whole) ^ b(modf(f(p)).fract)", &[(f(-2.5), 0, f(-2.0) ^ f(-0.5))]);
    table("quantizeToF16", "b(quantizeToF16(f(p)))", &[(f(1.0 + 1.0 / 4096.0), 0, f(1.0)), (f(0.5), 0, f(0.5))]);
}

#[test]
fn conversions() {
    table(
        "f32 to u32 saturates",
        "u32(f(p))",
        &[(f(-1.0), 0, 0), (f(3.99), 0, 3), (f(1e20), 0, 4_294_967_040), (f(NAN), 0, 0)],
    );
    table(
        "f32 to i32 saturates",
        "u(i32(f(p)))",
        &[(f(-3.99), 0, i(-3)), (f(1e20), 0, 2_147_483_520), (f(-1e20), 0, MIN)],
    );
    table("i32 to f32 rounds to even", "b(f32(i(p)))", &[(16_777_217, 0, f(16_777_216.0)), (i(-5), 0, f(-5.0))]);
    table("u32 to f32", "b(f32(p))", &[(u32::MAX, 0, f(4_294_967_296.0))]);
    table("bool", "u32(bool(p)) + u32(bool(f(q)))", &[(7, f(0.0), 1), (0, f(NAN), 1), (0, f(-0.0), 0)]);
    table("f16 rounds", "b(f32(f16(f(p))))", &[(f(1.0 + 1.0 / 4096.0), 0, f(1.0)), (f(65504.0), 0, f(65504.0))]);
}

#[test]
fn vectors_and_matrices() {
    table("dot", "b(dot(vec3<f32>(f(p), 2.0, 3.0), vec3<f32>(f(q), 5.0, 6.0)))", &[(f(1.0), f(4.0), f(32.0))]);
    table("integer dot", "dot(vec2<u32>(p, 3u), vec2<u32>(q, 4u))", &[(1, 2, 14)]);
    table("cross", "b(cross(vec3<f32>(f(p), 0.0, 0.0), vec3<f32>(0.0, f(q), 0.0)).z)", &[(f(2.0), f(3.0), f(6.0))]);
    table("length", "b(length(vec2<f32>(f(p), f(q))))", &[(f(3.0), f(4.0), f(5.0))]);
    table(
        "matrix times vector",
        "b((mat2x2<f32>(1.0, 2.0, 3.0, 4.0) * vec2<f32>(f(p), f(q))).y)",
        &[(f(1.0), f(1.0), f(6.0))],
    );
    table(
        "vector times matrix",
        "b((vec2<f32>(f(p), f(q)) * mat2x2<f32>(1.0, 2.0, 3.0, 4.0)).y)",
        &[(f(1.0), f(1.0), f(7.0))],
    );
    table(
        "matrix times matrix",
        "b((mat2x3<f32>(1.0, 2.0, 3.0, 4.0, 5.0, f(p)) * mat2x2<f32>(1.0, 2.0, 3.0, f(q)))[1].z)",
        &[(f(6.0), f(4.0), f(33.0))],
    );
    table("transpose", "b(transpose(mat2x3<f32>(1.0, 2.0, 3.0, 4.0, 5.0, f(p)))[2].y)", &[(f(6.0), 0, f(6.0))]);
    table(
        "determinant",
        "b(determinant(mat3x3<f32>(2.0, 0.0, 0.0, 0.0, 3.0, 1.0, 0.0, f(p), f(q))))",
        &[(f(1.0), f(4.0), f(22.0))],
    );
    table("swizzle", "vec4<u32>(p, q, 3u, 4u).wzyx.z", &[(1, 2, 2)]);
    table("dynamic component of a value", "vec4<u32>(p, q, 30u, 40u)[q & 3u]", &[(1, 2, 30), (1, 0, 1), (1, 7, 40)]);
    table(
        "vector select",
        "dot(select(vec2<u32>(1u, 2u), vec2<u32>(p, q), vec2<bool>(p > q, q > p)), vec2<u32>(1u, 10u))",
        &[(5, 3, 25), (3, 5, 51)],
    );
    table(
        "all, any",
        "u32(all(vec2<bool>(p > 0u, q > 0u))) + 2u * u32(any(vec2<bool>(p > 0u, q > 0u)))",
        &[(1, 0, 2), (1, 1, 3), (0, 0, 0)],
    );
    table("reflect", "b(reflect(vec2<f32>(f(p), f(q)), vec2<f32>(0.0, 1.0)).y)", &[(f(1.0), f(-1.0), f(1.0))]);
    table("normalize", "b(normalize(vec2<f32>(f(p), f(q))).x)", &[(f(3.0), f(4.0), f(0.6))]);
}

/// What `text` leaves in `r`, from `p` and `q`.
fn control(name: &str, functions: &str, text: &str, rows: &[(u32, u32, u32)]) {
    let whole = format!(
        "{HEAD}{functions}
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {{
    let p = x[id.x]; let q = y[id.x];
    var r = 0u;
    {text}
    out[id.x] = r;
}}"
    );
    let mut xs: Vec<u32> = rows.iter().map(|r| r.0).collect();
    let mut ys: Vec<u32> = rows.iter().map(|r| r.1).collect();
    xs.resize(64, 1);
    ys.resize(64, 1);
    let (out, _) = run(&whole, &xs, &ys, 64, 1);
    for (k, (p, q, want)) in rows.iter().enumerate() {
        assert_eq!(out[k], *want, "{name} for p = {p}, q = {q}");
    }
}

#[test]
fn control_flow() {
    control(
        "divergent if",
        "",
        "if (p > 2u) { r = 10u; if (q > 2u) { r += 1u; } else { r += 2u; } } else { r = 20u; }",
        &[(1, 1, 20), (3, 1, 12), (3, 3, 11)],
    );
    control(
        "for with break and continue",
        "",
        "for (var k = 0u; k < 10u; k++) { if (k == p) { continue; } if (k == q) { break; } r += k; }",
        &[(2, 5, 1 + 3 + 4), (100, 100, 45), (0, 0, 45), (1, 3, 2)],
    );
    control(
        "while",
        "",
        "var k = p; while (k > 0u) { r = r * 10u + k; k -= 1u; }",
        &[(3, 0, 321), (0, 0, 0), (5, 0, 54321)],
    );
    control(
        "loop with continuing and break if",
        "",
        "var k = 0u; loop { if (k == q) { k += 2u; continue; } r += k; continuing { k += 1u; break if k > p; } }",
        &[(3, 9, 1 + 2 + 3), (0, 9, 0), (5, 2, 1 + 5)],
    );
    control(
        "nested loops",
        "",
        "for (var a = 0u; a < p; a++) { for (var c = 0u; c <= a; c++) { if (c == q) { break; } r += 1u; } if (a == 3u) { break; } }",
        &[(3, 100, 6), (10, 100, 10), (10, 1, 4), (0, 0, 0)],
    );
    control(
        "switch",
        "",
        "switch p { case 1u, 2u: { r = 12u; } case 3u: { r = 3u; if (q == 1u) { break; } r = 30u; } default: { r = 99u; } case 7u: { r = 7u; } }",
        &[(1, 0, 12), (2, 0, 12), (3, 0, 30), (3, 1, 3), (7, 0, 7), (8, 0, 99)],
    );
    control(
        "default shared with a case",
        "",
        "switch i(p) { case -1: { r = 1u; } case 4, default: { r = 2u; } }",
        &[(i(-1), 0, 1), (4, 0, 2), (77, 0, 2)],
    );
    control(
        "switch in a loop: continue passes through",
        "",
        "for (var k = 0u; k < 4u; k++) { switch k { case 1u: { continue; } case 2u: { if (p == 1u) { break; } r += 100u; } default: {} } r += 1u; }",
        &[(1, 0, 3), (2, 0, 103)],
    );
    control(
        "early return of a function",
        "fn g(v: u32) -> u32 { if (v > 5u) { return 50u; } for (var k = 0u; k < 10u; k++) { if (k == v) { return k + 100u; } } return 7u; }",
        "r = g(p) + 1000u * g(q);",
        &[(9, 2, 102_050), (3, 6, 50_103)],
    );
    control(
        "early return in a loop with effects",
        "fn g(v: u32, s: ptr<function, u32>) { loop { *s += 1u; if (*s > v) { return; } } }",
        "r = q; g(p, &r);",
        &[(5, 0, 6), (0, 10, 11)],
    );
    control(
        "&& does not evaluate its right side",
        "fn g(s: ptr<function, u32>) -> bool { *s += 1u; return true; }",
        "if (p > 2u && g(&r)) { r += 10u; } if (q > 2u || g(&r)) { r += 100u; }",
        &[(1, 1, 101), (3, 1, 112), (3, 3, 111), (1, 3, 100)],
    );
    control("shadowing and blocks", "", "{ let p = q + 1u; r = p; } r += p;", &[(1, 5, 7)]);
}

#[test]
fn variables_and_pointers() {
    control("a value keeps what it read", "", "var a = p; let old = a; a = q; r = old * 100u + a;", &[(3, 7, 307)]);
    control(
        "a value read before a loop",
        "",
        "var a = p; let old = a; for (var k = 0u; k < 3u; k++) { r = r * 10u + old; a += 1u; } r += a * 1000u;",
        &[(2, 0, 5222)],
    );
    control(
        "a value read before a branch",
        "",
        "var a = p; let old = a; if (q > 1u) { a = 50u; } r = old + a;",
        &[(2, 5, 52), (2, 0, 4)],
    );
    control("swap", "", "var a = p; var c = q; let t = a; a = c; c = t; r = a * 100u + c;", &[(1, 2, 201)]);
    control("vector swap", "", "var v = vec2<u32>(p, q); v = v.yx; r = v.x * 100u + v.y;", &[(1, 2, 201)]);
    control(
        "vector component stores",
        "",
        "var v = vec3<u32>(1u, 2u, 3u); v.y = p; v[q] = 9u; r = v.x * 100u + v.y * 10u + v.z;",
        &[(5, 0, 953), (5, 2, 159), (5, 1, 193)],
    );
    control(
        "local array, run-time index",
        "",
        "var a = array<u32, 4>(1u, 2u, 3u, 4u); a[p] = 40u; r = a[q] * 1000u + a[0] + a[1] + a[2] + a[3];",
        &[(1, 1, 40048), (3, 0, 1046), (9, 3, 40046)],
    );
    control(
        "array of structs",
        "struct S { a: u32, v: vec2<u32> }",
        "var s: array<S, 3>; s[p].v.y = 5u; s[q].a = 7u; r = s[1].v.y * 10u + s[1].a + s[2].a * 100u;",
        &[(1, 1, 57), (0, 2, 700), (1, 2, 750)],
    );
    control(
        "array copies by value",
        "",
        "var a = array<u32, 2>(p, q); var c = a; c[0] = 9u; r = a[0] * 100u + c[0] * 10u + c[1];",
        &[(1, 2, 192)],
    );
    control(
        "pointer to an element",
        "",
        "var a = array<u32, 4>(); let e = &a[p]; *e = q; *e += 1u; r = a[p] * 10u + a[(p + 1u) & 3u];",
        &[(2, 4, 50)],
    );
    control(
        "argument aliases a variable that the callee changes",
        "fn g(v: u32, s: ptr<function, u32>) -> u32 { *s = 100u; return v; }",
        "var a = p; r = g(a, &a) + a;",
        &[(5, 0, 105)],
    );
    control(
        "private variable",
        "var<private> n: u32 = 3u; fn g() { n = n * 2u; }",
        "g(); g(); r = n + p;",
        &[(1, 0, 13)],
    );
    control(
        "private variable read before a call",
        "var<private> n: u32 = 3u; fn g() { n = n * 2u; }",
        "let a = n; g(); r = a * 100u + n;",
        &[(1, 0, 306)],
    );
    control(
        "matrix column",
        "",
        "var m = mat2x2<f32>(1.0, 2.0, 3.0, 4.0); m[p].y = 9.0; r = u32(m[0].y * 10.0 + m[q][1]);",
        &[(0, 0, 99), (1, 1, 29)],
    );
    control(
        "constants",
        "const T = array<u32, 3>(10u, 20u, 30u); const V: vec2<u32> = vec2(4u, 5u);",
        "var t = T; r = t[p] + V.y;",
        &[(0, 0, 15), (2, 0, 35)],
    );
    control(
        "compound assignment",
        "",
        "var v = vec2<u32>(p, q); v *= 2u; v.x <<= 1u; r = v.x + v.y; r++; r -= 1u;",
        &[(1, 2, 8)],
    );
}

#[test]
fn memory_and_atomics() {
    // Layout: vec3 aligned to 16, matrices by column, f16 packed.
    let text = "
enable f16;
struct S { a: u32, v: vec3<f32>, h: vec2<f16>, m: mat2x3<f32>, n: array<u32, 2> }
@group(0) @binding(0) var<storage, read> s: array<S>;
@group(0) @binding(1) var<uniform> t: S;
@group(0) @binding(2) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(1) fn main() {
    let c = s[1];
    out[0] = c.a; out[1] = bitcast<u32>(c.v.z); out[2] = bitcast<u32>(f32(c.h.y)); out[3] = bitcast<u32>(c.m[1].y); out[4] = c.n[1];
    out[5] = bitcast<u32>(t.m[1].z); out[6] = arrayLength(&s); out[7] = bitcast<u32>(f32(t.h.x));
}";
    // `array<u32, 2>` has stride 4 in storage only: a uniform needs 16, so it must be rejected.
    assert!(matches!(Program::new(text, None, &[]), Err(SimError::Invalid { .. })));
    let text = text.replace(", n: array<u32, 2>", ", n: vec2<u32>");
    let mut w = vec![0u32; 40];
    let base = 20; // 80 bytes per element
    w[base] = 77;
    w[base + 6] = f(1.5);
    w[base + 7] = 0x4000_3c00;
    w[base + 8 + 4 + 1] = f(2.5);
    w[base + 16 + 1] = 99;
    w[8 + 4 + 2] = f(3.5);
    w[7] = 0x4000_3c00;
    let (out, _) = run(&text, &w, &w[..20], 8, 1);
    assert_eq!(out, [77, f(1.5), f(2.0), f(2.5), 99, f(3.5), 2, f(1.0)]);

    let text = "
@group(0) @binding(2) var<storage, read_write> out: array<atomic<u32>>;
var<workgroup> n: atomic<i32>;
@compute @workgroup_size(64) fn main(@builtin(local_invocation_index) k: u32) {
    atomicAdd(&out[0], k);
    atomicMax(&out[1], k);
    atomicOr(&out[2], 1u << (k & 31u));
    atomicSub(&n, i32(k));
    if (k == 5u) { let r = atomicCompareExchangeWeak(&out[3], 0u, 8u); if (r.exchanged) { atomicStore(&out[4], r.old_value + 3u); } }
    workgroupBarrier();
    if (k == 0u) { atomicStore(&out[5], bitcast<u32>(atomicLoad(&n))); atomicXor(&out[6], 6u); atomicExchange(&out[7], 9u); }
}";
    let (out, p) = run(text, &[0], &[0], 8, 2);
    assert_eq!(out[..3], [4032, 63, u32::MAX]);
    assert_eq!(out[3..8], [8, 3, i(-2016), 0, 9], "the second workgroup finds 8 at 3, and undoes 6");
    assert!(p.hazards.is_empty(), "{:?}", p.hazards);
}

#[test]
fn half_stores_leave_the_neighbour() {
    let text = "
enable f16;
@group(0) @binding(2) var<storage, read_write> out: array<f16>;
@compute @workgroup_size(32) fn main(@builtin(global_invocation_id) id: vec3<u32>) { out[id.x] = f16(id.x) * 0.5h + 1.0h; }";
    let (out, p) = run(text, &[0], &[0], 32, 2);
    let half = |k: usize| half::f16::from_bits((out[k / 2] >> (16 * (k % 2))) as u16).to_f32();
    for k in 0..64 {
        assert_eq!(half(k), k as f32 * 0.5 + 1.0);
    }
    assert!(p.hazards.is_empty(), "{:?}", p.hazards);
    assert_eq!(p.totals.global_store.sectors_per_request(), Some(2.0));
}

#[test]
fn subgroups() {
    let text = "
enable subgroups;
@group(0) @binding(2) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(local_invocation_index) k: u32, @builtin(subgroup_invocation_id) lane: u32, @builtin(subgroup_id) sg: u32, @builtin(subgroup_size) size: u32) {
    var s = subgroupAdd(lane);
    s += 1000u * subgroupExclusiveAdd(1u);
    if (lane % 2u == 0u) { s += 100000u * subgroupInclusiveAdd(1u); }
    out[k] = s;
    out[64u + k] = subgroupShuffleXor(k, 1u);
    out[128u + k] = subgroupBroadcast(k, 3u) + 100u * subgroupMax(lane) + 10000u * sg;
    out[192u + k] = subgroupBallot(lane > 29u).x;
    out[256u + k] = u32(subgroupAny(lane == 3u)) + 2u * u32(subgroupAll(lane < size)) + 4u * quadSwapX(lane);
}";
    let (out, _) = run(text, &[0], &[0], 320, 1);
    for k in 0..64u32 {
        let lane = k % 32;
        let even = if lane % 2 == 0 { 100_000 * (lane / 2 + 1) } else { 0 };
        assert_eq!(out[k as usize], 496 + 1000 * lane + even);
        assert_eq!(out[64 + k as usize], k ^ 1);
        assert_eq!(out[128 + k as usize], k / 32 * 32 + 3 + 3100 + 10_000 * (k / 32));
        assert_eq!(out[192 + k as usize], 0xc000_0000);
        assert_eq!(out[256 + k as usize], 3 + 4 * (lane ^ 1));
    }
}

#[test]
fn workgroup_uniform_load_and_builtins() {
    let text = "
@group(0) @binding(2) var<storage, read_write> out: array<u32>;
var<workgroup> n: u32;
@compute @workgroup_size(4, 3, 2) fn main(@builtin(local_invocation_index) k: u32, @builtin(local_invocation_id) l: vec3<u32>, @builtin(workgroup_id) g: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>, @builtin(global_invocation_id) id: vec3<u32>) {
    if (k == 7u) { n = 10u + g.x; }
    let v = workgroupUniformLoad(&n);
    out[g.x * 24u + k] = v * 1000u + l.x + 10u * l.y + 100u * l.z + u32(all(id == g * vec3<u32>(4u, 3u, 2u) + l)) * 100000u + groups.x * 1000000u;
}";
    let (out, p) = run(text, &[0], &[0], 72, 3);
    for g in 0..3 {
        for k in 0..24 {
            assert_eq!(
                out[g * 24 + k] as usize,
                (10 + g) * 1000 + k % 4 + 10 * (k / 4 % 3) + 100 * (k / 12) + 100_000 + 3_000_000
            );
        }
    }
    assert!(p.hazards.is_empty(), "{:?}", p.hazards);
}

#[test]
fn overrides() {
    let text = "
override N: u32 = 4u;
override SCALE: f32;
@id(7) override BIAS: i32 = 2;
var<workgroup> t: array<u32, N * 2u>;
@group(0) @binding(2) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(N) fn main(@builtin(local_invocation_index) k: u32) {
    t[k] = k; t[k + N] = 10u; workgroupBarrier();
    out[k] = t[N - 1u - k] + t[k + N] + u32(SCALE) + u32(BIAS);
}";
    assert!(matches!(Program::new(text, None, &[]), Err(SimError::Override { .. })));
    assert!(matches!(Program::new(text, None, &[("SCALE", 1.0), ("NOPE", 1.0)]), Err(SimError::Override { .. })));
    let p = Program::new(text, Some("main"), &[("SCALE", 100.0), ("N", 8.0), ("7", 1000.0)]).unwrap();
    assert_eq!((p.workgroup_size(), p.shared_bytes()), ([8, 1, 1], 64));
    let mut b = [Binding::new(0, 2, vec![0; 32])];
    let profile = p.run(&Machine::default(), &mut b, [1, 1, 1], &Options::default()).unwrap();
    assert_eq!(words(&b[0].data), (0..8).map(|k| 7 - k + 10 + 1100).collect::<Vec<u32>>());
    assert!(profile.hazards.is_empty());
}

#[test]
fn unsupported_constructs_are_typed_with_their_line() {
    let line = |text: &str| match Program::new(text, None, &[]) {
        Err(SimError::Unsupported { line, .. }) => line,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        line(
            "@group(0) @binding(0) var<storage, read_write> o: array<u32>;\n@compute @workgroup_size(1) fn main() {\n let a = 5lu;\n var v = a;\n v += a;\n o[0] = u32(v); }"
        ),
        4
    );
    assert_eq!(
        line(
            "\n@group(0) @binding(0) var t: texture_2d<f32>;\n@group(0) @binding(1) var<storage, read_write> o: array<f32>;\n@compute @workgroup_size(1) fn main() { o[0] = textureLoad(t, vec2(0), 0).x; }"
        ),
        2
    );
    assert!(matches!(Program::new("fn", None, &[]), Err(SimError::Parse { line: 1, .. })));
    assert!(matches!(
        Program::new("@compute @workgroup_size(1) fn a() {}\n@compute @workgroup_size(1) fn b() {}", None, &[]),
        Err(SimError::NoEntryPoint { .. })
    ));
    assert!(matches!(
        Program::new("@compute @workgroup_size(1) fn a() {}", Some("c"), &[]),
        Err(SimError::NoEntryPoint { .. })
    ));
}

#[test]
fn bad_bindings_and_limits_are_typed() {
    let p = Program::new("@group(0) @binding(0) var<storage, read_write> o: array<vec4<u32>>;\n@compute @workgroup_size(1) fn main() { o[0].x = 1u; }", None, &[]).unwrap();
    let m = Machine::default();
    let go = |b: &mut [Binding]| p.run(&m, b, [1, 1, 1], &Options::default()).map(|_| ());
    assert!(matches!(go(&mut []), Err(SimError::MissingBinding { .. })));
    assert!(matches!(
        go(&mut [Binding::new(0, 0, vec![0; 12])]),
        Err(SimError::BindingTooSmall { needed: 16, given: 12, .. })
    ));
    assert!(matches!(
        go(&mut [Binding { offset: 2, ..Binding::new(0, 0, vec![0; 64]) }]),
        Err(SimError::BadView { .. })
    ));
    assert!(matches!(
        go(&mut [Binding { offset: 60, len: Some(16), ..Binding::new(0, 0, vec![0; 64]) }]),
        Err(SimError::BadView { .. })
    ));
    assert!(matches!(
        go(&mut [Binding::new(0, 0, vec![0; 16]), Binding::new(0, 0, vec![0; 16])]),
        Err(SimError::DuplicateBinding { .. })
    ));
    let mut b = [Binding { offset: 16, len: Some(16), ..Binding::new(0, 0, vec![0; 48]) }];
    go(&mut b).unwrap();
    assert_eq!(words(&b[0].data)[4], 1);
    let p = Program::new(
        "var<workgroup> a: array<u32, 100000>;\n@compute @workgroup_size(1) fn main() { a[0] = 1u; }",
        None,
        &[],
    )
    .unwrap();
    assert!(matches!(p.run(&m, &mut [], [1, 1, 1], &Options::default()), Err(SimError::Limit { .. })));
    let p = Program::new("@compute @workgroup_size(1) fn main() {\n loop { } }", None, &[]).unwrap();
    let r = p.run(&m, &mut [], [1, 1, 1], &Options { max_steps: 1000, ..Options::default() });
    assert!(matches!(r, Err(SimError::StepLimit { line: 2, .. })), "{r:?}");
}
