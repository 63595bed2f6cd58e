//! Parts of a collective access that a rank makes before it talks with the others. The outcome is told with everything else, so that the exchange at
//! the start is that of the end, too (decision 222).
//!
//! A rank makes its part so if it may not go through others (hints, locks), or if its bytes lie in a row in the file, or in pieces that each rank of a
//! node accesses by itself anyway (decisions 182 and 227). Other ranks of the same call may have to go through aggregators: they do so for the parts that are left.

use super::{Exchange, LONG_READ, RankPart, is_on_one_node};
use crate::failure::Result;
use crate::hints::Choice;
use crate::independent::size;

impl RankPart<'_> {
    /// Shall this access go through others, as far as this rank can say?
    pub(super) fn choice(&self, writes: bool) -> Choice {
        if self.locked || !self.view.is_apart() {
            return Choice::Disable;
        }
        if writes {
            self.hints.cb_write
        } else {
            self.hints.cb_read
        }
    }

    /// Make this rank's part, if that needs nobody else: how many bytes were moved. `None`: nothing was done. Blocks in the device.
    pub(super) fn ahead(&self, exchange: &impl Exchange, choice: Choice, writes: bool) -> Option<Result<u64>> {
        let bytes = self.memory.bytes();
        if !self.may_begin || self.refused.is_some() {
            return None;
        }
        if bytes == 0 {
            return Some(Ok(0));
        }
        let gaps = match choice {
            Choice::Enable => return None,
            Choice::Disable => Choice::Automatic,
            Choice::Automatic => {
                let (from, to) = (self.position, self.position + bytes);
                let span = self.view.span(from, to);
                let is_in_a_row = span.end - span.start == bytes;
                let piece = || self.view.mean_piece(from, to);
                if !(is_in_a_row || is_on_one_node(exchange) && self.is_long(piece(), span.end, writes)) {
                    return None;
                }
                Choice::Disable
            }
        };
        let access = self.access(gaps);
        Some(match writes {
            true => access.write(self.memory, self.position).map(|()| bytes),
            false => access.read(self.memory, self.position),
        })
    }
    /// Are pieces of so many bytes, of an access that ends there in the file, each rank's own to make? The file may grow under the hands of others: they
    /// make what is left through aggregators.
    fn is_long(&self, piece: u64, end: u64, writes: bool) -> bool {
        if !writes {
            return piece >= LONG_READ;
        }
        let own = self.file.layout().own_writes;
        piece >= own.growing || (piece >= own.inside && size(self.file).is_ok_and(|size| size >= end))
    }
}
