//! Selection of the smallest of many values.

use std::cmp::Ordering;

use crate::Real;

/// Number of values tested together: few pairs pass, and the test of a group uses vector
/// instructions.
pub(super) const GROUP_SIZE: usize = 32;
/// Number of values in each group from which a first threshold is computed.
const SMALLEST_OF: usize = 16;

/// The `count` smallest values not above a threshold.
pub(in crate::graph::neighbours) struct Smallest<E> {
    /// A superset of the smallest values.
    kept: Vec<(E, u32)>,
    count: usize,
    threshold: E,
}

impl<E: Real> Smallest<E> {
    pub fn new() -> Self {
        Self { kept: Vec::new(), count: 0, threshold: E::INFINITY }
    }

    /// Removes all values and sets count and threshold.
    pub fn restart(&mut self, count: usize, threshold: E) {
        self.kept.clear();
        (self.count, self.threshold) = (count, threshold);
    }

    /// Offers the sums of `values` and `more`, whose indices begin at `first`; `spare` is a buffer.
    #[inline(always)]
    pub fn offer(&mut self, values: &[E], more: &[E], first: usize, spare: &mut Vec<E>) {
        if self.threshold == E::INFINITY {
            self.lower_threshold(values, more, spare);
        }
        let whole = values.len() / GROUP_SIZE * GROUP_SIZE;
        let groups = values[..whole].chunks_exact(GROUP_SIZE).zip(more[..whole].chunks_exact(GROUP_SIZE));
        for (group, (values, more)) in groups.enumerate() {
            let threshold = self.threshold;
            if values.iter().zip(more).fold(0, |any, (&a, &b)| any | u8::from(a + b <= threshold)) != 0 {
                self.keep(values, more, first + group * GROUP_SIZE);
            }
        }
        self.keep(&values[whole..], &more[whole..], first + whole);
    }

    /// The smallest values, in any order.
    pub fn found(&mut self) -> &mut [(E, u32)] {
        self.select();
        &mut self.kept
    }

    /// Finds a threshold that `count` of these values do not exceed.
    ///
    /// The values are divided into groups. `count` of the minima of the groups do not exceed the
    /// `count`-th smallest of them.
    #[inline(always)]
    fn lower_threshold(&mut self, values: &[E], more: &[E], spare: &mut Vec<E>) {
        let groups = (values.len() / SMALLEST_OF).max(values.len().min(2 * self.count));
        if groups < self.count || groups == 0 {
            return;
        }
        spare.clear();
        spare.extend(values.iter().zip(more).map(|(&a, &b)| a + b).take(groups));
        for (values, more) in values.chunks_exact(groups).zip(more.chunks_exact(groups)).skip(1) {
            for (smallest, (&a, &b)) in spare.iter_mut().zip(values.iter().zip(more)) {
                *smallest = if a + b < *smallest { a + b } else { *smallest };
            }
        }
        let order = |a: &E, b: &E| a.partial_cmp(b).unwrap_or(Ordering::Equal);
        self.threshold = *spare.select_nth_unstable_by(self.count - 1, order).1;
    }

    /// Values above this are excluded.
    #[inline(always)]
    pub fn threshold(&self) -> E {
        self.threshold
    }

    /// Keeps the values of a group, at most [`GROUP_SIZE`], that are not above the threshold.
    #[inline(always)]
    pub fn keep(&mut self, values: &[E], more: &[E], first: usize) {
        let (threshold, kept) = (self.threshold, &mut self.kept);
        for_each_place(
            values.len(),
            |i| values[i] + more[i] <= threshold,
            |i| kept.push((values[i] + more[i], (first + i) as u32)),
        );
        // A selection from many values at a time is cheaper than a sorted list.
        if self.kept.len() > 2 * self.count + GROUP_SIZE {
            self.select();
        }
    }

    /// Keeps the `count` smallest values; ties are broken by index.
    fn select(&mut self) {
        if self.kept.len() > self.count {
            let (_, last, _) = self.kept.select_nth_unstable_by(self.count - 1, by_value);
            self.threshold = last.0;
            self.kept.truncate(self.count);
        }
    }
}

/// Calls `visit` for the indices below `count`, at most [`GROUP_SIZE`], that pass a test.
///
/// One byte for each test: for a whole group of known length these are a few vector instructions. A
/// word of bits would take as many shifts as tests.
#[inline(always)]
pub(super) fn for_each_place(count: usize, passes: impl Fn(usize) -> bool, mut visit: impl FnMut(usize)) {
    let mut passed = [0_u8; GROUP_SIZE];
    passed[..count].iter_mut().enumerate().for_each(|(i, passed)| *passed = u8::from(passes(i)));
    for (word, bytes) in passed.as_chunks::<8>().0.iter().enumerate() {
        let mut bits = u64::from_le_bytes(*bytes);
        while bits != 0 {
            visit(8 * word + bits.trailing_zeros() as usize / 8);
            bits &= bits - 1;
        }
    }
}

/// Orders by value, then by index.
pub(in crate::graph::neighbours) fn by_value<E: Real>(a: &(E, u32), b: &(E, u32)) -> Ordering {
    a.0.partial_cmp(&b.0).unwrap_or(Ordering::Equal).then(a.1.cmp(&b.1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ground::random::Stream;

    #[test]
    fn selection_equals_sorting() {
        let mut stream = Stream::new(5, 0);
        let (mut smallest, mut spare) = (Smallest::new(), Vec::new());
        for (len, count) in [(1, 1), (1, 5), (31, 4), (100, 1), (512, 21), (2000, 60), (2000, 1999), (700, 900)] {
            // Few distinct values give many ties.
            for distinct in [3, 50, 1 << 20] {
                for threshold in [f32::INFINITY, 0.7, 0.1] {
                    let mut draw = || (0..len).map(|_| stream.below(distinct) as f32 / distinct as f32).collect();
                    let (a, b): (Vec<f32>, Vec<f32>) = (draw(), draw());
                    let sums = a.iter().zip(&b).map(|(a, b)| a + b).zip(0..);
                    let mut expected: Vec<(f32, u32)> = sums.filter(|&(sum, _)| sum <= threshold).collect();
                    expected.sort_by(by_value);
                    expected.truncate(count);
                    for piece in [len, 64] {
                        smallest.restart(count, threshold);
                        for (k, (a, b)) in a.chunks(piece).zip(b.chunks(piece)).enumerate() {
                            smallest.offer(a, b, k * piece, &mut spare);
                        }
                        let mut found = smallest.found().to_vec();
                        found.sort_by(by_value);
                        assert_eq!(found, expected, "{len} {count} {distinct} {threshold} {piece}");
                    }
                }
            }
        }
    }
}
