//! Two copies through a pipe: `writev` into it, `readv` out of it.
//!
//! The sibling of [`vmsplice`](crate::vmsplice), for comparison and for kernels that have turned that into a copy anyway.
//! Source: "Cache-Efficient, Intranode, Large-Message MPI Communication with MPICH2-Nemesis" (ICPP'09), section 3.1.

use std::ops::Range;
use std::os::fd::OwnedFd;

use isthmus_os::Error;
use isthmus_os::pipe::{self, Pipe};

use crate::layout::Layout;
use crate::stream::{self, Feed};
use crate::transfer::Interrupted;

/// Bytes that a pipe is to hold: what an unprivileged user may have (`/proc/sys/fs/pipe-max-size`).
const CAPACITY: usize = 1 << 20;

/// A pipe that is as large as we are allowed: where the user's pipes have too many pages already
/// (`/proc/sys/fs/pipe-user-pages-soft`) it is small, and works.
pub(crate) fn large_pipe() -> Result<Pipe, Error> {
    let pipe = pipe::create()?;
    let mut wanted = CAPACITY;
    while wanted > stream::PIECE as usize && pipe::resize(&pipe.writer, wanted).is_err() {
        wanted /= 2;
    }
    Ok(pipe)
}

#[derive(Debug)]
struct Writev {
    writer: OwnedFd,
    /// Nobody reads here; with it there is always a reader, and so never a SIGPIPE.
    _reader: OwnedFd,
}

/// A new pipe: our end, and the descriptor of the other one.
///
/// # Errors
/// No descriptors are left.
pub fn open() -> Result<(Box<dyn Feed>, OwnedFd), Error> {
    let Pipe { reader, writer } = large_pipe()?;
    let handed = stream::duplicate(&reader)?;
    Ok((
        Box::new(Writev {
            writer,
            _reader: reader,
        }),
        handed,
    ))
}

impl Feed for Writev {
    fn name(&self) -> &'static str {
        "writev"
    }

    fn lends(&self) -> bool {
        false
    }

    unsafe fn feed(&mut self, local: &Layout<'_>, range: Range<u64>) -> Result<u64, Interrupted> {
        stream::in_calls(local, range, |spans| {
            // SAFETY: the caller's promise: the spans are a part of the range.
            unsafe { pipe::writev(&self.writer, spans) }
        })
    }
}
