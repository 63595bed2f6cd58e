//! What the bodies of records look like.
//!
//! Both sides are processes of one machine, so numbers are in native order. Bodies are copied in and out byte by byte:
//! the other side may be writing them while we look.

use isthmus_shm::ring::Header;
use isthmus_transfer::copy::{Copying, copy};

use crate::memory::buffer::Buffer;
use crate::memory::payload::Payload;
use crate::memory::staging::copy_from_others;

/// The handler of a record. The numbers are part of the layout version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Handler {
    /// A whole message: [`Envelope`], payload.
    Eager = 1,
    /// A longer message, or its beginning if it needs several records: [`EagerFirst`] on a line of its own, payload.
    EagerFirst = 2,
    /// The next piece of the message that the last `EagerFirst` of this ring began: [`EagerMore`] on a line of its own,
    /// payload.
    EagerMore = 3,
    /// A message that is offered: [`ReadyToSend`].
    ReadyToSend = 4,
    /// Stream the offered message through the ring: [`ClearToSend`].
    ClearToSend = 5,
    /// The offered message has been fetched, or its withdrawal seen: [`Finished`].
    Finished = 6,
    /// A piece of a streamed message: [`Data`] on a line of its own, payload.
    Data = 7,
    /// The next record is in another ring: [`Switch`].
    Switch = 8,
    /// The receiver of an offered message fetches it, and asks the sender to do a part: [`Help`].
    Help = 9,
    /// A receive waits for a message: [`Advertised`].
    Advertised = 10,
    /// As `EagerFirst`, with the payload in a cell: [`EagerFirst`] as [`InCell`].
    FirstInCell = 11,
    /// As `EagerMore`, of a message that `FirstInCell` began: [`EagerMore`] as [`InCell`].
    MoreInCell = 12,
    /// A call is given up: [`CallFailed`].
    CallFailed = 13,
    /// Bytes of an offered message stand in a stream: [`Fed`].
    Fed = 14,
    /// The offered message is not to be taken any more, or, on a node, has been withdrawn by its descriptor: [`Finished`].
    Withdraw = 15,
    /// It was not taken: [`Finished`].
    Withdrawn = 16,
}

impl Handler {
    /// From a header, if the number is one of ours.
    #[inline]
    pub fn of(header: Header) -> Option<Self> {
        Some(match header.handler {
            1 => Self::Eager,
            2 => Self::EagerFirst,
            3 => Self::EagerMore,
            4 => Self::ReadyToSend,
            5 => Self::ClearToSend,
            6 => Self::Finished,
            7 => Self::Data,
            8 => Self::Switch,
            9 => Self::Help,
            10 => Self::Advertised,
            11 => Self::FirstInCell,
            12 => Self::MoreInCell,
            13 => Self::CallFailed,
            14 => Self::Fed,
            15 => Self::Withdraw,
            16 => Self::Withdrawn,
            _ => return None,
        })
    }
}

/// Fixed parts of bodies: plain numbers without padding.
///
/// # Safety
/// The type is `repr(C)`, has no padding, and every bit pattern is a value.
pub unsafe trait Fixed: Copy {
    /// Bytes.
    const SIZE: u32 = size_of::<Self>() as u32;
}

/// A fixed part that fills the record's first line, so that the payload begins on the second: copies of whole lines
/// are the fast ones.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct FullLine<T> {
    pub fixed: T,
    pad: [u64; 4],
}

impl<T: Fixed> FullLine<T> {
    pub fn new(fixed: T) -> Self {
        const { assert!(size_of::<Self>() == 56) };
        Self { fixed, pad: [0; 4] }
    }
}

/// A fixed part whose payload lies in a cell. It takes as much as [`FullLine`].
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct InCell<T> {
    pub fixed: T,
    /// Offset of the cell in the job segment.
    pub cell: u64,
    /// Where in it the payload begins, and how long it is.
    pub from: u32,
    pub length: u32,
    /// Not 0: the message is whole, and the cell the receiver's.
    pub is_last: u64,
    pub zero: u64,
}

impl<T> InCell<T> {
    /// The same, with another fixed part.
    pub fn with<U>(self, fixed: U) -> InCell<U> {
        InCell {
            fixed,
            cell: self.cell,
            from: self.from,
            length: self.length,
            is_last: self.is_last,
            zero: self.zero,
        }
    }
}

/// Tag and sender's rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Envelope {
    pub tag: i32,
    pub source: i32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct EagerFirst {
    pub envelope: Envelope,
    /// Bytes of the whole message.
    pub total: u64,
    /// How it is copied into the ring, by the number of [`isthmus_transfer::copy::Copying`].
    pub copying: u32,
    /// How long the copy of this record's payload took, in [`isthmus_os::clock::ticks`]; 0: not measured.
    pub ticks: u32,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub struct EagerMore {
    /// As in [`EagerFirst`].
    pub ticks: u64,
    pub zero: [u64; 2],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct ReadyToSend {
    pub envelope: Envelope,
    /// Bytes of the whole message.
    pub total: u64,
    /// Where it lies in the sender's address space.
    pub address: u64,
    /// Its address in memory that everybody maps; 0: it is not there. To a receiver on another node: the key by which it is read, if
    /// [`Self::READABLE`].
    pub shared_address: u64,
    /// Offset of the descriptor in the job segment.
    pub descriptor: u64,
    /// The sender's operation, to be named in the answer.
    pub send_op: u32,
    /// If it lies here and there (its address is 0): where the sender can push it, see [`crate::protocol::access::Pushable`]. And
    /// [`Self::BESIDE`], [`Self::READABLE`], [`Self::in_block`].
    pub flags: u32,
}

impl ReadyToSend {
    /// A flag: all of it is next to the descriptor, too.
    pub const BESIDE: u32 = 1 << 30;

    /// A flag, between nodes: the network reads it out of the sender's memory, by the key in `shared_address`.
    pub const READABLE: u32 = 1 << 29;

    /// A flag: it lies in a block ([`crate::protocol`]), at the offset `shared_address` of the job segment, which is so many lines into it...
    const IN_BLOCK: u32 = 1 << 28;
    /// ...as the bits from this one on say, and the block's order those from the other on.
    const LINES: u32 = 8;
    const ORDER: u32 = 16;
    const LINES_MASK: u32 = 63;
    const ORDER_MASK: u32 = 63;

    /// A flag: the message is in memory of a device, and its export is beside the descriptor.
    pub const ON_DEVICE: u32 = 1 << 27;

    /// The flags of a message that begins so many lines, less than 64, into a block with room for two to the power of `order` bytes.
    pub fn in_block(lines: u64, order: u32) -> u32 {
        Self::IN_BLOCK | (lines as u32 & Self::LINES_MASK) << Self::LINES | (order & Self::ORDER_MASK) << Self::ORDER
    }

    /// How many lines into a block it begins, and of which order that is; `None`: it lies in none.
    pub fn lines_into_block(&self) -> Option<(u64, u32)> {
        let lines = self.flags >> Self::LINES & Self::LINES_MASK;
        let order = self.flags >> Self::ORDER & Self::ORDER_MASK;
        (self.flags & Self::IN_BLOCK != 0).then_some((lines.into(), order))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct ClearToSend {
    pub send_op: u32,
    /// The receiver's operation, to be named in the data.
    pub receive_op: u32,
    /// First byte that is still wanted.
    pub offset: u64,
    /// End of what is wanted.
    pub limit: u64,
    /// As in the announcement.
    pub descriptor: u64,
    /// How to copy into the ring, by the number of [`isthmus_transfer::copy::Copying`].
    pub copying: u32,
    /// The stream to feed instead of the ring, by [`crate::protocol::streamed::number`]; 0: none.
    pub stream: u32,
    /// The number of the request, see [`isthmus_shm::Descriptor::ask`].
    pub number: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Finished {
    pub send_op: u32,
    /// Not 0: the receiver has kept the block in which the message lay.
    pub kept: u32,
    /// As in the announcement.
    pub descriptor: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Help {
    pub send_op: u32,
    /// Not 0: the receiver's buffer is in memory of a device, and its export is beside the descriptor.
    pub into_device: u32,
    /// As in the announcement.
    pub descriptor: u64,
    /// Where the receiver's buffer lies in its address space.
    pub address: u64,
    /// Its address in memory that everybody maps; 0: it is not there.
    pub shared_address: u64,
    /// Bytes of the message that are wanted.
    pub length: u64,
    /// Bytes of a chunk.
    pub chunk: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Advertised {
    pub tag: i32,
    /// Messages that had come from the sender when the receive was posted: those that it sent at once, ...
    pub eager: u32,
    /// ...and announcements. Both wrap.
    pub announced: u32,
    pub zero: u32,
    /// Where the buffer lies in the receiver's address space.
    pub address: u64,
    /// Its address in memory that everybody maps; 0: it is not there.
    pub shared_address: u64,
    /// Bytes that it takes.
    pub length: u64,
    /// Offset of the advert in the job segment.
    pub advert: u64,
    /// For what it is open.
    pub ticket: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct CallFailed {
    /// The call's; its message space is the record's.
    pub tag: i32,
    pub zero: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Data {
    pub receive_op: u32,
    /// How long the copy of this record's payload took, in [`isthmus_os::clock::ticks`].
    pub ticks: u32,
    /// Where the payload belongs.
    pub offset: u64,
    pub zero_too: u64,
}

/// So many bytes of a message follow what was fed to the stream before. None: the sender feeds no more of it, and the rest
/// must be asked for through the ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Fed {
    pub receive_op: u32,
    /// The stream, by [`crate::protocol::streamed::number`].
    pub stream: u32,
    /// Where the bytes belong.
    pub offset: u64,
    /// How many.
    pub length: u64,
    /// How long feeding them took, in [`isthmus_os::clock::ticks`].
    pub ticks: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Switch {
    /// Offset of the ring in the job segment.
    pub offset: u64,
    /// Bytes of its data.
    pub size: u64,
}

// SAFETY: numbers only; `new` checks that T and the pad fill it.
unsafe impl<T: Fixed> Fixed for FullLine<T> {}
// SAFETY: numbers only; the sizes below leave no room for padding.
unsafe impl Fixed for InCell<EagerFirst> {}
// SAFETY: as above.
unsafe impl Fixed for InCell<EagerMore> {}
// SAFETY: numbers only, no padding (checked by the sizes below).
unsafe impl Fixed for Envelope {}
// SAFETY: as above.
unsafe impl Fixed for EagerFirst {}
// SAFETY: as above.
unsafe impl Fixed for EagerMore {}
// SAFETY: as above.
unsafe impl Fixed for ReadyToSend {}
// SAFETY: as above.
unsafe impl Fixed for ClearToSend {}
// SAFETY: as above.
unsafe impl Fixed for Finished {}
// SAFETY: as above.
unsafe impl Fixed for Data {}
// SAFETY: as above.
unsafe impl Fixed for Help {}
// SAFETY: as above.
unsafe impl Fixed for Advertised {}
// SAFETY: as above.
unsafe impl Fixed for Switch {}
// SAFETY: as above.
unsafe impl Fixed for CallFailed {}
// SAFETY: as above.
unsafe impl Fixed for Fed {}
const _: () = assert!(Envelope::SIZE == 8 && EagerFirst::SIZE == 24 && ReadyToSend::SIZE == 48);
const _: () = assert!(
    ClearToSend::SIZE == 48
        && Advertised::SIZE == 56
        && Finished::SIZE == 16
        && Data::SIZE == 24
        && Switch::SIZE == 16
        && CallFailed::SIZE == 8
        && Fed::SIZE == 32
        && Help::SIZE == 48
        && InCell::<EagerFirst>::SIZE == 56
        && InCell::<EagerMore>::SIZE == 56
);

/// A body that arrived: where it is and how long.
#[derive(Debug, Clone, Copy)]
pub struct Body {
    at: *const u8,
    length: u32,
}

impl Body {
    /// # Safety
    /// `at` must be readable for `length` bytes for as long as the body is used.
    pub unsafe fn new(at: *const u8, length: u32) -> Self {
        Self { at, length }
    }

    /// The fixed part, and where the payload begins and how long it is; `None` if the record is too short for it.
    #[inline]
    pub fn split<T: Fixed>(self) -> Option<(T, Body)> {
        let rest = self.length.checked_sub(T::SIZE)?;
        // SAFETY: the body is readable for its length; any bits make a T.
        let fixed = unsafe { self.at.cast::<T>().read_unaligned() };
        // SAFETY: within the body.
        let at = unsafe { self.at.add(T::SIZE as usize) };
        Some((fixed, Body { at, length: rest }))
    }

    /// Bytes of payload.
    #[inline]
    pub fn len(self) -> usize {
        self.length as usize
    }

    /// Copy the first `length` bytes to `to`.
    ///
    /// # Safety
    /// `to` must be writable for `length` bytes, and `length` at most [`Self::len`].
    #[inline]
    pub unsafe fn copy_to(self, to: *mut u8, length: usize) {
        debug_assert!(length <= self.len());
        // SAFETY: the caller vouches for `to`; ring and user memory do not overlap.
        unsafe { copy(self.at, to, length) };
    }

    /// Store the first `length` bytes in `buffer`, from `at` on.
    ///
    /// # Safety
    /// The buffer must be a pending operation's that is long enough, and `length` at most [`Self::len`].
    #[inline]
    pub unsafe fn store(self, buffer: Buffer, at: usize, length: usize) {
        debug_assert!(length <= self.len());
        // SAFETY: the caller's promise; ring and user memory do not overlap.
        unsafe { buffer.write(at, length, self.at) };
    }

    /// As [`Self::store`], for what may be long.
    ///
    /// # Safety
    /// As for [`Self::store`].
    pub unsafe fn store_piece(self, buffer: Buffer, at: usize, length: usize) {
        match buffer.row() {
            // SAFETY: as above.
            Some(to) => unsafe { copy_from_others(self.at, to.add(at), length) },
            // SAFETY: as above.
            None => unsafe { self.store(buffer, at, length) },
        }
    }

    /// As [`Self::store`], with these instructions.
    ///
    /// # Safety
    /// As for [`Self::store`].
    pub unsafe fn store_by(self, copying: Copying, buffer: Buffer, at: usize, length: usize) {
        debug_assert!(length <= self.len());
        // SAFETY: as above.
        unsafe { buffer.write_by(copying, at, length, self.at) };
    }

    /// A copy, for later.
    #[inline]
    pub fn keep(self) -> Payload {
        // SAFETY: `written` gives room for as many bytes as we write.
        Payload::written(self.len(), |to| unsafe { self.copy_to(to, self.len()) })
    }
}
