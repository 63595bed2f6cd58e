//! Putting memory behind a part of the job segment, so that touching it later cannot fail.
//!
//! A cgroup at its limit kills rather than refuses, so who takes much asks first what is left. What others are taking at the same moment
//! is not seen in that: it is counted, in one word of the segment's header that all ranks add to before they ask and take from as they go.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use isthmus_os::error::errno;
use isthmus_os::{memfd, memory};

use crate::segment::Error;
use crate::sync::{AtomicU64, Ordering};

/// Taken at a time; afterwards it is no longer counted, as the kernel counts it.
const PIECE: u64 = 64 << 20;
/// How often who has to wait for others looks.
const LOOK: Duration = Duration::from_millis(1);
/// The others are waited for while they progress; one that has died stays counted.
const STANDSTILL: Duration = Duration::from_millis(200);
/// However they go on, nobody is waited for longer.
const MOST: Duration = Duration::from_secs(2);
/// Left for what the kernel and the processes need to use what was taken: page tables, stacks, heaps. Without it the last piece that can
/// be had gets somebody killed as it is touched.
const SPARE: u64 = 4 << 20;
const LIMIT: &str = "memory of the machine or cgroup";

/// Refuse `wanted` bytes if there are no more left than that. How many there are.
pub(crate) fn refuse_if_short(wanted: u64) -> Result<u64, Error> {
    let left = left();
    match wanted < left {
        true => Ok(left),
        false => Err(Error::Exhausted {
            wanted,
            left,
            limit: LIMIT,
        }),
    }
}

/// Bytes that can be taken.
fn left() -> u64 {
    memory::available().saturating_sub(SPARE)
}

/// Back `[at, at + length)` of the file with memory. Blocks no longer than the kernel takes to find it. On an error, some may have been
/// found.
pub(crate) fn reserve(fd: &OwnedFd, at: u64, length: u64) -> Result<(), Error> {
    memfd::reserve(fd, at, length).map_err(|error| match error.errno {
        errno::EFBIG => Error::Exhausted {
            wanted: length,
            left: memfd::length(fd).unwrap_or(at).saturating_sub(at),
            limit: "size of files, `ulimit -f`",
        },
        _ => error.into(),
    })
}

/// As [`reserve`], of so much that it is asked first whether it can be had. Blocks while others take memory that could leave too little.
pub(crate) fn reserve_counted(taking: &AtomicU64, fd: &OwnedFd, at: u64, length: u64) -> Result<(), Error> {
    let mut counted = Counted::once_left(taking, length, left)?;
    let mut done = 0;
    while done < length {
        let piece = PIECE.min(length - done);
        reserve(fd, at + done, piece)?;
        counted.has_taken(piece);
        done += piece;
    }
    Ok(())
}

/// Have `take` take `length` bytes of this process's own memory, counted as those of the segment are; it tells how many have become
/// present. Blocks as [`reserve_counted`].
pub(crate) fn beside<T>(
    taking: &AtomicU64,
    length: u64,
    take: impl FnOnce(&mut dyn FnMut(u64)) -> T,
) -> Result<T, Error> {
    let mut counted = Counted::once_left(taking, length, left)?;
    Ok(take(&mut |bytes| counted.has_taken(bytes.min(counted.bytes))))
}

/// Bytes that this process is taking, as counted in the header.
struct Counted<'a> {
    taking: &'a AtomicU64,
    bytes: u64,
}

impl<'a> Counted<'a> {
    /// Count `wanted` bytes. A process that counts later sees them, so of two that together want more than is left one is refused, or both.
    fn add(taking: &'a AtomicU64, wanted: u64) -> (Self, u64) {
        let others = taking.fetch_add(wanted, Ordering::SeqCst);
        let counted = Self { taking, bytes: wanted };
        (counted, others)
    }

    /// Count `wanted` bytes once they are left beside what others are taking; an error if they are not. Blocks as long as the others make
    /// way, and no longer than [`MOST`].
    fn once_left(taking: &'a AtomicU64, wanted: u64, left: impl Fn() -> u64) -> Result<Self, Error> {
        let begin = Instant::now();
        let (mut since, mut least) = (begin, u64::MAX);
        loop {
            // Counted first, and what is left looked at then: nobody who counts later is overlooked.
            let (counted, others) = Self::add(taking, wanted);
            if others.saturating_add(wanted) < left() {
                return Ok(counted);
            }
            // What we count must not refuse the others, who may be content with less.
            drop(counted);
            loop {
                let (others, left) = (taking.load(Ordering::SeqCst), left());
                let is_late = begin.elapsed() > MOST;
                if others.saturating_add(wanted) < left && !is_late {
                    break;
                }
                // A refused process counts for a moment only.
                if others < least {
                    (since, least) = (Instant::now(), others);
                }
                if is_late || wanted >= left || since.elapsed() > STANDSTILL {
                    return Err(Error::Exhausted {
                        wanted,
                        left: left.saturating_sub(least),
                        limit: LIMIT,
                    });
                }
                // Those who wait together do not look together.
                std::thread::sleep(LOOK * (1 + std::process::id() % 4));
            }
        }
    }

    fn has_taken(&mut self, bytes: u64) {
        self.taking.fetch_sub(bytes, Ordering::SeqCst);
        self.bytes -= bytes;
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.taking.fetch_sub(self.bytes, Ordering::SeqCst);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn what_others_take_is_waited_for_and_then_refused() {
        let taking = AtomicU64::new(0);
        let first = Counted::once_left(&taking, 60, || 100).expect("there is as much");
        let refused = Counted::once_left(&taking, 60, || 100).map(drop);
        assert!(matches!(refused, Err(Error::Exhausted { left: 40, .. })), "{refused:?}");
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| Counted::once_left(&taking, 60, || 100).map(drop));
            drop(first);
            waits.join().expect("no panic").expect("there is as much again");
        });
        assert_eq!(taking.into_inner(), 0);
    }

    #[test]
    fn pieces_are_no_longer_counted_once_taken() {
        let fd = memfd::create(c"test").expect("a file");
        let taking = AtomicU64::new(7);
        reserve_counted(&taking, &fd, 4096, 3 * 4096).expect("memory");
        assert_eq!(taking.into_inner(), 7);
        assert_eq!(memfd::memory(&fd).expect("its size"), 3 * 4096);
    }

    /// Ranks that all want a little more than their part: somebody is refused, nobody is given what another was promised.
    #[test]
    fn together_no_more_than_is_left() {
        const LEFT: u64 = 1000;
        let (taking, taken) = (AtomicU64::new(0), AtomicU64::new(0));
        let left = || LEFT - taken.load(Ordering::SeqCst);
        let take = || match Counted::once_left(&taking, 300, left) {
            Ok(mut counted) => {
                for _ in 0..3 {
                    std::thread::yield_now();
                    taken.fetch_add(100, Ordering::SeqCst);
                    counted.has_taken(100);
                }
                1
            }
            Err(_) => 0,
        };
        let got: u32 = std::thread::scope(|scope| {
            let all: Vec<_> = (0..6).map(|_| scope.spawn(take)).collect();
            all.into_iter().map(|one| one.join().expect("no panic")).sum()
        });
        assert!((1..=3).contains(&got), "{got} of 6");
        assert_eq!(taken.into_inner(), u64::from(got) * 300);
        assert_eq!(taking.into_inner(), 0);
    }
}
