//! Edges by an index against comparisons with all training points.

use super::*;
use crate::Stream;
use crate::graph::neighbours::{Method, nearest_neighbours};
use crate::ground::random::mix;

/// Training points with the reach of an exact search.
struct Training<T> {
    data: Vec<T>,
    dimension: usize,
    metric: Metric,
    k: usize,
    radii: Vec<f64>,
    last: Vec<u32>,
}

impl<T: Real> Training<T> {
    fn new(data: &[f64], dimension: usize, k: usize, metric: Metric) -> Self {
        let data: Vec<T> = data.iter().map(|&v| T::from_f64(v)).collect();
        let features = Features::Dense { data: &data, dimension };
        let table = nearest_neighbours(features, k, metric, Method::Scan, &Exec::with_threads(2)).unwrap();
        let radii = table.distances.chunks_exact(k).map(|row| row[k - 1]).collect();
        let last = table.indices.chunks_exact(k).map(|row| row[k - 1]).collect();
        Self { data, dimension, metric, k, radii, last }
    }

    fn features(&self) -> Features<'_, T> {
        Features::Dense { data: &self.data, dimension: self.dimension }
    }

    fn reach(&self) -> Reach<'_> {
        Reach { radii: &self.radii, last: &self.last }
    }

    /// An index with small cells at any number of comparisons.
    fn index(&self, recall: f64, exec: &Exec) -> Option<CrossIndex> {
        let usual = IndexSettings::new(self.k, recall);
        let settings = IndexSettings { points_per_cell: 32, largest_share: f64::INFINITY, ..usual };
        CrossIndex::new(self.features(), self.reach(), self.metric, settings, exec).unwrap()
    }

    fn edges(&self, new: &[f64], index: Option<&CrossIndex>, exec: &Exec) -> Result<CrossTable> {
        let new = Features::Dense { data: new, dimension: self.dimension };
        cross_neighbours(self.features(), self.reach(), new, self.k, self.metric, index, exec)
    }
}

/// Three round clusters of different density, with some points far from all.
fn clusters(n: usize, dimension: usize, seed: u64) -> Vec<f64> {
    let mut stream = Stream::new(mix(seed), 0);
    let mut data = Vec::new();
    for i in 0..n {
        let (centre, spread) = [(0.0, 1.0), (4.0, 0.2), (-5.0, 3.0)][i % 3];
        let spread = if i % 97 == 0 { 12.0 } else { spread };
        for _ in 0..dimension {
            let normal: f64 = (0..12).map(|_| stream.uniform()).sum::<f64>() - 6.0;
            data.push(centre + spread * normal);
        }
    }
    data
}

type Edge = (usize, u32, u64);

/// The edges that pass a test, with their distances.
fn chosen(table: &CrossTable, passes: impl Fn(ChosenBy) -> bool) -> Vec<Edge> {
    let mut edges = Vec::new();
    for i in 0..table.nearest.len() {
        let (columns, distances) = table.distances.row(i);
        for ((&j, &d), &by) in columns.iter().zip(distances).zip(&table.chosen_by[table.distances.range(i)]) {
            if passes(by) {
                edges.push((i, j, d.to_bits()));
            }
        }
    }
    edges
}

fn recall(found: &[Edge], exact: &[Edge]) -> f64 {
    let found: std::collections::HashSet<_> = found.iter().collect();
    exact.iter().filter(|edge| found.contains(edge)).count() as f64 / exact.len() as f64
}

fn check_recall<T: Real>(dimension: usize, metric: Metric) {
    let exec = Exec::with_threads(2);
    let training = Training::<T>::new(&clusters(3000, dimension, 1), dimension, 8, metric);
    let new = clusters(900, dimension, 2);
    for target in [0.8, 0.97] {
        let index = training.index(target, &exec).unwrap();
        assert!(index.recall() >= target);
        let (exact, found) =
            (training.edges(&new, None, &exec).unwrap(), training.edges(&new, Some(&index), &exec).unwrap());
        let all = recall(&chosen(&found, |_| true), &chosen(&exact, |_| true));
        assert!(all >= target, "{dimension} {metric:?} {target}: {all}");
        // Both directions, and nothing that is not an edge.
        for by_new in [true, false] {
            let of =
                |table| chosen(table, |by: ChosenBy| if by_new { by.by_new_point() } else { by.by_training_point() });
            let share = recall(&of(&found), &of(&exact));
            assert!(share >= target - 0.03, "{dimension} {metric:?} {target} {by_new}: {share}");
        }
        let is_back = |by: ChosenBy| by.by_training_point();
        assert_eq!(recall(&chosen(&exact, is_back), &chosen(&found, is_back)), 1.0);
    }
}

#[test]
fn the_recall_is_reached_in_both_directions() {
    for dimension in [3, 20] {
        check_recall::<f64>(dimension, Metric::Euclidean);
        check_recall::<f32>(dimension, Metric::Euclidean);
    }
    check_recall::<f32>(20, Metric::Cosine);
    check_recall::<f64>(20, Metric::Correlation);
}

#[test]
fn edges_do_not_depend_on_threads_or_other_new_points() {
    let d = 7;
    for metric in [Metric::Euclidean, Metric::Cosine] {
        let training = Training::<f32>::new(&clusters(2500, d, 3), d, 6, metric);
        let new = clusters(700, d, 4);
        let (one, three) = (Exec::with_threads(1), Exec::with_threads(3));
        let index = training.index(0.9, &one).unwrap();
        let expected = training.edges(&new, Some(&index), &one).unwrap();
        let again = training.index(0.9, &three).unwrap();
        assert_eq!(training.edges(&new, Some(&again), &three).unwrap(), expected);
        for size in [1, 13, 256] {
            let (mut edges, mut nearest, mut scales) = (Vec::new(), Vec::new(), Vec::new());
            for (part, rows) in new.chunks(size * d).enumerate() {
                let found = training.edges(rows, Some(&index), &three).unwrap();
                edges.extend(chosen(&found, |_| true).into_iter().map(|(i, j, d)| (part * size + i, j, d)));
                nearest.extend(found.nearest);
                scales.extend(found.scales);
            }
            assert_eq!(edges, chosen(&expected, |_| true), "{metric:?} {size}");
            assert_eq!((nearest, scales), (expected.nearest.clone(), expected.scales.clone()));
        }
    }
}

#[test]
fn training_points_find_themselves_or_their_first_duplicate() {
    let (d, exec) = (5, Exec::with_threads(2));
    let mut data = clusters(2000, d, 5);
    // Twenty copies of one point, more than it has neighbours, and every ninth point twice.
    for i in 0..20 {
        data.copy_within(0..d, (40 + i) * d);
    }
    for i in (9..900).step_by(9) {
        data.copy_within(i * d..(i + 1) * d, (1000 + i) * d);
    }
    let training = Training::<f64>::new(&data, d, 6, Metric::Euclidean);
    let index = training.index(0.9, &exec).unwrap();
    let (exact, found) =
        (training.edges(&data, None, &exec).unwrap(), training.edges(&data, Some(&index), &exec).unwrap());
    assert_eq!(found.nearest, exact.nearest);
    let loops = |table: &CrossTable| -> Vec<Edge> {
        chosen(table, |by| by == ChosenBy::Both)
            .into_iter()
            .filter(|&(i, j, d)| d == 0 && table.nearest[i] == j)
            .collect()
    };
    assert_eq!(loops(&found), loops(&exact));
    assert_eq!(loops(&found).len(), 2000);
    assert!(found.scales.iter().all(|&scale| scale > 0.0 && scale.is_finite()));
}

#[test]
fn equal_points_have_the_edges_of_a_comparison_with_all() {
    let exec = Exec::with_threads(2);
    let training = Training::<f64>::new(&[2.5; 3 * 300], 3, 4, Metric::Euclidean);
    let new = [2.5, 2.5, 2.5, 7.0, 0.0, 1.0];
    let exact = training.edges(&new, None, &exec).unwrap();
    if let Some(index) = training.index(0.9, &exec) {
        assert_eq!(training.edges(&new, Some(&index), &exec).unwrap(), exact);
    }
}

#[test]
fn far_new_points_are_compared_with_all() {
    let (d, exec) = (4, Exec::with_threads(2));
    for scale in [1.0, 1e-30, 1e40] {
        let data: Vec<f64> = clusters(2000, d, 6).into_iter().map(|v| v * scale).collect();
        let training = Training::<f64>::new(&data, d, 6, Metric::Euclidean);
        let index = training.index(0.9, &exec).unwrap();
        let mut new: Vec<f64> = clusters(50, d, 7).into_iter().map(|v| v * scale).collect();
        for (i, far) in [1e4, 1e30, -1e60].into_iter().enumerate() {
            new[(20 + i) * d] = far * scale;
        }
        let (exact, found) =
            (training.edges(&new, None, &exec).unwrap(), training.edges(&new, Some(&index), &exec).unwrap());
        for i in 20..23 {
            assert_eq!(found.distances.row(i), exact.distances.row(i), "{scale} {i}");
            assert_eq!((found.nearest[i], found.scales[i]), (exact.nearest[i], exact.scales[i]));
        }
        new[21 * d] = f64::MAX;
        let error = training.edges(&new, Some(&index), &exec).unwrap_err().to_string();
        assert!(error.starts_with("row 21 is so far"), "{error}");
    }
}

#[test]
fn an_index_is_refused_where_it_does_not_apply() {
    let (d, exec) = (3, Exec::with_threads(1));
    let data = clusters(600, d, 8);
    let training = Training::<f64>::new(&data, d, 4, Metric::Euclidean);
    let make =
        |metric, settings| CrossIndex::new(training.features(), training.reach(), metric, settings, &exec).unwrap();
    let small = IndexSettings { points_per_cell: 32, largest_share: 1.0, ..IndexSettings::new(4, 0.9) };
    assert!(make(Metric::Euclidean, small).is_some());
    assert!(make(Metric::Manhattan, small).is_none());
    assert!(make(Metric::Euclidean, IndexSettings { recall: 1.0, ..small }).is_none());
    assert!(make(Metric::Euclidean, IndexSettings { largest_share: 0.01, ..small }).is_none());
    assert!(make(Metric::Euclidean, IndexSettings { points_per_cell: 301, ..small }).is_none());
    // Squares of these coordinates leave the range of a double.
    let huge: Vec<f64> = data.iter().map(|v| v * 1e200).collect();
    let huge = Training::<f64>::new(&huge, d, 4, Metric::Euclidean);
    assert!(huge.index(0.9, &exec).is_none());
    // On a line single precision cannot separate near points.
    assert!(Training::<f64>::new(&data, 1, 4, Metric::Euclidean).index(0.9, &exec).is_none());
    // Clusters so far from the mean that single precision cannot separate their points.
    let apart: Vec<f64> = data.iter().enumerate().map(|(at, v)| v + 1e9 * f64::from((at / d % 2) as u32)).collect();
    assert!(Training::<f64>::new(&apart, d, 4, Metric::Euclidean).index(0.9, &exec).is_none());
}

#[test]
fn an_index_of_other_points_is_refused() {
    let exec = Exec::with_threads(1);
    let (one, other) = (
        Training::<f64>::new(&clusters(600, 3, 8), 3, 4, Metric::Euclidean),
        Training::<f64>::new(&clusters(601, 3, 8), 3, 4, Metric::Euclidean),
    );
    let index = one.index(0.9, &exec).unwrap();
    assert!(other.edges(&[0.0; 3], Some(&index), &exec).unwrap_err().to_string().contains("points of the index"));
}
