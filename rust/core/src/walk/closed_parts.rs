//! The number of parts of the points that the steps of a trajectory never leave.
//!
//! A part is a strongly connected component of the union of the walks, which no entry leaves. Walks
//! of other components end in such a part, so the parts are the pieces that no step joins.
//!
//! Tarjan's algorithm without recursion: every entry of the walks is visited once. Memory: four bytes
//! for each point and at most 28 for each point of the longest path.
//!
//! Reference: Tarjan 1972, doi:10.1137/0201010.

use crate::{Exec, OperatorSet, Real, Result, Trajectory};

/// Number of points between two looks at the stop flag.
const POINTS_PER_CHECK: usize = 1 << 14;

/// The number of a point that was not visited.
const NEW: u32 = 0;
/// The number of a point whose component is complete.
const DONE: u32 = u32::MAX;

/// A point on the path of the search.
struct Visit {
    point: u32,
    /// Number of its entries that were followed.
    followed: u32,
    /// The number of the point.
    number: u32,
    /// The smallest number that is reached from it within its component.
    lowest: u32,
    /// Whether an entry leads from the points that were found behind it to another component.
    leaves: bool,
}

impl<T: Real> Trajectory<'_, T> {
    /// The number of parts that no step leaves.
    pub fn closed_parts(&self, exec: &Exec) -> Result<usize> {
        if self.steps().iter().any(|step| step.uniform > 0.0) {
            return Ok(1);
        }
        let powers = self.steps().iter().flat_map(|step| &step.powers).filter(|power| power.weight > 0.0);
        let mut walks: Vec<usize> = powers.map(|power| power.base).collect();
        walks.sort_unstable();
        walks.dedup();
        // The number does not depend on the order of the points, and neighbours are close in the permuted copy.
        closed_parts(self.set().copy().map_or(self.set(), |copy| &copy.set), &walks, exec)
    }
}

fn closed_parts<T: Real>(set: &OperatorSet<T>, walks: &[usize], exec: &Exec) -> Result<usize> {
    let n = set.n();
    let mut numbers = vec![NEW; n];
    let mut path: Vec<Visit> = Vec::new();
    // Visited points whose component is not complete.
    let mut open: Vec<u32> = Vec::new();
    let (mut visited, mut parts) = (0, 0);
    for root in 0..n as u32 {
        let mut next = (numbers[root as usize] == NEW).then_some(root);
        loop {
            if let Some(point) = next.take() {
                if (visited as usize).is_multiple_of(POINTS_PER_CHECK) {
                    exec.check()?;
                }
                visited += 1;
                numbers[point as usize] = visited;
                open.push(point);
                path.push(Visit { point, followed: 0, number: visited, lowest: visited, leaves: false });
            }
            let Some(visit) = path.last_mut() else { break };
            next = follow(visit, set, walks, &numbers);
            if next.is_some() {
                continue;
            }
            let Some(Visit { point, number, lowest, leaves, .. }) = path.pop() else { break };
            let is_complete = lowest == number;
            if is_complete {
                parts += usize::from(!leaves);
                while let Some(member) = open.pop() {
                    numbers[member as usize] = DONE;
                    if member == point {
                        break;
                    }
                }
            }
            if let Some(before) = path.last_mut() {
                before.lowest = before.lowest.min(lowest);
                before.leaves |= leaves || is_complete;
            }
        }
    }
    Ok(parts)
}

/// Follows the entries of a point up to the first that leads to a new point, which is returned.
fn follow<T: Real>(visit: &mut Visit, set: &OperatorSet<T>, walks: &[usize], numbers: &[u32]) -> Option<u32> {
    let point = visit.point as usize;
    let mut before = 0;
    for (matrix, _) in walks.iter().flat_map(|&walk| set.rows_of(walk, point)) {
        let (columns, values) = matrix.row(point);
        let followed = (visit.followed as usize - before).min(columns.len());
        for (&column, &value) in columns.iter().zip(values).skip(followed) {
            visit.followed += 1;
            // Affinities may have underflowed.
            if value == T::ZERO {
                continue;
            }
            match numbers[column as usize] {
                NEW => return Some(column),
                DONE => visit.leaves = true,
                number => visit.lowest = visit.lowest.min(number),
            }
        }
        before += columns.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::ground::csr::Csr;
    use crate::ground::random::Stream;
    use crate::walk::member::Member;
    use crate::walk::transition::Transition;

    fn set(n: usize, graphs: &[Vec<Vec<u32>>]) -> OperatorSet<f64> {
        let exec = Exec::with_threads(1);
        let walk = |rows: &Vec<Vec<u32>>| {
            let ends = rows.iter().scan(0, |end, row| {
                *end += row.len() as u64;
                Some(*end)
            });
            let indptr = std::iter::once(0).chain(ends).collect();
            let values = rows.iter().flat_map(|row| vec![1.0 / row.len() as f64; row.len()]).collect();
            let matrix = Csr::new(n, indptr, rows.concat(), values).unwrap();
            Arc::new(Transition::from_stochastic(matrix, 1e-12, &exec).unwrap())
        };
        let members = (0..graphs.len()).map(Member::Walk).collect();
        OperatorSet::new(graphs.iter().map(walk).collect(), members).unwrap()
    }

    /// Parts by the transitive closure: a point is in a closed part if all that it reaches reach it.
    fn by_closure(n: usize, graphs: &[Vec<Vec<u32>>]) -> usize {
        let mut reach = vec![vec![false; n]; n];
        (0..n).for_each(|i| reach[i][i] = true);
        graphs.iter().for_each(|rows| (0..n).for_each(|i| rows[i].iter().for_each(|&j| reach[i][j as usize] = true)));
        for k in 0..n {
            for i in 0..n {
                if reach[i][k] {
                    (0..n).for_each(|j| reach[i][j] |= reach[k][j]);
                }
            }
        }
        let is_closed = |i: usize| (0..n).all(|j| !reach[i][j] || reach[j][i]);
        (0..n).filter(|&i| is_closed(i) && (0..i).all(|j| !(reach[i][j] && reach[j][i]))).count()
    }

    #[test]
    fn parts_agree_with_the_transitive_closure() {
        let mut stream = Stream::new(5, 0);
        let mut found = [0; 3];
        for _ in 0..300 {
            let n = 1 + stream.below(12);
            let mut graph = || -> Vec<Vec<u32>> {
                let row = |stream: &mut Stream| {
                    let mut row: Vec<u32> = (0..=stream.below(2)).map(|_| stream.below(n) as u32).collect();
                    row.sort_unstable();
                    row.dedup();
                    row
                };
                (0..n).map(|_| row(&mut stream)).collect()
            };
            let graphs = [graph(), graph()];
            let exec = Exec::with_threads(1);
            for used in 1..=2 {
                let set = set(n, &graphs);
                let parts = closed_parts(&set, &(0..used).collect::<Vec<_>>(), &exec).unwrap();
                assert_eq!(parts, by_closure(n, &graphs[..used]));
                found[parts.min(3) - 1] += 1;
            }
        }
        assert!(found.iter().all(|&count| count > 5), "{found:?}");
    }

    /// A path through all points does not use the stack of the thread.
    #[test]
    fn long_paths_are_followed() {
        let n = 300_000;
        let rows: Vec<Vec<u32>> = (0..n as u32).map(|i| vec![(i + 1) % n as u32]).collect();
        assert_eq!(closed_parts(&set(n, &[rows]), &[0], &Exec::with_threads(1)).unwrap(), 1);
    }
}
