//! Packets between processes of one machine: abstract `SOCK_SEQPACKET` sockets that can hand over descriptors.

use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

use crate::error::{Error, Result, check, check_size};

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
    // SAFETY: socket takes no pointers.
    let fd = check("socket", unsafe {
        libc::socket(libc::AF_UNIX, libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC, 0)
    })?;
    // SAFETY: the descriptor is new and ours.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// The address of the abstract socket `name` (at most 107 bytes, the rest is cut).
fn address(name: &str) -> (libc::sockaddr_un, libc::socklen_t) {
    // SAFETY: an all-zero sockaddr_un is valid.
    let mut address: libc::sockaddr_un = unsafe { zeroed() };
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    // The leading zero byte makes the name abstract.
    for (to, from) in address.sun_path[1..].iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    let used = name.len().min(address.sun_path.len() - 1);
    (address, (size_of::<libc::sa_family_t>() + 1 + used) as libc::socklen_t)
}

/// Listen on the abstract name. The socket is non-blocking.
pub fn listen(name: &str) -> Result<OwnedFd> {
    let fd = packet_socket()?;
    let (address, length) = address(name);
    // SAFETY: the address is ours and as long as we say.
    check("bind", unsafe {
        libc::bind(fd.as_raw_fd(), (&raw const address).cast(), length)
    })?;
    // SAFETY: listen takes no pointers.
    check("listen", unsafe { libc::listen(fd.as_raw_fd(), 4096) })?;
    set_nonblocking(&fd)?;
    Ok(fd)
}

/// Take a connection; `None` if none waits. The new socket is non-blocking. Where no descriptor is left (`EMFILE`), the
/// connection goes on waiting.
pub fn accept(listener: &OwnedFd) -> Result<Option<OwnedFd>> {
    // SAFETY: we ask for no address.
    let fd = unsafe {
        libc::accept4(
            listener.as_raw_fd(),
            std::ptr::null_mut(),
            std::ptr::null_mut(),
            libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK,
        )
    };
    match check("accept4", fd) {
        // SAFETY: the descriptor is new and ours.
        Ok(fd) => Ok(Some(unsafe { OwnedFd::from_raw_fd(fd) })),
        Err(error) if matches!(error.errno, libc::EAGAIN | libc::EINTR | libc::ECONNABORTED) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Connect to the abstract name. Blocks while the listener's queue is full.
pub fn connect(name: &str) -> Result<OwnedFd> {
    let fd = packet_socket()?;
    let (address, length) = address(name);
    loop {
        // SAFETY: the address is ours and as long as we say.
        let result = unsafe { libc::connect(fd.as_raw_fd(), (&raw const address).cast(), length) };
        match check("connect", result) {
            Ok(_) => return Ok(fd),
            Err(error) if error.errno == libc::EINTR => {}
            Err(error) => return Err(error),
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
    // SAFETY: geteuid always succeeds.
    unsafe { libc::geteuid() }
}

fn set_nonblocking(fd: &OwnedFd) -> Result<()> {
    // SAFETY: fcntl on our own descriptor.
    let flags = check("fcntl(F_GETFL)", unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GETFL) })?;
    // SAFETY: as above.
    check("fcntl(F_SETFL)", unsafe {
        libc::fcntl(fd.as_raw_fd(), libc::F_SETFL, flags | libc::O_NONBLOCK)
    })?;
    Ok(())
}

#[repr(C, align(8))]
struct ControlBuffer([u8; 64]);

/// Send one packet, with a descriptor if given. Does not raise SIGPIPE.
pub fn send(fd: &OwnedFd, packet: &[u8], hand_over: Option<&OwnedFd>) -> Result<()> {
    let mut part = libc::iovec {
        iov_base: packet.as_ptr().cast_mut().cast(),
        iov_len: packet.len(),
    };
    // SAFETY: an all-zero msghdr is valid.
    let mut message: libc::msghdr = unsafe { zeroed() };
    message.msg_iov = &mut part;
    message.msg_iovlen = 1;
    let mut control = ControlBuffer([0; 64]);
    if let Some(handed) = hand_over {
        let size = size_of::<RawFd>() as u32;
        message.msg_control = control.0.as_mut_ptr().cast();
        // SAFETY: CMSG_SPACE is arithmetic; 64 bytes are enough for one descriptor, and the buffer is aligned.
        unsafe {
            message.msg_controllen = libc::CMSG_SPACE(size) as usize;
            let header = libc::CMSG_FIRSTHDR(&message);
            (*header).cmsg_level = libc::SOL_SOCKET;
            (*header).cmsg_type = libc::SCM_RIGHTS;
            (*header).cmsg_len = libc::CMSG_LEN(size) as usize;
            libc::CMSG_DATA(header)
                .cast::<RawFd>()
                .write_unaligned(handed.as_raw_fd());
        }
    }
    loop {
        // SAFETY: message, part and control buffer are live and consistent.
        match check_size("sendmsg", unsafe {
            libc::sendmsg(fd.as_raw_fd(), &message, libc::MSG_NOSIGNAL)
        }) {
            Ok(_) => return Ok(()),
            Err(error) if error.errno == libc::EINTR => {}
            Err(error) => return Err(error),
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
    let mut part = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    let mut control = ControlBuffer([0; 64]);
    // SAFETY: an all-zero msghdr is valid.
    let mut message: libc::msghdr = unsafe { zeroed() };
    message.msg_iov = &mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = control.0.len();
    let mut was_reset = false;
    let length = loop {
        // SAFETY: message, part and control buffer are live and consistent.
        match check_size("recvmsg", unsafe {
            libc::recvmsg(fd.as_raw_fd(), &mut message, libc::MSG_CMSG_CLOEXEC)
        }) {
            Ok(length) => break length,
            Err(error) if error.errno == libc::EINTR => {}
            Err(error) if error.errno == libc::EAGAIN => return Ok(Received::Nothing),
            // The other end was closed with packets in it that were not read. That is said once, before what it had sent itself.
            Err(error) if error.errno == libc::ECONNRESET && !was_reset => was_reset = true,
            Err(error) if error.errno == libc::ECONNRESET => return Ok(Received::Closed),
            Err(error) => return Err(error),
        }
    };
    let mut handed = None;
    // SAFETY: the kernel filled the control buffer; the macros stay within msg_controllen.
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(&message);
        while !header.is_null() {
            if (*header).cmsg_level == libc::SOL_SOCKET && (*header).cmsg_type == libc::SCM_RIGHTS {
                let bytes = (*header).cmsg_len as usize - libc::CMSG_LEN(0) as usize;
                let first = libc::CMSG_DATA(header).cast::<RawFd>();
                // All that came are open here now; those that nobody asked for are closed again.
                for index in 0..bytes / size_of::<RawFd>() {
                    let descriptor = OwnedFd::from_raw_fd(first.add(index).read_unaligned());
                    handed.get_or_insert(descriptor);
                }
            }
            header = libc::CMSG_NXTHDR(&message, header);
        }
    }
    if length == 0 && handed.is_none() {
        return Ok(Received::Closed);
    }
    Ok(Received::Packet(length, handed))
}

/// Has the other end closed, or gone away? Does not block, reads nothing.
pub fn is_closed(fd: &OwnedFd) -> bool {
    let mut poll = libc::pollfd {
        fd: fd.as_raw_fd(),
        events: libc::POLLRDHUP,
        revents: 0,
    };
    // SAFETY: one pollfd, ours.
    let found = unsafe { libc::poll(&mut poll, 1, 0) };
    found > 0 && poll.revents & (libc::POLLRDHUP | libc::POLLHUP | libc::POLLERR | libc::POLLNVAL) != 0
}

/// Limit how long [`receive`] blocks; `EAGAIN` shows as [`Received::Nothing`].
pub fn set_receive_limit(fd: &OwnedFd, limit: Duration) -> Result<()> {
    let time = libc::timeval {
        tv_sec: limit.as_secs() as i64,
        tv_usec: i64::from(limit.subsec_micros()),
    };
    // SAFETY: the option is ours and as long as we say.
    let result = unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_RCVTIMEO,
            (&raw const time).cast(),
            size_of::<libc::timeval>() as libc::socklen_t,
        )
    };
    check("setsockopt(SO_RCVTIMEO)", result)
        .map(drop)
        .map_err(|error| Error {
            call: "setsockopt",
            ..error
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open_descriptors() -> usize {
        std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count)
    }

    fn pair() -> [OwnedFd; 2] {
        let mut ends = [0; 2];
        // SAFETY: the array takes two descriptors, which are ours then.
        unsafe {
            assert_eq!(
                libc::socketpair(libc::AF_UNIX, libc::SOCK_SEQPACKET, 0, ends.as_mut_ptr()),
                0
            );
            ends.map(|end| OwnedFd::from_raw_fd(end))
        }
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
        let mut control = ControlBuffer([0; 64]);
        let mut byte = 7u8;
        let mut part = libc::iovec {
            iov_base: (&raw mut byte).cast(),
            iov_len: 1,
        };
        // SAFETY: everything the message points at lives here and is consistent.
        unsafe {
            let mut message: libc::msghdr = zeroed();
            message.msg_iov = &mut part;
            message.msg_iovlen = 1;
            message.msg_control = control.0.as_mut_ptr().cast();
            message.msg_controllen = libc::CMSG_SPACE(5 * 4) as usize;
            let header = libc::CMSG_FIRSTHDR(&message);
            (*header).cmsg_level = libc::SOL_SOCKET;
            (*header).cmsg_type = libc::SCM_RIGHTS;
            (*header).cmsg_len = libc::CMSG_LEN(5 * 4) as usize;
            for index in 0..5 {
                let place = libc::CMSG_DATA(header).cast::<RawFd>().add(index);
                place.write_unaligned(theirs.as_raw_fd());
            }
            assert_eq!(libc::sendmsg(theirs.as_raw_fd(), &message, 0), 1);
        }
        let received = receive(&ours, &mut [0; 8]).expect("a packet");
        assert!(matches!(received, Received::Packet(1, Some(_))));
        assert_eq!(open_descriptors(), before + 1);
        drop(received);
        assert_eq!(open_descriptors(), before);
    }
}
