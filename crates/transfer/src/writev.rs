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
fn large_pipe() -> Result<Pipe, Error> {
    let pipe = pipe::create()?;
    let mut wanted = CAPACITY;
    while wanted > stream::PIECE as usize && pipe::resize(&pipe.writer, wanted).is_err() {
        wanted /= 2;
    }
    Ok(pipe)
}

/// Writes into a pipe, or attaches pages to it.
#[derive(Debug)]
struct PipeFeed {
    attaches: bool,
    writer: OwnedFd,
    /// Nobody reads here; with it there is always a reader, and so never a SIGPIPE.
    _reader: OwnedFd,
}

/// A new pipe: our end, and the descriptor of the other one.
///
/// # Errors
/// No descriptors are left.
pub fn open() -> Result<(Box<dyn Feed>, OwnedFd), Error> {
    open_pipe(false)
}

/// As [`open`]; `attaches`: what is sent is attached to the pipe and not written into it.
pub(crate) fn open_pipe(attaches: bool) -> Result<(Box<dyn Feed>, OwnedFd), Error> {
    let Pipe { reader, writer } = large_pipe()?;
    let handed = stream::duplicate(&reader)?;
    Ok((
        Box::new(PipeFeed {
            attaches,
            writer,
            _reader: reader,
        }),
        handed,
    ))
}

impl Feed for PipeFeed {
    fn name(&self) -> &'static str {
        if self.attaches { "vmsplice" } else { "writev" }
    }

    fn lends(&self) -> bool {
        self.attaches
    }

    unsafe fn feed(&mut self, local: &Layout<'_>, range: Range<u64>) -> Result<u64, Interrupted> {
        let call = if self.attaches { pipe::vmsplice } else { pipe::writev };
        stream::in_calls(local, range, |spans| {
            // SAFETY: the caller's promise: the spans are a part of the range, and lent until they are drained if pages are attached.
            unsafe { call(&self.writer, spans) }
        })
    }
}
