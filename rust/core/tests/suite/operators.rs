//! Affinities, walks, trajectories, products and distances against the dense oracle, and their
//! invariants.

use std::sync::Arc;

use crate::oracle::Matrix;
use crate::samples::{Random, one_hot};
use mdt_core::graph::affinity::{Bandwidths, Kernel, Symmetrize, symmetric_affinity};
use mdt_core::ground::csr::Csr;
use mdt_core::ground::exec::Exec;
use mdt_core::{Direction, Landing, Member, OperatorSet, Pruning, Real, Trajectory, Transition};
use proptest::prelude::*;

fn exec() -> Exec {
    Exec::with_threads(2)
}

/// Rounding error of a few dozen operations in `T`.
fn tolerance<T: Real>() -> f64 {
    64.0 * T::ROUNDOFF
}

fn assert_close(got: &[f64], expected: &[f64], allowed: f64, what: &str) {
    assert_eq!(got.len(), expected.len(), "{what}");
    for (k, (a, b)) in got.iter().zip(expected).enumerate() {
        assert!((a - b).abs() <= allowed * (1.0 + b.abs()), "{what}, entry {k}: expected {b:e}, got {a:e}");
    }
}

fn wide<T: Real>(values: &[T]) -> Vec<f64> {
    values.iter().map(|v| v.to_f64()).collect()
}

fn apply<T: Real>(trajectory: &Trajectory<'_, T>, x: &[T], cols: usize, direction: Direction) -> Vec<T> {
    let mut out = vec![T::ZERO; x.len()];
    trajectory.apply(x, cols, direction, &mut out, &exec()).unwrap();
    out
}

fn sparse<T: Real>(trajectory: &Trajectory<'_, T>, pruning: Pruning) -> Csr<T> {
    trajectory.to_sparse(pruning, u64::MAX, &exec()).unwrap()
}

fn member(walks: usize) -> impl Strategy<Value = Member> {
    let landing = prop_oneof![Just(Landing::Uniform), (1..4_u32).prop_map(Landing::Power)];
    prop_oneof![
        3 => (0..walks).prop_map(Member::Walk),
        1 => (1..=walks).prop_map(Member::Mean),
        1 => Just(Member::Identity),
        1 => Just(Member::Uniform),
        2 => (0..walks, 1..5_u32).prop_map(|(base, exponent)| Member::Power { base, exponent }),
        2 => (0..walks, 0.0..=1.0, landing).prop_map(|(base, alpha, landing)| Member::Teleport { base, alpha, landing }),
    ]
}

/// A random operator set and the weights of a sequence or of a convex trajectory.
#[derive(Debug, Clone)]
struct Case {
    n: usize,
    seed: u64,
    walks: usize,
    members: Vec<Member>,
    weights: Vec<f64>,
}

prop_compose! {
    fn case()(walks in 1..4_usize)(
        n in 2..30_usize,
        seed in any::<u64>(),
        walks in Just(walks),
        members in prop::collection::vec(member(walks), 1..5),
        steps in 1..5_usize,
        convex in any::<bool>(),
    ) -> Case {
        let mut random = Random(seed);
        let m = members.len();
        let weights = if convex {
            let mut weights: Vec<f64> = (0..steps * m).map(|_| (random.unit() - 0.2).max(0.0) + 1e-3).collect();
            weights.chunks_mut(m).for_each(|row| {
                let sum: f64 = row.iter().sum();
                row.iter_mut().for_each(|w| *w /= sum);
            });
            weights
        } else {
            let sequence: Vec<usize> = (0..steps).map(|_| random.below(m)).collect();
            one_hot(&sequence, m)
        };
        Case { n, seed, walks, members, weights }
    }
}

impl Case {
    fn set<T: Real>(&self) -> OperatorSet<T> {
        OperatorSet::new(crate::samples::walks(self.n, self.walks, self.seed), self.members.clone()).unwrap()
    }

    fn steps<T: Real>(&self, set: &OperatorSet<T>) -> Vec<Matrix> {
        let walks: Vec<Matrix> = set.walks().iter().map(|w| crate::oracle::dense(w.matrix())).collect();
        crate::oracle::steps(&walks, &self.members, &self.weights)
    }

    fn check_against_oracle<T: Real>(&self) {
        let set = self.set::<T>();
        let trajectory = Trajectory::new(&set, &self.weights).unwrap();
        let w = crate::oracle::trajectory(&self.steps(&set));
        let allowed = tolerance::<T>();
        for (direction, w) in [(Direction::Forward, w.clone()), (Direction::Transposed, crate::oracle::transpose(&w))] {
            for cols in [1, 3, 33, 66] {
                let x: Vec<T> = Random(self.seed).block(self.n * cols);
                let block = wide(&x).chunks(cols).map(<[f64]>::to_vec).collect();
                let expected = crate::oracle::product(&w, &block).concat();
                assert_close(&wide(&apply(&trajectory, &x, cols, direction)), &expected, allowed, "product");
            }
        }
        let product = sparse(&trajectory, Pruning::NONE);
        assert_close(&crate::oracle::dense(&product).concat(), &w.concat(), allowed, "sparse");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn affinities_equal_the_oracle(n in 2..40_usize, k in 1..8_usize, seed: u64, diagonal in 0.1..2.0) {
        fn check<T: Real>(graph: &Csr<f64>, kernel: Kernel<'_>, diagonal: f64) {
            for how in [Symmetrize::Mean, Symmetrize::Max, Symmetrize::Min] {
                let affinity: Csr<T> = symmetric_affinity(graph.clone(), kernel, diagonal, how, &exec()).unwrap();
                let expected = crate::oracle::affinity(graph, kernel, diagonal, how);
                let what = format!("{kernel:?} {how:?}");
                assert_close(&crate::oracle::dense(&affinity).concat(), &expected.concat(), tolerance::<T>(), &what);
                assert_eq!(affinity.transpose().unwrap(), affinity);
                assert!(affinity.values().iter().all(|v| *v > T::ZERO));
                for alpha in [0.0, 0.5, 1.0] {
                    let walk = Transition::from_symmetric(affinity.clone(), alpha, &exec()).unwrap();
                    let p = crate::oracle::stochastic(&crate::oracle::dense(&affinity), alpha);
                    assert_close(&crate::oracle::dense(walk.matrix()).concat(), &p.concat(), tolerance::<T>(), "transition");
                    let sums = walk.matrix().row_sums(&exec()).unwrap();
                    assert_close(&sums, &vec![1.0; sums.len()], (8.0 * T::ROUNDOFF).max(1e-12), "row sums");
                }
            }
        }
        let graph = crate::samples::directed_graph(n, k, seed);
        let widths: Vec<f64> = Random(seed).block(n).iter().map(|v: &f64| 0.2 + v).collect();
        for h in [Bandwidths::Common(0.7), Bandwidths::PerPoint(&widths)] {
            for kernel in [Kernel::Squared(h), Kernel::Linear(h), Kernel::Binary, Kernel::Given] {
                check::<f64>(&graph, kernel, diagonal);
                check::<f32>(&graph, kernel, diagonal);
            }
        }
    }

    #[test]
    fn trajectories_equal_the_oracle(case in case()) {
        case.check_against_oracle::<f64>();
        case.check_against_oracle::<f32>();
    }

    #[test]
    fn products_are_stochastic_and_transposes_adjoint(case in case()) {
        let set = case.set::<f64>();
        let trajectory = Trajectory::new(&set, &case.weights).unwrap();
        let product = sparse(&trajectory, Pruning::NONE);
        prop_assert!(product.values().iter().all(|v| *v > 0.0));
        assert_close(&product.row_sums(&exec()).unwrap(), &vec![1.0; case.n], 1e-12, "row sums");
        let ones = vec![1.0; case.n];
        assert_close(&apply(&trajectory, &ones, 1, Direction::Forward), &ones, 1e-12, "constants");
        let (x, y): (Vec<f64>, Vec<f64>) = (Random(1).block(case.n), Random(2).block(case.n));
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(p, q)| p * q).sum::<f64>();
        let left = dot(&apply(&trajectory, &x, 1, Direction::Forward), &y);
        let right = dot(&x, &apply(&trajectory, &y, 1, Direction::Transposed));
        prop_assert!((left - right).abs() <= 1e-13 * left);
        // The walks have self-loops, so a product keeps all edges of its factors unless a step is
        // uniform.
        let steps = case.steps(&set);
        if steps.iter().all(|s| (0..case.n).all(|i| s[i][i] > 0.0)) {
            let w = crate::oracle::dense(&product);
            for (row, kept) in steps.iter().flat_map(|s| s.iter().zip(&w)) {
                prop_assert!(row.iter().zip(kept).all(|(before, after)| *before == 0.0 || *after > 0.0));
            }
        }
    }

    #[test]
    fn pruned_rows_sum_to_one_and_keep_the_largest(
        case in case(), below in prop_oneof![Just(0.0), 1e-4..0.3], top in prop::option::of(1..12_usize)
    ) {
        let set = case.set::<f64>();
        let trajectory = Trajectory::new(&set, &case.weights).unwrap();
        let whole = crate::oracle::dense(&sparse(&trajectory, Pruning::NONE));
        let pruning = Pruning { below, top, each_step: false };
        let pruned = sparse(&trajectory, pruning);
        for (i, row) in crate::oracle::dense(&pruned).iter().enumerate() {
            // Computed from the same numbers, so that the kept entries are exactly equal.
            let expected = crate::oracle::prune(&whole[i], pruning);
            prop_assert!(row.iter().zip(&expected).all(|(a, b)| (*a > 0.0) == (*b > 0.0)));
            assert_close(row, &expected, 1e-14, "pruned");
        }
        let each = sparse(&trajectory, Pruning { each_step: true, ..pruning });
        for product in [&pruned, &each] {
            assert_close(&product.row_sums(&exec()).unwrap(), &vec![1.0; case.n], 1e-12, "row sums");
            let longest = (0..case.n).map(|i| product.row(i).0.len()).max().unwrap();
            prop_assert!(longest >= 1 && top.is_none_or(|top| longest <= top));
        }
    }

    #[test]
    fn diffusion_distances_are_a_metric(case in case()) {
        let set = case.set::<f64>();
        let trajectory = Trajectory::new(&set, &case.weights).unwrap();
        let w = crate::oracle::trajectory(&case.steps(&set));
        let weights: Vec<f64> = Random(case.seed).block(case.n).iter().map(|v: &f64| v + 0.1).collect();
        let n = case.n;
        // All rows in reverse order, and one row twice.
        let rows: Vec<usize> = (0..n).rev().chain([0]).collect();
        let m = rows.len();
        for weights in [None, Some(&weights[..])] {
            let d = trajectory.diffusion_distances(&rows, weights, &exec()).unwrap();
            let plain = vec![1.0; n];
            for a in 0..m {
                for b in 0..m {
                    let expected = crate::oracle::diffusion_distance(&w, rows[a], rows[b], weights.unwrap_or(&plain));
                    prop_assert!((d[a * m + b] - expected).abs() <= 1e-13);
                    prop_assert_eq!(d[a * m + b], d[b * m + a]);
                    prop_assert!(rows[a] != rows[b] || d[a * m + b] == 0.0);
                    prop_assert!((0..m).all(|c| d[a * m + b] <= d[a * m + c] + d[c * m + b] + 1e-15));
                }
            }
        }
    }
}

#[test]
fn zeros_on_the_diagonal_are_not_stored() {
    let graph = crate::samples::directed_graph(5, 3, 1);
    let affinity: Csr<f64> = symmetric_affinity(graph, Kernel::Binary, 0.0, Symmetrize::Mean, &exec()).unwrap();
    assert!(affinity.values().iter().all(|v| *v > 0.0));
}

#[test]
fn implicit_members_equal_explicit_ones() {
    let (n, cols) = (40, 5);
    let (p, q) = (Member::Walk(0), Member::Walk(1));
    let power = |base, exponent| Member::Power { base, exponent };
    let jump = |alpha, landing| Member::Teleport { base: 0, alpha, landing };
    // Members and weights of two equal operators.
    let pairs = [
        (vec![power(0, 3)], vec![1.0], vec![p], vec![1.0; 3]),
        (vec![power(1, 1)], vec![1.0], vec![q], vec![1.0]),
        (vec![p, Member::Identity], one_hot(&[0, 1, 1, 0], 2), vec![p], vec![1.0; 2]),
        (vec![jump(0.85, Landing::Uniform)], vec![1.0], vec![p, Member::Uniform], vec![0.85, 0.15]),
        (vec![jump(0.7, Landing::Power(2))], vec![1.0], vec![p, power(0, 2)], vec![0.7, 0.3]),
        (vec![jump(0.7, Landing::Power(1))], vec![1.0], vec![p], vec![1.0]),
        (vec![p, p, q], vec![0.25, 0.25, 0.5], vec![p, q], vec![0.5, 0.5]),
        // After a uniform step every function is constant: later steps change nothing.
        (vec![p, Member::Uniform], one_hot(&[1, 0, 0], 2), vec![Member::Uniform], vec![1.0]),
    ];
    let x: Vec<f64> = Random(3).block(n * cols);
    for (members, weights, other_members, other_weights) in pairs {
        let walks = crate::samples::walks::<f64>(n, 2, 9);
        let set = OperatorSet::new(walks.clone(), members.clone()).unwrap();
        let other = OperatorSet::new(walks, other_members).unwrap();
        let (a, b) = (Trajectory::new(&set, &weights).unwrap(), Trajectory::new(&other, &other_weights).unwrap());
        for direction in [Direction::Forward, Direction::Transposed] {
            assert_close(
                &apply(&a, &x, cols, direction),
                &apply(&b, &x, cols, direction),
                1e-14,
                &format!("{members:?}"),
            );
        }
    }
}

#[test]
fn a_sequence_is_the_product_with_later_steps_on_the_left() {
    let set = OperatorSet::new(crate::samples::walks::<f64>(12, 2, 1), vec![Member::Walk(0), Member::Walk(1)]).unwrap();
    let [p, q] = [0, 1].map(|v| crate::oracle::dense(set.walks()[v].matrix()));
    let w = sparse(&Trajectory::new(&set, &one_hot(&[0, 1, 1], 2)).unwrap(), Pruning::NONE);
    let expected = crate::oracle::product(&q, &crate::oracle::product(&q, &p));
    assert_close(&crate::oracle::dense(&w).concat(), &expected.concat(), 1e-14, "sequence");
}

/// Wide blocks are cut into panels and large blocks are mapped; neither changes a column.
#[test]
fn a_column_does_not_depend_on_its_block() {
    fn check<T: Real>(n: usize, widths: &[usize]) {
        let members = vec![Member::Walk(0), Member::Power { base: 1, exponent: 2 }, Member::Uniform];
        let set = OperatorSet::new(crate::samples::walks::<T>(n, 2, 4), members).unwrap();
        let trajectory = Trajectory::new(&set, &[0.5, 0.3, 0.2, 1.0, 0.0, 0.0]).unwrap();
        for &cols in widths {
            let x: Vec<T> = Random(8).block(n * cols);
            for direction in [Direction::Forward, Direction::Transposed] {
                let whole = apply(&trajectory, &x, cols, direction);
                for c in [0, cols / 2, cols - 1] {
                    let column = |block: &[T]| block.iter().skip(c).step_by(cols).copied().collect::<Vec<T>>();
                    assert_eq!(apply(&trajectory, &column(&x), 1, direction), column(&whole), "{cols} {c}");
                }
            }
        }
    }
    check::<f64>(300, &[1, 2, 4, 7, 8, 16, 31, 32, 33, 63, 64, 65, 97]);
    check::<f32>(300, &[5, 64, 70]);
    // 5 MB, above the size from which on a block has a mapping of its own.
    check::<f64>(20_000, &[33]);
}

#[test]
fn reversible_transposes_equal_explicit_ones() {
    fn check<T: Real>(allowed: f64) {
        let n = 400;
        let reversible = crate::samples::reversible::<T>(n, 7, 2);
        let explicit = Transition::from_stochastic(reversible.matrix().clone(), 1e-5, &exec()).unwrap();
        assert!(reversible.degrees().is_some() && explicit.degrees().is_none());
        let x: Vec<T> = Random(5).block(n * 6);
        let [a, b] = [reversible, explicit].map(|walk| {
            let set = OperatorSet::new(vec![Arc::new(walk)], vec![Member::Walk(0)]).unwrap();
            wide(&apply(&Trajectory::new(&set, &[1.0; 3]).unwrap(), &x, 6, Direction::Transposed))
        });
        assert_close(&a, &b, allowed, "transposed");
    }
    check::<f64>(1e-14);
    check::<f32>(1e-6);
}

#[test]
fn walks_are_restored_and_rounded() {
    let walk = crate::samples::reversible::<f64>(60, 5, 3);
    let stored = || Transition::restore(walk.matrix().clone(), walk.degrees().map(<[f64]>::to_vec)).unwrap();
    let (stored, single) = (stored(), stored().into_single().unwrap());
    let x: Vec<f64> = Random(1).block(60);
    let run = |walk: Transition<f64>| {
        let set = OperatorSet::new(vec![Arc::new(walk)], vec![Member::Walk(0)]).unwrap();
        apply(&Trajectory::new(&set, &[1.0]).unwrap(), &x, 1, Direction::Transposed)
    };
    assert_eq!(single.matrix().indices(), walk.matrix().indices());
    assert_close(&wide(single.matrix().values()), walk.matrix().values(), f64::from(f32::EPSILON), "single");
    assert_eq!(run(walk), run(stored));
}

#[test]
fn given_matrices_are_normalised() {
    let near = Csr::new(2, vec![0, 2, 3], vec![0, 1, 1], vec![0.5, 0.500_000_1, 1.0]).unwrap();
    let walk = Transition::from_stochastic(near, 1e-6, &exec()).unwrap();
    assert_close(&walk.matrix().row_sums(&exec()).unwrap(), &[1.0, 1.0], 1e-15, "row sums");
}

#[test]
fn pruning_breaks_ties_by_column_and_keeps_one_entry() {
    // Every row has four equal entries.
    let columns = (0..8_u32).flat_map(|i| if i < 4 { [0, 2, 4, 6] } else { [1, 3, 5, 7] }).collect();
    let matrix = Csr::new(8, (0..=8).map(|i| 4 * i).collect(), columns, vec![0.25; 32]).unwrap();
    let walk = Transition::from_stochastic(matrix, 1e-12, &exec()).unwrap();
    let set = OperatorSet::new(vec![Arc::new(walk)], vec![Member::Walk(0)]).unwrap();
    let trajectory = Trajectory::new(&set, &[1.0]).unwrap();
    let two = sparse(&trajectory, Pruning { below: 0.0, top: Some(2), each_step: false });
    assert_eq!((two.row(0), two.row(7)), ((&[0, 2][..], &[0.5; 2][..]), (&[1, 3][..], &[0.5; 2][..])));
    let one = sparse(&trajectory, Pruning { below: 0.9, top: None, each_step: false });
    assert_eq!((one.row(3), one.nnz()), ((&[0][..], &[1.0][..]), 8));
}

#[test]
fn pruning_each_step_equals_the_oracle() {
    let case = Case { n: 25, seed: 4, walks: 2, members: vec![Member::Walk(0), Member::Walk(1)], weights: vec![] };
    let case = Case { weights: vec![0.4, 0.6, 0.0, 1.0, 0.9, 0.1], ..case };
    let set = case.set::<f64>();
    let pruning = Pruning { below: 0.02, top: Some(6), each_step: true };
    let pruned = sparse(&Trajectory::new(&set, &case.weights).unwrap(), pruning);
    let mut expected = crate::oracle::identity(case.n);
    for step in case.steps(&set).iter().rev() {
        expected =
            crate::oracle::product(&expected, step).iter().map(|row| crate::oracle::prune(row, pruning)).collect();
    }
    assert_close(&crate::oracle::dense(&pruned).concat(), &expected.concat(), 1e-14, "pruned");
}

/// A point with edges to all others: its row is summed in segments.
#[test]
fn rows_of_hubs_are_summed_accurately() {
    let n = 5000_usize;
    let edges = (1..n as u32).chain(vec![0; n - 1]).collect();
    let indptr = [0].into_iter().chain((0..n as u64).map(|i| n as u64 - 1 + i)).collect();
    let graph = Csr::new(n, indptr, edges, vec![1.0; 2 * (n - 1)]).unwrap();
    let star: Csr<f32> = symmetric_affinity(graph, Kernel::Binary, 1.0, Symmetrize::Mean, &exec()).unwrap();
    let walk = Transition::from_symmetric(star, 0.0, &exec()).unwrap();
    let set = OperatorSet::new(vec![Arc::new(walk)], vec![Member::Walk(0)]).unwrap();
    let trajectory = Trajectory::new(&set, &[1.0]).unwrap();
    let x: Vec<f32> = Random(2).block(n);
    let mean = wide(&x).iter().sum::<f64>() / n as f64;
    let out = apply(&trajectory, &x, 1, Direction::Forward);
    assert!((f64::from(out[0]) / mean - 1.0).abs() < 1e-6);
    assert!((f64::from(out[9]) - (wide(&x)[0] + wide(&x)[9]) / 2.0).abs() < 1e-6);
    let mass: f64 = wide(&apply(&trajectory, &x, 1, Direction::Transposed)).iter().sum();
    assert!((mass / (mean * n as f64) - 1.0).abs() < 1e-6);
}

#[test]
fn stationary_distributions_are_left_fixed_vectors() {
    let n = 50;
    let walks = vec![Arc::new(crate::samples::reversible::<f64>(n, 12, 6)), Arc::new(crate::samples::one_way(n, 5, 7))];
    let set = OperatorSet::new(walks, vec![Member::Walk(0), Member::Walk(1)]).unwrap();
    let degrees = set.walks()[0].degrees().unwrap();
    let total: f64 = degrees.iter().sum();
    let proportional: Vec<f64> = degrees.iter().map(|d| d / total).collect();
    let stationary = |sequence: &[usize], most| {
        let weights = one_hot(sequence, 2);
        let trajectory = Trajectory::new(&set, &weights).unwrap();
        let found = trajectory.stationary_distribution(1e-13, most, &exec()).unwrap();
        let next = apply(&trajectory, &found.distribution, 1, Direction::Transposed);
        assert!((found.distribution.iter().sum::<f64>() - 1.0).abs() < 1e-14);
        (found, next)
    };
    let (reversible, _) = stationary(&[0], 100_000);
    assert_close(&reversible.distribution, &proportional, 1e-9, "degrees");
    let (mixed, next) = stationary(&[0, 1, 1], 100_000);
    assert!(mixed.residual <= 1e-13 && mixed.iterations < 100_000);
    assert_close(&next, &mixed.distribution, 1e-13, "fixed");
    let (short, _) = stationary(&[0, 1], 2);
    assert_eq!(short.iterations, 2);
    assert!(short.residual > 1e-13);
}

/// Long products of connected walks tend to rank one.
#[test]
fn long_products_become_rank_one() {
    let n = 40;
    let set = OperatorSet::new(crate::samples::walks::<f64>(n, 2, 3), vec![Member::Walk(0), Member::Walk(1)]).unwrap();
    let x: Vec<f64> = Random(4).block(n);
    let range = |t: usize| {
        let sequence: Vec<usize> = (0..t).map(|s| s % 2).collect();
        let out = apply(&Trajectory::new(&set, &one_hot(&sequence, 2)).unwrap(), &x, 1, Direction::Forward);
        out.iter().fold(f64::MIN, |m, v| m.max(*v)) - out.iter().fold(f64::MAX, |m, v| m.min(*v))
    };
    assert!(range(10) < range(2) && range(200) < 1e-12, "{:e} {:e} {:e}", range(2), range(10), range(200));
}
