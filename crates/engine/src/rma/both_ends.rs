//! Long operations on ordinary memory that a target which waits inside the library does by copies of the kernel from or to the origin's own
//! memory. Of puts and gets the origin copies the other half meanwhile; elements are combined by the target alone, which has to read the
//! operands only, where the origin would have to read and write the elements. Faster than [two copies](super::bounce) where lines cross between
//! far CPUs; [`long`](super::long) learns it.
//!
//! # Safety
//! The origin's addresses come from a peer: the kernel checks them.

use std::ops::Range;
use std::sync::{Mutex, OnceLock, PoisonError};

use isthmus_transfer::{Layout, Transfer};

use super::execute::{self, PeerRequest, What};
use super::mailbox::{self, Asked, End, Outcome};
use super::target::Target;
use super::{home, long};
use crate::limits::{BOTH_AHEAD, BOTH_OPERANDS, BOTH_PIECE_LEAST, BOTH_PIECE_MOST, BOTH_PIECES, PIECES_MISSED};
use crate::protocol::access::{self, Probed};
use crate::{Result, counters};

/// Have the target do an operation on the `length` bytes at `at`, copying from or to `here` in this process. It begins with the first
/// bytes; if `helps`, this process does the last ones by `otherwise` until they meet. Elements of `width` bytes are not cut.
///
/// # Errors
/// Those of `otherwise`; the target has died.
///
/// # Safety
/// The bytes from `here` on must stay readable, and for a get writable, until this comes back.
pub(super) unsafe fn ask(
    target: &Target,
    asked: Asked<'_>,
    (at, here): (u64, u64),
    (length, width): (u64, u64),
    helps: bool,
    otherwise: &mut dyn FnMut(Range<u64>) -> Result<()>,
) -> Result<Outcome> {
    let learned = long::of(target.peer())?;
    if learned.is_closed() {
        return Ok(Outcome::Not);
    }
    let (piece, ahead) = match helps {
        true => {
            let pieces = (length / 2 / BOTH_PIECE_LEAST).clamp(1, BOTH_PIECES);
            let piece = (length / 2 / pieces).min(BOTH_PIECE_MOST).next_multiple_of(4096);
            (piece, BOTH_AHEAD.min(pieces as usize))
        }
        false => (BOTH_OPERANDS as u64 / width * width, BOTH_AHEAD),
    };
    let Some(asking) = mailbox::begin(target, asked, length)? else {
        return Ok(Outcome::Not);
    };
    let mut flying = [const { None }; BOTH_AHEAD];
    let (mut next, mut end, mut head, mut count) = (0, length, 0, 0);
    let (mut failed, mut is_away, mut any, mut missed) = (None, false, false, 0);
    loop {
        while count < ahead && next < end && failed.is_none() && !is_away {
            let part = next..end.min(next + piece);
            let Some(posted) = asking.at_origin(asked, at + part.start, here + part.start, part.end - part.start)
            else {
                break;
            };
            next = part.end;
            flying[(head + count) % BOTH_AHEAD] = Some((posted, part));
            count += 1;
        }
        if helps && next < end && failed.is_none() && (count > 0 || any) {
            let start = end.saturating_sub(piece).max(next);
            failed = otherwise(start..end).err();
            end = start;
            if flying[head].as_ref().is_some_and(|(posted, _)| !asking.is_over(posted)) {
                continue;
            }
        }
        let Some((posted, part)) = flying[head].take() else {
            // The rest would be expensive without it.
            let may_come_back = !helps && missed < PIECES_MISSED && next < end && failed.is_none();
            if is_away && may_come_back && !learned.is_closed() && asking.comes_back(asked, end - next) {
                is_away = false;
                continue;
            }
            break;
        };
        (head, count) = ((head + 1) % BOTH_AHEAD, count - 1);
        match asking.finish(posted, is_away) {
            Ok(End::Done) => any = true,
            Ok(unable) => {
                if unable == End::Refused {
                    learned.close();
                }
                missed += u32::from(!is_away);
                is_away = true;
                if failed.is_none() {
                    failed = otherwise(part).err();
                }
            }
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    if let Some(error) = failed {
        return Err(error);
    }
    if !any && next == 0 && end == length {
        return Ok(Outcome::Not);
    }
    if next < end {
        otherwise(next..end)?;
    }
    Ok(Outcome::Done)
}

/// Do what an origin asks for, on bytes in its own memory. False: it cannot be done so, and no element was changed.
pub(super) fn answer(origin: u32, wanted: PeerRequest, at: u64, length: u64, there: u64) -> bool {
    let Some(transfer) = transfer_to(origin) else {
        return false;
    };
    let there = Layout::contiguous(there, length);
    let done = match What::of(wanted.what) {
        Some(what @ (What::Put | What::Get)) => execute::with_own(wanted.region, |target| {
            target.check(at, length).ok()?;
            let own = target.mapped()?.as_ptr().wrapping_add(at as usize);
            let own = Layout::local(own, length);
            // SAFETY: the bytes are in the region, which is ours.
            unsafe {
                match what {
                    What::Put => transfer.pull(&there, &own, 0..length),
                    _ => transfer.push(&own, &there, 0..length),
                }
            }
            .ok()
        }),
        Some(What::Accumulate) if length <= BOTH_OPERANDS as u64 => {
            static ROOM: Mutex<Vec<u8>> = Mutex::new(Vec::new());
            let mut room = ROOM.lock().unwrap_or_else(PoisonError::into_inner);
            room.resize(BOTH_OPERANDS, 0);
            let operands = room.as_mut_ptr();
            // SAFETY: the room has so many bytes, and is ours.
            unsafe {
                let pulled = transfer.pull(&there, &Layout::local(operands, length), 0..length);
                let done = pulled.is_ok()
                    && execute::do_at(wanted, at, length, operands, length as usize, std::ptr::null_mut());
                done.then_some(())
            }
        }
        _ => None,
    };
    if done.is_some() {
        counters::CMA_BYTES.add_anywhere(length);
    }
    done.is_some()
}

/// The transfer from and to the memory of a process of this node; `None`: there is none. Not the engine's: a serving thread may be inside it,
/// and may not.
fn transfer_to(peer: u32) -> Option<&'static dyn Transfer> {
    type Known = OnceLock<Option<&'static dyn Transfer>>;
    static ALL: OnceLock<Box<[Known]>> = OnceLock::new();
    let segment = home().ok()?.segment;
    let all = ALL.get_or_init(|| (0..segment.ranks()).map(|_| Known::new()).collect());
    let known = all.get(peer as usize)?;
    if let Some(known) = known.get() {
        return *known;
    }
    let found = match access::probe(segment, peer) {
        Probed::NotYet => return None,
        Probed::Yes(transfer) => Some(transfer),
        Probed::No => None,
    };
    *known.get_or_init(|| found)
}
