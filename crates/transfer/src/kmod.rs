//! Single copies by our kernel module (`kmod/`), where it is loaded: regions with cookies, one mapping per huge page.
//!
//! Sources: KNEM ("Cache-Efficient, Intranode, Large-Message MPI Communication with MPICH2-Nemesis", ICPP'09) and LiMIC2 with
//! huge pages (2017). A peer shows one cookie for all of its memory, so remote layouts hold its addresses, as for
//! [`crate::cma`]; of no use to other users and jobs. Once the peer has ended, its cookie is nobody's: no other process can be
//! taken for it.

use std::ops::Range;

use isthmus_os::kmod::{Cookie, Device, How, MAX_BYTES, MAX_SPANS};
use isthmus_os::{Error, errno};

use crate::Span;
use crate::cma::Refusal;
use crate::layout::Layout;
use crate::transfer::{self, Interrupted, Transfer};

const CALL: &str = "ioctl(ISTHMUS_IOC_COPY)";

/// A peer whose memory we may read and write by its cookie.
#[derive(Debug)]
pub struct Kmod {
    device: &'static Device,
    cookie: Cookie,
    small_mappings: bool,
}

impl Kmod {
    /// Read the peer's secret where it says that its own copy lies: what is there proves identity and permission.
    /// `small_mappings`: one per 4 KiB page, also in huge pages, to compare.
    ///
    /// # Errors
    /// As the module says; [`Refusal::Stranger`]: the cookie is another process's.
    pub fn probe(
        device: &'static Device,
        cookie: Cookie,
        (secret, secret_address): ([u64; 2], u64),
        pid: u32,
        small_mappings: bool,
    ) -> Result<Self, Refusal> {
        let kmod = Self {
            device,
            cookie,
            small_mappings,
        };
        let mut found = [0u64; 2];
        let length = size_of_val(&found) as u64;
        let here = Layout::local(found.as_mut_ptr().cast(), length);
        // SAFETY: `found` is ours and as long as we say.
        let pulled = unsafe { kmod.pull(&Layout::contiguous(secret_address, length), &here, 0..length) };
        match pulled {
            Ok(()) if std::hint::black_box(found) == secret => Ok(kmod),
            Ok(()) => Err(Refusal::Stranger(pid)),
            Err(stopped) => Err(Refusal::Os(stopped.error)),
        }
    }

    /// # Safety
    /// As for [`Transfer::pull`] and [`Transfer::push`].
    unsafe fn copy(
        &self,
        write: bool,
        local: &Layout<'_>,
        remote: &Layout<'_>,
        range: Range<u64>,
    ) -> Result<(), Interrupted> {
        transfer::check(CALL, local, remote, &range)?;
        let how = How {
            write,
            small_mappings: self.small_mappings,
        };
        let mut spans: Vec<Span> = Vec::new();
        let (mut here, mut there) = (local.cursor(range.start), remote.cursor(range.start));
        let mut at = range.start;
        while at < range.end {
            // One block of the peer's at a time, with as many of ours as it takes.
            let block = there.block();
            let limit = block.length.min(range.end - at).min(MAX_BYTES);
            spans.clear();
            let mut wanted = 0;
            while wanted < limit && spans.len() < MAX_SPANS {
                let ours = here.block();
                let length = ours.length.min(limit - wanted);
                spans.push(Span {
                    address: ours.address,
                    length,
                });
                here.advance(length);
                wanted += length;
            }
            // SAFETY: the spans are a part of the caller's range.
            let (copied, result) = unsafe { self.device.copy(self.cookie, block.address, &spans, how) };
            at += copied;
            match result {
                // A signal came; what is left is still to be done.
                Err(Error { errno: EINTR, .. }) => {
                    (here, there) = (local.cursor(at), remote.cursor(at));
                }
                Err(error) => {
                    return Err(Interrupted {
                        done: at - range.start,
                        error: as_known(error),
                    });
                }
                Ok(()) if copied < wanted => {
                    return Err(Interrupted {
                        done: at - range.start,
                        error: Error {
                            call: CALL,
                            errno: errno::EFAULT,
                        },
                    });
                }
                Ok(()) => there.advance(copied),
            }
        }
        Ok(())
    }
}

const EINTR: i32 = 4;

/// A cookie that nobody has is that of a peer that has ended; what is beyond every address is a hole.
fn as_known(error: Error) -> Error {
    let errno = match error.errno {
        errno::ENOENT => errno::ESRCH,
        errno::EINVAL => errno::EFAULT,
        other => other,
    };
    Error { errno, ..error }
}

impl Transfer for Kmod {
    fn name(&self) -> &'static str {
        "kmod"
    }

    unsafe fn pull(&self, remote: &Layout<'_>, local: &Layout<'_>, range: Range<u64>) -> Result<(), Interrupted> {
        // SAFETY: the caller's promise.
        unsafe { self.copy(false, local, remote, range) }
    }

    unsafe fn push(&self, local: &Layout<'_>, remote: &Layout<'_>, range: Range<u64>) -> Result<(), Interrupted> {
        // SAFETY: the caller's promise.
        unsafe { self.copy(true, local, remote, range) }
    }
}
