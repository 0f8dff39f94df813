//! Where work runs and how it is stopped.
//!
//! An [`Exec`] belongs to one call: it owns its thread pool (never rayon's global one, so a library in the same process
//! keeps its own settings) and a flag by which the caller stops it. Everything computed through it is a function of the
//! input alone: work is cut into pieces whose bounds do not depend on the number of threads, and sums that cross pieces
//! are added in the order of the pieces.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use rayon::prelude::*;

use crate::{Error, Result};

/// A thread pool with a stop flag.
#[derive(Debug)]
pub struct Exec {
    threads: usize,
    stop: Arc<AtomicBool>,
    pool: OnceLock<rayon::ThreadPool>,
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

    /// [`Error::Interrupted`] once the stop flag is up. Long loops call it every few milliseconds.
    pub fn check(&self) -> Result<()> {
        if self.stop.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { Ok(()) }
    }

    /// The pool, started at the first use that needs it: small work never pays for threads.
    fn pool(&self) -> Result<&rayon::ThreadPool> {
        if let Some(pool) = self.pool.get() {
            return Ok(pool);
        }
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(self.threads)
            .thread_name(|i| format!("mdt-{i}"))
            .build()
            .map_err(|e| Error::Threads { threads: self.threads, reason: e.to_string() })?;
        Ok(self.pool.get_or_init(|| pool))
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
        let pool = self.pool()?;
        pool.install(|| {
            data.par_chunks_mut(len).enumerate().try_for_each_init(scratch, |state, (i, piece)| {
                self.check()?;
                work(i * len, piece, state)
            })
        })
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
