//! Waiting for one descriptor, once per time that one is told to (`epoll(7)`, `EPOLLONESHOT`).

use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

use crate::error::{Error, Result, check};

/// Tells of a descriptor that can be read, once after each [`Self::arm`]. One thread arms, another waits.
#[derive(Debug)]
pub struct Once {
    epoll: OwnedFd,
    watched: OwnedFd,
}

impl Once {
    /// Of this descriptor, of which it keeps a copy. Not armed.
    pub fn new(watched: impl AsFd) -> Result<Self> {
        // SAFETY: the call takes flags only.
        let epoll = check("epoll_create1", unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
        // SAFETY: just opened, and ours.
        let epoll = unsafe { OwnedFd::from_raw_fd(epoll) };
        let watched = watched
            .as_fd()
            .try_clone_to_owned()
            .map_err(|_| Error::last("fcntl(F_DUPFD_CLOEXEC)"))?;
        let once = Self { epoll, watched };
        once.control(libc::EPOLL_CTL_ADD, 0)?;
        Ok(once)
    }

    /// Tell of it once more: at once if it can be read now. Does not block.
    pub fn arm(&self) -> Result<()> {
        self.control(libc::EPOLL_CTL_MOD, libc::EPOLLIN as u32)
    }

    fn control(&self, operation: libc::c_int, events: u32) -> Result<()> {
        let mut event = libc::epoll_event {
            events: events | libc::EPOLLONESHOT as u32,
            u64: 0,
        };
        // SAFETY: both descriptors are open, the event is ours.
        let done = unsafe {
            libc::epoll_ctl(
                self.epoll.as_raw_fd(),
                operation,
                self.watched.as_raw_fd(),
                &raw mut event,
            )
        };
        check("epoll_ctl", done).map(|_| ())
    }

    /// Wait until it is told of. Blocks, without limit.
    pub fn wait(&self) -> Result<()> {
        while !self.wait_for(None)? {}
        Ok(())
    }

    /// Wait until it is told of, for so long at most, in whole milliseconds; `None`: no limit. False: it was not, yet; a signal may have come.
    pub fn wait_for(&self, limit: Option<Duration>) -> Result<bool> {
        let mut event = libc::epoll_event { events: 0, u64: 0 };
        let limit = limit.map_or(-1, |limit| limit.as_millis().try_into().unwrap_or(i32::MAX));
        // SAFETY: room for one event.
        let count = unsafe { libc::epoll_wait(self.epoll.as_raw_fd(), &raw mut event, 1, limit) };
        match check("epoll_wait", count) {
            Ok(count) => Ok(count > 0),
            Err(error) if error.errno == libc::EINTR => Ok(false),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn once_per_arming() {
        let (reader, mut writer) = std::io::pipe().expect("a pipe");
        let once = Once::new(&reader).expect("an epoll descriptor");
        writer.write_all(b"x").expect("room");
        let (tell, told) = std::sync::mpsc::channel();
        let once = std::sync::Arc::new(once);
        let theirs = once.clone();
        std::thread::spawn(move || while theirs.wait().is_ok() && tell.send(()).is_ok() {});
        let soon = Duration::from_millis(50);
        assert!(told.recv_timeout(soon).is_err(), "not armed");
        for _ in 0..2 {
            once.arm().expect("armed");
            told.recv().expect("it can be read");
            assert!(told.recv_timeout(soon).is_err(), "only once");
        }
    }

    #[test]
    fn it_can_be_waited_for_in_vain() {
        let (reader, mut writer) = std::io::pipe().expect("a pipe");
        let once = Once::new(&reader).expect("an epoll descriptor");
        once.arm().expect("armed");
        assert_eq!(once.wait_for(Some(Duration::from_millis(1))), Ok(false));
        writer.write_all(b"x").expect("room");
        assert_eq!(once.wait_for(None), Ok(true));
    }
}
