//! Points by fewer numbers each.
//!
//! Along the directions in which points differ most they are nearly as far from each other as in all dimensions together. So
//! where the points are long, the graph is made of these shorter ones, with a few more entries for each point than otherwise, and the
//! answer is chosen from them by all numbers. How many numbers that takes is counted on the probes: for images of digits
//! 96 out of 784 find 0.98 of the 15 nearest among their 25 nearest; points that fill all directions stay as they are.

use super::cloud::Cloud;
use super::probes::RecallProbes;
use crate::ground::exec::Exec;
use crate::ground::random::Stream;
use crate::ground::tall::{TallRef, gram, product, random_signs, range_basis, singular_values};
use crate::{Real, Result};

/// Numbers that may do, and so many times fewer than all they have to be.
const DIMENSIONS: [usize; 7] = [16, 32, 64, 96, 128, 192, 256];
const LEAST_REDUCTION: usize = 3;
/// This share of the neighbours that need not be found may be lost by it.
const TOLERATED_LOSS: f64 = 0.5;
/// Points from which directions are found, and rounds of it.
const SAMPLE: usize = 2048;
const ROUNDS: usize = 2;

/// Points of fewer numbers each among whose `kept` nearest are enough of the nearest by all numbers, if there are such.
pub(super) fn reduce_dimension<T: Real, E: Real>(
    cloud: &Cloud<E>,
    probes: &RecallProbes<'_, T>,
    kept: usize,
    seed: u64,
    exec: &Exec,
) -> Result<Option<Cloud<E>>> {
    let widths = DIMENSIONS.into_iter().filter(|width| LEAST_REDUCTION * width <= cloud.dimension());
    // If all neighbours are target for, nothing may be lost, and no sample tells.
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
        // Those that are near anyway first: that is cheap, and tells most that do not do. Others may come between.
        if is_enough(probes.share_within(kept, &reduced(&surroundings)?)) {
            let reduced = reduced(cloud)?;
            if is_enough(probes.share_near(kept, &reduced, exec)?) {
                return Ok(Some(reduced));
            }
        }
    }
    Ok(None)
}

/// Orthonormal directions in the columns of a row-major matrix, those along which a sample extends most first: iterations of a
/// subspace.
fn leading_directions<E: Real>(sample: &Cloud<E>, width: usize, seed: u64, exec: &Exec) -> Result<Vec<f64>> {
    let rows = TallRef::new(sample.data(), sample.dimension());
    let mut basis = range_basis(random_signs::<f64>(sample.dimension(), width, seed, 0).view(), exec)?;
    for _ in 0..ROUNDS {
        let image = product(rows, &basis, exec)?;
        basis = range_basis(TallRef::new(&gram(rows, image.view(), exec)?, width), exec)?;
    }
    // Shortest first.
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

    /// Points as they are and reduced.
    fn clouds(dimension: usize, value: impl Fn(usize, usize) -> f64) -> (Cloud<f32>, Option<Cloud<f32>>) {
        let (k, exec) = (10, Exec::with_threads(2));
        let data: Vec<f64> = (0..N * dimension).map(|at| value(at / dimension, at % dimension)).collect();
        let points = DensePoints { data: &data, dimension, metric: Metric::Euclidean };
        let cloud = Cloud::<f32>::new(&points, &Centred::new(&points, &exec).unwrap(), &exec).unwrap();
        let probes = RecallProbes::new(&points, &cloud, k, 0.95, 1, &exec).unwrap();
        let reduced = reduce_dimension(&cloud, &probes, 2 * k, 2, &exec).unwrap();
        (cloud, reduced)
    }

    /// Points that lie along `rank` directions, but for a little noise.
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
    fn few_numbers_do_where_points_lie_along_few_directions() {
        let (cloud, reduced) = flat(8, 300);
        let reduced = reduced.unwrap();
        assert_eq!(reduced.dimension(), DIMENSIONS[0]);
        for i in 1..500 {
            let part = reduced.squared_distance(0, i) / cloud.squared_distance(0, i);
            assert!((0.9..1.1).contains(&part), "{i}: {part}");
        }
    }

    #[test]
    fn as_many_numbers_as_it_takes() {
        assert_eq!(flat(30, 300).1.unwrap().dimension(), 32);
    }

    #[test]
    fn points_stay_as_they_are_where_they_are_short_or_fill_all_directions() {
        assert!(flat(8, 40).1.is_none());
        assert!(flat(300, 300).1.is_none());
    }

    /// Clumps at the ends of 16 axes, and all once more, shifted along another one: by 16 numbers a point keeps the neighbours it has in
    /// its clump, but those of the other clump lie among them.
    #[test]
    fn who_comes_between_is_seen() {
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
