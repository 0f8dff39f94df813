//! Checked allocation.
//!
//! Vectors and blocks whose size follows from the data or from arguments are allocated here. The
//! caller gets an error where the standard library would abort the process. Large requests are also
//! compared with the memory that is available: the system grants more than it has and ends the
//! process when the pages are written.
//!
//! The functions are for requests of megabytes. Smaller ones are served from [`super::reserve`] if
//! the memory ends.

use bytemuck::Zeroable;

use crate::ground::available::available_bytes;
use crate::ground::idle;
use crate::{Error, Result};

/// Requests of at least this size are compared with the available memory, which takes about 0.1 ms.
const LARGE_BYTES: u64 = 64 << 20;

/// A vector of zeros.
pub fn zeros<T: Zeroable>(len: usize) -> Result<Vec<T>> {
    let bytes = check_available::<T>(len)?;
    bytemuck::allocation::try_zeroed_slice_box(len).map(<[T]>::into_vec).map_err(|()| Error::Allocation { bytes })
}

/// An empty vector with room for `len` elements.
pub fn with_capacity<T>(len: usize) -> Result<Vec<T>> {
    let bytes = check_available::<T>(len)?;
    let mut vector = Vec::new();
    vector.try_reserve_exact(len).map_err(|_| Error::Allocation { bytes })?;
    Ok(vector)
}

/// The elements of an iterator that knows their number.
pub fn collect<T>(elements: impl ExactSizeIterator<Item = T>) -> Result<Vec<T>> {
    let mut vector = with_capacity(elements.len())?;
    vector.extend(elements);
    Ok(vector)
}

/// A copy of a slice.
pub fn copy<T: Copy>(elements: &[T]) -> Result<Vec<T>> {
    let mut vector = with_capacity(elements.len())?;
    vector.extend_from_slice(elements);
    Ok(vector)
}

/// Checks that `len` elements fit into the memory and returns their bytes.
pub(crate) fn check_available<T>(len: usize) -> Result<u64> {
    let bytes = (len as u64).saturating_mul(size_of::<T>() as u64);
    require(bytes).map(|()| bytes)
}

/// Returns [`Error::Memory`] if this many bytes, many megabytes, are not available.
pub fn require(bytes: u64) -> Result<()> {
    if bytes < LARGE_BYTES || available_bytes().is_none_or(|limit| bytes <= limit) {
        return Ok(());
    }
    // Idle memory of dropped blocks counts as used.
    idle::release();
    match available_bytes().filter(|&limit| bytes > limit) {
        Some(limit) => Err(Error::Memory { needed: bytes, limit }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_have_their_elements() {
        assert_eq!(zeros::<f64>(3).unwrap(), [0.0; 3]);
        assert_eq!(collect((0..3).map(|i| 2 * i)).unwrap(), [0, 2, 4]);
        assert_eq!(copy(&[1, 2]).unwrap(), [1, 2]);
        assert!(with_capacity::<u8>(9).unwrap().capacity() >= 9);
    }

    #[test]
    fn requests_beyond_the_memory_are_refused() {
        for len in [1 << 45, usize::MAX / 8, usize::MAX] {
            assert!(matches!(zeros::<f64>(len), Err(Error::Memory { .. } | Error::Allocation { .. })));
            assert!(with_capacity::<u32>(len).is_err());
        }
    }
}
