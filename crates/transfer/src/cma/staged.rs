//! Small blocks by way of a buffer of ours that stays in the cache.
//!
//! To pull, the peer's blocks are read together with what lies between them, unless that is long, and picked out here.
//! To push, our blocks are packed, and written to each of the peer's by itself: what lies between those is not ours to
//! write. Strided sections of numbers move some twenty times faster than span by span.

use std::cell::RefCell;
use std::ops::Range;

use isthmus_os::process_vm::{self, Direction, MAX_SPANS, Span};

use super::{Cma, append, facts, has_room, progress};
use crate::layout::{Cursor, Layout};
use crate::local;
use crate::transfer::Interrupted;

/// Bytes of the buffer: a good part of a second-level cache, and many system calls' worth of time.
const BUFFER: u64 = 64 << 10;

thread_local! {
    /// Allocated at first use; pages that are there are worth more than memory.
    static KEPT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// The buffer, which nobody else has meanwhile.
fn with_buffer<R>(use_it: impl FnOnce(u64) -> R) -> R {
    KEPT.with_borrow_mut(|kept| {
        kept.resize(BUFFER as usize, 0);
        use_it(kept.as_mut_ptr().expose_provenance() as u64)
    })
}

/// Are there blocks on our side that are small, or blocks on the peer's side that lie close to one another?
pub fn pays_to_pull(local: &Layout<'_>, remote: &Layout<'_>) -> bool {
    has_small_blocks(local) || is_dense(remote)
}

/// Are there blocks on our side that are small?
pub fn pays_to_push(local: &Layout<'_>) -> bool {
    has_small_blocks(local)
}

fn has_small_blocks(layout: &Layout<'_>) -> bool {
    !matches!(layout, Layout::Contiguous(_)) && facts().is_small(typical(layout))
}

/// Length of a block on the whole.
fn typical(layout: &Layout<'_>) -> u64 {
    layout.length() / layout.blocks().max(1)
}

fn is_dense(layout: &Layout<'_>) -> bool {
    /// Pairs of neighbours that are looked at.
    const SAMPLE: usize = 64;
    match *layout {
        Layout::Contiguous(_) => false,
        Layout::Strided { block, levels, .. } => {
            let gap = levels.first().and_then(|inner| gap(block, inner.stride));
            gap.is_some_and(|gap| facts().is_dense(block, gap))
        }
        Layout::Spans(spans) => {
            let block = typical(layout);
            let near = |pair: &&[Span]| {
                let distance = pair[1].address.wrapping_sub(pair[0].address) as i64;
                gap(pair[0].length, distance).is_some_and(|gap| facts().is_dense(block, gap))
            };
            let pairs = spans.windows(2).take(SAMPLE);
            let looked_at = pairs.len();
            pairs.filter(near).count() * 2 > looked_at
        }
    }
}

/// Bytes between a block and one that begins so much further on; `None`: it is not behind it.
fn gap(block: u64, distance: i64) -> Option<u64> {
    u64::try_from(distance).ok()?.checked_sub(block)
}

impl Cma {
    /// # Safety
    /// As for [`crate::Transfer::pull`].
    pub(super) unsafe fn pull_staged(
        &self,
        local: &Layout<'_>,
        remote: &Layout<'_>,
        range: Range<u64>,
    ) -> Result<(), Interrupted> {
        let longest_gap = facts().longest_gap(typical(remote));
        with_buffer(|buffer| {
            let mut covers = Covers::default();
            let (mut here, mut there) = (local.cursor(range.start), remote.cursor(range.start));
            let mut at = range.start;
            while at < range.end {
                covers.lay(&mut there.clone(), range.end - at, longest_gap);
                let whole = Span {
                    address: buffer,
                    length: covers.length,
                };
                // SAFETY: the covers are no longer than the buffer.
                let read = unsafe { process_vm::copy(Direction::Read, self.pid, &[whole], &covers.spans) };
                if covers.length == 0 || read != Ok(covers.length as usize) {
                    // Perhaps it is only what lies between the blocks that is not there.
                    // SAFETY: the rest of the caller's range.
                    let rest = unsafe { self.copy_spans(Direction::Read, local, remote, at..range.end) };
                    return rest.map_err(|stopped| Interrupted {
                        done: stopped.done + at - range.start,
                        ..stopped
                    });
                }
                let mut from = buffer;
                for (span, &bytes) in covers.spans.iter().zip(&covers.bytes) {
                    there.shift(from.wrapping_sub(span.address));
                    // SAFETY: the cover holds these bytes at the same distances; the local ones are the caller's.
                    unsafe { local::copy_on(&mut there, &mut here, bytes) };
                    from += span.length;
                    at += bytes;
                }
                there.shift(0);
            }
            Ok(())
        })
    }

    /// # Safety
    /// As for [`crate::Transfer::push`].
    pub(super) unsafe fn push_staged(
        &self,
        local: &Layout<'_>,
        remote: &Layout<'_>,
        range: Range<u64>,
    ) -> Result<(), Interrupted> {
        with_buffer(|buffer| {
            let mut spans = Vec::new();
            let (mut here, mut there) = (local.cursor(range.start), remote.cursor(range.start));
            let mut at = range.start;
            while at < range.end {
                let wanted = list(&mut there, (range.end - at).min(BUFFER), &mut spans);
                let packed = Layout::contiguous(buffer, wanted);
                // SAFETY: the buffer is as long; the local side is the caller's.
                unsafe { local::copy_on(&mut here, &mut packed.cursor(0), wanted) };
                let packed = Span {
                    address: buffer,
                    length: wanted,
                };
                // SAFETY: the remote spans are a part of the caller's range.
                let copied = unsafe { process_vm::copy(Direction::Write, self.pid, &[packed], &spans) };
                let copied = progress(Direction::Write, copied, at - range.start)?;
                at += copied;
                if copied < wanted {
                    // The kernel stopped early; the next call will say why.
                    (here, there) = (local.cursor(at), remote.cursor(at));
                }
            }
            Ok(())
        })
    }
}

/// The spans of one call on the peer's side; returns how many bytes they hold.
fn list(there: &mut Cursor<'_>, limit: u64, spans: &mut Vec<Span>) -> u64 {
    spans.clear();
    let mut bytes = 0;
    while bytes < limit {
        let block = there.block();
        let length = block.length.min(limit - bytes);
        if length == 0 || !has_room(spans, block.address) {
            break;
        }
        append(spans, block.address, length);
        there.advance(length);
        bytes += length;
    }
    bytes
}

/// Stretches of the peer's memory that hold blocks, and what lies between them.
#[derive(Debug, Default)]
struct Covers {
    spans: Vec<Span>,
    /// Bytes of the stream in each.
    bytes: Vec<u64>,
    /// Of all together.
    length: u64,
}

impl Covers {
    /// Cover up to `limit` bytes of the stream, as far as the buffer and one call allow: at least one.
    fn lay(&mut self, there: &mut Cursor<'_>, limit: u64, longest_gap: u64) {
        self.spans.clear();
        self.bytes.clear();
        self.length = 0;
        let mut left = limit;
        while left > 0 {
            let block = there.block();
            let room = BUFFER - self.length;
            let gap = self.spans.last().and_then(|last| {
                let end = last.address.wrapping_add(last.length);
                block.address.checked_sub(end).filter(|&gap| gap <= longest_gap)
            });
            let before = gap.unwrap_or(0);
            if block.length == 0 || before >= room || (gap.is_none() && self.spans.len() == MAX_SPANS) {
                break;
            }
            let (bytes, length) = take(there, left.min(room - before), room - before, longest_gap);
            match (gap, self.spans.last_mut(), self.bytes.last_mut()) {
                (Some(gap), Some(span), Some(held)) => {
                    span.length += gap + length;
                    *held += bytes;
                }
                _ => {
                    self.spans.push(Span {
                        address: block.address,
                        length,
                    });
                    self.bytes.push(bytes);
                }
            }
            self.length += before + length;
            left -= bytes;
        }
    }
}

/// Go over one block, or a part of it, or all blocks of a run that the room holds. Returns bytes of the stream, and of
/// the memory that holds them.
fn take(there: &mut Cursor<'_>, limit: u64, room: u64, longest_gap: u64) -> (u64, u64) {
    if let Some(run) = there.run()
        && let Some(gap) = gap(run.block, run.stride)
        && gap <= longest_gap
        && run.block <= limit
    {
        let stride = run.block + gap;
        let blocks = run.count.min(limit / run.block).min((room - run.block) / stride + 1);
        there.skip(blocks);
        return (blocks * run.block, (blocks - 1) * stride + run.block);
    }
    let length = there.block().length.min(limit);
    there.advance(length);
    (length, length)
}
