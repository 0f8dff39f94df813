//! Memory of large blocks of vectors.
//!
//! A block of a hundred thousand rows takes tens of megabytes. In ordinary pages its first use
//! costs thousands of page faults, and random reads miss the translation cache: the second of two
//! steps took 1.5 times as long as the first. Large blocks therefore have their own mapping with
//! huge pages. A dropped mapping is reused by the next block of about its size; otherwise a tenth
//! of the time of a solver is the system clearing pages (see `idle`).

use memmap2::MmapMut;

use crate::ground::{idle, memory};
use crate::{Error, Real, Result};

/// Blocks of at least this size have their own mapping.
const LARGE_BYTES: usize = 1 << 18;

/// An owned slice of elements.
#[derive(Debug)]
pub(crate) enum Block<T> {
    Small(Vec<T>),
    Large { map: Mapping, len: usize },
}

impl<T: Real> Block<T> {
    /// All elements 0.
    pub fn zeros(len: usize) -> Result<Self> {
        Self::new(len, true)
    }

    /// Elements of any value, zeros or those of a dropped block: the caller writes all of them.
    pub fn unset(len: usize) -> Result<Self> {
        Self::new(len, false)
    }

    fn new(len: usize, zero: bool) -> Result<Self> {
        if len.saturating_mul(size_of::<T>()) < LARGE_BYTES {
            return Ok(Self::Small(vec![T::ZERO; len]));
        }
        Mapping::new::<T>(len, zero).map(|map| Self::Large { map, len })
    }
}

impl<T: Real> std::ops::Deref for Block<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Self::Small(data) => data,
            Self::Large { map, len } => {
                bytemuck::cast_slice(&map.0.as_deref().unwrap_or_default()[..*len * size_of::<T>()])
            }
        }
    }
}

impl<T: Real> std::ops::DerefMut for Block<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match self {
            Self::Small(data) => data,
            Self::Large { map, len } => {
                bytemuck::cast_slice_mut(&mut map.0.as_deref_mut().unwrap_or_default()[..*len * size_of::<T>()])
            }
        }
    }
}

/// A mapping that is kept for reuse when it is dropped; None only during the drop.
#[derive(Debug)]
pub(crate) struct Mapping(Option<MmapMut>);

impl Mapping {
    fn new<T>(len: usize, zero: bool) -> Result<Self> {
        let bytes = len.saturating_mul(size_of::<T>());
        if let Some(mut map) = idle::take(bytes) {
            if zero {
                map[..bytes].fill(0);
            }
            return Ok(Self(Some(map)));
        }
        let bytes = memory::check_available::<T>(len)? as usize;
        let new = || MmapMut::map_anon(bytes).ok();
        let again = || {
            idle::release();
            new()
        };
        let map = new().or_else(again).ok_or(Error::Allocation { bytes: bytes as u64 })?;
        // This is advice: a system without huge pages uses small ones.
        #[cfg(target_os = "linux")]
        let _ = map.advise(memmap2::Advice::HugePage);
        Ok(Self(Some(map)))
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        if let Some(map) = self.0.take() {
            idle::give(map);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_and_large_blocks_start_at_zero_and_keep_their_elements() {
        let _reuse = idle::Reuse::new();
        for len in [0, 10, LARGE_BYTES / 8 + 3, LARGE_BYTES / 8 + 3] {
            let mut block = Block::<f64>::zeros(len).unwrap();
            assert_eq!(block.len(), len);
            assert!(block.iter().all(|&v| v == 0.0));
            block.iter_mut().enumerate().for_each(|(i, v)| *v = i as f64);
            assert!(block.iter().enumerate().all(|(i, &v)| v == i as f64));
        }
    }
}
