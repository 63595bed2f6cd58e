//! Operations in flight: one slab, links for the matching lists inside.

use std::mem::offset_of;
use std::ops::{Index, IndexMut};
use std::time::Duration;

use isthmus_shm::Offset;
use isthmus_transfer::copy::Copying;

use crate::data_path::{CostSample, DataPath};
use crate::memory::buffer::Buffer;
use crate::types::{Arrival, ContextId, OpId, Outcome};
use crate::{Error, Result};

const INDEX_BITS: u32 = 19;
const INDEX_MASK: u32 = (1 << INDEX_BITS) - 1;
const GENERATION_MASK: u32 = 0x7f;
/// No operation.
pub const NONE: u32 = u32::MAX;

/// What an operation is waiting for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The slot is free.
    Free,
    /// A receive in the posted list.
    Posted,
    /// A message is taken and its bytes are on their way.
    Receiving {
        /// Bytes that arrived.
        received: u64,
        /// Bytes that the buffer takes, after truncation.
        expected: u64,
    },
    /// A send whose bytes go out with the queue of its peer.
    Queued,
    /// A send that is announced.
    Offered,
    /// A send to ourselves that waits for its receive.
    Loopback,
    /// Done; the outcome is there.
    Complete,
}

/// The owner of an operation's outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// The call that started it, or what that call has left behind.
    Library,
    /// The user, who has its name.
    User,
    /// Nobody: it is freed when it is complete.
    Nobody,
}

/// An operation. What posting a receive, matching it and taking its outcome read is in its first two lines.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Op {
    pub stage: Stage,
    pub from: Option<u32>,
    pub tag: Option<i32>,
    /// Its message space. Receives: what to match.
    pub context: ContextId,
    /// Neighbours in the posted list it is in.
    pub next: u32,
    pub previous: u32,
    generation: u32,
    /// Sends: the receiver. Receives of messages in pieces or by rendezvous: the sender.
    pub to: u32,
    pub owner: Owner,
    /// The user's buffer.
    pub buffer: Buffer,
    pub length: usize,
    /// Posting order.
    pub sequence: u64,
    pub outcome: Outcome,
    /// Receives: bytes that come in pieces before the message is whole; more than fit if it is truncated.
    pub wire: u64,
    /// Receives of announced messages, if there is something to learn from them: what they cost.
    pub sample: Option<CostSample>,
    /// If the message does not lie in a row at one end: when it began.
    pub began: Option<Duration>,
    /// The way that was chosen. The time of the rest counts for one that fails, too.
    pub path: DataPath,
    /// Announced sends: the descriptor.
    pub descriptor: Option<Offset>,
}

const _: () = assert!(offset_of!(Op, buffer) == 64 && offset_of!(Op, sample) == 128 && size_of::<Op>() == 192);

/// All operations of the process.
#[derive(Debug, Default)]
pub struct Ops {
    slots: Vec<Op>,
    free: Vec<u32>,
    /// Something has happened that a thread may wait for, since those were looked after who do.
    pub has_events: bool,
}

impl Ops {
    /// A new operation, in whose index the caller fills in the rest.
    #[inline]
    pub fn allocate(&mut self, stage: Stage, buffer: Buffer, length: usize) -> Result<u32> {
        let index = match self.free.pop() {
            Some(index) => index,
            None => self.grow()?,
        };
        let op = &mut self.slots[index as usize];
        op.stage = stage;
        op.owner = Owner::Library;
        op.buffer = buffer;
        op.length = length;
        Ok(index)
    }

    #[cold]
    fn grow(&mut self) -> Result<u32> {
        let index = self.slots.len() as u32;
        if index >= INDEX_MASK {
            return Err(no_room());
        }
        self.slots.push(Op {
            stage: Stage::Free,
            generation: 0,
            owner: Owner::Library,
            outcome: Outcome::default(),
            buffer: Buffer::NOWHERE,
            length: 0,
            wire: 0,
            sample: None,
            began: None,
            path: DataPath::Ring(Copying::Vector),
            context: ContextId(0),
            from: None,
            tag: None,
            sequence: 0,
            next: NONE,
            previous: NONE,
            descriptor: None,
            to: 0,
        });
        Ok(index)
    }

    /// How many there are, free ones included.
    pub fn len(&self) -> u32 {
        self.slots.len() as u32
    }

    /// See to it that there is room for one more.
    #[inline]
    pub fn reserve(&self) -> Result<()> {
        if self.free.is_empty() && self.len() >= INDEX_MASK {
            return Err(no_room());
        }
        Ok(())
    }

    /// Those that are live.
    pub fn live(&self) -> impl Iterator<Item = &Op> {
        let any = self.free.len() < self.slots.len();
        let slots = if any { self.slots.as_slice() } else { &[] };
        slots.iter().filter(|op| op.stage != Stage::Free)
    }

    /// The public name of a live operation.
    #[inline]
    pub fn id(&self, index: u32) -> OpId {
        OpId(self.slots[index as usize].generation << INDEX_BITS | (index + 1))
    }

    /// The owner of a live operation from now on.
    #[inline]
    pub fn set_owner(&mut self, id: OpId, owner: Owner) {
        debug_assert!(self.find(id).is_some());
        self.slots[index_of(id) as usize].owner = owner;
    }

    /// The index behind a name, if the operation is still there.
    #[inline]
    pub fn find(&self, id: OpId) -> Option<u32> {
        let index = index_of(id);
        let op = self.slots.get(index as usize)?;
        (op.stage != Stage::Free && op.generation == id.0 >> INDEX_BITS).then_some(index)
    }

    /// The operation is done.
    #[inline]
    pub fn complete(&mut self, index: u32, outcome: Outcome) {
        self.slots[index as usize].outcome = outcome;
        self.complete_as_is(index);
    }

    /// Complete a send, or a receive whose arrival is known already.
    #[inline]
    pub fn complete_as_is(&mut self, index: u32) {
        let op = &mut self.slots[index as usize];
        op.stage = Stage::Complete;
        self.has_events = true;
        if op.owner == Owner::Nobody {
            self.release(index);
        }
    }

    /// Free the slot; its name is stale from now on.
    #[inline]
    pub fn release(&mut self, index: u32) {
        let op = &mut self.slots[index as usize];
        op.stage = Stage::Free;
        op.generation = (op.generation + 1) & GENERATION_MASK;
        self.free.push(index);
    }

    /// A receive took a message: what it will report.
    #[inline]
    pub fn matched(&mut self, index: u32, source: i32, tag: i32, total: u64) -> u64 {
        let op = &mut self.slots[index as usize];
        let expected = total.min(op.length as u64);
        op.outcome = Outcome {
            arrival: Arrival {
                source,
                tag,
                bytes: expected,
            },
            truncated: expected < total,
            ..Outcome::default()
        };
        op.stage = Stage::Receiving { received: 0, expected };
        op.wire = total;
        expected
    }
}

#[inline]
fn index_of(id: OpId) -> u32 {
    (id.0 & INDEX_MASK).wrapping_sub(1)
}

#[cold]
fn no_room() -> Error {
    Error::NoMemory("half a million operations in flight".into())
}

impl Index<u32> for Ops {
    type Output = Op;
    #[inline]
    fn index(&self, index: u32) -> &Op {
        &self.slots[index as usize]
    }
}

impl IndexMut<u32> for Ops {
    #[inline]
    fn index_mut(&mut self, index: u32) -> &mut Op {
        &mut self.slots[index as usize]
    }
}

// SAFETY: the buffers are the user's; only the thread inside the engine uses them.
unsafe impl Send for Ops {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stale_names_are_noticed() {
        let mut ops = Ops::default();
        let index = ops.allocate(Stage::Posted, Buffer::NOWHERE, 0).expect("room");
        let id = ops.id(index);
        assert_eq!(ops.find(id), Some(index));
        ops.release(index);
        assert_eq!(ops.find(id), None);
        let again = ops.allocate(Stage::Posted, Buffer::NOWHERE, 0).expect("room");
        assert_eq!(again, index);
        assert_eq!(ops.find(id), None, "another generation");
        assert_eq!(ops.find(OpId(u32::MAX)), None);
    }

    #[test]
    fn operations_of_nobody_free_themselves() {
        let mut ops = Ops::default();
        let index = ops.allocate(Stage::Queued, Buffer::NOWHERE, 0).expect("room");
        let id = ops.id(index);
        ops[index].owner = Owner::Nobody;
        ops.complete_as_is(index);
        assert_eq!(ops.find(id), None);
    }
}
