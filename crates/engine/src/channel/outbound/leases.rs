//! Large rings that streaming pairs lease.

use std::collections::VecDeque;
use std::sync::OnceLock;

use isthmus_shm::ring::{self, Mapped, Producer};
use isthmus_shm::{MemoryWait, Offset, Segment, segment};

use super::pieces::Payload;
use super::{Outbound, mapped};
use crate::channel::record::{Handler, Switch};
use crate::channel::ring_size;
use crate::limits::{FULL_BEFORE_LEASE, LARGEST_RING, LEASED_BYTES, LEASES, ONE_RECORD, ROOMY_SEGMENT, SMALL_RING};
use crate::{counters, tunables};

/// Data of the ring that a streaming pair leases: the tunable, as a power of two within what rings can be; or by the
/// cache, less in a large job.
fn large_ring(segment: &Segment) -> u64 {
    static SIZE: OnceLock<u64> = OnceLock::new();
    *SIZE.get_or_init(|| {
        let share = LEASED_BYTES / u64::from(LEASES) / u64::from(segment.ranks().max(1));
        let bytes = match tunables::RING.get() {
            0 => ring_size::suitable(segment.ranks()).min(1 << share.max(1).ilog2()),
            bytes => bytes,
        };
        bytes.clamp(SMALL_RING, LARGEST_RING).next_power_of_two()
    })
}

/// Memory of a ring, which comes when it is touched. Blocks while ranks that are taking memory could leave too little.
fn promised(segment: &Segment, length: u64) -> Result<Offset, segment::Error> {
    let mut waiting = MemoryWait::default();
    let at = segment.take(length)?;
    while let Err(error) = segment.promise(at, length) {
        segment.wait_for_memory(error, &mut waiting).inspect_err(|_| {
            segment.punch(at, length);
        })?;
    }
    Ok(at)
}

impl Outbound {
    /// Is the large ring in use?
    pub fn is_leased(&self) -> bool {
        self.parked.is_some()
    }

    /// Would messages of `length` bytes, of which one found no room, gain from a large ring? Shorter ones do when that
    /// happens often.
    pub fn wants_lease(&mut self, length: usize) -> bool {
        if self.is_leased() {
            return false;
        }
        self.strained += 1;
        length > ONE_RECORD.min(self.longest()) || self.strained > FULL_BEFORE_LEASE
    }

    /// Go on in a large ring. False: no room for the record that says so; the lease goes back.
    pub fn lease(&mut self, segment: &Segment, at: Offset) -> bool {
        let Some(memory) = mapped(segment, at, large_ring(segment)) else {
            return false;
        };
        let switch = Switch {
            offset: at.0,
            size: large_ring(segment),
        };
        // Made before the peer can see it.
        let large = Producer::anew(memory);
        if !self.put(Handler::Switch, 0, switch, Payload::NOTHING, 0) {
            return false;
        }
        counters::RINGS_LEASED.add(1);
        self.parked = Some(std::mem::replace(&mut self.ring, large));
        true
    }

    /// If nothing waits, go back to the small ring; the large one is free once the returned producer is drained.
    pub fn end_lease(&mut self) -> Option<Producer<Mapped>> {
        if !self.is_leased() || !self.is_idle() {
            return None;
        }
        let switch = Switch {
            offset: self.small_at.0,
            size: self.small,
        };
        if !self.put(Handler::Switch, 0, switch, Payload::NOTHING, 0) {
            return None;
        }
        let small = self.parked.take()?;
        Some(std::mem::replace(&mut self.ring, small))
    }
}

/// The large rings of this process: leased ones, free ones.
#[derive(Debug, Default)]
pub struct Leases {
    made: u32,
    free: Vec<Offset>,
    /// Given back, but the peer has not seen the end of it yet.
    leaving: Vec<(u32, Offset, Producer<Mapped>)>,
    /// Peers and their rings, least recently leased first.
    held: VecDeque<(u32, Offset)>,
}

// SAFETY: rings in the job segment, touched only by the thread inside the engine.
unsafe impl Send for Leases {}

impl Leases {
    /// A large ring for `peer`, if the budget allows. If not, the longest holder that is idle gives its ring back for
    /// later, and must be told (`Err`).
    pub fn take(
        &mut self,
        segment: &Segment,
        out: &mut [Option<Box<Outbound>>],
        peer: u32,
    ) -> Result<Offset, Option<u32>> {
        self.leaving.retain(|(_, offset, ring)| {
            let drained = ring.is_drained();
            if drained {
                self.free.push(*offset);
            }
            !drained
        });
        let offset = match self.free.pop() {
            Some(offset) => offset,
            None if self.made < LEASES && segment.limit() >= ROOMY_SEGMENT => {
                // Refused memory is not asked for again: small rings do.
                self.made += 1;
                // Its pages come when they are touched: all at once they would delay the pair's first long message (docs/decisions/0240).
                let length = ring::bytes_for(large_ring(segment)).next_multiple_of(segment::PAGE);
                promised(segment, length).map_err(|_| None)?
            }
            None => return Err(self.recall(out)),
        };
        self.held.push_back((peer, offset));
        Ok(offset)
    }

    /// `take` was for nothing.
    pub fn put_back(&mut self, offset: Offset) {
        self.held.retain(|(_, held)| *held != offset);
        self.free.push(offset);
    }

    /// The peer has died: what it had, and what it would have had to read to its end, is free.
    pub fn reclaim(&mut self, dead: u32) {
        let free = &mut self.free;
        let mut keep = |peer: u32, offset: Offset| {
            if peer == dead {
                free.push(offset);
            }
            peer != dead
        };
        self.held.retain(|(peer, offset)| keep(*peer, *offset));
        self.leaving.retain(|(peer, offset, _)| keep(*peer, *offset));
    }

    /// The peer whose ring is returned.
    fn recall(&mut self, out: &mut [Option<Box<Outbound>>]) -> Option<u32> {
        for _ in 0..self.held.len() {
            let (peer, offset) = self.held.pop_front()?;
            match out[peer as usize].as_mut().and_then(|outbound| outbound.end_lease()) {
                Some(ring) => {
                    self.leaving.push((peer, offset, ring));
                    return Some(peer);
                }
                None => self.held.push_back((peer, offset)),
            }
        }
        None
    }
}
