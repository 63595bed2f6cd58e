//! Waiting for one descriptor, once per time that one is told to (`epoll(7)`, `EPOLLONESHOT`).

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::Timespec;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;

use crate::error::{Error, Result, named};

/// Tells of a descriptor that can be read, once after each [`Self::arm`]. One thread arms, another waits.
#[derive(Debug)]
pub struct Once {
    epoll: OwnedFd,
    watched: OwnedFd,
}

impl Once {
    /// Of this descriptor, of which it keeps a copy. Not armed.
    pub fn new(watched: impl AsFd) -> Result<Self> {
        let epoll = named("epoll_create1", epoll::create(epoll::CreateFlags::CLOEXEC))?;
        let watched = watched
            .as_fd()
            .try_clone_to_owned()
            .map_err(|_| Error::last("fcntl(F_DUPFD_CLOEXEC)"))?;
        let once = EventFlags::ONESHOT;
        named("epoll_ctl", epoll::add(&epoll, &watched, EventData::new_u64(0), once))?;
        Ok(Self { epoll, watched })
    }

    /// Tell of it once more: at once if it can be read now. Does not block.
    pub fn arm(&self) -> Result<()> {
        let readable = EventFlags::IN | EventFlags::ONESHOT;
        named(
            "epoll_ctl",
            epoll::modify(&self.epoll, &self.watched, EventData::new_u64(0), readable),
        )
    }

    /// Wait until it is told of. Blocks, without limit.
    pub fn wait(&self) -> Result<()> {
        while !self.wait_for(None)? {}
        Ok(())
    }

    /// Wait until it is told of, for so long at most, in whole milliseconds; `None`: no limit. False: it was not, yet; a signal may have come.
    pub fn wait_for(&self, limit: Option<Duration>) -> Result<bool> {
        let mut events = [MaybeUninit::uninit(); 1];
        let limit = limit.map(|limit| Timespec {
            tv_sec: limit.as_secs() as i64,
            tv_nsec: i64::from(limit.subsec_millis()) * 1_000_000,
        });
        match epoll::wait(&self.epoll, &mut events, limit.as_ref()) {
            Err(Errno::INTR) => Ok(false),
            answer => named("epoll_wait", answer).map(|(told, _)| !told.is_empty()),
        }
    }
}

/// Can be read while one of several descriptors can. Those that are closed count no more.
#[derive(Debug)]
pub struct AnyOf(OwnedFd);

impl AnyOf {
    /// Of these.
    pub fn new<'a>(descriptors: impl IntoIterator<Item = BorrowedFd<'a>>) -> Result<Self> {
        let epoll = named("epoll_create1", epoll::create(epoll::CreateFlags::CLOEXEC))?;
        for descriptor in descriptors {
            let (data, readable) = (EventData::new_u64(0), EventFlags::IN);
            named("epoll_ctl", epoll::add(&epoll, descriptor, data, readable))?;
        }
        Ok(Self(epoll))
    }
}

impl AsFd for AnyOf {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
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
    fn one_of_several_is_enough_and_closed_ones_say_nothing() {
        let ((first, _silent), (second, mut writer)) =
            (std::io::pipe().expect("a pipe"), std::io::pipe().expect("a pipe"));
        let any = AnyOf::new([first.as_fd(), second.as_fd()]).expect("an epoll descriptor");
        let once = Once::new(&any).expect("an epoll descriptor");
        let is_told = || {
            once.arm().expect("armed");
            once.wait_for(Some(Duration::from_millis(1)))
        };
        assert_eq!(is_told(), Ok(false));
        writer.write_all(b"x").expect("room");
        assert_eq!(is_told(), Ok(true));
        drop(second);
        assert_eq!(is_told(), Ok(false));
    }

    #[test]
    fn a_limit_without_an_event() {
        let (reader, mut writer) = std::io::pipe().expect("a pipe");
        let once = Once::new(&reader).expect("an epoll descriptor");
        once.arm().expect("armed");
        assert_eq!(once.wait_for(Some(Duration::from_millis(1))), Ok(false));
        writer.write_all(b"x").expect("room");
        assert_eq!(once.wait_for(None), Ok(true));
    }
}
