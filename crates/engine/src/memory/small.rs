//! Short blocks of the heap: as many of one length as fit share a page. A program may have thousands of windows of a few bytes.

use std::collections::{BTreeMap, HashMap};

/// Of the heap's ordinary pages.
const PAGE: u64 = 4096;
/// Blocks begin at multiples of this, and so do lines of the cache: no two share one.
const GRAIN: u64 = 64;

/// A page of short blocks.
#[derive(Debug)]
struct Page {
    /// Blocks that it has room for.
    room: u64,
    /// A bit for each that is free.
    free: u64,
}

impl Page {
    fn all(room: u64) -> u64 {
        u64::MAX >> (64 - room)
    }
}

/// Bytes of a block where so many share a page.
fn length_of(room: u64) -> u64 {
    PAGE / room / GRAIN * GRAIN
}

/// The short blocks of a heap, by offset of their pages.
#[derive(Debug, Default)]
pub(super) struct Small {
    pages: HashMap<u64, Page>,
    /// Pages with free blocks, by how many blocks they have room for.
    open: BTreeMap<u64, Vec<u64>>,
}

/// The result of returning a block.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Freed {
    /// It is none of these, or was given back before.
    No,
    /// It is free.
    Block,
    /// It is free, and with it the page at this offset, which is the caller's now.
    Page(u64),
}

impl Small {
    /// How many blocks of this kind share a page; `None`: such a block has whole pages of its own.
    pub fn room(length: u64, alignment: u64) -> Option<u64> {
        (length <= PAGE / 2 && alignment <= GRAIN).then(|| PAGE / length.max(1).next_multiple_of(GRAIN))
    }

    /// The offset of a block of a kind of which `room` share a page; a new page comes from `take`.
    pub fn allocate<E>(&mut self, room: u64, take: impl FnOnce() -> Result<u64, E>) -> Result<u64, E> {
        let open = self.open.entry(room).or_default();
        let at = match open.last() {
            Some(at) => *at,
            None => {
                let at = take()?;
                open.push(at);
                let free = Page::all(room);
                self.pages.insert(at, Page { room, free });
                at
            }
        };
        let page = self.pages.get_mut(&at).expect("open pages are known");
        let index = u64::from(page.free.trailing_zeros());
        page.free &= page.free - 1;
        if page.free == 0 {
            open.pop();
        }
        Ok(at + index * length_of(room))
    }

    /// Give back the block at `offset`.
    pub fn free(&mut self, offset: u64) -> Freed {
        let at = offset / PAGE * PAGE;
        let Some(page) = self.pages.get_mut(&at) else {
            return Freed::No;
        };
        let (index, within) = (
            (offset - at) / length_of(page.room),
            (offset - at) % length_of(page.room),
        );
        if within != 0 || index >= page.room || page.free >> index & 1 != 0 {
            return Freed::No;
        }
        let (was_full, room) = (page.free == 0, page.room);
        page.free |= 1 << index;
        let is_empty = page.free == Page::all(room);
        let open = self.open.entry(room).or_default();
        if was_full {
            open.push(at);
        }
        if !is_empty {
            return Freed::Block;
        }
        open.retain(|other| *other != at);
        self.pages.remove(&at);
        Freed::Page(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_a_page_are_apart_and_hold_what_was_asked_for() {
        for length in (0..=2048).step_by(7) {
            let room = Small::room(length, 1).expect("short");
            assert!((2..=64).contains(&room) && length_of(room) >= length && room * length_of(room) <= PAGE);
        }
        assert_eq!((Small::room(2049, 1), Small::room(8, 128)), (None, None));
        assert_eq!((Small::room(8, 64), length_of(64)), (Some(64), 64));
    }

    #[test]
    fn pages_come_and_go_with_their_blocks() {
        let mut small = Small::default();
        let mut next = 0;
        let mut take = || {
            next += PAGE;
            Ok::<_, ()>(next)
        };
        let blocks: Vec<u64> = (0..130)
            .map(|_| small.allocate(64, &mut take).expect("memory"))
            .collect();
        let mut sorted = blocks.clone();
        sorted.sort_unstable();
        assert!(sorted.windows(2).all(|pair| pair[1] - pair[0] >= 64));
        assert_eq!(small.pages.len(), 3);
        assert_eq!(small.free(blocks[0] + 8), Freed::No);
        assert_eq!(small.free(1 << 40), Freed::No);
        assert_eq!(small.free(blocks[5]), Freed::Block);
        assert_eq!(small.free(blocks[5]), Freed::No);
        assert_eq!(small.allocate(64, || Err(())), Ok(blocks[5]), "where there is room");
        let pages = blocks
            .iter()
            .filter(|block| matches!(small.free(**block), Freed::Page(_)));
        assert_eq!(pages.count(), 3);
        assert!(small.pages.is_empty() && small.open.values().all(Vec::is_empty));
        assert_eq!(small.allocate(64, || Err(())), Err(()));
    }
}
