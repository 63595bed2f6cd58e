//! Who gets a message: posted receives and unexpected messages (MPI-5.0 §3.5).
//!
//! Both sides hash on (context, source, tag), so a specific source and tag costs the same among thousands. Receives
//! with a wildcard stand in one list of their own, in posting order; a sequence number decides between the two. While
//! no wildcard is posted, none is looked for.

use crate::ops::{NONE, Ops};
use crate::types::ContextId;

/// What hashing sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    pub context: ContextId,
    pub from: u32,
    pub tag: i32,
}

impl Key {
    #[inline]
    fn bin(self, bins: usize) -> usize {
        let mixed = (u64::from(self.context.0) << 32 | u64::from(self.tag as u32))
            .wrapping_add(u64::from(self.from).wrapping_mul(0x9e37_79b9_7f4a_7c15))
            .wrapping_mul(0xd6e8_feb8_6659_fd93);
        (mixed >> 40) as usize & (bins - 1)
    }
}

/// What a receive or probe asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pattern {
    pub context: ContextId,
    pub from: Option<u32>,
    pub tag: Option<i32>,
}

impl Pattern {
    #[inline]
    pub fn matches(self, key: Key) -> bool {
        self.context == key.context
            && self.from.is_none_or(|from| from == key.from)
            && self.tag.is_none_or(|tag| tag == key.tag)
    }

    /// The key, if there is no wildcard.
    #[inline]
    fn exact(self) -> Option<Key> {
        Some(Key {
            context: self.context,
            from: self.from?,
            tag: self.tag?,
        })
    }
}

#[derive(Debug, Clone, Copy)]
struct List {
    first: u32,
    last: u32,
}

const EMPTY: List = List {
    first: NONE,
    last: NONE,
};
const FIRST_BINS: usize = 64;

/// Receives that wait for a message.
#[derive(Debug)]
pub struct Posted {
    bins: Vec<List>,
    wild: List,
    exact: usize,
    sequence: u64,
}

impl Default for Posted {
    fn default() -> Self {
        Self {
            bins: vec![EMPTY; FIRST_BINS],
            wild: EMPTY,
            exact: 0,
            sequence: 0,
        }
    }
}

impl Posted {
    /// Append the receive at `index`, whose pattern is filled in.
    #[inline]
    pub fn post(&mut self, ops: &mut Ops, index: u32) {
        self.sequence += 1;
        ops[index].sequence = self.sequence;
        match pattern(ops, index).exact() {
            Some(key) => {
                self.exact += 1;
                if self.exact > 2 * self.bins.len() {
                    self.rehash(ops);
                }
                let bin = key.bin(self.bins.len());
                append(&mut self.bins[bin], ops, index);
            }
            None => append(&mut self.wild, ops, index),
        }
    }

    /// Take out the receive that a message with this key goes to.
    #[inline]
    pub fn take(&mut self, ops: &mut Ops, key: Key) -> Option<u32> {
        let found = self.find(ops, key)?;
        self.remove(ops, found);
        Some(found)
    }

    /// The receive that a message with this key goes to: the first posted that matches.
    #[inline]
    pub fn find(&self, ops: &Ops, key: Key) -> Option<u32> {
        let mut found = NONE;
        if self.exact > 0 {
            found = self.bins[key.bin(self.bins.len())].first;
            while found != NONE && !pattern(ops, found).matches(key) {
                found = ops[found].next;
            }
        }
        let mut wild = self.wild.first;
        while wild != NONE && (found == NONE || ops[wild].sequence < ops[found].sequence) {
            if pattern(ops, wild).matches(key) {
                return Some(wild);
            }
            wild = ops[wild].next;
        }
        (found != NONE).then_some(found)
    }

    /// Take out the receive at `index`.
    pub fn remove(&mut self, ops: &mut Ops, index: u32) {
        match pattern(ops, index).exact() {
            Some(key) => {
                self.exact -= 1;
                let bin = key.bin(self.bins.len());
                unlink(&mut self.bins[bin], ops, index);
            }
            None => unlink(&mut self.wild, ops, index),
        }
    }

    #[cold]
    fn rehash(&mut self, ops: &mut Ops) {
        let bins = self.bins.len() * 4;
        let old = std::mem::replace(&mut self.bins, vec![EMPTY; bins]);
        for list in old {
            let mut index = list.first;
            while index != NONE {
                let next = ops[index].next;
                let key = pattern(ops, index).exact().expect("bins hold no wildcards");
                append(&mut self.bins[key.bin(bins)], ops, index);
                index = next;
            }
        }
    }
}

#[inline]
fn pattern(ops: &Ops, index: u32) -> Pattern {
    let op = &ops[index];
    Pattern {
        context: op.context,
        from: op.from,
        tag: op.tag,
    }
}

#[inline]
fn append(list: &mut List, ops: &mut Ops, index: u32) {
    ops[index].next = NONE;
    ops[index].previous = list.last;
    match list.last {
        NONE => list.first = index,
        last => ops[last].next = index,
    }
    list.last = index;
}

#[inline]
fn unlink(list: &mut List, ops: &mut Ops, index: u32) {
    let (previous, next) = (ops[index].previous, ops[index].next);
    match previous {
        NONE => list.first = next,
        previous => ops[previous].next = next,
    }
    match next {
        NONE => list.last = previous,
        next => ops[next].previous = previous,
    }
}

/// A place in both lists of [`Unexpected`].
#[derive(Debug)]
struct Entry<T> {
    key: Key,
    value: Option<T>,
    /// Neighbours in arrival order: of everything, and of the bin.
    all: (u32, u32),
    bin: (u32, u32),
}

/// Messages that wait for a receive, in order of arrival.
#[derive(Debug)]
pub struct Unexpected<T> {
    entries: Vec<Entry<T>>,
    free: Vec<u32>,
    bins: Vec<List>,
    all: List,
    count: usize,
}

impl<T> Default for Unexpected<T> {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            free: Vec::new(),
            bins: vec![EMPTY; FIRST_BINS],
            all: EMPTY,
            count: 0,
        }
    }
}

impl<T> Unexpected<T> {
    /// Append a message; where it is.
    pub fn push(&mut self, key: Key, value: T) -> u32 {
        let index = self.free.pop().unwrap_or(self.entries.len() as u32);
        let entry = Entry {
            key,
            value: Some(value),
            all: (NONE, NONE),
            bin: (NONE, NONE),
        };
        match self.entries.get_mut(index as usize) {
            Some(place) => *place = entry,
            None => self.entries.push(entry),
        }
        self.entries[index as usize].all = (self.all.last, NONE);
        match self.all.last {
            NONE => self.all.first = index,
            last => self.entries[last as usize].all.1 = index,
        }
        self.all.last = index;
        self.count += 1;
        if self.count > 2 * self.bins.len() {
            self.rehash();
        } else {
            self.link_bin(index);
        }
        index
    }

    /// The first message that matches.
    #[inline]
    pub fn find(&self, wanted: Pattern) -> Option<u32> {
        if self.count == 0 {
            return None;
        }
        let exact = wanted.exact();
        let mut index = match exact {
            Some(key) => self.bins[key.bin(self.bins.len())].first,
            None => self.all.first,
        };
        while index != NONE {
            let entry = &self.entries[index as usize];
            if wanted.matches(entry.key) {
                return Some(index);
            }
            index = if exact.is_some() { entry.bin.1 } else { entry.all.1 };
        }
        None
    }

    /// The message at `index`.
    pub fn get_mut(&mut self, index: u32) -> (Key, &mut T) {
        let entry = &mut self.entries[index as usize];
        (entry.key, entry.value.as_mut().expect("a linked entry has its message"))
    }

    /// Take out the first message that `wanted` says yes to. False: there is none.
    pub fn take_if(&mut self, wanted: impl Fn(&T) -> bool) -> bool {
        let mut index = self.all.first;
        while index != NONE {
            let entry = &self.entries[index as usize];
            if entry.value.as_ref().is_some_and(&wanted) {
                self.remove(index);
                return true;
            }
            index = entry.all.1;
        }
        false
    }

    /// Take out all messages that `wanted` says yes to, asked with where they are.
    pub fn take_all(&mut self, wanted: impl Fn(u32, Key, &T) -> bool) -> Vec<(Key, T)> {
        let mut found = Vec::new();
        let mut index = self.all.first;
        while index != NONE {
            let entry = &self.entries[index as usize];
            let next = entry.all.1;
            if entry
                .value
                .as_ref()
                .is_some_and(|value| wanted(index, entry.key, value))
            {
                found.push(self.remove(index));
            }
            index = next;
        }
        found
    }

    /// Take the message at `index` out.
    pub fn remove(&mut self, index: u32) -> (Key, T) {
        let entry = &mut self.entries[index as usize];
        let (key, value) = (entry.key, entry.value.take().expect("a linked entry has its message"));
        let (all, bin) = (entry.all, entry.bin);
        match all.0 {
            NONE => self.all.first = all.1,
            previous => self.entries[previous as usize].all.1 = all.1,
        }
        match all.1 {
            NONE => self.all.last = all.0,
            next => self.entries[next as usize].all.0 = all.0,
        }
        let bins = self.bins.len();
        let list = &mut self.bins[key.bin(bins)];
        match bin.0 {
            NONE => list.first = bin.1,
            previous => self.entries[previous as usize].bin.1 = bin.1,
        }
        match bin.1 {
            NONE => list.last = bin.0,
            next => self.entries[next as usize].bin.0 = bin.0,
        }
        self.count -= 1;
        self.free.push(index);
        (key, value)
    }

    fn link_bin(&mut self, index: u32) {
        let bins = self.bins.len();
        let list = &mut self.bins[self.entries[index as usize].key.bin(bins)];
        let last = list.last;
        list.last = index;
        match last {
            NONE => list.first = index,
            last => self.entries[last as usize].bin.1 = index,
        }
        self.entries[index as usize].bin = (last, NONE);
    }

    /// Four times the bins; order of arrival is kept within each.
    #[cold]
    fn rehash(&mut self) {
        self.bins = vec![EMPTY; self.bins.len() * 4];
        let mut index = self.all.first;
        while index != NONE {
            self.link_bin(index);
            index = self.entries[index as usize].all.1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::Buffer;
    use crate::ops::Stage;

    fn key(from: u32, tag: i32) -> Key {
        Key {
            context: ContextId(2),
            from,
            tag,
        }
    }

    fn wanted(from: Option<u32>, tag: Option<i32>) -> Pattern {
        Pattern {
            context: ContextId(2),
            from,
            tag,
        }
    }

    fn post(posted: &mut Posted, ops: &mut Ops, from: Option<u32>, tag: Option<i32>) -> u32 {
        let index = ops.allocate(Stage::Posted, Buffer::NOWHERE, 0).expect("room");
        let op = &mut ops[index];
        (op.context, op.from, op.tag) = (ContextId(2), from, tag);
        posted.post(ops, index);
        index
    }

    #[test]
    fn posting_order_decides_between_wildcards_and_specific_receives() {
        let (mut posted, mut ops) = (Posted::default(), Ops::default());
        let first = post(&mut posted, &mut ops, Some(1), Some(5));
        let any = post(&mut posted, &mut ops, None, Some(5));
        let last = post(&mut posted, &mut ops, Some(1), Some(5));
        assert_eq!(posted.take(&mut ops, key(1, 6)), None);
        assert_eq!(posted.take(&mut ops, key(1, 5)), Some(first));
        assert_eq!(posted.take(&mut ops, key(1, 5)), Some(any));
        assert_eq!(posted.take(&mut ops, key(1, 5)), Some(last));
        assert_eq!(posted.take(&mut ops, key(1, 5)), None);
    }

    #[test]
    fn thousands_of_receives_survive_rehashing_and_removal() {
        let (mut posted, mut ops) = (Posted::default(), Ops::default());
        let all: Vec<u32> = (0..5000)
            .map(|tag| post(&mut posted, &mut ops, Some(3), Some(tag)))
            .collect();
        for &index in all.iter().step_by(2) {
            posted.remove(&mut ops, index);
        }
        for tag in (0..5000).rev() {
            let expected = (tag % 2 == 1).then(|| all[tag as usize]);
            assert_eq!(posted.take(&mut ops, key(3, tag)), expected);
        }
    }

    #[test]
    fn unexpected_messages_keep_their_order() {
        let mut unexpected = Unexpected::default();
        for i in 0..3000 {
            unexpected.push(key(i % 7, (i % 5) as i32), i);
        }
        // The model: the first in arrival order that matches.
        let mut model: Vec<(Key, u32)> = (0..3000).map(|i| (key(i % 7, (i % 5) as i32), i)).collect();
        let patterns = [
            (Some(3), Some(2)),
            (None, Some(1)),
            (Some(6), None),
            (None, None),
            (Some(9), Some(9)),
        ];
        for round in 0..3000 {
            let (from, tag) = patterns[round % patterns.len()];
            let pattern = wanted(from, tag);
            let expected = model
                .iter()
                .position(|(key, _)| pattern.matches(*key))
                .map(|at| model.remove(at).1);
            let found = unexpected.find(pattern).map(|index| unexpected.remove(index).1);
            assert_eq!(found, expected);
        }
    }
}
