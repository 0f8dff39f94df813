//! The points, and a few numbers of each that tell most pairs apart.
//!
//! Along the directions in which points differ most they are nearly as far from each other as in all dimensions together. So
//! where the points are long, and few directions say enough, pairs are sorted out by these heads of theirs, and only those
//! that pass are compared in full. Whether they say enough is counted: for images of digits 64 numbers out of 784 do; in
//! round clusters nothing does. By heads alone no pair is farther than it is; they are stretched as far as hardly a
//! neighbour is lost by it, and a quarter as many pairs pass.

use super::cloud::Cloud;
use super::probe::Probes;
use crate::block::Block;
use crate::columns::{add_product, gram, orthonormal, random_signs, singular_values};
use crate::exec::Exec;
use crate::random::Stream;
use crate::{Real, Result};

/// Numbers of a head: the fewest that say enough, and so many times fewer than all. Twice or four times fewer do not pay.
const WIDTHS: [usize; 4] = [32, 64, 128, 256];
const FEWER: usize = 8;
/// Heads say enough if not more than so many points pass for each neighbour; counted on some.
const PASSING: f64 = 4.0;
const COUNTED: usize = 1 << 13;
/// And if they show this part of the squared distances of neighbours; less may be nothing but rounding.
const LEAST_SHOWN: f64 = 0.1;
/// Points from which directions are found, and rounds of it.
const SAMPLE: usize = 2048;
const ROUNDS: usize = 4;

/// The points as they are compared: on a screen first, then in full.
pub(super) struct Space<E> {
    pub whole: Cloud<E>,
    pub heads: Option<Cloud<E>>,
}

impl<E: Real> Space<E> {
    pub fn new(whole: Cloud<E>, probes: &Probes<E>, k: usize, seed: u64, exec: &Exec) -> Result<Self> {
        let heads = find_heads(&whole, probes, k, seed, exec)?;
        Ok(Self { whole, heads })
    }

    /// What products are made of.
    pub fn screen(&self) -> &Cloud<E> {
        self.heads.as_ref().unwrap_or(&self.whole)
    }

    /// The same points, `order[i]` at place `i`.
    pub fn reordered(self, order: &[u32], exec: &Exec) -> Result<Self> {
        let heads = self.heads.map(|heads| heads.reordered(order, exec)).transpose()?;
        Ok(Self { whole: self.whole.reordered(order, exec)?, heads })
    }
}

fn find_heads<E: Real>(
    whole: &Cloud<E>,
    probes: &Probes<E>,
    k: usize,
    seed: u64,
    exec: &Exec,
) -> Result<Option<Cloud<E>>> {
    let n = whole.len();
    let widths = WIDTHS.into_iter().filter(|width| FEWER * width <= whole.dimension());
    let Some(widest) = widths.clone().next_back() else {
        return Ok(None);
    };
    let mut stream = Stream::new(seed, 0);
    let mut draw = |count: usize| whole.some(&whole.draw(count.min(n), &mut stream));
    let directions = leading_directions(&draw(SAMPLE), widest, seed, exec)?;
    let (points, neighbours, others) = (whole.some(probes.points()), whole.some(&probes.neighbours()), draw(COUNTED));
    for width in widths {
        let mut first: Vec<f64> = directions.chunks_exact(widest).flat_map(|line| &line[..width]).copied().collect();
        let plain = |cloud: &Cloud<E>| cloud.projected(&first, width, exec);
        let shown = probes.most_shown(&plain(&points)?, &plain(&neighbours)?);
        if shown < LEAST_SHOWN {
            continue;
        }
        first.iter_mut().for_each(|v| *v /= shown.sqrt());
        let heads = |cloud: &Cloud<E>| cloud.projected(&first, width, exec);
        if probes.share_passing(&heads(&points)?, &heads(&others)?, exec)? * n as f64 <= PASSING * k as f64 {
            return heads(whole).map(Some);
        }
    }
    Ok(None)
}

/// Orthonormal directions in the columns of a row-major matrix, those along which a sample extends most first: iterations of a
/// subspace.
fn leading_directions<E: Real>(sample: &Cloud<E>, width: usize, seed: u64, exec: &Exec) -> Result<Vec<f64>> {
    let (rows, d) = (sample.data(), sample.dimension());
    let image = |basis: &[f64]| -> Result<Block<E>> {
        let mut image = Block::zeros(sample.len() * width);
        add_product(&mut image, width, rows, d, basis, exec)?;
        Ok(image)
    };
    let mut basis = orthonormal(&random_signs::<f64>(d, width, seed, 0), width, exec)?;
    for _ in 0..ROUNDS {
        basis = orthonormal(&gram(rows, d, &image(&basis)?, width, exec)?, width, exec)?;
    }
    // Shortest first.
    let (_, mut rotation) = singular_values(&image(&basis)?, width, exec)?;
    rotation.chunks_exact_mut(width).for_each(<[f64]>::reverse);
    let mut directions = vec![0.0; d * width];
    add_product(&mut directions, width, &basis, width, &rotation, exec)?;
    Ok(directions)
}

#[cfg(test)]
mod tests {
    use super::super::super::points::{DensePoints, Metric};
    use super::super::super::screen::Centred;
    use super::*;

    /// Points of so many dimensions that lie along `rank` of them, but for a little noise, and what they are compared by.
    fn space_of(rank: usize, dimension: usize) -> Space<f32> {
        let (n, k, exec) = (3000, 10, Exec::with_threads(2));
        let mut stream = Stream::new(7, rank as u64);
        let mut draw = |count: usize| -> Vec<f64> { (0..count).map(|_| stream.uniform() - 0.5).collect() };
        let (hidden, turn, noise) = (draw(n * rank), draw(rank * dimension), draw(n * dimension));
        let value = |i: usize, j: usize| -> f64 {
            let sum: f64 = (0..rank).map(|r| hidden[i * rank + r] * turn[r * dimension + j]).sum();
            sum + 0.01 * noise[i * dimension + j]
        };
        let data: Vec<f64> = (0..n * dimension).map(|at| value(at / dimension, at % dimension)).collect();
        let points = DensePoints { data: &data, dimension, metric: Metric::Euclidean };
        let cloud = Cloud::<f32>::new(&points, &Centred::new(&points, &exec).unwrap(), &exec).unwrap();
        let probes = Probes::new(&cloud, k, 0.95, 1, &exec).unwrap();
        Space::new(cloud, &probes, k, 2, &exec).unwrap()
    }

    #[test]
    fn few_directions_say_enough_where_there_are_few() {
        let space = space_of(8, 300);
        assert_eq!(space.screen().dimension(), WIDTHS[0]);
        let distance = |cloud: &Cloud<f32>, i: u32| cloud.squared_distance(0, i);
        for i in 1..500 {
            let part = distance(space.screen(), i) / distance(&space.whole, i);
            assert!((0.9..1.1).contains(&part), "{i}: {part}");
        }
    }

    #[test]
    fn no_heads_where_points_are_short_or_fill_all_directions() {
        assert!(space_of(8, 200).heads.is_none());
        assert!(space_of(300, 300).heads.is_none());
    }
}
