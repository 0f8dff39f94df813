//! Tests of short groups of values at once.

/// Number of values tested together.
pub(in crate::graph::neighbours) const GROUP: usize = 16;

/// Returns the pairs of elements that pass a test, as bits.
///
/// Almost every group fails as a whole. For a full group that test is a few vector instructions.
#[inline(always)]
pub(in crate::graph::neighbours) fn which<E: Copy>(a: &[E], b: &[E], test: impl Fn(E, E) -> bool) -> u32 {
    let whole: Option<(&[E; GROUP], &[E; GROUP])> = a.try_into().ok().zip(b.try_into().ok());
    if let Some((a, b)) = whole {
        let mut any = false;
        for k in 0..GROUP {
            any |= test(a[k], b[k]);
        }
        if !any {
            return 0;
        }
    }
    a.iter().zip(b).enumerate().fold(0, |bits, (k, (&a, &b))| bits | u32::from(test(a, b)) << k)
}

/// Positions of the set bits.
#[inline(always)]
pub(in crate::graph::neighbours) fn set_bits(mut bits: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let next = (bits != 0).then(|| bits.trailing_zeros() as usize);
        bits &= bits.wrapping_sub(1);
        next
    })
}
