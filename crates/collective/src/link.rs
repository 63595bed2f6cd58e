//! What an algorithm sees of a communicator: ranks, bytes between them, and work on bytes.
//!
//! On an intercommunicator an algorithm sees its own group, so that those for intracommunicators serve there too; the
//! ranks of the other group follow ([`Link::across`]).
//!
//! Algorithms are generic over [`Link`], so that one text serves every form of a collective. A
//! [`Call`](crate::Call) does what it is asked for at once, blocking. A [`Recorder`](crate::schedule::Recorder) notes it down, to
//! be done step by step later. Tests run algorithms on threads, without an engine.

pub mod elements;
pub mod operand;

use crate::error::{Error, Result};
use crate::fail;
use crate::layout::Layout;
use crate::memory::ScratchMemory;
use crate::shared::Access;

use elements::Elements;
use operand::Operand;

/// Bytes to receive. `from` is a rank, or what [`Link::across`] says.
#[derive(Clone, Copy)]
pub struct Incoming {
    /// Their source.
    pub from: usize,
    /// Where they belong.
    pub into: *mut u8,
    /// How many.
    pub len: usize,
}

/// Bytes to send. `to` is a rank, or what [`Link::across`] says.
#[derive(Clone, Copy)]
pub struct Outgoing {
    /// Their destination.
    pub to: usize,
    /// Where they lie.
    pub data: *const u8,
    /// How many.
    pub len: usize,
}

/// Ordered messages between the ranks of a collective call, and what happens to their bytes in between.
///
/// Operations are executed in that order, but perhaps only after the algorithm has returned. So an algorithm decides by
/// ranks, counts and types, never by data; it looks at no bytes itself; and memory of its own comes from
/// [`Link::memory`].
pub trait Link {
    /// The calling process's rank in its group.
    fn rank(&self) -> usize;

    /// Number of processes in its group.
    fn size(&self) -> usize;

    /// Number of processes in the other group of an intercommunicator, else 0.
    fn remote_size(&self) -> usize;

    /// Where messages to and from a rank of the other group go.
    fn across(&self, rank: usize) -> usize {
        self.size() + rank
    }

    /// The processes that blocks are for: the others of the group, or those of the other group if there is one. The rank of
    /// each, and where messages to and from it go.
    fn peers(&self) -> impl Iterator<Item = (usize, usize)> + use<Self>
    where
        Self: Sized,
    {
        let (rank, size, remote) = (self.rank(), self.size(), self.remote_size());
        let (first, last) = if remote > 0 { (size, size + remote) } else { (0, size) };
        (first..last)
            .filter(move |place| *place != rank)
            .map(move |place| (place - first, place))
    }

    /// The call will fail with this error, but goes on, since others depend on it. The first one counts.
    fn fault(&self, error: Error);

    /// A message of `got` bytes came from `from` where `expected` were due.
    fn mismatch(&self, from: usize, got: usize, expected: usize) {
        self.fault(mismatched(from, self.size(), got, expected));
    }

    /// The memory that all ranks share, if there is any, and it may be used now.
    #[inline]
    fn shared(&self) -> Option<&Access<'_>> {
        None
    }

    /// The memory that the ranks of the calling one's node share, of several nodes.
    fn shared_in_node(&self) -> Option<&Access<'_>> {
        None
    }

    /// Where the ranks are, if all of them know that of all.
    fn layout(&self) -> Option<&Layout> {
        None
    }

    /// [`Self::layout`], where the choice of an algorithm has made sure of it.
    ///
    /// # Panics
    /// Never where an algorithm that needs one has been chosen.
    fn map(&self) -> &Layout {
        self.layout()
            .expect("algorithms that need places are chosen where they are known")
    }

    /// [`Self::shared`], where the choice of an algorithm has made sure of it.
    ///
    /// # Panics
    /// Never where an algorithm that needs a board has been chosen.
    #[inline]
    fn board(&self) -> &Access<'_> {
        self.shared()
            .expect("algorithms that need a board are chosen where there is one")
    }

    /// Do all of it, in any order, before anything that is asked for later. Messages to oneself are not allowed.
    ///
    /// # Safety
    /// The regions to receive into must be writable and the others readable for their lengths.
    unsafe fn transfer(&self, receives: &[Incoming], sends: &[Outgoing]) -> Result<()>;

    /// Write the packed form of elements.
    ///
    /// # Safety
    /// The elements must be readable and `to` writable for as many bytes; they must not overlap.
    unsafe fn pack(&self, from: Elements<'_>, to: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { from.pack(to) }
    }

    /// Take elements from their packed form, which has `len` bytes.
    ///
    /// # Safety
    /// `from` must be readable and the elements writable; they must not overlap.
    unsafe fn unpack(&self, from: *const u8, len: usize, to: Elements<'_>) {
        // SAFETY: the caller's promise.
        unsafe { to.unpack(from, len) }
    }

    /// `inout[i] = left[i] op inout[i]`.
    ///
    /// # Safety
    /// Both must hold `count` elements, and not overlap.
    unsafe fn apply(&self, operand: &Operand<'_>, left: *const u8, inout: *mut u8, count: i64) {
        // SAFETY: the caller's promise.
        unsafe { operand.combine(left, inout, count) };
    }

    /// Memory that can be used until it is dropped.
    fn memory(&self, len: usize) -> Result<ScratchMemory<'_>> {
        ScratchMemory::allocate(len)
    }
}

/// The error of a message of the wrong length; `size` is that of the calling process's group.
#[cold]
pub fn mismatched(from: usize, size: usize, got: usize, expected: usize) -> Error {
    let whose = if from < size { "" } else { " of the other group" };
    let from = from.checked_sub(size).unwrap_or(from);
    if got >= expected {
        fail!(
            Truncate,
            "rank {from}{whose} sent more than the {expected} bytes that this rank expects"
        )
    } else {
        fail!(
            Count,
            "rank {from}{whose} sent {got} bytes where this rank expects {expected}"
        )
    }
}
