//! The reference: two copies through a cell, byte by byte, as a ring does it, with nothing clever in it.
//!
//! A ring moves bytes by two processes that both act, which no [`Transfer`] does, so the engine's ring is not one; its
//! own tests are in `isthmus-shm`. What is left of it when one process does both halves is this. It passes the kit, so
//! that the kit is known to ask for what can be done.

use std::ops::Range;

use isthmus_os::errno;
use isthmus_transfer::{Interrupted, Layout, Span, Transfer};

use super::Pair;
use super::memory::Region;

const CELL: usize = 4096;

/// What remote layouts call the first byte: a mechanism's numbers need not be addresses.
const NUMBERS_FROM: u64 = 1 << 40;

/// A region of this process in the peer's part.
#[derive(Debug)]
pub struct Staged {
    copier: Copier,
    view: Region,
}

#[derive(Debug)]
struct Copier {
    base: u64,
    length: u64,
}

impl Copier {
    fn move_bytes(
        &self,
        local: &Layout<'_>,
        remote: &Layout<'_>,
        range: Range<u64>,
        push: bool,
    ) -> Result<(), Interrupted> {
        if range.start > range.end || range.end > local.length().min(remote.length()) {
            return Err(Interrupted::at_once("staged copy", errno::EINVAL));
        }
        let (mut ours, mut theirs) = (local.cursor(range.start), remote.cursor(range.start));
        let mut at = range.start;
        while at < range.end {
            let length = (range.end - at).min(CELL as u64);
            let mut cell = [0u8; CELL];
            let (mut source, mut target) = (ours.clone(), theirs.clone());
            if !push {
                std::mem::swap(&mut source, &mut target);
            }
            let mut filled = 0;
            while filled < length
                && let Some(from) = self.address(source.block(), push)
            {
                cell[filled as usize] = read(from);
                source.advance(1);
                filled += 1;
            }
            let mut done = 0;
            while done < filled
                && let Some(to) = self.address(target.block(), !push)
            {
                write(to, cell[done as usize]);
                target.advance(1);
                done += 1;
            }
            if done < length {
                return Err(Interrupted {
                    done: at + done - range.start,
                    ..Interrupted::at_once("staged copy", errno::EFAULT)
                });
            }
            (ours, theirs) = if push { (source, target) } else { (target, source) };
            at += length;
        }
        Ok(())
    }

    fn address(&self, block: Span, local: bool) -> Option<u64> {
        if local {
            return Some(block.address);
        }
        let at = block.address.checked_sub(NUMBERS_FROM)?;
        (at < self.length).then_some(self.base + at)
    }
}

fn read(address: u64) -> u8 {
    // SAFETY: within the caller's range, or the peer's region.
    unsafe { std::ptr::with_exposed_provenance::<u8>(address as usize).read() }
}

fn write(address: u64, byte: u8) {
    // SAFETY: as for `read`.
    unsafe { std::ptr::with_exposed_provenance_mut::<u8>(address as usize).write(byte) };
}

impl Transfer for Copier {
    fn name(&self) -> &'static str {
        "staged"
    }

    unsafe fn pull(&self, remote: &Layout<'_>, local: &Layout<'_>, range: Range<u64>) -> Result<(), Interrupted> {
        self.move_bytes(local, remote, range, false)
    }

    unsafe fn push(&self, local: &Layout<'_>, remote: &Layout<'_>, range: Range<u64>) -> Result<(), Interrupted> {
        self.move_bytes(local, remote, range, true)
    }
}

impl Pair for Staged {
    const OUTLIVES: bool = true;

    fn new(length: u64) -> Self {
        let view = Region::new(length);
        Self {
            copier: Copier {
                base: view.address(),
                length: view.length(),
            },
            view,
        }
    }

    fn length(&self) -> u64 {
        self.view.length()
    }

    fn transfer(&self) -> &dyn Transfer {
        &self.copier
    }

    fn remote(&self, at: u64) -> u64 {
        NUMBERS_FROM + at
    }

    fn view(&self) -> &Region {
        &self.view
    }

    fn killer(&self) -> impl FnOnce() + Send + 'static {
        || {}
    }
}
