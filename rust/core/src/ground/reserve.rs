//! An allocator that keeps a reserve for the end of memory.
//!
//! Rust aborts the process if an allocation fails, and an allocator must not unwind. Large requests
//! go through [`super::memory`], which returns an error. All others are served by this allocator:
//! if the system refuses one, idle blocks are freed, then the reserve, and the request is repeated.
//! Work stops at its next [`crate::Exec::check`] with [`Error::Allocation`], and the reserve is
//! restored before the next call. The reserve is address space only: its pages are never written.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use memmap2::MmapMut;

use crate::ground::idle;
use crate::{Error, Result};

/// Size of the reserve: the small vectors of a call with a few million samples.
const RESERVE_BYTES: usize = 64 << 20;

/// A smaller reserve is useless.
const LEAST_BYTES: usize = 4 << 20;

/// Attempts to allocate while another thread frees the reserve.
const ATTEMPTS: usize = 100;

static RESERVE: Mutex<Option<MmapMut>> = Mutex::new(None);

/// Size of the request for which the reserve was freed; 0 if it was not.
static REFUSED: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator with a reserve; the bindings install it.
#[derive(Debug, Clone, Copy, Default)]
pub struct WithReserve;

/// Restores the reserve. Call it before work that allocates.
pub fn restore() -> Result<()> {
    // No waiting: in a process forked while the lock was held, it is never released.
    let Ok(mut reserve) = RESERVE.try_lock() else { return Ok(()) };
    if reserve.is_none() {
        let sizes = std::iter::successors(Some(RESERVE_BYTES), |bytes| Some(bytes / 2));
        let mut sizes = sizes.take_while(|bytes| *bytes >= LEAST_BYTES);
        *reserve = sizes.find_map(|bytes| MmapMut::map_anon(bytes).ok());
        if reserve.is_none() {
            return Err(Error::Allocation { bytes: LEAST_BYTES as u64 });
        }
    }
    REFUSED.store(0, Ordering::Relaxed);
    Ok(())
}

/// Returns [`Error::Allocation`] if the reserve is in use.
#[inline]
pub(crate) fn check() -> Result<()> {
    match REFUSED.load(Ordering::Relaxed) {
        0 => Ok(()),
        bytes => Err(Error::Allocation { bytes: bytes as u64 }),
    }
}

/// Repeats a request that the system refused.
#[cold]
fn retry(size: usize, allocate: impl Fn() -> *mut u8) -> *mut u8 {
    idle::release();
    let mut found = allocate();
    if !found.is_null() || size > RESERVE_BYTES {
        return found;
    }
    REFUSED.store(size, Ordering::Relaxed);
    for _ in 0..ATTEMPTS {
        match RESERVE.try_lock() {
            Ok(mut reserve) => drop(reserve.take()),
            Err(_) => std::thread::yield_now(),
        }
        found = allocate();
        if !found.is_null() {
            break;
        }
    }
    found
}

// SAFETY: every request goes to the system's allocator with its own arguments; a refused one is
// repeated, and null is returned if it is refused again. Nothing here allocates or unwinds.
unsafe impl GlobalAlloc for WithReserve {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller guarantees a layout of positive size.
        let allocate = || unsafe { System.alloc(layout) };
        let found = allocate();
        if found.is_null() { retry(layout.size(), allocate) } else { found }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        let allocate = || unsafe { System.alloc_zeroed(layout) };
        let found = allocate();
        if found.is_null() { retry(layout.size(), allocate) } else { found }
    }

    #[inline]
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller guarantees the arguments, and a refused request leaves them valid.
        let allocate = || unsafe { System.realloc(pointer, layout, size) };
        let found = allocate();
        if found.is_null() { retry(size, allocate) } else { found }
    }

    #[inline]
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: all memory comes from the system's allocator.
        unsafe { System.dealloc(pointer, layout) }
    }
}
