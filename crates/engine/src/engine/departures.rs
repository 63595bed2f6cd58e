//! Records that leave: what waits for room, and operations that are complete when it has left.

use crate::channel::network::Network;
use crate::channel::outbound::Outbound;
use crate::counters;
use crate::engine::Engine;

impl Engine {
    /// Write what there is room for by now. True: something was written.
    pub fn flush_backlog(&mut self) -> bool {
        let fed = self.transfers.is_streaming() && self.stream_on();
        fed | (!self.channels.is_quiet() && self.flush())
    }

    /// Has everything that was to be sent left this process?
    pub fn is_quiet(&self) -> bool {
        let has_left = self.channels.network().is_none_or(Network::is_quiet);
        has_left && self.channels.is_quiet() && !self.transfers.is_streaming()
    }

    /// The channel to `peer`, made at first use.
    #[inline]
    pub fn outbound(&mut self, peer: u32) -> crate::Result<&mut Outbound> {
        let (arena, failed_calls) = (&mut self.memory.arena, &mut self.membership.failed_calls);
        self.channels.outbound_to(arena, failed_calls, peer)
    }

    /// Something waits for room in the ring to `peer`: write what fits, remember the rest.
    pub fn kick(&mut self, peer: u32) {
        self.channels.add_backlog(peer);
        self.flush();
        let waits = self.channels.outbound(peer).is_some_and(|outbound| !outbound.is_idle());
        counters::BACKLOGGED.add(u64::from(waits));
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
                counters::BACKLOG_LOOKS.add(u64::from(!wrote));
                at += 1;
            }
        }
        self.ops.has_events |= moved;
        moved
    }

    /// (whether something was written, whether nothing is left)
    fn flush_to(&mut self, peer: u32) -> (bool, bool) {
        if self.channels.outbound(peer).is_none() {
            return match self.channels.is_remote(peer) {
                false => self.leave_notice(peer),
                true => (false, self.outbound(peer).is_err()),
            };
        }
        let mut wrote = false;
        let mut done = std::mem::take(&mut self.done);
        loop {
            let outbound = self.channels.outbound_mut(peer).expect("a queue has its channel");
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
        (wrote, self.channels.outbound(peer).is_none_or(Outbound::is_idle))
    }
}

#[cfg(test)]
mod tests {
    use isthmus_shm::Segment;

    use super::*;
    use crate::membership::control::Nonce;
    use crate::memory::buffer::Buffer;
    use crate::types::{ContextId, Mode, Posting};

    #[test]
    fn what_finds_no_room_is_counted() {
        const LENGTH: usize = 1 << 10;
        let fd = crate::membership::job::create(2, Nonce([7; 16])).expect("memory");
        let segment: &'static Segment = Box::leak(Box::new(Segment::attach(fd, [7; 16]).expect("a job segment")));
        let mut us = Engine::new(segment, 0, true, None);
        let posting = Posting {
            context: ContextId(2),
            source: 0,
            tag: 1,
        };
        let data = [1_u8; LENGTH];
        let counts = || [&counters::RING_LINES, &counters::BACKLOGGED, &counters::BACKLOG_LOOKS].map(|row| row.get());
        let before = counts();
        // SAFETY: the buffer lives longer than the engine is used.
        let mut send = || unsafe { us.send(Mode::Standard, 1, posting, Buffer::source(data.as_ptr()), LENGTH) };
        let sent = std::iter::from_fn(|| send().expect("room").is_none().then_some(())).count();
        us.flush_backlog();
        // Other tests may count at the same time.
        let [lines, backlogged, looks] = counts();
        assert!(lines - before[0] >= (sent * LENGTH / 64) as u64);
        assert!(backlogged > before[1] && looks > before[2]);
    }
}
