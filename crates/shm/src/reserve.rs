//! Granting memory of the job, so that touching it later cannot fail.
//!
//! A cgroup at its limit kills rather than refuses, so the kernel is asked what is left before much is granted. Two things are not seen in its
//! answer: memory that was granted and has not been touched yet, and private memory that ranks are taking at this moment. Both are counted, in
//! words of the segment's header that all ranks add to before they ask. What the job's file holds already is both granted and seen by the
//! kernel: only the rest of what was granted is held back (docs/decisions/0214).

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use isthmus_os::error::errno;
use isthmus_os::{memfd, memory};

use crate::segment::Error;
use crate::sync::{AtomicU64, Ordering};

/// How often a process that has to wait for others looks.
const LOOK: Duration = Duration::from_millis(1);
/// The others are waited for while they progress; one that has died stays counted.
const STANDSTILL: Duration = Duration::from_millis(200);
/// However the others progress, a process waits no longer.
const MOST: Duration = Duration::from_secs(2);
/// Left for what the kernel and the processes need to use what was granted: page tables, stacks, heaps. Without it the last piece that can
/// be had gets a process killed as it is touched.
const SPARE: u64 = 4 << 20;
/// No machine has so much, and sums of less than that do not wrap.
const ABSURD: u64 = 1 << 50;
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

/// What of the machine's memory the job has been granted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Account<'a> {
    /// The job's memory.
    pub file: &'a OwnedFd,
    /// Bytes of the file that were granted, whether they have memory or get it when they are touched.
    pub granted: &'a AtomicU64,
    /// Bytes of private memory that ranks are taking at this moment.
    pub taking: &'a AtomicU64,
}

impl Account<'_> {
    /// Grant so much of the file that it is asked first whether it can be had. Blocks while others take memory that could leave too little.
    pub fn grant(&self, wanted: u64) -> Result<(), Error> {
        Counted::once_left(self.granted, wanted, || self.look()).map(Counted::keep)
    }

    /// As [`Self::grant`], without waiting for others: to be tried again after [`Self::wait`].
    pub fn grant_now(&self, wanted: u64) -> Result<(), Error> {
        Counted::if_left(self.granted, wanted, || self.look()).map(Counted::keep)
    }

    /// Wait until what was refused for want of memory may be granted. Blocks as [`Self::grant`].
    ///
    /// # Errors
    /// The one that was given, if it says anything else, or there is no reason to wait longer.
    pub fn wait(&self, error: Error, waiting: &mut MemoryWait) -> Result<(), Error> {
        match error {
            Error::Exhausted {
                wanted, limit: LIMIT, ..
            } => waiting.wait(wanted, || self.look()),
            other => Err(other),
        }
    }

    /// Grant so little that it is not asked, or what the program has anyway.
    pub fn grant_unseen(&self, bytes: u64) {
        self.granted.fetch_add(bytes, Ordering::SeqCst);
    }

    /// These bytes are not granted any more. They have no memory, or soon none.
    pub fn withdraw(&self, bytes: u64) {
        self.granted.fetch_sub(bytes, Ordering::SeqCst);
    }

    /// Have `take` take `length` bytes of this process's own memory; it tells how many have become present. Blocks as [`Self::grant`].
    pub fn beside<T>(&self, length: u64, take: impl FnOnce(&mut dyn FnMut(u64)) -> T) -> Result<T, Error> {
        let mut counted = Counted::once_left(self.taking, length, || self.look())?;
        Ok(take(&mut |bytes| counted.has_taken(bytes.min(counted.bytes))))
    }

    /// Bytes that could be granted now.
    pub fn free(&self) -> u64 {
        let Look { promised, left } = self.look();
        left.saturating_sub(promised)
    }

    fn look(&self) -> Look {
        // In this order too much is promised, rather than too little, where another process gives back memory between two of these.
        let granted = self.granted.load(Ordering::SeqCst);
        let present = memfd::memory(self.file).unwrap_or(0);
        let promised = granted.saturating_sub(present);
        Look {
            promised: promised.saturating_add(self.taking.load(Ordering::SeqCst)),
            left: left(),
        }
    }
}

/// How much memory there is.
#[derive(Debug, Clone, Copy)]
struct Look {
    /// Bytes that were granted, or are being taken, and that the kernel does not count as used yet.
    promised: u64,
    /// Bytes that it does not count as used.
    left: u64,
}

/// For how long a process waits that was refused memory which others may give back, or turn out not to take.
#[derive(Debug)]
pub struct MemoryWait {
    begin: Instant,
    /// Since when there was never less promised than this.
    since: Instant,
    least: u64,
}

impl Default for MemoryWait {
    fn default() -> Self {
        let begin = Instant::now();
        Self {
            begin,
            since: begin,
            least: u64::MAX,
        }
    }
}

impl MemoryWait {
    /// Wait until `wanted` bytes are left beside what is promised; an error if that is not to be expected. Blocks as long as others take or give
    /// back memory, and no longer than [`MOST`] since the beginning.
    fn wait(&mut self, wanted: u64, look: impl Fn() -> Look) -> Result<(), Error> {
        loop {
            let Look { promised, left } = look();
            let is_late = self.begin.elapsed() > MOST;
            if promised.saturating_add(wanted) < left && !is_late {
                return Ok(());
            }
            // A refused process counts for a moment only.
            if promised < self.least {
                (self.since, self.least) = (Instant::now(), promised);
            }
            if is_late || wanted >= left || self.since.elapsed() > STANDSTILL {
                return Err(Error::Exhausted {
                    wanted,
                    left: left.saturating_sub(self.least),
                    limit: LIMIT,
                });
            }
            // Those who wait together do not look together.
            std::thread::sleep(LOOK * (1 + std::process::id() % 4));
        }
    }
}

/// Bytes that this process has counted in a word of the header.
struct Counted<'a> {
    word: &'a AtomicU64,
    bytes: u64,
}

impl<'a> Counted<'a> {
    /// Count `wanted` bytes once they are left beside what is promised; an error if they are not. Blocks as long as others take or give back
    /// memory, and no longer than [`MOST`].
    fn once_left(word: &'a AtomicU64, wanted: u64, look: impl Fn() -> Look) -> Result<Self, Error> {
        let mut waiting = MemoryWait::default();
        loop {
            if let Ok(counted) = Self::if_left(word, wanted, &look) {
                return Ok(counted);
            }
            waiting.wait(wanted, &look)?;
        }
    }

    /// Count `wanted` bytes if they are left beside what is promised.
    fn if_left(word: &'a AtomicU64, wanted: u64, look: impl Fn() -> Look) -> Result<Self, Error> {
        let refused = |Look { promised, left }| Error::Exhausted {
            wanted,
            left: left.saturating_sub(promised),
            limit: LIMIT,
        };
        if wanted >= ABSURD {
            return Err(refused(look()));
        }
        // Counted first, and what is left looked at then: of two that together want more than is left one is refused, or both.
        word.fetch_add(wanted, Ordering::SeqCst);
        let counted = Self { word, bytes: wanted };
        let seen = look();
        if seen.promised < seen.left {
            return Ok(counted);
        }
        // What we count must not refuse the others, who may be content with less.
        drop(counted);
        Err(refused(Look {
            promised: seen.promised.saturating_sub(wanted),
            ..seen
        }))
    }

    fn has_taken(&mut self, bytes: u64) {
        self.word.fetch_sub(bytes, Ordering::SeqCst);
        self.bytes -= bytes;
    }

    /// They stay counted.
    fn keep(mut self) {
        self.bytes = 0;
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.word.fetch_sub(self.bytes, Ordering::SeqCst);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn look_at(word: &AtomicU64, left: u64) -> Look {
        Look {
            promised: word.load(Ordering::SeqCst),
            left,
        }
    }

    #[test]
    fn what_others_take_is_waited_for_and_then_refused() {
        let taking = AtomicU64::new(0);
        let look = || look_at(&taking, 100);
        let first = Counted::once_left(&taking, 60, look).expect("there is as much");
        let refused = Counted::once_left(&taking, 60, look).map(drop);
        assert!(matches!(refused, Err(Error::Exhausted { left: 40, .. })), "{refused:?}");
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| Counted::once_left(&taking, 60, look).map(drop));
            drop(first);
            waits.join().expect("no panic").expect("there is as much again");
        });
        assert_eq!(taking.into_inner(), 0);
    }

    /// It is refused after one look, and holds back nothing while its caller waits.
    #[test]
    fn what_is_not_waited_for_is_refused_at_once() {
        let taking = AtomicU64::new(60);
        let looks = std::cell::Cell::new(0);
        let look = || {
            looks.set(looks.get() + 1);
            look_at(&taking, 100)
        };
        let refused = Counted::if_left(&taking, 60, look).map(drop);
        assert!(matches!(refused, Err(Error::Exhausted { left: 40, .. })), "{refused:?}");
        assert_eq!((looks.get(), taking.load(Ordering::SeqCst)), (1, 60));
        taking.store(0, Ordering::SeqCst);
        MemoryWait::default().wait(60, look).expect("there is as much now");
        assert_eq!(looks.get(), 2);
        Counted::if_left(&taking, 60, look)
            .map(drop)
            .expect("and it is granted");
    }

    /// Only what has no memory yet is held back, and nothing once it is withdrawn.
    #[test]
    fn what_was_granted_is_promised_until_it_has_memory() {
        const GRANTED: u64 = 64 << 12;
        let fd = memfd::create(c"test").expect("a file");
        let (granted, taking) = (AtomicU64::new(0), AtomicU64::new(7));
        let account = Account {
            file: &fd,
            granted: &granted,
            taking: &taking,
        };
        account.grant(GRANTED).expect("memory");
        assert_eq!(account.look().promised, GRANTED + 7);
        reserve(&fd, 0, GRANTED / 2).expect("memory");
        assert_eq!(account.look().promised, GRANTED / 2 + 7);
        let taken = account.beside(10, |told| {
            let during = account.look().promised;
            told(4);
            during - account.look().promised
        });
        assert_eq!(taken.expect("memory"), 4);
        memfd::punch(&fd, 0, GRANTED).expect("holes");
        account.withdraw(GRANTED);
        assert_eq!(account.look().promised, 7);
    }

    /// Two grants that together are more than there is, of which nothing is touched.
    #[test]
    fn what_is_promised_is_not_promised_twice() {
        let fd = memfd::create(c"test").expect("a file");
        let (granted, taking) = (AtomicU64::new(0), AtomicU64::new(0));
        let account = Account {
            file: &fd,
            granted: &granted,
            taking: &taking,
        };
        let most = account.free() / 4 * 3;
        account.grant(most).expect("three quarters");
        assert!(matches!(account.grant(most), Err(Error::Exhausted { .. })));
        account.withdraw(most);
        account.grant(most).expect("again");
        assert_eq!(granted.into_inner(), most);
    }

    /// Ranks that all want a little more than their part: some are refused, none is given what another was promised.
    #[test]
    fn together_no_more_than_is_left() {
        const LEFT: u64 = 1000;
        let (taking, taken) = (AtomicU64::new(0), AtomicU64::new(0));
        let look = || look_at(&taking, LEFT - taken.load(Ordering::SeqCst));
        let take = || match Counted::once_left(&taking, 300, look) {
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
