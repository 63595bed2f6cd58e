//! Loads and stores on memory that both sides map: what the library itself allocates (`MPI_Alloc_mem`, windows, heaps)
//! lies in the job's segment, which every rank of the node maps.
//!
//! A sender or receiver asks the registry ([`Registry::find`]) whether its buffer is such memory; if so it announces the
//! buffer's shared address beside its address, and a layout whose numbers are shared addresses instead of addresses. Nobody can refuse, and
//! there is no identity to prove: a shared address means the same bytes to all.
//!
//! Shared addresses are the peer's word, so they are looked up before they are touched: outside what was taken from a segment is a
//! hole (`EFAULT`). Memory of a segment never goes away below somebody's feet: the file cannot shrink, and a page
//! that was given back reads as zeros.

use std::ops::Range;
use std::sync::OnceLock;
use std::time::Duration;

use isthmus_os::{clock, errno};
use isthmus_shm::{Registry, SharedAddress};

use crate::Span;
use crate::layout::Layout;
use crate::local;
use crate::probed;
use crate::transfer::{self, Interrupted, Shape, Transfer};

/// What it is called in errors: there is no system call to name.
const CALL: &str = "mapped copy";

/// Memory that this process and its peers map.
#[derive(Debug, Clone, Copy)]
pub struct Mapped {
    registry: &'static Registry,
}

impl Mapped {
    /// One object serves all peers that map the registry's segments.
    pub const fn new(registry: &'static Registry) -> Self {
        Self { registry }
    }

    /// # Safety
    /// As for [`Transfer::pull`] and [`Transfer::push`].
    unsafe fn copy(
        &self,
        local: &Layout<'_>,
        remote: &Layout<'_>,
        range: Range<u64>,
        push: bool,
    ) -> Result<(), Interrupted> {
        transfer::check(CALL, local, remote, &range)?;
        if let Some(known) = self.translate(remote) {
            let (from, to) = if push { (local, &known) } else { (&known, local) };
            // SAFETY: the caller vouches for the local side; the remote one lies in a segment, which stays mapped.
            unsafe { local::copy_range(from, to, range) };
            return Ok(());
        }
        // SAFETY: the caller's promise.
        unsafe { self.copy_by_blocks(local, remote, range, push) }
    }

    /// A remote layout that lies in one segment as a whole, in addresses of this process.
    fn translate<'a>(&self, remote: &Layout<'a>) -> Option<Layout<'a>> {
        match *remote {
            Layout::Contiguous(span) => Some(Layout::contiguous(self.address(span)?, span.length)),
            Layout::Strided { base, block, levels } => {
                let extent = remote.extent()?;
                let low = self.address(Span {
                    address: extent.start,
                    length: extent.end - extent.start,
                })?;
                Some(Layout::Strided {
                    base: low.wrapping_add(base - extent.start),
                    block,
                    levels,
                })
            }
            Layout::Spans(_) => None,
        }
    }

    fn address(&self, span: Span) -> Option<u64> {
        let pointer = self.registry.at(SharedAddress(span.address), span.length)?;
        Some(pointer.as_ptr().expose_provenance() as u64)
    }

    /// Look up each block by itself, and stop at the first byte that is not there.
    ///
    /// # Safety
    /// As for [`Self::copy`].
    unsafe fn copy_by_blocks(
        &self,
        local: &Layout<'_>,
        remote: &Layout<'_>,
        range: Range<u64>,
        push: bool,
    ) -> Result<(), Interrupted> {
        let (mut here, mut there) = (local.cursor(range.start), remote.cursor(range.start));
        let mut at = range.start;
        while at < range.end {
            let block = there.block();
            let length = block
                .length
                .min(range.end - at)
                .min(self.registry.available(SharedAddress(block.address)));
            let piece = Span { length, ..block };
            let Some(address) = self.address(piece).filter(|_| length > 0) else {
                return Err(Interrupted {
                    done: at - range.start,
                    ..Interrupted::at_once(CALL, errno::EFAULT)
                });
            };
            let mut known = Layout::contiguous(address, length).cursor(0);
            // SAFETY: the caller vouches for the local side; the piece lies in a segment, which stays mapped.
            unsafe {
                if push {
                    local::copy_on(&mut here, &mut known, length);
                } else {
                    local::copy_on(&mut known, &mut here, length);
                }
            }
            there.advance(length);
            at += length;
        }
        Ok(())
    }
}

impl Transfer for Mapped {
    fn name(&self) -> &'static str {
        "mapped"
    }

    unsafe fn pull(&self, remote: &Layout<'_>, local: &Layout<'_>, range: Range<u64>) -> Result<(), Interrupted> {
        // SAFETY: the caller's promise.
        unsafe { self.copy(local, remote, range, false) }
    }

    unsafe fn push(&self, local: &Layout<'_>, remote: &Layout<'_>, range: Range<u64>) -> Result<(), Interrupted> {
        // SAFETY: the caller's promise.
        unsafe { self.copy(local, remote, range, true) }
    }
}

/// What copying takes on this machine, for buffers that are in a cache, in picoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyCosts {
    /// Per byte.
    pub byte: u64,
    /// Per block after the first.
    pub block: u64,
}

/// Until the first bytes move: fetching a line that another processor holds.
const START: u64 = 150_000;

impl CopyCosts {
    /// How long a transfer takes.
    pub fn cost(&self, shape: Shape) -> Duration {
        let blocks = shape.local_blocks.max(shape.remote_blocks).max(1);
        let picoseconds = START
            .saturating_add(shape.bytes.saturating_mul(self.byte))
            .saturating_add((blocks - 1).saturating_mul(self.block));
        Duration::from_nanos(picoseconds / 1000)
    }
}

/// Probed at first use, by a process of the job on each node that finds no other's costs. Takes some 50 us.
pub fn facts() -> CopyCosts {
    let probe = |value| local::probe_bytes(value, BYTES as usize);
    found(|| Some(measure(&probe(1)?, &mut probe(2)?)))
}

/// Probe now, in memory of another probe: touching new pages takes longer than the probe.
///
/// # Panics
/// One of the two is shorter than 64 KiB.
pub(crate) fn probe_in(source: &[u8], target: &mut [u8]) {
    assert!(source.len() >= BYTES as usize && target.len() >= BYTES as usize);
    found(|| Some(measure(source, target)));
}

fn found(measure: impl FnOnce() -> Option<[u64; 2]>) -> CopyCosts {
    static FACTS: OnceLock<CopyCosts> = OnceLock::new();
    *FACTS.get_or_init(|| {
        // As probed on Sapphire Rapids: there is not always memory for a probe.
        let [byte, block] = probed::shared(|notes| &notes.copies, measure).unwrap_or([20, 2_000]);
        CopyCosts { byte, block }
    })
}

/// Bytes of the probe.
const BYTES: u64 = 64 << 10;

/// Of a byte and of a block. Both parts of memory are as long as the probe, or longer.
#[cold]
fn measure(source: &[u8], target: &mut [u8]) -> [u64; 2] {
    const BLOCKS: u64 = 512;
    let (from, to) = (
        Layout::local(source.as_ptr(), BYTES),
        Layout::local(target.as_mut_ptr(), BYTES),
    );
    let spans: Vec<Span> = (0..BLOCKS)
        .map(|index| Span {
            address: source.as_ptr().expose_provenance() as u64 + index * 48,
            length: 32,
        })
        .collect();
    let time = |from: &Layout<'_>| {
        let rounds = (0..8).map(|_| {
            let before = clock::now();
            // SAFETY: the layouts lie within the vectors.
            unsafe { local::copy_range(from, &to, 0..from.length()) };
            (clock::now() - before).as_nanos() as u64 * 1000
        });
        rounds.min().unwrap_or(0)
    };
    [
        (time(&from) / BYTES).max(1),
        (time(&Layout::Spans(&spans)) / BLOCKS).max(1),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Level;
    use crate::transfer::Cause;
    use isthmus_shm::{Segment, registry, segment};

    fn registry() -> (&'static Registry, &'static Segment) {
        let fd = segment::create(1, [3; 16]).expect("memfd");
        let segment: &'static Segment = Box::leak(Box::new(Segment::attach(fd, [3; 16]).expect("attach")));
        let registry: &'static Registry = Box::leak(Box::default());
        assert!(registry.add(registry::JOB, segment));
        (registry, segment)
    }

    #[test]
    fn what_is_outside_the_segment_is_a_hole() {
        let (registry, segment) = registry();
        let mapped = Mapped::new(registry);
        let offset = segment.allocate(4096).expect("memory");
        let first = segment.at(offset, 4096).expect("taken").as_ptr();
        let shared = registry.find(first.addr() as u64, 4096).expect("in the segment").0;
        let mut buffer = [0u8; 64];
        let local = Layout::local(buffer.as_mut_ptr(), 64);
        let away = [Level { count: 8, stride: 4096 }];
        // Before it there are the slots of the only rank.
        let back = [Level {
            count: 8,
            stride: -(segment::SLOTS_OF_EACH as i64) - 64,
        }];
        let pieces = [
            Span {
                address: shared,
                length: 32,
            },
            Span {
                address: shared + 4096,
                length: 32,
            },
        ];
        for (remote, before) in [
            (Layout::contiguous(shared + 4096 - 63, 64), 63),
            (Layout::contiguous(u64::MAX - 8, 64), 0),
            (Layout::strided(shared, 8, &away), 8),
            (Layout::strided(shared, 8, &back), 8),
            (Layout::Spans(&pieces), 32),
        ] {
            // SAFETY: the buffer is as long as we say; the page is nobody else's.
            let moved = unsafe { [mapped.pull(&remote, &local, 0..64), mapped.push(&local, &remote, 0..64)] };
            for result in moved {
                assert_eq!(
                    result.map_err(|stopped| (stopped.done, stopped.cause())),
                    Err((before, Cause::Hole)),
                    "{remote:?}"
                );
            }
        }
        let nothing = Layout::strided(7, 0, &away);
        // SAFETY: nothing is copied.
        assert_eq!(unsafe { mapped.pull(&nothing, &local, 0..0) }, Ok(()));
    }

    #[test]
    fn costs_follow_the_facts() {
        let facts = CopyCosts { byte: 20, block: 2000 };
        assert_eq!(facts.cost(Shape::contiguous(0)), Duration::from_nanos(150));
        assert_eq!(
            facts.cost(Shape {
                bytes: 1000,
                local_blocks: 1,
                remote_blocks: 11
            }),
            Duration::from_nanos(150 + 20 + 20)
        );
        assert!(super::facts().byte > 0);
    }
}
