//! What copies cost on this machine, probed, and what follows for blocks that are small.

use std::sync::OnceLock;
use std::time::Duration;

use isthmus_os::process_vm::{self, Direction, MAX_BYTES, MAX_SPANS, Span};

use super::nanoseconds;
use crate::local::probe_bytes;
use crate::mapped;
use crate::probed;
use crate::transfer::Shape;

/// What the kernel, and copying by ourselves, take on this machine for buffers that are in a cache, in picoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CmaCosts {
    /// Per call.
    pub call: u64,
    /// Per byte, pages and all.
    pub byte: u64,
    /// Per span of ours after the first.
    pub local_span: u64,
    /// Per span of the peer's after the first.
    pub remote_span: u64,
    /// Per byte that we copy ourselves.
    pub own_byte: u64,
    /// Per block that we copy ourselves.
    pub own_block: u64,
}

impl CmaCosts {
    /// How long a transfer takes. Where the peer's blocks are small, the gaps between them are taken to be as long.
    pub fn cost(&self, shape: Shape) -> Duration {
        let length = |blocks: u64| shape.bytes / blocks.max(1);
        let local = self.local_span.min(self.own(length(shape.local_blocks)));
        let remote = self
            .remote_span
            .min(self.cover(length(shape.remote_blocks), length(shape.remote_blocks)));
        let spans = shape.local_blocks.max(shape.remote_blocks).max(1);
        let calls = spans.div_ceil(MAX_SPANS as u64).max(shape.bytes.div_ceil(MAX_BYTES));
        let picoseconds = calls
            .saturating_mul(self.call)
            .saturating_add(shape.bytes.saturating_mul(self.byte))
            .saturating_add(shape.local_blocks.saturating_sub(1).saturating_mul(local))
            .saturating_add(shape.remote_blocks.saturating_sub(1).saturating_mul(remote));
        Duration::from_nanos(picoseconds / 1000)
    }

    /// Are blocks of this length moved faster by way of a buffer of ours than as spans of their own?
    pub fn is_small(&self, block: u64) -> bool {
        self.own(block) < self.local_span
    }

    /// Is it faster to read the peer's blocks together with what lies between them, and to pick them out here?
    pub fn is_dense(&self, block: u64, gap: u64) -> bool {
        self.cover(block, gap) < self.remote_span
    }

    /// The longest gap that is worth reading between blocks of this length.
    pub fn longest_gap(&self, block: u64) -> u64 {
        self.remote_span.saturating_sub(self.own(block)) / self.byte.max(1)
    }

    fn own(&self, block: u64) -> u64 {
        block.saturating_mul(self.own_byte).saturating_add(self.own_block)
    }

    fn cover(&self, block: u64, gap: u64) -> u64 {
        gap.saturating_mul(self.byte).saturating_add(self.own(block))
    }
}

/// Probed at first use, by a process of the job on each node that finds no other's costs, on its own memory, which the kernel treats as any other's. Takes some 100 us.
pub fn facts() -> CmaCosts {
    static FACTS: OnceLock<CmaCosts> = OnceLock::new();
    *FACTS.get_or_init(|| {
        let costs = probed::shared(|notes| &notes.kernel_copies, measure);
        // As probed on Sapphire Rapids, Linux 6.18: should the probe be refused, nothing will be copied either; and there is not always
        // memory for it.
        let [call, byte, local_span, remote_span] = costs.unwrap_or([420_000, 36, 19_000, 125_000]);
        let own = mapped::facts();
        CmaCosts {
            call,
            byte,
            local_span,
            remote_span,
            own_byte: own.byte,
            own_block: own.block,
        }
    })
}

/// Bytes of the probe for the cost per byte.
const PROBE: usize = 64 << 10;
/// Spans of the probe for the cost per span.
const PROBE_SPANS: u64 = 16;

/// Of a call, a byte, a local and a remote span. Its memory serves the probe of our own copies, too. `None`: there is no memory for it, or the
/// kernel refuses.
#[cold]
fn measure() -> Option<[u64; 4]> {
    let (source, mut target) = (probe_bytes(1, PROBE)?, probe_bytes(2, PROBE)?);
    let (from, to) = (
        source.as_ptr().expose_provenance() as u64,
        target.as_mut_ptr().expose_provenance() as u64,
    );
    let whole = |address: u64, length: usize| {
        vec![Span {
            address,
            length: length as u64,
        }]
    };
    let cut = |address: u64| -> Vec<Span> {
        let parts = (0..PROBE_SPANS).map(|index| Span {
            address: address + 128 * index,
            length: 64,
        });
        parts.collect()
    };
    let cut_bytes = 64 * PROBE_SPANS as usize;
    let time = |local: &[Span], remote: &[Span]| -> Option<u64> {
        let rounds = (0..8).map(|_| {
            let before = nanoseconds();
            // SAFETY: all spans lie in the two vectors; only `target` is written.
            let copied = unsafe { process_vm::copy(Direction::Read, isthmus_os::process::id(), local, remote) };
            copied.ok().map(|_| (nanoseconds() - before) * 1000)
        });
        rounds.flatten().min()
    };
    let times = (
        time(&whole(to, 16), &whole(from, 16)),
        time(&whole(to, PROBE), &whole(from, PROBE)),
        time(&whole(to, cut_bytes), &whole(from, cut_bytes)),
        time(&cut(to), &whole(from, cut_bytes)),
        time(&whole(to, cut_bytes), &cut(from)),
    );
    let (Some(call), Some(bulk), Some(uncut), Some(cut_here), Some(cut_there)) = times else {
        return None;
    };
    mapped::probe_in(&source, &mut target);
    Some([
        call,
        (bulk.saturating_sub(call) / PROBE as u64).max(1),
        cut_here.saturating_sub(uncut) / (PROBE_SPANS - 1),
        cut_there.saturating_sub(uncut) / (PROBE_SPANS - 1),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    const FACTS: CmaCosts = CmaCosts {
        call: 400_000,
        byte: 10,
        local_span: 20_000,
        remote_span: 120_000,
        own_byte: 5,
        own_block: 2_000,
    };

    fn cut(bytes: u64, local_blocks: u64, remote_blocks: u64) -> Duration {
        FACTS.cost(Shape {
            bytes,
            local_blocks,
            remote_blocks,
        })
    }

    #[test]
    fn costs_follow_the_facts() {
        assert_eq!(cut(0, 1, 1), Duration::from_nanos(400));
        assert_eq!(cut(1 << 20, 1, 1), Duration::from_nanos(400 + 10_485));
        assert_eq!(cut(1_100_000, 11, 1), Duration::from_nanos(400 + 11_000 + 200));
        assert_eq!(cut(1_100_000, 1, 11), Duration::from_nanos(400 + 11_000 + 1200));
        assert_eq!(
            cut(1100, 11, 1),
            Duration::from_nanos(400 + 11 + 25),
            "by way of a buffer"
        );
        assert_eq!(cut(1100, 1, 11), Duration::from_nanos(400 + 11 + 35), "with the gaps");
        let here = facts();
        assert!(here.call > 0 && here.byte > 0);
    }

    #[test]
    fn small_and_dense() {
        assert!(FACTS.is_small(3599) && !FACTS.is_small(3600));
        assert!(FACTS.is_dense(8, 8) && FACTS.is_dense(0, 11_799) && !FACTS.is_dense(0, 11_800));
        assert_eq!(FACTS.longest_gap(0), 11_800);
        assert_eq!(FACTS.longest_gap(1 << 20), 0);
    }
}
