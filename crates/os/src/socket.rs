//! Packets between processes of one machine: abstract `SOCK_SEQPACKET` sockets that can hand over descriptors.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::time::Duration;

use rustix::event::{self, PollFd, PollFlags, Timespec};
use rustix::fs;
use rustix::io::Errno;
use rustix::net::sockopt::{self, Timeout};
use rustix::net::{
    self, AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags, SocketType,
};

use crate::error::{Result, check, named};

/// Notice within half a minute when the machine at the other end of a TCP connection is no more, or cannot be reached.
pub fn keep_alive(fd: BorrowedFd<'_>) {
    keep_alive_for(fd, Duration::from_secs(30));
}

/// As [`keep_alive`], within so long.
pub fn keep_alive_for(fd: BorrowedFd<'_>, limit: Duration) {
    keep_number_alive(fd.as_raw_fd(), limit);
}

/// As [`keep_alive_for`], of a descriptor that may be closed meanwhile: the kernel refuses what is no socket.
pub(crate) fn keep_number_alive(fd: RawFd, limit: Duration) {
    let set = |level: libc::c_int, option: libc::c_int, value: libc::c_int| {
        // SAFETY: the option is ours and as long as we say. A system without it notices later.
        unsafe {
            libc::setsockopt(
                fd,
                level,
                option,
                (&raw const value).cast(),
                size_of::<libc::c_int>() as libc::socklen_t,
            )
        };
    };
    set(libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1);
    set(libc::IPPROTO_TCP, libc::TCP_KEEPIDLE, 10);
    set(libc::IPPROTO_TCP, libc::TCP_KEEPINTVL, 5);
    set(libc::IPPROTO_TCP, libc::TCP_KEEPCNT, 4);
    set(
        libc::IPPROTO_TCP,
        libc::TCP_USER_TIMEOUT,
        limit.as_millis() as libc::c_int,
    );
}

/// After how long without an answer the kernel ends a TCP connection; zero: after its own time.
pub fn silence_limit(fd: BorrowedFd<'_>) -> Duration {
    let mut value: libc::c_int = 0;
    let mut length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the answer is ours to write, and as long as we say. Where there is none it stays zero.
    unsafe {
        libc::getsockopt(
            fd.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_USER_TIMEOUT,
            (&raw mut value).cast(),
            &raw mut length,
        )
    };
    Duration::from_millis(value.unsigned_abs().into())
}

/// The process at the other end (`SO_PEERCRED`), as our own namespaces show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Credentials {
    /// Process id when it connected; 0 if it lives in a pid namespace we cannot see.
    pub pid: u32,
    /// Effective user id.
    pub uid: u32,
}

fn packet_socket() -> Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC;
    named(
        "socket",
        net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None),
    )
}

/// The address of the abstract socket `name` (at most 107 bytes, the rest is cut).
fn address(name: &str) -> Result<SocketAddrUnix> {
    let name = name.as_bytes();
    named("bind", SocketAddrUnix::new_abstract_name(&name[..name.len().min(107)]))
}

/// Listen on the abstract name. The socket is non-blocking.
pub fn listen(name: &str) -> Result<OwnedFd> {
    let fd = packet_socket()?;
    named("bind", net::bind(&fd, &address(name)?))?;
    named("listen", net::listen(&fd, 4096))?;
    set_nonblocking(&fd)?;
    Ok(fd)
}

/// Take a connection; `None` if none waits. The new socket is non-blocking. Where no descriptor is left (`EMFILE`), the
/// connection goes on waiting.
pub fn accept(listener: &OwnedFd) -> Result<Option<OwnedFd>> {
    match net::accept_with(listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
        Err(Errno::AGAIN | Errno::INTR | Errno::CONNABORTED) => Ok(None),
        accepted => named("accept4", accepted).map(Some),
    }
}

/// Connect to the abstract name. Blocks while the listener's queue is full.
pub fn connect(name: &str) -> Result<OwnedFd> {
    let fd = packet_socket()?;
    let address = address(name)?;
    loop {
        match net::connect(&fd, &address) {
            Err(Errno::INTR) => {}
            connected => return named("connect", connected).map(|()| fd),
        }
    }
}

/// The process that connected.
pub fn credentials(fd: &OwnedFd) -> Result<Credentials> {
    let mut found = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the out parameters are ours and as long as we say.
    check("getsockopt(SO_PEERCRED)", unsafe {
        libc::getsockopt(
            fd.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut found).cast(),
            &mut length,
        )
    })?;
    Ok(Credentials {
        pid: found.pid as u32,
        uid: found.uid,
    })
}

/// The effective user id of this process.
pub fn own_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

fn set_nonblocking(fd: &OwnedFd) -> Result<()> {
    let flags = named("fcntl(F_GETFL)", fs::fcntl_getfl(fd))?;
    named("fcntl(F_SETFL)", fs::fcntl_setfl(fd, flags | fs::OFlags::NONBLOCK))
}

/// Send one packet, with a descriptor if given. Does not raise SIGPIPE.
pub fn send(fd: &OwnedFd, packet: &[u8], hand_over: Option<&OwnedFd>) -> Result<()> {
    let descriptors = hand_over.map(AsFd::as_fd);
    let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    loop {
        let mut control = SendAncillaryBuffer::new(&mut room);
        if !descriptors.as_slice().is_empty() {
            control.push(SendAncillaryMessage::ScmRights(descriptors.as_slice()));
        }
        match net::sendmsg(fd, &[IoSlice::new(packet)], &mut control, SendFlags::NOSIGNAL) {
            Err(Errno::INTR) => {}
            sent => return named("sendmsg", sent).map(drop),
        }
    }
}

/// What [`receive`] got.
#[derive(Debug)]
pub enum Received {
    /// A packet of so many bytes, and the descriptor that came with it.
    Packet(usize, Option<OwnedFd>),
    /// Nothing there (non-blocking sockets).
    Nothing,
    /// The other end is closed.
    Closed,
}

/// Receive one packet into `buffer` (longer packets are cut). Blocks unless the socket is non-blocking.
pub fn receive(fd: &OwnedFd, buffer: &mut [u8]) -> Result<Received> {
    let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(12))];
    let mut control = RecvAncillaryBuffer::new(&mut room);
    let mut was_reset = false;
    let length = loop {
        let parts = &mut [IoSliceMut::new(buffer)];
        match net::recvmsg(fd, parts, &mut control, RecvFlags::CMSG_CLOEXEC) {
            Ok(received) => break received.bytes,
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => return Ok(Received::Nothing),
            // The other end was closed with packets in it that were not read. That is said once, before what it had sent itself.
            Err(Errno::CONNRESET) if !was_reset => was_reset = true,
            Err(Errno::CONNRESET) => return Ok(Received::Closed),
            Err(error) => return named("recvmsg", Err(error)),
        }
    };
    // All that came are open here now; those that nobody asked for are closed again.
    let handed = control.drain().fold(None, |first, message| match message {
        RecvAncillaryMessage::ScmRights(descriptors) => descriptors.fold(first, |first, next| first.or(Some(next))),
        _ => first,
    });
    if length == 0 && handed.is_none() {
        return Ok(Received::Closed);
    }
    Ok(Received::Packet(length, handed))
}

/// Has the other end closed, or gone away? Does not block, reads nothing.
pub fn is_closed(fd: &OwnedFd) -> bool {
    let mut polled = [PollFd::new(fd, PollFlags::RDHUP)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let ends = PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
    event::poll(&mut polled, Some(&now)).is_ok() && polled[0].revents().intersects(ends)
}

/// Limit how long [`receive`] blocks; `EAGAIN` shows as [`Received::Nothing`].
pub fn set_receive_limit(fd: &OwnedFd, limit: Duration) -> Result<()> {
    named(
        "setsockopt(SO_RCVTIMEO)",
        sockopt::set_socket_timeout(fd, Timeout::Recv, Some(limit)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open_descriptors() -> usize {
        std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count)
    }

    fn pair() -> [OwnedFd; 2] {
        let (one, other) = net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::empty(), None)
            .expect("a pair of sockets");
        [one, other]
    }

    #[test]
    fn the_last_words_of_one_that_has_not_read_all_are_heard() {
        let [ours, theirs] = pair();
        send(&ours, b"unread", None).expect("room");
        send(&theirs, b"last", None).expect("room");
        drop(theirs);
        let mut buffer = [0; 16];
        assert!(matches!(receive(&ours, &mut buffer), Ok(Received::Packet(4, None))));
        assert!(matches!(receive(&ours, &mut buffer), Ok(Received::Closed)));
    }

    /// A sender of more descriptors than are wanted does not fill the receiver's table.
    #[test]
    fn descriptors_that_nobody_wants_are_closed() {
        let [ours, theirs] = pair();
        let before = open_descriptors();
        let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(5))];
        let mut control = SendAncillaryBuffer::new(&mut room);
        let five = [theirs.as_fd(); 5];
        assert!(control.push(SendAncillaryMessage::ScmRights(&five)));
        let sent = net::sendmsg(&theirs, &[IoSlice::new(&[7])], &mut control, SendFlags::empty());
        assert_eq!(sent, Ok(1));
        let received = receive(&ours, &mut [0; 8]).expect("a packet");
        assert!(matches!(received, Received::Packet(1, Some(_))));
        assert_eq!(open_descriptors(), before + 1);
        drop(received);
        assert_eq!(open_descriptors(), before);
    }
}
