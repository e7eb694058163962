//! Operations on the registers of a lane alone: the scalar types and what is computed with them.

/// Scalar types that a register can hold. `F16` is held as the `f32` of equal value, so that
/// arithmetic is one f32 operation and a rounding; `Bool` as 0 or 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    U32,
    I32,
    F32,
    F16,
    Bool,
}

impl Kind {
    pub fn is_float(self) -> bool {
        matches!(self, Kind::F32 | Kind::F16)
    }
}

/// Two-operand lane operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bin {
    AddI,
    SubI,
    MulI,
    DivU,
    DivS,
    ModU,
    ModS,
    And,
    Or,
    Xor,
    Shl,
    ShrU,
    ShrS,
    EqI,
    NeI,
    LtU,
    LeU,
    LtS,
    LeS,
    MinU,
    MaxU,
    MinS,
    MaxS,
    AddF,
    SubF,
    MulF,
    DivF,
    RemF,
    EqF,
    NeF,
    LtF,
    LeF,
    MinF,
    MaxF,
    Atan2,
    Pow,
    Step,
    Ldexp,
    Dot4I8,
    Dot4U8,
    Pack2x16Snorm,
    Pack2x16Unorm,
    Pack2x16Float,
}

/// One-operand lane operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Un {
    NegI,
    NotI,
    NotB,
    AbsS,
    SignS,
    NegF,
    AbsF,
    SignF,
    Ceil,
    Floor,
    Round,
    Trunc,
    Fract,
    Saturate,
    Sqrt,
    InverseSqrt,
    Exp,
    Exp2,
    Log,
    Log2,
    Sin,
    Cos,
    Tan,
    Sinh,
    Cosh,
    Tanh,
    Asin,
    Acos,
    Atan,
    Asinh,
    Acosh,
    Atanh,
    Radians,
    Degrees,
    IsNan,
    IsInf,
    RoundF16,
    F32ToU32,
    F32ToI32,
    U32ToF32,
    I32ToF32,
    IntToBool,
    FloatToBool,
    BoolToF32,
    CountOnes,
    LeadingZeros,
    TrailingZeros,
    ReverseBits,
    FirstTrailing,
    FirstLeadingU,
    FirstLeadingS,
    FrexpFract,
    FrexpExp,
    /// Component `.0` of an unpacked word.
    UnpackSnorm8(u8),
    UnpackUnorm8(u8),
    UnpackI8(u8),
    UnpackU8(u8),
    UnpackSnorm16(u8),
    UnpackUnorm16(u8),
    UnpackHalf(u8),
    /// One byte of a packed word, in place: the caller ors four of them together.
    PackSnorm8(u8),
    PackUnorm8(u8),
    PackI8(u8),
    PackU8(u8),
    PackI8Clamp(u8),
    PackU8Clamp(u8),
}

/// Three-operand lane operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tern {
    /// `c != 0 ? a : b`
    Select,
    FmaF,
    ClampF,
    MixF,
    SmoothStep,
    ExtractU,
    ExtractS,
}
