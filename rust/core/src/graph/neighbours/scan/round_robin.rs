//! Round-robin schedule of teams.

use crate::Result;

/// Divides blocks into at most `count` teams of almost equal size.
pub(super) fn into_teams<B>(blocks: Vec<B>, count: usize) -> Vec<Vec<B>> {
    let (number, count) = (blocks.len(), count.min(blocks.len()));
    let mut blocks = blocks.into_iter();
    (0..count).map(|t| blocks.by_ref().take((t + 1) * number / count - t * number / count).collect()).collect()
}

/// Calls `round` with disjoint pairs of teams until every pair has occurred once.
///
/// The circle method: the first team stays, the others move by one place after each round.
pub(super) fn for_each_round<T: Default>(
    teams: &mut Vec<T>,
    mut round: impl FnMut(&mut [(&mut T, &mut T)]) -> Result<()>,
) -> Result<()> {
    if teams.len() % 2 == 1 {
        teams.push(T::default());
    }
    for _ in 1..teams.len() {
        let half = teams.len() / 2;
        let (left, right) = teams.split_at_mut(half);
        let mut pairs: Vec<_> = left.iter_mut().zip(right.iter_mut().rev()).collect();
        round(&mut pairs)?;
        teams[1..].rotate_right(1);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_of_teams_occurs_once() {
        for count in 1..9_usize {
            let mut teams: Vec<Option<usize>> = (0..count).map(Some).collect();
            let mut met = Vec::new();
            for_each_round(&mut teams, |pairs| {
                met.extend(pairs.iter().filter_map(|(a, b)| Some((a.or(None)?.min((**b)?), a.or(None)?.max((**b)?)))));
                Ok(())
            })
            .unwrap();
            met.sort_unstable();
            let all: Vec<_> = (0..count).flat_map(|a| (a + 1..count).map(move |b| (a, b))).collect();
            assert_eq!(met, all);
        }
    }
}
