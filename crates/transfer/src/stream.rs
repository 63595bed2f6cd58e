//! Mechanisms that need both sides: the sender feeds a stream, the receiver drains it.
//!
//! A stream goes one way between two processes and keeps its bytes in order, whatever messages they belong to. What to feed
//! and drain, and when, the two tell each other by other means (the rendezvous protocol's records); a stream has no frames
//! of its own. It is made by the sender, which hands a descriptor over.

use std::fmt::Debug;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::OnceLock;
use std::time::Duration;

use isthmus_os::pipe::MAX_SPANS;
use isthmus_os::{Error, clock, errno};

use crate::layout::Layout;
use crate::local::probe_bytes;
use crate::transfer::{Interrupted, Shape};
use crate::{Span, loopback, vmsplice, writev};

/// Bytes that are fed at a time: the peer drains them while the next are fed. Source: "Cache-Efficient, Intranode, Large-Message
/// MPI Communication with MPICH2-Nemesis" (ICPP'09), section 3.1, which has 64 KiB.
pub const PIECE: u64 = 64 << 10;

/// The sender's end of a stream.
pub trait Feed: Debug + Send {
    /// As in tunables, counters and `isthmus info`.
    fn name(&self) -> &'static str;

    /// Does the stream lend the buffer, so that its bytes must not change until they are drained?
    fn lends(&self) -> bool;

    /// Feed bytes from the beginning of `range`. Returns how many, which is fewer if there is no room: none is no error. Does
    /// not wait.
    ///
    /// # Errors
    /// How many were fed, and why no more.
    ///
    /// # Safety
    /// The bytes of `local` within the range must be readable; what was fed must not change until the peer has drained it if
    /// the stream [lends](Self::lends).
    unsafe fn feed(&mut self, local: &Layout<'_>, range: Range<u64>) -> Result<u64, Interrupted>;
}

/// The receiver's end of a stream.
pub trait Drain: Debug + Send {
    /// As in tunables, counters and `isthmus info`.
    fn name(&self) -> &'static str;

    /// Drain bytes to the beginning of `range`. Returns how many, which is fewer if no more are there now: none is no error.
    /// Does not wait.
    ///
    /// # Errors
    /// How many are there, and why no more: `EPIPE` if the sender has closed its end, and all is drained.
    ///
    /// # Safety
    /// The bytes of `local` within the range must be writable and nobody else's for the time of the call.
    unsafe fn drain(&mut self, local: &Layout<'_>, range: Range<u64>) -> Result<u64, Interrupted>;
}

/// The streams there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StreamKind {
    /// [`vmsplice`].
    Vmsplice,
    /// [`writev`].
    Writev,
    /// [`loopback`].
    Loopback,
}

/// How many kinds there are.
pub const KINDS: usize = 3;

impl StreamKind {
    /// All of them.
    pub const ALL: [Self; KINDS] = [Self::Vmsplice, Self::Writev, Self::Loopback];

    /// As in tunables, counters and `isthmus info`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Vmsplice => "vmsplice",
            Self::Writev => "writev",
            Self::Loopback => "loopback",
        }
    }

    /// A new stream: our end, and the descriptor of the other one.
    ///
    /// # Errors
    /// No descriptors are left, or no network.
    pub fn open(self) -> Result<(Box<dyn Feed>, OwnedFd), Error> {
        match self {
            Self::Vmsplice => vmsplice::open(),
            Self::Writev => writev::open(),
            Self::Loopback => loopback::open(),
        }
    }

    /// The receiver's end, whose descriptor was handed over.
    pub fn drain(self, descriptor: OwnedFd) -> Box<dyn Drain> {
        Box::new(Descriptor {
            name: self.name(),
            descriptor,
        })
    }

    /// How long a transfer takes, both buffers at rest, and a CPU for each side.
    pub fn cost(self, shape: Shape) -> Duration {
        self.facts().cost(shape)
    }

    fn facts(self) -> StreamCosts {
        static FACTS: [OnceLock<StreamCosts>; KINDS] = [const { OnceLock::new() }; KINDS];
        *FACTS[self as usize].get_or_init(|| measure(self).unwrap_or(StreamCosts::USUAL))
    }
}

/// Draining is the same for all of them: `readv` on whatever was handed over.
#[derive(Debug)]
struct Descriptor {
    name: &'static str,
    descriptor: OwnedFd,
}

impl Drain for Descriptor {
    fn name(&self) -> &'static str {
        self.name
    }

    unsafe fn drain(&mut self, local: &Layout<'_>, range: Range<u64>) -> Result<u64, Interrupted> {
        in_calls(local, range, |spans| {
            // SAFETY: the caller's promise: the spans are a part of the range.
            unsafe { isthmus_os::pipe::readv(&self.descriptor, spans) }
        })
    }
}

/// Another descriptor of the same open file.
pub(crate) fn duplicate(descriptor: &OwnedFd) -> Result<OwnedFd, Error> {
    descriptor.try_clone().map_err(|error| Error {
        call: "fcntl(F_DUPFD_CLOEXEC)",
        errno: error.raw_os_error().unwrap_or(errno::EMFILE),
    })
}

/// Make calls for the blocks of `range` until one moves less than it could.
pub(crate) fn in_calls(
    local: &Layout<'_>,
    range: Range<u64>,
    mut call: impl FnMut(&[Span]) -> Result<usize, Error>,
) -> Result<u64, Interrupted> {
    let mut spans = Vec::new();
    let mut done = 0;
    while range.start + done < range.end {
        let wanted = gather(local, range.start + done..range.end, &mut spans);
        if wanted == 0 {
            break;
        }
        match call(&spans) {
            Ok(moved) => {
                done += moved as u64;
                if (moved as u64) < wanted {
                    break;
                }
            }
            Err(error) => return Err(Interrupted { done, error }),
        }
    }
    Ok(done)
}

/// The blocks of the beginning of `range`, as many as one call takes; how many bytes they have.
fn gather(local: &Layout<'_>, range: Range<u64>, spans: &mut Vec<Span>) -> u64 {
    /// The kernel's limit of one call.
    const MAX_BYTES: u64 = isthmus_os::process_vm::MAX_BYTES;
    spans.clear();
    let mut cursor = local.cursor(range.start);
    let mut left = (range.end - range.start).min(MAX_BYTES);
    let mut bytes = 0;
    while left > 0 && spans.len() < MAX_SPANS {
        let block = cursor.block();
        let length = block.length.min(left);
        if length == 0 {
            break;
        }
        spans.push(Span {
            address: block.address,
            length,
        });
        cursor.advance(length);
        left -= length;
        bytes += length;
    }
    bytes
}

/// What the two sides take, in picoseconds.
#[derive(Debug, Clone, Copy)]
struct StreamCosts {
    /// Feeding and draining of nothing to speak of.
    calls: u64,
    /// Per byte: the slower side, and the faster one.
    slower: u64,
    faster: u64,
}

impl StreamCosts {
    /// Should the probe fail, nothing will be moved this way either.
    const USUAL: Self = Self {
        calls: 1_000_000,
        slower: 150,
        faster: 100,
    };

    /// The two overlap, but for one piece.
    fn cost(&self, shape: Shape) -> Duration {
        let pieces = shape.bytes.div_ceil(PIECE).max(1);
        let blocks = shape.local_blocks.saturating_add(shape.remote_blocks).saturating_sub(2);
        let picoseconds = pieces
            .saturating_mul(self.calls)
            .saturating_add(shape.bytes.saturating_mul(self.slower))
            .saturating_add(shape.bytes.min(PIECE).saturating_mul(self.faster))
            .saturating_add(blocks.saturating_mul(self.calls / 16));
        Duration::from_nanos(picoseconds / 1000)
    }
}

/// Both sides of a piece, in this process.
#[cold]
fn measure(kind: StreamKind) -> Option<StreamCosts> {
    const ROUNDS: usize = 5;
    let (mut feed, descriptor) = kind.open().ok()?;
    let mut drain = kind.drain(descriptor);
    let source = probe_bytes(1, PIECE as usize)?;
    let mut target = probe_bytes(2, PIECE as usize)?;
    let from = Layout::local(source.as_ptr(), PIECE);
    let to = Layout::local(target.as_mut_ptr(), PIECE);
    let mut time = |bytes: u64| -> Option<[u64; 2]> {
        let mut best = [u64::MAX; 2];
        for _ in 0..ROUNDS {
            let (mut fed, mut drained, mut took, mut tries) = (0, 0, [0; 2], 0);
            while drained < bytes {
                tries += 1;
                if tries > 1000 {
                    return None;
                }
                let before = clock::now();
                // SAFETY: `source` is as long as that, and nobody changes it before it is drained.
                fed += unsafe { feed.feed(&from, fed..bytes) }.ok()?;
                let between = clock::now();
                // SAFETY: `target` is as long as that, and ours.
                drained += unsafe { drain.drain(&to, drained..bytes) }.ok()?;
                took[0] += (between - before).as_nanos() as u64;
                took[1] += (clock::now() - between).as_nanos() as u64;
            }
            best = [best[0].min(took[0]), best[1].min(took[1])];
        }
        Some(best)
    };
    let (least, whole) = (time(64)?, time(PIECE)?);
    let byte = |side: usize| (whole[side].saturating_sub(least[side]) * 1000 / PIECE).max(1);
    Some(StreamCosts {
        calls: (least[0] + least[1]) * 1000,
        slower: byte(0).max(byte(1)),
        faster: byte(0).min(byte(1)),
    })
}
