//! Matching: posted receives and unexpected messages (MPI-5.0 §3.5).
//!
//! Posted and unexpected entries are hashed, so that it costs the same among thousands. There are four kinds of receive, by which of
//! source and tag are wildcards, and each kind hashes on what is left: a message looks at one bin of each kind of which
//! a receive is posted, and goes to the receive that was posted first. No wildcard posted, no bin looked at.
//!
//! Unexpected messages stand in bins by context, source and tag, and in a list by arrival. A receive with a wildcard looks
//! at the first few of that list; if it must look further, they are all put into bins for receives of its kind too, until
//! none is left. So programs without wildcards pay nothing for them, and those with do not search.

use crate::ops::{NONE, Ops};
use crate::types::ContextId;

/// What a message says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    pub context: ContextId,
    pub from: u32,
    pub tag: i32,
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

    /// Its kind, and what that hashes of it.
    #[inline]
    fn split(self) -> (Wildcards, Key) {
        let kind = Wildcards(usize::from(self.from.is_none()) | usize::from(self.tag.is_none()) << 1);
        let key = Key {
            context: self.context,
            from: self.from.unwrap_or(0),
            tag: self.tag.unwrap_or(0),
        };
        (kind, key)
    }
}

/// Which of source and tag are wildcards: bits 0 and 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Wildcards(usize);

const KINDS: usize = 4;
/// No wildcard.
const EXACT: Wildcards = Wildcards(0);
/// The others.
const WILD: [Wildcards; KINDS - 1] = [Wildcards(1), Wildcards(2), Wildcards(3)];

impl Wildcards {
    /// What receives of this kind have in common with the message.
    #[inline]
    fn of(self, key: Key) -> Key {
        Key {
            from: if self.0 & 1 == 0 { key.from } else { 0 },
            tag: if self.0 & 2 == 0 { key.tag } else { 0 },
            ..key
        }
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

/// Lists by hash.
#[derive(Debug, Default)]
struct Bins {
    /// A power of two, or none yet.
    lists: Vec<List>,
    /// How many are in them.
    count: usize,
}

const FIRST_BINS: usize = 64;

impl Bins {
    #[inline]
    fn list(&mut self, key: Key) -> &mut List {
        let at = self.at(key);
        &mut self.lists[at]
    }

    /// The first in the list for `key`. Some have been put in.
    #[inline]
    fn first(&self, key: Key) -> u32 {
        self.lists[self.at(key)].first
    }

    #[inline]
    fn at(&self, key: Key) -> usize {
        let mixed = (u64::from(key.context.0) << 32 | u64::from(key.tag as u32))
            .wrapping_add(u64::from(key.from).wrapping_mul(0x9e37_79b9_7f4a_7c15))
            .wrapping_mul(0xd6e8_feb8_6659_fd93);
        (mixed >> 40) as usize & (self.lists.len() - 1)
    }

    /// Is it time for more lists before one more is put in?
    #[inline]
    fn is_full(&self) -> bool {
        self.count >= 2 * self.lists.len()
    }

    /// Four times as many lists, empty; those that there were.
    #[cold]
    fn grow(&mut self) -> Vec<List> {
        let lists = (self.lists.len() * 4).max(FIRST_BINS);
        std::mem::replace(&mut self.lists, vec![EMPTY; lists])
    }
}

/// Receives that wait for a message.
#[derive(Debug, Default)]
pub struct PostedQueue {
    kinds: [Bins; KINDS],
    /// How many have a wildcard.
    wild: usize,
    sequence: u64,
}

impl PostedQueue {
    /// Append the receive at `index`, whose pattern this is.
    #[inline]
    pub fn post(&mut self, ops: &mut Ops, index: u32, pattern: Pattern) {
        self.sequence += 1;
        ops[index].sequence = self.sequence;
        let (kind, key) = pattern.split();
        self.wild += usize::from(kind != EXACT);
        let bins = &mut self.kinds[kind.0];
        if bins.is_full() {
            rehash(bins, ops);
        }
        bins.count += 1;
        append(bins.list(key), ops, index);
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
        let mut found = self.find_of(EXACT, ops, key);
        if self.wild > 0 {
            for kind in WILD {
                if let Some(wild) = self.find_of(kind, ops, key)
                    && found.is_none_or(|found| ops[wild].sequence < ops[found].sequence)
                {
                    found = Some(wild);
                }
            }
        }
        found
    }

    /// The first posted of its kind.
    #[inline]
    fn find_of(&self, kind: Wildcards, ops: &Ops, key: Key) -> Option<u32> {
        let bins = &self.kinds[kind.0];
        if bins.count == 0 {
            return None;
        }
        let mut found = bins.first(kind.of(key));
        while found != NONE && !pattern(ops, found).matches(key) {
            found = ops[found].next;
        }
        (found != NONE).then_some(found)
    }

    /// Take out the receive at `index`.
    #[inline]
    pub fn remove(&mut self, ops: &mut Ops, index: u32) {
        let (kind, key) = pattern(ops, index).split();
        self.wild -= usize::from(kind != EXACT);
        let bins = &mut self.kinds[kind.0];
        bins.count -= 1;
        unlink(bins.list(key), ops, index);
    }
}

/// More lists; posting order is kept within each.
#[cold]
fn rehash(bins: &mut Bins, ops: &mut Ops) {
    for list in bins.grow() {
        let mut index = list.first;
        while index != NONE {
            let next = ops[index].next;
            let (_, key) = pattern(ops, index).split();
            append(bins.list(key), ops, index);
            index = next;
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
    let op = &mut ops[index];
    op.next = NONE;
    op.previous = list.last;
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

/// A message, and its places in the lists of [`UnexpectedQueue`].
#[derive(Debug)]
struct QueuedMessage<T> {
    key: Key,
    value: Option<T>,
    links: [Link; LISTS],
    /// It is in no list, and no receive finds it.
    is_apart: bool,
    /// How many were apart here before, as far as that fits.
    generation: u8,
}

/// Neighbours in a list.
#[derive(Debug, Clone, Copy)]
struct Link {
    previous: u32,
    next: u32,
}

const UNLINKED: Link = Link {
    previous: NONE,
    next: NONE,
};

/// One for each kind of receive, and that of arrival.
const LISTS: usize = KINDS + 1;
const ARRIVAL: usize = KINDS;

/// So many messages are looked at in the order of arrival before they are put into bins.
const LOOKS: usize = 8;

/// Messages that wait for a receive, in order of arrival.
#[derive(Debug)]
pub struct UnexpectedQueue<T> {
    entries: Vec<QueuedMessage<T>>,
    free: Vec<u32>,
    arrival: List,
    kinds: [Bins; KINDS],
    /// Which of them are kept, by bit: the exact ones always.
    kept: u8,
    count: usize,
    /// How many are apart.
    apart: usize,
}

/// The name of a message that is apart: so many bits of it are the index and one, the others the generation.
const INDEX_BITS: u32 = 22;
const INDEX_MASK: u32 = (1 << INDEX_BITS) - 1;
const GENERATION_MASK: u8 = 0xf;

/// Only the exact bins are kept.
const ONLY_EXACT: u8 = 1;

impl<T> Default for UnexpectedQueue<T> {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            free: Vec::new(),
            arrival: EMPTY,
            kinds: Default::default(),
            kept: ONLY_EXACT,
            count: 0,
            apart: 0,
        }
    }
}

impl<T> UnexpectedQueue<T> {
    /// Append a message; where it is.
    #[inline]
    pub fn push(&mut self, key: Key, value: T) -> u32 {
        let index = match self.free.pop() {
            Some(index) => {
                let entry = &mut self.entries[index as usize];
                entry.key = key;
                entry.value = Some(value);
                index
            }
            None => {
                self.entries.push(QueuedMessage {
                    key,
                    value: Some(value),
                    links: [UNLINKED; LISTS],
                    is_apart: false,
                    generation: 0,
                });
                self.entries.len() as u32 - 1
            }
        };
        self.count += 1;
        link(&mut self.entries, &mut self.arrival, ARRIVAL, index);
        self.put_into(EXACT, index);
        if self.kept != ONLY_EXACT {
            for kind in WILD {
                if self.keeps(kind) {
                    self.put_into(kind, index);
                }
            }
        }
        index
    }

    /// Is there none?
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The first message that matches.
    #[inline]
    pub fn find(&mut self, wanted: Pattern) -> Option<u32> {
        if self.count == 0 {
            return None;
        }
        let (kind, key) = wanted.split();
        if kind == EXACT {
            return self.find_in(self.kinds[kind.0].first(key), kind.0, wanted);
        }
        self.find_for_wildcard(kind, key, wanted)
    }

    fn find_for_wildcard(&mut self, kind: Wildcards, key: Key, wanted: Pattern) -> Option<u32> {
        if !self.keeps(kind) {
            let mut index = self.arrival.first;
            for _ in 0..LOOKS {
                if index == NONE {
                    return None;
                }
                let entry = &self.entries[index as usize];
                if wanted.matches(entry.key) {
                    return Some(index);
                }
                index = entry.links[ARRIVAL].next;
            }
            self.keep(kind);
        }
        self.find_in(self.kinds[kind.0].first(key), kind.0, wanted)
    }

    /// The first that matches from `index` on.
    #[inline]
    fn find_in(&self, mut index: u32, list: usize, wanted: Pattern) -> Option<u32> {
        while index != NONE {
            let entry = &self.entries[index as usize];
            if wanted.matches(entry.key) {
                return Some(index);
            }
            index = entry.links[list].next;
        }
        None
    }

    /// The message at `index`, apart or not.
    #[inline]
    pub fn get_mut(&mut self, index: u32) -> (Key, &mut T) {
        let entry = &mut self.entries[index as usize];
        (entry.key, entry.value.as_mut().expect("a live entry has its message"))
    }

    /// Take out all messages that `wanted` says yes to, asked with where they are.
    pub fn take_all(&mut self, wanted: impl Fn(u32, Key, &T) -> bool) -> Vec<(Key, T)> {
        let mut found = Vec::new();
        let mut index = self.arrival.first;
        while index != NONE {
            let entry = &self.entries[index as usize];
            let next = entry.links[ARRIVAL].next;
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

    /// Take the message at `index` out, apart or not.
    #[inline]
    pub fn remove(&mut self, index: u32) -> (Key, T) {
        let entry = &mut self.entries[index as usize];
        let (key, value) = (entry.key, entry.value.take().expect("a live entry has its message"));
        self.free(index);
        (key, value)
    }

    /// As [`Self::remove`], of a message of which only what `last` takes is left. It does not leave its place before: what is moved soon after it
    /// was written waits until that, and all before it, has reached the cache.
    #[inline]
    pub fn end<R>(&mut self, index: u32, last: impl FnOnce(&mut T) -> R) -> R {
        let value = &mut self.entries[index as usize].value;
        let left = last(value.as_mut().expect("a live entry has its message"));
        *value = None;
        self.free(index);
        left
    }

    /// The place is free for the next message.
    #[inline]
    fn free(&mut self, index: u32) {
        let entry = &mut self.entries[index as usize];
        if entry.is_apart {
            entry.is_apart = false;
            entry.generation = (entry.generation + 1) & GENERATION_MASK;
            self.apart -= 1;
        } else {
            self.unlink(index);
        }
        self.free.push(index);
    }

    /// Take the message at `index` out of the lists: it stays there under the name that this gives it. `None`: there are too many to name it.
    #[inline]
    pub fn set_apart(&mut self, index: u32) -> Option<u32> {
        if index >= INDEX_MASK {
            return None;
        }
        self.unlink(index);
        self.apart += 1;
        let entry = &mut self.entries[index as usize];
        entry.is_apart = true;
        Some(u32::from(entry.generation) << INDEX_BITS | (index + 1))
    }

    /// Where the message of this name is, which is apart.
    #[inline]
    pub fn apart(&self, name: u32) -> Option<u32> {
        let index = (name & INDEX_MASK).wrapping_sub(1);
        let entry = self.entries.get(index as usize)?;
        (entry.is_apart && u32::from(entry.generation) == name >> INDEX_BITS).then_some(index)
    }

    /// All messages that are apart, with their places.
    pub fn all_apart(&mut self) -> impl Iterator<Item = (u32, Key, &mut T)> {
        let any = self.apart > 0;
        let entries = (0..).zip(if any { self.entries.as_mut_slice() } else { &mut [] });
        entries
            .filter(|(_, entry)| entry.is_apart)
            .filter_map(|(index, entry)| {
                let key = entry.key;
                entry.value.as_mut().map(|value| (index, key, value))
            })
    }

    /// Take the message at `index` out of the lists that it is in.
    #[inline]
    fn unlink(&mut self, index: u32) {
        let key = self.entries[index as usize].key;
        unlink_entry(&mut self.entries, &mut self.arrival, ARRIVAL, index);
        self.take_from(EXACT, key, index);
        self.count -= 1;
        if self.kept != ONLY_EXACT {
            for kind in WILD {
                if self.keeps(kind) {
                    self.take_from(kind, key, index);
                }
            }
            if self.count == 0 {
                self.kept = ONLY_EXACT;
            }
        }
    }

    #[inline]
    fn keeps(&self, kind: Wildcards) -> bool {
        self.kept & 1 << kind.0 != 0
    }

    /// Put all messages into the bins of this kind too, from now on.
    #[cold]
    fn keep(&mut self, kind: Wildcards) {
        self.kept |= 1 << kind.0;
        let mut index = self.arrival.first;
        while index != NONE {
            self.put_into(kind, index);
            index = self.entries[index as usize].links[ARRIVAL].next;
        }
    }

    #[inline]
    fn put_into(&mut self, kind: Wildcards, index: u32) {
        if self.kinds[kind.0].is_full() {
            self.rehash(kind);
        }
        let bins = &mut self.kinds[kind.0];
        bins.count += 1;
        let key = kind.of(self.entries[index as usize].key);
        link(&mut self.entries, bins.list(key), kind.0, index);
    }

    #[inline]
    fn take_from(&mut self, kind: Wildcards, key: Key, index: u32) {
        let bins = &mut self.kinds[kind.0];
        bins.count -= 1;
        unlink_entry(&mut self.entries, bins.list(kind.of(key)), kind.0, index);
    }

    /// More lists; order of arrival is kept within each.
    #[cold]
    fn rehash(&mut self, kind: Wildcards) {
        for list in self.kinds[kind.0].grow() {
            let mut index = list.first;
            while index != NONE {
                let entry = &self.entries[index as usize];
                let next = entry.links[kind.0].next;
                let key = kind.of(entry.key);
                link(&mut self.entries, self.kinds[kind.0].list(key), kind.0, index);
                index = next;
            }
        }
    }
}

#[inline]
fn link<T>(entries: &mut [QueuedMessage<T>], list: &mut List, which: usize, index: u32) {
    let previous = list.last;
    match previous {
        NONE => list.first = index,
        last => entries[last as usize].links[which].next = index,
    }
    list.last = index;
    entries[index as usize].links[which] = Link { previous, next: NONE };
}

#[inline]
fn unlink_entry<T>(entries: &mut [QueuedMessage<T>], list: &mut List, which: usize, index: u32) {
    let Link { previous, next } = entries[index as usize].links[which];
    match previous {
        NONE => list.first = next,
        previous => entries[previous as usize].links[which].next = next,
    }
    match next {
        NONE => list.last = previous,
        next => entries[next as usize].links[which].previous = previous,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::buffer::Buffer;
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

    fn post(posted: &mut PostedQueue, ops: &mut Ops, from: Option<u32>, tag: Option<i32>) -> u32 {
        let index = ops.allocate(Stage::Posted, Buffer::NOWHERE, 0).expect("room");
        let op = &mut ops[index];
        (op.context, op.from, op.tag) = (ContextId(2), from, tag);
        posted.post(ops, index, wanted(from, tag));
        index
    }

    #[test]
    fn posting_order_decides_between_wildcards_and_specific_receives() {
        let (mut posted, mut ops) = (PostedQueue::default(), Ops::default());
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
    fn the_first_posted_of_any_kind_gets_the_message() {
        // The model: a list in posting order.
        let (mut posted, mut ops) = (PostedQueue::default(), Ops::default());
        let mut model: Vec<(Pattern, u32)> = Vec::new();
        let mut random = 1u32;
        let mut next = |below: u32| {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (random >> 16) % below
        };
        for _ in 0..20_000 {
            let (from, tag) = (next(5), next(300) as i32);
            match next(8) {
                0..5 => {
                    let wild = next(8);
                    let from = (wild & 1 == 0).then_some(from);
                    let tag = (wild & 6 != 0).then_some(tag);
                    model.push((wanted(from, tag), post(&mut posted, &mut ops, from, tag)));
                }
                5 if !model.is_empty() => {
                    let (_, index) = model.remove(next(model.len() as u32) as usize);
                    posted.remove(&mut ops, index);
                    ops.release(index);
                }
                _ => {
                    let at = model.iter().position(|(pattern, _)| pattern.matches(key(from, tag)));
                    let expected = at.map(|at| model.remove(at).1);
                    assert_eq!(posted.take(&mut ops, key(from, tag)), expected);
                    if let Some(index) = expected {
                        ops.release(index);
                    }
                }
            }
        }
        assert!(model.len() > 1000, "there is something to search in");
    }

    #[test]
    fn thousands_of_receives_survive_rehashing_and_removal() {
        let (mut posted, mut ops) = (PostedQueue::default(), Ops::default());
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
        let mut unexpected = UnexpectedQueue::default();
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

    #[test]
    fn messages_apart_are_found_by_name_alone() {
        let mut unexpected = UnexpectedQueue::default();
        let [first, second] = [1, 2].map(|value| unexpected.push(key(3, 5), value));
        let name = unexpected.set_apart(first).expect("room for a name");
        assert_eq!(unexpected.apart(name), Some(first));
        assert_eq!(unexpected.find(wanted(Some(3), Some(5))), Some(second), "the other one");
        assert_eq!(unexpected.take_all(|_, _, _| true).len(), 1);
        assert!(unexpected.is_empty());
        let apart: Vec<_> = unexpected
            .all_apart()
            .map(|(at, key, value)| (at, key, *value))
            .collect();
        assert_eq!(apart, [(first, key(3, 5), 1)]);
        assert_eq!(unexpected.end(first, |value| *value), 1);
        assert_eq!((unexpected.apart(name), unexpected.all_apart().count()), (None, 0));
        // Both places are free; the one that was apart comes first.
        let again = unexpected.push(key(3, 5), 4);
        assert_eq!(again, first);
        let other = unexpected.set_apart(again).expect("room for a name");
        assert_eq!((unexpected.apart(name), unexpected.apart(other)), (None, Some(again)));
        assert_eq!(unexpected.remove(again), (key(3, 5), 4));
        for nobody in [0, name, other, INDEX_MASK, u32::MAX >> 6] {
            assert_eq!(unexpected.apart(nobody), None);
        }
    }

    #[test]
    fn wildcards_find_the_first_of_thousands() {
        for (from, tag) in [(true, false), (false, true), (false, false)] {
            let mut unexpected = UnexpectedQueue::default();
            for round in 0..3 {
                for i in 0..2000 {
                    unexpected.push(key(i % 3, (i / 4) as i32), i);
                }
                let mut model: Vec<u32> = (0..2000).collect();
                while let Some(last) = model.last().copied() {
                    let pattern = wanted(from.then_some(last % 3), tag.then_some((last / 4) as i32));
                    let at = model
                        .iter()
                        .position(|i| pattern.matches(key(i % 3, (i / 4) as i32)))
                        .expect("the last one does");
                    let found = unexpected.find(pattern).map(|index| unexpected.remove(index).1);
                    assert_eq!(found, Some(model.remove(at)), "round {round}");
                }
                assert_eq!(unexpected.find(wanted(None, None)), None);
                assert_eq!(unexpected.kept, ONLY_EXACT, "the next receive need not pay");
            }
        }
    }
}
