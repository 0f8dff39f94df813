//! Where work runs and how it is stopped.
//!
//! An [`Exec`] belongs to one call: it holds a thread pool of its own (never rayon's global one, so a library in the same
//! process keeps its own settings) and a flag by which the caller stops it. Everything computed through it is a function
//! of the input alone: work is cut into pieces whose bounds do not depend on the number of threads, and sums that cross
//! pieces are added in the order of the pieces.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use rayon::ThreadPool;
use rayon::prelude::*;

use crate::{Error, Result};

/// A thread pool with a stop flag.
#[derive(Debug)]
pub struct Exec {
    threads: usize,
    stop: Arc<AtomicBool>,
    pool: OnceLock<ThreadPool>,
}

impl Exec {
    /// Runs on `threads` threads (at least one) until `stop` becomes true.
    #[must_use]
    pub fn new(threads: usize, stop: Arc<AtomicBool>) -> Self {
        Self { threads: threads.max(1), stop, pool: OnceLock::new() }
    }

    /// Runs on `threads` threads and cannot be stopped.
    #[must_use]
    pub fn with_threads(threads: usize) -> Self {
        Self::new(threads, Arc::default())
    }

    /// The same stop flag, on the calling thread alone: for work that is itself one of several parallel pieces.
    #[must_use]
    pub fn alone(&self) -> Self {
        Self::new(1, Arc::clone(&self.stop))
    }

    /// [`Error::Interrupted`] once the stop flag is up. Long loops call it every few milliseconds.
    pub fn check(&self) -> Result<()> {
        if self.stop.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { Ok(()) }
    }

    /// How many threads there are.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// The pool, taken at the first use that needs it: small work never pays for threads.
    fn pool(&self) -> Result<&ThreadPool> {
        if let Some(pool) = self.pool.get() {
            return Ok(pool);
        }
        let pool = match shelf::take(self.threads) {
            Some(pool) => pool,
            None => rayon::ThreadPoolBuilder::new()
                .num_threads(self.threads)
                .thread_name(|i| format!("mdt-{i}"))
                .build()
                .map_err(|e| Error::Threads { threads: self.threads, reason: e.to_string() })?,
        };
        Ok(self.pool.get_or_init(|| pool))
    }

    /// Runs `work` on the pool while the calling thread does `meanwhile` every now and then, and whenever `work` calls the function
    /// that it is given. Parallel loops inside `work` start without waking this thread up.
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
                    // The work panicked: so will the end of this scope.
                    Err(RecvTimeoutError::Disconnected) => return Err(Error::Interrupted),
                }
            }
        })
    }

    /// Calls `work(first, piece, scratch)` for consecutive pieces of `data` of `len` elements (the last may be shorter),
    /// in parallel when there are several pieces; `first` is the piece's offset in `data`. A scratch value made by
    /// `scratch` is reused by the pieces that one thread takes.
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
        // Threads that take pieces in turn stay close to each other, and what one has fetched into a shared cache serves the other.
        let take_turns = || {
            let mut state = scratch();
            loop {
                let Some((i, piece)) = lock(&pieces).next() else { break };
                if let Err(error) = self.check().map_err(E::from).and_then(|()| work(i * len, piece, &mut state)) {
                    // The others stop, too.
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

    /// `work(first, piece)` for consecutive pieces of `data`, as in [`Self::for_pieces`]; results in the order of the pieces.
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
        pool.install(|| data.par_chunks_mut(len).enumerate().map(one).collect())
    }

    /// Calls `work(i, scratch)` for `i` in `0..count`, in parallel.
    pub fn for_each<S>(
        &self,
        count: usize,
        scratch: impl Fn() -> S + Sync + Send,
        work: impl Fn(usize, &mut S) -> Result<()> + Sync + Send,
    ) -> Result<()> {
        self.for_pieces(&mut vec![(); count], 1, scratch, |i, _, state| work(i, state))
    }

    /// `work(i)` for `i` in `0..count`, in parallel, results in order.
    pub fn map<R: Send>(&self, count: usize, work: impl Fn(usize) -> Result<R> + Sync + Send) -> Result<Vec<R>> {
        if self.threads == 1 || count <= 1 {
            return (0..count).map(|i| self.check().and_then(|()| work(i))).collect();
        }
        let pool = self.pool()?;
        pool.install(|| {
            (0..count).into_par_iter().with_max_len(1).map(|i| self.check().and_then(|()| work(i))).collect()
        })
    }
}

/// What a mutex holds, even after a panic elsewhere: for values that any panic leaves whole.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Exec {
    fn drop(&mut self) {
        if let Some(pool) = self.pool.take() {
            shelf::put_back(pool);
        }
    }
}

/// Pools between calls. Starting threads costs more than much of what is done with them: on a small machine new ones share
/// a core for their first milliseconds.
mod shelf {
    use super::{Mutex, ThreadPool};

    /// More calls at a time than this start threads of their own.
    const PLACES: usize = 4;

    static SHELF: Mutex<Vec<(u32, ThreadPool)>> = Mutex::new(Vec::new());

    /// A pool of so many threads that nobody uses.
    pub fn take(threads: usize) -> Option<ThreadPool> {
        // Never waits: a process forked at a bad moment would wait for ever.
        let mut shelf = SHELF.try_lock().ok()?;
        let process = std::process::id();
        if shelf.iter().any(|(owner, _)| *owner != process) {
            // After a fork the threads are the parent's; even to say good-bye to them could block.
            std::mem::forget(std::mem::take(&mut *shelf));
        }
        let place = shelf.iter().position(|(_, pool)| pool.current_num_threads() == threads)?;
        Some(shelf.swap_remove(place).1)
    }

    pub fn put_back(pool: ThreadPool) {
        if let Ok(mut shelf) = SHELF.try_lock() {
            if shelf.len() == PLACES {
                shelf.remove(0);
            }
            shelf.push((std::process::id(), pool));
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
