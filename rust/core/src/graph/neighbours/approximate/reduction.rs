//! Projection of points on the directions of largest variance.
//!
//! Along these directions distances are almost those in all dimensions. If few directions suffice,
//! the graph is built from the projected points with some more neighbours for each point, and the
//! result is selected from them by all coordinates. The number of directions is the smallest that
//! keeps enough neighbours of the probes: for images of digits 96 of 784 directions keep 0.98 of
//! the 15 nearest neighbours among the 25 nearest. Points that fill all directions are not
//! projected.
//!
//! Reference for the subspace iteration: Halko, Martinsson and Tropp 2011, doi:10.1137/090771806.

use super::cloud::Cloud;
use super::probes::RecallProbes;
use crate::ground::tall::{TallRef, gram, product, random_signs, range_basis, singular_values};
use crate::{Exec, Real, Result, Stream};

/// Numbers of directions to try, and the factor by which they must reduce the dimension.
const DIMENSIONS: [usize; 7] = [16, 32, 64, 96, 128, 192, 256];
const LEAST_REDUCTION: usize = 3;
/// Share of the tolerated misses that the projection may cause.
const TOLERATED_LOSS: f64 = 0.5;
/// Points from which the directions are computed, and iterations.
const SAMPLE: usize = 2048;
const ROUNDS: usize = 2;

/// Projects the points on the fewest directions that keep enough neighbours among the `kept`
/// nearest; None if there are none.
pub(super) fn reduce_dimension<T: Real, E: Real>(
    cloud: &Cloud<E>,
    probes: &RecallProbes<'_, T>,
    kept: usize,
    seed: u64,
    exec: &Exec,
) -> Result<Option<Cloud<E>>> {
    let widths = DIMENSIONS.into_iter().filter(|width| LEAST_REDUCTION * width <= cloud.dimension());
    // For a recall of 1 no neighbour may be lost, and no sample guarantees that.
    let Some(widest) = widths.clone().next_back().filter(|_| probes.tolerated() > 0.0) else {
        return Ok(None);
    };
    let sample = cloud.some(&cloud.draw(SAMPLE.min(cloud.len()), &mut Stream::new(seed, 0)));
    let directions = leading_directions(&sample, widest, seed, exec)?;
    let surroundings = cloud.some(&probes.surroundings());
    let is_enough = |share: f64| 1.0 - share < TOLERATED_LOSS * probes.tolerated();
    for width in widths {
        let leading: Vec<f64> = directions.chunks_exact(widest).flat_map(|line| &line[..width]).copied().collect();
        let reduced = |cloud: &Cloud<E>| cloud.projected(&leading, width, exec);
        // The known neighbours alone are a cheap test that rejects most dimensions; other points
        // may come between.
        if is_enough(probes.share_within(kept, &reduced(&surroundings)?)) {
            let reduced = reduced(cloud)?;
            if is_enough(probes.share_near(kept, &reduced, exec)?) {
                return Ok(Some(reduced));
            }
        }
    }
    Ok(None)
}

/// Orthonormal directions of largest variance, in the columns of a row-major matrix, by subspace
/// iteration.
fn leading_directions<E: Real>(sample: &Cloud<E>, width: usize, seed: u64, exec: &Exec) -> Result<Vec<f64>> {
    let rows = TallRef::new(sample.data(), sample.dimension());
    let mut basis = range_basis(random_signs::<f64>(sample.dimension(), width, seed, 0)?.view(), exec)?;
    for _ in 0..ROUNDS {
        let image = product(rows, &basis, exec)?;
        basis = range_basis(TallRef::new(&gram(rows, image.view(), exec)?, width), exec)?;
    }
    // Singular values are in ascending order.
    let (_, mut rotation) = singular_values(product(rows, &basis, exec)?.view(), exec)?;
    rotation.chunks_exact_mut(width).for_each(<[f64]>::reverse);
    Ok(product(basis.view(), &rotation, exec)?.to_vec())
}

#[cfg(test)]
mod tests {
    use super::super::super::metric::Metric;
    use super::super::super::points::DensePoints;
    use super::super::super::screen::Centred;
    use super::*;

    const N: usize = 3000;

    /// Points and their projection.
    fn clouds(dimension: usize, value: impl Fn(usize, usize) -> f64) -> (Cloud<f32>, Option<Cloud<f32>>) {
        let (k, exec) = (10, Exec::with_threads(2));
        let data: Vec<f64> = (0..N * dimension).map(|at| value(at / dimension, at % dimension)).collect();
        let points = DensePoints { data: &data, dimension, metric: Metric::Euclidean };
        let cloud = Cloud::<f32>::new(&points, &Centred::new(&points, &exec).unwrap(), &exec).unwrap();
        let probes = RecallProbes::new(&points, &cloud, k, 0.95, 1, &exec).unwrap();
        let reduced = reduce_dimension(&cloud, &probes, 2 * k, 2, &exec).unwrap();
        (cloud, reduced)
    }

    /// Points along `rank` directions with a little noise.
    fn flat(rank: usize, dimension: usize) -> (Cloud<f32>, Option<Cloud<f32>>) {
        let mut stream = Stream::new(7, rank as u64);
        let mut draw = |count: usize| -> Vec<f64> { (0..count).map(|_| stream.uniform() - 0.5).collect() };
        let (hidden, turn, noise) = (draw(N * rank), draw(rank * dimension), draw(N * dimension));
        clouds(dimension, |i, j| {
            let sum: f64 = (0..rank).map(|r| hidden[i * rank + r] * turn[r * dimension + j]).sum();
            sum + 0.01 * noise[i * dimension + j]
        })
    }

    #[test]
    fn points_along_few_directions_are_projected() {
        let (cloud, reduced) = flat(8, 300);
        let reduced = reduced.unwrap();
        assert_eq!(reduced.dimension(), DIMENSIONS[0]);
        for i in 1..500 {
            let part = reduced.squared_distance(0, i) / cloud.squared_distance(0, i);
            assert!((0.9..1.1).contains(&part), "{i}: {part}");
        }
    }

    #[test]
    fn the_dimension_follows_the_rank() {
        assert_eq!(flat(30, 300).1.unwrap().dimension(), 32);
    }

    #[test]
    fn short_and_full_rank_points_are_not_projected() {
        assert!(flat(8, 40).1.is_none());
        assert!(flat(300, 300).1.is_none());
    }

    /// Clusters at the ends of 16 axes, and a copy of all shifted along another axis. With 16
    /// directions the points of both copies mix.
    #[test]
    fn points_that_mix_after_projection_are_detected() {
        let mut stream = Stream::new(3, 0);
        let noise: Vec<f64> = (0..N * 16).map(|_| 0.3 * stream.uniform()).collect();
        let (_, reduced) = clouds(100, |i, j| {
            let (axis, sign, copy) = (i % 16, 2.0 * (i / 16 % 2) as f64 - 1.0, i / 32 % 2);
            match j {
                0..16 => noise[i * 16 + j] + if j == axis { 2.0 * sign } else { 0.0 },
                16 => 0.8 * copy as f64,
                _ => 0.0,
            }
        });
        assert_eq!(reduced.unwrap().dimension(), 32);
    }
}
