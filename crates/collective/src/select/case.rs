//! What the choice of an algorithm depends on.

use isthmus_datatype::Reduction;
use isthmus_engine::is_oversubscribed;

use crate::link::Link;
use crate::link::operand::Operand;
use crate::shared::Access;
use crate::traits::Traits;

/// What a call is known by, on all its ranks.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// How many there are.
    pub ranks: u64,
    /// As [`Collective::bytes`](super::Collective::bytes) counts them.
    pub bytes: u64,
    /// What there is.
    pub offers: Traits,
}

impl Case {
    /// A call on this link.
    #[inline]
    pub fn on(link: &impl Link, bytes: usize, offers: Traits) -> Self {
        let places = link.layout().map_or(Traits::NONE, |layout| {
            let in_parts = layout.is_in_order() || Traits::COMMUTATIVE.are_in(offers);
            Traits::PLACES.when(layout.has_structure()) | Traits::NODES.when(layout.nodes().len() > 1 && in_parts)
        });
        let board = link.shared().map_or(Traits::NONE, |access| {
            let traits = Traits::BOARD | access.traits();
            traits.without(Traits::FAIR_COPIES.when(access.is_of_request()))
        });
        Self {
            ranks: link.size() as u64,
            bytes: bytes as u64,
            offers: offers | places | board | Traits::IDLE_CPUS.when(!is_oversubscribed()),
        }
    }

    /// A reduction of `count` elements on this link.
    #[inline]
    pub fn of(operand: &Operand<'_>, link: &impl Link, count: i64) -> Self {
        let bytes = (count * operand.datatype.size()) as usize;
        let offers = Traits::PLAIN.when(operand.datatype.is_contiguous())
            | Traits::COMMUTATIVE.when(operand.is_commutative())
            | Traits::EXACT.when(operand.is_exact())
            | Traits::ELEMENT_EACH.when(count >= link.size() as i64);
        let case = Self::on(link, bytes, offers);
        let calls_user = matches!(operand.reduction, Reduction::Custom(_));
        let is_apart = calls_user && link.shared().is_some_and(Access::is_of_request);
        let missing = Traits::BOARD.when(!operand.crosses_small(link.size()) || is_apart)
            | Traits::SINGLE_COPIES.when(calls_user);
        Self {
            offers: case.offers.without(missing),
            ..case
        }
    }
}
