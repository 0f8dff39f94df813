//! Comparison of blocks of points by panels of products.

use std::ops::Range;

use super::queries::{Queries, Role, filter_panel};
use crate::graph::neighbours::points::Keys;
use crate::graph::neighbours::screen::Screen;
use crate::{Exec, Real, Result};

/// Buffers of one thread.
pub(super) struct PanelScratch<E> {
    pub panel: Vec<E>,
    pub products: Vec<E>,
}

/// The points and the screen that all blocks share.
pub(super) struct BlockScan<'a, P, S> {
    pub points: &'a P,
    pub screen: &'a S,
    pub exec: &'a Exec,
}

impl<P: Keys, S: Screen> BlockScan<'_, P, S> {
    /// Compares every block with itself, then every pair of blocks.
    pub fn within(&self, team: &mut [Queries<S::Element>], scratch: &mut PanelScratch<S::Element>) -> Result<()> {
        for own in &mut *team {
            self.products(own, own.range(), scratch)?;
            self.filter(own, Role::Both, scratch);
        }
        for i in 1..team.len() {
            let (before, own) = team.split_at_mut(i);
            self.between(&mut own[..1], before, scratch)?;
        }
        Ok(())
    }

    /// Compares every block of one team with every block of the other.
    pub fn between(
        &self,
        team: &mut [Queries<S::Element>],
        opponents: &mut [Queries<S::Element>],
        scratch: &mut PanelScratch<S::Element>,
    ) -> Result<()> {
        for own in team {
            for other in &mut *opponents {
                self.products(own, other.range(), scratch)?;
                self.filter(own, Role::Columns(other.range()), scratch);
                self.filter(other, Role::Rows(own.range()), scratch);
            }
        }
        Ok(())
    }

    fn products(
        &self,
        own: &Queries<S::Element>,
        others: Range<usize>,
        scratch: &mut PanelScratch<S::Element>,
    ) -> Result<()> {
        self.exec.check()?;
        let PanelScratch { panel, products } = scratch;
        let lanes = own.len();
        self.screen.load(own.range(), panel);
        products.resize(lanes * others.len(), Real::ZERO);
        self.screen.products(panel, lanes, others, products);
        Ok(())
    }

    fn filter(&self, queries: &mut Queries<S::Element>, role: Role, scratch: &PanelScratch<S::Element>) {
        filter_panel(queries, self.points, self.screen.bounds(), role, &scratch.products);
    }
}
