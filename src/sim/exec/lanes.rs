//! Arithmetic over all lanes of a warp, with exactly WGSL's results.
//!
//! Each operation is one loop over 32 raw words that the compiler turns into vector instructions;
//! inactive lanes compute too, which is why nothing here can fail or panic.

use super::super::code::{Bin, LANES, Lanes, Tern, Un};
use half::f16;

#[inline(always)]
fn map(a: &Lanes, f: impl Fn(u32) -> u32) -> Lanes {
    let mut r = [0; LANES];
    for i in 0..LANES {
        r[i] = f(a[i]);
    }
    r
}

#[inline(always)]
fn zip(a: &Lanes, b: &Lanes, f: impl Fn(u32, u32) -> u32) -> Lanes {
    let mut r = [0; LANES];
    for i in 0..LANES {
        r[i] = f(a[i], b[i]);
    }
    r
}

#[inline(always)]
fn map_f(a: &Lanes, f: impl Fn(f32) -> f32) -> Lanes {
    map(a, |x| f(f32::from_bits(x)).to_bits())
}

#[inline(always)]
fn zip_f(a: &Lanes, b: &Lanes, f: impl Fn(f32, f32) -> f32) -> Lanes {
    zip(a, b, |x, y| f(f32::from_bits(x), f32::from_bits(y)).to_bits())
}

#[inline(always)]
fn compare_f(a: &Lanes, b: &Lanes, f: impl Fn(f32, f32) -> bool) -> Lanes {
    zip(a, b, |x, y| u32::from(f(f32::from_bits(x), f32::from_bits(y))))
}

#[inline(always)]
fn zip_s(a: &Lanes, b: &Lanes, f: impl Fn(i32, i32) -> i32) -> Lanes {
    zip(a, b, |x, y| f(x as i32, y as i32) as u32)
}

/// Two-operand operation in every lane.
#[inline]
pub fn bin(f: Bin, a: &Lanes, b: &Lanes) -> Lanes {
    match f {
        Bin::AddI => zip(a, b, u32::wrapping_add),
        Bin::SubI => zip(a, b, u32::wrapping_sub),
        Bin::MulI => zip(a, b, u32::wrapping_mul),
        // WGSL: x / 0 is x and x % 0 is 0; the most negative value over -1 is itself, remainder 0.
        Bin::DivU => zip(a, b, |x, y| x.checked_div(y).unwrap_or(x)),
        Bin::ModU => zip(a, b, |x, y| x.checked_rem(y).unwrap_or(0)),
        Bin::DivS => zip_s(a, b, |x, y| x.checked_div(y).unwrap_or(x)),
        Bin::ModS => zip_s(a, b, |x, y| x.checked_rem(y).unwrap_or(0)),
        Bin::And => zip(a, b, |x, y| x & y),
        Bin::Or => zip(a, b, |x, y| x | y),
        Bin::Xor => zip(a, b, |x, y| x ^ y),
        // The shift count is taken modulo the width.
        Bin::Shl => zip(a, b, u32::wrapping_shl),
        Bin::ShrU => zip(a, b, u32::wrapping_shr),
        Bin::ShrS => zip(a, b, |x, y| (x as i32).wrapping_shr(y) as u32),
        Bin::EqI => zip(a, b, |x, y| u32::from(x == y)),
        Bin::NeI => zip(a, b, |x, y| u32::from(x != y)),
        Bin::LtU => zip(a, b, |x, y| u32::from(x < y)),
        Bin::LeU => zip(a, b, |x, y| u32::from(x <= y)),
        Bin::LtS => zip(a, b, |x, y| u32::from((x as i32) < y as i32)),
        Bin::LeS => zip(a, b, |x, y| u32::from(x as i32 <= y as i32)),
        Bin::MinU => zip(a, b, u32::min),
        Bin::MaxU => zip(a, b, u32::max),
        Bin::MinS => zip_s(a, b, i32::min),
        Bin::MaxS => zip_s(a, b, i32::max),
        Bin::AddF => zip_f(a, b, |x, y| x + y),
        Bin::SubF => zip_f(a, b, |x, y| x - y),
        Bin::MulF => zip_f(a, b, |x, y| x * y),
        Bin::DivF => zip_f(a, b, |x, y| x / y),
        // x - y * trunc(x / y): the sign of the dividend, exact as fmod is.
        Bin::RemF => zip_f(a, b, |x, y| x % y),
        Bin::EqF => compare_f(a, b, |x, y| x == y),
        Bin::NeF => compare_f(a, b, |x, y| x != y),
        Bin::LtF => compare_f(a, b, |x, y| x < y),
        Bin::LeF => compare_f(a, b, |x, y| x <= y),
        // Of a number and a NaN, the number, as the hardware instructions do.
        Bin::MinF => zip_f(a, b, f32::min),
        Bin::MaxF => zip_f(a, b, f32::max),
        Bin::Atan2 => zip_f(a, b, f32::atan2),
        Bin::Pow => zip_f(a, b, f32::powf),
        Bin::Step => zip_f(a, b, |edge, x| if edge <= x { 1.0 } else { 0.0 }),
        Bin::Ldexp => zip(a, b, |x, e| ldexp(f32::from_bits(x), e as i32).to_bits()),
        Bin::Dot4I8 => zip(a, b, |x, y| {
            (0..4).fold(0i32, |acc, i| acc.wrapping_add(byte(x, i) as i8 as i32 * (byte(y, i) as i8 as i32))) as u32
        }),
        Bin::Dot4U8 => zip(a, b, |x, y| (0..4).fold(0u32, |acc, i| acc.wrapping_add(byte(x, i) * byte(y, i)))),
        Bin::Pack2x16Snorm => zip(a, b, |x, y| snorm(x, 32767.0) & 0xffff | snorm(y, 32767.0) << 16),
        Bin::Pack2x16Unorm => zip(a, b, |x, y| unorm(x, 65535.0) & 0xffff | unorm(y, 65535.0) << 16),
        Bin::Pack2x16Float => zip(a, b, |x, y| half_bits(x) | half_bits(y) << 16),
    }
}

/// `x`, but at most `limit`; a NaN stays one.
fn below(x: f32, limit: f32) -> f32 {
    if x > limit { limit } else { x }
}

fn byte(x: u32, i: u32) -> u32 {
    x >> (8 * i) & 0xff
}

fn half_bits(x: u32) -> u32 {
    u32::from(f16::from_f32(f32::from_bits(x)).to_bits())
}

fn snorm(x: u32, scale: f32) -> u32 {
    (0.5 + scale * f32::from_bits(x).clamp(-1.0, 1.0)).floor() as i32 as u32
}

fn unorm(x: u32, scale: f32) -> u32 {
    (0.5 + scale * f32::from_bits(x).clamp(0.0, 1.0)).floor() as u32
}

/// `x * 2^e` in two steps, so that a large exponent does not overflow before it is applied.
fn ldexp(x: f32, e: i32) -> f32 {
    let e = e.clamp(-300, 300);
    (f64::from(x) * 2f64.powi(e)) as f32
}

/// Fraction in [0.5, 1) and exponent, so that `x = fraction * 2^exponent`; 0 for zero, NaN and infinity.
fn frexp(x: f32) -> (f32, i32) {
    if x == 0.0 || !x.is_finite() {
        return (x, 0);
    }
    let bits = f64::from(x).to_bits();
    let exponent = (bits >> 52 & 0x7ff) as i32 - 1022;
    let fraction = f64::from_bits(bits & !(0x7ff << 52) | 1022 << 52);
    (fraction as f32, exponent)
}

/// One-operand operation in every lane.
// `clamp` would keep a NaN where `max` and `min` give a number.
#[allow(clippy::manual_clamp)]
#[inline]
pub fn un(f: Un, a: &Lanes) -> Lanes {
    match f {
        Un::NegI => map(a, u32::wrapping_neg),
        Un::NotI => map(a, |x| !x),
        Un::NotB => map(a, |x| x ^ 1),
        Un::AbsS => map(a, |x| (x as i32).wrapping_abs() as u32),
        Un::SignS => map(a, |x| (x as i32).signum() as u32),
        Un::NegF => map(a, |x| x ^ 1 << 31),
        Un::AbsF => map(a, |x| x & !(1 << 31)),
        Un::SignF => map_f(a, |x| {
            if x > 0.0 {
                1.0
            } else if x < 0.0 {
                -1.0
            } else {
                0.0
            }
        }),
        Un::Ceil => map_f(a, f32::ceil),
        Un::Floor => map_f(a, f32::floor),
        Un::Round => map_f(a, f32::round_ties_even),
        Un::Trunc => map_f(a, f32::trunc),
        Un::Fract => map_f(a, |x| x - x.floor()),
        // min(max(x, 0), 1): a NaN becomes 0.
        Un::Saturate => map_f(a, |x| x.max(0.0).min(1.0)),
        Un::Sqrt => map_f(a, f32::sqrt),
        Un::InverseSqrt => map_f(a, |x| 1.0 / x.sqrt()),
        Un::Exp => map_f(a, f32::exp),
        Un::Exp2 => map_f(a, f32::exp2),
        Un::Log => map_f(a, f32::ln),
        Un::Log2 => map_f(a, f32::log2),
        Un::Sin => map_f(a, f32::sin),
        Un::Cos => map_f(a, f32::cos),
        Un::Tan => map_f(a, f32::tan),
        Un::Sinh => map_f(a, f32::sinh),
        Un::Cosh => map_f(a, f32::cosh),
        Un::Tanh => map_f(a, f32::tanh),
        Un::Asin => map_f(a, f32::asin),
        Un::Acos => map_f(a, f32::acos),
        Un::Atan => map_f(a, f32::atan),
        Un::Asinh => map_f(a, f32::asinh),
        Un::Acosh => map_f(a, f32::acosh),
        Un::Atanh => map_f(a, f32::atanh),
        Un::Radians => map_f(a, |x| x * (std::f32::consts::PI / 180.0)),
        Un::Degrees => map_f(a, |x| x * (180.0 / std::f32::consts::PI)),
        Un::IsNan => map(a, |x| u32::from(f32::from_bits(x).is_nan())),
        Un::IsInf => map(a, |x| u32::from(f32::from_bits(x).is_infinite())),
        Un::RoundF16 => map_f(a, |x| f16::from_f32(x).to_f32()),
        // Out of range saturates and NaN becomes 0. The largest f32 below 2^31 is the limit that
        // naga's back ends clamp to.
        Un::F32ToU32 => map(a, |x| below(f32::from_bits(x), 4294967040.0) as u32),
        Un::F32ToI32 => map(a, |x| below(f32::from_bits(x), 2147483520.0) as i32 as u32),
        Un::U32ToF32 => map(a, |x| (x as f32).to_bits()),
        Un::I32ToF32 => map(a, |x| (x as i32 as f32).to_bits()),
        Un::IntToBool => map(a, |x| u32::from(x != 0)),
        Un::FloatToBool => map(a, |x| u32::from(f32::from_bits(x) != 0.0)),
        Un::BoolToF32 => map(a, |x| (x as f32).to_bits()),
        Un::CountOnes => map(a, u32::count_ones),
        Un::LeadingZeros => map(a, u32::leading_zeros),
        Un::TrailingZeros => map(a, u32::trailing_zeros),
        Un::ReverseBits => map(a, u32::reverse_bits),
        Un::FirstTrailing => map(a, |x| if x == 0 { u32::MAX } else { x.trailing_zeros() }),
        Un::FirstLeadingU => map(a, |x| 31u32.wrapping_sub(x.leading_zeros())),
        Un::FirstLeadingS => map(a, |x| {
            let x = if (x as i32) < 0 { !x } else { x };
            31u32.wrapping_sub(x.leading_zeros())
        }),
        Un::FrexpFract => map_f(a, |x| frexp(x).0),
        Un::FrexpExp => map(a, |x| frexp(f32::from_bits(x)).1 as u32),
        Un::UnpackSnorm8(i) => map(a, |x| ((byte(x, i.into()) as i8 as f32) / 127.0).max(-1.0).to_bits()),
        Un::UnpackUnorm8(i) => map(a, |x| (byte(x, i.into()) as f32 / 255.0).to_bits()),
        Un::UnpackI8(i) => map(a, |x| byte(x, i.into()) as i8 as i32 as u32),
        Un::UnpackU8(i) => map(a, |x| byte(x, i.into())),
        Un::UnpackSnorm16(i) => map(a, |x| (((x >> (16 * u32::from(i))) as i16 as f32) / 32767.0).max(-1.0).to_bits()),
        Un::UnpackUnorm16(i) => map(a, |x| (((x >> (16 * u32::from(i))) as u16 as f32) / 65535.0).to_bits()),
        Un::UnpackHalf(i) => map(a, |x| f16::from_bits((x >> (16 * u32::from(i))) as u16).to_f32().to_bits()),
        Un::PackSnorm8(i) => map(a, |x| (snorm(x, 127.0) & 0xff) << (8 * u32::from(i))),
        Un::PackUnorm8(i) => map(a, |x| (unorm(x, 255.0) & 0xff) << (8 * u32::from(i))),
        Un::PackI8(i) | Un::PackU8(i) => map(a, |x| (x & 0xff) << (8 * u32::from(i))),
        Un::PackI8Clamp(i) => map(a, |x| ((x as i32).clamp(-128, 127) as u32 & 0xff) << (8 * u32::from(i))),
        Un::PackU8Clamp(i) => map(a, |x| x.min(255) << (8 * u32::from(i))),
    }
}

/// Three-operand operation in every lane.
// `clamp` would keep a NaN where `max` and `min` give a number.
#[allow(clippy::manual_clamp)]
#[inline]
pub fn tern(f: Tern, a: &Lanes, b: &Lanes, c: &Lanes) -> Lanes {
    let mut r = [0; LANES];
    macro_rules! float {
        (|$x:ident, $y:ident, $z:ident| $e:expr) => {
            for i in 0..LANES {
                let ($x, $y, $z) = (f32::from_bits(a[i]), f32::from_bits(b[i]), f32::from_bits(c[i]));
                r[i] = f32::to_bits($e);
            }
        };
    }
    match f {
        Tern::Select => {
            for i in 0..LANES {
                r[i] = if c[i] != 0 { a[i] } else { b[i] };
            }
        }
        Tern::FmaF => float!(|x, y, z| x.mul_add(y, z)),
        Tern::ClampF => float!(|x, lo, hi| x.max(lo).min(hi)),
        Tern::MixF => float!(|x, y, t| x * (1.0 - t) + y * t),
        Tern::SmoothStep => float!(|lo, hi, x| {
            let t = ((x - lo) / (hi - lo)).max(0.0).min(1.0);
            t * t * (3.0 - 2.0 * t)
        }),
        Tern::ExtractU => {
            for i in 0..LANES {
                let (offset, count) = field(b[i], c[i]);
                r[i] = if count == 0 { 0 } else { a[i] << (32 - offset - count) >> (32 - count) };
            }
        }
        Tern::ExtractS => {
            for i in 0..LANES {
                let (offset, count) = field(b[i], c[i]);
                r[i] = if count == 0 { 0 } else { ((a[i] << (32 - offset - count)) as i32 >> (32 - count)) as u32 };
            }
        }
    }
    r
}

/// Offset and count of a bit field, clamped to the word as WGSL says.
fn field(offset: u32, count: u32) -> (u32, u32) {
    let offset = offset.min(32);
    (offset, count.min(32 - offset))
}

/// `a` with the bits of the field replaced by the low bits of `b`.
pub fn insert_bits(a: &Lanes, b: &Lanes, offset: &Lanes, count: &Lanes) -> Lanes {
    let mut r = *a;
    for i in 0..LANES {
        let (o, n) = field(offset[i], count[i]);
        if n > 0 {
            let mask = (u32::MAX >> (32 - n)) << o;
            r[i] = a[i] & !mask | (b[i] << o) & mask;
        }
    }
    r
}

/// Lanes whose word is not zero.
#[inline]
pub fn nonzero(a: &Lanes) -> u32 {
    let mut m = 0;
    for (i, x) in a.iter().enumerate() {
        m |= u32::from(*x != 0) << i;
    }
    m
}

/// Is any lane a NaN, active or not.
#[inline]
pub fn any_nan(a: &Lanes) -> bool {
    let mut any = false;
    for x in a {
        any |= x & 0x7fff_ffff > 0x7f80_0000;
    }
    any
}

/// Lanes that hold a NaN.
pub fn nan_lanes(a: &Lanes) -> u32 {
    a.iter().enumerate().fold(0, |m, (i, x)| m | u32::from(x & 0x7fff_ffff > 0x7f80_0000) << i)
}
