//! Edges of new points against the rows of a graph.

use super::*;
use crate::Csr;
use crate::graph::neighbours::{Method, NeighbourTable, nearest_neighbours};

fn exec() -> Exec {
    Exec::with_threads(2)
}

/// A shuffled plane lattice with every seventh point twice: many ties and duplicates.
fn lattice() -> Vec<f64> {
    let order = (0..60).map(|i| (i * 23) % 60);
    order.chain((0..60).step_by(7)).flat_map(|i| [f64::from(i % 8) + 1.0, f64::from(i / 8) - 2.5]).collect()
}

fn reach(table: &NeighbourTable) -> (Vec<f64>, Vec<u32>) {
    let last = |i: usize| (i + 1) * table.k - 1;
    let n = table.nearest_positive.len();
    ((0..n).map(|i| table.distances[last(i)]).collect(), (0..n).map(|i| table.indices[last(i)]).collect())
}

fn sparse(data: &[f64]) -> Csr<f64> {
    let n = data.len() / 2;
    Csr::new(2, (0..=n as u64).map(|i| 2 * i).collect(), [0, 1].repeat(n), data.to_vec()).unwrap()
}

/// The row of `i` in the symmetric graph: points that it chose, points that chose it, and itself.
fn row_of_graph(table: &NeighbourTable, i: usize) -> Vec<(u32, ChosenBy)> {
    let chose = |i: usize, j: usize| table.indices[i * table.k..(i + 1) * table.k].contains(&(j as u32));
    let chosen_by = |j: usize| match (i == j || chose(i, j), i == j || chose(j, i)) {
        (true, true) => Some(ChosenBy::Both),
        (true, false) => Some(ChosenBy::NewPoint),
        (false, true) => Some(ChosenBy::TrainingPoint),
        (false, false) => None,
    };
    (0..table.nearest_positive.len()).filter_map(|j| chosen_by(j).map(|chosen_by| (j as u32, chosen_by))).collect()
}

#[test]
fn training_points_get_their_own_rows() {
    let data = lattice();
    let rows = sparse(&data);
    let n = data.len() / 2;
    for metric in [Metric::Euclidean, Metric::Manhattan, Metric::Cosine] {
        for coordinates in [Features::Dense { data: &data, dimension: 2 }, Features::Sparse(&rows)] {
            for k in [1, 3, 4, 8, n - 1] {
                let table = nearest_neighbours(coordinates, k, metric, Method::Scan, &exec()).unwrap();
                let (radii, last) = reach(&table);
                let reach = Reach { radii: &radii, last: &last };
                let found = cross_neighbours(coordinates, reach, coordinates, k, metric, None, &exec()).unwrap();
                for i in 0..n {
                    let duplicate = found.nearest[i] as usize;
                    // A lattice contains proportional points; rounding decides which of them are
                    // duplicates.
                    assert!(
                        metric == Metric::Cosine || data[2 * i..2 * i + 2] == data[2 * duplicate..2 * duplicate + 2]
                    );
                    let chosen_by = &found.chosen_by[found.distances.range(i)];
                    let row = found.distances.row(i).0.iter().copied().zip(chosen_by.iter().copied());
                    assert_eq!(row.collect::<Vec<_>>(), row_of_graph(&table, duplicate), "{metric:?} {k} {i}");
                    let scale =
                        if radii[duplicate] > 0.0 { radii[duplicate] } else { table.nearest_positive[duplicate] };
                    assert_eq!(found.scales[i], scale);
                }
            }
        }
    }
}

#[test]
fn a_new_point_has_k_plus_one_neighbours_and_points_whose_radius_contains_it() {
    // Points 0, 1, 3, 7 with one neighbour each have radii 1, 1, 2, 4.
    let data = [0.0, 1.0, 3.0, 7.0];
    let reach = Reach { radii: &[1.0, 1.0, 2.0, 4.0], last: &[1, 0, 1, 2] };
    let (training, new) = (Features::Dense { data: &data, dimension: 1 }, [2.0, 4.5]);
    let new = Features::Dense { data: &new, dimension: 1 };
    let found = cross_neighbours(training, reach, new, 1, Metric::Euclidean, None, &exec()).unwrap();
    assert_eq!(found.distances.row(0), (&[1_u32, 2][..], &[1.0, 1.0][..]));
    assert_eq!(found.distances.row(1), (&[2_u32, 3][..], &[1.5, 2.5][..]));
    assert_eq!(found.chosen_by, [ChosenBy::Both; 4]);
    assert_eq!((found.nearest, found.scales), (vec![1, 2], vec![1.0, 2.5]));
}

#[test]
fn invalid_points_are_refused() {
    let data = [0.0, 1.0, 3.0, 7.0];
    let reach = Reach { radii: &[1.0, 1.0, 2.0, 4.0], last: &[1, 0, 1, 2] };
    let training = Features::Dense { data: &data, dimension: 1 };
    let ask = |new: Features<'_, f64>, k| {
        cross_neighbours(training, reach, new, k, Metric::Euclidean, None, &exec()).unwrap_err().to_string()
    };
    let far = Features::Dense { data: &[0.5, 1e200], dimension: 1 };
    assert!(ask(far, 1).starts_with("row 1 is so far"));
    assert!(ask(far, 4).contains("between 1 and 3 neighbours, got 4"));
    assert!(ask(Features::Dense { data: &[0.5, 1.0], dimension: 2 }, 1).contains("expected 1, got 2"));
    assert!(ask(Features::Sparse(&sparse(&[1.0, 2.0])), 1).contains("same layout"));
}
