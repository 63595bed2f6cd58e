//! Pipes as a way for long messages: large, never blocking, filled by copies (`writev(2)`) or by pages (`vmsplice(2)`).

use std::os::fd::{AsRawFd, OwnedFd};

use rustix::pipe::{self, PipeFlags};

use crate::error::{Error, Result, check_size, errno, named};
use crate::process_vm::Span;

/// The two ends of a pipe.
#[derive(Debug)]
pub struct Pipe {
    /// The end to read from.
    pub reader: OwnedFd,
    /// The end to write to.
    pub writer: OwnedFd,
}

/// Spans that one call takes.
pub const MAX_SPANS: usize = crate::process_vm::MAX_SPANS;

/// A new pipe, whose ends never block and are closed by exec.
pub fn create() -> Result<Pipe> {
    let flags = PipeFlags::CLOEXEC | PipeFlags::NONBLOCK;
    let (reader, writer) = named("pipe2", pipe::pipe_with(flags))?;
    Ok(Pipe { reader, writer })
}

/// Let the pipe hold so many bytes; answers how many it holds.
///
/// # Errors
/// `EPERM`: beyond what an unprivileged user may have in one pipe (`/proc/sys/fs/pipe-max-size`) or in all of them
/// (`/proc/sys/fs/pipe-user-pages-soft`); the pipe stays as large as it was.
pub fn resize(pipe: &OwnedFd, bytes: usize) -> Result<usize> {
    let bytes = bytes.min(libc::c_int::MAX as usize);
    named("fcntl(F_SETPIPE_SZ)", pipe::fcntl_setpipe_size(pipe, bytes))
}

/// Bytes that the pipe holds if they come in whole pages.
pub fn capacity(pipe: &OwnedFd) -> Result<usize> {
    named("fcntl(F_GETPIPE_SZ)", pipe::fcntl_getpipe_size(pipe))
}

/// Attach the pages that hold `spans`, at most [`MAX_SPANS`], to the pipe. Returns the bytes that found room: 0 if none did.
/// Until they are read, the pipe shows what the memory holds, unless the kernel copies instead.
///
/// # Safety
/// The spans must be readable, and must not change until the reader has read them.
pub unsafe fn vmsplice(writer: &OwnedFd, spans: &[Span]) -> Result<usize> {
    // SAFETY: a Span is laid out as an iovec; the caller vouches for what they name.
    quiet(check_size("vmsplice", unsafe {
        libc::vmsplice(
            writer.as_raw_fd(),
            spans.as_ptr().cast(),
            spans.len(),
            libc::SPLICE_F_NONBLOCK,
        )
    }))
}

/// Copy `spans`, at most [`MAX_SPANS`], into a pipe or a socket that does not block. Returns the bytes that found room: 0 if
/// none did. A descriptor whose other end is closed raises SIGPIPE if it is a pipe; sockets: see [`send_spans`].
///
/// # Safety
/// The spans must be readable.
pub unsafe fn writev(writer: &OwnedFd, spans: &[Span]) -> Result<usize> {
    // SAFETY: as above.
    quiet(check_size("writev", unsafe {
        libc::writev(writer.as_raw_fd(), spans.as_ptr().cast(), spans.len() as libc::c_int)
    }))
}

/// As [`writev`], into a socket, without SIGPIPE.
///
/// # Safety
/// The spans must be readable.
pub unsafe fn send_spans(socket: &OwnedFd, spans: &[Span]) -> Result<usize> {
    // SAFETY: an all-zero msghdr is valid.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = spans.as_ptr().cast_mut().cast();
    message.msg_iovlen = spans.len();
    // SAFETY: the message names the spans, which the caller vouches for and the kernel only reads.
    quiet(check_size("sendmsg", unsafe {
        libc::sendmsg(socket.as_raw_fd(), &message, libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT)
    }))
}

/// Take bytes out of a pipe or a socket that does not block, into `spans`, at most [`MAX_SPANS`]. Returns how many: 0 if
/// nothing is there.
///
/// # Errors
/// `EPIPE`: the other end is closed, and all that was in between has been read.
///
/// # Safety
/// The spans must be writable.
pub unsafe fn readv(reader: &OwnedFd, spans: &[Span]) -> Result<usize> {
    let wanted: u64 = spans.iter().fold(0, |sum, span| sum.saturating_add(span.length));
    // SAFETY: a Span is laid out as an iovec; the caller vouches for what they name.
    let read = check_size("readv", unsafe {
        libc::readv(reader.as_raw_fd(), spans.as_ptr().cast(), spans.len() as libc::c_int)
    });
    match read {
        Ok(0) if wanted > 0 => Err(Error {
            call: "readv",
            errno: errno::EPIPE,
        }),
        read => quiet(read),
    }
}

/// No room, or nothing there, is no error.
fn quiet(moved: Result<usize>) -> Result<usize> {
    match moved {
        Err(error) if matches!(error.errno, libc::EAGAIN | libc::EINTR) => Ok(0),
        moved => moved,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(bytes: &[u8]) -> Span {
        Span {
            address: bytes.as_ptr().expose_provenance() as u64,
            length: bytes.len() as u64,
        }
    }

    #[test]
    fn full_and_empty_are_no_errors_and_a_closed_end_is_one() {
        let Pipe { reader, writer } = create().expect("a pipe");
        let room = capacity(&writer).expect("a size");
        let bytes = vec![7u8; 2 * room];
        let taken = vec![0u8; room];
        // SAFETY: the spans are vectors that live here; nobody changes `bytes`.
        unsafe {
            assert_eq!(readv(&reader, &[span(&taken)]), Ok(0));
            assert_eq!(writev(&writer, &[span(&bytes)]), Ok(room));
            assert_eq!(writev(&writer, &[span(&bytes)]), Ok(0));
            assert_eq!(readv(&reader, &[span(&taken)]), Ok(room));
            assert_eq!(vmsplice(&writer, &[span(&bytes[..100])]), Ok(100));
            drop(writer);
            assert_eq!(readv(&reader, &[span(&taken)]), Ok(100));
            let ended = readv(&reader, &[span(&taken)]);
            assert_eq!(ended.map_err(|error| error.errno), Err(errno::EPIPE));
        }
    }

    #[test]
    fn a_pipe_grows() {
        let Pipe { reader, writer } = create().expect("a pipe");
        let before = capacity(&reader).expect("a size");
        if let Ok(after) = resize(&writer, 4 * before) {
            assert!(after >= 4 * before && capacity(&reader) == Ok(after));
        }
        let refused = resize(&writer, usize::MAX);
        assert!(refused.is_err() && capacity(&reader).is_ok_and(|bytes| bytes >= before));
    }
}
