//! Messages that matched probes have taken out of matching, by names that are noticed when they are stale.

use crate::matching::queues::Key;
use crate::matching::unexpected::Unexpected;
use crate::ops::{GENERATION_MASK, INDEX_BITS, INDEX_MASK};
use crate::types::{ContextId, MessageId};
use crate::{Error, Result};

/// Until they are received.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    slots: Vec<Slot>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct Slot {
    generation: u32,
    message: Option<(Key, Unexpected)>,
}

impl Taken {
    /// See to it that there is room for one more.
    #[inline]
    pub fn reserve(&self) -> Result<()> {
        if self.free.is_empty() && self.slots.len() as u32 >= INDEX_MASK {
            return Err(Error::NoMemory(
                "half a million messages taken by matched probes".into(),
            ));
        }
        Ok(())
    }

    /// Keep one. There must be room.
    pub fn keep(&mut self, key: Key, message: Unexpected) -> MessageId {
        let at = match self.free.pop() {
            Some(at) => at,
            None => {
                self.slots.push(Slot {
                    generation: 0,
                    message: None,
                });
                self.slots.len() as u32 - 1
            }
        };
        let slot = &mut self.slots[at as usize];
        slot.message = Some((key, message));
        MessageId(slot.generation << INDEX_BITS | (at + 1))
    }

    /// Where the message lies, which is not received yet.
    #[inline]
    pub fn place(&self, message: MessageId) -> Option<u32> {
        let at = (message.0 & INDEX_MASK).wrapping_sub(1);
        let slot = self.slots.get(at as usize)?;
        (slot.generation == message.0 >> INDEX_BITS && slot.message.is_some()).then_some(at)
    }

    /// Take out the message that lies there.
    pub fn remove(&mut self, at: u32) -> Option<(Key, Unexpected)> {
        let slot = self.slots.get_mut(at as usize)?;
        let message = slot.message.take()?;
        slot.generation = (slot.generation + 1) & GENERATION_MASK;
        self.free.push(at);
        Some(message)
    }

    /// The message that lies there.
    #[inline]
    pub fn get(&self, at: u32) -> Option<&(Key, Unexpected)> {
        self.slots.get(at as usize)?.message.as_ref()
    }

    /// As [`Self::get`].
    pub fn get_mut(&mut self, at: u32) -> Option<&mut Unexpected> {
        let (_, message) = self.slots.get_mut(at as usize)?.message.as_mut()?;
        Some(message)
    }

    /// All of them, with their places.
    pub fn all(&mut self) -> impl Iterator<Item = (u32, Key, &mut Unexpected)> {
        let messages = (0..).zip(&mut self.slots);
        messages.filter_map(|(at, slot)| slot.message.as_mut().map(|(key, message)| (at, *key, message)))
    }

    /// Is one of this message space?
    pub fn has_any(&self, context: ContextId) -> bool {
        let mut messages = self.slots.iter().filter_map(|slot| slot.message.as_ref());
        messages.any(|(key, _)| key.context == context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: Key = Key {
        context: ContextId(1),
        from: 3,
        tag: 5,
    };

    fn lost() -> Unexpected {
        Unexpected::Lost { source: 0 }
    }

    #[test]
    fn a_message_is_received_once() {
        let mut taken = Taken::default();
        let first = taken.keep(KEY, lost());
        let second = taken.keep(KEY, lost());
        assert_ne!(first, second);
        let at = taken.place(first).expect("it was taken");
        assert!(taken.get(at).is_some() && taken.has_any(KEY.context) && !taken.has_any(ContextId(2)));
        assert!(taken.remove(at).is_some());
        assert_eq!(taken.place(first), None);
        assert!(taken.remove(at).is_none() && taken.get(at).is_none());
        let again = taken.keep(KEY, lost());
        assert_eq!(taken.place(again), Some(at), "its place is free again");
        assert_eq!(taken.place(first), None, "another generation");
        assert_eq!(taken.all().map(|(at, ..)| at).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(taken.place(MessageId(0)), None);
        assert_eq!(taken.place(MessageId(INDEX_MASK)), None);
    }
}
