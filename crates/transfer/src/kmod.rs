//! Single copies by our kernel module (`kmod/`), where it is loaded: regions with cookies, one mapping per huge page; while the caller waits, or
//! later, by a thread of the kernel or a DMA engine, with a word that tells the end.
//!
//! Sources: KNEM ("Cache-Efficient, Intranode, Large-Message MPI Communication with MPICH2-Nemesis", ICPP'09) and LiMIC2 with
//! huge pages (2017). A peer shows one cookie for all of its memory, so remote layouts hold its addresses, as for
//! [`crate::cma`]; of no use to other users and jobs. Once the peer has ended, its cookie is nobody's: no other process can be
//! taken for it.

use std::ops::Range;

use isthmus_os::kmod::{Cookie, Device, How, Later, MAX_BYTES, MAX_SPANS, Status};
use isthmus_os::{Error, errno};

use crate::Span;
use crate::cma::Refusal;
use crate::layout::{Cursor, Layout};
use crate::transfer::{self, Interrupted, MODULE_COPIES as CALL, Pending, Transfer, as_known};

/// A peer whose memory we may read and write by its cookie.
#[derive(Debug)]
pub struct Kmod {
    device: &'static Device,
    cookie: Cookie,
    options: Options,
}

/// How the module copies.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// One mapping per 4 KiB page, also in huge pages: to compare.
    pub small_mappings: bool,
    /// By what, where a copy is begun and its end looked for later; `None`: no copy is.
    pub later: Option<Later>,
}

impl Kmod {
    /// Read the peer's secret where it says that its own copy lies: what is there proves identity and permission.
    ///
    /// # Errors
    /// As the module says; [`Refusal::OtherProcess`]: the cookie is another process's.
    pub fn probe(
        device: &'static Device,
        cookie: Cookie,
        (secret, secret_address): ([u64; 2], u64),
        pid: u32,
        options: Options,
    ) -> Result<Self, Refusal> {
        let kmod = Self {
            device,
            cookie,
            options,
        };
        let mut found = [0u64; 2];
        let length = size_of_val(&found) as u64;
        let here = Layout::local(found.as_mut_ptr().cast(), length);
        // SAFETY: `found` is ours and as long as we say.
        let pulled = unsafe { kmod.pull(&Layout::contiguous(secret_address, length), &here, 0..length) };
        match pulled {
            Ok(()) if std::hint::black_box(found) == secret => Ok(kmod),
            Ok(()) => Err(Refusal::OtherProcess(pid)),
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
        let how = self.how(write);
        let mut spans: Vec<Span> = Vec::new();
        let (mut here, mut there) = (local.cursor(range.start), remote.cursor(range.start));
        let mut at = range.start;
        while at < range.end {
            // One block of the peer's at a time, with as many of ours as it takes.
            let block = there.block();
            let wanted = gather(&mut spans, &mut here, block.length.min(range.end - at));
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

    fn how(&self, write: bool) -> How {
        How {
            write,
            small_mappings: self.options.small_mappings,
        }
    }

    /// # Safety
    /// As for [`Transfer::pull_later`].
    unsafe fn begin(
        &self,
        by: Later,
        local: &Layout<'_>,
        remote: &Layout<'_>,
        range: Range<u64>,
    ) -> Result<Pending, Interrupted> {
        transfer::check(CALL, local, remote, &range)?;
        let (mut here, there) = (local.cursor(range.start), remote.cursor(range.start));
        let block = there.block();
        let mut spans = Vec::new();
        let bytes = gather(&mut spans, &mut here, block.length.min(range.end - range.start));
        let status = Box::<Status>::default();
        let how = self.how(false);
        // SAFETY: the spans are a part of the caller's range; the word stays where it is until it tells the end, since what has it waits for that
        // before it gives it back.
        let begun = unsafe {
            self.device
                .copy_later(self.cookie, block.address, &spans, how, by, &status)
        };
        match begun {
            Ok(()) => Ok(Pending::begun(status, bytes, by)),
            Err(error) => Err(Interrupted {
                done: 0,
                error: as_known(error),
            }),
        }
    }
}

/// As many blocks of ours as one call takes, `limit` bytes at most. What they hold.
fn gather(spans: &mut Vec<Span>, here: &mut Cursor<'_>, limit: u64) -> u64 {
    let limit = limit.min(MAX_BYTES);
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
    wanted
}

const EINTR: i32 = 4;

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

    unsafe fn pull_later(
        &self,
        remote: &Layout<'_>,
        local: &Layout<'_>,
        range: Range<u64>,
    ) -> Option<Result<Pending, Interrupted>> {
        let by = self.options.later?;
        // SAFETY: the caller's promise.
        Some(unsafe { self.begin(by, local, remote, range) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_takes_as_many_blocks_as_it_may() {
        let levels = [crate::Level {
            count: 2 * MAX_SPANS as u64,
            stride: 64,
        }];
        let layout = Layout::strided(1 << 20, 8, &levels);
        let (mut spans, mut here) = (Vec::new(), layout.cursor(4));
        assert_eq!(gather(&mut spans, &mut here, 20), 20);
        let lengths: Vec<u64> = spans.iter().map(|span| span.length).collect();
        assert_eq!(lengths, [4, 8, 8]);
        assert_eq!(spans[1].address, (1 << 20) + 64);
        assert_eq!(gather(&mut spans, &mut here, u64::MAX), 8 * MAX_SPANS as u64);
        assert_eq!(spans.len(), MAX_SPANS);
    }
}
