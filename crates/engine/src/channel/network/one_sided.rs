//! Puts and gets of windows by the provider's RMA, between buffers of this process and memory that a peer has exposed.
//!
//! A transfer goes in pieces like a message that is read (`memory.rs`), few at a time. A put is over when the peer has the
//! bytes (`FI_DELIVERY_COMPLETE`).

use std::sync::OnceLock;

use isthmus_fabric::Sent;
use isthmus_os::network::congestion_control;
use isthmus_shm::Segment;
use isthmus_transfer::Direction;

use super::Network;
use super::rails::{Part, Whose};
use crate::limits::{NETWORK_PIECE, NETWORK_PIECE_PACED};
use crate::tunables;

/// Its number among events, beside those of messages.
pub(super) const ONE_SIDED: u64 = 1 << 63;
/// Transfers at a time, and pieces of one.
const MOST: usize = 0xff;
const DEPTH: u32 = 2;
/// Pieces of all transfers with one peer, however short. Of longer ones as many bytes as one transfer has under way: more are no faster, and where
/// connections are paced slower.
const DEPTH_OF_PEER: u32 = 16;

/// A put or a get.
#[derive(Debug)]
pub(super) struct Transfer {
    peer: u32,
    key: u64,
    /// Where what the peer has exposed begins there, and how far in it this is.
    base: u64,
    offset: u64,
    here: *mut u8,
    direction: Direction,
    next: u64,
    end: u64,
    /// Parts before `next` that are to go again.
    again: Vec<Part>,
    /// Pieces under way on the first network, and on further ones.
    under_way: u32,
    by_rails: u32,
    /// Pieces that may be.
    depth: u32,
    failed: bool,
}

// SAFETY: the buffer belongs to a call that waits until the transfer is over, and only the thread inside the engine touches it.
unsafe impl Send for Transfer {}

impl Transfer {
    fn is_over(&self) -> bool {
        !self.moves() && (self.failed || !self.has_more())
    }

    fn moves(&self) -> bool {
        self.under_way > 0 || self.by_rails > 0
    }

    fn has_more(&self) -> bool {
        self.next < self.end || !self.again.is_empty()
    }

    fn may_go_on(&self) -> bool {
        !self.failed && self.has_more() && self.under_way + self.by_rails < self.depth
    }

    /// The next part, of at most so many bytes.
    fn next_part(&self, longest: u64) -> Part {
        let next = (self.next, (self.end - self.next).min(longest));
        self.again.last().copied().unwrap_or(next)
    }

    /// It goes.
    fn goes(&mut self, part: Part) {
        if self.again.pop().is_none() {
            self.next += part.1;
        }
    }
}

impl Network {
    /// Begin to move `length` bytes between `here` and the peer's memory that it has exposed by `key`, which begins there at `base`, from
    /// `offset` on. Where it stands among transfers; `None`: it cannot be, now.
    ///
    /// # Safety
    /// The bytes at `here` must be the call's until the transfer [is over](Self::one_sided_over).
    pub unsafe fn start_one_sided(
        &mut self,
        segment: &Segment,
        (peer, key, base, offset): (u32, u64, u64, u64),
        (here, length): (*mut u8, u64),
        direction: Direction,
    ) -> Option<usize> {
        if !self.may_read() || !self.find(segment, peer) || self.link(peer).lost {
            return None;
        }
        let free = self.one_sided.iter().position(Option::is_none);
        if free.is_none() && self.one_sided.len() > MOST {
            return None;
        }
        self.find_rails(segment, peer);
        let transfer = Some(Transfer {
            peer,
            key,
            base,
            offset,
            here,
            direction,
            next: 0,
            end: length,
            again: Vec::new(),
            under_way: 0,
            by_rails: 0,
            depth: DEPTH * (1 + self.rails.count()),
            failed: false,
        });
        let at = free.unwrap_or(self.one_sided.len());
        match free {
            Some(free) => self.one_sided[free] = transfer,
            None => self.one_sided.push(transfer),
        }
        self.go_on_one_sided();
        Some(at)
    }

    /// Begin what may be. True: something was.
    pub fn go_on_one_sided(&mut self) -> bool {
        let mut moved = false;
        for at in 0..self.one_sided.len() {
            while self.one_piece(at) {
                moved = true;
            }
        }
        moved
    }

    /// Is there something to begin, which the provider was too busy for?
    pub(super) fn has_one_sided_to_start(&self) -> bool {
        let mut transfers = self.one_sided.iter().flatten();
        transfers.any(|transfer| transfer.may_go_on() && self.has_room_for_piece(transfer.peer))
    }

    fn has_room_for_piece(&self, peer: u32) -> bool {
        let link = self.links[peer as usize].as_ref();
        link.is_some_and(|link| has_room(link.moving))
    }

    /// Is there something to begin for this peer, and nothing of it under way?
    pub(super) fn is_busy_one_sided(&self, peer: u32) -> bool {
        let mut transfers = self.one_sided.iter().flatten();
        transfers.any(|transfer| transfer.peer == peer && !transfer.moves() && transfer.may_go_on())
            && self.has_room_for_piece(peer)
    }

    /// Transfers with this peer of which more is to begin and nothing is under way fail.
    pub(super) fn fail_waiting_one_sided(&mut self, peer: u32) {
        let waits = |transfer: &&mut Transfer| transfer.peer == peer && !transfer.moves() && transfer.may_go_on();
        for transfer in self.one_sided.iter_mut().flatten().filter(waits) {
            transfer.failed = true;
        }
    }

    /// Is there something under way with this peer?
    pub(super) fn moves_one_sided(&self, peer: u32) -> bool {
        let mut transfers = self.one_sided.iter().flatten();
        transfers.any(|transfer| transfer.peer == peer && transfer.moves())
    }

    fn one_piece(&mut self, at: usize) -> bool {
        let Some(transfer) = self.one_sided[at].as_mut().filter(|transfer| transfer.may_go_on()) else {
            return false;
        };
        let Some(link) = self.links[transfer.peer as usize].as_mut() else {
            return false;
        };
        let Some(to) = link.to else { return false };
        let part = transfer.next_part(self.rails.longest_piece(most_at_once(), transfer.end));
        let (offset, length) = part;
        let remote = (transfer.key, transfer.base, transfer.offset + offset);
        let number = ONE_SIDED | length << 16 | at as u64;
        // SAFETY: the caller of `start_one_sided` vouches for the bytes.
        let here = unsafe { transfer.here.add(offset as usize) };
        if let Some(rail) = self.rails.idlest(link, length) {
            let piece = (Whose::OneSided(at), transfer.peer, rail, part);
            // SAFETY: as above.
            if unsafe { self.rails.begin(link, piece, remote, here, transfer.direction) } {
                transfer.goes(part);
                transfer.by_rails += 1;
                return true;
            }
        }
        if transfer.under_way >= DEPTH || !has_room(link.moving) {
            return false;
        }
        // SAFETY: as above.
        let sent = unsafe {
            match transfer.direction {
                Direction::Pull => self.endpoint.read(to, remote, (here, length as usize), number),
                Direction::Push => self.endpoint.write(to, remote, (here, length as usize), number),
            }
        };
        match sent {
            Ok(Sent::Going) => {
                transfer.under_way += 1;
                transfer.goes(part);
                link.moving = (link.moving.0 + 1, link.moving.1 + length);
                link.begun = link.begun.wrapping_add(1);
                true
            }
            Ok(Sent::Busy) => false,
            Err(_) => {
                transfer.failed = true;
                false
            }
        }
    }

    /// A piece is over.
    pub(super) fn one_sided_moved(&mut self, number: u64, well: bool) {
        let (at, length) = ((number & 0xffff) as usize, (number & !ONE_SIDED) >> 16);
        let Some(transfer) = self.one_sided.get_mut(at).and_then(Option::as_mut) else {
            return;
        };
        transfer.under_way -= 1;
        transfer.failed |= !well;
        let peer = transfer.peer;
        if let Some(link) = self.links[peer as usize].as_mut() {
            link.moving = (link.moving.0 - 1, link.moving.1 - length);
            link.ended = link.ended.wrapping_add(1);
        }
        if !well {
            self.piece_has_failed(peer);
        }
    }

    /// A piece that went by a further rail is over, or is to go again.
    pub(super) fn one_sided_piece_over(&mut self, at: usize, part: Part, well: bool) {
        if let Some(transfer) = self.one_sided.get_mut(at).and_then(Option::as_mut) {
            transfer.by_rails -= 1;
            transfer.again.extend((!well).then_some(part));
        }
    }

    /// Is this transfer over? True: well. Then its place is free.
    pub fn one_sided_over(&mut self, at: usize) -> Option<bool> {
        let over = self.one_sided.get_mut(at)?.take_if(|transfer| transfer.is_over())?;
        Some(!over.failed)
    }

    /// Begin nothing more with this peer. True: nothing is under way.
    pub(super) fn end_one_sided(&mut self, peer: u32) -> bool {
        let theirs = |transfer: &&mut Transfer| transfer.peer == peer;
        let mut under_way = 0;
        for transfer in self.one_sided.iter_mut().flatten().filter(theirs) {
            transfer.failed = true;
            under_way += transfer.under_way + transfer.by_rails;
        }
        under_way == 0
    }
}

/// May another piece begin beside these?
fn has_room((count, bytes): (u32, u64)) -> bool {
    count < DEPTH || count < DEPTH_OF_PEER && bytes < u64::from(DEPTH) * most_at_once()
}

/// Bytes that one request moves at most: of a message, a put or a get.
pub(super) fn most_at_once() -> u64 {
    /// As the kernel has it when it is asked first.
    static USUAL: OnceLock<u64> = OnceLock::new();
    match tunables::NETWORK_PIECE.get() {
        0 => *USUAL.get_or_init(|| usual_at_once(congestion_control().as_deref())),
        piece => piece.max(2),
    }
}

/// The same, if the tunable leaves it to the kernel's congestion control.
fn usual_at_once(control: Option<&str>) -> u64 {
    match control {
        Some(name) if name.starts_with("bbr") => NETWORK_PIECE_PACED,
        _ => NETWORK_PIECE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_short_pieces_are_under_way_or_two_long_ones() {
        let long = most_at_once();
        assert!(has_room((1, 9 * long)) && !has_room((2, 2 * long)) && has_room((2, 2 * long - 1)));
        assert!(has_room((15, 15)) && !has_room((16, 16)));
    }

    #[test]
    fn pieces_are_short_where_connections_are_paced() {
        assert_eq!(usual_at_once(Some("bbr")), NETWORK_PIECE_PACED);
        assert_eq!(usual_at_once(Some("bbr3")), NETWORK_PIECE_PACED);
        assert_eq!(usual_at_once(Some("cubic")), NETWORK_PIECE);
        assert_eq!(usual_at_once(None), NETWORK_PIECE);
    }
}
