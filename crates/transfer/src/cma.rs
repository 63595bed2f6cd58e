//! Single copies by Cross Memory Attach: `process_vm_readv` straight out of the peer's memory, `process_vm_writev`
//! straight into it.
//!
//! Source: "Intra-node MPI communication with Cross Memory Attach" (XSEDE'14). Whether it is allowed depends on uid,
//! capabilities, Yama, seccomp and namespaces; nothing but trying tells, so [`Cma::probe`] tries.
//!
//! # Who is that?
//! The kernel knows the peer by a number that it gives to another process some time after the peer's end: at the
//! earliest when it has counted through all the others. So the peer's secret, which no other process has, is read before
//! the first transfer, and again before one that comes more than `FRESH` after the last proof.
//!
//! # Small blocks
//! The kernel takes its time for each span, several times longer for one of the peer's than for one of ours, so small
//! blocks go by way of a buffer (`cma/staged.rs`) where probes say that this is faster.

mod facts;
mod staged;

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use isthmus_os::process_vm::{self, Direction, MAX_BYTES, MAX_SPANS, Span};
use isthmus_os::{Error, clock, errno};

use crate::layout::{Cursor, Layout};
use crate::transfer::{self, Interrupted, Transfer};

pub use facts::{CmaCosts, facts};

/// A proof of identity holds for so long: counting through all process ids takes longer.
const FRESH: Duration = Duration::from_millis(100);

/// A peer whose memory we may read and write.
#[derive(Debug)]
pub struct Cma {
    pid: u32,
    secret: [u64; 2],
    secret_address: u64,
    /// When the peer last proved itself, in nanoseconds of the clock.
    proven: AtomicU64,
}

/// Why a peer's memory cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The kernel refused.
    #[error("{0}")]
    Os(#[from] Error),
    /// The process with that id is somebody else (another pid namespace, or a recycled id).
    #[error("process {0} is not the peer: different pid namespaces?")]
    OtherProcess(u32),
}

impl Cma {
    /// Read the peer's secret where it says that its own copy lies: the same bytes prove identity and permission.
    /// Blocks no longer than one copy of 16 bytes.
    pub fn probe(pid: u32, secret: [u64; 2], secret_address: u64) -> Result<Self, Refusal> {
        let cma = Self {
            pid,
            secret,
            secret_address,
            proven: AtomicU64::new(0),
        };
        cma.prove()?;
        Ok(cma)
    }

    fn prove(&self) -> Result<(), Refusal> {
        let now = nanoseconds();
        let mut found = [0u64; 2];
        let length = size_of_val(&found);
        // SAFETY: `found` is ours and as long as we say.
        let copied = unsafe { process_vm::read(self.pid, self.secret_address, found.as_mut_ptr().cast(), length) };
        match copied {
            Ok(copied) if copied == length && found == self.secret => {}
            // Others may have nothing at that address.
            Ok(_)
            | Err(Error {
                errno: errno::EFAULT, ..
            }) => return Err(Refusal::OtherProcess(self.pid)),
            Err(error) => return Err(Refusal::Os(error)),
        }
        self.proven.store(now, Ordering::Relaxed);
        Ok(())
    }

    /// Fails if the process with the peer's id may be somebody else by now.
    #[inline]
    fn still_there(&self) -> Result<(), Interrupted> {
        let age = nanoseconds().wrapping_sub(self.proven.load(Ordering::Relaxed));
        if age <= FRESH.as_nanos() as u64 {
            return Ok(());
        }
        self.prove().map_err(|refusal| match refusal {
            Refusal::Os(error) => Interrupted { done: 0, error },
            Refusal::OtherProcess(_) => Interrupted::at_once("process_vm_readv", errno::ESRCH),
        })
    }

    /// # Safety
    /// As for [`Transfer::pull`] and [`Transfer::push`].
    unsafe fn copy(
        &self,
        direction: Direction,
        local: &Layout<'_>,
        remote: &Layout<'_>,
        range: Range<u64>,
    ) -> Result<(), Interrupted> {
        transfer::check(direction.call(), local, remote, &range)?;
        if range.is_empty() {
            return Ok(());
        }
        self.still_there()?;
        if let (Layout::Contiguous(here), Layout::Contiguous(there)) = (local, remote) {
            // SAFETY: the caller's promise.
            return unsafe { self.copy_block(direction, here.address, there.address, range) };
        }
        // SAFETY: the caller's promise.
        unsafe {
            match direction {
                Direction::Read if staged::pays_to_pull(local, remote) => self.pull_staged(local, remote, range),
                Direction::Write if staged::pays_to_push(local) => self.push_staged(local, remote, range),
                _ => self.copy_spans(direction, local, remote, range),
            }
        }
    }

    /// # Safety
    /// As for [`Self::copy`].
    #[inline]
    unsafe fn copy_block(
        &self,
        direction: Direction,
        here: u64,
        there: u64,
        range: Range<u64>,
    ) -> Result<(), Interrupted> {
        let mut at = range.start;
        while at < range.end {
            let length = (range.end - at).min(MAX_BYTES);
            let span = |base: u64| Span {
                address: base.wrapping_add(at),
                length,
            };
            // SAFETY: a part of the caller's range.
            let copied = unsafe { process_vm::copy(direction, self.pid, &[span(here)], &[span(there)]) };
            at += progress(direction, copied, at - range.start)?;
        }
        Ok(())
    }

    /// # Safety
    /// As for [`Self::copy`].
    unsafe fn copy_spans(
        &self,
        direction: Direction,
        local: &Layout<'_>,
        remote: &Layout<'_>,
        range: Range<u64>,
    ) -> Result<(), Interrupted> {
        let mut lists = Lists::default();
        let (mut here, mut there) = (local.cursor(range.start), remote.cursor(range.start));
        let mut at = range.start;
        while at < range.end {
            let wanted = lists.fill(&mut here, &mut there, (range.end - at).min(MAX_BYTES));
            // SAFETY: the lists hold a part of the caller's range.
            let copied = unsafe { process_vm::copy(direction, self.pid, &lists.local, &lists.remote) };
            let copied = progress(direction, copied, at - range.start)?;
            at += copied;
            if copied < wanted {
                // The kernel stopped early; the next call will say why.
                (here, there) = (local.cursor(at), remote.cursor(at));
            }
        }
        Ok(())
    }
}

/// What a call copied, which is something, or why nothing.
#[inline]
fn progress(direction: Direction, copied: Result<usize, Error>, done: u64) -> Result<u64, Interrupted> {
    match copied {
        Ok(0) => Err(Interrupted {
            done,
            error: Error {
                call: direction.call(),
                errno: errno::EFAULT,
            },
        }),
        Ok(copied) => Ok(copied as u64),
        Err(error) => Err(Interrupted { done, error }),
    }
}

fn nanoseconds() -> u64 {
    clock::now().as_nanos() as u64
}

/// The spans of one call, as many bytes on either side.
#[derive(Debug, Default)]
struct Lists {
    local: Vec<Span>,
    remote: Vec<Span>,
}

impl Lists {
    /// Take up to `limit` bytes, or as many as there is room for. Returns how many: at least one.
    fn fill(&mut self, here: &mut Cursor<'_>, there: &mut Cursor<'_>, limit: u64) -> u64 {
        self.local.clear();
        self.remote.clear();
        let mut bytes = 0;
        while bytes < limit {
            let (ours, theirs) = (here.block(), there.block());
            let length = ours.length.min(theirs.length).min(limit - bytes);
            if length == 0 || !has_room(&self.local, ours.address) || !has_room(&self.remote, theirs.address) {
                break;
            }
            append(&mut self.local, ours.address, length);
            append(&mut self.remote, theirs.address, length);
            here.advance(length);
            there.advance(length);
            bytes += length;
        }
        bytes
    }
}

fn has_room(list: &[Span], address: u64) -> bool {
    list.len() < MAX_SPANS
        || list
            .last()
            .is_some_and(|last| last.address.wrapping_add(last.length) == address)
}

fn append(list: &mut Vec<Span>, address: u64, length: u64) {
    match list.last_mut() {
        Some(last) if last.address.wrapping_add(last.length) == address => last.length += length,
        _ => list.push(Span { address, length }),
    }
}

impl Transfer for Cma {
    fn name(&self) -> &'static str {
        "cma"
    }

    #[inline]
    unsafe fn pull(&self, remote: &Layout<'_>, local: &Layout<'_>, range: Range<u64>) -> Result<(), Interrupted> {
        // SAFETY: the caller's promise.
        unsafe { self.copy(Direction::Read, local, remote, range) }
    }

    #[inline]
    unsafe fn push(&self, local: &Layout<'_>, remote: &Layout<'_>, range: Range<u64>) -> Result<(), Interrupted> {
        // SAFETY: the caller's promise.
        unsafe { self.copy(Direction::Write, local, remote, range) }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::layout::Level;

    pub(crate) fn myself() -> Cma {
        static SECRET: [u64; 2] = [0x0123_4567_89ab_cdef, 42];
        let address = SECRET.as_ptr().expose_provenance() as u64;
        Cma::probe(isthmus_os::process::id(), SECRET, address).expect("a process may read itself")
    }

    #[test]
    fn reads_itself_and_refuses_foreign_processes() {
        let secret = [7u64, 8];
        let me = isthmus_os::process::id();
        let address = secret.as_ptr().expose_provenance() as u64;
        assert!(matches!(Cma::probe(me, [1, 2], address), Err(Refusal::OtherProcess(_))));
        assert!(matches!(Cma::probe(me, secret, 8), Err(Refusal::OtherProcess(_))));
        let source: Vec<u8> = (0..100_000u32).map(|i| i as u8).collect();
        let mut copy = vec![0; source.len()];
        let (from, to) = (
            Layout::local(source.as_ptr(), 100_000),
            Layout::local(copy.as_mut_ptr(), 100_000),
        );
        // SAFETY: `copy` is as long as we say.
        unsafe { myself().pull(&from, &to, 0..100_000) }.expect("copied");
        assert_eq!(source, copy);
    }

    #[test]
    fn a_peer_that_is_no_longer_itself_is_not_written() {
        let mut secret = Box::new([7u64, 8]);
        let address = (&raw mut *secret).expose_provenance() as u64;
        let cma = Cma::probe(isthmus_os::process::id(), *secret, address).expect("itself");
        secret[0] = 1;
        let (from, mut to) = ([1u8; 4], [2u8; 4]);
        let (here, there) = (Layout::local(from.as_ptr(), 4), Layout::local(to.as_mut_ptr(), 4));
        std::thread::sleep(FRESH + Duration::from_millis(1));
        // SAFETY: both are ours.
        let pushed = unsafe { cma.push(&here, &there, 0..4) };
        assert_eq!(
            pushed.map_err(|stopped| (stopped.done, stopped.cause())),
            Err((0, transfer::Cause::Gone))
        );
        assert_eq!(to, [2; 4]);
    }

    #[test]
    fn a_bad_address_is_an_error_that_says_how_far_it_got() {
        let mut copy = [0u8; 8];
        let to = Layout::local(copy.as_mut_ptr(), 8);
        // SAFETY: `copy` is as long as we say.
        let result = unsafe { myself().pull(&Layout::contiguous(8, 8), &to, 0..8) };
        assert_eq!(
            result.map_err(|stopped| (stopped.done, stopped.cause())),
            Err((0, transfer::Cause::Hole))
        );
    }

    #[test]
    fn more_spans_than_one_call_takes() {
        let source: Vec<u8> = (0..30_000u32).map(|i| (i / 7) as u8).collect();
        let mut target = vec![0u8; 30_000];
        let (every_fifth, every_seventh) = ([Level { count: 4000, stride: 5 }], [Level { count: 4000, stride: 7 }]);
        let from = Layout::strided(source.as_ptr().expose_provenance() as u64, 2, &every_fifth);
        let to = Layout::strided(target.as_mut_ptr().expose_provenance() as u64, 2, &every_seventh);
        // SAFETY: both lie within their vectors.
        unsafe { myself().push(&from, &to, 1..7999) }.expect("copied");
        let mut wanted = vec![0u8; 30_000];
        for byte in 1..7999 {
            wanted[byte / 2 * 7 + byte % 2] = source[byte / 2 * 5 + byte % 2];
        }
        assert_eq!(target, wanted);
    }

    #[test]
    fn ranges_beyond_either_side_are_refused() {
        let (from, mut to) = ([0u8; 8], [0u8; 4]);
        let (there, here) = (Layout::local(from.as_ptr(), 8), Layout::local(to.as_mut_ptr(), 4));
        for range in [0..5, 4..8, 9..10] {
            // SAFETY: nothing is copied.
            let pulled = unsafe { myself().pull(&there, &here, range) };
            assert_eq!(pulled.map_err(|stopped| stopped.cause()), Err(transfer::Cause::Misused));
        }
        // SAFETY: nothing is copied.
        assert_eq!(unsafe { myself().pull(&there, &here, 4..4) }, Ok(()));
    }
}
