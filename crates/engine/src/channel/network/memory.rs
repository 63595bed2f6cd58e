//! Long messages without frames: the receiver reads them out of the sender's memory (docs/decisions/0082).
//!
//! Pieces of one message are read one after the other, and few at a time: what is under way lies in sockets' buffers or on a link. Each takes
//! a request and an answer, but messages that stay in no near cache go faster in shorter ones.

use isthmus_fabric::Sent;
use isthmus_shm::Segment;
use isthmus_transfer::Direction;

use super::Network;
use super::one_sided::{ONE_SIDED, most_at_once};
use super::rails::{Part, Whose};
use crate::channel::record::ReadyToSend;
use crate::tunables;
use crate::types::OpId;

/// Shorter messages cost less in frames than registered.
const EXPOSED_FROM: usize = 4 << 10;
/// Reads of one peer's memory that may be under way, however short.
const DEPTH: u32 = 8;
/// Keys that are made at a time.
const KEYS: usize = 32;
/// Messages that may be being read.
const MOST_READS: usize = 0xffff;

/// A message that is being read.
#[derive(Debug)]
pub(crate) struct RemoteRead {
    pub op: OpId,
    pub peer: u32,
    pub record: ReadyToSend,
    key: u64,
    into: *mut u8,
    next: u64,
    pub end: u64,
    /// Parts before `next` that are to go again.
    again: Vec<Part>,
    under_way: u32,
    pub failed: bool,
}

// SAFETY: the buffer is a pending operation's, and only the thread inside the engine touches it.
unsafe impl Send for RemoteRead {}

impl RemoteRead {
    fn is_over(&self) -> bool {
        self.under_way == 0 && (self.failed || !self.has_more())
    }

    fn has_more(&self) -> bool {
        !self.failed && (self.next < self.end || !self.again.is_empty())
    }

    /// The next part, of at most so many bytes.
    fn next_part(&self, longest: u64) -> Part {
        let next = (self.next, (self.end - self.next).min(longest));
        self.again.last().copied().unwrap_or(next)
    }

    /// It goes.
    fn goes(&mut self, part: Part) {
        self.under_way += 1;
        if self.again.pop().is_none() {
            self.next += part.1;
        }
    }
}

impl Network {
    /// Is memory of others reached without frames? Nothing would check what comes so.
    pub(super) fn may_read(&self) -> bool {
        self.endpoint.can_read() && !self.checks
    }

    /// Let `peer` read `length` bytes of a pending send, which has this descriptor: the key for it. `None`: it cannot, and asks for frames.
    ///
    /// # Safety
    /// The bytes must stay readable until the message is [withdrawn](Self::withdraw).
    pub unsafe fn expose(&mut self, peer: u32, descriptor: u64, at: *const u8, length: usize) -> Option<u64> {
        if length < EXPOSED_FROM || !self.may_read() {
            return None;
        }
        let key = self.unguessable()?;
        // SAFETY: the caller's promise.
        let exposed = unsafe { self.endpoint.expose(at, length, key) }.ok()?;
        let key = exposed.key();
        // SAFETY: the caller's promise; nobody writes there.
        unsafe { self.rails.expose(at.cast_mut(), length, key, false) };
        self.exposed.insert(descriptor, (peer, exposed));
        Some(key)
    }

    /// Let all peers read and write a region of this process: the key for it.
    ///
    /// # Safety
    /// The bytes must stay until it is [withdrawn](Self::withdraw_region).
    pub unsafe fn expose_region(&mut self, id: u32, at: *mut u8, length: u64) -> Option<u64> {
        if let Some(exposed) = self.regions.get(&id) {
            return Some(exposed.key());
        }
        if !self.may_read() {
            return None;
        }
        let (length, key) = (usize::try_from(length).ok()?, self.unguessable()?);
        // SAFETY: the caller's promise.
        let exposed = unsafe { self.endpoint.expose_to_writes(at, length, key) }.ok()?;
        let key = exposed.key();
        // SAFETY: the caller's promise.
        unsafe { self.rails.expose(at, length, key, true) };
        self.regions.insert(id, exposed);
        Some(key)
    }

    /// A number that nobody knows, of some that one system call gives.
    fn unguessable(&mut self) -> Option<u64> {
        if self.keys.is_empty() {
            let mut bytes = [0; 8 * KEYS];
            isthmus_os::random::fill(&mut bytes).ok()?;
            let number = |bytes: &[u8]| u64::from_ne_bytes(bytes.try_into().expect("eight bytes"));
            self.keys.extend(bytes.chunks(8).map(number));
        }
        self.keys.pop()
    }

    /// The region is no more.
    pub fn withdraw_region(&mut self, id: u32) {
        if let Some(exposed) = self.regions.remove(&id) {
            self.rails.withdraw(exposed.key());
            self.endpoint.withdraw(exposed);
        }
    }

    /// The send with this descriptor is over: nobody reads its buffer any more.
    pub fn withdraw(&mut self, descriptor: u64) {
        if let Some((_, exposed)) = self.exposed.remove(&descriptor) {
            self.rails.withdraw(exposed.key());
            self.endpoint.withdraw(exposed);
        }
    }

    /// All that this peer could read.
    pub(super) fn withdraw_all(&mut self, peer: u32) {
        let whose = self.exposed.extract_if(|_, (whose, _)| *whose == peer);
        let whose: Vec<_> = whose.map(|(_, (_, exposed))| exposed).collect();
        for exposed in whose {
            self.rails.withdraw(exposed.key());
            self.endpoint.withdraw(exposed);
        }
    }

    /// Read the first `length` bytes of an announced message to `into`, for the receive `op`. False: it cannot be read.
    pub fn start_read(
        &mut self,
        segment: &Segment,
        op: OpId,
        (peer, record): (u32, ReadyToSend),
        into: *mut u8,
        length: u64,
    ) -> bool {
        let key = self.proxies.get(&record.descriptor).and_then(|proxy| proxy.key);
        let Some(key) = key.filter(|_| self.may_read()) else {
            return false;
        };
        let free = self.reads.iter().position(Option::is_none);
        if free.is_none() && self.reads.len() > MOST_READS || !self.find(segment, peer) {
            return false;
        }
        self.find_rails(segment, peer);
        let read = RemoteRead {
            op,
            peer,
            record,
            key,
            into,
            next: 0,
            end: length,
            again: Vec::new(),
            under_way: 0,
            failed: false,
        };
        match free {
            Some(at) => self.reads[at] = Some(read),
            None => self.reads.push(Some(read)),
        }
        true
    }

    /// Begin what may be. True: something was.
    pub fn read_on(&mut self) -> bool {
        let mut moved = false;
        for at in 0..self.reads.len() {
            while self.read_piece(at) {
                moved = true;
            }
        }
        moved
    }

    /// Is there something to begin, which the provider was too busy for?
    pub fn has_reads_to_start(&self) -> bool {
        let mut reads = self.reads.iter().flatten();
        reads.any(|read| {
            let link = self.links[read.peer as usize].as_ref();
            read.has_more() && link.is_some_and(|link| link.reading.0 == 0)
        })
    }

    /// Is the provider too busy for all that is to be sent, read or written there?
    pub(super) fn is_busy_for(&self, peer: u32) -> bool {
        let Some(link) = self.links[peer as usize].as_ref() else {
            return false;
        };
        link.filled.is_some() || self.has_waiting_pieces(peer)
    }

    /// Are there pieces to be read or written there of whose message none is under way?
    pub(super) fn has_waiting_pieces(&self, peer: u32) -> bool {
        let reads_none = self.links[peer as usize]
            .as_ref()
            .is_some_and(|link| link.reading.0 == 0);
        let mut reads = self.reads.iter().flatten();
        reads_none && reads.any(|read| read.peer == peer && read.has_more()) || self.is_busy_one_sided(peer)
    }

    /// Those have waited for too long: they fail, and their bytes go in frames.
    pub(super) fn fail_waiting_pieces(&mut self, peer: u32) {
        let waits = |read: &&mut RemoteRead| read.peer == peer && read.under_way == 0 && read.has_more();
        for read in self.reads.iter_mut().flatten().filter(waits) {
            read.failed = true;
        }
        self.fail_waiting_one_sided(peer);
    }

    /// Has the provider pieces under way that it reads or writes there?
    pub(super) fn moves_pieces(&self, peer: u32) -> bool {
        let reads = self.links[peer as usize]
            .as_ref()
            .is_some_and(|link| link.reading.0 > 0);
        reads || self.moves_one_sided(peer) || self.rails.moves(peer)
    }

    fn read_piece(&mut self, at: usize) -> bool {
        let Some(read) = self.reads[at].as_mut().filter(|read| read.has_more()) else {
            return false;
        };
        let Some(link) = self.links[read.peer as usize].as_mut() else {
            return false;
        };
        let Some(from) = link.to else { return false };
        let part = read.next_part(self.rails.longest_piece(longest_piece(read.end), read.end));
        let (offset, length) = part;
        let (count, bytes) = link.reading;
        let remote = (read.key, read.record.address, offset);
        // SAFETY: the receive's pending buffer has room for `end` bytes, and is left alone until all that is under way is over.
        let into = unsafe { read.into.add(offset as usize) };
        if let Some(rail) = self.rails.idlest(link, length) {
            let piece = (Whose::Message(at), read.peer, rail, part);
            // SAFETY: as above.
            if unsafe { self.rails.begin(link, piece, remote, into, Direction::Pull) } {
                read.goes(part);
                return true;
            }
        }
        if count > 0 && (count >= DEPTH || bytes + length > tunables::NETWORK_FLIGHT.get()) {
            return false;
        }
        let number = at as u64 | length << 16;
        // SAFETY: as above.
        let sent = unsafe { self.endpoint.read(from, remote, (into, length as usize), number) };
        match sent {
            Ok(Sent::Going) => {
                link.reading = (count + 1, bytes + length);
                link.begun = link.begun.wrapping_add(1);
                read.goes(part);
                true
            }
            Ok(Sent::Busy) => false,
            Err(_) => {
                read.failed = true;
                false
            }
        }
    }

    /// A read, or a piece of a put or a get, is over: well, if its bytes are there.
    pub fn has_read(&mut self, number: u64, is_there: bool) {
        if number & ONE_SIDED != 0 {
            return self.one_sided_moved(number, is_there);
        }
        let (at, length) = ((number & 0xffff) as usize, number >> 16);
        let Some(read) = self.reads.get_mut(at).and_then(Option::as_mut) else {
            return;
        };
        read.under_way -= 1;
        read.failed |= !is_there;
        let peer = read.peer;
        if let Some(link) = self.links[peer as usize].as_mut() {
            link.reading = (link.reading.0 - 1, link.reading.1 - length);
            link.ended = link.ended.wrapping_add(1);
        }
        if !is_there {
            self.piece_has_failed(peer);
        }
    }

    /// A piece that went by a further rail is over, or is to go again.
    pub(super) fn message_piece_over(&mut self, at: usize, part: Part, well: bool) {
        if let Some(read) = self.reads.get_mut(at).and_then(Option::as_mut) {
            read.under_way -= 1;
            read.again.extend((!well).then_some(part));
        }
    }

    /// A message of which nothing is under way any more.
    pub fn next_read_over(&mut self) -> Option<RemoteRead> {
        let mut reads = self.reads.iter_mut();
        let over = reads.find_map(|read| read.take_if(|read| read.is_over()));
        trim(&mut self.reads);
        over
    }

    /// Is a message being read into this receive?
    pub fn reads_into(&self, op: OpId) -> bool {
        self.reads.iter().flatten().any(|read| read.op == op)
    }

    /// Begin nothing more with this peer. True: nothing is under way.
    pub fn end_reads(&mut self, peer: u32) -> bool {
        let theirs = |read: &&mut RemoteRead| read.peer == peer;
        for read in self.reads.iter_mut().flatten().filter(theirs) {
            read.failed = true;
        }
        self.end_rails(peer);
        for slot in &mut self.reads {
            slot.take_if(|read| read.peer == peer && read.under_way == 0);
        }
        trim(&mut self.reads);
        self.end_one_sided(peer) && !self.reads.iter().flatten().any(|read| read.peer == peer)
    }
}

/// Bytes that are read at a time of a message of so many.
fn longest_piece(total: u64) -> u64 {
    let longest = most_at_once();
    if total > 4 * longest { longest / 2 } else { longest }
}

/// The others stay where they are: events name them by their place.
fn trim<T>(places: &mut Vec<Option<T>>) {
    while places.pop_if(|last| last.is_none()).is_some() {}
}

#[cfg(test)]
mod tests {
    use super::trim;

    #[test]
    fn free_places_at_the_end_go_and_the_others_stay() {
        let mut places = vec![None, Some(1), None, Some(3), None, None];
        trim(&mut places);
        assert_eq!(places, [None, Some(1), None, Some(3)]);
        places.fill(None);
        trim(&mut places);
        assert!(places.is_empty());
    }
}
