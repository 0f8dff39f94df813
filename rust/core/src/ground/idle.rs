//! Memory of dropped blocks, kept for later ones. Up to 128 MB are kept, and 256 MB while a [`Reuse`]
//! exists.

use std::cmp::Reverse;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

use memmap2::MmapMut;

/// Most bytes kept for later blocks while a [`Reuse`] exists.
const IDLE_BYTES: usize = 1 << 28;

/// Most bytes kept at other times: enough for blocks of a few ten thousand rows.
const RESTING_BYTES: usize = 128 << 20;

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

/// Takes a mapping of about this size, if there is one.
pub(super) fn take(bytes: usize) -> Option<MmapMut> {
    Idle::lock()?.take(bytes)
}

/// Keeps a mapping for later blocks.
pub(super) fn give(map: MmapMut) {
    if let Some(mut idle) = Idle::lock() {
        idle.give(map, limit());
    }
}

/// Frees the memory that no block uses.
pub(super) fn release() {
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
    fn idle_memory_is_bounded_and_serves_blocks_of_about_its_size() {
        let mut idle = Idle(Vec::new());
        for megabytes in [100, 8, 100, 100] {
            idle.give(MmapMut::map_anon(megabytes << 20).unwrap(), IDLE_BYTES);
        }
        let sizes: Vec<usize> = idle.0.iter().map(|map| map.len() >> 20).collect();
        assert_eq!(sizes, [8, 100, 100]);
        for (wanted, found) in [(9, None), (3, None), (99, Some(100)), (6, Some(8)), (6, None)] {
            assert_eq!(idle.take(wanted << 20).map(|map| map.len() >> 20), found, "{wanted}");
        }
        idle.give(MmapMut::map_anon(64 << 20).unwrap(), RESTING_BYTES);
        assert_eq!(idle.0.len(), 1);
    }
}
