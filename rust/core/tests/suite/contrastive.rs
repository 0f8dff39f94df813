//! The contrastive loss against the dense oracle, its gradient against finite differences, and its
//! invariances.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::samples::{Random, one_hot, simplex};
use mdt_core::ground::csr::Csr;
use mdt_core::ground::exec::Exec;
use mdt_core::{Contrastive, ContrastiveLoss, Error, Landing, Member, OperatorSet, Real, Trajectory, Transition};

const ALL: Contrastive<'static> =
    Contrastive { view_weights: &[0.5, 0.5], rows: None, include_self: false, gradient: true };

/// Members of all types over a reversible and a non-reversible walk.
fn set<T: Real>(n: usize) -> OperatorSet<T> {
    let walks = vec![Arc::new(crate::samples::reversible(n, 5, 1)), Arc::new(crate::samples::one_way(n, 3, 2))];
    let members = vec![
        Member::Walk(0),
        Member::Walk(1),
        Member::Identity,
        Member::Uniform,
        Member::Power { base: 0, exponent: 3 },
        Member::Power { base: 1, exponent: 2 },
        Member::Teleport { base: 1, alpha: 0.7, landing: Landing::Uniform },
        Member::Teleport { base: 0, alpha: 0.4, landing: Landing::Power(2) },
    ];
    OperatorSet::new(walks, members).unwrap()
}

/// Members that reach only near points.
fn local_set<T: Real>(n: usize) -> OperatorSet<T> {
    let walks = vec![Arc::new(crate::samples::reversible(n, 5, 1)), Arc::new(crate::samples::reversible(n, 4, 1))];
    let members = vec![Member::Walk(0), Member::Walk(1), Member::Identity, Member::Power { base: 1, exponent: 2 }];
    OperatorSet::new(walks, members).unwrap()
}

fn evaluate<T: Real>(
    set: &OperatorSet<T>,
    weights: &[f64],
    options: Contrastive<'_>,
    threads: usize,
) -> ContrastiveLoss {
    Trajectory::new(set, weights).unwrap().contrastive_loss(options, &Exec::with_threads(threads)).unwrap()
}

fn dense_loss<T: Real>(set: &OperatorSet<T>, weights: &[f64], options: Contrastive<'_>) -> f64 {
    let walks: Vec<_> = set.walks().iter().map(|w| crate::oracle::dense(w.matrix())).collect();
    let w = crate::oracle::trajectory(&crate::oracle::steps(&walks, set.members(), weights));
    let mut loss = 0.0;
    for i in (0..set.n()).filter(|i| options.rows.is_none_or(|rows| rows.contains(i))) {
        let others: Vec<f64> = (0..set.n()).filter(|&k| k != i).map(|k| w[i][k]).collect();
        let top = others.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let log_sum = top + others.iter().map(|v| (v - top).exp()).sum::<f64>().ln();
        for (walk, view_weight) in set.walks().iter().zip(options.view_weights) {
            let neighbours = walk.matrix().row(i).0.iter().map(|&j| j as usize);
            for j in neighbours.filter(|&j| options.include_self || j != i) {
                loss += view_weight * (log_sum - w[i][j]);
            }
        }
    }
    loss
}

/// Central differences of the loss of the oracle.
fn dense_gradient<T: Real>(set: &OperatorSet<T>, weights: &[f64], options: Contrastive<'_>) -> Vec<f64> {
    let h = 1e-4;
    (0..weights.len())
        .map(|k| {
            let at = |shift: f64| {
                let moved: Vec<f64> =
                    weights.iter().enumerate().map(|(l, w)| if l == k { w + shift } else { *w }).collect();
                dense_loss(set, &moved, options)
            };
            (at(h) - at(-h)) / (2.0 * h)
        })
        .collect()
}

fn assert_agrees<T: Real>(set: &OperatorSet<T>, weights: &[f64], options: Contrastive<'_>) {
    let found = evaluate(set, weights, options, 2);
    let expected = dense_loss(set, weights, options);
    let precise = 200.0 * T::ROUNDOFF;
    assert!((found.loss - expected).abs() <= precise * (1.0 + expected.abs()), "{} {expected}", found.loss);
    let slopes = dense_gradient(set, weights, options);
    let scale = slopes.iter().fold(1.0, |m: f64, v| m.max(v.abs()));
    assert_eq!(found.gradient.len(), slopes.len());
    for (k, (a, b)) in found.gradient.iter().zip(&slopes).enumerate() {
        assert!((a - b).abs() <= (precise + 1e-6) * scale, "derivative {k}: expected {b}, got {a}");
    }
    let alone = evaluate(set, weights, Contrastive { gradient: false, ..options }, 2);
    assert_eq!(alone, ContrastiveLoss { loss: found.loss, gradient: vec![] });
}

#[test]
fn loss_and_gradient_equal_the_oracle() {
    fn check<T: Real>() {
        let options = Contrastive { view_weights: &[0.25, 0.75], ..ALL };
        for steps in [1, 2, 4] {
            for include_self in [false, true] {
                let options = Contrastive { include_self, ..options };
                let set = set::<T>(45);
                assert_agrees(&set, &simplex(steps, set.members().len(), steps as u64), options);
                let set = local_set::<T>(170);
                assert_agrees(&set, &simplex(steps, set.members().len(), steps as u64), options);
            }
        }
    }
    check::<f64>();
    check::<f32>();
}

#[test]
fn members_of_weight_zero_have_a_gradient() {
    let set = set::<f64>(40);
    let members = set.members().len();
    for sequence in [[0, 0, 0], [1, 2, 0], [3, 1, 4], [7, 6, 5], [2, 2, 2]] {
        assert_agrees(&set, &one_hot(&sequence, members), ALL);
    }
    assert_agrees(&local_set::<f64>(170), &one_hot(&[1, 0], 4), ALL);
}

#[test]
fn weights_may_leave_the_simplex() {
    let set = set::<f64>(30);
    let members = set.members().len();
    let options = Contrastive { include_self: true, ..ALL };
    for scale in [-1.5, 2.0, 4.0] {
        let weights: Vec<f64> = Random(3).block::<f64>(3 * members).iter().map(|w| scale * (w - 0.2)).collect();
        let found = evaluate(&set, &weights, options, 1);
        let expected = dense_loss(&set, &weights, options);
        assert!((found.loss - expected).abs() <= 1e-12 * expected.abs(), "{scale}: {} {expected}", found.loss);
    }
    // exp(W_ik) overflows long before W_ik does.
    let weights = [vec![50.0; members], vec![50.0; members]].concat();
    let found = evaluate(&set, &weights, ALL, 1);
    let expected = dense_loss(&set, &weights, ALL);
    assert!((found.loss - expected).abs() <= 1e-12 * expected.abs(), "{} {expected}", found.loss);
    let huge = Trajectory::new(&set, &[vec![1e200; members], vec![1e200; members]].concat()).unwrap();
    let error = huge.contrastive_loss(ALL, &Exec::with_threads(1)).unwrap_err().to_string();
    assert!(error.contains("left the range"), "{error}");
}

#[test]
fn two_points_and_disconnected_parts() {
    // Disconnected pairs of points. For two points the only other point is the neighbour: log
    // exp(W_ij) - W_ij = 0.
    for pairs in [1, 4] {
        let n = 2 * pairs;
        let indptr = (0..=n as u64).map(|i| 2 * i).collect();
        let indices = (0..n as u32).flat_map(|i| [i / 2 * 2, i / 2 * 2 + 1]).collect();
        let matrix = Csr::new(n, indptr, indices, vec![0.5; 2 * n]).unwrap();
        let walk = Arc::new(Transition::from_stochastic(matrix, 1e-9, &Exec::with_threads(1)).unwrap());
        let set = OperatorSet::new(vec![walk], vec![Member::Walk(0), Member::Identity]).unwrap();
        let options = Contrastive { view_weights: &[1.0], ..ALL };
        assert_agrees(&set, &[0.25, 0.75, 0.5, 0.5], options);
        if pairs == 1 {
            assert!(evaluate(&set, &[0.25, 0.75], options, 1).loss.abs() < 1e-15);
        }
    }
}

#[test]
fn losses_of_disjoint_rows_add_up() {
    let set = set::<f64>(150);
    let weights = simplex(3, set.members().len(), 5);
    let whole = evaluate(&set, &weights, ALL, 2);
    let mut loss = 0.0;
    let mut gradient = vec![0.0; weights.len()];
    for part in 0..3 {
        let rows: Vec<usize> = (0..150).rev().filter(|i| i * i % 3 == part).collect();
        let options = Contrastive { rows: Some(&rows), ..ALL };
        let found = evaluate(&set, &weights, options, 2);
        assert!((found.loss - dense_loss(&set, &weights, options)).abs() <= 1e-10);
        loss += found.loss;
        gradient.iter_mut().zip(&found.gradient).for_each(|(sum, g)| *sum += g);
    }
    assert!((loss - whole.loss).abs() <= 1e-12 * loss);
    let scale = whole.gradient.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    assert!(gradient.iter().zip(&whole.gradient).all(|(a, b)| (a - b).abs() <= 1e-12 * scale));
    let nothing = evaluate(&set, &weights, Contrastive { rows: Some(&[]), ..ALL }, 1);
    assert_eq!(nothing, ContrastiveLoss { loss: 0.0, gradient: vec![0.0; weights.len()] });
}

#[test]
fn results_do_not_depend_on_threads() {
    fn check<T: Real>(set: &OperatorSet<T>) {
        let weights = simplex(3, set.members().len(), 6);
        let rows: Vec<usize> = (0..set.n()).step_by(9).collect();
        let options = Contrastive { rows: Some(&rows), ..ALL };
        let expected = evaluate(set, &weights, options, 1);
        for threads in [2, 3, 8] {
            let found = evaluate(set, &weights, options, threads);
            assert_eq!(found.loss.to_bits(), expected.loss.to_bits(), "{threads}");
            let bits = |v: &[f64]| v.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&found.gradient), bits(&expected.gradient), "{threads}");
        }
    }
    check(&set::<f64>(1200));
    check(&set::<f32>(1200));
    check(&local_set::<f64>(3000));
    check(&local_set::<f32>(3000));
}

#[test]
fn invalid_arguments_are_refused() {
    let set = set::<f64>(20);
    let weights = simplex(2, set.members().len(), 7);
    let trajectory = Trajectory::new(&set, &weights).unwrap();
    let message = |options| trajectory.contrastive_loss(options, &Exec::with_threads(1)).unwrap_err().to_string();
    assert_eq!(message(Contrastive { rows: Some(&[3, 20]), ..ALL }), "expected rows below 20, got 20");
    assert_eq!(message(Contrastive { rows: Some(&[3, 1, 3]), ..ALL }), "expected distinct rows, got 3 twice");
    assert_eq!(message(Contrastive { view_weights: &[1.0; 3], ..ALL }), "expected at most 2 view weights, got 3");
    assert_eq!(message(Contrastive { view_weights: &[f64::NAN], ..ALL }), "expected finite view weights, got NaN");
    let stopped = Exec::new(2, Arc::new(AtomicBool::new(true)));
    assert_eq!(trajectory.contrastive_loss(ALL, &stopped).unwrap_err(), Error::Interrupted);
    let one = Csr::new(1, vec![0, 1], vec![0], vec![1.0]).unwrap();
    let one = Arc::new(Transition::from_stochastic(one, 1e-9, &Exec::with_threads(1)).unwrap());
    let set = OperatorSet::new(vec![one], vec![Member::Walk(0)]).unwrap();
    let error = Trajectory::new(&set, &[1.0]).unwrap().contrastive_loss(ALL, &Exec::with_threads(1)).unwrap_err();
    assert_eq!(error.to_string(), "expected at least 2 points, got 1");
}

/// `sum_i d_i (log(N - 1) + 1 / (N - 1)) - sum_c z_c^T H^T W z_c` for dense matrices.
fn dense_estimate<T: Real>(set: &OperatorSet<T>, weights: &[f64], view_weights: &[f64], probes: &[T]) -> f64 {
    let (n, cols) = (set.n(), probes.len() / set.n());
    let walks: Vec<_> = set.walks().iter().map(|w| crate::oracle::dense(w.matrix())).collect();
    let w = crate::oracle::trajectory(&crate::oracle::steps(&walks, set.members(), weights));
    let others = (n - 1) as f64;
    let mut sum = 0.0;
    for (i, row) in w.iter().enumerate() {
        let image = |c: usize| (0..n).map(|k| row[k] * probes[k * cols + c].to_f64()).sum::<f64>();
        let images: Vec<f64> = (0..cols).map(image).collect();
        let along = |j: usize| images.iter().zip(&probes[j * cols..]).map(|(a, b)| a * b.to_f64()).sum::<f64>();
        for (walk, weight) in set.walks().iter().zip(view_weights) {
            for j in walk.matrix().row(i).0.iter().map(|&j| j as usize).filter(|&j| j != i) {
                sum += weight * (others.ln() + 1.0 / others - along(j) - along(i) / others);
            }
        }
    }
    sum
}

#[test]
fn estimates_equal_the_oracle() {
    fn check<T: Real>(set: &OperatorSet<T>, n_signs: usize) {
        let view_weights = [0.25, 0.75];
        for steps in [1, 3] {
            let weights = simplex(steps, set.members().len(), steps as u64);
            let trajectory = Trajectory::new(set, &weights).unwrap();
            let estimate = |probes: &[T], threads| {
                trajectory.estimate_contrastive_loss(&view_weights, probes, &Exec::with_threads(threads)).unwrap()
            };
            let probes = trajectory.contrastive_probes(&view_weights, n_signs, 5, &Exec::with_threads(2)).unwrap();
            assert_eq!(probes.len(), set.n() * (32 + n_signs));
            let found = estimate(&probes, 3);
            assert_eq!(found, estimate(&probes, 1));
            let at = |weights: &[f64]| dense_estimate(set, weights, &view_weights, &probes);
            let (expected, precise) = (at(&weights), 200.0 * T::ROUNDOFF);
            assert!((found.loss - expected).abs() <= precise * expected.abs(), "{} {expected}", found.loss);
            for (k, derivative) in found.gradient.iter().enumerate() {
                // The estimate is linear in each weight.
                let mut ahead = weights.clone();
                ahead[k] += 1.0;
                let slope = at(&ahead) - expected;
                assert!((derivative - slope).abs() <= precise * expected.abs(), "{k}: {derivative} {slope}");
            }
        }
    }
    check(&set::<f64>(45), 3);
    check(&set::<f32>(45), 3);
    check(&local_set::<f64>(170), 40);
}

#[test]
fn estimates_refuse_invalid_arguments() {
    let set = set::<f64>(40);
    let trajectory = Trajectory::new(&set, &simplex(2, set.members().len(), 7)).unwrap();
    let exec = Exec::with_threads(1);
    let message = |weights: &[f64], probes: &[f64]| {
        trajectory.estimate_contrastive_loss(weights, probes, &exec).unwrap_err().to_string()
    };
    assert!(message(&[1.0], &[1.0; 41]).contains("elements of the probes"));
    assert_eq!(message(&[1.0; 3], &[1.0; 40]), "expected at most 2 view weights, got 3");
    let stopped = Exec::new(2, Arc::new(AtomicBool::new(true)));
    assert_eq!(trajectory.estimate_contrastive_loss(&[1.0], &[1.0; 40], &stopped).unwrap_err(), Error::Interrupted);
    assert_eq!(trajectory.contrastive_probes(&[1.0], 2, 0, &stopped).unwrap_err(), Error::Interrupted);
}
