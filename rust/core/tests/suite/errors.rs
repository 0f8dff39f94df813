//! Every error of the crate with its message, and the time in which a running call stops.

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::samples::Random;
use mdt_core::graph::affinity::{Bandwidths, Kernel, Symmetrize, symmetric_affinity};
use mdt_core::graph::neighbours::{Features, Method, Metric, nearest_neighbours};
use mdt_core::ground::csr::{Csr, MAX_SIZE};
use mdt_core::ground::exec::Exec;
use mdt_core::{Direction, Error, Landing, Member, OperatorSet, Pruning, Result, Trajectory, Transition};

fn exec() -> Exec {
    Exec::with_threads(1)
}

fn assert_message<R: Debug>(result: Result<R>, message: &str) {
    assert_eq!(result.unwrap_err().to_string(), message);
}

fn csr(n_cols: usize, indptr: &[u64], indices: &[u32], values: &[f64]) -> Result<Csr<f64>> {
    Csr::new(n_cols, indptr.to_vec(), indices.to_vec(), values.to_vec())
}

#[test]
fn malformed_matrices() {
    assert_message(csr(1, &[], &[], &[]), "indptr: expected at least one element, got none");
    let too_wide = MAX_SIZE + 1;
    assert_message(
        csr(too_wide, &[0], &[], &[]),
        &format!("expected at most {MAX_SIZE} rows and columns, got {too_wide}"),
    );
    let pointers = "indptr: expected non-decreasing row pointers from 0";
    assert_message(csr(2, &[1, 2], &[0, 1], &[1.0; 2]), pointers);
    assert_message(csr(2, &[0, 2, 1], &[0], &[1.0]), pointers);
    assert_message(csr(2, &[0, 2], &[0], &[1.0; 2]), "indices: expected 2, got 1");
    assert_message(csr(2, &[0, 2], &[0, 1], &[1.0]), "values: expected 2, got 1");
    assert_message(csr(2, &[0, 0, 1], &[2], &[1.0]), "row 1: expected columns below 2, got 2");
    assert_message(csr(9, &[0, 2], &[5, 3], &[1.0; 2]), "row 0: expected ascending distinct columns, got 5 before 3");
    // A column out of range before a smaller column in range.
    assert!(csr(2, &[0, 2], &[7, 1], &[1.0; 2]).is_err());
}

#[test]
fn neighbour_searches() {
    let search = |data: &[f64], k, metric| {
        nearest_neighbours(Features::Dense { data, dimension: 2 }, k, metric, Method::Auto, &exec())
    };
    let three = [0.0, 1.0, 2.0, 2.0, 0.0, 0.0];
    for k in [0, 3] {
        let message = format!("expected between 1 and 2 neighbours for 3 points, got {k}");
        assert_message(search(&three, k, Metric::Euclidean), &message);
    }
    assert_message(search(&[], 1, Metric::Euclidean), "expected between 1 and 0 neighbours for 0 points, got 1");
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert_message(search(&[0.0, bad, 1.0, 2.0], 1, Metric::Manhattan), "expected finite coordinates");
    }
    assert_message(search(&three, 1, Metric::Cosine), "row 2 is all zeros: its cosine distance is undefined");
    assert_message(search(&three, 1, Metric::Correlation), "row 1 is constant: its correlation distance is undefined");
    let rows = csr(2, &[0, 1, 2], &[0, 1], &[1.0; 2]).unwrap();
    assert_message(
        nearest_neighbours(Features::Sparse(&rows), 1, Metric::Correlation, Method::Auto, &exec()),
        "expected dense coordinates for the correlation distance",
    );
}

#[test]
fn affinities_and_transitions() {
    let affinity =
        |graph: &Csr<f64>, kernel| symmetric_affinity::<f64>(graph.clone(), kernel, 1.0, Symmetrize::Mean, &exec());
    let oblong = csr(3, &[0, 1, 2], &[0, 1], &[1.0; 2]).unwrap();
    let square = csr(2, &[0, 1, 2], &[1, 0], &[1.0; 2]).unwrap();
    assert_message(affinity(&oblong, Kernel::Binary), "graph columns: expected 2, got 3");
    for kernel in [Kernel::Squared(Bandwidths::PerPoint(&[1.0])), Kernel::Linear(Bandwidths::PerPoint(&[1.0]))] {
        assert_message(affinity(&square, kernel), "bandwidths: expected 2, got 1");
    }
    assert_message(Transition::from_symmetric(oblong.clone(), 0.0, &exec()), "affinity columns: expected 2, got 3");
    assert_message(Transition::from_stochastic(oblong.clone(), 0.1, &exec()), "transition columns: expected 2, got 3");
    assert_message(Transition::restore(oblong, None), "transition columns: expected 2, got 3");
    assert_message(Transition::restore(square, Some(vec![1.0])), "degrees: expected 2, got 1");
    let zero = csr(2, &[0, 1, 2], &[0, 1], &[1.0, 0.0]).unwrap();
    let message = |sum| format!("row 1 of the affinity sums to {sum}: expected a positive finite sum");
    assert_message(Transition::from_symmetric(zero, 0.0, &exec()), &message("0"));
    let isolated = csr(2, &[0, 1, 1], &[0], &[1.0]).unwrap();
    assert!(Transition::from_symmetric(isolated.clone(), 0.0, &exec()).is_err());
    assert!(Transition::from_symmetric(isolated, 1.0, &exec()).is_err());
    let infinite = csr(2, &[0, 1, 2], &[0, 1], &[1.0, f64::INFINITY]).unwrap();
    assert_message(Transition::from_symmetric(infinite, 0.0, &exec()), &message("inf"));
    for (bad, shown) in [(f64::NAN, "NaN"), (f64::INFINITY, "inf"), (-0.5, "-0.5")] {
        assert_message(
            Transition::from_stochastic(csr(2, &[0, 1, 2], &[0, 1], &[1.0, bad]).unwrap(), 1e-6, &exec()),
            &format!("entry (1, 1) is {shown}: expected a finite non-negative number"),
        );
    }
    let short = csr(2, &[0, 1, 2], &[0, 1], &[1.0, 0.75]).unwrap();
    assert_message(Transition::from_stochastic(short, 1e-6, &exec()), "row 1 sums to 0.75: expected 1 within 1e-6");
}

#[test]
fn an_empty_row_sums_to_zero() {
    let isolated = csr(2, &[0, 1, 1], &[0], &[1.0]).unwrap();
    assert_message(
        Transition::from_symmetric(isolated, 0.0, &exec()),
        "row 1 of the affinity sums to 0: expected a positive finite sum",
    );
}

fn walk(n: usize) -> Arc<Transition<f64>> {
    Arc::new(crate::samples::reversible(n, 5, 1))
}

#[test]
fn operator_sets_and_trajectories() {
    assert_message(OperatorSet::<f64>::new(vec![], vec![]), "expected at least one operator, got none");
    assert_message(OperatorSet::new(vec![walk(8), walk(9)], vec![]), "operator size: expected 8, got 9");
    let jump = |base, alpha, landing| Member::Teleport { base, alpha, landing };
    for member in [
        Member::Walk(1),
        Member::Mean(0),
        Member::Mean(2),
        Member::Power { base: 1, exponent: 2 },
        Member::Power { base: 0, exponent: 0 },
        jump(1, 0.5, Landing::Uniform),
        jump(0, 1.5, Landing::Uniform),
        jump(0, f64::NAN, Landing::Uniform),
        jump(0, 0.5, Landing::Power(0)),
    ] {
        let message = format!("member {member:?} does not fit a set of 1 operators");
        assert_message(OperatorSet::new(vec![walk(8)], vec![member]), &message);
    }
    let set = OperatorSet::new(vec![walk(8)], vec![Member::Walk(0), Member::Identity]).unwrap();
    assert_message(set.step(&[1.0]), "weights of a step: expected 2, got 1");
    assert_message(Trajectory::new(&set, &[]), "expected at least one step, got none");
    assert_message(Trajectory::new(&set, &[1.0, 0.0, 1.0]), "weights of a step: expected 2, got 1");
    let trajectory = Trajectory::new(&set, &[0.5, 0.5]).unwrap();
    let apply = |len, out| trajectory.apply(&vec![1.0; len], 2, Direction::Forward, &mut vec![0.0; out], &exec());
    assert_message(apply(15, 15), "elements of the block: expected 16, got 15");
    assert_message(apply(16, 15), "elements of the output: expected 16, got 15");
    assert_message(trajectory.diffusion_distances(&[0, 8], None, &exec()), "expected rows below 8, got 8");
    assert_message(trajectory.diffusion_distances(&[0], Some(&[1.0]), &exec()), "weights: expected 8, got 1");
}

#[test]
fn empty_input_is_no_error() {
    let set = OperatorSet::new(vec![walk(8)], vec![Member::Walk(0), Member::Uniform]).unwrap();
    let trajectory = Trajectory::new(&set, &[0.5, 0.5]).unwrap();
    trajectory.apply(&[], 0, Direction::Forward, &mut [], &exec()).unwrap();
    assert!(trajectory.diffusion_distances(&[], None, &exec()).unwrap().is_empty());
}

#[test]
fn products_beyond_the_memory_limit() {
    let set = OperatorSet::new(vec![walk(500)], vec![Member::Walk(0), Member::Uniform]).unwrap();
    // For dense rows the estimate is exact: 12 bytes an entry and 8 a row.
    let trajectory = Trajectory::new(&set, &[0.5, 0.5]).unwrap();
    let needed = 500 * 500 * 12 + 500 * 8;
    let error = trajectory.to_sparse(Pruning::NONE, needed - 1, &exec()).unwrap_err();
    assert_eq!(error, Error::Memory { needed, limit: needed - 1 });
    assert_eq!(error.to_string(), "about 0.003 GB are needed, 0.003 GB are available");
    assert!(trajectory.to_sparse(Pruning::NONE, needed, &exec()).is_ok());
    // The pruned product fits.
    let pruning = Pruning { below: 0.0, top: Some(10), each_step: false };
    assert!(trajectory.to_sparse(pruning, 500 * 10 * 12 + 500 * 8, &exec()).is_ok());
}

/// Runs itself in a process whose threads request more stack than there is address space.
#[cfg(target_os = "linux")]
#[test]
fn threads_that_cannot_start() {
    const STACK: &str = "RUST_MIN_STACK";
    let impossible = (1_u64 << 56).to_string();
    if std::env::var(STACK).is_ok_and(|set| set == impossible) {
        let error = Exec::with_threads(3).map(9, Ok).unwrap_err();
        assert!(matches!(error, Error::Threads { threads: 3, .. }));
        assert!(error.to_string().starts_with("could not start 3 threads: "), "{error}");
        // A single thread is the thread of the caller.
        assert_eq!(Exec::with_threads(1).map(2, Ok), Ok(vec![0, 1]));
        return;
    }
    let again = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["errors::threads_that_cannot_start", "--exact", "--test-threads=1"])
        .env(STACK, impossible)
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&again.stdout);
    assert!(again.status.success() && output.contains("1 passed"), "{output}");
}

#[test]
fn the_stop_flag_stops_every_operation() {
    let set = OperatorSet::new(vec![walk(50)], vec![Member::Walk(0), Member::Uniform]).unwrap();
    let trajectory = Trajectory::new(&set, &[0.5, 0.5]).unwrap();
    let graph = crate::samples::directed_graph(50, 3, 1);
    let data: Vec<f64> = Random(1).block(100);
    let points = Features::Dense { data: &data, dimension: 2 };
    for threads in [1, 2] {
        let stopped = Exec::new(threads, Arc::new(AtomicBool::new(true)));
        let search = |metric, method| nearest_neighbours(points, 3, metric, method, &stopped).map(drop);
        let affinity =
            symmetric_affinity::<f64>(graph.clone(), Kernel::Binary, 1.0, Symmetrize::Max, &stopped).map(drop);
        let matrix = || set.walks()[0].matrix().clone();
        for result in [
            stopped.check(),
            search(Metric::Euclidean, Method::Scan),
            search(Metric::Manhattan, Method::Scan),
            search(Metric::Euclidean, Method::Tree),
            affinity,
            matrix().row_sums(&stopped).map(drop),
            Transition::from_symmetric(matrix(), 0.0, &stopped).map(drop),
            Transition::from_stochastic(matrix(), 1e-6, &stopped).map(drop),
            trajectory.apply(&data, 2, Direction::Forward, &mut vec![0.0; 100], &stopped),
            trajectory.to_sparse(Pruning::NONE, u64::MAX, &stopped).map(drop),
            trajectory.stationary_distribution(0.0, 10, &stopped).map(drop),
            trajectory.diffusion_distances(&[0, 1], None, &stopped).map(drop),
        ] {
            assert_eq!(result, Err(Error::Interrupted));
        }
    }
    assert_eq!(Error::Interrupted.to_string(), "interrupted");
}

/// Searches that take many seconds are stopped after 0.3 s, also on a busy machine.
#[test]
fn the_stop_flag_stops_a_running_search() {
    let data: Vec<f64> = Random(2).block(60_000 * 40);
    for (metric, method) in
        [(Metric::Euclidean, Method::Scan), (Metric::Manhattan, Method::Scan), (Metric::Euclidean, Method::Tree)]
    {
        for threads in [1, 2] {
            let stop = Arc::new(AtomicBool::new(false));
            let exec = Exec::new(threads, Arc::clone(&stop));
            let raiser = std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(300));
                stop.store(true, Ordering::Relaxed);
                Instant::now()
            });
            let points = Features::Dense { data: &data, dimension: 40 };
            let result = nearest_neighbours(points, 15, metric, method, &exec);
            let returned = Instant::now();
            let raised = raiser.join().unwrap();
            assert_eq!(result.unwrap_err(), Error::Interrupted, "{metric:?} {method:?}");
            let delay = returned.duration_since(raised);
            assert!(delay < Duration::from_secs(3), "{metric:?} {method:?} went on for {delay:?}");
        }
    }
}
