//! Collectives of members with symmetric memory, which those of a node map: OpenSHMEM's.
//!
//! A member can read another's array where it lies, and needs to know only when. So a collective is one to three *rounds*
//! ([`Board`]): what is short is shown there, and what is long is named there and read where it lies (docs/decisions/0042). Members
//! that disagree about the call, a count or a root end the job: each round compares them.

mod alltoall;
mod between;
mod board;
mod broadcast;
mod collect;
mod reduce;
mod scan;

use std::fmt::{Debug, Display};

pub use board::{Board, Round, Terms, Whom, bytes_for};
pub use reduce::Combine;

use board::INLINE;

/// Bytes that a member shows the others instead of letting them look where they lie.
const SHORT: usize = INLINE - 16;

/// The call that a member makes, and how it ends when it makes no sense.
#[derive(Clone, Copy)]
pub struct Caller {
    name: &'static str,
    identity: u64,
    refuse: fn(&'static str, &dyn Display) -> !,
}

impl Debug for Caller {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str(self.name)
    }
}

impl Caller {
    /// The routine with that name; `refuse` tells what is wrong with the call, and ends the job.
    #[inline]
    pub fn new(name: &'static str, refuse: fn(&'static str, &dyn Display) -> !) -> Self {
        let identity = identity(name.as_bytes());
        Self { name, identity, refuse }
    }

    /// The routine.
    pub fn name(self) -> &'static str {
        self.name
    }

    /// What differs between members that make the same call must not differ in its name.
    #[inline]
    pub fn identity(self) -> u64 {
        self.identity
    }

    /// The call makes no sense: one line, and the end of the job. Does not return.
    #[cold]
    pub fn refuse(self, what: impl Display) -> ! {
        (self.refuse)(self.name, &what)
    }
}

/// A number for a name, of eight bytes at a time: it is asked for in each call.
#[inline]
fn identity(name: &[u8]) -> u64 {
    let mix = |hash: u64, word: u64| (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    let (words, rest) = name.as_chunks::<8>();
    let hash = words
        .iter()
        .fold(name.len() as u64, |hash, word| mix(hash, u64::from_le_bytes(*word)));
    rest.iter().fold(hash, |hash, &byte| mix(hash, u64::from(byte)))
}

/// Where members find each other's arrays.
pub trait SymmetricMemory {
    /// What all members call these bytes of the calling one's; `None`: others do not map them.
    fn name(&self, address: usize, length: usize) -> Option<u64>;

    /// The address here of what a process of the job calls so; `None`: there are not as many bytes.
    fn named(&self, name: u64, length: usize, process: u32) -> Option<usize>;

    /// Others do not map these bytes: say so, and end the job.
    fn refuse(&self, caller: Caller, argument: &str, address: usize, length: usize) -> !;
}

/// The participants of a call: the members of a board.
#[derive(Clone, Copy)]
pub struct Group<'a> {
    /// Their memory.
    pub memory: &'a dyn SymmetricMemory,
    /// The call.
    pub caller: Caller,
    /// Where they meet.
    pub board: &'a Board,
}

/// An array of elements of some width.
#[derive(Debug, Clone, Copy)]
pub struct Array<P> {
    /// Its first element.
    pub address: P,
    /// Bytes of an element.
    pub width: usize,
}

impl<P> Array<P> {
    /// Elements of `width` bytes at `address`.
    pub fn new(address: P, width: usize) -> Self {
        Self { address, width }
    }

    /// Bytes of so many elements. Too many to be counted are too many for any object.
    fn bytes(&self, count: usize) -> usize {
        count.saturating_mul(self.width)
    }
}

impl<'a> Group<'a> {
    fn size(&self) -> usize {
        self.board.size()
    }

    fn me(&self) -> usize {
        self.board.me()
    }

    /// Return when all members have called. Blocks.
    pub fn sync(&self) {
        self.round(("", 0), &[], &[]);
    }

    /// Meet: all must pass the same value of an argument.
    fn round(&self, argument: (&'static str, u64), words: &[u64], data: &[u8]) -> Round<'a> {
        self.board.round(Terms::new(self.caller, argument), words, data)
    }

    /// As [`enter_round`](Self::enter_round), but with a root, and wait for these only.
    fn round_with(
        &self,
        argument: (&'static str, u64),
        root: usize,
        words: &[u64],
        data: &[u8],
        whom: Whom,
    ) -> Round<'a> {
        let terms = Terms {
            root: Some(root),
            ..Terms::new(self.caller, argument)
        };
        self.board.round_with(terms, words, data, whom)
    }

    /// What everybody calls so many bytes of ours; none may lie anywhere. What others do not map ends the job.
    fn name(&self, argument: &str, address: *const u8, length: usize) -> u64 {
        match self.memory.name(address.addr(), length) {
            Some(name) => name,
            None if length == 0 => 0,
            None => self.memory.refuse(self.caller, argument, address.addr(), length),
        }
    }

    /// Where the bytes of a member are that it calls so.
    fn array_of(&self, member: usize, name: u64, length: usize) -> *const u8 {
        let process = self.board.members()[member];
        match self.memory.named(name, length, process) {
            Some(address) => std::ptr::with_exposed_provenance(address),
            None => self.caller.refuse(format!(
                "PE {process} passes an array that is not as long here: {length} bytes"
            )),
        }
    }
}

/// The bytes of an array that is short, for a round; of a long one, none.
///
/// # Safety
/// It must have as many, and nobody may write to them meanwhile.
unsafe fn shown<'a>(array: *const u8, length: usize) -> &'a [u8] {
    if length == 0 || length > SHORT {
        return &[];
    }
    // SAFETY: the caller's promise; any bytes will do.
    unsafe { std::slice::from_raw_parts(array, length) }
}

/// By the C library's `memmove`, which knows what suits the processor at each length.
///
/// # Safety
/// Both must be good for that many bytes; they may overlap.
#[inline(always)]
unsafe fn copy_bytes(from: *const u8, to: *mut u8, length: usize) {
    // SAFETY: the caller's promise.
    unsafe { std::ptr::copy(from, to, length) };
}

#[cfg(test)]
mod tests {
    use super::identity;

    #[test]
    fn routines_have_different_numbers() {
        let names = [
            "",
            "shmem_sync_all",
            "shmem_barrier_all",
            "shmem_int_sum_reduce",
            "shmem_int_max_reduce",
            "shmem_long_sum_reduce",
            "shmem_int_sum_reducf",
            "shmem_int_sum_inscan",
            "shmem_int_sum_exscan",
        ];
        for (index, one) in names.iter().enumerate() {
            for other in &names[index + 1..] {
                assert_ne!(identity(one.as_bytes()), identity(other.as_bytes()), "{one} {other}");
            }
        }
    }
}
