//! Parallel execution and interruption.
//!
//! An [`Exec`] belongs to one call. It holds a thread pool of its own (never rayon's global one, so
//! other libraries in the process keep their settings) and a stop flag. Results are a function of
//! the input alone: work is cut into pieces whose bounds do not depend on the number of threads,
//! and sums over pieces are added in the order of the pieces.
//!
//! Pools are kept between calls. Starting threads costs more than many of the calls: new threads
//! share a core for their first milliseconds, and at 2,000 points a pool per call gains nothing
//! from a second thread.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use rayon::ThreadPool;
use rayon::prelude::*;

use crate::ground::available::available_bytes;
use crate::ground::reserve;
use crate::{Error, Result};

/// Bytes of the stack of a thread and of its part of the heap.
const THREAD_BYTES: u64 = 16 << 20;

/// A thread pool with a stop flag.
#[derive(Debug)]
pub struct Exec {
    threads: usize,
    stop: Arc<AtomicBool>,
    pool: OnceLock<ThreadPool>,
}

impl Exec {
    /// Runs on `threads` threads (at least one) until `stop` is true.
    pub fn new(threads: usize, stop: Arc<AtomicBool>) -> Self {
        Self { threads: threads.max(1), stop, pool: OnceLock::new() }
    }

    /// Runs on `threads` threads and cannot be stopped.
    pub fn with_threads(threads: usize) -> Self {
        Self::new(threads, Arc::default())
    }

    /// The same stop flag with one thread, for work that is itself one of several parallel pieces.
    #[must_use]
    pub fn alone(&self) -> Self {
        Self::new(1, Arc::clone(&self.stop))
    }

    /// Returns [`Error::Interrupted`] once the stop flag is set, and [`Error::Allocation`] once the
    /// memory has ended. Long loops call it every few milliseconds.
    pub fn check(&self) -> Result<()> {
        if self.stop.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { reserve::check() }
    }

    /// Number of threads.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// The pool, taken at the first use that needs one, so small work starts no threads.
    fn pool(&self) -> Result<&ThreadPool> {
        if let Some(pool) = self.pool.get() {
            return Ok(pool);
        }
        let pool = match idle_pools::take(self.threads) {
            Some(pool) => pool,
            // Memory may suffice for one thread. Results do not depend on their number.
            None => new_pool(self.threads).or_else(|error| new_pool(1).map_err(|_| error))?,
        };
        Ok(self.pool.get_or_init(|| pool))
    }

    /// Runs `work` on the pool. The calling thread calls `meanwhile` at the interval `every`, and
    /// whenever `work` calls the function that it receives. Parallel loops inside `work` do not
    /// wake this thread.
    pub fn run_aside<R: Send>(
        &self,
        every: Duration,
        work: impl FnOnce(&(dyn Fn() + Sync)) -> Result<R> + Send,
        mut meanwhile: impl FnMut(),
    ) -> Result<R> {
        let (sender, receiver) = channel();
        self.pool()?.in_place_scope(|scope| {
            scope.spawn(move |_| {
                let wake = || drop(sender.send(None));
                let result = work(&wake);
                drop(sender.send(Some(result)));
            });
            loop {
                match receiver.recv_timeout(every) {
                    Ok(Some(result)) => return result,
                    Ok(None) | Err(RecvTimeoutError::Timeout) => meanwhile(),
                    // The work panicked, and the end of this scope panics too.
                    Err(RecvTimeoutError::Disconnected) => return Err(Error::Interrupted),
                }
            }
        })
    }

    /// Calls `work(first, piece, scratch)` for consecutive pieces of `data` of `len` elements (the
    /// last may be shorter), in parallel if there are several. `first` is the offset of the piece
    /// in `data`. Each thread creates one scratch value and reuses it for its pieces.
    pub fn for_pieces<T, S, E>(
        &self,
        data: &mut [T],
        len: usize,
        scratch: impl Fn() -> S + Sync + Send,
        work: impl Fn(usize, &mut [T], &mut S) -> std::result::Result<(), E> + Sync + Send,
    ) -> std::result::Result<(), E>
    where
        T: Send,
        E: From<Error> + Send,
    {
        let len = len.max(1);
        if self.threads == 1 || data.len() <= len {
            let mut state = scratch();
            for (i, piece) in data.chunks_mut(len).enumerate() {
                self.check()?;
                work(i * len, piece, &mut state)?;
            }
            return Ok(());
        }
        let pieces = Mutex::new(data.chunks_mut(len).enumerate());
        let failure = Mutex::new(None);
        // Threads take pieces in turn, so they stay close to each other and share what is in the
        // cache.
        let take_turns = || {
            let mut state = scratch();
            loop {
                let Some((i, piece)) = lock(&pieces).next() else { break };
                if let Err(error) = self.check().map_err(E::from).and_then(|()| work(i * len, piece, &mut state)) {
                    // Nothing is left for the other threads.
                    lock(&pieces).by_ref().for_each(drop);
                    lock(&failure).get_or_insert(error);
                }
            }
        };
        self.pool()?.scope(|scope| {
            (1..self.threads).for_each(|_| scope.spawn(|_| take_turns()));
            take_turns();
        });
        failure.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }

    /// Calls `work(first, piece)` as [`Self::for_pieces`] does, for work that cannot fail.
    pub fn each_piece<T: Send>(
        &self,
        data: &mut [T],
        len: usize,
        work: impl Fn(usize, &mut [T]) + Sync + Send,
    ) -> Result<()> {
        let infallible = |first: usize, piece: &mut [T], (): &mut ()| {
            work(first, piece);
            Ok(())
        };
        self.for_pieces(data, len, || (), infallible)
    }

    /// Calls `work(first, piece)` as [`Self::for_pieces`] does and returns the results in order.
    pub fn map_pieces<T: Send, R: Send>(
        &self,
        data: &mut [T],
        len: usize,
        work: impl Fn(usize, &mut [T]) -> Result<R> + Sync + Send,
    ) -> Result<Vec<R>> {
        let len = len.max(1);
        let one = |(i, piece): (usize, &mut [T])| self.check().and_then(|()| work(i * len, piece));
        if self.threads == 1 || data.len() <= len {
            return data.chunks_mut(len).enumerate().map(one).collect();
        }
        let pool = self.pool()?;
        pool.install(|| data.par_chunks_mut(len).enumerate().with_max_len(1).map(one).collect())
    }

    /// Calls `work(i)` for `i` in `0..count` in parallel and returns the results in order.
    pub fn map<R: Send>(&self, count: usize, work: impl Fn(usize) -> Result<R> + Sync + Send) -> Result<Vec<R>> {
        self.map_pieces(&mut vec![(); count], 1, |i, _| work(i))
    }
}

/// A pool of new threads.
fn new_pool(threads: usize) -> Result<ThreadPool> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(|i| format!("mdt-{i}"))
        .build()
        .map_err(|e| no_thread(threads, e))
}

/// The error of threads that could not be started. The system does not say whether memory or the
/// number of threads is the reason.
pub(crate) fn no_thread(threads: usize, reason: impl std::fmt::Display) -> Error {
    match available_bytes() {
        Some(left) if left < THREAD_BYTES => Error::Allocation { bytes: THREAD_BYTES },
        _ => Error::Threads { threads, reason: reason.to_string() },
    }
}

/// Locks a mutex even after a panic elsewhere, for values that are valid after any panic.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Exec {
    fn drop(&mut self) {
        if let Some(pool) = self.pool.take() {
            idle_pools::put_back(pool);
        }
    }
}

/// Pools that no call uses.
mod idle_pools {
    use super::{Mutex, ThreadPool};

    /// Largest number of pools that are kept.
    const MAX_POOLS: usize = 4;

    static POOLS: Mutex<Vec<(u32, ThreadPool)>> = Mutex::new(Vec::new());

    /// Takes a pool with this number of threads, if there is one.
    pub fn take(threads: usize) -> Option<ThreadPool> {
        // No waiting: in a process forked while the lock was held, it is never released.
        let mut pools = POOLS.try_lock().ok()?;
        let process = std::process::id();
        if pools.iter().any(|(owner, _)| *owner != process) {
            // After a fork the threads exist only in the parent, and dropping the pool could block.
            std::mem::forget(std::mem::take(&mut *pools));
        }
        let place = pools.iter().position(|(_, pool)| pool.current_num_threads() == threads)?;
        Some(pools.swap_remove(place).1)
    }

    /// Keeps a pool for later calls.
    pub fn put_back(pool: ThreadPool) {
        if let Ok(mut pools) = POOLS.try_lock() {
            if pools.len() == MAX_POOLS {
                pools.remove(0);
            }
            pools.push((std::process::id(), pool));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_the_data_once() {
        for threads in [1, 3] {
            let exec = Exec::with_threads(threads);
            let mut data = vec![0_usize; 1003];
            let fill = |first: usize, piece: &mut [usize], (): &mut ()| -> Result<()> {
                piece.iter_mut().enumerate().for_each(|(k, v)| *v += first + k);
                Ok(())
            };
            exec.for_pieces(&mut data, 10, || (), fill).unwrap();
            assert!(data.iter().enumerate().all(|(i, &v)| v == i));
        }
    }

    #[test]
    fn a_raised_flag_stops_the_work() {
        let stop = Arc::new(AtomicBool::new(true));
        let exec = Exec::new(2, stop);
        assert_eq!(exec.map(4, Ok).unwrap_err(), Error::Interrupted);
    }
}
