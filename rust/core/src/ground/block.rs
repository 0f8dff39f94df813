//! Memory of large blocks of vectors.
//!
//! A block of a hundred thousand rows takes tens of megabytes. In ordinary pages its first use
//! costs thousands of page faults, and random reads miss the translation cache: the second of two
//! steps took 1.5 times as long as the first. Large blocks therefore have their own mapping with
//! huge pages. A dropped mapping is reused by the next block of about its size; otherwise a tenth
//! of the time of a solver is the system clearing pages. Up to 128 MB are kept, and 1 GB while a
//! [`Reuse`] exists.

use std::cmp::Reverse;
use std::sync::{Mutex, MutexGuard};

use memmap2::MmapMut;

use crate::Real;
use crate::ground::exec::lock;

/// Blocks of at least this size have their own mapping.
const LARGE_BYTES: usize = 1 << 18;

/// Most bytes kept for later blocks while a [`Reuse`] exists.
const IDLE_BYTES: usize = 1 << 30;

/// Most bytes kept at other times: enough for blocks of a few ten thousand rows.
const RESTING_BYTES: usize = 128 << 20;

/// An owned slice of elements.
#[derive(Debug)]
pub(crate) enum Block<T> {
    Small(Vec<T>),
    Large { map: Mapping, len: usize },
}

impl<T: Real> Block<T> {
    /// All elements 0.
    pub fn zeros(len: usize) -> Self {
        Self::new(len, true)
    }

    /// Elements of any value, zeros or those of a dropped block: the caller writes all of them.
    pub fn unset(len: usize) -> Self {
        Self::new(len, false)
    }

    fn new(len: usize, zero: bool) -> Self {
        let bytes = len * size_of::<T>();
        match (bytes >= LARGE_BYTES).then(|| Mapping::new(bytes, zero)).flatten() {
            Some(map) => Self::Large { map, len },
            None => Self::Small(vec![T::ZERO; len]),
        }
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
    fn new(bytes: usize, zero: bool) -> Option<Self> {
        if let Some(mut map) = Idle::lock().take(bytes) {
            if zero {
                map[..bytes].fill(0);
            }
            return Some(Self(Some(map)));
        }
        let map = MmapMut::map_anon(bytes).ok()?;
        // This is advice: a system without huge pages uses small ones.
        #[cfg(target_os = "linux")]
        let _ = map.advise(memmap2::Advice::HugePage);
        Some(Self(Some(map)))
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        if let Some(map) = self.0.take() {
            Idle::lock().give(map);
        }
    }
}

/// While one of these exists, more memory of dropped blocks is kept for later ones.
pub(crate) struct Reuse(());

impl Reuse {
    pub fn new() -> Self {
        Idle::lock().users += 1;
        Self(())
    }
}

impl Drop for Reuse {
    fn drop(&mut self) {
        let mut idle = Idle::lock();
        idle.users -= 1;
        idle.trim();
    }
}

/// Mappings that no block uses.
struct Idle {
    users: usize,
    maps: Vec<MmapMut>,
}

static IDLE: Mutex<Idle> = Mutex::new(Idle { users: 0, maps: Vec::new() });

impl Idle {
    fn lock() -> MutexGuard<'static, Self> {
        lock(&IDLE)
    }

    /// Takes the smallest mapping that is large enough and at most twice as large; of equal ones
    /// the last used.
    fn take(&mut self, bytes: usize) -> Option<MmapMut> {
        let fitting = self.maps.iter().enumerate().filter(|(_, map)| (bytes..=2 * bytes).contains(&map.len()));
        let (place, _) = fitting.min_by_key(|&(place, map)| (map.len(), Reverse(place)))?;
        Some(self.maps.remove(place))
    }

    /// Keeps a mapping unless it alone exceeds the limit.
    fn give(&mut self, map: MmapMut) {
        if map.len() <= self.limit() {
            self.maps.push(map);
            self.trim();
        }
    }

    /// The limit of kept bytes.
    fn limit(&self) -> usize {
        if self.users == 0 { RESTING_BYTES } else { IDLE_BYTES }
    }

    /// Drops the oldest mappings above the limit.
    fn trim(&mut self) {
        let mut bytes: usize = self.maps.iter().map(|map| map.len()).sum();
        while bytes > self.limit() {
            bytes -= self.maps.remove(0).len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_and_large_blocks_start_at_zero_and_keep_their_elements() {
        let _reuse = Reuse::new();
        for len in [0, 10, LARGE_BYTES / 8 + 3, LARGE_BYTES / 8 + 3] {
            let mut block = Block::<f64>::zeros(len);
            assert_eq!(block.len(), len);
            assert!(block.iter().all(|&v| v == 0.0));
            block.iter_mut().enumerate().for_each(|(i, v)| *v = i as f64);
            assert!(block.iter().enumerate().all(|(i, &v)| v == i as f64));
        }
    }

    #[test]
    fn idle_memory_is_bounded_and_serves_blocks_of_about_its_size() {
        let mut idle = Idle { users: 1, maps: Vec::new() };
        for megabytes in [400, 8, 400, 400] {
            idle.give(MmapMut::map_anon(megabytes << 20).unwrap());
        }
        let sizes: Vec<usize> = idle.maps.iter().map(|map| map.len() >> 20).collect();
        assert_eq!(sizes, [8, 400, 400]);
        for (wanted, found) in [(9, None), (3, None), (399, Some(400)), (6, Some(8)), (6, None)] {
            assert_eq!(idle.take(wanted << 20).map(|map| map.len() >> 20), found, "{wanted}");
        }
        idle.users = 0;
        idle.give(MmapMut::map_anon(8 << 20).unwrap());
        assert_eq!(idle.maps.len(), 1);
    }
}
