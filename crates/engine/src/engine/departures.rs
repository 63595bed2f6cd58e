//! Records that leave: what waits for room, and operations that are complete when it has left.

use crate::channel::outbound::Outbound;
use crate::engine::Engine;

impl Engine {
    /// Write what there is room for by now. True: something was written.
    pub fn flush_backlog(&mut self) -> bool {
        let fed = self.streams.is_busy() && self.stream_on();
        fed | (!self.channels.is_quiet() && self.flush())
    }

    /// Has everything that was to be sent left this process?
    pub fn is_quiet(&self) -> bool {
        self.channels.is_quiet() && !self.streams.is_busy()
    }

    /// The channel to `peer`, made at first use.
    #[inline]
    pub fn outbound(&mut self, peer: u32) -> crate::Result<&mut Outbound> {
        if self.channels.to(peer).is_none() {
            self.connect(peer)?;
        }
        Ok(self.channels.to_mut(peer).expect("just connected"))
    }

    #[cold]
    fn connect(&mut self, peer: u32) -> crate::Result<()> {
        let outbound = self.channels.connect(&mut self.arena, peer)?;
        self.given_ups.take_back_letters(peer, |letter| outbound.answer(letter));
        if !outbound.is_idle() {
            self.channels.add_backlog(peer);
        }
        Ok(())
    }

    /// Something waits for room in the ring to `peer`: write what fits, remember the rest.
    pub fn kick(&mut self, peer: u32) {
        self.channels.add_backlog(peer);
        self.flush();
    }

    /// Write what there is room for, to everybody.
    #[cold]
    pub fn flush(&mut self) -> bool {
        let mut moved = false;
        let mut at = 0;
        while let Some(peer) = self.channels.backlogged(at) {
            let (wrote, idle) = self.flush_to(peer);
            moved |= wrote;
            if idle {
                self.channels.end_backlog(at);
            } else {
                at += 1;
            }
        }
        self.ops.news |= moved;
        moved
    }

    /// (whether something was written, whether nothing is left)
    fn flush_to(&mut self, peer: u32) -> (bool, bool) {
        if self.channels.to(peer).is_none() {
            return self.leave_letter(peer);
        }
        let mut wrote = false;
        let mut done = std::mem::take(&mut self.done);
        loop {
            let outbound = self.channels.to_mut(peer).expect("a queue has its channel");
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
            self.channels.ring(peer);
        }
        for op in done.drain(..) {
            self.ops.complete_as_is(op);
        }
        self.done = done;
        (wrote, self.channels.to(peer).is_none_or(Outbound::is_idle))
    }
}
