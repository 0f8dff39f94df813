//! The smallest of many values, and where they stand.

use std::cmp::Ordering;

use crate::Real;

/// Values that are looked at together: few pairs are near, and so the compiler takes many at a time.
pub(super) const TOGETHER: usize = 32;
/// A first bar is found from the smallest of so many values each.
const SMALLEST_OF: usize = 16;

/// The `count` smallest values not above a bar.
pub(super) struct Smallest<E> {
    /// Among these they are.
    kept: Vec<(E, u32)>,
    count: usize,
    bar: E,
}

impl<E: Real> Smallest<E> {
    pub fn new() -> Self {
        Self { kept: Vec::new(), count: 0, bar: E::INFINITY }
    }

    /// Begins again, with no values.
    pub fn restart(&mut self, count: usize, bar: E) {
        self.kept.clear();
        (self.count, self.bar) = (count, bar);
    }

    /// Looks at the sums of `values` and `more`, which stand at `first` and after it. `spare` is overwritten.
    #[inline(always)]
    pub fn offer(&mut self, values: &[E], more: &[E], first: usize, spare: &mut Vec<E>) {
        if self.bar == E::INFINITY {
            self.lower_bar(values, more, spare);
        }
        let whole = values.len() / TOGETHER * TOGETHER;
        let groups = values[..whole].chunks_exact(TOGETHER).zip(more[..whole].chunks_exact(TOGETHER));
        for (group, (values, more)) in groups.enumerate() {
            let bar = self.bar;
            if values.iter().zip(more).fold(0, |any, (&a, &b)| any | u8::from(a + b <= bar)) != 0 {
                self.keep(values, more, first + group * TOGETHER);
            }
        }
        self.keep(&values[whole..], &more[whole..], first + whole);
    }

    /// Those found, in any order.
    pub fn found(&mut self) -> &mut [(E, u32)] {
        self.select();
        &mut self.kept
    }

    /// Finds a bar that `count` of these values do not exceed.
    ///
    /// The values are dealt into hands, and the smallest of each hand is laid out: `count` of these do not exceed the
    /// `count`-th of them.
    #[inline(always)]
    fn lower_bar(&mut self, values: &[E], more: &[E], spare: &mut Vec<E>) {
        let hands = (values.len() / SMALLEST_OF).max(values.len().min(2 * self.count));
        if hands < self.count || hands == 0 {
            return;
        }
        spare.clear();
        spare.extend(values.iter().zip(more).map(|(&a, &b)| a + b).take(hands));
        for (values, more) in values.chunks_exact(hands).zip(more.chunks_exact(hands)).skip(1) {
            for (smallest, (&a, &b)) in spare.iter_mut().zip(values.iter().zip(more)) {
                *smallest = if a + b < *smallest { a + b } else { *smallest };
            }
        }
        let order = |a: &E, b: &E| a.partial_cmp(b).unwrap_or(Ordering::Equal);
        self.bar = *spare.select_nth_unstable_by(self.count - 1, order).1;
    }

    #[inline(always)]
    fn keep(&mut self, values: &[E], more: &[E], first: usize) {
        let (bar, kept) = (self.bar, &mut self.kept);
        for_each_place(
            values.len(),
            |i| values[i] + more[i] <= bar,
            |i| kept.push((values[i] + more[i], (first + i) as u32)),
        );
        // Selecting seldom, out of many, is cheaper than keeping them in order.
        if self.kept.len() > 2 * self.count + TOGETHER {
            self.select();
        }
    }

    /// Lets go of all but the `count` smallest; of equal ones the first stay.
    fn select(&mut self) {
        if self.kept.len() > self.count {
            let (_, last, _) = self.kept.select_nth_unstable_by(self.count - 1, by_value);
            self.bar = last.0;
            self.kept.truncate(self.count);
        }
    }
}

/// Calls `see` for those of up to [`TOGETHER`] places that pass: all are tested at once, and few pass.
#[inline(always)]
pub(super) fn for_each_place(count: usize, passes: impl Fn(usize) -> bool, mut see: impl FnMut(usize)) {
    let mut passed = (0..count).fold(0_u32, |passed, i| passed | u32::from(passes(i)) << i);
    while passed != 0 {
        see(passed.trailing_zeros() as usize);
        passed &= passed - 1;
    }
}

/// By value, then by place.
pub(super) fn by_value<E: Real>(a: &(E, u32), b: &(E, u32)) -> Ordering {
    a.0.partial_cmp(&b.0).unwrap_or(Ordering::Equal).then(a.1.cmp(&b.1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ground::random::Stream;

    #[test]
    fn finds_what_sorting_finds() {
        let mut stream = Stream::new(5, 0);
        let (mut smallest, mut spare) = (Smallest::new(), Vec::new());
        for (len, count) in [(1, 1), (1, 5), (31, 4), (100, 1), (512, 21), (2000, 60), (2000, 1999), (700, 900)] {
            // Few distinct values, so that many are equal.
            for distinct in [3, 50, 1 << 20] {
                for bar in [f32::INFINITY, 0.7, 0.1] {
                    let mut draw = || (0..len).map(|_| stream.below(distinct) as f32 / distinct as f32).collect();
                    let (a, b): (Vec<f32>, Vec<f32>) = (draw(), draw());
                    let sums = a.iter().zip(&b).map(|(a, b)| a + b).zip(0..);
                    let mut expected: Vec<(f32, u32)> = sums.filter(|&(sum, _)| sum <= bar).collect();
                    expected.sort_by(by_value);
                    expected.truncate(count);
                    for piece in [len, 64] {
                        smallest.restart(count, bar);
                        for (k, (a, b)) in a.chunks(piece).zip(b.chunks(piece)).enumerate() {
                            smallest.offer(a, b, k * piece, &mut spare);
                        }
                        let mut found = smallest.found().to_vec();
                        found.sort_by(by_value);
                        assert_eq!(found, expected, "{len} {count} {distinct} {bar} {piece}");
                    }
                }
            }
        }
    }
}
