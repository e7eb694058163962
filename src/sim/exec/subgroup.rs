//! Subgroup operations: a warp is a subgroup, so each is a function of one register.

use super::super::code::*;
use super::warp::Warp;
use half::f16;

pub fn run(w: &mut Warp, op: &SubgroupOp) {
    let a = w.regs[op.a as usize];
    let mask = w.mask;
    let mut r = [0; LANES];
    let is_active = |lane: usize| lane < LANES && mask >> lane & 1 != 0;
    let index = if op.index == NONE { [0; LANES] } else { w.regs[op.index as usize] };
    let first = mask.trailing_zeros() as usize & 31;
    match op.f {
        SubFn::Ballot => {
            let votes = (0..LANES).fold(0, |m, i| m | u32::from(is_active(i) && a[i] != 0) << i);
            r = [votes; LANES];
        }
        SubFn::All => r = [u32::from((0..LANES).all(|i| !is_active(i) || a[i] != 0)); LANES],
        SubFn::Any => r = [u32::from((0..LANES).any(|i| is_active(i) && a[i] != 0)); LANES],
        SubFn::BroadcastFirst => r = [a[first]; LANES],
        SubFn::Broadcast
        | SubFn::Shuffle
        | SubFn::ShuffleDown
        | SubFn::ShuffleUp
        | SubFn::ShuffleXor
        | SubFn::QuadBroadcast
        | SubFn::QuadX
        | SubFn::QuadY
        | SubFn::QuadDiagonal => {
            for i in 0..LANES {
                let k = index[i] as usize;
                let from = match op.f {
                    SubFn::ShuffleDown => i.wrapping_add(k),
                    SubFn::ShuffleUp => i.wrapping_sub(k),
                    SubFn::ShuffleXor => i ^ k,
                    SubFn::QuadBroadcast => i / 4 * 4 + k % 4,
                    SubFn::QuadX => i ^ 1,
                    SubFn::QuadY => i ^ 2,
                    SubFn::QuadDiagonal => i ^ 3,
                    _ => k,
                };
                // A lane that does not take part has no defined value to give: the own one stands in.
                r[i] = if is_active(from) { a[from] } else { a[i] };
            }
        }
        f => {
            let mut acc = identity(f);
            for i in 0..LANES {
                if !is_active(i) {
                    continue;
                }
                let before = acc;
                acc = combine(f, acc, a[i]);
                if op.half {
                    acc = f16::from_f32(f32::from_bits(acc)).to_f32().to_bits();
                }
                match op.scan {
                    Scan::Inclusive => r[i] = acc,
                    Scan::Exclusive => r[i] = before,
                    Scan::Reduce => {}
                }
            }
            if op.scan == Scan::Reduce {
                r = [acc; LANES];
            }
        }
    }
    w.regs[op.d as usize] = r;
}

fn identity(f: SubFn) -> u32 {
    match f {
        SubFn::MulI => 1,
        SubFn::MulF => 1f32.to_bits(),
        SubFn::MinU | SubFn::And => u32::MAX,
        SubFn::MinS => i32::MAX as u32,
        SubFn::MaxS => i32::MIN as u32,
        SubFn::MinF => f32::INFINITY.to_bits(),
        SubFn::MaxF => f32::NEG_INFINITY.to_bits(),
        _ => 0,
    }
}

fn combine(f: SubFn, x: u32, y: u32) -> u32 {
    let float = |g: fn(f32, f32) -> f32| g(f32::from_bits(x), f32::from_bits(y)).to_bits();
    match f {
        SubFn::AddI => x.wrapping_add(y),
        SubFn::MulI => x.wrapping_mul(y),
        SubFn::AddF => float(|a, b| a + b),
        SubFn::MulF => float(|a, b| a * b),
        SubFn::MinF => float(f32::min),
        SubFn::MaxF => float(f32::max),
        SubFn::MinU => x.min(y),
        SubFn::MaxU => x.max(y),
        SubFn::MinS => (x as i32).min(y as i32) as u32,
        SubFn::MaxS => (x as i32).max(y as i32) as u32,
        SubFn::And => x & y,
        SubFn::Or => x | y,
        SubFn::Xor => x ^ y,
        _ => y,
    }
}
