//! Operations that the provider may have under way, with the buffers of frames. There are a few of each kind at first, and more are made when
//! all are under way, so that peers that take nothing hold up nobody else.
//!
//! The provider names an operation by its address. So they are made in chunks, which stay where they are until the endpoint is closed.

use std::collections::VecDeque;
use std::ffi::c_void;
use std::ptr::NonNull;

use crate::abi::{self, Context, Mr};

/// Bytes of the largest frame.
pub const FRAME: usize = 132 << 10;

/// What an operation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OperationKind {
    /// A frame comes.
    Receive,
    /// A frame goes.
    Send,
    /// A piece of a peer's memory is read or written.
    Read,
}

impl OperationKind {
    /// Operations of a chunk.
    const fn count(self) -> usize {
        match self {
            Self::Receive => RECEIVES,
            Self::Send => SENDS,
            Self::Read => STRIDE,
        }
    }
}

/// Frames that may be under way to one peer, and that are made at a time.
pub(crate) const SENDS: usize = 16;
/// Frames that may have come and not been handled.
pub(crate) const RECEIVES: usize = 16;
/// Numbers of a chunk; reads that are made at a time.
const STRIDE: usize = 128;
/// Where operations that send begin.
pub(crate) const FIRST_SEND: usize = STRIDE;

/// What an operation carries: what the provider needs comes first, so that its address is both.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Operation {
    context: Context,
    /// Where it goes; [`abi::ADDR_UNSPEC`]: it is a receive.
    pub to: u64,
    /// The provider has it. Not of a receive.
    pub under_way: bool,
    /// Of a frame that goes: its buffer is kept until the caller has no more use for it.
    pub kept: bool,
    /// Of a frame that goes: over which connection there, counted.
    pub connection: u32,
    /// Of a read or a write: its number, and what the provider wants to know of the memory on this side.
    pub number: u64,
    pub region: Option<NonNull<Mr>>,
}

/// Operations of one kind.
#[derive(Debug)]
pub(crate) struct Chunk {
    kind: OperationKind,
    operations: Box<[Operation]>,
    /// Of frames, one an operation.
    pub buffers: Box<[u8]>,
    /// What the provider wants to know of the buffers.
    pub region: Option<NonNull<Mr>>,
}

/// All of them. An operation's number is its chunk's, times the numbers of a chunk, and its place there.
#[derive(Debug, Default)]
pub(crate) struct Operations {
    chunks: Vec<Chunk>,
    /// Where the operations of each chunk begin, in this order, and which chunk it is.
    starts: Vec<(usize, usize)>,
    /// Buffers of frames that may be filled to go: the last one that was used is next, and likely in a cache.
    free_sends: Vec<usize>,
    /// Operations of reads that are not under way. They are used in turn: if the provider ends one twice, its place is most likely still free.
    free_reads: VecDeque<usize>,
}

impl Chunk {
    pub fn new(kind: OperationKind) -> Self {
        let operation = || Operation {
            context: Context([std::ptr::null_mut(); 8]),
            to: abi::ADDR_UNSPEC,
            under_way: false,
            kept: false,
            connection: 0,
            number: 0,
            region: None,
        };
        let frames = if kind == OperationKind::Read { 0 } else { kind.count() };
        Self {
            kind,
            operations: std::iter::repeat_with(operation).take(kind.count()).collect(),
            buffers: vec![0; frames * FRAME].into_boxed_slice(),
            region: None,
        }
    }
}

impl Operations {
    /// There are more from now on: those of receives are the caller's, by their numbers, the others are free.
    pub fn add(&mut self, chunk: Chunk) -> Vec<usize> {
        let first = self.chunks.len() * STRIDE;
        let numbers = first..first + chunk.kind.count();
        let kind = chunk.kind;
        let start = (chunk.operations.as_ptr().addr(), self.chunks.len());
        let place = self.starts.partition_point(|other| *other < start);
        self.starts.insert(place, start);
        self.chunks.push(chunk);
        match kind {
            OperationKind::Receive => return numbers.collect(),
            OperationKind::Send => self.free_sends.extend(numbers.rev()),
            OperationKind::Read => self.free_reads.extend(numbers),
        }
        Vec::new()
    }

    /// A frame that may be filled to go, if there is one.
    pub fn take_send(&mut self) -> Option<usize> {
        self.free_sends.pop()
    }

    /// An operation of a read that is not under way, if there is one.
    pub fn take_read(&mut self) -> Option<usize> {
        self.free_reads.pop_front()
    }

    /// One that was taken is free again. Not of a receive.
    pub fn free(&mut self, index: usize) {
        match self.kind(index) {
            OperationKind::Read => self.free_reads.push_back(index),
            OperationKind::Send | OperationKind::Receive => self.free_sends.push(index),
        }
    }

    /// Frames that are under way to others, taken, or kept.
    #[cfg(test)]
    pub fn sends_in_use(&self) -> usize {
        let chunks = self.chunks.iter().filter(|chunk| chunk.kind == OperationKind::Send);
        chunks.count() * SENDS - self.free_sends.len()
    }

    pub fn kind(&self, index: usize) -> OperationKind {
        self.chunks[index / STRIDE].kind
    }

    pub fn at(&mut self, index: usize) -> &mut Operation {
        &mut self.chunks[index / STRIDE].operations[index % STRIDE]
    }

    /// The bytes of a frame.
    pub fn bytes(&mut self, index: usize) -> &mut [u8] {
        &mut self.chunks[index / STRIDE].buffers[index % STRIDE * FRAME..][..FRAME]
    }

    /// Copy the first bytes of a frame to another one.
    pub fn copy(&mut self, from: usize, to: usize, length: usize) {
        let place = |index: usize| index % STRIDE * FRAME;
        match self.chunks.get_disjoint_mut([from / STRIDE, to / STRIDE]) {
            Ok([one, other]) => {
                other.buffers[place(to)..][..length].copy_from_slice(&one.buffers[place(from)..][..length]);
            }
            Err(_) => {
                let buffers = &mut self.chunks[from / STRIDE].buffers;
                buffers.copy_within(place(from)..place(from) + length, place(to));
            }
        }
    }

    /// What the provider wants to know of them, or null.
    pub fn description(&self, index: usize) -> *mut c_void {
        let region = self.chunks[index / STRIDE].region;
        // SAFETY: the region lives until the endpoint is closed.
        region.map_or(std::ptr::null_mut(), |region| unsafe { region.as_ref() }.mem_desc)
    }

    /// Which operation the provider names so.
    pub fn index_of(&self, context: *mut c_void) -> Option<usize> {
        let address = context.addr();
        let after = self.starts.partition_point(|(start, _)| *start <= address);
        let (start, number) = self.starts[..after].last()?;
        let at = (address - start) / size_of::<Operation>();
        (at < self.chunks[*number].operations.len()).then_some(number * STRIDE + at)
    }

    /// Regions of buffers, and of what is read or written still, to be closed.
    pub fn regions(&self) -> impl Iterator<Item = NonNull<Mr>> {
        let under_way = |chunk: &Chunk| {
            chunk
                .operations
                .iter()
                .filter_map(|operation| operation.region)
                .collect::<Vec<_>>()
        };
        self.chunks
            .iter()
            .flat_map(move |chunk| under_way(chunk).into_iter().chain(chunk.region))
    }

    /// There are no frames to be.
    pub fn forget_buffers(&mut self) {
        self.chunks.iter_mut().for_each(|chunk| chunk.buffers = Box::default());
        self.free_sends.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_told_apart() {
        let mut all = Operations::default();
        assert_eq!(all.add(Chunk::new(OperationKind::Receive)).len(), RECEIVES);
        for kind in [OperationKind::Send, OperationKind::Read, OperationKind::Send] {
            assert!(all.add(Chunk::new(kind)).is_empty());
        }
        let free = all.free_sends.clone();
        assert_eq!((free.len(), all.sends_in_use()), (2 * SENDS, 0));
        assert_eq!(all.free_reads.len(), STRIDE);
        for index in free {
            let context: *mut c_void = std::ptr::from_mut(all.at(index)).cast();
            assert_eq!(
                (all.index_of(context), all.kind(index)),
                (Some(index), OperationKind::Send)
            );
            all.bytes(index).fill(1);
        }
        for read in all.free_reads.clone() {
            let context: *mut c_void = std::ptr::from_mut(all.at(read)).cast();
            assert_eq!(
                (all.index_of(context), all.kind(read)),
                (Some(read), OperationKind::Read)
            );
        }
        for unknown in [1, usize::MAX, all.starts[0].0 - 1] {
            assert_eq!(all.index_of(std::ptr::without_provenance_mut(unknown)), None);
        }
        assert_eq!(all.index_of(std::ptr::null_mut()), None);
    }

    /// What ends twice is noticed while its place is free: that is so until all others were used.
    #[test]
    fn reads_take_places_in_turn_and_frames_the_last_one() {
        let mut all = Operations::default();
        all.add(Chunk::new(OperationKind::Send));
        all.add(Chunk::new(OperationKind::Read));
        let first = all.take_read().expect("a place");
        all.free(first);
        let others = (1..STRIDE).filter(|_| all.take_read().is_some_and(|read| read != first));
        assert_eq!(others.count(), STRIDE - 1);
        assert_eq!((all.take_read(), all.take_read()), (Some(first), None));
        let frame = all.take_send().expect("a frame");
        all.free(frame);
        assert_eq!(all.take_send(), Some(frame));
    }

    #[test]
    fn frames_are_copied_within_a_chunk_and_between_two() {
        let mut all = Operations::default();
        all.add(Chunk::new(OperationKind::Send));
        all.add(Chunk::new(OperationKind::Send));
        for (from, to) in [(0, 1), (1, STRIDE), (STRIDE, STRIDE + 1), (STRIDE + 1, 2)] {
            all.bytes(from)[..3].copy_from_slice(&[from as u8, 2, 3]);
            all.bytes(to).fill(9);
            all.copy(from, to, 2);
            assert_eq!(all.bytes(to)[..3], [from as u8, 2, 9]);
        }
    }
}
