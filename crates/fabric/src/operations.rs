//! Operations that the provider may have under way, with the buffers of frames. There are a few of each kind at first, and more are made when
//! all are under way, so that peers that take nothing hold up nobody else.
//!
//! The provider names an operation by its address. So they are made in chunks, which stay where they are until the endpoint is closed.

use std::ffi::c_void;
use std::ptr::NonNull;

use crate::abi::{self, Context, Mr};

/// Bytes of the largest frame.
pub const FRAME: usize = 132 << 10;

/// What an operation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A frame comes.
    Receive,
    /// A frame goes.
    Send,
    /// A piece of a peer's memory is read or written.
    Read,
}

impl Kind {
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
    /// Of a read or a write: its number, and what the provider wants to know of the memory on this side.
    pub number: u64,
    pub region: Option<NonNull<Mr>>,
}

/// Operations of one kind.
#[derive(Debug)]
pub(crate) struct Chunk {
    kind: Kind,
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
    /// Buffers of frames that may be filled to go.
    free_sends: Vec<usize>,
    /// Operations of reads that are not under way.
    free_reads: Vec<usize>,
}

impl Chunk {
    pub fn new(kind: Kind) -> Self {
        let operation = || Operation {
            context: Context([std::ptr::null_mut(); 8]),
            to: abi::ADDR_UNSPEC,
            under_way: false,
            kept: false,
            number: 0,
            region: None,
        };
        let frames = if kind == Kind::Read { 0 } else { kind.count() };
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
        self.chunks.push(chunk);
        match kind {
            Kind::Receive => return numbers.collect(),
            Kind::Send => self.free_sends.extend(numbers.rev()),
            Kind::Read => self.free_reads.extend(numbers.rev()),
        }
        Vec::new()
    }

    /// The free ones of a kind that is not received.
    pub fn free(&mut self, kind: Kind) -> &mut Vec<usize> {
        match kind {
            Kind::Read => &mut self.free_reads,
            Kind::Send | Kind::Receive => &mut self.free_sends,
        }
    }

    /// Frames that are under way to others, taken, or kept.
    #[cfg(test)]
    pub fn sends_in_use(&self) -> usize {
        let chunks = self.chunks.iter().filter(|chunk| chunk.kind == Kind::Send);
        chunks.count() * SENDS - self.free_sends.len()
    }

    pub fn kind(&self, index: usize) -> Kind {
        self.chunks[index / STRIDE].kind
    }

    pub fn at(&mut self, index: usize) -> &mut Operation {
        &mut self.chunks[index / STRIDE].operations[index % STRIDE]
    }

    /// The bytes of a frame.
    pub fn bytes(&mut self, index: usize) -> &mut [u8] {
        &mut self.chunks[index / STRIDE].buffers[index % STRIDE * FRAME..][..FRAME]
    }

    /// What the provider wants to know of them, or null.
    pub fn description(&self, index: usize) -> *mut c_void {
        let region = self.chunks[index / STRIDE].region;
        // SAFETY: the region lives until the endpoint is closed.
        region.map_or(std::ptr::null_mut(), |region| unsafe { region.as_ref() }.mem_desc)
    }

    /// Which operation the provider names so.
    pub fn index_of(&self, context: *mut c_void) -> Option<usize> {
        self.chunks.iter().enumerate().find_map(|(number, chunk)| {
            let at = context.addr().checked_sub(chunk.operations.as_ptr().addr())? / size_of::<Operation>();
            (at < chunk.operations.len()).then_some(number * STRIDE + at)
        })
    }

    /// Regions of buffers, to be closed.
    pub fn regions(&self) -> impl Iterator<Item = NonNull<Mr>> {
        self.chunks.iter().filter_map(|chunk| chunk.region)
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
        assert_eq!(all.add(Chunk::new(Kind::Receive)).len(), RECEIVES);
        for kind in [Kind::Send, Kind::Read, Kind::Send] {
            assert!(all.add(Chunk::new(kind)).is_empty());
        }
        let free = all.free(Kind::Send).clone();
        assert_eq!((free.len(), all.sends_in_use()), (2 * SENDS, 0));
        assert_eq!(all.free(Kind::Read).len(), STRIDE);
        for index in free {
            let context: *mut c_void = std::ptr::from_mut(all.at(index)).cast();
            assert_eq!((all.index_of(context), all.kind(index)), (Some(index), Kind::Send));
            all.bytes(index).fill(1);
        }
        assert_eq!(all.index_of(std::ptr::null_mut()), None);
    }
}
