//! The gradient of a function of `W B` with respect to the weights of the steps.
//!
//! ```text
//! dQ/da_(r,m) = <O_m X, Z>      (O_m: member m, X: block before step r, Z: derivative after it)
//! ```
//!
//! A member consists of parts: identity, uniform jump, powers of walks. One pass over a block
//! computes the product with each part, its inner product with `Z`, and the weighted sum of the
//! products, which is the block after the step. So the gradient costs no further products.
//! Inner products run in double precision and in a fixed order.

use crate::ground::sparse_step::{Remainder, step_rows};
use crate::ground::tall::{TallRef, column_means};
use crate::walk::borrowing::Group;
use crate::{Direction, Exec, Member, OperatorSet, Power, Real, Result, Step, Trajectory};

/// Points per piece: the products of a piece stay in the cache of its thread.
pub(crate) const PIECE_POINTS: usize = 128;

/// The parts of the members of a set.
pub(crate) struct MemberParts {
    /// The parts of all members, whatever their weights.
    pub all: Step,
    /// The parts of each member.
    shares: Vec<Step>,
}

/// Inner products with the identity, the uniform jump and the powers of [`MemberParts::all`].
pub(crate) struct Products {
    identity: f64,
    uniform: f64,
    powers: Vec<f64>,
}

impl Products {
    fn zeros(powers: usize) -> Self {
        Self { identity: 0.0, uniform: 0.0, powers: vec![0.0; powers] }
    }

    fn add(&mut self, other: &Self) {
        self.identity += other.identity;
        self.uniform += other.uniform;
        self.powers.iter_mut().zip(&other.powers).for_each(|(sum, v)| *sum += v);
    }
}

impl MemberParts {
    pub fn new<T: Real>(set: &OperatorSet<T>) -> Result<Self> {
        let shares: Vec<Step> = set.members().iter().map(Member::parts).collect();
        Ok(Self { all: set.step(&vec![1.0; shares.len()])?, shares })
    }

    /// Number of members.
    pub fn count(&self) -> usize {
        self.shares.len()
    }

    /// The derivatives by the weights of a step.
    pub fn derivatives(&self, products: &Products) -> Vec<f64> {
        self.shares.iter().map(|share| self.inner_product(share, products)).collect()
    }

    /// The inner product of a step, or of one member, from those of the parts.
    pub fn inner_product(&self, step: &Step, products: &Products) -> f64 {
        let mut sum = step.identity * products.identity + step.uniform * products.uniform;
        for power in &step.powers {
            let key = |p: &Power| (p.base, p.exponent);
            let place = self.all.powers.binary_search_by_key(&key(power), key);
            sum += place.map_or(0.0, |place| power.weight * products.powers[place]);
        }
        sum
    }

    /// Returns the inner products of the parts of a step, applied to `ahead`, with `behind`.
    /// The product of the step replaces `behind`.
    pub fn pull<T: Real>(
        &self,
        local: &Trajectory<'_, T>,
        step: &Step,
        ahead: TallRef<'_, T>,
        behind: &mut [T],
        exec: &Exec,
    ) -> Result<Products> {
        let (powers, cols) = (&self.all.powers, ahead.cols);
        let lower = local.lower_powers(powers, ahead, Direction::Forward, exec)?;
        let groups: Vec<_> = powers
            .iter()
            .zip(&lower)
            .map(|(p, lower)| {
                let input = lower.as_ref().map_or(ahead.data, |block| &block[..]);
                Group { walks: vec![(p.base, T::ONE)], input }
            })
            .collect();
        let lent = groups.iter().map(|group| local.set().lent(group)).collect::<Result<Vec<_>>>()?;
        let terms: Vec<_> =
            groups.iter().zip(&lent).map(|(group, lent)| local.set().terms(group, lent.as_deref())).collect();
        let weights: Vec<T> = powers
            .iter()
            .map(|p| step.powers.iter().find(|q| (q.base, q.exponent) == (p.base, p.exponent)))
            .map(|found| T::from_f64(found.map_or(0.0, |q| q.weight)))
            .collect();
        let means = if self.all.uniform == 0.0 { Vec::new() } else { column_means(ahead, exec)? };
        let nothing = Remainder::none();
        let mut pieces: Vec<(&mut [T], Products)> =
            behind.chunks_mut(PIECE_POINTS * cols).map(|piece| (piece, Products::zeros(powers.len()))).collect();
        let scratch = || (vec![T::ZERO; PIECE_POINTS * cols], vec![T::ZERO; PIECE_POINTS * cols]);
        exec.for_pieces(&mut pieces, 1, scratch, |index, piece, (product, sum)| -> Result<()> {
            let (z, found) = &mut piece[0];
            let first = index * PIECE_POINTS;
            let (product, sum) = (&mut product[..z.len()], &mut sum[..z.len()]);
            sum.fill(T::ZERO);
            if self.all.identity != 0.0 {
                let own = &ahead.data[first * cols..][..z.len()];
                found.identity = dot(own, z);
                add_scaled(sum, T::from_f64(step.identity), own);
            }
            if self.all.uniform != 0.0 {
                for (line, z) in sum.chunks_exact_mut(cols).zip(z.chunks_exact(cols)) {
                    found.uniform += dot(&means, z);
                    add_scaled(line, T::from_f64(step.uniform), &means);
                }
            }
            for ((terms, &weight), found) in terms.iter().zip(&weights).zip(&mut found.powers) {
                step_rows(terms, nothing, cols, first, product);
                *found = dot(product, z);
                add_scaled(sum, weight, product);
            }
            z.copy_from_slice(sum);
            Ok(())
        })?;
        let mut total = Products::zeros(powers.len());
        pieces.iter().for_each(|(_, found)| total.add(found));
        Ok(total)
    }

    /// The inner products with unit vectors, column `c` that of point `starts[c]`: single entries of
    /// the products.
    pub fn pull_to_start<T: Real>(
        &self,
        local: &Trajectory<'_, T>,
        starts: &[usize],
        ahead: TallRef<'_, T>,
        exec: &Exec,
    ) -> Result<Products> {
        let cols = ahead.cols;
        let lower = local.lower_powers(&self.all.powers, ahead, Direction::Forward, exec)?;
        let mut found = Products::zeros(self.all.powers.len());
        for (c, &p) in starts.iter().enumerate() {
            found.identity += ahead.data[p * cols + c].to_f64();
            for ((power, lower), sum) in self.all.powers.iter().zip(&lower).zip(&mut found.powers) {
                let input = lower.as_ref().map_or(ahead.data, |block| &block[..]);
                for (matrix, weight) in local.set().rows_of(power.base, p) {
                    let (columns, values) = matrix.row(p);
                    let entries = columns.iter().zip(values);
                    let product =
                        entries.map(|(&j, v)| v.to_f64() * input[j as usize * cols + c].to_f64()).sum::<f64>();
                    *sum += weight.to_f64() * product;
                }
            }
        }
        if self.all.uniform != 0.0 {
            found.uniform = column_means(ahead, exec)?.iter().map(|m| m.to_f64()).sum();
        }
        Ok(found)
    }
}

fn add_scaled<T: Real>(sum: &mut [T], a: T, x: &[T]) {
    if a != T::ZERO {
        sum.iter_mut().zip(x).for_each(|(s, &v)| *s += a * v);
    }
}

/// The inner product in double precision, by a fixed number of interleaved sums.
fn dot<T: Real>(x: &[T], y: &[T]) -> f64 {
    const LANES: usize = 8;
    let mut sums = [0.0; LANES];
    let (left, right) = (x.chunks_exact(LANES), y.chunks_exact(LANES));
    let rest = left.remainder().iter().zip(right.remainder()).map(|(a, b)| a.to_f64() * b.to_f64()).sum::<f64>();
    for (a, b) in left.zip(right) {
        for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += a.to_f64() * b.to_f64();
        }
    }
    sums.iter().sum::<f64>() + rest
}
