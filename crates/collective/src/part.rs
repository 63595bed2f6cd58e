//! Some of the ranks of a link, as a link of their own: the ranks of one node, or one rank of each.
//!
//! A collective across nodes is made of collectives on such parts, chosen from the same lists ([`crate::select`]). So with
//! each algorithm there is one for the ranks of a node, and one for their leaders.

use crate::error::{Error, Result};
use crate::layout::Layout;
use crate::link::elements::Elements;
use crate::link::operand::Operand;
use crate::link::{Incoming, Link, Outgoing};
use crate::memory::ScratchMemory;
use crate::shared::Access;

/// Ranks of another link.
pub struct Part<'a> {
    base: &'a dyn Link,
    /// In the base, by their rank here.
    ranks: &'a [u32],
    me: usize,
    is_node: bool,
}

impl<'a> Part<'a> {
    /// The ranks of the calling rank's node.
    pub fn node(base: &'a dyn Link, layout: &'a Layout) -> Self {
        let ranks = layout.node(layout.node_of(base.rank()));
        Self {
            base,
            ranks,
            me: position(ranks, base.rank()).unwrap_or(0),
            is_node: true,
        }
    }

    /// These ranks, if the calling one is among them.
    pub fn of(base: &'a dyn Link, ranks: &'a [u32]) -> Option<Self> {
        let me = position(ranks, base.rank())?;
        Some(Self {
            base,
            ranks,
            me,
            is_node: false,
        })
    }
}

/// Where blocks lie, by the rank that has them: of one type for all, since parts of parts are links of the same collectives.
pub type Blocks<'b, 'a> = &'b dyn Fn(usize) -> Option<Elements<'a>>;

/// The place of a rank among others.
pub fn position(ranks: &[u32], rank: usize) -> Option<usize> {
    ranks.iter().position(|other| *other as usize == rank)
}

impl Link for Part<'_> {
    fn rank(&self) -> usize {
        self.me
    }

    fn size(&self) -> usize {
        self.ranks.len()
    }

    fn remote_size(&self) -> usize {
        0
    }

    fn fault(&self, error: Error) {
        self.base.fault(error);
    }

    fn shared(&self) -> Option<&Access<'_>> {
        if self.is_node { self.base.shared_in_node() } else { None }
    }

    unsafe fn transfer(&self, receives: &[Incoming], sends: &[Outgoing]) -> Result<()> {
        let receives: Vec<_> = receives
            .iter()
            .map(|receive| Incoming {
                from: self.ranks[receive.from] as usize,
                ..*receive
            })
            .collect();
        let sends: Vec<_> = sends
            .iter()
            .map(|send| Outgoing {
                to: self.ranks[send.to] as usize,
                ..*send
            })
            .collect();
        // SAFETY: the caller's promise.
        unsafe { self.base.transfer(&receives, &sends) }
    }

    unsafe fn pack(&self, from: Elements<'_>, to: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { self.base.pack(from, to) }
    }

    unsafe fn unpack(&self, from: *const u8, len: usize, to: Elements<'_>) {
        // SAFETY: the caller's promise.
        unsafe { self.base.unpack(from, len, to) }
    }

    unsafe fn apply(&self, operand: &Operand<'_>, left: *const u8, inout: *mut u8, count: i64) {
        // SAFETY: the caller's promise.
        unsafe { self.base.apply(operand, left, inout, count) }
    }

    fn memory(&self, len: usize) -> Result<ScratchMemory<'_>> {
        self.base.memory(len)
    }
}
