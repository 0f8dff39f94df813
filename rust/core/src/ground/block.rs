//! Memory of large blocks of vectors.
//!
//! A block of a hundred thousand rows takes tens of megabytes. In ordinary pages its first use
//! costs thousands of page faults, and random reads miss the translation cache: the second of two
//! steps took 1.5 times as long as the first. Large blocks therefore have their own mapping with
//! huge pages. A dropped mapping is reused by the next block of about its size; otherwise a tenth
//! of the time of a solver is the system clearing pages. Up to 128 MB are kept, and 1 GB while a
//! [`Reuse`] exists.

use std::cmp::Reverse;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

use memmap2::MmapMut;

use crate::ground::memory;
use crate::{Error, Real, Result};

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
        if let Some(mut map) = Idle::lock().and_then(|mut idle| idle.take(bytes)) {
            if zero {
                map[..bytes].fill(0);
            }
            return Ok(Self(Some(map)));
        }
        let bytes = memory::check_available::<T>(len)? as usize;
        let new = || MmapMut::map_anon(bytes).ok();
        let again = || {
            release_idle();
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
        if let Some((map, mut idle)) = self.0.take().zip(Idle::lock()) {
            idle.give(map, limit());
        }
    }
}

/// While one of these exists, more memory of dropped blocks is kept for later ones.
pub(crate) struct Reuse(());

impl Reuse {
    pub fn new() -> Self {
        USERS.fetch_add(1, Ordering::Relaxed);
        Self(())
    }
}

impl Drop for Reuse {
    fn drop(&mut self) {
        USERS.fetch_sub(1, Ordering::Relaxed);
        if let Some(mut idle) = Idle::lock() {
            idle.trim(limit());
        }
    }
}

/// Frees the memory that no block uses.
pub(crate) fn release_idle() {
    if let Some(mut idle) = Idle::lock() {
        idle.trim(0);
    }
}

/// Number of [`Reuse`] that exist.
static USERS: AtomicUsize = AtomicUsize::new(0);

/// The limit of kept bytes.
fn limit() -> usize {
    if USERS.load(Ordering::Relaxed) == 0 { RESTING_BYTES } else { IDLE_BYTES }
}

/// Mappings that no block uses.
struct Idle(Vec<MmapMut>);

static IDLE: Mutex<Idle> = Mutex::new(Idle(Vec::new()));

impl Idle {
    /// None while another thread has it. No waiting: in a process forked while the lock was held, it
    /// is never released.
    fn lock() -> Option<MutexGuard<'static, Self>> {
        IDLE.try_lock().ok()
    }

    /// Takes the smallest mapping that is large enough and at most twice as large; of equal ones
    /// the last used.
    fn take(&mut self, bytes: usize) -> Option<MmapMut> {
        let sizes = bytes..=bytes.saturating_mul(2);
        let fitting = self.0.iter().enumerate().filter(|(_, map)| sizes.contains(&map.len()));
        let (place, _) = fitting.min_by_key(|&(place, map)| (map.len(), Reverse(place)))?;
        Some(self.0.remove(place))
    }

    /// Keeps a mapping unless it alone exceeds the limit.
    fn give(&mut self, map: MmapMut, limit: usize) {
        if map.len() <= limit {
            self.0.push(map);
            self.trim(limit);
        }
    }

    /// Drops the oldest mappings above the limit.
    fn trim(&mut self, limit: usize) {
        let mut bytes: usize = self.0.iter().map(|map| map.len()).sum();
        while bytes > limit {
            bytes -= self.0.remove(0).len();
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
            let mut block = Block::<f64>::zeros(len).unwrap();
            assert_eq!(block.len(), len);
            assert!(block.iter().all(|&v| v == 0.0));
            block.iter_mut().enumerate().for_each(|(i, v)| *v = i as f64);
            assert!(block.iter().enumerate().all(|(i, &v)| v == i as f64));
        }
    }

    #[test]
    fn idle_memory_is_bounded_and_serves_blocks_of_about_its_size() {
        let mut idle = Idle(Vec::new());
        for megabytes in [400, 8, 400, 400] {
            idle.give(MmapMut::map_anon(megabytes << 20).unwrap(), IDLE_BYTES);
        }
        let sizes: Vec<usize> = idle.0.iter().map(|map| map.len() >> 20).collect();
        assert_eq!(sizes, [8, 400, 400]);
        for (wanted, found) in [(9, None), (3, None), (399, Some(400)), (6, Some(8)), (6, None)] {
            assert_eq!(idle.take(wanted << 20).map(|map| map.len() >> 20), found, "{wanted}");
        }
        idle.give(MmapMut::map_anon(8 << 20).unwrap(), RESTING_BYTES);
        assert_eq!(idle.0.len(), 1);
    }
}
