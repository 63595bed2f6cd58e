//! Records that leave: the channel to a peer, how it is told, and what waits for room.

use isthmus_shm::doorbell;

use crate::channel::outbound::Outbound;
use crate::counters;
use crate::engine::Engine;

impl Engine {
    /// Write what there is room for by now. True: something was written.
    pub fn flush_backlog(&mut self) -> bool {
        !self.backlog.is_empty() && self.flush()
    }

    /// Has everything that was to be sent left this process?
    pub fn is_quiet(&self) -> bool {
        self.backlog.is_empty() && self.network.as_ref().is_none_or(|network| network.is_quiet())
    }

    /// The channel to `peer`, made at first use.
    #[inline]
    pub fn outbound(&mut self, peer: u32) -> crate::Result<&mut Outbound> {
        if self.out[peer as usize].is_none() {
            self.connect(peer)?;
        }
        Ok(self.out[peer as usize].as_mut().expect("just connected"))
    }

    #[cold]
    fn connect(&mut self, peer: u32) -> crate::Result<()> {
        let outbound = match self.is_remote(peer) {
            false => Outbound::connect(self.segment, &mut self.arena, self.me, peer)?,
            true => self.connect_remote(peer)?,
        };
        let outbound = self.out[peer as usize].insert(Box::new(outbound));
        self.given_ups.take_back_letters(peer, |letter| outbound.answer(letter));
        if !outbound.is_idle() && !self.backlog.contains(&peer) {
            self.backlog.push(peer);
        }
        Ok(())
    }

    /// Tell `peer` that there is a record for it, if it does not look by itself or sleeps.
    #[inline]
    pub fn ring(&mut self, peer: u32) {
        self.order();
        if self.out[peer as usize]
            .as_ref()
            .is_none_or(|outbound| !outbound.is_polled())
        {
            // The rings to other nodes are never looked at by those who write to others.
            if self.is_remote(peer) {
                self.send_remote(peer);
                return;
            }
            doorbell::set_bit(self.segment.bitmap(peer), self.me);
        }
        self.wake(peer);
    }

    /// Between publishing something and looking whether a peer must be told.
    #[inline]
    pub fn order(&self) {
        doorbell::order(self.fence_needed);
    }

    /// Wake `peer` if it sleeps. After [`Self::order`].
    #[inline]
    pub fn wake(&self, peer: u32) {
        let bell = self.segment.slot(peer).doorbell();
        if bell.ring() {
            counters::WAKES.add_anywhere(1);
            bell.wake();
        }
    }

    /// Something waits for room in the ring to `peer`: write what fits, remember the rest.
    pub fn kick(&mut self, peer: u32) {
        if !self.backlog.contains(&peer) {
            self.backlog.push(peer);
        }
        self.flush();
    }

    /// Write what there is room for, to everybody.
    #[cold]
    pub fn flush(&mut self) -> bool {
        let mut moved = false;
        let mut at = 0;
        while at < self.backlog.len() {
            let peer = self.backlog[at];
            let (wrote, idle) = self.flush_to(peer);
            moved |= wrote;
            if idle {
                self.backlog.swap_remove(at);
            } else {
                at += 1;
            }
        }
        self.ops.news |= moved;
        moved
    }

    /// (whether something was written, whether nothing is left)
    fn flush_to(&mut self, peer: u32) -> (bool, bool) {
        if self.out[peer as usize].is_none() {
            return match self.is_remote(peer) {
                false => self.leave_letter(peer),
                true => (false, self.outbound(peer).is_err()),
            };
        }
        let mut wrote = false;
        let mut done = std::mem::take(&mut self.done);
        loop {
            let outbound = self.out[peer as usize].as_mut().expect("a queue has its channel");
            let hold = outbound.announce_only();
            wrote |= outbound.flush(&mut done, hold);
            let may_pair = outbound.orders.may_pair();
            let more = hold && outbound.first_unbegun().is_some() && self.announce_first(peer);
            if may_pair {
                self.pair(peer);
            }
            if !more {
                break;
            }
        }
        if wrote {
            self.ring(peer);
        }
        for op in done.drain(..) {
            self.ops.complete_as_is(op);
        }
        self.done = done;
        (
            wrote,
            self.out[peer as usize]
                .as_ref()
                .is_none_or(|outbound| outbound.is_idle()),
        )
    }
}
