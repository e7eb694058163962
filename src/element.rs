//! Element types: their width, their names in both kernel languages, and their rounding.

use crate::error::{Error, Result};
use std::fmt;
use std::str::FromStr;

/// The type of one matrix element.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)] // the names say it all
pub enum Element {
    F32,
    F64,
    F16,
    Bf16,
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    /// 16 bytes moved as they are, such as a complex number of two doubles.
    B128,
}

impl Element {
    /// Every element type.
    pub const ALL: &'static [Element] = &[
        Element::F32,
        Element::F64,
        Element::F16,
        Element::Bf16,
        Element::I8,
        Element::U8,
        Element::I16,
        Element::U16,
        Element::I32,
        Element::U32,
        Element::I64,
        Element::U64,
        Element::B128,
    ];

    /// Bytes of one element.
    pub const fn size(self) -> u64 {
        match self {
            Element::I8 | Element::U8 => 1,
            Element::F16 | Element::Bf16 | Element::I16 | Element::U16 => 2,
            Element::F32 | Element::I32 | Element::U32 => 4,
            Element::F64 | Element::I64 | Element::U64 => 8,
            Element::B128 => 16,
        }
    }

    /// The name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Element::F32 => "f32",
            Element::F64 => "f64",
            Element::F16 => "f16",
            Element::Bf16 => "bf16",
            Element::I8 => "i8",
            Element::U8 => "u8",
            Element::I16 => "i16",
            Element::U16 => "u16",
            Element::I32 => "i32",
            Element::U32 => "u32",
            Element::I64 => "i64",
            Element::U64 => "u64",
            Element::B128 => "b128",
        }
    }

    /// The value of `bytes` (of [`size`](Self::size) length), for the floating-point types.
    pub fn to_f64(self, bytes: &[u8]) -> Option<f64> {
        Some(match self {
            Element::F32 => f32::from_le_bytes(bytes.try_into().ok()?).into(),
            Element::F64 => f64::from_le_bytes(bytes.try_into().ok()?),
            Element::F16 => half::f16::from_le_bytes(bytes.try_into().ok()?).into(),
            Element::Bf16 => half::bf16::from_le_bytes(bytes.try_into().ok()?).into(),
            _ => return None,
        })
    }

    /// Appends `value`, rounded to nearest even, for the floating-point types; nothing for others.
    pub fn push_rounded(self, value: f64, into: &mut Vec<u8>) {
        match self {
            Element::F32 => into.extend((value as f32).to_le_bytes()),
            Element::F64 => into.extend(value.to_le_bytes()),
            Element::F16 => into.extend(half::f16::from_f64(value).to_le_bytes()),
            Element::Bf16 => into.extend(half::bf16::from_f64(value).to_le_bytes()),
            _ => {}
        }
    }

    /// The unit roundoff of a floating-point type: half the distance from 1 to the next value.
    pub const fn unit_roundoff(self) -> Option<f64> {
        match self {
            Element::F32 => Some(1.0 / (1u64 << 24) as f64),
            Element::F64 => Some(1.0 / (1u64 << 53) as f64),
            Element::F16 => Some(1.0 / (1u64 << 11) as f64),
            Element::Bf16 => Some(1.0 / (1u64 << 8) as f64),
            _ => None,
        }
    }

    /// The least positive number of a floating-point type.
    pub const fn least_positive(self) -> Option<f64> {
        match self {
            Element::F32 => Some(f64::from_bits((1023 - 149) << 52)),
            Element::F64 => Some(f64::from_bits(1)),
            Element::F16 => Some(f64::from_bits((1023 - 24) << 52)),
            Element::Bf16 => Some(f64::from_bits((1023 - 133) << 52)),
            _ => None,
        }
    }

    /// The least magnitude that rounds to infinity: half a step beyond the largest number.
    pub const fn overflow(self) -> Option<f64> {
        match self {
            Element::F32 => Some((2.0 - 1.0 / (1u64 << 24) as f64) * f64::from_bits((1023 + 127) << 52)),
            Element::F64 => Some(f64::INFINITY),
            Element::F16 => Some(65_520.0),
            Element::Bf16 => Some((2.0 - 1.0 / (1u64 << 8) as f64) * f64::from_bits((1023 + 127) << 52)),
            _ => None,
        }
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Element {
    type Err = Error;
    fn from_str(word: &str) -> Result<Self> {
        Element::ALL.iter().copied().find(|e| e.name() == word).ok_or_else(|| Error::Unknown {
            kind: "element",
            word: word.into(),
            known: Element::ALL.iter().map(|e| e.name().to_string()).collect(),
        })
    }
}

/// The machine word that a kernel which only moves data uses for an element of `size` bytes, in
/// CUDA and in WGSL. WGSL has no 1- or 2-byte word that can be stored alone: `None` there.
pub const fn moving_word(size: u64) -> (&'static str, Option<&'static str>) {
    match size {
        1 => ("unsigned char", None),
        2 => ("unsigned short", None),
        4 => ("unsigned int", Some("u32")),
        8 => ("uint2", Some("vec2<u32>")),
        _ => ("uint4", Some("vec4<u32>")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bf16_rounds_to_nearest_even() {
        for (bits, expected) in [(0x3F80_8000u32, 0x3F80u16), (0x3F81_8000, 0x3F82)] {
            let mut bytes = Vec::new();
            Element::Bf16.push_rounded(f32::from_bits(bits).into(), &mut bytes);
            assert_eq!(u16::from_le_bytes([bytes[0], bytes[1]]), expected);
        }
    }

    #[test]
    fn the_ends_of_each_type_are_where_rounding_says() {
        let rounded = |element: Element, value: f64| {
            let mut bytes = Vec::new();
            element.push_rounded(value, &mut bytes);
            element.to_f64(&bytes)
        };
        for element in [Element::F32, Element::F16, Element::Bf16] {
            let (Some(least), Some(overflow)) = (element.least_positive(), element.overflow()) else { panic!() };
            assert_eq!(rounded(element, least), Some(least), "{element}");
            assert_eq!(rounded(element, least / 2.0), Some(0.0), "{element}");
            assert_eq!(rounded(element, overflow), Some(f64::INFINITY), "{element}");
            assert!(rounded(element, overflow * (1.0 - 1e-6)).is_some_and(f64::is_finite), "{element}");
        }
    }

    #[test]
    fn names_round_trip() {
        for &e in Element::ALL {
            assert_eq!(e.name().parse::<Element>(), Ok(e));
        }
        assert!("float".parse::<Element>().is_err());
    }
}
