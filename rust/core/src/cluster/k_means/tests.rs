//! k-means on small sets of points.

use super::*;

fn settings(n_clusters: usize) -> KMeansSettings {
    KMeansSettings { n_clusters, n_init: 3, max_iterations: 100, tolerance: 1e-4, seed: 1 }
}

fn cluster(points: &[f64], dimension: usize, n_clusters: usize) -> Result<KMeans> {
    k_means(points, dimension, &settings(n_clusters), &Exec::with_threads(1))
}

#[test]
fn groups_on_a_line_are_found_and_numbered_by_their_first_point() {
    let points = [5.0, 0.0, 5.5, 0.5, 9.0, 0.25, 9.5];
    let found = cluster(&points, 1, 3).unwrap();
    assert_eq!(found.labels, [0, 1, 0, 1, 2, 1, 2]);
    assert_eq!(found.centers, [5.25, 0.25, 9.25]);
    assert!((found.inertia - 0.375).abs() < 1e-12);
    assert!(found.converged);
}

#[test]
fn one_cluster_is_the_mean() {
    let found = cluster(&[1.0, 2.0, 3.0, 6.0], 2, 1).unwrap();
    assert_eq!((found.labels, found.centers), (vec![0, 0], vec![2.0, 4.0]));
}

#[test]
fn every_distinct_point_may_be_a_cluster() {
    let points: Vec<f64> = (0..40).map(|i| f64::from(i % 20)).collect();
    let found = cluster(&points, 1, 20).unwrap();
    assert_eq!(found.inertia, 0.0);
    assert!(found.labels.iter().enumerate().all(|(i, &l)| l as usize == i % 20));
    let message = cluster(&points, 1, 21).unwrap_err().to_string();
    assert_eq!(message, "n_clusters: expected at most 20, the number of distinct points, got 21");
}

#[test]
fn empty_clusters_get_the_farthest_points() {
    let exec = Exec::with_threads(1);
    let points = [0.0, 1.0, 2.0, 10.0, 11.0];
    let frame = Frame::new(&points, 1, &exec).unwrap();
    let lanes = Lanes::new(&points, &frame, 1, 5, Some, &exec).unwrap();
    let problem = Problem::new(&lanes, 5, 1, 3);
    let mut run = Run::new(&problem);
    // Two centres so far away that they are nearest to no point.
    run.centers = vec![0.0, 1e6, -1e6];
    run.assign(&exec).unwrap();
    assert!(run.clusters.counts.iter().all(|&c| c > 0));
    run.iterate(100, 0.0, &exec).unwrap();
    assert!(run.converged);
    assert!(run.clusters.counts.iter().all(|&c| c > 0));
}

#[test]
fn far_groups_keep_their_structure() {
    // Two pairs of groups at a distance of 1e9; the groups of a pair are at a distance of 1.
    let points: Vec<f64> =
        (0..40).map(|i| f64::from(i % 4 / 2) * 1e9 + f64::from(i % 2) + 0.01 * f64::from(i / 4)).collect();
    let found = cluster(&points, 1, 4).unwrap();
    assert!(found.labels.iter().enumerate().all(|(i, &l)| l as usize == i % 4), "{:?}", found.labels);
}

#[test]
fn invalid_settings_are_refused() {
    assert!(cluster(&[1.0, 2.0], 1, 0).unwrap_err().to_string().contains("n_clusters: expected at least 1"));
    assert!(cluster(&[1.0, 2.0], 1, 3).unwrap_err().to_string().contains("at most 2, the number of points, got 3"));
    assert!(cluster(&[1.0, 2.0, 3.0], 2, 1).is_err());
    assert!(cluster(&[1.0, f64::INFINITY], 1, 1).unwrap_err().to_string().contains("got inf at row 1"));
}
