//! Every public operation gives the same bits on any number of threads.
//!
//! The sizes give several pieces of work; 8 threads are more than most machines have.

use std::sync::Arc;

use crate::samples::{Random, bits, matrix_bits};
use mdt_core::graph::affinity::{Bandwidths, Kernel, Symmetrize, symmetric_affinity};
use mdt_core::graph::neighbours::{ApproximateSettings, Features, Method, Metric, nearest_neighbours};
use mdt_core::ground::csr::Csr;
use mdt_core::ground::exec::Exec;
use mdt_core::{Direction, Landing, Member, OperatorSet, Pruning, Real, Trajectory, Transition};

/// Compares the results on 1, 2, 3 and 8 threads.
fn assert_same(what: &str, run: impl Fn(&Exec) -> Vec<u64>) {
    let expected = run(&Exec::with_threads(1));
    for threads in [2, 3, 8] {
        assert!(run(&Exec::with_threads(threads)) == expected, "{what} differs on {threads} threads");
    }
}

#[test]
fn neighbours() {
    fn check<T: Real>(points: Features<'_, T>, metric: Metric, method: Method) {
        assert_same(&format!("{metric:?} {method:?}"), |exec| {
            let table = nearest_neighbours(points, 9, metric, method, exec).unwrap();
            let indices = table.indices.iter().map(|&i| u64::from(i));
            indices.chain(bits(&table.distances)).chain(bits(&table.nearest_positive)).collect()
        });
    }
    let n = 1500;
    // Small integers give many ties, which reveal the order of work.
    let data: Vec<f64> = (0..n * 8).map(|i| Random(i as u64).below(5) as f64 + 1.0).collect();
    let single: Vec<f32> = data.iter().map(|v| *v as f32).collect();
    let indptr = (0..=n as u64).map(|i| 8 * i).collect();
    let sparse = Csr::new(8, indptr, (0..8).cycle().take(8 * n).collect(), data.clone()).unwrap();
    for metric in [Metric::Euclidean, Metric::Cosine, Metric::Manhattan] {
        for method in [Method::Scan, Method::Tree] {
            check(Features::Dense { data: &data, dimension: 8 }, metric, method);
            check(Features::Dense { data: &single, dimension: 8 }, metric, method);
        }
        check(Features::Sparse(&sparse), metric, Method::Scan);
    }
    // Several leaves, and a recall that takes several stages.
    let (n, dimension) = (5000, 16);
    let data: Vec<f32> = Random(1).block(n * dimension);
    let coordinates = Features::Dense { data: &data, dimension };
    check(coordinates, Metric::Euclidean, Method::Approximate(ApproximateSettings { seed: 3, recall: 0.9 }));
    check(coordinates, Metric::Cosine, Method::Approximate(ApproximateSettings { seed: 3, recall: 0.995 }));
}

/// Pieces have 4096 rows or 65536 entries.
const N: usize = 20_000;

#[test]
fn affinities_and_transitions() {
    fn check<T: Real>() {
        let graph = crate::samples::directed_graph(N, 10, 3);
        let widths: Vec<f64> = Random(4).block(N).iter().map(|v: &f64| 0.5 + v).collect();
        let affinity = |exec: &Exec| -> Csr<T> {
            let kernel = Kernel::Squared(Bandwidths::PerPoint(&widths));
            symmetric_affinity(graph.clone(), kernel, 1.0, Symmetrize::Mean, exec).unwrap()
        };
        assert_same("affinity", |exec| matrix_bits(&affinity(exec)));
        assert_same("row sums", |exec| bits(&affinity(exec).row_sums(exec).unwrap()));
        assert_same("transition", |exec| {
            let walk = Transition::from_symmetric(affinity(exec), 0.5, exec).unwrap();
            matrix_bits(walk.matrix()).into_iter().chain(bits(walk.degrees().unwrap())).collect()
        });
        let walk = crate::samples::one_way::<T>(N, 10, 5);
        assert_same("given transition", |exec| {
            matrix_bits(Transition::from_stochastic(walk.matrix().clone(), 1e-5, exec).unwrap().matrix())
        });
    }
    check::<f64>();
    check::<f32>();
}

/// Members of all types over a reversible and a non-reversible walk.
fn set<T: Real>(n: usize) -> OperatorSet<T> {
    let walks = vec![Arc::new(crate::samples::reversible(n, 10, 1)), Arc::new(crate::samples::one_way(n, 8, 2))];
    let members = vec![
        Member::Walk(0),
        Member::Walk(1),
        Member::Power { base: 0, exponent: 3 },
        Member::Teleport { base: 1, alpha: 0.9, landing: Landing::Uniform },
        Member::Identity,
    ];
    OperatorSet::new(walks, members).unwrap()
}

#[test]
fn trajectories() {
    fn check<T: Real>(set: &OperatorSet<T>) {
        let weights = [0.2, 0.3, 0.1, 0.2, 0.2, 1.0, 0.0, 0.0, 0.0, 0.0];
        let trajectory = Trajectory::new(set, &weights).unwrap();
        for cols in [1, 8, 70] {
            let x: Vec<T> = Random(6).block(N * cols);
            for direction in [Direction::Forward, Direction::Transposed] {
                assert_same(&format!("{direction:?} {cols}"), |exec| {
                    let mut out = vec![T::ZERO; x.len()];
                    trajectory.apply(&x, cols, direction, &mut out, exec).unwrap();
                    bits(&out)
                });
            }
        }
        assert_same("stationary distribution", |exec| {
            let found = trajectory.stationary_distribution(1e-12, 20, exec).unwrap();
            bits(&found.distribution).into_iter().chain([found.residual.to_bits(), found.iterations as u64]).collect()
        });
        let rows: Vec<usize> = (0..30).map(|i| i * 601).collect();
        let weights: Vec<f64> = Random(7).block(N);
        assert_same("distances", |exec| bits(&trajectory.diffusion_distances(&rows, Some(&weights), exec).unwrap()));
    }
    check(&set::<f64>(N));
    check(&set::<f32>(N));
}

#[test]
fn products() {
    fn check<T: Real>(set: &OperatorSet<T>) {
        let weights = [0.5, 0.3, 0.0, 0.0, 0.2, 0.0, 0.8, 0.2, 0.0, 0.0];
        let trajectory = Trajectory::new(set, &weights).unwrap();
        let pruned = Pruning { below: 1e-4, top: Some(20), each_step: true };
        for pruning in [Pruning::NONE, pruned] {
            assert_same(&format!("{pruning:?}"), |exec| {
                matrix_bits(&trajectory.to_sparse(pruning, u64::MAX, exec).unwrap())
            });
        }
    }
    check(&set::<f64>(3000));
    check(&set::<f32>(3000));
}
