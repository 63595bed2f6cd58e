//! Records that wait for room in the ring: answers first, then messages, first in, first out.

use isthmus_transfer::Direction;
use isthmus_transfer::copy::Copying;

use super::RESERVED;
use super::pieces::{Payload, piece};
use super::{Message, Outbound};
use crate::channel::cells::{self, Cell};
use crate::channel::record::{
    Advertised, CallFailed, ClearToSend, Data, EagerMore, Fed, Finished, Handler, Help, ReadyToSend,
};
use crate::counters;
use crate::fault;
use crate::limits::ONE_RECORD;
use crate::memory::buffer::Buffer;
use crate::types::{ContextId, OpId};

/// Something that waits for room.
#[derive(Debug)]
pub enum Queued {
    /// An eager message of which `sent` bytes are out (none: not even its envelope).
    Eager {
        op: u32,
        message: Message,
        /// And whether to measure it.
        copying: (Copying, bool),
        begun: bool,
        sent: usize,
        /// Where its bytes go, if it has begun in a cell.
        cell: Option<Cell>,
    },
    /// An announcement.
    Announcement { context: ContextId, record: ReadyToSend },
    /// Pieces of an announced message, from `next` to `end`.
    Stream {
        op: u32,
        receive_op: u32,
        copying: Copying,
        buffer: Buffer,
        next: usize,
        end: usize,
    },
}

/// An answer to a peer's announcement, or something else that goes before messages.
#[derive(Debug, Clone, Copy)]
pub enum Answer {
    ClearToSend(ClearToSend),
    Finished(Finished),
    Help(Help),
    Advertised(ContextId, Advertised),
    CallFailed(ContextId, CallFailed),
    Fed(Fed),
    Withdraw(Finished),
    Withdrawn(Finished),
}

impl Outbound {
    /// Queue a message or announcement behind what waits already.
    pub fn push(&mut self, queued: Queued) {
        self.queue.push_back(queued);
    }

    /// Take a message that waits for room, and of which nothing is out, from the queue.
    pub fn withdraw(&mut self, wanted: u32) -> bool {
        let at = self
            .queue
            .iter()
            .position(|queued| matches!(queued, Queued::Eager { op, begun: false, .. } if *op == wanted));
        at.is_some_and(|at| self.queue.remove(at).is_some())
    }

    /// Take the announcement of this operation from the queue, if it waits for room there.
    pub fn withdraw_announcement(&mut self, send_op: u32) -> bool {
        let ours = |queued: &Queued| matches!(queued, Queued::Announcement { record, .. } if record.send_op == send_op);
        let at = self.queue.iter().position(ours);
        at.is_some_and(|at| self.queue.remove(at).is_some())
    }

    /// The first message that waits for room, if nothing of it is out: to be announced instead.
    pub fn first_unbegun(&mut self) -> Option<(u32, Message)> {
        match self.queue.front() {
            Some(Queued::Eager {
                op,
                message,
                begun: false,
                ..
            }) => Some((*op, *message)),
            _ => None,
        }
    }

    /// Put an announcement in place of the first message of the queue.
    pub fn replace_first(&mut self, queued: Queued) {
        self.queue.pop_front();
        self.queue.push_front(queued);
    }

    /// The peer has died: nothing of what waits here goes out.
    pub fn abandon(&mut self) {
        self.answers.clear();
        for queued in self.queue.drain(..) {
            if let Queued::Eager { begun: true, cell, .. } = queued {
                self.cells.take_back(cell);
            }
        }
        self.orders.forget();
    }

    /// Answers that wait for room.
    pub fn unanswered(&self) -> usize {
        self.answers.len()
    }

    /// Queue an answer before everything else.
    pub fn answer(&mut self, answer: Answer) {
        self.answers.push_back(answer);
    }

    /// Write what there is room for; with `hold`, no message of which nothing is out yet. Operations whose buffers are free
    /// now go to `done`. True: something was written.
    pub fn flush(&mut self, done: &mut Vec<u32>, hold: bool) -> bool {
        let mut wrote = false;
        while let Some(&answer) = self.answers.front() {
            let written = match answer {
                Answer::ClearToSend(fixed) => self.put(Handler::ClearToSend, 0, fixed, Payload::NOTHING, 0),
                Answer::Help(fixed) => self.put(Handler::Help, 0, fixed, Payload::NOTHING, 0),
                Answer::Advertised(context, fixed) => {
                    self.put(Handler::Advertised, context.0, fixed, Payload::NOTHING, 0)
                }
                Answer::CallFailed(context, fixed) => {
                    self.put(Handler::CallFailed, context.0, fixed, Payload::NOTHING, 0)
                }
                Answer::Fed(fixed) => self.put(Handler::Fed, 0, fixed, Payload::NOTHING, 0),
                Answer::Finished(fixed) => self.put(Handler::Finished, 0, fixed, Payload::NOTHING, 0),
                Answer::Withdraw(fixed) => self.put(Handler::Withdraw, 0, fixed, Payload::NOTHING, 0),
                Answer::Withdrawn(fixed) => self.put(Handler::Withdrawn, 0, fixed, Payload::NOTHING, 0),
            };
            if !written {
                return wrote;
            }
            wrote = true;
            self.answers.pop_front();
        }
        while !(hold && self.first_unbegun().is_some()) {
            let Some(mut queued) = self.queue.pop_front() else {
                break;
            };
            let (progressed, finished) = self.advance(&mut queued);
            wrote |= progressed;
            match finished {
                Some(op) => done.extend(op),
                None => {
                    self.queue.push_front(queued);
                    break;
                }
            }
        }
        wrote
    }

    /// (whether something was written, `Some` once all of it is: with the operation that is done, if any)
    pub(super) fn advance(&mut self, queued: &mut Queued) -> (bool, Option<Option<u32>>) {
        let longest = self.longest();
        let mut wrote = false;
        match queued {
            Queued::Announcement { context, record } => {
                let put = self.put(Handler::ReadyToSend, context.0, *record, Payload::NOTHING, RESERVED);
                if put {
                    let op = OpId(record.send_op);
                    self.orders
                        .sent_announcement(op, *context, record.envelope.tag, record.address != 0);
                }
                (put, put.then_some(None))
            }
            Queued::Eager {
                op,
                message,
                copying,
                begun,
                sent,
                cell,
            } => {
                if !*begun && message.length <= ONE_RECORD.min(longest) {
                    let put = self.put_whole(*message);
                    return (put, put.then_some(Some(*op)));
                }
                if !*begun {
                    *cell = self.cells.fitting(message.length);
                }
                loop {
                    let rest = message.length - *sent;
                    if *begun && rest == 0 {
                        return (wrote, Some(Some(*op)));
                    }
                    let now = match cell {
                        Some(_) => cells::piece(message.length).min(rest),
                        None => piece(copying.0, message.length, rest).min(longest),
                    };
                    let put = if let Some(cell) = *cell {
                        self.put_in_cell(cell, *message, *sent)
                    } else if *begun {
                        let piece = Payload {
                            buffer: message.buffer,
                            from: *sent,
                            length: now,
                        };
                        self.put_by(copying.0, Handler::EagerMore, piece, |ticks| EagerMore {
                            ticks: ticks.into(),
                            zero: [0; 2],
                        })
                    } else {
                        self.put_first(*copying, *message, now)
                    };
                    if !put {
                        return (wrote, None);
                    }
                    wrote = true;
                    self.pieces = self.pieces.wrapping_add(1);
                    *begun = true;
                    *sent += now;
                }
            }
            Queued::Stream {
                op,
                receive_op,
                copying,
                buffer,
                next,
                end,
            } => {
                while next < end {
                    let now = piece(*copying, *end, *end - *next).min(longest);
                    let piece = Payload {
                        buffer: *buffer,
                        from: *next,
                        length: now,
                    };
                    let put = self.put_by(*copying, Handler::Data, piece, |ticks| {
                        fault::strike_piece(Direction::Push);
                        Data {
                            receive_op: *receive_op,
                            ticks,
                            offset: *next as u64,
                            zero_too: 0,
                        }
                    });
                    if !put {
                        return (wrote, None);
                    }
                    counters::RING_BYTES.add(now as u64);
                    self.pieces = self.pieces.wrapping_add(1);
                    wrote = true;
                    *next += now;
                }
                (wrote, Some(Some(*op)))
            }
        }
    }
}
