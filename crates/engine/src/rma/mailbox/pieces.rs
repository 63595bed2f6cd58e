//! Operations in pieces: through bounce buffers of the origin, or by copies of the kernel from or to its own memory.

use std::ops::Range;

use isthmus_shm::backoff::{LOOKS_AT_COPY, LOOKS_AT_PIECE};
use isthmus_shm::mailbox::Turn;

use super::{AT_ORIGIN, Asked, End, IN_BUFFER, Mailboxes, Request, room_of};
use crate::Result;
use crate::limits::{
    ALONE_DEAR_FROM, BOUNCE_BUFFER, BOX_BYTES, BOX_PIECE_LEAST, BOX_PIECES, BOXES_AT_A_TIME, PIECES_MISSED, WAKE_FROM,
};
use crate::rma::bounce;
use crate::rma::execute::What;
use crate::rma::protocols::is_short;
use crate::rma::target::Target;
use crate::rma::{ProcessContext, home};

/// A piece that was asked for.
#[derive(Debug)]
struct AskedPiece {
    /// Its box.
    index: usize,
    turn: Turn,
    part: Range<u64>,
    results: *mut u8,
}

/// How an operation in pieces has gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::rma) enum Outcome {
    /// The target is away, and nothing was done.
    Not,
    Done,
    /// It took longer than others will: its data went through memory that is still being added to, which cost so much of the time, in
    /// [`isthmus_os::clock::ticks`].
    DoneSlowly(u64),
}

/// Have the target do an operation on the bytes `range` of those from `at` on, piece by piece. `fill` writes the operands of a
/// range, `read` takes its results, and `otherwise` does the operation on a range that the target did not. Elements of
/// `width` bytes are not cut; rows, where `asked` is for such, are the elements.
///
/// # Errors
/// As for [`ask`](super::ask), or of what `otherwise` does.
pub(in crate::rma) fn ask_in_pieces(
    target: &Target,
    asked: Asked<'_>,
    at: u64,
    range: Range<u64>,
    width: u64,
    sides: &mut Sides<'_>,
) -> Result<Outcome> {
    let Some(boxes) = target.mailboxes() else {
        return Ok(Outcome::Not);
    };
    let length = range.end - range.start;
    let home = home()?;
    let is_given = !matches!(asked.what, What::Get);
    let is_wanted = matches!(asked.what, What::Get | What::GetAccumulate);
    let is_short = is_short(length as usize);
    if !boxes.is_ready(target, asked, length) {
        return Ok(Outcome::Not);
    }
    let mut buffers = if is_short { None } else { bounce::claim(BOXES_AT_A_TIME) };
    let room = room_of(
        is_given,
        is_wanted,
        if buffers.is_some() { BOUNCE_BUFFER } else { BOX_BYTES },
    ) as u64;
    let piece = (length / BOX_PIECES).clamp(BOX_PIECE_LEAST, room) / width * width;
    // Of buffers of which there are not all yet.
    let costs = buffers
        .as_ref()
        .filter(|buffers| !buffers.is_complete())
        .map(|buffers| buffers.costs());
    let mut flying = [const { None::<AskedPiece> }; BOXES_AT_A_TIME];
    let (mut next, mut head, mut count, mut any) = (range.start, 0, 0, false);
    let mut failed = None;
    let (mut is_away, mut missed) = (false, 0);
    loop {
        while count < BOXES_AT_A_TIME && next < range.end && failed.is_none() && !is_away {
            let Some((index, turn)) = boxes.claim(home) else { break };
            let part = next..range.end.min(next + piece);
            let length = (part.end - part.start) as usize;
            let (given, wanted) = (if is_given { length } else { 0 }, if is_wanted { length } else { 0 });
            let mut request = asked.request(target, asked.address_of(at, part.start), length, given);
            let asks = boxes.boxes[index].request();
            if let Some(rows) = asked.rows {
                boxes.set_rows(index, rows);
            }
            let (operands, results) = match &mut buffers {
                Some(buffers) => {
                    let buffer = buffers.next(given + wanted);
                    request.lies = IN_BUFFER;
                    boxes.set_beside(index, buffer.shared_address.0);
                    (buffer.at.as_ptr(), buffer.at.as_ptr().wrapping_add(given))
                }
                None => (boxes.operands(index, &request), boxes.results(index, given, wanted)),
            };
            // SAFETY: the box is ours.
            unsafe { asks.cast::<Request>().write(request) };
            if is_given {
                (sides.fill)(part.clone(), operands);
            }
            boxes.boxes[index].post(&turn);
            next = part.end;
            flying[(head + count) % BOXES_AT_A_TIME] = Some(AskedPiece {
                index,
                turn,
                part,
                results,
            });
            count += 1;
        }
        let Some(AskedPiece {
            index,
            turn,
            part,
            results,
        }) = flying[head].take()
        else {
            let may_come_back = is_away && asked.combine.is_some() && missed < PIECES_MISSED;
            if !may_come_back || next == range.end || failed.is_some() || !boxes.is_progressing() {
                break;
            }
            is_away = false;
            continue;
        };
        (head, count) = ((head + 1) % BOXES_AT_A_TIME, count - 1);
        let end = boxes.settle(home, target, index, &turn, LOOKS_AT_PIECE.count());
        // One that has lost its CPU leaves several pieces unanswered, which is one unanswered request.
        if !is_away {
            target.note(end);
        }
        if end == End::Done {
            any = true;
            if is_wanted {
                (sides.read)(part.clone(), results);
            }
        }
        if end == End::Dead {
            // Nothing more is asked for.
            if let Some(mut buffers) = buffers.take() {
                buffers.abandon();
            }
        }
        boxes.leave(index, turn, end);
        match end.into_result(target) {
            Ok(true) => {}
            Ok(false) => {
                missed += u32::from(!is_away);
                is_away = true;
                if failed.is_none() {
                    failed = (sides.otherwise)(part).err();
                }
            }
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    if let Some(error) = failed {
        return Err(error);
    }
    if !any && !is_away && next == range.start {
        return Ok(Outcome::Not);
    }
    if next < range.end {
        (sides.otherwise)(next..range.end)?;
    }
    Ok(match (costs, buffers) {
        (Some(before), Some(buffers)) => Outcome::DoneSlowly(buffers.costs() - before),
        _ => Outcome::Done,
    })
}

/// Boxes of a target that makes progress, for an operation in pieces.
#[derive(Debug)]
pub(in crate::rma) struct Asking<'a> {
    target: &'a Target,
    boxes: &'static Mailboxes,
    home: &'static ProcessContext,
}

/// A request that was asked.
#[derive(Debug)]
pub(in crate::rma) struct Posted {
    index: usize,
    turn: Turn,
}

/// Begin an operation in pieces; `None`: the target makes no progress. One that sleeps is woken for an accumulate, or for many bytes: the origin
/// alone copies fewer before the target is awake.
///
/// # Errors
/// This process has not joined a job.
pub(in crate::rma) fn begin<'a>(target: &'a Target, asked: Asked<'_>, length: u64) -> Result<Option<Asking<'a>>> {
    let Some(boxes) = target.mailboxes() else {
        return Ok(None);
    };
    let is_woken = asked.combine.is_some() || length >= ALONE_DEAR_FROM;
    if !(is_woken || boxes.is_progressing()) || !boxes.is_ready(target, asked, length) {
        return Ok(None);
    }
    Ok(Some(Asking {
        target,
        boxes,
        home: home()?,
    }))
}

impl Asking<'_> {
    /// Ask for an operation on `length` bytes at `at`, whose data is at `here` in this process. `None`: there is no box for it.
    pub fn at_origin(&self, asked: Asked<'_>, at: u64, here: u64, length: u64) -> Option<Posted> {
        let (index, turn) = self.boxes.claim(self.home)?;
        let given = if matches!(asked.what, What::Get) { 0 } else { length };
        let request = Request {
            lies: AT_ORIGIN,
            ..asked.request(self.target, at, length as usize, given as usize)
        };
        // SAFETY: the box is ours.
        unsafe { self.boxes.boxes[index].request().cast::<Request>().write(request) };
        self.boxes.set_beside(index, here);
        self.boxes.boxes[index].post(&turn);
        Some(Posted { index, turn })
    }

    /// Is it answered?
    pub fn is_over(&self, asked: &Posted) -> bool {
        self.boxes.boxes[asked.index].answer(&asked.turn).is_some()
    }

    /// Does the target make progress again, or can it be woken?
    pub fn comes_back(&self, asked: Asked<'_>, length: u64) -> bool {
        self.boxes.is_progressing() || length >= WAKE_FROM && self.boxes.wake(self.target, asked, length)
    }

    /// Wait for the answer. `is_late`: others before it were not answered either.
    ///
    /// # Errors
    /// The target has died.
    pub fn finish(&self, asked: Posted, is_late: bool) -> Result<End> {
        let Posted { index, turn } = asked;
        let end = self
            .boxes
            .settle(self.home, self.target, index, &turn, LOOKS_AT_COPY.count());
        if !is_late {
            self.target.note(end);
        }
        self.boxes.leave(index, turn, end);
        match end {
            End::Dead => Err(end.into_result(self.target).expect_err("it has died")),
            end => Ok(end),
        }
    }
}

/// What the origin does for its pieces.
pub(in crate::rma) struct Sides<'a> {
    /// Write the operands of a range to a box.
    pub fill: &'a mut dyn FnMut(Range<u64>, *mut u8),
    /// Take the results of a range from one.
    pub read: &'a mut dyn FnMut(Range<u64>, *const u8),
    /// Do the operation on a range without the target.
    pub otherwise: &'a mut dyn FnMut(Range<u64>) -> Result<()>,
}
