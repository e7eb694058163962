//! Seeded inputs: every element is a function of (seed, operand, index), so that any part of an
//! input can be made again.

use crate::element::Element;
use crate::op::Distribution;
use rayon::prelude::*;

/// An endless stream of 64-bit words that can be read anywhere (SplitMix64's mixing of a counter).
#[derive(Debug, Clone, Copy)]
pub struct Stream {
    key: u64,
}

impl Stream {
    /// The stream of one operand.
    pub const fn new(seed: u64, operand: u64) -> Self {
        Stream { key: mix(seed ^ mix(operand.wrapping_add(0x9E37_79B9_7F4A_7C15))) }
    }

    /// Word `index`.
    pub const fn bits(self, index: u64) -> u64 {
        mix(self.key.wrapping_add(index.wrapping_mul(0x9E37_79B9_7F4A_7C15)))
    }

    /// Element `index` of a uniform distribution over [-1, 1).
    pub fn uniform(self, index: u64) -> f64 {
        const SCALE: f64 = 1.0 / (1u64 << 52) as f64;
        (self.bits(index) >> 11) as f64 * SCALE - 1.0
    }
}

const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// A seeded permutation of the numbers below `count`: where number `index` goes.
pub fn permuted(seed: u64, index: u64, count: u64) -> u64 {
    const FACTORS: [u64; 3] = [0x9E37_79B9_7F4A_7C15, 0xBF58_476D_1CE4_E5B9, 0x94D0_49BB_1331_11EB];
    let bits = 64 - count.max(2).saturating_sub(1).leading_zeros();
    let mask = u64::MAX >> (64 - bits);
    let mut at = index;
    // Each step is a bijection of `bits` bits; numbers that fall outside go round again.
    loop {
        for factor in FACTORS {
            at = at.wrapping_mul(factor | 1).wrapping_add(mix(seed ^ factor)) & mask;
            at ^= at >> bits.div_ceil(2);
        }
        if at < count || index >= count {
            return at;
        }
    }
}

/// The bytes of `count` elements of operand number `operand`.
pub fn elements(seed: u64, operand: u64, element: Element, count: u64, distribution: Distribution) -> Vec<u8> {
    const CHUNK: usize = 1 << 16;
    let stream = Stream::new(seed, operand);
    let mut bytes = vec![0u8; (count * element.size()) as usize];
    match distribution {
        Distribution::Bits => bytes.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, bytes)| {
            let first = (chunk * CHUNK / 8) as u64;
            for (index, word) in bytes.chunks_mut(8).enumerate() {
                let bits = stream.bits(first + index as u64).to_le_bytes();
                word.copy_from_slice(&bits[..word.len()]);
            }
        }),
        Distribution::Uniform => {
            let size = element.size() as usize;
            bytes.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, bytes)| {
                let first = (chunk * CHUNK / size) as u64;
                let mut rounded = Vec::with_capacity(bytes.len());
                for index in 0..(bytes.len() / size) as u64 {
                    element.push_rounded(stream.uniform(first + index), &mut rounded);
                }
                bytes[..rounded.len()].copy_from_slice(&rounded);
            });
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_bytes_and_another_does_not() {
        let a = elements(1, 0, Element::F32, 1000, Distribution::Uniform);
        assert_eq!(a, elements(1, 0, Element::F32, 1000, Distribution::Uniform));
        assert_ne!(a, elements(2, 0, Element::F32, 1000, Distribution::Uniform));
        assert_ne!(a, elements(1, 1, Element::F32, 1000, Distribution::Uniform));
    }

    #[test]
    fn a_permutation_meets_every_number_once() {
        for count in [1u64, 2, 3, 7, 64, 1000, 1025] {
            let mut seen: Vec<u64> = (0..count).map(|i| permuted(5, i, count)).collect();
            seen.sort_unstable();
            assert!(seen.iter().copied().eq(0..count), "{count}");
        }
        assert!((0..1000).filter(|&i| permuted(1, i, 1000) == i).count() < 10);
    }

    #[test]
    fn uniform_values_fill_the_interval() {
        let stream = Stream::new(7, 0);
        let mean: f64 = (0..10_000).map(|i| stream.uniform(i)).sum::<f64>() / 10_000.0;
        assert!((0..10_000).all(|i| (-1.0..1.0).contains(&stream.uniform(i))));
        assert!(mean.abs() < 0.03, "mean {mean}");
    }
}
