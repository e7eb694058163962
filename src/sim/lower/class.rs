//! What each operation counts as, and which f16 results need rounding.

use super::super::code::{Bin, Class, Kind, Un};

pub fn float_class(kind: Kind) -> Class {
    if kind == Kind::F16 { Class::F16 } else { Class::F32 }
}

pub fn half_result(f: Bin, kind: Kind) -> bool {
    use Bin::*;
    kind == Kind::F16 && matches!(f, AddF | SubF | MulF | DivF | RemF | Atan2 | Pow | Step | Ldexp)
}

/// Does the result of an f16 operation need rounding (is it not exact).
pub fn rounds(f: Un) -> bool {
    use Un::*;
    matches!(
        f,
        Fract
            | Sqrt
            | InverseSqrt
            | Exp
            | Exp2
            | Log
            | Log2
            | Sin
            | Cos
            | Tan
            | Sinh
            | Cosh
            | Tanh
            | Asin
            | Acos
            | Atan
            | Asinh
            | Acosh
            | Atanh
            | Radians
            | Degrees
            | U32ToF32
            | I32ToF32
    )
}

pub fn bin_class(f: Bin, kind: Kind) -> (Class, u16) {
    use Bin::*;
    match f {
        AddF | SubF | MulF => (float_class(kind), 1),
        DivF | RemF => (Class::Special, 1),
        Atan2 | Pow => (Class::Special, 1),
        EqF | NeF | LtF | LeF | MinF | MaxF | Step | Ldexp => (float_class(kind), 0),
        Pack2x16Snorm | Pack2x16Unorm | Pack2x16Float => (Class::Convert, 0),
        _ => (Class::Integer, 0),
    }
}

pub fn un_class(f: Un, kind: Kind) -> (Class, u16) {
    use Un::*;
    match f {
        NegF | AbsF | SignF | Saturate | IsNan | IsInf => (float_class(kind), 0),
        Ceil | Floor | Round | Trunc => (float_class(kind), 0),
        Fract => (float_class(kind), 1),
        Sqrt | InverseSqrt | Exp | Exp2 | Log | Log2 | Sin | Cos | Tan | Sinh | Cosh | Tanh | Asin | Acos | Atan
        | Asinh | Acosh | Atanh => (Class::Special, 1),
        Radians | Degrees => (float_class(kind), 1),
        NegI | NotI | NotB | AbsS | SignS | CountOnes | LeadingZeros | TrailingZeros | ReverseBits | FirstTrailing
        | FirstLeadingU | FirstLeadingS => (Class::Integer, 0),
        RoundF16 => (Class::Free, 0),
        _ => (Class::Convert, 0),
    }
}
