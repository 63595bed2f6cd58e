//! Single copies between this process and a peer that have told each other where their bytes lie by other means than messages: on
//! a board. What may be reached, and by what, is known as for messages (`access.rs`).

use std::ops::Range;

use isthmus_shm::SharedAddress;
use isthmus_transfer::Direction;

use crate::Entered;
use crate::data_path::DataPath;
use crate::memory::buffer::Buffer;
use crate::memory::heap;
use crate::protocol::mechanism;
use crate::types::Peer;

/// Bytes of a process, as its peers reach them: to be told to them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Remote {
    address: u64,
    /// Where they lie for everybody; 0: nobody else maps them.
    shared_address: u64,
    length: u64,
}

impl Remote {
    /// Bytes of the calling process.
    pub fn of(data: *const u8, length: usize) -> Self {
        Self {
            address: data.expose_provenance() as u64,
            shared_address: heap::shared_address_of(data, length as u64).map_or(0, |shared_address| shared_address.0),
            length: length as u64,
        }
    }

    /// Some of them. None beyond the last one.
    #[must_use]
    pub fn part(self, bytes: Range<usize>) -> Self {
        let end = self.length.min(bytes.end as u64);
        let start = end.min(bytes.start as u64);
        Self {
            address: self.address.wrapping_add(start),
            shared_address: if self.shared_address == 0 {
                0
            } else {
                self.shared_address.wrapping_add(start)
            },
            length: end - start,
        }
    }

    /// Where they lie here, in memory that all map; `None`: they do not. Their owner may write there at any time.
    pub fn mapped(self) -> Option<*const u8> {
        if self.shared_address == 0 || !mechanism::is_open(DataPath::Mapped) {
            return None;
        }
        heap::REGISTRY
            .at(SharedAddress(self.shared_address), self.length)
            .map(|start| start.as_ptr().cast_const())
    }

    /// How many.
    pub fn length(self) -> usize {
        self.length as usize
    }
}

impl Entered {
    /// May the memory of a peer be read by single copies? Tried for real, once per peer.
    pub fn can_read(&mut self, peer: Peer) -> bool {
        mechanism::is_open(DataPath::SingleCopy) && self.engine().single_access(peer.0, 0, Direction::Pull).is_some()
    }

    /// Copy the first `length` bytes of what a peer has told us. False: not all of them could be copied; why has been said where
    /// the user can see it.
    ///
    /// # Safety
    /// `into` must be writable for as many bytes. The peer must mean us to read them: else they may be anything.
    pub unsafe fn copy_from(&mut self, peer: Peer, theirs: Remote, length: usize, into: *mut u8) -> bool {
        if length == 0 {
            return true;
        }
        let engine = self.engine();
        let mapped = engine.mapped_access(theirs.shared_address, theirs.length);
        let access = mapped.or_else(|| engine.single_access(peer.0, theirs.address, Direction::Pull));
        let Some(access) = access.filter(|access| length <= theirs.length() && mechanism::is_open(access.path)) else {
            return false;
        };
        // SAFETY: the caller's promise.
        match unsafe { access.pull(Buffer::target(into), theirs.length, 0..length as u64) } {
            Ok(()) => {
                access.count(length as u64);
                true
            }
            Err(stopped) => {
                let at = access.address(stopped.done);
                engine.copy_failed(peer.0, access.path, Direction::Pull, stopped, at);
                false
            }
        }
    }
}
