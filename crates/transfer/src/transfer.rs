//! What every mechanism can do.

use std::fmt::Debug;
use std::ops::Range;

use isthmus_os::kmod::{Later, Status};
use isthmus_os::{Error, errno};
use isthmus_shm::backoff::ShortWait;

use crate::layout::Layout;

/// One way of moving bytes between this process and one peer.
///
/// `local` layouts hold addresses of this process. The numbers in `remote` layouts are whatever the mechanism says that
/// a peer announces: the peer's addresses, or places that both sides map. They come from the peer and may be anything:
/// wrong ones are an error, or wrong data, and never harm this process.
///
/// `range` is counted in the stream of bytes that each of the two layouts stands for, so parts of one message can be
/// moved by several calls, in any order, and by both processes. A range beyond either layout is an error (`EINVAL`).
///
/// Calls block for as long as the copy takes and wait for nobody; the peer does nothing.
pub trait Transfer: Debug + Send + Sync {
    /// As in tunables, counters and `isthmus info`.
    fn name(&self) -> &'static str;

    /// Copy `range` from the peer.
    ///
    /// # Errors
    /// How many bytes of the range, from its beginning, are there, and why no more. More may have been written.
    ///
    /// # Safety
    /// The bytes of `local` within the range must be writable and nobody else's for the time of the call.
    unsafe fn pull(&self, remote: &Layout<'_>, local: &Layout<'_>, range: Range<u64>) -> Result<(), Interrupted>;

    /// Copy `range` to the peer.
    ///
    /// # Errors
    /// As for [`Self::pull`].
    ///
    /// # Safety
    /// The bytes of `local` within the range must be readable. The peer must have given its bytes within the range to
    /// us until we tell it that we are done: they are written.
    unsafe fn push(&self, local: &Layout<'_>, remote: &Layout<'_>, range: Range<u64>) -> Result<(), Interrupted>;

    /// An explanation of the last failure, beside its error.
    fn explanation(&self) -> Option<String> {
        None
    }

    /// Begin to copy `range` from the peer, as much of its beginning as can be begun at once, by something that copies while the caller goes on.
    /// `None`: the mechanism has no such thing. Does not wait.
    ///
    /// # Errors
    /// Why nothing was begun.
    ///
    /// # Safety
    /// As for [`Self::pull`], until the copy [is over](Pending::poll).
    unsafe fn pull_later(
        &self,
        _remote: &Layout<'_>,
        _local: &Layout<'_>,
        _range: Range<u64>,
    ) -> Option<Result<Pending, Interrupted>> {
        None
    }
}

impl<T: Transfer + ?Sized> Transfer for &T {
    fn name(&self) -> &'static str {
        (**self).name()
    }

    unsafe fn pull(&self, remote: &Layout<'_>, local: &Layout<'_>, range: Range<u64>) -> Result<(), Interrupted> {
        // SAFETY: the caller's promise.
        unsafe { (**self).pull(remote, local, range) }
    }

    unsafe fn push(&self, local: &Layout<'_>, remote: &Layout<'_>, range: Range<u64>) -> Result<(), Interrupted> {
        // SAFETY: the caller's promise.
        unsafe { (**self).push(local, remote, range) }
    }

    unsafe fn pull_later(
        &self,
        remote: &Layout<'_>,
        local: &Layout<'_>,
        range: Range<u64>,
    ) -> Option<Result<Pending, Interrupted>> {
        // SAFETY: the caller's promise.
        unsafe { (**self).pull_later(remote, local, range) }
    }
}

/// The call by which the kernel module copies.
pub(crate) const MODULE_COPIES: &str = "ioctl(ISTHMUS_IOC_COPY)";

/// A copy that the kernel module makes while we go on. Dropping it waits for its end: until then the kernel writes.
#[derive(Debug)]
pub struct Pending {
    status: Box<Status>,
    bytes: u64,
    by: Later,
}

impl Pending {
    /// One that was begun with this word, for the first `bytes` of a range.
    pub(crate) fn begun(status: Box<Status>, bytes: u64, by: Later) -> Self {
        Self { status, bytes, by }
    }

    /// How many bytes it moves: from the beginning of the range, perhaps not all.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// By what.
    pub fn by(&self) -> Later {
        self.by
    }

    /// As [`Transfer::name`], with what copies.
    pub fn name(&self) -> &'static str {
        match self.by {
            Later::Thread => "kmod_thread",
            Later::Dma => "kmod_dma",
        }
    }

    /// How it went, once it is over. Does not wait.
    pub fn poll(&self) -> Option<Result<(), Interrupted>> {
        let (done, result) = self.status.poll()?;
        Some(match result {
            Err(error) => Err(Interrupted {
                done,
                error: as_known(error),
            }),
            Ok(()) if done < self.bytes => Err(Interrupted {
                done,
                error: Error {
                    call: MODULE_COPIES,
                    errno: errno::EFAULT,
                },
            }),
            Ok(()) => Ok(()),
        })
    }

    /// Wait for the end: as long as the copy takes.
    pub fn wait(&self) -> Result<(), Interrupted> {
        let mut wait = ShortWait::default();
        loop {
            if let Some(outcome) = self.poll() {
                return outcome;
            }
            wait.pause();
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        let _ = self.wait();
    }
}

/// A cookie that nobody has is that of a peer that has ended; what is beyond every address is a hole.
pub(crate) fn as_known(error: Error) -> Error {
    let errno = match error.errno {
        errno::ENOENT => errno::ESRCH,
        errno::EINVAL => errno::EFAULT,
        other => other,
    };
    Error { errno, ..error }
}

/// Which way bytes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the peer to us.
    Pull,
    /// From us to the peer.
    Push,
}

/// What a transfer is made of, as far as its cost depends on that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Bytes to move.
    pub bytes: u64,
    /// Contiguous blocks that they are in here.
    pub local_blocks: u64,
    /// Contiguous blocks that they are in at the peer.
    pub remote_blocks: u64,
}

impl Shape {
    /// One block on either side.
    pub fn contiguous(bytes: u64) -> Self {
        Self {
            bytes,
            local_blocks: 1,
            remote_blocks: 1,
        }
    }

    /// What `range` of these two layouts looks like, its blocks taken to be of even size.
    pub fn of(local: &Layout<'_>, remote: &Layout<'_>, range: &Range<u64>) -> Self {
        let bytes = range.end.saturating_sub(range.start);
        let share = |layout: &Layout<'_>| {
            let whole = u128::from(layout.length().max(1));
            (u128::from(layout.blocks()) * u128::from(bytes)).div_ceil(whole) as u64
        };
        Self {
            bytes,
            local_blocks: share(local),
            remote_blocks: share(remote),
        }
    }
}

/// A transfer that stopped early.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("after {done} bytes: {error}")]
pub struct Interrupted {
    /// Bytes of the range, from its beginning, that are known to be where they should.
    pub done: u64,
    /// Why no more.
    pub error: Error,
}

/// The meaning of an error for the fallback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The machine does not let us do this with this peer: later calls will fail, too.
    Refused,
    /// The peer has ended, or is no longer who it was.
    Gone,
    /// These bytes are not there, here or at the peer.
    Hole,
    /// The call itself makes no sense.
    Misused,
    /// Anything else, such as no memory for the kernel's own needs.
    Failed,
}

impl Interrupted {
    /// Nothing was moved.
    pub fn at_once(call: &'static str, errno: i32) -> Self {
        Self {
            done: 0,
            error: Error { call, errno },
        }
    }

    /// What the error means.
    pub fn cause(&self) -> Cause {
        match self.error.errno {
            errno::EPERM | errno::EACCES | errno::ENOSYS | errno::ENOENT => Cause::Refused,
            errno::ESRCH | errno::EPIPE | errno::ECONNRESET => Cause::Gone,
            errno::EFAULT => Cause::Hole,
            errno::EINVAL => Cause::Misused,
            _ => Cause::Failed,
        }
    }
}

/// Is `range` one of both layouts?
pub(crate) fn check(
    call: &'static str,
    local: &Layout<'_>,
    remote: &Layout<'_>,
    range: &Range<u64>,
) -> Result<(), Interrupted> {
    if range.start <= range.end && range.end <= local.length() && range.end <= remote.length() {
        Ok(())
    } else {
        Err(Interrupted::at_once(call, errno::EINVAL))
    }
}
