//! Scratch memory for large blocks of vectors.
//!
//! A block of a hundred thousand rows is tens of megabytes. In ordinary pages its first use costs thousands of page faults,
//! and random reads from it miss the address cache; both show (a second step cost half as much again as the first). Large
//! blocks therefore live in their own mapping, for which huge pages are asked.

use crate::Real;

/// From this size on a block gets its own mapping (the size from which NumPy does the same).
const LARGE_BYTES: usize = 4 << 20;

/// Zeroed memory for `len` elements.
#[derive(Debug)]
pub(crate) enum Block<T> {
    Small(Vec<T>),
    Large { map: memmap2::MmapMut, len: usize },
}

impl<T: Real> Block<T> {
    pub fn zeros(len: usize) -> Self {
        let bytes = len * size_of::<T>();
        if bytes >= LARGE_BYTES
            && let Ok(map) = memmap2::MmapMut::map_anon(bytes)
        {
            // Only advice: a system without huge pages goes on with small ones.
            #[cfg(target_os = "linux")]
            let _ = map.advise(memmap2::Advice::HugePage);
            return Self::Large { map, len };
        }
        Self::Small(vec![T::ZERO; len])
    }
}

impl<T> From<Vec<T>> for Block<T> {
    fn from(data: Vec<T>) -> Self {
        Self::Small(data)
    }
}

impl<T: Real> std::ops::Deref for Block<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Self::Small(data) => data,
            Self::Large { map, len } => &bytemuck::cast_slice(&map[..])[..*len],
        }
    }
}

impl<T: Real> std::ops::DerefMut for Block<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match self {
            Self::Small(data) => data,
            Self::Large { map, len } => &mut bytemuck::cast_slice_mut(&mut map[..])[..*len],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_start_at_zero_and_keep_what_is_written() {
        for len in [0, 10, LARGE_BYTES / 8 + 3] {
            let mut block = Block::<f64>::zeros(len);
            assert_eq!(block.len(), len);
            assert!(block.iter().all(|&v| v == 0.0));
            block.iter_mut().enumerate().for_each(|(i, v)| *v = i as f64);
            assert!(block.iter().enumerate().all(|(i, &v)| v == i as f64));
        }
    }
}
