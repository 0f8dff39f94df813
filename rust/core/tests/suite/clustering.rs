//! k-means and quality against their definitions, and equal bits on any number of threads.

use crate::oracle::{by_class, mean, squared_distance};
use crate::samples::{Random, blobs, labels, sparse_rows};
use mdt_core::Real;
use mdt_core::cluster::k_means::{KMeans, KMeansSettings, k_means};
use mdt_core::cluster::quality::{Sample, calinski_harabasz, davies_bouldin, silhouette};
use mdt_core::graph::neighbours::Features;
use mdt_core::ground::csr::Csr;
use mdt_core::ground::exec::Exec;
use proptest::prelude::*;

fn assert_close(got: f64, expected: f64, what: &str) {
    assert!((got - expected).abs() <= 1e-9 * expected.abs().max(1e-3), "{what}: {got} instead of {expected}");
}

fn check_scores(rows: &Csr<f64>, labels: &[u32], k: usize) {
    let exec = Exec::with_threads(2);
    let dense = crate::oracle::dense(rows);
    let flat: Vec<f64> = dense.concat();
    for points in [Features::Sparse(rows), Features::Dense { data: &flat, dimension: rows.n_cols() }] {
        let got = calinski_harabasz(points, labels, k, &exec).unwrap();
        assert_close(got, crate::oracle::calinski_harabasz(&dense, labels, k), "Calinski-Harabasz");
        let got = davies_bouldin(points, labels, k, &exec).unwrap();
        assert_close(got, crate::oracle::davies_bouldin(&dense, labels, k), "Davies-Bouldin");
        let got = silhouette(points, labels, k, None, &exec).unwrap();
        assert_close(got, crate::oracle::silhouette(&dense, labels, k), "silhouette");
        // A sample of all points gives the score of all points.
        let all = Some(Sample { size: labels.len(), seed: 3 });
        assert_close(silhouette(points, labels, k, all, &exec).unwrap(), got, "full sample");
        // A part gives the score of its points, if it has enough classes.
        let part = Sample { size: labels.len() - 1, seed: 5 };
        let chosen: Vec<usize> = part.rows(labels.len()).unwrap().iter().map(|&i| i as usize).collect();
        let mut classes: Vec<u32> = chosen.iter().map(|&i| labels[i]).collect();
        classes.sort_unstable();
        classes.dedup();
        if (2..chosen.len()).contains(&classes.len()) {
            let rows: Vec<Vec<f64>> = chosen.iter().map(|&i| dense[i].clone()).collect();
            let number = |label| classes.binary_search(&label).unwrap() as u32;
            let own: Vec<u32> = chosen.iter().map(|&i| number(labels[i])).collect();
            let expected = crate::oracle::silhouette(&rows, &own, classes.len());
            assert_close(silhouette(points, labels, k, Some(part), &exec).unwrap(), expected, "sample");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn scores_match_their_definitions(n in 4_usize..60, columns in 1_usize..30, per_row in 1_usize..8, seed: u64) {
        let k = 2 + Random(seed ^ 1).below(n - 3);
        check_scores(&sparse_rows(n, columns, per_row, seed), &labels(n, k, seed ^ 2), k);
    }

    #[test]
    fn labels_centres_and_inertia_are_consistent(n in 1_usize..80, dimension in 1_usize..12, seed: u64, grid in 2_usize..50) {
        let mut random = Random(seed);
        // Coarse grids have duplicates and ties.
        let points: Vec<f64> = (0..n * dimension).map(|_| random.below(grid) as f64).collect();
        let mut distinct: Vec<Vec<u64>> =
            points.chunks(dimension).map(|p| p.iter().map(|x| x.to_bits()).collect()).collect();
        distinct.sort_unstable();
        distinct.dedup();
        let k = 1 + random.below(distinct.len() + 2);
        let settings = KMeansSettings { n_clusters: k, n_init: 2, max_iterations: 300, tolerance: 0.0, seed };
        let found = k_means(&points, dimension, &settings, &Exec::with_threads(1));
        prop_assert_eq!(found.is_err(), k > distinct.len());
        let Ok(found) = found else { return Ok(()) };
        let mut seen = 0;
        for &label in &found.labels {
            prop_assert!(label <= seen);
            seen = seen.max(label + 1);
        }
        prop_assert_eq!(seen as usize, k);
        let centers: Vec<&[f64]> = found.centers.chunks(dimension).collect();
        let mut inertia = 0.0;
        for (point, &label) in points.chunks(dimension).zip(&found.labels) {
            let own = squared_distance(point, centers[label as usize]);
            inertia += own;
            prop_assert!(centers.iter().all(|c| squared_distance(point, c) >= own - 1e-9 * (1.0 + own)));
        }
        prop_assert!((found.inertia - inertia).abs() <= 1e-9 * (1.0 + inertia));
        if found.converged {
            let rows: Vec<Vec<f64>> = points.chunks(dimension).map(<[f64]>::to_vec).collect();
            for (c, class) in by_class(&rows, &found.labels, k).iter().enumerate() {
                prop_assert!(squared_distance(&mean(class), centers[c]) < 1e-18 * (grid * grid) as f64);
            }
        }
    }
}

fn bits(found: &KMeans) -> Vec<u64> {
    let numbers = found.centers.iter().chain([&found.inertia]).map(|v| v.to_bits());
    found.labels.iter().map(|&l| u64::from(l)).chain(numbers).chain([found.iterations as u64]).collect()
}

#[test]
fn k_means_does_not_depend_on_threads() {
    fn check<T: Real>(n: usize, n_init: usize) {
        let points: Vec<T> = blobs(n, 7, 20, 0.4, n as u64);
        let settings = KMeansSettings { n_clusters: 13, n_init, max_iterations: 50, tolerance: 1e-4, seed: 5 };
        let run = |threads| bits(&k_means(&points, 7, &settings, &Exec::with_threads(threads)).unwrap());
        let expected = run(1);
        assert!([2, 3, 8].into_iter().all(|threads| run(threads) == expected), "{n} points, {n_init} starts");
    }
    // Parallel runs; several pieces a run; both; more points than runs are parallel for.
    check::<f64>(500, 5);
    check::<f32>(20_000, 2);
    check::<f64>(20_000, 8);
    check::<f64>(70_000, 2);
}

#[test]
fn quality_does_not_depend_on_threads() {
    fn check<T: Real>(points: Features<'_, T>, what: &str) {
        let k = 9;
        let labels = labels(points.n_rows(), k, 4);
        let run = |threads| {
            let exec = Exec::with_threads(threads);
            let sample = Some(Sample { size: 2000, seed: 6 });
            [
                calinski_harabasz(points, &labels, k, &exec).unwrap(),
                davies_bouldin(points, &labels, k, &exec).unwrap(),
                silhouette(points, &labels, k, sample, &exec).unwrap(),
            ]
            .map(f64::to_bits)
        };
        let expected = run(1);
        assert!([2, 3, 8].into_iter().all(|threads| run(threads) == expected), "{what}");
    }
    let rows: Csr<f64> = sparse_rows(10_000, 10_000, 12, 1);
    check(Features::Sparse(&rows), "sparse");
    let points: Vec<f32> = blobs(10_000, 9, 5, 1.0, 2);
    check(Features::Dense { data: &points, dimension: 9 }, "dense");
}

#[test]
fn scores_of_near_duplicates_are_accurate() {
    // Rows of two groups differ by 1e-7 within a group and by 1 between groups.
    let n = 40;
    let values = (0..n).flat_map(|i| [1.0 + 1e-7 * Random(i).unit(), 1.0 + 1e-7 * Random(i + 99).unit()]).collect();
    let indices = (0..n).flat_map(|i| if i % 2 == 0 { [0, 1] } else { [1, 2] }).collect();
    let rows: Csr<f64> = Csr::new(3, (0..=n).map(|i| 2 * i).collect(), indices, values).unwrap();
    let labels: Vec<u32> = (0..n as u32).map(|i| i % 2).collect();
    check_scores(&rows, &labels, 2);
}

#[test]
fn samples_are_distinct_rows() {
    let rows = Sample { size: 50, seed: 1 }.rows(60).unwrap();
    assert!(rows.len() == 50 && rows.windows(2).all(|w| w[0] < w[1]) && rows.iter().all(|&r| r < 60));
    assert_ne!(rows, Sample { size: 50, seed: 2 }.rows(60).unwrap());
    assert!(Sample { size: 61, seed: 1 }.rows(60).is_err());
}

#[test]
fn a_sample_without_two_classes_is_refused() {
    let mut labels = vec![0; 1000];
    labels[500] = 1;
    let points: Vec<f64> = Random(1).block(1000);
    let points = Features::Dense { data: &points, dimension: 1 };
    let sample = Some(Sample { size: 5, seed: 1 });
    let message = silhouette(points, &labels, 2, sample, &Exec::with_threads(1)).unwrap_err().to_string();
    assert!(message.contains("sample_size: expected a sample with between 2 and 4 classes, got 1"), "{message}");
}
