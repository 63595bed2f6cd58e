//! One copy through a pipe: `vmsplice` attaches the sender's pages to it, the receiver's `readv` copies out of them.
//!
//! Source: "Cache-Efficient, Intranode, Large-Message MPI Communication with MPICH2-Nemesis" (ICPP'09), section 3.1. It needs no
//! permission to look into the peer's memory, unlike Cross Memory Attach.
//!
//! The pages are lent: their bytes must not change until the peer has read them. A kernel may copy instead (a series of 2026
//! makes `vmsplice` a plain write); [`is_a_copy`] tries, and says so.

use std::os::fd::OwnedFd;
use std::sync::OnceLock;

use isthmus_os::Error;
use isthmus_os::pipe::{self, Pipe};
use isthmus_os::process_vm::Span;

use crate::stream::Feed;
use crate::writev;

/// A new pipe: our end, and the descriptor of the other one.
///
/// # Errors
/// No descriptors are left.
pub fn open() -> Result<(Box<dyn Feed>, OwnedFd), Error> {
    writev::open_pipe(true)
}

/// Does this kernel copy what is spliced? `None`: it does not splice at all. Tried once per process.
pub fn is_a_copy() -> Option<bool> {
    static COPIES: OnceLock<Option<bool>> = OnceLock::new();
    *COPIES.get_or_init(try_it)
}

#[cold]
fn try_it() -> Option<bool> {
    const PAGE: usize = 4096;
    let Pipe { reader, writer } = pipe::create().ok()?;
    let mut page = vec![1u8; PAGE];
    let mut seen = vec![0u8; PAGE];
    let span = |address: *mut u8| Span {
        address: address.expose_provenance() as u64,
        length: PAGE as u64,
    };
    // SAFETY: both are ours and as long as we say; that `page` changes in between is the question.
    unsafe {
        let attached = pipe::vmsplice(&writer, &[span(page.as_mut_ptr())]);
        if attached != Ok(PAGE) {
            return None;
        }
        page.fill(2);
        // The kernel reads it, which the compiler cannot know.
        std::hint::black_box(&mut page);
        if pipe::readv(&reader, &[span(seen.as_mut_ptr())]) != Ok(PAGE) {
            return None;
        }
    }
    Some(std::hint::black_box(seen)[0] == 1)
}
