//! Waiting for descriptors (`poll(2)`).

use std::os::fd::BorrowedFd;
use std::time::Duration;

use crate::error::{Result, check};

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
    fn events(self) -> libc::c_short {
        match self {
            Self::Read => libc::POLLIN,
            Self::Write => libc::POLLOUT,
            Self::ReadWrite => libc::POLLIN | libc::POLLOUT,
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
    use std::os::fd::AsRawFd;
    let mut polled: Vec<libc::pollfd> = descriptors
        .iter()
        .map(|(descriptor, interest)| libc::pollfd {
            fd: descriptor.as_raw_fd(),
            events: interest.events(),
            revents: 0,
        })
        .collect();
    let time = limit.map(|limit| libc::timespec {
        tv_sec: limit.as_secs() as libc::time_t,
        tv_nsec: i64::from(limit.subsec_nanos()),
    });
    let time = time.as_ref().map_or(std::ptr::null(), |time| &raw const *time);
    // SAFETY: the array is ours and as long as we say; the time is null or lives in this frame.
    let result = unsafe {
        libc::ppoll(
            polled.as_mut_ptr(),
            polled.len() as libc::nfds_t,
            time,
            std::ptr::null(),
        )
    };
    match check("ppoll", result) {
        Err(error) if error.errno != libc::EINTR => Err(error),
        Err(_) => Ok(vec![false; polled.len()]),
        Ok(_) => Ok(polled.iter().map(|polled| polled.revents != 0).collect()),
    }
}
