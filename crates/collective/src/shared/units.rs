//! What the two-level reductions share: the ranks of a unit of the machine combine what they have among themselves.

use std::ops::Range;

use isthmus_engine::Step;
use isthmus_twice::twice;

use super::Access;
use super::exchange::Draft;
use super::fold::{Places, fold_parts};
use super::slices::{Slices, length};
use crate::error::Result;
use crate::layout::Layout;
use crate::link::Link;
use crate::link::operand::Operand;

/// Up to so many bytes one rank of each unit combines all of them: what the others would spare it is less than what it takes
/// to hand them over.
const SHORT: usize = 8 << 10;

/// The ranks of a unit that combine: all of them but perhaps a root, which has enough to do.
#[derive(Debug, Clone, Copy)]
pub struct Workers<'a> {
    ranks: &'a [u32],
    /// The rank whose place is left out.
    root: Option<usize>,
}

impl<'a> Workers<'a> {
    /// Of each unit that has some, in order.
    pub fn of_all(layout: &'a Layout, root: Option<usize>) -> impl Iterator<Item = Self> + Clone {
        let all = layout.units().map(move |ranks| Self::new(ranks, root));
        all.filter(|workers| workers.count() > 0)
    }

    /// Of the unit that a rank is in.
    pub fn beside(layout: &'a Layout, rank: usize, root: Option<usize>) -> Self {
        Self::new(layout.unit_of(rank), root)
    }

    fn new(ranks: &'a [u32], root: Option<usize>) -> Self {
        let root = root.and_then(|root| ranks.iter().position(|rank| *rank as usize == root));
        Self { ranks, root }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.ranks.len() - usize::from(self.root.is_some())
    }

    /// The rank at a place among them.
    fn rank(&self, place: usize) -> usize {
        let is_behind = self.root.is_some_and(|root| root <= place);
        self.ranks[place + usize::from(is_behind)] as usize
    }

    /// The place of a rank that is one of them.
    fn place(&self, rank: usize) -> usize {
        let place = self.ranks.partition_point(|other| (*other as usize) < rank);
        place - usize::from(self.root.is_some_and(|root| root < place))
    }

    /// The slices that a rank combines.
    pub fn slices_of(&self, rank: usize, slices: Slices) -> Range<usize> {
        slices.of(self.place(rank), self.count())
    }

    /// The elements that a rank combines.
    pub fn share_of(&self, rank: usize, slices: Slices) -> Range<i64> {
        slices.share(self.place(rank), self.count())
    }

    /// The rank that combines a slice.
    fn owner(&self, slice: usize, slices: Slices) -> usize {
        self.rank(slices.owner(slice, self.count()))
    }

    /// The others.
    pub fn others(self, rank: usize) -> impl Iterator<Item = usize> {
        let all = (0..self.count()).map(move |place| self.rank(place));
        all.filter(move |other| *other != rank)
    }
}

/// The results of some slices in all units.
#[derive(Debug)]
pub struct Partials<U> {
    /// The workers of each.
    pub units: U,
    pub slices: Slices,
    /// Which of them.
    pub wanted: Range<usize>,
    /// In which it is posted.
    pub step: Step,
}

impl Slices {
    /// Of so many elements from `first` on, for the ranks of all units.
    pub fn among(layout: &Layout, operand: &Operand<'_>, first: i64, count: i64) -> Self {
        let most = layout.units().map(<[u32]>::len).max().unwrap_or(1);
        let number = if operand.crossing(count) > SHORT { most } else { 1 };
        Self { first, count, number }
    }
}

impl Access<'_> {
    /// Show the other workers what they combine, and combine one's own share of what all of them have: what came of that, to be
    /// posted, unless there is no such share.
    ///
    /// # Safety
    /// Where `input` is that of the first element, all elements must be readable.
    #[twice]
    pub async unsafe fn combine_in_unit(
        &self,
        operand: &Operand<'_>,
        workers: Workers<'_>,
        slices: Slices,
        input: *const u8,
        [given, partial]: [Step; 2],
    ) -> Result<Option<Draft>> {
        let own = workers.share_of(self.rank(), slices);
        let others = slices.count - length(&own);
        // SAFETY: the caller's promise; drafts have room for what they are made for.
        unsafe {
            if workers.count() > 1 && others > 0 {
                let before = own.start - slices.first;
                let draft = self.draft(given, operand.crossing(others)).await?;
                let behind = draft.data.wrapping_add(operand.crossing(before));
                operand.put(operand.at(input, slices.first), before, draft.data);
                operand.put(operand.at(input, own.end), others - before, behind);
                match slices.number {
                    1 => self.post_to(workers.rank(0), &draft),
                    _ => self.post(&draft),
                }
            }
            if own.is_empty() {
                return Ok(None);
            }
            for other in workers.others(self.rank()) {
                self.read(other, given).await?;
            }
            let draft = self.draft(partial, operand.crossing(length(&own))).await?;
            self.fold_shares(operand, workers, slices, input, given, draft.data)?;
            Ok(Some(draft))
        }
    }

    /// Combine one's own share of what all workers have shown.
    ///
    /// # Safety
    /// As for [`Self::combine_in_unit`]; they have, and there is room for the share.
    unsafe fn fold_shares(
        &self,
        operand: &Operand<'_>,
        workers: Workers<'_>,
        slices: Slices,
        input: *const u8,
        given: Step,
        to: *mut u8,
    ) -> Result<()> {
        let own = workers.share_of(self.rank(), slices);
        let mut places = Places::new();
        let parts = places.of(workers.count());
        parts[workers.place(self.rank())] = operand.at(input, own.start);
        for other in workers.others(self.rank()) {
            // All but its own share.
            let theirs = workers.share_of(other, slices);
            let posted = self.posted(other, given)?;
            let shown = self.operands(operand, other, posted, slices.count - length(&theirs))?;
            let missing = if theirs.start < own.start { length(&theirs) } else { 0 };
            parts[workers.place(other)] = shown.wrapping_add(operand.crossing(own.start - slices.first - missing));
        }
        // SAFETY: the caller's promise.
        unsafe { fold_parts(self, operand, parts, Some(workers.place(self.rank())), to, length(&own)) }
    }

    /// All units have posted theirs, as soon as they have.
    #[twice]
    pub async fn every_partial<'w, U: Iterator<Item = Workers<'w>> + Clone>(
        &self,
        partials: &Partials<U>,
    ) -> Result<()> {
        for workers in partials.units.clone() {
            for slice in partials.wanted.clone() {
                let owner = workers.owner(slice, partials.slices);
                if owner != self.rank() && !partials.slices.slice(slice).is_empty() {
                    self.read(owner, partials.step).await?;
                }
            }
        }
        Ok(())
    }

    /// Combine those of all units, which have posted them; what lies in `own` takes the place of the calling rank's, or stands behind
    /// all of them if it has none. Without, its own is read where it is staged: somebody must wait for what it makes of it.
    ///
    /// # Safety
    /// Where these are the addresses of the first element, the slices must be readable in `own` and writable in `output`, which
    /// may be the same.
    pub unsafe fn fold_partials<'w, U: Iterator<Item = Workers<'w>> + Clone>(
        &self,
        operand: &Operand<'_>,
        partials: &Partials<U>,
        own: Option<*const u8>,
        output: *mut u8,
    ) -> Result<()> {
        for slice in partials.wanted.clone() {
            let elements = partials.slices.slice(slice);
            if elements.is_empty() {
                continue;
            }
            let mut places = Places::new();
            // One's own may stand behind all.
            let parts = places.of(partials.units.clone().count() + 1);
            let (mut number, mut own_place) = (0, None);
            for workers in partials.units.clone() {
                let owner = workers.owner(slice, partials.slices);
                if own.is_some() && owner == self.rank() {
                    own_place = Some(number);
                    number += 1;
                    continue;
                }
                let share = workers.share_of(owner, partials.slices);
                let posted = self.posted(owner, partials.step)?;
                let shown = self.operands(operand, owner, posted, length(&share))?;
                parts[number] = shown.wrapping_add(operand.crossing(elements.start - share.start));
                number += 1;
            }
            let own_place = own.map(|own| {
                let place = own_place.unwrap_or(number);
                parts[place] = operand.at(own, elements.start);
                number = number.max(place + 1);
                place
            });
            let to = operand.at(output, elements.start);
            // SAFETY: the caller's promise.
            unsafe { fold_parts(self, operand, &parts[..number], own_place, to, length(&elements))? };
        }
        Ok(())
    }
}
