//! Seeded streams of random numbers (PCG64).

use rand_pcg::Pcg64;
use rand_pcg::rand_core::{Rng as _, SeedableRng as _};

/// A stream of random numbers.
///
/// Streams with different keys under one seed are independent. Every parallel piece and every
/// purpose has its own key, so no result depends on the order of work.
#[derive(Debug, Clone)]
pub struct Stream(Pcg64);

impl Stream {
    /// The stream with this key under `seed`.
    pub fn new(seed: u64, key: u64) -> Self {
        Self(Pcg64::seed_from_u64(mix(seed ^ mix(key))))
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in `[0, 1)`.
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Uniform in `0..n`; `n` must be positive.
    pub fn below(&mut self, n: usize) -> usize {
        let n = n as u64;
        // Rejects the end of the range, which would favour small results.
        let limit = u64::MAX - u64::MAX % n;
        loop {
            let bits = self.bits();
            if bits < limit {
                return (bits % n) as usize;
            }
        }
    }

    /// -1 or 1.
    pub fn sign(&mut self) -> f64 {
        if self.bits() >> 63 == 0 { 1.0 } else { -1.0 }
    }
}

/// Spreads nearby numbers over all bits (the finaliser of `SplitMix64`).
pub fn mix(key: u64) -> u64 {
    let key = key.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let key = (key ^ (key >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let key = (key ^ (key >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    key ^ (key >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_repeat_and_differ() {
        let draw = |seed, key| -> Vec<u64> {
            let mut stream = Stream::new(seed, key);
            (0..4).map(|_| stream.bits()).collect()
        };
        assert_eq!(draw(1, 2), draw(1, 2));
        assert_ne!(draw(1, 2), draw(1, 3));
        assert_ne!(draw(1, 2), draw(2, 2));
        assert_ne!(draw(1, 2), draw(2, 1));
    }

    #[test]
    fn integers_are_uniform() {
        let mut stream = Stream::new(7, 0);
        let mut counts = [0_u32; 5];
        (0..10_000).for_each(|_| counts[stream.below(5)] += 1);
        assert!(counts.iter().all(|&c| (1850..2150).contains(&c)), "{counts:?}");
        assert!((0..1000).map(|_| stream.uniform()).all(|u| (0.0..1.0).contains(&u)));
    }
}
