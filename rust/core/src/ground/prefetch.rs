//! Prefetch of memory that is read soon.

/// Requests the cache lines of `len` elements from `at`. No operation where stable Rust has no such
/// instruction.
#[inline(always)]
pub(crate) fn prefetch<T>(data: &[T], at: usize, len: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        const LINE: usize = 64;
        let start = data.as_ptr().wrapping_add(at).cast::<i8>();
        let mut byte = 0;
        while byte < len * size_of::<T>() {
            // SAFETY: a prefetch never faults, whatever the address.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(start.wrapping_add(byte)) };
            byte += LINE;
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (data, at, len);
}
