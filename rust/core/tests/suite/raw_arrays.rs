//! Constructors from raw arrays: whatever the arrays hold, they are refused, or every function of
//! the result is defined.

use std::sync::Arc;

use mdt_core::cluster::consensus::Coassociation;
use mdt_core::cluster::quality::Criterion;
use mdt_core::graph::neighbours::{ChosenBy, Features, Method, Metric, Reach, cross_neighbours, nearest_neighbours};
use mdt_core::ground::csr::Csr;
use mdt_core::ground::exec::Exec;
use mdt_core::{Direction, Member, OperatorSet, Trajectory, Transition};
use proptest::prelude::*;

/// Numbers of which most are small and some are extreme.
fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        8 => 0.0..2.0_f64,
        1 => prop::sample::select(vec![f64::NAN, f64::INFINITY, -1.0, f64::MAX, 5e-324, 0.0]),
    ]
}

/// The arrays of a matrix of up to 6 rows: valid ones with some entries replaced.
fn parts() -> impl Strategy<Value = (usize, Vec<u64>, Vec<u32>, Vec<f64>)> {
    let rows = prop::collection::vec(prop::collection::btree_set(0_u32..6, 0..6), 0..6);
    let wrong = prop::option::weighted(0.5, (0..4_usize, any::<prop::sample::Index>(), any::<u64>()));
    (rows, prop::collection::vec(number(), 36), wrong, 5..7_usize).prop_map(|(rows, values, wrong, n_cols)| {
        let mut indptr = vec![0_u64];
        rows.iter().for_each(|row| indptr.push(indptr[indptr.len() - 1] + row.len() as u64));
        let mut indices: Vec<u32> = rows.into_iter().flatten().collect();
        let mut values = values[..indices.len()].to_vec();
        match wrong {
            Some((0, place, value)) => {
                let place = place.index(indptr.len());
                indptr[place] = value;
            }
            Some((1, place, value)) if !indices.is_empty() => {
                let place = place.index(indices.len());
                indices[place] = value as u32;
            }
            Some((2, place, _)) => values.truncate(place.index(values.len() + 1)),
            Some((3, place, _)) => indptr.truncate(place.index(indptr.len() + 1)),
            _ => {}
        }
        (n_cols, indptr, indices, values)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn an_accepted_matrix_is_one((n_cols, indptr, indices, values) in parts()) {
        let Ok(matrix) = Csr::new(n_cols, indptr, indices, values) else { return Ok(()) };
        prop_assert_eq!(matrix.nnz(), matrix.values().len());
        for i in 0..matrix.n_rows() {
            let (columns, entries) = matrix.row(i);
            prop_assert_eq!(columns.len(), entries.len());
            prop_assert!(columns.iter().all(|&c| (c as usize) < n_cols));
            prop_assert!(columns.windows(2).all(|w| w[0] < w[1]));
        }
        let twice = matrix.transpose().and_then(|transpose| transpose.transpose()).unwrap();
        prop_assert_eq!(twice.indices(), matrix.indices());
    }

    #[test]
    fn an_accepted_walk_can_be_applied((_, indptr, indices, values) in parts(), kind in 0..3_u8,
                                       degrees in prop::option::of(prop::collection::vec(number(), 0..7))) {
        let exec = Exec::with_threads(1);
        let n = indptr.len().saturating_sub(1);
        let Ok(matrix) = Csr::new(n, indptr, indices, values) else { return Ok(()) };
        let walk = match kind {
            0 => Transition::from_symmetric(matrix, 0.5, &exec),
            1 => Transition::from_stochastic(matrix, 1e-3, &exec),
            _ => Transition::restore(matrix, degrees),
        };
        let Ok(walk) = walk else { return Ok(()) };
        if kind == 1 {
            let sums = walk.matrix().row_sums(&exec).unwrap();
            prop_assert!(sums.iter().all(|sum| (sum - 1.0).abs() < 1e-2));
        }
        let set = OperatorSet::new(vec![Arc::new(walk)], vec![Member::Walk(0), Member::Uniform]).unwrap();
        let trajectory = Trajectory::new(&set, &[0.5, 0.5, 1.0, 0.0]).unwrap();
        for direction in [Direction::Forward, Direction::Transposed] {
            let mut out = vec![0.0; 2 * n];
            trajectory.apply(&vec![1.0; 2 * n], 2, direction, &mut out, &exec).unwrap();
        }
    }

    #[test]
    fn labels_of_any_kind_are_scored_or_refused((n_cols, indptr, indices, values) in parts(),
                                                labels in prop::collection::vec(0_u32..5, 0..7), n_labels in 0..7_usize) {
        let exec = Exec::with_threads(1);
        drop(Coassociation::new(&labels, n_labels, n_cols));
        let Ok(matrix) = Csr::new(n_cols, indptr, indices, values) else { return Ok(()) };
        for criterion in [Criterion::CalinskiHarabasz, Criterion::DaviesBouldin, Criterion::Silhouette(None),
                          Criterion::Persistence, Criterion::Information] {
            drop(criterion.of(Features::Sparse(&matrix), &labels, n_labels, &exec));
        }
    }

    #[test]
    fn tables_of_neighbours_refer_to_points(data in prop::collection::vec(number(), 0..24), dimension in 1..4_usize,
                                            k in 0..5_usize, radii in prop::collection::vec(number(), 0..12),
                                            last in prop::collection::vec(any::<u32>(), 0..12)) {
        let exec = Exec::with_threads(1);
        let points = Features::Dense { data: &data[..data.len() / dimension * dimension], dimension };
        for (metric, method) in [(Metric::Euclidean, Method::Scan), (Metric::Manhattan, Method::Tree),
                                 (Metric::Cosine, Method::Auto)] {
            if let Ok(table) = nearest_neighbours(points, k, metric, method, &exec) {
                prop_assert!(table.indices.iter().all(|&i| (i as usize) < points.n_rows()));
            }
            let reach = Reach { radii: &radii, last: &last };
            if let Ok(edges) = cross_neighbours(points, reach, points, k, metric, None, &exec) {
                prop_assert!(edges.nearest.iter().all(|&i| (i as usize) < points.n_rows()));
                prop_assert!(edges.chosen_by.iter().all(|by| ChosenBy::by_new_point(*by) || by.by_training_point()));
            }
        }
    }
}
