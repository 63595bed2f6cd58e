//! Waiting for descriptors (`poll(2)`).

use std::os::fd::BorrowedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::error::{Result, named};

/// What a descriptor is waited for, besides its failure and the end of its other side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interest {
    /// It can be read.
    Read,
    /// It can be written.
    Write,
    /// It can be read or written.
    ReadWrite,
}

impl Interest {
    fn events(self) -> PollFlags {
        match self {
            Self::Read => PollFlags::IN,
            Self::Write => PollFlags::OUT,
            Self::ReadWrite => PollFlags::IN | PollFlags::OUT,
        }
    }
}

/// Wait until one of `descriptors` can be read, has failed or is closed at the other end, at most for `limit` (`None`:
/// no limit). Answers which are ready, in their order; none are if the time was over or a signal came. Blocks.
pub fn readable(descriptors: &[BorrowedFd<'_>], limit: Option<Duration>) -> Result<Vec<bool>> {
    let descriptors: Vec<_> = descriptors
        .iter()
        .map(|descriptor| (*descriptor, Interest::Read))
        .collect();
    ready(&descriptors, limit)
}

/// As [`readable`], where each is waited for as said.
pub fn ready(descriptors: &[(BorrowedFd<'_>, Interest)], limit: Option<Duration>) -> Result<Vec<bool>> {
    let mut polled: Vec<PollFd<'_>> = descriptors
        .iter()
        .map(|(descriptor, interest)| PollFd::from_borrowed_fd(*descriptor, interest.events()))
        .collect();
    // A limit that no clock can hold is none.
    let time = limit.and_then(|limit| Timespec::try_from(limit).ok());
    match poll(&mut polled, time.as_ref()) {
        Err(Errno::INTR) => Ok(vec![false; polled.len()]),
        answer => {
            named("ppoll", answer)?;
            Ok(polled.iter().map(|polled| !polled.revents().is_empty()).collect())
        }
    }
}
