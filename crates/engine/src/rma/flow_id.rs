//! The numbers by which operations with other nodes are known: of their flow, and of their scope.

use std::sync::atomic::{AtomicU32, Ordering};

/// Which [`Flow`](super::Flow), or which [`Scope`], an operation belongs to: its number.
pub(super) type FlowId = u32;
/// Of operations within a node, which are waited for at once.
pub(super) const OF_NODE: FlowId = 0;

/// A number that no flow and no scope has.
pub(super) fn new_number() -> FlowId {
    static NEXT: AtomicU32 = AtomicU32::new(OF_NODE + 1);
    match NEXT.fetch_add(1, Ordering::Relaxed) {
        OF_NODE => NEXT.fetch_add(1, Ordering::Relaxed),
        next => next,
    }
}

/// Operations that are completed by themselves, beside those of their [`Flow`](super::Flow): what a request or a handle stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scope(pub(super) FlowId);

impl Scope {
    /// Nothing belongs to it yet.
    #[allow(clippy::new_without_default)] // Each is another one.
    pub fn new() -> Self {
        Self(new_number())
    }

    /// What tells it from others, and from flows; never 0.
    pub fn number(self) -> u32 {
        self.0
    }
}

/// What completes an operation.
#[derive(Debug, Clone, Copy)]
pub(super) struct CompletedBy {
    pub flow: FlowId,
    pub scope: Option<Scope>,
}

impl CompletedBy {
    /// Both.
    pub fn numbers(self) -> Vec<FlowId> {
        std::iter::once(self.flow)
            .chain(self.scope.map(Scope::number))
            .collect()
    }
}

impl From<FlowId> for CompletedBy {
    fn from(flow: FlowId) -> Self {
        Self { flow, scope: None }
    }
}
